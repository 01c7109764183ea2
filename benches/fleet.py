#!/usr/bin/env python3
"""Simulates a fleet with synthetic hosts: the cost of a partial, its size, and the cost of merging many of them.

  fleet.py --binary target/release/tfprof [--hosts 10000] [--sample 16] [--steps 1000] [--ops 200]
                                                                        (with a Python that has NumPy)

Each host is a device that ran the same ops in each step, with times of its own. The first `--sample` hosts are written and
saved as partials one by one, to measure them; then all hosts are, and their partials are merged in two levels of a tree, as
`tfprof.fleet` merges them, and once more all at once.
"""

import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import tempfile

import numpy as np
from many_events import field, rows, varint

KINDS = ("fusion", "convolution", "dot", "all-reduce", "copy")
FAN_IN = 100


def named(number, name):
    meta = varint(1 << 3) + varint(number) + field(2, name.encode())
    return field(4, varint(1 << 3) + varint(number) + field(2, meta))


def line(number, name, events):
    return field(3, varint(1 << 3) + varint(number) + field(2, name.encode()) + events)


def host(path, at, steps, ops):
    """Writes the trace of a host, and returns its size."""
    random = np.random.default_rng(at)
    typical = np.random.default_rng(1).lognormal(9, 1, ops)
    took = np.maximum(1, typical * random.normal(1 + at % 7 / 100, 0.05, (steps, ops))).astype(np.int64) * 1000
    idle = random.exponential(2e5, (steps, ops)).astype(np.int64) // 1000 * 1000
    ends = np.cumsum((took + idle).ravel()).reshape(steps, ops)
    begins = ends - took
    names = np.tile(np.arange(1, ops + 1), steps)
    plane = field(2, b"/device:TPU:0")
    plane += b"".join(named(op, f"{KINDS[op % len(KINDS)]}.{op}") for op in range(1, ops + 1))
    plane += b"".join(named(ops + 1 + step, str(step)) for step in range(steps))
    first = begins[:, 0]
    marks = rows(np.arange(ops + 1, ops + 1 + steps), first, ends[:, -1] - first)
    plane += line(1, "Steps", marks) + line(2, "XLA Ops", rows(names, begins.ravel(), took.ravel()))
    content = field(1, plane) + field(4, f"host-{at:05}".encode())
    pathlib.Path(path).write_bytes(content)
    return len(content)


def run(*words):
    """CPU seconds and peak memory in MB of a command."""
    child = subprocess.Popen(list(map(str, words)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}: exit code {child.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1000


def part(binary, directory, at, steps, ops):
    """Size of the trace, size of the partial, CPU seconds and memory of a host; the trace is removed."""
    trace, out = directory / f"host-{at:05}.xplane.pb", directory / f"host-{at:05}.part"
    size = host(trace, at, steps, ops)
    cpu, memory = run(binary, "save", "--partial", trace, f"-outfile={out}")
    trace.unlink()
    return size, out.stat().st_size, cpu, memory


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--hosts", type=int, default=10_000)
    parser.add_argument("--sample", type=int, default=16)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--ops", type=int, default=200)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        directory = pathlib.Path(scratch)
        simulate(args, directory)


def simulate(args, directory):
    def make(at):
        return part(args.binary, directory, at, args.steps, args.ops)

    # One process makes them, so that a command does not begin with the memory of NumPy's arrays.
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        sample = list(pool.map(make, range(args.sample)))
        size, small, cpu, memory = (sum(column) / len(sample) for column in zip(*sample))
        print(f"a host: {args.steps} steps of {args.ops} ops, {size / 1e6:.2f} MB of trace; its partial: {small / 1e3:.1f} KB, "
              f"{cpu:.3f} CPU s, {memory:.0f} MB of memory", flush=True)
        list(pool.map(make, range(args.sample, args.hosts)))
    parts = sorted(directory.glob("host-*.part"))
    merged, total, most = [], 0.0, 0.0
    for start in range(0, len(parts), FAN_IN):
        out = directory / f"merged-{start:05}.part"
        cpu, memory = run(args.binary, "merge", *parts[start : start + FAN_IN], f"-outfile={out}")
        merged.append(out)
        total, most = total + cpu, max(most, memory)
    whole = directory / "fleet.part"
    cpu, memory = run(args.binary, "merge", *merged, f"-outfile={whole}")
    print(f"merging {len(parts)} partials: {total:.1f} CPU s in {len(merged)} tasks of {FAN_IN}, {most:.0f} MB each; "
          f"{cpu:.1f} CPU s and {memory:.0f} MB for the last; {whole.stat().st_size / 1e6:.1f} MB", flush=True)
    again = directory / "again.part"
    cpu, memory = run(args.binary, "merge", *parts, f"-outfile={again}")
    print(f"all at once: {cpu:.1f} CPU s, {memory:.0f} MB; the bytes are {'equal' if again.read_bytes() == whole.read_bytes() else 'DIFFERENT'}")


if __name__ == "__main__":
    main()
