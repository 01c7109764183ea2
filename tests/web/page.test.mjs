// The page of `tfprof web` in a real browser, as a reader uses it.
//
//   TFPROF=path/to/tfprof node --test tests/web/page.test.mjs
//
// Screenshots go to OUT (target/test-web). Nothing is fetched from elsewhere, and no request leaves the machine.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { quiet, serve, settled, visit, visitor } from "./harness.mjs";
import { cut, EVIL, evil, pair } from "./inputs.mjs";
import { browser, colours, command, demo, hashOf, out, root, run, SCREENS, shoot, text, tfprof, withPage } from "./pages.mjs";

describe("every screen, in both themes", () => {
  const inputs = {
    demo: [demo],
    jax: [join(root, "corpus/xspace/jax_mlp")],
    saved_model: [join(root, "tests/models/mobilenet_v2")],
    torch: [join(root, "corpus/kineto/gpu.json.gz")],
    onnx: [join(root, "tests/dialects/samples/shapes.onnx")],
    partial: [join(out, "jax.part")],
    empty: [join(root, "corpus/xspace/empty")],
    damaged: ["-graph_path", join(demo, "graph.pb.gz"), "-run_meta_path", cut(join(root, "corpus/resnet32/run_meta_100.gz"), join(out, "damaged"))],
  };
  for (const [name, words] of Object.entries(inputs)) {
    test(name, async () => {
      if (name === "partial") execFileSync(tfprof, ["save", "--partial", join(root, "corpus/xspace/jax_mlp"), `-outfile=${words[0]}`], { stdio: "ignore" });
      await withPage(words, name, async (page) => {
        for (const screen of SCREENS) {
          await visit(page, `/${screen}`);
          await page.waitForFunction(() => !document.querySelector(".pending"), null, { timeout: 30_000 });
          const shown = await page.locator("#screen").innerText();
          assert.ok(shown.length > 20 || (await page.locator("#screen canvas, #screen svg").count()) > 0, `${name}: ${screen} shows something`);
          await shoot(page, `${name}-${screen}`);
        }
      });
    });
  }

  test("a narrow window cuts nothing off", async () => {
    await withPage([demo], "narrow", async (page) => {
      for (const screen of SCREENS) {
        await visit(page, `/${screen}`);
        const [wide, over] = await page.evaluate(() => [document.documentElement.scrollWidth - innerWidth, document.querySelector("#screen").scrollWidth - document.querySelector("#screen").clientWidth]);
        assert.ok(wide <= 0 && over <= 0, `${screen}: ${wide} and ${over} pixels too wide`);
        await shoot(page, `narrow-${screen}`);
      }
    }, { width: 820 });
  });

  test("pictures are drawn", async () => {
    await withPage([demo], "pictures", async (page) => {
      for (const screen of ["flame", "timeline", "memory"]) {
        await visit(page, `/${screen}`);
        await page.waitForSelector(`#${screen}`, { timeout: 30_000 });
        await quiet(page);
        assert.ok((await colours(page, screen)) > 12, screen);
      }
      await visit(page, "/graph");
      assert.ok((await page.locator("#graph .gn").count()) > 10);
      assert.ok((await page.locator("#graph .edges path").count()) > 10);
    });
  });
});

describe("inputs that lack something", () => {
  test("a model without runs says how to record time", async () => {
    await withPage([join(root, "tests/models/mobilenet_v2")], "no runs", async (page) => {
      for (const screen of ["timeline", "memory"]) {
        await visit(page, `/${screen}`);
        assert.match(await text(page, ".empty .codebox"), /profiler/);
      }
      assert.match(await text(page, ".empty h3"), /Not in the data/);
    });
  });

  test("a damaged file has a banner with its loss", async () => {
    const file = cut(join(root, "corpus/resnet32/run_meta_100.gz"), join(out, "damaged"));
    await withPage(["-graph_path", join(demo, "graph.pb.gz"), "-run_meta_path", file], "damaged", async (page) => {
      const banner = await text(page, ".warnbar");
      assert.match(banner, /Damaged input/);
      assert.match(banner, /run_meta_100/);
      await shoot(page, "damaged-overview");
      await page.locator(".warnbar .x").click();
      assert.equal(await page.locator(".warnbar").count(), 0);
    });
  });

  test("a trace without events opens a page that says so", async () => {
    await withPage([join(root, "corpus/xspace/empty")], "empty", async (page) => {
      assert.match(await text(page, ".warnbar"), /Nothing to show: .*holds no events; record again/);
      await visit(page, "/timeline");
      assert.equal(await page.locator("#screen .empty").count(), 1);
    });
  });

  test("a graph alone works on every screen", async () => {
    const dir = join(out, "small");
    mkdirSync(dir, { recursive: true });
    writeFileSync(join(dir, "graph.pbtxt"), 'node { name: "x" op: "Placeholder" }\n');
    await withPage([join(dir, "graph.pbtxt")], "one node", async (page) => {
      for (const screen of SCREENS) {
        await visit(page, `/${screen}`);
        assert.ok((await page.locator("#screen").innerText()).length > 5, screen);
      }
      await shoot(page, "one-node-overview");
    });
  });
});

