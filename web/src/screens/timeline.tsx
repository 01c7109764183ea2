// Timeline: what ran when, in lanes. The wheel zooms, a drag measures, Shift and a drag move.

import type { JSX } from "preact";
import { useCallback, useEffect, useMemo, useReducer, useRef } from "preact/hooks";
import type { AtAnswer, EventInfo, EventsAnswer, MemoryAnswer, NameInfo, NamesAnswer, RangeAnswer, TimelineAnswer } from "../api";
import { fetchAnswer, useAnswer } from "../ask";
import type { Surface } from "../canvas";
import { FAMILY_KEYS } from "../color";
import { count, exact, figure, share } from "../format";
import { span } from "../state";
import { go, meta, reveal, select, source, state, theme } from "../store";
import { boxAt, decode, type Tile } from "../tile";
import { prefetch, Tiles } from "../tiles";
import { DirKeys, Key, Pending, Refused, Segment, useKeys, useSize } from "../ui/bits";
import { hideTip, showTip } from "../ui/float";
import { ScrollCanvas } from "../ui/scroll";
import { drawTimeline, forgetColors, hasDirections, GUTTER, HEAD, MINI, rowsOf, type Scene } from "../timeline-draw";

export function Timeline(): JSX.Element {
  const asked = useAnswer<TimelineAnswer>("timeline", {}, true);
  if (!asked.data) return asked.error ? <Refused error={asked.error} /> : <Pending />;
  return <Recording answer={asked.data} />;
}

/** Tiles and names outlive a visit to another screen. */
let store: { answer: TimelineAnswer; tiles: Tiles<Tile>; names: Map<number, NameInfo>; asked: Set<number>; arrived: () => void } | null = null;

function storeFor(answer: TimelineAnswer): NonNullable<typeof store> {
  if (store?.answer === answer) return store;
  const made: NonNullable<typeof store> = {
    answer,
    names: new Map(),
    asked: new Set(),
    arrived: () => {},
    tiles: new Tiles<Tile>(async ({ level, index }, signal) => decode(await source.bytes("tile", { level, index }, signal)), () => made.arrived()),
  };
  store = made;
  return made;
}

/** Asks for names that boxes need, 2,000 at a time and each once. */
function askNames(kept: NonNullable<typeof store>, ids: Set<number>): void {
  const fresh = [...ids].filter((id) => !kept.asked.has(id)).slice(0, 2000);
  if (!fresh.length) return;
  for (const id of fresh) kept.asked.add(id);
  source.json<NamesAnswer>("names", { ids: fresh.join(",") }).then((answer) => {
    for (const info of answer.names) kept.names.set(info.id, info);
    kept.arrived();
  }, () => {});
}

/** The window at first: the address's, else the chosen step, else the first step that is no warm-up, else everything. */
function firstWindow(answer: TimelineAnswer): [number, number] {
  const asked = span(state.value.t);
  if (asked) return asked;
  const step = answer.steps.find((s) => String(s.step) === state.value.step) ?? (answer.steps.length <= 4 ? answer.steps.find((s) => !s.warm_up) : undefined);
  return step ? around(step.t0_ns, step.t1_ns, 0.02) : [0, Math.max(1, answer.t1_ns)];
}
const around = (a: number, b: number, margin: number): [number, number] => {
  const extra = Math.max(1, b - a) * margin;
  return [a - extra, b + extra];
};

/** Where nothing tells forward from gradient, names have the colours. */
const modeOf = (tiles: Tiles<Tile>): string => (state.value.color === "op" ? "op" : state.value.color === "unit" || !hasDirections(tiles) ? "name" : "dir");

interface Drag { x: number; t: number; window: [number, number]; kind: "range" | "pan" | "mini"; moved: boolean }

interface View {
  window: [number, number];
  direction: number;
  drag: Drag | null;
  draft: [number, number] | null;
  cursor: { lane: number; t: number } | null;
  picked: EventInfo | null;
  width: number;
  scroll: number;
}

