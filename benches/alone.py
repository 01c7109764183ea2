#!/usr/bin/env python3
"""tfprof without a comparison: scaling, large inputs, text and wire format, the share of reading, start-up.

  alone.py [--binary F] [--data DIR] [--repeat 3] [--most 1000000] [--steps 10] [--only growth,chain,…]

Each line is the least CPU time of --repeat runs, since noise only adds. Start-up is compared with `import tensorflow` and a
profile of the same graph if TF_PYTHON names a Python that has it. Inputs are made once, below bench-data/.
"""

import argparse
import math
import os
import subprocess
import sys
import time

import compare

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--binary", default=os.path.join(ROOT, "target", "release", "tfprof"))
    p.add_argument("--data", default=os.path.join(ROOT, "bench-data"))
    p.add_argument("--repeat", type=int, default=3)
    p.add_argument("--most", type=int, default=1_000_000, help="nodes of the largest model")
    p.add_argument("--steps", type=int, default=10, help="steps of the largest model")
    p.add_argument("--only", default=",".join(PARTS))
    a = p.parse_args()
    for part in a.only.split(","):
        PARTS[part](a)


def growth(a):
    """One step of ever more nodes."""
    sizes = [n for n in (1_000, 10_000, 100_000, 1_000_000) if n <= a.most]
    times = []
    for nodes in sizes:
        case = make(a, f"model_{nodes}_1_graph", "--nodes", str(nodes), "--steps", "1")
        run = best(a, view("op", case, 1))
        times.append(run["cpu"])
        print(f"growth: op, {nodes} nodes x 1 step: {show(run)}")
    if len(sizes) >= 3:
        exponent = math.log(times[-1] / times[1]) / math.log(sizes[-1] / sizes[1])
        print(f"growth: exponent from {sizes[1]} to {sizes[-1]} nodes: {exponent:.3f}")


def large(a):
    """Many steps of a large model."""
    case = make(a, f"model_{a.most}_{a.steps}_graph", "--nodes", str(a.most), "--steps", str(a.steps))
    run = best(a, view("op", case, a.steps))
    size = sum(os.path.getsize(os.path.join(case, f)) for f in os.listdir(case)) / 1e9
    print(f"large: op, {a.most} nodes x {a.steps} steps, {size:.1f} GB: {show(run)}")


def chain(a):
    """A chain that ends recursive programs."""
    case = make(a, f"chain_{a.most}", "--nodes", str(a.most), "--steps", "0", "--shape", "chain", "--chain", str(a.most))
    words = ["graph", f"--graph_path={case}/graph.pb", "-select", "params", "-max_depth", "100"]
    print(f"chain: graph view of {a.most} nodes, -max_depth 100: {show(best(a, words))}")


def text(a):
    """The same graph as text and in wire format."""
    if not os.environ.get("TF_PYTHON"):
        print("text: left out, since writing text takes TF_PYTHON")
        return
    case = make(a, "pbtxt_100000", "--nodes", "100000", "--steps", "0", "--pbtxt")
    words = ["op", "-select", "occurrence", "-output", "file:outfile=/dev/null"]
    wire = best(a, [*words, f"--graph_path={case}/graph.pb"])
    as_text = best(a, [*words, f"--graph_path={case}/graph.pbtxt"])
    times = as_text["cpu"] / wire["cpu"]
    print(f"text: graph.pb {show(wire)}; graph.pbtxt {show(as_text)}: {times:.2f} times")


def reading(a):
    """How far from merely reading the bytes."""
    case = make(a, "model_100000_10_graph", "--nodes", "100000", "--steps", "10")
    files = [f"{case}/graph.pb", f"{case}/oplog.pb", *(f"{case}/run_{n}.pb" for n in range(10))]
    plain = min(read_all(files) for _ in range(a.repeat + 2))
    run = best(a, view("op", case, 10))
    size = sum(map(os.path.getsize, files))
    print(
        f"reading: {size / 1e6:.0f} MB, merely read {size / plain / 1e9:.2f} GB/s of CPU time; "
        f"op {size / run['cpu'] / 1e9:.2f} GB/s: {100 * plain / run['cpu']:.0f} % of it"
    )


