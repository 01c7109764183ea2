"""Compares shapes and costs of recurrent models with runs of TensorFlow: stacked and bidirectional layers, attention, old
placeholders.

Each model is frozen and run with full traces. The shape of every output that ran must be the inferred one, every node
must have a cost, and the multiply-adds of all matrix products that ran must add up to ours. A SavedModel of the same
model, whose loops are functions and whose batch is open, must have the same multiply-adds.

Usage: recurrent.py [--infer target/debug/examples/infer] [--tfprof target/debug/tfprof] [--only NAME]
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import numpy as np
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

v1 = tf.compat.v1
layers = tf.keras.layers
BATCH = 2


def sequential(shape, *parts):
    inputs = tf.keras.Input(shape, name="x")
    x = inputs
    for part in parts:
        x = part(x)
    return tf.keras.Model(inputs, x)


def stacked_lstm():
    return sequential([7, 5], layers.LSTM(6, return_sequences=True), layers.LSTM(4, return_sequences=True), layers.LSTM(3))


def stacked_gru_dense():
    return sequential([6, 4], layers.GRU(5, return_sequences=True), layers.GRU(7, return_sequences=True), layers.Dense(3))


def bidirectional_lstm():
    return sequential([5, 3], layers.Bidirectional(layers.LSTM(4, return_sequences=True)), layers.GRU(6))


def bidirectional_stack():
    return sequential(
        [4, 3],
        layers.Bidirectional(layers.GRU(4, return_sequences=True)),
        layers.Bidirectional(layers.LSTM(5, return_sequences=True), merge_mode="sum"),
        layers.TimeDistributed(layers.Dense(2)),
    )


def simple_rnn_embedding():
    return sequential(
        [9], layers.Embedding(20, 6), layers.SimpleRNN(5, return_sequences=True, go_backwards=True), layers.SimpleRNN(4)
    )


def lstm_attention():
    inputs = tf.keras.Input([6, 5], name="x")
    x = layers.LSTM(8, return_sequences=True)(inputs)
    x = layers.Attention()([x, x])
    x = layers.LSTM(4, return_sequences=True)(x)
    return tf.keras.Model(inputs, layers.Dense(3, activation="softmax")(layers.GlobalAveragePooling1D()(x)))


def encoder_decoder_attention():
    inputs = tf.keras.Input([5, 4], name="x")
    encoded, *state = layers.LSTM(6, return_sequences=True, return_state=True)(inputs)
    decoded = layers.LSTM(6, return_sequences=True)(inputs, initial_state=state)
    x = layers.Concatenate()([decoded, layers.AdditiveAttention()([decoded, encoded])])
    return tf.keras.Model(inputs, layers.TimeDistributed(layers.Dense(4))(x))


def multi_head_attention_gru():
    inputs = tf.keras.Input([6, 8], name="x")
    x = layers.GRU(8, return_sequences=True, reset_after=False)(inputs)
    x = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 4)(x, x))
    return tf.keras.Model(inputs, layers.GRU(3)(x))


def convolution_lstm():
    return sequential(
        [3, 6, 6, 2], layers.ConvLSTM2D(4, 3, padding="same", return_sequences=True), layers.ConvLSTM2D(2, 3)
    )


def cells():
    stack = layers.StackedRNNCells([layers.LSTMCell(5), layers.GRUCell(4)])
    return sequential([4, 3], layers.RNN(stack, return_sequences=True), layers.Flatten(), layers.Dense(2))


def deep_bidirectional():
    return sequential(
        [9, 4],
        layers.Bidirectional(layers.LSTM(3, return_sequences=True)),
        layers.Bidirectional(layers.GRU(5, return_sequences=True), merge_mode="mul"),
        layers.Bidirectional(layers.SimpleRNN(4, return_sequences=True), merge_mode="ave"),
        layers.LSTM(6),
    )


def repeated_decoder():
    inputs = tf.keras.Input([7, 5], name="x")
    *_, state, carry = layers.LSTM(6, return_state=True, go_backwards=True)(inputs)
    x = layers.LSTM(6, return_sequences=True)(layers.RepeatVector(4)(state), initial_state=[state, carry])
    x = layers.GRU(3, return_sequences=True, reset_after=False)(x)
    return tf.keras.Model(inputs, layers.TimeDistributed(layers.Dense(5, activation="gelu"))(x))


def grouped_query_attention():
    inputs = tf.keras.Input([6, 8], name="x")
    x = layers.GRU(8, return_sequences=True)(inputs)
    return tf.keras.Model(inputs, layers.LSTM(3)(layers.GroupQueryAttention(4, 4, 2)(x, x)))


def causal_transformer():
    inputs = tf.keras.Input([7], dtype="int32", name="x")
    x = layers.Embedding(40, 12)(inputs)
    for _ in range(2):
        y = layers.LayerNormalization()(x)
        x = x + layers.MultiHeadAttention(3, 4)(y, y, use_causal_mask=True)
        x = x + layers.Dense(12)(layers.Dense(24, activation="gelu")(x))
    return tf.keras.Model(inputs, layers.LSTM(4)(x))


def old_loop():
    """A loop of TensorFlow 1 that writes to a tensor array, in a graph whose placeholders say nothing."""
    with tf.Graph().as_default() as graph:
        v1.disable_control_flow_v2()
        x = v1.placeholder(tf.float32, name="x")
        keep = v1.placeholder(tf.float32, name="keep")
        shaped = tf.reshape(x, [-1, 6, 5])
        kernel = tf.constant(np.ones([9, 4], np.float32))
        steps = tf.TensorArray(tf.float32, 6).unstack(tf.transpose(shaped, [1, 0, 2]))
        states = tf.TensorArray(tf.float32, 6)

        def step(at, state, states):
            state = tf.tanh(tf.matmul(tf.concat([steps.read(at), state], 1), kernel)) * tf.reshape(keep, [])
            return at + 1, state, states.write(at, state)

        start = [tf.constant(0), tf.zeros([tf.shape(shaped)[0], 4]), states]
        _, _, states = v1.while_loop(lambda at, *_: at < 6, step, start)
        tf.identity(tf.transpose(states.stack(), [1, 0, 2]), name="y")
        v1.enable_control_flow_v2()
    return graph, {"x": np.ones([BATCH, 6, 5], np.float32), "keep": np.float32(0.5)}


def old_attention():
    """Attention over a placeholder without a shape, as graphs of version 21 write it."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, name="x")
        query, key = (tf.constant(np.ones([8, 8], np.float32)) for _ in range(2))
        flat = tf.reshape(x, [-1, 8])
        a, b = (tf.reshape(tf.matmul(flat, weights), [-1, 5, 8]) for weights in (query, key))
        scores = tf.nn.softmax(tf.matmul(a, b, transpose_b=True))
        tf.identity(tf.matmul(scores, x), name="y")
    return graph, {"x": np.ones([BATCH, 5, 8], np.float32)}


