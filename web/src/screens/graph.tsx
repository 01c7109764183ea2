// Graph: scopes as a ladder, forward down and each gradient beside; layers where there are no gradients.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { GraphAnswer, GraphEdge } from "../api";
import { useAnswer } from "../ask";
import { mix, token } from "../color";
import { count, exact, figure, share, type Unit } from "../format";
import { ladder, layers, type Layout, type Placed } from "../ladder";
import { go, metric, question, select, source, state, theme } from "../store";
import { DirKeys, Key, Pending, Refused, useKeys, useSize } from "../ui/bits";
import { hideTip, showTip } from "../ui/float";

const opened = (): string[] => (state.value.expand ? state.value.expand.split(",") : []);

function toggle(path: string): void {
  const open = opened();
  go({ expand: (open.includes(path) ? open.filter((p) => p !== path && !p.startsWith(path + "/")) : [...open, path]).join(",") });
}

export function Graph(): JSX.Element {
  const [box, size] = useSize<HTMLDivElement>();
  const params = { ...question.value, view: undefined, expand: source.live ? state.value.expand : undefined };
  const asked = useAnswer<GraphAnswer>("graph", params, true);
  const { data } = asked;
  return (
    <div class={asked.dim ? "graphscreen dim" : "graphscreen"}>
      <div class="bar">
        <span class="lab">heat</span><span class="key">{metric.value?.label}</span>
        <span class="lab">edges</span><span class="key">width is bytes of tensors</span>
        <DirKeys />
        {data?.edges.some((edge) => edge.bytes === null) ? <span class="key">dashed: size unknown</span> : null}
        {data?.ladder ? <Key color="var(--line2)">kept for the gradient</Key> : null}
        <span class="sp" />
        {data?.sums.count ? <span class="mut">{count(data.sums.count, "sum")} of gradients, {figure(data.sums.value, data.columns[0]?.unit ?? "us")}, drawn as edges</span> : null}
        {data?.left_out ? <span class="mut">{count(data.left_out.rows, "smaller scope")} drawn as edges</span> : null}
        <button class="btn ghost small" disabled={!state.value.expand} onClick={() => go({ expand: "" })}>Collapse all</button>
      </div>
      <div class="graphbox" ref={box}>
        {data && size.width ? <Drawing data={data} width={size.width} /> : asked.error ? <Refused error={asked.error} /> : <Pending />}
      </div>
    </div>
  );
}

function Drawing({ data, width }: { data: GraphAnswer; width: number }): JSX.Element {
  const layout = useMemo(() => (data.ladder ? ladder(data, width) : layers(data, width)), [data, width]);
  const unit = data.columns[0]?.unit ?? "us";
  const most = Math.max(1, ...data.edges.map((edge) => edge.bytes ?? 0));
  useKeys((event) => graphKey(event, layout));
  return (
    <svg id="graph" width={Math.max(width - 4, layout.width)} height={layout.height} role="group" aria-label="Graph of scopes">
      {layout.ladder ? <Heads data={data} layout={layout} unit={unit} /> : null}
      <g class="edges" key={theme.value}>{data.edges.map((edge, i) => <Edge key={i} edge={edge} layout={layout} most={most} />)}</g>
      {[...layout.boxes.values()].map((placed) => <Box key={placed.box.id} placed={placed} unit={unit} dark={theme.value} />)}
      {layout.ladder ? <Kept data={data} layout={layout} /> : null}
    </svg>
  );
}

function Heads({ layout }: { data: GraphAnswer; layout: Layout; unit: Unit }): JSX.Element {
  const first = (column: string) => [...layout.boxes.values()].filter((p) => p.column === column).sort((a, b) => a.depth - b.depth || a.y - b.y)[0];
  const [f, g, o] = [first("f"), first("g"), first("o")];
  return (
    <g class="gheads">
      {f ? <text x={f.x} y={24} class="fwd-ink">Forward ↓</text> : null}
      {f && g ? <text x={(f.x + f.w + g.x) / 2} y={24} text-anchor="middle" class="mut">kept tensors →</text> : null}
      {g ? <text x={g.x} y={24} class="grad-ink">Gradient ↑</text> : null}
      {o ? <text x={o.x} y={24}>Update and other</text> : null}
    </g>
  );
}

