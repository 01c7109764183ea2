"""Makes the files of tests/keras/samples: small HDF5 and safetensors files in the ways that libraries write them.

Usage: make_array_samples.py   (needs h5py and NumPy; the files are the same each time)
"""

import json
import pathlib
import struct
import zipfile

import h5py
import numpy

SAMPLES = pathlib.Path(__file__).parent.parent / "tests/keras/samples"


def old(path):
    """Symbol tables, chunks with all filters, text of both kinds, numbers of other machines."""
    with h5py.File(path, "w", libver="earliest") as file:
        kernel = numpy.arange(12, dtype="float32").reshape(3, 4) / 4
        file.create_dataset("dense/kernel", data=kernel)
        file.create_dataset("dense/big_endian", data=kernel.astype(">f8"))
        file.create_dataset("dense/packed", data=kernel, chunks=(2, 3), compression="gzip", shuffle=True, fletcher32=True)
        file.create_dataset("dense/lzf", data=numpy.zeros(40, "int32"), chunks=(40,), compression="lzf")
        file.create_dataset("texts/fixed", data=numpy.array([b"a", b"bc"], dtype="S4"))
        file.create_dataset("texts/variable", data=["d", "", "efg"], dtype=h5py.string_dtype())
        file["dense"].attrs["weight_names"] = [b"kernel:0", b"bias:0"]
        file["dense"].attrs["config"] = "x" * 300


def new(path):
    """Dense groups and attributes, and all indexes of chunks."""
    with h5py.File(path, "w", libver="latest") as file:
        group = file.create_group("many")
        for number in range(12):
            group.create_dataset(f"w{number}", data=numpy.float16(number))
            group.attrs[f"a{number}"] = "y" * (5000 if number == 3 else 5)
        numbers = numpy.arange(30, dtype="int16").reshape(5, 6)
        file.create_dataset("single", data=numbers, chunks=(5, 6), compression="gzip")
        file.create_dataset("fixed", data=numbers, chunks=(2, 2))
        file.create_dataset("growing", data=numbers, chunks=(1, 2), maxshape=(None, 6))
        file.create_dataset("tree", data=numbers, chunks=(2, 4), maxshape=(None, None))
        file.create_dataset("filled", shape=(2, 3), dtype="int8", fillvalue=7)


def safetensors(path):
    header = {
        "__metadata__": {"format": "pt"},
        "a.weight": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
        "b.weight": {"dtype": "BF16", "shape": [2], "data_offsets": [16, 20]},
    }
    text = json.dumps(header).encode()
    numbers = numpy.array([1, 2, 3, 4], "float32").tobytes() + b"\x80\x3f\x00\x40"
    path.write_bytes(struct.pack("<Q", len(text)) + text + numbers)


def archive(path, weights, method):
    """Archives have a date: a fixed one gives the same bytes each time."""
    with zipfile.ZipFile(path, "w", method) as made:
        made.writestr(zipfile.ZipInfo("model.weights.h5"), weights.read_bytes(), method)


def nested(path):
    """A model of tf.keras 2 with a model that is called twice and ends in a custom layer: the second call's shape is unknown."""
    def layer(kind, name, calls, **config):
        inbound = [[[source, call, 0, {}]] for source, call in calls]
        return {"class_name": kind, "name": name, "config": {"name": name, **config}, "inbound_nodes": inbound}

    def model(name, layers, first, last):
        return {"class_name": "Functional", "config": {"name": name, "layers": layers, "input_layers": [[first, 0, 0]], "output_layers": [[*last, 0]]}}

    inner = model("inner", [
        layer("InputLayer", "x", [], batch_input_shape=[None, 6, 6, 2]),
        layer("Conv2D", "conv", [("x", 0)], filters=2, kernel_size=[3, 3], padding="same"),
        layer("mine>Scale", "scale", [("conv", 0)]),
    ], "x", ("scale", 0))
    inner |= {"name": "inner", "inbound_nodes": [[["image", 0, 0, {}]], [["inner", 1, 0, {}]]]}
    dense = layer("Dense", "dense", [("inner", 2)], units=3) | {"build_config": {"input_shape": [None, 6, 6, 2]}}
    config = model("outer", [layer("InputLayer", "image", [], batch_input_shape=[None, 6, 6, 2]), inner, dense], "image", ("dense", 0))
    with h5py.File(path, "w", libver="earliest") as file:
        file.attrs["model_config"] = json.dumps(config)
        file.attrs["keras_version"] = "2.15.0"
        shapes = {"inner/conv/kernel:0": (3, 3, 2, 2), "inner/conv/bias:0": (2,), "inner/scale/factor:0": (2,), "dense/dense/kernel:0": (2, 3), "dense/dense/bias:0": (3,)}
        for name, shape in shapes.items():
            file.create_dataset(f"model_weights/{name}", data=numpy.zeros(shape, "float32"))


def main():
    SAMPLES.mkdir(parents=True, exist_ok=True)
    old(SAMPLES / "old.h5")
    new(SAMPLES / "new.h5")
    nested(SAMPLES / "nested.h5")
    safetensors(SAMPLES / "model.safetensors")
    archive(SAMPLES / "packed.keras", SAMPLES / "old.h5", zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    main()
