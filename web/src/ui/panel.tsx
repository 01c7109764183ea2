// The panel at the right: everything about the selection, or about the whole.

import type { JSX } from "preact";
import type { NodeAnswer, Row } from "../api";
import { useAnswer } from "../ask";
import { dirVar } from "../color";
import { exact, figure, share } from "../format";
import type { Params } from "../source";
import { go, meta, metric, plainQuestion, reveal, select, source, state } from "../store";
import { addPattern, literal, type Change, type Screen } from "../state";
import { Fig } from "./bits";
import { LABELS, screensShown } from "./frame";

/** The question of the panel; the selection says which view it is of. */
export function nodeQuestion(): Params {
  return { ...plainQuestion.value, sel: state.value.sel };
}

export function Panel(): JSX.Element {
  const asked = useAnswer<NodeAnswer>("node", nodeQuestion());
  const node = asked.data;
  return (
    <aside class={asked.dim ? "ins dim" : "ins"} id="panel" aria-label="Selection" aria-live="polite" aria-busy={asked.waiting}>
      {asked.error ? <Absent text={asked.error.message} /> : node ? <About node={node} /> : null}
    </aside>
  );
}

const Absent = ({ text }: { text: string }): JSX.Element => (
  <header><div class="k">Selection</div><h2>{state.value.sel.replace(/^\w+:/, "")}</h2><p class="mut">{text}</p></header>
);

function kindOf({ row }: NodeAnswer): string {
  if (!state.value.sel) return "Nothing selected: the whole model";
  if (state.value.sel.startsWith("line:")) return "Line of code";
  const direction = row.dir === "g" ? ", gradient" : "";
  if (row.kind === "op") return "Op type";
  if (row.kind === "code") return `Line of code${direction}`;
  return row.op ? `${row.op}${direction}` : `Scope${direction}`;
}

function About({ node }: { node: NodeAnswer }): JSX.Element {
  const { row } = node;
  const whole = !state.value.sel;
  return (
    <>
      <header>
        <div class="k">{whole ? null : <i class="sw" style={{ background: dirVar(row.dir) }} />}{kindOf(node)}</div>
        <h2>{whole ? meta.value.title : node.title}</h2>
        {node.subtitle && node.subtitle !== node.title ? <div class="path">{node.subtitle}</div> : null}
      </header>
      <section>
        <dl class="kv">
          {node.metrics.filter((m) => m.total !== null && (m.total !== 0 || m.word === metric.value?.word)).map((m) => (
            <MetricRow key={m.key} m={m} main={m.word === metric.value?.word} />
          ))}
        </dl>
      </section>
      {node.parts ? <Direction parts={node.parts} node={node} /> : null}
      {node.steps.length > 1 ? <StepRows node={node} /> : null}
      {whole ? null : <ShowIn node={node} />}
      {whole || !source.live ? null : <Filters node={node} />}
      {node.lines.length ? <Lines node={node} /> : null}
      {node.twin ? <Twin row={node.twin} dir={row.dir} /> : null}
      {node.inside.length ? <Inside node={node} /> : null}
      {!node.inside.length && node.ops.length && !row.op && row.kind !== "op" ? <Ops node={node} /> : null}
      <Facts node={node} />
    </>
  );
}

function MetricRow({ m, main }: { m: NodeAnswer["metrics"][number]; main: boolean }): JSX.Element {
  const name = main ? "main-m" : undefined;
  return (
    <>
      <dt class={name}>{m.label}</dt>
      <dd class={name} title={exact(m.total, m.unit)} data-metric={m.word} data-value={m.total ?? undefined}>{figure(m.total, m.unit)}</dd>
      <dd class="mut">{m.share === null ? "" : share(m.share)}</dd>
    </>
  );
}

function Direction({ parts, node }: { parts: NonNullable<NodeAnswer["parts"]>; node: NodeAnswer }): JSX.Element {
  const unit = node.columns[0]?.unit ?? "us";
  const width = (v: number | null) => ({ width: `${(v ?? 0) * 100}%` });
  const sum = (parts.forward.share ?? 0) + (parts.gradient.share ?? 0) + (parts.other.share ?? 0) || 1;
  return (
    <section>
      <h3>Forward and gradient</h3>
      <div class="mini">
        <i style={{ ...width((parts.forward.share ?? 0) / sum), background: "var(--fwd)" }} />
        <i style={{ ...width((parts.gradient.share ?? 0) / sum), background: "var(--grad)" }} />
        <i style={{ ...width((parts.other.share ?? 0) / sum), background: "var(--oth)" }} />
      </div>
      <div class="ends">
        <span class="fwd-ink" title={exact(parts.forward.value, unit)}>{figure(parts.forward.value, unit)}</span>
        <span class="grad-ink" title={exact(parts.gradient.value, unit)}>{figure(parts.gradient.value, unit)}</span>
      </div>
    </section>
  );
}

function StepRows({ node }: { node: NodeAnswer }): JSX.Element {
  const unit = node.columns[0]?.unit ?? "us";
  const listed = node.steps.slice(0, 12);
  return (
    <section>
      <h3>Recorded steps</h3>
      <div class="kv">
        {listed.map((s) => (
          <>
            <dt key={s.step}>Step {s.step}{s.warm_up ? <span class="mut"> warm-up</span> : null}</dt>
            <dd><Fig v={s.value} unit={unit} /></dd>
            <dd />
          </>
        ))}
      </div>
      {node.steps.length > listed.length ? <p class="mut">and {node.steps.length - listed.length} more</p> : null}
    </section>
  );
}

