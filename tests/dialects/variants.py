"""Makes files as people have them, with known figures, and asks tfprof: op sets 7 to 23 of ONNX, initializers that are also
inputs, external data, local functions, quantized models, open sizes; TensorFlow Lite with several signatures and with
control flow; Keras files of versions 1 and 2; and files of 300 MB, of which no weight may be read.

    python variants.py TFPROF DIRECTORY [--large]

Fails if a figure is wrong. Needs tensorflow, onnx, onnxruntime and h5py.
"""

import json
import os
import resource
import subprocess
import sys
import time

os.environ.update(CUDA_VISIBLE_DEVICES="-1", TF_CPP_MIN_LOG_LEVEL="3")
import h5py  # noqa: E402
import numpy as np  # noqa: E402
import onnx  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

large = "--large" in sys.argv
tfprof, directory = [word for word in sys.argv[1:] if word != "--large"]
os.makedirs(directory, exist_ok=True)
wrong = 0


def ask(words):
    done = subprocess.run([tfprof, "cost", "--format=json", *words], capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.stdout.startswith("{") else {"error": done.stderr.strip()}


def check(what, words, **expect):
    """Compares some figures of an answer."""
    global wrong
    found = ask(words)
    figures = {key: found.get(key) for key in expect}
    if figures != expect:
        wrong += 1
    print("ok   " if figures == expect else "WRONG", what, figures, "" if figures == expect else (expect, found.get("error", "")), flush=True)


def says(what, words, *texts):
    """Compares the text of an answer or of a refusal."""
    global wrong
    done = subprocess.run([tfprof, *words], capture_output=True, text=True, check=False)
    fine = all(text in done.stdout + done.stderr for text in texts) and "panicked" not in done.stderr
    if not fine:
        wrong += 1
    print("ok   " if fine else "WRONG", what, "" if fine else (done.stdout[-300:], done.stderr[-300:]), flush=True)


def value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def weight(name, *shape):
    return numpy_helper.from_array(np.random.default_rng(1).uniform(0.05, 0.15, shape).astype("float32"), name)


def network(opset, batch="N", inputs_too=False):
    """A convolution, a pool, a product: 4·27·36 + 10·36 multiply-adds for each image, 112 + 370 parameters."""
    weights = [weight("w", 4, 3, 3, 3), weight("b", 4), weight("fc", 36, 10), weight("fb", 10)]
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], name="/stem/Conv"),
        helper.make_node("Relu", ["c"], ["r"], name="/stem/Relu"),
        helper.make_node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2], name="/pool/MaxPool"),
        helper.make_node("Flatten", ["p"], ["f"], axis=1),
        helper.make_node("Gemm", ["f", "fc", "fb"], ["y"], name="/head/Gemm"),
    ]
    listed = [value("x", [batch, 3, 6, 6])]
    if inputs_too:
        listed += [value(one.name, one.dims) for one in weights]
    graph = helper.make_graph(nodes, "network", listed, [value("y", [batch, 10])], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=3 if inputs_too else 8)


MACS, PARAMETERS = 4 * 27 * 36 + 10 * 36, 112 + 370


def onnx_files():
    for opset in range(7, 24):
        path = f"{directory}/opset{opset}.onnx"
        onnx.save(network(opset), path)
        check(f"ONNX op set {opset}", [path], parameters=PARAMETERS, macs=MACS, unknown_ops=0)
    path = f"{directory}/inputs_too.onnx"
    onnx.save(network(8, 1, True), path)
    check("initializers among the inputs", [path], parameters=PARAMETERS, macs=MACS, unknown_ops=0)
    path = f"{directory}/symbol.onnx"
    onnx.save(network(17), path)
    check("an open size by name", [path, "--input", "N=3"], parameters=PARAMETERS, macs=3 * MACS)
    path = f"{directory}/external.onnx"
    onnx.save(network(17), path, save_as_external_data=True, location="external.bin", size_threshold=0)
    check("external data", [path], parameters=PARAMETERS, macs=MACS, unknown_ops=0)
    os.rename(f"{directory}/external.bin", f"{directory}/moved.bin")
    check("external data that is gone", [path], parameters=PARAMETERS, macs=MACS, unknown_ops=0)
    function = helper.make_function("mine", "Twice", ["a", "w"], ["z"], [
        helper.make_node("MatMul", ["a", "w"], ["h"]), helper.make_node("MatMul", ["h", "w"], ["z"])], [helper.make_opsetid("", 17)])
    graph = helper.make_graph([helper.make_node("Twice", ["x", "w"], ["h"], domain="mine"), helper.make_node("Twice", ["h", "w"], ["y"], domain="mine")],
                              "functions", [value("x", ["N", 8])], [value("y", ["N", 8])], [weight("w", 8, 8)])
    path = f"{directory}/functions.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)], functions=[function]), path)
    check("local functions", [path], parameters=64, macs=4 * 64, unknown_ops=0)
    odd = helper.make_graph([helper.make_node("Strange", ["x"], ["y"], domain="odd")], "odd", [value("x", [1, 4])], [value("y", [1, 4])])
    path = f"{directory}/odd.onnx"
    onnx.save(helper.make_model(odd, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("odd", 1)]), path)
    says("an unknown op is named", ["cost", path], "odd.Strange", "1 of 2 nodes")
    # The view of Python says why it cannot.
    says("code of ONNX", ["code", f"{directory}/symbol.onnx"], "an ONNX file does not say which lines of Python")
    says("info of ONNX", ["info", f"{directory}/symbol.onnx"], "op sets ai.onnx 17")


