"""Compares `tfprof.ProfilerHook` with TensorFlow's hook in live sessions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import time

import pytest
import tensorflow as tf
import tfprof
from tensorflow.python.training import training_util
from tfprof import _native

tf1 = tf.compat.v1
THEIRS = tf1.train.ProfilerHook


def training(increment=True):
    """A small model in the default graph; the op that trains it."""
    step = tf1.train.get_or_create_global_step()
    weights = tf1.get_variable("weights", [8, 8])
    loss = tf.reduce_sum(tf.matmul(weights, weights))
    train = tf1.train.GradientDescentOptimizer(1e-3).minimize(loss)
    if not increment:
        return train
    # Hooks read the step in the same run: before it is increased, so that each test traces the same steps each time.
    with tf1.control_dependencies([train, training_util._get_or_create_global_step_read()]):
        return tf1.assign_add(step, 1)


def traces(directory):
    """The traces of a directory by step, each of them whole."""
    found = {}
    for path in directory.glob("timeline-*.json"):
        found[int(path.stem.partition("-")[2])] = path.read_text()
        assert json.loads(found[int(path.stem.partition("-")[2])])["traceEvents"]
    return found


def train(hooks, runs, pause=0.0):
    with tf.Graph().as_default():
        op = training()
        with tf1.train.MonitoredTrainingSession(hooks=[hook() for hook in hooks]) as session:
            for _ in range(runs):
                session.run(op)
                time.sleep(pause)


def script(body, *args):
    """Runs a script that trains: `train(runs)` in a session with a hook of ours."""
    head = """
        import os, sys
        os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
        import tensorflow as tf, tfprof
        from test_hook import training
        tf1 = tf.compat.v1
        """
    text = textwrap.dedent(head) + textwrap.dedent(body)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *sys.path])}
    command = [sys.executable, "-c", text, *map(str, args)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize(("dataflow", "memory"), [(True, False), (False, True), (True, True), (False, False)])
def test_files_equal_those_of_tensorflow(tmp_path, dataflow, memory):
    # Hooks of one session are given the same RunMetadata.
    def hook(kind, name):
        return lambda: kind(2, None, str(tmp_path / name), dataflow, memory)

    train([hook(tfprof.ProfilerHook, "ours"), hook(THEIRS, "theirs")], 9)
    ours, theirs = traces(tmp_path / "ours"), traces(tmp_path / "theirs")
    assert sorted(ours) == [2, 4, 6, 8]
    assert ours == theirs


def test_runs_are_in_the_file_of_events(tmp_path):
    train([lambda: tfprof.ProfilerHook(save_steps=3, output_dir=tmp_path)], 10)
    tf1.summary.FileWriterCache.clear()
    events = [event for path in tmp_path.glob("events*") for event in tf1.train.summary_iterator(str(path))]
    tags = [event.tagged_run_metadata.tag for event in events if event.HasField("tagged_run_metadata")]
    assert tags == ["step_3", "step_6", "step_9"]


def test_it_is_a_hook_of_tensorflow(tmp_path):
    hook = tfprof.ProfilerHook(save_secs=1.5, output_dir=str(tmp_path))
    assert isinstance(hook, tf1.train.SessionRunHook)
    assert isinstance(hook, THEIRS)
    assert hook._timer._every_secs == 1.5

    class Mine(tfprof.ProfilerHook):
        seen = 0

        def after_run(self, run_context, run_values):
            super().after_run(run_context, run_values)
            Mine.seen += 1

    train([lambda: Mine(save_steps=1, output_dir=str(tmp_path))], 3)
    assert Mine.seen == 3
    assert sorted(traces(tmp_path)) == [2, 3]


def test_exactly_one_interval(tmp_path):
    for kind in (tfprof.ProfilerHook, THEIRS):
        with tf.Graph().as_default():
            with pytest.raises(ValueError, match="Either every_secs or every_steps"):
                kind(output_dir=str(tmp_path / "none"))
            with pytest.raises(ValueError, match="Can not provide both"):
                kind(save_steps=1, save_secs=1, output_dir=str(tmp_path / "both"))
    with pytest.raises(TypeError):
        tfprof.ProfilerHook(save_steps=1, output_dir=3)


def test_every_second_of_a_session(tmp_path):
    train([lambda: tfprof.ProfilerHook(save_secs=0.2, output_dir=str(tmp_path))], 12, pause=0.07)
    found = sorted(traces(tmp_path))
    assert 3 <= len(found) <= 6
    assert found[0] > 1, "the first run is never traced"
    assert all(later - earlier >= 2 for earlier, later in zip(found, found[1:]))


def test_seconds_by_another_clock(tmp_path, monkeypatch):
    now = [1_000.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    with tf.Graph().as_default():
        op = training()
        hook = tfprof.ProfilerHook(save_secs=2, output_dir=str(tmp_path))
        with tf1.train.SingularMonitoredSession(hooks=[hook]) as session:
            for seconds, count in ((0, 0), (1, 0), (1.5, 1), (0.1, 1), (1.5, 1), (2.5, 2)):
                now[0] += seconds
                session.run(op)
                assert len(list(tmp_path.glob("timeline-*.json"))) == count
    assert sorted(traces(tmp_path)) == [3, 6]


def test_files_are_counted_as_soon_as_a_run_returns(tmp_path):
    with tf.Graph().as_default():
        op = training()
        hook = tfprof.ProfilerHook(save_steps=2, output_dir=str(tmp_path))
        with tf1.train.SingularMonitoredSession(hooks=[hook]) as session:
            for count in (0, 1, 1, 2, 2):
                session.run(op)
                assert len(list(tmp_path.glob("timeline-*.json"))) == count
            hook.flush()
            assert sorted(traces(tmp_path)) == [2, 4]


def test_made_with_eager_execution_on(tmp_path):
    assert tf.executing_eagerly()
    hook = tfprof.ProfilerHook(save_steps=1, output_dir=str(tmp_path))
    with tf.Graph().as_default():
        tfprof.ProfilerHook(save_steps=1, output_dir=str(tmp_path))
        op = training()
        with tf1.train.MonitoredTrainingSession(hooks=[hook]) as session:
            session.run(op)
            session.run(op)
    assert sorted(traces(tmp_path)) == [2]


def test_the_same_step_again_is_refused_as_by_tensorflow(tmp_path):
    for kind, name in ((tfprof.ProfilerHook, "ours"), (THEIRS, "theirs")):
        with tf.Graph().as_default():
            op = training(increment=False)
            hook = kind(save_secs=0, output_dir=str(tmp_path / name))
            with pytest.raises(ValueError), tf1.train.MonitoredTrainingSession(hooks=[hook]) as session:  # noqa: PT011
                for _ in range(5):
                    session.run(op)


@pytest.mark.parametrize("end", ["raise ValueError('lost?')", "sys.exit(3)", "session.run(bad)", "raise KeyboardInterrupt"])
def test_an_exception_loses_nothing(tmp_path, end):
    body = f"""
        with tf.Graph().as_default():
            op = training()
            bad = tf.debugging.check_numerics(tf.constant(float("nan")), "bad")
            hook = tfprof.ProfilerHook(save_steps=1, output_dir=sys.argv[1], show_memory=True)
            with tf1.train.MonitoredTrainingSession(hooks=[hook]) as session:
                for _ in range(40):
                    session.run(op)
                del hook
                {end}
        """
    done = script(body, tmp_path)
    assert done.returncode != 0
    assert sorted(traces(tmp_path)) == list(range(2, 41)), done.stderr
    assert not list(tmp_path.glob(".*"))


def test_a_full_disk_raises_in_the_next_call(tmp_path):
    (tmp_path / "timeline-2.json").symlink_to("/dev/full")
    with pytest.raises(OSError, match=r"timeline-2.json: cannot write.*[Nn]o space left"):
        train([lambda: tfprof.ProfilerHook(save_steps=1, output_dir=str(tmp_path))], 3, pause=0.1)
    # A file of events has each step once.
    tf1.summary.FileWriterCache.clear()
    with pytest.raises(OSError, match=r"timeline-2.json"):
        train([lambda: tfprof.ProfilerHook(save_steps=1, output_dir=str(tmp_path))], 2)


def test_a_full_disk_is_reported_at_exit(tmp_path):
    (tmp_path / "timeline-2.json").symlink_to("/dev/full")
    body = """
        with tf.Graph().as_default():
            op = training()
            hook = tfprof.ProfilerHook(save_steps=1, output_dir=sys.argv[1])
            with tf1.train.MonitoredTrainingSession(hooks=[hook]) as session:
                session.run(op)
                session.run(op)
                sys.exit(7)
        """
    done = script(body, tmp_path)
    assert done.returncode == 7
    assert "timeline-2.json: cannot write" in done.stderr


def test_an_unwritable_directory_raises_at_once(tmp_path):
    (tmp_path / "timeline-2.json").mkdir()
    with pytest.raises(OSError, match=r"timeline-2.json"):
        train([lambda: tfprof.ProfilerHook(save_steps=1, output_dir=str(tmp_path))], 3)


def test_a_full_queue_waits_and_drops_nothing(tmp_path):
    with tf.Graph().as_default():
        op = training()
        with tf1.Session() as session:
            session.run(tf1.global_variables_initializer())
            run = tf1.RunMetadata()
            session.run(op, options=tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE), run_metadata=run)
    data = run.step_stats.SerializeToString() * 50
    writer = _native.TraceWriter(1, 0)
    for step in range(30):
        writer.put(data, str(tmp_path / f"timeline-{step}.json"), True, True)
    writer.flush()
    assert writer.take_errors() == []
    assert len(set(traces(tmp_path).values())) == 1
    assert len(traces(tmp_path)) == 30


def test_a_child_process_has_a_writer_of_its_own(tmp_path):
    body = """
        hook = tfprof.ProfilerHook(save_steps=1, output_dir=sys.argv[1])
        stats = tf1.RunMetadata().step_stats
        for step in range(20):
            hook._save(step, f"{sys.argv[1]}/timeline-{step}.json", stats)
        if os.fork() == 0:
            for step in range(20, 40):
                hook._save(step, f"{sys.argv[1]}/timeline-{step}.json", stats)
            hook.flush()
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.wait()[1]) == 0
        """
    done = script(body, tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(traces(tmp_path)) == list(range(40))


def test_other_file_systems(tmp_path):
    train([lambda: tfprof.ProfilerHook(save_steps=1, output_dir="ram://traces")], 3)
    with tf.io.gfile.GFile("ram://traces/timeline-2.json") as file:
        assert json.loads(file.read())["traceEvents"]


def test_estimators_take_the_hook(tmp_path):
    estimator = pytest.importorskip("tensorflow_estimator").estimator

    def model(features, labels, mode):
        op = training()
        return estimator.EstimatorSpec(mode, loss=tf.constant(0.0), train_op=op)

    hook = tfprof.ProfilerHook(save_steps=2, output_dir=str(tmp_path / "traces"))
    numbers = lambda: tf.data.Dataset.from_tensors((1.0, 1.0)).repeat()  # noqa: E731
    estimator.Estimator(model, str(tmp_path / "model")).train(numbers, hooks=[hook], steps=9)
    assert sorted(traces(tmp_path / "traces")) == [2, 4, 6, 8]
