// Opens what tfprof writes where a user would: the flame graph in Chromium, the speedscope file in speedscope.
//
//   node browser.mjs TFPROF CORPUS OUT
//
// Screenshots go to OUT. Nothing is fetched from the network: speedscope is served from its package.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createServer } from "node:http";
import { mkdirSync, readFileSync } from "node:fs";
import { dirname, extname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [tfprof, corpus, out] = process.argv.slice(2).map((path) => resolve(path));
const here = dirname(fileURLToPath(import.meta.url));
const speedscope = join(here, "node_modules/speedscope/dist/release");
const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync",
  // speedscope draws with WebGL; this is its renderer without a graphics card.
  "--use-angle=swiftshader", "--enable-unsafe-swiftshader"];

mkdirSync(out, { recursive: true });
const ask = (view, form, file, ...more) => {
  const words = [view, join(corpus, "resnet32"), "-max_depth", "100", "-output", `${form}:outfile=${join(out, file)}`];
  return execFileSync(tfprof, [...words, ...more], { stdio: ["ignore", "pipe", "ignore"] });
};
const root = [join(corpus, "resnet32"), "-max_depth", "1", "-select", "micros", "-output", "json:outfile=-"];
const report = JSON.parse(execFileSync(tfprof, ["scope", ...root]));
const total = report.rows[0].total.micros;

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: flags });
const failures = [];
const open = async (url) => {
  const page = await browser.newPage({ viewport: { width: 1400, height: 800 } });
  page.on("pageerror", (error) => failures.push(`${url}: ${error}`));
  page.on("request", (request) => {
    const allowed = /^(file:|data:|blob:|http:\/\/127\.0\.0\.1)/;
    if (!allowed.test(request.url())) failures.push(`${url}: asks for ${request.url()}`);
  });
  await page.goto(url);
  return page;
};

async function flamegraph() {
  ask("scope", "flamegraph", "scope.svg", "-select", "micros");
  const page = await open(pathToFileURL(join(out, "scope.svg")).href);
  const boxes = () => page.locator(".box").count();
  const width = (locator) => locator.locator("rect").evaluate((rect) => Number(rect.getAttribute("width")));
  const hint = () => page.locator("#hint").textContent();
  const all = await boxes();
  assert.ok(all > 50, `${all} boxes`);
  await page.screenshot({ path: join(out, "flamegraph.png") });

  const gradients = page.locator(".box").filter({ has: page.locator("text=/^gradients$/") }).first();
  const narrow = await width(gradients);
  await gradients.locator("rect").click();
  const zoomed = page.locator(".box").filter({ has: page.locator("text=/^gradients$/") }).first();
  assert.ok((await width(zoomed)) > narrow, "a click makes a box wider");
  assert.ok((await width(zoomed)) > 1300, "a click makes a box as wide as the page");
  assert.match(await hint(), /zoomed to gradients/);
  await page.screenshot({ path: join(out, "flamegraph-zoomed.png") });
  await page.keyboard.press("Escape");
  assert.equal(await boxes(), all, "Esc shows all boxes again");

  await page.keyboard.press("/");
  await page.keyboard.type("Conv2D$");
  assert.ok((await page.locator(".found").count()) > 10, "search marks boxes");
  assert.match(await hint(), /found \d+ boxes with .*% of all/);
  await page.screenshot({ path: join(out, "flamegraph-search.png") });
  await page.keyboard.press("Escape");
  assert.equal(await page.locator(".found").count(), 0, "Esc ends the search");
}

// Pages: heads sort, the search finds, commands copy themselves, and the policy stops everything else.
async function pages() {
  const dir = join(out, "pages/");
  const model = join(corpus, "resnet32");
  execFileSync(tfprof, ["info", model, "-output", dir], { stdio: "ignore" });
  const page = await open(pathToFileURL(join(dir, "index.html")).href);
  page.on("console", (message) => { if (message.type() === "error") failures.push(message.text()); });
  assert.equal(await page.locator("h1").textContent(), "Overview");
  await page.locator("a.to", { hasText: " op " }).first().click();
  assert.match(await page.locator("h1").textContent(), /by operation type/);
  const names = () => page.locator(".k > .r > .n").allTextContents();
  const before = await names();
  await page.locator(".h .n").click();
  assert.deepEqual(await names(), [...before].sort(new Intl.Collator(undefined, { numeric: true }).compare), "by name");
  assert.equal(await page.locator(".h .n").getAttribute("aria-sort"), "ascending");
  await page.locator(".h .c").first().click();
  assert.deepEqual((await names()).slice(0, 3), before.slice(0, 3), "by time");

  await page.locator("nav a", { hasText: "scope" }).click();
  await page.waitForURL(/scope\.html$/, { waitUntil: "load" });
  await page.keyboard.press("/");
  await page.keyboard.type("unit_3_2/sub1/conv1");
  assert.match(await page.locator(".find output").textContent(), /^\d+ found$/);
  const shown = page.locator(".r:visible .n");
  const titles = await shown.evaluateAll((all) => all.map((name) => name.title));
  assert.ok(titles.includes("unit_3_2/sub1/conv1") && !titles.some((title) => title.includes("unit_3_1")));
  await page.screenshot({ path: join(out, "page-search.png") });
  await page.keyboard.press("Escape");
  assert.ok((await shown.count()) > titles.length, "Esc ends the search");

  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.locator("footer .cmd").click();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), `tfprof scope ${model}`);
  for (const scheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme: scheme });
    for (const word of ["index", "scope", "op", "code", "cost", "advise"]) {
      await page.goto(pathToFileURL(join(dir, `${word}.html`)).href);
      await page.screenshot({ path: join(out, `page-${word}-${scheme}.png`) });
    }
  }
  const refused = await page.evaluate(() => new Promise((done) => {
    document.addEventListener("securitypolicyviolation", (event) => done(event.violatedDirective));
    const script = document.createElement("script");
    script.textContent = "document.title = 'run'";
    document.body.append(script);
    setTimeout(() => done("nothing"), 500);
  }));
  assert.match(refused, /script-src/);
  failures.length = 0;
}