def quantized_onnx():
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static

    class Reader(CalibrationDataReader):
        def __init__(self):
            self.samples = iter([{"x": np.random.rand(1, 3, 6, 6).astype("float32")} for _ in range(2)])

        def get_next(self):
            return next(self.samples, None)

    source = f"{directory}/to_quantize.onnx"
    onnx.save(network(17, 1), source)
    for name, form in (("qdq", QuantFormat.QDQ), ("operators", QuantFormat.QOperator)):
        path = f"{directory}/{name}.onnx"
        quantize_static(source, path, Reader(), quant_format=form, weight_type=QuantType.QInt8, per_channel=name == "qdq")
        check(f"quantized ONNX ({name})", [path], parameters=PARAMETERS, macs=MACS, unknown_ops=0)
    path = f"{directory}/dynamic.onnx"
    quantize_dynamic(source, path, weight_type=QuantType.QUInt8)
    check("quantized ONNX (dynamic)", [path], parameters=PARAMETERS, macs=MACS, unknown_ops=0)


def lite_files():
    import tensorflow as tf

    class Two(tf.Module):
        def __init__(self):
            self.a, self.b = tf.Variable(tf.random.normal([6, 8])), tf.Variable(tf.random.normal([8, 5]))

        @tf.function(input_signature=[tf.TensorSpec([1, 6])])
        def encode(self, x):
            return {"code": x @ self.a}

        @tf.function(input_signature=[tf.TensorSpec([1, 8])])
        def decode(self, x):
            return {"y": x @ self.b}

        @tf.function(input_signature=[tf.TensorSpec([1, 6])])
        def repeat(self, x):
            for _ in tf.range(7):
                x = tf.nn.relu(x @ self.a) @ tf.transpose(self.a)
            return {"y": x}

    two = Two()
    saved = f"{directory}/two"
    tf.saved_model.save(two, saved, signatures={"encode": two.encode, "decode": two.decode, "repeat": two.repeat})
    converter = tf.lite.TFLiteConverter.from_saved_model(saved)
    path = f"{directory}/two.tflite"
    with open(path, "wb") as file:
        file.write(converter.convert())
    says("several signatures", ["cost", path], "several signatures, `decode`, `encode`, `repeat`; choose one with --signature=NAME")
    check("signature encode", [path, "--signature=encode"], parameters=48, macs=48, unknown_ops=0)
    check("signature decode", [path, "--signature=decode"], parameters=40, macs=40, unknown_ops=0)
    check("a loop of 7 rounds", [path, "--signature=repeat"], macs=7 * 96, unknown_ops=0)
    says("info of TensorFlow Lite", ["info", path, "--signature=encode"], "signatures", "min_runtime_version")
    says("code of TensorFlow Lite", ["code", path, "--signature=encode"], "drops the lines of Python")


def h5(name, config, weights):
    path = f"{directory}/{name}.h5"
    with h5py.File(path, "w") as file:
        if config is not None:
            file.attrs["model_config"] = np.bytes_(json.dumps(config))
        file.attrs["keras_version"] = np.bytes_("1.2.2")
        root = file if config is None else file.create_group("model_weights")
        for layer, arrays in weights.items():
            group = root.create_group(layer)
            for array, shape in arrays.items():
                group.create_dataset(array, data=np.zeros(shape, "f4"))
    return path


