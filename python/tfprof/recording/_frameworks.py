"""The profilers of TensorFlow, JAX and PyTorch behind one interface. Nothing here imports a framework that is not loaded."""

from __future__ import annotations

import contextlib
import glob
import logging
import os
import shutil
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from tfprof.recording import _functions


class Framework:
    """The profiler of one framework: `start`, then `stop`, which writes files, or `discard`."""

    title: str
    module: str
    # An attribute that the module has once its import is complete.
    complete: str

    @classmethod
    def is_loaded(cls) -> bool:
        """Whether the program has imported it."""
        return hasattr(sys.modules.get(cls.module), cls.complete)

    def __init__(self, directory: str, stacks: bool) -> None:
        self.directory = directory
        self.stacks = stacks

    @property
    def version(self) -> str:
        """Its version."""
        return str(getattr(sys.modules[self.module], "__version__", "unknown"))

    def start(self) -> None:
        """Begins to record."""
        raise NotImplementedError

    def stop(self) -> None:
        """Ends recording and writes the files into the directory."""
        raise NotImplementedError

    def discard(self) -> None:
        """Stops recording and discards the data."""
        raise NotImplementedError

    def restart(self) -> None:
        """Restarts the recording, to drop the warm-up."""
        self.discard()
        self.start()

    def step(self, number: int) -> contextlib.AbstractContextManager[Any]:
        """Marks a step."""
        raise NotImplementedError

    def wait(self, result: Any) -> None:
        """Waits until a result is computed."""


class TensorFlow(Framework):
    """TensorFlow 2: eager ops, `tf.function`, Keras. The profile is an XSpace, beside it the graphs of functions."""

    title, module, complete = "TensorFlow", "tensorflow", "compat"

    def start(self) -> None:
        profiler = sys.modules["tensorflow"].profiler.experimental
        options = profiler.ProfilerOptions(host_tracer_level=2, python_tracer_level=int(self.stacks))
        with quiet_logs():
            profiler.start(self.directory, options=options)

    def stop(self) -> None:
        with quiet_logs():
            sys.modules["tensorflow"].profiler.experimental.stop()
        _functions.write(self.directory)

    def discard(self) -> None:
        with quiet_logs():
            sys.modules["tensorflow"].profiler.experimental.stop(save=False)

    def step(self, number: int) -> contextlib.AbstractContextManager[Any]:
        trace = sys.modules["tensorflow"].profiler.experimental.Trace("train", step_num=number, _r=1)
        return trace  # type: ignore[no-any-return]


class Jax(Framework):
    """JAX. The profile is an XSpace with the compiled programs and their lines of source."""

    title, module, complete = "JAX", "jax", "jit"

    def start(self) -> None:
        import jax

        with quiet_logs():
            try:
                options = jax.profiler.ProfileOptions()
            except AttributeError:  # JAX before 0.7
                jax.profiler.start_trace(self.directory)
                return
            # Programs name their lines; a tracer of Python would only slow the steps down.
            options.python_tracer_level = 0
            jax.profiler.start_trace(self.directory, profiler_options=options)

    def stop(self) -> None:
        import jax

        with quiet_logs():
            jax.profiler.stop_trace()

    def discard(self) -> None:
        before = set(self._runs())
        self.stop()
        for run in set(self._runs()) - before:
            shutil.rmtree(run, ignore_errors=True)

    def _runs(self) -> list[str]:
        return glob.glob(os.path.join(glob.escape(self.directory), "plugins", "profile", "*"))

    def step(self, number: int) -> contextlib.AbstractContextManager[Any]:
        import jax

        annotation = jax.profiler.StepTraceAnnotation("train", step_num=number)
        return annotation  # type: ignore[no-any-return]

    def wait(self, result: Any) -> None:
        import jax

        jax.block_until_ready(result)


