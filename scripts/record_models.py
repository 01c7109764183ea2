#!/usr/bin/env python3
"""Records the models of tests/models: the files that TensorFlow saves, and its figures for them.

Of each model `saved_model.pb` (or the graph) and `variables.index` are kept, gzipped; the numbers of the variables are
random and dropped. `facts.json` has what must come out: parameters by Keras' `count_params`, FLOPs by op type
from the original's profiler on the frozen graph at batch 1 (`frozen`), or figures that follow from the definition of a
small model and stand next to it below (`expect`).

usage: record_models.py [NAME...]      with a Python that has TensorFlow; all models if none is named
"""

import gzip
import json
import os
import pathlib
import shutil
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import graph_debug_info_pb2
from tensorflow.python.framework import ops
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2
from tensorflow.python.framework.function_def_to_graph import function_def_to_graph

TARGET = pathlib.Path(__file__).resolve().parent.parent / "tests" / "models"
v1 = tf.compat.v1

APPLICATIONS = {
    "mobilenet_v2": "MobileNetV2",
    "mobilenet_v3_small": "MobileNetV3Small",
    "resnet50": "ResNet50",
    "efficientnet_b0": "EfficientNetB0",
    "densenet121": "DenseNet121",
    "inception_v3": "InceptionV3",
    "xception": "Xception",
    "nasnet_mobile": "NASNetMobile",
    "vgg16": "VGG16",
    "convnext_tiny": "ConvNeXtTiny",
}


def keep(name: str, directory: str, facts: dict) -> None:
    """Keeps what says how a model is built, gzipped without a time, and its facts."""
    target = TARGET / name
    shutil.rmtree(target, ignore_errors=True)
    wanted = ("saved_model.pb", "variables.index", ".meta", "graph.pb", "debug_info.pb")
    for root, _, files in os.walk(directory):
        for file in sorted(files):
            if not file.endswith(wanted):
                continue
            source = pathlib.Path(root, file)
            packed = target / source.relative_to(directory).with_name(file + ".gz")
            packed.parent.mkdir(parents=True, exist_ok=True)
            content = source.read_bytes()
            if file.endswith("debug_info.pb"):
                content = without_directories(content)
            packed.write_bytes(gzip.compress(content, 9, mtime=0))
    target.mkdir(parents=True, exist_ok=True)
    (target / "facts.json").write_text(json.dumps(facts, indent=1, sort_keys=True) + "\n")
    size = sum(file.stat().st_size for file in target.rglob("*") if file.is_file())
    print(f"{name}: {size / 1e3:.0f} KB {json.dumps(facts)[:160]}", flush=True)


def without_directories(debug_info: bytes) -> bytes:
    """A `GraphDebugInfo` whose files are those of any machine."""
    info = graph_debug_info_pb2.GraphDebugInfo.FromString(debug_info)
    for place, file in enumerate(info.files):
        info.files[place] = os.path.basename(file)
    return info.SerializeToString(deterministic=True)


def frozen_facts(model) -> dict:
    """What the original's profiler says of the frozen graph, batch 1, and how that divides by op type."""
    specs = [tf.TensorSpec([1, *x.shape[1:]], x.dtype) for x in model.inputs]
    concrete = tf.function(lambda *inputs: model(list(inputs) if len(inputs) > 1 else inputs[0])).get_concrete_function(
        *specs
    )
    frozen = convert_variables_to_constants_v2(concrete)
    graph = tf.Graph()
    with graph.as_default():
        tf.graph_util.import_graph_def(frozen.graph.as_graph_def(), name="")
    by_type: dict[str, int] = {}
    for node, flops in known_flops(graph):
        by_type[node.op] = by_type.get(node.op, 0) + flops
    options = v1.profiler.ProfileOptionBuilder(v1.profiler.ProfileOptionBuilder.float_operation())
    options = options.with_empty_output().build()
    total = v1.profiler.profile(graph, options=options).total_float_ops
    assert total == sum(by_type.values()), (total, by_type)
    facts = {"float_ops": total, "by_type": by_type}
    # The original enters no function, and freezing leaves those that are compiled by XLA.
    inside = in_functions(graph, frozen.graph.as_graph_def().library)
    if inside:
        facts["in_functions"] = inside
    return facts


