#!/usr/bin/env python3
"""Writes synthetic partials, one for each host of a made-up fleet, and measures `tfprof merge` and `tfprof fleet` with them.

  fleet_simulate.py --binary target/release/tfprof [--hosts 10000] [--steps 1000] [--rows 400] [--distinct 100]
  fleet_simulate.py --binary target/release/tfprof --sweep

Partials are merged all at once, and in a tree as `tfprof.fleet` merges them; the bytes have to be equal. The answer about the
fleet is compared with the times that were written. More than 60 CPU seconds or 1 GB for the merge is exit code 1. `--sweep` changes
hosts, steps and rows one at a time, to see which of them memory follows.

The layout is that of crates/tfprof/src/part/file.rs, written here a second time, so that the reader is tested against it, too.
Every host has the same rows and its own times: a base, noise, a slow host now and then, and a slow step now and then.
"""

import argparse
import functools
import itertools
import json
import os
import pathlib
import random
import statistics
import struct
import subprocess
import sys
import tempfile
import zlib

VERSION = 2
PICOS = 1_000_000
SAMPLED = 16
# How many partials `tfprof.fleet` merges at once.
FAN_IN = 16
MOST_CPU, MOST_MEMORY = 60.0, 1000.0
OPS = ["all-reduce", "convolution", "dot_general", "fusion", "transpose"]
MASK = (1 << 64) - 1


