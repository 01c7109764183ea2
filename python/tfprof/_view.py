"""The answer to a question: text, HTML, rows, tables and files."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, overload

from tfprof import _native
from tfprof._api import write_file
from tfprof._messages import parse
from tfprof._tables import Column, Table, form_of

# The number of lines that `repr` prints.
_SHOWN = 200

# How the names of files end, and the form that each ending means.
_FORMS = dict(_native.form_endings())


class Numbers(dict[str, Any]):
    """Numbers by metric: by the key of JSON and tables (`requested_bytes`), or by the word of `select` (`bytes`).

    Whole numbers, except for ratios and for times of profiles, which are finer than a microsecond. None is unknown.
    """

    def __missing__(self, word: str) -> Any:
        key = dict(_native.metric_words()).get(word)
        if key is not None and key in self:
            return self[key]
        raise KeyError(f"`{word}` was not selected; selected: {', '.join(self) or 'nothing'}")


def _numbers(kind: str, data: bytes | None, length: int) -> Sequence[Any]:
    """The numbers of a column; None for those that are unknown."""
    if data is None:
        return [None] * length
    if kind == "optional float":
        return [None if number != number else number for number in array("d", data)]
    return array("d" if kind == "float" else "q", data)


class View(Table, Sequence["Row"]):
    """The answer of `Profile.scope`, `graph`, `op` or `code`: rows in the order of printing, the root first.

    Printed, it is the report of the command; as the last line of a notebook's cell, a tree that opens and closes.

    >>> import tfprof
    >>> view = tfprof.demo().scope(select="params", start_name_regexes="unit_last/final_bn", max_depth=2)
    >>> view
    node name | # parameters
    _TFProfRoot (--/930.58k params)
      unit_last/final_bn (0/384 params)
    … 56 more rows, less than 0.1 % of the parameters; use max_depth=6
    >>> view[1].name, view[1].self["params"], view[1].total["params"]
    ('unit_last/final_bn', 0, 384)
    """

    # The columns of numbers begin with one of these.
    _sides: tuple[str, ...] = ("self_", "total_", "cumulative_")

    command: str
    """Which view: `scope`, `graph`, `op` or `code`."""
    options: dict[str, Any]
    """The options of the question."""
    metrics: list[str]
    """The keys of the numbers that rows have."""
    warnings: list[str]
    """Warnings about the answer."""

    def __init__(
        self, native: _native.Profile | _native.Comparison, command: str, options: dict[str, Any]
    ) -> None:
        self._native = native
        self.command = command
        self.options = {name: value for name, value in options.items() if name != "output"}
        columns = native.columns(command, self.options)
        self.metrics = columns.pop("metrics")
        self.warnings = columns.pop("warnings")
        # The kind of each column, by its name.
        self._schema: dict[str, str] = dict(columns.pop("schema"))
        self._names: list[str] = columns.pop("name")
        self._accounted: bytes = columns.pop("accounted")
        self._places: dict[str, array[int]] = {
            name: array("q", columns.pop(name)) for name in ("id", "parent", "depth")
        }
        self._numbers: dict[str, Sequence[Any]] = {
            name: _numbers(self._schema[name], columns[name], len(self))
            for name in self._schema
            if name.startswith(self._sides)
        }
        self._details: list[dict[str, Any]] | None = None
        self._children: list[list[int]] | None = None

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Arrow's PyCapsule interface: pandas, polars, DuckDB and pyarrow take a view as it is."""
        return self._native.typed_view(self.command, self.options).__arrow_c_stream__(requested_schema)

    # ---- rows

    def __len__(self) -> int:
        return len(self._names)

    @overload
    def __getitem__(self, key: int | str) -> Row: ...
    @overload
    def __getitem__(self, key: slice) -> list[Row]: ...
    def __getitem__(self, key: int | str | slice) -> Row | list[Row]:
        """A row by its place or its name, or several by a slice."""
        if isinstance(key, slice):
            return [Row(self, place) for place in range(*key.indices(len(self)))]
        if isinstance(key, str):
            try:
                return Row(self, self._names.index(key))
            except ValueError:
                raise KeyError(f"no row of this {self.command} view has the name `{key}`") from None
        if not hasattr(key, "__index__"):
            raise TypeError(f"expected the place or the name of a row, found {type(key).__name__}")
        place = key.__index__()
        if not -len(self) <= place < len(self):
            raise IndexError(f"there is no row {place}; the view has {len(self)}")
        return Row(self, place % len(self))

    def __iter__(self) -> Iterator[Row]:
        return (Row(self, place) for place in range(len(self)))

    def __contains__(self, key: object) -> bool:
        return key in self._names if isinstance(key, str) else Sequence.__contains__(self, key)

    @property
    def total(self) -> Numbers:
        """The totals of the root: everything that was counted."""
        return self[0].total

    # ---- text

    def __str__(self) -> str:
        return self._report(2**60)

    def __repr__(self) -> str:
        text = self._report(_SHOWN + 2)
        left = len(self) - _SHOWN
        return harmless(f"{text}\n… {left:,} more rows; print(view) shows all" if left > 0 else text)

    def _report(self, lines: int) -> str:
        files, *_ = self._native.view(self.command, "report", self.options, False, "", lines)
        return files[0][1].decode().removeprefix("Profile:\n").rstrip("\n")

    # ---- tables and files

    def _columns(self) -> list[Column]:
        parents: list[int | None] = [None, *self._places["parent"][1:]]
        cells: dict[str, Sequence[Any]] = {
            **self._places,
            "parent": parents,
            "name": self._names,
            "accounted": [bool(one) for one in self._accounted],
            **self._numbers,
        }
        columns = [Column(name, self._schema[name], cells[name]) for name in self._schema if name in cells]
        # The shape of a variable comes before other details.
        details = sorted((name for name in self._schema if name not in cells), key=lambda name: name != "shape")
        for name in details:
            columns.append(Column(name, self._schema[name], [row.get(name) for row in self._detail_rows()]))
        return columns

    def _detail_rows(self) -> list[dict[str, Any]]:
        if self._details is None:
            self._details = self.to_dict()["rows"]
        return self._details

    def _form(self, form: str) -> bytes:
        files, *_ = self._native.view(self.command, form, self.options, False)
        return files[0][1]

    def message(self) -> Any:
        """The answer as TensorFlow's message: a GraphNodeProto, or a MultiGraphNodeProto of the op and code view."""
        name = "GraphNodeProto" if self.command in ("scope", "graph") else "MultiGraphNodeProto"
        return parse(name, self._form("proto"))

    def to_file(self, path: str | os.PathLike[str], form: str | None = None) -> list[str]:
        """Writes files and returns their names.

        `form` is one of the forms of the command (`file` is text, then `json`, `csv`, `html`, `proto`, `timeline`,
        `pprof`, `flamegraph`, `folded`, `speedscope`, `markdown`); without it, the end of the name tells: `.txt`, `.json`, `.csv`,
        `.md`, `.html`, `.svg` (flame graph), `.pb`, `.pb.gz` or `.pprof`, `.folded`, `.speedscope.json`, `.trace.json`
        (timeline). A timeline of the graph view has a file for each step; several have the step before the end of their names.
        """
        target = path_of(path)
        if form is None:
            form = form_of(target, _FORMS)
        elif form not in set(_FORMS.values()):
            raise ValueError(f"unknown form {form!r}; expected one of {', '.join(sorted(set(_FORMS.values())))}")
        files, *_ = self._native.view(self.command, form, self.options, False, target)
        # As the command names them, unless there is only one.
        written = [(target, files[0][1])] if len(files) == 1 else files
        for name, data in written:
            keep_inputs(name, self._native.files())
            write_file(name, data)
        return [name for name, _ in written]

    def timeline(self, path: str | os.PathLike[str]) -> list[str]:
        """Writes trace events for Perfetto (https://ui.perfetto.dev); the graph view shows when ops ran."""
        return self.to_file(path, "timeline")

    def pprof(self, path: str | os.PathLike[str]) -> list[str]:
        """Writes a profile for `go tool pprof`."""
        return self.to_file(path, "pprof")

    def flamegraph(self, path: str | os.PathLike[str]) -> list[str]:
        """Writes an SVG of one metric, with zoom and search."""
        return self.to_file(path, "flamegraph")

    def speedscope(self, path: str | os.PathLike[str]) -> list[str]:
        """Writes a file of one metric for https://www.speedscope.app."""
        return self.to_file(path, "speedscope")

    def folded(self, path: str | os.PathLike[str]) -> list[str]:
        """Writes collapsed stacks of one metric."""
        return self.to_file(path, "folded")


