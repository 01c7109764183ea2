"""`tfprof.open` and its views: the same figures as the command, whatever they are asked as."""

from __future__ import annotations

import csv
import gzip
import io
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import corpus
import pytest
import tfprof
from tfprof import _messages, _native

VIEWS = ("scope", "graph", "op", "code")
QUESTIONS: list[dict[str, Any]] = [
    {},
    {"select": "params,micros", "order_by": "micros", "max_depth": 100},
    {"select": ["float_ops", "occurrence"], "min_float_ops": 1, "account_displayed_op_only": True},
    {"select": "bytes,device,op_types,input_shapes", "step": 100, "show_name_regexes": [".*unit_1.*", ".*conv.*"]},
]


@pytest.fixture(scope="module")
def demo() -> tfprof.Profile:
    return tfprof.demo()


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("sample") / "dump"
    tfprof.demo(write=directory)
    return directory


def command(*words: str) -> str:
    run = subprocess.run([sys.executable, "-m", "tfprof", *words], capture_output=True, text=True, check=True)
    return run.stdout


def flags(options: dict[str, Any]) -> list[str]:
    words = []
    for name, value in options.items():
        text = ",".join(value) if isinstance(value, list) else str(value)
        words += [f"-{name}={text}"]
    return words


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("options", QUESTIONS)
def test_a_view_matches_the_command(view: str, options: dict[str, Any], dump: Path) -> None:
    asked = getattr(tfprof.open(dump), view)(**options)
    expected = json.loads(command(view, str(dump), *flags(options), "-output", "json:outfile=-"))
    found = asked.to_dict()
    assert found["rows"] == expected["rows"]
    assert found["columns"] == expected["columns"] == asked.metrics
    assert len(asked) == len(expected["rows"])
    for row, line in zip(asked, expected["rows"], strict=True):
        assert (row.id, row.parent, row.depth, row.name) == (line["id"], line["parent"], line["depth"], line["name"])
        assert (dict(row.self), dict(row.total), row.accounted) == (line["self"], line["total"], line["accounted"])
        assert row.devices == line.get("devices") and row.op_types == line.get("op_types")
        assert row.shape == line.get("shape") and row.input_shapes == line.get("input_shapes")
        assert view != "op" or dict(row.cumulative) == line["cumulative"]
    text = command(view, str(dump), *flags(options)).replace("use -max_depth ", "use max_depth=")
    assert str(asked) == text[text.index("Profile:\n") + 9 :].rstrip("\n")


# To select nothing is a question of messages only.
CASES = [
    (model, name, case)
    for model, name, case in corpus.cases(*VIEWS)
    if case["options"].get("select") and case["options"].get("output") not in ("timeline", "pprof")
]


@pytest.mark.parametrize(("model", "name", "case"), CASES, ids=[f"{model}-{name}" for model, name, _ in CASES])
def test_with_the_quirks_of_the_original_its_answers_come_out(model: str, name: str, case: dict[str, Any]) -> None:
    inputs = case["inputs"]
    file = lambda key: corpus.file(model, inputs[key]) if inputs.get(key) else None  # noqa: E731
    runs: dict[int, Any] = {}
    for run in inputs.get("run_meta") or []:
        step = 0 if case["api"] == "one_shot" else run["step"]
        runs.setdefault(step, []).append(corpus.file(model, run["file"]))
    graph = file("graph")
    if graph is not None and not corpus.content(model, inputs["graph"]):
        graph = b""
    p = tfprof.open(graph, runs or None, file("op_log"), profile=file("profile"), original_quirks=True)
    options = {key: value for key, value in case["options"].items() if key in tfprof.Options.__annotations__}
    options.pop("output", None)
    found = getattr(p, case["cmd"])(**options).message()
    assert found == _messages.parse(type(found).__name__, corpus.content(model, case["expect"]["proto"]))


