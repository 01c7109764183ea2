"""Questions of the corpus, asked through Python, have the answers of the original."""

from __future__ import annotations

import json
from typing import Any

import corpus
import pytest
import tfprof
from tfprof import _messages

METHODS = {
    "scope": "profile_name_scope",
    "graph": "profile_graph",
    "op": "profile_operations",
    "code": "profile_python",
}
VIEWS = corpus.cases(*METHODS)


def graph_of(model: str, case: dict[str, Any]) -> Any:
    """A path; an empty file does not tell what it is."""
    name = case["inputs"].get("graph")
    return corpus.file(model, name) if name and corpus.content(model, name) else b""


def loaded(model: str, case: dict[str, Any]) -> tfprof.Profiler:
    inputs = case["inputs"]
    if "profile" in inputs:
        return tfprof.Profiler.from_file(corpus.file(model, inputs["profile"]))
    op_log = corpus.file(model, inputs["op_log"]) if inputs.get("op_log") else None
    profiler = tfprof.Profiler(graph_of(model, case), op_log)
    for run in inputs.get("run_meta") or []:
        profiler.add_step(run["step"], corpus.file(model, run["file"]))
    return profiler


def report(text: str) -> str:
    return text[text.index("Profile:") :] if "Profile:" in text else text


@pytest.mark.parametrize(("model", "name", "case"), VIEWS, ids=[f"{model}-{name}" for model, name, _ in VIEWS])
def test_views_equal_the_goldens(
    model: str, name: str, case: dict[str, Any], capsys: pytest.CaptureFixture[str], tmp_path: Any
) -> None:
    options = dict(case["options"])
    output = options.get("output", "stdout")
    if output == "file":
        options["output"] = f"file:outfile={tmp_path}/out.txt"
    elif output in ("timeline", "pprof"):
        options["output"] = f"{output}:outfile={tmp_path}/out"
    if case["api"] == "one_shot":
        inputs = case["inputs"]
        runs = [corpus.file(model, run["file"]) for run in inputs.get("run_meta") or []]
        op_log = corpus.file(model, inputs["op_log"]) if inputs.get("op_log") else None
        message = tfprof.profile(graph_of(model, case), runs[0] if runs else None, op_log, case["cmd"], options)
    else:
        message = getattr(loaded(model, case), METHODS[case["cmd"]])(options)
    printed = capsys.readouterr().out
    expect = case["expect"]
    assert message == _messages.parse(type(message).__name__, corpus.content(model, expect["proto"]))
    if "text" in expect:
        text = (tmp_path / "out.txt").read_text() if output == "file" else printed
        # On the screen, a line of TensorFlow's layout ends the report.
        end = "" if output == "file" else "\n======================End of Report==========================\n"
        assert report(text) == corpus.content(model, expect["text"]).decode() + end
    for key in expect:
        if key.startswith("timeline:"):
            step = key.partition(":")[2]
            assert (tmp_path / f"out_{step}").read_bytes() == corpus.content(model, expect[key])


ADVICE = [row for row in corpus.cases("advise") if "proto" in row[2]["expect"] and row[2]["api"] == "multi_step"]


@pytest.mark.parametrize(("model", "name", "case"), ADVICE, ids=[f"{model}-{name}" for model, name, _ in ADVICE])
def test_advice_has_the_checkers_of_the_goldens(model: str, name: str, case: dict[str, Any]) -> None:
    known = {name: value for name, value in case["options"].items() if name.endswith("Checker")}
    message = loaded(model, case).advise(known)
    expected = _messages.parse("AdviceProto", corpus.content(model, case["expect"]["proto"]))
    assert set(message.checkers) == set(expected.checkers)


SAVED = corpus.cases("serialize")


@pytest.mark.parametrize(("model", "name", "case"), SAVED, ids=[f"{model}-{name}" for model, name, _ in SAVED])
def test_saved_profiles_can_be_read_back(model: str, name: str, case: dict[str, Any], tmp_path: Any) -> None:
    profiler = loaded(model, case)
    (tmp_path / "profile_0").write_bytes(profiler.serialize_to_string())
    again = tfprof.Profiler.from_file(tmp_path / "profile_0")
    options = tfprof.ProfileOptionBuilder(tfprof.ProfileOptionBuilder.time_and_memory()).with_empty_output().build()
    assert again.profile_operations(options) == profiler.profile_operations(options)


def test_the_corpus_is_complete() -> None:
    assert len(VIEWS) > 200
    assert json.dumps(sorted({model for model, _, _ in VIEWS})).count("resnet32") == 1
