"""The examples of docs/python-tensorflow.md, one after the other, as a reader would type them."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python-tensorflow.md"


def test_examples(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert len(blocks) == 4
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, PAGE.name, "exec"), names)  # noqa: S102
    traces = sorted(path.name for path in (tmp_path / "traces").glob("timeline-*"))
    assert traces == [f"timeline-{step}.json" for step in (10, 20, 30, 40, 50)]
    assert (tmp_path / "trace.json").stat().st_size > 1000
    assert [path.name for path in (tmp_path / "profiles").iterdir()] == ["profile_20"]
    printed = capsys.readouterr().out
    assert re.search(r"^cpu \d+ \['MatMul'", printed, re.MULTILINE)
    assert printed.endswith("4096\n")
