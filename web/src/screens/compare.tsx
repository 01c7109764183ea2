// Compare: two profiles side by side. Width is the second one, colour the change; changes within the noise stay grey.

import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import type { ChangeRow, ChangesAnswer, Column, CompareAnswer, CompareFigure, Status } from "../api";
import { useAnswer } from "../ask";
import { diverge } from "../color";
import { count, difference, exact, figure, percent, type Unit } from "../format";
import { copy, go, meta, question, select, source, state, theme } from "../store";
import { visible } from "../tree";
import { Empty, Pending, Refused, Segment, Swatch, useKeys, useSize, ViewSegment } from "../ui/bits";
import { Boxes, Crumbs, pathOf, quiet, sceneOf } from "./flame";

const ROW = 24;
const roundUp = (px: number): number => Math.max(400, Math.ceil(px / 200) * 200);

/** The question of both halves. Warm-up is left out unless the reader keeps it. */
function both(): Record<string, string | number | undefined> {
  const { swap, warm } = state.value;
  return { ...question.value, warm: warm === "0" ? "0" : undefined, swap: swap || undefined };
}

export function Compare(): JSX.Element {
  const [box, size] = useSize<HTMLDivElement>();
  const s = state.value;
  const px = roundUp(size.width);
  const base = both();
  const wide = { ...base, px: px === 1200 ? undefined : px };
  const zoomed = { ...wide, zoom: s.zoom, find: source.live ? s.find : undefined };
  const asked = useAnswer<CompareAnswer>("compare", size.width ? (source.live || source.has("compare", zoomed) ? zoomed : wide) : null, true);
  const changes = useAnswer<ChangesAnswer>("changes", { ...base, view: s.by === "scope" ? undefined : s.by, find: source.live ? s.find : undefined });
  const answer = asked.data;
  return (
    <div class="cmpscreen" ref={box}>
      {answer ? (
        <>
          <Sides answer={answer} />
          <Headline answer={answer} changes={changes.data} />
          <Picture answer={answer} dim={asked.dim} height={size.height} />
        </>
      ) : null}
      {answer ? null : asked.error ? <Refused error={asked.error} /> : <Pending />}
      {answer && changes.data ? <Changes answer={changes.data} dim={changes.dim} noise={answer.noise} /> : answer && changes.error ? <Refused error={changes.error} /> : null}
    </div>
  );
}

/** The last part of a path; both ends if both sides have the same. */
function shortName(name: string, other: string): string {
  const parts = (text: string) => text.replace(/\/+$/, "").split("/");
  const mine = parts(name);
  const theirs = parts(other);
  let from = mine.length - 1;
  while (from > 0 && mine.slice(from).join("/") === theirs.slice(-(mine.length - from)).join("/")) from--;
  return mine.slice(from).join("/");
}

function Sides({ answer }: { answer: CompareAnswer }): JSX.Element {
  const [a, b] = answer.sides as [CompareAnswer["sides"][0], CompareAnswer["sides"][0]];
  const other = `tfprof web ${meta.value.inputs} --baseline OTHER`;
  const side = (letter: string, of: typeof a, rest: typeof a) => (
    <span class="chip" title={`${of.name}${of.steps ? `: ${count(of.steps, "step")}` : ""}${of.warm_up.length ? `; ${count(of.warm_up.length, "step")} left out as warm-up` : ""}`}>
      <b>{letter}</b><span>{shortName(of.name, rest.name)}{of.steps > 1 ? `, ${count(of.steps, "step")}` : ""}</span>
    </span>
  );
  const warmed = a.warm_up.length + b.warm_up.length;
  return (
    <div class="bar cmpbar">
      {side("A", a, b)}<span class="mut">→</span>{side("B", b, a)}
      <button class="btn ghost small" disabled={!source.live} title="B against A" onClick={() => go({ swap: state.value.swap ? "" : "1" })}>Swap</button>
      <button class="btn small" title={other} onClick={() => void copy(other, "the command that compares with another profile")}>Another profile…</button>
      <ViewSegment />
      {warmed || state.value.warm === "0" ? <button class="btn small" disabled={!source.live} aria-pressed={state.value.warm !== "0"} title="Steps that are slower than the later ones" onClick={() => go({ warm: state.value.warm === "0" ? "1" : "0" })}>{state.value.warm === "0" ? "Leave out warm-up" : `✓ ${count(warmed, "warm-up step")} left out`}</button> : null}
      <span class="sp" />
      <span class="lab">less</span>
      <span class="ramp" aria-hidden="true" key={theme.value}>{[-1, -0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75, 1].map((v) => <i key={v} style={{ background: diverge(v) }} />)}</span>
      <span class="lab">more</span><span class="mut">half … double</span>
    </div>
  );
}

