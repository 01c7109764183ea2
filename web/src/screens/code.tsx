// Code: the source, annotated per line. Where the text cannot be read, the lines that are known.

import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { CodeAnswer, CodeLine, Num } from "../api";
import { useAnswer } from "../ask";
import { exact, figure, share } from "../format";
import { python } from "../python";
import { go, meta, metric, question, reveal, select, source, state } from "../store";
import { visible } from "../tree";
import { Empty, Fig, Key, Pending, Refused, Segment, useKeys, useSize } from "../ui/bits";

const ROW = 20;

/** Columns beside the metric, if the data has them. */
function extraColumns(): string[] {
  const wanted = ["micros", "float_ops", "bytes"].filter((word) => word !== metric.value?.word);
  return wanted.filter((word) => meta.value.metrics.some((m) => m.word === word && m.known)).slice(0, 2);
}

export function Code(): JSX.Element {
  const params = { ...question.value, view: undefined, file: state.value.file, cols: source.live ? extraColumns().join(",") : undefined };
  const asked = useAnswer<CodeAnswer>("code", params, true);
  const { data } = asked;
  if (!data) return asked.error ? <Refused error={asked.error} /> : <Pending />;
  return (
    <div class={asked.dim ? "codescreen dim" : "codescreen"}>
      <div class="bar">
        <span class="mono cutfront file" title={data.file}><bdi>{data.file}</bdi></span>
        {data.text ? null : <span class="note" title={data.text_note}>text not found</span>}
        <span class="sp" />
        <span class="lab">a line counts</span>
        <Segment name="A line counts" of="calls" choices={[{ word: "", label: "its own ops" }, { word: "1", label: "and what it calls" }]} />
        <Key color="var(--fwd)">forward</Key><Key color="var(--grad)">gradient</Key>
      </div>
      <div class="codesplit">
        <Outline data={data} />
        {data.lines.length || data.text ? <Source data={data} /> : <Empty title="No line of code has any" why={data.text_note || "Choose another metric, or another file."} />}
      </div>
    </div>
  );
}

function Outline({ data }: { data: CodeAnswer }): JSX.Element {
  const unit = data.columns[0]?.unit ?? "us";
  const user = data.files.filter((f) => f.user);
  const library = data.files.filter((f) => !f.user);
  const file = (f: CodeAnswer["files"][number]) => (
    <button key={f.file} title={f.file} aria-current={f.file === data.file} disabled={!source.live && f.file !== data.file && !source.has("code", { ...question.value, view: undefined, file: f.file })} onClick={() => go({ file: f.file })}>
      <span class="cut">{f.name}</span><span class="mut" title={exact(f.total[0] ?? null, unit)}>{share(f.share[0])}</span>
    </button>
  );
  return (
    <nav class="outl" aria-label="Files and functions">
      <h3>Files, by {data.columns[0]?.label.toLowerCase()}</h3>
      {user.map(file)}
      {library.length ? <details><summary>library files ({library.length})</summary>{library.map(file)}</details> : null}
      {data.functions.length ? <h3>Functions</h3> : null}
      {data.functions.map((f) => (
        <button key={f.name + f.line} title={`line ${f.line}`} onClick={() => {
          go({ sel: `line:${data.file}:${f.line}` });
          reveal.value++;
        }}><span class="cut">{f.name}</span><Fig v={f.total[0] ?? null} unit={unit} /></button>
      ))}
    </nav>
  );
}

type Shown = { number: number; text: string; line: CodeLine | null };

function rowsOf(data: CodeAnswer): Shown[] {
  const known = new Map(data.lines.map((line) => [line.line, line]));
  if (data.text) return data.text.map((text, i) => ({ number: data.first + i, text, line: known.get(data.first + i) ?? null }));
  return [...data.lines].sort((a, b) => a.line - b.line).map((line) => ({ number: line.line, text: line.function ? `… in ${line.function}` : "", line }));
}

/** The number of the selected line in this file. */
function selectedLine(data: CodeAnswer): number | null {
  const match = /^line:(.*):(\d+)$/.exec(state.value.sel);
  return match && match[1] === data.file ? Number(match[2]) : (data.lines.find((line) => line.sel === state.value.sel)?.line ?? null);
}

