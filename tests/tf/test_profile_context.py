"""`tfprof.ProfileContext` in live sessions."""

from __future__ import annotations

import threading

import pytest
import tensorflow as tf
import tfprof
from tensorflow.python.client import session as sessions

tf1 = tf.compat.v1
builder = tfprof.ProfileOptionBuilder
QUIET = builder(builder.time_and_memory()).with_empty_output().build()
RUN, INIT = sessions.BaseSession.run, sessions.BaseSession.__init__


@pytest.fixture(autouse=True)
def sessions_are_put_back():
    yield
    assert sessions.BaseSession.run is RUN
    assert sessions.BaseSession.__init__ is INIT
    assert getattr(sessions.BaseSession, "profile_context", None) is None


@pytest.fixture
def model():
    """A model in a default graph, and a session that has initialized it: that was step 0 if a context was open."""
    with tf.Graph().as_default() as graph:
        weights = tf1.get_variable("weights", [8, 8])
        product = tf.matmul(weights, weights, name="product")
        yield graph, product, tf1.global_variables_initializer()


def names(directory):
    return sorted(path.name for path in directory.iterdir()) if directory.exists() else []


def test_runs_are_profiled_and_saved(tmp_path, model):
    _, product, init = model
    out = tmp_path / "out"
    options = builder(builder.time_and_memory()).with_file_output(str(out)).build()
    with tfprof.ProfileContext(str(tmp_path / "profiles")) as context:
        context.add_auto_profiling("op", options, profile_steps=[15, 50, 100])
        with tf1.Session() as session:
            session.run(init)
            for step in range(1, 102):
                session.run(product)
                assert out.exists() == (step in (15, 50, 100))
                if step == 100:
                    saved = out.read_text()
                if out.exists():
                    out.unlink()
        assert set(context.get_profiles("op")) == {15, 50, 100}
        assert context.get_profiles("op")[50].total_exec_micros > 0
    assert names(tmp_path / "profiles") == ["profile_100"]
    tfprof.Profiler.from_file(tmp_path / "profiles" / "profile_100").profile_operations(options)
    assert out.read_text() == saved


def test_given_steps(tmp_path, model):
    _, product, init = model
    with tfprof.ProfileContext(tmp_path / "deep" / "dir", range(1, 4), dump_steps=[3, 4]) as context:
        context.add_auto_profiling("scope", QUIET, [2, 3])
        context.add_auto_profiling("graph", QUIET, {1})
        context.add_auto_profiling("code", QUIET, (3,))
        with tf1.Session() as session:
            session.run(init)
            for step in range(1, 8):
                session.run(product)
                assert names(tmp_path / "deep" / "dir") == [f"profile_{n}" for n in (3, 4) if n <= step]
    found = {cmd: set(context.get_profiles(cmd)) for cmd in ("scope", "graph", "code")}
    assert found == {"scope": {2, 3}, "graph": {1}, "code": {3}}
    assert type(context.get_profiles("code")[3]).__name__ == "MultiGraphNodeProto"
    with pytest.raises(ValueError, match="No autoprofiler for command: op, was run"):
        context.get_profiles("op")
    profile = tfprof.Profiler.from_file(tmp_path / "deep" / "dir" / "profile_4")
    assert profile._native.steps() == [1, 2, 3]


def test_new_fetches_are_traced_after_the_warm_up(tmp_path, model, capsys):
    _, product, init = model
    other = tf.add(product, 1.0, name="other")
    with tfprof.ProfileContext(str(tmp_path), debug=True), tf1.Session() as session:
        session.run(init)
        for _ in range(10):
            session.run(product)
        assert names(tmp_path) == []
        session.run(product)
        assert names(tmp_path) == ["run_meta_11"]
        assert "step_stats {" in (tmp_path / "run_meta_11").read_text()
        (tmp_path / "run_meta_11").unlink()
        session.run([other, product])
        assert names(tmp_path) == ["run_meta_12"]
    said = capsys.readouterr().err
    assert "debug: tracing step: 11" in said
    assert "debug: trace fetches: other:0-product:0" in said


def test_little_coverage_is_traced_at_random_until_step_100(tmp_path, model):
    _, product, init = model
    # Most of the graph never runs.
    for _ in range(300):
        tf.constant(1.0)
    with tfprof.ProfileContext(str(tmp_path), dump_steps=[]) as context, tf1.Session() as session:
        session.run(init)
        for _ in range(150):
            session.run(product)
    steps = context.profiler._native.steps()
    assert steps[0] == 11
    assert steps[-1] < 100
    assert 5 < len(steps) < 40


