// Query: statements of SQL about the tables of the profile. The server reads only; Cancel stops a long statement there.

import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { QueryAnswer, TableInfo, TablesAnswer } from "../api";
import { useAnswer } from "../ask";
import { EXAMPLES } from "../examples";
import { count } from "../format";
import { copy, go, meta, progress, say, source, state } from "../store";
import { visible } from "../tree";
import { Caret, Empty, Pending, Refused, useSize } from "../ui/bits";
import { Menu, MenuItem } from "../ui/float";

const ROW = 24;

export function Query(): JSX.Element {
  if (!source.live) {
    const how = `tfprof sql ${meta.value.inputs} 'select op, sum(runs) as runs from totals group by op order by runs desc'`;
    return <Empty title="Statements need the program" why="A report has answers, not the tables. The program has them:" how={how} />;
  }
  return <Editor />;
}

function Editor(): JSX.Element {
  const tables = useAnswer<TablesAnswer>("query", {});
  const [text, setText] = useState(state.value.sql || (EXAMPLES[0]?.sql ?? ""));
  const [turn, setTurn] = useState(0);
  const area = useRef<HTMLTextAreaElement>(null);
  // Back and Forward change the statement from outside.
  useEffect(() => {
    if (state.value.sql && state.value.sql !== text) setText(state.value.sql);
  }, [state.value.sql]);
  // At first the statement in the box is an example, with its answer below.
  const sql = state.value.sql || (EXAMPLES[0]?.sql ?? "");
  const run = (typed = text) => {
    if (!typed.trim()) return say("Type a statement first");
    go({ sql: typed });
    setTurn((n) => n + 1);
  };
  const insert = (word: string) => {
    const box = area.current;
    if (!box) return;
    box.focus();
    box.setRangeText(word, box.selectionStart, box.selectionEnd, "end");
    setText(box.value);
  };
  const keys = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      run();
    }
    if (event.key === "Escape") area.current?.blur();
  };
  return (
    <div class="qscreen">
      <div class="bar">
        <button class="btn" id="run" title="Run (Ctrl+Enter)" onClick={() => run()}>Run<span class="kbd">Ctrl ↵</span></button>
        {progress.value ? <button class="btn" id="stop" onClick={() => progress.value?.cancel()}>Cancel</button> : null}
        <Menu id="examples" label={<>Examples<Caret /></>}>
          {() => EXAMPLES.map(({ title, sql }) => <MenuItem key={title} label={title} pick={() => {
            setText(sql);
            run(sql);
          }} />)}
        </Menu>
        <span class="sp" />
        <span class="mut">SQLite over what is loaded; nothing is written</span>
      </div>
      <div class="qbody">
        <Schema tables={tables.data?.tables ?? []} insert={insert} />
        <div class="qmain">
          <textarea ref={area} id="sql" aria-label="Statement in SQL" spellcheck={false} autocapitalize="off" autocomplete="off" rows={Math.max(4, Math.min(12, text.split("\n").length + 1))} value={text} onInput={(event) => setText(event.currentTarget.value)} onKeyDown={keys} />
          <Result key={`${turn}/${sql}`} sql={sql} />
        </div>
      </div>
    </div>
  );
}

function Schema({ tables, insert }: { tables: TableInfo[]; insert: (word: string) => void }): JSX.Element {
  return (
    <nav class="schema" aria-label="Tables">
      {tables.map((table) => (
        <details key={table.name} open={table.name === "totals"}>
          <summary title={table.about}><b class="mono">{table.name}</b><span class="mut cut">{table.about}</span></summary>
          {table.columns.map((column) => (
            <button key={column.name} title={[column.about, column.unit].filter(Boolean).join("; ")} onClick={() => insert(column.name)}><span class="mono">{column.name}</span><small>{column.unit || column.type.toLowerCase()}</small></button>
          ))}
        </details>
      ))}
    </nav>
  );
}

type Cell = number | string | boolean | null;