function Source({ data }: { data: CodeAnswer }): JSX.Element {
  const [box, size] = useSize<HTMLDivElement>();
  const [top, setTop] = useState(0);
  const rows = rowsOf(data);
  const calls = state.value.calls === "1";
  const figures = (line: CodeLine): Num[] => (calls ? line.total : line.own);
  const most = Math.max(1e-9, ...data.lines.map((line) => figures(line)[0] ?? 0));
  const selected = selectedLine(data);
  const seen = useRef<number | string>(-1);
  useLayoutEffect(() => {
    // Opening a file shows its largest line; “Show in” the selected one.
    const wish = `${data.file}/${reveal.value}`;
    if (seen.current === wish || !size.height || !box.current) return;
    seen.current = wish;
    const largest = [...data.lines].sort((a, b) => (figures(b)[0] ?? 0) - (figures(a)[0] ?? 0))[0]?.line;
    const at = rows.findIndex((row) => row.number === (selected ?? largest));
    if (at >= 0) box.current.scrollTop = Math.max(0, at * ROW - size.height / 2.5);
  });
  useKeys((event) => {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const by = event.key === "ArrowDown" ? 1 : -1;
    const stops = rows.filter((row) => row.line);
    const at = stops.findIndex((row) => row.number === selected);
    const next = stops[at < 0 ? 0 : Math.max(0, Math.min(stops.length - 1, at + by))];
    if (!next) return;
    event.preventDefault();
    select(next.line?.sel ?? null);
    const y = rows.indexOf(next) * ROW;
    if (box.current && (y < box.current.scrollTop + ROW || y > box.current.scrollTop + size.height - 3 * ROW)) box.current.scrollTop = y - size.height / 2;
  });
  useEffect(() => setTop(box.current?.scrollTop ?? 0), [data.file]);
  const [from, to] = visible(top, size.height, ROW, rows.length, 12);
  const template = `124px ${data.columns.slice(1).map(() => "66px").join(" ")} 52px minmax(0,1fr)`;
  return (
    <div class="src" ref={box} tabIndex={0} aria-label={`Lines of ${data.file}`} onScroll={(event) => setTop(event.currentTarget.scrollTop)}>
      <div class="ln hd" style={{ gridTemplateColumns: template }}>
        {data.columns.map((c, i) => <span key={c.key} class={i ? "m" : "t"} title={c.about}>{i ? short(c.label) : c.label}</span>)}
        <span class="no">Line</span><span class="cd">{data.text ? "" : data.text_note}</span>
      </div>
      <div class="lines" style={{ height: `${rows.length * ROW}px` }}>
        {rows.slice(from, to).map((row, i) => (
          <SourceLine key={row.number} row={row} top={(from + i) * ROW} template={template} data={data} values={row.line ? figures(row.line) : []} most={most} selected={row.number === selected} />
        ))}
      </div>
    </div>
  );
}

const short = (label: string): string => ({ "Float operations": "FLOP", "Requested bytes": "Bytes" })[label] ?? label;

interface LineProps { row: Shown; top: number; template: string; data: CodeAnswer; values: Num[]; most: number; selected: boolean }

function SourceLine({ row, top, template, data, values, most, selected }: LineProps): JSX.Element {
  const { line } = row;
  const value = values[0] ?? null;
  const both = (line?.forward ?? 0) + (line?.gradient ?? 0);
  // Bars are drawn to the square root, so that small lines are seen beside large ones.
  const width = value ? Math.max(1.5, Math.sqrt(value / most) * 116) : 0;
  const forward = both > 0 ? ((line?.forward ?? 0) / both) * width : width;
  const unit = data.columns[0]?.unit ?? "us";
  return (
    <div class={`ln ${selected ? "sel" : ""} ${value ? "" : "cold"}`} style={{ top: `${top}px`, gridTemplateColumns: template }} onClick={() => line && select(line.sel)} data-line={row.number}>
      <span class="t" title={line ? exact(value, unit) : undefined}>
        {width ? <><i style={{ left: "6px", width: `${forward}px`, background: both > 0 ? "var(--fwd)" : "var(--oth)" }} /><i style={{ left: `${6 + forward}px`, width: `${width - forward}px`, background: "var(--grad)" }} /></> : null}
        <b data-value={value ?? undefined}>{value ? figure(value, unit) : ""}</b>
      </span>
      {data.columns.slice(1).map((c, i) => <span class="m" key={c.key} title={line ? exact(values[i + 1], c.unit) : undefined}>{values[i + 1] ? figure(values[i + 1], c.unit).replace("FLOP", "F") : ""}</span>)}
      <span class="no">{row.number}</span>
      <span class={data.text ? "cd" : "cd mut"}>{data.text ? python(row.text).map(([kind, text], i) => (kind ? <span key={i} class={kind}>{text}</span> : text)) : row.text}</span>
    </div>
  );
}
