// Tabs, the banner of damaged input, the status bar, and the keys of the page.

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { NodeAnswer } from "../api";
import { useAnswer } from "../ask";
import { dirVar } from "../color";
import { count } from "../format";
import { action, HELP, isTyping } from "../keys";
import { SCREENS, type Screen } from "../state";
import { bannerClosed, copy, fault, go, gone, meta, progress, shown, state, togglePanel, toggleTheme } from "../store";
import { Icon, screenKeys, WARN } from "./bits";
import { closeMenu, hideTip, Menu, openMenu } from "./float";
import { nodeQuestion } from "./panel";

export const LABELS: Record<Screen, string> = { overview: "Overview", flame: "Flame", table: "Table", timeline: "Timeline", graph: "Graph", memory: "Memory", code: "Code", roofline: "Roofline", compare: "Compare", query: "Query" };

/** Screens without data are there and say so; a comparison needs a second profile, so it is there only with one. */
export function screensShown(): Screen[] {
  const known = new Map(meta.value.screens.map((s) => [s.word, s]));
  return SCREENS.filter((word) => {
    const row = known.get(word);
    return row && (row.known || word !== "compare");
  });
}

export function Tabs(): JSX.Element {
  const tabs = screensShown();
  const current = state.value.screen;
  const move = (event: KeyboardEvent) => {
    const at = tabs.indexOf(current);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const next = tabs[(to + tabs.length) % tabs.length] as Screen;
    go({ screen: next });
    document.getElementById(`tab-${next}`)?.focus();
  };
  return (
    <nav class="tabs" aria-label="Screens">
      <div role="tablist" class="tablist" onKeyDown={move}>
        {tabs.map((word, i) => (
          <button key={word} role="tab" id={`tab-${word}`} aria-controls="screen" aria-selected={word === current} tabIndex={word === current ? 0 : -1} title={`${LABELS[word]} (${(i + 1) % 10})`} onClick={() => go({ screen: word })}>{LABELS[word]}</button>
        ))}
      </div>
      <span class="sp" />
      {state.value.sel ? <SelectionChip /> : null}
    </nav>
  );
}

function SelectionChip(): JSX.Element {
  const node = useAnswer<NodeAnswer>("node", nodeQuestion());
  const mine = node.data && !node.waiting ? node.data : null;
  const path = state.value.sel.replace(/^\w+:/, "");
  const text = mine ? (mine.row.kind === "code" || state.value.sel.startsWith("line:") ? mine.title : path) : path;
  return (
    <span class="selchip" title={path}>
      <i class="sw" style={{ background: mine ? dirVar(mine.row.dir) : "var(--accent)" }} />
      <span class="mono cutfront"><bdi>{text}</bdi></span>
      <button aria-label="Clear the selection" title="Clear the selection (Esc)" onClick={() => go({ sel: "" })}>×</button>
    </span>
  );
}

export function Banner(): JSX.Element | null {
  const { losses } = meta.value;
  const [all, setAll] = useState(false);
  const first = losses[0];
  if (gone.value) {
    const again = `tfprof web ${meta.value.inputs}`;
    return (
      <div class="warnbar" role="alert">
        <Icon path={WARN} /><span><b>tfprof web has ended.</b> The figures on screen stay. To go on, run <code>{again}</code></span>
        <button onClick={() => void copy(again, "the command")}>Copy</button>
      </div>
    );
  }
  if (meta.value.nothing) return <div class="warnbar" role="alert"><Icon path={WARN} /><span><b>Nothing to show: </b>{meta.value.nothing}</span></div>;
  if (!first || bannerClosed.value) return null;
  const line = (loss: typeof first) => {
    // The program's sentence may begin with the file; once is enough.
    const rest = [loss.place, loss.message].filter(Boolean).map((part) => part.replaceAll(`${loss.file}: `, "").replaceAll(loss.file, "")).filter(Boolean);
    return <span title={loss.file}><code>{loss.file.split("/").pop()}</code>, {rest.join(": ")}</span>;
  };
  const strict = `tfprof web ${meta.value.inputs} --strict`;
  return (
    <div class="warnbar" role="alert">
      <Icon path={WARN} />
      <div class="losses">
        <span><b>Damaged input: </b>{line(first)}</span>
        {all ? losses.slice(1).map((loss, i) => <div key={i}>{line(loss)}</div>) : null}
      </div>
      {losses.length > 1 ? <button aria-expanded={all} onClick={() => setAll(!all)}>{all ? "Show one" : `Show all ${losses.length}`}</button> : null}
      <button title={strict} onClick={() => void copy(strict, "the command that refuses damaged files")}>Load strictly</button>
      <button class="x" aria-label="Close" onClick={() => (bannerClosed.value = true)}>×</button>
    </div>
  );
}