describe("figures are the command line's", () => {
  test("the table's rows are those of the command in the status bar", async () => {
    await withPage([demo], "figures", async (page) => {
      for (const hash of ["/table", "/table?metric=bytes", "/table?step=0&view=op", "/table?hide=gradients.*&metric=params", "/table?account=Conv2D"]) {
        await visit(page, hash);
        const { rows, columns } = run(await command(page));
        const word = columns[0];
        const shown = await page.locator(".tt .r").evaluateAll((all) => all.map((row) => ({ name: row.querySelector(".n").title, value: row.querySelector(".c [data-value]")?.dataset.value })));
        assert.ok(shown.length > 3, hash);
        const metric = new URLSearchParams(hash.split("?")[1]).get("metric") ?? "micros";
        const known = new Map(rows.map((row) => [row.parent === null ? "" : row.name, row.total[metric] ?? row.total[word]]));
        for (const { name, value } of shown) assert.equal(Number(value ?? 0), known.get(name) ?? 0, `${hash}: ${name}`);
      }
    });
  });

  test("the panel and the headline agree with the command", async () => {
    await withPage([demo], "headline", async (page) => {
      await visit(page, "/table");
      const { rows } = run(await command(page));
      const total = rows[0].total.micros;
      assert.equal(Number(await page.locator("#panel [data-metric=micros]").getAttribute("data-value")), total);
      await visit(page, "/overview");
      assert.equal(Number(await page.locator("#figure-op_time").getAttribute("data-value")), total);
    });
  });
});