function Recording({ answer }: { answer: TimelineAnswer }): JSX.Element {
  const [box, size] = useSize<HTMLDivElement>();
  const kept = storeFor(answer);
  const view = useRef<View>({ window: firstWindow(answer), direction: 1, drag: null, draft: null, cursor: null, picked: null, width: 1, scroll: 0 }).current;
  const redraw = useRef<() => void>(() => {});
  const [, refresh] = useReducer<number, void>((n) => n + 1, 0);
  const s = state.value;
  const hasMemory = meta.value.screens.find((screen) => screen.word === "memory")?.known ?? false;
  const memory = useAnswer<MemoryAnswer>("memory", hasMemory && s.step !== "all" ? { step: s.step } : null);
  const selected = useAnswer<EventsAnswer>("events", s.sel && source.has("events", { sel: s.sel }) ? { sel: s.sel } : null);
  const least = hasMemory ? Math.min(120, Math.max(70, size.height * 0.2)) : 0;
  const rows = useMemo(() => rowsOf(answer, size.height - HEAD - least), [answer, size.height, least]);
  // What the lanes do not need goes to the memory.
  const memoryHeight = hasMemory ? Math.max(least, Math.min(size.height * 0.5, size.height - HEAD - rows.height)) : 0;
  const range = span(s.range);
  const scene: Scene = {
    answer, rows, tiles: kept.tiles, names: kept.names, from: 0, to: 1, range, selected: s.sel ? selected.data : null,
    picked: view.picked, memory: memory.data, memoryHeight, find: s.find, mode: modeOf(kept.tiles), cursor: view.cursor,
  };
  const latest = useRef(scene);
  latest.current = scene;
  const paint = useCallback((surface: Surface, scroll: number) => {
    view.width = surface.width - GUTTER;
    view.scroll = scroll;
    const now = { ...latest.current, mode: modeOf(kept.tiles), from: view.window[0], to: view.window[1], range: view.draft ?? latest.current.range, cursor: view.cursor, picked: view.picked };
    const drawn = drawTimeline(surface, scroll, now);
    kept.tiles.want([...drawn.wanted, { level: 0, index: 0 }, ...prefetch(answer.tile_ns, drawn.level, now.from, now.to, view.direction)]);
    askNames(kept, drawn.unnamed);
  }, [answer, rows, s.color, s.find, s.sel, s.range, selected.data, memory.data, theme.value]);
  useEffect(() => {
    let known = hasDirections(kept.tiles);
    kept.arrived = () => {
      redraw.current();
      if (known !== hasDirections(kept.tiles)) refresh();
      known = hasDirections(kept.tiles);
    };
    return () => {
      kept.arrived = () => {};
      hideTip();
    };
  }, [kept]);
  useEffect(forgetColors, [theme.value]);
  const moves = useMemo(() => controls(answer, view, () => redraw.current(), rows, kept), [answer, rows]);
  moves.range = range;
  useFollow(answer, view, moves, selected.data);
  useKeys((event) => moves.key(event, selected.data, refresh));
  const wheel = (canvas: HTMLCanvasElement) => canvas.addEventListener("wheel", (event) => moves.wheel(event), { passive: false });
  return (
    <div class="tlscreen">
      <Toolbar answer={answer} moves={moves} selected={selected.data} mode={scene.mode} directed={hasDirections(kept.tiles)} />
      <div class="tlcanvas" ref={box}>
        <ScrollCanvas id="timeline" className="tl" content={rows.height + HEAD + memoryHeight} paint={paint} handle={redraw} onScreen={wheel}
          label={`Timeline: ${count(answer.events, "event")} in ${count(rows.lanes.length, "lane")}; a and d move, + and − zoom, arrows walk the boxes`}
          events={{ onPointerDown: moves.down, onPointerMove: moves.move, onPointerUp: moves.up, onMouseLeave: hideTip, onDblClick: moves.doubled } as never} />
      </div>
      <Stats answer={answer} />
    </div>
  );
}

/** “Show in”, and a step chosen in the top bar, move the window; a selection alone does not. */
function useFollow(answer: TimelineAnswer, view: View, moves: Controls, selected: EventsAnswer | null): void {
  const seen = useRef({ reveal: reveal.value, step: state.value.step, t: state.value.t, waiting: reveal.value > 0 && state.value.sel !== "" && !state.value.t });
  useEffect(() => {
    const was = seen.current;
    if (reveal.value !== was.reveal) {
      was.reveal = reveal.value;
      was.waiting = true;
    }
    if (was.waiting && selected?.count) {
      was.waiting = false;
      moves.fitEvents(selected);
    }
    if (state.value.step !== was.step) {
      was.step = state.value.step;
      const step = answer.steps.find((s) => String(s.step) === state.value.step);
      moves.show(step ? around(step.t0_ns, step.t1_ns, 0.02) : [0, answer.t1_ns]);
    }
    // Back and forward.
    if (state.value.t !== was.t) {
      was.t = state.value.t;
      const wanted = span(state.value.t);
      if (wanted && wanted.join() !== view.window.map(Math.round).join()) moves.show(wanted);
    }
  }, [reveal.value, state.value.step, state.value.t, selected]);
}

