"""Engines that run tasks: processes of this machine, Dask, Ray and Spark. Each is a small adapter with five methods.

The user's client or session is used as it is. Results stay where they are made, where the engine can do that: a handle may be
an argument of a further task.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import importlib
import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Protocol

Task = Callable[..., bytes]


class Engine(Protocol):
    """Runs tasks. A handle stands for a task; `result` raises what the task raised."""

    resubmitted: int

    def slots(self) -> int:
        """The number of tasks that run concurrently."""
    def submit(self, task: Task, *args: Any) -> Any: ...
    def wait(self, handles: list[Any], seconds: float) -> list[Any]:
        """Waits for at most that time, and returns the finished handles."""
    def result(self, handle: Any) -> bytes: ...
    def error(self, handle: Any) -> BaseException | None:
        """The error of a finished task; `None` if it has a result."""
    def cancel(self, handle: Any) -> None: ...
    def close(self) -> None: ...


# The number of retries for a task that was lost with its worker. Dask, Ray and Spark have their own settings.
_LOSSES = 3


class _Call:
    """A task for a pool: its function and arguments, in case it has to run again."""

    def __init__(self, task: Task, args: tuple[Any, ...]) -> None:
        self.task, self.args = task, args
        self.future: concurrent.futures.Future[bytes] | None = None
        self.losses = 0


class Processes:
    """Processes of this machine."""

    def __init__(self, workers: int | None = None) -> None:
        self._workers = workers or os.cpu_count() or 1
        self.resubmitted = 0
        self._pool = self._new_pool(self._workers)
        self._alone: list[Any] = []
        self._left_behind = False

    def _new_pool(self, workers: int) -> concurrent.futures.ProcessPoolExecutor:
        # A fork would copy locks held by other threads of the user's program.
        return concurrent.futures.ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))

    def slots(self) -> int:
        return self._workers

    def submit(self, task: Task, *args: Any) -> _Call:
        call = _Call(task, tuple(self.result(arg) if isinstance(arg, _Call) else arg for arg in args))
        self._start(call)
        return call

    def _start(self, call: _Call) -> None:
        if call.losses:
            # This task may be the one that kills its process; on its own, it harms no other.
            alone = self._new_pool(1)
            call.future = alone.submit(call.task, *call.args)
            self._alone += _processes_of(alone)
            alone.shutdown(wait=False)
            return
        try:
            call.future = self._pool.submit(call.task, *call.args)
        except BrokenProcessPool:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = self._new_pool(self._workers)
            call.future = self._pool.submit(call.task, *call.args)

    def wait(self, handles: list[_Call], seconds: float) -> list[_Call]:
        concurrent.futures.wait([call.future for call in handles if call.future], seconds, return_when="FIRST_COMPLETED")
        done = []
        for call in handles:
            if call.future is None or not call.future.done():
                continue
            broken = not call.future.cancelled() and isinstance(call.future.exception(), BrokenProcessPool)
            if broken and call.losses < _LOSSES:
                # A pool fails as a whole when one process dies.
                call.losses += 1
                self.resubmitted += 1
                self._start(call)
            else:
                done.append(call)
        return done

    def result(self, handle: _Call) -> bytes:
        assert handle.future is not None
        return handle.future.result()

    def error(self, handle: _Call) -> BaseException | None:
        if handle.future is None or handle.future.cancelled():
            return concurrent.futures.CancelledError()
        return handle.future.exception()

    def cancel(self, handle: _Call) -> None:
        if handle.future is not None and not handle.future.cancel():
            self._left_behind |= not handle.future.done()

    def close(self) -> None:
        processes = [*_processes_of(self._pool), *self._alone]
        self._pool.shutdown(wait=False, cancel_futures=True)
        if self._left_behind:
            # Otherwise the program would not exit before an abandoned task ends.
            for process in processes:
                process.terminate()


def _processes_of(pool: concurrent.futures.ProcessPoolExecutor) -> list[Any]:
    return list((getattr(pool, "_processes", None) or {}).values())


class Dask:
    """A client of `distributed`."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._distributed = importlib.import_module("distributed")
        self.resubmitted = 0

    def slots(self) -> int:
        return sum(self._client.nthreads().values()) or 1

    def submit(self, task: Task, *args: Any) -> Any:
        # Not pure: a resubmitted task must run again.
        return self._client.submit(task, *args, pure=False, retries=2)

    def wait(self, handles: list[Any], seconds: float) -> list[Any]:
        with contextlib.suppress(TimeoutError, self._distributed.TimeoutError):
            self._distributed.wait(handles, timeout=seconds, return_when="FIRST_COMPLETED")
        return [handle for handle in handles if handle.done()]

    def result(self, handle: Any) -> bytes:
        return bytes(handle.result())

    def error(self, handle: Any) -> BaseException | None:
        if handle.status == "finished":
            return None
        found: BaseException | None = handle.exception() if handle.status == "error" else None
        return found or RuntimeError(f"the task was {handle.status}")

    def cancel(self, handle: Any) -> None:
        self._client.cancel([handle], force=True)

    def close(self) -> None:
        pass