def read_all(files):
    """CPU seconds for reading whole files into memory that is there, in pieces of 1 MiB."""
    piece = 1 << 20
    whole = memoryview(bytearray(max(map(os.path.getsize, files)) + piece))
    whole[::4096] = bytes(len(whole[::4096]))
    spent = 0.0
    for path in files:
        with open(path, "rb", buffering=0) as f:
            start, at = time.process_time(), 0
            while n := f.readinto(whole[at : at + piece]):
                at += n
            spent += time.process_time() - start
    return spent


def saved(a):
    """A saved profile, compared with the files it was made of."""
    case = make(a, "model_100000_1_graph", "--nodes", "100000", "--steps", "1")
    profile = os.path.join(case, "profile.pb")
    sources = view("op", case, 1)
    subprocess.run([a.binary, "save", *sources[1:4], f"--outfile={profile}"], check=True, stderr=subprocess.DEVNULL)
    loaded = best(a, ["op", f"--profile_path={profile}", *sources[4:]])
    print(f"saved: op from the files {show(best(a, sources))}; from their profile {show(loaded)}")


def timeline(a):
    """When each op of a step ran."""
    case = make(a, "model_100000_1_graph", "--nodes", "100000", "--steps", "1")
    words = view("graph", case, 1)[:-2] + ["-step", "0", "-output", "timeline:outfile=/dev/null"]
    print(f"timeline: graph, 100000 nodes: {show(best(a, words))}")


def start_up(a):
    """Parameters of a tiny graph, compared with TensorFlow from Python."""
    graph = os.path.join(ROOT, "corpus", "mlp_small", "graph.pb.gz")
    ours = best(a, ["scope", f"--graph_path={graph}", "-select", "params"])
    print(f"start-up: parameters of a small graph: {ours['wall'] * 1000:.1f} ms, {ours['peak_mb']:.0f} MB")
    python = os.environ.get("TF_PYTHON")
    if python:
        theirs = compare.run_ours([python, "-c", TENSORFLOW, graph])
        print(
            f"start-up: import tensorflow and its profile of the same: {theirs['wall']:.2f} s, "
            f"{theirs['wall'] / ours['wall']:.0f} times"
        )


TENSORFLOW = """
import gzip, sys
import tensorflow as tf
graph = tf.compat.v1.GraphDef.FromString(gzip.open(sys.argv[1]).read())
tf.compat.v1.import_graph_def(graph, name="")
tf.compat.v1.profiler.profile(tf.compat.v1.get_default_graph(), options=dict(
    tf.compat.v1.profiler.ProfileOptionBuilder.trainable_variables_parameter(), output="none"))
"""


def make(a, name, *words):
    case = os.path.join(a.data, name)
    if not os.path.exists(os.path.join(case, "case.json")):  # written last
        gen = os.path.join(ROOT, "benches", "gen.py")
        python = os.environ["TF_PYTHON"] if "--pbtxt" in words else sys.executable
        subprocess.run([python, gen, "--out", case, *words], check=True, stdout=subprocess.DEVNULL)
    return case


def view(kind, case, steps):
    runs = ",".join(f"{n}={case}/run_{n}.pb" for n in range(steps))
    return [
        kind,
        f"--graph_path={case}/graph.pb",
        f"--run_meta_path={runs}",
        f"--op_log_path={case}/oplog.pb",
        *("-select", "micros,bytes,params,float_ops", "-order_by", "micros", "-original_quirks"),
        *("-output", "file:outfile=/dev/null"),
    ]


def best(a, words):
    runs = [compare.run_ours([a.binary, *words]) for _ in range(a.repeat)]
    if any(run["status"] for run in runs):
        sys.exit(f"bench: {' '.join(words)} did not end well")
    return {key: min(run[key] for run in runs) for key in ("cpu", "wall", "peak_mb")}


def show(run):
    return f"{run['cpu']:.3f} CPU s, {run['wall']:.3f} s, {run['peak_mb']:.0f} MB"


PARTS = {
    "growth": growth,
    "large": large,
    "chain": chain,
    "text": text,
    "reading": reading,
    "saved": saved,
    "timeline": timeline,
    "start_up": start_up,
}

if __name__ == "__main__":
    main()
