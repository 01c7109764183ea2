"""TensorFlow's names without TensorFlow: options of every kind, and the lines that are printed around an answer."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import corpus
import pytest
import tfprof

OPTIONS = tfprof.ProfileOptionBuilder(tfprof.ProfileOptionBuilder.time_and_memory()).with_max_depth(2).build()


class Seven:
    """An integer of another library."""

    def __index__(self) -> int:
        return 7


def read(name: str) -> bytes:
    return gzip.decompress((corpus.ROOT / "mlp_small" / name).read_bytes())


def profile(cmd: str = "op", **changes: Any) -> Any:
    return tfprof.profile(read("graph.pb.gz"), read("run_meta_0.gz"), cmd=cmd, options={**OPTIONS, **changes})


def test_a_report_has_its_banners(capsys: pytest.CaptureFixture[str]) -> None:
    profile(select=["micros", "bytes"])
    out = capsys.readouterr().out
    assert out.startswith("\n=========================Options=============================\n-max_depth                  2\n")
    assert "-select                     bytes,micros\n-output                     stdout:\n\n======" in out
    assert out.endswith("\n\n======================End of Report==========================\n")


def test_files_are_announced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    profile("graph", output=f"timeline:outfile={out}")
    printed = capsys.readouterr().out
    assert printed.startswith("generating trace file.\n\n*****") and f"Timeline file is written to {out}_0.\n" in printed
    profile(output=f"file:outfile={out}")
    assert capsys.readouterr().out == "" and "Profile:" in out.read_text()


def test_dump_to_file_writes_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    message = profile(dump_to_file=str(tmp_path / "dump"), output="none")
    assert "Profile:" in (tmp_path / "dump").read_text()
    assert capsys.readouterr().out == "" and message.children


def test_no_options_match_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    message = tfprof.profile(read("graph.pb.gz"), options={})
    assert message.name == "_TFProfRoot" and not message.children
    assert "-max_depth                  10\n" in capsys.readouterr().out


def test_generators_and_bytes_are_options() -> None:
    expected = profile(output="none")
    assert profile(output=b"none", order_by=b"micros", select=(word for word in [b"micros", "bytes"])) == expected
    assert profile(output="none", max_depth=type("Two", (), {"__index__": lambda self: 2})()) == expected


def test_a_step_is_any_integer() -> None:
    profiler = tfprof.Profiler(read("graph.pb.gz"))
    profiler.add_step(Seven(), read("run_meta_0.gz"))  # type: ignore[arg-type]
    assert profiler.profile_operations({**OPTIONS, "output": "none", "step": 7}).children


def test_help_lists_options() -> None:
    names = list(tfprof.Options.__annotations__)
    methods = [getattr(tfprof.Profile, name) for name in ("scope", "graph", "op", "code")]
    methods += [getattr(tfprof.Profiler, name) for name in ("profile_graph", "profile_python")]
    for method in [*methods, tfprof.profile]:
        assert all(f"\n{name}: " in method.__doc__ for name in names)
