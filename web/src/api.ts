// What the server answers; the contract is crates/tfprof-server/API.md.

import type { Unit } from "./format";

export type Num = number | null;
export type Dir = "f" | "g" | "o" | "";

export interface Warning { code: string; message: string }
export interface Missing { code: string; what: string; why: string; how: string }

export interface Answer {
  command: string;
  python: string;
  warnings: Warning[];
  left_out: { rows: number; why: string } | null;
  ms: number;
}

export interface Column { key: string; word: string; label: string; unit: Unit; about: string; known: boolean }

export interface Row {
  id: number;
  path: string;
  name: string;
  kind: string;
  dir: Dir;
  op: string;
  unit: number;
  file?: string;
  line?: number;
  function?: string;
  kids: number;
  depth: number;
  total: Num[];
  own: Num[];
  share: Num[];
  /** Of an op type on the overview. */
  forward?: number;
  gradient?: number;
}

export interface MetricInfo { key: string; word: string; label: string; unit: Unit; about: string; group: string; known: boolean; why: string; averaged: boolean }
export interface Known { word: string; about?: string; known: boolean; why: string; missing: Missing | null }

export interface Meta extends Answer {
  version: string;
  title: string;
  files: { kind: string; name: string }[];
  nodes: number;
  op_types: number;
  metric: string;
  metrics: MetricInfo[];
  views: Known[];
  screens: Known[];
  steps: { step: number; micros: Num; span: Num; warm_up: boolean }[];
  warm_up: { steps: number[]; can_leave_out: boolean; rule: string };
  devices: { name: string; micros: number }[];
  hosts: { name: string }[];
  /** Why nothing is loaded, if a trace has no events. */
  nothing: string | null;
  losses: { file: string; place: string; message: string }[];
  missing: Missing[];
  options: { name: string; about: string; words: string[] }[];
  inputs: string;
  baseline: string | null;
  /** Options that hold unless a question has others: the peaks to compare with. */
  defaults: Record<string, string>;
  source_root: string;
  is_report: boolean;
  report: { command: string; left_out: string[] } | null;
}

export interface Part { value: number; share: Num }
export interface Finding {
  checker: string;
  about: string;
  text: string;
  sel: string | null;
  saving: { value: number; unit: Unit; bound: string } | null;
}
export interface OverviewStep { step: number; micros: Num; span: Num; warm_up: boolean; forward: Num; gradient: Num; other: Num }
export interface OverviewAnswer extends Answer {
  figures: { key: string; label: string; value: Num; unit: Unit; note: string; command: string }[];
  steps: OverviewStep[];
  step_bins: { from: number; to: number; n: number; p50: number; p95: number }[] | null;
  parts: { forward: Part; gradient: Part; other: Part } | null;
  op_time_is_not_step_time: string | null;
  top: { view: string; title: string; columns: Column[]; rows: Row[] }[];
  findings: Finding[];
  notes: string[];
  missing: Missing[];
  slowest: { op: Row | null; line: Row | null };
  peak: { step: number; device: string; bytes: number } | null;
}

export interface RowsAnswer extends Answer {
  columns: Column[];
  parent: Row;
  rows: Row[];
  count: number;
  smaller: { count: number; total: Num[] } | null;
  shown: number;
  of: number;
}
export interface PathAnswer extends Answer { columns: Column[]; rows: Row[] }
export interface AllAnswer extends Answer { columns: Column[]; rows: (Row & { parent: number })[]; count: number }

export interface FlameAnswer extends Answer {
  /** How many rows the root stands for. */
  places: number;
  columns: Column[];
  root: Row;
  crumbs: Row[];
  names: string[];
  ops: string[];
  boxes: {
    id: number[]; parent: number[]; depth: number[]; x: number[]; w: number[]; name: number[]; op: number[]; dir: number[];
    unit: number[]; value: Num[]; own?: number[]; share?: Num[]; kids: number[]; hit?: number[]; path?: string[];
  } & Partial<SidesOfBoxes>;
  depth: number;
  merged: { count: number; value: number };
  found: { count: number; value: number; share: Num } | null;
}

/** In a comparison: both sides of each box. */
export interface SidesOfBoxes { before: Num[]; after: Num[]; difference: Num[]; percent: Num[]; heat: number[]; status: Status[] }
export type Status = "same" | "noise" | "differs" | "changed" | "added" | "removed";
export interface ChangeRow {
  id: number; path: string; name: string; kind: string; dir: Dir; op: string; kids: number;
  before: Num; after: Num; difference: Num; percent: Num; low: Num; high: Num; low_percent: Num; high_percent: Num;
  own: { before: Num; after: Num; difference: Num };
  sign: number; heat: number; status: Status; match: "name" | "rename" | "guess" | null; before_name: string | null;
}
export interface CompareFigure { key: string; label: string; unit: Unit; before: Num; after: Num; difference: Num; percent: Num; note: string; command: string }
export interface CompareAnswer extends Omit<FlameAnswer, "root" | "crumbs" | "found" | "merged" | "places"> {
  sides: { name: string; steps: number; warm_up: number[] }[];
  root: ChangeRow;
  crumbs: { path: string; name: string }[];
  merged: { count: number };
  found: Num;
  noise: boolean;
  common_shift: Num;
  guesses: number;
  figures: CompareFigure[];
}
export interface ChangesAnswer extends Answer {
  columns: Column[];
  counts: { status: Status; sign: number; n: number }[];
  rows: number;
  reach: number;
  changes: ChangeRow[];
}

