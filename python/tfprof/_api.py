"""The names of TensorFlow's own profiler: same arguments, same defaults, same results."""

from __future__ import annotations

import operator
import os
import sys
import threading
from collections.abc import Mapping
from typing import Any

from tfprof import _graphs, _messages, _native, _options
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


@_options.documented
def profile(
    graph: Any = None,
    run_meta: Any = None,
    op_log: Any = None,
    cmd: str = "scope",
    options: Mapping[str, Any] | None = DEFAULT,
) -> Any:
    """Profiles a model and returns the answer as a message.

    `graph` is a `tf.Graph`, a `tf.function`, a GraphDef as message or bytes, or a path to any input of the `tfprof`
    command; by default, TensorFlow's default graph. `run_meta` (RunMetadata) adds times and memory, `op_log` (OpLogProto)
    your own types; each is a message, bytes or a path. FLOPs, trainable variables and, for `cmd="code"`, code traces are
    computed from the graph and merged with `op_log`, unless the graph is a path.

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
    if options is None or options == DEFAULT:
        options = ProfileOptionBuilder.trainable_variables_parameter()
    if cmd not in _RESULTS:
        raise _unknown_command(cmd)
    question = plain_options(options)
    native = _native.Profile(cmd, records=target(question)[0] == "timeline")
    _add_graph(native, source)
    if run_meta is not None:
        native.add("run_meta", _messages.to_bytes(run_meta, "run_meta"), 0)
    if log:
        native.add("op_log", log)
    return ask(native, cmd, question)


def advise(graph: Any = None, run_meta: Any = None, options: Mapping[str, Any] | None = DEFAULT) -> Any:
    """Runs checkers on a model, prints their reports and returns them as an AdviceProto.

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
    """Writes the op log of a graph, merged with `op_log`, to `<log_dir>/tfprof_log`."""
    log = merge_default_with_oplog(graph, op_log, run_meta, add_trace)
    write_file(os.path.join(log_dir, "tfprof_log"), log.SerializeToString())


def merge_default_with_oplog(
    graph: Any, op_log: Any = None, run_meta: Any = None, add_trace: bool = True, add_trainable_var: bool = True
) -> Any:
    """The op log of a graph, merged with `op_log`, as an OpLogProto."""
    if graph is None:
        graph = _graphs.default_graph()
    source = _graphs.read(graph, add_trace)
    if not add_trainable_var:
        source.trainable = []
    return _messages.parse("OpLogProto", generated_op_log(source, op_log, run_meta))


class Profiler:
    """Profiles several steps of a model.

    Add steps as they run, and ask at any time. Unlike TensorFlow's, any number of profilers can coexist.
    """

    def __init__(self, graph: Any = None, op_log: Any = None) -> None:
        """Starts with a graph, as in `profile`, and an optional OpLogProto."""
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
        """A profiler of a file that `serialize_to_string` wrote, or of any other input of the `tfprof` command."""
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

    def _add_graph(self, run: bytes | None = None) -> None:
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
        if self._source.data and run is not None:
            # As the original: the run completes the shapes of nodes that are new.
            self._shapes.learn(self._source.data, run)
            self._source.data = self._shapes.complete(self._source.data) or self._source.data
        _add_graph(self._native, self._source)

    def _add_log(self, op_log: Any, run_meta: Any) -> None:
        log = generated_op_log(self._source, op_log, run_meta, self._shapes)
        if log:
            self._native.add("op_log", log)
        tell(self._native.warnings())

    def add_step(self, step: int, run_meta: Any) -> None:
        """Adds a run to a step; runs of the same step add up."""
        try:
            step = operator.index(step)
        except TypeError:
            raise TypeError(f"step: expected a whole number, found {type(step).__name__}") from None
        data = _messages.to_bytes(run_meta, "run_meta")
        self._add_graph(data)
        self._native.add("run_meta", data, step)
        self._add_log(None, data)
        self._coverage = coverage(self._native)

    @_options.documented
    def profile_python(self, options: Mapping[str, Any]) -> Any:
        """Nodes by the line of Python that created them; returns a MultiGraphNodeProto."""
        return ask(self._native, "code", options)

    @_options.documented
    def profile_operations(self, options: Mapping[str, Any]) -> Any:
        """Nodes by op type; returns a MultiGraphNodeProto."""
        return ask(self._native, "op", options)

    @_options.documented
    def profile_name_scope(self, options: Mapping[str, Any]) -> Any:
        """Nodes by name scope; returns a GraphNodeProto."""
        return ask(self._native, "scope", options)

    @_options.documented
    def profile_graph(self, options: Mapping[str, Any]) -> Any:
        """Nodes by their inputs; returns a GraphNodeProto."""
        return ask(self._native, "graph", options)

    def advise(self, options: Mapping[str, Any] | None = DEFAULT) -> Any:
        """Runs checkers, prints their reports and returns an AdviceProto."""
        return ask_advice(self._native, ALL_ADVICE if options == DEFAULT and options is not None else options)

    def serialize_to_string(self) -> bytes:
        """All data as a ProfileProto, for `from_file` and the `tfprof` command."""
        return self._native.serialize(True)

    def _write_profile(self, filename: Any) -> None:
        write_file(filename, self.serialize_to_string())