interface Controls {
  range: [number, number] | null;
  show: (window: [number, number]) => void;
  fitEvents: (events: EventsAnswer) => void;
  fitStep: () => void;
  fitAll: () => void;
  fitSelection: (events: EventsAnswer | null) => void;
  zoomBy: (factor: number, around?: number) => void;
  panBy: (part: number) => void;
  wheel: (event: WheelEvent) => void;
  down: (event: PointerEvent) => void;
  move: (event: PointerEvent) => void;
  up: (event: PointerEvent) => void;
  doubled: (event: MouseEvent) => void;
  key: (event: KeyboardEvent, selected: EventsAnswer | null, refresh: () => void) => void;
}

function controls(answer: TimelineAnswer, view: View, redraw: () => void, rows: Scene["rows"], kept: NonNullable<typeof store>): Controls {
  const whole = Math.max(1, answer.t1_ns);
  let timer = 0;
  const remember = () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => go({ t: view.window.map((t) => Math.round(t)).join("~") }), 250);
  };
  const show = ([from, to]: [number, number]) => {
    const least = Math.max(10, answer.tile_ns / 2 ** answer.levels / 200);
    const wide = Math.min(whole * 1.2, Math.max(least, to - from));
    const middle = Math.min(whole * 1.05, Math.max(-whole * 0.05, (from + to) / 2));
    view.direction = middle >= (view.window[0] + view.window[1]) / 2 ? 1 : -1;
    view.window = [middle - wide / 2, middle + wide / 2];
    redraw();
    remember();
  };
  const time = (x: number) => view.window[0] + ((x - GUTTER) / view.width) * (view.window[1] - view.window[0]);
  const laneAt = (y: number) => rows.lanes.find((lane) => y - HEAD + view.scroll >= lane.y && y - HEAD + view.scroll < lane.y + lane.h);
  const zoomBy = (factor: number, at = (view.window[0] + view.window[1]) / 2) => show([at - (at - view.window[0]) * factor, at + (view.window[1] - at) * factor]);
  const panBy = (part: number) => {
    const by = (view.window[1] - view.window[0]) * part;
    show([view.window[0] + by, view.window[1] + by]);
  };
  const self: Controls = {
    range: null, show, zoomBy, panBy,
    fitEvents: ({ events }) => {
      const first = Math.min(...events.t0_ns);
      const last = Math.max(...events.t0_ns.map((t, i) => t + (events.dur_ns[i] ?? 0)));
      const near = events.t0_ns.length > 1 && last - first > whole * 0.7 ? longest(events) : [first, last] as [number, number];
      show(around(near[0], near[1], 0.6));
    },
    fitStep: () => {
      const middle = (view.window[0] + view.window[1]) / 2;
      const chosen = answer.steps.find((s) => String(s.step) === state.value.step) ?? answer.steps.find((s) => s.t0_ns <= middle && s.t1_ns >= middle) ?? answer.steps.find((s) => !s.warm_up);
      show(chosen ? around(chosen.t0_ns, chosen.t1_ns, 0.02) : [0, whole]);
    },
    fitAll: () => show(around(0, whole, 0.01)),
    fitSelection: (events) => (self.range ? show(around(self.range[0], self.range[1], 0.06)) : events?.count ? self.fitEvents(events) : self.fitStep()),
    wheel: (event) => {
      if (event.offsetX < GUTTER || event.shiftKey) return;
      event.preventDefault();
      hideTip();
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) panBy(event.deltaX / view.width);
      else zoomBy(Math.exp((event.ctrlKey ? 2 : 1) * event.deltaY * 0.0016), time(event.offsetX));
    },
    down: (event) => {
      if (event.offsetX < GUTTER) return;
      (event.target as HTMLElement).setPointerCapture(event.pointerId);
      const mini = event.offsetY < MINI;
      view.drag = { x: event.offsetX, t: time(event.offsetX), window: view.window, kind: mini ? "mini" : event.shiftKey || event.button === 1 ? "pan" : "range", moved: false };
      if (mini) jump(event);
    },
    move: (event) => (view.drag ? dragTo(event, view.drag) : hover(event)),
    up: (event) => {
      const drag = view.drag;
      view.drag = null;
      if (!drag || drag.kind !== "range") return;
      if (drag.moved && view.draft) go({ range: view.draft.map((t) => Math.round(t)).join("~") });
      else void click(event);
      view.draft = null;
      redraw();
    },
    doubled: (event) => zoomBy(0.4, time(event.offsetX)),
    key: (event, selected, refresh) => key(event, selected, refresh),
  };
  const jump = (event: PointerEvent) => {
    const t = ((event.offsetX - GUTTER) / view.width) * whole;
    const wide = view.window[1] - view.window[0];
    show([t - wide / 2, t + wide / 2]);
  };
  const dragTo = (event: PointerEvent, drag: Drag) => {
    hideTip();
    if (drag.kind === "mini") return jump(event);
    if (Math.abs(event.offsetX - drag.x) > 3) drag.moved = true;
    if (drag.kind === "pan") {
      const by = ((event.offsetX - drag.x) / view.width) * (drag.window[1] - drag.window[0]);
      return show([drag.window[0] - by, drag.window[1] - by]);
    }
    if (!drag.moved) return;
    const t = Math.max(0, Math.min(whole, time(event.offsetX)));
    view.draft = t < drag.t ? [t, drag.t] : [drag.t, t];
    redraw();
  };
  const pixel = () => (view.window[1] - view.window[0]) / view.width;
  const under = (event: MouseEvent): { tile: Tile; i: number; lane: number; t: number } | null => {
    const lane = event.offsetX >= GUTTER && event.offsetY >= HEAD ? laneAt(event.offsetY) : undefined;
    if (!lane) return null;
    const t = time(event.offsetX);
    const level = Math.min(answer.levels, Math.max(0, Math.ceil(Math.log2((answer.tile_ns / (view.window[1] - view.window[0])) * (view.width / 1024)))));
    const best = kept.tiles.best({ level, index: Math.floor(t / (answer.tile_ns / 2 ** level)) });
    const i = best ? boxAt(best.tile, lane.id, t, pixel() * 2) : -1;
    return best && i >= 0 ? { tile: best.tile, i, lane: lane.id, t } : null;
  };
  let asking = 0;
  const hover = (event: PointerEvent) => {
    const canvas = event.target as HTMLElement;
    const hit = under(event);
    canvas.style.cursor = event.offsetX < GUTTER ? "" : hit ? "pointer" : "crosshair";
    const ask = ++asking;
    if (!hit) return hideTip();
    const { clientX, clientY } = event;
    const name = kept.names.get(hit.tile.name[hit.i] as number);
    const stands = hit.tile.events[hit.i] as number;
    if (!source.live) return name ? showTip(event, () => <EventCard event={null} name={name} stands={stands} />) : hideTip();
    // One question at a time, for where the pointer rests.
    setTimeout(() => {
      if (ask !== asking) return;
      fetchAnswer<AtAnswer>("at", { lane: hit.lane, t_ns: Math.round(hit.t), slack_ns: Math.ceil(pixel() * 2) }).then(({ event: found }) => {
        if (ask === asking && found) showTip({ clientX, clientY }, () => <EventCard event={found} name={name ?? null} stands={stands} />);
      }, () => {});
    }, 30);
  };
  const click = async (event: PointerEvent) => {
    const hit = under(event);
    view.picked = null;
    if (!hit) return go({ range: "" });
    view.cursor = { lane: hit.lane, t: hit.t };
    const name = kept.names.get(hit.tile.name[hit.i] as number);
    if (name && hit.tile.events[hit.i] === 1) select(name.sel);
    if (!source.live) return select(name?.sel ?? null);
    const { event: found } = await fetchAnswer<AtAnswer>("at", { lane: hit.lane, t_ns: Math.round(hit.t), slack_ns: Math.ceil(pixel() * 2) });
    view.picked = found;
    select(found?.sel ?? null);
    redraw();
  };
  /** Arrows walk from box to box in a lane, and from lane to lane. */
  const walk = async (dx: number, dy: number, refresh: () => void) => {
    const lanes = rows.lanes;
    const at = view.cursor ?? { lane: lanes[0]?.id ?? 0, t: Math.max(0, view.window[0]) };
    const row = Math.max(0, Math.min(lanes.length - 1, lanes.findIndex((lane) => lane.id === at.lane) + dy));
    const lane = lanes[row]?.id ?? 0;
    let t = at.t;
    const ask = (time: number, slack: number) => fetchAnswer<AtAnswer>("at", { lane, t_ns: Math.max(0, Math.round(time)), slack_ns: Math.ceil(slack) });
    if (dx && view.cursor) {
      const { event: here } = await ask(t, 0);
      t = here ? (dx > 0 ? here.t0_ns + here.dur_ns + pixel() : here.t0_ns - pixel()) : t + dx * pixel() * 4;
    }
    const { event: found } = await ask(t, (view.window[1] - view.window[0]) / 4);
    view.cursor = { lane, t: found ? found.t0_ns + found.dur_ns / 2 : t };
    view.picked = found;
    if (found) select(found.sel);
    if (view.cursor.t > view.window[1] || view.cursor.t < view.window[0]) show(around(view.cursor.t, view.cursor.t, 0).map((x, i) => x + (i ? 1 : -1) * (view.window[1] - view.window[0]) / 2) as [number, number]);
    redraw();
    refresh();
  };
  const key = (event: KeyboardEvent, selected: EventsAnswer | null, refresh: () => void) => {
    const deeds: Record<string, () => void> = {
      a: () => panBy(-0.15), d: () => panBy(0.15), "+": () => zoomBy(0.7), "=": () => zoomBy(0.7), "-": () => zoomBy(1 / 0.7), "−": () => zoomBy(1 / 0.7),
      f: () => self.fitSelection(selected), Enter: () => self.fitSelection(selected), Backspace: () => self.fitStep(), Home: () => self.fitAll(),
      n: () => step(selected, 1), p: () => step(selected, -1),
      ArrowLeft: () => void walk(-1, 0, refresh), ArrowRight: () => void walk(1, 0, refresh), ArrowUp: () => void walk(0, -1, refresh), ArrowDown: () => void walk(0, 1, refresh),
    };
    const deed = deeds[event.key];
    if (!deed || (event.target as HTMLElement).closest("button")) return;
    event.preventDefault();
    deed();
  };
  /** To the next or the last time that the selection ran. */
  const step = (selected: EventsAnswer | null, by: number) => {
    if (!selected?.count) return;
    const middle = (view.window[0] + view.window[1]) / 2;
    const { t0_ns: starts, dur_ns: lengths } = selected.events;
    const centres = starts.map((t, i) => t + (lengths[i] ?? 0) / 2).sort((x, y) => x - y);
    const next = by > 0 ? centres.find((t) => t > middle + pixel()) : centres.reverse().find((t) => t < middle - pixel());
    const half = (view.window[1] - view.window[0]) / 2;
    if (next !== undefined) show([next - half, next + half]);
  };
  return self;
}

