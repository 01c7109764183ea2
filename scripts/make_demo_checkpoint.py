#!/usr/bin/env python3
"""Makes the checkpoint of the sample that is built into the binary (`tfprof demo`): the `unit_1_0` tensors of the
ResNet-32 of the corpus. The whole checkpoint would not fit, since weights hardly compress.

Needs a Python with TensorFlow (`make tf-venv`); the rest of the sample is made by make_demo.py, without.

usage: scripts/make_demo_checkpoint.py
"""

import gzip
import pathlib
import tempfile

import tensorflow as tf

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = ROOT / "corpus" / "resnet32"
TARGET = ROOT / "crates" / "tfprof-cli" / "demo"
PARTS = ["index", "data-00000-of-00001"]


def main():
    with tempfile.TemporaryDirectory() as temp:
        temp = pathlib.Path(temp)
        for part in PARTS:
            packed = SOURCE / f"model.ckpt.{part}.gz"
            (temp / f"all.{part}").write_bytes(gzip.decompress(packed.read_bytes()))
        reader = tf.train.load_checkpoint(str(temp / "all"))
        names = sorted(name for name in reader.get_variable_to_shape_map() if name.startswith("unit_1_0/"))
        tensors = [reader.get_tensor(name) for name in names]
        tf.raw_ops.SaveV2(
            prefix=str(temp / "model.ckpt"), tensor_names=names, shape_and_slices=[""] * len(names), tensors=tensors
        )
        for part in PARTS:
            data = (temp / f"model.ckpt.{part}").read_bytes()
            (TARGET / f"model.ckpt.{part}.gz").write_bytes(gzip.compress(data, compresslevel=9, mtime=0))


if __name__ == "__main__":
    main()
