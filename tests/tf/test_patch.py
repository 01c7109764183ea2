"""`patch_tensorflow()`: TensorFlow's names behave as before, but run tfprof."""

from __future__ import annotations

import functools
import gc
import gzip
import json
import os
import subprocess
import sys
import threading

import models
import pytest
import tensorflow as tf
import tfprof
from tensorflow.core.framework import step_stats_pb2
from tensorflow.core.profiler import profile_pb2, tfprof_log_pb2
from tensorflow.python.client import timeline
from tensorflow.python.client.timeline import Timeline
from tensorflow.python.profiler import model_analyzer, tfprof_logger
from tensorflow.python.training import basic_session_run_hooks as hooks
from tensorflow.python.util import _pywrap_tfprof as native
from test_api import PRESETS, too_deep
from test_hook import training

tf1 = tf.compat.v1
builder = tf1.profiler.ProfileOptionBuilder
# Imported before anything is patched, as a user's code does.
profile, advise, write_op_log, Profiler = (
    tf1.profiler.profile,
    tf1.profiler.advise,
    tf1.profiler.write_op_log,
    tf1.profiler.Profiler,
)
PATCHED = (native, tfprof_logger, model_analyzer, hooks.ProfilerHook, Timeline, Profiler)
METHODS = ("profile_name_scope", "profile_graph", "profile_operations", "profile_python")


@functools.cache
def model(name):
    graph, runs = models.MODELS[name]()
    # TensorFlow completes the shapes of a graph for good; both are to see the same.
    profile(graph, runs[0], options=builder(builder.float_operation()).with_empty_output().build())
    return graph, runs


@pytest.fixture
def patched():
    tfprof.patch_tensorflow()
    yield
    tfprof.unpatch_tensorflow()


@pytest.fixture(autouse=True)
def everything_is_put_back():
    before = [dict(vars(owner)) for owner in PATCHED]
    modules = set(sys.modules)
    yield
    gc.collect()
    assert [dict(vars(owner)) for owner in PATCHED] == before
    assert "tensorflow.python.profiler.profile_context" not in set(sys.modules) - modules


def both(work):
    """What TensorFlow says, and what the same calls say after patching."""
    original = work()
    tfprof.patch_tensorflow()
    try:
        return original, work()
    finally:
        tfprof.unpatch_tensorflow()


def report(path):
    # Where no node has a trace, the original writes no file, and ours one without rows.
    if not path.exists():
        return None
    text = path.read_text()
    assert "Doc:" in text
    path.unlink()
    return text[text.index("Profile:") :]


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("cmd", ["scope", "graph", "op", "code"])
@pytest.mark.parametrize("name", models.MODELS)
def test_profile(name, cmd, preset, tmp_path):
    graph, runs = model(name)
    options = builder(PRESETS[preset]).with_file_output(str(tmp_path / "out")).build()
    for run in (None, runs[1]):
        (original, text), (ours, our_text) = both(
            lambda run=run: (profile(graph, run, cmd=cmd, options=options), report(tmp_path / "out"))
        )
        assert our_text == text or text is None and (name, cmd) == ("keras", "code")
        assert ours == original or too_deep(ours, original) or not original.ByteSize()
        assert type(ours) is type(original)


@pytest.mark.parametrize("name", models.MODELS)
def test_timelines_and_pprof(name, tmp_path):
    graph, runs = model(name)
    out = tmp_path / "out"

    def drawn():
        options = builder(builder.time_and_memory()).with_max_depth(100000).with_step(0)
        profile(graph, runs[0], cmd="graph", options=options.with_timeline_output(str(out)).build())
        return json.loads((tmp_path / "out_0").read_text())

    original, ours = both(drawn)
    assert ours == original
    if name == "keras":
        return  # No node has a trace, and the original writes no file.
    for metric in ("micros", "bytes", "cpu_micros", "params", "float_ops"):

        def sampled(metric=metric):
            options = builder(builder.time_and_memory()).select([metric]).with_max_depth(100000)
            options = options.with_node_names(trim_name_regexes=["ops.py.*"]).with_pprof_output(str(out)).build()
            profile(graph, runs[0], cmd="code", options=options)
            return profile_pb2.Profile.FromString(gzip.decompress(out.read_bytes()))

        original, ours = both(sampled)
        # The order in which the original numbers strings changes from run to run.
        assert samples(ours) == samples(original)


def samples(message):
    strings = message.string_table
    functions = {function.id: strings[function.name] for function in message.function}
    places = {
        place.id: [(functions[line.function_id], line.line) for line in place.line] for place in message.location
    }
    return sorted((list(sample.value), [places[place] for place in sample.location_id]) for sample in message.sample)


