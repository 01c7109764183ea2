"""Compares `tfprof.open` on live graphs and `tfprof.checkpoint` on saved variables with TensorFlow."""

from __future__ import annotations

import checkpoints
import numpy as np
import pytest
import tensorflow as tf
import test_api as api
import tfprof

v1 = tf.compat.v1


@pytest.mark.parametrize("preset", api.PRESETS)
@pytest.mark.parametrize("name", api.models.MODELS)
def test_views_of_live_graphs(name, preset):
    graph, runs = api.model(name)
    options = api.PRESETS[preset]
    for run in (None, runs[0]):
        p = tfprof.open(graph, run, original_quirks=True)
        asked = {key: value for key, value in options.items() if key != "output"}
        for cmd in api.COMMANDS:
            original = api.theirs.profile(graph, run, cmd=cmd, options=api.quiet(options))
            try:
                ours = getattr(p, cmd)(**asked).message()
            except tfprof.MissingData:
                # A graph that was imported does not know who made it.
                assert cmd == "code" and name == "keras" and not original.children
                continue
            assert ours == original or api.too_deep(ours, original), cmd


def test_functions_and_messages():
    @tf.function(input_signature=[tf.TensorSpec([3, 4])])
    def twice(x):
        return x * 2.0

    concrete = twice.get_concrete_function()
    total = tfprof.open(twice).op(select="float_ops").total
    assert total["float_ops"] == 12
    for graph in (concrete, concrete.graph, concrete.graph.as_graph_def(add_shapes=True)):
        assert tfprof.open(graph).op(select="float_ops").total == total


def test_the_default_graph():
    with tf.Graph().as_default():
        v1.get_variable("w", [3, 4])
        assert tfprof.open().scope(select="params").total["params"] == 12
    with pytest.raises(ValueError, match="nothing to open"):
        tfprof.open()


def test_arguments_are_not_changed():
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 4])
        y = tf.matmul(tf.abs(x), v1.get_variable("w", [4, 2]))
        run = v1.RunMetadata()
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            session.run(y, {x: np.ones((3, 4))}, v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE), run)
    log = tfprof.OpLogProto()
    log.log_entries.add(name="w", types=["mine"])
    before = log.SerializeToString(), run.SerializeToString(), len(graph.get_operations())
    p = tfprof.open(graph, {5: run}, log)
    p.code(select="float_ops"), p.advise()
    tfprof.profile(graph, run, log, options=api.quiet(api.PRESETS["all"]))
    assert (log.SerializeToString(), run.SerializeToString(), len(graph.get_operations())) == before
    assert y.shape.as_list() == [None, 2]
    assert p.scope(select="params", account_type_regexes="mine").total["params"] == 8
    assert p.op(select="float_ops", max_depth=1000)["MatMul"].self["float_ops"] == 48


def saved(directory):
    """Each checkpoint, with the values that TensorFlow's reader refuses."""
    V1, V2 = v1.train.SaverDef.V1, v1.train.SaverDef.V2
    yield checkpoints.save_v2(directory)
    yield checkpoints.save_v1(directory)
    for name, version, sharded in (("a", V2, False), ("b", V2, True), ("c", V1, False), ("d", V1, True)):
        yield checkpoints.save_graph(directory, name, version, sharded)
    for path in checkpoints.save_objects(directory):
        yield path, {}


def test_arrays_are_those_of_tensorflow(tmp_path):
    count = 0
    for path, known in saved(tmp_path):
        reader, ckpt = tf.train.load_checkpoint(path), tfprof.checkpoint(path)
        shapes, dtypes = reader.get_variable_to_shape_map(), reader.get_variable_to_dtype_map()
        assert sorted(ckpt.keys()) == sorted(shapes)
        for tensor in ckpt:
            name = tensor.name
            assert (list(tensor.shape), tensor.dtype) == (shapes[name], dtypes[name].name)
            try:
                theirs = reader.get_tensor(name)
            except (tf.errors.OpError, RuntimeError, ValueError, TypeError):
                theirs = known[name]
            theirs = theirs.numpy() if isinstance(theirs, tf.Tensor) else theirs
            theirs = np.array(theirs, dtype=object) if isinstance(theirs, bytes) else np.asarray(theirs)
            ours = ckpt[name]
            assert ours.shape == theirs.shape, name
            if theirs.dtype == object:
                assert ours.tolist() == theirs.tolist(), name
            else:
                # TensorFlow wraps quantised numbers into a structure of one field.
                assert theirs.dtype.names or ours.dtype == theirs.dtype, name
                assert ours.tobytes() == theirs.tobytes(), name
            if ours.ndim == 2:
                assert ckpt[name, 1:, ::-2].tolist() == ours[1:, ::-2].tolist() or np.isnan(ours.astype(complex)).any()
            count += 1
        assert ckpt.verify()
    assert count > 250


def keras_model(keras):
    """A model with a layer of its own."""
    inputs = keras.Input((8,))
    hidden = keras.layers.Dense(16, activation="relu", name="hidden")(inputs)
    return keras.Model(inputs, keras.layers.Dense(4, name="head")(hidden))


def test_a_live_keras_model_is_opened(tmp_path, monkeypatch):
    """It is saved to a directory that is gone afterwards, and has its lines of code."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    model = keras_model(tf.keras)
    profile = tfprof.open(model)
    assert list(tmp_path.glob("tfprof-*")) == []
    assert profile.overview["params"] == model.count_params() == 212
    cost = profile.cost()
    assert cost.parameters == 212 and cost.float_ops == tfprof.flops(model)
    assert {"hidden", "head"} <= {scope["name"] for scope in cost.details["scopes"]}
    assert any("test_open.py" in row.name for row in profile.code(select="float_ops", max_depth=100))
    assert [missing["code"] for missing in profile.overview["missing"]] == ["no_steps"]


def test_a_keras_model_that_is_not_built_is_named():
    with pytest.raises(TypeError, match="not built"):
        tfprof.open(tf.keras.Sequential([tf.keras.layers.Dense(2)]))
