// Inputs that the tests write themselves: names that would run if the page made HTML of them, and nothing at all.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export const EVIL = ["<img src=x onerror=alert(1)>", "</script><script>alert(2)</script>", "\"><svg onload=alert(3)>", "javascript:alert(4)", "${alert(5)}{{alert(6)}}"];

const quoted = (text) => JSON.stringify(text);

/** A graph and a run whose names, op types, devices and files are markup. */
export function evil(dir) {
  mkdirSync(dir, { recursive: true });
  const nodes = EVIL.map((name, i) => `node { name: ${quoted(`${name}/${EVIL[(i + 1) % EVIL.length]}`)} op: ${quoted(i % 2 ? EVIL[0] : "MatMul")} attr { key: "_output_shapes" value { list { shape { dim { size: 4 } dim { size: 4 } } } } } }`);
  writeFileSync(join(dir, "graph.pbtxt"), nodes.join("\n") + "\n");
  const stats = EVIL.map((name, i) => `node_stats { node_name: ${quoted(`${name}/${EVIL[(i + 1) % EVIL.length]}`)} all_start_micros: ${1000 + i * 100} op_end_rel_micros: 90 all_end_rel_micros: 90 timeline_label: ${quoted(name)} memory { allocator_name: ${quoted(name)} total_bytes: 4096 peak_bytes: 4096 } }`);
  writeFileSync(join(dir, "run_meta_0.pbtxt"), `step_stats { dev_stats { device: ${quoted(`/job:a/replica:0/task:0/device:CPU:0${EVIL[0]}`)} ${stats.join("\n")} } }\n`);
  return ["-graph_path", join(dir, "graph.pbtxt"), "-run_meta_path", join(dir, "run_meta_0.pbtxt")];
}
