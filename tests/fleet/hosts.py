"""Makes the files of a fleet: recordings of the corpus, each with a host's name and with times of its own.

    python tests/fleet/hosts.py CORPUS DIRECTORY [HOSTS]
"""

from __future__ import annotations

import gzip
import pathlib
import random
import sys
from collections.abc import Callable, Iterator

# Two recordings: JAX and Keras, on the CPU.
RECORDINGS = ("jax_mlp", "tf_keras_fit")

# Fields of XSpace, XPlane, XLine and XEvent.
PLANES, HOSTNAMES = 1, 4
LINES = 3
EVENTS = 4
DURATION_PS = 3


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return number, at


def fields(data: bytes) -> Iterator[tuple[int, int, int | bytes, bytes]]:
    """Number, wire type, value and all bytes of each field."""
    at = 0
    while at < len(data):
        start = at
        tag, at = read_varint(data, at)
        value: int | bytes
        if tag & 7 == 0:
            value, at = read_varint(data, at)
        else:
            length, at = {1: (8, at), 5: (4, at)}.get(tag & 7) or read_varint(data, at)
            value = data[at : at + length]
            at += length
        yield tag >> 3, tag & 7, value, data[start:at]


def message(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def changed(data: bytes, path: list[int], change: Callable[[int], int]) -> bytes:
    """The message with each number at a path of fields changed."""
    out = []
    for number, _, value, whole in fields(data):
        if number != path[0]:
            out.append(whole)
        elif isinstance(value, int):
            out.append(varint(number << 3) + varint(change(value)))
        else:
            out.append(message(number, changed(value, path[1:], change)))
    return b"".join(out)


def host(recording: bytes, name: str, seed: int) -> bytes:
    """A recording as that of another host, whose ops take up to a tenth less."""
    rng = random.Random(seed)
    slower = changed(recording, [PLANES, LINES, EVENTS, DURATION_PS], lambda ps: ps - int(ps * rng.random() / 10))
    kept = b"".join(whole for number, _, _, whole in fields(slower) if number != HOSTNAMES)
    return kept + message(HOSTNAMES, name.encode())


def write(corpus: pathlib.Path, directory: pathlib.Path, count: int = 64) -> list[pathlib.Path]:
    directory.mkdir(parents=True, exist_ok=True)
    recordings = []
    for name in RECORDINGS:
        found = sorted((corpus / "xspace" / name).rglob("*.xplane.pb*"))
        recordings.append(gzip.decompress(found[0].read_bytes()) if found[0].suffix == ".gz" else found[0].read_bytes())
    paths = []
    for at in range(count):
        path = directory / f"host-{at:03}.xplane.pb"
        path.write_bytes(host(recordings[at % len(recordings)], f"host-{at:03}", at))
        paths.append(path)
    return paths


if __name__ == "__main__":
    made = write(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), *map(int, sys.argv[3:]))
    print(f"{len(made)} files in {sys.argv[2]}")
