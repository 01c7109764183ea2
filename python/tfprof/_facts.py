"""Tables of everything that is loaded, and answers in SQL: for pandas, polars, DuckDB and pyarrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

from tfprof import _native
from tfprof._tables import needed

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

# The number of rows that `repr` prints.
_SHOWN = 10


class Facts(Sequence[dict[str, Any]]):
    """Rows with typed columns. pandas, polars, DuckDB and pyarrow take it as it is; rows are dicts. None is unknown.

    >>> import tfprof
    >>> steps = tfprof.demo().table("steps")
    >>> steps.columns[:3]
    ['step', 'host', 'start_ps']
    >>> steps[0]["runs"] == tfprof.demo().sql("select sum(runs) from totals where step = 0")[0]["sum(runs)"]
    True
    """

    name: str
    """The name of the table; empty for an answer in SQL."""
    columns: list[str]
    """The names of the columns."""

    def __init__(self, name: str, rows: _native.TypedRows) -> None:
        self.name = name
        self._rows = rows
        self.columns = [column[0] for column in rows.schema]

    def unit(self, column: str) -> str:
        """The unit of a column, such as `ps` or `bytes`; empty if it has none."""
        for name, _, unit, _, _ in self._rows.schema:
            if name == column:
                return unit
        raise KeyError(f"there is no column `{column}`; expected one of {', '.join(self.columns)}")

    def about(self, column: str) -> str:
        """What a column holds."""
        for name, _, _, _, about in self._rows.schema:
            if name == column:
                return about
        raise KeyError(f"there is no column `{column}`; expected one of {', '.join(self.columns)}")

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, place: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, place: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, place: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        if isinstance(place, slice):
            return [self._row(at) for at in range(*place.indices(len(self)))]
        at = place.__index__()
        if not -len(self) <= at < len(self):
            raise IndexError(f"there is no row {at}; the table has {len(self)}")
        return self._row(at % len(self))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self._row(at) for at in range(len(self)))

    def _row(self, at: int) -> dict[str, Any]:
        return dict(zip(self.columns, self._rows.row(at)))

    def __arrow_c_schema__(self) -> object:
        return self._rows.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Arrow's PyCapsule interface."""
        return self._rows.__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> pyarrow.Table:
        """The rows as an Arrow table; needs pyarrow."""
        return needed("pyarrow", "to_arrow").table(self)

    def to_polars(self) -> polars.DataFrame:
        """The rows as a polars DataFrame; needs polars."""
        return needed("polars", "to_polars").DataFrame(self)

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a pandas DataFrame; needs pandas, and pyarrow for pandas before 3."""
        frame = needed("pandas", "to_pandas").DataFrame
        if hasattr(frame, "from_arrow"):
            return frame.from_arrow(self)
        return needed("pyarrow", "to_pandas").table(self).to_pandas()

    def __repr__(self) -> str:
        lines = [" | ".join(self.columns)]
        for row in self[:_SHOWN]:
            lines.append(" | ".join("" if cell is None else str(cell) for cell in row.values()))
        if len(self) > _SHOWN:
            lines.append(f"… {len(self) - _SHOWN:,} more rows")
        return "\n".join(lines)
