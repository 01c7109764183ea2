#!/usr/bin/env python3
"""The benchmark behind `make bench`: `tfprof op` against the real tfprof, side by side.

  run.py [--nodes 100000] [--steps 1] [--view op] [--repeat 5] [--order graph|shuffled|both] [--binary F] [--json F]

Makes the inputs (kept in bench-data/), builds the release binary, and for each case:
  1. checks: the text of both tools from the `Profile:` line on must be the same bytes, or nothing is timed;
  2. measures: both in turns, see compare.py; prints medians and the range of the ratios.

The real tfprof comes from TF_PYTHON (a Python with TensorFlow 2.21), or from .venv-tf (`make tf-venv`).
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile

import anchor
import compare

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SHUFFLE = 64  # about as far as an executor strays from the graph's order


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--nodes", type=int, default=100_000)
    p.add_argument("--view", default="op", choices=["scope", "graph", "op", "code"])
    p.add_argument("--order", default="both", choices=["graph", "shuffled", "both"], help="of the node stats in a run")
    p.add_argument("--data", default=os.path.join(ROOT, "bench-data"))
    p.add_argument("--binary", help="measure this build of tfprof instead of a fresh one")
    p.add_argument("--json", help="write the results to this file too")
    compare.question(p)
    a = p.parse_args()
    a.do = a.view
    a.python = find_python(a.python)
    binary = a.binary or build()
    results = []
    for order in ["graph", "shuffled"] if a.order == "both" else [a.order]:
        a.case = make_case(a, order)
        with tempfile.TemporaryDirectory(prefix="tfprof_bench_") as temp:
            cmd = our_command(binary, a, os.path.join(temp, "ours.txt"))
            check(a, cmd, temp)
            print(f"{order} order: measuring {a.repeat} pairs", flush=True)
            results.append(dict(compare.compare(a, cmd), order=order))
    print_table(a, results)
    if a.json:
        with open(a.json, "w") as f:
            json.dump(results, f, indent=1)
    if any(r["end"] != ["ok"] or r["ours_status"] != [0] for r in results):
        sys.exit("bench: a run did not end well: " + json.dumps([(r["end"], r["ours_status"]) for r in results]))


def find_python(given):
    for python in filter(None, [given, os.path.join(ROOT, ".venv-tf", "bin", "python")]):
        if os.path.exists(python):
            return python
    sys.exit("bench: no Python with TensorFlow; run `make tf-venv` or set TF_PYTHON")


def build():
    """Builds the release binary and says where it is."""
    cmd = ["cargo", "build", "--release", "--locked", "-p", "tfprof-cli", "--message-format=json-render-diagnostics"]
    out = subprocess.run(cmd, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    found = [m["executable"] for m in map(json.loads, out.splitlines()) if m.get("executable")]
    if not found:
        sys.exit("bench: the package tfprof-cli built no binary")
    return found[-1]


def make_case(a, order):
    """Inputs of this size, made once."""
    case = os.path.join(a.data, f"model_{a.nodes}_{a.steps}_{order}")
    if not os.path.exists(os.path.join(case, "case.json")):  # written last
        print(f"{order} order: making {a.nodes} nodes, {a.steps} steps", flush=True)
        shuffle = ["--shuffle", str(SHUFFLE)] if order == "shuffled" else []
        gen = os.path.join(ROOT, "benches", "gen.py")
        cmd = [sys.executable, gen, "--out", case, "--nodes", str(a.nodes), "--steps", str(a.steps), *shuffle]
        subprocess.run(cmd, check=True, stdout=subprocess.DEVNULL)
    return case


def our_command(binary, a, outfile):
    """The question that anchor.py puts to the original, in our command line."""
    runs = ",".join(f"{n}={a.case}/run_{n}.pb" for n in range(a.steps))
    return [
        binary,
        a.view,
        f"--graph_path={a.case}/graph.pb",
        *([f"--run_meta_path={runs}"] if runs else []),
        f"--op_log_path={a.case}/oplog.pb",
        *("-select", a.select, "-order_by", a.order_by, "-max_depth", str(a.max_depth)),
        *("-account_type_regexes", a.account, "-original_quirks", "-output", f"file:outfile={outfile}"),
    ]


def check(a, cmd, temp):
    """Both answers must be the same before any time counts."""
    original = argparse.Namespace(**vars(a), save=os.path.join(temp, "theirs.txt"))
    end = anchor.one_run(original)["end"]
    if end != "ok":
        sys.exit(f"bench: the original ended with {end} on {a.case}")
    subprocess.run(cmd, check=True)
    # Line by line: what this process holds at the most would count as memory of those that it starts.
    size = 0
    with open(os.path.join(temp, "theirs.txt"), "rb") as theirs, open(os.path.join(temp, "ours.txt"), "rb") as ours:
        for n, (x, y) in enumerate(itertools.zip_longest(report(theirs), report(ours)), 1):
            if x != y:
                sys.exit(f"bench: answers differ in line {n} from `Profile:` on\n  original: {x!r}\n  ours:     {y!r}")
            size += len(x)
    print(f"{os.path.basename(a.case)}: answers are the same from `Profile:` on, {size} bytes", flush=True)


def report(file):
    """The lines of a report from `Profile:` on; what stands above it is worded differently."""
    found = False
    for line in file:
        found |= line == b"Profile:\n"
        if found:
            yield line
    if not found:
        sys.exit(f"bench: no `Profile:` line in {file.name}")


def print_table(a, results):
    print(f"\n`tfprof {a.view}`, {a.nodes} nodes, {a.steps} steps, medians of {a.repeat} interleaved pairs (range)\n")
    print("| order of stats | original CPU | ours | times less CPU | original memory | ours | times less memory |")
    print("|---|---|---|---|---|---|---|")
    for r in results:
        t, o, x = r["tfprof"], r["ours"], r["times_less"]
        print(
            f"| {r['order']} | {t['core_cpu']:.2f} s | {o['cpu']:.3f} s | {x['core_cpu']} ({span(x['core_cpu_range'])}) "
            f"| {t['rss_mb']:.0f} MB | {o['peak_mb']:.0f} MB | {x['rss']} ({span(x['rss_range'])}) |"
        )
    print(
        "\nOriginal: reading, loading, steps and the view, without import and destructors. Ours: the whole process.\n"
        "Checked first: both wrote the same text from the `Profile:` line on."
    )


def span(pair):
    return f"{pair[0]}–{pair[1]}"


if __name__ == "__main__":
    main()
