// Builds the page into the crate that embeds it, or with --test the unit tests into target/web-test/; --check compares instead
// of writing.
//
// The same sources and lock file give the same bytes: no dates, no absolute paths, no map of sources.

import { build } from "esbuild";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "../crates/tfprof-server/page");
const LIMIT = 350_000; // bytes of the page, uncompressed
const shared = { absWorkingDir: here, bundle: true, logLevel: "warning", jsx: "automatic", jsxImportSource: "preact" };

const licence = (name) => {
  const text = readFileSync(join(here, "node_modules", name, "LICENSE"), "utf8").trim();
  return `/*! ${name}\n${text.replaceAll("*/", "* /")}\n*/`;
};

async function page() {
  const result = await build({
    ...shared,
    entryPoints: { app: "src/main.tsx" },
    outdir: out,
    write: false,
    minify: true,
    format: "iife",
    target: ["chrome105", "firefox115", "safari16.4"],
    charset: "utf8",
    legalComments: "none",
    footer: { js: ["preact", "@preact/signals"].map(licence).join("\n") },
  });
  const files = Object.fromEntries(result.outputFiles.map((file) => [file.path.split("/").pop(), file.text]));
  files["index.html"] = readFileSync(join(here, "src/index.html"), "utf8");
  const size = Object.values(files).reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (size > LIMIT) throw new Error(`the page has ${size} bytes, more than ${LIMIT}`);
  return { files, size };
}

function compare(files) {
  const stale = Object.entries(files).filter(([name, text]) => {
    try {
      return readFileSync(join(out, name), "utf8") !== text;
    } catch {
      return true;
    }
  });
  if (stale.length) {
    console.error(`crates/tfprof-server/page is not what web/src builds: ${stale.map(([name]) => name).join(", ")}; run make web`);
    process.exit(1);
  }
}

if (process.argv.includes("--test")) {
  const tests = readdirSync(join(here, "test")).filter((name) => name.endsWith(".test.ts"));
  const outdir = join(here, "../target/web-test");
  await build({ ...shared, entryPoints: tests.map((name) => `test/${name}`), outdir, platform: "node", format: "esm",
    outExtension: { ".js": ".mjs" } });
} else {
  const { files, size } = await page();
  if (process.argv.includes("--check")) compare(files);
  else {
    mkdirSync(out, { recursive: true });
    for (const [name, text] of Object.entries(files)) writeFileSync(join(out, name), text);
  }
  console.log(`${size} bytes: ${Object.entries(files).map(([name, text]) => `${name} ${Buffer.byteLength(text)}`).join(", ")}`);
}