def in_functions(graph, library) -> dict[str, int]:
    """The original's figures for the nodes of functions that a graph calls, call by call."""
    by_type: dict[str, int] = {}
    functions = {function.signature.name: function for function in library.function}
    open_graphs = [graph]
    while open_graphs:
        for op in open_graphs.pop().get_operations():
            if op.type not in ("PartitionedCall", "StatefulPartitionedCall"):
                continue
            shapes = [tensor.shape for tensor in op.inputs]
            inner = function_def_to_graph(functions[op.get_attr("f").name], input_shapes=shapes)
            open_graphs.append(inner)
            for node, flops in known_flops(inner):
                by_type[node.op] = by_type.get(node.op, 0) + flops
    return by_type


def known_flops(graph):
    """The nodes of a graph that the original has a figure for, and the figure."""
    for node in graph.as_graph_def().node:
        try:
            flops = ops.get_stats_for_node_def(graph, node, "flops").value
        except ValueError:
            continue
        if flops:
            yield node, int(flops)


def parameter_facts(model) -> dict:
    trainable = sum(int(np.prod(weight.shape)) for weight in model.trainable_weights)
    return {"parameters": model.count_params(), "trainable_parameters": trainable}


def application(name: str) -> None:
    tf.keras.backend.clear_session()
    sizes = {"input_shape": (224, 224, 3)} if name == "mobilenet_v3_small" else {}
    model = getattr(tf.keras.applications, APPLICATIONS[name])(weights=None, **sizes)
    facts = {**parameter_facts(model), "frozen": frozen_facts(model)}
    with tempfile.TemporaryDirectory() as directory:
        model.export(directory, verbose=False)
        keep(name, directory, facts)


def keras_model(name: str, model, save: str, expect: dict) -> None:
    """A Keras model, stored by `export` or by `tf.saved_model.save`."""
    facts = {**parameter_facts(model), **expect}
    with tempfile.TemporaryDirectory() as directory:
        if save == "export":
            model.export(directory, verbose=False)
        else:
            tf.saved_model.save(model, directory)
        keep(name, directory, facts)


def module(name: str, build) -> None:
    """A `tf.Module` with signatures: `build` gives the module, its signatures and its facts."""
    made, signatures, facts = build()
    options = tf.saved_model.SaveOptions(save_debug_info=bool(facts.get("traced")))
    with tempfile.TemporaryDirectory() as directory:
        tf.saved_model.save(made, directory, signatures=signatures, options=options)
        keep(name, directory, facts)


def dense(save: str):
    def record(name: str) -> None:
        inputs = tf.keras.Input([16])
        outputs = tf.keras.layers.Dense(4)(tf.keras.layers.Dense(32, activation="relu")(inputs))
        model = tf.keras.Model(inputs, outputs)
        model.compile(optimizer="adam", loss="mse")
        model.fit(np.zeros([4, 16]), np.zeros([4, 4]), verbose=0)
        # Multiply-adds are two; the biases and the rectifier are one each.
        matmul, bias, relu = 2 * (16 * 32 + 32 * 4), 32 + 4, 32
        per_element = matmul + bias + relu
        keras_model(
            name, model, save, {"expect": {"MatMul": matmul, "BiasAdd+AddV2": bias, "Relu": relu}, "per_element": per_element}
        )

    return record


def lstm(save: str):
    def record(name: str) -> None:
        inputs = tf.keras.Input([10, 8])
        model = tf.keras.Model(inputs, tf.keras.layers.LSTM(16)(inputs))
        # Ten steps, each a product with the kernel (8 x 64) and one with the recurrent kernel (16 x 64).
        keras_model(name, model, save, {"expect": {"MatMul": 10 * 2 * (8 * 64 + 16 * 64)}})

    return record


def gru(name: str) -> None:
    inputs = tf.keras.Input([7, 4])
    model = tf.keras.Model(inputs, tf.keras.layers.GRU(8, return_sequences=True)(inputs))
    keras_model(name, model, "export", {"expect": {"MatMul": 7 * 2 * (4 * 24 + 8 * 24)}})