@pytest.mark.parametrize("metric", ["op_types", "device", "input_shapes"])
def test_metrics_that_pprof_lacks_give_a_root_without_rows(metric, tmp_path, capfd):
    graph, runs = model("loop")
    options = builder(builder.time_and_memory()).select([metric]).with_pprof_output(str(tmp_path / "out")).build()
    original, ours = both(lambda: profile(graph, runs[0], cmd="code", options=options))
    assert ours == original
    assert not ours.children
    assert not (tmp_path / "out").exists()
    assert "tfprof: " in capfd.readouterr().err


@pytest.mark.parametrize("name", models.MODELS)
def test_profiler(name, tmp_path):
    graph, runs = model(name)

    def asked():
        profiler = Profiler(graph)
        for step, run in enumerate(runs):
            profiler.add_step(step, run)
        answers = []
        for preset in PRESETS.values():
            for step in (-1, 1):
                options = builder(preset).with_empty_output().with_step(step).build()
                answers += [getattr(profiler, method)(options) for method in METHODS]
        path = tmp_path / "profile_1"
        profiler._write_profile(str(path).encode())
        saved = tfprof_log_pb2.ProfileProto.FromString(profiler.serialize_to_string())
        assert saved == tfprof_log_pb2.ProfileProto.FromString(path.read_bytes())
        advice = set(profiler.advise(model_analyzer.ALL_ADVICE).checkers)
        coverage = profiler._coverage
        # An object that was made without its constructor asks the profile of the native module.
        del profiler
        native.ProfilerFromFile(str(path).encode())
        bare = Profiler.__new__(Profiler)
        answers.append(bare.profile_operations(builder(PRESETS["time"]).with_empty_output().build()))
        native.DeleteProfiler()
        return answers, saved, advice, coverage

    original, ours = both(asked)
    for mine, other in zip(ours[0], original[0], strict=True):
        assert mine == other or too_deep(mine, other) or not other.ByteSize()
    assert ours[1:3] == original[1:3]
    assert ours[3] == pytest.approx(original[3])


def test_op_logs(tmp_path):
    graph, runs = model("resnet")

    def written():
        log = tf1.profiler.OpLogProto()
        log.log_entries.add(name=graph.get_operations()[3].name, types=["mine"])
        write_op_log(graph, str(tmp_path), log, runs[0])
        return tf1.profiler.OpLogProto.FromString((tmp_path / "tfprof_log").read_bytes())

    original, ours = both(written)
    assert ours == original


def test_advice(patched, capsys):
    graph, runs = model("loop")
    advice = advise(graph, runs[0])
    expected = {"AcceleratorUtilizationChecker", "ExpensiveOperationChecker", "OperationChecker"}
    assert set(advice.checkers) - {"JobChecker"} == expected
    assert advice.checkers["ExpensiveOperationChecker"].reports


def test_the_default_graph_and_unknown_commands(patched):
    with tf.Graph().as_default():
        tf1.get_variable("v", [2, 3])
        assert profile(options=builder(builder.trainable_variables_parameter()).with_empty_output().build()).total_parameters == 6
        with pytest.raises(tf.errors.InvalidArgumentError, match="unknown cmd"):
            profile(cmd="sideways")


def test_several_profilers_and_any_order_of_calls(patched):
    options = builder(builder.trainable_variables_parameter()).with_empty_output().build()
    one, two = Profiler(model("resnet")[0]), Profiler(model("loop")[0])
    params = two.profile_name_scope(options).total_parameters
    assert one.profile_name_scope(options).total_parameters > params
    one.__del__()
    del one
    native.DeleteProfiler()
    native.DeleteProfiler()
    assert two.profile_name_scope(options).total_parameters == params
    for call in (native.SerializeToString, lambda: native.Profile(b"scope", b""), lambda: native.AddStep(0, b"", b"", b"")):
        with pytest.raises(tfprof.Error, match="there is no profiler"):
            call()
    with pytest.raises(tfprof.Error, match="there is no profiler"):
        Profiler.__new__(Profiler).profile_graph(options)
    with pytest.raises(OSError, match="nowhere"):
        native.ProfilerFromFile(b"/nowhere/profile_1")
    # A graph that changes under a profiler, as contexts do.
    two._graph = model("resnet")[0]
    two.add_step(1, model("resnet")[1][0])
    assert two.profile_name_scope(options).total_parameters > params


