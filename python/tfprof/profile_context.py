"""Profiles the runs of all sessions while a context is open: `ProfileContext`, as TensorFlow's source tree has it."""

from __future__ import annotations

import os
import random
import sys
import threading
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any

from tfprof import _api, _messages

__all__ = ["ProfileContext"]

# Untraced runs at the beginning, unless asked for, and the limit of traced runs.
WARMUP_STEPS = 10
MAX_TRACED_STEPS = 100

_METHODS = {
    "scope": "profile_name_scope",
    "graph": "profile_graph",
    "op": "profile_operations",
    "code": "profile_python",
}


class ProfileContext:
    """Traces some calls of `Session.run`, and profiles or saves them.

    Each call is a step; the first is 0. `trace_steps` are the ones to trace, at most 100; by default, those are traced
    which fetch something new, and a few more while most of the graph has not been seen. After the `dump_steps` (by
    default, 100) everything known so far is saved as `<profile_dir>/profile_<step>`, which the command reads.
    `enabled=False` switches everything off; `debug=True` keeps each RunMetadata as text and logs each action.

        with tfprof.ProfileContext("/tmp/profile", trace_steps=[10, 20], dump_steps=[20]) as context:
            context.add_auto_profiling("op", tfprof.ProfileOptionBuilder.time_and_memory(), [20])
            train()
    """

    def __init__(
        self,
        profile_dir: Any,
        trace_steps: Iterable[int] | None = None,
        dump_steps: Iterable[int] | None = None,
        enabled: bool = True,
        debug: bool = False,
    ) -> None:
        self._enabled = bool(enabled)
        self._views: dict[str, dict[int, Any]] = {}
        if not self._enabled:
            return
        if not profile_dir:
            raise ValueError("Must have a directory for profile.\n")
        self._directory = os.fsdecode(profile_dir)
        self._debug = debug
        self._trace_by_itself = trace_steps is None
        self._trace_steps = _steps(trace_steps, "trace_steps")
        if len(self._trace_steps) > MAX_TRACED_STEPS:
            raise ValueError(f"Only support tracing up to {MAX_TRACED_STEPS} steps.\n")
        self._dump_steps = {MAX_TRACED_STEPS} if dump_steps is None else _steps(dump_steps, "dump_steps")
        self._auto_profiles: list[tuple[str, Mapping[str, Any], set[int]]] = []
        self._trace_next = self._dump_next = False
        self._fetched: set[str] = set()
        # As the original: the same runs are picked in each process.
        self._random = random.Random(111)
        self._step = self._traced = 0
        self._counting = threading.Lock()
        self._profiling = threading.Lock()
        self._profiler: _api.Profiler | None = None
        self._run_of_sessions: Any = None

    @property
    def profiler(self) -> _api.Profiler | None:
        """The profiler of the runs traced so far; None if the context is disabled."""
        if not self._enabled:
            return None
        if self._profiler is None:
            self._profiler = _api.Profiler(_tensorflow().compat.v1.get_default_graph())
        return self._profiler

    def add_auto_profiling(self, cmd: str, options: Mapping[str, Any], profile_steps: Iterable[int]) -> None:
        """Traces these steps, and asks a question after each: `scope`, `graph`, `op` or `code`."""
        if not self._enabled:
            return
        if cmd not in _METHODS:
            raise ValueError(f"Unknown cmd: {cmd}; expected one of {', '.join(_METHODS)}")
        steps = _steps(profile_steps, "profile_steps")
        self._auto_profiles.append((cmd, options, steps))
        self._trace_steps |= steps

    def get_profiles(self, cmd: str) -> dict[int, Any]:
        """The answers to the question `cmd` by step; a ValueError if it was never asked."""
        if cmd not in self._views:
            raise ValueError(f"No autoprofiler for command: {cmd}, was run")
        return self._views[cmd]

    def trace_next_step(self) -> None:
        """Traces the next run."""
        self._trace_next = True

    def dump_next_step(self) -> None:
        """Saves a profile after the next run."""
        self._dump_next = True

    def __enter__(self) -> ProfileContext:
        if not self._enabled:
            return self
        sessions = _sessions()
        if getattr(sessions, "profile_context", None) is not None:
            raise _tensorflow().errors.InternalError(None, None, "Already in context or context not cleaned.")
        self._run_of_sessions = sessions.run

        def run(
            session: Any, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
        ) -> Any:
            return self._run(session, fetches, feed_dict, options, run_metadata)

        sessions.run = run
        sessions.profile_context = self
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not self._enabled:
            return
        sessions = _sessions()
        sessions.run = self._run_of_sessions
        del sessions.profile_context

    def _run(self, session: Any, fetches: Any, feed_dict: Any, options: Any, run_metadata: Any) -> Any:
        with self._counting:
            step = self._step
            self._step += 1
        # Runs of other threads meanwhile are counted, and go on at full speed.
        if not self._is_of_interest(step) or not self._profiling.acquire(blocking=False):
            return self._run_of_sessions(session, fetches, feed_dict, options, run_metadata)
        try:
            trace, dump = self._should_trace(step, session.graph, fetches), self._dump_next
            self._trace_next = self._dump_next = False
            if trace:
                result = self._traced_run(step, session, fetches, feed_dict, options, run_metadata)
            else:
                result = self._run_of_sessions(session, fetches, feed_dict, options, run_metadata)
            if dump or step in self._dump_steps:
                self._dump(step)
            self._ask(step)
            return result
        finally:
            self._profiling.release()

    def _is_of_interest(self, step: int) -> bool:
        if self._trace_next or self._dump_next or step in self._trace_steps or step in self._dump_steps:
            return True
        return self._trace_by_itself and step > WARMUP_STEPS and self._traced <= MAX_TRACED_STEPS

    def _should_trace(self, step: int, graph: Any, fetches: Any) -> bool:
        if self._traced > MAX_TRACED_STEPS:
            return False
        trace = self._trace_next or step in self._trace_steps
        if not trace and self._trace_by_itself and step > WARMUP_STEPS:
            fetched = _names(graph, fetches)
            self._say(f"trace fetches: {fetched}")
            if fetched not in self._fetched:
                self._fetched.add(fetched)
                trace = True
            elif step < MAX_TRACED_STEPS and self.profiler is not None and self.profiler._coverage < 0.5:
                trace = self._random.randint(0, 10) < 2
        self._traced += trace
        return trace

    def _traced_run(
        self, step: int, session: Any, fetches: Any, feed_dict: Any, options: Any, run_metadata: Any
    ) -> Any:
        self._say(f"tracing step: {step}")
        v1 = _tensorflow().compat.v1
        if run_metadata is None:
            run_metadata = v1.RunMetadata()
        if options is None:
            options = v1.RunOptions()
        level, options.trace_level = options.trace_level, v1.RunOptions.FULL_TRACE
        try:
            result = self._run_of_sessions(session, fetches, feed_dict, options, run_metadata)
        finally:
            options.trace_level = level
        if self._debug:
            self._write(f"run_meta_{step}", str(run_metadata).encode())
        profiler = self.profiler
        assert profiler is not None
        profiler._graph = session.graph
        profiler.add_step(step, run_metadata)
        return result

    def _dump(self, step: int) -> None:
        self._say(f"dumping file at step: {step}")
        profiler = self.profiler
        assert profiler is not None
        self._write(f"profile_{step}", profiler.serialize_to_string())

    def _ask(self, step: int) -> None:
        for cmd, options, steps in self._auto_profiles:
            if step in steps:
                self._say(f"profiling {cmd} step: {step}")
                self._views.setdefault(cmd, {})[step] = getattr(self.profiler, _METHODS[cmd])(options)

    def _write(self, name: str, data: bytes) -> None:
        _tensorflow().io.gfile.makedirs(self._directory)
        _api.write_file(os.path.join(self._directory, name), data)

    def _say(self, message: str) -> None:
        if self._debug:
            sys.stderr.write(f"debug: {message}\n")


def _steps(steps: Iterable[int] | None, what: str) -> set[int]:
    try:
        found = set(steps or ())
    except TypeError:
        raise TypeError(f"{what}: expected a list of whole numbers, found {type(steps).__name__}") from None
    for step in found:
        if not hasattr(step, "__index__"):
            raise TypeError(f"{what}: expected whole numbers, found {type(step).__name__}")
    return found


def _names(graph: Any, fetches: Any) -> str:
    from tensorflow.python.client import session

    with graph.as_default():
        fetched = session._FetchMapper.for_fetch(fetches).unique_fetches()
    return "-".join(sorted(fetch.name for fetch in fetched))


def _tensorflow() -> Any:
    return _messages.tensorflow("ProfileContext")


def _sessions() -> Any:
    _tensorflow()
    from tensorflow.python.client import session

    return session.BaseSession
