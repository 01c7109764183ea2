import assert from "node:assert/strict";
import { test } from "node:test";
import { Lru } from "../src/lru";
import { boxAt, decode } from "../src/tile";
import { levelFor, prefetch, Tiles, tilesIn, type TileId } from "../src/tiles";

test("a level has pixels at least as fine as the screen", () => {
  assert.equal(levelFor(1000, 1000, 1024, 20), 0);
  assert.equal(levelFor(1000, 1000, 1025, 20), 1);
  assert.equal(levelFor(1000, 10, 1024, 20), 7);
  assert.equal(levelFor(1000, 1e-9, 1024, 20), 20);
  assert.equal(levelFor(0, 0, 1024, 20), 0);
});

test("tiles of a window", () => {
  assert.deepEqual(tilesIn(1000, 2, 0, 1000).map((t) => t.index), [0, 1, 2, 3]);
  assert.deepEqual(tilesIn(1000, 2, 250, 500).map((t) => t.index), [1]);
  assert.deepEqual(tilesIn(1000, 2, -50, 20).map((t) => t.index), [0]);
  assert.deepEqual(tilesIn(1000, 2, 1100, 1200), []);
});

test("prefetch looks one ahead, in the direction of the move first", () => {
  const ids = prefetch(1000, 3, 250, 375, -1);
  assert.deepEqual(ids, [{ level: 3, index: 1 }, { level: 3, index: 3 }, { level: 2, index: 1 }]);
  assert.deepEqual(prefetch(1000, 0, 0, 1000, 1), []);
});

test("what was longest unused is dropped", () => {
  const gone: number[] = [];
  const kept = new Lru<string, number>(2, (v) => gone.push(v));
  kept.set("a", 1);
  kept.set("b", 2);
  kept.get("a");
  kept.set("c", 3);
  assert.deepEqual([kept.peek("a"), kept.peek("b"), kept.peek("c")], [1, undefined, 3]);
  assert.deepEqual(gone, [2]);
});

const settle = () => new Promise((done) => setTimeout(done, 0));

test("a parent stands in until its child arrives", async () => {
  const waiting = new Map<string, (text: string) => void>();
  const tiles = new Tiles<string>((id) => new Promise((done) => waiting.set(`${id.level}/${id.index}`, done)), () => {});
  tiles.want([{ level: 0, index: 0 }]);
  waiting.get("0/0")?.("whole");
  await settle();
  tiles.want([{ level: 2, index: 3 }]);
  assert.deepEqual(tiles.best({ level: 2, index: 3 }), { id: { level: 0, index: 0 }, tile: "whole" });
  waiting.get("2/3")?.("part");
  await settle();
  assert.equal(tiles.best({ level: 2, index: 3 })?.tile, "part");
});

test("each tile is asked once, a few at a time, and failures are not repeated", async () => {
  const asked: string[] = [];
  const ends: (() => void)[] = [];
  const load = (id: TileId) => {
    asked.push(`${id.level}/${id.index}`);
    return new Promise<string>((_, fail) => ends.push(() => fail(new Error("no"))));
  };
  const tiles = new Tiles<string>(load, () => {}, 200, 2);
  const ids = [0, 1, 2, 3].map((index) => ({ level: 2, index }));
  tiles.want(ids);
  tiles.want(ids);
  assert.deepEqual(asked, ["2/0", "2/1"]);
  ends.splice(0).forEach((end) => end());
  await settle();
  assert.deepEqual(asked, ["2/0", "2/1", "2/2", "2/3"]);
  ends.splice(0).forEach((end) => end());
  await settle();
  tiles.want(ids);
  assert.equal(asked.length, 4);
  assert.equal(tiles.best({ level: 2, index: 0 }), null);
});

function packed(boxes: { name: number; lane: number; x: number; w: number; events?: number }[]): ArrayBuffer {
  const n = boxes.length;
  const buffer = new ArrayBuffer(24 + n * 16);
  const view = new DataView(buffer);
  view.setUint32(0, 0x31544654, true);
  view.setUint32(4, n, true);
  view.setFloat64(8, 1000, true);
  view.setFloat64(16, 32, true);
  boxes.forEach((box, i) => {
    view.setUint32(24 + i * 4, box.name, true);
    view.setUint32(24 + n * 4 + i * 4, box.events ?? 1, true);
    view.setUint16(24 + n * 8 + i * 2, box.lane, true);
    view.setUint16(24 + n * 10 + i * 2, box.x, true);
    view.setUint16(24 + n * 12 + i * 2, box.w, true);
  });
  return buffer;
}

test("tiles are read, and boxes found by lane and time", () => {
  const tile = decode(packed([{ name: 7, lane: 0, x: 0, w: 10 }, { name: 8, lane: 0, x: 20, w: 5 }, { name: 9, lane: 2, x: 4, w: 4 }]));
  assert.equal(tile.n, 3);
  assert.equal(tile.grain, 1);
  assert.deepEqual([...tile.lanes], [[0, [0, 2]], [2, [2, 3]]]);
  assert.equal(boxAt(tile, 0, 1005, 0), 0);
  assert.equal(boxAt(tile, 0, 1015, 0), -1);
  assert.equal(boxAt(tile, 0, 1018, 3), 1);
  assert.equal(boxAt(tile, 1, 1005, 100), -1);
  assert.equal(boxAt(tile, 2, 1006, 0), 2);
});

test("a tile that lies about its size is refused", () => {
  const whole = packed([{ name: 1, lane: 0, x: 0, w: 1 }]);
  assert.throws(() => decode(whole.slice(0, 30)));
  assert.throws(() => decode(new ArrayBuffer(8)));
  assert.throws(() => decode(new ArrayBuffer(64)));
});
