"""Maps files to partials and reduces them in a tree, on any engine.

Partials are merged as soon as there are enough of them, so that few wait. Near the end, tasks that take far longer than others
are submitted again, and the first result counts. A task that has no result becomes a partial that names its files.
"""

from __future__ import annotations

import statistics
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tfprof._fleet import tasks
from tfprof._fleet.engines import Engine
from tfprof._fleet.tasks import File

# The number of partials merged by one task.
FAN_IN = 16
# Once this share of tasks has finished, a straggler (this many times the median age) is submitted again.
STRAGGLER_SHARE = 0.95
STRAGGLER_AGE = 3
# Younger tasks are never stragglers.
MIN_STRAGGLER_SECONDS = 0.5
# The interval between two looks at the ages of tasks.
POLL_SECONDS = 0.2


@dataclass
class Group:
    """Files of one task, and its attempts that are under way."""

    files: list[File]
    attempts: list[Any] = field(default_factory=list)
    begun: float = 0.0


@dataclass
class Outcome:
    """The merged partial, with figures about the run."""

    part: bytes
    resubmitted: int
    failed: list[tuple[str, str]]
    """Files whose tasks failed, and why."""


class Run:
    """One fleet on one engine."""

    def __init__(self, engine: Engine, cache: str | None, report: Callable[[int], None]) -> None:
        self._engine = engine
        self._cache = cache
        self._report = report
        self._running: list[Group] = []
        self._ages: list[float] = []
        self._merges: list[tuple[int, Any]] = []
        # Pending partials by level of the tree: handles, and the bytes of lost files.
        self._levels: list[list[Any]] = []
        self._resubmitted = 0
        self._failed: list[tuple[str, str]] = []

    def run(self, groups: list[list[File]]) -> Outcome:
        """Maps and reduces all groups, of which there is at least one."""
        waiting = deque(Group(files) for files in groups)
        done = 0
        while waiting or self._running:
            while waiting and len(self._running) < 2 * self._engine.slots():
                self._begin(waiting.popleft())
            done += self._collect()
            self._report(sum(len(group) for group in groups) * done // len(groups))
            if not waiting and done >= STRAGGLER_SHARE * len(groups):
                self._try_again()
        return Outcome(self._reduce(), self._resubmitted + self._engine.resubmitted, self._failed)

    def _begin(self, group: Group) -> None:
        group.begun = time.monotonic()
        group.attempts.append(self._engine.submit(tasks.part_of, group.files, self._cache))
        self._running.append(group)

    def _collect(self) -> int:
        """Collects the results of finished tasks, and returns their number."""
        merges = [handle for _, handle in self._merges]
        handles = [handle for group in self._running for handle in group.attempts]
        ready = {id(handle) for handle in self._engine.wait(handles + merges, POLL_SECONDS)}
        for level, handle in [merge for merge in self._merges if id(merge[1]) in ready]:
            self._merges = [merge for merge in self._merges if merge[1] is not handle]
            self._add(level, handle)
        finished = [group for group in self._running if self._finish(group, ready)]
        self._running = [group for group in self._running if group not in finished]
        return len(finished)

    def _finish(self, group: Group, ready: set[int]) -> bool:
        error: BaseException | None = None
        for handle in [handle for handle in group.attempts if id(handle) in ready]:
            group.attempts.remove(handle)
            error = self._engine.error(handle)
            if error is None:
                self._ages.append(time.monotonic() - group.begun)
                for other in group.attempts:
                    self._engine.cancel(other)
                self._add(0, handle)
                return True
        if error is None or group.attempts:
            return False
        reason = f"its task failed: {type(error).__name__}: {error}".split("\n")[0]
        self._failed += [(file.path, reason) for file in group.files]
        self._add(0, tasks.lost(group.files, reason))
        return True

    def _try_again(self) -> None:
        """Submits stragglers again, each at most once."""
        if not self._ages:
            return
        limit = max(STRAGGLER_AGE * statistics.median(self._ages), MIN_STRAGGLER_SECONDS)
        for group in self._running:
            if len(group.attempts) == 1 and time.monotonic() - group.begun > limit:
                self._resubmitted += 1
                group.attempts.append(self._engine.submit(tasks.part_of, group.files, self._cache))

    def _add(self, level: int, handle: Any) -> None:
        while len(self._levels) <= level:
            self._levels.append([])
        self._levels[level].append(handle)
        if len(self._levels[level]) == FAN_IN:
            self._merge(level, self._levels[level])
            self._levels[level] = []

    def _merge(self, level: int, handles: list[Any]) -> None:
        self._merges.append((level + 1, self._engine.submit(tasks.merge, *handles)))

    def _reduce(self) -> bytes:
        """Merges the remaining partials. A failed merge is an error, since nothing can replace its result."""
        while True:
            while self._merges:
                self._collect()
            left = [handle for level in self._levels for handle in level]
            self._levels = []
            if len(left) == 1:
                return left[0] if isinstance(left[0], bytes) else self._engine.result(left[0])
            for start in range(0, len(left), FAN_IN):
                self._merge(0, left[start : start + FAN_IN])
