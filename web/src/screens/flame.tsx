// Flame: a view as boxes within boxes. Width is the metric; the server sends what is at least half a pixel wide.

import type { JSX } from "preact";
import { useCallback, useEffect, useMemo, useRef } from "preact/hooks";
import type { CompareAnswer, FlameAnswer, ListsAnswer } from "../api";
import { useAnswer } from "../ask";
import { fit, SANS, textWidth, type Surface } from "../canvas";
import { DIRS, diverge, family, FAMILY_KEYS, inkOn, mix, isDark, shade, token, unitShade } from "../color";
import { count, exact, figure, share, type Unit } from "../format";
import type { Params } from "../source";
import { addPattern, literal } from "../state";
import { go, question, select, source, state, theme } from "../store";
import { Bars, DirKeys, itemBar, Key, ownBar, Pending, Refused, Segment, useKeys, useSize, ViewSegment } from "../ui/bits";
import { hideTip, showTip } from "../ui/float";
import { ScrollCanvas } from "../ui/scroll";
import { NothingHere } from "./table";

/** Widths are asked in steps, so that a window that grows by a pixel asks nothing new. */
const roundUp = (px: number): number => Math.max(400, Math.ceil(px / 200) * 200);

export function Flame(): JSX.Element {
  const [box, size] = useSize<HTMLDivElement>();
  const s = state.value;
  const base = { ...question.value, sort: s.order || undefined, invert: s.invert || undefined };
  const px = roundUp(size.width);
  // Where nothing tells forward from gradient, units have the colours.
  const params = size.width ? { ...base, zoom: s.zoom, px: px === 1200 ? undefined : px, find: source.live ? s.find : undefined } : null;
  const wide = { ...base, px: px === 1200 ? undefined : px };
  // A report has the whole only: zooming in it stretches what is there.
  const sandwich = s.around !== "" && source.live;
  const asked = useAnswer<FlameAnswer>("flame", sandwich ? null : params && (source.live || source.has("flame", params)) ? params : size.width ? wide : null, !sandwich);
  const lists = useAnswer<ListsAnswer>("lists", !sandwich && source.has("lists", { ...base, zoom: s.zoom }) ? { ...base, sort: undefined, zoom: s.zoom } : null);
  const directed = hasDirections(asked.data);
  const mode = modeOf(asked.data);
  return (
    <div class="flamescreen" ref={box}>
      <div class="bar">
        <ViewSegment />
        <Segment name="Order" of="order" choices={[{ word: "", label: "Largest first" }, { word: "name", label: "By name", off: source.live ? "" : "needs the program" }]} />
        <button class="btn small" aria-pressed={s.invert === "1"} disabled={!source.live} title="From the ops up: who leads to them" onClick={() => go({ invert: s.invert ? "" : "1", zoom: "", around: "" })}>{s.invert ? "✓ " : ""}Invert</button>
        <span class="lab">colour</span>
        <Segment name="Colour" of="color" now={mode} choices={[{ word: "dir", label: "Direction", off: directed ? "" : "nothing here tells forward from gradient" }, { word: "op", label: "Op type" }, { word: "unit", label: "Unit" }]} />
        {mode === "op" ? FAMILY_KEYS.map(([name, label]) => <Key key={name} color={`var(--${name})`}>{label}</Key>) : mode === "dir" ? <DirKeys /> : <span class="key">a hue for each unit</span>}
      </div>
      {sandwich ? <Sandwich base={wide} height={size.height} /> : asked.data ? <Picture answer={asked.data} lists={lists.data} dim={asked.dim} height={size.height} /> : asked.error ? <Refused error={asked.error} /> : <Pending />}
    </div>
  );
}

const hasDirections = (answer: FlameAnswer | null): boolean => !answer || answer.boxes.dir.some((dir) => dir > 0);
const modeOf = (answer: FlameAnswer | null): string => (state.value.color === "dir" && !hasDirections(answer) ? "unit" : state.value.color);

