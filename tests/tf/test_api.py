"""Compares tfprof's Python API with TensorFlow's on live graphs, field by field."""

from __future__ import annotations

import functools

import models
import pytest
import tensorflow as tf
import tfprof
from tfprof import _graphs, _native, tfprof_logger

theirs = tf.compat.v1.profiler
builder = tfprof.ProfileOptionBuilder

PRESETS = {
    "params": builder.trainable_variables_parameter(),
    "flops": builder.float_operation(),
    "time": builder.time_and_memory(),
    "all": builder(builder.time_and_memory(min_micros=0, min_bytes=0))
    .select(["params", "float_ops", "micros", "bytes", "occurrence", "device", "op_types", "input_shapes"])
    .build(),
}
COMMANDS = ["scope", "graph", "op", "code"]


@functools.cache
def model(name):
    return models.MODELS[name]()


def quiet(options):
    return builder(options).with_empty_output().build()


def too_deep(ours, original):
    """TensorFlow cannot read its own answer if it nests more than 100 levels, and returns what it read until then."""
    try:
        type(ours).FromString(ours.SerializeToString())
    except Exception as error:
        return "MaxDepth" in str(error)
    return False


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("cmd", COMMANDS)
@pytest.mark.parametrize("name", models.MODELS)
def test_profile(name, cmd, preset):
    graph, runs = model(name)
    options = quiet(PRESETS[preset])
    # Ours goes first: TensorFlow's completes the shapes of the graph for good.
    for run in (None, runs[0]):
        ours = tfprof.profile(graph, run, cmd=cmd, options=options)
        original = theirs.profile(graph, run, cmd=cmd, options=options)
        assert ours == original or too_deep(ours, original)
    assert type(ours) is type(theirs.profile(graph, cmd=cmd, options=options))


@pytest.mark.parametrize("name", [*models.MODELS, "none", "odd"])
def test_bytes_of_live_graphs(name):
    if name in models.MODELS:
        graph = model(name)[0]
    else:
        graph = tf.Graph()
    if name == "odd":
        with graph.as_default():
            for shape in (None, [], [None], [0, None, 3], [2**40]):
                tf.identity(tf.compat.v1.placeholder(tf.float32, shape))
            tf.no_op()
            tf.raw_ops.Split(axis=0, value=tf.ones([4, 2]), num_split=2)
            late = tf.identity(tf.compat.v1.placeholder(tf.float32))
            late.set_shape([3, None])
            tf.compat.v1.get_variable("resource", [2])
    found = tf.compat.v1.GraphDef.FromString(_graphs.live_bytes(graph))
    if not found.library.function:
        found.ClearField("library")
    assert found == graph.as_graph_def(add_shapes=True)
    # Functions take the long way, the others must not.
    fast = _native.graph_with_shapes(
        _graphs._bytes_without_shapes(graph),
        [op.name for op in graph.get_operations()],
        [[output._shape for output in op.outputs] for op in graph.get_operations()],
    )
    assert (fast is None) == bool(found.library.function)


@pytest.mark.parametrize("name", models.MODELS)
def test_generated_op_logs(name):
    from tensorflow.python.profiler import tfprof_logger as original

    graph, runs = models.MODELS[name]()
    own = tfprof.tfprof_log_pb2.OpLogProto()
    entry = own.log_entries.add(name=graph.get_operations()[3].name, float_ops=7)
    entry.types.append("mine")
    other = type(own).FromString(own.SerializeToString())
    for op_log, run, trace in [(None, None, False), (None, None, True), (own, None, True), (None, runs[0], False)]:
        ours = tfprof_logger.merge_default_with_oplog(graph, op_log, run, trace)
        assert ours == original.merge_default_with_oplog(graph, other if op_log else None, run, trace)


@pytest.mark.parametrize("name", models.MODELS)
def test_profiler(name):
    graph, runs = model(name)
    ours, original = tfprof.Profiler(graph), theirs.Profiler(graph)
    for step, run in enumerate(runs):
        ours.add_step(step, run)
        original.add_step(step, run)
        assert ours._coverage == pytest.approx(original._coverage)
    for preset in PRESETS.values():
        for step in (-1, 0, 1):
            options = builder(quiet(preset)).with_step(step).build()
            for method in ("profile_name_scope", "profile_graph", "profile_operations", "profile_python"):
                answers = [getattr(profiler, method)(options) for profiler in (ours, original)]
                assert answers[0] == answers[1] or too_deep(*answers), (method, step)
    from tensorflow.core.profiler import tfprof_log_pb2

    saved = tfprof_log_pb2.ProfileProto.FromString(ours.serialize_to_string())
    assert saved == tfprof_log_pb2.ProfileProto.FromString(original.serialize_to_string())
    advice = set(ours.advise(tfprof.ALL_ADVICE).checkers)
    assert advice == set(original.advise(tfprof.ALL_ADVICE).checkers)
    del original


def test_reports_are_the_same_from_the_profile_line_on(tmp_path):
    graph, runs = model("loop")
    texts = []
    for profile in (tfprof.profile, theirs.profile):
        options = builder(PRESETS["time"]).with_file_output(str(tmp_path / "out")).build()
        profile(graph, runs[0], cmd="scope", options=options)
        text = (tmp_path / "out").read_text()
        texts.append(text[text.find("Profile:") :])
    assert texts[0] == texts[1]


def test_other_kinds_of_graphs():
    graph, _ = model("resnet")
    options = quiet(PRESETS["flops"])
    expected = tfprof.profile(graph, cmd="op", options=options)
    definition = graph.as_graph_def(add_shapes=True)
    assert tfprof.profile(definition, cmd="op", options=options) == expected
    assert tfprof.profile(definition.SerializeToString(), cmd="op", options=options) == expected

    @tf.function(input_signature=[tf.TensorSpec([3, 4])])
    def function(x):
        return tf.matmul(x, tf.ones([4, 5]))

    for kind in (function, function.get_concrete_function()):
        assert tfprof.profile(kind, cmd="op", options=options).total_float_ops == 2 * 3 * 4 * 5


def test_default_graph_and_eager():
    assert tfprof.profile(options=quiet(PRESETS["params"])) == theirs.profile(options=quiet(PRESETS["params"]))
    with tf.Graph().as_default():
        tf.compat.v1.get_variable("v", [2, 3])
        ours = tfprof.profile(options=quiet(PRESETS["params"]))
        assert ours.total_parameters == 6
        assert ours == theirs.profile(options=quiet(PRESETS["params"]))


def test_unknown_commands_are_errors_of_both():
    with pytest.raises(tf.errors.InvalidArgumentError):
        tfprof.profile(tf.Graph(), cmd="sideways")
    with pytest.raises(tfprof.Error):
        tfprof.profile(tf.Graph(), cmd="sideways")


def test_several_profilers_live_side_by_side():
    graphs = [model(name)[0] for name in ("resnet", "loop")]
    profilers = [tfprof.Profiler(graph) for graph in graphs]
    options = quiet(PRESETS["params"])
    found = [profiler.profile_name_scope(options).total_parameters for profiler in profilers]
    assert found == [tfprof.profile(graph, options=options).total_parameters for graph in graphs]
    assert found[0] != found[1]
