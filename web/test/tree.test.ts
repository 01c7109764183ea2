import assert from "node:assert/strict";
import { test } from "node:test";
import { ancestors, flatten, visible, type Level } from "../src/tree";

const row = (path: string, kids = 0) => ({ row: { path }, kids });
const text = (lines: ReturnType<typeof flatten<{ path: string }>>) => lines.map((l) => `${" ".repeat(l.depth)}${l.kind === "row" ? l.path || "all" : l.kind}`);

test("only open branches are listed", () => {
  const levels = new Map<string, Level<{ path: string }>>([
    ["", { items: [row("a", 2), row("b", 1)], total: 2 }],
    ["a", { items: [row("a/x"), row("a/y")], total: 2 }],
  ]);
  const lines = flatten(row("", 2), (r) => r.path, (p) => p === "" || p === "a", (p) => levels.get(p));
  assert.deepEqual(text(lines), ["all", " a", "  a/x", "  a/y", " b"]);
});

test("a level that has not arrived waits, a part of one offers more", () => {
  const levels = new Map<string, Level<{ path: string }>>([["", { items: [row("a", 9)], total: 3 }]]);
  const lines = flatten(row("", 3), (r) => r.path, () => true, (p) => levels.get(p));
  assert.deepEqual(text(lines), ["all", " a", "  wait", " more"]);
});

test("a very deep tree needs no stack", () => {
  const level = (path: string) => ({ items: [row(path ? `${path}x` : "x", path.length < 50_000 ? 1 : 0)], total: 1 });
  assert.equal(flatten(row("", 1), (r) => r.path, () => true, level).length, 50_002);
});

test("ancestors and the window of rows", () => {
  assert.deepEqual(ancestors("a/b/c"), ["", "a", "a/b"]);
  assert.deepEqual(ancestors(""), []);
  assert.deepEqual(visible(0, 240, 24, 1000, 2), [0, 12]);
  assert.deepEqual(visible(2400, 240, 24, 1000, 2), [98, 112]);
  assert.deepEqual(visible(0, 240, 24, 3, 2), [0, 3]);
});
