#!/usr/bin/env python3
"""Compares the rows of XProf's framework_op_stats with `tfprof scope`, to the nanosecond.

  compare.py --tfprof BINARY --corpus corpus/xspace [--jax LOGDIR] [LOGDIR...]      (a Python with xprof 2.24.2)

Every fixture of the corpus that XProf can read is compared, and every recording that is named. A row that differs must
be one of the differences that docs/xspace.md lists; else the test fails. Of JAX on a CPU, XProf has no rows at all.
"""

import argparse
import collections
import contextlib
import glob
import gzip
import json
import os
import subprocess
import sys
import tempfile

# Fixtures in which all rows are equal, with how many there are.
EQUAL = {"tf_keras_fit": 176, "tf_custom_loop": 25, "tpu_like": 6, "roots": 3, "dangling": 1, "mixed_clock": 2}
# Those with rows that differ: how many, and by what of the table in docs/xspace.md.
KNOWN = {
    "gpu_like": (3, "copies and kernels without op, an op of two kernels"),
    "jax_mlp": (24, "JAX on CPU"),
    "jax_python": (55, "JAX on CPU"),
    "jax_no_markers": (6, "JAX on CPU"),
    "odd": (4, "equal ends, overlaps, a second plane"),
    "aggregated": (3, "events that stand for many"),
    "bit_flip": (0, "damage: XProf has no table"),
}


def xprof_rows(path):
    from xprof.convert import raw_to_tool_data as convert
    with tempfile.TemporaryDirectory() as directory:
        copy = os.path.join(directory, "host.xplane.pb")
        content = open(path, "rb").read()
        open(copy, "wb").write(gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content)
        with quiet():
            data, _ = convert.xspace_to_tool_data([copy], "framework_op_stats", {"use_saved_result": False})
    table = json.loads(data)[1]
    ids = [column["id"] for column in table["cols"]]
    rows = [dict(zip(ids, [cell.get("v") if cell else None for cell in row["c"]])) for row in table["rows"]]
    return {(row["host_or_device"], row["operation"]):
            (int(row["occurrences"]), round(row["total_time"] * 1e3), round(row["total_self_time"] * 1e3))
            for row in rows}


@contextlib.contextmanager
def quiet():
    """XProf tells standard error of everything that it does."""
    kept, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)


def our_rows(binary, path):
    """By side and name: occurrences, total and own time in nanoseconds."""
    cmd = [binary, "scope", path, "-step", "all", "-ops_only", "-max_depth", "1000000",
           "-select", "micros,occurrence,device,op_types", "-output", "json:outfile=-"]
    answer = subprocess.run(cmd, capture_output=True, text=True)
    if answer.returncode not in (0, 4):
        sys.exit(f"{' '.join(cmd)}: {answer.stderr}")
    rows = collections.defaultdict(lambda: [0, 0, 0])
    for row in json.loads(answer.stdout)["rows"]:
        for on in row.get("by_device", []):
            device, name = on["device"], row["name"]
            side = "Device" if device.startswith("/device:") else "Host"
            # XProf's row on a device is the framework's op, ours the instruction within it.
            if device.startswith(("/device:TPU", "/device:CPU")):
                name = name.rsplit("/", 1)[0]
            elif "Dataset" in row["op_types"]:
                name = name.replace("/", "::")
            sums = rows[side, name]
            for i, key in enumerate(["runs", "inclusive_micros", "micros"]):
                sums[i] += on[key]
    return {key: (runs, round(total * 1e3), round(own * 1e3)) for key, (runs, total, own) in rows.items()}


def differences(ours, theirs):
    # A nanosecond, since XProf's table has doubles.
    near = lambda a, b: a and b and a[0] == b[0] and abs(a[1] - b[1]) <= 1 and abs(a[2] - b[2]) <= 1
    return [(key, ours.get(key), theirs.get(key)) for key in sorted(set(ours) | set(theirs))
            if not near(ours.get(key), theirs.get(key))]


def recordings(paths):
    """Files, and those of the runs of log directories."""
    runs = lambda logdir: sorted(glob.glob(os.path.join(logdir, "plugins", "profile", "*", "*.xplane.pb")))
    return [file for path in paths for file in (runs(path) if os.path.isdir(path) else [path])]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tfprof", required=True)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--jax", action="append", default=[], help="recordings of JAX on a CPU, of which XProf has no rows")
    parser.add_argument("files", nargs="*", help="recordings in which every row must be equal")
    args = parser.parse_args()
    failed = False
    args.files, args.jax = recordings(args.files), recordings(args.jax)
    cases = [(os.path.basename(os.path.dirname(path)), path) for path in
             sorted(glob.glob(os.path.join(args.corpus, "*", "host.xplane.pb.gz")))]
    for path in args.jax:
        ours, theirs = our_rows(args.tfprof, path), xprof_rows(path)
        good = not theirs and ours and all(side == "Device" and sums[2] >= 0 for (side, _), sums in ours.items())
        print(f"{path}: {len(theirs)} rows of XProf, {len(ours)} of ours{'' if good else '  <-- FAILED'}")
        failed |= not good
    for name, path in cases + [(path, path) for path in args.files]:
        if name not in EQUAL and name not in KNOWN and path not in args.files:
            continue
        try:
            theirs = xprof_rows(path)
        except Exception as error:  # XProf has no table of its own for what it cannot read.
            print(f"{name}: XProf: {str(error)[:80]}")
            failed |= name not in KNOWN
            continue
        ours = our_rows(args.tfprof, path)
        different = differences(ours, theirs)
        if name in KNOWN:
            expected, why = KNOWN[name]
            good = len(different) == expected
            print(f"{name}: {len(different)} rows differ: {why}{'' if good else '  <-- FAILED, expected ' + str(expected)}")
            failed |= not good
            continue
        rows = EQUAL.get(name, len(theirs))
        good = not different and len(theirs) == rows and rows > 0
        print(f"{name}: {len(theirs)} rows, {len(different)} differ{'' if good else '  <-- FAILED'}")
        for key, a, b in different[:10]:
            print(f"  {key}: tfprof {a}, XProf {b}")
        failed |= not good
    sys.exit(failed)


if __name__ == "__main__":
    main()
