"""`tfprof.fleet`: the profiles of many hosts as one, on processes, Dask, Ray or Spark."""

from __future__ import annotations

import concurrent.futures
import os
import sys
import tempfile
from collections.abc import Callable, Iterable
from typing import Any

from tfprof import _native, _open
from tfprof._api import write_file
from tfprof._fleet import engines, schedule, storage
from tfprof._fleet.tasks import File
from tfprof._view import keep_inputs, path_of

Progress = Callable[[int, int], None]

# The number of threads that look up sizes and tags of files.
_ASKING = 16


class Fleet(_open.Profile):
    """The profile of a fleet. `tfprof.open` reads what `save_part` writes."""

    part: bytes
    """The merged partial: the same bytes whatever the engine, the order and the grouping."""
    lost: list[str]
    """A line for each file that is missing or could not be read: its path and the reason."""
    reasons: dict[str, str]
    """The same by path. A file that is damaged, but was read in part, is in `warnings` alone."""
    cached: int
    """The number of files whose partials came from the cache."""
    resubmitted: int
    """How many tasks ran again, because their worker was lost or because they took long. Losses that Dask, Ray and Spark
    make up for are not counted."""

    def save_part(self, path: str | os.PathLike[str]) -> None:
        """Writes the merged partial to a file, for `tfprof merge`, `tfprof.open` and any view."""
        target = path_of(path)
        keep_inputs(target, self._native.files())
        write_file(target, self.part)


def fleet(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    engine: Any = None,
    *,
    group: int = 1,
    cache: str | os.PathLike[str] | None = None,
    require_hosts: int | None = None,
    progress: bool | Progress | None = None,
) -> Fleet:
    """Reads the files of many hosts, each where a worker of the engine is, and returns their profile.

    `paths` are paths, addresses (`s3://`, `gs://`, `https://`; they need fsspec, which takes credentials from your own
    configuration) or patterns such as `s3://runs/*.xplane.pb`. `engine` is `"processes"` (the default; a number sets how
    many), `"dask"`, `"ray"` or `"spark"`, or your client of Dask or session of Spark, which is used as it is. A task
    reads `group` files.

    `cache` is a directory or an address that keeps the partial of each file by its path, size and tag: a second run reads only
    what is new or has changed. A file that is missing, damaged or lost with its task is named in `lost` and in `warnings`.
    With `require_hosts`, fewer files than that with data are an error.

    `progress` shows a line on the terminal, by default if standard error is one; or it is a function of the number of files
    that are done and of all files.

    >>> import tfprof
    >>> p = tfprof.fleet("corpus/xspace/jax_two_hosts/*.xplane.pb.gz", engine=2)    # doctest: +SKIP
    >>> p.op(select="micros", max_depth=2)                                         # doctest: +SKIP
    """
    count = _count("group", group)
    least = 0 if require_hosts is None else _count("require_hosts", require_hosts)
    names = _expand(paths)
    kept = None if cache is None else path_of(cache)
    files = _files(names)
    runner = engines.engine_of(engine)
    try:
        cached = _cached(files, kept)
        with _Line(progress, len(files), cached) as report:
            groups = [files[start : start + count] for start in range(0, len(files), count)]
            outcome = schedule.Run(runner, kept, report).run(groups)
    finally:
        runner.close()
    return _opened(outcome, files, cached, least)


def _count(name: str, given: Any) -> int:
    if isinstance(given, bool) or not isinstance(given, int):
        raise TypeError(f"{name}: expected a number, found {type(given).__name__}")
    if given < 1:
        raise ValueError(f"{name}: expected 1 or more, found {given}")
    return given


def _expand(paths: Any) -> list[str]:
    """The files that paths and patterns name, each once, in their order."""
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    elif not isinstance(paths, Iterable):
        raise TypeError(f"paths: expected a path, a pattern or a list of them, found {type(paths).__name__}")
    found: list[str] = []
    for path in paths:
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"paths: expected a path or a pattern, found {type(path).__name__}")
        text = path_of(path)
        several = storage.glob(text)
        if not several:
            raise FileNotFoundError(f"no file matches {text}")
        # A worker may run in another directory.
        found += [os.path.abspath(one) if storage.is_local(one) else one for one in several]
    if not found:
        raise ValueError("paths: expected at least one file, found none")
    return list(dict.fromkeys(found))


def _files(paths: list[str]) -> list[File]:
    def about(path: str) -> File:
        try:
            return File(path, *storage.about(path))
        except FileNotFoundError:
            return File(path, missing="there is no such file")
        except OSError as error:
            return File(path, missing=error.strerror or str(error))

    with concurrent.futures.ThreadPoolExecutor(_ASKING) as pool:
        return list(pool.map(about, paths))


def _cached(files: list[File], cache: str | None) -> int:
    known = storage.names(cache) if cache is not None else set()
    return sum(file.key in known for file in files if not file.missing)


class _Line:
    """A line of progress on the terminal."""

    def __init__(self, progress: bool | Progress | None, count: int, cached: int) -> None:
        self._told = progress if callable(progress) else None
        self._shows = progress is True or (progress is None and sys.stderr is not None and sys.stderr.isatty())
        self._count, self._cached = count, cached
        self._last = -1

    def __enter__(self) -> Callable[[int], None]:
        return self._report

    def _report(self, done: int) -> None:
        if done == self._last:
            return
        self._last = done
        if self._told is not None:
            self._told(done, self._count)
        elif self._shows:
            cached = f", {self._cached:,} of them from the cache" if self._cached else ""
            print(f"\rtfprof: {done:,} of {self._count:,} files{cached}", end="", file=sys.stderr, flush=True)

    def __exit__(self, *_: object) -> None:
        if self._shows and self._told is None:
            print(file=sys.stderr)


def _opened(outcome: schedule.Outcome, files: list[File], cached: int, least: int) -> Fleet:
    native = _native.Profile()
    with tempfile.TemporaryDirectory(prefix="tfprof-") as directory:
        file = os.path.join(directory, "fleet.part")
        write_file(file, outcome.part)
        native.load([file])
    damage = [message for message, is_damage in native.all_warnings() if is_damage]
    found = Fleet(native, [], False)
    entries = _native.ledger(outcome.part)
    found.part = outcome.part
    found.reasons = {path: reason for _, path, *_, reason in entries if reason is not None}
    found.lost = [f"{path}: {reason}" for path, reason in sorted(found.reasons.items())]
    found.cached, found.resubmitted = cached, outcome.resubmitted
    read = len(files) - len(found.lost)
    if read < least:
        names = "; ".join(found.lost[:3])
        raise _native.MissingData(f"{read} of {len(files)} files have data, and require_hosts is {least}: {names}")
    _open.tell_damage(damage)
    return found

