// Roofline: FLOP/s over FLOPs per byte, both logarithmic, below the peaks of the device. Each dot is a row, its area the time.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { RooflineAnswer, RooflineDot } from "../api";
import { useAnswer } from "../ask";
import { dirVar } from "../color";
import { count, exact, figure, share } from "../format";
import { go, meta, plainQuestion, question, select, source, state } from "../store";
import { visible } from "../tree";
import { CodeBox, DirKeys, Empty, PathText, Pending, Refused, sentence, Swatch, useKeys, useSize, ViewSegment } from "../ui/bits";
import { hideTip, showTip } from "../ui/float";

const ROW = 24;

/** The question of the screen: that of all screens, and the peaks that the reader gave. A report has it without peaks. */
function rooflineQuestion(): Record<string, string | number | undefined> {
  const { hardware, peak_flops, peak_bandwidth } = state.value;
  if (!source.live) return { ...plainQuestion.value, metric: undefined, view: question.value.view };
  return { ...question.value, metric: undefined, device: hardware, peak_flops, peak_bandwidth };
}

export function Roofline(): JSX.Element {
  const asked = useAnswer<RooflineAnswer>("roofline", rooflineQuestion(), true);
  const answer = asked.data;
  return (
    <div class="roofscreen">
      <div class="bar">
        <ViewSegment />
        <DirKeys />
        <span class="sp" />
        <Given wrong={asked.error?.option ?? null} />
      </div>
      {asked.error && answer ? <p class="say bad" role="alert">{asked.error.message}</p> : null}
      {answer ? (answer.dots.length ? <Body answer={answer} dim={asked.dim} /> : <NoDots answer={answer} />) : asked.error ? <Refused error={asked.error} /> : <Pending />}
    </div>
  );
}

/** The peaks to compare with, as the reader types them. */
function Given({ wrong }: { wrong: string | null }): JSX.Element {
  const defaults = meta.value.defaults;
  const field = (key: "hardware" | "peak_flops" | "peak_bandwidth", option: string, label: string, hint: string) => (
    <label class="peak" title={source.live ? `-${option}` : "A report has the peaks that it was written with"}>
      <span class="lab">{label}</span>
      <input id={`peak-${option}`} class={wrong === option ? "bad" : undefined} disabled={!source.live} value={state.value[key]} placeholder={defaults[option] ?? hint} spellcheck={false}
        onChange={(event) => go({ [key]: event.currentTarget.value.trim() })} onKeyDown={(event) => {
          if (event.key === "Enter") go({ [key]: event.currentTarget.value.trim() });
          if (event.key === "Escape") event.currentTarget.blur();
        }} />
    </label>
  );
  return <>{field("hardware", "device", "device", "h100")}{field("peak_flops", "peak_flops", "peak FLOP/s", "312T")}{field("peak_bandwidth", "peak_bandwidth", "bytes/s", "2.0T")}</>;
}

function NoDots({ answer }: { answer: RooflineAnswer }): JSX.Element {
  const filtered = state.value.account || state.value.hide || state.value.show || state.value.start || state.value.trim;
  const missing = meta.value.missing.find((m) => /shape|graph|flop|cost/.test(m.code));
  const why = filtered ? "The filters leave no row whose FLOPs, bytes and time are all known." : `A dot needs the time, the FLOPs and the bytes of an op. ${answer.unplaced > 0 ? `Ops with ${share(answer.unplaced)} of the time have no known FLOPs or bytes: those come from shapes, in a graph or in the recording.` : ""}`;
  return <Empty title="No row has a place on the roofline" why={why} how={missing?.how ?? `tfprof op ${meta.value.inputs} -select device_micros,float_ops,io_bytes`} />;
}

interface Axis { low: number; high: number; at: (v: number) => number; marks: number[] }