def number(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def signed(value: int) -> bytes:
    return number(value * 2 if value >= 0 else -value * 2 - 1)


def maybe(value: int | None) -> bytes:
    return b"\0" if value is None else number(1 + (value * 2 if value >= 0 else -value * 2 - 1))


def text(value: str) -> bytes:
    raw = value.encode()
    return number(len(raw)) + raw


def section(kind: int, raw: bytes) -> bytes:
    deflate = zlib.compressobj(6, zlib.DEFLATED, -15)
    packed = deflate.compress(raw) + deflate.flush()
    head = bytes([kind]) + number(len(packed)) + number(len(raw))
    return head + struct.pack("<I", zlib.crc32(packed, zlib.crc32(head))) + packed


def mix(step: int) -> int:
    z = (step + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def bucket(value: int) -> int:
    exponent = max(value.bit_length() - 7, 0)
    return (exponent << 6) + (value >> exponent)


def step_set(steps: int) -> bytes:
    return number(1) + signed(0) + number(steps - 1)


def sums(runs: int, time: int) -> bytes:
    # The bits of runs, self time and inclusive time.
    return number(0b1000_0011) + signed(runs) + signed(time) + signed(time)


def row(layer_name_op: tuple[int, int], device: int, times: list[int], sampled: list[int]) -> bytes:
    out = bytearray([0])
    out += number(layer_name_op[0]) + number(layer_name_op[1]) + number(0)
    out += bytes(3)  # no types, categories or programs
    out += bytes([0, 0, 0, 0, 0])  # no shape, no inputs, no stack, no FLOPs, not inside of a function
    out += bytes([0]) + number(device) + bytes([0])
    out += bytes([0, 8, 0])  # no cost; it holds something; no precision
    out += number(1) * 2  # the second set of steps: all
    out += number(1) + number(device)
    out += sums(len(times), sum(times)) + b"\0"
    counts: dict[int, int] = {}
    for time in times:
        counts[bucket(time)] = counts.get(bucket(time), 0) + 1
    out += number(len(counts))
    last = 0
    for at in sorted(counts):
        out += number(at - last) + number(counts[at])
        last = at
    out += number(sum(time * time for time in times)) + signed(min(times)) + signed(max(times))
    out += number(len(sampled))
    for step in sampled:
        out += signed(step) + sums(1, times[step])
    return bytes(out)


@functools.cache
def walls(seed: int, steps: int) -> tuple[list[float], list[int]]:
    """The steps of a host against the typical one, and their picoseconds."""
    chance = random.Random(seed)
    slow = 1.2 if seed % 97 == 13 else 1.0
    factor = [slow * chance.uniform(0.98, 1.02) * (4 if chance.random() < 0.0005 else 1) for _ in range(steps)]
    return factor, [int(100_000_000_000 * one) for one in factor]


@functools.cache
def measured(seed: int, steps: int, rows: int) -> tuple[bytes, bytes]:
    """The steps of a block and the section of rows, which hosts of one seed share."""
    factor, wall = walls(seed, steps)
    sampled = sorted(sorted(range(steps), key=mix)[:SAMPLED])
    names = [f"jit(train_step)/layer_{at // 8:03}/op_{at:04}" for at in range(rows)]
    device = "/device:TPU:0"
    texts = sorted(["", device, *OPS, *names])
    at = {value: index for index, value in enumerate(texts)}

    block = signed(PICOS) + bytes([1]) + number(steps) + signed(0) + signed(1) * (steps - 1)
    starts = [0, *itertools.accumulate(wall[:-1])]
    busy, idle = [one * 9 // 10 for one in wall], [one // 10 for one in wall]
    columns = [starts, wall, busy, idle, [0] * steps, [one // 5 for one in wall], [rows] * steps, busy]
    block += b"".join(maybe(value) for column in columns for value in column)
    by_op = signed(steps * rows // len(OPS)) + signed(sum(busy) // len(OPS))
    block += number(len(OPS)) + b"".join(text(op) + by_op for op in OPS)
    block += number(0) + b"\0" + number(0)

    body = number(len(texts)) + b"".join(map(text, texts)) + number(0) + number(0)
    body += number(2) + number(0) + step_set(steps)
    body += number(1) + number(at[device]) + bytes([3])
    body += number(len(sampled)) + b"".join(map(signed, sampled)) + number(rows)
    for index, name in enumerate(names):
        share = wall[0] // (rows * 2) * (1 + index % 3)
        times = [int(share * one) for one in factor]
        body += row((at[name], at[OPS[index % len(OPS)]]), at[device], times, sampled)
    return block, section(3, body)


def part(host: int, seed: int, options: argparse.Namespace) -> bytes:
    steps = options.steps
    block, rows = measured(seed, steps, options.rows)
    ledger = maybe(PICOS) + bytes([1, 0, 0, 0]) + number(1) + text("micros")
    ledger += maybe(None) + b"\0" + signed(0) + step_set(steps) + number(1)
    ledger += text(f"host-{host:05}") + text(f"host-{host:05}.xplane.pb") + number(1)
    ledger += text(f"/data/host-{host:05}.xplane.pb") + number(1_000_000 + host)
    ledger += struct.pack("<QQ", host + 1, options.hosts) + b"\1"
    ledger += number(options.rows * steps) + number(0) + b"\0" + b"\1"
    head = b"\0\0" + maybe(host) + maybe(options.hosts) + maybe(None) * 2
    return b"TFPROFPT" + struct.pack("<I", VERSION) + section(1, ledger) + section(2, head + block) + rows + b"\0"


def run(*words: object) -> tuple[float, float]:
    """CPU seconds and peak memory in MB of a command."""
    child = subprocess.Popen(list(map(str, words)), stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{words[1]}: exit code {child.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1000


def tree(binary: str, parts: list[pathlib.Path], directory: pathlib.Path) -> tuple[pathlib.Path, float, float, list[str]]:
    """Merges level by level: the last partial, CPU seconds, the most memory of a task, and a note for each level."""
    total, most, notes = 0.0, 0.0, []
    for level in itertools.count(1):
        merged = []
        for start in range(0, len(parts), FAN_IN):
            out = directory / f"level-{level}-{start:05}.part"
            cpu, memory = run(binary, "merge", *parts[start : start + FAN_IN], f"-outfile={out}")
            total, most = total + cpu, max(most, memory)
            merged.append(out)
        notes.append(f"{len(merged)} of {sum(out.stat().st_size for out in merged) / len(merged) / 1e6:.2f} MB")
        parts = merged
        if len(parts) == 1:
            return parts[0], total, most, notes
    raise AssertionError


def check(answer: dict, options: argparse.Namespace) -> None:
    """The answer of `tfprof fleet`, computed a second time from the times that were written."""
    seeds = [host % options.distinct for host in range(options.hosts)]
    medians = {seed: statistics.median(walls(seed, options.steps)[1]) / PICOS for seed in set(seeds)}
    found = {host["host"]: host["median_micros"] for host in answer["hosts"]}
    for host, seed in enumerate(seeds):
        assert abs(found[f"host-{host:05}"] - medians[seed]) < 1e-6 * medians[seed], (host, seed)
    middle = statistics.median(medians[seed] for seed in seeds)
    slowest = max(medians.values())
    assert len(found) == options.hosts and abs(answer["hosts"][0]["median_micros"] - slowest) < 1e-6 * slowest
    assert abs(answer["hosts"][0]["slower_percent"] - 100 * (slowest / middle - 1)) < 1e-6
    by_step = [[walls(seed, options.steps)[1][step] for seed in seeds] for step in range(options.steps)]
    skew = statistics.median(100 * (max(times) / statistics.median(times) - 1) for times in by_step)
    assert abs(answer["skew_percent"] - skew) < 1e-6, (answer["skew_percent"], skew)


def write(directory: pathlib.Path, options: argparse.Namespace) -> tuple[list[pathlib.Path], int]:
    """The partials and the bytes of all."""
    paths, size = [], 0
    for host in range(options.hosts):
        made = part(host, host % options.distinct, options)
        paths.append(directory / f"{host:05}.part")
        paths[-1].write_bytes(made)
        size += len(made)
    return paths, size


def simulate(options: argparse.Namespace, directory: pathlib.Path) -> bool:
    parts, size = write(directory, options)
    print(f"{options.hosts} partials of {options.steps} steps and {options.rows} rows, {size / options.hosts / 1e3:.1f} KB each", flush=True)
    whole = directory / "whole.part"
    cpu, memory = run(options.binary, "merge", *parts, f"-outfile={whole}")
    print(f"  merge, all at once: {cpu:.1f} CPU s, {memory:.0f} MB; {whole.stat().st_size / 1e6:.1f} MB of {size / 1e6:.1f}", flush=True)
    within = cpu <= MOST_CPU and memory <= MOST_MEMORY
    if options.sweep:
        return within
    last, total, most, notes = tree(options.binary, parts, directory)
    same = last.read_bytes() == whole.read_bytes()
    print(f"  in a tree of {FAN_IN}: {total:.1f} CPU s, at most {most:.0f} MB a task; {', '.join(notes)}; "
          f"the bytes are {'equal' if same else 'DIFFERENT'}", flush=True)
    cpu, memory = run(options.binary, "fleet", whole, f"-output={directory}/fleet.json")
    print(f"  fleet: {cpu:.1f} CPU s, {memory:.0f} MB", flush=True)
    check(json.loads((directory / "fleet.json").read_text()), options)
    print("  the medians of all hosts and the skew are those that were written")
    return within and same


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--hosts", type=int, default=10_000)
    parser.add_argument("--steps", type=int, default=1_000)
    parser.add_argument("--rows", type=int, default=400)
    parser.add_argument("--distinct", type=int, default=100, help="how many hosts differ in their times; the others repeat those")
    parser.add_argument("--sweep", action="store_true")
    options = parser.parse_args()
    sizes = [(options.hosts, options.steps, options.rows)]
    if options.sweep:
        sizes = [(1000, 1000, 400), (4000, 1000, 400), (1000, 250, 400), (4000, 250, 400), (1000, 250, 4000), (4000, 250, 4000)]
    within = True
    for options.hosts, options.steps, options.rows in sizes:
        with tempfile.TemporaryDirectory() as directory:
            within &= simulate(options, pathlib.Path(directory))
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
