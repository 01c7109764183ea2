// What the tests of the page share: the program, its inputs, and a page that fails its test on any complaint of the browser.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { after, before } from "node:test";
import { fileURLToPath } from "node:url";
import { launch, serve, settled, visitor } from "./harness.mjs";

export const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
export const tfprof = resolve(process.env.TFPROF || join(root, "target/debug/tfprof"));
export const out = resolve(process.env.OUT || join(root, "target/test-web"));
export const demo = join(root, "corpus/resnet32");
export const SCREENS = ["overview", "flame", "table", "timeline", "graph", "memory", "code", "roofline", "query"];
mkdirSync(out, { recursive: true });

export let browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

/** Opens the page of some inputs for a test, and fails the test on any complaint of the browser. */
export async function withPage(words, name, body, options = {}) {
  const server = await serve(tfprof, words, out);
  try {
    const { page, context, complaints } = await visitor(browser, options);
    await page.goto(server.url);
    await settled(page);
    await body(page, { server, context, complaints });
    await context.close();
    assert.deepEqual(complaints, [], name);
  } finally {
    server.stop();
  }
}

export const text = (page, selector) => page.locator(selector).first().innerText();
export const hashOf = (page) => page.evaluate(() => location.hash);
export const command = (page) => page.locator("#command").innerText();

/** Runs the command that the page shows, as a reader would, and returns its rows. */
export function run(line) {
  const words = line.trim().replace(/^tfprof\b/, `'${tfprof}'`);
  return JSON.parse(execFileSync("sh", ["-c", `${words} -max_depth 100 -output json:outfile=-`], { stdio: ["ignore", "pipe", "ignore"], maxBuffer: 1 << 28 }));
}

export async function shoot(page, name) {
  for (const theme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme: theme });
    await page.waitForFunction((wanted) => document.documentElement.dataset.theme === wanted, theme);
    await page.screenshot({ path: join(out, `${name}-${theme}.png`) });
  }
}

/** How many different colours a canvas has: an empty one has one. */
export const colours = (page, id) => page.evaluate((of) => {
  const canvas = document.getElementById(of);
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return new Set(new Uint32Array(data.buffer)).size;
}, id);
