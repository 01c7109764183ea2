// The screens Roofline and Query, and the arrows of the timeline.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { quiet, settled, visit, visitor } from "./harness.mjs";
import { EVIL, evil } from "./inputs.mjs";
import { browser, colours, command, demo, hashOf, out, root, run, shoot, text, tfprof, withPage } from "./pages.mjs";

const api = (page, key) => page.evaluate(async (to) => (await fetch(`/api/${to}`)).json(), key);

describe("roofline", () => {
  test("dots and table have the figures of the command, and a click selects", async () => {
    await withPage([demo], "roofline", async (page) => {
      for (const hash of ["/roofline", "/roofline?view=op&peak_flops=1T&peak_bandwidth=50G"]) {
        await visit(page, hash);
        const { rows } = run(await command(page));
        const view = hash.includes("op") ? "op" : "scope";
        const known = new Map(rows.map((row) => [`${view}:${row.name}`, row.self]));
        const dots = await page.locator("#roofline .dot").count();
        assert.ok(dots > 10, hash);
        const shown = await page.locator(".roofrows tr[data-sel]").evaluateAll((all) => all.map((row) => ({ sel: row.dataset.sel, values: [...row.querySelectorAll("[data-value]")].map((cell) => Number(cell.dataset.value)) })));
        assert.ok(shown.length > 10);
        for (const { sel, values } of shown) {
          assert.equal(values[0], known.get(sel).device_micros, sel);
          assert.equal(values[1], known.get(sel).flops_per_second, sel);
        }
      }
      assert.match(await text(page, "#peaks"), /1 TFLOP\/s, 50 GB\/s \(given\)/);
      assert.match(await text(page, ".roofrows"), /compute|memory/);
      await shoot(page, "roofline-given");
      // Small dots are drawn above large ones.
      const first = page.locator("#roofline .dot").last();
      const sel = await first.getAttribute("data-sel");
      await first.click();
      assert.equal(new URLSearchParams((await hashOf(page)).split("?")[1]).get("sel"), sel);
      // It has the least time, so it is the last row.
      await page.keyboard.press("ArrowUp");
      await page.waitForFunction((was) => !location.hash.includes(encodeURIComponent(was).replace(/%3A/g, ":")), sel);
    });
  });

  test("without a peak it says so, and takes one", async () => {
    await withPage([join(root, "corpus/kineto/gpu.json.gz")], "no peak", async (page) => {
      await visit(page, "/roofline");
      assert.match(await text(page, "#peaks"), /No peak of A GPU is known[\s\S]*-device h100[\s\S]*-peak_flops/);
      await page.locator("#peak-device").fill("h100");
      await page.keyboard.press("Enter");
      await quiet(page);
      assert.match(await hashOf(page), /hardware=h100/);
      assert.match(await command(page), /-device h100/);
      assert.match(await text(page, "#peaks"), /H100/i);
    });
  });

  test("peaks of the command line hold on the page", async () => {
    await withPage([demo, "-peak_flops", "2T", "-peak_bandwidth", "60G"], "given peaks", async (page) => {
      await visit(page, "/roofline");
      assert.match(await text(page, "#peaks"), /2 TFLOP\/s, 60 GB\/s \(given\)/);
    });
  });
});

describe("a name in the middle", () => {
  test("who leads to it above, what is in it below, with the figures of the op view", async () => {
    await withPage([demo], "sandwich", async (page) => {
      await visit(page, "/table?view=op");
      const { rows } = run(await command(page));
      const conv = rows.find((row) => row.name === "Conv2D").total.micros;
      await visit(page, "/flame?sel=op:Conv2D");
      await page.getByRole("button", { name: "Sandwich" }).click();
      await page.waitForSelector("#callers");
      await quiet(page);
      const { root } = await api(page, "flame?around=op%3AConv2D&warm=1");
      assert.equal(root.total[0], conv);
      assert.match(await text(page, "#flame-value"), /766 ms · 6\.6 % · in 31 places/);
      for (const id of ["callers", "callees"]) assert.ok((await colours(page, id)) > 3, id);
      await shoot(page, "sandwich");
      // A click on who leads to it puts that in the middle; Back returns.
      const box = await page.locator("#callers").boundingBox();
      await page.mouse.click(box.x + 20, box.y + box.height - 35);
      await page.waitForFunction(() => /around=name/.test(location.hash));
      await page.goBack();
      await page.waitForFunction(() => /around=op:Conv2D/.test(location.hash));
      await page.getByRole("button", { name: "Back to the whole" }).click();
      await page.waitForSelector("#flame");
    });
  });

  test("the panel focuses and hides", async () => {
    await withPage([demo], "filters", async (page) => {
      await visit(page, "/table?sel=scope:gradients");
      await page.locator("#panel").getByRole("button", { name: "Hide" }).click();
      await quiet(page);
      assert.equal(await page.locator(".chip").innerText().then((chip) => chip.includes("gradients(/.*)?")), true);
      const { rows } = run(await command(page));
      assert.equal(rows.some((row) => row.name === "gradients"), false);
      await page.keyboard.press("Escape");
      await visit(page, "/table?sel=op:Conv2D");
      await page.locator("#panel").getByRole("button", { name: "Only these" }).click();
      await quiet(page);
      assert.match(await command(page), /-account_type_regexes Conv2D/);
    });
  });
});

