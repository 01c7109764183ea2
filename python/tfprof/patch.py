"""TensorFlow's own profiler, run by tfprof: for code that nobody wants to edit.

`patch_tensorflow()` replaces, in place, what `tf.compat.v1.profiler`, `tf.compat.v1.train.ProfilerHook` and
`timeline.Timeline` call underneath, so it does not matter who imported what before. `unpatch_tensorflow()` puts back
what was there. From outside:

    python -m tfprof.patch train.py --steps 1000
    python -m tfprof.patch -m package.train --steps 1000
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

from tfprof import _api, _messages, _native, profile_context, timeline

__all__ = ["main", "patch_tensorflow", "unpatch_tensorflow"]

_LOCK = threading.RLock()
_MISSING = object()
# What was replaced: the owner, the name, and what was there.
_REPLACED: list[tuple[Any, str, Any]] = []
_REMOVED_MODULES: list[str] = []


def patch_tensorflow() -> None:
    """Lets TensorFlow's profiler, its `ProfilerHook` and its `Timeline` run on tfprof, for code that has them already too.

    Imports TensorFlow. Calling it again does nothing.
    """
    with _LOCK:
        if _REPLACED:
            return
        try:
            for owner, name, value in _replacements():
                _REPLACED.append((owner, name, vars(owner).get(name, _MISSING)))
                setattr(owner, name, value)
            _add_profile_context()
        except BaseException:
            unpatch_tensorflow()
            raise


def unpatch_tensorflow() -> None:
    """Puts back what `patch_tensorflow` replaced. Without a patch it does nothing."""
    with _LOCK:
        while _REPLACED:
            owner, name, value = _REPLACED.pop()
            if value is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, value)
        while _REMOVED_MODULES:
            sys.modules.pop(_REMOVED_MODULES.pop(), None)
        _CURRENT.native = None


def _replacements() -> list[tuple[Any, str, Any]]:
    """Each place in TensorFlow, and what takes it."""
    _messages.tensorflow("patch_tensorflow")
    from tensorflow.python.client import timeline as their_timeline
    from tensorflow.python.profiler import model_analyzer, tfprof_logger
    from tensorflow.python.training import basic_session_run_hooks
    from tensorflow.python.util import _pywrap_tfprof

    timelines, profilers = their_timeline.Timeline, model_analyzer.Profiler
    found: list[tuple[Any, str, Any]] = [
        (tfprof_logger, "merge_default_with_oplog", _api.merge_default_with_oplog),
        (basic_session_run_hooks.ProfilerHook, "_save", _save),
        (timelines, "analyze_step_stats", _for_timelines(timelines, "analyze_step_stats")),
        (timelines, "generate_chrome_trace_format", _for_timelines(timelines, "generate_chrome_trace_format")),
    ]
    found += [(_pywrap_tfprof, function.__name__, function) for function in _FUNCTIONS]
    found.append((profilers, "__init__", _begin))
    return found


# TensorFlow's native module. It knows one profiler, which comes and goes with no more than these calls.


class _Current:
    """The profiler that the native module's functions speak of."""

    native: _native.Profile | None = None

    def get(self) -> _native.Profile:
        if self.native is None:
            raise _native.Error("there is no profiler: one that was made before patch_tensorflow() must be made again")
        return self.native


_CURRENT = _Current()


def PrintModelAnalysis(graph: Any, run_meta: Any, op_log: Any, cmd: Any, options: Any) -> bytes:
    word = _text(cmd)
    native = _native.Profile(word)
    _add(native, graph, op_log, run_meta, 0)
    return _answer(native, word, options)


def NewProfiler(graph: Any, op_log: Any) -> bool:
    native = _native.Profile()
    _add(native, graph, op_log)
    _CURRENT.native = native
    return True


def ProfilerFromFile(filename: Any) -> None:
    native = _native.Profile()
    native.load([os.fsdecode(filename)])
    _api.tell(native.warnings())
    _CURRENT.native = native


def DeleteProfiler() -> None:
    _CURRENT.native = None


def AddStep(step: int, graph: Any, run_meta: Any, op_log: Any) -> float:
    native = _CURRENT.get()
    _add(native, graph, op_log, run_meta, step)
    return _api.coverage(native)


def Profile(cmd: Any, options: Any) -> bytes:
    return _answer(_CURRENT.get(), _text(cmd), options)


def SerializeToString() -> bytes:
    return _CURRENT.get().serialize(True)


def WriteProfile(filename: Any) -> None:
    _api.write_file(os.fsdecode(filename), SerializeToString())


_FUNCTIONS = (
    PrintModelAnalysis,
    NewProfiler,
    ProfilerFromFile,
    DeleteProfiler,
    AddStep,
    Profile,
    SerializeToString,
    WriteProfile,
)


def _add(native: _native.Profile, graph: Any, op_log: Any, run_meta: Any = b"", step: int = 0) -> None:
    for what, message in (("graph", graph), ("run_meta", run_meta), ("op_log", op_log)):
        data = _bytes(message)
        if data:
            native.add(what, data, step)
    _api.tell(native.warnings())


def _answer(native: _native.Profile, cmd: str, options: Any) -> bytes:
    from tensorflow.core.profiler import tfprof_options_pb2

    # As the original: what is wrong with a question is said, and the answer is empty.
    try:
        if cmd == "advise":
            asked = tfprof_options_pb2.AdvisorOptionsProto.FromString(_bytes(options))
            return _api.advice_bytes(native, list(asked.checkers))
        message = tfprof_options_pb2.OptionsProto.FromString(_bytes(options))
        question = {field.name: getattr(message, field.name) for field in message.DESCRIPTOR.fields}
        return _api.ask_bytes(native, cmd, question)
    except _native.Error as error:
        _api.tell([str(error)])
        return b""


