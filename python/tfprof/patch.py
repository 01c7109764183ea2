"""Runs TensorFlow's profiler on tfprof, for code that stays as it is.

`patch_tensorflow()` replaces the functions that `tf.compat.v1.profiler`, `tf.compat.v1.train.ProfilerHook` and
`timeline.Timeline` call internally, so names imported before keep working. `unpatch_tensorflow()` restores them.
From the command line:

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
# Replaced attributes: the owner, the name and the old value.
_REPLACED: list[tuple[Any, str, Any]] = []
_REMOVED_MODULES: list[str] = []


def patch_tensorflow() -> None:
    """Makes TensorFlow's profiler, `ProfilerHook` and `Timeline` run on tfprof, names imported before included.

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
    """Undoes `patch_tensorflow`; without a patch it does nothing."""
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
    """The attributes to replace: owner, name and new value."""
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


# TensorFlow's native module, with its one profiler per process.


class _Current:
    """The profiler of the native module's functions."""

    native: _native.Profile | None = None

    def get(self) -> _native.Profile:
        if self.native is None:
            raise _native.Error("there is no profiler: one that was made before patch_tensorflow() must be made again")
        return self.native


_CURRENT = _Current()


def PrintModelAnalysis(graph: Any, run_meta: Any, op_log: Any, cmd: Any, options: Any) -> bytes:
    word, data, run = _text(cmd), _bytes(graph), _bytes(run_meta)
    if data and run:
        # As the original, but for this answer only: the run completes shapes of the graph.
        shapes = _native.Shapes()
        shapes.learn(data, run)
        data = shapes.complete(data) or data
    native = _native.Profile(word)
    _add(native, data, op_log, run, 0)
    return _answer(native, word, _bytes(options))


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
    return _answer(_CURRENT.get(), _text(cmd), _bytes(options))


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


# The words that TensorFlow's profiler knows, and a pattern that matches nothing.
_METRICS = (
    "bytes",
    "peak_bytes",
    "residual_bytes",
    "output_bytes",
    "micros",
    "accelerator_micros",
    "cpu_micros",
    "params",
    "float_ops",
    "occurrence",
)
_SELECT = (*_METRICS, "tensor_value", "device", "op_types", "input_shapes")
_ORDER = ("name", *_METRICS)
_NEVER = r"\b\B"
# An answer without rows, as the original returns it if a view cannot be drawn.
_ROOT = b"\n\x0b_TFProfRoot"


def _answer(native: _native.Profile, cmd: str, options: bytes) -> bytes:
    """Answers a serialized question as the original does: what is wrong with it goes to standard error."""
    from tensorflow.core.profiler import tfprof_options_pb2

    if cmd == "advise":
        asked = tfprof_options_pb2.AdvisorOptionsProto.FromString(options)
        return _api.advice_bytes(native, [name for name in asked.checkers if name in _api.ALL_ADVICE])
    message = tfprof_options_pb2.OptionsProto.FromString(options)
    shown = {field.name: getattr(message, field.name) for field in message.DESCRIPTOR.fields}
    question, notes = _valid(shown)
    _api.tell(notes)
    drawn = False
    try:
        form = _api.target(question)[0]
        drawn = form in ("timeline", "pprof")
        answer = _api.ask_bytes(native, cmd, question, shown, forgive=True)
    except _native.Error as error:
        _api.tell([str(error)])
        return _ROOT if drawn else b""
    # As the original: timelines of all steps of a graph are the whole answer.
    return b"" if (cmd, form) == ("graph", "timeline") and question["step"] < 0 else answer


