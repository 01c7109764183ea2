"""`tfprof.ProfilerHook`. This module imports TensorFlow, so nothing imports it before the hook is asked for."""

from __future__ import annotations

import atexit
import os
import warnings
import weakref
from typing import Any

from tfprof import _api, _messages, _native, timeline

tf = _messages.tensorflow("ProfilerHook")

# How many traces may wait to be written, and how many bytes of statistics, before training waits for them.
_MOST_TRACES = 8
_MOST_BYTES = 256 << 20


class ProfilerHook(tf.compat.v1.train.ProfilerHook):  # type: ignore[misc, name-defined]
    """Writes a Chrome trace of a step to `<output_dir>/timeline-<step>.json`, every N steps or every N seconds.

    Exactly one of `save_steps` and `save_secs` is given. `show_dataflow` draws arrows from the op that makes a tensor
    to those that read it; `show_memory` draws the lifetimes of tensors and the memory in use.

    When to trace is decided as by `tf.compat.v1.train.ProfilerHook`. The traces are made and written by another thread
    while training goes on; if it falls behind, training waits, so nothing is lost. Everything is on disk after `end`,
    after `flush`, and when the interpreter exits. A failed write raises OSError in the next call.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: Any = "",
        show_dataflow: bool = True,
        show_memory: bool = False,
    ) -> None:
        # Wrong arguments create no file.
        tf.compat.v1.train.SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)
        directory = os.fsdecode(output_dir)
        # The file of events can be opened in a graph only, and there will be one.
        graph = tf.Graph() if tf.executing_eagerly() else tf.compat.v1.get_default_graph()
        with graph.as_default():
            super().__init__(save_steps, save_secs, directory, show_dataflow, show_memory)
        self._writer = new_writer()
        _HOOKS.add(self)

    def after_create_session(self, session: Any, coord: Any) -> None:
        super().after_create_session(session, coord)
        raise_errors(self._writer)

    def before_run(self, run_context: Any) -> Any:
        raise_errors(self._writer)
        return super().before_run(run_context)

    def end(self, session: Any) -> None:
        super().end(session)
        self.flush()

    def flush(self) -> None:
        """Waits until all traces are on disk; raises OSError if one cannot be written."""
        self._writer.flush()
        raise_errors(self._writer)

    def _save(self, step: int, save_path: str, step_stats: Any) -> None:
        tf.compat.v1.logging.info("Saving timeline for %d into '%s'.", step, save_path)
        data = timeline.statistics(step_stats)
        if "://" in save_path:
            write_remotely(save_path, data, self._show_dataflow, self._show_memory)
            return
        self._writer.put(data, os.path.abspath(save_path), bool(self._show_dataflow), bool(self._show_memory))


def save_now(step: int, path: Any, step_stats: Any, show_dataflow: bool, show_memory: bool) -> None:
    """Writes a trace before it returns."""
    tf.compat.v1.logging.info("Saving timeline for %d into '%s'.", step, path)
    path, data = os.fsdecode(path), timeline.statistics(step_stats)
    if "://" in path:
        write_remotely(path, data, show_dataflow, show_memory)
        return
    writer = _native.TraceWriter(1, 0)
    writer.put(data, os.path.abspath(path), bool(show_dataflow), bool(show_memory))
    writer.flush()
    raise_errors(writer)


def raise_errors(writer: _native.TraceWriter) -> None:
    """Raises the errors of a writer."""
    errors = writer.take_errors()
    if errors:
        raise OSError("; ".join(errors))


def write_remotely(path: str, step_stats: bytes, show_dataflow: bool, show_memory: bool) -> None:
    """Writes to a file system that only TensorFlow knows."""
    text, _ = timeline.chrome_trace(step_stats, show_dataflow, show_memory, "schedule")
    _api.write_file(path, text.encode())


_HOOKS: weakref.WeakSet[ProfilerHook] = weakref.WeakSet()
# A hook may be gone before its traces are written.
_WRITERS: list[_native.TraceWriter] = []


def new_writer() -> _native.TraceWriter:
    """A writer that has written everything when the interpreter exits."""
    writer = _native.TraceWriter(_MOST_TRACES, _MOST_BYTES)
    _WRITERS.append(writer)
    return writer


def _flush_all() -> None:
    # After an exception, `end` is not called.
    for writer in _WRITERS:
        writer.flush()
        for error in writer.take_errors():
            warnings.warn(error, RuntimeWarning, stacklevel=1)


def _begin_anew() -> None:
    # A child process has the queue of its parent, which the parent writes, and no thread.
    _WRITERS.clear()
    for hook in list(_HOOKS):
        hook._writer = new_writer()


atexit.register(_flush_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
