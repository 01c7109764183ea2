"""The tasks of a fleet, as functions that any engine can run on any machine: files to a partial, partials to one.

A file that cannot be read is a partial as well: its ledger names the file and the reason.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from dataclasses import dataclass

from tfprof import _native
from tfprof._fleet import storage

# Part of the key of a cached partial: raise it when partials of the same file change.
_VERSION = "2"


@dataclass(frozen=True)
class File:
    """A file of a fleet. `size` and `tag` (a time or a hash, as the storage has it) tell one version from the next."""

    path: str
    size: int | None = None
    tag: str = ""
    missing: str = ""
    """Why there is no such file; empty if there is one."""

    @property
    def key(self) -> str:
        """The name of its partial in a cache."""
        text = "\0".join([_VERSION, self.path, str(self.size), self.tag])
        return hashlib.sha256(text.encode()).hexdigest()[:40] + ".part"


def part_of(files: list[File], cache: str | None = None) -> bytes:
    """The partial of some files, from the cache if possible. Fails only if the storage does, so that a retry makes sense."""
    return merge(*[_part(file, cache) for file in files])


def merge(*parts: bytes) -> bytes:
    """One partial of several; their order and grouping do not matter."""
    return parts[0] if len(parts) == 1 else _native.merge(list(parts))


def lost(files: list[File], reason: str) -> bytes:
    """A partial that only lists files that are missing from the sums, with the reason."""
    return merge(*[_native.lost(file.path, reason) for file in files])


def _part(file: File, cache: str | None) -> bytes:
    if file.missing:
        return _native.lost(file.path, file.missing)
    kept = storage.join(cache, file.key) if cache is not None else None
    if kept is not None and (known := storage.read(kept)) is not None and _is_whole(known):
        return known
    try:
        made = _read(file)
    except FileNotFoundError:
        return _native.lost(file.path, "there is no such file")
    except (_native.Error, IsADirectoryError, PermissionError) as error:
        # The error is permanent: a retry elsewhere would fail, too.
        return _native.lost(file.path, str(error))
    if kept is not None:
        storage.write(kept, made)
    return made


def _is_whole(part: bytes) -> bool:
    """Whether a cached partial is what was written. If not, the file is read again."""
    try:
        _native.ledger(part)
    except _native.Error:
        return False
    return True


def _read(file: File) -> bytes:
    if storage.is_local(file.path):
        return _native.part([file.path])
    with tempfile.TemporaryDirectory(prefix="tfprof-") as directory:
        # The name stays, since it may tell the host and the format.
        here = os.path.join(directory, file.path.rstrip("/").rsplit("/", 1)[-1].split("?")[0] or "file")
        storage.fetch(file.path, here)
        try:
            return _native.part([here], [file.path])
        except _native.Error as error:
            # Name the original file, since the copy is temporary.
            raise _native.Error(str(error).replace(here, file.path)) from None