/** A logarithmic axis over whole powers of ten. */
function axisOf(values: number[], from: number, to: number): Axis {
  const logs = values.filter((v) => v > 0 && Number.isFinite(v)).map(Math.log10);
  const low = logs.length ? Math.floor(Math.min(...logs)) : 0;
  const high = logs.length ? Math.max(low + 1, Math.ceil(Math.max(...logs))) : 1;
  const every = Math.max(1, Math.ceil((high - low) / 12));
  const marks = [];
  for (let power = low; power <= high; power += every) marks.push(10 ** power);
  return { low: 10 ** low, high: 10 ** high, at: (v) => from + ((Math.log10(v) - low) / (high - low)) * (to - from), marks };
}

const plain = (v: number): string => (v >= 1e-3 && v < 1e6 ? String(Number(v.toPrecision(3))) : v.toExponential(0));
/** Of a mark on the axis, without decimals. */
const rate = (v: number): string => figure(v, "flop_per_s").replace(/\.0+(?= )/, "");

/** Whether a dot is the selection, or lies in it. */
function isSelected(dot: RooflineDot): boolean {
  const { sel } = state.value;
  return !!sel && (dot.sel === sel || dot.sel.startsWith(`${sel}/`) || (sel.startsWith("op:") && dot.op === sel.slice(3)));
}

function Body({ answer, dim }: { answer: RooflineAnswer; dim: boolean }): JSX.Element {
  return (
    <div class={dim ? "roofbody dim" : "roofbody"}>
      <Picture answer={answer} />
      <aside class="roofside">
        <Peaks answer={answer} />
        <Rows answer={answer} />
      </aside>
    </div>
  );
}

function Peaks({ answer }: { answer: RooflineAnswer }): JSX.Element {
  const inputs = meta.value.inputs;
  if (answer.peaks.length) return <div class="roofpeaks" id="peaks">{answer.peaks.map((line) => <p key={line}>{sentence(line)}</p>)}</div>;
  const how = answer.device ? `tfprof web ${inputs} -device h100\ntfprof web ${inputs} -peak_flops 312T -peak_bandwidth 2T` : `tfprof peak\ntfprof web ${inputs} -peak_flops 1.2T -peak_bandwidth 50G`;
  return (
    <div class="roofpeaks" id="peaks">
      <p><b>No peak of {answer.device ?? "the CPU"} is known.</b> The dashed lines are the best that this profile reached, not the device's. {answer.device ? "Name the device or state its peaks, above or as" : "Measure this machine's, or state them, above or as"}</p>
      <CodeBox text={how} />
    </div>
  );
}