async function speedscopeFile() {
  ask("scope", "speedscope", "scope.speedscope.json", "-select", "micros");
  const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".json": "application/json" };
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url.split("?")[0]);
    try {
      const body = readFileSync(path.startsWith("/out/") ? join(out, path.slice(5)) : join(speedscope, path));
      response.writeHead(200, { "content-type": types[extname(path)] || "application/octet-stream" });
      response.end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const base = `http://127.0.0.1:${server.address().port}`;
  const page = await open(`${base}/index.html#profileURL=${encodeURIComponent(`${base}/out/scope.speedscope.json`)}`);
  await page.getByText("Sandwich").waitFor({ timeout: 30000 });
  await page.waitForTimeout(500);
  await page.screenshot({ path: join(out, "speedscope.png") });
  await page.getByText("Sandwich").click();
  await page.getByText("Total", { exact: true }).click();
  const row = page.locator("tr", { hasText: "_TFProfRoot" }).first();
  await row.waitFor({ timeout: 10000 });
  const text = await row.textContent();
  await page.screenshot({ path: join(out, "speedscope-sandwich.png") });
  // speedscope prints microseconds as seconds, to two digits.
  assert.ok(text.includes(`${(total / 1e6).toFixed(2)}s (100%)`), `the root is ${total}us: ${text}`);
  server.close();
}

async function timelines() {
  ask("graph", "timeline", "graph.timeline", "-step", "0");
  const page = await open("about:blank");
  const text = readFileSync(join(out, "graph.timeline_0.json"), "utf8");
  const events = await page.evaluate((text) => JSON.parse(text).traceEvents.length, text);
  assert.ok(events > 1000, `${events} events`);
}

// Profiles as traces: every event of the file, on a thread that has a name, and arrows between events that are there.
async function profileTraces() {
  for (const profile of ["jax_two_hosts", "tf_custom_loop", "gpu_like"]) {
    const path = join(corpus, "xspace", profile);
    const file = join(out, `${profile}.trace.json`);
    execFileSync(tfprof, ["trace", path, `--outfile=${file}`], { stdio: "ignore" });
    const info = JSON.parse(execFileSync(tfprof, ["info", path, "-output", "json:outfile=-"], { stdio: ["ignore", "pipe", "ignore"] }));
    const expected = info.overview.hosts.flatMap((host) => host.planes).reduce((sum, plane) => sum + plane.events, 0);
    const page = await open("about:blank");
    const found = await page.evaluate((text) => {
      const { traceEvents: events } = JSON.parse(text);
      const lane = ({ pid, tid }) => `${pid}/${tid}`;
      const named = new Set(events.filter(({ name }) => name === "thread_name").map(lane));
      const boxes = events.filter(({ ph }) => ph === "X");
      const at = new Set(boxes.map((event) => `${lane(event)}@${event.ts}`));
      const ends = (phase) => new Set(events.filter(({ ph }) => ph === phase).map(({ id }) => id));
      const arrows = events.filter(({ ph }) => ph === "s" || ph === "f");
      const [starts, tips] = [ends("s"), ends("f")];
      return {
        boxes: boxes.length,
        nameless: boxes.filter((event) => !named.has(lane(event))).length,
        odd: boxes.filter(({ ts, dur, name }) => !(ts >= 0 && dur >= 0 && name.length > 0)).length,
        arrows: starts.size,
        dangling: arrows.filter((arrow) => !at.has(`${lane(arrow)}@${arrow.ts}`)).length,
        halves: [...starts].filter((id) => !tips.has(id)).length + [...tips].filter((id) => !starts.has(id)).length,
      };
    }, readFileSync(file, "utf8"));
    assert.ok(expected > 0 && found.arrows > 0, `${profile}: ${JSON.stringify(found)}`);
    assert.deepEqual(found, { boxes: expected, nameless: 0, odd: 0, arrows: found.arrows, dangling: 0, halves: 0 }, profile);
    await page.close();
  }
}

try {
  for (const check of [flamegraph, pages, speedscopeFile, timelines, profileTraces]) {
    await check();
    assert.deepEqual(failures, []);
    console.log(`${check.name}: ok`);
  }
} finally {
  await browser.close();
}
