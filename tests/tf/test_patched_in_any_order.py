"""Patched TensorFlow functions, called in any order and with any arguments, raise exceptions but never abort."""

from __future__ import annotations

import os
import random
import subprocess
import sys

import pytest


def calls(seed, count, directory):
    import tensorflow as tf
    import tfprof
    from tensorflow.core.framework import step_stats_pb2
    from tensorflow.python.client import timeline
    from tensorflow.python.profiler import model_analyzer, tfprof_logger
    from tensorflow.python.util import _pywrap_tfprof as native

    tf1 = tf.compat.v1
    rng = random.Random(seed)
    with tf.Graph().as_default() as graph:
        fetch = tf.matmul(tf1.get_variable("v", [3, 3]), tf.ones([3, 3]))
        with tf1.Session() as session:
            run = tf1.RunMetadata()
            session.run(tf1.global_variables_initializer())
            session.run(fetch, options=tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE), run_metadata=run)
    builder = tf1.profiler.ProfileOptionBuilder
    quiet = builder(builder.time_and_memory()).with_empty_output().build()
    out = os.path.join(directory, "out")
    good = [graph, run, run.step_stats, quiet, tf1.profiler.OpLogProto(), 0, 1, b"scope", b"advise", "op", out, b""]
    good += [graph.as_graph_def().SerializeToString(), run.SerializeToString(), builder.float_operation()]
    wrong = [None, 3.5, 2**70, "", "\x00", b"\xff" * 7, [], {}, object(), {"select": ["x"]}, {"output": "x:y"}, "/", True]
    functions = [getattr(native, name) for name in dir(native) if not name.startswith("_")]
    functions = [lambda *given, name=f.__name__: getattr(native, name)(*given) for f in functions]
    functions += [tf1.profiler.profile, tf1.profiler.advise, tf1.profiler.write_op_log, tf1.profiler.Profiler]
    functions += [tfprof_logger.write_op_log, timeline.Timeline, tfprof.ProfilerHook, tf1.train.ProfilerHook]
    functions += [tfprof.ProfileContext, tfprof.Profiler, tfprof.profile, tfprof.Timeline, step_stats_pb2.StepStats]
    kept = [timeline.Timeline, tfprof.Timeline, tfprof.ProfileContext, tfprof.Profiler, model_analyzer.Profiler, tf1.train.ProfilerHook]
    objects = []
    answered = 0
    tfprof.patch_tensorflow()
    for _ in range(count):
        luck = rng.random()
        if luck < 0.05:
            tfprof.unpatch_tensorflow()
            # What was made while patched goes on.
            for profiler in objects:
                if isinstance(profiler, model_analyzer.Profiler):
                    profiler.profile_graph(quiet)
            tfprof.patch_tensorflow()
        function = rng.choice(functions)
        if objects and luck > 0.5:
            owner = rng.choice(objects)
            function = getattr(owner, rng.choice([name for name in dir(owner) if not name.startswith("_")]))
        given = [rng.choice(good if rng.random() < 0.8 else wrong) for _ in range(rng.randint(0, 5))]
        try:
            answer = function(*given)
        except Exception:  # noqa: BLE001
            continue
        answered += 1
        if isinstance(answer, tuple(kept)):
            objects = [*objects[-8:], answer]
    assert answered > count // 20, answered


@pytest.mark.parametrize("seed", [1, 2])
def test_any_order(seed, tmp_path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-X", "faulthandler", __file__, str(seed), str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, cwd=tmp_path, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:].decode(errors="replace")


if __name__ == "__main__":
    calls(int(sys.argv[1]), 800, sys.argv[2])
