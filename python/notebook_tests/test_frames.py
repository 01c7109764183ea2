"""Answers in pandas, polars and Arrow, and the small types of NumPy with ml_dtypes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import test_checkpoint
import tfprof

SELECTS = ["params", "micros,bytes,occurrence", "params,device,op_types,input_shapes", "tensor_value", "float_ops,device"]
DETAILS = ("shape", "devices", "op_types", "input_shapes")


@pytest.fixture(scope="module")
def demo() -> tfprof.Profile:
    return tfprof.demo()


def rows_of(view: tfprof.View) -> list[dict[str, Any]]:
    """The rows of the JSON, flat; with all columns."""
    flat = []
    for row in view.to_dict()["rows"]:
        line = {key: row[key] for key in ("id", "parent", "depth", "name", "accounted")}
        for side in ("self", "total", "cumulative"):
            line |= {f"{side}_{key}": row[side][key] for key in view.metrics if side in row}
        flat.append(line | {key: row[key] for key in DETAILS if key in row})
    return flat


@pytest.mark.parametrize("select", SELECTS)
@pytest.mark.parametrize("kind", ["scope", "graph", "op", "code"])
def test_frames_have_the_rows(demo: tfprof.Profile, kind: str, select: str) -> None:
    view = getattr(demo, kind)(select=select, max_depth=6)
    expected = rows_of(view)
    names = list(view.to_pandas().columns)
    filled = [{name: row.get(name) for name in names} for row in expected]
    assert all(set(row) <= set(names) for row in expected)

    assert view.to_arrow().to_pylist() == filled
    assert view.to_polars().to_dicts() == filled
    frame = view.to_pandas()
    assert len(frame) == len(view) and frame["parent"].isna().tolist() == [True] + [False] * (len(view) - 1)
    for name in names:
        found = [None if value is pd.NA or value is None else value for value in frame[name].tolist()]
        assert found == [row[name] for row in filled], name
    assert frame["total_micros" if "total_micros" in names else "depth"].dtype == "int64"


def test_frames_of_profiles_are_exact_and_mark_unknowns() -> None:
    profile = Path(__file__).resolve().parents[2] / "corpus" / "xspace" / "jax_mlp"
    view = tfprof.open(profile).op(step="all", select="micros,bytes,occurrence")
    expected = rows_of(view)
    assert expected[0]["total_micros"] == 8330.011 and expected[0]["total_requested_bytes"] is None
    assert view.to_arrow().to_pylist() == expected
    assert view.to_polars().to_dicts() == expected
    frame = view.to_pandas()
    assert frame["total_requested_bytes"].isna().all()
    assert frame["total_micros"].tolist() == [row["total_micros"] for row in expected]


def test_types_do_not_depend_on_the_rows() -> None:
    """Nothing but the root: lists of nothing still have a type."""
    view = tfprof.open(b"").scope(select="params,device,op_types,input_shapes")
    schema = view.to_arrow().schema
    assert schema.field("shape").type == pa.list_(pa.int64())
    assert schema.field("devices").type == pa.list_(pa.string())
    assert schema.field("input_shapes").type == pa.list_(pa.list_(pa.int64()))
    assert schema.field("parent").type == pa.int64()
    assert view.to_polars().schema["op_types"] == pl.List(pl.String)


def test_frames_can_be_changed(demo: tfprof.Profile) -> None:
    view = demo.op(select="micros")
    frame = view.to_pandas()
    frame["self_micros"] *= 2
    frame.loc[0, "name"] = "everything"
    assert view[1].self["micros"] * 2 == frame["self_micros"][1] and view[0].name == "_TFProfRoot"


def test_checkpoints_as_frames(tmp_path: Path) -> None:
    tfprof.demo(write=tmp_path / "dump")
    ckpt = tfprof.checkpoint(tmp_path / "dump" / "model.ckpt")
    frame = ckpt.to_pandas()
    assert frame["parameters"].sum() == sum(tensor.parameters for tensor in ckpt)
    assert ckpt.to_polars()["shape"].to_list() == [list(tensor.shape) for tensor in ckpt]
    stats = ckpt.stats().to_arrow()
    assert stats.column("mean").type == pa.float64() and stats.column("zeros").to_pylist() == [0] * len(ckpt)
    differences = ckpt.compare(ckpt, stats=True)
    assert differences.to_pandas().empty and differences.to_arrow().num_rows == 0
    mlp = tmp_path / "mlp"
    mlp.mkdir()
    other = ckpt.compare(test_checkpoint.unpacked("mlp_small", mlp) / "model.ckpt").to_polars()
    assert other["change"].to_list().count("removed") == 16


def test_small_types_are_those_of_ml_dtypes(tmp_path: Path) -> None:
    ckpt = tfprof.checkpoint(test_checkpoint.unpacked("ckpt_dtypes", tmp_path) / "model.ckpt")
    small = [tensor for tensor in ckpt if hasattr(ml_dtypes, tensor.dtype)]
    assert any(tensor.dtype == "bfloat16" for tensor in small)
    for tensor in small:
        assert ckpt[tensor.name].dtype == np.dtype(getattr(ml_dtypes, tensor.dtype))
    test_checkpoint.test_every_dtype(tmp_path)