function longest({ t0_ns, dur_ns }: EventsAnswer["events"]): [number, number] {
  let best = 0;
  for (let i = 1; i < dur_ns.length; i++) if ((dur_ns[i] as number) > (dur_ns[best] as number)) best = i;
  return [t0_ns[best] ?? 0, (t0_ns[best] ?? 0) + (dur_ns[best] ?? 0)];
}

function EventCard({ event, name, stands }: { event: EventInfo | null; name: NameInfo | null; stands: number }): JSX.Element {
  const title = event?.name ?? name?.name ?? "";
  const op = event?.op ?? name?.op ?? "";
  const dir = event?.dir ?? name?.dir;
  const last = title.slice(title.lastIndexOf("/") + 1);
  return (
    <>
      <h4>{dir === "g" ? "∂ " : ""}{last} {op && op !== last ? <span class="mut light">{op}</span> : null}</h4>
      {last !== title ? <div class="path">{title}</div> : null}
      {event ? (
        <dl>
          <dt>Duration</dt><dd>{figure(event.dur_ns / 1e3, "us")}</dd><dd class="mut">{exact(event.dur_ns, "count")} ns</dd>
          <dt>Start</dt><dd>{figure(event.t0_ns / 1e3, "us")}</dd><dd class="mut">{event.step !== null ? `step ${event.step}` : ""}</dd>
          {event.args.slice(0, 8).map((arg) => <><dt key={arg.name}>{arg.name}</dt><dd class="wide">{arg.value}</dd></>)}
        </dl>
      ) : null}
      {stands > 1 ? <div class="hint">the longest of {stands.toLocaleString("en-US")} events in this pixel; zoom in for the others</div> : null}
    </>
  );
}

