// How long a frame takes while the timeline pans over tiles as full as they can be: a box for each pixel and lane.
//
//   TFPROF=path/to/tfprof node tests/web/pan.mjs [LANES] [EVENTS]
//
// The server answers a window of any recording with at most one box per pixel and lane, so that is what a page draws at 10 M
// events. The tiles are made here: irregular, nested in 64 lanes, and different for every index.

import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { launch, quiet, serve, settled, visitor } from "./harness.mjs";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const tfprof = resolve(process.env.TFPROF || join(root, "target/debug/tfprof"));
const lanes = Number(process.argv[2] || 64);
const events = Number(process.argv[3] || 10_000_000);
const TILE_NS = 2 ** 36;
const LEVELS = 20;

function random(seed) {
  let s = (seed * 2654435761) >>> 0 || 1;
  return () => (s = (Math.imul(s, 1664525) + 1013904223) >>> 0) / 4294967296;
}

/** A tile: in each lane boxes of irregular width, from a thirty-second of a pixel up. */
function tile(level, index) {
  const next = random(level * 7919 + index + 1);
  const boxes = [];
  for (let lane = 0; lane < lanes; lane++) {
    let x = Math.floor(next() * 40);
    while (x < 32 * 1024 && boxes.length < lanes * 1024) {
      const wide = next() < 0.02 ? 32 * (8 + Math.floor(next() * 60)) : 1 + Math.floor(next() * 31);
      boxes.push([Math.floor(next() * 5000), 1 + Math.floor(next() * 30), lane, x, Math.min(wide, 65535), Math.floor(next() * 40), 1 + Math.floor(next() * 3)]);
      x = Math.ceil((x + wide) / 32) * 32 + (next() < 0.1 ? 32 * Math.floor(next() * 6) : 0);
    }
  }
  const n = boxes.length;
  const bytes = Buffer.alloc(24 + n * 16);
  bytes.writeUInt32LE(0x31544654, 0);
  bytes.writeUInt32LE(n, 4);
  bytes.writeDoubleLE((index * TILE_NS) / 2 ** level, 8);
  bytes.writeDoubleLE(TILE_NS / 2 ** level / 1024, 16);
  boxes.forEach((b, i) => {
    bytes.writeUInt32LE(b[0], 24 + i * 4);
    bytes.writeUInt32LE(b[1], 24 + n * 4 + i * 4);
    bytes.writeUInt16LE(b[2], 24 + n * 8 + i * 2);
    bytes.writeUInt16LE(b[3], 24 + n * 10 + i * 2);
    bytes.writeUInt16LE(b[4], 24 + n * 12 + i * 2);
    bytes.writeUInt8(b[5], 24 + n * 14 + i);
    bytes.writeUInt8(b[6], 24 + n * 15 + i);
  });
  return bytes;
}

const answer = (more) => ({ command: "tfprof trace", python: "", warnings: [], left_out: null, ms: 0, ...more });
const server = await serve(tfprof, [join(root, "corpus/resnet32")], root);
const browser = await launch();
try {
  const { page } = await visitor(browser);
  const made = new Map();
  let boxes = 0;
  await page.route("**/api/tile?*", (route) => {
    const query = new URL(route.request().url()).searchParams;
    const [level, index] = [Number(query.get("level")), Number(query.get("index"))];
    const key = `${level}/${index}`;
    if (!made.has(key)) made.set(key, tile(level, index));
    boxes = made.get(key).readUInt32LE(4);
    return route.fulfill({ body: made.get(key), contentType: "application/octet-stream" });
  });
  await page.route("**/api/timeline", (route) => route.fulfill({ json: answer({
    t0_ns: 0, t1_ns: TILE_NS, began: null, tile_ns: TILE_NS, levels: LEVELS, events, names: 5000, ops: Array.from({ length: 64 }, (_, i) => `Op${i}`), steps: [],
    groups: Array.from({ length: 8 }, (_, g) => ({ name: `device ${g}`, kind: "device", detail: "", lanes: Array.from({ length: lanes / 8 }, (_, l) => ({ id: g * (lanes / 8) + l, name: `lane ${l}`, events: events / lanes, busy_ns: 1 })) })),
  }) }));
  await page.route("**/api/names?*", (route) => {
    const ids = new URL(route.request().url()).searchParams.get("ids").split(",").map(Number);
    return route.fulfill({ json: answer({ names: ids.map((id) => ({ id, name: `scope_${id % 50}/layer_${id}/MatMul`, op: "MatMul", dir: "f", sel: null })) }) });
  });
  await page.goto(server.url);
  await settled(page);
  await page.evaluate(() => (location.hash = "/timeline?t=1000000000~9000000000"));
  await page.waitForSelector("#timeline");
  await quiet(page);
  await page.waitForTimeout(1500);
  // Every frame moves the pointer, so every frame is drawn anew.
  const frames = (await page.evaluate(() => new Promise((done) => {
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
      if (times.length > 300) return done(times.slice(2));
      point("pointermove", 900 - (times.length % 150) * 5);
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }))).sort((a, b) => a - b);
  const at = (part) => frames[Math.floor(frames.length * part)]?.toFixed(1);
  console.log(`${frames.length} frames while panning, ${boxes} boxes in a tile of ${lanes} lanes: median ${at(0.5)} ms, 95 % within ${at(0.95)} ms`);
  await page.screenshot({ path: join(root, "target/pan.png") });
} finally {
  await browser.close();
  server.stop();
}
