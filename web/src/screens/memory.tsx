// Memory: use over time, and who holds what at the peak.

import type { JSX } from "preact";
import { useCallback, useState } from "preact/hooks";
import type { Holder, MemoryAnswer } from "../api";
import { useAnswer } from "../ask";
import { SANS, type Surface } from "../canvas";
import { dirToken, dirVar, mix, token } from "../color";
import { axisMarks, axisStep, axisTime, count, exact, figure, share } from "../format";
import { go, meta, select, source, state, theme } from "../store";
import { visible } from "../tree";
import { DirKeys, PathText, Pending, Refused, Segment, useKeys, useSize } from "../ui/bits";
import { hideTip, showTip } from "../ui/float";
import { ScrollCanvas } from "../ui/scroll";

const ROW = 22;
const LEFT = 64;

export function Memory(): JSX.Element {
  const s = state.value;
  const params = { step: s.step === "all" ? undefined : s.step, device: s.device };
  const asked = useAnswer<MemoryAnswer>("memory", params, true);
  const { data } = asked;
  if (!data) return asked.error ? <Refused error={asked.error} /> : <Pending />;
  return (
    <div class={`memscreen ${asked.dim ? "dim" : ""} ${data.holders.length ? "" : "alone"}`}>
      <Toolbar data={data} />
      <div class="memtop">
        <AtPeak data={data} />
        <Curve data={data} />
      </div>
      <Holders data={data} />
    </div>
  );
}

function Toolbar({ data }: { data: MemoryAnswer }): JSX.Element {
  const steps = meta.value.steps;
  const short = (name: string) => name.replace(/^\/(job|host)[^/]*.*\/(?=[^/]+$)/, "").replace("device:", "");
  return (
    <div class="bar">
      {data.step !== null && steps.length > 1 && steps.length <= 8 ? <Segment name="Step" of="step" now={String(data.step)} choices={steps.map((s) => ({ word: String(s.step), label: `Step ${s.step}`, off: source.live || source.has("memory", { step: String(s.step) }) ? "" : "needs the program" }))} /> : data.step === null ? null : <span class="lab">step {data.step}</span>}
      {data.devices.length > 1 ? <Segment name="Device" of="device" now={data.device} choices={data.devices.slice(0, 6).map((d) => ({ word: d.name, label: `${short(d.name)} ${figure(d.peak, "bytes")}` }))} /> : <span class="lab" title={data.device}>{short(data.device)}</span>}
      {data.series?.length ? <DirKeys /> : null}
      <span class="sp" />
      <span class="mut cut" title={data.source}>{data.source}</span>
    </div>
  );
}

function AtPeak({ data }: { data: MemoryAnswer }): JSX.Element {
  return (
    <div class="atpeak">
      <h2>At the peak</h2>
      <div class="peakfig" id="peak" data-value={data.peak.bytes} title={exact(data.peak.bytes, "bytes")}>{figure(data.peak.bytes, "bytes")} <span class="mut light">{data.step === null ? `of ${data.device}` : `step ${data.step}`}{data.peak.holders ? ` · ${count(data.peak.holders, "tensor")}` : ""}</span></div>
      {data.reported === null ? null : <p class="say0" title={exact(data.reported, "bytes")}>The allocator counted up to {figure(data.reported, "bytes")}.</p>}
      {data.groups.slice(0, 8).map((g) => (
        <div class="grp" key={g.name}>
          <span class="cut" title={g.name}>{g.name}</span><span class="num" title={exact(g.bytes, "bytes")}>{figure(g.bytes, "bytes")}</span><span class="num mut">{share(g.share)}</span>
          <div class="mini"><i style={{ width: `${(g.share ?? 0) * 100}%`, background: dirVar(g.dir) }} /></div>
        </div>
      ))}
      {data.groups.length || !data.left_out ? null : <p class="say0">{data.left_out.why}</p>}
    </div>
  );
}

/** Value of a step function at each of its turns, as an area. */
function area(g: CanvasRenderingContext2D, x: (t: number) => number, y: (v: number) => number, t: number[], v: number[], base: (i: number) => number, end: number): void {
  g.beginPath();
  for (let i = 0; i < t.length; i++) {
    const px = x(t[i] as number);
    if (i) g.lineTo(px, y(v[i - 1] as number));
    g.lineTo(px, y(v[i] as number));
  }
  g.lineTo(end, y(v[v.length - 1] ?? 0));
  g.lineTo(end, y(base(t.length - 1)));
  for (let i = t.length - 1; i >= 0; i--) {
    const px = x(t[i] as number);
    g.lineTo(px, y(base(i)));
    if (i) g.lineTo(px, y(base(i - 1)));
  }
  g.closePath();
}