function Toolbar({ answer, moves, selected, mode, directed }: { answer: TimelineAnswer; moves: Controls; selected: EventsAnswer | null; mode: string; directed: boolean }): JSX.Element {
  return (
    <div class="bar">
      <span class="lab">colour</span>
      <Segment name="Colour" of="color" now={mode === "name" ? "unit" : mode} choices={[{ word: "dir", label: "Direction", off: directed ? "" : "nothing here tells forward from gradient" }, { word: "op", label: "Op type" }, { word: "unit", label: "Name" }]} />
      {mode === "name" ? <span class="key">a colour for each name</span> : mode === "op" ? FAMILY_KEYS.map(([name, label]) => <Key key={name} color={`var(--${name})`}>{label}</Key>) : <DirKeys />}
      <span class="sp" />
      {state.value.sel && selected ? <span class="mut" id="ran">{selected.count ? `ran ${count(selected.count, "time")}, ${figure(selected.sum_ns / 1e3, "us")} · n p` : "did not run here"}</span> : null}
      <button class="btn small" onClick={moves.fitAll}>Fit all</button>
      {answer.steps.length ? <button class="btn small" onClick={moves.fitStep}>Fit step</button> : null}
      <button class="btn small" disabled={!moves.range && !selected?.count} onClick={() => moves.fitSelection(selected)}>Fit selection <span class="kbd">f</span></button>
    </div>
  );
}