/** The rows of a name stand for themselves: nothing is around their box. */
const sandwiched = (answer: FlameAnswer): Scene => ({ answer, from: 0, left: 0, scale: 1, above: [], rows: answer.depth });

/** All rows of a name or op type as one box: who leads to them above, what is in them below. A click puts another name in the middle. */
function Sandwich({ base, height }: { base: Params; height: number }): JSX.Element {
  const { around } = state.value;
  const above = useAnswer<FlameAnswer>("flame", { ...base, invert: "1", around });
  const below = useAnswer<FlameAnswer>("flame", { ...base, invert: undefined, around }, true);
  const scroller = useRef<HTMLDivElement>(null);
  const rh = 22;
  const [up, down] = [above.data, below.data];
  const scenes = useMemo(() => [up, down].map((answer) => (answer ? sandwiched(answer) : null)), [up, down]);
  const room = Math.max(200, height - 80);
  const needs = scenes.map((scene) => (scene ? scene.rows * rh + 6 : rh));
  const top = Math.min(needs[0] ?? 0, Math.max(room / 2, room - (needs[1] ?? 0)));
  useEffect(() => {
    if (scroller.current) scroller.current.scrollTop = scroller.current.scrollHeight;
  }, [up, top]);
  if (!down) return below.error ? <Refused error={below.error} /> : <Pending />;
  const unit = down.columns[0]?.unit ?? "us";
  const center = (answer: FlameAnswer) => (i: number) => go({ around: `name:${answer.names[answer.boxes.name[i] as number] ?? ""}` });
  const part = (scene: Scene | null | undefined, id: string, flip: boolean) => (scene ? <Boxes id={id} scene={scene} rh={rh} unit={unit} mode={modeOf(scene.answer as FlameAnswer)} flip={flip} scroller={flip ? scroller : undefined} onPick={center(scene.answer as FlameAnswer)} card={(i) => <BoxCard answer={scene.answer as FlameAnswer} i={i} unit={unit} hint="Click puts it in the middle" />} /> : null);
  return (
    <>
      <div class="bar thin">
        <b class="cut">{down.root.name}</b>
        <span class="mut" id="flame-value">{figure(down.root.total[0] ?? null, unit)} · {share(down.root.share[0])} · in {count(down.places, "place")}</span>
        <span class="sp" />
        <span class="mut">{down.merged.count ? `${count(down.merged.count, "box", "boxes")} narrower than half a pixel` : ""}</span>
        <button class="btn small" onClick={() => go({ around: "" })}>Back to the whole</button>
      </div>
      <div class={above.dim ? "flamebox dim" : "flamebox"} style={{ height: `${top}px` }}>{part(scenes[0], "callers", true)}</div>
      <div class="bar thin middle"><span class="mut">↑ who leads to it</span><span class="sp" /><span class="mut">what is in it ↓</span></div>
      <div class={below.dim ? "flamebox dim" : "flamebox"} style={{ height: `${Math.min(needs[1] ?? 0, room - top)}px` }}>{part(scenes[1], "callees", false)}</div>
    </>
  );
}

/** What a picture is drawn from: boxes of an answer, seen from one of them. */
export type Drawn = FlameAnswer | CompareAnswer;
export interface Scene { answer: Drawn; from: number; left: number; scale: number; above: { name: string; path: string }[]; rows: number }

export function pathOf(answer: Drawn, i: number): string {
  const { boxes, names, root } = answer;
  if (boxes.path) return boxes.path[i] ?? "";
  const parts = [];
  let at = i;
  for (; at >= 0 && (boxes.parent[at] ?? -1) >= 0; at = boxes.parent[at] as number) parts.push(names[boxes.name[at] as number] ?? "");
  if (root.path) parts.push(root.path);
  return parts.reverse().join("/");
}

/** The box to stretch while the answer for the zoom is on its way. */
function boxAt(answer: Drawn, zoom: string): number {
  if (zoom === answer.root.path) return 0;
  const { parent } = answer.boxes;
  for (let i = 1; i < parent.length; i++) if (pathOf(answer, i) === zoom) return i;
  return -1;
}

