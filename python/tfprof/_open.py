"""`tfprof.open`: loads a model once, to ask about it many times."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from tfprof import _graphs, _messages, _native, _options
from tfprof._api import write_file
from tfprof._cost import Cost, is_keras
from tfprof._facts import Facts
from tfprof._view import Advice, View, answered, keep_inputs, path_of
from tfprof._views import Views

class DataWarning(UserWarning):
    """A file is damaged; the answer covers the intact part."""


@_options.helpful
def open(
    path_or_graph: Any = None,
    run_meta: Any = None,
    op_log: Any = None,
    checkpoint: Any = None,
    *,
    profile: Any = None,
    run: str = "",
    step_marker: str = "",
    hosts: bool = False,
    original_quirks: bool = False,
    strict: bool = False,
) -> Profile:
    """Loads a model and its runs.

    `path_or_graph` is a path to any input of the `tfprof` command (a graph, a run, a saved profile, a checkpoint, a
    directory of such files, a log directory of TensorFlow 2 or JAX), a list of such paths, a `tf.Graph`, a `tf.function`,
    a Keras model, a `torch.profiler.profile` that has stopped, or a GraphDef as message or bytes.
    `run_meta` is a RunMetadata, several in a list, or several by step in a dict; `op_log` an OpLogProto; `profile` a
    ProfileProto; each as path, message or bytes. `checkpoint` is a path. The default is TensorFlow's default
    graph. FLOPs, trainable variables and code traces are computed from graphs that are not paths.

    `run` names a run of a log directory; the default is the newest. `step_marker` is a pattern for the events that mark
    steps. With `hosts`, several log directories are the hosts of one run.

    Damaged files give a `DataWarning` and an answer from the intact part, or with `strict` an `Error`. `original_quirks`
    reproduces the bugs of TensorFlow's tfprof in all answers.

    >>> import tfprof
    >>> p = tfprof.open(b'node { name: "w" op: "VariableV2" attr { key: "shape" value { shape { dim { size: 8 } } } } }')
    >>> p.scope(select="params")
    node name | # parameters
    _TFProfRoot (--/8 params)
      w (8, 8/8 params)
    """
    nothing = all(given is None for given in (path_or_graph, run_meta, op_log, checkpoint, profile))
    if path_or_graph is None and checkpoint is None and profile is None:
        path_or_graph = _graphs.default_graph()
        if nothing and path_or_graph is None:
            raise ValueError("nothing to open; give a path, a graph, run_meta, op_log, profile or checkpoint")
    loader = _Loader(bool(original_quirks))
    loader.add_graph(path_or_graph, run=run, step_marker=step_marker, hosts=bool(hosts))
    loader.add_checkpoints(_paths(checkpoint, "checkpoint"))
    loader.add_logs(_several(profile), "profile")
    loader.add_logs(_several(op_log), "op_log")
    loader.add_runs(_steps(run_meta))
    return _opened(loader.native, loader.notes, original_quirks, strict)


load = open


def demo(write: str | os.PathLike[str] | None = None) -> Profile:
    """The built-in sample: a ResNet-32 with two steps, an op log and a checkpoint of its first unit.

    With `write`, its files are written to that directory and opened there.

    >>> import tfprof
    >>> tfprof.demo().steps
    [0, 100]
    """
    if write is not None:
        directory = path_of(write)
        _native.write_sample(directory)
        return open(directory, checkpoint=os.path.join(directory, "model.ckpt"))
    native = _native.Profile()
    native.load_sample()
    return _opened(native, [], False, False)


class Profile(Views):
    """The data that `tfprof.open` loaded. Profiles are independent, and threads can share one.

    >>> import tfprof
    >>> p = tfprof.demo()
    >>> p.op(select="cpu_micros", order_by="cpu_micros", max_depth=2)
    node name | cpu execution time
    Conv2DBackpropFilter          4.92sec (100.00%, 39.53%)
    Conv2DBackpropInput            4.16sec (60.47%, 33.41%)
    … 51 more rows, 27 % of the CPU time; use max_depth=53
    """

    warnings: list[str]
    """Warnings from loading."""

    def __init__(self, native: _native.Profile, notes: list[str], original_quirks: bool) -> None:
        self._native = native
        self._original = original_quirks
        self._overview: Overview | None = None
        self.warnings = [message for message, _ in native.all_warnings()] + notes

    def _view(self, command: str, options: Mapping[str, Any]) -> View:
        asked = _options.given(options, command)
        asked.setdefault("original_quirks", self._original)
        return answered(View, self._native, command, asked)

    def advise(self, checkers: str | Iterable[str] | None = None) -> Advice:
        """The findings of checkers; of all of them by default."""
        if checkers is None:
            names = None
        else:
            names = [checkers] if isinstance(checkers, str) else list(checkers)
            for name in names:
                if not isinstance(name, str):
                    raise TypeError(f"checkers: expected names, found {type(name).__name__}")
        return Advice(*self._native.advice(names, self._original))

    @property
    def tables(self) -> list[str]:
        """The names of the tables that `table` and `sql` take; docs/tables.md describes them."""
        return _native.Profile.table_names()

    def table(self, name: str) -> Facts:
        """A table of everything that is loaded, such as `totals` or `executions`.

        pandas, polars, DuckDB and pyarrow take it as it is, through Arrow's PyCapsule interface.

        >>> import tfprof
        >>> totals = tfprof.demo().table("totals")
        >>> sum(row["runs"] or 0 for row in totals if row["op"] == "Conv2D" and row["step"] == 0)
        31
        """
        return Facts(name, self._native.table(name))

    def sql(self, statement: str) -> Facts:
        """The rows that a statement in SQLite's SQL gives. It reads the tables, and nothing else.

        >>> import tfprof
        >>> tfprof.demo().sql("select op, count(*) as n from nodes group by op order by n desc limit 2")
        op | n
        Const | 1424
        Mul | 564
        """
        return Facts("", self._native.sql(statement))

    def cost(self) -> Cost:
        """Parameters, FLOPs, multiply-adds and bytes by layer, as `tfprof.cost` computes them."""
        return Cost.read(*self._native.cost())

    @property
    def overview(self) -> Overview:
        """The main figures, and questions to ask next."""
        if self._overview is None:
            self._overview = Overview(*self._native.overview())
        return self._overview

    @property
    def steps(self) -> list[Step]:
        """The loaded steps: integers; those of TensorFlow 2 and JAX profiles also have a start time."""
        found = [Step(*step) for step in self._native.profile_steps()]
        return found or [Step(number) for number in self._native.steps()]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes all data as one ProfileProto, for `open` and the `tfprof` command."""
        target = path_of(path)
        keep_inputs(target, self._native.files())
        write_file(target, self._native.serialize(self._original))

    def __repr__(self) -> str:
        nodes, _ = self._native.coverage()
        files = ", ".join(os.path.basename(file) for file in self._native.files())
        return f"<tfprof.Profile of {files or 'nothing'}: {nodes:,} nodes, {len(self.steps)} steps>"

    def _repr_html_(self) -> str:
        return self.overview._repr_html_()


