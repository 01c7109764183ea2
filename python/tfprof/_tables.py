"""Answers as tables: for pandas, polars and Arrow, none of which is needed until it is asked for."""

from __future__ import annotations

import importlib
import json
import os
from array import array
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

# By kind of a column: the types of Arrow and of polars, and the dtype of pandas where it would not find that itself.
_ARROW: dict[str, Callable[[Any], Any]] = {
    "int": lambda pa: pa.int64(),
    "optional int": lambda pa: pa.int64(),
    "float": lambda pa: pa.float64(),
    "optional float": lambda pa: pa.float64(),
    "bool": lambda pa: pa.bool_(),
    "text": lambda pa: pa.string(),
    "ints": lambda pa: pa.list_(pa.int64()),
    "texts": lambda pa: pa.list_(pa.string()),
    "shapes": lambda pa: pa.list_(pa.list_(pa.int64())),
}
_POLARS: dict[str, Callable[[Any], Any]] = {
    "int": lambda pl: pl.Int64,
    "optional int": lambda pl: pl.Int64,
    "float": lambda pl: pl.Float64,
    "optional float": lambda pl: pl.Float64,
    "bool": lambda pl: pl.Boolean,
    "text": lambda pl: pl.String,
    "ints": lambda pl: pl.List(pl.Int64),
    "texts": lambda pl: pl.List(pl.String),
    "shapes": lambda pl: pl.List(pl.List(pl.Int64)),
}
_PANDAS = {"int": "int64", "optional int": "Int64", "float": "float64", "optional float": "Float64", "bool": "bool"}


class Column:
    """A column: name, kind of values, and values."""

    def __init__(self, name: str, kind: str, values: Sequence[Any]) -> None:
        self.name, self.kind, self.values = name, kind, values


class Table:
    """Conversions shared by all answers with rows."""

    def _columns(self) -> list[Column]:
        raise NotImplementedError

    def _form(self, form: str) -> bytes:
        raise NotImplementedError

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a pandas DataFrame; needs pandas."""
        pd = needed("pandas", "to_pandas")
        frame = {}
        for column in self._columns():
            kind = _PANDAS.get(column.kind, "object")
            values = memoryview(column.values) if isinstance(column.values, array) else column.values
            frame[column.name] = pd.Series(values, dtype=kind, copy=True)
        return pd.DataFrame(frame)

    def to_polars(self) -> polars.DataFrame:
        """The rows as a polars DataFrame; needs polars."""
        pl = needed("polars", "to_polars")
        series = []
        for column in self._columns():
            kind = _POLARS[column.kind](pl)
            series.append(pl.Series(column.name, list(column.values), dtype=kind))
        return pl.DataFrame(series)

    def to_arrow(self) -> pyarrow.Table:
        """The rows as an Arrow table; needs pyarrow."""
        pa = needed("pyarrow", "to_arrow")
        columns = {}
        for column in self._columns():
            kind = _ARROW[column.kind](pa)
            if isinstance(column.values, array):
                buffer = pa.py_buffer(column.values)
                columns[column.name] = pa.Array.from_buffers(kind, len(column.values), [None, buffer])
            else:
                columns[column.name] = pa.array(column.values, type=kind)
        return pa.table(columns)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain dicts and lists, in the shape of the command's JSON."""
        answer: dict[str, Any] = json.loads(self._form("json"))
        return answer

    @overload
    def to_json(self, path: None = None) -> str: ...
    @overload
    def to_json(self, path: str | os.PathLike[str]) -> None: ...
    def to_json(self, path: str | os.PathLike[str] | None = None) -> str | None:
        """The JSON of the command; written to `path` if there is one, else returned."""
        return self._text("json", path)

    @overload
    def to_csv(self, path: None = None) -> str: ...
    @overload
    def to_csv(self, path: str | os.PathLike[str]) -> None: ...
    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str | None:
        """The CSV of the command; written to `path` if there is one, else returned."""
        return self._text("csv", path)

    @overload
    def to_html(self, path: None = None) -> str: ...
    @overload
    def to_html(self, path: str | os.PathLike[str]) -> None: ...
    def to_html(self, path: str | os.PathLike[str] | None = None) -> str | None:
        """A page for a browser; written to `path` if there is one, else returned."""
        return self._text("html", path)

    def to_file(self, path: str | os.PathLike[str], form: str | None = None) -> list[str]:
        raise NotImplementedError

    def _text(self, form: str, path: str | os.PathLike[str] | None) -> str | None:
        if path is None:
            return self._form(form).decode()
        self.to_file(path, form)
        return None

    def _repr_html_(self) -> str:
        return self._form("cell").decode()


def needed(module: str, who: str) -> Any:
    """Imports an optional library, or raises an error that says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"{who}() needs {module}, which is not installed; try `pip install {module}`") from error


def form_of(path: str | os.PathLike[str], forms: dict[str, str]) -> str:
    """The form that the end of a file's name means."""
    name = os.path.basename(os.fspath(path)).lower()
    for end in sorted(forms, key=len, reverse=True):
        if name.endswith(end):
            return forms[end]
    ends = ", ".join(f"{end} ({form})" for end, form in forms.items())
    raise ValueError(f"cannot tell a form by the name {os.fspath(path)!r}; end it with one of {ends}, or give form=")
