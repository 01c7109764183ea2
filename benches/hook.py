#!/usr/bin/env python3
"""The overhead of hooks per training step: no trace, a dropped trace, TensorFlow's ProfilerHook and tfprof's, alternating.

  hook.py [--steps 200] [--repeat 5] [--layers 4] [--show_memory]

Run with tfprof on PYTHONPATH and a Python that has TensorFlow (`make bench-python` does that). Every step is traced, so
that the cost of a trace shows; tracing itself, which TensorFlow does, is the second row. Milliseconds of a step as
the training thread sees them, and of CPU in all threads; everything is written when the clock stops.
"""

import argparse
import os
import shutil
import statistics
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--steps", type=int, default=200)
    p.add_argument("--repeat", type=int, default=5)
    p.add_argument("--layers", type=int, default=4)
    p.add_argument("--show_memory", action="store_true")
    a = p.parse_args()
    import tensorflow as tf
    import tfprof

    tf.compat.v1.logging.set_verbosity("ERROR")
    kinds = {
        "no trace": None,
        "trace only": tracer(tf),
        "TensorFlow": tf.compat.v1.train.ProfilerHook,
        "tfprof": tfprof.ProfilerHook,
    }
    found = {kind: [] for kind in kinds}
    for turn in range(a.repeat + 1):
        for name, kind in kinds.items():
            row = train(tf, kind, a)
            if turn:  # The first warms up.
                found[name].append(row)
    print(f"{a.steps} steps, all traced, {a.layers} layers; median of {a.repeat} (range)")
    print(f"{'':11} {'ms a step':>22} {'CPU ms a step':>22}")
    for name, rows in found.items():
        print(f"{name:11} {spread(row[0] for row in rows):>22} {spread(row[1] for row in rows):>22}")
    for column, what in ((0, "ms"), (1, "CPU ms")):
        extra = [
            (theirs[column] - traced[column]) / max(ours[column] - traced[column], 1e-9)
            for _, traced, theirs, ours in zip(*found.values())
        ]
        print(f"what TensorFlow's hook adds to a trace, by what tfprof's adds, {what}: {spread(extra)}")


def tracer(tf):
    """A hook that asks for a trace and drops it: what every hook pays."""
    tf1 = tf.compat.v1

    class Tracer(tf1.train.SessionRunHook):
        def __init__(self, **_):
            pass

        def before_run(self, run_context):
            options = tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE)
            return tf1.train.SessionRunArgs(tf1.train.get_global_step(run_context.session.graph), options=options)

    return Tracer


def spread(values):
    values = list(values)
    return f"{statistics.median(values):.2f} ({min(values):.2f}-{max(values):.2f})"


def train(tf, kind, a):
    tf1 = tf.compat.v1
    directory = tempfile.mkdtemp(prefix="tfprof_hook_")
    try:
        with tf.Graph().as_default():
            step = tf1.train.get_or_create_global_step()
            x = tf.ones([16, 32])
            for layer in range(a.layers):
                x = tf.tanh(tf.matmul(x, tf1.get_variable(f"weights{layer}", [32, 32])))
            op = tf1.train.GradientDescentOptimizer(0.01).minimize(tf.reduce_sum(x), global_step=step)
            hooks = [kind(save_steps=1, output_dir=directory, show_memory=a.show_memory)] if kind else []
            with tf1.train.SingularMonitoredSession(hooks=hooks) as session:
                session.run(op)
                session.run(op)
                wall, cpu = time.perf_counter(), time.process_time()
                for _ in range(a.steps):
                    session.run(op)
                wall = time.perf_counter() - wall
            cpu = time.process_time() - cpu
        if kind and kind.__name__ == "ProfilerHook" and len([name for name in os.listdir(directory) if name.startswith("timeline-")]) != a.steps + 1:
            raise SystemExit("hook: traces are missing")
        return wall * 1000 / a.steps, cpu * 1000 / a.steps
    finally:
        tf1.summary.FileWriterCache.clear()
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