export function sceneOf(answer: Drawn, zoom: string): Scene {
  const { boxes, names } = answer;
  const at = Math.max(0, boxAt(answer, zoom));
  const above = answer.crumbs.filter((row) => row.path !== answer.root.path).map((row) => ({ name: row.name, path: row.path }));
  const between: { name: string; path: string }[] = [];
  for (let i = boxes.parent[at] ?? -1; i >= 0; i = boxes.parent[i] ?? -1) between.unshift({ name: names[boxes.name[i] as number] ?? "", path: pathOf(answer, i) });
  const all = [...above, ...between];
  return { answer, from: at, left: boxes.x[at] ?? 0, scale: 1 / Math.max(1e-12, boxes.w[at] ?? 1), above: all, rows: all.length + answer.depth - (boxes.depth[at] ?? 0) + 1 };
}

function Picture({ answer, lists, dim, height }: { answer: FlameAnswer; lists: ListsAnswer | null; dim: boolean; height: number }): JSX.Element {
  const zoom = state.value.zoom;
  const scene = useMemo(() => sceneOf(answer, zoom), [answer, zoom]);
  const unit = answer.columns[0]?.unit ?? "us";
  const avail = Math.max(160, height - 72);
  const rh = Math.max(20, Math.min(27, Math.floor((avail - 250) / Math.max(1, scene.rows))));
  const picture = Math.min(scene.rows * rh + 6, Math.max(avail * 0.45, avail - 270));
  const value = answer.boxes.value[scene.from] ?? answer.root.total[0] ?? null;
  const zoomed = scene.from > 0;
  const none = !answer.root.total[0] && !value;
  if (none) return <NothingHere />;
  return (
    <>
      <div class="bar thin">
        <Crumbs scene={scene} />
        <span class="mut" id="flame-value">{figure(value, unit)} · {share(answer.boxes.share?.[scene.from] ?? answer.root.share[0])}</span>
        <span class="sp" />
        <span class="mut">{zoomed && !source.live ? "stretched from the whole; the program has finer boxes" : answer.merged.count ? `${answer.merged.count.toLocaleString("en-US")} boxes narrower than half a pixel, ${figure(answer.merged.value, unit)} together` : ""}</span>
      </div>
      <div class={dim ? "flamebox dim" : "flamebox"} style={{ height: `${picture}px` }}><Boxes scene={scene} rh={rh} unit={unit} mode={modeOf(answer)} card={(i) => <BoxCard answer={answer} i={i} unit={unit} />} /></div>
      <Lists lists={lists} unit={unit} name={scene.answer.names[answer.boxes.name[scene.from] ?? 0] ?? "all"} />
    </>
  );
}

export function Crumbs({ scene }: { scene: Scene }): JSX.Element {
  const { answer, from } = scene;
  const last = { name: from ? (answer.names[answer.boxes.name[from] as number] ?? "") : answer.root.name, path: from ? pathOf(answer, from) : answer.root.path };
  const all = [...scene.above, last];
  return (
    <nav class="crumb" aria-label="Zoom">
      {all.map((row, i) => (
        <span key={row.path}>{i ? <i>/</i> : null}<button title={row.path || "the whole"} onClick={() => go({ zoom: row.path })}>{row.name || "all"}</button></span>
      ))}
    </nav>
  );
}

function colorOf({ boxes, ops }: Drawn, i: number, mode: string): string {
  if (mode === "diff") return quiet(boxes.status?.[i]) ? diverge(0) : diverge(boxes.heat?.[i] ?? 0);
  const dir = DIRS[boxes.dir[i] ?? 0] ?? "";
  const name = boxes.name[i] ?? 0;
  if (i === 0 && boxes.parent[0] === -1) return token("oth-soft");
  if (mode === "op") {
    const op = ops[boxes.op[i] ?? -1] ?? "";
    return op ? token(family(op)[0]) : mix(token("oth"), token("panel"), isDark() ? 0.6 : 0.7);
  }
  if (mode === "unit") return unitShade(boxes.unit[i] ?? 0, name);
  return shade(dir, boxes.unit[i] ?? 0, name, boxes.depth[i] ?? 0);
}

