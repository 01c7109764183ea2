// Small parts that several screens share.

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Dir, Item, Missing, Num, Row } from "../api";
import { dirVar } from "../color";
import { exact, figure, share, type Unit } from "../format";
import { Refusal } from "../source";
import { copy, go, meta, state } from "../store";
import { FILTERS, type State } from "../state";

export const Caret = (): JSX.Element => (
  <svg class="car" viewBox="0 0 8 5" aria-hidden="true"><path d="M0 0h8L4 5z" fill="currentColor" /></svg>
);
export const Triangle = (): JSX.Element => (
  <svg width="8" height="8" viewBox="0 0 8 8" aria-hidden="true"><path d="M2 .5 6 4 2 7.5z" fill="currentColor" /></svg>
);
export function Icon({ path }: { path: string }): JSX.Element {
  return <svg class="ic" viewBox="0 0 16 16" aria-hidden="true"><path d={path} /></svg>;
}
export const WARN = "M8 2.5 14 13.5H2zM8 6.5v3.5M8 12v.1";

export function Key({ color, children }: { color: string; children: ComponentChildren }): JSX.Element {
  return <span class="key"><i style={{ background: color }} />{children}</span>;
}
export const Swatch = ({ dir }: { dir: Dir }): JSX.Element => <i class="sw" style={{ background: dirVar(dir) }} />;
export const DirKeys = (): JSX.Element => (
  <>
    <Key color="var(--fwd)">forward</Key>
    <Key color="var(--grad)">gradient</Key>
    <Key color="var(--oth)">other</Key>
  </>
);

