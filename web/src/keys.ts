// The keyboard map, as data: the help reads it, the page obeys it, a test checks it for clashes.

import { SCREENS, type Screen } from "./state";

export type Action =
  | "find" | "metric" | "step" | "step-before" | "step-after" | "warm" | "command" | "python" | "panel" | "theme" | "help"
  | "link" | `screen-${Screen}`;

export interface Stroke { key: string; shift?: boolean }

/** Keys that mean the same on every screen. Arrows, Enter, Backspace and the timeline's letters belong to the screens. */
export const KEYS: ReadonlyArray<{ keys: string[]; action: Action }> = [
  { keys: ["/"], action: "find" },
  { keys: ["m"], action: "metric" },
  { keys: ["s"], action: "step" },
  { keys: ["["], action: "step-before" },
  { keys: ["]"], action: "step-after" },
  { keys: ["w"], action: "warm" },
  { keys: ["c"], action: "command" },
  { keys: ["C"], action: "python" },
  { keys: ["l"], action: "link" },
  { keys: ["i"], action: "panel" },
  { keys: ["t"], action: "theme" },
  { keys: ["?"], action: "help" },
];

export const HELP: ReadonlyArray<[string, string]> = [
  ["1 … 9  0", "screens"],
  ["/", "find, or filter"],
  ["m  s", "metric, step"],
  ["[  ]", "step before, after"],
  ["w", "leave out warm-up"],
  ["↑ ↓ ← →", "move, open, close"],
  ["Enter", "zoom in, or open"],
  ["Backspace", "zoom out"],
  ["a d + −", "timeline: move, zoom"],
  ["f", "timeline: fit the selection"],
  ["Ctrl Enter", "query: run the statement"],
  ["c  C", "copy as command, as Python"],
  ["l", "copy a link to this view"],
  ["i  t", "panel, theme"],
  ["Esc", "close menu, find, selection"],
  ["?", "all keys"],
];

/** The action of a key, or null if the screen may have it. `shown` lists the screens in the order of their tabs. */
export function action(event: { key: string; ctrlKey: boolean; metaKey: boolean; altKey: boolean }, shown: readonly Screen[] = SCREENS): Action | null {
  if (event.ctrlKey || event.metaKey || event.altKey) return null;
  if (/^[0-9]$/.test(event.key)) {
    const screen = shown[(Number(event.key) + 9) % 10];
    return screen ? `screen-${screen}` : null;
  }
  return KEYS.find((row) => row.keys.includes(event.key))?.action ?? null;
}

/** Whether keys typed here are text. */
export function isTyping(target: EventTarget | null): boolean {
  const element = target as HTMLElement | null;
  return !!element && /^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName);
}
