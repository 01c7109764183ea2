"""The names of TensorFlow's own profiler: same arguments, same defaults, same results."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Mapping
from typing import Any

from tfprof import _graphs, _messages, _native
from tfprof.option_builder import ProfileOptionBuilder

ALL_ADVICE: dict[str, dict[str, str]] = {
    "ExpensiveOperationChecker": {},
    "AcceleratorUtilizationChecker": {},
    "JobChecker": {},
    "OperationChecker": {},
}

# TensorFlow's mark for an argument that was not given.
DEFAULT: Any = 0
_RESULTS = {
    "scope": "GraphNodeProto",
    "graph": "GraphNodeProto",
    "op": "MultiGraphNodeProto",
    "code": "MultiGraphNodeProto",
}


def profile(
    graph: Any = None,
    run_meta: Any = None,
    op_log: Any = None,
    cmd: str = "scope",
    options: Mapping[str, Any] | None = DEFAULT,
) -> Any:
    """Profiles a model and returns the answer as a message.

    `graph` is a `tf.Graph`, a `tf.function`, a GraphDef as message or bytes, or a path to whatever the `tfprof` command
    reads; without one it is TensorFlow's default graph. `run_meta` (RunMetadata) gives times and memory, `op_log`
    (OpLogProto) types of your own. Both may be messages, bytes or paths. A path is taken as it is; for every other
    graph, float operations, trained variables and, for `cmd="code"`, code traces are worked out and merged with `op_log`.

    `cmd` is one of `scope`, `graph` (GraphNodeProto), `op` and `code` (MultiGraphNodeProto). The report goes where
    `options["output"]` says, to `sys.stdout` by default.

    >>> node = profile(b"", options=ProfileOptionBuilder().with_empty_output().build())
    >>> node.name
    '_TFProfRoot'
    """
    if graph is None:
        graph = _graphs.default_graph()
    source = _graphs.read(graph, add_trace=cmd == "code")
    shapes = _native.Shapes()
    log = generated_op_log(source, op_log, run_meta, shapes)
    # As the original, but for this answer only: the run completes shapes of the graph.
    if source.data:
        source.data = shapes.complete(source.data) or source.data
    options = ProfileOptionBuilder.trainable_variables_parameter() if not options else options
    if cmd not in _RESULTS:
        raise _unknown_command(cmd)
    form, _ = _native.Profile.target(dict(options))
    native = _native.Profile(cmd, records=form == "timeline")
    _add_graph(native, source)
    if run_meta is not None:
        native.add("run_meta", _messages.to_bytes(run_meta, "run_meta"), 0)
    if log:
        native.add("op_log", log)
    return ask(native, cmd, options)


def advise(graph: Any = None, run_meta: Any = None, options: Mapping[str, Any] | None = DEFAULT) -> Any:
    """Looks for what stands out in a model; prints it and returns it as an AdviceProto.

    `options` has the checkers to run as keys; by default, those of `ALL_ADVICE`.
    """
    if graph is None:
        graph = _graphs.default_graph()
    source = _graphs.read(graph, add_trace=True)
    log = generated_op_log(source, None, run_meta)
    native = _native.Profile("advise")
    _add_graph(native, source)
    if run_meta is not None:
        native.add("run_meta", _messages.to_bytes(run_meta, "run_meta"), 0)
    if log:
        native.add("op_log", log)
    return ask_advice(native, ALL_ADVICE if options == DEFAULT and options is not None else options)


def write_op_log(graph: Any, log_dir: Any, op_log: Any = None, run_meta: Any = None, add_trace: bool = True) -> None:
    """Writes what is worked out of a graph, merged with `op_log`, to `<log_dir>/tfprof_log`."""
    log = merge_default_with_oplog(graph, op_log, run_meta, add_trace)
    write_file(os.path.join(log_dir, "tfprof_log"), log.SerializeToString())


def merge_default_with_oplog(
    graph: Any, op_log: Any = None, run_meta: Any = None, add_trace: bool = True, add_trainable_var: bool = True
) -> Any:
    """The OpLogProto that is worked out of a graph, merged with `op_log`."""
    if graph is None:
        graph = _graphs.default_graph()
    source = _graphs.read(graph, add_trace)
    if not add_trainable_var:
        source.trainable = []
    return _messages.parse("OpLogProto", generated_op_log(source, op_log, run_meta))


class Profiler:
    """Profiles several steps of a model.

    Steps are added as they run, and questions can be asked at any time in between. Unlike TensorFlow's, any number
    of these may live in one process.
    """

    def __init__(self, graph: Any = None, op_log: Any = None) -> None:
        """Begins with a graph, as `profile` takes it, and an optional OpLogProto."""
        if graph is None:
            graph = _graphs.default_graph()
        self._graph = graph
        self._shapes = _native.Shapes()
        self._native = _native.Profile()
        self._coverage = 0.0
        self._source = _graphs.Graph()
        self._read: tuple[Any, int] = (None, 0)
        self._add_graph()
        self._add_log(op_log, None)

    @classmethod
    def from_file(cls, path: Any) -> Profiler:
        """A profiler of what `serialize_to_string` saved, or of any file or directory that the command reads."""
        profiler = cls.__new__(cls)
        profiler._graph = None
        profiler._shapes = _native.Shapes()
        profiler._native = _native.Profile()
        profiler._coverage = 0.0
        profiler._source = _graphs.Graph()
        profiler._read = (None, 0)
        profiler._native.load([os.fspath(path)])
        tell(profiler._native.warnings())
        return profiler

    def _add_graph(self) -> None:
        if self._graph is None:
            return
        live = _graphs.live_graph(self._graph)
        graph, version = self._graph if live is None else live, live.version if live is not None else 0
        if self._read[0] is graph and self._read[1] == version:
            return
        if self._read[0] is not None and self._read[0] is not graph:
            self._shapes = _native.Shapes()
        self._source = _graphs.read(graph, add_trace=True)
        self._read = (graph, version)
        _add_graph(self._native, self._source)

    def _add_log(self, op_log: Any, run_meta: Any) -> None:
        log = generated_op_log(self._source, op_log, run_meta, self._shapes)
        if log:
            self._native.add("op_log", log)
        tell(self._native.warnings())

    def add_step(self, step: int, run_meta: Any) -> None:
        """Adds what ran in a step; several runs under one number add up."""
        if not isinstance(step, int):
            raise TypeError(f"step: expected a whole number, found {type(step).__name__}")
        data = _messages.to_bytes(run_meta, "run_meta")
        self._add_graph()
        self._native.add("run_meta", data, step)
        self._add_log(None, data)
        self._coverage = coverage(self._native)

    def profile_python(self, options: Mapping[str, Any]) -> Any:
        """By the lines of Python that made the nodes; returns a MultiGraphNodeProto."""
        return ask(self._native, "code", options)

    def profile_operations(self, options: Mapping[str, Any]) -> Any:
        """By operation type; returns a MultiGraphNodeProto."""
        return ask(self._native, "op", options)

    def profile_name_scope(self, options: Mapping[str, Any]) -> Any:
        """By name scope; returns a GraphNodeProto."""
        return ask(self._native, "scope", options)

    def profile_graph(self, options: Mapping[str, Any]) -> Any:
        """By what nodes read; returns a GraphNodeProto."""
        return ask(self._native, "graph", options)

    def advise(self, options: Mapping[str, Any] | None = DEFAULT) -> Any:
        """Looks for what stands out; prints it and returns an AdviceProto."""
        return ask_advice(self._native, ALL_ADVICE if options == DEFAULT and options is not None else options)

    def serialize_to_string(self) -> bytes:
        """Everything that was added as a ProfileProto, which `from_file` and the command read."""
        return self._native.serialize(True)

    def _write_profile(self, filename: Any) -> None:
        write_file(filename, self.serialize_to_string())


def ask(native: _native.Profile, cmd: str, options: Mapping[str, Any]) -> Any:
    """Puts a question as TensorFlow does: a report to where the options say, and a message."""
    return _messages.parse(_RESULTS[cmd], ask_bytes(native, cmd, options))


def ask_bytes(native: _native.Profile, cmd: str, options: Mapping[str, Any]) -> bytes:
    """The report goes to where the options say; the bytes of the message are returned."""
    if not isinstance(options, Mapping):
        raise TypeError(f"options: expected a dict, found {type(options).__name__}")
    question = dict(options)
    form, outfile = _native.Profile.target(question)
    try:
        files, warnings = native.view(cmd, form, question, True, outfile)
        answer, _ = native.view(cmd, "proto", question, True)
    except _native.MissingData as error:
        # As the original: what is missing is said, and the answer is empty.
        tell([*native.warnings(), str(error)])
        return b""
    tell([*native.warnings(), *warnings])
    for name, data in files:
        if form == "stdout":
            sys.stdout.write(data.decode())
        elif form != "none":
            write_file(name, data)
    return answer[0][1]


def ask_advice(native: _native.Profile, options: Mapping[str, Any] | None) -> Any:
    """Runs checkers as TensorFlow does."""
    return _messages.parse("AdviceProto", advice_bytes(native, list(options or {})))


def advice_bytes(native: _native.Profile, checkers: list[str]) -> bytes:
    """The reports are printed; the bytes of the message are returned."""
    text, message, notes = native.advise(checkers, True)
    tell([*native.warnings(), *notes])
    sys.stdout.write(text)
    return message


def coverage(native: _native.Profile) -> float:
    """How much of a model has run, from 0 to 1."""
    nodes, ran = native.coverage()
    return ran / nodes if nodes else 0.0


def generated_op_log(
    source: _graphs.Graph, op_log: Any, run_meta: Any, shapes: _native.Shapes | None = None
) -> bytes:
    """What is worked out of a graph, merged with the caller's log. Files are taken as they are."""
    caller = None if op_log is None else _messages.to_bytes(op_log, "op_log")
    if source.path is not None:
        return caller or b""
    if not source.data:
        return b""
    run = None if run_meta is None else _messages.to_bytes(run_meta, "run_meta")
    shapes = shapes or _native.Shapes()
    log, missing, contradictions = shapes.op_log(source.data, run, caller, source.trainable, source.traces)
    if missing and run is None:
        tell([f"{missing} ops have no float operations, since shapes are not known; a RunMetadata completes them"])
    if contradictions:
        names = ", ".join(contradictions[:5])
        tell([f"the run contradicts the shapes of {len(contradictions)} outputs, which stay unknown: {names}"])
    return _with_float_ops(log, source.float_ops) if source.float_ops else log


