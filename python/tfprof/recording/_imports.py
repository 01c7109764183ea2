"""Calls a function when the program has imported a module: now, or as soon as it does."""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

# An attribute that a module has once its import is complete.
_COMPLETE = {"tensorflow": "compat", "jax": "jit", "torch": "profiler", "keras": "Model"}


@contextlib.contextmanager
def when_loaded(name: str, then: Callable[[str], None]) -> Iterator[None]:
    """Calls `then` once with the name of a module, when it is loaded, as long as the context is open."""
    if hasattr(sys.modules.get(name), _COMPLETE[name]):
        then(name)
        yield
        return
    finder = _Finder(name, then)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):
            sys.meta_path.remove(finder)


class _Finder(importlib.abc.MetaPathFinder):
    """A meta path finder that delegates to the others, and watches the loader of one module."""

    def __init__(self, name: str, then: Callable[[str], None]) -> None:
        self._name, self._then = name, then

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._then)
        return spec


class _Loader(importlib.abc.Loader):
    """Loads a module, then calls a function."""

    def __init__(self, loader: Any, then: Callable[[str], None]) -> None:
        self._loader, self._then = loader, then

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)  # type: ignore[no-any-return]

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._then(module.__name__)