def test_the_next_step_by_hand(tmp_path, model):
    _, product, init = model
    options = builder(builder.trainable_variables_parameter()).with_empty_output().build()
    with tfprof.ProfileContext(str(tmp_path), trace_steps=[], dump_steps=[]) as context, tf1.Session() as session:
        session.run(init)
        context.trace_next_step()
        context.dump_next_step()
        session.run(product)
        session.run(product)
        assert names(tmp_path) == ["profile_1"]
        assert context.profiler.profile_name_scope(options).total_parameters == 64
        assert context.profiler._native.steps() == [1]
        assert context.profiler.profile_operations(QUIET).total_exec_micros > 0


def test_run_options_of_the_caller_are_kept(tmp_path, model):
    _, product, init = model
    with tfprof.ProfileContext(str(tmp_path), trace_steps=[1], dump_steps=[2]), tf1.Session() as session:
        session.run(init)
        options, run = tf1.RunOptions(), tf1.RunMetadata()
        session.run(product, options=options, run_metadata=run)
        assert options.trace_level == tf1.RunOptions.NO_TRACE
        assert run.step_stats.dev_stats
        # A run that is saved after, but not traced.
        run = tf1.RunMetadata()
        session.run(product, None, tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE), run)
        assert run.step_stats.dev_stats
        assert session.run(product * 1.0, {product: [[0.0] * 8] * 8}).sum() == 0


def test_disabled(tmp_path, model):
    _, product, init = model
    with tfprof.ProfileContext("", enabled=False) as context, tf1.Session() as session:
        context.add_auto_profiling("op", QUIET, [1])
        context.trace_next_step()
        context.dump_next_step()
        session.run(init)
        session.run(product)
        assert context.profiler is None
        assert getattr(sessions.BaseSession, "profile_context", None) is None
        assert sessions.BaseSession.run is RUN
    with tfprof.ProfileContext(str(tmp_path)) as context:
        assert context.profiler is not None
        assert sessions.BaseSession.profile_context is context


def test_wrong_arguments(tmp_path):
    with pytest.raises(ValueError, match="Must have a directory for profile"):
        tfprof.ProfileContext("")
    with pytest.raises(ValueError, match="Only support tracing up to 100 steps"):
        tfprof.ProfileContext(str(tmp_path), trace_steps=range(101))
    for wrong in (3, ["1"], [1.5]):
        with pytest.raises(TypeError, match="trace_steps: expected"):
            tfprof.ProfileContext(str(tmp_path), trace_steps=wrong)
    context = tfprof.ProfileContext(str(tmp_path))
    with pytest.raises(ValueError, match="Unknown cmd: sideways"):
        context.add_auto_profiling("sideways", QUIET, [1])


def test_one_context_at_a_time(tmp_path):
    with tfprof.ProfileContext(str(tmp_path)) as context:
        for other in (context, tfprof.ProfileContext(str(tmp_path))):
            with pytest.raises(tf.errors.InternalError, match="Already in context"), other:
                pass
    with context:
        pass


def test_a_run_that_fails_leaves_the_context_working(tmp_path, model):
    _, product, init = model
    bad = tf.debugging.check_numerics(tf.constant(float("nan")), "bad")
    with tfprof.ProfileContext(str(tmp_path), trace_steps=[1, 2], dump_steps=[]) as context, tf1.Session() as session:
        session.run(init)
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(bad)
        session.run(product)
        assert context.profiler._native.steps() == [2]


def test_runs_of_other_threads_go_on(tmp_path, model):
    graph, product, init = model
    with tfprof.ProfileContext(str(tmp_path), trace_steps=range(100), dump_steps=[]) as context:
        with tf1.Session() as session:
            session.run(init)

            def work():
                for _ in range(25):
                    session.run(product)

            threads = [threading.Thread(target=work) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert context._step == 101
            assert 1 <= len(context.profiler._native.steps()) <= 100


def test_sessions_of_training(tmp_path):
    with tf.Graph().as_default():
        step = tf1.train.get_or_create_global_step()
        weights = tf1.get_variable("weights", [4])
        train = tf1.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(weights), global_step=step)
        with tfprof.ProfileContext(str(tmp_path), dump_steps=[30]) as context:
            with tf1.train.MonitoredTrainingSession() as session:
                for _ in range(40):
                    session.run(train)
    assert names(tmp_path) == ["profile_30"]
    assert context.profiler.profile_operations(QUIET).total_exec_micros > 0
