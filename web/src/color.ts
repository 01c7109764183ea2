// Colours: tokens of the style sheet for canvas, and shades. Hue means direction: warm forward, cool gradient, grey other.

import type { Dir } from "./api";

let tokens: Record<string, string> = {};
let dark = false;
const NAMES = ["bg", "panel", "sunken", "hover", "line", "line2", "ink", "ink2", "ink3", "accent", "accent-soft", "accent-line", "fwd", "grad",
  "oth", "oth-soft", "fwd-soft", "grad-soft", "on-fill", "mark", "d-slow", "d-slow2", "d-mid", "d-fast2", "d-fast", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "warn"];

/** Reads the tokens of the theme that is set on the document. */
export function readTokens(): void {
  const style = getComputedStyle(document.documentElement);
  tokens = Object.fromEntries(NAMES.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  dark = document.documentElement.dataset.theme === "dark";
  shades.clear();
}
export const token = (name: string): string => tokens[name] ?? "#888";
export const isDark = (): boolean => dark;
export const dirToken = (dir: Dir): string => (dir === "g" ? "grad" : dir === "f" ? "fwd" : "oth");
export const dirVar = (dir: Dir): string => `var(--${dirToken(dir)})`;
export const DIRS: readonly Dir[] = ["", "f", "g", "o"];

/** Op types in families, so that a family keeps its colour on every screen. */
const FAMILIES: ReadonlyArray<[RegExp, string, string]> = [
  [/backprop_?filter|bwd_?filter|weight.?grad/i, "s1", "filter gradient"],
  [/backprop_?input|bwd_?data|input.?grad/i, "s5", "input gradient"],
  [/^(_fused)?(depthwise)?conv|matmul|gemm|einsum|^dot|^convolution|linear|addmm|attention/i, "s2", "convolution, matmul"],
  [/^(select|where|relu|leaky|elu|selu|gelu|silu|swish|sigmoid|tanh|softmax|logsoftmax|softplus|less|greater|max(imum)?$|min(imum)?$|erf|exp|log)/i, "s7", "activation"],
  [/^(sum|mean|prod|max$|min$|reduce|argmax|argmin|all$|any$|avgpool|maxpool|pool|norm|batchnorm|fusedbatchnorm|layernorm|moments|bias_?add_?grad)/i, "s6", "reduction, norm"],
  [/^(tile|fill|reshape|pad|cast|shape|identity|expand|squeeze|const|slice|strided|broadcast|transpose|copy|concat|split|gather|scatter|zeros|ones|memcpy|memset|convert|bitcast|pack|unpack|iota)/i, "s4", "copy and shape"],
  [/^(mul|add|sub|neg|rsqrt|sqrt|square|realdiv|div|pow|bias|assign|apply|resourceapply|fusion|loop_|input_|elementwise|abs|sign|floor|and$|or$|not$|xor)/i, "s3", "element-wise"],
];
const OTHER: readonly [string, string] = ["s8", "other"];
const families = new Map<string, readonly [string, string]>();

export function family(op: string): readonly [string, string] {
  let found = families.get(op);
  if (!found) {
    const row = FAMILIES.find(([pattern]) => pattern.test(op));
    found = op && row ? [row[1], row[2]] : OTHER;
    families.set(op, found);
  }
  return found;
}
export const FAMILY_KEYS: ReadonlyArray<readonly [string, string]> = [...FAMILIES.map((row) => [row[1], row[2]] as const), OTHER];

export function hash(text: string): number {
  let h = 2166136261;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
  return (h >>> 0) / 4294967296;
}

export type ColorMode = "dir" | "op" | "unit";
const shades = new Map<number, string>();

/** The shade of a box: its unit's place sets the hue within the family, its name only the lightness. */
export function shade(dir: Dir, unit: number, name: number, depth: number): string {
  const place = Math.round(Math.min(1, Math.max(0, unit || 0)) * 15);
  const light = Math.abs(name) % 8;
  const level = Math.min(depth, 7);
  const key = ((place * 8 + light) * 8 + level) * 4 + DIRS.indexOf(dir);
  let css = shades.get(key);
  if (css) return css;
  const p = place / 15;
  const k = light / 7;
  let h = 50, s = 4, l = dark ? 27 + k * 5 : 84 - k * 5;
  if (dir === "g") [h, s, l] = [174 + p * 26, dark ? 34 : 42, dark ? 25 + k * 7 : 80 - k * 9];
  else if (dir === "f") [h, s, l] = [44 - p * 18, dark ? 44 : 76, dark ? 26 + k * 6 : 82 - k * 8];
  css = `hsl(${h.toFixed(0)} ${s}% ${(l + (dark ? 1 : -1) * level * 0.4).toFixed(1)}%)`;
  shades.set(key, css);
  return css;
}

/** A hue for each unit, without regard to direction. */
export function unitShade(unit: number, name: number): string {
  const hue = Math.round((unit || 0) * 11) * 28 + 20;
  const k = (Math.abs(name) % 8) / 7;
  return `hsl(${hue % 360} ${dark ? 26 : 46}% ${(dark ? 31 + k * 6 : 79 - k * 7).toFixed(1)}%)`;
}

/** From half (-1) to double (1): blue over the ground to red. */
export function diverge(v: number): string {
  const stops = ["d-fast", "d-fast2", "d-mid", "d-slow2", "d-slow"];
  const at = (Math.min(1, Math.max(-1, v)) + 1) * 2;
  const low = Math.min(3, Math.floor(at));
  return mix(token(stops[low] as string), token(stops[low + 1] as string), at - low);
}

/** The ink that reads best on a ground. */
export function inkOn(css: string): string {
  const light = (of: string) => {
    const [r, g, b] = channels(of).map((v) => ((v / 255 + 0.055) / 1.055) ** 2.4) as [number, number, number];
    return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  };
  const ground = light(css);
  return ground > 0.25 ? "#1b1c1f" : "#f6f5f1";
}

export function channels(css: string): [number, number, number] {
  if (css.startsWith("#")) {
    const full = css.length === 4 ? [...css.slice(1)].map((c) => c + c).join("") : css.slice(1);
    return [0, 2, 4].map((at) => parseInt(full.slice(at, at + 2), 16)) as [number, number, number];
  }
  if (css.startsWith("hsl")) {
    const [h = 0, s = 0, l = 0] = (css.match(/[\d.]+/g) ?? []).map(Number);
    const a = (s / 100) * Math.min(l / 100, 1 - l / 100);
    const f = (n: number) => {
      const k = (n + h / 30) % 12;
      return Math.round(255 * (l / 100 - a * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
    };
    return [f(0), f(8), f(4)];
  }
  const [r = 0, g = 0, b = 0] = (css.match(/[\d.]+/g) ?? []).map(Number);
  return [r, g, b];
}

export function mix(a: string, b: string, t: number): string {
  const x = channels(a);
  const y = channels(b);
  return `rgb(${x.map((v, i) => Math.round(v + ((y[i] as number) - v) * t)).join(" ")})`;
}

/** A colour as a texel of ImageData; all browsers in question are little-endian. */
export function texel(css: string): number {
  const [r, g, b] = channels(css);
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}
