// Sorting by the heads of columns, search, and commands that copy themselves. Without it the page is complete, but still.
"use strict";
const page = document.querySelector(".tfprof");
const all = (selector, from = page) => Array.from(from.querySelectorAll(selector));

// A figure as it is printed: 1.20k, 3.40MB, 5.60ms, +7, 1,234, 12.34%.
const units = { k: 1e3, m: 1e6, b: 1e9, KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, ms: 1e3, sec: 1e6,
  kFLOP: 1e3, MFLOP: 1e6, GFLOP: 1e9, TFLOP: 1e12, PFLOP: 1e15 };
function figure(text) {
  const parts = /^\u2265?\s*([+\u2212-]?)\s*([\d.,]*\d(?:e[+-]?\d+)?)\s*([A-Za-z]*)/.exec(text.trim());
  if (!parts) return null;
  const size = Number(parts[2].replace(/,/g, "")) * (units[parts[3]] || 1);
  return parts[1] && parts[1] !== "+" ? -size : size;
}

function compare(a, b) {
  if (a.figure !== null && b.figure !== null) return a.figure - b.figure;
  if (a.figure !== null || b.figure !== null) return a.figure === null ? -1 : 1;
  return a.text.localeCompare(b.text, undefined, { numeric: true });
}

// Sorts the items of a list; direction 0 brings back the first order.
const places = new WeakMap();
function sort(list, items, cell, direction, figures) {
  items.forEach((item, i) => { if (!places.has(item)) places.set(item, i); });
  const keyed = items.map((item) => {
    const text = (cell(item) || list).textContent.trim();
    return { item, text, figure: figures ? figure(text) : null, place: places.get(item) };
  });
  keyed.sort((a, b) => (direction && direction * compare(a, b)) || a.place - b.place);
  const rest = Array.from(list.children).filter((child) => child.classList.contains("more"));
  list.append(...keyed.map(({ item }) => item), ...rest);
}

function sortable(heads, isNumber, apply) {
  let [last, direction] = [-1, 0];
  heads.forEach((head, column) => {
    head.classList.add("sorts");
    head.tabIndex = 0;
    const click = () => {
      const first = isNumber(head) ? -1 : 1;
      direction = last !== column || !direction ? first : direction === first ? -first : 0;
      last = column;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      if (direction) head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
      apply(column, direction, isNumber(head));
    };
    head.addEventListener("click", click);
    head.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      click();
    });
  });
}

const rowOf = (item) => (item.tagName === "DETAILS" ? item.firstElementChild : item);
const isRow = (child) => child.tagName === "DETAILS" || (child.classList.contains("r") && !child.classList.contains("h"));
for (const tree of all(".tree")) {
  const head = tree.querySelector(".h");
  if (!head) continue;
  sortable(Array.from(head.children), (cell) => cell.classList.contains("c"), (column, direction, figures) => {
    for (const list of [tree, ...all(".k", tree)]) {
      sort(list, Array.from(list.children).filter(isRow), (item) => rowOf(item).children[column], direction, figures);
    }
  });
}
for (const table of all("table:not(.facts)")) {
  const heads = all("thead th", table);
  const body = table.tBodies[0];
  sortable(heads, (cell) => cell.classList.contains("num"), (column, direction, figures) =>
    sort(body, Array.from(body.rows), (row) => row.cells[column], direction, figures));
}

// Search: what matches is shown with everything around it, and all that lies within.
const label = page.querySelector(".find");
const input = label.querySelector("input");
const found = label.querySelector("output");
const items = all(".tree details, .tree .r").filter((item) => isRow(item) && item.tagName !== "SUMMARY");
const lines = all("table:not(.facts) tbody tr");
const opened = new Map();
label.hidden = !items.length && !lines.length;

function textOf(item) {
  const name = item.querySelector(".n");
  return `${name ? name.title : ""} ${item.textContent}`.toLowerCase();
}

function search(text) {
  const sought = text.trim().toLowerCase();
  if (!opened.size) items.forEach((item) => opened.set(item, item.open));
  items.forEach((item) => {
    item.hidden = Boolean(sought);
    if (!sought) item.open = opened.get(item);
  });
  if (!sought) opened.clear();
  let count = 0;
  const shown = new Set();
  for (const item of sought ? items : []) {
    if (!textOf(rowOf(item)).includes(sought)) {
      if (shown.has(item.parentElement.closest("details"))) {
        shown.add(item);
        item.hidden = false;
      }
      continue;
    }
    count++;
    shown.add(item);
    item.hidden = false;
    for (let at = item.parentElement.closest("details"); at && (at.hidden || !at.open); at = at.parentElement.closest("details")) {
      at.hidden = false;
      at.open = true;
    }
  }
  for (const line of lines) {
    line.hidden = Boolean(sought) && !line.textContent.toLowerCase().includes(sought);
    if (sought && !line.hidden) count++;
  }
  found.textContent = sought ? `${count} found` : "";
}
input.addEventListener("input", () => search(input.value));
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== input && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    input.focus();
  } else if (event.key === "Escape" && input.value) {
    input.value = "";
    search("");
  }
});

// Commands.
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    page.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}
page.addEventListener("click", (event) => {
  const command = event.target.closest(".cmd");
  if (!command) return;
  event.preventDefault();
  copy(command.dataset.copy || command.textContent);
  command.classList.add("copied");
  setTimeout(() => command.classList.remove("copied"), 1200);
});
