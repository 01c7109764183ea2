"""`tfprof.checkpoint`: names, shapes and values of variables, without TensorFlow."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tfprof import _native, _options
from tfprof._api import write_file
from tfprof._open import tell_damage
from tfprof._tables import Column, Table, form_of, needed
from tfprof._view import harmless, keep_inputs, path_of

if TYPE_CHECKING:
    import numpy

Patterns = str | Sequence[str]
_FORMS = {".txt": "file", ".json": "json", ".csv": "csv", ".html": "html", ".htm": "html"}
# The number of lines that `repr` prints.
_SHOWN = 200
_STATS = ("min", "max", "mean", "std", "zeros", "nan", "inf")
# TensorFlow's quantised types are plain numbers.
_PLAIN = {"qint8": "int8", "quint8": "uint8", "qint16": "int16", "quint16": "uint16", "qint32": "int32"}
# NumPy knows these only with the help of ml_dtypes.
_SMALL = ("bfloat16", "float8", "float4", "int4", "uint4", "int2", "uint2")


class Tensor(NamedTuple):
    """A tensor of a checkpoint."""

    name: str
    """The name under which it is stored."""
    dtype: str
    shape: tuple[int, ...]
    parameters: int
    """How many elements it has."""
    bytes: int | None
    """The size of its values; None if it is unknown until they are read."""
    shard: int | list[int] | None
    """The data file that holds it, or several."""
    readable: str | None
    """Its readable name, if that differs."""
    stats: dict[str, Any] | None
    """`min`, `max`, `mean`, `std`, `zeros`, `nan`, `inf` and `histogram`, if `stats` was asked for."""


@_options.helpful
def checkpoint(
    path: str | os.PathLike[str],
    *,
    stats: bool = False,
    order_by: str | None = None,
    show_name_regexes: Patterns | None = None,
    hide_name_regexes: Patterns | None = None,
    min_params: int | None = None,
    min_bytes: int | None = None,
) -> Checkpoint:
    """Opens a checkpoint of any TensorFlow format, by its prefix, one of its files, or its directory.

    Only its index is read. `stats` looks at all numbers. The others choose and sort as for `tfprof checkpoint`: `order_by` is
    `name`, `params`, `bytes` or `depth`.

    >>> import tempfile, tfprof
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     _ = tfprof.demo(write=directory)
    ...     ckpt = tfprof.checkpoint(f"{directory}/model.ckpt", order_by="params", min_params=1000)
    ...     print(ckpt)
    name                             dtype    shape      parameters   bytes  shard
    unit_1_0/sub1/conv1/DW           float32  3x3x16x16       2.30k  9.22KB      0
    unit_1_0/sub1/conv1/DW/Momentum  float32  3x3x16x16       2.30k  9.22KB      0
    unit_1_0/sub2/conv2/DW           float32  3x3x16x16       2.30k  9.22KB      0
    unit_1_0/sub2/conv2/DW/Momentum  float32  3x3x16x16       2.30k  9.22KB      0
    <BLANKLINE>
    4 of 16 tensors, 9.22k parameters, 36.86KB in 1 shard
    """
    native = _native.Checkpoint(path_of(path))
    tell_damage(native.damage)
    return Checkpoint(native, stats, _chosen(order_by, show_name_regexes, hide_name_regexes, min_params, min_bytes))


def _chosen(
    order_by: str | None, show: Patterns | None, hide: Patterns | None, min_params: int | None, min_bytes: int | None
) -> dict[str, Any]:
    """The options of a listing, for native code."""
    names = ("order_by", "show_name_regexes", "hide_name_regexes", "min_params", "min_bytes")
    return _options.given(dict(zip(names, (order_by, show, hide, min_params, min_bytes), strict=True)), "checkpoint")


class Listing(Table):
    """A table that native code writes in each form."""

    _kind = "a checkpoint"

    def _list(self, form: str) -> bytes:
        raise NotImplementedError

    def _inputs(self) -> list[os.PathLike[str]]:
        raise NotImplementedError

    def _form(self, form: str) -> bytes:
        return self._list(form)

    def to_file(self, path: str | os.PathLike[str], form: str | None = None) -> list[str]:
        """Writes the table as text, JSON, CSV or HTML, by the file name's ending or by `form`; returns the names of files."""
        target = path_of(path)
        form = form_of(target, _FORMS) if form is None else form
        if form not in _FORMS.values():
            raise ValueError(f"unknown form {form!r}; {self._kind} has file, json, csv and html")
        keep_inputs(target, self._inputs())
        write_file(target, self._list(form))
        return [target]

    def __str__(self) -> str:
        return self._list("file").decode().rstrip("\n")

    def __repr__(self) -> str:
        lines = str(self).split("\n")
        if len(lines) <= _SHOWN + 3:
            return harmless("\n".join(lines))
        left = len(lines) - _SHOWN - 3
        return harmless("\n".join([*lines[: _SHOWN + 1], f"… {left:,} more; print() shows all", *lines[-2:]]))