/** The first index beyond a time, and one more. */
function beyond(t: number[], end: number): number {
  const at = t.findIndex((time) => time > end);
  return at < 0 ? t.length : Math.min(t.length, at + 1);
}

export interface Plot { left: number; right: number; top: number; bottom: number; t0: number; t1: number; max: number }

/** Draws the curve into a plot: stacked where the parts are known, else an envelope. */
export function drawCurve(g: CanvasRenderingContext2D, data: MemoryAnswer, plot: Plot): void {
  const x = (t: number) => plot.left + ((t - plot.t0) / (plot.t1 - plot.t0)) * (plot.right - plot.left);
  const y = (v: number) => plot.bottom - (v / plot.max) * (plot.bottom - plot.top);
  g.save();
  g.beginPath();
  g.rect(plot.left, plot.top - 1, plot.right - plot.left, plot.bottom - plot.top + 2);
  g.clip();
  const last = Math.min(plot.right, x(data.t1_ns));
  // Only what the window shows is drawn, and a point beyond each end.
  const cut = (t: number[]): [number, number] => [Math.max(0, t.findIndex((at) => at > plot.t0) - 1), beyond(t, plot.t1)];
  if (data.series?.length) {
    const [from, to] = cut(data.series[0]?.t_ns ?? []);
    const under = new Array<number>(Math.max(0, to - from)).fill(0);
    data.series.forEach((s, k) => {
      const same = (data.series ?? []).slice(0, k).filter((o) => o.dir === s.dir).length;
      const over = s.bytes.slice(from, to).map((v, i) => (under[i] ?? 0) + v);
      area(g, x, y, s.t_ns.slice(from, to), over, (i) => under[i] ?? 0, last);
      g.fillStyle = mix(token(dirToken(s.dir)), token("panel"), Math.min(0.75, 0.2 + same * 0.2));
      g.fill();
      over.forEach((v, i) => (under[i] = v));
    });
  }
  const [from, to] = cut(data.curve.t_ns);
  const [t, low, high] = [data.curve.t_ns, data.curve.low, data.curve.high].map((list) => list.slice(from, to)) as [number[], number[], number[]];
  if (!data.series?.length) {
    area(g, x, y, t, high, () => 0, last);
    g.fillStyle = mix(token("accent"), token("panel"), 0.72);
    g.fill();
    area(g, x, y, t, low, () => 0, last);
    g.fillStyle = mix(token("accent"), token("panel"), 0.5);
    g.fill();
  }
  g.strokeStyle = token("ink2");
  g.lineWidth = 1;
  g.beginPath();
  t.forEach((at, i) => {
    const px = x(at);
    if (i) g.lineTo(px, y(high[i - 1] as number));
    g.lineTo(px, y(high[i] as number));
  });
  g.stroke();
  g.restore();
}

