// Opens every page of the documentation site from its files: `node site.mjs SITE PICTURES`. No page may ask another host, have a
// broken link, or be without its text; search must find a word; both themes are photographed.

import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { launch, visitor } from "./harness.mjs";

const [site, pictures] = process.argv.slice(2).map((path) => resolve(path));
const pages = readdirSync(site, { recursive: true }).map(String).filter((name) => name.endsWith(".html") && name !== "404.html").sort();
const faults = [];
mkdirSync(pictures, { recursive: true });
const browser = await launch();

for (const theme of ["light", "dark"]) {
  const { page, complaints } = await visitor(browser, { theme, width: 1280, height: 900 });
  for (const name of pages) {
    await page.goto(pathToFileURL(join(site, name)).href);
    const heading = await page.textContent("article h1");
    if (!heading?.trim()) faults.push(`${name}: no heading`);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    if (wide > 0) faults.push(`${name}: ${wide} pixels wider than the window`);
    if (theme === "light") faults.push(...(await brokenLinks(page, name)));
    await page.screenshot({ path: join(pictures, `${theme}-${name.replaceAll("/", "-")}.png`) });
  }
  faults.push(...complaints);
  await page.close();
}

const { page, complaints } = await visitor(browser, { width: 1280, height: 900 });
await page.goto(pathToFileURL(join(site, "index.html")).href);
await page.fill("input.md-search__input", "FLOPs");
await page.waitForSelector(".md-search-result__item a", { timeout: 30_000 });
const found = await page.$$eval(".md-search-result__item a", (links) => links.map((link) => link.getAttribute("href")));
if (!found.some((href) => href.includes("flops"))) faults.push(`search for FLOPs finds ${found.join(", ") || "nothing"}`);
await page.screenshot({ path: join(pictures, "search.png") });
faults.push(...complaints);
await browser.close();

/** Links to files that are not there, and to places that a page does not have. */
async function brokenLinks(page, name) {
  const hrefs = await page.$$eval("article a[href], nav a[href]", (links) => links.map((link) => link.href));
  const broken = [];
  for (const href of new Set(hrefs)) {
    if (!href.startsWith("file:")) continue;
    const url = new URL(href);
    const file = fileURLToPath(new URL(url.pathname, "file:"));
    if (!existsSync(file)) broken.push(`${name}: a dead link to ${relative(site, file)}`);
    else if (url.hash && file === join(site, name)) {
      const there = await page.evaluate((id) => !!document.getElementById(id) || id === "", decodeURIComponent(url.hash.slice(1)));
      if (!there) broken.push(`${name}: no place ${url.hash}`);
    }
  }
  return broken;
}

if (faults.length) {
  console.error([...new Set(faults)].join("\n"));
  process.exit(1);
}
console.log(`${pages.length} pages in two themes: no dead link, no request to another host; search finds ${found.length} places for FLOPs`);
