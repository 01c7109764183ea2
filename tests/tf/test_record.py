"""`tfprof.record` beside TensorFlow: Keras, `tf.function`, sessions, scripts."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

import tfprof


def dense_model():
    import keras

    model = keras.Sequential([keras.layers.Input((16,)), keras.layers.Dense(4, name="logits")])
    model.compile("sgd", "mse")
    return model, np.ones((160, 16), "float32"), np.ones((160, 4), "float32")


def manifest(directory):
    return json.loads((directory / "recording.json").read_text())


def test_fit_is_recorded_by_batches(tmp_path, capsys):
    model, x, y = dense_model()
    with tfprof.record(tmp_path / "run", steps=5, warmup=2):
        model.fit(x, y, batch_size=8, verbose=0)
    found = manifest(tmp_path / "run")
    assert (found["steps"], found["warmup"], list(found["frameworks"])) == (5, 2, ["TensorFlow"])
    assert found["overhead"] is not None
    profile = tfprof.open(tmp_path / "run")
    assert [int(step) for step in profile.steps] == [2, 3, 4, 5, 6]
    assert any("MatMul" in row.name for row in profile.op(select="micros"))
    printed = capsys.readouterr().out
    assert printed.startswith("tfprof: recorded 5 steps of TensorFlow in ")
    assert "2 steps of warm-up left out" in printed


def test_the_graphs_of_functions_have_costs(tmp_path):
    model, x, y = dense_model()
    with tfprof.record(tmp_path / "run", steps=3, quiet=True) as recording:
        model.fit(x, y, batch_size=8, verbose=0)
    graphs = sorted((tmp_path / "run").glob("*.function.pb"))
    assert {path.name for path in graphs} < set(manifest(tmp_path / "run")["files"])
    step = tfprof.cost(max(graphs, key=lambda path: path.stat().st_size))
    # Sixteen inputs, four outputs, batches of eight: forward, and the gradient of the weights.
    matmuls = [row for row in step.details["op_types"] if row["op"] == "MatMul"]
    assert [(row["nodes"], row["float_ops"]) for row in matmuls] == [(2, 2 * 2 * 8 * 16 * 4)]
    assert step.unknown_ops == 0
    assert step.parameters >= 16 * 4 + 4
    # The profile is that of the XSpace alone.
    assert [int(number) for number in recording.profile.steps] == [1, 2, 3]


def test_fit_is_itself_again(tmp_path):
    model, x, y = dense_model()
    fit = type(model).fit
    with tfprof.record(tmp_path / "run", quiet=True):
        assert type(model).fit is not fit
        model.fit(x, y, batch_size=8, verbose=0)
    assert type(model).fit is fit


def test_a_callback_records_again_and_again(tmp_path):
    import tfprof.keras

    model, x, y = dense_model()
    callback = tfprof.keras.Callback(tmp_path / "run", every=8, steps=3, quiet=True)
    model.fit(x, y, batch_size=8, verbose=0, callbacks=[callback])
    assert sorted(os.listdir(tmp_path / "run")) == ["batch-0", "batch-16", "batch-8"]
    steps = [[int(step) for step in recording.profile.steps] for recording in callback.recordings]
    assert steps == [[1, 2, 3], [9, 10, 11], [17, 18, 19]]


def test_a_function_is_called_and_returned(tmp_path):
    calls = []

    @tf.function
    def double(value):
        return value + value

    def step(value):
        calls.append(value)
        return double(value)

    recording = tfprof.record(step, tf.ones((4,)), directory=tmp_path / "run", steps=3, quiet=True)
    assert len(calls) == 4
    assert recording.result.numpy().tolist() == [2.0] * 4
    assert len(recording.profile.steps) == 3


def test_batches_are_steps(tmp_path):
    double = tf.function(lambda value: value + value)
    with tfprof.record(tmp_path / "run", quiet=True) as recording:
        seen = [float(double(tf.constant(number))) for number in recording.steps([1.0, 2.0, 3.0])]
    assert seen == [2.0, 4.0, 6.0]
    assert [int(step) for step in recording.profile.steps] == [1, 2]


def test_an_earlier_recording_is_replaced(tmp_path):
    double = tf.function(lambda value: value + value)
    for steps in (2, 3):
        recording = tfprof.record(double, tf.ones((4,)), directory=tmp_path / "run", steps=steps, quiet=True)
    assert len(recording.profile.steps) == 3
    assert os.listdir(tmp_path) == ["run"]


SESSIONS = """
import tensorflow.compat.v1 as tf
tf.disable_eager_execution()
x = tf.placeholder(tf.float32, [None, 8])
w = tf.get_variable("w", [8, 4])
train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_mean(tf.matmul(x, w) ** 2))
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(9):
        session.run(train, {x: [[1.0] * 8]})