/** A command with its options set off. */
function Command({ text }: { text: string }): JSX.Element {
  const words = text.split(/(\s-{1,2}[a-z_]+|^tfprof)/);
  return <code class="cut" id="command" title={text}>{words.map((word, i) => (i % 2 ? <b key={i}>{word}</b> : word))}</code>;
}

export function Status(): JSX.Element {
  const answer = shown.value;
  const warnings = [...meta.value.warnings, ...(answer?.warnings ?? [])];
  const unique = [...new Map(warnings.map((w) => [w.message, w])).values()];
  const wait = progress.value;
  return (
    <footer class="status">
      <span class="pr" aria-hidden="true">$</span>
      <Command text={answer?.command ?? ""} />
      <button id="copy-command" title="Copy as command (c)" onClick={() => void copy(answer?.command ?? "", "the command")}>Copy</button>
      <button id="copy-python" title="Copy as Python (C)" onClick={() => void copy(answer?.python ?? "", "the Python call")}>as Python</button>
      {fault.value && fault.value.why === "error" ? <span class="fault" role="alert" title={fault.value.fix ?? ""}>{fault.value.message}</span> : null}
      {wait ? <Waiting started={wait.started} cancel={wait.cancel} /> : null}
      {unique.length ? (
        <Menu id="warnings" className="w" right label={<><Icon path={WARN} />{count(unique.length, "warning")}</>}>
          {() => <div class="warnlist">{unique.map((w) => <p key={w.message}>{w.message}</p>)}</div>}
        </Menu>
      ) : null}
      <span class="mut nums">{count(meta.value.nodes, "node")}{answer ? ` · ${answer.ms < 0.1 ? "<0.1" : answer.ms.toFixed(answer.ms < 10 ? 1 : 0)} ms` : ""}</span>
      <Menu id="help" className="help" right name="Keys" title="Keys (?)" label={<span class="kbd">?</span>}>
        {() => <><h4>Keys</h4>{HELP.map(([keys, text]) => <div class="row" key={keys}><span class="mono">{keys}</span><span>{text}</span></div>)}</>}
      </Menu>
    </footer>
  );
}

function Waiting({ started, cancel }: { started: number; cancel: () => void }): JSX.Element {
  const [now, tick] = useState(performance.now());
  useEffect(() => {
    const timer = setInterval(() => tick(performance.now()), 200);
    return () => clearInterval(timer);
  }, []);
  return <span class="waiting" role="status">answering, {((now - started) / 1000).toFixed(1)} s <button onClick={cancel}>Cancel</button></span>;
}

function stepBy(by: number): void {
  const steps = meta.value.steps;
  if (!steps.length) return;
  const at = steps.findIndex((s) => String(s.step) === state.value.step);
  const next = at < 0 ? (by > 0 ? 0 : steps.length - 1) : Math.max(0, Math.min(steps.length - 1, at + by));
  go({ step: String(steps[next]?.step) });
}

function escape(): void {
  if (openMenu.value) closeMenu();
  else if (state.value.find) go({ find: "" });
  else if (state.value.range) go({ range: "" });
  else if (state.value.sel) go({ sel: "" });
}

/** Keys of the page; what it does not know goes to the screen. */
export function onKey(event: KeyboardEvent): void {
  if (event.key === "Escape" && !isTyping(event.target)) {
    hideTip();
    return escape();
  }
  if (isTyping(event.target)) return;
  const known = openMenu.value ? null : action(event, screensShown());
  if (!known) {
    if (!openMenu.value && !event.ctrlKey && !event.metaKey && !event.altKey) for (const listener of screenKeys) listener(event);
    return;
  }
  event.preventDefault();
  if (known.startsWith("screen-")) return go({ screen: known.slice(7) as Screen });
  const deeds: Record<string, () => void> = {
    find: () => document.getElementById("find")?.focus(),
    metric: () => (openMenu.value = "metric"),
    step: () => (openMenu.value = meta.value.steps.length ? "step" : null),
    "step-before": () => stepBy(-1),
    "step-after": () => stepBy(1),
    warm: () => (meta.value.warm_up.can_leave_out ? go({ warm: state.value.warm === "1" ? "0" : "1" }) : undefined),
    command: () => void copy(shown.value?.command ?? "", "the command"),
    python: () => void copy(shown.value?.python ?? "", "the Python call"),
    link: () => void copy(location.href, "the link"),
    panel: togglePanel,
    theme: toggleTheme,
    help: () => (openMenu.value = "help"),
  };
  deeds[known]?.();
}
