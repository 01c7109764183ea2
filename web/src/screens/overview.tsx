// Overview: headline figures, steps, where the time goes, the largest ops, scopes and lines, findings, and what is missing.

import type { JSX } from "preact";
import type { Finding, Missing, OverviewAnswer, OverviewStep, Part, Row } from "../api";
import { useAnswer } from "../ask";
import { axisMarks, axisStep, axisTime, exact, figure, parts, share } from "../format";
import { go, meta, metric, plainQuestion, reveal, select, state } from "../store";
import { Bars, CodeBox, Key, Pending, Refused, rowBar, sentence, useKeys } from "../ui/bits";
import { hideTip, showTip } from "../ui/float";

export function Overview(): JSX.Element {
  const asked = useAnswer<OverviewAnswer>("overview", plainQuestion.value, true);
  const { data } = asked;
  useKeys((event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    const active = document.activeElement;
    if (active?.getAttribute("role") !== "option") return;
    event.preventDefault();
    const next = event.key === "ArrowLeft" ? active.previousElementSibling : active.nextElementSibling;
    if (next?.getAttribute("role") === "option") (next as HTMLElement).focus();
  });
  if (!data) return asked.error ? <Refused error={asked.error} /> : <Pending />;
  return (
    <div class={asked.dim ? "ov dim" : "ov"}>
      <Figures data={data} />
      <StepCard data={data} />
      <PartsCard data={data} />
      {data.top.map((top) => <TopCard key={top.view} top={top} />)}
      {data.top.some((top) => top.view === "code") ? null : <TopCard top={{ view: "code", title: "Lines of code", columns: data.top[0]?.columns ?? [], rows: [] }} />}
      <Findings data={data} />
      <MissingCard data={data} />
    </div>
  );
}

/** Each figure leads to its screen. */
function Figures({ data }: { data: OverviewAnswer }): JSX.Element {
  const lead = (key: string): (() => void) => () => {
    if (key === "memory_peak") return go({ screen: "memory", step: data.peak ? String(data.peak.step) : state.value.step });
    if (key === "step_time") return go({ screen: "timeline" });
    const word = meta.value.metrics.find((m) => m.word === { op_time: "micros", params: "params", float_ops: "float_ops", rate: "float_ops" }[key])?.word;
    go({ screen: "table", metric: !word || word === meta.value.metric ? "" : word });
  };
  return (
    <div class="card kpis">
      {data.figures.map((f) => {
        const [number, unit] = parts(f.value, f.unit);
        const damaged = meta.value.losses.length > 0 && f.value !== null;
        return (
          <button class="kpi" key={f.key} id={`figure-${f.key}`} data-value={f.value ?? undefined} title={`${exact(f.value, f.unit)}\n${f.command}`} onClick={lead(f.key)}>
            <span>{f.label}{damaged ? <em class="warnmark" title="The input is damaged: a part is left out"> ⚠</em> : null}</span>
            <b>{number}<em>{unit}</em></b>
            <small title={f.note}>{shortDevice(f.note)}</small>
          </button>
        );
      })}
    </div>
  );
}

/** Without the part of a device's name that all devices of a host share. */
const shortDevice = (text: string): string => text.replace(/\/job:\S*\/(?:device:)?(?=[^/\s]+)/g, "");

const height = (v: number | null, top: number): string => `${Math.min(100, ((v ?? 0) / top) * 100)}%`;

function StepCard({ data }: { data: OverviewAnswer }): JSX.Element {
  const timed = data.steps.filter((s) => (s.span ?? s.micros) !== null);
  const can = meta.value.warm_up.can_leave_out;
  const out = state.value.warm === "1" && can;
  const word = timed.some((s) => s.span !== null) ? "Step time" : "Time in ops, by step";
  const body = data.step_bins ? <StepBins bins={data.step_bins} /> : timed.length > 1 ? <StepBars steps={timed} out={out} split={timed.some((s) => !!s.gradient || !!s.other)} /> : timed.length === 1 ? <OneStep step={timed[0] as OverviewStep} /> : <NoSteps data={data} />;
  const split = timed.some((s) => s.gradient || s.other);
  return (
    <section class="card span8 col">
      <header>
        <h2>{word}</h2>
        {split ? <><Key color="var(--fwd)">forward</Key><Key color="var(--grad)">gradient</Key></> : null}
        <span class="sp" />
        {can && timed.length > 1 ? <button class="btn small" aria-pressed={out} title={`${meta.value.warm_up.rule} (w)`} onClick={() => go({ warm: out ? "0" : "1" })}>{out ? "✓ " : ""}Leave out warm-up</button> : null}
      </header>
      {body}
    </section>
  );
}

