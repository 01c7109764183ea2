"""Random HDF5 and safetensors files as h5py, NumPy and safetensors read them, and as tfprof does: names, types, shapes,
values and statistics. Layouts, versions, filters, byte orders, types and texts vary.

Usage: arrays.py [--tfprof target/release/tfprof] [--seed 1] [--files 40]
"""

import argparse
import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

import h5py
import numpy

TYPES = ["<f4", ">f4", "<f8", ">f8", "<f2", ">f2", "<i1", "<i2", ">i4", "<i8", "<u1", ">u2", "<u4", ">u8", "bool", "<c8", ">c16"]
VERSIONS = ["earliest", "v108", "v110", "latest", ("earliest", "v108")]


def random_array(choice, dtype):
    shape = tuple(choice.choice([1, 2, 3, 5, 17]) for _ in range(choice.randrange(4)))
    numbers = numpy.random.default_rng(choice.randrange(1 << 30))
    if choice.random() < 0.05:
        shape = shape + (0,)
    if dtype == "bool":
        return numbers.integers(0, 2, shape).astype(bool)
    kind = numpy.dtype(dtype).kind
    if kind in "iu":
        info = numpy.iinfo(dtype)
        return numbers.integers(max(info.min, -(1 << 50)), min(info.max, 1 << 50), shape).astype(dtype)
    array = numbers.normal(size=shape) * 10.0 ** choice.randrange(-3, 3)
    if kind == "c":
        array = array + 1j * numbers.normal(size=shape)
    return numpy.asarray(array).astype(dtype)


def write_texts(choice, group, name):
    texts = ["".join(choice.choice("abcé日 ") for _ in range(choice.randrange(12))).strip() for _ in range(choice.randrange(1, 5))]
    if choice.random() < 0.5:
        group.create_dataset(name, data=numpy.array([text.encode() for text in texts], dtype="S40"))
    else:
        group.create_dataset(name, data=texts, dtype=h5py.string_dtype())


def dataset_options(choice, array):
    options = {}
    if array.ndim and array.size and choice.random() < 0.6:
        options["chunks"] = tuple(choice.randrange(1, dim + 1) for dim in array.shape)
        how = choice.randrange(8)
        if how < 3:
            options["compression"] = choice.choice(["gzip", "lzf"])
        if choice.random() < 0.4:
            options["shuffle"] = True
        if choice.random() < 0.3:
            options["fletcher32"] = True
        resizable = choice.random()
        if resizable < 0.3:
            options["maxshape"] = (None,) * array.ndim
        elif resizable < 0.5:
            options["maxshape"] = (None,) + array.shape[1:]
    return options


def write_compact(group, name, array):
    space = h5py.h5s.create_simple(array.shape)
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_layout(h5py.h5d.COMPACT)
    kind = h5py.h5t.py_create(array.dtype, logical=True)
    h5py.h5d.create(group.id, name.encode(), kind, space, plist).write(h5py.h5s.ALL, h5py.h5s.ALL, numpy.ascontiguousarray(array))


def write_hdf5(path, choice):
    options = {"userblock_size": 512} if choice.random() < 0.1 else {}
    with h5py.File(path, "w", libver=choice.choice(VERSIONS), **options) as file:
        for g in range(choice.choice([1, 2, 3, 40])):
            order = choice.random() < 0.3
            group = file.create_group(f"group {g}/inner", track_order=order)
            for a in range(choice.choice([0, 1, 12])):
                group.attrs[f"attribute{a}"] = choice.choice([b"x" * 5000, "text", 3, [1.5, 2.5], [b"a", b"bc"]])
            for d in range(choice.choice([1, 3, 40]) if g < 3 else 1):
                name = f"array{d}"
                how = choice.random()
                array = random_array(choice, choice.choice(TYPES))
                if how < 0.1:
                    write_texts(choice, group, name)
                elif how < 0.2 and array.size and array.dtype.kind in "fiu":
                    write_compact(group, name, array)
                elif how < 0.25:
                    group.create_dataset(name, shape=array.shape, dtype=array.dtype, fillvalue=choice.choice([None, 3]) if array.dtype.kind in "fiu" else None)
                else:
                    extra = dataset_options(choice, array)
                    if array.ndim and array.size and "chunks" in extra and choice.random() < 0.2:
                        # Only a part is written: other chunks are filled.
                        made = group.create_dataset(name, shape=array.shape, dtype=array.dtype, **extra)
                        made[0:1] = array[0:1]
                    else:
                        group.create_dataset(name, data=array, **extra)


def read_hdf5(path):
    arrays = {}

    def visit(name, item):
        if isinstance(item, h5py.Dataset):
            texts = h5py.check_string_dtype(item.dtype)
            arrays[name] = item.asstr("utf-8")[()] if texts else item[()]

    with h5py.File(path) as file:
        file.visititems(visit)
    return arrays