def attention(name: str) -> None:
    inputs = tf.keras.Input([12, 32])
    model = tf.keras.Model(inputs, tf.keras.layers.MultiHeadAttention(num_heads=4, key_dim=8)(inputs, inputs))
    # Query, key, value and output projections (32 x 32 each), then scores and their use (4 heads, 8 wide).
    einsum = 2 * 12 * (4 * 32 * 32) + 2 * 2 * (4 * 12 * 12 * 8)
    keras_model(name, model, "export", {"expect": {"Einsum+BatchMatMulV2+BatchMatMul+MatMul": einsum}})


def dropout_and_norm(name: str) -> None:
    """Dropout brings the state of a seed generator; batch normalization has variables that are not trained."""
    layers = tf.keras.layers
    inputs = tf.keras.Input([8, 8, 3])
    x = layers.RandomFlip()(inputs)
    x = layers.BatchNormalization()(layers.Conv2D(4, 3)(x))
    x = layers.Dropout(0.5)(layers.GlobalAveragePooling2D()(x))
    model = tf.keras.Model(inputs, layers.Dense(2)(x))
    keras_model(name, model, "export", {"expect": {"Conv2D": 2 * 6 * 6 * 9 * 3 * 4, "MatMul": 2 * 4 * 2}})


def einsum():
    made = tf.Module()
    spec = [tf.TensorSpec([2, 8, 16]), tf.TensorSpec([16, 32])]
    made.call = tf.function(lambda a, b: tf.einsum("bij,jk->bik", a, b), input_signature=spec)
    return made, None, {"parameters": 0, "expect": {"Einsum": 2 * 2 * 8 * 16 * 32}}


def nested():
    made = tf.Module()
    inner = tf.function(lambda a: tf.matmul(a, a))
    middle = tf.function(lambda a: tf.identity(inner(a)))
    made.call = tf.function(lambda a: middle(a), input_signature=[tf.TensorSpec([16, 16])])
    return made, made.call.get_concrete_function(), {"parameters": 0, "expect": {"MatMul": 8192}}


def cond():
    made = tf.Module()

    def call(flag, a):
        return tf.cond(flag, lambda: tf.matmul(tf.matmul(a, a), a), lambda: tf.matmul(a, a))

    made.call = tf.function(call, input_signature=[tf.TensorSpec([], tf.bool), tf.TensorSpec([16, 16])])
    return made, None, {"parameters": 0, "expect": {"MatMul": 2 * 8192}}


def switch_case():
    made = tf.Module()

    def call(which, a):
        return tf.switch_case(which, [lambda: a, lambda: tf.matmul(a, a), lambda: a @ a @ a @ a])

    made.call = tf.function(call, input_signature=[tf.TensorSpec([], tf.int32), tf.TensorSpec([16, 16])])
    return made, None, {"parameters": 0, "expect": {"MatMul": 3 * 8192}}


def while_loop():
    made = tf.Module()

    def call(a):
        return tf.while_loop(lambda i, x: i < 10, lambda i, x: (i + 1, tf.matmul(x, a)), [0, a])[1]

    made.call = tf.function(call, input_signature=[tf.TensorSpec([16, 16])])
    return made, None, {"parameters": 0, "expect": {"MatMul": 10 * 8192}}


def python_range():
    made = tf.Module()

    @tf.function(input_signature=[tf.TensorSpec([16, 16])])
    def call(a):
        x = a
        for _ in tf.range(3, 24, 3):
            for _ in tf.range(5):
                x = tf.matmul(x, a)
        return x

    made.call = call
    return made, None, {"parameters": 0, "expect": {"MatMul": 7 * 5 * 8192}}


def unknown_loop():
    made = tf.Module()

    def call(a):
        return tf.while_loop(lambda x: tf.reduce_sum(x) < 100.0, lambda x: (tf.matmul(x, a),), [a])[0]

    made.call = tf.function(call, input_signature=[tf.TensorSpec([16, 16])])
    return made, None, {"parameters": 0, "expect": {"MatMul": 8192}, "warns": "trip_count"}


def map_fn():
    made = tf.Module()

    def call(a):
        return tf.map_fn(lambda row: tf.linalg.matvec(tf.ones([4, 8]), row), a)

    made.call = tf.function(call, input_signature=[tf.TensorSpec([6, 8])])
    return made, None, {"parameters": 0, "expect": {"MatMul": 6 * 2 * 4 * 8}}


