#!/usr/bin/env python3
"""Imports a corpus of profiles and goldens, gzipped, with one copy of each content.

  import_corpus.py SRC DST

Files that people read stay plain (Markdown, and JSON outside golden/: case lists, tables of facts). Everything else
becomes NAME.gz unless its name already ends in .gz. SRC's README.md is left out: DST has its own.

Files with equal contents are stored once, and the case lists name that copy: an input before a golden, the first name
of a model before later ones, and shared/golden/ for a golden of several models.

DST becomes a mirror of SRC: files that SRC lacks are removed. The import is reproducible: gzip headers carry neither
name nor time, and a file with the right content is not rewritten, so a different zlib leaves the corpus unchanged.
"""

import collections
import gzip
import io
import json
import os
import re
import sys

STRING = re.compile(r'"(?:[^"\\]|\\.)*"')  # of JSON


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.split("\n\n")[1])
    src, dst = sys.argv[1:]
    contents = {}
    for rel in sorted(files(src)):
        if rel != "README.md":
            with open(os.path.join(src, rel), "rb") as f:
                contents[rel] = f.read()
    copies = stored_copies(contents)
    wanted = {os.path.join(dst, "README.md")}
    written = 0
    for stored in sorted(set(copies.values())):
        rel = stored if stored in contents else next(rel for rel in contents if copies[rel] == stored)
        data = contents[rel]
        if os.path.basename(rel) == "cases.json":
            data = with_stored_paths(rel, data, copies)
        target = os.path.join(dst, stored if stays_plain(stored) else stored + ".gz")
        wanted.add(target)
        written += write(target, data, packed=not stays_plain(stored))
    removed = [path for path in (os.path.join(dst, rel) for rel in files(dst)) if path not in wanted]
    for path in removed:
        os.unlink(path)
    size = sum(os.path.getsize(path) for path in wanted if os.path.exists(path))
    print(f"{len(wanted)} files, {written} written, {len(removed)} removed, {size / 1e6:.1f} MB")


def files(root):
    for folder, _, names in os.walk(root):
        for name in names:
            yield os.path.relpath(os.path.join(folder, name), root)


def stored_copies(contents):
    """The path under which the content of each path is stored: its own, or that of an equal file."""
    groups = collections.defaultdict(list)
    named = set(named_paths(contents))
    for rel in sorted(contents, key=lambda rel: (is_golden(rel), rel in named, rel)):
        groups[unpacked(rel, contents[rel])].append(rel)
    copies = {rel: rel for rel in contents}
    for group in groups.values():
        first_of = {}
        for rel in group:
            first_of.setdefault(model(rel), rel)
        goldens = [rel for rel in first_of.values() if is_golden(rel)]
        shared = os.path.join("shared", "golden", os.path.basename(goldens[0])) if len(goldens) > 1 else None
        if shared in copies.values():
            sys.exit(f"{shared} has another content already: rename {goldens[0]}")
        for rel in named.intersection(group):
            first = first_of[model(rel)]
            copies[rel] = shared if first in goldens and shared else first
    return copies


def named_paths(contents):
    """The files that case lists name by their whole path."""
    for cases in contents:
        if os.path.basename(cases) == "cases.json":
            for text in re.findall(STRING, contents[cases].decode()):
                path = os.path.normpath(os.path.join(os.path.dirname(cases), json.loads(text)))
                if path in contents:
                    yield path


def with_stored_paths(rel, data, copies):
    """A case list in which each path names the stored copy. Only quoted paths change, so that the layout stays."""
    folder = os.path.dirname(rel)

    def stored(match):
        path = os.path.normpath(os.path.join(folder, json.loads(match.group())))
        if path not in copies or copies[path] == path:
            return match.group()
        return json.dumps(os.path.relpath(copies[path], folder))

    return re.sub(STRING, stored, data.decode()).encode()


def unpacked(rel, data):
    """The content behind a path: a golden may be packed already. Gzip is part of the pprof format, and of some inputs."""
    return gzip.decompress(data) if is_golden(rel) and rel.endswith(".gz") and not rel.endswith(".pprof.gz") else data


def model(rel):
    return rel.split(os.sep)[0]


def is_golden(rel):
    return "golden" in rel.split(os.sep)[:-1]


def stays_plain(rel):
    return rel.endswith((".gz", ".md")) or (rel.endswith(".json") and not is_golden(rel))


def write(path, data, packed):
    """Writes `data` unless the file already holds it. Returns whether it wrote."""
    if os.path.exists(path):
        with open(path, "rb") as f:
            old = f.read()
        if (gzip.decompress(old) if packed else old) == data:
            return 0
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(pack(data) if packed else data)
    return 1


def pack(data):
    out = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=out, mtime=0) as f:
        f.write(data)
    return out.getvalue()


if __name__ == "__main__":
    main()