def _with_float_ops(log: bytes, float_ops: Mapping[str, int]) -> bytes:
    message = _messages.parse("OpLogProto", log)
    entries = {entry.name: entry for entry in message.log_entries}
    for name, number in float_ops.items():
        entry = entries.get(name) or message.log_entries.add(name=name)
        entry.float_ops = entry.float_ops or number
    data: bytes = message.SerializeToString()
    return data


def tell(messages: list[str]) -> None:
    """Says on standard error what a user should know although there is an answer."""
    for message in messages:
        sys.stderr.write(f"tfprof: {message}\n")


def write_file(path: Any, data: bytes) -> None:
    """Writes a file beside its place and moves it there, so that nobody sees half of it."""
    path = os.fsdecode(path)
    if "://" in path and _messages.tensorflow_is_loaded():
        # A file system that only TensorFlow knows.
        with sys.modules["tensorflow"].io.gfile.GFile(path, "wb") as file:
            file.write(data)
        return
    path = os.path.realpath(path)
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "wb") as file:
            file.write(data)
        return
    beside = f"{path}.{os.getpid()}.{threading.get_ident()}.tmp"
    try:
        # "x": nobody else can have laid out a file or a link of this name for us.
        with open(beside, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(path):
            os.chmod(beside, os.stat(path).st_mode & 0o7777)
        os.replace(beside, path)
    except OSError as error:
        if os.path.exists(beside):
            os.remove(beside)
        # The file that a user knows.
        raise OSError(error.errno, error.strerror, path) from None


def _add_graph(native: _native.Profile, source: _graphs.Graph) -> None:
    if source.path is not None:
        native.load([source.path])
    elif source.data:
        native.add("graph", source.data)


def _unknown_command(cmd: Any) -> Exception:
    message = f"unknown cmd: {cmd}; expected one of {', '.join(_RESULTS)}"
    if not _messages.tensorflow_is_loaded():
        return _native.Error(message)
    invalid: Any = sys.modules["tensorflow"].errors.InvalidArgumentError

    class UnknownCommand(_native.Error, invalid):  # type: ignore[misc]
        """An error of ours that code written for TensorFlow catches too."""

        def __init__(self) -> None:
            invalid.__init__(self, None, None, message)

    return UnknownCommand()
