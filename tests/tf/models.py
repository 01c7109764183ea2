"""Live graphs for the comparison with TensorFlow: each returns the graph and the RunMetadata of two steps."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1


def _trace(graph, fetch, feeds):
    runs = []
    with tf1.Session(graph=graph) as session:
        session.run(tf1.global_variables_initializer())
        for feed in feeds:
            meta = tf1.RunMetadata()
            options = tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE)
            session.run(fetch, feed, options=options, run_metadata=meta)
            runs.append(meta)
    return runs


def _norm(x, name):
    with tf1.variable_scope(name):
        depth = x.shape[-1]
        scale = tf1.get_variable("scale", [depth], initializer=tf1.ones_initializer())
        offset = tf1.get_variable("offset", [depth], initializer=tf1.zeros_initializer())
        return tf1.nn.fused_batch_norm(x, scale, offset)[0]


def _conv(x, filters, strides, name):
    with tf1.variable_scope(name):
        kernel = tf1.get_variable("kernel", [3, 3, x.shape[-1], filters])
        return tf1.nn.conv2d(x, kernel, strides=[1, strides, strides, 1], padding="SAME")


def resnet(blocks=5):
    """ResNet-32 on images of 32 by 32, of unknown batch size, with its training step."""
    graph = tf1.Graph()
    with graph.as_default():
        images = tf1.placeholder(tf.float32, [None, 32, 32, 3], name="images")
        x = tf.nn.relu(_norm(_conv(images, 16, 1, "first"), "first_norm"))
        for group, filters in enumerate((16, 32, 64)):
            for block in range(blocks):
                with tf1.variable_scope(f"group{group}/block{block}"):
                    strides = 2 if group and not block else 1
                    y = tf.nn.relu(_norm(_conv(x, filters, strides, "a"), "norm_a"))
                    y = _norm(_conv(y, filters, 1, "b"), "norm_b")
                    if strides == 2:
                        x = tf1.nn.avg_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
                        x = tf.pad(x, [[0, 0], [0, 0], [0, 0], [filters // 4, filters // 4]])
                    x = tf.nn.relu(x + y)
        x = tf.reduce_mean(x, [1, 2])
        weights = tf1.get_variable("weights", [64, 10])
        loss = tf.reduce_mean(tf.square(tf.nn.softmax(tf.matmul(x, weights))))
        train = tf1.train.GradientDescentOptimizer(0.1).minimize(loss)
        runs = _trace(graph, [train, loss], [{images: np.zeros([n, 32, 32, 3])} for n in (2, 3)])
    return graph, runs


def loop():
    """A while loop of the old kind, with resource variables around it."""
    graph = tf1.Graph()
    with graph.as_default():
        tf1.disable_control_flow_v2()
        weights = tf1.get_variable("weights", [4, 4], use_resource=True)
        start = tf1.placeholder(tf.float32, [3, 4])
        _, x = tf1.while_loop(
            lambda i, x: i < 5, lambda i, x: (i + 1, tf.tanh(tf.matmul(x, weights))), [tf.constant(0), start]
        )
        loss = tf.reduce_sum(x)
        train = tf1.train.GradientDescentOptimizer(0.1).minimize(loss)
        runs = _trace(graph, [train], [{start: np.ones([3, 4])}] * 2)
    return graph, runs


def recurrent():
    """Convolutions that feed an unrolled loop, trained, with variables of the old kind."""
    from tensorflow.python.ops import rnn, rnn_cell

    graph = tf1.Graph()
    with graph.as_default():
        steps = []
        for i in range(3):
            with tf1.variable_scope(f"image{i}", use_resource=False):
                x = tf.zeros([2, 6, 6, 3])
                for name, shape in (("a", [3, 3, 3, 6]), ("b", [2, 2, 6, 12])):
                    x = tf1.nn.conv2d(x, tf1.get_variable(name, shape), strides=[1, 2, 2, 1], padding="SAME")
                steps.append(tf.reshape(x, [2, 1, -1]))
        with tf1.variable_scope("loop", use_resource=False):
            out, _ = rnn.dynamic_rnn(rnn_cell.BasicRNNCell(16), tf.concat(steps, axis=1), dtype=tf.float32)
        loss = tf.nn.l2_loss(tf.reduce_mean(tf.ones_like(out) - out))
        train = tf1.train.GradientDescentOptimizer(0.01).minimize(loss)
        runs = _trace(graph, [train], [None, None])
    return graph, runs


def keras():
    """A frozen Keras model, loaded into a graph: nodes without call traces of their own."""
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    model = tf.keras.Sequential(
        [
            tf.keras.layers.Input([16, 16, 3]),
            tf.keras.layers.Conv2D(4, 3, activation="relu"),
            tf.keras.layers.MaxPooling2D(),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(10, activation="softmax"),
        ]
    )
    function = tf.function(lambda x: model(x)).get_concrete_function(tf.TensorSpec([None, 16, 16, 3]))
    frozen = convert_variables_to_constants_v2(function)
    graph = tf1.Graph()
    with graph.as_default():
        tf1.import_graph_def(frozen.graph.as_graph_def(), name="")
        fetch = frozen.outputs[0].name
        with tf1.Session(graph=graph) as session:
            runs = []
            for n in (1, 4):
                meta = tf1.RunMetadata()
                options = tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE)
                feed = {frozen.inputs[0].name: np.zeros([n, 16, 16, 3])}
                session.run(fetch, feed, options=options, run_metadata=meta)
                runs.append(meta)
    return graph, runs


MODELS = {"resnet": resnet, "loop": loop, "keras": keras, "recurrent": recurrent}
