"""What mypy says of code that uses the package: right code passes, and what is wrong is found before it runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

RIGHT = """
import json
import tfprof

p: tfprof.Profile = tfprof.open("dump", run_meta={0: "a", 100: ["b", b""]}, checkpoint="x", strict=True)
view: tfprof.View = p.scope(select="params", max_depth=3, show_name_regexes=["a", "b"], ops_only=True)
rows: list[tfprof.Row] = view[1:3]
numbers: list[int] = [row.total["params"] + row.self["params"] for row in view]
parent: int | None = view["a"].parent
data = json.loads(view.to_json())
view.to_json("x.json")
written: list[str] = view.flamegraph("x.svg")
reports: list[str] = p.advise(["OperationChecker"])["OperationChecker"]
ckpt: tfprof.Checkpoint = tfprof.checkpoint("x", stats=True, order_by="params")
shapes: list[tuple[int, ...]] = [tensor.shape for tensor in ckpt]
ok: bool = ckpt.verify().ok
same: int = ckpt.compare("y", stats=True).same
options: tfprof.Options = {"select": "params", "min_params": 3}
p.op(**options)
profiler = tfprof.Profiler.from_file("x")
profiler.profile_graph(tfprof.ProfileOptionBuilder(tfprof.ProfileOptionBuilder.float_operation()).with_max_depth(3).build())
"""
WRONG = [
    ('tfprof.open("x").scope(max_dept=3)', 'Unexpected keyword argument "max_dept"'),
    ('tfprof.open("x").scope(max_depth="3")', "incompatible type"),
    ('tfprof.open("x").scope("params")', "Too many positional arguments"),
    ('tfprof.open("x").scope()[0].depth + "a"', "Unsupported operand"),
    ('tfprof.checkpoint("x", sort_by="params")', 'Unexpected keyword argument "sort_by"'),
    ('tfprof.opne("x")', 'has no attribute "opne"'),
]


def mypy(script: str, directory: Path) -> tuple[int, str]:
    (directory / "user.py").write_text(script)
    words = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(directory / "cache"), "user.py"]
    done = subprocess.run(words, cwd=directory, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_right_code_passes_and_wrong_code_does_not(tmp_path: Path) -> None:
    code, said = mypy(RIGHT, tmp_path)
    assert code == 0, said
    code, said = mypy("import tfprof\n" + "\n".join(line for line, _ in WRONG) + "\n", tmp_path)
    assert code == 1
    for number, (line, expected) in enumerate(WRONG, start=2):
        told = [text for text in said.splitlines() if text.startswith(f"user.py:{number}:")]
        assert any(expected in text for text in told), (line, said)
