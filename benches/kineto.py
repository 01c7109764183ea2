#!/usr/bin/env python3
"""Traces of PyTorch: compares tfprof with Python's json.load and HolisticTraceAnalysis, and shows how costs grow.

  kineto.py SAMPLE.json.gz [--times 9] [--hta PYTHON] [--grow 1,4,16] [--binary F] [--repeat 2] [--keep DIRECTORY]

The trace is the sample --times over: each round has times, ids and steps of its own, as if the program had run on. --grow
makes larger ones, as multiples of that. CPU seconds of user and system together, and peak memory, each program alone;
rounds of all programs are interleaved, and the best of each counts.
"""

import argparse
import gzip
import json
import math
import os
import sys
import tempfile
from decimal import Decimal

from trace import measure

HERE = os.path.dirname(os.path.abspath(__file__))
IDS = {"External id", "external id", "correlation", "Ev Idx", "Record function id", "Sequence number", "Python id",
       "Python parent id"}
STEP = "ProfilerStep#"
VIEWS = {"op": ["op"], "scope": ["scope"], "code": ["code"], "info": ["info"]}
LOAD_JSON = "import json, sys; json.load(open(sys.argv[1]))"
LOAD_HTA = """
import sys
from hta.common.trace import Trace
Trace(trace_files={0: sys.argv[1]}, trace_dir="").parse_traces(use_multiprocessing=False)
"""


class Template:
    """An event as text, with places for what differs from round to round."""

    def __init__(self, event):
        self.parts, self.values = [], []
        self.write("  {\n")
        for at, (key, value) in enumerate(event.items()):
            self.write((",\n" if at else "") + "    " + json.dumps(key) + ": ")
            if key == "args" and isinstance(value, dict):
                self.write("{\n      ")
                for place, (name, inner) in enumerate(value.items()):
                    self.write((", " if place else "") + json.dumps(name) + ": ")
                    is_id = name in IDS and isinstance(inner, int) and inner > 0
                    self.value(inner, "id" if is_id else None)
                self.write("\n    }")
            elif key == "ts" and not isinstance(value, str):
                self.value(value, "time")
            elif key == "id" and isinstance(value, int):
                self.value(value, "id")
            elif key == "name" and str(value).startswith(STEP):
                self.write(f'"{STEP}')
                self.value(int(value[len(STEP):]), "step")
                self.write('"')
            else:
                self.value(value, None)
        self.write("\n  }")
        self.text = "".join(self.parts)

    def write(self, text):
        self.parts.append(text.replace("%", "%%"))

    def value(self, value, kind):
        if kind:
            self.parts.append("%s")
            self.values.append((value, kind))
        else:
            self.write(plain(value))

    def round(self, by):
        return self.text % tuple(value + by[kind] for value, kind in self.values)


def plain(value):
    """JSON, with decimals as they were written."""
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(plain, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {plain(inner)}" for key, inner in value.items()) + "}"
    return json.dumps(value)


def repeat(sample, times, path):
    """Writes the sample several times over, in the layout of torch: two blanks, an event on several lines."""
    with open(sample, "rb") as file:
        data = file.read()
    trace = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data, parse_float=Decimal)
    events = trace.pop("traceEvents")
    spans = [event for event in events if event.get("ph") == "X"]
    length = max(event["ts"] + event.get("dur", 0) for event in spans) - min(event["ts"] for event in spans)
    ids = [value for event in events for key, value in event.get("args", {}).items()
           if key in IDS and isinstance(value, int)]
    templates = [Template(event) for event in events]
    with open(path, "w") as out:
        out.write("{\n")
        out.writelines(f"  {json.dumps(key)}: {plain(value)},\n" for key, value in trace.items())
        out.write('  "traceEvents": [\n')
        for at in range(times):
            by = {"time": at * (int(length) + 1000), "id": at * (max(ids, default=0) + 1), "step": at * 1000}
            out.write((",\n" if at else "") + ",\n".join(template.round(by) for template in templates))
        out.write("\n  ]\n}\n")
    return len(events) * times


def show(what, cost, note=""):
    print(f"  {what:34} {cost['cpu']:8.2f} s {cost['mb']:9.1f} MB  {note}", flush=True)


def best(costs):
    return {key: min(cost[key] for cost in costs) for key in ("cpu", "mb")}


def compare(path, args):
    """tfprof beside the others, in turns."""
    commands = {f"tfprof {view}": [args.binary, *words, path] for view, words in VIEWS.items()}
    commands["json.load"] = [sys.executable, "-c", LOAD_JSON, path]
    if args.hta:
        commands["HolisticTraceAnalysis, loading"] = [args.hta, "-c", LOAD_HTA, path]
    costs = {name: [] for name in commands}
    for _ in range(args.repeat):
        for name, command in commands.items():
            costs[name].append(measure(quiet(command)))
    ours = best(costs["tfprof op"])
    for name, of in costs.items():
        cost = best(of)
        show(name, cost, f"{cost['cpu'] / ours['cpu']:.1f} times the CPU of op")


def quiet(command):
    return ["/bin/sh", "-c", 'exec "$@" >/dev/null 2>&1', "sh", *command]


def grow(sample, directory, args):
    """Costs of larger traces, and the exponent with which they grow."""
    last = {}
    for multiple in [int(word) for word in args.grow.split(",")]:
        path = os.path.join(directory, f"grown_{multiple}.json")
        if not os.path.exists(path):
            repeat(sample, args.times * multiple, path)
        size = os.path.getsize(path) / 1e6
        print(f"{size:.0f} MB", flush=True)
        for view, words in VIEWS.items():
            cost = best([measure(quiet([args.binary, *words, path])) for _ in range(args.repeat)])
            note = ""
            if view in last:
                before, of = last[view]
                note = f"exponent {math.log(cost['cpu'] / of['cpu']) / math.log(size / before):.2f}"
            last[view] = size, cost
            show(f"tfprof {view}", cost, note)
        if not args.keep:
            os.unlink(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sample")
    parser.add_argument("--times", type=int, default=9)
    parser.add_argument("--hta", help="a Python with HolisticTraceAnalysis")
    parser.add_argument("--grow", default="")
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--keep", help="where traces are made, and kept")
    parser.add_argument("--binary", default=os.path.join(HERE, "..", "target", "release", "tfprof"))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tfprof_kineto_") as temp:
        directory = args.keep or temp
        path = os.path.join(directory, "trace.json")
        events = repeat(args.sample, args.times, path)
        print(f"{args.sample} {args.times} times: {os.path.getsize(path) / 1e6:.1f} MB, {events} events", flush=True)
        compare(path, args)
        if args.grow:
            grow(args.sample, directory, args)


if __name__ == "__main__":
    main()