def _valid(shown: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The question without the words and patterns that the original ignores, and a note for each of them."""
    question, notes = dict(shown), []
    question["select"] = [word for word in shown["select"] if word in _SELECT]
    for word in shown["select"]:
        if word not in _SELECT:
            notes.append(f"select: `{word}` is unknown and ignored")
    if shown["order_by"] not in _ORDER:
        question["order_by"] = "name"
        notes.append(f"order_by: `{shown['order_by']}` is unknown; rows are sorted by name")
    for name, value in shown.items():
        if name.endswith("_regexes"):
            question[name] = [pattern if _native.is_pattern(pattern) else _NEVER for pattern in value]
            notes += [f"{name}: `{p}` is not a valid pattern and matches nothing" for p in value if not _native.is_pattern(p)]
    return question, notes


def _bytes(message: Any) -> bytes:
    return message.encode() if isinstance(message, str) else bytes(message)


def _text(cmd: Any) -> str:
    return cmd if isinstance(cmd, str) else bytes(cmd).decode()


# A patched Profiler object gets a class between its own and TensorFlow's, with our methods, so that each object has its
# own profile and keeps it after unpatch_tensorflow().

_ANSWERS = {
    "profile_python": ("code", "MultiGraphNodeProto"),
    "profile_operations": ("op", "MultiGraphNodeProto"),
    "profile_name_scope": ("scope", "GraphNodeProto"),
    "profile_graph": ("graph", "GraphNodeProto"),
    "advise": ("advise", "AdviceProto"),
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
        methods.update({name: _method(name, *answer) for name, answer in _ANSWERS.items()})
        ours = type("Profiler", (theirs,), {**methods, "__del__": _nothing})
        _CLASSES[theirs] = _CLASSES[ours] = ours
    if kind not in _CLASSES:
        _CLASSES[kind] = type(kind.__name__, (kind, _CLASSES[theirs]), {"__module__": kind.__module__})
    return _CLASSES[kind]


def _method(name: str, cmd: str, result: str) -> Callable[..., Any]:
    from tensorflow.python.profiler import model_analyzer

    read = model_analyzer._build_advisor_options if cmd == "advise" else model_analyzer._build_options

    def ask(self: Any, options: Mapping[str, Any]) -> Any:
        return _messages.parse(result, _answer(self._native, cmd, read(options).SerializeToString()))

    ask.__name__, ask.__doc__ = name, vars(_api.Profiler)[name].__doc__
    return ask


def _nothing(self: Any) -> None:
    """Nothing to delete: each object owns its profile."""


# Timelines and the hook.


def _for_timelines(timelines: Any, name: str) -> Callable[..., Any]:
    original, ours = vars(timelines)[name], vars(timeline.Timeline)[name]

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        # A subclass that makes its own events keeps them.
        classes = type(self).__mro__
        changed = [attribute for kind in classes[: classes.index(timelines)] for attribute in vars(kind)]
        changed += vars(self)
        own = [attribute for attribute in changed if callable(vars(timelines).get(attribute))]
        return original(self, *args, **kwargs) if set(own) - {"__init__"} else ours(self, *args, **kwargs)

    method.__name__, method.__doc__ = name, ours.__doc__
    return method


def _save(self: Any, step: int, save_path: Any, step_stats: Any) -> None:
    """Replaces `ProfilerHook._save`. As in TensorFlow, the file is complete when a run returns."""
    from tfprof import _hook

    _hook.save_now(step, save_path, step_stats, self._show_dataflow, self._show_memory)


def _add_profile_context() -> None:
    """Adds `ProfileContext`, which TensorFlow has in its source tree only."""
    name = "tensorflow.python.profiler.profile_context"
    if importlib.util.find_spec(name) is None:
        from tensorflow.python import profiler as package

        sys.modules[name] = profile_context
        _REMOVED_MODULES.append(name)
        _REPLACED.append((package, "profile_context", vars(package).get("profile_context", _MISSING)))
        package.profile_context = profile_context


# python -m tfprof.patch


class _WhenImported(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Patches TensorFlow when the script imports it, not earlier: scripts set environment variables for TensorFlow first."""

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
    """Runs a script, or a module after `-m`, with TensorFlow patched."""
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
    # This file runs as `__main__`; the imported module holds the state.
    from tfprof import patch

    patch.main()
