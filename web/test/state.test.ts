import assert from "node:assert/strict";
import { test } from "node:test";
import { addPattern, apply, chip, DEFAULTS, format, literal, parse, span, splitSelection, type State } from "../src/state";

test("the default state is a bare screen", () => {
  assert.equal(format(parse("")), "#/overview");
  assert.equal(format({ ...DEFAULTS, screen: "flame" }), "#/flame");
});

test("any state survives the address", () => {
  const odd = "a&b=c?d#e/ü %20+,:'\"<script>alert(1)</script>";
  for (const key of Object.keys(DEFAULTS) as (keyof State)[]) {
    if (key === "screen") continue;
    const state = { ...DEFAULTS, screen: "table", [key]: odd } as State;
    assert.deepEqual(parse(format(state)), state, key);
  }
});

test("addresses stay readable", () => {
  const state = parse("#/flame?sel=scope:gradients/unit_1_0&zoom=gradients");
  assert.equal(format(state), "#/flame?sel=scope:gradients/unit_1_0&zoom=gradients");
});

test("unknown screens and keys are ignored", () => {
  assert.equal(parse("#/nowhere?x=1&__proto__=2").screen, "overview");
  assert.equal(format(parse("#/nowhere?x=1")), "#/overview");
});

test("screen, zoom and chips make history; the rest replaces", () => {
  const push = (change: Partial<State>) => apply(DEFAULTS, change)?.push;
  assert.equal(push({ screen: "flame" }), true);
  assert.equal(push({ zoom: "a" }), true);
  assert.equal(push({ hide: "x" }), true);
  assert.equal(push({ sel: "scope:a" }), false);
  assert.equal(push({ metric: "bytes" }), false);
  assert.equal(push({ find: "conv" }), false);
  assert.equal(apply(DEFAULTS, { sel: "" }), null);
});

test("a selection's path may have colons", () => {
  assert.deepEqual(splitSelection("line:C:/a.py:30"), { kind: "line", path: "C:/a.py:30" });
  assert.equal(splitSelection(""), null);
});

test("chips", () => {
  assert.deepEqual(chip("hide:save.*"), { filter: "hide", pattern: "save.*" });
  assert.deepEqual(chip(" account: Conv2D.* "), { filter: "account", pattern: "Conv2D.*" });
  assert.equal(chip("hide:"), null);
  assert.equal(chip("conv"), null);
  assert.equal(addPattern("", "a"), "a");
  assert.equal(addPattern("a", "b"), "a,b");
  assert.equal(addPattern("a,b", "b"), "a,b");
  assert.equal(literal("a.b(c)[d]"), "a\\.b\\(c\\)\\[d\\]");
});

test("ranges", () => {
  assert.deepEqual(span("0~1500"), [0, 1500]);
  assert.deepEqual(span("-20~1e6"), [-20, 1e6]);
  assert.equal(span("5~5"), null);
  assert.equal(span("x~y"), null);
  assert.equal(span(""), null);
});