function Headline({ answer, changes }: { answer: CompareAnswer; changes: ChangesAnswer | null }): JSX.Element {
  const column = answer.columns[0] as Column;
  const { root } = answer;
  const metric: CompareFigure = {
    key: "metric", label: column.label === "Time" ? "Time in ops" : column.label, unit: column.unit, before: root.before, after: root.after,
    difference: root.difference, percent: root.percent, note: "", command: answer.command,
  };
  const known = answer.figures.filter((f) => f.before !== null && f.after !== null && f.key !== "nodes" && f.key !== column.key);
  const nodes = answer.figures.find((f) => f.key === "nodes");
  const first = known.filter((f) => f.key === "span_micros");
  const rest = known.filter((f) => f.key !== "span_micros").reverse();
  const shown = [...first, ...(state.value.zoom ? [] : [metric]), ...rest].slice(0, 3);
  return (
    <div class="cmpkpis">
      {shown.map((f) => <Figure key={f.key} f={f} />)}
      <Counts changes={changes} />
      {nodes ? <Graph nodes={nodes} guesses={answer.guesses} /> : null}
    </div>
  );
}

function Figure({ f }: { f: CompareFigure }): JSX.Element {
  const same = f.difference === 0;
  const [old, now] = [figure(f.before, f.unit), figure(f.after, f.unit)];
  return (
    <div class="kpi" title={`${f.note}: ${exact(f.before, f.unit)} → ${exact(f.after, f.unit)}\n${f.command}`} data-figure={f.key}>
      <span>{f.label}</span>
      <b>{old === now ? now : `${old} → ${now}`}</b>
      <small>{same ? "the same" : [percent(f.percent), difference(f.difference, f.unit)].filter(Boolean).join(", ")}</small>
    </div>
  );
}

const NOUNS: Record<string, string> = { op: "Op types", scope: "Scopes", graph: "Nodes", code: "Lines" };

function Counts({ changes }: { changes: ChangesAnswer | null }): JSX.Element {
  const unit = changes?.columns[0]?.unit ?? "us";
  const of = (statuses: Status[], sign?: number) => (changes?.counts ?? []).filter((c) => statuses.includes(c.status) && (sign === undefined || c.sign === sign)).map((c) => c.n).reduce((a, b) => a + b, 0);
  const words = wordsOf(unit);
  const main = [[of(["changed", "differs"], -1), words.less], [of(["changed", "differs"], 1), words.more]].filter(([n]) => n).map(([n, word]) => `${n?.toLocaleString("en-US")} ${word}`);
  const also = [[of(["added"]), "added"], [of(["removed"]), "removed"], [of(["noise"]), "within noise"], [of(["same"]), "the same"]].filter(([n]) => n).map(([n, word]) => `${n?.toLocaleString("en-US")} ${word}`);
  return (
    <div class="kpi" id="changed">
      <span>{NOUNS[state.value.by]} that changed</span>
      <b>{changes ? main.join(", ") || "none" : "…"}</b>
      <small title={also.join(", ")}>{also.join(", ")}</small>
    </div>
  );
}

function Graph({ nodes, guesses }: { nodes: CompareFigure; guesses: number }): JSX.Element {
  const same = nodes.difference === 0;
  return (
    <div class="kpi" title={nodes.command}>
      <span>Nodes</span>
      <b>{same ? (nodes.after ?? 0).toLocaleString("en-US") : `${nodes.before?.toLocaleString("en-US")} → ${nodes.after?.toLocaleString("en-US")}`}</b>
      <small>{same ? "in both" : difference(nodes.difference, "count")}{guesses ? `; ${count(guesses, "row")} paired by guess` : ""}</small>
    </div>
  );
}

