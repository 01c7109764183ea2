"""The calls of a TensorFlow 1 user, three ways: TensorFlow's profiler, the same after `patch_tensorflow()`, and tfprof's names.

Each call is compared in all it does: the message it returns or the error it raises, the text it prints, and the files
it writes. `python tests/tf/test_calls.py` prints the results as a table; docs/python-tensorflow.md has it.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import gzip
import json
import os
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import pytest
import tensorflow as tf
import tfprof
from tensorflow.core.profiler import profile_pb2

tf1 = tf.compat.v1
theirs = SimpleNamespace(**{name: getattr(tf1.profiler, name) for name in ("profile", "advise", "Profiler", "write_op_log")})
builder = tf1.profiler.ProfileOptionBuilder
DOCS = Path(__file__).parents[2] / "docs" / "python-tensorflow.md"


def graph():
    """A layer on a batch of unknown size. TensorFlow changes graphs that it profiles, so each call has its own."""
    made = tf1.Graph()
    with made.as_default():
        x = tf1.placeholder(tf.float32, [None, 4], name="x")
        weights = tf1.get_variable("weights", [4, 3])
        with tf1.name_scope("layer"):
            tf.reshape(tf.nn.relu(tf.matmul(x, weights)), [-1], name="out")
        tf1.global_variables_initializer()
    return made


@functools.cache
def run():
    made, meta = graph(), tf1.RunMetadata()
    with tf1.Session(graph=made) as session:
        session.run("init")
        options = tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE)
        session.run("layer/out:0", {"x:0": np.ones([5, 4])}, options=options, run_metadata=meta)
    return meta


@functools.cache
def run_on_a_gpu():
    """The same run as if on a GPU, with its allocator."""
    meta = tf1.RunMetadata()
    meta.CopyFrom(run())
    for device in meta.step_stats.dev_stats:
        device.device = device.device.replace("CPU", "GPU")
        for i, node in enumerate(device.node_stats):
            node.all_start_micros += 1000 * i
            for memory in node.memory:
                memory.allocator_name = "GPU_0_bfc"
                memory.allocator_bytes_in_use = 1_000_000 * (i + 1)
    return meta


def options(preset=None, **changes):
    return {**builder.time_and_memory(min_micros=0, min_bytes=0), **(preset or {}), **changes}


def op_log():
    """Types and a code trace of the caller's own."""
    log = tf1.profiler.OpLogProto()
    entry = log.log_entries.add(name="layer/MatMul", types=["mine"])
    entry.code_def.traces.add(file_id=1, function_id=2, lineno=7)
    log.id_to_string[1], log.id_to_string[2] = "train.py", "build_model"
    return log


class Call(NamedTuple):
    text: str
    work: Any
    # What the direct names do: as TensorFlow, or the error they raise, or an answer where TensorFlow has none.
    direct: str = "same"


def profiled(text, *, direct="same", cmd="op", meta=run, **changes):
    """A call of `profile` with changed options."""
    return Call(text, lambda api: api.profile(graph(), meta(), cmd=cmd, options=options(**changes)), direct)


def stepped(text, added, *, method="profile_operations", direct="same", **changes):
    """A profiler with a step, and a question about it."""

    def work(api):
        profiler = api.Profiler(graph())
        profiler.add_step(added, run())
        return getattr(profiler, method)(options(**changes))

    return Call(text, work, direct)


def asked(text, method, question, *, direct="same"):
    return Call(text, lambda api: getattr(api.Profiler(graph()), method)(*question()), direct)