_Kind = TypeVar("_Kind", bound=View)


def answered(
    kind: type[_Kind], native: _native.Profile | _native.Comparison, command: str, options: dict[str, Any]
) -> _Kind:
    """Asks, and prints the answer or writes it to a file if `output` says so."""
    target = _native.Profile.target({"output": options["output"]}) if "output" in options else None
    view = kind(native, command, options)
    if target is not None:
        form, outfile = target
        if form == "stdout":
            print(view)
        elif form != "none":
            view.to_file(outfile, form)
    return view


class Row:
    """A row of a view."""

    __slots__ = ("_view", "id")

    id: int
    """Its place in the view."""

    def __init__(self, view: View, place: int) -> None:
        self._view = view
        self.id = place

    @property
    def name(self) -> str:
        """The name of a scope, a node or an op type, or a line of Python."""
        return self._view._names[self.id]

    @property
    def depth(self) -> int:
        """How many rows lie around it."""
        return self._view._places["depth"][self.id]

    @property
    def parent(self) -> int | None:
        """The index of its parent; None for the root."""
        return self._view._places["parent"][self.id] if self.id else None

    @property
    def children(self) -> list[Row]:
        """The rows that lie directly in it."""
        view = self._view
        if view._children is None:
            view._children = [[] for _ in range(len(view))]
            for place, parent in enumerate(view._places["parent"]):
                if place:
                    view._children[parent].append(place)
        return [Row(view, place) for place in view._children[self.id]]

    @property
    def accounted(self) -> bool:
        """Whether the row itself counts, not only rows within it."""
        return bool(self._view._accounted[self.id])

    @property
    def self(this) -> Numbers:  # noqa: N805
        """The numbers of the row alone, by metric."""
        return this._side("self")

    @property
    def total(self) -> Numbers:
        """The numbers of the row and all rows within it, by metric."""
        return self._side("total")

    @property
    def cumulative(self) -> Numbers:
        """In op view, the running sums: the row and all rows after it, by metric."""
        if self._view.command != "op":
            raise AttributeError("only rows of the op view have running sums")
        return self._side("cumulative")

    def _side(self, side: str) -> Numbers:
        view = self._view
        return Numbers((key, view._numbers[f"{side}_{key}"][self.id]) for key in view.metrics)

    def _detail(self, name: str) -> Any:
        return self._view._detail_rows()[self.id].get(name)

    @property
    def shape(self) -> list[int] | None:
        """The shape of a variable, if `params` was selected."""
        shape: list[int] | None = self._detail("shape")
        return shape

    @property
    def devices(self) -> list[str] | None:
        """Where it was placed, if `device` was selected."""
        devices: list[str] | None = self._detail("devices")
        return devices

    @property
    def op_types(self) -> list[str] | None:
        """Its op and other types, if `op_types` was selected."""
        types: list[str] | None = self._detail("op_types")
        return types

    @property
    def input_shapes(self) -> list[list[int] | None] | None:
        """The shapes of its inputs, if `input_shapes` was selected."""
        shapes: list[list[int] | None] | None = self._detail("input_shapes")
        return shapes

    @property
    def tensor_value(self) -> dict[str, Any] | None:
        """Its tensor in a checkpoint (`dtype`, `shape`, `values`), if `tensor_value` was selected."""
        value: dict[str, Any] | None = self._detail("tensor_value")
        return value

    def to_dict(self) -> dict[str, Any]:
        """The row as the JSON of the command has it."""
        return dict(self._view._detail_rows()[self.id])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Row) and other._view is self._view and other.id == self.id

    def __hash__(self) -> int:
        return hash((id(self._view), self.id))

    def __repr__(self) -> str:
        return f"Row({self.id}, {self.name!r}, self={dict(self.self)}, total={dict(self.total)})"


