"""Compares tfprof's figures about models in several formats with those of their frameworks and of other tools.

    python compare.py TFPROF DIRECTORY...

The directories are what keras_models.py and torch_models.py wrote. Prints tables in Markdown, and fails if parameters or
multiply-adds differ, unless a converter changed the model and a check here proves how:

- parameters: all weights that are not of a batch normalization are still in the file, by their numbers of elements. The
  others are vectors of a normalization that was folded, or buffers of zeros (TensorFlow Lite's analyzer counts those);
- multiply-adds of a dilated convolution: TensorFlow computes it on an input that is padded to a multiple of the rate, whose
  size is worked out here.

Peers: onnx-tool for ONNX, TensorFlow Lite's analyzer, PyTorch's counter of FLOPs, onnxruntime as the judge of a file.
"""

import collections
import contextlib
import io
import json
import math
import os
import re
import subprocess
import sys

os.environ.update(CUDA_VISIBLE_DEVICES="-1", TF_CPP_MIN_LOG_LEVEL="3")
KERAS = [".keras", ".h5", ".json", "_saved"]
CONVERTED = [".tflite", "_dynamic.tflite", "_float16.tflite", "_int8.tflite", "_flex.tflite", ".onnx"]

# Changes of the parameters by a converter, besides folded normalizations and biases of zeros.
CHANGED = {
    ("nested", "tflite"): "the factor of `Scale` is folded into the convolution before; int8: each call has a bias in the scale of its input",
    ("custom", "tflite"): "`Scale` and the bias before a product are folded into that product",
    ("reused", "int8"): "each call has a bias of its own, in the scale of its input",
    ("shared", "int8"): "each call has a bias of its own, in the scale of its input",
    ("volumes", "tflite"): "each gate of `ConvLSTM2D` has kernels of its own, and its second convolution a bias of zeros",
    ("recurrent", "onnx"): "an `LSTM` of ONNX has two biases, one of which is zero",
    ("convnext_tiny", "tflite"): "mean and variance of `Normalization`, which Keras has in the config, are constants",
    ("convnext_tiny", "onnx"): "mean and variance of `Normalization`, which Keras has in the config, are constants",
}


# Parameters that are known to be wrong.
KNOWN = {
    ("tf_keras", "reused", ".keras"): "known to be wrong: tf.keras 2 does not number layers that an archive has already",
}


