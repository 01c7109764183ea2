// Tiles of the timeline: zoom levels in powers of two, 1,024 pixels wide. Level 0 is the whole recording in one tile.

import { Lru } from "./lru";

export const TILE = 1024;

export interface TileId { level: number; index: number }
export const tileKey = ({ level, index }: TileId): string => `${level}/${index}`;

/** The level at which a tile's pixel is at most as wide as one on the screen. */
export function levelFor(total: number, window: number, pixels: number, deepest: number): number {
  if (!(window > 0) || !(total > 0)) return 0;
  const level = Math.ceil(Math.log2((total / window) * (pixels / TILE)) - 1e-9);
  return Math.min(deepest, Math.max(0, level));
}

/** The tiles of a level that touch a window; times count from the start of the recording. */
export function tilesIn(total: number, level: number, from: number, to: number): TileId[] {
  const count = 2 ** level;
  const width = total / count;
  const first = Math.max(0, Math.min(count - 1, Math.floor(from / width)));
  const last = Math.max(0, Math.min(count - 1, Math.ceil(to / width) - 1));
  const ids = [];
  if (to > 0 && from < total) for (let index = first; index <= last; index++) ids.push({ level, index });
  return ids;
}

export const parentOf = ({ level, index }: TileId): TileId | null => (level ? { level: level - 1, index: index >> 1 } : null);

/** Tiles to ask for next: one beyond each end, in the direction of the last move first, and the parents. */
export function prefetch(total: number, level: number, from: number, to: number, direction: number): TileId[] {
  const shown = tilesIn(total, level, from, to);
  if (!shown.length) return [];
  const count = 2 ** level;
  const first = (shown[0] as TileId).index;
  const last = (shown[shown.length - 1] as TileId).index;
  const sides = direction < 0 ? [first - 1, last + 1] : [last + 1, first - 1];
  const ahead = sides.filter((index) => index >= 0 && index < count).map((index) => ({ level, index }));
  const above = [...new Set(shown.map((id) => parentOf(id)?.index))].filter((index) => index !== undefined);
  return [...ahead, ...(level ? above.map((index) => ({ level: level - 1, index: index as number })) : [])];
}

type Slot<T> = { tile: T } | { waiting: AbortController } | { failed: unknown };

/** Keeps about 200 tiles, asks for the missing ones a few at a time, and offers a parent until a child arrives. */
export class Tiles<T> {
  private readonly kept: Lru<string, T>;
  private readonly asked = new Map<string, Slot<T>>();
  private queue: TileId[] = [];
  private running = 0;

  constructor(
    private readonly load: (id: TileId, signal: AbortSignal) => Promise<T>,
    private readonly arrived: (id: TileId) => void,
    limit = 200,
    private readonly atOnce = 4,
  ) {
    this.kept = new Lru(limit);
  }

  get size(): number {
    return this.kept.size;
  }

  get pending(): number {
    return this.running + this.queue.length;
  }

  has(id: TileId): boolean {
    return this.kept.peek(tileKey(id)) !== undefined;
  }

  /** The tile, or its nearest ancestor that is here. */
  best(id: TileId): { id: TileId; tile: T } | null {
    for (let at: TileId | null = id; at; at = parentOf(at)) {
      const tile = this.kept.get(tileKey(at));
      if (tile !== undefined) return { id: at, tile };
    }
    return null;
  }

  /** Asks for these, most wanted first. What is no longer wanted and not yet under way is forgotten. */
  want(ids: TileId[]): void {
    this.queue = ids.filter((id) => !this.has(id) && !this.asked.has(tileKey(id)));
    this.pump();
  }

  private pump(): void {
    while (this.running < this.atOnce && this.queue.length) {
      const id = this.queue.shift() as TileId;
      const key = tileKey(id);
      if (this.asked.has(key)) continue;
      const waiting = new AbortController();
      this.asked.set(key, { waiting });
      this.running++;
      this.load(id, waiting.signal).then(
        (tile) => {
          this.kept.set(key, tile);
          this.asked.delete(key);
          this.done(id);
        },
        (failed) => {
          // A tile that failed is not asked again by itself: the server would be asked with every frame.
          this.asked.set(key, { failed });
          this.done(id);
        },
      );
    }
  }

  private done(id: TileId): void {
    this.running--;
    this.arrived(id);
    this.pump();
  }

  clear(): void {
    for (const slot of this.asked.values()) if ("waiting" in slot) slot.waiting.abort();
    this.asked.clear();
    this.queue = [];
    this.kept.clear();
  }
}
