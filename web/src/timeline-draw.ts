// Draws the timeline. Boxes are written into an image, one texel per pixel and lane; only wide ones get a label.

import type { EventInfo, EventsAnswer, MemoryAnswer, NameInfo, TimelineAnswer } from "./api";
import { fit, SANS, type Surface } from "./canvas";
import { DIRS, family, mix, shade, texel, token, unitShade } from "./color";
import { axisMarks, axisStep, axisTime, figure } from "./format";
import { drawCurve } from "./screens/memory";
import type { Tile } from "./tile";
import { levelFor, TILE, tilesIn, type TileId, type Tiles } from "./tiles";

export const GUTTER = 148;
export const MINI = 34;
export const RULER = 40;
export const HEAD = MINI + RULER;
export const GROUP = 22;
export const LABELLED = 26;

export interface LaneRow { id: number; name: string; y: number; h: number; events: number }
export interface GroupRow { name: string; detail: string; y: number }
export interface Rows { lanes: LaneRow[]; groups: GroupRow[]; height: number }

/** Places lanes under their groups; lanes shrink when there are many. */
export function rowsOf(answer: TimelineAnswer, room: number): Rows {
  const count = answer.groups.reduce((sum, group) => sum + group.lanes.length, 0);
  const h = Math.max(16, Math.min(34, Math.floor((room - answer.groups.length * GROUP) / Math.max(1, count))));
  const rows: Rows = { lanes: [], groups: [], height: 0 };
  let y = 2;
  for (const group of answer.groups) {
    rows.groups.push({ name: group.name, detail: group.detail, y });
    y += GROUP;
    for (const lane of group.lanes) {
      rows.lanes.push({ id: lane.id, name: lane.name, y, h, events: lane.events });
      y += h;
    }
    y += 4;
  }
  rows.height = y + 4;
  return rows;
}

export interface Scene {
  answer: TimelineAnswer;
  rows: Rows;
  tiles: Tiles<Tile>;
  names: Map<number, NameInfo>;
  from: number;
  to: number;
  range: [number, number] | null;
  selected: EventsAnswer | null;
  /** The event that was clicked, with its arrows; without one, those of the selection are drawn. */
  picked: EventInfo | null;
  memory: MemoryAnswer | null;
  memoryHeight: number;
  find: string;
  mode: string;
  cursor: { lane: number; t: number } | null;
}

export interface Drawn { wanted: TileId[]; level: number; unnamed: Set<number>; boxes: number }

/** Colours of boxes as texels: by direction and a little of the name, or by op type. Three strengths: full, thin, faint. */
class Palette {
  readonly colors: Uint32Array[];
  constructor(mode: string, ops: string[]) {
    const css: string[] = [];
    if (mode === "name") for (let k = 0; k < 64; k++) css.push(unitShade((k % 12) / 11, k >> 3));
    else if (mode === "op") for (const op of ops) css.push(token(family(op)[0]));
    else for (let dir = 0; dir < 4; dir++) for (let k = 0; k < 16; k++) css.push(dir === 0 ? shade("o", 0, k, 0) : shade(DIRS[dir] ?? "", (k >> 3) * 0.6 + 0.1, k, 4));
    const panel = token("panel");
    this.colors = [0, 0.45, 0.72].map((t) => Uint32Array.from(css, (c) => texel(t ? mix(c, panel, t) : c)));
  }
}
let palette: { key: string; made: Palette } | null = null;

/** Whether the recording tells forward from gradient at all; the tile of the whole shows it. */
export function hasDirections(tiles: Tiles<Tile>): boolean {
  const whole = tiles.best({ level: 0, index: 0 });
  return !whole || whole.tile.flags.some((flags) => (flags & 3) === 1 || (flags & 3) === 2);
}

export function forgetColors(): void {
  palette = null;
}

function paletteFor(scene: Scene): Palette {
  const key = `${scene.mode}/${token("panel")}/${scene.answer.ops.length}`;
  if (palette?.key !== key) palette = { key, made: new Palette(scene.mode, scene.answer.ops) };
  return palette.made;
}

let picture: { canvas: HTMLCanvasElement; g: CanvasRenderingContext2D; image: ImageData; texels: Uint32Array } | null = null;

function pictureOf(width: number, height: number): NonNullable<typeof picture> {
  if (picture && picture.canvas.width === width && picture.canvas.height === height) return picture;
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  const g = canvas.getContext("2d") as CanvasRenderingContext2D;
  const image = g.createImageData(width, height);
  picture = { canvas, g, image, texels: new Uint32Array(image.data.buffer) };
  return picture;
}

