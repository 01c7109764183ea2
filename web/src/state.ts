// The page's state as text: everything that a link shares. Names are those of tfprof's options.

export const SCREENS = ["overview", "flame", "table", "timeline", "graph", "memory", "code", "roofline", "compare", "query"] as const;
export type Screen = (typeof SCREENS)[number];
export const FILTERS = ["account", "start", "trim", "show", "hide"] as const;
export type Filter = (typeof FILTERS)[number];

/** Every key with its default; defaults are left out of the address. An empty metric or view is the model's first. */
export const DEFAULTS = {
  screen: "overview" as Screen,
  step: "",
  metric: "",
  view: "scope",
  color: "dir",
  sel: "",
  zoom: "",
  invert: "",
  around: "",
  order: "",
  find: "",
  account: "",
  start: "",
  trim: "",
  show: "",
  hide: "",
  cols: "",
  sort: "",
  warm: "1",
  expand: "",
  t: "",
  range: "",
  file: "",
  calls: "",
  device: "",
  by: "op",
  swap: "",
  hardware: "",
  peak_flops: "",
  peak_bandwidth: "",
  sql: "",
};
export type State = { -readonly [K in keyof typeof DEFAULTS]: (typeof DEFAULTS)[K] };

/** Changes to these make a new entry in the history; changes to the others replace the present one. */
const PUSHES: ReadonlySet<string> = new Set(["screen", "zoom", "view", "file", "invert", "around", "swap", "sql", ...FILTERS]);

export const isScreen = (word: string): word is Screen => (SCREENS as readonly string[]).includes(word);

export function parse(hash: string): State {
  const [path = "", query = ""] = hash.replace(/^#?\/?/, "").split(/\?(.*)/s);
  const state: State = { ...DEFAULTS };
  if (isScreen(path)) state.screen = path;
  for (const [key, value] of new URLSearchParams(query)) {
    if (key in DEFAULTS && key !== "screen") (state as Record<string, string>)[key] = value;
  }
  return state;
}

export function format(state: State): string {
  const query = Object.entries(state).filter(([key, value]) => key !== "screen" && value !== DEFAULTS[key as keyof State]);
  const words = query.map(([key, value]) => `${key}=${readable(value)}`);
  return `#/${state.screen}${words.length ? "?" + words.join("&") : ""}`;
}

/** Escapes only what an address or URLSearchParams would misread, so that links stay readable. */
function readable(value: string): string {
  return encodeURIComponent(value).replace(/%(2F|3A|2C|40|24)/gi, (escaped) => decodeURIComponent(escaped));
}

export type Change = Partial<State>;

/** Applies a change; null if nothing differs. `push` says whether Back should return to the state before. */
export function apply(state: State, change: Change): { state: State; push: boolean } | null {
  const next = { ...state, ...change };
  const changed = (Object.keys(next) as (keyof State)[]).filter((key) => next[key] !== state[key]);
  if (!changed.length) return null;
  return { state: next, push: changed.some((key) => PUSHES.has(key)) };
}

/** A selection is "KIND:PATH"; paths may hold colons. */
export function splitSelection(sel: string): { kind: string; path: string } | null {
  const at = sel.indexOf(":");
  return at < 1 ? null : { kind: sel.slice(0, at), path: sel.slice(at + 1) };
}

/** "hide:save.*" typed into the box becomes a chip. */
export function chip(text: string): { filter: Filter; pattern: string } | null {
  const match = /^(account|start|trim|show|hide):\s*(\S.*)$/.exec(text.trim());
  return match ? { filter: match[1] as Filter, pattern: (match[2] as string).trim() } : null;
}

/** Adds a pattern to a list of patterns, once. */
export function addPattern(list: string, pattern: string): string {
  const have = list ? list.split(",") : [];
  return have.includes(pattern) ? list : [...have, pattern].join(",");
}

/** A name as a pattern that matches nothing else; commas separate patterns, so they become dots. */
export function literal(name: string): string {
  return name.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&").replaceAll(",", ".");
}

/** Two numbers as "from~to". */
export function span(text: string): [number, number] | null {
  const match = /^(-?[\d.]+(?:e[+-]?\d+)?)~(-?[\d.]+(?:e[+-]?\d+)?)$/.exec(text);
  if (!match) return null;
  const from = Number(match[1]);
  const to = Number(match[2]);
  return Number.isFinite(from) && Number.isFinite(to) && to > from ? [from, to] : null;
}