KERAS = [
    stacked_lstm, stacked_gru_dense, bidirectional_lstm, bidirectional_stack, simple_rnn_embedding, lstm_attention,
    encoder_decoder_attention, multi_head_attention_gru, convolution_lstm, cells, deep_bidirectional, repeated_decoder,
    grouped_query_attention, causal_transformer,
]  # fmt: skip
OLD = [old_loop, old_attention]


def trace(definition, fetch, feeds):
    """Runs a graph as it is. Returns the shapes of outputs and the number of runs, by node."""
    with tf.Graph().as_default() as graph:
        tf.graph_util.import_graph_def(definition, name="")
    config = v1.ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = -1
    meta = v1.RunMetadata()
    with v1.Session(graph=graph, config=config) as session:
        options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
        session.run(fetch, {f"{name}:0": value for name, value in feeds.items()}, options=options, run_metadata=meta)
    shapes, runs = {}, {}
    for device in meta.step_stats.dev_stats:
        for node in device.node_stats:
            name = node.node_name.split(":")[0]
            runs[name] = runs.get(name, 0) + 1
            for output in node.output:
                tensor = output.tensor_description
                # The handle of a tensor array is a vector by TensorFlow's inference, and a scalar when it runs.
                if tensor.dtype not in (0, tf.resource.as_datatype_enum) and not tensor.shape.unknown_rank:
                    shapes.setdefault((name, output.slot), set()).add(tuple(dim.size for dim in tensor.shape.dim))
    return shapes, runs


def cost(tfprof, *arguments):
    answer = subprocess.run([tfprof, "cost", *arguments, "--format=json"], check=True, capture_output=True, text=True)
    return json.loads(answer.stdout)


