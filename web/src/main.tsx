// Starts the page: data from the server, or from the report file that holds it.

import { effect } from "@preact/signals";
import { render, type JSX } from "preact";
import "./app.css";
import type { Meta } from "./api";
import { busy } from "./ask";
import { readTokens } from "./color";
import { Http, Refusal, Report } from "./source";
import { followAddress, go, meta, panel, setSource, source, state, theme } from "./store";
import { Empty, MissingState, sentence } from "./ui/bits";
import { Card, Toast } from "./ui/float";
import { Banner, LABELS, onKey, screensShown, Status, Tabs } from "./ui/frame";
import { Panel } from "./ui/panel";
import { Top } from "./ui/top";
import { Code } from "./screens/code";
import { Compare } from "./screens/compare";
import { Flame } from "./screens/flame";
import { Graph } from "./screens/graph";
import { Memory } from "./screens/memory";
import { Overview } from "./screens/overview";
import { Query } from "./screens/query";
import { Roofline } from "./screens/roofline";
import { Table } from "./screens/table";
import { Timeline } from "./screens/timeline";
import { format, type Screen } from "./state";

const VIEWS: Record<Screen, () => JSX.Element> = { overview: Overview, flame: Flame, table: Table, timeline: Timeline, graph: Graph, memory: Memory, code: Code, roofline: Roofline, compare: Compare, query: Query };

function Page(): JSX.Element {
  const word = state.value.screen;
  const row = meta.value.screens.find((screen) => screen.word === word);
  const View = VIEWS[word];
  const known = !row || row.known || word === "overview";
  return (
    <>
      <a class="skip" href="#screen" onClick={(event) => {
        event.preventDefault();
        document.getElementById("screen")?.focus();
      }}>Skip to the profile</a>
      <Top />
      <Tabs />
      <div class={panel.value ? "main" : "main noins"}>
        <main>
          <Banner />
          <div class="screen" id="screen" role="tabpanel" aria-labelledby={`tab-${word}`} aria-busy={busy} tabIndex={-1}>
            {known ? <View key={word} /> : <Absent word={word} />}
          </div>
        </main>
        {panel.value ? <Panel /> : null}
      </div>
      <Status />
      <Card />
      <Toast />
    </>
  );
}

/** What a screen lacks, with the lines that record it. */
function Absent({ word }: { word: Screen }): JSX.Element {
  const row = meta.value.screens.find((screen) => screen.word === word);
  const missing = row?.missing ?? meta.value.missing.find((m) => m.code === word || m.what.toLowerCase().includes(word));
  return missing ? <MissingState missing={missing} /> : <Empty title={`${LABELS[word]}: not in the data`} why={sentence(row?.why ?? "")} />;
}

function Failed({ error }: { error: Refusal }): JSX.Element {
  return <div class="failed"><div class="empty bad" role="alert"><h3>{error.message}</h3>{error.fix ? <p>{error.fix}</p> : null}</div></div>;
}

async function start(): Promise<void> {
  const root = document.getElementById("app") as HTMLElement;
  effect(() => {
    document.documentElement.dataset.theme = theme.value;
    readTokens();
  });
  try {
    const data = document.getElementById("tfprof-data");
    setSource(data ? await Report.read(data) : new Http());
    meta.value = await source.json<Meta>("meta", {});
  } catch (error) {
    const told = error instanceof Refusal ? error : new Refusal(error instanceof Error ? error.message : String(error), "error");
    render(<Failed error={told} />, root);
    return;
  }
  document.title = `tfprof: ${meta.value.title}`;
  if (!screensShown().includes(state.value.screen)) go({ screen: "overview" }, "replace");
  history.replaceState(null, "", format(state.value));
  followAddress();
  addEventListener("keydown", onKey);
  render(<Page />, root);
}

void start();
