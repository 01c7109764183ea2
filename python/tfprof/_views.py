"""The four views as methods. Their keywords are the options of the command; `_views.pyi` lists them for editors.

Signatures are made from the table of options, so that `help()` and notebooks complete the keywords.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypedDict

from tfprof import _native, _options

Options = TypedDict("Options", {name: kind for name, _, kind in _native.options()}, total=False)  # type: ignore[misc]
Options.__doc__ = """The keywords of `scope`, `graph`, `op` and `code`: the options of the command, with its defaults.

A list may be a single string. A pattern must match a whole name.
"""


def _signature() -> inspect.Signature:
    """`(self, *, max_depth: int | None = None, …) -> View`."""
    parameter = inspect.Parameter
    keywords = [
        parameter(name, parameter.KEYWORD_ONLY, default=None, annotation=f"{kind} | None")
        for name, _, kind in _native.options()
    ]
    own = parameter("self", parameter.POSITIONAL_OR_KEYWORD)
    return inspect.Signature([own, *keywords], return_annotation="View")


def _view(command: str, about: str) -> Callable[..., Any]:
    def ask(self: Any, **options: Any) -> Any:
        return self._view(command, options)

    ask.__name__, ask.__qualname__, ask.__doc__ = command, f"Profile.{command}", about
    ask.__signature__ = _SIGNATURE  # type: ignore[attr-defined]
    return _options.documented(ask)


_SIGNATURE = _signature()


class Views:
    """The views of a profile."""

    scope = _view("scope", "Nodes by name scope: `a/b` is a child of `a`.")
    graph = _view("graph", "Nodes by data flow: the inputs of a node are its children.")
    op = _view("op", "Nodes by op type, one row for each type.")
    code = _view("code", "Nodes by the line of Python that created them; needs the traces of a live graph or an op log.")

    def _view(self, command: str, options: Mapping[str, Any]) -> Any:
        raise NotImplementedError
