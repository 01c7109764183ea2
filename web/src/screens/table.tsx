// Table: any view as a tree, level by level; the text equivalent of the pictures.

import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import type { AllAnswer, Column, PathAnswer, Row, RowsAnswer } from "../api";
import { fetchAnswer, useAnswer } from "../ask";
import { exact, figure, share } from "../format";
import { Refusal, spell, type Params } from "../source";
import { fault, go, meta, metric, question, reveal, say, select, source, state } from "../store";
import { flatten, visible, type Branch, type Level, type Line } from "../tree";
import { Caret, Empty, Pending, Refused, Swatch, Triangle, useKeys, useSize, ViewSegment } from "../ui/bits";
import { Menu, MenuItem } from "../ui/float";

const ROW = 24;
const PAGE = 500;
const FIRST_COLUMNS = ["micros", "float_ops", "bytes", "peak_bytes", "params", "occurrence"];

/** The columns besides the metric, as the reader or the model chose. */
function columnWords(): string[] {
  const known = meta.value.metrics.filter((m) => m.known);
  const words = state.value.cols === "none" ? [] : state.value.cols ? state.value.cols.split(",") : source.live ? FIRST_COLUMNS : [];
  return words.filter((word) => word !== metric.value?.word && known.some((m) => m.word === word));
}

/** The question of a table: the page's, with columns and order. */
function tableQuestion(): Params {
  return { ...question.value, cols: columnWords().join(","), sort: state.value.sort };
}

/** Levels of the tree that have arrived, for one question. */
class Levels {
  readonly map = new Map<string, Level<Row>>();
  private readonly asked = new Set<string>();
  constructor(readonly key: string, private readonly params: Params, private readonly arrived: () => void) {}

  put(parent: string, answer: { rows: Row[]; count: number }): void {
    const old = this.map.get(parent)?.items ?? [];
    this.map.set(parent, { items: [...old, ...answer.rows.map((row) => ({ row, kids: row.kids }))], total: answer.count });
  }

  /** Asks for a level, or for its next page. */
  ask(parent: string): void {
    const have = this.map.get(parent)?.items.length ?? 0;
    const key = `${parent}\n${have}`;
    if (this.asked.has(key)) return;
    this.asked.add(key);
    const params = { ...this.params, parent, offset: have || undefined, limit: have ? PAGE : undefined };
    fetchAnswer<RowsAnswer>("rows", params).then(
      (answer) => {
        this.put(parent, answer);
        this.arrived();
      },
      (error: unknown) => {
        if (error instanceof Refusal && error.why === "absent") say("These rows are not in the report; tfprof has them");
        else if (error instanceof Refusal) fault.value = error;
        this.map.set(parent, this.map.get(parent) ?? { items: [], total: 0 });
        this.arrived();
      },
    );
  }
}

/** Open rows are kept for each view while the page is open. */
const openRows = new Map<string, Set<string>>();
const opened = (view: string): Set<string> => {
  let set = openRows.get(view);
  if (!set) openRows.set(view, (set = new Set([""])));
  return set;
};

export function Table(): JSX.Element {
  const params = tableQuestion();
  const key = spell("rows", params);
  const asked = useAnswer<RowsAnswer>("rows", params, true);
  const [, redraw] = useReducer<number, void>((n) => n + 1, 0);
  const levels = useRef<Levels | null>(null);
  const answer = asked.data;
  // A new question starts new levels once its first answer is here; until then the old rows stay.
  if (answer && !asked.waiting && !asked.error && levels.current?.key !== key) {
    levels.current = new Levels(key, params, redraw);
    levels.current.put("", answer);
  }
  const view = state.value.view;
  const open = opened(view);
  useRevealed(params, open, redraw);
  if (!answer || !levels.current) return <div class="tablescreen"><Bar answer={null} redraw={redraw} params={params} levels={null} />{asked.error ? <Refused error={asked.error} /> : <Pending />}</div>;
  const known = levels.current;
  const root: Branch<Row> = { row: answer.parent, kids: answer.parent.kids || answer.count };
  const lines = flatten(root, (row) => row.path, (path) => open.has(path), (path) => known.map.get(path));
  for (const line of lines) if (line.kind === "wait") known.ask(line.path);
  const nothing = !answer.parent.total.some((v) => v) && !answer.rows.length;
  return (
    <div class={asked.dim ? "tablescreen dim" : "tablescreen"}>
      <Bar answer={answer} redraw={redraw} params={params} levels={known} />
      {nothing ? <NothingHere /> : <Grid lines={lines} columns={answer.columns} open={open} more={(path) => known.ask(path)} redraw={redraw} />}
    </div>
  );
}