/** Statistics of the measured range, or of everything. */
function Stats({ answer }: { answer: TimelineAnswer }): JSX.Element {
  const range = span(state.value.range);
  const [from, to] = range ?? [0, Math.ceil(answer.t1_ns)];
  const params = { from_ns: Math.round(from), to_ns: Math.round(to) };
  const asked = useAnswer<RangeAnswer>("range", source.has("range", params) ? params : null);
  const data = asked.data;
  if (!data) return <div class="stats"><p class="say">{source.live ? "" : "Statistics of a range need the program."}</p></div>;
  const title = range ? "Selection" : "The whole recording";
  return (
    <div class={asked.dim ? "stats dim" : "stats"} aria-live="polite">
      <p class="ttl">{title}: {figure(data.wall_ns / 1e3, "us")} · {count(data.events, "event")} · {figure(data.sum_ns / 1e3, "us")} in them{data.parallel !== null ? ` · ${data.parallel.toFixed(2)} at a time` : ""}{data.busy_share !== null ? ` · ${share(data.busy_share)} busy` : ""}</p>
      <table class="tbl">
        <thead>
          <tr>
            <th>Op type</th><th>Time</th><th class="l">Share</th><th>Runs</th><th>Mean</th><th>Longest</th><th class="l ex">which is</th>
          </tr>
        </thead>
        <tbody>
          {data.rows.map((row) => (
            <tr key={row.op + row.name} class={row.sel && row.sel === state.value.sel ? "sel" : ""} onClick={() => select(row.sel)}>
              <td title={row.op || row.name}><button class="plain" disabled={!row.sel} onClick={() => select(row.sel)}>{row.op || row.name}</button></td>
              <td title={`${exact(row.sum_ns, "count")} ns`}>{figure(row.sum_ns / 1e3, "us")}</td>
              <td class="l"><span class="sbar"><i style={{ width: `${(row.share ?? 0) * 100}px`, background: row.dir === "g" ? "var(--grad)" : row.dir === "f" ? "var(--fwd)" : "var(--oth)" }} /></span> <span class="mut">{share(row.share)}</span></td>
              <td>{row.runs.toLocaleString("en-US")}</td><td>{figure(row.mean_ns / 1e3, "us")}</td><td>{figure(row.longest_ns / 1e3, "us")}</td>
              <td class="l mono mut ex" title={row.example}>{row.dir === "g" ? "∂ " : ""}{row.example}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