export interface Item { name: string; n: number; value: number; share: Num; forward: number; gradient: number; sel: string | null }
export interface ListsAnswer extends Answer { columns: Column[]; same_name: Item[]; op_types: Item[]; single: Row[] }

export interface NodeAnswer extends Answer {
  columns: Column[];
  row: Row;
  title: string;
  subtitle: string;
  metrics: { key: string; word: string; label: string; unit: Unit; total: Num; own: Num; share: Num }[];
  parts: { forward: Part; gradient: Part; other: Part } | null;
  steps: { step: number; value: Num; warm_up: boolean }[];
  twin: Row | null;
  inside: Row[];
  lines: { file: string; line: number; function: string; value: Num; share: Num; sel: string }[];
  ops: Item[];
  devices: string[];
  shapes: string[];
  kernels: string[];
  sel: string;
}

export interface FindAnswer extends Answer { columns: Column[]; count: number; value: Num; share: Num; rows: Row[] }

export interface TimelineAnswer extends Answer {
  t0_ns: number;
  t1_ns: number;
  began: string | null;
  tile_ns: number;
  levels: number;
  events: number;
  arrows: number;
  names: number;
  ops: string[];
  groups: { name: string; kind: string; detail: string; lanes: { id: number; name: string; events: number; busy_ns: number }[] }[];
  steps: { step: number; t0_ns: number; t1_ns: number; events: number; warm_up: boolean }[];
}
export interface NameInfo { id: number; name: string; op: string; dir: Dir; sel: string | null }
export interface NamesAnswer extends Answer { names: NameInfo[] }
/** Launches and what they started: lanes and starts, as columns. */
export interface Arrows { from: number[]; from_ns: number[]; to: number[]; to_ns: number[] }
export interface EventInfo { arrows: Arrows; name: string; op: string; dir: Dir; lane: number; t0_ns: number; dur_ns: number; step: Num; sel: string | null; args: { name: string; value: string }[] }
export interface AtAnswer extends Answer { event: EventInfo | null }
export interface RangeRow { op: string; name: string; dir: Dir; runs: number; sum_ns: number; mean_ns: number; longest_ns: number; share: Num; example: string; sel: string | null }
export interface RangeAnswer extends Answer {
  wall_ns: number; busy_ns: number; sum_ns: number; events: number; parallel: Num; busy_share: Num; rows: RangeRow[];
}
export interface EventsAnswer extends Answer { count: number; sum_ns: number; events: { lane: number[]; t0_ns: number[]; dur_ns: number[] }; arrows: Arrows }

export interface Holder { name: string; sel: string | null; dir: Dir; bytes: number; share: Num; t0_ns: number; t1_ns: Num }
export interface MemoryAnswer extends Answer {
  devices: { name: string; peak: number; step: number }[];
  device: string;
  /** Null where the curve is not of a step. */
  step: Num;
  source: string;
  t0_ns: number;
  t1_ns: number;
  curve: { t_ns: number[]; low: number[]; high: number[] };
  series: { name: string; dir: Dir; t_ns: number[]; bytes: number[] }[] | null;
  peak: { t_ns: number; bytes: number; holders: number };
  /** The most that the allocator itself counted in any step, as on the overview. */
  reported: Num;
  holders: Holder[];
  groups: { name: string; dir: Dir; bytes: number; share: Num }[];
  other: { count: number; bytes: number };
}

export interface CodeLine { line: number; function: string; own: Num[]; total: Num[]; share: Num[]; forward: Num; gradient: Num; sel: string }
export interface CodeAnswer extends Answer {
  columns: Column[];
  files: { file: string; name: string; user: boolean; total: Num[]; share: Num[] }[];
  file: string;
  text: string[] | null;
  text_note: string;
  first: number;
  lines: CodeLine[];
  functions: { name: string; line: number; total: Num[] }[];
}

export interface GraphBox {
  id: number; path: string; name: string; dir: Dir; kids: number; open: boolean; parent: Num; twin: Num; rank: number; value: Num; share: Num; heat: number;
}
export interface GraphEdge { from: number; to: number; bytes: Num; tensors: number; shapes: string[]; kept: boolean; back: boolean }
export interface GraphAnswer extends Answer {
  columns: Column[];
  ladder: boolean;
  boxes: GraphBox[];
  edges: GraphEdge[];
  sums: { count: number; value: Num };
  kept: { bytes: Num; edges: number; widest: { name: string; bytes: Num }[] };
}

export interface RooflineDot {
  sel: string; name: string; op: string; dir: Dir; micros: number; share: number; float_ops: Num; io_bytes: Num; intensity: number; flops: number; of_roofline: Num; bound: string | null;
}
export interface RooflineAnswer extends Answer {
  columns: Column[];
  device: string | null;
  peaks: string[];
  bandwidth: Num;
  roofs: { word: string; flops: number }[];
  best: { flops: Num; bandwidth: Num };
  rows: number;
  unplaced: number;
  dots: RooflineDot[];
}

export interface TableInfo { name: string; about: string; columns: { name: string; type: string; unit: string; about: string }[] }
export interface TablesAnswer extends Answer { tables: TableInfo[] }
export interface QueryAnswer extends Answer { columns: { name: string; type: string }[]; rows: (number | string | boolean | null)[][] }
