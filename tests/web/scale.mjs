// The timeline of a large file: the time until it is there, frames and bytes while it pans and zooms, memory of server and page,
// and 200 requests of 20 tabs at once. Figures are printed; nothing is asserted.
//
//   python benches/many_events.py 10000000 big.xplane.pb && TFPROF=path/to/tfprof node tests/web/scale.mjs big.xplane.pb

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { launch, quiet, serve, settled, visitor } from "./harness.mjs";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const tfprof = resolve(process.env.TFPROF || join(root, "target/release/tfprof"));
const file = resolve(process.argv[2]);

const status = (pid, key) => Number(new RegExp(`${key}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1e3;
const cpu = (pid) => {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").replace(/.*\) /, "").split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
};
/** CPU seconds of a process and all below it: those of the browser, whatever else the machine does. */
const cpuBelow = (top) => {
  const parents = new Map();
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      parents.set(Number(pid), Number(readFileSync(`/proc/${pid}/stat`, "utf8").replace(/.*\) /, "").split(" ")[1]));
    } catch {
      // It has just ended.
    }
  }
  const isBelow = (pid) => {
    for (let at = pid; at > 1; at = parents.get(at) ?? 0) if (parents.get(at) === top) return true;
    return false;
  };
  return [...parents.keys()].filter((pid) => pid !== server.pid && isBelow(pid)).reduce((sum, pid) => sum + cpu(pid), 0);
};
const at = (list, part) => [...list].sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * part))];
const say = (what, text) => console.log(`${what.padEnd(34)} ${text}`);

/** Moves the pointer in every frame, so that every frame is drawn anew. */
const pan = (page) => page.evaluate(() => new Promise((done) => {
  const canvas = document.querySelector("#timeline");
  const { left, top } = canvas.getBoundingClientRect();
  const point = (type, x) => canvas.dispatchEvent(new PointerEvent(type, { bubbles: true, pointerId: 1, shiftKey: true, clientX: left + x, clientY: top + 300 }));
  canvas.setPointerCapture = () => {};
  point("pointerdown", 900);
  const times = [];
  let last = performance.now();
  const tick = (now) => {
    times.push(now - last);
    last = now;
    if (times.length > 240) {
      point("pointerup", 0);
      return done(times.slice(2));
    }
    point("pointermove", 900 - (times.length % 120) * 6);
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
}));

const began = performance.now();
const server = await serve(tfprof, [file], root, 600_000);
say("until the address is printed", `${((performance.now() - began) / 1e3).toFixed(2)} s, ${cpu(server.pid).toFixed(2)} CPU s, ${status(server.pid, "VmRSS").toFixed(0)} MB`);
const browser = await launch();
try {
  const { page, context } = await visitor(browser);
  const tiles = [];
  page.on("response", async (response) => {
    if (!response.url().includes("/api/tile")) return;
    const timing = response.request().timing();
    const sizes = await response.request().sizes().catch(() => null);
    tiles.push({ ms: timing.responseStart - timing.requestStart, bytes: sizes?.responseBodySize ?? 0 });
  });
  await page.goto(server.url);
  await settled(page);
  const used = cpu(server.pid);
  const asked = performance.now();
  await page.evaluate(() => (location.hash = "/timeline"));
  await page.waitForSelector("#timeline", { timeout: 600_000 });
  await quiet(page);
  say("from the tab to the first timeline", `${((performance.now() - asked) / 1e3).toFixed(2)} s, ${(cpu(server.pid) - used).toFixed(2)} CPU s`);
  const t1 = (await (await context.request.get(new URL("/api/timeline", server.url).href)).json()).t1_ns;
  for (const [name, part] of [["the whole", 1], ["a tenth", 0.1], ["a thousandth", 0.001]]) {
    tiles.length = 0;
    await page.evaluate(([from, to]) => (location.hash = `/timeline?t=${from}~${to}`), [Math.floor(t1 * 0.3 * (1 - part)), Math.ceil(t1 * 0.3 * (1 - part) + t1 * part)]);
    await quiet(page);
    await page.waitForTimeout(800);
    const zoomed = [...tiles];
    tiles.length = 0;
    const before = cpuBelow(process.pid);
    const frames = await pan(page);
    const used = (cpuBelow(process.pid) - before) / (frames.length + 2);
    await page.waitForTimeout(500);
    const of = (list) => (list.length ? `${list.length} tiles, ${at(list.map((t) => t.ms), 0.5).toFixed(1)} ms (at most ${at(list.map((t) => t.ms), 1).toFixed(1)}), ${(at(list.map((t) => t.bytes), 0.5) / 1e3).toFixed(1)} kB` : "no new tile");
    say(`zoom to ${name}`, of(zoomed));
    say("  panning", `median frame ${at(frames, 0.5).toFixed(1)} ms, 95 % ${at(frames, 0.95).toFixed(1)} ms, CPU of the browser ${(used * 1e3).toFixed(1)} ms a frame; ${of(tiles)}`);
  }
  const heap = await page.evaluate(() => performance.memory?.usedJSHeapSize ?? 0);
  say("memory", `server ${status(server.pid, "VmRSS").toFixed(0)} MB (peak ${status(server.pid, "VmHWM").toFixed(0)}), page ${(heap / 1e6).toFixed(0)} MB of JavaScript`);
  // Twenty tabs, ten questions each, all at once.
  const tabs = await Promise.all(Array.from({ length: 20 }, () => context.newPage()));
  await Promise.all(tabs.map((tab) => tab.goto(new URL("/", server.url).href)));
  const times = (await Promise.all(tabs.map((tab, n) => tab.evaluate(async ([n]) => {
    const keys = ["flame", "rows", "overview", "node", "lists", "find?find=layer", "flame?view=op", "rows?view=op"];
    const all = [...keys, `tile?index=${n}&level=6`, `tile?index=${2 * n}&level=7`];
    return Promise.all(all.map(async (key) => {
      const from = performance.now();
      const response = await fetch("/api/" + key, { cache: "no-store" });
      const size = (await response.arrayBuffer()).byteLength;
      return { key, ms: performance.now() - from, ok: response.ok && size > 20 };
    }));
  }, [n])))).flat();
  const slowest = times.reduce((a, b) => (b.ms > a.ms ? b : a));
  say("200 requests of 20 tabs", `${times.filter((t) => t.ok).length} answered, median ${at(times.map((t) => t.ms), 0.5).toFixed(0)} ms, slowest ${slowest.ms.toFixed(0)} ms (${slowest.key})`);
} finally {
  await browser.close();
  server.stop();
}
process.exit(0);