def ask(tfprof, *words):
    done = subprocess.run([tfprof, *words], capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.stdout.startswith("{") else {"error": done.stderr.strip()}


def parameter_sizes(tfprof, path):
    """The elements of each parameter in a file, as the scope view lists them."""
    rows = ask(tfprof, "scope", path, "-select", "params", "-max_depth", "1000", "--format=json").get("rows", [])
    return collections.Counter(row["self"]["params"] for row in rows if row["self"].get("params"))


def weight_sizes(base):
    """The elements of each weight of a Keras model, and of those of its batch normalizations."""
    import h5py

    names = set(re.findall(r'"class_name": "(?:Batch)?Normalization", "config": \{"name": "([^"]+)"', open(f"{base}.json").read()))
    kept, norms = collections.Counter(), collections.Counter()

    def add(path, item):
        if isinstance(item, h5py.Dataset) and "seed" not in path and "optimizer" not in path:
            into = norms if names & set(path.split("/")) else kept
            into[math.prod(item.shape)] += 1

    with h5py.File(f"{base}.h5") as file:
        file["model_weights"].visititems(add)
    return kept, norms


def analyzer(path):
    """TensorFlow Lite's analyzer: weights by buffer, bytes of zeros, and the number of ops."""
    import tensorflow as tf

    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        tf.lite.experimental.Analyzer.analyze(model_path=path)
    text = text.getvalue()
    buffers = {}
    for shape, kind, buffer in re.findall(r"shape:\[([\d, ]*)\], type:(\w+) RO \d+ bytes, buffer: (\d+)", text):
        if shape and kind in ("FLOAT32", "FLOAT16", "INT8"):
            buffers[buffer] = math.prod(int(size) for size in shape.split(","))
    zeros = re.search(r"Zero value buffers\):\s+(\d+)", text)
    width = 2 if "FLOAT16" in text else 4
    return {"weights": sum(buffers.values()), "zeros": int(zeros[1]) // width if zeros else 0, "ops": len(re.findall(r"^  Op#", text, re.M))}


def parameters_differ(tfprof, name, base, ending, found, fact):
    """Why the parameters of a converted file differ: a sentence, or None if nothing proves it."""
    kind = "onnx" if ending == ".onnx" else "tflite"
    if os.path.exists(f"{base}.h5"):
        kept, norms = weight_sizes(base)
        own = parameter_sizes(tfprof, base + ending)
        missing, more = kept - own, own - kept
        if not missing and all(size in norms for size in more):
            return "batch normalization folded" if norms else None
        if not missing and kind == "onnx" and all(size in norms or size == 1 for size in more):
            return "batch normalization folded; constants of one element that are added"
        zeros = analyzer(base + ending)["zeros"] if kind == "tflite" else 0
        extra = sum(size * count for size, count in more.items() if size not in norms)
        if not missing and extra <= zeros:
            return "biases of zeros added" + ("; batch normalization folded" if norms else "")
    changed = CHANGED.get((name, kind)) or (CHANGED.get((name, "int8")) if "int8" in ending else None)
    return changed


def padded(size, rate, kernel, same):
    """The outputs along one axis of a dilated convolution that is computed by SpaceToBatchND: all of its rate · blocks."""
    size += rate * (kernel - 1) if same else 0
    return rate * (-(-size // rate) - kernel + 1)


def dilated_macs():
    """The model `dilated`, as TensorFlow computes it."""
    first = padded(33, 2, 3, False) * padded(29, 2, 3, False) * 6 * 9 * 4
    second = padded(29, 3, 3, True) * padded(25, 3, 3, True) * 5 * 9 * 6
    return first + second + padded(29, 2, 3, True) * padded(25, 2, 3, True) * 5 * 9


def expected_macs(name, ending, exact):
    """The multiply-adds of a file, given those of its layers."""
    by_blocks = ending == "_saved" or ending.endswith(".tflite")
    if name == "dilated" and by_blocks:
        return dilated_macs()
    if name == "sequence" and by_blocks:
        return exact + (padded(25 + 4, 2, 3, False) - 25) * 16 * 3 * 16
    return exact


def loads(path):
    import onnxruntime

    try:
        onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        return True
    except Exception:
        return False


def onnx_tool(path, batch):
    """The multiply-adds of products and convolutions that onnx-tool counts."""
    import numpy
    import onnx
    import onnx_tool as tool

    kinds = ("Conv", "ConvTranspose", "Gemm", "MatMul", "LSTM", "GRU", "RNN", "Einsum")
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            model = tool.Model(path)
            types = {one.name: onnx.helper.tensor_dtype_to_np_dtype(one.type.tensor_type.elem_type) for one in onnx.load(path, load_external_data=False).graph.input}
            sizes = lambda one: [size if isinstance(size, int) and size > 0 else batch for size in one.get_shape()]
            inputs = {key: numpy.zeros(sizes(model.graph.tensormap[key]), types[key]) for key in model.graph.input}
            model.graph.shape_infer(inputs)
            model.graph.profile()
        return int(sum(node.macs[0] if isinstance(node.macs, (list, tuple)) else node.macs for node in model.graph.nodemap.values() if node.op_type in kinds))
    except Exception as error:  # another tool's failure is a finding about that tool
        return f"{type(error).__name__}"


def keras_table(tfprof, directory, facts):
    wrong = 0
    print(f"\n| {os.path.basename(directory)}: model | file | parameters | multiply-adds | covered | remark |\n|---|---|---:|---:|---|---|")
    for name, fact in facts.items():
        base = f"{directory}/{name}"
        exact = ask(tfprof, "cost", f"{base}_saved", "--format=json").get("macs")
        if name in ("dilated", "sequence"):
            exact = ask(tfprof, "cost", f"{base}.keras", "--format=json").get("macs")
        for ending in KERAS + CONVERTED:
            if not os.path.exists(base + ending):
                continue
            found = ask(tfprof, "cost", base + ending, "--format=json")
            remarks, fine = [], True
            if "error" in found:
                print(f"| {name} | {ending} | {found['error']} | | | **wrong** |")
                wrong += 1
                continue
            custom = found["unknown_ops"] > 0 and ending in KERAS and name in ("nested", "custom")
            if custom:
                remarks.append("custom layers: FLOPs unknown" + (", and no weights" if ending == ".json" else ""))
            if ending == ".onnx" and found["unknown_ops"] and not loads(base + ending):
                remarks.append("tf2onnx left a grouped convolution unconverted: onnxruntime refuses the file")
            elif found["macs"] != expected_macs(name, ending, exact) and not custom:
                fine = False
            elif found["macs"] != exact and not custom:
                remarks.append("dilated convolutions on padded blocks, as computed here")
            by_config = fact.get("from_config", fact["parameters"])
            expected = by_config if ending in (".h5", ".json") else fact["parameters"]
            if expected != fact["parameters"]:
                remarks.append(f"as Keras counts when it reads this file; the model had {fact['parameters']:,}")
            difference = found["parameters"] - expected
            if difference and not (custom and ending == ".json"):
                why = parameters_differ(tfprof, name, base, ending, found, fact) if ending in CONVERTED else None
                why = why or KNOWN.get((os.path.basename(directory), name, ending))
                fine = fine and bool(why)
                remarks.append(f"{difference:+,}: {why}")
            wrong += not fine
            covered = f"{found['covered_nodes']} of {found['nodes']}"
            print(f"| {name} | {ending} | {found['parameters']:,} | {found['macs']:,} | {covered} | {'' if fine else '**wrong** '}{'; '.join(remarks)} |", flush=True)
    return wrong


def peer_tables(tfprof, directory, facts):
    print(f"\n| {os.path.basename(directory)}: ONNX | tfprof | onnx-tool | PyTorch |\n|---|---:|---:|---:|")
    for name, fact in facts.items():
        for suffix in ("", "_dynamo", "_open"):
            path = f"{directory}/{name}{suffix}.onnx"
            if os.path.exists(path):
                batch = fact.get("batch", 1)
                found = ask(tfprof, "cost", path, "--format=json", f"--batch={batch}")
                torch = fact["flops"] // 2 if "flops" in fact else ""
                print(f"| {name}{suffix} | {found.get('macs', found.get('error'))} | {onnx_tool(path, batch)} | {torch} |", flush=True)
    print(f"\n| {os.path.basename(directory)}: TensorFlow Lite | tfprof: parameters | analyzer: weights | tfprof: ops | analyzer: ops |\n|---|---:|---:|---:|---:|")
    for name in facts:
        path = f"{directory}/{name}.tflite"
        if os.path.exists(path):
            peer, found = analyzer(path), ask(tfprof, "cost", path, "--format=json")
            constants = ("Constant", "Input", "READ_VARIABLE")
            ops = ask(tfprof, "op", path, "-select", "occurrence", "-max_depth", "1000", "--format=json").get("rows", [])
            own = sum(row["self"].get("definitions") or 0 for row in ops if row["name"] not in constants)
            print(f"| {name} | {found.get('parameters')} | {peer['weights']} | {own} | {peer['ops']} |", flush=True)


# Where PyTorch's counter misses layers that run as one kernel, the products worked out by hand.
UNCOUNTED = {
    "torch_lstm": 2 * 4 * 20 * (12 + 20) * 14 + 2 * 4 * 20 * (40 + 20) * 14 + 40 * 3 * 2,
    "torch_vision": 2 * 64 * 64 * 192 + 3 * (130 * (64 * 192 + 64 * 64 + 2 * 64 * 128) + 2 * 2 * 65 * 65 * 64) + 2 * 640,
    "torch_transformer": 18 * (32 * 96 + 32 * 32 + 2 * 32 * 64) + 2 * 2 * 9 * 9 * 32,
}


# Parameters that an exporter adds.
ADDED = {
    "torch_blocks": "`InstanceNormalization` gets a scale and a bias",
    "torch_lstm": "zeros in which a sequence begins are sliced from an initializer",
    "torch_gru": "zeros in which a sequence begins are sliced from an initializer",
    "torch_vision_dynamo": "the class token is stored once for each image",
}


def torch_table(tfprof, directory, facts):
    wrong = 0
    print("\n| PyTorch: file | parameters | multiply-adds | PyTorch's counter | covered | remark |\n|---|---:|---:|---:|---|---|")
    for name, fact in facts.items():
        for suffix in ("", "_dynamo", "_open"):
            path = f"{directory}/{name}{suffix}.onnx"
            if not os.path.exists(path):
                continue
            found = ask(tfprof, "cost", path, "--format=json", f"--batch={fact['batch']}")
            counted, remarks = fact["flops"] // 2, []
            if name in UNCOUNTED:
                remarks.append(f"the counter misses fused layers; by hand {UNCOUNTED[name]:,}")
            fine = found.get("macs") == UNCOUNTED.get(name, counted) and found.get("unknown_ops") == 0
            difference = found.get("parameters", 0) - fact["parameters"]
            if difference:
                folded = -difference == fact["batch_norm"] // 2
                why = "batch normalization folded" if folded else ADDED.get(name + suffix) or ADDED.get(name)
                fine = fine and bool(why)
                remarks.append(f"{difference:+,}: {why}")
            wrong += not fine
            covered = f"{found.get('covered_nodes')} of {found.get('nodes')}"
            print(f"| {name}{suffix} | {found.get('parameters')} | {found.get('macs')} | {counted} | {covered} | {'' if fine else '**wrong** '}{'; '.join(remarks)} |", flush=True)
    return wrong


def main():
    tfprof, *directories = sys.argv[1:]
    wrong = 0
    for directory in directories:
        facts = json.load(open(f"{directory}/facts.json"))
        if any("flops" in fact for fact in facts.values()):
            wrong += torch_table(tfprof, directory, facts)
        else:
            wrong += keras_table(tfprof, directory, facts)
        peer_tables(tfprof, directory, facts)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