class Ray:
    """The Ray that the program is connected to."""

    def __init__(self) -> None:
        self._ray: Any = importlib.import_module("ray")
        if not self._ray.is_initialized():
            self._ray.init()
        self._tasks: dict[Task, Any] = {}
        self.resubmitted = 0

    def slots(self) -> int:
        return int(self._ray.cluster_resources().get("CPU", 1)) or 1

    def submit(self, task: Task, *args: Any) -> Any:
        if task not in self._tasks:
            self._tasks[task] = self._ray.remote(retry_exceptions=[OSError])(task)
        return self._tasks[task].remote(*args)

    def wait(self, handles: list[Any], seconds: float) -> list[Any]:
        done, _ = self._ray.wait(handles, num_returns=1, timeout=seconds, fetch_local=False)
        more, _ = self._ray.wait(handles, num_returns=len(handles), timeout=0, fetch_local=False)
        return list({*done, *more})

    def result(self, handle: Any) -> bytes:
        return bytes(self._ray.get(handle))

    def error(self, handle: Any) -> BaseException | None:
        try:
            self._ray.get(handle)
        except Exception as error:
            return error
        return None

    def cancel(self, handle: Any) -> None:
        with contextlib.suppress(Exception):
            self._ray.cancel(handle, force=True)

    def close(self) -> None:
        pass


class Spark:
    """A session of PySpark. Each task is a job of its own, which Spark tries again if an executor is lost."""

    def __init__(self, session: Any) -> None:
        self._context = session.sparkContext
        self.resubmitted = 0
        # Twice as many jobs as tasks run, so that no executor waits for the driver.
        self._pool = concurrent.futures.ThreadPoolExecutor(2 * self.slots())

    def slots(self) -> int:
        return int(self._context.defaultParallelism) or 1

    def submit(self, task: Task, *args: Any) -> concurrent.futures.Future[bytes]:
        given = tuple(arg.result() if isinstance(arg, concurrent.futures.Future) else arg for arg in args)
        return self._pool.submit(self._run, task, given)

    def _run(self, task: Task, args: tuple[Any, ...]) -> bytes:
        found = self._context.parallelize([args], 1).map(lambda given: task(*given)).collect()
        return bytes(found[0])

    def wait(self, handles: list[Any], seconds: float) -> list[Any]:
        return list(concurrent.futures.wait(handles, seconds, return_when="FIRST_COMPLETED").done)

    def result(self, handle: Any) -> bytes:
        return bytes(handle.result())

    def error(self, handle: Any) -> BaseException | None:
        return concurrent.futures.CancelledError() if handle.cancelled() else handle.exception()

    def cancel(self, handle: Any) -> None:
        handle.cancel()

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)


NAMES = ("processes", "dask", "ray", "spark")


def engine_of(given: Any) -> Engine:
    """The engine that a user names, or whose client or session a user gives."""
    if given is None or given == "processes":
        return Processes()
    if isinstance(given, int) and not isinstance(given, bool) and given > 0:
        return Processes(given)
    if given == "dask":
        distributed = _needed("distributed", "dask")
        try:
            return Dask(distributed.default_client())
        except ValueError:
            raise ValueError('engine="dask": there is no client; make one first, as in: client = distributed.Client()') from None
    if given == "ray":
        _needed("ray", "ray")
        return Ray()
    if given == "spark":
        sql = _needed("pyspark.sql", "spark")
        session = sql.SparkSession.getActiveSession()
        if session is None:
            raise ValueError('engine="spark": there is no session; make one first, as in: pyspark.sql.SparkSession.builder.getOrCreate()')
        return Spark(session)
    module = type(given).__module__.split(".")[0]
    if module == "distributed":
        return Dask(given)
    if module == "pyspark" and hasattr(given, "sparkContext"):
        return Spark(given)
    if getattr(given, "__name__", "") == "ray":
        return Ray()
    raise _unknown(given)


def _unknown(given: object) -> Exception:
    expected = f"expected {', '.join(NAMES)}, a number of processes, a client of Dask or a session of Spark"
    if isinstance(given, (str, int)):
        return ValueError(f"engine: {expected}, found {given!r}")
    return TypeError(f"engine: {expected}, found {type(given).__name__}")


def _needed(module: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ImportError(f'engine="{extra}" needs {module.split(".")[0]}; install it with: pip install "tfprof[{extra}]"') from None

