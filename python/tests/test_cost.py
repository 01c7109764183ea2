"""What a model costs, from files alone."""

import gzip
import json
from pathlib import Path

import pytest
import tfprof

MODELS = Path(__file__).parents[2] / "tests" / "models"


@pytest.mark.parametrize("name", ["mobilenet_v2", "dense_export", "lstm_save"])
def test_parameters_are_those_that_keras_counts(name):
    facts = json.loads((MODELS / name / "facts.json").read_text())
    cost = tfprof.cost(MODELS / name)
    assert cost.parameters == facts["parameters"] == tfprof.params(str(MODELS / name))
    assert cost.trainable_parameters == facts["trainable_parameters"]
    assert cost.unknown_ops == 0 and cost.covered_nodes == cost.nodes
    assert cost.float_ops == tfprof.flops(MODELS / name) > 0


def test_shapes_of_inputs_are_checked_and_asked_for(tmp_path):
    placeholder = 'node { name: "%s" op: "PlaceholderV2" attr { key: "dtype" value { type: DT_FLOAT } } %s }'
    declared = 'attr { key: "shape" value { shape { dim { size: -1 } dim { size: 16 } } } }'
    matrix = 'attr { key: "shape" value { shape { dim { size: 16 } dim { size: 4 } } } }'
    unknown = 'attr { key: "shape" value { shape { unknown_rank: true } } }'
    product = 'node { name: "%s" op: "MatMul" input: "%s" input: "w" attr { key: "T" value { type: DT_FLOAT } } }'
    nodes = [
        placeholder % ("x", declared),
        placeholder % ("w", matrix),
        placeholder % ("y", unknown),
        product % ("a", "x"),
        product % ("b", "y"),
    ]
    graph = tmp_path / "graph.pbtxt"
    graph.write_text("\n".join(nodes))
    with pytest.raises(tfprof.Error, match="inputs: x=5x8 contradicts the graph, which declares `x` as [?]x16"):
        tfprof.cost(graph, inputs={"x": [5, 8]})
    with pytest.raises(tfprof.Error, match="inputs: y=5x8 contradicts `b` .MatMul.: it multiplies 5x8 by 16x4"):
        tfprof.cost(graph, inputs={"y": [5, 8]})
    why = tfprof.cost(graph).details["missing_shapes"][0]["why"]
    assert why == "the shape gets lost at `y`; say inputs={'y': [1, 16]}"
    assert tfprof.cost(graph, inputs={"y": [1, 16]}).unknown_ops == 0


def test_settings():
    dense = MODELS / "dense_export"
    per_element = json.loads((dense / "facts.json").read_text())["per_element"]
    assert tfprof.flops(dense, batch=6) == 6 * per_element
    assert tfprof.flops(dense, inputs={"serving_default_keras_tensor": [4, 16]}) == 4 * per_element
    assert tfprof.cost(dense).per_batch["float_ops"] == {"constant": 0, "per_element": per_element}
    assert tfprof.params(MODELS / "signatures", signature="encode") == 128
    with pytest.raises(tfprof.Error, match="several signatures"):
        tfprof.cost(MODELS / "signatures")
    loop = tfprof.cost(MODELS / "unknown_loop", trip_counts={"while": 3})
    assert {row["op"]: row["float_ops"] for row in loop.details["op_types"]}["MatMul"] == 3 * 8192
    frozen = MODELS / "frozen_loop" / "graph.pb.gz"
    assert tfprof.params(frozen, const_params=True) == 256
    assert tfprof.params(gzip.decompress(frozen.read_bytes()), const_params=True) == 256


def test_text_matches_the_command():
    text = str(tfprof.cost(MODELS / "dense_export"))
    assert text.startswith("parameters           676: 676 trainable, 0 other, 2.70KB of float32\n")
