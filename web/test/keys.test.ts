import assert from "node:assert/strict";
import { test } from "node:test";
import { action, KEYS } from "../src/keys";
import { SCREENS } from "../src/state";

const stroke = (key: string, more = {}) => ({ key, ctrlKey: false, metaKey: false, altKey: false, ...more });

test("no key has two meanings", () => {
  const keys = KEYS.flatMap((row) => row.keys);
  assert.equal(new Set(keys).size, keys.length);
  for (const own of ["a", "d", "+", "-", "f", "n", "p", "Enter", "Backspace", "ArrowUp"]) assert.ok(!keys.includes(own), own);
});

test("digits go to the screens that are shown", () => {
  assert.equal(action(stroke("1")), "screen-overview");
  assert.equal(action(stroke("2"), ["overview", "table"]), "screen-table");
  assert.equal(action(stroke("3"), ["overview", "table"]), null);
  assert.equal(SCREENS.length, 10);
  assert.equal(action(stroke("9")), `screen-${SCREENS[8]}`);
  assert.equal(action(stroke("0")), `screen-${SCREENS[9]}`);
});

test("the browser keeps its own shortcuts", () => {
  assert.equal(action(stroke("t", { ctrlKey: true })), null);
  assert.equal(action(stroke("c", { metaKey: true })), null);
  assert.equal(action(stroke("c")), "command");
  assert.equal(action(stroke("C")), "python");
});
