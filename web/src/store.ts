// What the page knows: its state (the address), the model's description, the theme, and the answer of the screen.

import { computed, signal } from "@preact/signals";
import type { Answer, Meta } from "./api";
import { Refusal, type Params, type Source } from "./source";
import { apply, FILTERS, format, parse, splitSelection, type Change, type State } from "./state";

export const state = signal<State>(parse(location.hash));
export const meta = signal<Meta>(undefined as unknown as Meta);
export let source: Source;
export const setSource = (chosen: Source): void => {
  source = chosen;
};

/** Changes the state. What makes a new view is pushed, so that Back returns to it; the rest replaces. */
export function go(change: Change, how?: "push" | "replace"): void {
  const result = apply(state.value, change);
  if (!result) return;
  const push = how ? how === "push" : result.push;
  history[push ? "pushState" : "replaceState"](null, "", format(result.state));
  state.value = result.state;
}

/** Back and forward. A link typed into the address bar works too. */
export function followAddress(): void {
  const read = () => {
    if (format(parse(location.hash)) !== format(state.value)) state.value = parse(location.hash);
  };
  addEventListener("popstate", read);
  addEventListener("hashchange", read);
}

export const metric = computed(() => {
  const all = meta.value.metrics;
  const wanted = state.value.metric || meta.value.metric;
  return all.find((m) => m.word === wanted || m.key === wanted) ?? all.find((m) => m.word === meta.value.metric) ?? all[0];
});

export const leavesWarmUpOut = computed(() => state.value.warm === "1" && state.value.step === "" && meta.value.warm_up.can_leave_out);

const absent = (value: string, fallback: string): string | undefined => (value === fallback || value === "" ? undefined : value);

/** The parameters of the question that all screens share; defaults are left out, so that each question has one spelling. */
export const question = computed<Params>(() => {
  const s = state.value;
  const params: Params = {
    view: absent(s.view, "scope"),
    metric: absent(metric.value?.word ?? "", meta.value.metric),
    step: absent(s.step, ""),
    warm: leavesWarmUpOut.value ? 1 : undefined,
  };
  for (const filter of FILTERS) params[filter] = absent(s[filter], "");
  return params;
});

/** The question without its filters, for what is not a view: the overview, the panel of the whole. */
export const plainQuestion = computed<Params>(() => {
  const { metric: word, step, warm } = question.value;
  return { metric: word, step, warm };
});

export const selection = computed(() => splitSelection(state.value.sel));
/** Counts up when the reader asks to see the selection where it is; screens then move to it. */
export const reveal = signal(0);
export const select = (sel: string | null): void => go({ sel: sel ?? "" });

// The command in the status bar, and how the screen's answer fares.

export interface Progress { started: number; cancel: () => void }
export const shown = signal<Answer | null>(null);
export const progress = signal<Progress | null>(null);
/** Errors by the parameter at fault; "" for those that no chip shows. */
export const fault = signal<Refusal | null>(null);
export const gone = signal(false);

// Theme and panel are habits of the reader, not part of a link.

function remembered(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null; // Files from disk may have no storage.
  }
}
function remember(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // Then it is only for this visit.
  }
}

const systemDark = matchMedia("(prefers-color-scheme: dark)");
export const theme = signal<"light" | "dark">(chosenTheme());
function chosenTheme(): "light" | "dark" {
  const kept = remembered("tfprof-theme");
  return kept === "dark" || kept === "light" ? kept : systemDark.matches ? "dark" : "light";
}
systemDark.addEventListener("change", () => {
  theme.value = chosenTheme();
});
export function toggleTheme(): void {
  theme.value = theme.value === "dark" ? "light" : "dark";
  remember("tfprof-theme", theme.value);
}

export const panel = signal(remembered("tfprof-panel") !== "0");
export function togglePanel(): void {
  panel.value = !panel.value;
  remember("tfprof-panel", panel.value ? "1" : "0");
}

export const bannerClosed = signal(false);

// Short messages.

export const toast = signal("");
let toastTimer = 0;
export function say(text: string): void {
  toast.value = text;
  clearTimeout(toastTimer);
  toastTimer = window.setTimeout(() => (toast.value = ""), 1600);
}

export async function copy(text: string, name: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    say(`Copied ${name}`);
  } catch {
    copyByHand(text) ? say(`Copied ${name}`) : say("The browser does not let the page copy");
  }
}

/** Files from disk have no clipboard interface. */
function copyByHand(text: string): boolean {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "offscreen";
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}