CALLS = [
    stepped("add_step(numpy.int64(3), run)", np.int64(3), step=3),
    stepped("add_step(numpy.uint8(3), run), step=numpy.int32(3)", np.uint8(3), step=np.int32(3)),
    stepped("add_step(True, run)", True, step=1),
    stepped("add_step(-5, run)", -5, step=-5),
    stepped("add_step(3.0, run)", 3.0, direct="TypeError"),
    stepped("add_step('3', run)", "3", direct="TypeError"),
    profiled("dump_to_file='f'", dump_to_file="f"),
    profiled("dump_to_file='f', output='none'", cmd="scope", dump_to_file="f", output="none"),
    profiled("dump_to_file='f', output='timeline:outfile=t'", cmd="graph", dump_to_file="f", output="timeline:outfile=t"),
    profiled("dump_to_file='f', output='paper'", dump_to_file="f", output="paper", direct="tfprof.Error"),
    profiled("profile(graph, run): input shapes", cmd="scope", select=["input_shapes", "float_ops"]),
    profiled("profile(graph, run): input shapes by op", select=["input_shapes", "float_ops"]),
    profiled("select=['micros', 'beauty']", cmd="scope", select=["micros", "beauty"], direct="tfprof.Error"),
    profiled("select=['beauty']", select=["beauty"], direct="tfprof.Error"),
    profiled("select=['macs']", select=["macs"], direct="answers"),
    profiled("order_by='beauty'", order_by="beauty", direct="tfprof.Error"),
    profiled("order_by='depth'", cmd="scope", order_by="depth", direct="answers"),
    profiled("order_by=''", cmd="scope", order_by=""),
    profiled("account_type_regexes=['(', 'MatMul']", account_type_regexes=["(", "MatMul"], direct="tfprof.Error"),
    profiled("start_name_regexes=['(']", start_name_regexes=["("], direct="tfprof.Error"),
    profiled("show_name_regexes=['*']", cmd="scope", show_name_regexes=["*"], direct="tfprof.Error"),
    profiled("hide_name_regexes=['[']", cmd="graph", hide_name_regexes=["["], direct="tfprof.Error"),
    profiled("trim_name_regexes=['a{2,1}']", cmd="scope", trim_name_regexes=["a{2,1}"], direct="tfprof.Error"),
    profiled("output='paper'", output="paper", direct="tfprof.Error"),
    profiled("output='file'", output="file", direct="tfprof.Error"),
    profiled("output=''", output=""),
    stepped("step=7, not loaded", 3, step=7, direct="tfprof.Error"),
    profiled("output='file:outfile=/nowhere/f'", cmd="scope", output="file:outfile=/nowhere/f", direct="FileNotFoundError"),
    profiled("output='timeline:outfile=/nowhere/t'", cmd="graph", output="timeline:outfile=/nowhere/t", direct="FileNotFoundError"),
    profiled("output='stdout'", cmd="scope", output="stdout"),
    profiled("output='stdout', cmd='code'", cmd="code", output="stdout"),
    profiled("output='none'", output="none"),
    profiled("output='file:outfile=f'", cmd="graph", output="file:outfile=f"),
    profiled("output='timeline:outfile=t'", cmd="graph", output="timeline:outfile=t", direct="answers"),
    stepped("output='timeline:outfile=t', step=3", 3, method="profile_graph", step=3, output="timeline:outfile=t"),
    profiled("output='timeline:outfile=t', cmd='scope'", cmd="scope", output="timeline:outfile=t"),
    profiled("output='timeline:outfile=t', cmd='code'", cmd="code", output="timeline:outfile=t"),
    profiled("output='timeline:outfile=t', cmd='op'", output="timeline:outfile=t", direct="tfprof.Error"),
    profiled("output='timeline:outfile=t', run on a GPU", cmd="graph", meta=run_on_a_gpu, output="timeline:outfile=t", direct="answers"),
    profiled("output='pprof:outfile=p'", cmd="code", output="pprof:outfile=p", select=["micros"]),
    profiled("output='pprof:outfile=p', two metrics", cmd="code", output="pprof:outfile=p", direct="tfprof.Error"),
    profiled("output='pprof:outfile=p', cmd='scope'", cmd="scope", output="pprof:outfile=p", select=["micros"], direct="tfprof.Error"),
    Call("options={}", lambda api: api.profile(graph(), run(), options={})),
    Call("options={}, cmd='op'", lambda api: api.profile(graph(), run(), cmd="op", options={})),
    Call("options=0", lambda api: api.profile(graph(), run(), options=0)),
    Call("options=None", lambda api: api.profile(graph(), run(), options=None), "answers"),
    asked("profile_operations({})", "profile_operations", lambda: [{}]),
    asked("profile_operations(None)", "profile_operations", lambda: [None], direct="TypeError"),
    asked("profile_operations()", "profile_operations", lambda: [], direct="TypeError"),
    Call("select=(generator), account_type_regexes=iter(…)", lambda api: api.profile(
        graph(), run(), cmd="op", options=options(select=(w for w in ["bytes"]), account_type_regexes=iter([".*"])))),
    asked("profile_graph, select=(generator)", "profile_graph", lambda: [options(select=(w for w in ["params"]))]),
    profiled("select=[b'micros'], order_by=b'micros'", select=[b"micros"], order_by=b"micros", output=b"stdout"),
    asked("profile_name_scope, select=[b'params']", "profile_name_scope", lambda: [options(select={b"params"})]),
    profiled("max_depth=numpy.int64(3)", max_depth=np.int64(3)),
    profiled("max_depth=3.5", max_depth=3.5, direct="TypeError"),
    profiled("max_depth='3'", max_depth="3", direct="TypeError"),
    profiled("select=None", select=None, direct="TypeError"),
    profiled("account_type_regexes=[3]", account_type_regexes=[3], direct="TypeError"),
    profiled("account_type_regexes='.*'", account_type_regexes=".*", direct="TypeError"),
    profiled("account_displayed_op_only=numpy.bool_(True)", account_displayed_op_only=np.bool_(True)),
    profiled("an option of another name", colour="red"),
    profiled("cmd='sideways'", cmd="sideways", direct="InvalidArgumentError"),
    Call("profile(GraphDef, op_log=log, cmd='code')", lambda api: api.profile(
        graph().as_graph_def(add_shapes=True), None, op_log(), "code", options(select=["params"])), "answers"),
    Call("profile(graph, op_log=log, cmd='code')", lambda api: api.profile(
        graph(), None, op_log(), "code", options(select=["params"]))),
    Call("advise(graph, run)", lambda api: api.advise(graph(), run())),
    Call("advise(graph, run, {'Beauty': {}})", lambda api: api.advise(graph(), run(), {"Beauty": {}}), "tfprof.Error"),
    Call("advise(graph, run, {})", lambda api: api.advise(graph(), run(), {})),
    Call("advise(graph, run, None)", lambda api: api.advise(graph(), run(), None)),
    asked("Profiler.advise({})", "advise", lambda: [{}]),
    asked("Profiler.advise()", "advise", lambda: [], direct="answers"),
]


