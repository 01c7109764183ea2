// Asks a question from a component. The old answer stays until the new one is here.

import { computed, signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Answer } from "./api";
import { Lru } from "./lru";
import { Refusal, spell, type Params } from "./source";
import { fault, gone, progress, shown, source } from "./store";

const DIM = 150; // ms until an old answer dims
const SLOW = 400; // ms until the status bar offers to cancel

/** How many questions are under way; the screen is busy while there are any. */
const underWay = signal(0);
export const busy = computed(() => (underWay.value > 0 ? "true" : "false"));

const answers = new Lru<string, unknown>(120);

export interface Asked<T> {
  data: T | null;
  /** The question of `data` is not the one asked now, and has not been for 150 ms. */
  dim: boolean;
  waiting: boolean;
  error: Refusal | null;
}

interface Late { key: string; dim: boolean; error: Refusal | null }

/** Fetches through the cache. */
export async function fetchAnswer<T>(route: string, params: Params, abort?: AbortSignal): Promise<T> {
  const key = spell(route, params);
  const cached = answers.get(key) as T | undefined;
  if (cached !== undefined) return cached;
  underWay.value++;
  try {
    const data = await source.json<T>(route, params, abort);
    answers.set(key, data);
    return data;
  } finally {
    underWay.value--;
  }
}

/** `main` marks the answer whose command the status bar shows. A null question is not asked. */
export function useAnswer<T extends Answer>(route: string, params: Params | null, main = false): Asked<T> {
  const key = params ? spell(route, params) : null;
  const kept = useRef<{ key: string; data: T } | null>(null);
  const [, redraw] = useState(0);
  const late = useRef<Late>({ key: "", dim: false, error: null });

  // What is cached is there in the same frame.
  if (key && kept.current?.key !== key) {
    const cached = answers.get(key) as T | undefined;
    if (cached !== undefined) kept.current = { key, data: cached };
  }
  const ready = kept.current?.key === key;

  useEffect(() => {
    if (!key || !params || kept.current?.key === key) return;
    const control = new AbortController();
    let left = false;
    const here: Late = { key, dim: false, error: null };
    late.current = here;
    const dim = setTimeout(() => {
      here.dim = true;
      redraw((n) => n + 1);
    }, DIM);
    const started = performance.now();
    const slow = setTimeout(() => {
      if (main) progress.value = { started, cancel: () => control.abort() };
    }, SLOW);
    const end = () => {
      clearTimeout(dim);
      clearTimeout(slow);
      here.dim = false;
      if (main && progress.value?.started === started) progress.value = null;
    };
    fetchAnswer<T>(route, params, control.signal).then(
      (data) => {
        end();
        if (left) return;
        kept.current = { key, data };
        if (main) fault.value = null;
        gone.value = false;
        redraw((n) => n + 1);
      },
      (error: unknown) => {
        end();
        if (left) return;
        if ((error as Error).name === "AbortError") {
          here.error = new Refusal("The question was cancelled", "cancelled");
          return redraw((n) => n + 1);
        }
        here.error = error instanceof Refusal ? error : new Refusal(String(error), "error");
        if (here.error.why === "gone") gone.value = true;
        if (main) fault.value = here.error;
        redraw((n) => n + 1);
      },
    );
    // Whoever leaves while a question is under way finds its answer on return; only Cancel ends it.
    return () => {
      left = true;
      end();
    };
  }, [key]);

  // The command changes in the same frame as what it explains.
  useLayoutEffect(() => {
    if (main && ready && kept.current) {
      shown.value = kept.current.data;
      fault.value = null;
    }
  }, [main, key, ready]);

  const mine = late.current.key === key ? late.current : null;
  return { data: kept.current?.data ?? null, dim: !ready && !!mine?.dim, waiting: !ready && !mine?.error, error: ready ? null : (mine?.error ?? null) };
}