print("done")
"""


def test_a_script_with_sessions(tmp_path):
    (tmp_path / "train.py").write_text(SESSIONS)
    command = [sys.executable, "-m", "tfprof", "run", "--steps", "4", "train.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "done\ntfprof: recorded 4 steps of TensorFlow in tfprof-run" in done.stdout
    profile = tfprof.open(tmp_path / "tfprof-run")
    assert profile.steps == [0, 1, 2, 3]
    assert profile.overview["trainable_params"] == 32


@pytest.mark.parametrize("code", ["sys.exit(7)", "raise SystemExit(7)"])
def test_the_exit_code_is_that_of_the_script(tmp_path, code):
    script = f"import sys\nimport tensorflow as tf\nfor _ in range(3): tf.ones(4) + 1\n{code}\n"
    (tmp_path / "train.py").write_text(script)
    command = [sys.executable, "-m", "tfprof", "run", "train.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 7, done.stderr


NOTEBOOK = [
    "import numpy as np, keras, tensorflow as tf\nmodel = keras.Sequential([keras.Input((16,)), keras.layers.Dense(4)])\n"
    "model.compile('sgd', 'mse')\nx, y = np.ones((160, 16), 'float32'), np.ones((160, 4), 'float32')",
    "%load_ext tfprof",
    "%%tfprof fitted\nmodel.fit(x, y, batch_size=8, verbose=0);",
    "%tfprof print(float(tf.function(lambda value: value + value)(tf.ones(()))))",
    "%%tfprof broken\n1 / 0",
]


def test_the_magics_of_a_notebook(tmp_path):
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in NOTEBOOK])
    client = NotebookClient(notebook, timeout=300, kernel_name="python3", allow_errors=True, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    fitted, line, broken = (cell.outputs for cell in notebook.cells[2:])
    # The value of the cell comes first, as without the magic.
    *_, shown = [output.data for output in fitted if output.output_type == "execute_result"]
    assert shown["text/plain"].startswith("tfprof: recorded 10 steps of TensorFlow in fitted; 1 step of warm-up left out")
    assert shown["text/html"].startswith('<div class="tfprof">')
    assert len(tfprof.open(tmp_path / "fitted").steps) == 10
    assert any(output.get("text") == "2.0\n" for output in line)
    assert any(output.output_type == "execute_result" for output in line)
    assert (tmp_path / "tfprof-run" / "recording.json").exists()
    assert {output.ename for output in broken if output.output_type == "error"} == {"ZeroDivisionError"}
    assert not (tmp_path / "broken").exists()


def test_the_loops_of_the_page(tmp_path, monkeypatch):
    page = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "record.md")
    with open(page, encoding="utf-8") as file:
        blocks = re.findall(r"^```python\n(.*?)^```", file.read(), re.DOTALL | re.MULTILINE)
    assert len(blocks) == 2
    monkeypatch.chdir(tmp_path)
    model, x, y = dense_model()
    names = {
        "tfprof": tfprof,
        "train": lambda: model.fit(x, y, batch_size=8, verbose=0),
        "train_step": lambda batch: model.train_on_batch(*batch),
        "batches": [(x[:8], y[:8])] * 5,
    }
    for block in blocks:
        exec(compile(block, "record.md", "exec"), names)
        assert tfprof.open("run").steps