def test_everything_that_the_command_takes_can_be_opened(dump: Path, tmp_path: Path) -> None:
    total = tfprof.open(dump).scope(select="micros,params").total
    graph, logs = dump / "graph.pb", dump / "tfprof_log"
    runs = {0: dump / "run_meta_0", 100: dump / "run_meta_100"}
    ways = [
        tfprof.open(str(dump)),
        tfprof.open([graph, logs, *runs.values()]),
        tfprof.open(graph, runs, logs),
        tfprof.open(graph, {step: [run.read_bytes()] for step, run in runs.items()}, logs.read_bytes()),
        tfprof.open(graph, list(runs.values()), [logs]),
    ]
    tfprof.open(dump).save(tmp_path / "saved")
    (tmp_path / "saved.gz").write_bytes(gzip.compress((tmp_path / "saved").read_bytes()))
    ways += [tfprof.open(tmp_path / "saved"), tfprof.open(profile=tmp_path / "saved.gz")]
    ways += [tfprof.open(profile=(tmp_path / "saved").read_bytes())]
    for p in ways:
        assert p.scope(select="micros,params").total == total
    assert ways[0].steps == [0, 100] and ways[4].steps == [0, 1]
    memory = tfprof.open(graph.read_bytes(), list(runs.values()), logs)
    assert memory.scope(select="micros,params").total == total


def test_an_op_log_is_made_for_a_graph_in_memory(dump: Path) -> None:
    graph = (dump / "graph.pb").read_bytes()
    known = tfprof.open(dump).op(select="float_ops", max_depth=1000)["Conv2D"].self
    for p in (tfprof.open(graph), tfprof.open(graph, dump / "run_meta_0")):
        assert p.op(select="float_ops", max_depth=1000)["Conv2D"].self == known
    # Neither an op log nor trained variables are in a graph's bytes, but an op log brings them.
    assert tfprof.open(graph).scope(select="params", account_type_regexes="_trainable_variables").total["params"] == 0
    log = tfprof.open(graph, op_log=dump / "tfprof_log")
    assert log.scope(select="params", account_type_regexes="_trainable_variables").total["params"] == 464154


