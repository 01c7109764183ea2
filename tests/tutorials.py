"""Runs programs of the tutorials, which are blocks of docs/tutorials fenced as `python file=NAME`: `tutorials.py NAME...`."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

PAGES = pathlib.Path(__file__).resolve().parent.parent / "docs" / "tutorials"
# A program, what it must have written, and a command that must work on it.
EXPECTED = {
    "keras_fit.py": ("run/recording.json", ["info", "run"]),
    "torch_profiler.py": ("trace.json", ["op", "trace.json"]),
}


def program(name):
    for page in PAGES.glob("*.md"):
        if block := re.search(
            rf"^```python file={re.escape(name)}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE
        ):
            return block[1]
    sys.exit(f"no tutorial has a program {name}")


def check(name):
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, name).write_text(program(name))
        subprocess.run([sys.executable, name], cwd=folder, check=True, env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"})
        file, command = EXPECTED[name]
        if not pathlib.Path(folder, file).is_file():
            sys.exit(f"{name} did not write {file}")
        answer = subprocess.run(
            [sys.executable, "-m", "tfprof", *command], cwd=folder, check=True, capture_output=True, text=True
        )
        if not answer.stdout.strip():
            sys.exit(f"{name}: tfprof {' '.join(command)} answers nothing")
        print(f"{name}: ok")


if __name__ == "__main__":
    for word in sys.argv[1:]:
        check(word)
