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


class Node:
    """An op or a range of a thread, with those directly inside it."""

    def __init__(self, name, time):
        self.name, self.time, self.inside = name, time, []


def nesting(events):
    """All ops and ranges, nested by time on each thread: those that nothing is around."""
    lines = defaultdict(list)
    for at, event in enumerate(events):
        start, end = Decimal(event["ts"]), Decimal(event["ts"]) + Decimal(event.get("dur", 0))
        lines[str(event["pid"]), str(event["tid"])].append((start, -end, at, event["name"]))
    outermost = []
    for line in lines.values():
        open_spans = []
        for start, end, _, name in sorted(line):
            end = -end
            while open_spans and not (open_spans[-1][0] <= start and end <= open_spans[-1][1]):
                open_spans.pop()
            node = Node("ProfilerStep*" if name.startswith("ProfilerStep#") else name, end - start)
            (open_spans[-1][2].inside if open_spans else outermost).append(node)
            open_spans.append((start, end, node))
    return outermost


def every(outermost):
    waiting = list(outermost)
    while waiting:
        node = waiting.pop()
        yield node
        waiting += node.inside


def self_times(events):
    """Self time and calls by name: an interval minus its direct children, on each thread."""
    times, calls = defaultdict(Decimal), defaultdict(int)
    for node in every(nesting(events)):
        times[node.name] += node.time - sum((child.time for child in node.inside), Decimal(0))
        calls[node.name] += 1
    return times, calls


def torch_calls(events):
    """Calls by name as torch counts them: an op whose only child has its own name is one call with it."""
    outermost = nesting(events)
    for node in every(outermost):
        while len(node.inside) == 1 and node.inside[0].name == node.name:
            node.inside = node.inside[0].inside
    calls = defaultdict(int)
    for node in every(outermost):
        calls[node.name] += 1
    return calls


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

    trace = load(path)
    expected = facts(trace)
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
        problems += key_averages(json.loads(oracle.read_text()), ops, trace)
    return problems


def key_averages(oracle, ops, trace):
    """torch's own table, row by row: self times to the nanosecond, and calls by torch's rule of merging.

    `[memory]`, allocations outside of ops, is no event with a time; a range that is open when recording ends has no row.
    """
    problems = []
    # With stacks, newer versions of torch subtract Python calls from the ranges around them, and have no rows for them.
    nested = OPS | ({"python_function"} if oracle.get("nests_python") else set())
    spans = [event for event in trace["traceEvents"] if event.get("ph") == "X" and event.get("cat") in nested]
    expected, times = torch_calls(spans), self_times(spans)[0]
    ranges = {event["name"] for event in spans if event["cat"] == "user_annotation"}
    calls = {event["name"] for event in spans if event["cat"] == "python_function"}
    table = defaultdict(lambda: [Decimal(0), 0])
    for row in oracle["rows"]:
        # There may be a row for each combination of shapes.
        table[row["key"]][0] += Decimal(str(row["self_cpu_us"]))
        table[row["key"]][1] += row["count"]
    table.pop("[memory]", None)
    for name, (theirs, count) in table.items():
        ours = ops.get(name)
        if ours is None:
            problems.append(f"key_averages: {name} has no row")
            continue
        # torch sums doubles.
        if abs(times[name] - theirs) > Decimal("0.0005"):
            problems.append(f"key_averages: self time of {name}: {times[name]} by torch's rule, torch {theirs}")
        if not (calls and name in ranges) and abs(Decimal(ours["cpu_micros"]) - theirs) > Decimal("0.0005"):
            problems.append(f"key_averages: self time of {name}: tfprof {ours['cpu_micros']}, torch {theirs}")
        if expected[name] != count:
            problems.append(f"key_averages: calls of {name}: {expected[name]} by the rule of merging, torch {count}")
        if ours["runs"] < count:
            problems.append(f"key_averages: calls of {name}: tfprof {ours['runs']}, torch {count}")
    unfinished = {event["name"] for event in trace["traceEvents"] if event.get("args", {}).get("finished") is False}
    for name in expected:
        if name not in table and name not in unfinished | calls:
            problems.append(f"key_averages: torch has no row {name}")
    total = Decimal(str(oracle["total_self_cpu_us"]))
    ours = sum(Decimal(times[name] if calls else row["cpu_micros"]) for name, row in ops.items() if name in table)
    if abs(ours - total) > Decimal("0.01"):
        problems.append(f"key_averages: all of it: tfprof {ours}, torch {total}")
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
