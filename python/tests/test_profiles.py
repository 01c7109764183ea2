"""Profiles of TensorFlow 2 and JAX."""

import json
import pathlib

import pytest

import tfprof

CORPUS = pathlib.Path(__file__).resolve().parents[2] / "corpus" / "xspace"


def test_steps_know_when_they_began():
    p = tfprof.open(CORPUS / "jax_mlp")
    facts = json.loads((CORPUS / "jax_mlp" / "facts.json").read_text())["steps"]
    expect = [(s["step"], s["start_ps"] / 1e6, s["duration_ps"] / 1e6, facts["rule"]) for s in facts["list"]]
    assert [(int(s), s.start, s.length, s.rule) for s in p.steps] == expect


def test_views_of_a_log_directory():
    p = tfprof.open(str(CORPUS / "jax_two_hosts"), run="2026_11_15_22_02_11")
    assert list(p.steps) == [20, 21, 22, 23, 24, 25]
    assert "all-reduce" in repr(p.op(step="all", select="micros,occurrence", order_by="micros"))
    assert "train_dist.py" in repr(p.code(select="micros"))


def test_files_of_several_hosts_merge():
    files = sorted((CORPUS / "jax_two_hosts").rglob("*.xplane.pb.gz"))
    merged, directory = tfprof.open(files), tfprof.open(CORPUS / "jax_two_hosts")
    assert repr(merged.op(step="all")) == repr(directory.op(step="all"))


def test_an_unknown_run_is_refused():
    with pytest.raises(tfprof.Error, match="run"):
        tfprof.open(CORPUS / "jax_two_hosts", run="2026_11_15_22_02_12")


def test_times_are_exact_and_unknown_ones_are_none():
    view = tfprof.open(CORPUS / "jax_mlp").op(step="all", select="micros,bytes,params,occurrence")
    rows = view.to_dict()["rows"]
    assert [dict(row.self) for row in view] == [row["self"] for row in rows]
    assert [dict(row.total) for row in view] == [row["total"] for row in rows]
    assert view.total["micros"] == 8330.011
    assert view.total["bytes"] is None and view.total["params"] is None
    assert view.total["occurrence"] == 300
