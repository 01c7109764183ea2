"""Makes the small models in samples/, which the tests of the command line read.

    python make_samples.py onnx      needs onnx
    python make_samples.py tflite    needs tensorflow
"""

import os
import sys

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "samples")


def onnx_models():
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    def weight(name, *dims, dtype=np.float32):
        return numpy_helper.from_array(np.zeros(dims, dtype), name)

    def ints(name, *values):
        return numpy_helper.from_array(np.array(values, np.int64), name)

    def value(name, shape, dtype=TensorProto.FLOAT):
        return helper.make_tensor_value_info(name, dtype, shape)

    def save(name, nodes, inputs, outputs, weights=(), functions=(), domains=(), opset=17):
        graph = helper.make_graph(nodes, name, inputs, outputs, list(weights))
        imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(domain, 1) for domain in domains)]
        model = helper.make_model(graph, opset_imports=imports, functions=list(functions), producer_name="tfprof-tests")
        model.ir_version = 9
        onnx.save(model, os.path.join(HERE, f"{name}.onnx"))

    node = helper.make_node
    # A network whose shapes are computed: batch and length are open and named.
    save(
        "shapes",
        [
            node("Conv", ["x", "w", "b"], ["c"], "/stem/Conv", pads=[1, 1, 1, 1], strides=[2, 2], kernel_shape=[3, 3]),
            node("Relu", ["c"], ["r"], "/stem/Relu"),
            node("Shape", ["r"], ["s"], "/flat/Shape"),
            node("Gather", ["s", "zero"], ["n"], "/flat/Gather"),
            node("Unsqueeze", ["n", "axis"], ["n1"], "/flat/Unsqueeze"),
            node("Concat", ["n1", "rest"], ["to"], "/flat/Concat", axis=0),
            node("Reshape", ["r", "to"], ["flat"], "/flat/Reshape"),
            node("Gemm", ["flat", "fw", "fb"], ["y"], "/head/Gemm", transB=1),
            node("Softmax", ["y"], ["p"]),
        ],
        [value("x", ["batch", 3, 8, "width"])],
        [value("p", ["batch", 5])],
        [weight("w", 4, 3, 3, 3), weight("b", 4), numpy_helper.from_array(np.array(0, np.int64), "zero"), ints("axis", 0), ints("rest", -1), weight("fw", 5, 64), weight("fb", 5)],
    )
    # Control flow: a conditional, a loop of six steps, a scan over four rows.
    inner = lambda name, nodes, inputs, outputs: helper.make_graph(nodes, name, inputs, outputs)
    then = inner("then", [node("MatMul", ["x", "w"], ["t"], "product")], [], [value("t", [4, 8])])
    other = inner("other", [node("Add", ["x", "bias"], ["e"], "sum")], [], [value("e", [4, 8])])
    body = inner(
        "body",
        [node("MatMul", ["h", "w"], ["h2"], "product"), node("Identity", ["go"], ["go2"], "go"), node("ReduceSum", ["h2"], ["total"], "total", keepdims=0)],
        [value("i", [], TensorProto.INT64), value("go", [], TensorProto.BOOL), value("h", [4, 8])],
        [value("go2", [], TensorProto.BOOL), value("h2", [4, 8]), value("total", [])],
    )
    row = inner(
        "row",
        [node("Add", ["s", "r"], ["s2"], "sum"), node("Relu", ["s2"], ["o"], "out")],
        [value("s", [8]), value("r", [8])],
        [value("s2", [8]), value("o", [8])],
    )
    save(
        "control",
        [
            node("If", ["flag"], ["c"], "branch", then_branch=then, else_branch=other),
            node("Loop", ["six", "", "c"], ["l", "totals"], "loop", body=body),
            node("Scan", ["start", "l"], ["last", "rows"], "scan", num_scan_inputs=1, body=row),
        ],
        [value("x", [4, 8]), value("flag", [], TensorProto.BOOL)],
        [value("rows", [4, 8]), value("totals", [6])],
        [weight("w", 8, 8), weight("bias", 8), weight("start", 8), numpy_helper.from_array(np.array(6, np.int64), "six")],
    )
    # Quantized ops, a function of the file, an op of another domain, an op that nobody knows.
    double = helper.make_function("own", "Double", ["a"], ["d"], [node("Add", ["a", "a"], ["d"], "add")], [helper.make_opsetid("", 17)])
    save(
        "quantized",
        [
            node("QuantizeLinear", ["x", "scale", "zp"], ["q"], "quantize"),
            node("QLinearConv", ["q", "scale", "zp", "w", "scale", "wzp", "scale", "zp", "bias"], ["c"], "conv", kernel_shape=[1, 1]),
            node("DequantizeLinear", ["c", "scale", "zp"], ["f"], "dequantize"),
            node("Double", ["f"], ["d"], "double", domain="own"),
            node("FusedMatMul", ["d", "d"], ["m"], "fused", domain="com.microsoft", transB=1),
            node("Mystery", ["m"], ["y"], "mystery", domain="odd"),
        ],
        [value("x", [1, 6, 5, 5])],
        [value("y", None)],
        [weight("scale"), numpy_helper.from_array(np.array(0, np.uint8), "zp"), numpy_helper.from_array(np.array(0, np.int8), "wzp"), weight("w", 7, 6, 1, 1, dtype=np.int8), weight("bias", 7, dtype=np.int32)],
        [double],
        ["own", "com.microsoft", "odd"],
    )
    # Attention by heads of several layouts, uneven parts, samples of a convolution.
    save(
        "attention",
        [
            node("GroupQueryAttention", ["gq", "gk", "gv", "pk", "pv"], ["g"], "grouped", domain="com.microsoft", num_heads=4, kv_num_heads=2),
            node("Attention", ["q", "k", "v"], ["a"], "attention", q_num_heads=3, kv_num_heads=3),
            node("MatMul", ["a", "w"], ["m"], "head"),
            node("Split", ["a"], ["s1", "s2", "s3", "s4"], "parts", axis=2, num_outputs=4),
            node("MatMul", ["s4", "u"], ["n"], "last"),
            node("DeformConv", ["image", "kernel", "offset"], ["d"], "deformed"),
        ],
        [value("gq", [1, 4, 32]), value("gk", [1, 4, 16]), value("gv", [1, 4, 16]), value("pk", [1, 2, 5, 8]), value("pv", [1, 2, 5, 8]),
         value("q", [2, 4, 24]), value("k", [2, 6, 24]), value("v", [2, 6, 30]), value("image", [1, 3, 4, 4]), value("offset", [1, 8, 3, 3])],
        [value("g", None), value("m", None), value("n", None), value("d", None)],
        [weight("w", 30, 5), weight("u", 6, 7), weight("kernel", 5, 3, 2, 2)],
        [],
        ["com.microsoft"],
    )


