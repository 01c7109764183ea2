"""Checkpoints written by TensorFlow itself: names, shapes, types and values as tfprof reads them, against
tf.train.load_checkpoint.

Usage: checkpoints.py [--tfprof target/release/tfprof] [--keep DIR]
"""

import argparse
import base64
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import ml_dtypes
import numpy as np
import tensorflow as tf

v1 = tf.compat.v1


def numbers(dtype, shape, seed=0):
    """An array with values of all sizes that the type has."""
    rng = np.random.default_rng(seed)
    count = int(np.prod(shape))
    if dtype == np.bool_:
        return rng.integers(0, 2, shape).astype(bool)
    if np.issubdtype(dtype, np.complexfloating):
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
    if np.issubdtype(dtype, np.integer):
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    values = rng.normal(size=count) * 10.0 ** rng.integers(-3, 4, count)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0]
    values[: min(len(special), count)] = special[: min(len(special), count)]
    return values.reshape(shape).astype(dtype)


def every_dtype(shape):
    """A tensor of each type that can be saved, by name."""
    tensors = {}
    for name in ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"]:
        tensors[name] = tf.constant(numbers(np.dtype(name), shape))
    for name in ["uint64", "bool", "complex64", "complex128"]:
        tensors[name] = tf.constant(numbers(np.dtype(name), shape))
    for name in ["bfloat16", "float8_e5m2", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e4m3b11fnuz", "float8_e5m2fnuz"]:
        tensors[name] = tf.constant(numbers(np.dtype(np.float32), shape).astype(getattr(ml_dtypes, name)))
    for name in ["int4", "uint4", "int2", "uint2", "float4_e2m1fn"]:
        plain = np.arange(int(np.prod(shape))).reshape(shape) % 4 - (0 if name.startswith("u") else 2)
        try:
            tensors[name] = tf.constant(plain.astype(getattr(ml_dtypes, name)))
        except (TypeError, AttributeError, tf.errors.OpError, ValueError) as error:
            print(f"  no {name} here: {error}".splitlines()[0])
    for name, like in [("qint8", "int8"), ("quint8", "uint8"), ("qint32", "int32"), ("qint16", "int16"), ("quint16", "uint16")]:
        tensors[name] = tf.bitcast(tf.constant(numbers(np.dtype(like), shape)), getattr(tf, name))
    texts = [f"text {i} \u00e9" * (i % 5) for i in range(int(np.prod(shape)))]
    tensors["string"] = tf.reshape(tf.constant(texts, dtype=tf.string), shape)
    return tensors


def save_v2(directory):
    tensors = {}
    for label, shape in [("vector", [9]), ("matrix", [3, 4]), ("scalar", []), ("empty", [2, 0, 3]), ("cube", [2, 3, 5])]:
        tensors |= {f"{label}/{name}": tensor for name, tensor in every_dtype(shape).items()}
    prefix = str(directory / "v2/all.ckpt")
    os.makedirs(directory / "v2")
    names = sorted(tensors)
    tf.raw_ops.SaveV2(prefix=prefix, tensor_names=names, shape_and_slices=[""] * len(names), tensors=[tensors[n] for n in names])
    return prefix, {name: tensors[name] for name in names}


def save_v1(directory):
    tensors = {}
    for label, shape in [("vector", [9]), ("matrix", [3, 4]), ("scalar", []), ("empty", [0]), ("long", [90000])]:
        tensors |= {f"{label}/{name}": tensor for name, tensor in every_dtype(shape).items()}
    # The first format knows the types of its time.
    os.makedirs(directory / "v1")
    kept = {}
    for name, tensor in tensors.items():
        try:
            tf.raw_ops.Save(filename=str(directory / "v1/probe"), tensor_names=[name], data=[tensor])
            kept[name] = tensor
        except (tf.errors.OpError, ValueError, TypeError, RuntimeError):
            pass
    os.remove(directory / "v1/probe")
    prefix = str(directory / "v1/all.ckpt")
    names = sorted(kept)
    tf.raw_ops.Save(filename=prefix, tensor_names=names, data=[kept[n] for n in names])
    print(f"  the first format takes {sorted({n.split('/')[1] for n in names})}")
    return prefix, kept


def session():
    return v1.Session(config=v1.ConfigProto(device_count={"CPU": 3}))


def save_graph(directory, name, version, sharded):
    """Variables of a graph on two devices, some of them in parts."""
    with tf.Graph().as_default():
        with v1.variable_scope("net", use_resource=True):
            for device in range(3):
                with tf.device(f"/cpu:{device}"):
                    v1.get_variable(f"w{device}", initializer=numbers(np.dtype("float32"), [5, 4], device)[:, :].tolist())
                    v1.get_variable(f"n{device}", initializer=tf.constant(device, tf.int64))
        with v1.variable_scope("parts", partitioner=v1.fixed_size_partitioner(3, axis=0)):
            parts = [v1.get_variable("rows", [7, 4], initializer=v1.random_normal_initializer(seed=1))]
        with v1.variable_scope("parts", partitioner=v1.fixed_size_partitioner(2, axis=1)):
            parts += [v1.get_variable("columns", [3, 5], initializer=v1.random_normal_initializer(seed=2))]
            parts += [v1.get_variable("cube", [2, 4, 3], initializer=v1.random_normal_initializer(seed=3))]
        saver = v1.train.Saver(write_version=version, sharded=sharded)
        os.makedirs(directory / name)
        with session() as sess:
            sess.run(v1.global_variables_initializer())
            # TensorFlow's reader refuses parts in the first format, so their values come from the session.
            known = {part.name: sess.run(tf.convert_to_tensor(part)) for part in parts}
            return saver.save(sess, str(directory / name / "model.ckpt"), global_step=7), known


def save_objects(directory):
    """A module of Keras with its optimizer, and plain objects."""
    import keras

    layers = [keras.Input((4,)), keras.layers.Dense(3), keras.layers.BatchNormalization(), keras.layers.Dense(2, name="out")]
    model = keras.Sequential(layers)
    model.compile("adam", "mse")
    model.fit(np.ones((4, 4)), np.ones((4, 2)), verbose=0)
    checkpoint = tf.train.Checkpoint(model=model, optimizer=model.optimizer, step=tf.Variable(3), table={"a": tf.Variable([1.0, 2.0])})
    for _ in range(3):
        latest = checkpoint.save(str(directory / "objects/ck"))
    tf.saved_model.save(model, str(directory / "saved_model"))
    return latest, str(directory / "saved_model/variables/variables")


class Tfprof:
    def __init__(self, binary):
        self.binary = binary

    def json(self, *words, code=0):
        done = subprocess.run([self.binary, "checkpoint", *words, "-output", "json:outfile=-"], capture_output=True)
        assert done.returncode == code, (words, done.returncode, done.stderr.decode())
        return json.loads(done.stdout)


def flat(values):
    if not isinstance(values, list):
        return [values]
    return [value for part in values for value in flat(part)]


def as_array(answer, like):
    """The values of an answer as an array of the type of another."""
    values = flat(answer["values"])
    if answer["dtype"].startswith("complex"):
        pairs = iter([float(value) for value in values])
        values = [complex(re, im) for re, im in zip(pairs, pairs)]
    elif answer["dtype"] == "string":
        # Strings that are no text come in base64.
        values = [base64.b64decode(value["base64"]) if isinstance(value, dict) else value.encode() for value in values]
        return np.array(values, dtype=object).reshape(answer["shape"])
    elif not answer["dtype"].startswith(("int", "uint", "qint", "quint", "bool")):
        values = [float(value) for value in values]
        return np.array(values, dtype=np.float64).astype(like.dtype).reshape(answer["shape"])
    return np.array(values, dtype=like.dtype).reshape(answer["shape"])


def same(ours, theirs):
    if ours.shape != theirs.shape:
        return False
    if theirs.dtype == object:
        return ours.tolist() == theirs.tolist()
    if theirs.dtype.kind in "biuc" and theirs.dtype.kind != "c":
        return bool(np.array_equal(ours, theirs))
    # Bit for bit, but that one NaN is as good as another.
    both_nan = np.isnan(ours) & np.isnan(theirs)
    return ours[~both_nan].tobytes() == theirs[~both_nan].tobytes()


def check(tfprof, path, known=None, named=None):
    """Compares all that TensorFlow says of a checkpoint; `named` is the path that tfprof is given."""
    named = named or path
    reader = tf.train.load_checkpoint(path)
    shapes, dtypes = reader.get_variable_to_shape_map(), reader.get_variable_to_dtype_map()
    rows = {row["name"]: row for row in tfprof.json(named)["rows"]}
    assert set(rows) == set(shapes), (path, set(rows) ^ set(shapes))
    for name, shape in shapes.items():
        row = rows[name]
        assert (row["shape"], row["dtype"]) == (shape, dtypes[name].name), (path, row, shape, dtypes[name])
        assert row["parameters"] == int(np.prod(shape)), row
        answer = tfprof.json(named, "--values", name)
        assert (answer["name"], answer["dtype"], answer["shape"]) == (name, dtypes[name].name, shape)
        try:
            theirs = reader.get_tensor(name)
        except (tf.errors.OpError, RuntimeError, ValueError, TypeError):
            theirs = None
        if theirs is None and known:
            theirs = known[name]
        if theirs is None:
            raise AssertionError(f"{path}: {name} cannot be compared")
        theirs = theirs.numpy() if isinstance(theirs, tf.Tensor) else theirs
        theirs = np.array(theirs, dtype=object) if isinstance(theirs, bytes) else np.asarray(theirs)
        assert same(as_array(answer, theirs), theirs), (path, name, answer["values"], theirs)
        if len(shape) == 2 and shape[0] >= 2 and row["dtype"] != "string":
            part = tfprof.json(named, "--values", f"{name}[1:,-1]")
            assert same(as_array(part, theirs), np.ascontiguousarray(theirs[1:, -1])), (path, name, part)
    verdict = tfprof.json(named, "--verify")
    assert verdict["damage"] == [] and verdict["tensors"] == len(shapes), verdict
    print(f"  {len(shapes)} tensors the same: {os.path.relpath(named)}")


def check_damage(tfprof, directory, prefix):
    """Each way of damage: a sentence that names file, tensor and offset, and the rest still listed."""
    index, data = pathlib.Path(prefix + ".index").read_bytes(), pathlib.Path(prefix + ".data-00000-of-00001").read_bytes()
    total = len(tfprof.json(prefix)["rows"])
    home = directory / "damaged"
    home.mkdir()

    def damaged(label, index, data, listing, tensors=None):
        path = str(home / label)
        pathlib.Path(path + ".index").write_bytes(index)
        if data is not None:
            pathlib.Path(path + ".data-00000-of-00001").write_bytes(data)
        verdict = tfprof.json(path, "--verify", code=3)
        for damage in verdict["damage"]:
            assert damage["file"].startswith(path) and damage["message"], damage
        assert any(d["tensor"] and d["offset"] is not None for d in verdict["damage"]) or tensors == 0, verdict
        rows = tfprof.json(path, code=listing)["rows"]
        assert len(rows) == total, (label, len(rows), total)
        first = verdict["damage"][0]
        print(f"  {label}: {os.path.basename(first['file'])}: byte {first['offset']}: {first['tensor']}: {first['message']}")

    def flipped(data, at):
        return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]

    damaged("data-cut", index, data[: len(data) // 2], listing=4)
    damaged("data-flipped", index, flipped(data, len(data) // 2), listing=0)
    damaged("data-missing", index, None, listing=0)
    damaged("index-flipped", flipped(index, len(index) // 3), data, listing=4)
    damaged("index-cut", index[:-30], data, listing=4, tensors=0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tfprof", default="target/release/tfprof")
    parser.add_argument("--keep", help="write the checkpoints here and leave them")
    words = parser.parse_args()
    tfprof = Tfprof(os.path.abspath(words.tfprof))
    with tempfile.TemporaryDirectory() as temporary:
        directory = pathlib.Path(words.keep or temporary)
        directory.mkdir(parents=True, exist_ok=True)
        prefix, known = save_v2(directory)
        check(tfprof, prefix, known)
        check_damage(tfprof, directory, prefix)
        path, known = save_v1(directory)
        check(tfprof, path, known)
        V1, V2 = v1.train.SaverDef.V1, v1.train.SaverDef.V2
        check(tfprof, *save_graph(directory, "graph_v2", V2, sharded=False))
        check(tfprof, *save_graph(directory, "graph_v2_sharded", V2, sharded=True))
        path, known = save_graph(directory, "graph_v1", V1, sharded=False)
        check(tfprof, path, known)
        check(tfprof, path, known, named=str(directory / "graph_v1"))
        path, known = save_graph(directory, "graph_v1_sharded", V1, sharded=True)
        check(tfprof, path, known)
        check(tfprof, path, known, named=path.split("-?????")[0])
        latest, variables = save_objects(directory)
        check(tfprof, latest)
        check(tfprof, latest, named=str(directory / "objects"))
        readable = {row.get("readable") for row in tfprof.json(latest)["rows"]}
        assert {"sequential/dense/kernel", "sequential/dense/kernel/momentum", "step", "table/a"} <= readable, readable
        check(tfprof, variables)
        check(tfprof, variables, named=str(directory / "saved_model"))
    print("all checkpoints read as TensorFlow reads them")


if __name__ == "__main__":
    sys.exit(main())
