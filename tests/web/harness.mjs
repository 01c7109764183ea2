// Starts Chromium for the tests, and collects everything that a browser complains about.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";

export { serve } from "./serve.mjs";

const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

export const launch = () => chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: FLAGS });

/** A new visitor. `complaints` gathers errors of the console and of scripts, and requests that leave the page. */
export async function visitor(browser, { theme = "light", width = 1440, height = 900, context: more = {} } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, ...more });
  const page = await context.newPage();
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(`script: ${error}`));
  page.on("console", (message) => {
    if (message.type() === "error" || /content security policy/i.test(message.text())) complaints.push(`console: ${message.text()} ${message.location().url}`);
  });
  page.on("request", (request) => {
    if (!/^(file:|data:|blob:|http:\/\/127\.0\.0\.1[:/])/.test(request.url())) complaints.push(`asks for ${request.url()}`);
  });
  page.on("dialog", (dialog) => {
    complaints.push(`a script ran: ${dialog.message()}`);
    void dialog.dismiss();
  });
  // While the page is worked on, its newest build may stand in for the one inside the binary.
  const dist = process.env.TFPROF_WEB_DIST;
  if (dist && existsSync(dist)) {
    for (const [file, type] of [["app.js", "text/javascript"], ["app.css", "text/css"]]) {
      await page.route(`**/${file}`, (route) => route.fulfill({ body: readFileSync(join(dist, file)), contentType: type }));
    }
  }
  return { page, context, complaints };
}

/** Waits until the page shows an answer and asks nothing. */
export async function settled(page) {
  await page.waitForSelector("#command", { timeout: 30_000 });
  await quiet(page);
}

/** Waits until no question has been under way for a moment from now on: a click asks its question a few frames later. */
export async function quiet(page) {
  await page.evaluate(() => new Promise((done) => {
    window.tfprofQuiet = undefined;
    requestAnimationFrame(() => requestAnimationFrame(done));
  }));
  await page.waitForFunction(() => {
    const busy = document.querySelector("#screen")?.getAttribute("aria-busy") !== "false" || !!document.querySelector(".pending");
    const now = performance.now();
    if (busy) window.tfprofQuiet = undefined;
    else window.tfprofQuiet ??= now;
    return !busy && now - window.tfprofQuiet > 120;
  }, null, { timeout: 30_000, polling: 20 });
}

/** Goes to a state by its address, as a link would. */
export async function visit(page, hash) {
  await page.evaluate((to) => {
    location.hash = to;
  }, hash);
  await page.waitForTimeout(30);
  await quiet(page);
}
