"""Wrong arguments raise a documented exception with a sentence; nothing ends the interpreter."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tfprof
from tfprof import model_analyzer, tfprof_logger


@pytest.fixture(scope="module")
def have(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    directory = tmp_path_factory.mktemp("arguments")
    p = tfprof.demo(write=directory / "dump")
    garbage = directory / "garbage"
    garbage.write_bytes(b"\xff\xfe not a graph")
    keras = directory / "model.keras"
    with zipfile.ZipFile(keras, "w") as archive:
        for name in ["metadata.json", "config.json", "model.weights.h5"]:
            archive.writestr(name, "")
    return SimpleNamespace(
        p=p,
        keras=keras,
        view=p.scope(),
        dir=directory,
        dump=directory / "dump",
        garbage=garbage,
        ckpt=tfprof.checkpoint(directory / "dump" / "model.ckpt"),
        profiler=tfprof.Profiler(b""),
    )


Call = Callable[[Any], Any]
WRONG: list[tuple[type[BaseException], str, Call]] = [
    # open
    (TypeError, "path_or_graph: expected a path", lambda h: tfprof.open(3.5)),
    (TypeError, "path_or_graph: expected a path", lambda h: tfprof.open([3])),
    (ValueError, "nothing to open", lambda h: tfprof.open()),
    (ValueError, "expected the name of a file", lambda h: tfprof.open("")),
    (OSError, "nowhere", lambda h: tfprof.open("nowhere")),
    (OSError, "nowhere", lambda h: tfprof.open(h.dump, run_meta=["nowhere"])),
    (OSError, "nowhere", lambda h: tfprof.open(h.dump, op_log="nowhere")),
    (tfprof.Error, "cannot tell what this file is", lambda h: tfprof.open(h.garbage)),
    (tfprof.Error, "the config of this Keras model is damaged", lambda h: tfprof.open(h.keras)),
    (tfprof.Error, "this is a Keras model (.keras)", lambda h: tfprof.open(h.dump, run_meta=h.keras)),
    (tfprof.Error, "this is no HDF5 file", lambda h: tfprof.checkpoint(h.keras)),
    (tfprof.Error, "the config of this Keras model is damaged", lambda h: tfprof.cost(h.keras)),
    (tfprof.Error, "nothing to read in this directory", lambda h: tfprof.open(h.dir)),
    (tfprof.Error, "this is a GraphDef", lambda h: tfprof.open(run_meta=h.dump / "graph.pb")),
    (TypeError, "run_meta: expected a message", lambda h: tfprof.open(h.dump, run_meta=3)),
    (TypeError, "op_log: expected a message", lambda h: tfprof.open(h.dump, op_log=object())),
    (TypeError, "checkpoint: expected a path", lambda h: tfprof.open(checkpoint=3)),
    (OSError, "", lambda h: tfprof.open(checkpoint="nowhere")),
    (ValueError, "numbers of steps", lambda h: tfprof.open(h.dump, {"x": h.dump / "run_meta_0"})),
    (ValueError, "numbers of steps", lambda h: tfprof.open(h.dump, {-1: h.dump / "run_meta_0"})),
    (TypeError, "unexpected keyword", lambda h: tfprof.open(h.dump, chekpoint="x")),  # type: ignore[call-arg]
    (tfprof.Error, "exists", lambda h: tfprof.demo(write=h.dump)),
    (TypeError, "path: expected", lambda h: tfprof.demo(write=3)),  # type: ignore[arg-type]
    # questions
    (TypeError, "did you mean `max_depth`", lambda h: h.p.scope(max_dept=3)),
    (TypeError, "expected a whole number", lambda h: h.p.scope(max_depth="x")),
    (TypeError, "expected a whole number", lambda h: h.p.op(min_micros=1.5)),
    (TypeError, "expected a whole number", lambda h: h.p.op(min_micros=2**70)),
    (tfprof.Error, "too large", lambda h: h.p.op(max_depth=2**40)),
    (tfprof.Error, "in select; did you mean `micros`", lambda h: h.p.graph(select="micro")),
    (tfprof.Error, "did you mean `micros`", lambda h: h.p.graph(select=["micros", "micro"])),
    (TypeError, "expected a list of strings", lambda h: h.p.graph(select=3)),
    (TypeError, "expected a list of strings", lambda h: h.p.graph(select=[3])),
    (TypeError, "expected a string", lambda h: h.p.code(order_by=3)),
    (tfprof.Error, "unknown order", lambda h: h.p.code(order_by="weight")),
    (tfprof.Error, "step: there is no step 7", lambda h: h.p.scope(step=7)),
    (tfprof.Error, "show_name_regexes", lambda h: h.p.scope(show_name_regexes="(")),
    (TypeError, "expected a list of strings", lambda h: h.p.scope(show_name_regexes=3)),
    (TypeError, "True or False", lambda h: h.p.scope(ops_only="yes")),
    (tfprof.Error, "unknown form", lambda h: h.p.scope(output="paper")),
    (tfprof.Error, "needs a file", lambda h: h.p.scope(output="json")),
    (TypeError, "positional", lambda h: h.p.scope("params")),
    (tfprof.MissingData, "writes it, with op_log", lambda h: tfprof.open(b'node { name: "a" op: "NoOp" }').code()),
    (tfprof.Error, "unknown checker", lambda h: h.p.advise("SpeedChecker")),
    (TypeError, "checkers: expected names", lambda h: h.p.advise([3])),
    (KeyError, "did you mean `steps`", lambda h: h.p.overview["step"]),
    # views
    (KeyError, "no row of this scope view", lambda h: h.view["nowhere"]),
    (IndexError, "there is no row", lambda h: h.view[10**6]),
    (TypeError, "expected the place or the name", lambda h: h.view[1.5]),
    (ValueError, "cannot tell a form", lambda h: h.view.to_file(h.dir / "x.doc")),
    (ValueError, "unknown form", lambda h: h.view.to_file(h.dir / "x", "paper")),
    (TypeError, "path: expected", lambda h: h.view.to_file(3)),
    (OSError, "nowhere", lambda h: h.view.to_json(h.dir / "nowhere" / "x.json")),
    (OSError, "", lambda h: h.view.to_json(h.dir)),
    (tfprof.Error, "(bytes,micros); choose one with select", lambda h: h.p.op(select="micros,bytes").flamegraph(h.dir / "x.svg")),
    (tfprof.MissingData, "needs steps", lambda h: tfprof.open(b'node { name: "a" }').graph().timeline(h.dir / "x")),
    (ValueError, "one of the inputs", lambda h: h.p.save(h.dump / "graph.pb")),
    (OSError, "", lambda h: h.p.save(h.dir / "nowhere" / "x")),
    # checkpoints
    (TypeError, "path: expected", lambda h: tfprof.checkpoint(3)),  # type: ignore[arg-type]
    (OSError, "nowhere", lambda h: tfprof.checkpoint("nowhere")),
    (tfprof.Error, "", lambda h: tfprof.checkpoint(h.garbage)),
    (TypeError, "did you mean `order_by`", lambda h: tfprof.checkpoint(h.dump / "model.ckpt", orderby="x")),  # type: ignore[call-arg]
    (tfprof.Error, "unknown order", lambda h: tfprof.checkpoint(h.dump / "model.ckpt", order_by="micros")),
    (KeyError, "did you mean `unit_1_0/sub2/bn2/gamma`", lambda h: h.ckpt["unit_1_0/sub2/bn2/gama"]),
    (KeyError, "there is no tensor", lambda h: h.ckpt["x[0]"]),
    (TypeError, "expected the name of a tensor", lambda h: h.ckpt[3]),
    (IndexError, "outside of a dimension of 16", lambda h: h.ckpt["unit_1_0/sub2/bn2/gamma", 16]),
    (IndexError, "do not fit", lambda h: h.ckpt["unit_1_0/sub2/bn2/gamma", 0, 0]),
    (TypeError, "expected numbers, slices", lambda h: h.ckpt["unit_1_0/sub2/bn2/gamma", "x"]),
    (ValueError, "expected numbers and ranges", lambda h: h.ckpt["unit_1_0/sub2/bn2/gamma[x]"]),
    (OSError, "nowhere", lambda h: h.ckpt.compare("nowhere")),
    (ValueError, "unknown form", lambda h: h.ckpt.to_file(h.dir / "x", "timeline")),
    (ValueError, "one of the inputs", lambda h: h.ckpt.to_json(h.dump / "model.ckpt.index")),
    # what TensorFlow has
    (tfprof.Error, "unknown cmd: speed", lambda h: tfprof.profile(b"", cmd="speed")),
    (TypeError, "graph: expected", lambda h: tfprof.profile(3)),
    (TypeError, "run_meta: expected", lambda h: tfprof.profile(b"", run_meta=3)),
    (TypeError, "expected a list of strings", lambda h: tfprof.profile(b"", options={"select": "micros"})),
    (TypeError, "step: expected a whole number", lambda h: h.profiler.add_step("x", b"")),
    (TypeError, "run_meta: expected", lambda h: h.profiler.add_step(1, 3)),
    (TypeError, "options: expected a dict", lambda h: h.profiler.profile_graph(3)),
    (OSError, "nowhere", lambda h: tfprof.Profiler.from_file("nowhere")),
    (TypeError, "graph: expected", lambda h: tfprof.Profiler(3)),
    (tfprof.Error, "unknown checker", lambda h: h.profiler.advise({"SpeedChecker": {}})),
    (OSError, "nowhere", lambda h: tfprof_logger.write_op_log(b"", h.dir / "nowhere")),
    (TypeError, "graph: expected", lambda h: model_analyzer.print_model_analysis(3)),
    (AttributeError, "has no attribute", lambda h: tfprof.nowhere),
]


@pytest.mark.parametrize(("kind", "words", "call"), WRONG, ids=[f"{i}-{words[:30]}" for i, (_, words, _) in enumerate(WRONG)])
def test_wrong_arguments_raise_a_sentence(kind: type[BaseException], words: str, call: Call, have: SimpleNamespace) -> None:
    before = sorted(path.name for path in Path(have.dir).rglob("*"))
    with pytest.raises(kind) as raised:
        call(have)
    sentence = str(raised.value)
    assert words in sentence and len(sentence) > 10
    assert sorted(path.name for path in Path(have.dir).rglob("*")) == before