def test_objects_from_before_and_after(capfd):
    options = builder(builder.trainable_variables_parameter()).with_empty_output().build()
    graph = model("loop")[0]
    before = Profiler(graph)
    expected = before.profile_name_scope(options)
    tfprof.patch_tensorflow()
    with pytest.raises(tfprof.Error, match=r"made before patch_tensorflow\(\) must be made again"):
        before.profile_name_scope(options)
    between = Profiler(graph)
    tfprof.unpatch_tensorflow()
    assert between.profile_name_scope(options) == expected
    assert before.profile_name_scope(options) == expected
    del between
    gc.collect()
    assert before.profile_name_scope(options) == expected


def test_subclasses_of_profiler(patched):
    class Mine(Profiler):
        def profile_graph(self, options):
            return "mine", super().profile_graph(options)

    options = builder(builder.trainable_variables_parameter()).with_empty_output().build()
    graph = model("loop")[0]
    mine, other = Mine(graph), Mine(graph=graph)
    tfprof.unpatch_tensorflow()
    assert isinstance(mine, Mine)
    assert type(mine) is type(other)
    assert mine.profile_graph(options)[0] == "mine"
    assert mine.profile_graph(options)[1].total_parameters == mine.profile_name_scope(options).total_parameters


def test_timeline():
    data = model("loop")[1][0].step_stats.SerializeToString()

    def drawn():
        stats = step_stats_pb2.StepStats.FromString(data)
        analysis = Timeline(stats).analyze_step_stats()
        return (
            Timeline(stats, graph=None).generate_chrome_trace_format(),
            timeline.Timeline(stats).generate_chrome_trace_format(show_dataflow=False, show_memory=True),
            analysis.chrome_trace.format_to_string(),
            dict(analysis.allocator_maximums),
        )

    original, ours = both(drawn)
    assert ours == original


def test_a_timeline_with_events_of_its_own_keeps_them():
    class Mine(Timeline):
        def _parse_op_label(self, label):
            return "mine", "Mine", []

    data = model("loop")[1][0].step_stats.SerializeToString()
    original, ours = both(lambda: Mine(step_stats_pb2.StepStats.FromString(data)).generate_chrome_trace_format())
    assert '"Mine"' in original
    assert ours == original


def test_hook(tmp_path, patched):
    with tf.Graph().as_default():
        op = training()
        hook = tf1.train.ProfilerHook(save_steps=2, output_dir=str(tmp_path))
        with tf1.train.SingularMonitoredSession(hooks=[hook]) as session:
            for count in (0, 1, 1, 2, 2):
                session.run(op)
                found = [json.loads(path.read_text()) for path in tmp_path.glob("timeline-*.json")]
                assert len(found) == count
                assert all(trace["traceEvents"] for trace in found)
    (tmp_path / "timeline-9.json").mkdir()
    with pytest.raises(OSError, match=r"timeline-9.json"):
        hook._save(9, str(tmp_path / "timeline-9.json"), step_stats_pb2.StepStats())


def test_profile_contexts_are_there(patched, tmp_path):
    from tensorflow.python.profiler import profile_context

    assert profile_context.ProfileContext is tfprof.ProfileContext


def test_patching_twice_and_from_many_threads():
    for _ in range(3):
        threads = [threading.Thread(target=tfprof.patch_tensorflow) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert native.Profile is not None and native.Profile.__module__ == "tfprof.patch"
        tfprof.unpatch_tensorflow()
        tfprof.unpatch_tensorflow()


SCRIPT = """
import os, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf
from tensorflow.python.util import _pywrap_tfprof
assert _pywrap_tfprof.Profile.__module__ == "tfprof.patch"
assert __name__ == "__main__" and tf.__spec__.loader is tf.__loader__
with tf.Graph().as_default():
    tf.compat.v1.get_variable("v", [2, 3])
    print(tf.compat.v1.profiler.profile().total_parameters, sys.argv[1:])
"""


@pytest.mark.parametrize("module", [False, True])
def test_python_m(tmp_path, module):
    (tmp_path / "script.py").write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    name = ["-m", "script"] if module else ["script.py"]
    command = [sys.executable, "-m", "tfprof.patch", *name, "--steps", "-m"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("6 ['--steps', '-m']\n")
    assert "RuntimeWarning" not in done.stderr


def test_python_m_without_a_script(tmp_path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    for words, code, said in (([], 2, "usage:"), (["--help"], 0, "usage:"), (["no.py"], 2, "no.py: there is no such script")):
        command = [sys.executable, "-m", "tfprof.patch", *words]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == code
        assert said in done.stdout + done.stderr
