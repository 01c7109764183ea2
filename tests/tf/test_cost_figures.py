"""Compares the cost of models with TensorFlow's and Keras' figures."""

import numpy as np
import pytest
import tensorflow as tf
import tfprof
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2


def small_cnn() -> tf.keras.Model:
    layers = tf.keras.layers
    inputs = tf.keras.Input([12, 12, 3])
    x = layers.Normalization(mean=[0.1] * 3, variance=[2.0] * 3)(inputs)
    x = layers.BatchNormalization()(layers.Conv2D(8, 3, activation="relu")(x))
    x = layers.Dropout(0.5)(layers.Flatten()(x))
    model = tf.keras.Model(inputs, layers.Dense(5, activation="softmax")(x))
    model.layers[2].trainable = False
    return model


def original_flops(concrete) -> int:
    """What the original's profiler says of the frozen graph."""
    frozen = convert_variables_to_constants_v2(concrete).graph.as_graph_def()
    with tf.Graph().as_default() as graph:
        tf.graph_util.import_graph_def(frozen, name="")
        options = tf.compat.v1.profiler.ProfileOptionBuilder(
            tf.compat.v1.profiler.ProfileOptionBuilder.float_operation()
        )
        return tf.compat.v1.profiler.profile(graph, options=options.with_empty_output().build()).total_float_ops


def known_to_the_original(cost: tfprof.Cost) -> int:
    from tensorflow.python.framework import ops

    def is_known(op: str) -> bool:
        try:
            ops._stats_registry.lookup(f"{op},flops")
        except LookupError:
            return False
        return True

    return sum(row["float_ops"] for row in cost.details["op_types"] if is_known(row["op"]))


@pytest.mark.parametrize("batch", [1, 3])
def test_a_keras_model_in_every_form(tmp_path, batch):
    model = small_cnn()
    size = lambda weights: sum(int(np.prod(weight.shape)) for weight in weights)  # noqa: E731
    trainable = size(model.trainable_weights)
    concrete = tf.function(lambda x: model(x, training=False)).get_concrete_function(
        tf.TensorSpec([batch, *model.inputs[0].shape[1:]])
    )
    model.export(str(tmp_path / "exported"), verbose=False)
    tf.saved_model.save(model, str(tmp_path / "saved"))
    expect = original_flops(concrete)
    for form in [model, tmp_path / "exported", tmp_path / "saved"]:
        cost = tfprof.cost(form, batch=batch)
        assert known_to_the_original(cost) == expect, form
        assert cost.parameters == model.count_params(), form
        # A model that is stored as it is says of each variable how it was made, not that its layer was frozen since.
        made = size(weight for weight in model.weights if weight.value.trainable)
        assert cost.trainable_parameters == (made if form == tmp_path / "saved" else trainable), form
        assert (cost.unknown_ops, cost.covered_nodes) == (0, cost.nodes), form
    for form in [concrete, convert_variables_to_constants_v2(concrete).graph.as_graph_def()]:
        assert known_to_the_original(tfprof.cost(form)) == expect


def test_functions_loops_and_branches():
    matrix = tf.TensorSpec([16, 16])
    inner = tf.function(lambda a: tf.matmul(a, a))
    nested = tf.function(lambda a: inner(a), input_signature=[matrix])
    assert tfprof.flops(nested) == 8192

    @tf.function(input_signature=[matrix, tf.TensorSpec([], tf.bool)])
    def branches(a, flag):
        return tf.matmul(a, a) @ a if flag else tf.matmul(a, a)

    assert tfprof.flops(branches) == 2 * 8192

    @tf.function(input_signature=[matrix])
    def loop(a):
        return tf.while_loop(lambda i, x: i < 10, lambda i, x: (i + 1, x @ a), [0, a])[1]

    by_op = {row["op"]: row["float_ops"] for row in tfprof.cost(loop).details["op_types"]}
    assert by_op["MatMul"] == 10 * 8192
    einsum = tf.function(lambda a, b: tf.einsum("bij,jk->bik", a, b))
    concrete = einsum.get_concrete_function(tf.TensorSpec([2, 8, 16]), tf.TensorSpec([16, 32]))
    assert tfprof.flops(concrete) == 16384


def test_variables_of_functions_and_graphs():
    module = tf.Module()
    module.w = tf.Variable(tf.ones([4, 8]))
    module.fixed = tf.Variable(tf.ones([8]), trainable=False)
    module.unused = tf.Variable(tf.ones([100]))
    call = tf.function(lambda x: x @ module.w + module.fixed, input_signature=[tf.TensorSpec([None, 4])])
    cost = tfprof.cost(call, batch=5)
    assert (cost.parameters, cost.trainable_parameters) == (40, 32)
    assert cost.float_ops == 5 * (2 * 4 * 8 + 8)
    assert cost.per_batch["float_ops"] == {"constant": 0, "per_element": 72}
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, [None, 4])
        w = tf.compat.v1.get_variable("w", [4, 8])
        tf.matmul(x, w)
    assert tfprof.params(graph) == 32
    assert tfprof.cost(graph).trainable_parameters == 32


def test_unknown_ops_are_reported():
    with pytest.raises(TypeError, match="no input signature"):
        tfprof.flops(tf.function(lambda a: a))
    with pytest.raises(TypeError, match="is not built"):
        tfprof.cost(tf.keras.Sequential([tf.keras.layers.Dense(3)]))