function Picture({ answer, dim, height }: { answer: CompareAnswer; dim: boolean; height: number }): JSX.Element | null {
  const scene = useMemo(() => sceneOf(answer, state.value.zoom), [answer, state.value.zoom]);
  const unit = answer.columns[0]?.unit ?? "us";
  if (!answer.boxes.x.length || (!answer.root.before && !answer.root.after)) {
    const label = answer.columns[0]?.label.toLowerCase();
    return <Empty title={`No ${label} on both sides`} why={answer.warnings[0]?.message ?? "Choose another metric."} />;
  }
  const most = Math.max(110, height * 0.4);
  const rh = Math.max(20, Math.min(25, Math.floor(most / Math.max(1, scene.rows))));
  return (
    <>
      <div class="bar thin">
        <Crumbs scene={scene} />
        <span class="sp" />
        <span class="mut">{answer.noise ? (answer.common_shift !== null && Math.abs(answer.common_shift) >= 0.05 ? `all rows moved by ${percent(answer.common_shift)}; coloured are those that stand out from it` : "grey: within the noise") : "the noise is unknown: fewer than five steps on a side"}</span>
        {answer.merged.count ? <span class="mut">{count(answer.merged.count, "row")} narrower than half a pixel</span> : null}
      </div>
      <div class={dim ? "cmpbox dim" : "cmpbox"} style={{ height: `${Math.min(scene.rows * rh + 6, most)}px` }}>
        <Boxes id="compare" scene={scene} rh={rh} unit={unit} mode="diff" card={(i) => <DiffCard answer={answer} i={i} unit={unit} />} />
      </div>
    </>
  );
}

function DiffCard({ answer, i, unit }: { answer: CompareAnswer; i: number; unit: Unit }): JSX.Element {
  const { boxes, names } = answer;
  const name = names[boxes.name[i] as number] || "all";
  const path = boxes.path ? "" : pathOf(answer, i);
  const status = boxes.status?.[i] ?? "same";
  const row = { status, sign: Math.sign(boxes.difference?.[i] ?? 0) };
  return (
    <>
      <h4>{boxes.dir[i] === 2 ? "∂ " : ""}{name}</h4>
      {path && path !== name ? <div class="path">{path}</div> : null}
      <dl>
        <dt>A</dt><dd>{figure(boxes.before?.[i], unit)}</dd><dd />
        <dt>B</dt><dd>{figure(boxes.after?.[i], unit)}</dd><dd />
        <dt>Change</dt><dd title={exact(boxes.difference?.[i], unit)}>{difference(boxes.difference?.[i], unit)}</dd><dd class="mut">{percent(boxes.percent?.[i])}</dd>
      </dl>
      <div class="hint">{verdict(row, unit)[1]} · click selects and zooms</div>
    </>
  );
}

const wordsOf = (unit: Unit): { more: string; less: string } => (unit === "us" ? { more: "slower", less: "faster" } : { more: "more", less: "less" });

/** A mark and a word, so that colour is not alone. */
function verdict({ status, sign }: { status: Status; sign: number }, unit: Unit): [string, string] {
  const { more, less } = wordsOf(unit);
  if (status === "added") return ["more", "+ only in B"];
  if (status === "removed") return ["less", "− only in A"];
  if (status === "noise") return ["", "· within noise"];
  if (status === "same" || !sign) return ["", "= the same"];
  return sign > 0 ? ["more", `▲ ${more}`] : ["less", `▼ ${less}`];
}

function Changes({ answer, dim, noise }: { answer: ChangesAnswer; dim: boolean; noise: boolean }): JSX.Element {
  const [viewport, size] = useSize<HTMLDivElement>();
  const [top, setTop] = useState(0);
  const cursor = useRef(-1);
  const unit = answer.columns[0]?.unit ?? "us";
  const { more, less } = wordsOf(unit);
  const rows = answer.changes;
  const selOf = (row: ChangeRow) => `${row.kind}:${row.path}`;
  const at = rows.findIndex((row) => selOf(row) === state.value.sel);
  useKeys((event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by || (event.target as HTMLElement).tagName === "CANVAS") return;
    event.preventDefault();
    cursor.current = Math.max(0, Math.min(rows.length - 1, (at >= 0 ? at : cursor.current) + by));
    const row = rows[cursor.current];
    if (row) select(selOf(row));
    const box = viewport.current;
    if (box) box.scrollTop = Math.max(Math.min(box.scrollTop, cursor.current * ROW), (cursor.current + 2) * ROW + 8 - box.clientHeight);
  });
  const [from, to] = visible(top, size.height, ROW, rows.length, 12);
  const choices = ["op", "scope", "code"].map((word) => ({ word, label: { op: "Op type", scope: "Scope", code: "Line" }[word] ?? word, off: meta.value.views.find((v) => v.word === word)?.known === false ? "not in the data" : "" }));
  return (
    <div class={dim ? "scrolly cmptable dim" : "scrolly cmptable"} ref={viewport} tabIndex={0} aria-label="Changes" onScroll={(event) => setTop(event.currentTarget.scrollTop)}>
      <table class="tbl">
        <thead>
          <tr>
            <th>What changed, by<Segment name="Rows" of="by" choices={choices} /></th><th>A</th><th>B</th><th>Change</th><th />
            <th style={{ textAlign: "center" }}>{less} ← change{noise ? ", its noise" : ""} → {more}</th><th title="The change of a typical (median) step is in here in 95 of 100 cases. Averages, at the left, also hold rare slow steps.">{noise ? "typical step, 95 %" : ""}</th><th class="l">Verdict</th>
          </tr>
        </thead>
        <tbody>
          {from ? <tr style={{ height: `${from * ROW}px` }} aria-hidden="true"><td colSpan={8} style={{ height: `${from * ROW}px` }} /></tr> : null}
          {rows.slice(from, to).map((row) => <Change key={row.id} row={row} unit={unit} reach={answer.reach} selected={selOf(row) === state.value.sel} />)}
          {to < rows.length ? <tr style={{ height: `${(rows.length - to) * ROW}px` }} aria-hidden="true"><td colSpan={8} style={{ height: `${(rows.length - to) * ROW}px` }} /></tr> : null}
        </tbody>
      </table>
      {rows.length ? null : <p class="say">{state.value.find ? "No row with this text differs." : "No row differs."}</p>}
      {answer.left_out ? <p class="say">{answer.left_out.rows.toLocaleString("en-US")} smaller changes are not listed</p> : null}
    </div>
  );
}

