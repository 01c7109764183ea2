import assert from "node:assert/strict";
import { test } from "node:test";
import { axisMarks, axisStep, axisTime, change, count, ending, exact, figure, parts, share } from "../src/format";

test("figures have three significant digits and a space", () => {
  assert.equal(figure(4_657_012, "us"), "4.66 s");
  assert.equal(figure(833, "us"), "833 µs");
  assert.equal(figure(17_628_659_712, "flop"), "17.6 GFLOP");
  assert.equal(figure(535_412_992, "bytes"), "535 MB");
  assert.equal(figure(464_154, "count"), "464 k");
  assert.equal(figure(12.5, "us"), "12.5 µs");
  assert.equal(figure(0.25, "us"), "250 ns");
});

test("rounding up carries into the next unit", () => {
  assert.equal(figure(999_499, "us"), "999 ms");
  assert.equal(figure(999_500, "us"), "1.00 s");
  assert.equal(figure(9_999, "us"), "10.0 ms");
  assert.equal(figure(99_960, "us"), "100 ms");
});

test("unknown is a dash and zero is 0", () => {
  assert.equal(figure(null, "us"), "–");
  assert.equal(figure(undefined, "bytes"), "–");
  assert.equal(figure(Number.NaN, "bytes"), "–");
  assert.equal(figure(0, "flop"), "0");
  assert.equal(exact(null, "us"), "unknown");
  assert.deepEqual(parts(0, "us"), ["0", ""]);
});

test("minus is a minus, not a hyphen", () => {
  assert.equal(figure(-1500, "us"), "−1.50 ms");
  assert.equal(change(0.0512), "+5.1 %");
  assert.equal(change(-0.136), "−13.6 %");
  assert.equal(change(null), "");
});

test("times beyond the largest unit stay readable", () => {
  assert.equal(figure(3_600_000_000, "us"), "3,600 s");
});

test("shares", () => {
  assert.equal(share(0.403), "40.3 %");
  assert.equal(share(0.00001), "<0.1 %");
  assert.equal(share(0), "0 %");
  assert.equal(share(1), "100.0 %");
  assert.equal(share(null), "–");
});

test("exact numbers keep every digit", () => {
  assert.equal(exact(12_456_812, "us"), "12,456,812 µs");
  assert.equal(exact(8_388_608, "bytes"), "8,388,608 B");
  assert.equal(exact(3, "count"), "3");
});

test("marks of an axis", () => {
  assert.equal(axisStep(10, 5), 2);
  assert.deepEqual(axisMarks(0, 8, 4), [0, 2, 4, 6, 8]);
  assert.deepEqual(axisMarks(5, 5, 4), []);
  assert.equal(axisTime(2_000_000, 1_000_000), "2 s");
  assert.equal(axisTime(1_500_000, 500_000), "1.5 s");
  assert.equal(axisTime(1_500, 500), "1.5 ms");
  assert.equal(axisTime(20, 5), "20 µs");
});

test("names keep their end", () => {
  assert.equal(ending("a/b/c", 20), "a/b/c");
  assert.equal(ending("gradients/unit_1_0/sub1/conv1", 16), "…/sub1/conv1");
  assert.equal(count(1, "node"), "1 node");
  assert.equal(count(4816, "node"), "4,816 nodes");
});
