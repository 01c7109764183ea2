"""Ctrl-C while native code works."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest


def interrupted(body: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs a script, sends it Ctrl-C once it has said that it is about to wait, and returns how it ended."""
    head = """
        import signal, sys, threading
        import tfprof
        from tfprof import _native
        signal.signal(signal.SIGINT, signal.default_int_handler)

        def waits(call):
            # Long after the call has begun.
            threading.Timer(0.5, lambda: (sys.stdout.write("waits\\n"), sys.stdout.flush())).start()
            try:
                call()
            except KeyboardInterrupt:
                print("interrupted")
            else:
                print("not interrupted")
        """
    text = textwrap.dedent(head) + textwrap.dedent(body)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, "-c", text, *words],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    if process.stdout.readline() == "waits\n":
        process.send_signal(signal.SIGINT)
    try:
        out, err = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        pytest.fail("Ctrl-C did not end the wait")
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


@pytest.fixture
def endless(tmp_path: Path) -> str:
    """A file that never ends, nor says anything: only Ctrl-C ends the reading of it."""
    path = tmp_path / "graph.pb"
    os.mkfifo(path)
    return str(path)


def test_reading_ends(endless: str) -> None:
    done = interrupted("waits(lambda: tfprof.Profiler.from_file(sys.argv[1]))", endless)
    assert (done.stdout, done.returncode) == ("interrupted\n", 0), done.stderr


def test_an_interrupted_profile_cannot_be_asked(endless: str) -> None:
    body = """
        native = _native.Profile()
        waits(lambda: native.load([sys.argv[1]]))
        for call in (native.steps, native.coverage, lambda: native.add("graph", b""), native.warnings):
            try:
                call()
            except tfprof.Error as error:
                print(error)
        """
    done = interrupted(body, endless)
    sentence = "Ctrl-C interrupted loading, so the profile is incomplete; open it again\n"
    assert (done.stdout, done.returncode) == ("interrupted\n" + 4 * sentence, 0), done.stderr


def test_waiting_for_traces_ends(tmp_path: Path) -> None:
    trace = tmp_path / "timeline-1.json"
    os.mkfifo(trace)
    # Somebody holds the pipe open and reads nothing, so the writer waits for good.
    holder = os.open(trace, os.O_RDWR)
    body = """
        writer = _native.TraceWriter(1, 0)
        stats = b"\\n\\x06" + b"\\n\\x04name"
        def fill():
            for _ in range(3):
                writer.put(stats * 100000, sys.argv[1], True, True)
            writer.flush()
        waits(fill)
        """
    try:
        done = interrupted(body, str(trace))
        assert (done.stdout, done.returncode) == ("interrupted\n", 0), done.stderr
    finally:
        os.close(holder)


def test_opening_a_checkpoint_ends(tmp_path: Path) -> None:
    path = tmp_path / "model.ckpt"
    with open(path, "wb") as file:
        file.truncate(1 << 42)  # Terabytes of nothing, of which the disk holds none.
    done = interrupted("waits(lambda: tfprof.checkpoint(sys.argv[1]))", str(path))
    assert (done.stdout, done.returncode) == ("interrupted\n", 0), done.stderr