class Advice(Mapping[str, list[str]]):
    """The reports of checkers, by name.

    >>> import tfprof
    >>> advice = tfprof.demo().advise("OperationChecker")
    >>> list(advice)
    ['OperationChecker']
    """

    notes: dict[str, list[str]]
    """Notes on missing data."""

    def __init__(self, advice: list[tuple[str, list[str], list[str]]], text: str) -> None:
        self._reports = {checker: reports for checker, reports, _ in advice}
        self.notes = {checker: notes for checker, _, notes in advice if notes}
        self._text = text

    def __getitem__(self, checker: str) -> list[str]:
        return self._reports[checker]

    def __iter__(self) -> Iterator[str]:
        return iter(self._reports)

    def __len__(self) -> int:
        return len(self._reports)

    def to_dict(self) -> dict[str, dict[str, list[str]]]:
        """Reports and notes of each checker."""
        return {
            checker: {"reports": list(reports), "notes": list(self.notes.get(checker, []))}
            for checker, reports in self._reports.items()
        }

    def __repr__(self) -> str:
        return self._text.rstrip("\n")

    def _repr_html_(self) -> str:
        return _native.html_text("advice", self._text)


# Control characters, but for ends of lines and tabs.
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if code not in (9, 10)}


def harmless(text: str) -> str:
    """Text for a prompt, where a name from a file must not move the cursor."""
    return text.translate(_CONTROLS)


def path_of(path: Any) -> str:
    """A path as text."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"path: expected a string or a path, found {type(path).__name__}")
    name = os.fspath(path)
    if not isinstance(name, str) or not name:
        raise ValueError(f"path: expected the name of a file, found {name!r}")
    return name


def keep_inputs(path: str, inputs: Iterable[os.PathLike[str]]) -> None:
    """Refuses to overwrite an input."""
    for file in inputs:
        if os.path.isfile(path) and os.path.exists(file) and os.path.samefile(path, file):
            raise ValueError(f"{path} is one of the inputs and would be overwritten; name another file")
