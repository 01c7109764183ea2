"""Importing is cheap, and nothing is needed that was not asked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HEAVY = ("numpy", "pandas", "polars", "pyarrow", "tensorflow", "google", "ml_dtypes", "IPython", "asyncio", "email", "ssl")


def fresh(script: str) -> str:
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def test_import_brings_nothing_heavy() -> None:
    # Start-up files of an environment may import things themselves.
    script = "import sys; before = set(sys.modules); import tfprof; print(*sorted(set(sys.modules) - before))"
    brought = {name.partition(".")[0] for name in fresh(script).split()}
    assert "tfprof" in brought
    assert not brought & set(HEAVY)


def test_import_leaves_out_the_modules_of_later_calls() -> None:
    # Without start-up files, which may import the same modules.
    script = "import sys; sys.path[:] = sys.argv[1:]; import tfprof; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-S", "-c", script, *sys.path], capture_output=True, text=True, check=True)
    brought = set(run.stdout.split())
    assert {"tfprof", "tfprof._api"} <= brought
    assert not brought & {"tfprof._open", "tfprof._checkpoint", "tfprof._cost", "dataclasses", "inspect", "tempfile"}


def test_every_name_is_loaded_when_it_is_used() -> None:
    script = "import tfprof; print(*[name for name in tfprof._LOADED_LATER if not callable(getattr(tfprof, name))])"
    assert fresh(script) == ""
    assert fresh("from tfprof import *; print(open.__module__, Cost.__module__)") == "tfprof._open tfprof._cost"


def test_views_need_no_library() -> None:
    blocked = "import sys; sys.modules.update(dict.fromkeys(('numpy', 'pandas', 'polars', 'pyarrow', 'google', 'ml_dtypes')));"
    script = f"{blocked} import tfprof; v = tfprof.demo().scope(); v.to_dict(); v._repr_html_(); print(len(v) > 10)"
    assert fresh(script) == "True"


def test_a_library_that_is_missing_is_named() -> None:
    blocked = "import sys; sys.modules.update(dict.fromkeys(('numpy', 'pandas', 'polars', 'pyarrow')));"
    for call, library in (
        ("v.to_pandas()", "pandas"),
        ("v.to_polars()", "polars"),
        ("v.to_arrow()", "pyarrow"),
        ("c['unit_1_0/sub2/bn2/gamma']", "numpy"),
    ):
        script = f"""{blocked}
import tempfile, tfprof
with tempfile.TemporaryDirectory() as directory:
    v = tfprof.demo(write=directory).scope()
    c = tfprof.checkpoint(directory + "/model.ckpt")
    assert len(list(c)) == 16
    try:
        {call}
    except ImportError as error:
        print(error)
"""
        method = {"numpy": "values"}.get(library, call[2:-2])
        assert fresh(script) == f"{method}() needs {library}, which is not installed; try `pip install {library}`"


def test_the_wheel_brings_the_command() -> None:
    script = Path(sys.executable).parent / "tfprof"
    run = subprocess.run([script, "demo", "op", "-max_depth", "2"], capture_output=True, text=True, check=True)
    assert "Conv2DBackpropInput" in run.stdout
    wrong = subprocess.run([script, "scope", "nowhere"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 1 and wrong.stderr.startswith("tfprof: ")