function Picture({ answer }: { answer: RooflineAnswer }): JSX.Element {
  const [box, size] = useSize<HTMLDivElement>();
  const [width, height] = [size.width, size.height];
  const [left, top, right, bottom] = [86, 26, 18, 44];
  const known = answer.bandwidth !== null || answer.roofs.length > 0;
  const bandwidth = answer.bandwidth ?? (known ? null : answer.best.bandwidth);
  const roofs = answer.roofs.length ? answer.roofs : known || !answer.best.flops ? [] : [{ word: "", flops: answer.best.flops }];
  const ridges = bandwidth ? roofs.map((roof) => roof.flops / bandwidth) : [];
  const x = axisOf([...answer.dots.map((dot) => dot.intensity), ...ridges], left, width - right);
  const y = axisOf([...answer.dots.map((dot) => dot.flops), ...roofs.map((roof) => roof.flops)], height - bottom, top);
  const [any, needle] = [answer.dots.some(isSelected), state.value.find.toLowerCase()];
  const most = Math.max(1e-9, ...answer.dots.map((dot) => dot.share));
  return (
    <div class="roofpic" ref={box}>
      {width > 120 && height > 120 ? (
        <svg id="roofline" width={width} height={height} role="img" aria-label={`Roofline: ${count(answer.dots.length, "row")}. The table beside it has the same figures.`}>
          {x.marks.map((v) => <g key={v}><line class="grid" x1={x.at(v)} x2={x.at(v)} y1={top} y2={height - bottom} /><text x={x.at(v)} y={height - bottom + 16} text-anchor="middle">{plain(v)}</text></g>)}
          {y.marks.map((v) => <g key={v}><line class="grid" x1={left} x2={width - right} y1={y.at(v)} y2={y.at(v)} /><text x={left - 7} y={y.at(v) + 4} text-anchor="end">{rate(v)}</text></g>)}
          <text x={(left + width - right) / 2} y={height - 8} text-anchor="middle">FLOPs for each byte read or written</text>
          <Ceilings x={x} y={y} bandwidth={bandwidth} roofs={roofs} guess={!known} right={width - right} />
          {answer.dots.map((dot) => {
            const quiet = (any && !isSelected(dot)) || (!!needle && !dot.name.toLowerCase().includes(needle));
            return (
              <circle key={dot.sel} class={`dot ${isSelected(dot) ? "sel" : ""} ${quiet ? "quiet" : ""}`} data-sel={dot.sel} cx={x.at(dot.intensity)} cy={y.at(dot.flops)} r={Math.max(2.5, 15 * Math.sqrt(dot.share / most))} fill={dirVar(dot.dir)}
                onClick={() => select(dot.sel)} onMouseMove={(event) => showTip(event, () => <DotCard dot={dot} />)} onMouseLeave={hideTip} />
            );
          })}
        </svg>
      ) : null}
    </div>
  );
}

interface CeilingProps { x: Axis; y: Axis; bandwidth: number | null; roofs: { word: string; flops: number }[]; guess: boolean; right: number }

/** The slope of the memory and a roof for each data type; labels keep apart. */
function Ceilings({ x, y, bandwidth, roofs, guess, right }: CeilingProps): JSX.Element {
  const highest = Math.max(0, ...roofs.map((roof) => roof.flops));
  const from = bandwidth ? Math.max(x.low, y.low / bandwidth) : x.low;
  const to = bandwidth && highest ? Math.min(highest / bandwidth, x.high) : x.high;
  let last = -Infinity;
  const placed = [...roofs].sort((a, b) => b.flops - a.flops).map((roof) => {
    last = Math.max(last + 13, y.at(roof.flops) - 5);
    return { ...roof, label: last };
  });
  const kind = guess ? "roof guess" : "roof";
  const slope = bandwidth && to > from ? [x.at(from), y.at(from * bandwidth), x.at(to), y.at(to * bandwidth)] as const : null;
  const turn = slope ? (Math.atan2(slope[3] - slope[1], slope[2] - slope[0]) * 180) / Math.PI : 0;
  return (
    <g aria-hidden="true">
      {slope ? (
        <>
          <line class={kind} x1={slope[0]} y1={slope[1]} x2={slope[2]} y2={slope[3]} />
          <text class="rooflab" transform={`translate(${slope[0] + (slope[2] - slope[0]) * 0.12},${slope[1] + (slope[3] - slope[1]) * 0.12 - 6}) rotate(${turn})`}>{figure(bandwidth, "bytes_per_s")}{guess ? ", best reached" : " memory"}</text>
        </>
      ) : null}
      {placed.map((roof) => (
        <g key={roof.word}>
          <line class={kind} x1={x.at(bandwidth ? Math.max(x.low, Math.min(x.high, roof.flops / bandwidth)) : x.low)} x2={right} y1={y.at(roof.flops)} y2={y.at(roof.flops)} />
          <text class="rooflab" x={right} y={roof.label} text-anchor="end">{figure(roof.flops, "flop_per_s")}{guess ? ", best reached" : roof.word ? ` ${roof.word}` : ""}</text>
        </g>
      ))}
    </g>
  );
}