SAFE = {"f2": "F16", "f4": "F32", "f8": "F64", "i1": "I8", "i2": "I16", "i4": "I32", "i8": "I64", "u1": "U8", "u2": "U16", "u4": "U32", "u8": "U64"}


def write_safetensors(path, choice):
    """The format is simple enough to write by hand: a length, a header, bytes."""
    header, data, arrays = {}, b"", {}
    for number in range(choice.randrange(1, 30)):
        dtype = choice.choice(list(SAFE))
        array = random_array(choice, "<" + dtype)
        arrays[f"layer.{number}.weight"] = array
        header[f"layer.{number}.weight"] = {"dtype": SAFE[dtype], "shape": list(array.shape), "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    if choice.random() < 0.5:
        header["__metadata__"] = {"format": "pt"}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return arrays


class Tfprof:
    def __init__(self, binary):
        self.binary = binary

    def ask(self, *words):
        done = subprocess.run([self.binary, "checkpoint", *words, "-output", "json:outfile=-"], capture_output=True)
        if done.returncode:
            raise SystemExit(f"{' '.join(map(str, words))}: exit code {done.returncode}: {done.stderr.decode()}")
        return json.loads(done.stdout)


def type_name(array):
    array = numpy.asarray(array)
    return "string" if array.dtype.kind in "OUS" else array.dtype.newbyteorder("=").name


def same(a, b):
    return a == b or (a is not None and b is not None and abs(float(a) - float(b)) <= 1e-9 * max(abs(float(a)), abs(float(b)), 1e-30))


def check_values(tfprof, path, name, array):
    found = tfprof.ask(path, "--values", name)
    values = found["values"] if "values" in found else found["rows"]
    flat = numpy.asarray(array).reshape(-1)
    if flat.dtype.kind == "c":
        expect = [[float(x.real), float(x.imag)] for x in flat]
    elif flat.dtype.kind in "OUS":
        expect = [str(x) for x in flat]
    elif flat.dtype.kind == "f":
        expect = [float(x) for x in flat]
    else:
        expect = [x.item() for x in flat]
    got = numpy.asarray(values, dtype=object).reshape(-1).tolist() if flat.dtype.kind != "c" else values
    if flat.dtype.kind == "f":
        return len(got) == len(expect) and all(same(a, b) for a, b in zip(got, expect))
    return json.dumps(flatten(got)) == json.dumps(flatten(expect)) or flatten(got) == flatten(expect)


def flatten(values):
    flat = []
    for value in values if isinstance(values, list) else [values]:
        flat += flatten(value) if isinstance(value, list) else [value]
    return flat


def compare(tfprof, path, arrays, choice):
    rows = {row["name"]: row for row in tfprof.ask(path, "--stats")["rows"]}
    if set(rows) != set(arrays):
        raise SystemExit(f"{path}: names differ: {sorted(set(rows) ^ set(arrays))[:5]}")
    for name, array in arrays.items():
        row, array = rows[name], numpy.asarray(array)
        if list(row["shape"]) != list(array.shape) or row["dtype"] != type_name(array):
            raise SystemExit(f"{path}: {name}: {row['dtype']} {row['shape']}, expected {type_name(array)} {array.shape}")
        if array.size and array.dtype.kind in "fiub":
            stats, wide = row["stats"], array.astype("float64")
            for key, expect in (("min", wide.min()), ("max", wide.max())):
                if not same(stats[key], expect):
                    raise SystemExit(f"{path}: {name}: {key} {stats[key]}, expected {expect}")
            if abs(stats["mean"] - wide.mean()) > 1e-6 * max(1e-9, abs(wide).max()):
                raise SystemExit(f"{path}: {name}: mean {stats['mean']}, expected {wide.mean()}")
    for name in choice.sample(sorted(arrays), min(4, len(arrays))):
        if not check_values(tfprof, path, name, arrays[name]):
            raise SystemExit(f"{path}: the values of {name} differ: {tfprof.ask(path, '--values', name)} {arrays[name]}")
    return len(arrays)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tfprof", default="target/release/tfprof")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--files", type=int, default=40)
    parser.add_argument("--keep", help="write the files here and leave them")
    arguments = parser.parse_args()
    tfprof, count = Tfprof(arguments.tfprof), 0
    with tempfile.TemporaryDirectory() as temporary:
        directory = pathlib.Path(arguments.keep or temporary)
        for number in range(arguments.files):
            choice = random.Random(arguments.seed * 100_000 + number)
            path = directory / f"{number}.h5"
            write_hdf5(path, choice)
            count += compare(tfprof, str(path), read_hdf5(path), choice)
            path = directory / f"{number}.safetensors"
            count += compare(tfprof, str(path), write_safetensors(path, choice), choice)
    print(f"{count} arrays of {2 * arguments.files} files are equal")


if __name__ == "__main__":
    sys.exit(main())
