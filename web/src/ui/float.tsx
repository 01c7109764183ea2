// What floats: menus, the hover card, the toast. One of each at a time.

import { signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { toast } from "../store";

// Menus.

export const openMenu = signal<string | null>(null);
export const closeMenu = (): void => {
  openMenu.value = null;
};

interface MenuProps { id: string; label: ComponentChildren; title?: string; name?: string; className?: string; right?: boolean; disabled?: boolean; children: () => ComponentChildren }

/** A button with a menu; the menu's content is made when it opens. */
export function Menu({ id, label, title, name, className = "btn", right, disabled, children }: MenuProps): JSX.Element {
  const button = useRef<HTMLButtonElement>(null);
  const open = openMenu.value === id;
  return (
    <>
      <button ref={button} id={`b-${id}`} class={className} title={title} aria-label={name} aria-haspopup="menu" aria-expanded={open} disabled={disabled} onClick={() => (openMenu.value = open ? null : id)}>{label}</button>
      {open ? <Popup anchor={button} right={right}>{children()}</Popup> : null}
    </>
  );
}

function Popup({ anchor, right, children }: { anchor: { current: HTMLElement | null }; right?: boolean; children: ComponentChildren }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const menu = box.current;
    const from = anchor.current?.getBoundingClientRect();
    if (!menu || !from) return;
    const { width, height } = menu.getBoundingClientRect();
    const left = right ? from.right - width : from.left;
    const above = from.bottom + 4 + height > innerHeight && from.top - 4 - height > 0;
    menu.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8))}px`;
    menu.style.top = `${above ? from.top - 4 - height : from.bottom + 4}px`;
    (menu.querySelector<HTMLElement>("[aria-checked=true]") ?? menu.querySelector<HTMLElement>("button:not([disabled])"))?.focus();
    return () => {
      if (menu.contains(document.activeElement) || document.activeElement === document.body) anchor.current?.focus();
    };
  }, []);
  useEffect(() => {
    const outside = (event: Event) => {
      const target = event.target as Node;
      if (!box.current?.contains(target) && !anchor.current?.contains(target)) closeMenu();
    };
    addEventListener("pointerdown", outside, true);
    return () => removeEventListener("pointerdown", outside, true);
  }, []);
  const move = (event: KeyboardEvent) => {
    const items = [...(box.current?.querySelectorAll<HTMLElement>("button:not([disabled])") ?? [])];
    const at = items.indexOf(document.activeElement as HTMLElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
    if (event.key === "Tab") return closeMenu();
    if (to === undefined || !items.length) return;
    event.preventDefault();
    event.stopPropagation();
    items[(to + items.length) % items.length]?.focus();
  };
  return <div ref={box} class="menu" role="menu" onKeyDown={move}>{children}</div>;
}

interface ItemProps { label: ComponentChildren; note?: ComponentChildren; on?: boolean; off?: boolean; keep?: boolean; pick: () => void }
export function MenuItem({ label, note, on, off, keep, pick }: ItemProps): JSX.Element {
  const choose = () => {
    if (!keep) closeMenu();
    pick();
  };
  return (
    <button role={on === undefined ? "menuitem" : "menuitemradio"} aria-checked={on} disabled={off} onClick={choose}>
      <span>{label}</span>
      <small>{note}</small>
    </button>
  );
}

// The hover card.

interface Tip { x: number; y: number; content: ComponentChildren }
const tip = signal<Tip | null>(null);
let tipTimer = 0;

/** Shows a card near the pointer, after a moment; never under it. */
export function showTip(event: { clientX: number; clientY: number }, content: () => ComponentChildren): void {
  const { clientX: x, clientY: y } = event;
  clearTimeout(tipTimer);
  const show = () => (tip.value = { x, y, content: content() });
  if (tip.value) show();
  else tipTimer = window.setTimeout(show, 80);
}
export function hideTip(): void {
  clearTimeout(tipTimer);
  tip.value = null;
}

export function Card(): JSX.Element | null {
  const box = useRef<HTMLDivElement>(null);
  const now = tip.value;
  useLayoutEffect(() => {
    const card = box.current;
    if (!card || !now) return;
    const { width, height } = card.getBoundingClientRect();
    const x = now.x + 14 + width > innerWidth - 8 ? now.x - width - 12 : now.x + 14;
    const y = now.y + 16 + height > innerHeight - 8 ? now.y - height - 12 : now.y + 16;
    card.style.left = `${Math.max(4, x)}px`;
    card.style.top = `${Math.max(4, y)}px`;
  }, [now]);
  return now ? <div ref={box} class="tip" role="tooltip">{now.content}</div> : null;
}

export function Toast(): JSX.Element {
  return <div class={toast.value ? "toast on" : "toast"} role="status">{toast.value}</div>;
}