/** Beyond 100 %, decimals say nothing. */
const coarse = (v: number): string => (Math.abs(v) >= 100 ? percent(v).replace(/\.\d/, "") : percent(v));
const percents = (low: number | null, high: number | null): string => (low === null || high === null ? "" : `${coarse(low)} … ${coarse(high)}`);

function Change({ row, unit, reach, selected }: { row: ChangeRow; unit: Unit; reach: number; selected: boolean }): JSX.Element {
  const [tone, word] = verdict(row, unit);
  const label = row.kind === "scope" || row.kind === "graph" ? row.path : row.name;
  return (
    <tr class={`${selected ? "sel" : ""} ${quiet(row.status) ? "quiet" : ""}`} data-path={row.path} data-difference={row.difference ?? undefined} onClick={() => select(`${row.kind}:${row.path}`)}>
      <td title={row.before_name ? `${row.path}\nin A: ${row.before_name}` : row.path}>
        <span class="name"><Swatch dir={row.dir} />{label.includes("/") ? <span class="cutfront"><bdi>{label}</bdi></span> : <span class="cut">{label}</span>}{row.match === "guess" ? <span class="tag" title={`paired by structure with ${row.before_name ?? "a row of another place"}`}>≈</span> : null}</span>
      </td>
      <td title={exact(row.before, unit)}>{figure(row.before, unit)}</td>
      <td title={exact(row.after, unit)}>{figure(row.after, unit)}</td>
      <td title={exact(row.difference, unit)}>{difference(row.difference, unit)}</td>
      <td class="mut">{percent(row.percent)}</td>
      <td><Interval row={row} reach={reach} tone={tone} /></td>
      <td class="mut">{percents(row.low_percent, row.high_percent)}</td>
      <td class={`verdict ${tone}`}>{word}</td>
    </tr>
  );
}

/** The change as a bar from the middle; behind it, the changes that the steps allow. */
function Interval({ row, reach, tone }: { row: ChangeRow; reach: number; tone: string }): JSX.Element {
  const W = 190;
  // Wide intervals end at the edge: the axis is that of the changes.
  const x = (v: number) => W / 2 + Math.max(-1.04, Math.min(1.04, v / (reach || 1))) * (W / 2 - 6);
  const d = row.difference ?? 0;
  const fill = tone === "more" ? "var(--d-slow)" : tone === "less" ? "var(--d-fast)" : "var(--oth)";
  return (
    <svg width={W} height="20" aria-hidden="true">
      {row.low !== null && row.high !== null ? <rect x={x(row.low)} y="4" width={Math.max(1, x(row.high) - x(row.low))} height="12" rx="2" fill="var(--oth-soft)" /> : null}
      <line x1={W / 2} x2={W / 2} y1="1" y2="19" stroke="var(--line2)" />
      <rect x={Math.min(x(0), x(d))} y="7" width={Math.max(1, Math.abs(x(d) - x(0)))} height="6" rx="1" fill={fill} />
    </svg>
  );
}