/** Within the noise, or the same: grey. */
export const quiet = (status: string | undefined): boolean => status === "noise" || status === "same";

interface Hit { i: number; x: number; y: number; w: number }

interface BoxesProps {
  scene: Scene; rh: number; unit: Unit; mode: string; card: (i: number) => JSX.Element; id?: string;
  /** The first box is at the bottom. */
  flip?: boolean;
  scroller?: { current: HTMLDivElement | null };
  onPick?: (i: number) => void;
}

export function Boxes({ scene, rh, unit, mode, card, id = "flame", flip = false, scroller, onPick }: BoxesProps): JSX.Element {
  const { answer } = scene;
  const hits = useRef<Hit[]>([]);
  const sel = state.value.sel;
  const paint = useCallback((surface: Surface, scroll: number) => {
    hits.current = drawBoxes(surface, scroll, scene, { rh, sel, mode, unit, flip });
  }, [scene, rh, sel, mode, unit, flip, state.value.find, theme.value]);
  const at = (event: MouseEvent): number | null => {
    const { offsetX: x, offsetY: y } = event;
    const hit = hits.current.find((h) => y >= h.y && y < h.y + rh && x >= h.x && x < h.x + Math.max(1, h.w));
    return hit ? hit.i : null;
  };
  const click = (event: MouseEvent) => {
    const i = at(event);
    if (i === null) return;
    if (i < 0) return go({ zoom: scene.above[-1 - i]?.path ?? "" });
    if (onPick) return onPick(i);
    pick(answer, i, event);
  };
  const hover = (event: MouseEvent) => {
    const i = at(event);
    (event.target as HTMLElement).style.cursor = i === null ? "" : "pointer";
    if (i === null || i < 0) return hideTip();
    showTip(event, () => card(i));
  };
  useKeys((event) => (onPick ? undefined : flameKey(event, answer, scene)));
  useEffect(() => hideTip, []);
  const label = `Flame graph of ${answer.columns[0]?.label ?? "the metric"}; arrows walk the boxes, the Table screen has the same rows as text`;
  return <ScrollCanvas id={id} content={scene.rows * rh + 4} paint={paint} label={label} scroller={scroller} events={{ onClick: click, onMouseMove: hover, onMouseLeave: hideTip }} />;
}

function pick(answer: Drawn, i: number, event: MouseEvent): void {
  const path = pathOf(answer, i);
  if (event.shiftKey && path) return go({ start: literal(path), zoom: "" });
  if ((event.ctrlKey || event.metaKey) && path && source.live && "places" in answer) return go({ around: `name:${answer.names[answer.boxes.name[i] as number] ?? ""}` });
  if (event.altKey && path) return go({ hide: addPattern(state.value.hide, `${literal(path)}(/.*)?`) });
  const sel = path ? `${state.value.view}:${path}` : "";
  if (state.value.invert) return select(sel);
  go({ zoom: (answer.boxes.kids[i] ?? 0) > 0 ? path : state.value.zoom, sel });
}

const HINT = "Click selects and zooms · Shift-click starts there · Alt-click hides · Ctrl-click: who leads to all of this name";

function BoxCard({ answer, i, unit, hint = HINT }: { answer: FlameAnswer; i: number; unit: Unit; hint?: string }): JSX.Element {
  const { boxes, names, ops } = answer;
  const path = boxes.path ? "" : pathOf(answer, i);
  const name = names[boxes.name[i] as number] ?? "";
  const op = ops[boxes.op[i] ?? -1] ?? "";
  return (
    <>
      <h4>{boxes.dir[i] === 2 ? "∂ " : ""}{name || "all"} {op && op !== name ? <span class="mut light">{op}</span> : null}</h4>
      {path && path !== name ? <div class="path">{path}</div> : null}
      <dl>
        <dt>{answer.columns[0]?.label}</dt><dd title={exact(boxes.value[i], unit)}>{figure(boxes.value[i], unit)}</dd><dd class="mut">{share(boxes.share?.[i])}</dd>
        <dt>of its own</dt><dd>{figure(boxes.own?.[i], unit)}</dd><dd />
      </dl>
      {source.live ? <div class="hint">{hint}</div> : null}
    </>
  );
}

