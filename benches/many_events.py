#!/usr/bin/env python3
"""Writes an XSpace of many events: irregular, nested, in lanes, for the timeline of `tfprof web`.

  many_events.py EVENTS FILE.xplane.pb [LANES]      (with a Python that has NumPy)

Each lane has calls of random length with seven ops inside; no two lanes are alike. An event takes 21 bytes.
"""

import sys

import numpy as np

NAMES = 5000
INSIDE = 7
CHUNK = 1 << 20


def varint(number):
    out = bytearray()
    while True:
        out.append(number & 0x7F | (0x80 if number > 0x7F else 0))
        number >>= 7
        if not number:
            return bytes(out)


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def padded(numbers, size):
    """Numbers as varints of one size, as columns of bytes."""
    shifts = np.arange(size, dtype=np.uint64) * np.uint64(7)
    bytes_ = (numbers[:, None].astype(np.uint64) >> shifts & np.uint64(0x7F)).astype(np.uint8)
    bytes_[:, :-1] |= 0x80
    return bytes_


def events(random, count, begin):
    """`count` events after `begin` picoseconds, and where they end."""
    calls = max(1, count // (INSIDE + 1))
    took = (random.lognormal(15.5, 1.2, (calls, INSIDE))).astype(np.int64) + 1000
    idle = (random.exponential(1e6, (calls, INSIDE + 1))).astype(np.int64)
    ends = np.cumsum(took + idle[:, :INSIDE], axis=1)
    length = ends[:, -1] + idle[:, INSIDE]
    starts_of_calls = begin + np.concatenate([[0], np.cumsum(length[:-1] + 500_000)])
    starts = np.empty((calls, INSIDE + 1), np.int64)
    lengths = np.empty_like(starts)
    starts[:, 0], lengths[:, 0] = starts_of_calls, length
    starts[:, 1:], lengths[:, 1:] = starts_of_calls[:, None] + ends - took, took
    names = random.integers(1, NAMES + 1, starts.shape)
    return names.ravel(), starts.ravel(), lengths.ravel(), int(starts_of_calls[-1] + length[-1] + 500_000)


def rows(names, starts, lengths):
    """The bytes of events, all of one size."""
    size = 3 + 9 + 7
    out = np.empty((len(names), size + 2), np.uint8)
    out[:, 0], out[:, 1] = 4 << 3 | 2, size
    out[:, 2], out[:, 3:5] = 1 << 3, padded(names, 2)
    out[:, 5], out[:, 6:14] = 2 << 3, padded(starts, 8)
    out[:, 14], out[:, 15:21] = 3 << 3, padded(lengths, 6)
    return out.tobytes()


def write(path, count, lanes=64):
    """Writes the file, and returns how many events it has."""
    random = np.random.default_rng(7)
    each = max(INSIDE + 1, count // lanes // (INSIDE + 1) * (INSIDE + 1))
    head = field(2, b"/host:CPU")
    for name in range(1, NAMES + 1):
        kind = ("MatMul", "Conv2D", "Relu", "Mul", "AddV2", "Softmax")[name % 6]
        meta = field(2, f"scope_{name % 50}/layer_{name}/{kind}:{kind}".encode())
        head += field(4, varint(1 << 3) + varint(name) + field(2, varint(1 << 3) + varint(name) + meta))
    starts = [field(2, f"worker {lane}".encode()) + varint(1 << 3) + varint(lane + 1) for lane in range(lanes)]
    whole = [len(start) + each * 21 for start in starts]
    plane = len(head) + sum(len(varint(3 << 3 | 2)) + len(varint(size)) + size for size in whole)
    with open(path, "wb") as out:
        out.write(varint(1 << 3 | 2) + varint(plane) + head)
        for start, size in zip(starts, whole):
            out.write(varint(3 << 3 | 2) + varint(size) + start)
            left, begin = each, int(random.integers(0, 10**9))
            while left:
                now = min(left, CHUNK)
                names, at, took, begin = events(random, now, begin)
                out.write(rows(names, at, took))
                left -= now
    return each * lanes


def main():
    write(sys.argv[2], int(sys.argv[1]), *map(int, sys.argv[3:]))


if __name__ == "__main__":
    main()
