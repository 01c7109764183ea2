// The bar at the top: inputs, step, metric, find and filter, copy, export, theme, panel.

import { useEffect, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import type { FindAnswer } from "../api";
import { useAnswer } from "../ask";
import { figure, share } from "../format";
import { addPattern, chip, FILTERS, type Filter } from "../state";
import { copy, fault, go, leavesWarmUpOut, meta, metric, panel, question, reveal, shown, source, state, theme, togglePanel, toggleTheme } from "../store";
import { spell } from "../source";
import { Caret, Icon } from "./bits";
import { Menu, MenuItem } from "./float";

export function Top(): JSX.Element {
  return (
    <header class="top" role="banner">
      <div class="brand">
        <svg width="18" height="18" viewBox="0 0 18 18" aria-hidden="true">
          <rect x="1" y="2" width="16" height="4" rx="1" fill="var(--accent)" />
          <rect x="1" y="7" width="10" height="4" rx="1" fill="var(--grad)" />
          <rect x="12" y="7" width="5" height="4" rx="1" fill="var(--fwd)" />
          <rect x="1" y="12" width="6" height="4" rx="1" fill="var(--grad)" opacity=".6" />
        </svg>
        tfprof
      </div>
      <Inputs />
      {meta.value.steps.length ? <Steps /> : null}
      <Metrics />
      <FilterBox />
      <CopyMenu />
      <ExportMenu />
      <button class="btn ghost" id="b-theme" aria-label={`Theme: ${theme.value}`} title="Theme (t)" onClick={toggleTheme}>
        <svg class="ic" viewBox="0 0 16 16" aria-hidden="true"><circle cx="8" cy="8" r="5.5" /><path d="M8 2.5v11a5.5 5.5 0 0 0 0-11z" fill="currentColor" /></svg>
      </button>
      <button class="btn ghost" id="b-panel" aria-label="Selection panel" aria-pressed={panel.value} title="Selection panel (i)" onClick={togglePanel}>
        <svg class="ic" viewBox="0 0 16 16" aria-hidden="true"><rect x="2.5" y="3" width="11" height="10" rx="1.5" /><path d="M10 3v10" /></svg>
      </button>
    </header>
  );
}

function Inputs(): JSX.Element {
  const m = meta.value;
  const [name = m.title, ...rest] = m.title.split(" · ");
  const label = <span class="cut">{name} {rest.length ? <small>· {rest.join(" · ")}</small> : null}</span>;
  return (
    <Menu id="inputs" className="btn ghost inputs" title={m.title} label={<>{label}<Caret /></>}>
      {() => (
        <>
          <h4>Loaded</h4>
          {m.files.map((file) => <div class="row" key={file.kind + file.name}><span class="mut">{file.kind}</span><span class="mono wrap">{file.name}</span></div>)}
          <hr />
          <div class="row"><span class="mut">nodes</span><span>{m.nodes.toLocaleString("en-US")} of {m.op_types.toLocaleString("en-US")} op types</span></div>
          {m.devices.length ? <div class="row"><span class="mut">devices</span><span class="wrap">{m.devices.map((d) => d.name).join(", ")}</span></div> : null}
          {m.hosts.length > 1 ? <div class="row"><span class="mut">hosts</span><span>{m.hosts.length}</span></div> : null}
          <div class="row"><span class="mut">tfprof</span><span>{m.version}</span></div>
          {m.report ? (
            <>
              <hr />
              <h4>This is a report file</h4>
              <div class="row"><span class="mut">written by</span><span class="mono wrap">{m.report.command}</span></div>
              {m.report.left_out.map((text) => <div class="row" key={text}><span class="mut">left out</span><span class="wrap">{text}</span></div>)}
            </>
          ) : null}
        </>
      )}
    </Menu>
  );
}

function stepLabel(): string {
  const { step } = state.value;
  if (step === "all") return "all together";
  if (step) return step;
  if (meta.value.steps.length === 1) return String(meta.value.steps[0]?.step);
  return leavesWarmUpOut.value ? "average, warm-up left out" : `average of ${meta.value.steps.length}`;
}

/** Whether a report can answer with this change; a server always can. */
const answers = (change: Record<string, string | undefined>): boolean => source.live || source.has("overview", { ...pick(question.value), ...change }) || source.has("flame", { ...question.value, ...change });
const pick = ({ metric: word, step, warm }: Record<string, string | number | undefined>) => ({ metric: word, step, warm });
const ENGINE = "needs the program; not in this report";

function Steps(): JSX.Element {
  const m = meta.value;
  const many = m.steps.length > 200;
  const listed = many ? m.steps.slice(0, 200) : m.steps;
  return (
    <Menu id="step" title="Step (s)" label={<><small>Step</small> <span>{stepLabel()}</span><Caret /></>}>
      {() => (
        <>
          <h4>Step</h4>
          {m.steps.length > 1 ? <MenuItem label="Average of recorded steps" note={m.warm_up.can_leave_out ? `warm-up ${state.value.warm === "1" ? "left out" : "counted"}` : ""} on={!state.value.step} pick={() => go({ step: "" })} /> : null}
          {listed.map((s) => (
            <MenuItem key={s.step} label={`Step ${s.step}`} note={`${figure(s.span ?? s.micros, "us")}${s.span === null && s.micros !== null ? " in ops" : ""}${s.warm_up ? ", warm-up" : ""}`} on={state.value.step === String(s.step)}
              off={!answers({ step: String(s.step), warm: undefined })} pick={() => go({ step: String(s.step) })} />
          ))}
          {many ? <div class="row mut">and {m.steps.length - 200} more: [ and ] go through them</div> : null}
          {m.warm_up.steps.length && m.warm_up.can_leave_out ? (
            <>
              <hr />
              <MenuItem label={`Leave out warm-up (step ${m.warm_up.steps.join(", ")})`} note={m.warm_up.rule || "w"} on={state.value.warm === "1"} off={!answers({ warm: state.value.warm === "1" ? undefined : "1" })} pick={() => go({ warm: state.value.warm === "1" ? "0" : "1" })} />
            </>
          ) : null}
        </>
      )}
    </Menu>
  );
}

const GROUPS: Record<string, string> = { time: "Time", work: "Work", size: "Size", rate: "Rate" };

function Metrics(): JSX.Element {
  const all = meta.value.metrics;
  const groups = [...new Set(all.map((m) => m.group))];
  return (
    <Menu id="metric" title="Metric (m)" label={<><small>Metric</small> <span>{metric.value?.label}</span><Caret /></>}>
      {() => groups.map((group) => (
        <div role="group" aria-label={GROUPS[group] ?? group} key={group}>
          <h4>{GROUPS[group] ?? group}</h4>
          {all.filter((m) => m.group === group).map((m) => {
            const possible = m.known && answers({ metric: m.word === meta.value.metric ? undefined : m.word });
            return <MenuItem key={m.key} label={m.label} note={m.known ? (possible ? m.about : ENGINE) : m.why || "not in the data"} on={m === metric.value} off={!possible} pick={() => go({ metric: m.word === meta.value.metric ? "" : m.word, sort: "" })} />;
          })}
        </div>
      ))}
    </Menu>
  );
}

function FilterBox(): JSX.Element {
  const s = state.value;
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(s.find);
  const timer = useRef(0);
  const hit = useRef(-1);
  useEffect(() => {
    if (document.activeElement !== input.current) setText(s.find);
    hit.current = -1;
  }, [s.find]);
  const found = useAnswer<FindAnswer>("find", s.find && source.live ? { ...question.value, find: s.find } : null);
  const typed = (value: string) => {
    setText(value);
    clearTimeout(timer.current);
    if (!/^(account|start|trim|show|hide):/.test(value)) timer.current = window.setTimeout(() => go({ find: value.trim() }), 60);
  };
  const enter = () => {
    const made = chip(text);
    if (made) {
      setText("");
      return go({ [made.filter]: addPattern(s[made.filter], made.pattern), find: "" });
    }
    const rows = found.data?.rows ?? [];
    if (!rows.length) return;
    hit.current = (hit.current + 1) % rows.length;
    const row = rows[hit.current];
    if (!row) return;
    go({ sel: `${row.kind}:${row.path}` });
    reveal.value++;
  };
  const key = (event: KeyboardEvent) => {
    if (event.key === "Enter") enter();
    else if (event.key === "Backspace" && !text) {
      const last = FILTERS.filter((f) => s[f]).pop();
      if (last) go({ [last]: "" });
    } else if (event.key === "Escape") {
      setText("");
      go({ find: "" });
      input.current?.blur();
    }
    event.stopPropagation();
  };
  const chips = FILTERS.filter((f) => s[f]);
  const answer = s.find ? found.data : null;
  return (
    <div class="filter" role="search">
      <Icon path="M7 2.8a4.2 4.2 0 1 0 0 8.4 4.2 4.2 0 0 0 0-8.4M10.2 10.2l3.3 3.3" />
      {chips.map((f) => <Chip key={f} filter={f} />)}
      <input id="find" ref={input} value={text} disabled={!source.live} aria-label="Find, or filter with account: start: trim: show: hide:" autocomplete="off" spellcheck={false}
        placeholder={!source.live ? "finding needs the program" : chips.length ? "find" : "Find, or filter:  hide:save.*   account:Conv2D.*"}
        onInput={(event) => typed(event.currentTarget.value)} onKeyDown={key} />
      <span class="found" aria-live="polite">
        {answer && metric.value ? `${answer.count.toLocaleString("en-US")} found · ${figure(answer.value, metric.value.unit)} · ${share(answer.share)}` : ""}
      </span>
      <span class="kbd" aria-hidden="true">/</span>
    </div>
  );
}

function Chip({ filter }: { filter: Filter }): JSX.Element {
  const bad = fault.value?.option?.includes(filter) ?? false;
  const value = state.value[filter];
  return (
    <span class={bad ? "chip bad" : "chip"} title={bad ? fault.value?.message : `-${filter}: ${value}`}>
      <b>{filter}</b>
      <span class="cut">{value}</span>
      <button aria-label={`Remove ${filter}`} onClick={() => go({ [filter]: "" })}>×</button>
    </span>
  );
}

function CopyMenu(): JSX.Element {
  const answer = shown.value;
  return (
    <Menu id="copy" right label={<><svg class="ic" viewBox="0 0 16 16" aria-hidden="true"><rect x="5.5" y="5.5" width="8" height="8" rx="1.5" /><path d="M10.5 3.5v-.2A1 1 0 0 0 9.5 2.5h-6a1 1 0 0 0-1 1v6a1 1 0 0 0 1 1h.2" /></svg>Copy</>}>
      {() => (
        <>
          <h4>Copy</h4>
          <MenuItem label="As command" note="c" off={!answer} pick={() => void copy(answer?.command ?? "", "the command")} />
          <MenuItem label="As Python" note="C" off={!answer} pick={() => void copy(answer?.python ?? "", "the Python call")} />
          <MenuItem label="Link to this view" note="l" pick={() => void copy(location.href, "the link")} />
          {state.value.sel ? <MenuItem label="Name of the selection" pick={() => void copy(state.value.sel.replace(/^\w+:/, ""), "the name")} /> : null}
        </>
      )}
    </Menu>
  );
}

/** The program's own forms: the command writes them, so the page names it. */
const FORMS: ReadonlyArray<[string, string]> = [["JSON", "json"], ["CSV", "csv"], ["HTML table", "html"], ["Flame graph (SVG)", "flamegraph"], ["Speedscope", "speedscope"], ["pprof", "pprof"], ["Collapsed stacks", "folded"], ["Chrome trace", "timeline"]];
const ENDINGS: Record<string, string> = { flamegraph: "svg", speedscope: "speedscope.json", pprof: "pb.gz", folded: "txt", timeline: "json" };

function ExportMenu(): JSX.Element {
  const answer = shown.value;
  const isView = !!answer && / (scope|graph|op|code)\b/.test(answer.command);
  const download = () => {
    const link = document.createElement("a");
    link.href = "/api/" + spell("export", question.value);
    link.download = "";
    link.click();
  };
  return (
    <Menu id="export" right label={<><Icon path="M8 2.5V10M5 7l3 3 3-3M3 13h10" />Export</>}>
      {() => (
        <>
          <h4>Write to a file</h4>
          <MenuItem label="This page, for a browser without tfprof" note={source.live ? "report.html" : ENGINE} off={!source.live} pick={download} />
          <hr />
          <h4>Copy the command that writes</h4>
          {FORMS.map(([label, form]) => (
            <MenuItem key={form} label={label} note={`-output ${form}`} off={!isView} pick={() => void copy(`${answer?.command} -output ${form}:outfile=profile.${ENDINGS[form] ?? form}`, "the command")} />
          ))}
        </>
      )}
    </Menu>
  );
}