interface Style { rh: number; sel: string; mode: string; unit: Unit; flip?: boolean }

/** Draws from the zoomed box down; the boxes above it are full rows. Returns where everything is. */
function drawBoxes({ g, width, height }: Surface, scroll: number, scene: Scene, { rh, sel, mode, unit, flip }: Style): Hit[] {
  const { answer, left, scale, above } = scene;
  const { boxes, names } = answer;
  const hits: Hit[] = [];
  g.fillStyle = token("panel");
  g.fillRect(0, 0, width, height);
  g.font = `12px ${SANS}`;
  above.forEach((row, i) => {
    const y = i * rh - scroll;
    g.fillStyle = token("oth-soft");
    g.fillRect(0, y, width, rh - 1);
    g.fillStyle = token("ink2");
    g.textAlign = "left";
    g.fillText(fit(g, row.name || "all", width - 12), 6, y + rh / 2);
    hits.push({ i: -1 - i, x: 0, y, w: width });
  });
  const offset = above.length - (boxes.depth[scene.from] ?? 0);
  const floor = Math.max(height, scene.rows * rh + 4) - scroll;
  const finding = !!boxes.hit && state.value.find !== "";
  let outline: Hit | null = null;
  const kind = sel.slice(0, sel.indexOf(":"));
  const selPath = kind === state.value.view ? sel.slice(kind.length + 1) : null;
  for (let i = 0; i < boxes.x.length; i++) {
    const x = ((boxes.x[i] as number) - left) * scale * width;
    const w = (boxes.w[i] as number) * scale * width;
    const row = (boxes.depth[i] as number) + offset;
    const y = flip ? floor - (row + 1) * rh : row * rh - scroll;
    if (w < 0.4 || x + w <= 0 || x >= width || y + rh < 0 || y > height || (boxes.depth[i] as number) < (boxes.depth[scene.from] ?? 0)) continue;
    const hit = { i, x: Math.max(0, x), y, w: Math.min(width, x + w) - Math.max(0, x) };
    hits.push(hit);
    g.globalAlpha = finding && !boxes.hit?.[i] ? 0.3 : 1;
    const fill = colorOf(answer, i, mode);
    g.fillStyle = fill;
    g.fillRect(hit.x, y, Math.max(0.5, hit.w - (hit.w > 2.5 ? 1 : hit.w > 1 ? 0.35 : 0)), rh - 1);
    if (hit.w >= 26) boxLabel(g, hit, rh, names[boxes.name[i] as number] || "all", figure(boxes.value[i] ?? null, unit), mode === "diff" ? inkOn(fill) : token(mode === "op" ? "on-fill" : "ink"));
    if (boxes.status?.[i] === "removed" || boxes.status?.[i] === "added") oneSided(g, hit, rh, boxes.status[i] === "added");
    if (selPath !== null && w >= 0.5 && names[boxes.name[i] as number] !== undefined && sameBox(answer, i, selPath)) outline = hit;
  }
  g.globalAlpha = 1;
  if (outline) {
    g.strokeStyle = token("ink");
    g.lineWidth = 2;
    g.strokeRect(outline.x + 1, outline.y + 1, Math.max(2, outline.w - 3), rh - 3);
  }
  return hits;
}

/** A row of one side has an edge of its own, so that colour is not its only mark: new ones above, removed ones below. */
function oneSided(g: CanvasRenderingContext2D, { x, y, w }: Hit, rh: number, added: boolean): void {
  if (w < 2) return;
  g.fillStyle = token("ink");
  for (let at = x; at < x + w - 1; at += 6) g.fillRect(at, added ? y : y + rh - 3, Math.min(3, x + w - 1 - at), 2);
}

