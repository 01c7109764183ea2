"""Writes synthetic partials, one for each host of a made-up fleet, to measure `tfprof merge` with.

    python benches/fleet_simulate.py DIR --hosts 10000 --steps 1000 --rows 400
    /usr/bin/time -v tfprof merge DIR/*.part -outfile=all.part --max_memory=1GB

The layout is that of crates/tfprof/src/part/file.rs, written here a second time, so that the reader is tested against it, too.
Every host has the same rows and its own times: a base, noise, a slow host now and then, and a slow step now and then.
"""

import argparse
import functools
import itertools
import pathlib
import random
import struct
import zlib

VERSION = 1
PICOS = 1_000_000
SAMPLED = 16
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
    out += bytes([0, 0, 0, 0])  # no shape, no stack, no FLOPs, not inside of a function
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
def measured(seed: int, steps: int, rows: int) -> tuple[bytes, bytes]:
    """The steps of a block and the section of rows, which hosts of one seed share."""
    chance = random.Random(seed)
    slow = 1.2 if seed % 97 == 13 else 1.0
    factor = [slow * chance.uniform(0.98, 1.02) * (4 if chance.random() < 0.0005 else 1) for _ in range(steps)]
    wall = [int(100_000_000_000 * one) for one in factor]
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--hosts", type=int, default=10_000)
    parser.add_argument("--steps", type=int, default=1_000)
    parser.add_argument("--rows", type=int, default=400)
    parser.add_argument("--distinct", type=int, default=100, help="how many hosts differ in their times; the others repeat those")
    options = parser.parse_args()
    options.directory.mkdir(parents=True, exist_ok=True)
    size = 0
    for host in range(options.hosts):
        made = part(host, host % options.distinct, options)
        (options.directory / f"{host:05}.part").write_bytes(made)
        size += len(made)
    print(f"{options.hosts} partials, {size / options.hosts / 1000:.1f} KB each")


if __name__ == "__main__":
    main()