class Checkpoint(Listing):
    """The tensors of a checkpoint: a table to look at, and arrays by name.

    Iteration gives what is known of each tensor. `ckpt["w"]` reads a tensor as a NumPy array and `ckpt["w", 0:2, ..., 3]`
    a part of it, of which no more is read than what is asked for. A name may be the stored one or the one people know
    it by.
    """

    def __init__(self, native: _native.Checkpoint, stats: bool, options: dict[str, Any]) -> None:
        self._native = native
        self._stats = bool(stats)
        self._options = options
        self._tensors: list[Tensor] | None = None
        if options:
            # A wrong question is an error where it is asked.
            self._rows()

    @property
    def path(self) -> str:
        """The prefix of its files."""
        return self._native.name

    @property
    def damage(self) -> list[str]:
        """Damage found while opening it."""
        return self._native.damage

    @_options.helpful
    def table(
        self,
        *,
        stats: bool = False,
        order_by: str | None = None,
        show_name_regexes: Patterns | None = None,
        hide_name_regexes: Patterns | None = None,
        min_params: int | None = None,
        min_bytes: int | None = None,
    ) -> Checkpoint:
        """The same checkpoint with other tensors, in another order, or with statistics; keywords as in `tfprof.checkpoint`."""
        chosen = _chosen(order_by, show_name_regexes, hide_name_regexes, min_params, min_bytes)
        return Checkpoint(self._native, stats, chosen)

    def _list(self, form: str) -> bytes:
        data, damage = self._native.list(form, self._options, self._stats)
        tell_damage(damage)
        return data

    def _inputs(self) -> list[os.PathLike[str]]:
        return self._native.files

    def _rows(self) -> list[Tensor]:
        if self._tensors is None:
            self._tensors = [_tensor(row) for row in self.to_dict()["rows"]]
        return self._tensors

    def __len__(self) -> int:
        return len(self._rows())

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self._rows())

    def __contains__(self, name: object) -> bool:
        try:
            return isinstance(name, str) and bool(self._native.find(name))
        except KeyError:
            return False

    def keys(self) -> list[str]:
        """The stored names."""
        return [tensor.name for tensor in self]

    def __getitem__(self, key: str | tuple[Any, ...]) -> Any:
        """A tensor as a NumPy array; behind its name, a part of it."""
        if isinstance(key, tuple):
            return self.values(key[0] if key else None, key[1:])  # type: ignore[arg-type]
        return self.values(key)

    def values(self, name: str, part: Any = ()) -> numpy.ndarray[Any, Any]:
        """A tensor as a NumPy array; needs NumPy.

        `part` is what would stand in brackets behind the array, as `numpy.s_[0:2, ..., -1]` makes it; `"w[0:2]"` as a
        name does the same. Strings are an array of `bytes` objects. bfloat16, float8 and integers of less than a byte
        have the types of ml_dtypes where that is installed, else float32 and int8, which hold them exactly.
        """
        if not isinstance(name, str):
            raise TypeError(f"name: expected the name of a tensor, found {type(name).__name__}")
        np = needed("numpy", "values")
        try:
            stored, dtype, shape = self._native.find(name)
        except KeyError:
            base, bracket, inner = name.rpartition("[")
            if not bracket or not inner.endswith("]") or base not in self:
                raise
            return self.values(base, _parsed(inner[:-1]))
        ranges, finish = _ranges(part, shape, stored)
        small = _small_type(dtype)
        kind, data, damage = self._native.values(stored, ranges, dtype.startswith(_SMALL) and small is None)
        tell_damage(damage)
        values: Any
        if isinstance(data, list):
            values = np.empty(len(data), dtype=object)
            values[:] = data
        elif kind == "bool":
            values = np.frombuffer(data, dtype=np.uint8) != 0
        else:
            values = np.frombuffer(data, dtype=small if small is not None else np.dtype(_PLAIN.get(kind, kind)))
        values = values.reshape(shape if ranges is None else [stop - start for start, stop in ranges])
        return values if ranges is None else values[finish]  # type: ignore[no-any-return]

    def stats(self) -> Checkpoint:
        """The same table with minimum, maximum, mean and other statistics of each tensor."""
        return Checkpoint(self._native, True, self._options)

    def verify(self) -> Verdict:
        """Reads everything and checks every checksum and every length."""
        return Verdict(*self._native.verify())

    @_options.helpful
    def compare(
        self,
        other: Checkpoint | str | os.PathLike[str],
        *,
        stats: bool = False,
        order_by: str | None = None,
        show_name_regexes: Patterns | None = None,
        hide_name_regexes: Patterns | None = None,
        min_params: int | None = None,
        min_bytes: int | None = None,
    ) -> Comparison:
        """Compares it with another checkpoint: tensors that only one has and, with `stats`, different values.

        Keywords as in `tfprof.checkpoint`.
        """
        if not isinstance(other, Checkpoint):
            other = checkpoint(other)
        chosen = _chosen(order_by, show_name_regexes, hide_name_regexes, min_params, min_bytes)
        return Comparison(self._native, other._native, bool(stats), chosen)

    def _columns(self) -> list[Column]:
        rows = self._rows()
        shards = [[] if row.shard is None else row.shard if isinstance(row.shard, list) else [row.shard] for row in rows]
        columns = [
            Column("name", "text", [row.name for row in rows]),
            Column("dtype", "text", [row.dtype for row in rows]),
            Column("shape", "ints", [list(row.shape) for row in rows]),
            Column("parameters", "int", [row.parameters for row in rows]),
            Column("bytes", "optional int", [row.bytes for row in rows]),
            Column("shard", "ints", shards),
        ]
        if any(row.readable is not None for row in rows):
            columns.append(Column("readable", "text", [row.readable for row in rows]))
        if self._stats:
            for name in _STATS:
                kind = "optional int" if name in ("zeros", "nan", "inf") else "float"
                columns.append(Column(name, kind, [_number(row.stats, name, kind) for row in rows]))
        return columns


