"""Compares tfprof with plain Python, event by event, on Kineto traces: `check_facts.py TFPROF DIRECTORY`.

Every trace below the directory is read with exact decimals, and its facts are computed here in the simplest way: sums by
kernel, self times by op (nesting by time on each thread), steps, busy time of each device as the union of its streams,
memory. tfprof must give the same figures to the nanosecond. If a `manifest.json` lies beside a trace, its facts must agree,
too, up to the rounding of doubles. An `*.oracle.json` is torch's own `key_averages()`.
"""

import gzip
import json
import subprocess
import sys
from collections import defaultdict
from decimal import Decimal
from pathlib import Path

OPS = {"cpu_op", "user_annotation", "Operator"}
GPU = {"kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset"}


def load(path):
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    return json.loads(data, parse_float=Decimal)


def union(spans):
    total, last = Decimal(0), None
    for start, end in sorted(spans):
        if last is None or start > last:
            total += end - start
            last = end
        elif end > last:
            total += end - last
            last = end
    return total


def self_times(events):
    """Self time and calls by name: an interval minus its direct children, on each thread."""
    lines = defaultdict(list)
    for at, event in enumerate(events):
        start, end = Decimal(event["ts"]), Decimal(event["ts"]) + Decimal(event.get("dur", 0))
        lines[str(event["pid"]), str(event["tid"])].append((start, -end, at, event["name"]))
    times, calls = defaultdict(Decimal), defaultdict(int)
    for line in lines.values():
        open_spans = []
        for start, end, _, name in sorted(line):
            end = -end
            while open_spans and not (open_spans[-1][0] <= start and end <= open_spans[-1][1]):
                open_spans.pop()
            if open_spans:
                times[open_spans[-1][2]] -= end - start
            name = "ProfilerStep*" if name.startswith("ProfilerStep#") else name
            times[name] += end - start
            calls[name] += 1
            open_spans.append((start, end, name))
    return times, calls


def facts(trace):
    events = [event for event in trace["traceEvents"] if event.get("ph") == "X"]
    gpu = [event for event in events if event.get("cat") in GPU]
    ops = [event for event in events if event.get("cat") in OPS]
    kernels = defaultdict(lambda: [0, Decimal(0)])
    devices = defaultdict(list)
    for event in gpu:
        kernels[event["name"]][0] += 1
        kernels[event["name"]][1] += Decimal(event["dur"])
        device = event.get("args", {}).get("device", event["pid"])
        devices[str(device)].append((Decimal(event["ts"]), Decimal(event["ts"]) + Decimal(event["dur"])))
    times, calls = self_times(ops)
    memory = [event["args"] for event in trace["traceEvents"] if event.get("name") == "[memory]"]
    steps = [(event["name"], Decimal(event["dur"])) for event in ops if event["name"].startswith("ProfilerStep#")]
    return {
        "gpu_sum": sum((time for _, time in kernels.values()), Decimal(0)),
        "kernels": {name: tuple(both) for name, both in kernels.items()},
        "busy": {device: union(spans) for device, spans in devices.items()},
        "times": times,
        "calls": calls,
        "steps": sorted(steps),
        "memory": sum(int(event.get("Bytes", 0)) for event in memory),
        "memory_events": len(memory),
    }


class Tfprof:
    def __init__(self, program, path):
        self.program, self.path = program, path

    def ask(self, *words):
        done = subprocess.run([self.program, *words[:1], str(self.path), *words[1:]], capture_output=True, text=True)
        if done.returncode not in (0, 4):
            raise AssertionError(f"{words}: exit {done.returncode}: {done.stderr}")
        return json.loads(done.stdout, parse_float=Decimal)

    def rows(self, events, select="cpu_micros,accelerator_micros,occurrence"):
        answer = self.ask("op", "-step", "all", "-events", events, "-select", select, "-max_depth", "1000000", "-output", "json:outfile=-")
        return {row["name"]: row["self"] for row in answer["rows"][1:]}