def map_defun():
    made = tf.Module()
    body = tf.function(lambda a: tf.matmul(a, a)).get_concrete_function(tf.TensorSpec([16, 16]))

    def call(a):
        return tf.raw_ops.MapDefun(
            arguments=[a],
            captured_inputs=[],
            output_types=[tf.float32],
            output_shapes=[tf.TensorShape([16, 16])],
            f=body,
            max_intra_op_parallelism=1,
        )[0]

    made.call = tf.function(call, input_signature=[tf.TensorSpec([5, 16, 16])])
    return made, None, {"parameters": 0, "expect": {"MatMul": 5 * 8192}}


def custom_gradient():
    made = tf.Module()
    made.w = tf.Variable(tf.ones([16, 16]), name="w")

    @tf.custom_gradient
    def product(a):
        return tf.matmul(a, made.w), lambda dy, variables=None: (dy, [dy])

    made.call = tf.function(lambda a: product(a), input_signature=[tf.TensorSpec([None, 16])])
    return made, None, {"parameters": 256, "trainable_parameters": 256, "expect": {"MatMul": 2 * 16 * 16}}


def training_step():
    """A step of training: gradients and an optimizer with slots, which are no parameters."""
    inputs = tf.keras.Input([16])
    model = tf.keras.Model(inputs, tf.keras.layers.Dense(4)(inputs))
    optimizer = tf.keras.optimizers.Adam()
    optimizer.build(model.trainable_variables)

    @tf.function(input_signature=[tf.TensorSpec([8, 16]), tf.TensorSpec([8, 4])])
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return {"loss": loss}

    made = tf.Module()
    made.model, made.optimizer, made.step = model, optimizer, step
    facts = {"parameters": 68, "trainable_parameters": 68, "signature": "step", "expect": {"MatMul": 2 * (2 * 8 * 16 * 4)}}
    return made, {"step": step}, facts


def traced():
    """Saved with where its nodes were made."""
    made = tf.Module()
    made.w = tf.Variable(tf.ones([16, 16]), name="w")

    def product(a):
        return tf.matmul(a, made.w)

    inner = tf.function(product)
    made.call = tf.function(lambda a: tf.nn.relu(inner(a)), input_signature=[tf.TensorSpec([None, 16])])
    facts = {"parameters": 256, "trainable_parameters": 256, "expect": {"MatMul": 512, "Relu": 16}, "traced": "product"}
    return made, None, facts


def signatures():
    made = tf.Module()
    made.encoder = tf.Variable(tf.ones([16, 8]), name="encoder")
    made.decoder = tf.Variable(tf.ones([8, 16]), name="decoder", trainable=False)
    made.unused = tf.Variable(tf.ones([100]), name="unused")
    encode = tf.function(lambda x: {"code": x @ made.encoder}, input_signature=[tf.TensorSpec([None, 16], name="x")])
    decode = tf.function(lambda x: {"x": x @ made.decoder}, input_signature=[tf.TensorSpec([None, 8], name="code")])
    both = tf.function(
        lambda x: {"x": x @ made.encoder @ made.decoder}, input_signature=[tf.TensorSpec([None, 16], name="x")]
    )
    facts = {
        "signatures": {
            "encode": {"parameters": 128, "trainable_parameters": 128, "expect": {"MatMul": 256}},
            "decode": {"parameters": 128, "trainable_parameters": 0, "expect": {"MatMul": 256}},
            "both": {"parameters": 256, "trainable_parameters": 128, "expect": {"MatMul": 512}},
        }
    }
    return made, {"encode": encode, "decode": decode, "both": both}, facts


def tf1_graph():
    """A perceptron of TensorFlow 1 with an optimizer that has slots, and a loop of frames."""
    v1.disable_control_flow_v2()
    v1.disable_resource_variables()
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 16], name="x")
        y = v1.placeholder(tf.float32, [None, 4], name="y")
        w = v1.get_variable("w", [16, 16])
        head = v1.get_variable("head", [16, 4])
        fixed = v1.get_variable("fixed", [16], trainable=False)
        limit = tf.constant(7, name="limit")
        looped = v1.while_loop(
            lambda i, a: tf.less(i, limit), lambda i, a: (i + 1, tf.matmul(a, w)), [tf.constant(0), x + fixed], name="loop"
        )[1]
        logits = tf.matmul(looped, head, name="logits")
        loss = tf.reduce_mean(tf.square(logits - y))
        v1.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
        init = v1.global_variables_initializer()
    facts = {"parameters": 336, "trainable_parameters": 320, "expect": {"MatMul": 7 * 2 * 16 * 16 + 2 * 16 * 4}}
    return graph, x, logits, init, facts