function Kept({ data, layout }: { data: GraphAnswer; layout: Layout }): JSX.Element | null {
  if (!data.kept.edges) return null;
  const others = [...layout.boxes.values()].filter((p) => p.column === "o");
  const g = [...layout.boxes.values()].find((p) => p.column === "g");
  if (!g) return null;
  const x = others[0]?.x ?? g.x + g.w + 120;
  const y = Math.max(...others.map((p) => p.y + p.h), 60) + 60;
  return (
    <g>
      <text x={x} y={y} class="strong">Read by the gradient</text>
      <text x={x} y={y + 17} class="mut">{figure(data.kept.bytes, "bytes")} over {data.kept.edges.toLocaleString("en-US")} edges; the widest:</text>
      {data.kept.widest.slice(0, 9).map((w, i) => (
        <g key={w.name}><text x={x} y={y + 40 + i * 19}>{w.name}</text><text x={x + (others[0]?.w ?? 190)} y={y + 40 + i * 19} text-anchor="end">{figure(w.bytes, "bytes")}</text></g>
      ))}
    </g>
  );
}

function edgePath(a: Placed, b: Placed, edge: GraphEdge, laddered: boolean): string {
  if (!laddered) {
    const [x1, y1, x2, y2] = [a.x + a.w / 2, a.y + a.h, b.x + b.w / 2, b.y];
    if (y2 - y1 > 60 && Math.abs(x2 - x1) < a.w / 2) {
      // Past the boxes between them, further out the further it goes.
      const [from, to] = [a.x + a.w, b.x + b.w];
      const far = Math.max(from, to) + 16 + Math.min(110, (y2 - y1) * 0.2);
      return `M${from} ${y1 - a.h / 2}C${far} ${y1} ${far} ${y2} ${to} ${y2 + b.h / 2}`;
    }
    const bend = Math.max(12, Math.abs(y2 - y1) / 2);
    return `M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}`;
  }
  if (a.column !== b.column) {
    const right = b.x > a.x;
    const [x1, x2] = right ? [a.x + a.w, b.x] : [a.x, b.x + b.w];
    const [y1, y2] = [a.y + a.h / 2, b.y + b.h / 2];
    const bend = (x2 - x1) * 0.45;
    return `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
  }
  const [upper, lower] = a.y < b.y ? [a, b] : [b, a];
  const gap = lower.y - upper.y - upper.h;
  const left = a.column === "f";
  if (gap < 12 && !edge.back) {
    const x = left ? a.x + 44 : a.x + a.w - 44;
    return `M${x} ${upper.y + upper.h}L${x} ${lower.y}`;
  }
  // What skips a neighbour goes around, further out the further it goes.
  const out = 18 + Math.min(70, gap * 0.22);
  const [x1, x2] = left ? [a.x, b.x] : [a.x + a.w, b.x + b.w];
  const far = left ? Math.min(x1, x2) - out : Math.max(x1, x2) + out;
  const [y1, y2] = [a.y + a.h / 2, b.y + b.h / 2];
  return `M${x1} ${y1}C${far} ${y1} ${far} ${y2} ${x2} ${y2}`;
}

function Edge({ edge, layout, most }: { edge: GraphEdge; layout: Layout; most: number }): JSX.Element | null {
  const [a, b] = [layout.boxes.get(edge.from), layout.boxes.get(edge.to)];
  if (!a || !b || a === b) return null;
  const width = edge.bytes ? Math.max(0.8, Math.sqrt(edge.bytes / most) * 6) : layout.ladder ? 0.8 : 1.4;
  const color = edge.kept ? "var(--line2)" : a.column === "g" || b.column === "g" ? "var(--grad)" : a.column === "f" ? "var(--fwd)" : "var(--oth)";
  const chosen = state.value.sel === `scope:${a.box.path}` || state.value.sel === `scope:${b.box.path}`;
  const card = () => (
    <>
      <h4>{a.box.name} → {b.box.name}</h4>
      <dl class="two"><dt>Bytes</dt><dd>{figure(edge.bytes, "bytes")}</dd><dt>Tensors</dt><dd>{edge.tensors.toLocaleString("en-US")}</dd></dl>
      {edge.shapes.slice(0, 6).map((shape) => <div class="mono" key={shape}>{shape}</div>)}
    </>
  );
  return (
    <path d={edgePath(a, b, edge, layout.ladder)} fill="none" stroke={chosen ? "var(--accent)" : color} stroke-width={width} opacity={edge.kept ? 0.6 : edge.bytes === null && !layout.ladder ? 0.8 : a.column === "f" && b.column === "o" ? 0.2 : 0.25 + 0.55 * Math.sqrt((edge.bytes ?? 0) / most)} stroke-dasharray={edge.bytes === null ? "3 3" : undefined}
      onMouseMove={(event) => showTip(event, card)} onMouseLeave={hideTip} />
  );
}

function Box({ placed, unit }: { placed: Placed; unit: Unit; dark: string }): JSX.Element {
  const { box, x, y, w, h, column } = placed;
  const base = column === "g" ? "grad" : column === "f" ? "fwd" : "oth";
  const fill = box.open ? "none" : mix(token("panel"), token(base), 0.06 + Math.min(1, Math.max(0, box.heat || 0)) * 0.7);
  const chosen = state.value.sel === `scope:${box.path}`;
  const value = figure(box.value, unit);
  const room = w - 34 - value.length * 7;
  const fits = Math.max(3, Math.floor(room / 7));
  const label = box.name.length > fits ? "…" + box.name.slice(box.name.length - fits + 1) : box.name;
  const click = (event: MouseEvent) => {
    if (box.kids && source.live && (event.offsetX < x + 22 || event.detail > 1)) return toggle(box.path);
    select(`scope:${box.path}`);
  };
  const card = () => (
    <>
      <h4>{column === "g" ? "∂ " : ""}{box.name}</h4>
      {box.path !== box.name ? <div class="path">{box.path}</div> : null}
      <dl><dt>{metric.value?.label}</dt><dd title={exact(box.value, unit)}>{value}</dd><dd class="mut">{share(box.share)}</dd></dl>
      {box.kids ? <div class="hint">{box.kids} inside · double-click or Enter opens</div> : null}
    </>
  );
  return (
    <g class={chosen ? "gn sel" : "gn"} tabIndex={0} role="button" aria-pressed={chosen} aria-label={`${box.path}, ${value}${box.kids ? (box.open ? ", open" : ", closed") : ""}`} data-path={box.path}
      onClick={click as never} onMouseMove={(event: MouseEvent) => showTip(event, card)} onMouseLeave={hideTip}
      onKeyDown={(event: KeyboardEvent) => {
        if (event.key === " ") select(`scope:${box.path}`);
        else if (event.key === "Enter" && box.kids) toggle(box.path);
        else return;
        event.preventDefault();
        event.stopPropagation();
      }}>
      <rect class="box" x={x} y={y} width={w} height={h} rx="4" fill={fill} stroke-dasharray={box.open ? "3 3" : undefined} pointer-events="all" />
      {box.kids ? <path d={box.open ? `M${x + 8} ${y + 8}h8l-4 6z` : `M${x + 9} ${y + 7}l6 4-6 4z`} fill="var(--ink2)" /> : null}
      <text x={x + 22} y={y + 15}>{label}</text>
      <text x={x + w - 8} y={y + 15} text-anchor="end" class="val">{value}</text>
    </g>
  );
}

/** Arrows go to the nearest box in that direction. */
function graphKey(event: KeyboardEvent, layout: Layout): void {
  const way = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] }[event.key];
  if (!way) return;
  event.preventDefault();
  const all = [...layout.boxes.values()];
  const now = all.find((p) => state.value.sel === `scope:${p.box.path}`) ?? all[0];
  if (!now) return;
  const [dx, dy] = way as [number, number];
  const centre = (p: Placed) => [p.x + p.w / 2, p.y + p.h / 2] as const;
  const [cx, cy] = centre(now);
  let best: Placed | null = null;
  let least = Infinity;
  for (const p of all) {
    const [x, y] = centre(p);
    const along = (x - cx) * dx + (y - cy) * dy;
    const aside = Math.abs((x - cx) * dy) + Math.abs((y - cy) * dx);
    if (p !== now && along > 4 && along + aside * 3 < least) [best, least] = [p, along + aside * 3];
  }
  if (!best) return;
  select(`scope:${best.box.path}`);
  document.querySelector<SVGGElement>(`[data-path="${CSS.escape(best.box.path)}"]`)?.focus();
}
