// Where answers come from: the server over HTTP, or data inside a report file. Both answer the same requests.

import type { Missing } from "./api";

export type Params = Record<string, string | number | undefined>;

export interface Source {
  /** Whether any question can be asked; a report only answers those it was written with. */
  readonly live: boolean;
  json<T>(route: string, params: Params, signal?: AbortSignal): Promise<T>;
  bytes(route: string, params: Params, signal?: AbortSignal): Promise<ArrayBuffer>;
  /** Whether a report has the answer. */
  has(route: string, params: Params): boolean;
}

export type Why = "error" | "gone" | "absent" | "cancelled";

/** Why there is no answer, in one sentence. */
export class Refusal extends Error {
  option: string | null = null;
  fix: string | null = null;
  missing: Missing | null = null;
  constructor(message: string, readonly why: Why) {
    super(message);
  }
}

/** One spelling for each question: keys in order, empty values left out. It is the key of caches and of report files. */
export function spell(route: string, params: Params): string {
  const keys = Object.keys(params).filter((key) => params[key] !== undefined && params[key] !== "").sort();
  const query = keys.map((key) => `${key}=${encodeURIComponent(String(params[key]))}`).join("&");
  return query ? `${route}?${query}` : route;
}

export class Http implements Source {
  readonly live = true;

  has(): boolean {
    return true;
  }

  private async fetch(route: string, params: Params, signal?: AbortSignal): Promise<Response> {
    let response: Response;
    try {
      response = await fetch("/api/" + spell(route, params), { signal, credentials: "same-origin" });
    } catch (error) {
      if ((error as Error).name === "AbortError") throw error;
      throw new Refusal("tfprof web has ended", "gone");
    }
    if (response.ok) return response;
    throw await refusal(response);
  }

  async json<T>(route: string, params: Params, signal?: AbortSignal): Promise<T> {
    return (await this.fetch(route, params, signal)).json() as Promise<T>;
  }

  async bytes(route: string, params: Params, signal?: AbortSignal): Promise<ArrayBuffer> {
    return (await this.fetch(route, params, signal)).arrayBuffer();
  }
}

async function refusal(response: Response): Promise<Refusal> {
  let body: { error?: { message: string; option: string | null; fix: string | null; missing: Missing | null } } = {};
  try {
    body = await response.json();
  } catch {
    // The sentence below has the status.
  }
  if (!body.error) {
    const expired = response.status === 403 || response.status === 401;
    return new Refusal(expired ? "This page may no longer ask. Open the address that tfprof web prints." : `The server answered ${response.status}`, "error");
  }
  const told = new Refusal(body.error.message, "error");
  told.option = body.error.option;
  told.fix = body.error.fix;
  told.missing = body.error.missing;
  return told;
}

type Embedded = { version: number; answers: Record<string, unknown> };

/** Parameters that only say how much fits the screen; a report was written for one size. */
const SIZES = new Set(["px", "limit", "offset"]);

/** The data of a report file: a lookup by the key of the request. */
export class Report implements Source {
  readonly live = false;
  constructor(private readonly data: Embedded) {}

  static async read(element: HTMLElement): Promise<Report> {
    const text = atob((element.textContent ?? "").trim());
    const packed = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
    element.textContent = "";
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Report(JSON.parse(await new Response(stream).text()) as Embedded);
  }

  private find(route: string, params: Params): unknown {
    const kept = Object.fromEntries(Object.entries(params).filter(([key]) => !SIZES.has(key)));
    const answer = this.data.answers[spell(route, kept)];
    return answer === undefined && route === "names" ? this.data.answers["names"] : answer;
  }

  has(route: string, params: Params): boolean {
    return this.find(route, params) !== undefined;
  }

  async json<T>(route: string, params: Params): Promise<T> {
    const answer = this.find(route, params);
    if (answer === undefined) throw new Refusal("This report was written without that answer", "absent");
    return answer as T;
  }

  async bytes(route: string, params: Params): Promise<ArrayBuffer> {
    const { base64 } = await this.json<{ base64: string }>(route, params);
    const text = atob(base64);
    const out = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) out[i] = text.charCodeAt(i);
    return out.buffer;
  }
}
