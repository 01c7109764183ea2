// Canvas helpers: sharp pixels at any zoom of the browser, and text cut to fit.

export const SANS = 'Inter,-apple-system,BlinkMacSystemFont,"Segoe UI","Noto Sans","Liberation Sans",sans-serif';

export interface Surface { g: CanvasRenderingContext2D; width: number; height: number; ratio: number }

/** Sizes a canvas to its place and returns a context in CSS pixels. */
export function surface(canvas: HTMLCanvasElement, width: number, height: number): Surface {
  const ratio = window.devicePixelRatio || 1;
  const w = Math.max(1, Math.round(width * ratio));
  const h = Math.max(1, Math.round(height * ratio));
  if (canvas.width !== w) canvas.width = w;
  if (canvas.height !== h) canvas.height = h;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const g = canvas.getContext("2d", { alpha: false }) as CanvasRenderingContext2D;
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.textBaseline = "middle";
  return { g, width, height, ratio };
}

const widths = new Map<string, number>();
export function textWidth(g: CanvasRenderingContext2D, text: string): number {
  const key = g.font + "\n" + text;
  let width = widths.get(key);
  if (width === undefined) {
    if (widths.size > 50_000) widths.clear();
    width = g.measureText(text).width;
    widths.set(key, width);
  }
  return width;
}

const fits = new Map<string, string>();

/** Cuts a name to a width. Its end tells it from its neighbours, so a numbered or long name keeps it. */
export function fit(g: CanvasRenderingContext2D, text: string, room: number): string {
  if (room < 8) return "";
  if (textWidth(g, text) <= room) return text;
  const key = `${g.font}\n${Math.round(room)}\n${text}`;
  const known = fits.get(key);
  if (known !== undefined) return known;
  if (fits.size > 20_000) fits.clear();
  const cut = cutTo(g, text, room);
  fits.set(key, cut);
  return cut;
}

function cutTo(g: CanvasRenderingContext2D, text: string, room: number): string {
  // A number at the end tells like names apart: cut the middle.
  const number = /[._]?\d{1,4}$/.exec(text)?.[0] ?? "";
  for (let head = text.length - number.length - 1; number && head > 1; head--) {
    const cut = `${text.slice(0, head)}…${number}`;
    if (textWidth(g, cut) <= room) return cut;
  }
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (textWidth(g, text.slice(0, middle) + "…") <= room) low = middle;
    else high = middle - 1;
  }
  const parts = text.split(/(?<=[/_])/);
  for (let i = 1; i < parts.length; i++) {
    const tail = parts.slice(i).join("");
    // A short rest, such as `LL(…)` of a kernel, tells less than the beginning.
    if (tail.length > 1 && 2 * tail.length > low && textWidth(g, tail) <= room) return tail;
  }
  return low > 1 ? text.slice(0, low) + "…" : "";
}
