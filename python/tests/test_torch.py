"""Traces of PyTorch. Torch itself is not needed: `make test-torch` records with it."""

import gzip
import pathlib
import subprocess
import sys

import pytest

import tfprof

TRACE = pathlib.Path(__file__).resolve().parents[2] / "corpus" / "kineto" / "gpu.json.gz"


class Recorded:
    """Looks like a `torch.profiler.profile` that has stopped."""

    def key_averages(self):
        return []

    def export_chrome_trace(self, path):
        pathlib.Path(path).write_bytes(gzip.decompress(TRACE.read_bytes()))
        self.path = path


class Running(Recorded):
    def export_chrome_trace(self, path):
        raise AssertionError("Profiler must be initialized before exporting chrome trace")


def test_a_live_profile_is_exported_and_read():
    prof = Recorded()
    p = tfprof.open(prof)
    assert not pathlib.Path(prof.path).exists()
    assert list(p.steps) == [3, 4]
    assert repr(p.op(step="all")) == repr(tfprof.open(TRACE).op(step="all"))
    rows = {row.name: row for row in p.op(step="all", select="accelerator_micros,float_ops")}
    assert rows["aten::addmm"].self["float_ops"] == 2 * 2 * 8 * 64 * 32
    assert repr(tfprof.open(prof, step_marker="aten::addmm").steps) != repr(p.steps)


def test_a_profile_that_runs_says_what_to_do():
    with pytest.raises(ValueError, match="stop it first.*stop()"):
        tfprof.open(Running())


def test_reading_a_trace_does_not_import_torch():
    code = f"import sys, tfprof; tfprof.open({str(TRACE)!r}).op(); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