export function NothingHere(): JSX.Element {
  const m = metric.value;
  const filtered = !!(state.value.account || state.value.start || state.value.trim || state.value.show || state.value.hide);
  const missing = meta.value.missing[0];
  if (filtered) return <Empty title={`No ${m?.label.toLowerCase()} here`} why="Nothing that the filter leaves has any. Take a chip away, or choose another metric." />;
  return <Empty title={`No ${m?.label.toLowerCase()} here`} why={m?.why || "Nothing that is loaded has any. Choose another metric."} how={missing?.how} />;
}

/** “Show in” and Enter in the find box open the way down to the selection. */
function useRevealed(params: Params, open: Set<string>, redraw: () => void): void {
  const seen = useRef(0);
  useEffect(() => {
    if (reveal.value === seen.current || !state.value.sel) return;
    seen.current = reveal.value;
    void fetchAnswer<PathAnswer>("path", { ...params, sel: state.value.sel }).then((answer) => {
      for (const row of answer.rows.slice(0, -1)) open.add(row.path);
      scrollTo.path = answer.rows[answer.rows.length - 1]?.path ?? null;
      redraw();
    }, () => {});
  }, [reveal.value, state.value.sel]);
}
const scrollTo: { path: string | null } = { path: null };

function Bar({ answer, redraw, params, levels }: { answer: RowsAnswer | null; redraw: () => void; params: Params; levels: Levels | null }): JSX.Element {
  const open = opened(state.value.view);
  const words = columnWords();
  const flip = (word: string) => {
    const next = words.includes(word) ? words.filter((w) => w !== word) : [...words, word];
    const order = meta.value.metrics.map((m) => m.word);
    go({ cols: next.sort((a, b) => order.indexOf(a) - order.indexOf(b)).join(",") || "none" });
  };
  const all = async () => {
    const answer = await fetchAnswer<AllAnswer>("all", params);
    answer.rows.forEach((row, i) => {
      if (!row.kids) return;
      open.add(row.path);
      const kids = answer.rows.filter((kid) => kid.parent === i);
      if (levels && kids.length && !levels.map.has(row.path)) levels.put(row.path, { rows: kids, count: row.kids });
    });
    redraw();
  };
  const collapse = () => {
    open.clear();
    open.add("");
    redraw();
  };
  return (
    <div class="bar">
      <ViewSegment />
      <Menu id="columns" className="btn small" disabled={!source.live} title={source.live ? "Columns" : "needs the program; not in this report"} label={<>Columns <small>{words.length + 1} of {meta.value.metrics.filter((m) => m.known).length}</small><Caret /></>}>
        {() => <><h4>Columns</h4>{meta.value.metrics.map((m) => <MenuItem key={m.key} keep label={m.label} note={m.known ? m.about : m.why || "not in the data"} on={m === metric.value || words.includes(m.word)} off={!m.known || m === metric.value} pick={() => flip(m.word)} />)}</>}
      </Menu>
      <button class="btn ghost small" disabled={!source.live} onClick={() => void all()}>Expand all</button>
      <button class="btn ghost small" onClick={collapse}>Collapse</button>
      <span class="sp" />
      {answer ? <span class="mut">{answer.shown.toLocaleString("en-US")} rows{answer.of > answer.shown ? `, of ${answer.of.toLocaleString("en-US")}` : ""}</span> : null}
    </div>
  );
}

const HEADS: Record<string, string> = { scope: "Scope", graph: "Node", op: "Op type", code: "Line" };

