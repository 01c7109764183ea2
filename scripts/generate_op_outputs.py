#!/usr/bin/env python3
"""Writes the table of output names of TensorFlow's ops, crates/tfprof/src/infer/functions/outputs.rs.

Nodes in the body of a function read `node:name:place`, and which output of the node that is follows from its op. Of ops with
one output, or one list of outputs, the place alone says it; so only those with more are in the table. `name*N` is a list as
long as the attribute `N`, `name@T` one as long as the list of types `T`.

usage: generate_op_outputs.py [--check]      with a Python that has TensorFlow
"""

import os
import pathlib
import subprocess
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

from tensorflow.core.framework import op_def_pb2
from tensorflow.python.client import pywrap_tf_session

TARGET = pathlib.Path(__file__).resolve().parent.parent / "crates/tfprof/src/infer/functions/outputs.rs"

HEAD = '''//! The names of the outputs of TensorFlow's ops, of those that have more than one or one list. Made by
//! `scripts/generate_op_outputs.py`; `name*N` is a list as long as the attribute `N`, `name@T` one as long as the list `T`.

/// Ops in the order of their names.
pub const OUTPUTS: &[(&str, &str)] = &[
'''


def spelled(output) -> str:
    if output.number_attr:
        return f"{output.name}*{output.number_attr}"
    if output.type_list_attr:
        return f"{output.name}@{output.type_list_attr}"
    return output.name


def main() -> None:
    ops = op_def_pb2.OpList()
    ops.ParseFromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))
    rows = sorted((op.name, " ".join(map(spelled, op.output_arg))) for op in ops.op if len(op.output_arg) > 1)
    text = HEAD + "".join(f'    ("{name}", "{outputs}"),\n' for name, outputs in rows) + "];\n"
    text = subprocess.run(["rustfmt", "--edition", "2024"], input=text, text=True, capture_output=True, check=True).stdout
    if "--check" in sys.argv[1:]:
        sys.exit(0 if TARGET.read_text() == text else f"{TARGET.name} is not what this TensorFlow gives")
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(text)
    print(f"{len(rows)} of {len(ops.op)} ops")


if __name__ == "__main__":
    main()
