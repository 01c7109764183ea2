// A canvas that shows a window of something taller: the canvas stays, its picture scrolls.

import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { surface, type Surface } from "../canvas";
import { theme } from "../store";
import { useSize } from "./bits";

export interface Paint { (surface: Surface, scroll: number): void }

interface Props {
  content: number;
  paint: Paint;
  label: string;
  id: string;
  className?: string;
  onScreen?: (canvas: HTMLCanvasElement) => void;
  events?: Partial<Record<"onClick" | "onMouseMove" | "onMouseLeave" | "onPointerDown" | "onPointerMove" | "onPointerUp" | "onDblClick", (event: never) => void>>;
  scroller?: { current: HTMLDivElement | null };
  /** Filled with a function that repaints with the next frame. */
  handle?: { current: () => void };
}

/** Repaints once per frame when something changed. `redraw` asks for that from outside. */
export function useFrames(paint: () => void): () => void {
  const latest = useRef(paint);
  latest.current = paint;
  const frame = useRef(0);
  useEffect(() => () => cancelAnimationFrame(frame.current), []);
  return useRef(() => {
    if (frame.current) return;
    frame.current = requestAnimationFrame(() => {
      frame.current = 0;
      latest.current();
    });
  }).current;
}

export function ScrollCanvas({ content, paint, label, id, className, onScreen, events, scroller, handle }: Props): JSX.Element {
  const [box, size] = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const draw = () => {
    const element = canvas.current;
    const host = box.current;
    if (!element || !host || !size.width || !size.height) return;
    paint(surface(element, size.width, size.height), host.scrollTop);
  };
  const later = useFrames(draw);
  if (handle) handle.current = later;
  useLayoutEffect(draw, [paint, size.width, size.height, theme.value, content]);
  useEffect(() => {
    if (canvas.current && onScreen) onScreen(canvas.current);
    if (scroller) scroller.current = box.current;
  }, []);
  return (
    <div class={`canv ${className ?? ""}`} ref={box} onScroll={later}>
      <div style={{ height: `${Math.max(content, size.height)}px` }}>
        <canvas ref={canvas} id={id} tabIndex={0} role="img" aria-label={label} {...(events as object)} />
      </div>
    </div>
  );
}
