"""A recording: which steps to record, the profilers of all frameworks, and the directory they fill."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any

from tfprof import _native
from tfprof.recording import _frameworks, _functions, _imports

if TYPE_CHECKING:
    from tfprof._open import Profile

STEPS = 10
WARMUP = 1
MANIFEST = "recording.json"
# The number of steps timed after the recorded ones, to report the overhead of recording.
TIMED = 10
# The number of lines of the answer that are printed.
LINES = 14


class Recording:
    """What `tfprof.record` records; afterwards its directory, its `profile` and, of a function, its `result`."""

    result: Any = None
    """The last result of the recorded function."""

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        steps: int = STEPS,
        warmup: int = WARMUP,
        stacks: bool = True,
        quiet: bool = False,
    ) -> None:
        for name, number, least in (("steps", steps, 1), ("warmup", warmup, 0)):
            if isinstance(number, bool) or not hasattr(number, "__index__") or number < least:
                raise ValueError(f"{name}: expected a whole number, at least {least}, found {number!r}")
        self.directory = _of_rank(os.path.abspath(os.fsdecode(directory)))
        self._steps, self._warmup, self._stacks, self._quiet = int(steps), int(warmup), bool(stacks), bool(quiet)
        self._scratch = f"{self.directory}.{os.getpid()}.partial"
        self._frameworks: list[_frameworks.Framework] = []
        self._sessions: _frameworks.Sessions | None = None
        self._watches = contextlib.ExitStack()
        self._marks = contextlib.ExitStack()
        self._profile: Profile | None = None
        self._is_open = self._is_recording = False
        self._warmed = 0
        # The number of the current step, whether it is open, and how the program marks it.
        self._number, self._in_step, self._marked_by = 0, False, ""
        self._began = 0.0
        self._recorded: list[float] = []
        self._unrecorded: list[float] = []
        self._summary: dict[str, Any] = {}
        # The version of each framework that was recorded.
        self._titles: dict[str, str] = {}

    # Contexts and functions.

    def __enter__(self) -> Recording:
        self._open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self._close()
        except Exception as own:
            if error is None:
                raise
            # The program's own exception is the one to see.
            print(f"tfprof: the recording was not kept: {own}", file=sys.stderr)

    def call(self, function: Callable[..., Any], args: Iterable[Any]) -> Recording:
        """Calls a function repeatedly: unrecorded warm-up calls, then recorded ones."""
        args = tuple(args)
        _prepare(self.directory)
        for _ in range(self._warmup):
            self.result = self._finished(function(*args))
        self._warmed = self._warmup
        with self:
            for _ in range(self._steps):
                with self.step():
                    self.result = self._finished(function(*args))
        return self

    def _finished(self, result: Any) -> Any:
        for framework in _frameworks.FRAMEWORKS:
            if framework.is_loaded():
                framework("", False).wait(result)
        return result

    # Steps.

    @contextlib.contextmanager
    def step(self, number: int | None = None) -> Iterator[None]:
        """Marks a step. The default number is one more than the last."""
        self._take_over("step")
        self._begin_step(number)
        try:
            yield
        finally:
            self._end_step()

    def steps(self, batches: Iterable[Any]) -> Iterator[Any]:
        """The same batches; each pass of the loop is a step, in which the next batch is also fetched."""
        self._take_over("step")
        iterator = iter(batches)
        nothing = object()
        batch = next(iterator, nothing)
        while batch is not nothing:
            self._begin_step()
            try:
                yield batch
                batch = next(iterator, nothing)
            finally:
                self._end_step()

    def _take_over(self, who: str) -> bool:
        """Whether `who` may mark steps: the program itself takes precedence, otherwise the first to do so."""
        if who == "step" and self._marked_by not in ("", "step"):
            self._abandon_step()
            self._marked_by = who
        self._marked_by = self._marked_by or who
        return self._marked_by == who

    def _begin_step(self, number: int | None = None) -> None:
        if number is not None:
            self._number = int(number)
        self._in_step, self._began = True, time.perf_counter()
        if self._is_recording and not self._is_warming:
            for framework in self._frameworks:
                self._marks.enter_context(framework.step(self._number))

    def _abandon_step(self) -> None:
        self._marks.close()
        self._in_step = False

    def _end_step(self) -> None:
        if not self._in_step:
            return
        took = time.perf_counter() - self._began
        self._abandon_step()
        self._number += 1
        if not self._is_open:
            return
        if not self._is_recording:
            if not self._is_done:
                self._unrecorded.append(took)
            if self._is_done:
                self._watches.close()
        elif self._is_warming:
            self._warm()
        else:
            self._recorded.append(took)
            if len(self._recorded) >= self._steps:
                self._stop()

    @property
    def _is_done(self) -> bool:
        """Whether all steps that count are recorded or timed: the program goes on as if nobody watched."""
        return not self._is_recording and len(self._unrecorded) >= TIMED

    @property
    def _is_warming(self) -> bool:
        return self._warmed < self._warmup

    def _warm(self) -> None:
        """Counts a step of warm-up. After the last, everything so far is thrown away."""
        self._warmed += 1
        if not self._is_warming:
            for framework in self._frameworks:
                framework.restart()

    # The profilers.

    def _open(self) -> None:
        if self._is_open:
            raise RuntimeError("this recording is open already")
        global _current
        if _current is not None:
            raise RuntimeError(f"a recording into {_current.directory} is open; close it first")
        _prepare(self.directory)
        os.makedirs(self._scratch)
        _current = self
        self._is_open = self._is_recording = True
        for name in ("tensorflow", "jax", "torch", "keras"):
            self._watches.enter_context(_imports.when_loaded(name, self._add))

    def _add(self, name: str) -> None:
        """Starts the profiler of a framework that the program has imported."""
        if not self._is_recording:
            return
        if name == "keras":
            from tfprof.recording import _callback

            self._watches.enter_context(_frameworks.fit_callbacks(lambda: _callback.new(self)))
            return
        kind = next(framework for framework in _frameworks.FRAMEWORKS if framework.module == name)
        directory = os.path.join(self._scratch, name)
        os.makedirs(directory)
        framework = kind(directory, self._stacks)
        framework.start()
        self._frameworks.append(framework)
        self._titles[framework.title] = framework.version
        if name == "torch":
            self._watches.enter_context(_frameworks.optimizer_steps(self._after_optimizer))
        if name == "tensorflow":
            sessions = os.path.join(self._scratch, "sessions")
            os.makedirs(sessions)
            self._sessions = _frameworks.Sessions(
                sessions, self._steps, self._warmup, lambda: self._drop(framework), self._recorded.append
            )
            self._sessions.install()
            self._watches.callback(self._sessions.remove)

    def _drop(self, framework: _frameworks.Framework) -> None:
        """Stops the profiler of TensorFlow 2, which refuses to run beside a session that records itself."""
        if self._is_recording and framework in self._frameworks:
            self._frameworks.remove(framework)
            framework.discard()

    def _after_optimizer(self) -> None:
        if not self._take_over("optimizer"):
            return
        # The first step began unmarked, somewhere before; it can only warm up.
        if self._in_step or self._is_warming:
            self._in_step = True
            self._end_step()
        if self._is_open:
            self._begin_step()

    def _stop(self) -> None:
        """Ends recording; the program goes on."""
        self._is_recording = False
        for framework in self._frameworks:
            framework.stop()

    def _close(self) -> None:
        global _current
        _current = None
        try:
            self._abandon_step()
            if self._is_recording:
                self._stop()
            self._watches.close()
            self._keep()
        finally:
            self._is_open = False
            shutil.rmtree(self._scratch, ignore_errors=True)
        if not self._quiet:
            print(self._report())

    # The directory.

    def _keep(self) -> None:
        """Moves the files of all frameworks that ran anything to the directory."""
        found = [(framework.title, framework.directory) for framework in self._frameworks]
        if self._sessions is not None and self._sessions.traced:
            found = [("TensorFlow", os.path.join(self._scratch, "sessions"))]
        kept = [(title, files) for title, directory in found if (files := _files(directory)) and _has_ops(directory)]
        if not kept:
            loaded = ", ".join(self._titles) or "no framework"
            raise _native.Error(f"nothing ran that can be recorded ({loaded} was loaded), so {self.directory} was not written")
        self._summary |= {
            "version": 1,
            "recorded": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "frameworks": {title: self._titles[title] for title, _ in kept},
            "steps": len(self._recorded),
            "warmup": self._warmup if self._recorded else 0,
            "overhead": self.overhead,
        }
        final = os.path.join(self._scratch, "final")
        os.makedirs(final)
        names = self._summary["files"] = []
        for title, files in kept:
            # Two frameworks may name their files alike.
            prefix = f"{title.lower()}-" if len(kept) > 1 else ""
            for file in files:
                names.append(prefix + os.path.basename(file))
                os.rename(file, os.path.join(final, names[-1]))
        with open(os.path.join(final, MANIFEST), "w", encoding="utf-8") as manifest:
            json.dump(self._summary, manifest, indent=2)
            manifest.write("\n")
        _prepare(self.directory)
        os.makedirs(os.path.dirname(self.directory), exist_ok=True)
        os.rename(final, self.directory)

    @property
    def overhead(self) -> float | None:
        """How much longer recorded steps took than later ones, as a share; None if too few were not recorded."""
        if len(self._unrecorded) < 3 or not self._recorded:
            return None
        recorded, unrecorded = _median(self._recorded), _median(self._unrecorded)
        return recorded / unrecorded - 1 if unrecorded > 0 else None

    @property
    def profile(self) -> Profile:
        """The recorded profile, opened."""
        if self._profile is None:
            import tfprof

            self._profile = tfprof.open(self.directory)
        return self._profile

    def _report(self) -> str:
        steps, warmup = len(self._recorded), self._summary["warmup"]
        names = " and ".join(self._summary["frameworks"])
        where = os.path.relpath(self.directory)
        head = f"tfprof: recorded {_count(steps, 'step') if steps else 'a run without marked steps'} of {names} in {where}"
        if steps and warmup:
            head += f"; {_count(warmup, 'step')} of warm-up left out"
        if self.overhead is not None:
            recorded, others = _seconds(_median(self._recorded)), _seconds(_median(self._unrecorded))
            head += f"; a recorded step took {recorded}, one that was not recorded {others}"
        lines = repr(self.profile.overview).splitlines()
        lines = [line for line in lines if not line.startswith("  line")][:LINES]
        return "\n".join([head, *lines, f"next: tfprof web {where}, tfprof op {where}, tfprof advise {where}"])

    def __repr__(self) -> str:
        if not os.path.isfile(os.path.join(self.directory, MANIFEST)):
            return f"<tfprof.Recording into {self.directory}>"
        return self._report()

    def _repr_html_(self) -> str:
        return self.profile._repr_html_()


# The recording that is open in this process.
_current: Recording | None = None


def current() -> Recording | None:
    """The recording that is open, if one is."""
    return _current


def _of_rank(directory: str) -> str:
    """Each process of a distributed job has a directory of its own below that of the run."""
    rank, size = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "1")
    return os.path.join(directory, f"rank-{int(rank)}") if rank.isdigit() and size != "1" else directory


def _prepare(directory: str) -> None:
    """Removes an earlier recording; anything else in the way is an error."""
    if not os.path.lexists(directory):
        return
    manifest = os.path.join(directory, MANIFEST)
    if os.path.isdir(directory) and not os.listdir(directory):
        os.rmdir(directory)
    elif os.path.isfile(manifest):
        with open(manifest, encoding="utf-8") as file:
            names = json.load(file).get("files", [])
        for name in [*names, MANIFEST]:
            with contextlib.suppress(FileNotFoundError):
                os.remove(os.path.join(directory, os.path.basename(name)))
        try:
            os.rmdir(directory)
        except OSError:
            raise FileExistsError(f"{directory} holds other files besides a recording; name another directory") from None
    else:
        raise FileExistsError(f"{directory} exists and is not a recording; name another directory")


def _files(directory: str) -> list[str]:
    """The files that a framework wrote, sorted; those of XSpace are some directories deeper."""
    found = [os.path.join(root, name) for root, _, names in os.walk(directory) for name in names]
    wanted = (".xplane.pb", ".pt.trace.json.gz", "graph.pb", "tfprof_log", _functions.ENDING)
    return sorted(path for path in found if path.endswith(wanted) or os.path.basename(path).startswith("run_meta_"))


def _has_ops(directory: str) -> bool:
    """Whether a profile has anything in it."""
    try:
        profile = _native.Profile()
        profile.load([directory])
    except _native.Error:
        return False
    return profile.coverage()[0] > 0


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def _seconds(value: float) -> str:
    unit, scale = ("s", 1.0) if value >= 1 else ("ms", 1e3) if value >= 1e-3 else ("µs", 1e6)
    return f"{value * scale:.3g} {unit}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