describe("state", () => {
  test("a link restores the view", async () => {
    await withPage([demo], "links", async (page, { server }) => {
      await visit(page, "/flame?metric=bytes&color=op&sel=scope:gradients/unit_1_0&zoom=gradients");
      const [before, shot] = [await command(page), await text(page, "#flame-value")];
      assert.match(await text(page, ".selchip"), /gradients\/unit_1_0/);
      const link = new URL(page.url());
      assert.equal(link.search, "", "the address has no token");
      await page.goto("about:blank");
      await page.goto(new URL(link.hash, new URL(server.url).origin).href);
      await settled(page);
      assert.equal(await command(page), before);
      assert.equal(await text(page, "#flame-value"), shot);
      assert.equal(await hashOf(page), link.hash);
    });
  });

  test("Back and Forward go through screens and zooms, not selections", async () => {
    await withPage([demo], "history", async (page) => {
      await page.locator("#tab-flame").click();
      await page.locator(".lists section:nth-child(2) .bars button").first().click();
      await page.locator("#tab-table").click();
      await page.goBack();
      assert.match(await hashOf(page), /^#\/flame\?sel=op:/);
      await page.goBack();
      assert.equal(await hashOf(page), "#/overview");
      await page.goForward();
      assert.match(await hashOf(page), /^#\/flame/);
    });
  });

  test("a bad pattern reddens its chip and keeps the answer", async () => {
    const server = await serve(tfprof, [demo], out);
    const { page, context } = await visitor(browser);
    await page.goto(server.url);
    await settled(page);
    await visit(page, "/table");
    const rows = await page.locator(".tt .r").count();
    await page.locator("#find").fill("show:unit_(1");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".chip.bad");
    assert.equal(await page.locator(".tt .r").count(), rows);
    await page.locator(".chip button").click();
    assert.equal(await page.locator(".chip").count(), 0);
    await context.close();
    server.stop();
  });

  test("finding says how many and how much", async () => {
    await withPage([demo], "find", async (page) => {
      await visit(page, "/flame");
      await page.locator("#find").fill("Conv2D");
      await page.waitForFunction(() => /found/.test(document.querySelector(".found")?.textContent ?? ""));
      assert.match(await text(page, ".found"), /^[\d,]+ found · .* · [\d.]+ %$/);
    });
  });
});

describe("two profiles", () => {
  const sides = () => pair(join(out, "pair"));

  test("the screen Compare has the figures of tfprof diff", async () => {
    const [a, b] = sides();
    await withPage([b, "--baseline", a], "compare", async (page) => {
      await page.locator("#tab-compare").click();
      await quiet(page);
      await page.waitForSelector(".cmptable tbody tr");
      assert.ok((await colours(page, "compare")) > 6);
      for (const by of ["op", "scope"]) {
        await visit(page, `/compare?by=${by}`);
        const { rows } = run((await command(page)).replace("diff scope", `diff ${by}`));
        const known = new Map(rows.map((row) => [row.name, row]));
        const shown = await page.locator(".cmptable tbody tr[data-path]").evaluateAll((all) => all.map((row) => ({ path: row.dataset.path, difference: row.dataset.difference, verdict: row.querySelector(".verdict").textContent })));
        assert.ok(shown.length > 2, by);
        for (const { path, difference } of shown) assert.equal(Number(difference), known.get(path).difference.total.micros, `${by}: ${path}`);
        const of = (path) => shown.find((row) => row.path === path)?.verdict ?? "";
        if (by === "scope") {
          assert.match(of("a/grown"), /slower/);
          assert.match(of("a/new"), /only in B/);
          assert.match(of("b/old"), /only in A/);
        }
      }
      await shoot(page, "compare");
      await page.locator(".cmptable tbody tr").first().click();
      assert.match(await hashOf(page), /sel=scope/);
      await page.getByRole("button", { name: "Swap" }).click();
      await page.waitForFunction(() => /diff scope \S*after \S*before/.test(document.getElementById("command").textContent));
      await visit(page, "/compare?metric=params");
      await shoot(page, "compare-params");
    });
  });

  test("their report works from disk", async () => {
    const [a, b] = sides();
    const file = join(out, "diff.html");
    execFileSync(tfprof, ["diff", a, b, "-output", `report:outfile=${file}`], { cwd: out, stdio: "ignore" });
    const { page, context, complaints } = await visitor(browser);
    await page.goto(pathToFileURL(file).href);
    await settled(page);
    await visit(page, "/compare?by=scope");
    await page.waitForSelector(".cmptable tbody tr[data-path]");
    assert.match(await text(page, ".cmptable"), /slower/);
    await context.close();
    assert.deepEqual(complaints, []);
  });
});

test("three clicks: the slowest op, its line of code, and the step where memory peaks", async () => {
  await withPage([demo], "clicks", async (page) => {
    await page.locator("#top-op .bars button").first().click();
    await page.waitForFunction(() => /^#\/overview\?sel=op:Conv2DBackpropFilter$/.test(location.hash));
    await page.waitForSelector("#panel .line-of-code");
    await page.locator("#panel .line-of-code").first().click();
    await page.waitForSelector(".src .ln.sel");
    assert.equal(await page.locator(".src .ln.sel").getAttribute("data-line"), "30");
    await visit(page, "/overview");
    await page.locator("#figure-memory_peak").click();
    await page.waitForSelector("#peak", { timeout: 30_000 });
    assert.match(await text(page, "#peak"), /step (0|100)/);
  });
});

test("the keyboard alone", async () => {
  await withPage([demo], "keys", async (page) => {
    for (const [i, screen] of SCREENS.entries()) {
      await page.keyboard.press(String(i + 1));
      assert.match(await hashOf(page), new RegExp(`^#/${screen}`));
    }
    await page.keyboard.press("3");
    await page.waitForSelector(".tt .r");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.waitForFunction(() => location.hash.includes("sel=scope:gradients"));
    await page.keyboard.press("ArrowRight");
    await page.waitForSelector('.tt [aria-level="3"]');
    await page.keyboard.press("ArrowLeft");
    await page.waitForFunction(() => !document.querySelector('.tt [aria-level="3"]'));
    await page.keyboard.press("2");
    await page.waitForSelector("#flame");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => location.hash.includes("zoom=gradients"));
    await page.keyboard.press("ArrowDown");
    await page.waitForFunction(() => /sel=scope:gradients\/unit/.test(location.hash));
    await page.keyboard.press("Backspace");
    await page.waitForFunction(() => !location.hash.includes("zoom="));
    await page.keyboard.press("m");
    await page.waitForSelector(".menu");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => location.hash.includes("metric="));
    await page.keyboard.press("]");
    await page.waitForFunction(() => location.hash.includes("step=0"));
    await page.keyboard.press("/");
    await page.keyboard.type("conv");
    await page.waitForFunction(() => location.hash.includes("find=conv"));
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => !location.hash.includes("find="));
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => !location.hash.includes("sel="));
    const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
    const was = await theme();
    await page.keyboard.press("t");
    assert.notEqual(await theme(), was);
    await page.keyboard.press("i");
    assert.equal(await page.locator("#panel").count(), 0);
    await page.keyboard.press("?");
    assert.match(await text(page, ".menu"), /Backspace/);
    await page.keyboard.press("Escape");
    assert.equal(await page.locator(".menu").count(), 0);
    // Tab reaches the controls, in order.
    await page.locator("body").press("Tab");
    const stops = [];
    for (let i = 0; i < 12; i++) {
      stops.push(await page.evaluate(() => document.activeElement?.id || document.activeElement?.className || document.activeElement?.tagName));
      await page.keyboard.press("Tab");
    }
    assert.ok(stops.some((stop) => stop === "find"), stops.join(" "));
  });
});