function StepBars({ steps, out, split }: { steps: OverviewStep[]; out: boolean; split: boolean }): JSX.Element {
  const most = Math.max(...steps.map((s) => s.span ?? s.micros ?? 0), 1);
  const unit = axisStep(most, 3);
  const top = most * 1.06;
  const every = Math.max(1, Math.ceil(steps.length / 14));
  const pick = (s: OverviewStep) => go({ step: state.value.step === String(s.step) ? "" : String(s.step) });
  const hover = (event: MouseEvent, s: OverviewStep) => showTip(event, () => <StepTip s={s} />);
  return (
    <>
      <div class="steps" role="listbox" aria-label="Steps">
        {axisMarks(0, top, 3, unit).map((v) => <div class="g" key={v} style={{ bottom: height(v, top) }}><span>{v ? axisTime(v, unit) : "0"}</span></div>)}
        {steps.map((s, i) => {
          const chosen = state.value.step === String(s.step);
          const sum = split ? (s.forward ?? 0) + (s.gradient ?? 0) + (s.other ?? 0) : 0;
          const quiet = state.value.step !== "" && state.value.step !== "all" && !chosen;
          return (
            <button role="option" key={s.step} tabIndex={chosen || (i === 0 && !state.value.step) ? 0 : -1} aria-selected={chosen} class={`${s.warm_up && out ? "out" : ""} ${quiet ? "quiet" : ""}`}
              aria-label={`Step ${s.step}, ${figure(s.span ?? s.micros, "us")}${s.warm_up ? ", warm-up" + (out ? ", left out" : "") : ""}`}
              onClick={() => pick(s)} onMouseMove={(event) => hover(event, s)} onMouseLeave={hideTip}>
              <i style={{ height: height(s.span ?? s.micros, top), background: sum ? undefined : "var(--oth)" }}>
                {sum ? <u style={{ height: `${((s.forward ?? 0) / sum) * 100}%` }} /> : null}
                {sum && s.other ? <s style={{ height: `${(s.other / sum) * 100}%` }} /> : null}
              </i>
            </button>
          );
        })}
      </div>
      <div class="xlab" aria-hidden="true">{steps.map((s, i) => <span key={s.step}>{i % every === 0 ? s.step : ""}</span>)}</div>
    </>
  );
}

function StepTip({ s }: { s: OverviewStep }): JSX.Element {
  const rows: [string, number | null][] = [["Step time", s.span], ["Time in ops", s.micros], ["forward", s.forward], ["gradient", s.gradient], ["other", s.other]];
  return (
    <>
      <h4>Step {s.step}{s.warm_up ? " · warm-up" : ""}</h4>
      <dl class="two">{rows.filter(([, v]) => v !== null).map(([name, v]) => <><dt key={name}>{name}</dt><dd>{figure(v, "us")}</dd></>)}</dl>
    </>
  );
}

const OneStep = ({ step }: { step: OverviewStep }): JSX.Element => (
  <p class="say">One step is recorded: step {step.step}, {figure(step.span ?? step.micros, "us")}{step.span === null ? " in ops" : ""}. With one there is no spread; ten are plenty.</p>
);

function NoSteps({ data }: { data: OverviewAnswer }): JSX.Element {
  const missing = data.missing.find((m) => /step|run|time/.test(m.code)) ?? data.missing[0];
  return missing ? <p class="say">Not in the data: {missing.what}. {sentence(missing.why)}. The lines that record it are <button class="inline" onClick={() => document.getElementById("missing")?.scrollIntoView({ block: "nearest" })}>below</button>.</p> : <p class="say">Nothing that is loaded has recorded a step.</p>;
}

function StepBins({ bins }: { bins: NonNullable<OverviewAnswer["step_bins"]> }): JSX.Element {
  const most = Math.max(...bins.map((b) => b.p95), 1);
  const unit = axisStep(most, 3);
  const top = most * 1.06;
  return (
    <>
      <div class="steps" role="img" aria-label={`Step time of ${bins.length} groups of steps: median and 95th percentile`}>
        {axisMarks(0, top, 3, unit).map((v) => <div class="g" key={v} style={{ bottom: height(v, top) }}><span>{v ? axisTime(v, unit) : "0"}</span></div>)}
        {bins.map((b) => (
          <button key={b.from} title={`Steps ${b.from} to ${b.to} (${b.n}): median ${figure(b.p50, "us")}, 95 % within ${figure(b.p95, "us")}`} onClick={() => go({ step: String(b.from) })}>
            <i class="p95" style={{ height: height(b.p95, top) }}><u class="p50" style={{ height: `${b.p95 ? (b.p50 / b.p95) * 100 : 0}%` }} /></i>
          </button>
        ))}
      </div>
      <div class="xlab" aria-hidden="true">{bins.map((b, i) => <span key={b.from}>{i % Math.ceil(bins.length / 10) === 0 ? b.from : ""}</span>)}</div>
      <p class="say">dark: median of a group of steps; light: 95th percentile</p>
    </>
  );
}