interface Label { x: number; w: number; lane: LaneRow; name: number }
/** The labels of a picture, and by lane that of a box which goes on in the next tile. */
interface Labels { all: Label[]; open: Map<number, Label> }

/** Notes a box; one that is cut by the edge of a tile is one box with one name. */
function note({ all, open }: Labels, label: Label, begins: boolean, goesOn: boolean): void {
  const before = begins ? open.get(label.lane.id) : undefined;
  const joined = before?.name === label.name ? before : label;
  if (joined === label) all.push(label);
  else joined.w = label.x + label.w - joined.x;
  if (goesOn) open.set(label.lane.id, joined);
  else open.delete(label.lane.id);
}

/** Flags of a box that begins before its tile, and of one that ends after it. */
const BEFORE = 4;
const AFTER = 8;

/** Writes one lane of one tile into its row of texels, and notes boxes that are wide enough for a name. */
function writeLane(scene: Scene, tile: Tile, [start, end]: [number, number], out: Uint32Array, colors: Uint32Array[], clip: [number, number], ratio: number, lane: LaneRow, labels: Labels, match: ((name: number) => boolean) | null): void {
  const perTexel = (scene.to - scene.from) / out.length;
  const scale = tile.grain / perTexel;
  const shift = (tile.begin - scene.from) / perTexel;
  const byOp = scene.mode === "op";
  const byName = scene.mode === "name";
  const [full, thin, faint] = colors as [Uint32Array, Uint32Array, Uint32Array];
  const quiet = scene.selected !== null && scene.selected.count > 0;
  for (let i = start; i < end; i++) {
    const w = (tile.width[i] as number) * scale;
    const x = (tile.x[i] as number) * scale + shift;
    let a = Math.floor(x + 0.001);
    let b = Math.max(a + 1, Math.floor(x + w + 0.001));
    if (b <= clip[0]) continue;
    if (a >= clip[1]) break;
    const wide = b - a;
    // The edge of a tile cuts a box, but does not end it.
    const flags = tile.flags[i] as number;
    const begins = a < clip[0] || (flags & BEFORE) !== 0;
    const goesOn = b > clip[1] || (flags & AFTER) !== 0;
    if (begins) a = clip[0];
    if (goesOn) b = clip[1];
    const color = byName ? (Math.imul(tile.name[i] as number, 2654435761) >>> 26) : byOp ? (tile.op[i] as number) : ((tile.flags[i] as number) & 3) * 16 + ((tile.name[i] as number) & 15);
    let strength = w < 0.5 && tile.events[i] === 1 ? thin : full;
    if (quiet || (match && !match(tile.name[i] as number))) strength = faint;
    const value = strength[color] ?? (strength[0] as number);
    if (wide === 1) {
      out[a] = value;
      continue;
    }
    out.fill(value, a, wide >= 3 && !goesOn && b - a > 1 ? b - 1 : b);
    if (wide >= LABELLED * ratio || begins || goesOn) note(labels, { x: a / ratio, w: (b - a) / ratio, lane, name: tile.name[i] as number }, begins, goesOn);
  }
}

/** Draws everything; returns which tiles and names it lacked. */
export function drawTimeline(surface: Surface, scroll: number, scene: Scene): Drawn {
  const { g, width, height } = surface;
  g.fillStyle = token("panel");
  g.fillRect(0, 0, width, height);
  const bottom = height - scene.memoryHeight;
  g.save();
  g.beginPath();
  g.rect(0, HEAD, width, Math.max(0, bottom - HEAD));
  g.clip();
  gridLines(g, scene, width, HEAD, bottom);
  const drawn = drawLanes(surface, scroll, scene, bottom);
  groupHeads(g, scroll, scene, bottom, width);
  drawSelected(g, scroll, scene, width);
  drawArrows(g, scroll, scene, width);
  laneNames(g, scroll, scene, bottom);
  g.restore();
  if (scene.memoryHeight) drawMemory(g, scene, width, bottom, height);
  drawHead(surface, scene);
  drawRange(g, scene, width, height);
  return drawn;
}

