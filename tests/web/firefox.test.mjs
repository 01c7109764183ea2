// The page of `tfprof web` and a report file in Firefox, as Debian ships it: puppeteer-core drives it over WebDriver BiDi, which
// needs no patched browser and no other program.
//
//   TFPROF=path/to/tfprof node --test tests/web/firefox.test.mjs
//
// Screenshots go to OUT (target/test-web).

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import puppeteer from "puppeteer-core";
import { pair } from "./inputs.mjs";
import { serve } from "./serve.mjs";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const tfprof = resolve(process.env.TFPROF || join(root, "target/debug/tfprof"));
const out = resolve(process.env.OUT || join(root, "target/test-web"));
const demo = join(root, "corpus/resnet32");
const SCREENS = ["overview", "flame", "table", "timeline", "graph", "memory", "code"];
mkdirSync(out, { recursive: true });

let browser;
before(async () => {
  browser = await puppeteer.launch({ browser: "firefox", executablePath: process.env.FIREFOX || "/usr/bin/firefox-esr", protocolTimeout: 120_000 });
});
after(() => browser?.close());

/** A new visitor, and everything that the browser complains about. */
async function visitor() {
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  await page.setViewport({ width: 1440, height: 900 });
  const complaints = [];
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => complaints.push(`script: ${error}`));
  page.on("request", (request) => {
    if (!/^(file:|data:|blob:|about:|http:\/\/127\.0\.0\.1[:/])/.test(request.url())) complaints.push(`asks for ${request.url()}`);
  });
  return { page, context, complaints };
}

/** Waits until no question has been under way for a moment. */
const quiet = (page) => page.waitForFunction(() => {
  const busy = document.querySelector("#screen")?.getAttribute("aria-busy") !== "false" || !!document.querySelector(".pending") || !document.querySelector("#command");
  const now = performance.now();
  if (busy) window.tfprofQuiet = undefined;
  else window.tfprofQuiet ??= now;
  return !busy && now - window.tfprofQuiet > 150;
}, { timeout: 60_000, polling: 30 });

async function visit(page, hash) {
  await page.evaluate((to) => {
    location.hash = to;
  }, hash);
  await new Promise((done) => setTimeout(done, 60));
  await quiet(page);
}

const text = (page, selector) => page.$eval(selector, (element) => element.textContent);

/** Opens every screen in both themes. */
async function look(page, name, screens) {
  for (const screen of screens) {
    await visit(page, `/${screen}`);
    assert.ok((await text(page, "#screen")).length > 20 || (await page.$("#screen canvas, #screen svg")), `${name}: ${screen} shows something`);
    assert.equal(await page.$(".empty.bad"), null, `${name}: ${screen}`);
    await page.screenshot({ path: join(out, `firefox-${name}-${screen}.png`) });
  }
}

function figures(line) {
  const words = line.trim().replace(/^tfprof\b/, `'${tfprof}'`);
  return JSON.parse(execFileSync("sh", ["-c", `${words} -max_depth 100 -output json:outfile=-`], { stdio: ["ignore", "pipe", "ignore"], maxBuffer: 1 << 28 })).rows;
}

const small = () => {
  mkdirSync(join(out, "small"), { recursive: true });
  writeFileSync(join(out, "small", "graph.pbtxt"), 'node { name: "x" op: "Placeholder" }\n');
  return join(out, "small", "graph.pbtxt");
};
const INPUTS = {
  demo: () => [[demo], SCREENS],
  jax: () => [[join(root, "corpus/xspace/jax_mlp")], SCREENS],
  saved_model: () => [[join(root, "tests/models/mobilenet_v2")], SCREENS],
  one_node: () => [[small()], SCREENS],
  compare: () => {
    const [a, b] = pair(join(out, "pair"));
    return [[b, "--baseline", a], [...SCREENS, "compare"]];
  },
};

for (const [name, inputs] of Object.entries(INPUTS)) {
  test(`every screen: ${name}`, async () => {
    const [words, screens] = inputs();
    const server = await serve(tfprof, words, out);
    const { page, context, complaints } = await visitor();
    try {
      await page.goto(server.url);
      await quiet(page);
      assert.equal(new URL(page.url()).search, "", "the address has no token");
      await look(page, name, screens);
      if (name === "demo") {
        await visit(page, "/table");
        const shown = Number(await page.$eval(".tt .r [data-value]", (element) => element.dataset.value));
        assert.equal(shown, figures(await text(page, "#command"))[0].total.micros);
        await page.keyboard.press("2");
        await page.waitForFunction(() => location.hash.startsWith("#/flame"));
        await page.keyboard.press("t");
        await page.waitForFunction(() => document.documentElement.dataset.theme === "dark");
        await look(page, "demo-dark", SCREENS);
      }
      assert.deepEqual(complaints, []);
    } finally {
      await context.close();
      server.stop();
    }
  });
}

test("a report file works from disk", async () => {
  const file = join(out, "firefox-report.html");
  execFileSync(tfprof, ["scope", demo, "-select", "micros", "-output", `report:outfile=${file}`], { cwd: out, stdio: "ignore" });
  const { page, context, complaints } = await visitor();
  await page.goto(pathToFileURL(file).href);
  await quiet(page);
  await look(page, "report", SCREENS);
  await visit(page, "/table");
  const shown = Number(await page.$eval(".tt .r [data-value]", (element) => element.dataset.value));
  assert.equal(shown, figures(await text(page, "#command"))[0].total.micros);
  assert.deepEqual(complaints, []);
  await context.close();
});
