#!/usr/bin/env python3
"""Guards against slow changes, even on a noisy machine: counts the instructions of fixed questions with valgrind.

  instructions.py [--binary F] [--write] [--tolerance 3]

Compares with benches/instructions.json and fails if a question takes more than --tolerance percent above it; --write
records what is measured, and adds it to benches/history.tsv with the date and the commit. Counts depend on the compiler,
so a new one calls for --write.
"""

import argparse
import datetime
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

import alone

RECORD = os.path.join(alone.ROOT, "benches", "instructions.json")
SHORT = 20_000_000
HISTORY = os.path.join(alone.ROOT, "benches", "history.tsv")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--binary", default=os.path.join(alone.ROOT, "target", "release", "tfprof"))
    p.add_argument("--data", default=os.path.join(alone.ROOT, "bench-data"))
    p.add_argument("--write", action="store_true")
    p.add_argument("--tolerance", type=float, default=3)
    a = p.parse_args()
    counts = {name: typical(a.binary, words) for name, words in questions(a)}
    if a.write:
        with open(RECORD, "w") as f:
            json.dump(counts, f, indent=1)
            f.write("\n")
        remember(counts)
    with open(RECORD) as f:
        before = json.load(f)
    slower = []
    for name, n in counts.items():
        change = 100 * (n / before[name] - 1) if name in before else 0.0
        print(f"{name:28} {n / 1e6:9.1f} million instructions  {change:+.1f} %")
        if change > a.tolerance:
            slower.append(name)
    if slower:
        sys.exit(f"slower than recorded: {', '.join(slower)}; make them faster, or record them with --write and say why")


def remember(counts):
    """Adds lines to the history: date, commit, question, instructions."""
    day = datetime.date.today().isoformat()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=alone.ROOT, capture_output=True, text=True)
    with open(HISTORY, "a") as f:
        for name, n in counts.items():
            f.write(f"{day}\t{commit.stdout.strip() or '-'}\t{name}\t{n}\n")


def questions(a):
    case = alone.make(a, "model_10000_2_shuffled", "--nodes", "10000", "--steps", "2", "--shuffle", "64")
    for kind in ("op", "scope", "graph", "code"):
        yield f"{kind}, one step", alone.view(kind, case, 1)
    yield "op, two steps", alone.view("op", case, 2)
    text = os.path.join(alone.ROOT, "corpus", "resnet32", "graph.pbtxt.gz")
    yield "op, gzipped text", ["op", f"--graph_path={text}", "-select", "occurrence"]
    yield "trace", ["trace", f"{case}/run_0.pb", "--outfile=/dev/null"]
    timeline = alone.view("graph", case, 1)[:-2] + ["-step", "0", "-output", "timeline:outfile=/dev/null"]
    yield "graph timeline", timeline
    yield "op as JSON", alone.view("op", case, 1)[:-2] + ["-output", "json:outfile=/dev/null"]
    yield "scope as CSV", alone.view("scope", case, 1)[:-2] + ["-output", "csv:outfile=/dev/null"]
    yield "FLOPs by op", ["op", f"--graph_path={case}/graph.pb", "-select", "float_ops"]
    with_run = ["op", f"--graph_path={case}/graph.pb", f"--run_meta_path={case}/run_0.pb"]
    yield "micros by op, one step", [*with_run, "-select", "micros"]
    yield "FLOPs by op, one step", [*with_run, "-select", "float_ops"]
    yield "save", ["save", f"--graph_path={case}/graph.pb", f"--run_meta_path={case}/run_0.pb", "--outfile=/dev/null"]
    saved = os.path.join(case, "profile.pb")
    files = [f"--graph_path={case}/graph.pb", f"--run_meta_path={case}/run_0.pb"]
    subprocess.run([a.binary, "save", *files, f"--outfile={saved}"], check=True, stderr=subprocess.DEVNULL)
    yield "op of a saved profile", ["op", f"--profile_path={saved}", "-select", "micros"]
    sides = [f"{case}/graph.pb,{case}/run_{step}.pb" for step in (0, 1)]
    yield "diff op, one step a side", ["diff", "op", *sides, "-output", "file:outfile=/dev/null"]
    yield "cost, 10,000 nodes", ["cost", f"{case}/graph.pb"]
    profiles = os.path.join(alone.ROOT, "corpus", "xspace")
    for name in ("tf_custom_loop", "jax_two_hosts"):
        yield f"XSpace op, {name}", ["op", os.path.join(profiles, name), "-select", "micros"]
        yield f"XSpace scope, {name}", ["scope", os.path.join(profiles, name), "-select", "micros"]
    model = os.path.join(alone.ROOT, "tests", "models", "mobilenet_v2")
    yield "cost, MobileNetV2", ["cost", os.path.join(model, "saved_model.pb.gz")]


def typical(binary, words):
    """The count of a long question; the median of three for a short one, where the order of threads changes it by a few percent."""
    first = count(binary, words)
    return first if first > SHORT else statistics.median([first, count(binary, words), count(binary, words)])


def count(binary, words):
    with tempfile.NamedTemporaryFile() as out:
        cmd = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out.name}", binary, *words]
        run = subprocess.run(cmd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    found = re.search(r"Collected : (\d+)", run.stderr)
    if run.returncode or not found:
        sys.exit(f"instructions: {' '.join(words)} failed:\n{run.stderr[-2000:]}")
    return int(found.group(1))


if __name__ == "__main__":
    main()
