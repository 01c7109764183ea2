#!/usr/bin/env python3
"""Makes the built-in sample (`tfprof demo`) from the ResNet-32 of the corpus.

Graph and steps are taken as they are. The op log is put together: types and code traces of `tfprof_log`, float
operations of `tfprof_log_legacy`, which are those that the manual's transcripts were made with.

usage: scripts/make_demo.py [--check]

`--check` only says whether the committed sample is what this script makes.
"""

import argparse
import gzip
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = ROOT / "corpus" / "resnet32"
TARGET = ROOT / "crates" / "tfprof-cli" / "demo"

# Fields of OpLogProto and its entries.
LOG_ENTRIES = 1
NAME, FLOAT_OPS = 1, 2
LENGTH_DELIMITED = 2


def varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 0x7F) << shift
        at += 1
        shift += 7
        if byte < 0x80:
            return number, at


def write_varint(number: int) -> bytes:
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def fields(data: bytes):
    """Yields (number, kind, value, bytes) of each field; values of messages and strings are their bytes."""
    at = 0
    while at < len(data):
        start = at
        key, at = varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == LENGTH_DELIMITED:
            length, at = varint(data, at)
            value, at = data[at : at + length], at + length
        else:
            raise ValueError(f"field {number} has the kind {kind}, which an op log does not use")
        yield number, kind, value, data[start:at]


def float_ops_of(log: bytes) -> dict[bytes, int]:
    counts = {}
    for number, _, entry, _ in fields(log):
        if number == LOG_ENTRIES:
            parts = {part: value for part, _, value, _ in fields(entry)}
            if parts.get(FLOAT_OPS):
                counts[parts[NAME]] = parts[FLOAT_OPS]
    return counts


def message(number: int, body: bytes) -> bytes:
    return write_varint(number << 3 | LENGTH_DELIMITED) + write_varint(len(body)) + body


def merged_log(log: bytes, counts: dict[bytes, int]) -> bytes:
    """The log with its FLOPs replaced by `counts`."""
    out = bytearray()
    left = dict(counts)
    for number, _, entry, raw in fields(log):
        if number != LOG_ENTRIES:
            out += raw
            continue
        parts = list(fields(entry))
        name = next(value for part, _, value, _ in parts if part == NAME)
        body = b"".join(bytes(piece) for part, _, _, piece in parts if part != FLOAT_OPS)
        if name in left:
            body += write_varint(FLOAT_OPS << 3) + write_varint(left.pop(name))
        out += message(LOG_ENTRIES, body)
    for name, count in sorted(left.items()):
        out += message(LOG_ENTRIES, message(NAME, name) + write_varint(FLOAT_OPS << 3) + write_varint(count))
    return bytes(out)


def plain(name: str) -> bytes:
    return gzip.decompress((SOURCE / f"{name}.gz").read_bytes())


def sample() -> dict[str, bytes]:
    """The files of the sample, plain, but for its checkpoint (make_demo_checkpoint.py)."""
    log = merged_log(plain("tfprof_log"), float_ops_of(plain("tfprof_log_legacy")))
    return {
        "graph.pb": plain("graph.pb"),
        "run_meta_0": plain("run_meta_0"),
        "run_meta_100": plain("run_meta_100"),
        "tfprof_log": log,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    stale = []
    for name, data in sample().items():
        target = TARGET / f"{name}.gz"
        # Compressors differ between versions of zlib, so what is compared is the content.
        if target.exists() and gzip.decompress(target.read_bytes()) == data:
            continue
        stale.append(name)
        if not check:
            TARGET.mkdir(parents=True, exist_ok=True)
            target.write_bytes(gzip.compress(data, compresslevel=9, mtime=0))
    if check and stale:
        print(f"stale: {', '.join(stale)}; run scripts/make_demo.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