function DotCard({ dot }: { dot: RooflineDot }): JSX.Element {
  const rows: [string, string][] = [
    ["Device time", `${figure(dot.micros, "us")}, ${share(dot.share)}`], ["FLOPs", figure(dot.float_ops, "flop")], ["Bytes", figure(dot.io_bytes, "bytes")],
    ["Reached", figure(dot.flops, "flop_per_s")], ["FLOPs per byte", plain(dot.intensity)], ["Of the roofline", share(dot.of_roofline)], ["Bound by", dot.bound ?? "–"],
  ];
  return (
    <>
      <h4>{dot.dir === "g" ? "∂ " : ""}{dot.name.split("/").pop()}</h4>
      <div class="path">{dot.name}</div>
      <dl class="two">{rows.map(([name, value]) => <><dt key={name}>{name}</dt><dd>{value}</dd></>)}</dl>
      <div class="hint">click selects</div>
    </>
  );
}

function Rows({ answer }: { answer: RooflineAnswer }): JSX.Element {
  const [viewport, size] = useSize<HTMLDivElement>();
  const [top, setTop] = useState(0);
  const needle = state.value.find.toLowerCase();
  const rows = needle ? answer.dots.filter((dot) => dot.name.toLowerCase().includes(needle)) : answer.dots;
  useKeys((event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const at = rows.findIndex((dot) => dot.sel === state.value.sel);
    const next = Math.max(0, Math.min(rows.length - 1, at + by));
    if (rows[next]) select(rows[next].sel);
    const box = viewport.current;
    if (box) box.scrollTop = Math.max(Math.min(box.scrollTop, next * ROW), (next + 2) * ROW + 8 - box.clientHeight);
  });
  const [from, to] = visible(top, size.height, ROW, rows.length, 12);
  const gap = (n: number) => (n > 0 ? <tr style={{ height: `${n * ROW}px` }} aria-hidden="true"><td colSpan={5} style={{ height: `${n * ROW}px` }} /></tr> : null);
  const left = answer.left_out?.rows ?? 0;
  const known = answer.peaks.length > 0;
  return (
    <>
      <div class="scrolly roofrows" ref={viewport} tabIndex={0} aria-label="Rows by device time" onScroll={(event) => setTop(event.currentTarget.scrollTop)}>
        <table class="tbl">
          <thead><tr><th>{left && !needle ? `${rows.length.toLocaleString("en-US")} of ${count(answer.rows, "row")}` : count(rows.length, "row")}, by device time</th><th>Time</th><th title="Achieved FLOP/s">FLOP/s</th>{known ? <><th title="The time that the roofline allows, of the time that it took">of roof</th><th class="l">bound by</th></> : <th title="FLOPs for each byte read or written">FLOPs/byte</th>}</tr></thead>
          <tbody>
            {gap(from)}
            {rows.slice(from, to).map((dot) => (
              <tr key={dot.sel} class={isSelected(dot) ? "sel" : undefined} data-sel={dot.sel} onClick={() => select(dot.sel)}>
                <td title={dot.name}><span class="name"><Swatch dir={dot.dir} /><PathText text={dot.name} /></span></td>
                <td title={exact(dot.micros, "us")} data-value={dot.micros}>{figure(dot.micros, "us")}</td>
                <td title={exact(dot.flops, "flop_per_s")} data-value={dot.flops}>{figure(dot.flops, "flop_per_s").replace("FLOP/s", "")}</td>
                {known ? <><td title={exact(dot.of_roofline, "share")}>{share(dot.of_roofline)}</td><td class="l mut">{dot.bound ?? "–"}</td></> : <td>{plain(Number(dot.intensity.toPrecision(3)))}</td>}
              </tr>
            ))}
            {gap(rows.length - to)}
          </tbody>
        </table>
      </div>
      <p class="say">{left ? `${count(left, "row")} with less time are not drawn. ` : ""}{answer.unplaced > 0 ? `${share(answer.unplaced)} of the device time is in rows whose FLOPs or bytes are 0 or unknown; they have no place here.` : "All device time is in these rows."}</p>
    </>
  );
}