function Curve({ data }: { data: MemoryAnswer }): JSX.Element {
  const paint = useCallback(({ g, width, height }: Surface) => {
    const step = axisStep(data.peak.bytes * 1.06 || 1, 4);
    const max = Math.ceil((data.peak.bytes * 1.02 || 1) / step) * step;
    const plot = { left: LEFT, right: width - 14, top: 20, bottom: height - 24, t0: data.t0_ns, t1: Math.max(data.t1_ns, data.t0_ns + 1), max };
    const x = (t: number) => plot.left + ((t - plot.t0) / (plot.t1 - plot.t0)) * (plot.right - plot.left);
    const y = (v: number) => plot.bottom - (v / plot.max) * (plot.bottom - plot.top);
    g.fillStyle = token("panel");
    g.fillRect(0, 0, width, height);
    g.font = `11px ${SANS}`;
    for (const v of axisMarks(0, max, 4)) {
      g.fillStyle = token("line");
      g.fillRect(plot.left, Math.round(y(v)), plot.right - plot.left, 1);
      g.fillStyle = token("ink2");
      g.textAlign = "right";
      g.fillText(figure(v, "bytes"), plot.left - 8, y(v));
    }
    drawCurve(g, data, plot);
    const span = (data.t1_ns - data.t0_ns) / 1e3;
    const tick = axisStep(span, width / 110);
    g.textAlign = "center";
    g.fillStyle = token("ink2");
    for (const t of axisMarks(0, span, width / 110)) g.fillText(axisTime(t, tick), x(data.t0_ns + t * 1e3), height - 11);
    const px = Math.round(x(data.peak.t_ns));
    g.fillStyle = token("ink");
    g.fillRect(px, 12, 1, plot.bottom - 12);
    const text = `peak ${figure(data.peak.bytes, "bytes")} at ${figure((data.peak.t_ns - data.t0_ns) / 1e3, "us")}`;
    const room = g.measureText(text).width + 12;
    g.textAlign = px + room > plot.right ? "right" : "left";
    g.fillText(text, px + (px + room > plot.right ? -6 : 6), 13);
  }, [data, theme.value]);
  const hover = (event: MouseEvent) => {
    const width = (event.target as HTMLElement).clientWidth;
    const t = data.t0_ns + ((event.offsetX - LEFT) / (width - 14 - LEFT)) * (data.t1_ns - data.t0_ns);
    if (t < data.t0_ns || t > data.t1_ns) return hideTip();
    let i = 0;
    while (i + 1 < data.curve.t_ns.length && (data.curve.t_ns[i + 1] as number) <= t) i++;
    const [low, high] = [data.curve.low[i] ?? null, data.curve.high[i] ?? null];
    showTip(event, () => <><h4>{low !== null && high !== null && low !== high ? `${figure(low, "bytes")} to ${figure(high, "bytes")}` : figure(high, "bytes")}</h4><dl class="two"><dt>at</dt><dd>{figure((t - data.t0_ns) / 1e3, "us")}</dd></dl></>);
  };
  return <ScrollCanvas id="memory" className="memcurve" content={0} paint={paint} label={`Memory over time: peak ${figure(data.peak.bytes, "bytes")}`} events={{ onMouseMove: hover, onMouseLeave: hideTip }} />;
}

function Holders({ data }: { data: MemoryAnswer }): JSX.Element {
  const [box, size] = useSize<HTMLDivElement>();
  const [top, setTop] = useState(0);
  const [from, to] = visible(top, size.height, ROW, data.holders.length);
  const span = Math.max(1, data.t1_ns - data.t0_ns);
  const place = (t: number) => ((t - data.t0_ns) / span) * 100;
  useKeys((event) => {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    event.preventDefault();
    const at = data.holders.findIndex((h) => h.sel === state.value.sel);
    const next = data.holders[Math.max(0, Math.min(data.holders.length - 1, at + (event.key === "ArrowDown" ? 1 : -1)))];
    if (next?.sel) select(next.sel);
    if (box.current && next) {
      const y = data.holders.indexOf(next) * ROW;
      if (y < box.current.scrollTop || y + ROW > box.current.scrollTop + size.height) box.current.scrollTop = y - size.height / 2;
    }
  });
  if (!data.holders.length) return <div class="holders"><p class="say">{data.left_out?.why ?? "The data does not say which tensors were held at the peak."}</p></div>;
  const peak = place(data.peak.t_ns);
  return (
    <div class="holders">
      <div class="hh"><span>Held at the peak: tensor of</span><span class="num">Size</span><span>from its op to its last reader</span></div>
      <div class="hl" ref={box} tabIndex={0} aria-label="Held at the peak" onScroll={(event) => setTop(event.currentTarget.scrollTop)}>
        <div class="rows" style={{ height: `${data.holders.length * ROW}px` }}>
          {data.holders.slice(from, to).map((h, i) => <HolderRow key={from + i} h={h} top={(from + i) * ROW} place={place} peak={peak} />)}
        </div>
        {data.other.count ? <p class="say">and {data.other.count.toLocaleString("en-US")} smaller, {figure(data.other.bytes, "bytes")} together</p> : null}
      </div>
    </div>
  );
}

function HolderRow({ h, top, place, peak }: { h: Holder; top: number; place: (t: number) => number; peak: number }): JSX.Element {
  const right = h.t1_ns === null ? 100 : place(h.t1_ns);
  const left = Math.max(0, place(h.t0_ns));
  return (
    <button class="hr" style={{ top: `${top}px` }} aria-pressed={!!h.sel && h.sel === state.value.sel} disabled={!h.sel} title={h.name} onClick={() => h.sel && go({ sel: h.sel })}>
      <PathText text={h.name} />
      <span class="num" title={exact(h.bytes, "bytes")}>{figure(h.bytes, "bytes")}</span>
      <span class="life"><i class={h.t1_ns === null ? "open" : ""} style={{ left: `${left}%`, width: `${Math.max(0.2, right - left)}%`, background: dirVar(h.dir) }} /><u style={{ left: `${peak}%` }} /></span>
    </button>
  );
}
