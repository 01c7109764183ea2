"""Files by path or address. Addresses such as `s3://` go through fsspec, with the user's own configuration and credentials."""

from __future__ import annotations

import contextlib
import glob as globs
import os
import tempfile
from collections.abc import Iterator
from typing import Any

# The chunk size for copying remote files.
_PIECE = 8 << 20


def is_local(path: str) -> bool:
    return "://" not in path


def _filesystem(path: str) -> tuple[Any, str]:
    """The file system of an address, and the path in it."""
    try:
        import fsspec
    except ImportError:
        scheme = path.split("://")[0]
        raise ImportError(f"{path}: addresses need fsspec; install it, and its package for {scheme}://, as in: pip install fsspec s3fs") from None
    system, inside = fsspec.core.url_to_fs(path)
    return system, inside


def join(directory: str, name: str) -> str:
    return os.path.join(directory, name) if is_local(directory) else f"{directory.rstrip('/')}/{name}"


def glob(pattern: str) -> list[str]:
    """The files that a pattern names, sorted; a path without wildcards names itself."""
    if is_local(pattern):
        return sorted(globs.glob(pattern, recursive=True)) if globs.has_magic(pattern) else [pattern]
    if not globs.has_magic(pattern.split("://", 1)[1]):
        return [pattern]
    system, inside = _filesystem(pattern)
    return sorted(_address(system, pattern, found) for found in system.glob(inside))


def _address(system: Any, pattern: str, found: str) -> str:
    return found if "://" in found else f"{pattern.split('://')[0]}://{found.lstrip('/')}"


def about(path: str) -> tuple[int | None, str]:
    """The size of a file, and a tag that changes with its content, as far as its storage tells. Raises `OSError`."""
    if is_local(path):
        facts = os.stat(path)
        return facts.st_size, str(facts.st_mtime_ns)
    system, inside = _filesystem(path)
    info: dict[str, Any] = system.info(inside)
    tags = [str(info[name]) for name in ("ETag", "etag", "generation", "md5Hash", "LastModified", "mtime") if info.get(name)]
    return info.get("size"), tags[0] if tags else ""


def fetch(path: str, here: str) -> None:
    """Copies a remote file, piece by piece."""
    system, inside = _filesystem(path)
    with system.open(inside, "rb", block_size=_PIECE) as source, open(here, "wb") as target:
        while piece := source.read(_PIECE):
            target.write(piece)


def read(path: str) -> bytes | None:
    """The content of a file; `None` if there is none."""
    with contextlib.suppress(FileNotFoundError):
        if is_local(path):
            with open(path, "rb") as file:
                return file.read()
        system, inside = _filesystem(path)
        return bytes(system.cat_file(inside))
    return None


def write(path: str, content: bytes) -> None:
    """Writes a file atomically, so that nobody reads half of it."""
    if not is_local(path):
        system, inside = _filesystem(path)
        system.pipe_file(inside, content)
        return
    directory = os.path.dirname(path) or "."
    os.makedirs(directory, exist_ok=True)
    with _removed_on_error(directory) as (descriptor, temporary):
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.replace(temporary, path)


@contextlib.contextmanager
def _removed_on_error(directory: str) -> Iterator[tuple[int, str]]:
    descriptor, temporary = tempfile.mkstemp(dir=directory, prefix=".tfprof-")
    try:
        yield descriptor, temporary
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def names(directory: str) -> set[str]:
    """The names of the files in a directory; none if it does not exist."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        if is_local(directory):
            return set(os.listdir(directory))
        system, inside = _filesystem(directory)
        return {str(path).rsplit("/", 1)[-1] for path in system.ls(inside, detail=False)}
    return set()
