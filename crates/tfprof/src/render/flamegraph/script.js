// Draws the boxes within the one that is zoomed to, and marks those that a search finds.
const svg = document.documentElement;
const ns = "http://www.w3.org/2000/svg";
const group = document.getElementById("boxes");
const hint = document.getElementById("hint");
const details = document.getElementById("details");
const count = boxes.length / 5;
const total = Math.max(boxes[2], 1);
let zoom = 0;
let sought = "";
let found = new Uint8Array(count);

const dark = window.matchMedia("(prefers-color-scheme: dark)");
dark.addEventListener("change", () => draw());

// The fill of a box: a hue of its family, and a shade of it.
function fill(tint) {
  if (!tint) return dark.matches ? "hsl(48,4%,26%)" : "hsl(48,6%,84%)";
  const hue = tint >> 3;
  const shade = tint & 7;
  if (dark.matches) return `hsl(${hue},${hue > 100 ? 46 : 60}%,${27 + 1.5 * shade}%)`;
  return `hsl(${hue},${hue > 100 ? 42 : 72}%,${80 - 2 * shade}%)`;
}

const scales = {
  count: [[1e9, "b"], [1e6, "m"], [1e3, "k"], [0, ""]],
  micros: [[1e6, "sec"], [1e3, "ms"], [0, "us"]],
  bytes: [[1e6, "MB"], [1e3, "KB"], [0, "B"]],
};

function figure(n) {
  const [least, suffix] = scales[unit].find(([least]) => n >= least) || [0, ""];
  return (least ? (n / least).toFixed(2) : String(n)) + suffix;
}

function parent(i) {
  let at = i - 1;
  while (at > 0 && boxes[5 * at] >= boxes[5 * i]) at--;
  return Math.max(at, 0);
}

function fullName(i) {
  const parts = [];
  for (let at = i; at > 0; at = parent(at)) parts.unshift(names[boxes[5 * at + 3]]);
  if (!parts.length) return names[boxes[3]];
  return scopes ? parts.join("/") : parts[parts.length - 1];
}

function describe(i) {
  const width = boxes[5 * i + 2];
  let text = `${fullName(i)}: ${figure(width)}, ${(100 * width / total).toFixed(2)}% of all`;
  if (i > 0) text += `, ${(100 * width / Math.max(boxes[5 * parent(i) + 2], 1)).toFixed(2)}% of the box around it`;
  return text;
}

function element(name, attributes, into) {
  const made = document.createElementNS(ns, name);
  for (const key in attributes) made.setAttribute(key, attributes[key]);
  into.appendChild(made);
  return made;
}

function draw() {
  const width = Math.max(window.innerWidth || 1200, 320);
  const inner = width - 2 * layout.margin;
  const from = boxes[5 * zoom + 1];
  const scale = inner / Math.max(boxes[5 * zoom + 2], 1);
  const fresh = document.createElementNS(ns, "g");
  let levels = 1;
  for (let i = 0; i < count; i++) {
    const [depth, start, span, name, tint] = boxes.slice(5 * i, 5 * i + 5);
    const around = i < zoom && depth < boxes[5 * zoom] && start <= from && start + span >= from + boxes[5 * zoom + 2];
    const left = Math.max((start - from) * scale, 0);
    const right = Math.min((start + span - from) * scale, inner);
    if (right - left < layout.narrowest && i !== zoom) continue;
    if (!around && (i < zoom || depth < boxes[5 * zoom])) continue;
    levels = Math.max(levels, depth + 1);
    const kind = "box" + (around ? " around" : "") + (found[i] ? " found" : "");
    const box = element("g", {class: kind, "data-box": i}, fresh);
    const [x, y] = [layout.margin + left, layout.head + depth * layout.row];
    element("rect", {x, y, width: Math.max(right - left - 0.5, 0.3), height: layout.row - 1, rx: 2, fill: fill(tint)}, box);
    const letters = Math.floor((right - left - 6) / layout.letter);
    if (letters > 2) {
      const text = Array.from(names[name]);
      const shown = text.length <= letters ? names[name] : text.slice(0, letters - 1).join("") + "\u2026";
      element("text", {x: x + 3, y: y + 13}, box).textContent = shown;
    }
  }
  group.replaceChildren(...fresh.childNodes);
  const height = layout.head + levels * layout.row + layout.foot;
  svg.removeAttribute("viewBox");
  svg.setAttribute("width", width);
  svg.setAttribute("height", Math.max(height, window.innerHeight || 0));
  details.setAttribute("y", height - 10);
  field.setAttribute("x", width - layout.margin - 260);
  tell();
}

// Boxes within a box that was found count only once.
function search(text) {
  sought = text;
  found = new Uint8Array(count);
  if (text) {
    let matches;
    try {
      const pattern = new RegExp(text, "i");
      matches = (name) => pattern.test(name);
    } catch {
      const plain = text.toLowerCase();
      matches = (name) => name.toLowerCase().includes(plain);
    }
    // Of a scope, whole names are searched, too: a/b is found although its box says b.
    const path = [];
    for (let i = 0; i < count; i++) {
      const [depth, , , name] = boxes.slice(5 * i, 5 * i + 5);
      path.length = depth;
      path.push(names[name]);
      found[i] = matches(names[name]) || (scopes && depth > 1 && matches(path.slice(1).join("/"))) ? 1 : 0;
    }
  }
  draw();
}

function tell() {
  const parts = [figure(boxes[2])];
  if (zoom) parts.push(`zoomed to ${fullName(zoom)} (Esc to go back)`);
  else parts.push("click a box to zoom in");
  if (sought) {
    let sum = 0, number = 0, end = -1;
    for (let i = 0; i < count; i++) {
      if (!found[i]) continue;
      number++;
      if (boxes[5 * i + 1] >= end) {
        sum += boxes[5 * i + 2];
        end = boxes[5 * i + 1] + boxes[5 * i + 2];
      }
    }
    parts.push(`found ${number} boxes with ${figure(sum)}, ${(100 * sum / total).toFixed(2)}% of all`);
  }
  hint.textContent = parts.join(" \u00b7 ");
}

const field = element("foreignObject", {x: 900, y: 12, width: 260, height: 34}, svg);
const input = document.createElementNS("http://www.w3.org/1999/xhtml", "input");
input.setAttribute("placeholder", "Search (regex)");
input.setAttribute("id", "search");
input.addEventListener("input", () => search(input.value));
field.appendChild(input);

function boxAt(event) {
  const box = event.target.closest && event.target.closest(".box");
  return box ? Number(box.getAttribute("data-box")) : -1;
}

group.addEventListener("click", (event) => {
  const i = boxAt(event);
  if (i < 0) return;
  zoom = i;
  draw();
});
group.addEventListener("mousemove", (event) => {
  const i = boxAt(event);
  if (i >= 0) details.textContent = describe(i);
});
group.addEventListener("mouseleave", () => { details.textContent = ""; });
window.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    if (sought) {
      input.value = "";
      search("");
    } else {
      zoom = 0;
      draw();
    }
  } else if ((event.key === "f" && (event.ctrlKey || event.metaKey)) || (event.key === "/" && event.target !== input)) {
    event.preventDefault();
    input.focus();
  }
});
// Boxes drawn here follow the theme, and so may their text.
group.setAttribute("class", "drawn");
window.addEventListener("resize", draw);
draw();