interface GridProps { lines: Line<Row>[]; columns: Column[]; open: Set<string>; more: (path: string) => void; redraw: () => void }

function Grid({ lines, columns, open, more, redraw }: GridProps): JSX.Element {
  const [viewport, size] = useSize<HTMLDivElement>();
  const [top, setTop] = useState(0);
  const [cursor, setCursor] = useState<string | null>(null);
  const view = state.value.view;
  const selected = lines.findIndex((line) => line.kind === "row" && state.value.sel === `${line.row.kind}:${line.path}`);
  const at = cursor !== null ? lines.findIndex((line) => line.kind === "row" && line.path === cursor) : selected;
  const toggle = (path: string) => {
    if (!open.delete(path)) open.add(path);
    redraw();
  };
  const show = (i: number) => {
    const box = viewport.current;
    if (!box) return;
    if (i * ROW < box.scrollTop) box.scrollTop = i * ROW;
    else if ((i + 1) * ROW > box.scrollTop + box.clientHeight) box.scrollTop = (i + 1) * ROW - box.clientHeight;
  };
  const moveTo = (i: number) => {
    const line = lines[Math.max(0, Math.min(lines.length - 1, i))];
    if (!line || line.kind !== "row") return;
    setCursor(line.path);
    select(line.path ? `${line.row.kind}:${line.path}` : "");
    show(lines.indexOf(line));
  };
  useLayoutEffect(() => {
    if (scrollTo.path === null) return;
    const i = lines.findIndex((line) => line.kind === "row" && line.path === scrollTo.path);
    if (i < 0) return;
    scrollTo.path = null;
    const box = viewport.current;
    if (box) box.scrollTop = Math.max(0, i * ROW - box.clientHeight / 3);
  });
  useKeys((event) => gridKey(event, { lines, at, moveTo, toggle, page: Math.floor(size.height / ROW) - 1 }));
  const least = { minWidth: `${240 + 206 + 112 * (columns.length - 1)}px` };
  const template = useMemo(() => `minmax(240px,1fr) ${columns.map((_, i) => (i ? "112px" : "206px")).join(" ")}`, [columns]);
  const [from, to] = visible(top, size.height, ROW, lines.length);
  return (
    <div class="tt" role="treegrid" aria-label={`${HEADS[view]}, by ${columns[0]?.label}`} aria-rowcount={lines.length + 1} aria-colcount={columns.length + 1}>
      <div class="h" role="row" style={{ ...least, gridTemplateColumns: template }}>
        <Head word="name" label={HEADS[view] ?? view} about="" first />
        {columns.map((column) => <Head key={column.key} word={column.word} label={column.label} about={column.about} metric={columns[0]?.word} />)}
      </div>
      <div class="vp" ref={viewport} tabIndex={0} style={least} onScroll={(event) => setTop(event.currentTarget.scrollTop)} aria-label="Rows">
        <div class="rows" style={{ height: `${lines.length * ROW}px` }}>
          {lines.slice(from, to).map((line, i) => (
            <LineRow key={line.kind + line.path} line={line} index={from + i} template={template} columns={columns} toggle={toggle} more={more} pick={setCursor} />
          ))}
        </div>
      </div>
    </div>
  );
}

function gridKey(event: KeyboardEvent, { lines, at, moveTo, toggle, page }: { lines: Line<Row>[]; at: number; moveTo: (i: number) => void; toggle: (path: string) => void; page: number }): void {
  const line = lines[at];
  const row = line?.kind === "row" ? line : null;
  const next = (by: number) => {
    let i = at + by;
    while (lines[i] && lines[i]?.kind !== "row") i += Math.sign(by);
    moveTo(i);
  };
  const deeds: Record<string, () => void> = {
    ArrowDown: () => next(1),
    ArrowUp: () => next(-1),
    PageDown: () => moveTo(at + page),
    PageUp: () => moveTo(at - page),
    Home: () => moveTo(0),
    End: () => moveTo(lines.length - 1),
    ArrowRight: () => (row && row.kids && !row.open ? toggle(row.path) : next(1)),
    ArrowLeft: () => {
      if (row?.open) return toggle(row.path);
      for (let i = at - 1; i >= 0; i--) if (lines[i]?.kind === "row" && (lines[i]?.depth ?? 0) < (row?.depth ?? 0)) return moveTo(i);
    },
    Enter: () => row && row.kids && toggle(row.path),
  };
  const deed = deeds[event.key];
  if (!deed || (event.target as HTMLElement).closest("button")) return;
  event.preventDefault();
  deed();
}

