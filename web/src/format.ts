// Numbers as text: three significant digits and a space before the unit; "–" is unknown, "0" is zero.

export type Value = number | null | undefined;
export type Unit = "us" | "bytes" | "flop" | "count" | "flop_per_s" | "bytes_per_s" | "ratio" | "share";

const SCALES: Record<Exclude<Unit, "share">, string[]> = {
  us: ["µs", "ms", "s"],
  bytes: ["B", "kB", "MB", "GB", "TB", "PB"],
  flop: ["FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"],
  count: ["", "k", "M", "G", "T"],
  flop_per_s: ["FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s"],
  bytes_per_s: ["B/s", "kB/s", "MB/s", "GB/s", "TB/s"],
  ratio: [""],
};
export const UNKNOWN = "–";

/** Three significant digits of a number from 0 to 999.5, without an exponent. */
function digits(v: number): string {
  if (v >= 99.95) return v.toFixed(0);
  if (v >= 9.995) return v.toFixed(1);
  return v.toFixed(2);
}

function scaled(v: number, names: string[]): [string, string] {
  let size = Math.abs(v);
  let at = 0;
  while (at < names.length - 1 && size >= 999.5) {
    size /= 1000;
    at++;
  }
  const whole = at === 0 && Number.isInteger(v);
  let text = whole ? String(size) : size >= 1000 ? grouped(Math.round(size)) : digits(size);
  if (names === SCALES.us && at === 0 && !whole && size < 1) return [sign(v) + digits(size * 1000), "ns"];
  return [sign(v) + text, names[at] ?? ""];
}

const sign = (v: number): string => (v < 0 ? "−" : "");
const grouped = (v: number): string => v.toLocaleString("en-US");

/** A figure in two parts, so that a headline can set its unit smaller. */
export function parts(v: Value, unit: Unit): [string, string] {
  if (v === null || v === undefined || !Number.isFinite(v)) return [UNKNOWN, ""];
  if (unit === "share") return [share(v).replace(" %", ""), "%"];
  if (v === 0) return ["0", ""];
  return scaled(v, SCALES[unit] ?? SCALES.count);
}

/** A figure: `4.66 s`, `833 µs`, `17.6 GFLOP`. */
export function figure(v: Value, unit: Unit): string {
  const [number, name] = parts(v, unit);
  return name ? `${number} ${name}` : number;
}

/** The exact number with its unit, for titles and copies. */
export function exact(v: Value, unit: Unit): string {
  if (v === null || v === undefined || !Number.isFinite(v)) return "unknown";
  const number = Number.isInteger(v) ? grouped(v) : v.toLocaleString("en-US", { maximumFractionDigits: 6 });
  const name = unit === "share" ? "" : (SCALES[unit]?.[0] ?? "");
  return (name ? `${number} ${name}` : number).replace("-", "−");
}

/** A share with one decimal: `40.3 %`, `<0.1 %`. */
export function share(v: Value): string {
  if (v === null || v === undefined || !Number.isFinite(v)) return UNKNOWN;
  if (v === 0) return "0 %";
  if (Math.abs(v) < 0.0005) return v < 0 ? ">−0.1 %" : "<0.1 %";
  return `${sign(v)}${(Math.abs(v) * 100).toFixed(1)} %`;
}

/** A relative change with its sign. */
export function change(v: Value): string {
  if (v === null || v === undefined || !Number.isFinite(v)) return "";
  return v === 0 ? "0 %" : (v > 0 ? "+" : "") + share(v);
}

/** A difference with its sign. */
export function difference(v: Value, unit: Unit): string {
  return v && v > 0 ? `+${figure(v, unit)}` : figure(v, unit);
}

/** A change in percent with its sign, as the program has it. */
export function percent(v: Value): string {
  return v === null || v === undefined ? "" : change(v / 100);
}

export function count(v: number, one: string, many = `${one}s`): string {
  return `${grouped(v)} ${v === 1 ? one : many}`;
}

/** A step between the marks of an axis of which about `n` fit: 1, 2 or 5 times a power of ten. */
export function axisStep(span: number, n: number): number {
  const raw = span / Math.max(1, n);
  const power = 10 ** Math.floor(Math.log10(raw));
  const m = raw / power;
  return (m < 1.5 ? 1 : m < 3.5 ? 2 : m < 7.5 ? 5 : 10) * power;
}

/** Where an axis starts its steps for bytes: decimal as well, as the program counts. */
export function axisMarks(from: number, to: number, n: number, step = axisStep(to - from, n)): number[] {
  if (!(to > from) || !(step > 0)) return [];
  const marks = [];
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to + step * 1e-9; i++) marks.push(i * step || 0);
  return marks;
}

/** The time at a mark, with as many digits as tell it from its neighbours. */
export function axisTime(us: number, step: number): string {
  const far = Math.abs(us) >= 1e5;
  const [name, size] = step >= 1e4 || (far && step >= 1e3 && Math.abs(us) >= 1e7) ? ["s", 1e6] : step >= 10 || far ? ["ms", 1e3] : ["µs", 1];
  const decimals = Math.max(0, Math.ceil(-Math.log10(step / Number(size)) - 1e-9));
  return `${us < 0 ? "−" : ""}${(Math.abs(us) / Number(size)).toFixed(Math.min(6, decimals))} ${name}`;
}

/** Shortens a path from the front, since its end tells more. */
export function ending(path: string, chars: number): string {
  if (path.length <= chars) return path;
  const cut = path.slice(path.length - chars + 1);
  const slash = cut.indexOf("/");
  return "…" + (slash > 0 && slash < cut.length / 2 ? cut.slice(slash) : cut);
}
