"""The options of a view, as keywords."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

from tfprof import _native

F = TypeVar("F", bound=Callable[..., Any])


def documented(function: F) -> F:
    """Appends the options of a view to the text that `help()` shows."""
    options = "\n".join(f"{name}: {about}" for name, about, _ in _native.options())
    text = f"{_dedented(function.__doc__ or '')}\n\nOptions:\n\n{options}"
    function.__doc__ = text
    return function


def helpful(function: F) -> F:
    """Suggests the right keyword for a wrong one. The signature stays."""
    known = function.__code__.co_varnames[: function.__code__.co_argcount + function.__code__.co_kwonlyargcount]

    @functools.wraps(function)
    def checked(*args: Any, **given: Any) -> Any:
        for name in given:
            if name not in known:
                raise TypeError(f"{function.__name__}() got an unexpected keyword `{name}`; {nearest(name, known)}")
        return function(*args, **given)

    return cast(F, checked)


def _dedented(text: str) -> str:
    """A docstring without the indentation of its code."""
    import textwrap

    first, _, rest = text.partition("\n")
    return f"{first.strip()}\n{textwrap.dedent(rest).strip()}".strip()


def given(options: Mapping[str, Any], who: str) -> dict[str, Any]:
    """The options for native code, without those that are `None`."""
    known = [name for name, _, _ in _native.options()]
    asked: dict[str, Any] = {}
    for name, value in options.items():
        if name not in known:
            raise TypeError(f"{who}() has no option `{name}`; {nearest(name, known)}")
        if value is None:
            continue
        if isinstance(value, str) and name == "select":
            value = [word.strip() for word in _native.split_list(value) if word.strip()]
        elif isinstance(value, str) and name.endswith("_regexes"):
            value = _native.split_list(value)
        asked[name] = value
    return asked


def nearest(word: str, known: Sequence[str]) -> str:
    """A suggestion for a misspelled word."""
    import difflib

    near = difflib.get_close_matches(word, known, 1)
    return f"did you mean `{near[0]}`?" if near else f"expected one of {', '.join(known)}"