class Comparison(Listing):
    """How one checkpoint differs from another: tensors that were removed, added or changed."""

    _kind = "a comparison"

    def __init__(
        self, before: _native.Checkpoint, after: _native.Checkpoint, stats: bool, options: dict[str, Any]
    ) -> None:
        self._before, self._after, self._stats, self._options = before, after, stats, options
        self._data: dict[str, Any] = self.to_dict()

    def _list(self, form: str) -> bytes:
        data, damage = self._before.compare(self._after, form, self._options, self._stats)
        tell_damage(damage)
        return data

    def _inputs(self) -> list[os.PathLike[str]]:
        return [*self._before.files, *self._after.files]

    @property
    def same(self) -> int:
        """How many tensors do not differ, as far as was looked at."""
        return int(self._data["same"])

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Those that differ: `name`, `change`, `before`, `after`, and with `stats` also `max_abs` and `relative`."""
        return list(self._data["rows"])

    def __len__(self) -> int:
        return len(self._data["rows"])

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def _columns(self) -> list[Column]:
        rows = self._data["rows"]
        columns = [
            Column("name", "text", [row["name"] for row in rows]),
            Column("change", "text", [row["change"] for row in rows]),
        ]
        for side in ("before", "after"):
            known = [row[side] or {} for row in rows]
            columns.append(Column(f"dtype_{side}", "text", [one.get("dtype") for one in known]))
            columns.append(Column(f"shape_{side}", "ints", [one.get("shape") for one in known]))
        for name in ("max_abs", "relative"):
            columns.append(Column(name, "float", [_number(row, name, "float") for row in rows]))
        return columns


class Verdict:
    """The result of verifying a checkpoint. True if nothing is damaged."""

    def __init__(self, text: str, data: str, html: str) -> None:
        self._text, self._html = text, html
        self._data: dict[str, Any] = json.loads(data)

    @property
    def ok(self) -> bool:
        """Whether nothing is damaged."""
        return not self._data["damage"]

    @property
    def damage(self) -> list[dict[str, Any]]:
        """Each damaged place: `file`, `offset`, `tensor` and `message`."""
        return list(self._data["damage"])

    def to_dict(self) -> dict[str, Any]:
        """Everything, in the shape of the command's JSON."""
        return dict(self._data)

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        return self._text.rstrip("\n")

    def _repr_html_(self) -> str:
        return self._html


