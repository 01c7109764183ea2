// One tile of the timeline as it comes over the wire: little-endian columns, sorted by lane and place.

const MAGIC = 0x31544654;

export interface Tile {
  n: number;
  begin: number;
  /** Nanoseconds per 1/32 pixel. */
  grain: number;
  name: Uint32Array;
  events: Uint32Array;
  lane: Uint16Array;
  x: Uint16Array;
  width: Uint16Array;
  op: Uint8Array;
  flags: Uint8Array;
  /** First box and end of each lane. */
  lanes: Map<number, [number, number]>;
}

export function decode(buffer: ArrayBuffer): Tile {
  if (buffer.byteLength < 24) throw new Error("a tile is shorter than its head");
  const head = new DataView(buffer);
  if (head.getUint32(0, true) !== MAGIC) throw new Error("not a tile");
  const n = head.getUint32(4, true);
  if (buffer.byteLength < 24 + n * 16) throw new Error("a tile is shorter than it says");
  let at = 24;
  const take = (bytes: number) => {
    const from = at;
    at += bytes * n;
    return from;
  };
  const tile: Tile = {
    n,
    begin: head.getFloat64(8, true),
    grain: head.getFloat64(16, true) / 32,
    name: new Uint32Array(buffer, take(4), n),
    events: new Uint32Array(buffer, take(4), n),
    lane: new Uint16Array(buffer, take(2), n),
    x: new Uint16Array(buffer, take(2), n),
    width: new Uint16Array(buffer, take(2), n),
    op: new Uint8Array(buffer, take(1), n),
    flags: new Uint8Array(buffer, take(1), n),
    lanes: new Map(),
  };
  for (let i = 0; i < n; ) {
    const lane = tile.lane[i] as number;
    let end = i + 1;
    while (end < n && tile.lane[end] === lane) end++;
    tile.lanes.set(lane, [i, end]);
    i = end;
  }
  return tile;
}

/** The box of a lane at a time, or the nearest within a distance; -1 if there is none. */
export function boxAt(tile: Tile, lane: number, t: number, slack: number): number {
  const range = tile.lanes.get(lane);
  if (!range) return -1;
  let [low, high] = range;
  const place = (t - tile.begin) / tile.grain;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((tile.x[middle] as number) <= place) low = middle + 1;
    else high = middle;
  }
  let best = -1;
  let distance = slack / tile.grain;
  for (const i of [low - 1, low]) {
    if (i < range[0] || i >= range[1]) continue;
    const from = tile.x[i] as number;
    const off = Math.max(0, from - place, place - from - (tile.width[i] as number));
    if (off <= distance) {
      best = i;
      distance = off;
    }
  }
  return best;
}
