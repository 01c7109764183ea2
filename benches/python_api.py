#!/usr/bin/env python3
"""Compares `tfprof.profile` with `tf.compat.v1.profiler.profile` on a live graph with a RunMetadata.

  python_api.py [--nodes 100000] [--views op,scope] [--repeat 3] [--python F]

Run with tfprof on PYTHONPATH (`make bench-python` does that) and a Python that has TensorFlow (TF_PYTHON or --python).
Each answer is made in a process of its own, in turns: CPU seconds of the call alone, and how much the resident set grew
at its peak. Building the graph and importing TensorFlow are not counted. Both must give the same message.
"""

import argparse
import hashlib
import json
import os
import resource
import statistics
import subprocess
import sys
import time


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--nodes", type=int, default=100_000)
    p.add_argument("--views", default="op,scope")
    p.add_argument("--repeat", type=int, default=3)
    p.add_argument("--python", default=os.environ.get("TF_PYTHON", sys.executable), help="one with TensorFlow")
    p.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    a = p.parse_args()
    if a.worker:
        print(json.dumps(worker(*a.worker, a.nodes)))
        return
    print(f"{a.nodes} nodes, one step; median of {a.repeat} (range)")
    print(f"{'view':6} {'':11} {'cpu s':>20} {'peak MB':>20}")
    for view in a.views.split(","):
        found = {"tensorflow": [], "tfprof": []}
        for _ in range(a.repeat):
            for who, rows in found.items():
                cmd = [a.python, __file__, "--worker", who, view, "--nodes", str(a.nodes)]
                rows.append(json.loads(subprocess.run(cmd, check=True, capture_output=True, text=True).stdout.splitlines()[-1]))
        answers = {row["answer"] for rows in found.values() for row in rows}
        if len(answers) != 1:
            sys.exit(f"python_api: the answers to {view} differ")
        for who, rows in found.items():
            print(f"{view:6} {who:11} {spread(rows, 'cpu'):>20} {spread(rows, 'mb'):>20}")
        pairs = list(zip(found["tensorflow"], found["tfprof"]))
        for key in ("cpu", "mb"):
            ratios = [{key: theirs[key] / max(ours[key], 1e-9)} for theirs, ours in pairs]
            print(f"{view:6} {'ratio, ' + key:11} {spread(ratios, key):>20}")


def spread(rows, key):
    values = [row[key] for row in rows]
    return f"{statistics.median(values):.2f} ({min(values):.2f}-{max(values):.2f})"


def worker(who, view, nodes):
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf
    import tfprof

    graph, run = model(tf.compat.v1, nodes)
    ask = tfprof.profile if who == "tfprof" else tf.compat.v1.profiler.profile
    builder = tfprof.ProfileOptionBuilder
    options = builder(builder.time_and_memory()).select(["micros", "bytes", "params", "float_ops"]).with_empty_output().build()
    before, start = resident(), time.process_time()
    answer = ask(graph, run, cmd=view, options=options)
    cpu = time.process_time() - start
    # Of the process, so what came before the call must have been less: the graph, and no more than that.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    digest = hashlib.sha256(answer.SerializeToString(deterministic=True)).hexdigest()
    return {"cpu": cpu, "mb": peak - before, "answer": digest}


def model(tf1, nodes):
    """Layers of matrix products, sums and activations in nested scopes, and a step in which each node ran."""
    import tensorflow as tf

    graph = tf1.Graph()
    with graph.as_default():
        x = tf.ones([8, 16])
        made = 1
        while made < nodes:
            with tf1.name_scope(f"block{made // 1000}"), tf1.name_scope(f"layer{made // 100 % 10}"):
                weights = tf.raw_ops.VariableV2(shape=[16, 16], dtype=tf.float32)
                for _ in range(10):
                    x = tf.raw_ops.Tanh(x=tf.raw_ops.MatMul(a=x, b=weights))
                    x = tf.raw_ops.AddV2(x=x, y=x)
                made += 31
    run = tf1.RunMetadata()
    device = run.step_stats.dev_stats.add(device="/job:localhost/replica:0/task:0/device:CPU:0")
    for at, op in enumerate(graph.get_operations()):
        record = device.node_stats.add(
            node_name=op.name,
            all_start_micros=10 * at + 1,
            op_start_rel_micros=1,
            op_end_rel_micros=7,
            all_end_rel_micros=9,
            timeline_label=f"{op.name} = {op.type}()",
        )
        described = record.output.add().tensor_description
        described.dtype = 1
        described.shape.dim.add(size=8)
        described.shape.dim.add(size=16)
        described.allocation_description.requested_bytes = 512
        described.allocation_description.allocator_name = "cpu"
        record.memory.add(allocator_name="cpu", total_bytes=512, peak_bytes=512)
    return graph, run


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


if __name__ == "__main__":
    main()