function Head({ word, label, about, first, metric: main }: { word: string; label: string; about: string; first?: boolean; metric?: string }): JSX.Element {
  const sort = state.value.sort || metric.value?.word;
  const on = sort === word;
  return (
    <div role="columnheader" aria-sort={on ? (word === "name" ? "ascending" : "descending") : "none"} class={first ? "hc first" : "hc"}>
      <button disabled={!source.live} title={about || undefined} onClick={() => go({ sort: word === main ? "" : word })}>{label}{on ? (word === "name" ? " ↑" : " ↓") : ""}</button>
    </div>
  );
}

interface LineProps { line: Line<Row>; index: number; template: string; columns: Column[]; toggle: (path: string) => void; more: (path: string) => void; pick: (path: string) => void }

function LineRow({ line, index, template, columns, toggle, more, pick }: LineProps): JSX.Element {
  const place = { top: `${index * ROW}px`, gridTemplateColumns: template };
  const indent = { paddingLeft: `${8 + line.depth * 14}px` };
  if (line.kind === "wait") return <div class="r" role="row" style={place}><div class="n mut" style={indent}>…</div></div>;
  if (line.kind === "more") {
    return <div class="r" role="row" style={place}><div class="n" role="gridcell" style={indent}><button class="more" onClick={() => more(line.path)}>{(line.total - line.have).toLocaleString("en-US")} smaller: show {Math.min(PAGE, line.total - line.have).toLocaleString("en-US")} more</button></div></div>;
  }
  const { row } = line;
  const sel = row.path ? `${row.kind}:${row.path}` : "";
  const found = state.value.find && row.path && row.name.toLowerCase().includes(state.value.find.toLowerCase());
  return (
    <div class={found ? "r hit" : "r"} role="row" aria-level={line.depth + 1} aria-rowindex={index + 2} aria-expanded={line.kids ? line.open : undefined} aria-selected={!!sel && state.value.sel === sel} style={place}
      onClick={() => {
        pick(row.path);
        select(sel);
      }} onDblClick={() => line.kids && toggle(row.path)}>
      <div class="n" role="rowheader" style={indent} title={row.path}>
        {line.kids ? <button class={line.open ? "tg o" : "tg"} tabIndex={-1} aria-label={line.open ? "Close" : "Open"} onClick={(event) => {
          event.stopPropagation();
          toggle(row.path);
        }}><Triangle /></button> : <span class="tg" />}
        {row.path ? <Swatch dir={row.dir} /> : null}
        <span class="nm cut">{row.name}</span>
        {row.op && row.op !== row.name ? <span class="op">{row.op}</span> : null}
      </div>
      {columns.map((column, i) => <Cell key={column.key} row={row} i={i} column={column} />)}
    </div>
  );
}

function Cell({ row, i, column }: { row: Row; i: number; column: Column }): JSX.Element {
  const v = row.total[i] ?? null;
  const width = `${Math.max(0, Math.min(1, row.share[i] ?? 0)) * 100}%`;
  const color = i ? "var(--oth-soft)" : row.dir === "g" ? "var(--grad-soft)" : row.dir === "f" ? "var(--fwd-soft)" : "var(--oth-soft)";
  return (
    <div class="c" role="gridcell" title={`${exact(v, column.unit)}${row.own[i] ? `; of its own ${exact(row.own[i] ?? null, column.unit)}` : ""}`}>
      <span class="bg"><i style={{ width, background: color }} /></span>
      <span class={v === null || v === 0 ? "zero" : undefined} data-value={v ?? undefined}>{figure(v, column.unit)}</span>
      {i === 0 ? <em>{share(row.share[i])}</em> : null}
    </div>
  );
}