function drawLanes({ g, width, ratio }: Surface, scroll: number, scene: Scene, bottom: number): Drawn {
  const texelsWide = Math.max(1, Math.round((width - GUTTER) * ratio));
  const visible = scene.rows.lanes.filter((lane) => lane.y + lane.h > scroll && lane.y < scroll + bottom - HEAD);
  const level = levelFor(scene.answer.tile_ns, scene.to - scene.from, texelsWide, scene.answer.levels);
  const ids = tilesIn(scene.answer.tile_ns, level, scene.from, Math.min(scene.to, scene.answer.t1_ns));
  const colors = paletteFor(scene).colors;
  const needle = scene.find.toLowerCase();
  const match = needle ? (name: number) => !!scene.names.get(name)?.name.toLowerCase().includes(needle) : null;
  const labels: Labels = { all: [], open: new Map() };
  const unnamed = new Set<number>();
  const shot = pictureOf(texelsWide, Math.max(1, visible.length));
  shot.texels.fill(0);
  let boxes = 0;
  for (const id of ids) {
    const best = scene.tiles.best(id);
    if (!best) continue;
    // A stretched ancestor may only paint where its child would be.
    const tileNs = scene.answer.tile_ns / 2 ** id.level;
    const clip: [number, number] = [id.index * tileNs, (id.index + 1) * tileNs].map((t) => Math.max(0, Math.min(texelsWide, Math.round(((t - scene.from) / (scene.to - scene.from)) * texelsWide)))) as [number, number];
    visible.forEach((lane, row) => {
      const range = best.tile.lanes.get(lane.id);
      if (!range) return;
      boxes += range[1] - range[0];
      writeLane(scene, best.tile, range, shot.texels.subarray(row * texelsWide, (row + 1) * texelsWide), colors, clip, ratio, lane, labels, match);
    });
    if (match) collectUnnamed(best.tile, scene.names, unnamed);
  }
  shot.g.putImageData(shot.image, 0, 0);
  g.imageSmoothingEnabled = false;
  visible.forEach((lane, row) => g.drawImage(shot.canvas, 0, row, texelsWide, 1, GUTTER, HEAD + lane.y - scroll + 1, width - GUTTER, lane.h - 2));
  drawLabels(g, labels.all, scroll, scene, unnamed, match);
  return { wanted: ids, level, unnamed, boxes };
}

/** Names that a search has to know; a few thousand at most are asked for. */
function collectUnnamed(tile: Tile, names: Map<number, NameInfo>, into: Set<number>): void {
  for (let i = 0; i < tile.n && into.size < 2000; i++) if (!names.has(tile.name[i] as number)) into.add(tile.name[i] as number);
}

function drawLabels(g: CanvasRenderingContext2D, labels: Label[], scroll: number, scene: Scene, unnamed: Set<number>, match: ((name: number) => boolean) | null): void {
  g.font = `11px ${SANS}`;
  g.textAlign = "left";
  const quiet = scene.selected !== null && scene.selected.count > 0;
  for (const { x, w, lane, name } of labels) {
    if (w < LABELLED) continue;
    const info = scene.names.get(name);
    if (!info) {
      if (unnamed.size < 2000) unnamed.add(name);
      continue;
    }
    g.fillStyle = token(quiet || (match && !match(name)) ? "ink3" : scene.mode === "op" ? "on-fill" : "ink");
    const last = info.name.slice(info.name.lastIndexOf("/") + 1);
    g.fillText(fit(g, last, w - 8), GUTTER + x + 4, HEAD + lane.y - scroll + lane.h / 2);
  }
}

function drawSelected(g: CanvasRenderingContext2D, scroll: number, scene: Scene, width: number): void {
  const events = scene.selected?.events;
  if (!events) return;
  const place = new Map(scene.rows.lanes.map((lane) => [lane.id, lane]));
  const x = (t: number) => GUTTER + ((t - scene.from) / (scene.to - scene.from)) * (width - GUTTER);
  g.lineWidth = 2;
  for (let i = 0; i < events.lane.length; i++) {
    const lane = place.get(events.lane[i] as number);
    const t0 = events.t0_ns[i] as number;
    if (!lane || t0 > scene.to || t0 + (events.dur_ns[i] as number) < scene.from) continue;
    const a = Math.max(GUTTER, x(t0));
    const w = Math.max(1.5, Math.min(width, x(t0 + (events.dur_ns[i] as number))) - a);
    const y = HEAD + lane.y - scroll + 1;
    g.fillStyle = mix(token("accent"), token("panel"), 0.35);
    g.fillRect(a, y, w, lane.h - 2);
    if (w < 5) continue;
    g.strokeStyle = token("ink");
    g.strokeRect(a + 1, y + 1, w - 2, lane.h - 4);
    g.fillStyle = token("ink");
  }
}

