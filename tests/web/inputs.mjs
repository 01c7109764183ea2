// Inputs that the tests write themselves: names that would run if the page made HTML of them, and nothing at all.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { gunzipSync } from "node:zlib";

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

/** Two runs of eight steps: one op became slower, one is new, one is gone, and the others differ by noise. */
export function pair(dir) {
  const ops = (grown) => [["a/grown", "MatMul", grown ? 3000 : 1500], ["a/same", "Relu", 800], ["b/same", "Conv2D", 4000], ["b/other", "Mul", 500], grown ? ["a/new", "Tanh", 700] : ["b/old", "Sub", 600]];
  return ["before", "after"].map((side, which) => {
    const to = join(dir, side);
    mkdirSync(to, { recursive: true });
    const nodes = ops(which === 1);
    writeFileSync(join(to, "graph.pbtxt"), nodes.map(([name, op]) => `node { name: "${name}" op: "${op}" }\n`).join(""));
    for (let step = 0; step < 8; step++) {
      const stats = nodes.map(([name, , micros], i) => {
        const time = micros + ((step * 7 + i * 3 + which * 2) % 5) * 4;
        return `node_stats { node_name: "${name}" all_start_micros: ${1000 + step * 10_000 + i * 100} op_start_rel_micros: 1 op_end_rel_micros: ${time} all_end_rel_micros: ${time} }\n`;
      });
      writeFileSync(join(to, `run_meta_${step}`), `step_stats { dev_stats { device: "/job:a/device:CPU:0" ${stats.join("")} } }`);
    }
    return to;
  });
}

/** The first part of a gzipped file, unpacked. */
export function cut(file, dir) {
  const bytes = gunzipSync(readFileSync(file));
  mkdirSync(dir, { recursive: true });
  const to = join(dir, basename(file, ".gz"));
  writeFileSync(to, bytes.subarray(0, Math.floor(bytes.length * 0.6)));
  return to;
}