def _bytes(message: Any) -> bytes:
    return message.encode() if isinstance(message, str) else bytes(message)


def _text(cmd: Any) -> str:
    return cmd if isinstance(cmd, str) else bytes(cmd).decode()


# An object of TensorFlow's Profiler is given a class between its own and TensorFlow's, with our methods: so each has a
# profile of its own, and keeps it after unpatch_tensorflow().

_ANSWERS = {
    "profile_python": "MultiGraphNodeProto",
    "profile_operations": "MultiGraphNodeProto",
    "profile_name_scope": "GraphNodeProto",
    "profile_graph": "GraphNodeProto",
    "advise": "AdviceProto",
}
_CLASSES: dict[type, type] = {}


def _begin(self: Any, graph: Any = None, op_log: Any = None) -> None:
    """Replaces `Profiler.__init__`."""
    self.__class__ = _with_our_methods(type(self))
    _api.Profiler.__init__(self, graph, op_log)


def _with_our_methods(kind: type) -> type:
    from tensorflow.python.profiler import model_analyzer

    theirs = model_analyzer.Profiler
    if theirs not in _CLASSES:
        methods = {name: method for name, method in vars(_api.Profiler).items() if name not in ("__dict__", "__weakref__")}
        methods.update({name: _lenient(name, result) for name, result in _ANSWERS.items()})
        ours = type("Profiler", (theirs,), {**methods, "__del__": _nothing})
        _CLASSES[theirs] = _CLASSES[ours] = ours
    if kind not in _CLASSES:
        _CLASSES[kind] = type(kind.__name__, (kind, _CLASSES[theirs]), {"__module__": kind.__module__})
    return _CLASSES[kind]


def _lenient(name: str, result: str) -> Callable[..., Any]:
    method: Callable[..., Any] = vars(_api.Profiler)[name]

    def ask(self: Any, options: Mapping[str, Any] | None = _api.DEFAULT) -> Any:
        # As the original: what is wrong with a question is said, and the answer is empty.
        try:
            return method(self, options)
        except _native.Error as error:
            _api.tell([str(error)])
            return _messages.message_class(result)()

    ask.__name__, ask.__doc__ = name, method.__doc__
    return ask


def _nothing(self: Any) -> None:
    """An object's profile goes with it, and no other does."""


# Timelines and the hook.


def _for_timelines(timelines: Any, name: str) -> Callable[..., Any]:
    original, ours = vars(timelines)[name], vars(timeline.Timeline)[name]

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        # Whoever changes how events are made wants those events.
        classes = type(self).__mro__
        changed = [attribute for kind in classes[: classes.index(timelines)] for attribute in vars(kind)]
        changed += vars(self)
        own = [attribute for attribute in changed if callable(vars(timelines).get(attribute))]
        return original(self, *args, **kwargs) if set(own) - {"__init__"} else ours(self, *args, **kwargs)

    method.__name__, method.__doc__ = name, ours.__doc__
    return method


def _save(self: Any, step: int, save_path: Any, step_stats: Any) -> None:
    """Replaces `ProfilerHook._save`. The file is there, whole, when a run returns, as it always was."""
    from tfprof import _hook

    _hook.save_now(step, save_path, step_stats, self._show_dataflow, self._show_memory)


def _add_profile_context() -> None:
    """TensorFlow's package has its profile contexts in the source tree only."""
    name = "tensorflow.python.profiler.profile_context"
    if importlib.util.find_spec(name) is None:
        from tensorflow.python import profiler as package

        sys.modules[name] = profile_context
        _REMOVED_MODULES.append(name)
        _REPLACED.append((package, "profile_context", vars(package).get("profile_context", _MISSING)))
        package.profile_context = profile_context


# python -m tfprof.patch


class _WhenImported(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Patches TensorFlow as soon as the script imports it, and not before: scripts set variables that TensorFlow reads."""

    _loader: importlib.abc.Loader

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != "tensorflow":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            self._loader, spec.loader = spec.loader, self
        return spec

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        patch_tensorflow()


def main(words: Sequence[str] | None = None) -> None:
    """Runs a script, or a module after `-m`, with a TensorFlow that is patched."""
    import runpy

    words = sys.argv[1:] if words is None else list(words)
    is_module = words[:1] == ["-m"]
    words = words[is_module:]
    if not words or words[0] in ("-h", "--help") or words[0].startswith("-"):
        out = sys.stdout if words[:1] in (["-h"], ["--help"]) else sys.stderr
        out.write("usage: python -m tfprof.patch [-m MODULE | SCRIPT] [ARGUMENT ...]\n")
        raise SystemExit(0 if out is sys.stdout else 2)
    if not is_module and not os.path.exists(words[0]):
        sys.stderr.write(f"tfprof: {words[0]}: there is no such script; for a module, put -m before its name\n")
        raise SystemExit(2)
    if "tensorflow" in sys.modules:
        patch_tensorflow()
    else:
        sys.meta_path.insert(0, _WhenImported())
    sys.argv = list(words)
    if is_module:
        sys.path[0] = os.getcwd()
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(words[0]))
        runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    # This file is `__main__` now; the module that others import keeps the state.
    from tfprof import patch

    patch.main()