class Torch(Framework):
    """PyTorch. The profile is a Kineto trace with shapes, memory and, with stacks, modules and lines."""

    title, module, complete = "PyTorch", "torch", "profiler"

    def start(self) -> None:
        import torch

        kinds = torch.profiler.supported_activities()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._profile = torch.profiler.profile(
                activities=kinds, record_shapes=True, profile_memory=True, with_stack=self.stacks
            )
            self._profile.start()

    def restart(self) -> None:
        # A profiler that starts twice in a process crashes some versions of PyTorch. The warm-up stays in the trace,
        # outside of all steps.
        pass

    def stop(self) -> None:
        self.discard()
        name = f"{socket.gethostname()}_{os.getpid()}.pt.trace.json.gz"
        self._profile.export_chrome_trace(os.path.join(self.directory, name))

    def discard(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._profile.stop()

    def step(self, number: int) -> contextlib.AbstractContextManager[Any]:
        import torch

        mark = torch.profiler.record_function(f"ProfilerStep#{number}")
        return mark  # type: ignore[no-any-return]

    def wait(self, result: Any) -> None:
        import torch

        if torch.cuda.is_available():
            torch.cuda.synchronize()


FRAMEWORKS: list[type[Framework]] = [TensorFlow, Jax, Torch]


class Sessions:
    """Sessions of TensorFlow 1: full traces of some calls of `Session.run`, the graph and its op log.

    The first call of each kind warms up. A call is of a kind with others that fetch the same.
    """

    def __init__(
        self,
        directory: str,
        steps: int,
        warmup: int,
        on_first: Callable[[], None],
        on_step: Callable[[float], None],
    ) -> None:
        self._directory, self._steps, self._warmup = directory, steps, warmup
        self._on_first, self._on_step = on_first, on_step
        self._lock = threading.Lock()
        self._calls: dict[str, int] = {}
        self._graph: Any = None
        self.traced = 0

    def install(self) -> None:
        """Begins to watch all sessions."""
        from tensorflow.python.client import session

        self._sessions = session.BaseSession
        self._run = self._sessions.run

        def run(
            session: Any, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
        ) -> Any:
            if not self._is_wanted(fetches):
                return self._run(session, fetches, feed_dict, options, run_metadata)
            return self._traced(session, fetches, feed_dict, options, run_metadata)

        self._sessions.run = run

    def remove(self) -> None:
        """Stops watching sessions, and writes the graph of the traced runs."""
        self._sessions.run = self._run
        if self._graph is None:
            return
        from tfprof import _api

        graph = self._graph.as_graph_def(add_shapes=True).SerializeToString()
        with open(os.path.join(self._directory, "graph.pb"), "wb") as file:
            file.write(graph)
        _api.write_op_log(self._graph, self._directory, run_meta=self._last)

    def _is_wanted(self, fetches: Any) -> bool:
        with self._lock:
            if not self._calls:
                self._on_first()
            kind = repr(fetches)
            calls = self._calls[kind] = self._calls.get(kind, 0) + 1
            return calls > self._warmup and self.traced < self._steps

    def _traced(self, session: Any, fetches: Any, feed_dict: Any, options: Any, run_metadata: Any) -> Any:
        v1 = sys.modules["tensorflow"].compat.v1
        run_metadata = v1.RunMetadata() if run_metadata is None else run_metadata
        options = v1.RunOptions() if options is None else options
        level, options.trace_level = options.trace_level, v1.RunOptions.FULL_TRACE
        began = time.perf_counter()
        try:
            result = self._run(session, fetches, feed_dict, options, run_metadata)
        finally:
            options.trace_level = level
        took = time.perf_counter() - began
        with self._lock:
            if self._graph not in (None, session.graph) or self.traced >= self._steps:
                return result
            self._graph, self._last, number = session.graph, run_metadata, self.traced
            self.traced += 1
        with open(os.path.join(self._directory, f"run_meta_{number}"), "wb") as file:
            file.write(run_metadata.SerializeToString())
        self._on_step(took)
        return result


@contextlib.contextmanager
def optimizer_steps(on_step: Callable[[], None]) -> Iterator[None]:
    """Calls `on_step` after each step of the first optimizer of PyTorch that makes one."""
    from torch.optim import optimizer as module

    first: list[int] = []

    def after(optimizer: Any, args: Any, kwargs: Any) -> None:
        if not first:
            first.append(id(optimizer))
        if first[0] == id(optimizer):
            on_step()

    handle = module.register_optimizer_step_post_hook(after)
    try:
        yield
    finally:
        handle.remove()


@contextlib.contextmanager
def fit_callbacks(new_callback: Callable[[], Any]) -> Iterator[None]:
    """Adds a callback to every `fit` of Keras."""
    import inspect

    keras = sys.modules["keras"]
    owner = next(base for base in keras.Model.__mro__ if "fit" in vars(base))
    fit = owner.fit
    signature = inspect.signature(fit)

    def fit_with_callback(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        given = bound.arguments.get("callbacks")
        if isinstance(given, keras.callbacks.CallbackList):
            given.append(new_callback())
        else:
            several = list(given) if isinstance(given, (list, tuple)) else [given] if given is not None else []
            bound.arguments["callbacks"] = [*several, new_callback()]
        return fit(*bound.args, **bound.kwargs)

    owner.fit = fit_with_callback
    try:
        yield
    finally:
        owner.fit = fit


@contextlib.contextmanager
def quiet_logs() -> Iterator[None]:
    """Hides the profilers' messages about files, since the files are moved afterwards."""
    loggers = [logging.getLogger(name) for name in ("tensorflow", "absl", "jax")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels):
            logger.setLevel(level)