describe("query", () => {
  const sql = "select op, sum(runs) as runs from totals group by op order by op";
  const of = (statement) => `/query?sql=${encodeURIComponent(statement)}`;

  test("rows are those of tfprof sql; they sort, and go to a file", async () => {
    await withPage([demo], "query", async (page) => {
      await page.keyboard.press("9");
      await page.locator("#sql").fill(sql);
      // The example in the box has its answer at once.
      await page.waitForSelector(".qrows tbody tr");
      await page.keyboard.press("Control+Enter");
      await page.waitForFunction((line) => document.getElementById("command").textContent.includes(line), "group by op order by op");
      await quiet(page);
      const line = await command(page);
      const { rows } = JSON.parse(execFileSync("sh", ["-c", `${line.replace(/^tfprof\b/, `'${tfprof}'`)} --format=json`], { encoding: "utf8" }));
      assert.match(await text(page, "#result"), new RegExp(`^${rows.length} rows`));
      const shown = () => page.locator(".qrows tbody tr:not([aria-hidden])").evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent)));
      const first = await shown();
      first.forEach(([op, runs], i) => assert.deepEqual({ op, runs: Number(runs) }, rows[i]));
      await page.locator(".qrows th button").nth(1).click();
      assert.equal(Number((await shown())[0][1]), Math.max(...rows.map((row) => row.runs)));
      const [file] = await Promise.all([page.waitForEvent("download"), page.locator("#csv").click()]);
      const csv = readFileSync(await file.path(), "utf8").split("\r\n");
      assert.equal(csv[0], "op,runs");
      assert.equal(csv.length, rows.length + 2);
      await shoot(page, "query");
      // A link brings it back.
      const hash = await hashOf(page);
      await visit(page, "/overview");
      await visit(page, hash.slice(1));
      await page.waitForSelector(".qrows tbody tr");
      assert.equal(await command(page), line);
    });
  });

  test("a wrong statement has its sentence, one that writes is refused", async () => {
    await withPage([demo], "wrong statements", async (page, { complaints }) => {
      await visit(page, of("select wrong from totals"));
      assert.match(await text(page, ".empty"), /no such column: wrong/);
      await visit(page, of("delete from nodes"));
      assert.match(await text(page, ".empty"), /only reads/);
      complaints.splice(0, complaints.length, ...complaints.filter((line) => !/status of 4\d\d/.test(line)));
    });
  });

  test("more rows than fit are counted", async () => {
    await withPage([demo], "many rows", async (page) => {
      await visit(page, of("select a.id from nodes a, nodes b limit 12345"));
      await page.waitForSelector(".qrows tbody tr");
      assert.match(await text(page, "#result"), /^12,345 rows, of which the first 10,000 are here/);
    });
  });

  test("a long statement can be cancelled", async () => {
    await withPage([demo], "cancel", async (page) => {
      const endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n";
      await page.evaluate((to) => (location.hash = to), of(endless));
      await page.locator("#stop").click({ timeout: 20_000 });
      await page.waitForSelector(".empty");
      assert.match(await text(page, ".empty"), /cancelled/);
      await page.locator("#sql").fill(sql);
      await page.locator("#run").click();
      await page.waitForSelector(".qrows tbody tr", { timeout: 20_000 });
    });
  });

  test("every example is a statement that the profile answers", async () => {
    await withPage([join(root, "corpus/xspace/gpu_like")], "examples", async (page) => {
      await visit(page, "/query");
      await page.locator("#b-examples").click();
      const titles = await page.locator(".menu button").allInnerTexts();
      assert.ok(titles.length >= 8);
      await page.keyboard.press("Escape");
      for (const title of titles) {
        await page.locator("#b-examples").click();
        await page.getByRole("menuitem", { name: title.trim() }).click();
        await page.waitForSelector("#result", { timeout: 20_000 });
        await quiet(page);
        assert.equal(await page.locator(".empty").count(), 0, title);
      }
    });
  });

  test("a report names the command instead", async () => {
    const file = join(out, "query-report.html");
    execFileSync(tfprof, ["scope", demo, "-output", `report:outfile=${file}`], { cwd: out, stdio: "ignore" });
    const { page, context, complaints } = await visitor(browser);
    await page.goto(pathToFileURL(file).href);
    await settled(page);
    await visit(page, "/query");
    assert.match(await text(page, ".empty .codebox"), /tfprof sql .*resnet32/);
    await visit(page, "/roofline");
    assert.ok((await page.locator("#roofline .dot").count()) > 10);
    assert.equal(await page.locator("#peak-device").isDisabled(), true);
    await context.close();
    assert.deepEqual(complaints, []);
  });

  test("names in cells are text", async () => {
    await withPage(evil(join(out, "evil")), "evil cells", async (page) => {
      await visit(page, of(`select name, '${EVIL[0]}' as "<b>${EVIL[1]}" from nodes`));
      await page.waitForSelector(".qrows tbody tr");
      assert.ok((await text(page, ".qrows")).includes(EVIL[0]));
      assert.equal(await page.evaluate(() => document.querySelectorAll("#app img, #app script, #app b > script, #app [onerror]").length), 0);
    });
  });
});

