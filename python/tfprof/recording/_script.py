"""`tfprof run SCRIPT`: records an unmodified program."""

from __future__ import annotations

import argparse
import os
import runpy
import sys

from tfprof import _native
from tfprof.recording._recording import STEPS, WARMUP, Recording


def main(words: list[str]) -> int:
    """Runs a script or module with its arguments, and records it."""
    parser = argparse.ArgumentParser(
        prog="tfprof run",
        description="Record some steps of a Python program, and print the first lines of the answer.",
        usage="tfprof run [options] SCRIPT [argument …]\n       tfprof run [options] -m MODULE [argument …]",
        allow_abbrev=False,
    )
    parser.add_argument("--outdir", default="tfprof-run", metavar="DIR", help="where to write (default: tfprof-run)")
    parser.add_argument("--steps", type=int, default=STEPS, metavar="N", help=f"steps to record (default: {STEPS})")
    parser.add_argument("--warmup", type=int, default=WARMUP, metavar="N", help=f"steps to leave out before (default: {WARMUP})")
    parser.add_argument("--no_stacks", action="store_true", help="leave out calls of Python: recorded steps are faster")
    parser.add_argument("-m", dest="module", action="store_true", help="SCRIPT is the name of a module")
    parser.add_argument("script", metavar="SCRIPT")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="argument")
    given = parser.parse_args(words)
    if not given.module and not os.path.isfile(given.script):
        print(f"tfprof: {given.script}: no such script", file=sys.stderr)
        return 1
    try:
        recording = Recording(given.outdir, steps=given.steps, warmup=given.warmup, stacks=not given.no_stacks)
    except ValueError as error:
        print(f"tfprof: --{error}", file=sys.stderr)
        return 2
    try:
        with recording:
            return _run(given.script, given.arguments, given.module)
    except (_native.Error, FileExistsError) as error:
        print(f"tfprof: {error}", file=sys.stderr)
        return 1


def _run(script: str, arguments: list[str], is_module: bool) -> int:
    sys.argv = [script, *arguments]
    try:
        if is_module:
            sys.path.insert(0, os.getcwd())
            runpy.run_module(script, run_name="__main__", alter_sys=True)
        else:
            sys.path.insert(0, os.path.dirname(os.path.abspath(script)))
            runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        if isinstance(end.code, int):
            return end.code
        if end.code is not None:
            print(end.code, file=sys.stderr)
            return 1
    return 0