/** A path that is cut in the middle: its last part, and the begin of the way there. ∂ stands for the scope of all gradients. */
export function PathText({ text, gradient = false }: { text: string; gradient?: boolean }): JSX.Element {
  const marked = text.startsWith("∂ ");
  const plain = (marked ? text.slice(2) : text).replace(/^(gradients|gradient_tape)\//, "");
  const mark = marked || gradient || plain.length < text.length - (marked ? 2 : 0) ? "∂ " : "";
  const at = plain.lastIndexOf("/", plain.length - 2) + 1;
  return (
    <span class="pathtext">
      {at ? <span class="cut head">{mark}{plain.slice(0, at)}</span> : null}
      <span class="cutfront tail"><bdi>{at ? "" : mark}{plain.slice(at)}</bdi></span>
    </span>
  );
}

/** A figure with its exact value as title. */
export function Fig({ v, unit }: { v: Num; unit: Unit }): JSX.Element {
  return <span title={exact(v, unit)} class={v === 0 || v === null ? "zero" : undefined}>{figure(v, unit)}</span>;
}

export interface Choice { word: string; label: string; off?: string }

/** A row of buttons of which one is pressed; it sets one key of the state. */
export function Segment({ name, of, choices, now, set }: { name: string; of: keyof State; choices: Choice[]; now?: string; set?: (word: string) => void }): JSX.Element {
  const current = now ?? state.value[of];
  return (
    <div class="seg" role="group" aria-label={name}>
      {choices.map(({ word, label, off }) => (
        <button key={word} aria-pressed={word === current} disabled={!!off} title={off || undefined} onClick={() => (set ? set(word) : go({ [of]: word }))}>{label}</button>
      ))}
    </div>
  );
}

const VIEW_LABELS: Record<string, string> = { scope: "Scope", graph: "Graph", op: "Op type", code: "Code" };
export function ViewSegment(): JSX.Element {
  const choices = meta.value.views.map((v) => ({ word: v.word, label: VIEW_LABELS[v.word] ?? v.word, off: v.known ? "" : v.why || "not in the data" }));
  return <Segment name="View" of="view" choices={choices} set={(view) => go({ view, zoom: "", around: "", sort: "" })} />;
}

/** Rows with a bar behind the name: length is the value, halves are forward and gradient. */
export interface Bar { key: string; label: string; value: Num; right: string; forward: number; gradient: number; dir: Dir; sel: string | null; title?: string; pick?: () => void }

export function Bars({ rows, unit, onPick }: { rows: Bar[]; unit: Unit; onPick: (bar: Bar) => void }): JSX.Element {
  const most = Math.max(1e-9, ...rows.map((row) => row.value ?? 0));
  return (
    <div class="bars">
      {rows.map((row) => {
        const width = Math.max(0.5, ((row.value ?? 0) / most) * 100);
        const both = row.forward + row.gradient;
        const split = both > 0 ? [row.forward / both, row.gradient / both] : [row.dir === "f" ? 1 : 0, row.dir === "g" ? 1 : 0];
        const plain = both <= 0 && row.dir !== "f" && row.dir !== "g";
        return (
          <button key={row.key} aria-pressed={!!row.sel && row.sel === state.value.sel} title={row.title ?? row.label} onClick={() => onPick(row)}>
            <span class="b">
              {plain ? <i style={{ width: `${width}%`, background: "var(--oth)" }} /> : (
                <>
                  <i style={{ width: `${width * (split[0] ?? 0)}%`, background: "var(--fwd)" }} />
                  <i style={{ left: `${width * (split[0] ?? 0)}%`, width: `${width * (split[1] ?? 0)}%`, background: "var(--grad)" }} />
                </>
              )}
              {/^\S*\w\/\w\S*$/.test(row.label.replace(/^∂ /, "")) ? <PathText text={row.label} /> : <span class="cut">{row.label}</span>}
            </span>
            <span class="num" title={exact(row.value, unit)}>{figure(row.value, unit)}</span>
            <span class="num mut">{row.right}</span>
          </button>
        );
      })}
    </div>
  );
}

export const rowBar = (row: Row, label = row.path || row.name): Bar => ({
  key: `${row.kind}:${row.path}`, label: (row.dir === "g" && row.kind !== "op" && !label.includes("∂") ? "∂ " : "") + label, value: row.total[0] ?? null, right: share(row.share[0]),
  forward: row.forward ?? 0, gradient: row.gradient ?? 0, dir: row.dir, sel: `${row.kind}:${row.path}`, title: row.path,
});
/** The row without the rows inside it. */
export const ownBar = (row: Row, label: string): Bar => ({ ...rowBar(row, label), value: row.own[0] ?? null, right: "" });
export const itemBar = (item: Item): Bar => ({
  key: item.sel ?? item.name, label: item.name, value: item.value, right: `× ${item.n.toLocaleString("en-US")}`, forward: item.forward, gradient: item.gradient,
  dir: "o", sel: item.sel,
});

/** Lines to type, with a button that copies them. */
export function CodeBox({ text }: { text: string }): JSX.Element | null {
  if (!text) return null;
  return (
    <div class="codebox">
      {text}
      <button onClick={() => void copy(text, "the lines")}>Copy</button>
    </div>
  );
}

export function Empty({ title, why, how }: { title: string; why: string; how?: string }): JSX.Element {
  return (
    <div class="emptywrap">
      <div class="empty" role="status">
        <h3>{title}</h3>
        {why ? <p>{why}</p> : null}
        {how ? <CodeBox text={how} /> : null}
      </div>
    </div>
  );
}

export const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

export const MissingState = ({ missing }: { missing: Missing }): JSX.Element => <Empty title={`Not in the data: ${missing.what}`} why={sentence(missing.why)} how={missing.how} />;

/** A first answer that takes long. Nothing shows for 150 ms: most answers are there by then. */
export const Pending = (): JSX.Element => (
  <div class="pending" role="status" aria-busy="true"><p>Waiting for the answer</p><i /><i /><i /><i /></div>
);

/** Why a screen has no answer at all. Where an older answer stands, the screen keeps it and the status bar has the sentence. */
export function Refused({ error }: { error: Refusal }): JSX.Element {
  if (error.missing) return <MissingState missing={error.missing} />;
  if (error.why === "absent") return <NeedsEngine />;
  if (error.why === "gone") return <Empty title="tfprof web has ended" why="What is on screen stays. To go on, run:" how={`tfprof web ${meta.value?.inputs ?? ""}`} />;
  return (
    <div class="emptywrap">
      <div class="empty bad" role="alert">
        <h3>{error.message}</h3>
        {error.fix ? <p>{error.fix}</p> : null}
        {FILTERS.some((f) => state.value[f]) ? <button class="btn" onClick={() => go({ account: "", start: "", trim: "", show: "", hide: "" })}>Take the filters away</button> : null}
      </div>
    </div>
  );
}

/** In a report: the command that answers what the file does not. */
export function NeedsEngine(): JSX.Element {
  return <Empty title="Not in this report" why="It was written without this answer. The program has it:" how={meta.value.report?.command || `tfprof web ${meta.value.inputs}`} />;
}

/** The size of an element, kept up to date. */
export function useSize<E extends HTMLElement>(): [{ current: E | null }, { width: number; height: number }] {
  const ref = useRef<E>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return;
    const read = () => {
      const { clientWidth: width, clientHeight: height } = element;
      setSize((old) => (old.width === width && old.height === height ? old : { width, height }));
    };
    const observer = new ResizeObserver(read);
    observer.observe(element);
    read();
    return () => observer.disconnect();
  }, []);
  return [ref, size];
}

/** Keys for the screen that is shown; the page's own keys come first. */
export function useKeys(handler: (event: KeyboardEvent) => void): void {
  const latest = useRef(handler);
  latest.current = handler;
  useEffect(() => {
    const listen = (event: KeyboardEvent) => latest.current(event);
    screenKeys.add(listen);
    return () => void screenKeys.delete(listen);
  }, []);
}
export const screenKeys = new Set<(event: KeyboardEvent) => void>();
