"""Each snippet that `info` recommends does what it says, with this TensorFlow: it runs, and what was missing is there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
import tfprof

tf1 = tf.compat.v1


def advice(path: Any, **how: Any) -> dict[str, str]:
    """The snippets for a path, by the code of what is missing."""
    return {missing["code"]: missing["how"] for missing in tfprof.open(path, **how).overview["missing"]}


def run(snippet: str, **names: Any) -> dict[str, Any]:
    space = {"tf": tf, **names}
    exec(compile(snippet, "advice", "exec"), space)
    return space


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def keras_model() -> Any:
    return tf.keras.Sequential([tf.keras.Input((8,)), tf.keras.layers.Dense(4, name="head")])


def record(step: Any, logdir: str = "logs") -> None:
    with tf.profiler.experimental.Profile(logdir):
        for _ in range(3):
            step()


@pytest.mark.parametrize("save", ["export", "save"])
def test_a_saved_model(save: str) -> None:
    model = keras_model()
    model.export("model", verbose=False) if save == "export" else tf.saved_model.save(model, "model")
    found = advice("model")
    assert set(found) == {"no_steps", "no_traces"}
    run(found["no_steps"])
    recorded = tfprof.open("logdir")
    assert len(recorded.steps) == 10 and recorded.overview["micros"] > 0
    run(found["no_traces"], model=model)
    assert any(".py:" in row.name for row in tfprof.open("with_lines").code(select="float_ops", max_depth=100))
    assert set(advice("with_lines")) == {"no_steps"}


def test_a_saved_model_with_another_signature() -> None:
    module = tf.Module()
    module.w = tf.Variable(tf.ones((4, 2)))
    function = tf.function(lambda x: tf.matmul(x, module.w), input_signature=[tf.TensorSpec((None, 4))])
    tf.saved_model.save(module, "model", signatures={"score": function})
    run(advice("model")["no_steps"])
    assert len(tfprof.open("logdir").steps) == 10


def test_an_eager_profile() -> None:
    x = tf.ones((32, 32))

    def step() -> Any:
        return tf.nn.relu(x @ x)

    step()
    record(step)
    found = advice("logs")
    assert {"eager", "no_step_markers", "no_traces"} <= set(found)
    assert not any("jax" in snippet for snippet in found.values())
    step = run(found["eager"], step=step)["step"]
    step()
    with tf.profiler.experimental.Profile("better"):
        run(found["no_step_markers"], step=step)
    better = tfprof.open("better")
    assert len(better.steps) == 10 and not {"eager", "no_step_markers"} & set(advice("better"))
    run(found["no_traces"], model=keras_model())
    assert len(tfprof.open("with_lines").code(select="float_ops")) > 1


def test_a_dump_of_sessions() -> None:
    with tf1.Graph().as_default() as graph, tf1.Session() as session:
        weights = tf1.get_variable("weights", [8, 4])
        train_op = tf.matmul(tf.ones((2, 8)), weights)
        session.run(tf1.global_variables_initializer())
        names = {"graph": graph, "session": session, "train_op": train_op}
        Path("graph_only").mkdir()
        Path("graph_only/graph.pb").write_bytes(graph.as_graph_def().SerializeToString())
        found = advice("graph_only")
        assert set(found) >= {"no_steps", "no_traces"}
        run(found["no_steps"], **names)
        assert set(advice("run_meta_0")) >= {"no_graph"}
        run(advice("run_meta_0")["no_graph"], **names)
        run(found["no_traces"], **names)
    whole = tfprof.open("graph.pb", run_meta="run_meta_0", op_log="dump/tfprof_log")
    assert whole.overview["micros"] > 0 and len(whole.code(select="params")) > 1
    assert whole.overview["missing"] == []