/** From each launch to what it started. */
function drawArrows(g: CanvasRenderingContext2D, scroll: number, scene: Scene, width: number): void {
  const { picked } = scene;
  const place = new Map(scene.rows.lanes.map((lane) => [lane.id, lane]));
  const x = (t: number) => GUTTER + ((t - scene.from) / (scene.to - scene.from)) * (width - GUTTER);
  const y = (lane: LaneRow) => HEAD + lane.y - scroll;
  g.strokeStyle = token("accent");
  g.fillStyle = token("accent");
  const own = picked ? place.get(picked.lane) : undefined;
  if (picked && own) {
    const a = Math.max(GUTTER, x(picked.t0_ns));
    const b = Math.min(width, x(picked.t0_ns + picked.dur_ns));
    g.lineWidth = 2;
    if (b >= GUTTER && a <= width) g.strokeRect(a + 0.5, y(own) + 1, Math.max(2, b - a - 1), own.h - 2);
  }
  const arrows = picked?.arrows ?? scene.selected?.arrows;
  g.lineWidth = 1.2;
  for (let i = 0; i < (arrows?.from.length ?? 0); i++) {
    const [from, to] = [place.get(arrows?.from[i] as number), place.get(arrows?.to[i] as number)];
    if (!from || !to) continue;
    const [x0, x1] = [x(arrows?.from_ns[i] as number), x(arrows?.to_ns[i] as number)];
    if (Math.max(x0, x1) < GUTTER || Math.min(x0, x1) > width) continue;
    const down = to.y >= from.y;
    const [y0, y1] = [y(from) + (down ? from.h : 0), y(to) + (down ? 0 : to.h)];
    const bend = Math.max(10, Math.abs(y1 - y0) / 2) * (down ? 1 : -1);
    g.beginPath();
    g.moveTo(x0, y0);
    g.bezierCurveTo(x0, y0 + bend, x1, y1 - bend, x1, y1);
    g.stroke();
    g.beginPath();
    g.moveTo(x1, y1);
    g.lineTo(x1 - 3.5, y1 - (down ? 6 : -6));
    g.lineTo(x1 + 3.5, y1 - (down ? 6 : -6));
    g.fill();
  }
}

/** The headings of hosts and devices, below arrows that cross them. */
function groupHeads(g: CanvasRenderingContext2D, scroll: number, scene: Scene, bottom: number, width: number): void {
  g.textAlign = "left";
  g.font = `11px ${SANS}`;
  for (const group of scene.rows.groups) {
    const y = HEAD + group.y - scroll;
    if (y + GROUP < HEAD || y > bottom) continue;
    g.fillStyle = token("panel");
    g.fillRect(GUTTER, y, width - GUTTER, GROUP - 1);
    g.fillStyle = token("line");
    g.fillRect(0, y - 2, width, 1);
    g.fillStyle = token("ink3");
    g.fillText(fit(g, group.detail, width - GUTTER - 20), GUTTER + 6, y + GROUP / 2);
  }
}

function laneNames(g: CanvasRenderingContext2D, scroll: number, scene: Scene, bottom: number): void {
  g.fillStyle = token("panel");
  g.fillRect(0, HEAD, GUTTER, bottom - HEAD);
  g.textAlign = "left";
  g.font = `600 11.5px ${SANS}`;
  for (const group of scene.rows.groups) {
    const y = HEAD + group.y - scroll;
    if (y + GROUP < HEAD || y > bottom) continue;
    g.fillStyle = token("line");
    g.fillRect(0, y - 2, GUTTER, 1);
    g.fillStyle = token("ink");
    g.fillText(fit(g, group.name, GUTTER - 18), 12, y + GROUP / 2);
  }
  g.fillStyle = token("line");
  g.fillRect(GUTTER - 1, HEAD, 1, bottom - HEAD);
  g.font = `11px ${SANS}`;
  for (const lane of scene.rows.lanes) {
    const y = HEAD + lane.y - scroll;
    if (y + lane.h < HEAD || y > bottom) continue;
    g.fillStyle = token(scene.cursor?.lane === lane.id ? "accent" : "ink2");
    g.fillText(fit(g, lane.name, GUTTER - 34), 24, y + lane.h / 2);
  }
}