def tf1_saved_model(name: str) -> None:
    graph, x, logits, init, facts = tf1_graph()
    with tempfile.TemporaryDirectory() as parent, v1.Session(graph=graph) as session:
        directory = os.path.join(parent, "model")
        session.run(init)
        v1.saved_model.simple_save(session, directory, {"x": x}, {"logits": logits})
        keep(name, directory, facts)


def tf1_meta(name: str) -> None:
    graph, _, _, init, facts = tf1_graph()
    del facts["expect"]
    with tempfile.TemporaryDirectory() as directory, v1.Session(graph=graph) as session:
        session.run(init)
        with graph.as_default():
            saver = v1.train.Saver()
        saver.export_meta_graph(os.path.join(directory, "model.ckpt.meta"))
        keep(name, directory, facts)


def tf1_rnn(name: str) -> None:
    v1.disable_control_flow_v2()
    v1.enable_resource_variables()
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 9, 5], name="x")
        kernel = v1.get_variable("kernel", [5 + 6, 6])
        steps = tf.TensorArray(tf.float32, 9).unstack(tf.transpose(x, [1, 0, 2]))

        def step(time, state):
            return time + 1, tf.tanh(tf.matmul(tf.concat([steps.read(time), state], 1), kernel))

        start = tf.zeros([tf.shape(x)[0], 6])
        last = v1.while_loop(lambda time, _: time < 9, step, [0, start])[1]
        init = v1.global_variables_initializer()
    facts = {"parameters": 66, "trainable_parameters": 66, "expect": {"MatMul": 9 * 2 * 11 * 6}}
    with tempfile.TemporaryDirectory() as parent, v1.Session(graph=graph) as session:
        directory = os.path.join(parent, "model")
        session.run(init)
        v1.saved_model.simple_save(session, directory, {"x": x}, {"last": last})
        keep(name, directory, facts)


def frozen_loop(name: str) -> None:
    """A frozen graph whose loop is a function; its variables have become constants."""
    w = tf.Variable(tf.ones([16, 16]))

    def call(a):
        return tf.while_loop(lambda i, x: i < 10, lambda i, x: (i + 1, tf.matmul(x, w)), [0, a])[1]

    concrete = tf.function(call).get_concrete_function(tf.TensorSpec([None, 16]))
    frozen = convert_variables_to_constants_v2(concrete, lower_control_flow=False)
    with tempfile.TemporaryDirectory() as directory:
        pathlib.Path(directory, "graph.pb").write_bytes(frozen.graph.as_graph_def().SerializeToString())
        keep(name, directory, {"parameters": 0, "const_parameters": 256, "expect": {"MatMul": 10 * 2 * 16 * 16}})


SMALL = {
    "dense_export": dense("export"),
    "dense_save": dense("save"),
    "lstm_export": lstm("export"),
    "lstm_save": lstm("save"),
    "gru": gru,
    "attention": attention,
    "dropout_and_norm": dropout_and_norm,
    **{
        build.__name__: (lambda build: lambda name: module(name, build))(build)
        for build in [
            einsum, nested, cond, switch_case, while_loop, python_range, unknown_loop, map_fn, map_defun,
            custom_gradient, training_step, traced, signatures,
        ]
    },
    "frozen_loop": frozen_loop,
    # Last: these change how TensorFlow builds graphs.
    "tf1_saved_model": tf1_saved_model,
    "tf1_meta": tf1_meta,
    "tf1_rnn": tf1_rnn,
}


def main() -> None:
    names = sys.argv[1:] or [*APPLICATIONS, *SMALL]
    for name in [name for name in [*APPLICATIONS, *SMALL] if name in names]:
        if name in APPLICATIONS:
            application(name)
        else:
            SMALL[name](name)
    unknown = set(names) - {*APPLICATIONS, *SMALL}
    if unknown:
        sys.exit(f"no such model: {', '.join(sorted(unknown))}")


if __name__ == "__main__":
    main()
