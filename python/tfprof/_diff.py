"""`tfprof.diff`: what changed between two runs or models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, overload

from tfprof import _native, _options
from tfprof._open import Profile, open
from tfprof._view import Numbers, Row, View, answered
from tfprof._views import Views

_FIGURES = ("before", "after", "difference", "percent", "low", "high")


def diff(
    before: Any,
    after: Any,
    *,
    rename: str | Iterable[str] = (),
    warmup: int | str = "auto",
    unchanged: bool | None = None,
    names: tuple[str, str] | None = None,
) -> Diff:
    """Compares two runs or models: profiles of `tfprof.open`, or anything that it takes.

    `rename` is `s/PATTERN/REPLACEMENT/`, or several: names before, as they are called after. `warmup` is the number of first
    steps to leave out on each side, `auto` (those that are slower than the rest) or `keep`. With `unchanged`, printed answers
    show rows without any difference, too. `names` are what the sides are called; the default are their paths.

    >>> import tfprof
    >>> shape = 'attr { key: "shape" value { shape { dim { size: %d } } } }'
    >>> old, new = ((f'node {{ name: "w" op: "VariableV2" {shape % n} }}').encode() for n in (8, 10))
    >>> d = tfprof.diff(old, new)
    >>> row = d.scope(select="params")["w"]
    >>> row.status, row.before.total["params"], row.after.total["params"], row.percent.total["params"]
    ('changed', 8.0, 10.0, 25.0)
    """
    sides = [side if isinstance(side, Profile) else open(side) for side in (before, after)]
    called = names or (_name(before, "before"), _name(after, "after"))
    given = [rename] if isinstance(rename, str) else list(rename)
    native = _native.Comparison(
        sides[0]._native,
        sides[1]._native,
        (str(called[0]), str(called[1])),
        rename=given,
        warmup=str(warmup),
        unchanged=unchanged,
    )
    return Diff(native)


def _name(side: Any, otherwise: str) -> str:
    return str(side) if isinstance(side, str) or hasattr(side, "__fspath__") else otherwise


class Diff(Views):
    """Two sides. `scope`, `graph`, `op` and `code` take the options of the views, and return a `Difference`."""

    def __init__(self, native: _native.Comparison) -> None:
        self._native = native

    def _view(self, command: str, options: Mapping[str, Any]) -> Difference:
        asked = _options.given(options, command)
        return answered(Difference, self._native, command, asked)


class Sides:
    """A figure of a row: of the row alone, and of everything in it."""

    __slots__ = ("self", "total")

    def __init__(this, own: Numbers, total: Numbers) -> None:  # noqa: N805
        this.self = own
        this.total = total

    def __repr__(this) -> str:  # noqa: N805
        return f"Sides(self={dict(this.self)}, total={dict(this.total)})"


class Difference(View):
    """The rows of two sides, the largest change first.

    Printed, it is the report of `tfprof diff`; in a notebook, a tree with diverging bars. Tables and data frames have columns
    such as `before_total_micros`, `after_total_micros`, `difference_total_micros` and `percent_total_micros`, and `status`.
    """

    _sides = tuple(f"{figure}_{side}_" for figure in _FIGURES for side in ("self", "total"))

    @overload  # type: ignore[override]
    def __getitem__(self, key: int | str) -> ChangedRow: ...
    @overload
    def __getitem__(self, key: slice) -> list[ChangedRow]: ...
    def __getitem__(self, key: int | str | slice) -> Any:
        found = super().__getitem__(key)
        if isinstance(found, list):
            return [ChangedRow(self, row.id) for row in found]
        return ChangedRow(self, found.id)

    def __iter__(self) -> Iterator[ChangedRow]:
        return (ChangedRow(self, place) for place in range(len(self)))


class ChangedRow(Row):
    """A row of a `Difference`. `self` and `total` are the numbers after."""

    __slots__ = ()

    @property
    def status(self) -> str:
        """`changed`, `added`, `removed`, `differs` (the noise is unknown), `noise` or `same`."""
        return str(self._detail("status"))

    @property
    def match(self) -> str | None:
        """How both sides found each other: `name`, `rename` or `guess`; None for a row of one side."""
        match: str | None = self._detail("match")
        return match

    @property
    def before_name(self) -> str | None:
        """The name on the first side, if it was another."""
        name: str | None = self._detail("before_name")
        return name

    @property
    def before(self) -> Sides:
        """The numbers on the first side."""
        return self._figure("before")

    @property
    def after(self) -> Sides:
        """The numbers on the second side."""
        return self._figure("after")

    @property
    def difference(self) -> Sides:
        """After minus before."""
        return self._figure("difference")

    @property
    def percent(self) -> Sides:
        """The difference in percent of the number before."""
        return self._figure("percent")

    def _figure(self, figure: str) -> Sides:
        return Sides(self._side_of(figure, "self"), self._side_of(figure, "total"))

    def _side_of(self, figure: str, side: str) -> Numbers:
        numbers = self._view._numbers
        return Numbers((key, numbers[f"{figure}_{side}_{key}"][self.id]) for key in self._view.metrics)

    def _side(self, side: str) -> Numbers:
        return self._side_of("after", side)

    def __repr__(self) -> str:
        change = dict(self.difference.total)
        return f"ChangedRow({self.id}, {self.name!r}, {self.status}, difference={change})"