/** “Show in” moves the other screen to the selection; a mere selection never does. */
export function showIn(screen: Screen, node: NodeAnswer | null): void {
  const sel = state.value.sel;
  const kind = sel.slice(0, sel.indexOf(":"));
  const path = sel.slice(kind.length + 1);
  const change: Change = { screen };
  if (screen === "flame" || screen === "table" || screen === "roofline") {
    if (["scope", "graph", "op", "code"].includes(kind)) change.view = kind;
    if (screen === "flame") change.zoom = node && node.row.kids > 0 && kind !== "line" ? path : "";
  }
  if (screen === "code") {
    const line = node?.lines[0];
    const named = /^line:(.*):\d+$/.exec(sel)?.[1] ?? node?.row.file;
    if (named) change.file = named;
    else if (line) {
      change.file = line.file;
      change.sel = line.sel;
    }
  }
  go(change);
  reveal.value++;
}

function ShowIn({ node }: { node: NodeAnswer }): JSX.Element {
  return (
    <section>
      <h3>Show in</h3>
      <div class="links">
        {screensShown().slice(1).filter((word) => word !== "query").map((word) => (
          <button key={word} aria-current={word === state.value.screen} onClick={() => showIn(word, node)}>{LABELS[word]}</button>
        ))}
      </div>
    </section>
  );
}

/** Filters about the selection, as pprof has them. */
function Filters({ node }: { node: NodeAnswer }): JSX.Element {
  const { sel, view, screen, start, hide, account } = state.value;
  const { kind, path, name } = node.row;
  const pattern = literal(path);
  const isName = kind === "scope" || kind === "graph";
  const shown: Change = screen === "flame" || screen === "table" || screen === "graph" ? {} : { screen: "flame" };
  const around = kind === "op" ? `op:${path}` : `name:${name}`;
  const sandwich = () => go({ screen: "flame", around, zoom: "", invert: "", view: kind === "op" ? (view === "op" ? "scope" : view) : kind });
  return (
    <section>
      <h3>Filter</h3>
      <div class="links">
        {kind === "op" ? <button title={`account: ${pattern}`} aria-current={account === pattern} onClick={() => go({ ...shown, account: account === pattern ? "" : pattern })}>Only these</button> : null}
        {isName ? <button title={`start: ${pattern}`} aria-current={start === pattern} onClick={() => go({ ...shown, view: kind, start: start === pattern ? "" : pattern, zoom: "" })}>Focus</button> : null}
        {isName ? <button title={`hide: ${pattern}`} onClick={() => go({ ...shown, view: kind, hide: addPattern(hide, `${pattern}(/.*)?`), zoom: "", sel: "" })}>Hide</button> : null}
        {sel ? <button title="Who leads to all of this name, and what is in them" onClick={sandwich}>Sandwich</button> : null}
      </div>
    </section>
  );
}

function Lines({ node }: { node: NodeAnswer }): JSX.Element {
  const unit = node.columns[0]?.unit ?? "us";
  return (
    <section>
      <h3>Made by</h3>
      <ul class="rowlist">
        {node.lines.slice(0, 6).map((line) => (
          <li key={line.sel}>
            <button class="line-of-code" title={`${line.file}:${line.line}`} onClick={() => {
              go({ screen: "code", sel: line.sel, file: line.file });
              reveal.value++;
            }}>
              <span class="cut mono">{line.file.split("/").pop()}:{line.line} {line.function}</span>
              <span class="num"><Fig v={line.value} unit={unit} /></span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

function RowButton({ row, label }: { row: Row; label: string }): JSX.Element {
  return (
    <li>
      <button title={row.path} onClick={() => select(`${row.kind}:${row.path}`)}>
        <span class="cut">{label}</span>
        <span class="num"><Fig v={row.total[0] ?? null} unit={metric.value?.unit ?? "us"} /></span>
      </button>
    </li>
  );
}

const Twin = ({ row, dir }: { row: Row; dir: string }): JSX.Element => (
  <section><h3>{dir === "g" ? "Its forward scope" : "Its gradient"}</h3><ul class="rowlist"><RowButton row={row} label={row.path} /></ul></section>
);

const Inside = ({ node }: { node: NodeAnswer }): JSX.Element => (
  <section>
    <h3>Largest inside, by {metric.value?.label.toLowerCase()}</h3>
    <ul class="rowlist">{node.inside.slice(0, 8).map((row) => <RowButton key={row.kind + row.path} row={row} label={row.name} />)}</ul>
  </section>
);

function Ops({ node }: { node: NodeAnswer }): JSX.Element {
  const unit = node.columns[0]?.unit ?? "us";
  return (
    <section>
      <h3>Op types</h3>
      <ul class="rowlist">
        {node.ops.slice(0, 6).map((op) => (
          <li key={op.name}><button onClick={() => select(op.sel)}><span class="cut">{op.name} <span class="mut">× {op.n}</span></span><span class="num"><Fig v={op.value} unit={unit} /></span></button></li>
        ))}
      </ul>
    </section>
  );
}

function Facts({ node }: { node: NodeAnswer }): JSX.Element | null {
  const facts: [string, string[]][] = [["Devices", node.devices], ["Shapes", node.shapes], ["Kernels", node.kernels]];
  const known = facts.filter(([, list]) => list.length);
  if (!known.length) return null;
  return (
    <>
      {known.map(([title, list]) => (
        <section key={title}>
          <h3>{title}</h3>
          {list.slice(0, 12).map((text) => <div class="mono wrap fact" key={text}>{text}</div>)}
          {list.length > 12 ? <div class="mut">and {list.length - 12} more</div> : null}
        </section>
      ))}
    </>
  );
}