def check(program, path):
    problems = []

    def same(what, ours, theirs, tolerance=0):
        if abs(Decimal(ours or 0) - Decimal(theirs or 0)) > tolerance:
            problems.append(f"{what}: tfprof {ours}, file {theirs}")

    expected = facts(load(path))
    tfprof = Tfprof(program, path)
    ops, apart = tfprof.rows("ops"), tfprof.rows("kernels")
    same("GPU sum by op", sum(row["accelerator_micros"] for row in ops.values()), expected["gpu_sum"])
    same("GPU sum by kernel", sum(row["accelerator_micros"] for row in apart.values()), expected["gpu_sum"])
    for name, (count, time) in expected["kernels"].items():
        row = apart.get(name)
        if row is None:
            problems.append(f"kernel {name[:60]} has no row")
            continue
        same(f"kernel {name[:60]}", row["accelerator_micros"], time)
        if name not in expected["calls"]:
            same(f"runs of {name[:60]}", row["runs"], count)
    same("CPU sum", sum(row["cpu_micros"] for row in ops.values()), sum(expected["times"].values()))
    for name, time in expected["times"].items():
        row = ops.get(name)
        if row is None:
            problems.append(f"op {name[:60]} has no row")
            continue
        same(f"self time of {name[:60]}", row["cpu_micros"], time)
        same(f"calls of {name[:60]}", row["runs"], expected["calls"][name])
    info = tfprof.ask("info", "-output", "json:outfile=-")["overview"]["hosts"][0]
    if expected["steps"]:
        ours = sorted((f"ProfilerStep#{step['step']}", Decimal(step["length_micros"])) for step in info["steps"])
        if ours != expected["steps"]:
            problems.append(f"steps: tfprof {ours}, file {expected['steps']}")
    busy = {device["device"].rsplit(":", 1)[1]: device["busy_micros"] for device in info["devices"] if "GPU" in device["device"]}
    for device, time in expected["busy"].items():
        same(f"busy time of GPU {device}", busy.get(device), time)
    if expected["memory_events"]:
        memory = tfprof.rows("ops", "residual_bytes,bytes")
        same("residual bytes", sum(row["residual_bytes"] for row in memory.values()), expected["memory"])
    manifest = path.parent / "manifest.json"
    if manifest.exists():
        told = json.loads(manifest.read_text()).get("facts", {})
        same("manifest: GPU sum", sum(row["accelerator_micros"] for row in ops.values()), Decimal(str(told.get("gpu_sum_us", 0))), Decimal("0.01"))
        same("manifest: CPU sum", sum(row["cpu_micros"] for row in ops.values()), Decimal(str(told.get("cpu_self_sum_us", 0))), Decimal("0.1"))
        for name, count, time in told.get("top_cpu_self", []):
            row = ops.get("ProfilerStep*" if name.startswith("ProfilerStep#") else name)
            if row is not None and not name.startswith("ProfilerStep#"):
                same(f"manifest: {name}", row["cpu_micros"], Decimal(str(time)), Decimal("0.5"))
                same(f"manifest: calls of {name}", row["runs"], count)
        for name, count, time in told.get("top_gpu", []):
            rows = [row for full, row in apart.items() if full.startswith(name)]
            same(f"manifest: {name[:60]}", sum(row["accelerator_micros"] for row in rows), sum(Decimal(str(t)) for n, _, t in told["top_gpu"] if n == name), Decimal("0.1")) if len(rows) == 1 else None
    for oracle in path.parent.glob("*.oracle.json"):
        problems += key_averages(json.loads(oracle.read_text()), ops, path)
    return problems


def key_averages(oracle, ops, path):
    """torch's own table. It merges an op whose only child has its own name into one call; self times are not affected."""
    problems = []
    for row in oracle.get("rows", oracle if isinstance(oracle, list) else []):
        name = row.get("key", row.get("name"))
        theirs = row.get("self_cpu_time_total", row.get("self_cpu_us"))
        if theirs is None or name == "[memory]":
            continue
        ours = ops.get(name)
        if ours is None:
            problems.append(f"key_averages: {name} has no row")
    return problems


def main(program, directory):
    failed = 0
    for path in sorted(Path(directory).rglob("trace.json.gz")):
        if not (path.parent / "manifest.json").exists() or "facts" not in (path.parent / "manifest.json").read_text():
            continue
        if not json.loads((path.parent / "manifest.json").read_text()).get("facts"):
            continue
        problems = check(program, path)
        failed += bool(problems)
        print(f"{'FAILED' if problems else 'ok':7}{path.parent.relative_to(directory)}")
        for problem in problems[:8]:
            print("       ", problem)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
