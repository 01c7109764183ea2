"""Checkpoints: the table of the command, and values as arrays."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import corpus
import numpy as np
import pytest
import tfprof


def unpacked(model: str, directory: Path) -> Path:
    for path in (corpus.ROOT / model).glob("model*.ckpt*"):
        name = path.name.removesuffix(".gz")
        (directory / name).write_bytes(corpus.content(model, name))
    return directory


@pytest.fixture(scope="module")
def mlp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked("mlp_small", tmp_path_factory.mktemp("mlp"))


def command(*words: str) -> Any:
    run = subprocess.run([sys.executable, "-m", "tfprof", *words], capture_output=True, text=True, check=False)
    return run.stdout


@pytest.mark.parametrize("name", ["model.ckpt", "model_v1.ckpt"])
@pytest.mark.parametrize("stats", [False, True])
def test_the_table_is_that_of_the_command(mlp: Path, name: str, stats: bool) -> None:
    ckpt = tfprof.checkpoint(mlp / name, stats=stats, order_by="params")
    flags = ["-order_by", "params", *(["--stats"] if stats else [])]
    assert str(ckpt) + "\n" == command("checkpoint", str(mlp / name), *flags)
    rows = json.loads(command("checkpoint", str(mlp / name), *flags, "-output", "json:outfile=-"))["rows"]
    assert [row.name for row in ckpt] == [row["name"] for row in rows]
    for row, line in zip(ckpt, rows, strict=True):
        assert (row.dtype, list(row.shape), row.parameters) == (line["dtype"], line["shape"], line["parameters"])
        assert (row.bytes, row.shard, row.stats) == (line["bytes"], line["shard"], line.get("stats"))


def test_values_are_those_of_the_command(mlp: Path) -> None:
    for name in ("model.ckpt", "model_v1.ckpt"):
        ckpt = tfprof.checkpoint(mlp / name)
        for tensor in ckpt:
            expected = json.loads(command("checkpoint", str(mlp / name), "--values", tensor.name, "-output", "json:outfile=-"))
            found = ckpt[tensor.name]
            assert found.dtype == tensor.dtype and found.shape == tensor.shape
            assert found.tolist() == expected["values"]
            assert found.flags.writeable
        assert dict(ckpt).keys() == set(ckpt.keys())  # type: ignore[call-overload]


PARTS: list[Any] = [
    np.s_[0:2],
    np.s_[-1],
    np.s_[:, 3],
    np.s_[1:7:3, ::-2],
    np.s_[::-1],
    np.s_[5:2],
    np.s_[..., 0],
    np.s_[0, ..., 1:3],
    np.s_[...],
    np.s_[2, 3],
    np.s_[100:, :-1],
]


@pytest.mark.parametrize("part", PARTS, ids=str)
def test_parts_are_those_of_the_array(mlp: Path, part: Any) -> None:
    for name in ("model.ckpt", "model_v1.ckpt"):
        ckpt = tfprof.checkpoint(mlp / name)
        whole = ckpt["hidden/w"]
        np.testing.assert_array_equal(ckpt.values("hidden/w", part), whole[part])
        key = ("hidden/w", *part) if isinstance(part, tuple) else ("hidden/w", part)
        np.testing.assert_array_equal(ckpt[key], whole[part])


def test_parts_in_brackets(mlp: Path) -> None:
    ckpt = tfprof.checkpoint(mlp / "model.ckpt")
    np.testing.assert_array_equal(ckpt["hidden/w[0:2, -1]"], ckpt["hidden/w"][0:2, -1])
    np.testing.assert_array_equal(ckpt["hidden/w[...,::4]"], ckpt["hidden/w"][..., ::4])


def test_every_dtype(tmp_path: Path) -> None:
    """Without ml_dtypes, small types are widened without loss; `make test-notebook` has them as they are."""
    path = unpacked("ckpt_dtypes", tmp_path) / "model.ckpt"
    ckpt = tfprof.checkpoint(path)
    kinds = {tensor.dtype for tensor in ckpt}
    assert {"float32", "float64", "float16", "bfloat16", "int8", "bool", "complex64", "string"} <= kinds
    for tensor in ckpt:
        if tensor.dtype in ("resource", "variant"):
            with pytest.raises(tfprof.Error, match="means nothing outside"):
                ckpt[tensor.name]
            continue
        expected = json.loads(command("checkpoint", str(path), "--values", tensor.name, "-output", "json:outfile=-"))
        found = ckpt[tensor.name]
        assert found.shape == tensor.shape
        assert plain(found) == plain(expected["values"]), tensor


def plain(values: Any) -> Any:
    """Values as JSON writes them, in one list."""
    if isinstance(values, np.ndarray):
        if values.dtype == object:
            return [{"text": value} for value in values.ravel()]
        if values.dtype.kind == "c":
            return [repr(float(x)) for value in values.ravel() for x in (value.real, value.imag)]
        return [value if isinstance(value, bool) else repr(float(value)) for value in values.astype(object).ravel()]
    if isinstance(values, list):
        return [x for value in values for x in plain(value)]
    if isinstance(values, str) and values.lstrip("-") not in ("nan", "inf"):
        return [{"text": values.encode()}]
    if isinstance(values, dict):
        import base64

        return [{"text": base64.b64decode(values["base64"])}]
    return [values if isinstance(values, bool) else repr(float(values))]


def test_a_checkpoint_alone_is_a_model(mlp: Path) -> None:
    view = tfprof.open(checkpoint=mlp / "model.ckpt").scope(select="params,tensor_value")
    assert view.total["params"] == 178
    row = view["out/b"]
    assert row.shape == [2]
    assert row.tensor_value is not None
    np.testing.assert_allclose(row.tensor_value["values"], tfprof.checkpoint(mlp / "model.ckpt")["out/b"])
    assert "<pre>" in view._repr_html_()
    again = tfprof.open(mlp / "model.ckpt").scope(select="params")
    assert again.total == {"params": 178}


def test_compare_and_verify(mlp: Path, tmp_path: Path) -> None:
    ckpt = tfprof.checkpoint(mlp / "model.ckpt")
    same = ckpt.compare(mlp / "model_v1.ckpt", stats=True)
    assert (len(same), same.same) == (0, 4)
    sample = tfprof.demo(write=tmp_path / "dump") and tfprof.checkpoint(tmp_path / "dump" / "model.ckpt")
    other = ckpt.compare(sample)
    assert [row["change"] for row in other].count("removed") == 4 and len(other) == 20
    assert str(other).splitlines()[-1].startswith("16 added, 4 removed")
    assert other._repr_html_().count("<tr>") == 21
    verdict = ckpt.verify()
    assert verdict and verdict.ok and str(verdict).endswith("no damage") and not verdict.damage

    for file in mlp.glob("model.ckpt*"):
        shutil.copy(file, tmp_path)
    data = tmp_path / "model.ckpt.data-00000-of-00001"
    damaged = bytearray(data.read_bytes())
    damaged[70] ^= 4
    data.write_bytes(damaged)
    broken = tfprof.checkpoint(tmp_path / "model.ckpt")
    verdict = broken.verify()
    assert not verdict and verdict.damage[0]["tensor"] == "hidden/w" and "hidden/w" in str(verdict)
    with pytest.warns(tfprof.DataWarning, match="hidden/w") as told:
        broken["hidden/w"]
    assert told[0].filename == __file__
    with pytest.warns(tfprof.DataWarning, match="hidden/w"):
        str(broken.stats())


def test_tables_as_files(mlp: Path, tmp_path: Path) -> None:
    ckpt = tfprof.checkpoint(mlp / "model.ckpt")
    for name, start in (("a.txt", "name"), ("a.json", "{"), ("a.csv", "name,dtype"), ("a.html", "<!DOCTYPE")):
        assert ckpt.to_file(tmp_path / name) == [str(tmp_path / name)]
        assert (tmp_path / name).read_text().startswith(start)
    assert ckpt.table(min_params=100).keys() == ["hidden/w"] and len(ckpt) == 4
    assert "hidden/w" in ckpt and "nowhere" not in ckpt
