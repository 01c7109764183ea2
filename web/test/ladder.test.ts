import assert from "node:assert/strict";
import { test } from "node:test";
import type { GraphAnswer, GraphBox } from "../src/api";
import { ladder, layers } from "../src/ladder";
import { spell } from "../src/source";
import { python } from "../src/python";

const box = (id: number, path: string, dir: GraphBox["dir"], more: Partial<GraphBox> = {}): GraphBox => ({ id, path, name: path, dir, kids: 0, open: false, parent: null, twin: null, rank: id, value: 1, share: 0.1, heat: 0, ...more });
const answer = (boxes: GraphBox[], laddered: boolean, edges: GraphAnswer["edges"] = []): GraphAnswer => ({ command: "", python: "", warnings: [], left_out: null, ms: 0, columns: [], ladder: laddered, boxes, edges, sums: { count: 0, value: 0 }, kept: { bytes: null, edges: 0, widest: [] } });

test("a gradient stands beside its forward scope", () => {
  const { boxes } = ladder(answer([box(0, "a", "f"), box(1, "b", "f"), box(2, "ga", "g", { twin: 0 }), box(3, "gb", "g", { twin: 1 }), box(4, "lone", "g", { kids: 2 }), box(5, "train", "o")], true), 1200);
  const at = (id: number) => boxes.get(id) as NonNullable<ReturnType<typeof boxes.get>>;
  assert.equal(at(0).y, at(2).y);
  assert.equal(at(1).y, at(3).y);
  assert.ok(at(2).x > at(0).x + at(0).w);
  assert.ok(at(4).y > at(3).y);
  assert.ok(at(5).x > at(3).x + at(3).w);
});

test("no two boxes share a place", () => {
  const many = Array.from({ length: 60 }, (_, i) => box(i, `s${i}`, (["f", "g", "o", ""] as const)[i % 4] ?? "", { twin: i % 4 === 1 ? i - 1 : null, parent: i > 40 ? 0 : null, rank: i % 7 }));
  for (const layout of [ladder(answer(many, true), 1100), layers(answer(many, false), 1100)]) {
    const places = [...layout.boxes.values()].map((p) => `${Math.round(p.x / 40)}/${p.y}`);
    assert.equal(layout.boxes.size, 60);
    assert.equal(new Set(places).size, places.length);
  }
});

test("parents that form a circle do not hang", () => {
  const layout = ladder(answer([box(0, "a", "f", { parent: 1 }), box(1, "b", "f", { parent: 0 }), box(2, "c", "f")], true), 900);
  assert.ok(layout.boxes.has(2));
});

test("each question has one spelling", () => {
  assert.equal(spell("flame", { px: 1200, metric: "bytes", find: "", zoom: undefined }), "flame?metric=bytes&px=1200");
  assert.equal(spell("rows", { parent: "a/b&c" }), "rows?parent=a%2Fb%26c");
  assert.equal(spell("meta", {}), "meta");
});

test("a line of Python keeps every character", () => {
  for (const line of ["def f(x): return x # ü", "s = \"a'b\" + 'c\\\"d'", "x = 1e-3 + 0x1f * y[2]", "", "    \t", "'unclosed", '"""doc', "a" + "b".repeat(900)]) {
    assert.equal(python(line).map(([, text]) => text).join(""), line);
  }
  assert.deepEqual(python("return x")[0], ["k", "return"]);
});