test("roles that a screen reader needs", async () => {
  await withPage([demo], "roles", async (page) => {
    assert.equal(await page.getByRole("tab", { selected: true }).innerText(), "Overview");
    assert.equal(await page.getByRole("listbox", { name: "Steps" }).getByRole("option").count(), 2);
    await visit(page, "/table");
    const grid = page.getByRole("treegrid");
    assert.equal(await grid.getByRole("columnheader").count() > 2, true);
    assert.equal(await grid.locator("[aria-sort=descending]").count(), 1);
    assert.equal(await grid.locator("[role=row][aria-level='1']").count(), 1);
    const unnamed = await page.evaluate(() => [...document.querySelectorAll("button,input,canvas")].filter((e) => !(e.getAttribute("aria-label") || e.textContent?.trim() || e.getAttribute("title"))).map((e) => e.outerHTML.slice(0, 120)));
    assert.deepEqual(unnamed, []);
  });
});

test("the timeline zooms, moves and measures", async () => {
  await withPage([demo], "timeline", async (page) => {
    await visit(page, "/timeline");
    await page.waitForSelector("#timeline");
    const box = await page.locator("#timeline").boundingBox();
    const window = async () => (/t=([^&]*)/.exec(await hashOf(page))?.[1] ?? "").split("~").map(Number);
    await page.mouse.move(box.x + 600, box.y + 140);
    await page.mouse.wheel(0, -600);
    await page.waitForFunction(() => location.hash.includes("t="));
    // The address follows the window, a moment later.
    const settled = async () => {
      for (let last = "", now = (await window()).join(); now !== last; now = (await window()).join()) {
        last = now;
        await page.waitForTimeout(500);
      }
      return window();
    };
    const [a, b] = await settled();
    await page.keyboard.press("d");
    await page.waitForFunction((start) => !location.hash.includes(`t=${start}~`), a);
    const [c, d] = await settled();
    assert.ok(c > a && Math.abs(d - c - (b - a)) <= 2, "a and d keep the width");
    await page.mouse.move(box.x + 400, box.y + 140);
    await page.mouse.down();
    await page.mouse.move(box.x + 700, box.y + 140, { steps: 5 });
    await page.mouse.up();
    await page.waitForFunction(() => location.hash.includes("range="));
    await page.waitForFunction(() => /Selection:/.test(document.querySelector(".stats .ttl")?.textContent ?? ""));
    await shoot(page, "demo-timeline-range");
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => !location.hash.includes("range="));
  });
});

test("names in a profile are text, never script", async () => {
  await withPage(evil(join(out, "evil")), "evil", async (page, { complaints }) => {
    for (const screen of SCREENS) {
      await visit(page, `/${screen}`);
      await shoot(page, `evil-${screen}`);
    }
    await visit(page, "/table?sel=scope:" + encodeURIComponent(EVIL[0]));
    await page.locator("#find").fill(EVIL[0]);
    await page.waitForTimeout(300);
    await visit(page, "/flame?hide=" + encodeURIComponent("<script>alert(1)</script>"));
    const strange = await page.evaluate(() => document.querySelectorAll("#app img, #app script, #app [onerror], #app [onload], #app iframe").length);
    assert.equal(strange, 0);
    assert.deepEqual(complaints.filter((line) => /ran|script:/.test(line)), []);
    // Answers that say no are errors of the console for the browser; nothing else may be.
    complaints.splice(0, complaints.length, ...complaints.filter((line) => !/status of 4\d\d/.test(line)));
  });
});

test("a report file works from disk, without a server", async () => {
  const file = join(out, "report.html");
  execFileSync(tfprof, ["scope", demo, "-output", `report:outfile=${file}`], { cwd: out, stdio: "ignore" });
  for (const name of ["chromium"]) {
    const other = browser;
    const { page, context, complaints } = await visitor(other);
    await page.goto(pathToFileURL(file).href);
    await settled(page);
    for (const screen of SCREENS) {
      await visit(page, `/${screen}`);
      await page.waitForFunction(() => !document.querySelector(".pending"));
      await shoot(page, `report-${screen}`);
      assert.equal(await page.locator(".empty.bad").count(), 0, screen);
    }
    await visit(page, "/table");
    const total = run(await command(page)).rows[0].total.micros;
    assert.equal(Number(await page.locator(".tt .r [data-value]").first().getAttribute("data-value")), total);
    assert.equal(await page.locator("#find").isDisabled(), true);
    await context.close();
    assert.deepEqual(complaints, [], name);
    if (other !== browser) await other.close();
  }
});
