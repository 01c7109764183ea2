// Places the boxes of a graph: a ladder of forward scopes with each gradient beside, or layers where there are none.

import type { GraphAnswer, GraphBox } from "./api";

export interface Placed { box: GraphBox; x: number; y: number; w: number; h: number; column: "f" | "g" | "o"; depth: number }
export interface Layout { boxes: Map<number, Placed>; width: number; height: number; ladder: boolean }

export const BOX = { w: 232, h: 22, gap: 7 };
const LEFT = 120;

function depthOf(box: GraphBox, byId: Map<number, GraphBox>): number {
  let depth = 0;
  for (let at = box.parent; at !== null && byId.has(at) && depth < 64; at = (byId.get(at) as GraphBox).parent) depth++;
  return depth;
}

/** Boxes in the order of their ranks, each opened scope before what is in it. */
function ordered(boxes: GraphBox[]): GraphBox[] {
  const here = new Set(boxes.map((box) => box.id));
  const kids = new Map<number | null, GraphBox[]>();
  for (const box of boxes) {
    const parent = box.parent !== null && here.has(box.parent) ? box.parent : null;
    kids.set(parent, [...(kids.get(parent) ?? []), box]);
  }
  for (const list of kids.values()) list.sort((a, b) => a.rank - b.rank || (a.path < b.path ? -1 : 1));
  const out: GraphBox[] = [];
  const stack = [...(kids.get(null) ?? [])].reverse();
  while (stack.length) {
    const box = stack.pop() as GraphBox;
    out.push(box);
    stack.push(...[...(kids.get(box.id) ?? [])].reverse());
  }
  return out;
}

/** The column of a box. What reads gradients and has none of its own updates; so do sums of gradients that belong to no scope. */
function sides(answer: GraphAnswer, byId: Map<number, GraphBox>): (box: GraphBox) => "f" | "g" | "o" {
  const fed = new Set(answer.edges.filter((edge) => byId.get(edge.from)?.dir === "g").map((edge) => edge.to));
  const twinned = new Set(answer.boxes.filter((box) => box.twin !== null).flatMap((box) => [box.id, box.twin as number]));
  return (box) => {
    const inside = box.parent !== null && byId.has(box.parent);
    if (box.dir === "f") return fed.has(box.id) && !twinned.has(box.id) && !inside ? "o" : "f";
    if (box.dir === "g") return !twinned.has(box.id) && !inside && !box.kids ? "o" : "g";
    return "o";
  };
}

export function ladder(answer: GraphAnswer, width: number): Layout {
  const byId = new Map(answer.boxes.map((box) => [box.id, box]));
  const boxes = new Map<number, Placed>();
  const w = Math.max(160, Math.min(BOX.w, (width - LEFT - 220) / 3));
  const columns = { f: LEFT, g: LEFT + w + Math.max(120, Math.min(190, (width - LEFT - 3 * w) / 3)), o: 0 };
  columns.o = columns.g + w + 120;
  const pitch = BOX.h + BOX.gap;
  const put = (box: GraphBox, column: "f" | "g" | "o", row: number) => {
    const depth = depthOf(box, byId);
    const indent = Math.min(depth, 6) * 14;
    boxes.set(box.id, { box, x: columns[column] + indent, y: 44 + row * pitch, w: w - indent, h: BOX.h, column, depth });
  };
  const side = sides(answer, byId);
  const forward = ordered(answer.boxes.filter((box) => side(box) === "f"));
  const gradient = ordered(answer.boxes.filter((box) => side(box) === "g"));
  const other = ordered(answer.boxes.filter((box) => side(box) === "o"));
  // Rows follow the forward scopes; a gradient without a twin gets a row of its own after its neighbours.
  const rowOf = new Map(forward.map((box, i) => [box.id, i]));
  const lone = gradient.filter((box) => box.twin === null || !rowOf.has(box.twin));
  forward.forEach((box, i) => put(box, "f", i));
  for (const box of gradient) if (box.twin !== null && rowOf.has(box.twin)) put(box, "g", rowOf.get(box.twin) as number);
  const taken = new Set([...boxes.values()].filter((p) => p.column === "g").map((p) => Math.round((p.y - 44) / pitch)));
  let row = forward.length;
  for (const box of lone) {
    while (taken.has(row)) row++;
    put(box, "g", row);
    taken.add(row++);
  }
  const middle = Math.max(0, Math.floor((Math.max(forward.length, row) - other.length) / 3));
  other.forEach((box, i) => put(box, "o", middle + i));
  const rows = Math.max(forward.length, row, middle + other.length);
  return { boxes, width: columns.o + w + 24, height: 44 + rows * pitch + 24, ladder: true };
}

/** Layers: one row for each rank, boxes near the middle of what they read. */
export function layers(answer: GraphAnswer, width: number): Layout {
  const byRank = new Map<number, GraphBox[]>();
  for (const box of ordered(answer.boxes)) byRank.set(box.rank, [...(byRank.get(box.rank) ?? []), box]);
  const wide = Math.max(3, Math.floor((width - 48) / 190));
  const layersOf = [...byRank.keys()].sort((a, b) => a - b).flatMap((rank) => {
    // A layer that is wider than the screen takes several rows.
    const list = byRank.get(rank) as GraphBox[];
    return Array.from({ length: Math.ceil(list.length / wide) }, (_, i) => list.slice(i * wide, (i + 1) * wide));
  });
  const most = Math.max(1, ...layersOf.map((list) => list.length));
  const w = Math.max(120, Math.min(BOX.w, (width - 48) / most - 24));
  const inner = Math.max(width - 32, most * (w + 24));
  const boxes = new Map<number, Placed>();
  const centre = new Map<number, number>();
  layersOf.forEach((list, row) => {
    const wish = (box: GraphBox) => {
      const from = answer.edges.filter((edge) => edge.to === box.id && centre.has(edge.from)).map((edge) => centre.get(edge.from) as number);
      return from.length ? from.reduce((a, b) => a + b, 0) / from.length : inner / 2;
    };
    const sorted = list.map((box) => ({ box, at: wish(box) })).sort((a, b) => a.at - b.at);
    const total = sorted.length * (w + 24);
    const mean = sorted.reduce((sum, s) => sum + s.at, 0) / sorted.length;
    const start = Math.max(12, Math.min(inner - total, mean - (total - 24) / 2));
    sorted.forEach(({ box }, i) => {
      const x = start + i * (w + 24);
      centre.set(box.id, x + w / 2);
      boxes.set(box.id, { box, x, y: 20 + row * (BOX.h + 26), w, h: BOX.h, column: box.dir === "g" ? "g" : box.dir === "f" ? "f" : "o", depth: 0 });
    });
  });
  return { boxes, width: inner + 24, height: 20 + layersOf.length * (BOX.h + 26) + 20, ladder: false };
}
