#!/usr/bin/env python3
"""Writes executions of a training loop as Parquet and asks SQL about them: rows per CPU second, memory, bytes per row.

  executions.py --binary target/release/tfprof [--rows 10000000] [--sql-rows 1000000]      (with a Python that has NumPy)

The trace has four streams of a device. A step runs the same 500 ops on each stream, in the same order; an op takes
its own time, which varies by 5 % from step to step. Times are whole nanoseconds, as clocks of CPUs and GPUs have them.
`--random` writes the trace of many_events.py instead, in which no two times are alike.
"""

import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import tempfile

import many_events
import numpy as np
from many_events import field, rows, varint

OPS = 500
STREAMS = 4
KINDS = ("MatMul", "Conv2D", "Relu", "Mul", "AddV2", "Softmax", "BiasAdd", "FusedBatchNormV3")


def stream(random, count, op_times):
    """The names, starts and durations of the executions of a stream."""
    steps = -(-count // OPS)
    took = np.maximum(1, (op_times * random.normal(1, 0.05, (steps, OPS))).astype(np.int64)).ravel()[:count]
    idle = random.exponential(300, count).astype(np.int64)
    ends = np.cumsum(took + idle)
    names = np.tile(np.arange(1, OPS + 1), steps)[:count]
    return names, (ends - took) * 1000, took * 1000


def write(path, count):
    random = np.random.default_rng(7)
    each = count // STREAMS
    op_times = random.lognormal(8.3, 1.0, OPS)
    head = field(2, b"/host:CPU")
    for name in range(1, OPS + 1):
        kind = KINDS[name % len(KINDS)]
        meta = field(2, f"block_{name // 20}/layer_{name}/{kind}:{kind}".encode())
        head += field(4, varint(1 << 3) + varint(name) + field(2, varint(1 << 3) + varint(name) + meta))
    lines = [field(2, f"stream {at}".encode()) + varint(1 << 3) + varint(at + 1) for at in range(STREAMS)]
    sizes = [len(line) + each * 21 for line in lines]
    plane = len(head) + sum(len(varint(3 << 3 | 2)) + len(varint(size)) + size for size in sizes)
    with open(path, "wb") as out:
        out.write(varint(1 << 3 | 2) + varint(plane) + head)
        for line, size in zip(lines, sizes):
            out.write(varint(3 << 3 | 2) + varint(size) + line)
            out.write(rows(*stream(random, each, op_times)))
    return each * STREAMS


def made(make, path, count):
    """Lets a process of its own write a trace: a command would start with the memory of this one."""
    with concurrent.futures.ProcessPoolExecutor(1) as pool:
        return pool.submit(make, path, count).result()


def measured(words):
    """CPU seconds (user and system) and peak memory in MB of a command."""
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}: exit code {child.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--sql-rows", type=int, default=1_000_000)
    parser.add_argument("--random", action="store_true")
    parser.add_argument("--times", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        trace, out = pathlib.Path(scratch, "host.xplane.pb"), pathlib.Path(scratch, "executions.parquet")
        make = many_events.write if args.random else write
        count = made(make, trace, args.rows)
        words = [args.binary, "tables", trace, "--table=executions", "-output", out]
        runs = [measured(words) for _ in range(args.times)]
        cpu, memory = min(run[0] for run in runs), max(run[1] for run in runs)
        print(f"Parquet: {count} rows, {cpu:.2f} CPU s, {count / cpu / 1e6:.1f} M rows per CPU s, "
              f"{memory:.0f} MB of memory, {out.stat().st_size / count:.2f} bytes per row")
        count = made(make, trace, args.sql_rows)
        words = [args.binary, "sql", trace, "select op, count(*), sum(self_ps) from executions group by op"]
        runs = [measured(words) for _ in range(args.times)]
        print(f"SQL: {count} rows grouped by op in {min(run[0] for run in runs):.2f} CPU s, {max(run[1] for run in runs):.0f} MB")


if __name__ == "__main__":
    main()