def _tensor(row: dict[str, Any]) -> Tensor:
    shape = tuple(row["shape"])
    names = ("name", "dtype", "parameters", "bytes", "shard")
    return Tensor(shape=shape, readable=row.get("readable"), stats=row.get("stats"), **{key: row[key] for key in names})


def _number(row: dict[str, Any] | None, name: str, kind: str) -> Any:
    """A number of JSON, in which those that are not finite are words."""
    value = (row or {}).get(name)
    return value if value is None or kind != "float" else float(value)


def _small_type(dtype: str) -> Any:
    """The type of ml_dtypes for one that NumPy has not, if that is installed and knows it."""
    if not dtype.startswith(_SMALL):
        return None
    try:
        return getattr(importlib.import_module("ml_dtypes"), dtype, None)
    except ImportError:
        return None


def _parsed(text: str) -> tuple[Any, ...]:
    """The index in `w[0:2, :]`."""
    items: list[Any] = []
    for item in text.split(","):
        numbers = [number.strip() for number in item.split(":")]
        try:
            if item.strip() == "...":
                items.append(...)
            elif len(numbers) == 1:
                items.append(int(numbers[0]))
            else:
                items.append(slice(*(int(number) if number else None for number in numbers)))
        except (TypeError, ValueError):
            raise ValueError(f"expected numbers and ranges in brackets, found `[{text}]`") from None
    return tuple(items)


def _ranges(part: Any, shape: list[int], name: str) -> tuple[list[tuple[int, int]] | None, tuple[Any, ...]]:
    """The range to read in each dimension, and the index to apply to the array afterwards."""
    items = part if isinstance(part, tuple) else (part,)
    if not items:
        return None, ()
    spread = [place for place, item in enumerate(items) if item is Ellipsis]
    if len(spread) > 1 or len(items) - len(spread) > len(shape):
        raise IndexError(f"`{name}` has {len(shape)} dimensions; {len(items)} indices do not fit")
    at = spread[0] if spread else len(items)
    rest = (slice(None),) * (len(shape) - len(items) + len(spread))
    ranges: list[tuple[int, int]] = []
    finish: list[Any] = []
    for item, dim in zip((*items[:at], *rest, *items[at + 1 :]), shape, strict=True):
        if isinstance(item, slice):
            places = range(*item.indices(dim))
            ranges.append((min(places[0], places[-1]), max(places[0], places[-1]) + 1) if places else (0, 0))
            finish.append(slice(None, None, places.step))
        elif hasattr(item, "__index__") and not isinstance(item, bool):
            place = item.__index__()
            if not -dim <= place < dim:
                raise IndexError(f"{place} is outside of a dimension of {dim}; `{name}` has the shape {shape}")
            ranges.append((place % dim, place % dim + 1))
            finish.append(0)
        else:
            raise TypeError(f"expected numbers, slices or ... behind the name of a tensor, found {type(item).__name__}")
    return ranges, tuple(finish)
