"""What can be asked of a view, as keywords."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from tfprof import _native


class Options(TypedDict, total=False):
    """The keywords of `scope`, `graph`, `op` and `code`: the options of the command, with its defaults.

    Where the command takes a list, a single string will do. A pattern must match a whole name.
    """

    max_depth: int
    """How many levels of the tree to show, the root being the first; in op view, how many rows."""
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
    """`name` upwards, a metric downwards, or `depth`."""
    account_type_regexes: str | Sequence[str]
    """Count only nodes with a type (op, device, custom type) that matches one of these."""
    start_name_regexes: str | Sequence[str]
    """Begin at the rows whose name matches one of these."""
    trim_name_regexes: str | Sequence[str]
    """Do not go below rows whose name matches one of these."""
    show_name_regexes: str | Sequence[str]
    hide_name_regexes: str | Sequence[str]
    account_displayed_op_only: bool
    """Sum only what is shown."""
    select: str | Sequence[str]
    """Metrics and details, as `'params'`, `'params,micros'` or a list."""
    output: str
    """Write the answer at once, as in `'json:outfile=F'`; `to_file` does the same."""
    min_macs: int
    min_io_bytes: int
    min_unknown_ops: int
    """Hide rows with fewer nodes of unknown cost."""
    ops_only: bool
    """Leave out rows that are only name scopes, and lift what lies below them."""
    source_lines: bool
    """In code view, append the text of the source line."""
    events: str
    """Which events of an XSpace are nodes: `ops`, or `all`, with what the runtime did around them."""
    stacks: str
    """Code view of an XSpace: `source` lines, `python` calls, or `auto`."""
    step_marker: str
    """What marks the steps of an XSpace; it matters when files are read, so give it to `open`."""
    run: str
    """The run of a log directory; it matters when files are read, so give it to `open`."""
    original_quirks: bool
    """Reproduce the bugs of the original, figure by figure."""


def given(options: Mapping[str, Any], who: str) -> dict[str, Any]:
    """The options as native code takes them; those that are `None` are as if they were not there."""
    known = _native.option_names()
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
    """What a user may have meant."""
    import difflib

    near = difflib.get_close_matches(word, known, 1)
    return f"did you mean `{near[0]}`?" if near else f"expected one of {', '.join(known)}"