def keras_files():
    """Configs as Keras 1 and the first versions of Keras 2 wrote them."""
    first = {"name": "c", "batch_input_shape": [None, 28, 28, 1], "nb_filter": 8, "nb_row": 3, "nb_col": 3, "border_mode": "same", "subsample": [1, 1],
             "dim_ordering": "tf", "bias": True, "activation": "relu"}
    listed = lambda first, order: [
        {"class_name": "Convolution2D", "config": {**first, "dim_ordering": order}},
        {"class_name": "MaxPooling2D", "config": {"name": "m", "pool_size": [2, 2], "strides": [2, 2], "border_mode": "valid", "dim_ordering": order}},
        {"class_name": "Flatten", "config": {"name": "f"}},
        {"class_name": "Dense", "config": {"name": "d", "output_dim": 10, "activation": "softmax", "bias": True}}]
    dense = {"d": {"d_W": (1568, 10), "d_b": (10,)}}
    figures = {"parameters": 80 + 15690, "macs": 784 * 72 + 15680, "unknown_ops": 0}
    path = h5("keras1", {"class_name": "Sequential", "config": listed(first, "tf")}, {"c": {"c_W": (3, 3, 1, 8), "c_b": (8,)}, **dense})
    check("Keras 1, a list of layers", [path], **figures)
    channels_first = {**first, "batch_input_shape": [None, 1, 28, 28]}
    path = h5("keras1_th", {"class_name": "Sequential", "config": listed(channels_first, "th")}, {"c": {"c_W": (8, 1, 3, 3), "c_b": (8,)}, **dense})
    check("Keras 1, channels first", [path], **figures)
    layer = lambda kind, name, inbound, **config: {"class_name": kind, "name": name, "config": {"name": name, **config}, "inbound_nodes": inbound}
    model = {"class_name": "Model", "config": {"name": "model_1", "layers": [
        layer("InputLayer", "i", [], batch_input_shape=[None, 12], dtype="float32", sparse=False),
        layer("Dense", "a", [[["i", 0, 0, {}]]], units=6, activation="relu", use_bias=True),
        layer("Dense", "b", [[["a", 0, 0, {}]]], units=6, activation="linear", use_bias=False),
        layer("Add", "s", [[["a", 0, 0, {}], ["b", 0, 0, {}]]])], "input_layers": [["i", 0, 0]], "output_layers": [["s", 0, 0]]}}
    path = h5("keras2", model, {"a": {"a/kernel:0": (12, 6), "a/bias:0": (6,)}, "b": {"b/kernel:0": (6, 6)}})
    check("Keras 2, class Model", [path], parameters=78 + 36, macs=72 + 36, unknown_ops=0)
    path = h5("weights", None, {"a": {"a/kernel:0": (12, 6)}})
    says("weights without layers", ["cost", path], "holds tensors, but not the ops or layers", "tfprof checkpoint")
    says("code of Keras", ["code", f"{directory}/keras2.h5"], "a file of Keras lists layers")


def large_files():
    """Files of 300 MB: time and memory of an answer."""
    import tensorflow as tf

    nodes, weights = [], []
    for at in range(12):
        weights.append(weight(f"w{at}", 2560, 2560))
        nodes.append(helper.make_node("MatMul", [f"v{at}", f"w{at}"], [f"v{at + 1}"], name=f"/layer{at}/MatMul"))
    graph = helper.make_graph(nodes, "large", [value("v0", ["N", 2560])], [value("v12", ["N", 2560])], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    onnx.save(model, f"{directory}/large.onnx")
    onnx.save(model, f"{directory}/large_external.onnx", save_as_external_data=True, location="large.bin")
    kept = [tf.Variable(tf.random.normal([2560, 2560])) for _ in range(12)]

    @tf.function(input_signature=[tf.TensorSpec([None, 2560])])
    def chain(x):
        for one in kept:
            x = x @ one
        return x

    holder = tf.Module()
    holder.kept, holder.chain = kept, chain
    with open(f"{directory}/large.tflite", "wb") as file:
        file.write(tf.lite.TFLiteConverter.from_concrete_functions([chain.get_concrete_function()], holder).convert())
    for name in ("large.onnx", "large_external.onnx", "large.tflite"):
        path = f"{directory}/{name}"
        check(f"{name}, {os.path.getsize(path) / 1e6:.0f} MB", [path], parameters=12 * 2560 * 2560, macs=12 * 2560 * 2560)
        times = []
        for _ in range(5):
            start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([tfprof, "cost", path], capture_output=True, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            times.append((time.perf_counter() - start, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime))
        script = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], capture_output=True); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
        peak = subprocess.run([sys.executable, "-S", "-c", script, tfprof, "cost", path], capture_output=True, text=True, check=True).stdout
        print(f"      {min(one[0] for one in times):.3f} s, {min(one[1] for one in times):.3f} s of CPU, {int(peak) / 1024:.1f} MB", flush=True)


onnx_files()
quantized_onnx()
keras_files()
lite_files()
if large:
    large_files()
sys.exit(1 if wrong else 0)
