#!/usr/bin/env python3
"""Brings a corpus of profiles and goldens into the project, gzipped.

  import_corpus.py SRC DST

Rule: what a person reads stays plain (Markdown, and JSON outside golden/: case lists, tables of facts);
everything else becomes NAME.gz, unless its name ends in .gz already. SRC's README.md is left out: DST has its own.

The same SRC gives the same DST: gzip headers carry neither name nor time, and a file whose content is
already there is not written again, so another zlib does not rewrite the whole corpus. Files of DST that SRC
lacks are removed, so that DST is a mirror.
"""

import gzip
import io
import os
import sys


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.split("\n\n")[1])
    src, dst = sys.argv[1:]
    wanted = {os.path.join(dst, "README.md")}
    written = 0
    for rel in sorted(files(src)):
        if rel == "README.md":
            continue
        with open(os.path.join(src, rel), "rb") as f:
            data = f.read()
        target = os.path.join(dst, rel if stays_plain(rel) else rel + ".gz")
        wanted.add(target)
        written += write(target, data, packed=target != os.path.join(dst, rel))
    removed = [path for path in (os.path.join(dst, rel) for rel in files(dst)) if path not in wanted]
    for path in removed:
        os.unlink(path)
    size = sum(os.path.getsize(path) for path in wanted if os.path.exists(path))
    print(f"{len(wanted)} files, {written} written, {len(removed)} removed, {size / 1e6:.1f} MB")


def files(root):
    for folder, _, names in os.walk(root):
        for name in names:
            yield os.path.relpath(os.path.join(folder, name), root)


def stays_plain(rel):
    folders = rel.split(os.sep)[:-1]
    return rel.endswith((".gz", ".md")) or (rel.endswith(".json") and "golden" not in folders)


def write(path, data, packed):
    """Writes `data` unless it is there already; says whether it wrote."""
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
