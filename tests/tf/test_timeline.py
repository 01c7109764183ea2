"""Compares `tfprof.Timeline` with TensorFlow's: the same text, the same peak memory."""

from __future__ import annotations

import functools
import json
import random

import models
import pytest
import tfprof
from tensorflow.core.framework import step_stats_pb2
from tensorflow.python.client import timeline as theirs

FLAGS = [(dataflow, memory) for dataflow in (False, True) for memory in (False, True)]


@functools.cache
def live(name):
    return [run.step_stats.SerializeToString() for run in models.MODELS[name]()[1]]


def random_stats(seed):
    """Statistics such as no run has: names made again, empty ones, zero bytes, kernels, labels that mean nothing."""
    rng = random.Random(seed)
    stats = step_stats_pb2.StepStats()
    names = ["a", "b/c", "d", "RecvTensor", "é\n\"", ""]
    devices = ["/job:w/replica:0/task:0/device:CPU:0", "/device:GPU:0/stream:all", "/gpu:0/memcpy", "/job:w/GPU:0", ""]
    for _ in range(rng.randint(0, 4)):
        device = stats.dev_stats.add(device=rng.choice(devices))
        for _ in range(rng.randint(0, 12)):
            name = rng.choice(names)
            inputs = ", ".join(rng.choice([*names, "b/c/_7", "^a", "d:1"]) for _ in range(rng.randint(0, 3)))
            label = rng.choice([f"{name} = Op({inputs})", "kernel@@b/c:Conv#id", name, "x = y", f"q = R({inputs}) tail"])
            node = device.node_stats.add(
                node_name=rng.choice([name, f"{name}:Conv"]),
                timeline_label=label,
                all_start_micros=rng.randint(0, 40),
                all_end_rel_micros=rng.randint(0, 20),
                thread_id=rng.randint(0, 3),
            )
            for slot in range(rng.randint(0, 2)):
                described = node.output.add(slot=slot).tensor_description
                described.dtype = rng.choice([0, 1, 3])
                described.allocation_description.requested_bytes = rng.choice([0, 4, 400, 7])
                described.allocation_description.allocator_name = rng.choice(["cpu", "gpu_bfc", ""])
                for size in rng.sample([1, 2, 3], rng.randint(0, 2)):
                    described.shape.dim.add(size=size)
    return stats.SerializeToString()


def check(data, dataflow, memory, op_time):
    message = step_stats_pb2.StepStats.FromString(data)
    ours = tfprof.Timeline(message).generate_chrome_trace_format(dataflow, memory, op_time)
    assert message.SerializeToString() == data, "statistics that are shown are not changed"
    expected = theirs.Timeline(step_stats_pb2.StepStats.FromString(data))
    assert ours == expected.generate_chrome_trace_format(dataflow, memory, op_time)
    analysis = tfprof.timeline.Timeline(data).analyze_step_stats(dataflow, memory, op_time)
    expected = theirs.Timeline(step_stats_pb2.StepStats.FromString(data)).analyze_step_stats(dataflow, memory, op_time)
    assert analysis.chrome_trace.format_to_string() == expected.chrome_trace.format_to_string()
    assert analysis.chrome_trace.format_to_string(pretty=True) == expected.chrome_trace.format_to_string(pretty=True)
    assert analysis.chrome_trace._events == expected.chrome_trace._events
    assert analysis.allocator_maximums == expected.allocator_maximums


@pytest.mark.parametrize(("dataflow", "memory"), FLAGS)
@pytest.mark.parametrize("name", models.MODELS)
def test_live_runs(name, dataflow, memory):
    for data in live(name):
        check(data, dataflow, memory, "schedule")


def test_random_statistics():
    for seed in range(400):
        for op_time in ("schedule", "gpu", "all", "sideways"):
            check(random_stats(seed), seed % 2 == 0, seed % 4 < 2, op_time)


def test_a_timeline_may_be_drawn_twice():
    timeline = tfprof.Timeline(live("loop")[0])
    assert timeline.generate_chrome_trace_format() == timeline.generate_chrome_trace_format()
    assert json.loads(timeline.generate_chrome_trace_format(show_memory=True))["traceEvents"]


def test_a_run_metadata_is_accepted():
    run = models.MODELS["loop"]()[1][0]
    assert tfprof.Timeline(run).generate_chrome_trace_format() == tfprof.Timeline(
        run.step_stats, graph=None
    ).generate_chrome_trace_format(op_time="schedule")


def test_other_messages_are_refused():
    for wrong in (None, 3, "text", [], object()):
        with pytest.raises(TypeError, match="step_stats: expected a StepStats message"):
            tfprof.Timeline(wrong).generate_chrome_trace_format()
    with pytest.raises(TypeError, match="op_time"):
        tfprof.Timeline(b"").generate_chrome_trace_format(op_time=3)


def test_damaged_statistics_are_reported(capsys):
    with_half = live("loop")[0][:-3]
    assert json.loads(tfprof.Timeline(with_half).generate_chrome_trace_format())["traceEvents"]
    assert "tfprof:" in capsys.readouterr().err