# TensorFlow prints through its buffers.
C_LIBRARY = ctypes.CDLL(None)


class Outcome(NamedTuple):
    """All that a call does."""

    result: Any
    printed: str
    files: dict[str, Any]

    def __str__(self) -> str:
        if isinstance(self.result, Exception):
            return name_of(self.result)
        parts = ["answers" if self.result.ByteSize() else "empty"]
        if self.printed.strip():
            parts.append("prints")
        return ", ".join(parts + [f"writes {name}" for name in sorted(self.files)])

    def same(self, other: Outcome) -> bool:
        if isinstance(self.result, Exception) or isinstance(other.result, Exception):
            return name_of(self.result) == name_of(other.result)
        return self == other


def name_of(error: Any) -> str:
    if isinstance(error, tf.errors.InvalidArgumentError):
        return "InvalidArgumentError"
    kind = type(error)
    return f"tfprof.{kind.__name__}" if kind.__module__.startswith("tfprof") else kind.__name__


def outcome(call: Call, api: Any) -> Outcome:
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as work, tempfile.TemporaryFile() as out:
        os.chdir(work)
        try:
            with stdout_to(out):
                try:
                    result = call.work(api)
                except Exception as error:
                    result = error
                gc.collect()  # TensorFlow allows one profiler at a time.
            files = {path.name: content(path) for path in sorted(Path(work).iterdir())}
        finally:
            os.chdir(before)
        out.seek(0)
        printed = without_doc(out.read().decode())
    if type(result).__name__ == "AdviceProto":
        # The words of advice are ours, and its order is fixed.
        printed = "".join(sorted(name for name in result.checkers if f"\n{name}:" in printed))
    return Outcome(result, printed, files)