class Overview:
    """The main figures of a profile.

    >>> import tfprof
    >>> tfprof.demo().overview["trainable_params"]
    464154
    """

    def __init__(self, text: str, data: str, html: str) -> None:
        self._text, self._html = text, html
        self._data: dict[str, Any] = json.loads(data)

    def to_dict(self) -> dict[str, Any]:
        """The figures, as the JSON of `tfprof info` has them under `overview`."""
        return dict(self._data["overview"])

    def __getitem__(self, name: str) -> Any:
        """A figure: `nodes`, `params`, `float_ops`, `micros`, `steps`, `devices`, `memory_peak`, …"""
        try:
            return self._data["overview"][name]
        except KeyError:
            raise KeyError(f"an overview has no `{name}`; {_options.nearest(name, list(self._data['overview']))}") from None

    def __repr__(self) -> str:
        return self._text.rstrip("\n")

    def _repr_html_(self) -> str:
        return self._html


class Step(int):
    """The number of a step. `start` and `length` are in microseconds, and `rule` is how it was found, if known."""

    start: float | None
    length: float | None
    rule: str | None

    def __new__(
        cls, number: int, start: float | None = None, length: float | None = None, rule: str | None = None
    ) -> Step:
        step = super().__new__(cls, number)
        step.start, step.length, step.rule = start, length, rule
        return step


def _is_torch_profile(given: Any) -> bool:
    """Whether it is a `torch.profiler.profile`, or one of `torch.autograd`; torch is not imported for that."""
    return hasattr(type(given), "export_chrome_trace") and hasattr(type(given), "key_averages")