def check(name, definition, feeds, fetch, arguments, inputs=()):
    """Compares a frozen graph with a run. Returns the figures, and the failures."""
    failures = []
    with tempfile.NamedTemporaryFile(suffix=".pb") as file:
        file.write(definition.SerializeToString())
        file.flush()
        lines = subprocess.run(
            [arguments.infer, file.name, *inputs], check=True, capture_output=True, text=True
        ).stdout.splitlines()
        ours = cost(arguments.tfprof, file.name, *(f"--input={text}" for text in inputs))
    shapes, runs = trace(definition, fetch, feeds)
    inferred = {line["name"]: line for line in map(json.loads, lines)}
    compared = 0
    for (node, slot), seen in shapes.items():
        if node not in inferred:
            continue
        found = inferred[node]["shapes"]
        shape = found[slot] if slot < len(found) else None
        compared += 1
        if shape is None or any(size < 0 for size in shape):
            failures.append(f"{node}:{slot} ({inferred[node]['op']}) is {shape}, and ran as {sorted(seen)}")
        elif seen != {tuple(shape)}:
            failures.append(f"{node}:{slot} ({inferred[node]['op']}) is {shape}, and ran as {sorted(seen)}: CONTRADICTION")
    if compared < 10:
        failures.append(f"only {compared} outputs ran")
    if ours["covered_nodes"] != ours["nodes"]:
        failures.append(f"{ours['nodes'] - ours['covered_nodes']} of {ours['nodes']} nodes have no cost")
    failures += [warning["message"] for warning in ours["warnings"] if warning["code"] in ("shape_conflict", "trip_count")]
    macs = sum(
        runs.get(node, 0) * json.loads(line["cost"])[1] for node, line in inferred.items() if line["cost"].startswith("[")
    )
    if macs != ours["macs"] or macs == 0:
        failures.append(f"{ours['macs']} multiply-adds, and {macs} ran")
    print(f"{name}: {ours['nodes']} nodes, {compared} outputs compared, {macs} multiply-adds, {len(failures)} failures")
    return ours, failures


def keras(make, arguments):
    tf.keras.backend.clear_session()
    model = make()
    spec = tf.TensorSpec([BATCH, *model.inputs[0].shape[1:]], model.inputs[0].dtype, "x")
    concrete = tf.function(lambda x: model(x, training=False)).get_concrete_function(spec)
    frozen = convert_variables_to_constants_v2(concrete)
    fed = {frozen.inputs[0].op.name: np.ones(spec.shape, spec.dtype.as_numpy_dtype)}
    ours, failures = check(make.__name__, frozen.graph.as_graph_def(), fed, frozen.outputs[0].name, arguments)
    with tempfile.TemporaryDirectory() as directory:
        model.export(directory, verbose=False)
        saved = cost(arguments.tfprof, directory, f"--batch={BATCH}")
    if (saved["macs"], saved["unknown_ops"]) != (ours["macs"], 0):
        failures.append(f"the SavedModel has {saved['macs']} multiply-adds and {saved['unknown_ops']} unknown ops")
    law = saved["per_batch"]["macs"]
    if not law or law["constant"] + BATCH * law["per_element"] != saved["macs"]:
        failures.append(f"the law of the batch is {law}")
    return failures


def old(make, arguments):
    graph, feeds = make()
    definition = graph.as_graph_def()
    definition.versions.producer = 21
    for node in definition.node:
        node.attr.pop("_output_shapes", None)
        if node.op == "Placeholder":
            node.attr["shape"].shape.Clear()
    inputs = [f"{name}={'x'.join(map(str, np.shape(value)))}" for name, value in feeds.items()]
    return check(make.__name__, definition, feeds, "y:0", arguments, inputs)[1]


def main():
    root = pathlib.Path(__file__).parents[2] / "target/debug"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--infer", default=str(root / "examples/infer"))
    parser.add_argument("--tfprof", default=str(root / "tfprof"))
    parser.add_argument("--only")
    arguments = parser.parse_args()
    failed = []
    for make in KERAS + OLD:
        if arguments.only in (None, make.__name__):
            failed += [f"{make.__name__}: {failure}" for failure in (keras if make in KERAS else old)(make, arguments)]
    print("\n".join(failed))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