/** By the value; unknown last, in either direction. */
function compare(a: Cell, b: Cell, down: boolean): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  const order = typeof a === "number" && typeof b === "number" ? a - b : typeof a === "number" ? -1 : typeof b === "number" ? 1 : String(a) < String(b) ? -1 : String(a) > String(b) ? 1 : 0;
  return down ? -order : order;
}

const quote = (cell: Cell): string => {
  const text = cell === null ? "" : String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

function Result({ sql }: { sql: string }): JSX.Element {
  const asked = useAnswer<QueryAnswer>("query", { sql }, true);
  const answer = asked.data;
  if (!answer) return asked.error ? <Refused error={asked.error} /> : <Pending />;
  return <Table answer={answer} />;
}

function Table({ answer }: { answer: QueryAnswer }): JSX.Element {
  const [viewport, size] = useSize<HTMLDivElement>();
  const [top, setTop] = useState(0);
  const [sort, setSort] = useState<{ at: number; down: boolean } | null>(null);
  const rows = useMemo(() => (sort ? [...answer.rows].sort((a, b) => compare(a[sort.at] ?? null, b[sort.at] ?? null, sort.down)) : answer.rows), [answer, sort]);
  const [from, to] = visible(top, size.height, ROW, rows.length, 12);
  const left = answer.left_out?.rows ?? 0;
  const numeric = answer.columns.map((column) => column.type !== "TEXT");
  const by = (at: number) => setSort((old) => (old?.at !== at ? { at, down: numeric[at] ?? false } : old.down === numeric[at] ? { at, down: !old.down } : null));
  const csv = () => [answer.columns.map((column) => quote(column.name)), ...rows.map((row) => row.map(quote))].map((cells) => cells.join(",")).join("\r\n") + "\r\n";
  const save = () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([csv()], { type: "text/csv" }));
    link.download = "query.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  const gap = (n: number) => (n > 0 ? <tr style={{ height: `${n * ROW}px` }} aria-hidden="true"><td colSpan={answer.columns.length} style={{ height: `${n * ROW}px` }} /></tr> : null);
  return (
    <>
      <div class="bar thin" id="result">
        <span aria-live="polite"><b>{count(rows.length + left, "row")}</b>{left ? `, of which the first ${count(rows.length, "is here", "are here")}` : ""}</span>
        {sort ? <span class="mut">sorted by {answer.columns[sort.at]?.name}{left ? ", of those here" : ""}</span> : null}
        <span class="sp" />
        <button class="btn small" onClick={() => void copy(answer.command, "the command")} title={answer.command}>Copy as command</button>
        <button class="btn small" onClick={() => void copy(answer.python, "the Python call")} title={answer.python}>as Python</button>
        <button class="btn small" id="csv" title={left ? `the ${count(rows.length, "row")} that are here; all: ${answer.command} -output rows.csv` : "the rows as they stand here"} onClick={save}>Export CSV</button>
      </div>
      <div class="scrolly qrows" ref={viewport} tabIndex={0} aria-label="Rows" onScroll={(event) => setTop(event.currentTarget.scrollTop)}>
        <table class="tbl">
          <thead>
            <tr>
              {answer.columns.map((column, at) => (
                <th key={at} class={numeric[at] ? undefined : "l"} aria-sort={sort?.at === at ? (sort.down ? "descending" : "ascending") : "none"}><button onClick={() => by(at)}>{column.name}{sort?.at === at ? (sort.down ? " ▾" : " ▴") : ""}</button></th>
              ))}
            </tr>
          </thead>
          <tbody>
            {gap(from)}
            {rows.slice(from, to).map((row, i) => <tr key={from + i}>{row.map((cell, at) => <td key={at} class={numeric[at] ? undefined : "l"} title={cell === null ? "NULL" : String(cell)}>{cell === null ? <span class="mut">–</span> : <span class="qcell">{String(cell)}</span>}</td>)}</tr>)}
            {gap(rows.length - to)}
          </tbody>
        </table>
        {rows.length ? null : <p class="say">The statement gives no row.</p>}
      </div>
    </>
  );
}