@contextlib.contextmanager
def stdout_to(file):
    """TensorFlow prints past Python, into a buffer of its own."""
    sys.stdout.flush()
    C_LIBRARY.fflush(None)
    kept = os.dup(1)
    os.dup2(file.fileno(), 1)
    written, sys.stdout = sys.stdout, os.fdopen(os.dup(1), "w")
    try:
        yield
    finally:
        sys.stdout.close()
        sys.stdout = written
        C_LIBRARY.fflush(None)
        os.dup2(kept, 1)
        os.close(kept)


def without_doc(text: str) -> str:
    """The sentences between `Doc:` and `Profile:` are ours."""
    head, found, rest = text.partition("\nDoc:\n")
    return head + "\nProfile:\n" + rest.partition("\nProfile:\n")[2] if found else text


def content(path: Path) -> Any:
    data = path.read_bytes()
    if data[:1] == b"{":
        return json.loads(data)
    if data[:2] != b"\x1f\x8b":
        return without_doc(data.decode())
    profile = profile_pb2.Profile.FromString(gzip.decompress(data))
    functions = {function.id: profile.string_table[function.name] for function in profile.function}
    stacks = {place.id: [(functions[line.function_id], line.line) for line in place.line] for place in profile.location}
    return sorted((list(sample.value), [stacks[place] for place in sample.location_id]) for sample in profile.sample)


@functools.cache
def outcomes(call: Call) -> tuple[Outcome, Outcome, Outcome]:
    found = []
    for api, enter, leave in (
        (theirs, lambda: None, lambda: None),
        (theirs, tfprof.patch_tensorflow, tfprof.unpatch_tensorflow),
        (tfprof, lambda: None, lambda: None),
    ):
        enter()
        try:
            # All three from one line, since code traces tell lines apart.
            found.append(outcome(call, api))
        finally:
            leave()
    original, patched, direct = found
    return original, patched, direct


@pytest.mark.parametrize("call", CALLS, ids=[call.text for call in CALLS])
def test_patched_is_as_the_original(call):
    original, patched, _ = outcomes(call)
    assert patched.same(original), (patched, original)


@pytest.mark.parametrize("call", CALLS, ids=[call.text for call in CALLS])
def test_direct_names(call):
    original, _, direct = outcomes(call)
    if call.direct == "same":
        assert direct.same(original), (direct, original)
    elif call.direct == "answers":
        assert not isinstance(direct.result, Exception), direct
    else:
        assert name_of(direct.result) == call.direct, direct
        assert not {word for word in str(direct.result).split() if word.startswith("-")}, "flags in an error of Python"


def test_a_log_keeps_its_names_with_a_graph_of_bytes():
    data = graph().as_graph_def(add_shapes=True).SerializeToString()
    message = tfprof.profile(data, op_log=op_log(), cmd="code", options=options(select=["params"], output="none"))
    assert [child.name for child in message.children] == ["train.py:7:build_model"]


def test_runs_complete_shapes_of_patched_profiles():
    call = next(call for call in CALLS if call.text == "profile(graph, run): input shapes")
    _, patched, direct = outcomes(call)
    assert "layer/Relu (0/0 flops, 0:5x3)" in patched.printed
    assert patched == direct


@pytest.mark.parametrize("method", ["scope", "graph", "op", "code"])
def test_help_lists_the_keywords(method):
    text = getattr(tfprof.Profile, method).__doc__
    assert all(f"\n{name}: " in text for name in tfprof.Options.__annotations__)


def table() -> str:
    """The calls and what comes of them. Where a column says nothing, it is as the first."""
    rows = ["| call | TensorFlow | patched | tfprof's names |", "|---|---|---|---|"]
    for call in CALLS:
        original, patched, direct = outcomes(call)
        cells = [str(original), *("=" if side.same(original) else str(side) for side in (patched, direct))]
        rows.append(f"| `{call.text}` | {' | '.join(cells)} |".replace("|'", "\\|'"))
    return "\n".join(rows) + "\n"


def test_the_table_of_the_docs():
    assert table() in DOCS.read_text()


if __name__ == "__main__":
    print(table(), end="")