def tflite_models():
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

    def save(name, function, *specs, quantize=False):
        concrete = tf.function(function, input_signature=specs).get_concrete_function()
        converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete])
        if quantize:
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
            converter.representative_dataset = lambda: ([tf.zeros(spec.shape)] for spec in list(specs) * 2)
        with open(os.path.join(HERE, f"{name}.tflite"), "wb") as file:
            file.write(converter.convert())

    kernel, depth = tf.random.stateless_normal([3, 3, 3, 6], [1, 2]), tf.random.stateless_normal([3, 3, 6, 1], [3, 4])
    dense, bias = tf.random.stateless_normal([6, 4], [5, 6]), tf.random.stateless_normal([6], [7, 8])

    def network(image):
        x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(image, kernel, 2, "SAME"), bias))
        x = tf.nn.depthwise_conv2d(x, depth, [1, 1, 1, 1], "VALID")
        return tf.nn.softmax(tf.reduce_mean(x, [1, 2]) @ dense)

    def control(x):
        grown = tf.while_loop(lambda i, _: i < 5, lambda i, h: (i + 1, tf.tanh(h @ tf.ones([4, 4]))), (0, x))[1]
        return tf.cond(tf.reduce_sum(x) > 0, lambda: grown @ tf.ones([4, 4]), lambda: grown + 1.0)

    image = tf.TensorSpec([None, 10, 10, 3], tf.float32, "image")
    save("network", network, image)
    save("network_int8", network, tf.TensorSpec([1, 10, 10, 3], tf.float32, "image"), quantize=True)
    save("control", control, tf.TensorSpec([2, 4], tf.float32, "x"))


if __name__ == "__main__":
    os.makedirs(HERE, exist_ok=True)
    {"onnx": onnx_models, "tflite": tflite_models}[sys.argv[1]]()