/** Brings a kernel and its launch into view and clicks the kernel; returns how many pixels of the gaps between lanes the arrow has. */
async function clickKernel(page, kernel) {
  const [first, last] = [kernel.arrows.from_ns[0], kernel.t0_ns + Math.max(1, kernel.dur_ns)];
  const room = Math.ceil((last - first) * 0.2);
  const [from, to] = [first - room, last + room];
  await visit(page, `/timeline?t=${from}~${to}`);
  const box = await page.locator("#timeline").boundingBox();
  const gutter = 148;
  const x = box.x + gutter + ((kernel.t0_ns + kernel.dur_ns / 2 - from) / (to - from)) * (box.width - gutter);
  let most = 0;
  for (let y = box.y + 80; y < box.y + box.height && most <= 30; y += 7) {
    await page.mouse.click(x, y);
    await quiet(page);
    most = Math.max(most, await page.evaluate(accentInHeadings));
  }
  return most;
}

/** Pixels of the accent on rows of the canvas that are plain at the left edge of the plot: those of the headings. */
function accentInHeadings() {
  const canvas = document.querySelector("canvas#timeline, #timeline canvas");
  const accent = getComputedStyle(document.documentElement).getPropertyValue("--accent").trim();
  const probe = document.createElement("canvas").getContext("2d");
  probe.fillStyle = accent;
  probe.fillRect(0, 0, 1, 1);
  const [r, g, b] = probe.getImageData(0, 0, 1, 1).data;
  const { data, width, height } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let found = 0;
  for (let y = 80; y < height; y++) {
    let inRow = 0;
    for (let x = 160; x < width; x++) {
      const i = (y * width + x) * 4;
      if (Math.abs(data[i] - r) + Math.abs(data[i + 1] - g) + Math.abs(data[i + 2] - b) < 40) inRow++;
    }
    // An arrow is a few pixels wide; an outline or a selected box is wider.
    if (inRow > 0 && inRow < 8) found++;
  }
  return found;
}

describe("arrows from launches to kernels", () => {
  for (const [name, file] of [["torch", "corpus/kineto/gpu.json.gz"], ["xspace", "corpus/xspace/gpu_like"]]) {
    test(name, async () => {
      await withPage([join(root, file)], name, async (page) => {
        await visit(page, "/timeline");
        const timeline = await api(page, "timeline");
        assert.ok(timeline.arrows > 0, "the trace has ids of launches");
        const groups = timeline.groups.flatMap((group) => group.lanes.map((lane) => [lane.id, group.kind]));
        const kindOf = new Map(groups);
        // Some launch on the host leads to a device, and is found from both ends.
        let found = null;
        for (const { id } of timeline.groups.filter((group) => group.kind === "device").flatMap((group) => group.lanes)) {
          const { event } = await api(page, `at?lane=${id}&slack_ns=${Math.ceil(timeline.t1_ns)}&t_ns=0`);
          if (event?.arrows.from.length) found = event;
        }
        assert.ok(found, "a kernel knows its launch");
        assert.equal(kindOf.get(found.arrows.from[0]), "host");
        assert.equal(found.arrows.to[0], found.lane);
        assert.equal(found.arrows.to_ns[0], found.t0_ns);
        const { event: launch } = await api(page, `at?lane=${found.arrows.from[0]}&t_ns=${found.arrows.from_ns[0]}`);
        assert.ok(launch.arrows.to_ns.includes(found.t0_ns), "the launch knows its kernel");
        const drawn = await clickKernel(page, found);
        assert.ok(drawn > 30, `an arrow is drawn across the headings: ${drawn} pixels between the lanes`);
        await shoot(page, `arrows-${name}`);
      });
    });
  }
});
