"""Runs the examples of docs/python-tensorflow.md in order."""

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
    traces = sorted(int(path.stem.partition("-")[2]) for path in (tmp_path / "traces").glob("timeline-*"))
    # A run may increase the step before the hook has read it, or after.
    assert 4 <= len(traces) <= 6
    assert all(9 <= later - earlier <= 11 for earlier, later in zip([0, *traces], traces))
    assert (tmp_path / "trace.json").stat().st_size > 1000
    assert [path.name for path in (tmp_path / "profiles").iterdir()] == ["profile_20"]
    printed = capsys.readouterr().out
    # TensorFlow's name for the allocator of the CPU depends on the processor: cpu, or mklcpu with oneDNN.
    nodes = [node for device in names["run"].step_stats.dev_stats for node in device.node_stats]
    (output,) = [output for node in nodes if node.node_name == "MatMul" for output in node.output]
    allocator = output.tensor_description.allocation_description.allocator_name
    assert allocator
    assert re.search(rf"^{allocator} \d+ \['MatMul'", printed, re.MULTILINE)
    assert printed.endswith("4096\n")