def ask(native: _native.Profile, cmd: str, options: Mapping[str, Any]) -> Any:
    """Answers a question as TensorFlow does: writes the report and returns a message."""
    return _messages.parse(_RESULTS[cmd], ask_bytes(native, cmd, options))


def ask_bytes(
    native: _native.Profile,
    cmd: str,
    options: Mapping[str, Any],
    shown: Mapping[str, Any] | None = None,
    forgive: bool = False,
) -> bytes:
    """Writes the report where the options say, with TensorFlow's banners, and returns the bytes of the message.

    `shown` are the options to print, if others. `forgive`: a report that cannot be made, or a file that cannot
    be written, is a note, not an error.
    """
    question = plain_options(options)
    form, outfile = target(question)
    try:
        files, warnings, notes = native.view(cmd, form, question, True, outfile)
        message = native.view(cmd, "proto", question, True)[0][0][1]
    except _native.Error as error:
        # As the original: missing data is a note, and the answer is empty.
        if not isinstance(error, _native.MissingData) and not (forgive and form == "stdout"):
            raise
        files, warnings, notes, message = [], [str(error)], [], b""
    if form == "stdout":
        sys.stdout.write(_options_banner(question if shown is None else shown))
    tell([*native.warnings(), *warnings])
    for (name, data), of_file in zip(files, notes):
        if form == "stdout":
            sys.stdout.write(data.decode())
        elif form != "none":
            _write_answer(cmd, form, name, data, of_file, forgive)
    if form == "stdout":
        sys.stdout.write("\n======================End of Report==========================\n")
    return message


def _write_answer(cmd: str, form: str, name: str, data: bytes, notes: list[str], forgive: bool) -> None:
    """Writes a file, and prints the lines that TensorFlow prints about it."""
    if (cmd, form) == ("graph", "timeline"):
        sys.stdout.write("generating trace file.\n")
        sys.stdout.writelines(f"{note}\n" for note in notes)
    try:
        write_file(name, data)
    except OSError as error:
        if not forgive:
            raise
        return tell([f"{name}: cannot be written: {error.strerror}"])
    if form == "timeline":
        stars = "*" * 54
        sys.stdout.write(
            f"\n{stars}\nTimeline file is written to {name}.\n"
            f"Open a Chrome browser, enter URL chrome://tracing and load the timeline file.\n{stars}\n"
        )
    elif form == "pprof":
        sys.stdout.write(f"\nRun pprof -png --nodecount=100 --sample_index=1 <{name}>\n")