class _Loader:
    """Loads files and messages into one native profile: graphs first, then data about their nodes."""

    def __init__(self, original: bool) -> None:
        self.native = _native.Profile()
        # The original uses its own formulas only; otherwise native code counts, as for a file.
        self._original = original
        self.notes: list[str] = []
        self._graph = _graphs.Graph()
        self._shapes = _native.Shapes()
        self._caller: bytes | None = None

    def add_graph(self, graph: Any, **how: Any) -> None:
        if isinstance(graph, (str, os.PathLike)):
            self.native.load([path_of(graph)], **how)
        elif isinstance(graph, (list, tuple)):
            self.native.load(_paths(graph, "path_or_graph"), **how)
        elif is_keras(graph):
            self._add_keras(graph)
        elif _is_torch_profile(graph):
            self._add_torch_profile(graph, how)
        elif graph is not None:
            try:
                self._graph = _graphs.read(graph, add_trace=True)
            except TypeError:
                found = type(graph).__name__
                raise TypeError(f"path_or_graph: expected a path, paths, a graph, a Keras model, a profile of torch, a message or bytes, found {found}") from None
            self.native.add("graph", self._graph.data)

    def _add_keras(self, model: Any) -> None:
        """Saves the model to a directory that is removed when it was read."""
        with tempfile.TemporaryDirectory(prefix="tfprof-") as directory:
            _graphs.save_keras(model, directory)
            self.native.load([directory], live=True)

    def _add_torch_profile(self, prof: Any, how: Mapping[str, Any]) -> None:
        """Exports the trace to a directory that is removed when it was read."""
        with tempfile.TemporaryDirectory(prefix="tfprof-") as directory:
            trace = os.path.join(directory, "profiler.json")
            try:
                prof.export_chrome_trace(trace)
            except (AssertionError, AttributeError, RuntimeError) as error:
                why = f" ({error})" if str(error) else ""
                raise ValueError(f"path_or_graph: the profiler has no trace yet{why}; stop it first: leave its `with` block, or call its stop()") from error
            self.native.load([trace], **how)

    def add_checkpoints(self, paths: list[str]) -> None:
        for path in paths:
            self.native.load([], [("checkpoint", path, None)])

    def add_logs(self, logs: list[Any], what: str) -> None:
        for log in logs:
            if isinstance(log, (str, os.PathLike)):
                self.native.load([], [(what, path_of(log), None)])
            else:
                self.native.add(what, _messages.to_bytes(log, what))

    def add_runs(self, runs: list[tuple[int, Any]]) -> None:
        if self._graph.data and not runs:
            self._add_op_log(None)
        for step, run in runs:
            if self._graph.data:
                data = _messages.to_bytes(run, "run_meta")
                self.native.add("run_meta", data, step)
                self._add_op_log(data)
            elif isinstance(run, (str, os.PathLike)):
                self.native.load([], [("run_meta", path_of(run), step)])
            else:
                self.native.add("run_meta", _messages.to_bytes(run, "run_meta"), step)

    def _add_op_log(self, run: bytes | None) -> None:
        """Adds the op log of a graph, with the shapes of a run."""
        graph = self._graph
        log, missing, contradictions = self._shapes.op_log(
            graph.data, run, None, graph.trainable, graph.traces, not self._original
        )
        self.native.add("op_log", log)
        self.notes = []
        if missing and run is None:
            self.notes.append(f"{missing} ops have no FLOPs, since shapes are unknown; pass run_meta to complete them")
        if contradictions:
            names = ", ".join(contradictions[:5])
            self.notes.append(f"the run contradicts the shapes of {len(contradictions)} outputs: {names}")


def tell_damage(damage: list[str]) -> None:
    """Warns about damage, at the caller's line."""
    level = 2
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("tfprof."):
        frame = frame.f_back
        level += 1
    for one in damage:
        warnings.warn(one, DataWarning, stacklevel=level)


def _opened(native: _native.Profile, notes: list[str], original_quirks: bool, strict: bool) -> Profile:
    for message, damage in native.all_warnings():
        if damage and strict:
            raise _native.Error(f"{message} (an error because of strict=True)")
        if damage:
            tell_damage([message])
    return Profile(native, notes, bool(original_quirks))


def _several(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _paths(value: Any, what: str) -> list[str]:
    found = []
    for path in _several(value):
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"{what}: expected a path or a list of paths, found {type(path).__name__}")
        found.append(path_of(path))
    return found


def _steps(run_meta: Any) -> list[tuple[int, Any]]:
    """Runs and their steps: the keys of a dict, else 0, 1, 2 and so on."""
    if not isinstance(run_meta, Mapping):
        return list(enumerate(_several(run_meta)))
    runs = []
    for step, several in run_meta.items():
        if isinstance(step, bool) or not isinstance(step, int) or not 0 <= step < 2**63:
            raise ValueError(f"run_meta: expected the numbers of steps as keys, found {step!r}")
        runs += [(step, run) for run in _several(several)]
    return runs