function PartsCard({ data }: { data: OverviewAnswer }): JSX.Element {
  const unit = metric.value?.unit ?? "us";
  const rows: [string, string, Part | undefined][] = [["Gradient", "var(--grad)", data.parts?.gradient], ["Forward", "var(--fwd)", data.parts?.forward], ["Update, input, other", "var(--oth)", data.parts?.other]];
  return (
    <section class="card span4 col">
      <header><h2>{unit === "us" ? "Where the time goes" : `Where the ${metric.value?.label.toLowerCase()} are`}</h2></header>
      {data.parts ? (
        <>
          <div class="stack" aria-hidden="true">{rows.map(([name, color, part]) => <i key={name} style={{ width: `${(part?.share ?? 0) * 100}%`, background: color }} />)}</div>
          <dl class="kv inset">
            {rows.map(([name, color, part]) => (
              <>
                <dt key={name}><Key color={color}>{name}</Key></dt>
                <dd title={exact(part?.value, unit)}>{figure(part?.value, unit)}</dd>
                <dd class="mut">{share(part?.share)}</dd>
              </>
            ))}
          </dl>
          {data.op_time_is_not_step_time && unit === "us" ? <p class="say">{data.op_time_is_not_step_time}</p> : null}
        </>
      ) : <p class="say">Nothing that is loaded tells forward ops from gradients{metric.value?.known ? "" : ", or has this metric"}.</p>}
    </section>
  );
}

function TopCard({ top }: { top: OverviewAnswer["top"][number] }): JSX.Element {
  const column = top.columns[0];
  const rows = top.rows.filter((row) => row.total[0]);
  const name = (row: Row) => (["scope", "graph", "op"].includes(row.kind) ? row.path || row.name : row.name);
  return (
    <section class="card span4" id={`top-${top.view}`}>
      <header>
        <h2>{top.title}</h2><small>by {column?.label.toLowerCase()}</small><span class="sp" />
        {rows.length ? <button class="more" title="All of them, in the table" onClick={() => go({ screen: "table", view: top.view, zoom: "" })}>all</button> : null}
      </header>
      {rows.length ? <Bars rows={rows.map((row) => rowBar(row, name(row)))} unit={column?.unit ?? "us"} onPick={(bar) => select(bar.sel)} /> : <p class="say">{sentence(meta.value.views.find((v) => v.word === top.view)?.why ?? "") || `Nothing here has any ${column?.label.toLowerCase()}.`}</p>}
    </section>
  );
}

function Findings({ data }: { data: OverviewAnswer }): JSX.Element {
  return (
    <section class="card span7" id="findings">
      <header><h2>Findings</h2><small>{data.findings.some((f) => f.saving) ? "and what each could save; savings overlap, so they are not added up" : "of tfprof advise"}</small></header>
      {data.findings.length ? <ul class={data.findings.some((f) => f.saving) ? "find" : "find plain-find"}>{data.findings.map((f, i) => <FindingRow key={i} f={f} />)}</ul> : <p class="say">The checks found nothing to say about this profile.</p>}
      {data.notes.length ? <details class="notes"><summary>Checks that the data does not allow ({data.notes.length})</summary>{data.notes.map((note) => <p key={note}>{note}</p>)}</details> : null}
    </section>
  );
}

function FindingRow({ f }: { f: Finding }): JSX.Element {
  const target = f.sel?.replace(/^\w+:/, "") ?? "";
  return (
    <li>
      <div class="sv">{f.saving ? <><small>{f.saving.bound}</small><span title={exact(f.saving.value, f.saving.unit)}>{figure(f.saving.value, f.saving.unit)}</span></> : null}</div>
      <div><h3>{sentence(f.about)}</h3><p>{f.text}</p></div>
      {f.sel ? <button class="btn small" title={target} onClick={() => {
        select(f.sel);
        reveal.value++;
      }}><span class="cut">{target.split("/").pop()}</span></button> : null}
    </li>
  );
}

function MissingCard({ data }: { data: OverviewAnswer }): JSX.Element {
  return (
    <section class="card span5" id="missing">
      <header><h2>Missing in the data</h2><small>and how to record it</small></header>
      {data.missing.length ? <div class="miss">{data.missing.map((m, i) => <MissingRow key={m.code + i} m={m} open={i < 2} />)}</div> : <p class="say">Nothing that tfprof knows of.</p>}
    </section>
  );
}

const MissingRow = ({ m, open }: { m: Missing; open: boolean }): JSX.Element => (
  <details open={open}><summary><b>{sentence(m.what)}</b></summary><p>{sentence(m.why)}</p><CodeBox text={m.how} /></details>
);