# The options of TensorFlow's profiler in the order of its banner, with their defaults.
_LISTS = ("account_type_regexes", "start_name_regexes", "trim_name_regexes", "show_name_regexes", "hide_name_regexes", "select")
_DEFAULTS: dict[str, Any] = {
    "max_depth": 10,
    **dict.fromkeys(
        (
            "min_bytes",
            "min_peak_bytes",
            "min_residual_bytes",
            "min_output_bytes",
            "min_micros",
            "min_accelerator_micros",
            "min_cpu_micros",
            "min_params",
            "min_float_ops",
            "min_occurrence",
        ),
        0,
    ),
    "step": -1,
    "order_by": "name",
    **dict.fromkeys(_LISTS[:-1], ()),
    "account_displayed_op_only": False,
    "select": (),
}


def plain_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options as strings, numbers and lists: bytes are decoded, and generators run once."""
    if not isinstance(options, Mapping):
        raise TypeError(f"options: expected a dict, found {type(options).__name__}")
    return {name: _plain(value, name in _LISTS) for name, value in options.items()}


def _plain(value: Any, is_list: bool = False) -> Any:
    if isinstance(value, bytes):
        return value.decode()
    if is_list and not isinstance(value, str):
        try:
            return [_plain(item) for item in value]
        except TypeError:
            return value
    # A number of NumPy.
    return value.item() if getattr(value, "shape", None) == () and hasattr(value, "item") else value


def target(question: Mapping[str, Any]) -> tuple[str, str]:
    """The form of the answer, and its file. `dump_to_file`, the old name, wins over `output`."""
    form, outfile = _native.Profile.target(dict(question))
    dump = question.get("dump_to_file")
    return ("file", os.fsdecode(dump)) if dump else (form, outfile)


def _options_banner(question: Mapping[str, Any]) -> str:
    lines = []
    for name, default in _DEFAULTS.items():
        value = question.get(name, default)
        if name == "select":
            value = sorted(set(value))
        if name in _LISTS:
            value = ",".join(value)
        elif name == "account_displayed_op_only":
            value = str(bool(value)).lower()
        lines.append(f"{'-' + name:<28}{value}\n")
    lines.append(f"{'-output':<28}stdout:\n")
    return (
        f"\n=========================Options=============================\n{''.join(lines)}"
        "\n==================Model Analysis Report======================\n"
    )


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
    """The fraction of the nodes that ran."""
    nodes, ran = native.coverage()
    return ran / nodes if nodes else 0.0


def generated_op_log(
    source: _graphs.Graph, op_log: Any, run_meta: Any, shapes: _native.Shapes | None = None
) -> bytes:
    """The op log of a graph, merged with the caller's; for a file, the caller's alone."""
    caller = None if op_log is None else _messages.to_bytes(op_log, "op_log")
    if source.path is not None:
        return caller or b""
    if not source.data:
        return b""
    run = None if run_meta is None else _messages.to_bytes(run_meta, "run_meta")
    shapes = shapes or _native.Shapes()
    log, missing, contradictions = shapes.op_log(
        source.data, run, caller, source.trainable, source.traces, keep_strings=not source.live
    )
    if missing and run is None:
        tell([f"{missing} ops have no FLOPs, since shapes are unknown; pass run_meta to complete them"])
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
    """Writes messages to standard error."""
    for message in messages:
        sys.stderr.write(f"tfprof: {message}\n")


def write_file(path: Any, data: bytes) -> None:
    """Writes a file under a temporary name and renames it, so that no one reads half of it."""
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
    temporary = f"{path}.{os.getpid()}.{threading.get_ident()}.tmp"
    try:
        # "x" refuses a file or link that someone else put there.
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(path):
            os.chmod(temporary, os.stat(path).st_mode & 0o7777)
        os.replace(temporary, path)
    except OSError as error:
        if os.path.exists(temporary):
            os.remove(temporary)
        # Name the file that the user asked for.
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
        """A `tfprof.Error` that code written for TensorFlow catches, too."""

        def __init__(self) -> None:
            invalid.__init__(self, None, None, message)

    return UnknownCommand()