function ticks(scene: Scene, width: number): { step: number; marks: number[] } {
  const room = (width - GUTTER) / 110;
  const [from, to] = [scene.from / 1e3, scene.to / 1e3];
  return { step: axisStep(to - from, room), marks: axisMarks(from, to, room) };
}

function gridLines(g: CanvasRenderingContext2D, scene: Scene, width: number, top: number, bottom: number): void {
  g.fillStyle = token("line");
  for (const us of ticks(scene, width).marks) {
    const x = GUTTER + ((us * 1e3 - scene.from) / (scene.to - scene.from)) * (width - GUTTER);
    if (x >= GUTTER) g.fillRect(Math.round(x), top, 1, bottom - top);
  }
}

/** The whole recording in small, the steps, and the ruler. */
function drawHead({ g, width }: Surface, scene: Scene): void {
  const x = (t: number) => GUTTER + ((t - scene.from) / (scene.to - scene.from)) * (width - GUTTER);
  g.fillStyle = token("panel");
  g.fillRect(0, 0, width, HEAD);
  miniature(g, scene, width);
  g.font = `11.5px ${SANS}`;
  g.fillStyle = token("ink2");
  g.textAlign = "left";
  g.fillText("Overview", 12, MINI / 2);
  g.fillText(scene.answer.steps.length ? "Steps" : "Time", 12, MINI + RULER / 2);
  g.fillStyle = token("line");
  for (const y of [MINI, HEAD - 1]) g.fillRect(0, y, width, 1);
  g.fillRect(GUTTER - 1, 0, 1, HEAD);
  g.save();
  g.beginPath();
  g.rect(GUTTER, MINI + 1, width - GUTTER, RULER - 2);
  g.clip();
  for (const step of scene.answer.steps) {
    const [a, b] = [x(step.t0_ns), x(step.t1_ns)];
    if (b < GUTTER || a > width) continue;
    g.fillStyle = step.warm_up ? mix(token("oth"), token("panel"), 0.7) : token("sunken");
    g.fillRect(a, MINI + 1, Math.max(1, b - a - 1), 19);
    const left = Math.max(a, GUTTER) + 5;
    g.font = `600 11.5px ${SANS}`;
    g.fillStyle = token("ink");
    const label = fit(g, `Step ${step.step}`, b - left - 4);
    g.fillText(label, left, MINI + 11);
    const used = label ? g.measureText(label).width : 0;
    g.font = `11px ${SANS}`;
    g.fillStyle = token("ink3");
    const rest = `${figure((step.t1_ns - step.t0_ns) / 1e3, "us")} · ${step.events.toLocaleString("en-US")} events${step.warm_up ? " · warm-up" : ""}`;
    if (b - left - used > g.measureText(rest).width + 14) g.fillText(rest, left + used + 7, MINI + 11);
  }
  const { step, marks } = ticks(scene, width);
  g.font = `10.5px ${SANS}`;
  g.fillStyle = token("ink3");
  for (const us of marks) g.fillText(axisTime(us, step), x(us * 1e3) + 4, MINI + 30);
  g.restore();
}

let small: { tile: Tile; key: string; canvas: HTMLCanvasElement } | null = null;

/** The tile of the whole as a picture, a texel per pixel and lane. It is made once, since moving does not change it. */
function smallPicture(scene: Scene, tile: Tile): HTMLCanvasElement {
  const lanes = Math.min(scene.rows.lanes.length, 512);
  const key = `${token("panel")}/${lanes}`;
  if (small?.tile === tile && small.key === key) return small.canvas;
  const canvas = document.createElement("canvas");
  canvas.width = TILE;
  canvas.height = Math.max(1, lanes);
  const g = canvas.getContext("2d") as CanvasRenderingContext2D;
  const image = g.createImageData(canvas.width, canvas.height);
  const texels = new Uint32Array(image.data.buffer);
  const colors = ["oth", "fwd", "grad", "oth"].map((name) => texel(mix(token(name), token("panel"), 0.25)));
  scene.rows.lanes.slice(0, lanes).forEach((lane, row) => {
    const range = tile.lanes.get(lane.id);
    if (!range) return;
    for (let i = range[0]; i < range[1]; i++) {
      const from = (tile.x[i] as number) >> 5;
      const to = Math.max(from + 1, ((tile.x[i] as number) + (tile.width[i] as number)) >> 5);
      texels.fill(colors[(tile.flags[i] as number) & 3] as number, row * TILE + from, row * TILE + Math.min(TILE, to));
    }
  });
  g.putImageData(image, 0, 0);
  small = { tile, key, canvas };
  return canvas;
}

