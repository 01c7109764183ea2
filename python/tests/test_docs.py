"""Every example in the guide, in both READMEs and in docstrings is run.

A block that is fenced as `pycon` is a session; those of a page share their names and a fresh directory. `needs=LIBRARY`
behind it means that it runs only where that is installed, as it is for `make test-notebook`.
"""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import pkgutil
import re
from pathlib import Path
from types import ModuleType

import pytest
import tfprof

ROOT = Path(__file__).resolve().parents[2]
TUTORIALS = [ROOT / "docs" / "tutorials" / name for name in ("flops.md", "from-tf1.md")]
PAGES = [ROOT / "docs" / "python.md", ROOT / "python" / "README.md", ROOT / "README.md", *TUTORIALS]
FLAGS = doctest.ELLIPSIS
# Two that run programs when they are imported, two that take TensorFlow or Keras, and one without text of its own.
APART = ("__main__", "patch", "_hook", "keras", "_native")
NAMES = [one.name for one in pkgutil.iter_modules(tfprof.__path__) if one.name not in APART]
MODULES = [tfprof, *(importlib.import_module(f"tfprof.{name}") for name in NAMES)]


def sessions(page: Path) -> str:
    """The blocks of a page, at the lines where they stand."""
    lines, keep = [], False
    for line in page.read_text().splitlines():
        fence = re.match(r"```(.*)", line)
        if fence:
            words = fence[1].split()
            needs = [word.removeprefix("needs=") for word in words[1:] if word.startswith("needs=")]
            keep = bool(words) and words[0] == "pycon" and all(map(importlib.util.find_spec, needs))
        lines.append(line if keep and not fence else "")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}-{page.name}")
def test_pages(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    if page == ROOT / "README.md":
        # The transcripts above the session made it.
        tfprof.demo(write="dump")
    test = doctest.DocTestParser().get_doctest(sessions(page), {}, page.name, str(page), 0)
    assert test.examples, "no example was found"
    result = doctest.DocTestRunner(optionflags=FLAGS).run(test)
    assert result.failed == 0, capsys.readouterr().out


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_docstrings(module: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    result = doctest.testmod(module, optionflags=FLAGS)
    assert result.failed == 0, capsys.readouterr().out


def test_everything_public_is_described() -> None:
    for name in tfprof.__all__:
        assert (getattr(tfprof, name).__doc__ or "").strip() or name == "ALL_ADVICE", name
    guide = (ROOT / "docs" / "python.md").read_text()
    for name in ("open", "demo", "checkpoint", "profile", "advise", "Profiler", "ProfileOptionBuilder", "write_op_log"):
        assert name in guide