/** Compares the end first: it is cheap, and seldom equal. */
function sameBox(answer: Drawn, i: number, path: string): boolean {
  if (answer.boxes.path) return answer.boxes.path[i] === path;
  const name = answer.names[answer.boxes.name[i] as number] ?? "";
  return path !== "" && path.endsWith(name) && pathOf(answer, i) === path;
}

function boxLabel(g: CanvasRenderingContext2D, hit: Hit, rh: number, name: string, value: string, ink: string): void {
  const room = hit.w - 12;
  const wide = textWidth(g, value);
  const both = room > wide + 90;
  g.fillStyle = ink;
  g.textAlign = "left";
  g.fillText(fit(g, name, both ? room - wide - 10 : room), hit.x + 6, hit.y + rh / 2);
  if (!both) return;
  const alpha = g.globalAlpha;
  g.globalAlpha = alpha * 0.78;
  g.textAlign = "right";
  g.fillText(value, hit.x + hit.w - 7, hit.y + rh / 2);
  g.globalAlpha = alpha;
}

function flameKey(event: KeyboardEvent, answer: Drawn, scene: Scene): void {
  const { boxes } = answer;
  const path = state.value.sel.startsWith(state.value.view + ":") ? state.value.sel.slice(state.value.view.length + 1) : null;
  let at = -1;
  if (path !== null) for (let i = 0; i < boxes.x.length && at < 0; i++) if (sameBox(answer, i, path)) at = i;
  const kids = (of: number) => boxes.parent.map((p, i) => (p === of ? i : -1)).filter((i) => i >= 0).sort((a, b) => (boxes.x[a] as number) - (boxes.x[b] as number));
  const to = (i: number | undefined) => {
    if (i === undefined || i < 0) return;
    const p = pathOf(answer, i);
    if (p) select(`${state.value.view}:${p}`);
  };
  const side = (by: number) => {
    if (at < 0) return to(kids(scene.from)[0]);
    const row = kids(boxes.parent[at] as number);
    to(row[row.indexOf(at) + by]);
  };
  const deeds: Record<string, () => void> = {
    ArrowDown: () => to(kids(at < 0 ? scene.from : at)[0]),
    ArrowUp: () => at > 0 && to(boxes.parent[at]),
    ArrowLeft: () => side(-1),
    ArrowRight: () => side(1),
    Enter: () => at > 0 && (boxes.kids[at] ?? 0) > 0 && go({ zoom: pathOf(answer, at) }),
    Backspace: () => state.value.zoom && go({ zoom: scene.above[scene.above.length - 1]?.path ?? "" }),
  };
  const deed = deeds[event.key];
  if (!deed || (event.target as HTMLElement).closest("button,[role=option]")) return;
  event.preventDefault();
  deed();
}

function Lists({ lists, unit, name }: { lists: ListsAnswer | null; unit: Unit; name: string }): JSX.Element {
  const where = name === "all" || !name ? "the whole" : name;
  if (!lists) return <div class="lists"><p class="say">{source.live ? "" : "What is inside a zoom needs the program; the whole has its lists."}</p></div>;
  return (
    <div class="lists">
      <section><header><h2>Same name <span class="mut light">all places, inside {where}</span></h2></header><Bars rows={lists.same_name.map(itemBar)} unit={unit} onPick={(bar) => source.live && go({ around: `name:${bar.label}` })} /></section>
      <section><header><h2>Op types <span class="mut light">own, inside {where}</span></h2></header><Bars rows={lists.op_types.map(itemBar)} unit={unit} onPick={(bar) => select(bar.sel)} /></section>
      <section><header><h2>Single ops <span class="mut light">own, the largest</span></h2></header><Bars rows={lists.single.map((row) => ownBar(row, row.kind === "code" ? row.name : row.path))} unit={unit} onPick={(bar) => select(bar.sel)} /></section>
    </div>
  );
}