function miniature(g: CanvasRenderingContext2D, scene: Scene, width: number): void {
  const best = scene.tiles.best({ level: 0, index: 0 });
  const plot = width - GUTTER;
  const whole = scene.answer.t1_ns || 1;
  if (best) {
    const shot = smallPicture(scene, best.tile);
    const h = MINI - 8;
    const used = Math.max(1, Math.min(TILE, (whole / scene.answer.tile_ns) * TILE));
    g.imageSmoothingEnabled = shot.height > h;
    g.drawImage(shot, 0, 0, used, shot.height, GUTTER, 4, plot, h);
  }
  const a = GUTTER + (Math.max(0, scene.from) / whole) * plot;
  const b = GUTTER + (Math.min(whole, scene.to) / whole) * plot;
  g.fillStyle = token("panel");
  g.globalAlpha = 0.55;
  g.fillRect(GUTTER, 1, Math.max(0, a - GUTTER), MINI - 2);
  g.fillRect(b, 1, Math.max(0, width - b), MINI - 2);
  g.globalAlpha = 1;
  g.strokeStyle = token("accent");
  g.lineWidth = 1.5;
  g.strokeRect(a + 0.75, 1.5, Math.max(3, b - a - 1.5), MINI - 3);
}

function drawMemory(g: CanvasRenderingContext2D, scene: Scene, width: number, top: number, height: number): void {
  const memory = scene.memory;
  g.fillStyle = token("panel");
  g.fillRect(0, top, width, height - top);
  g.fillStyle = token("line");
  g.fillRect(0, top, width, 1);
  g.textAlign = "left";
  g.font = `600 11.5px ${SANS}`;
  g.fillStyle = token("ink");
  g.fillText("Memory", 12, top + 15);
  if (!memory) {
    g.font = `11px ${SANS}`;
    g.fillStyle = token("ink3");
    g.fillText("follows …", GUTTER + 8, top + 15);
    return;
  }
  g.font = `11px ${SANS}`;
  g.fillStyle = token("ink3");
  g.fillText(fit(g, memory.device, GUTTER - 20), 12, top + 31);
  const max = memory.peak.bytes * 1.12 || 1;
  const plot = { left: GUTTER, right: width, top: top + 8, bottom: height - 4, t0: scene.from, t1: scene.to, max };
  drawCurve(g, memory, plot);
  const px = GUTTER + ((memory.peak.t_ns - scene.from) / (scene.to - scene.from)) * (width - GUTTER);
  if (px >= GUTTER && px <= width) {
    g.fillStyle = token("ink");
    g.fillRect(Math.round(px), top + 4, 1, height - top - 8);
    const text = `peak ${figure(memory.peak.bytes, "bytes")}`;
    const flip = px + 100 > width;
    g.textAlign = flip ? "right" : "left";
    g.fillText(text, px + (flip ? -5 : 5), top + 12);
  }
  g.textAlign = "right";
  g.fillStyle = token("ink3");
  g.fillText(figure(memory.peak.bytes, "bytes"), GUTTER - 8, plot.bottom - (plot.bottom - plot.top) / 1.12);
  g.fillText("0", GUTTER - 8, plot.bottom - 4);
}

function drawRange(g: CanvasRenderingContext2D, scene: Scene, width: number, height: number): void {
  if (!scene.range) return;
  const x = (t: number) => GUTTER + ((t - scene.from) / (scene.to - scene.from)) * (width - GUTTER);
  const a = Math.max(GUTTER, x(scene.range[0]));
  const b = Math.min(width, x(scene.range[1]));
  if (b < GUTTER || a > width) return;
  g.fillStyle = token("accent");
  g.globalAlpha = 0.13;
  g.fillRect(a, MINI + 1, b - a, height - MINI);
  g.globalAlpha = 1;
  g.fillRect(a - 0.5, MINI + 1, 1.5, height - MINI);
  g.fillRect(b - 0.5, MINI + 1, 1.5, height - MINI);
  const text = figure((scene.range[1] - scene.range[0]) / 1e3, "us");
  g.font = `600 11px ${SANS}`;
  const w = g.measureText(text).width + 12;
  const middle = Math.max(GUTTER + w / 2, Math.min(width - w / 2, (a + b) / 2));
  g.fillRect(middle - w / 2, MINI + 21, w, 17);
  g.fillStyle = token("panel");
  g.textAlign = "center";
  g.fillText(text, middle, MINI + 30);
}
