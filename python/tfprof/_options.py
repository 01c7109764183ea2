"""The options of a view, as keywords."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict, TypeVar

from tfprof import _native

F = TypeVar("F", bound=Callable[..., Any])


class Options(TypedDict, total=False):
    """The keywords of `scope`, `graph`, `op` and `code`: the options of the command, with its defaults.

    A list may be a single string. A pattern must match a whole name.
    """

    max_depth: int
    """How many levels of the tree to show, the root being the first; in op view, how many rows; 10 by default."""
    min_bytes: int
    """Hide rows whose total of requested bytes is less."""
    min_peak_bytes: int
    min_residual_bytes: int
    min_output_bytes: int
    min_micros: int
    min_accelerator_micros: int
    min_cpu_micros: int
    min_params: int
    min_float_ops: int
    min_occurrence: int
    step: int | str
    """The step to show; -1 is the average of the steps that have a node, `'all'` the sum of everything."""
    order_by: str
    """`name` upwards, a metric downwards, or `depth`; by default the name, in op view the first selected metric."""
    account_type_regexes: str | Sequence[str]
    """Count only nodes with a type (op, device, custom type) that matches one of these."""
    start_name_regexes: str | Sequence[str]
    """Begin at the rows whose name matches one of these."""
    trim_name_regexes: str | Sequence[str]
    """Do not go below rows whose name matches one of these."""
    show_name_regexes: str | Sequence[str]
    hide_name_regexes: str | Sequence[str]
    account_displayed_op_only: bool
    """Sum only shown rows."""
    select: str | Sequence[str]
    """Metrics and details, as `'params'`, `'params,micros'` or a list."""
    output: str
    """Write the answer at once, as in `'json:outfile=F'`; `to_file` does the same."""
    min_macs: int
    min_io_bytes: int
    min_unknown_ops: int
    """Hide rows with fewer nodes of unknown cost."""
    min_device_micros: int
    ops_only: bool
    """Leave out rows that are only name scopes; their children move up."""
    source_lines: bool
    """In code view, append the text of the source line."""
    events: str
    """The events of an XSpace to show as nodes: `ops`, or `all`, events of the runtime included."""
    stacks: str
    """Code view of an XSpace: `source` lines, `python` calls, or `auto`."""
    group_by: str
    """What rows of an XSpace stand for: `view`, `program` (the outermost level) or `category` (op view)."""
    step_marker: str
    """The events that mark steps of an XSpace; used while reading, so pass it to `open`."""
    run: str
    """The run of a log directory; used while reading, so pass it to `open`."""
    original_quirks: bool
    """Reproduce the bugs of the original, figure by figure."""


def documented(function: F) -> F:
    """Appends the options of a view to the text that `help()` shows."""
    options = "\n".join(f"{name}: {about}" for name, about in _native.options())
    text = f"{_dedented(function.__doc__ or '')}\n\nOptions:\n\n{options}"
    function.__doc__ = text
    return function


def _dedented(text: str) -> str:
    """A docstring without the indentation of its code."""
    import textwrap

    first, _, rest = text.partition("\n")
    return f"{first.strip()}\n{textwrap.dedent(rest).strip()}".strip()


def given(options: Mapping[str, Any], who: str) -> dict[str, Any]:
    """The options for native code, without those that are `None`."""
    known = [name for name, _ in _native.options()]
    asked: dict[str, Any] = {}
    for name, value in options.items():
        if name not in known:
            raise TypeError(f"{who}() has no option `{name}`; {nearest(name, known)}")
        if value is None:
            continue
        if isinstance(value, str) and name == "select":
            value = [word.strip() for word in value.split(",") if word.strip()]
        elif isinstance(value, str) and name.endswith("_regexes"):
            value = [value]
        asked[name] = value
    return asked


def nearest(word: str, known: Sequence[str]) -> str:
    """A suggestion for a misspelled word."""
    import difflib

    near = difflib.get_close_matches(word, known, 1)
    return f"did you mean `{near[0]}`?" if near else f"expected one of {', '.join(known)}"