def test_a_second_question_reads_no_file(dump: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    for file in dump.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    p = tfprof.open(copy)
    first = p.scope(select="micros")
    for file in copy.iterdir():
        file.unlink()
    assert str(p.scope(select="micros")) == str(first)
    assert len(p.graph(step=100).to_html()) > 1000
    assert p.code(select="micros").total == first.total


def test_several_profiles_are_apart(demo: tfprof.Profile) -> None:
    small = tfprof.open(b'node { name: "a" op: "NoOp" }')
    other = tfprof.open(b'node { name: "b" op: "NoOp" }')
    assert [row.name for row in small.scope()] == ["_TFProfRoot", "a"]
    assert [row.name for row in other.scope()] == ["_TFProfRoot", "b"]
    assert len(demo.scope()) > 1000


def test_threads_share_a_profile_and_run_at_once(demo: tfprof.Profile) -> None:
    expected = {view: str(getattr(demo, view)(select="micros")) for view in VIEWS}
    wrong: list[str] = []

    def ask(view: str) -> None:
        for _ in range(5):
            if str(getattr(demo, view)(select="micros")) != expected[view]:
                wrong.append(view)

    threads = [threading.Thread(target=ask, args=(view,)) for view in VIEWS * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_native_code_lets_other_threads_run(demo: tfprof.Profile) -> None:
    started = threading.Event()
    finished = False

    def ask() -> None:
        nonlocal finished
        started.set()
        for _ in range(50):
            demo._native.columns("graph", {})
        finished = True

    interval = sys.getswitchinterval()
    # Nobody is made to let go: if this thread gets its turn before the other is done, native code gave it away.
    sys.setswitchinterval(1000)
    try:
        thread = threading.Thread(target=ask)
        thread.start()
        started.wait()
        assert not finished
    finally:
        sys.setswitchinterval(interval)
        thread.join()


def test_rows_are_found_by_place_name_and_slice(demo: tfprof.Profile) -> None:
    view = demo.scope(select="bytes,micros", order_by="micros", max_depth=4)
    row = view["gradients"]
    assert view[row.id] == row and view[row.id - len(view)] == row and "gradients" in view and "nowhere" not in view
    assert [one.id for one in view[1:4]] == [1, 2, 3]
    assert row.parent == 0 and all(child.parent == row.id for child in row.children) and row.children
    assert row.total["bytes"] == row.total["requested_bytes"]
    assert sum(child.total["micros"] for child in view[0].children) == view.total["micros"]
    for wrong in ("nowhere", 10**9, -(10**9)):
        with pytest.raises((KeyError, IndexError)):
            view[wrong]
    with pytest.raises(KeyError, match="was not selected"):
        row.total["params"]


def test_only_repr_cuts_long_text(demo: tfprof.Profile) -> None:
    view = demo.scope(max_depth=100)
    assert len(view) > 2000
    shown = repr(view).splitlines()
    assert len(shown) == 202 and shown[-1] == f"… {len(view) - 200:,} more rows; print(view) shows all"
    assert str(view).splitlines()[:201] == shown[:201]
    assert len(str(view).splitlines()) == len(view) + 1


def test_html_is_bounded_and_escaped(demo: tfprof.Profile) -> None:
    html = demo.scope(max_depth=100)._repr_html_()
    assert len(html) < 600_000 and "1,000 of" in html and "more rows" in html
    rude = tfprof.open(b'node { name: "<script>alert(1)</script>\\"&" op: "NoOp" }')
    for cell in (rude.scope()._repr_html_(), rude._repr_html_()):
        assert "<script" not in cell and "http" not in cell and "src=" not in cell
    page = rude.scope().to_html()
    # The script is the page's own, and the only one that its policy allows.
    assert page.count("<script") == 1 and "script-src 'sha256-" in page and "://" not in page and "src=" not in page
    assert "&lt;script&gt;" in rude.scope()._repr_html_()
    for thing in (demo, demo.overview, demo.advise(), demo.op()):
        assert thing._repr_html_().startswith('<div class="tfprof">')


def test_frames_of_frameworks_fold(demo: tfprof.Profile) -> None:
    every, folded = demo.code(max_depth=100), demo.code(max_depth=100, frames="user")
    assert len(folded) * 10 < len(every) and folded[0].total["micros"] == every[0].total["micros"]
    assert str(folded).splitlines()[-1] == "… 202 frames of frameworks are folded; use frames='all'"
    assert "folded" not in str(every) and "are folded; use frames" in every._repr_html_()
    assert "folded" not in demo.code(max_depth=100, frames="all")._repr_html_()


def test_names_do_not_reach_a_terminal_raw() -> None:
    view = tfprof.open(b'node { name: "a\\033]0;title\\007\\n\\302\\233b" op: "NoOp" }').scope()
    assert "\x1b" not in repr(view) and "\x9b" not in repr(view) and "\\x1b]0;title" in repr(view)
    assert view[1].name == "a\x1b]0;title\x07\n\x9bb"
    assert "\x1b" not in view._repr_html_()


def test_a_file_that_unpacks_to_the_absurd_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run_meta_0").write_bytes(gzip.compress(bytes(160 << 20)))
    with pytest.raises(OSError, match="unpacks to more than"):
        tfprof.open(b'node { name: "a" op: "NoOp" }', run_meta=tmp_path / "run_meta_0")


FORMS = {
    "a.txt": b"\nDoc:",
    "a.json": b'{"version":2',
    "a.csv": b"id,parent,depth,name",
    "a.html": b"<!DOCTYPE html>",
    "a.svg": b"<svg ",
    "a.pb": b"\n\x0b_TFProfRoot",
    "a.pprof": b"\x1f\x8b",
    "a.pb.gz": b"\x1f\x8b",
    "a.folded": b"_TFProfRoot",
    "a.speedscope.json": b'{"$schema"',
    "a.trace.json": b'{"traceEvents"',
}


@pytest.mark.parametrize("name", FORMS)
def test_files_by_the_ends_of_their_names(name: str, demo: tfprof.Profile, tmp_path: Path) -> None:
    path = tmp_path / name
    assert demo.scope(select="micros").to_file(path) == [str(path)]
    assert path.read_bytes().startswith(FORMS[name])
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_files_by_methods(demo: tfprof.Profile, tmp_path: Path) -> None:
    view = demo.code(select="micros")
    for form in ("timeline", "pprof", "flamegraph", "speedscope", "folded"):
        assert getattr(view, form)(tmp_path / form) == [str(tmp_path / form)]
    json.loads((tmp_path / "timeline").read_text())
    view.to_json(tmp_path / "rows.json")
    rows = json.loads((tmp_path / "rows.json").read_text())["rows"]
    assert rows == view.to_dict()["rows"] == json.loads(view.to_json())["rows"]
    table = csv.DictReader(io.StringIO(view.to_csv()))
    assert [int(row["total_micros"]) for row in table] == [row.total["micros"] for row in view]


def test_a_timeline_of_the_graph_has_a_file_for_each_step(demo: tfprof.Profile, tmp_path: Path) -> None:
    assert demo.graph().timeline(tmp_path / "t") == [f"{tmp_path}/t_0.json", f"{tmp_path}/t_100.json"]
    assert demo.graph(step=100).timeline(tmp_path / "one.json") == [f"{tmp_path}/one.json"]
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "t_100.json").read_bytes()


def test_output_writes_at_once(demo: tfprof.Profile, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    view = demo.op(select="micros", output=f"json:outfile={tmp_path}/rows.json")
    assert json.loads((tmp_path / "rows.json").read_text())["rows"] == view.to_dict()["rows"]
    demo.op(select="micros", output="stdout")
    assert capsys.readouterr().out == str(view) + "\n"


def test_paths_are_taken_as_they_are(demo: tfprof.Profile, tmp_path: Path) -> None:
    for name in ("a,b.json", "a=b,c=d.json", "a b.json", "é:x.json"):
        demo.op().to_file(tmp_path / name)
        demo.op(output=f"json:outfile={tmp_path}/out {name}")
        options = tfprof.ProfileOptionBuilder().with_file_output(f"{tmp_path}/file {name}").build()
        tfprof.profile(b"", options=options)
        for start in ("", "out ", "file "):
            assert (tmp_path / f"{start}{name}").stat().st_size > 0


def test_files_are_written_through_links_and_keep_their_mode(demo: tfprof.Profile, tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    demo.op().to_file(link)
    assert link.is_symlink() and real.read_text().startswith("{") and real.stat().st_mode & 0o777 == 0o640


def test_inputs_are_never_written_over(dump: Path) -> None:
    p = tfprof.open(dump)
    before = (dump / "graph.pb").read_bytes()
    for write in (p.save, lambda path: p.scope().to_file(path, "json")):
        with pytest.raises(ValueError, match="is one of the inputs"):
            write(dump / "graph.pb")
    assert (dump / "graph.pb").read_bytes() == before


def test_damage_is_a_warning_or_an_error(dump: Path, tmp_path: Path) -> None:
    (tmp_path / "graph.pb").write_bytes((dump / "graph.pb").read_bytes()[:50_000])
    with pytest.warns(tfprof.DataWarning, match=r"graph\.pb: byte") as told:
        p = tfprof.open(tmp_path)
    assert told[0].filename == __file__
    assert p.warnings and len(p.scope()) > 10
    with pytest.raises(tfprof.Error, match="strict"):
        tfprof.open(tmp_path, strict=True)


def test_arguments_are_not_changed(demo: tfprof.Profile) -> None:
    select, patterns = ["micros"], ["unit.*"]
    demo.scope(select=select, show_name_regexes=patterns)
    assert (select, patterns) == (["micros"], ["unit.*"])


def test_advice_is_a_mapping(demo: tfprof.Profile) -> None:
    advice = demo.advise()
    assert "ExpensiveOperationChecker" in advice and advice["ExpensiveOperationChecker"]
    assert set(advice.to_dict()) == set(advice) and advice.notes["FallbackChecker"]
    assert str(demo.advise(["OperationChecker"])).startswith("OperationChecker:")
    original = tfprof.open(b'node { name: "a" op: "NoOp" }', original_quirks=True).advise()
    assert "TinyOpChecker" not in original


def test_the_overview_suggests_valid_questions(demo: tfprof.Profile) -> None:
    overview = demo.overview
    assert overview["nodes"] == 4816 and overview["steps"][1]["step"] == 100
    lines = [line.split("  # ")[0].strip() for line in str(overview).splitlines() if line.startswith("  p.")]
    assert len(lines) == 5
    for line in lines:
        assert len(str(eval(line, {"p": demo})).splitlines()) > 1


def test_every_option_is_a_keyword() -> None:
    assert list(tfprof.Options.__annotations__) == [name for name, _, _ in _native.options()]


def test_costs_are_computed_for_messages_as_for_files() -> None:
    """A graph that is handed over, and not read from a file, is computed when a question comes."""
    graph = corpus.ROOT / "mlp_small" / "graph.pb.gz"
    select = "macs,io_bytes,unknown_ops"
    by_message = tfprof.open(gzip.decompress(graph.read_bytes())).op(select=select).to_dict()["rows"]
    assert by_message == tfprof.open(graph).op(select=select).to_dict()["rows"]
    assert by_message[0]["total"]["macs"] == 1920
