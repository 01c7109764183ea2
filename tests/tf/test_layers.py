"""The layers of `tfprof.cost`: the parameters of each are those that Keras counts, and the FLOPs are beside them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import tensorflow as tf
import tfprof

keras = tf.keras
layers = keras.layers


def convolutions() -> Any:
    inputs = keras.Input((16, 16, 3))
    x = inputs
    for filters in (4, 8):
        x = layers.Conv2D(filters, 3, use_bias=False)(x)
        x = layers.BatchNormalization()(x)
        x = layers.ReLU()(x)
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(5)(x))


def sequence() -> Any:
    return keras.Sequential([keras.Input((6, 4)), layers.LSTM(8, return_sequences=True), layers.GRU(4), layers.Dense(2)])


def attention() -> Any:
    inputs = keras.Input((7,), dtype="int32")
    x = layers.Embedding(20, 8)(inputs)
    x = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 4)(x, x))
    return keras.Model(inputs, layers.Dense(3)(x))


def called_twice() -> Any:
    inputs = keras.Input((8,))
    shared = layers.Dense(8)
    return keras.Model(inputs, layers.Dense(2)(shared(shared(inputs))))


def nested() -> Any:
    inner = keras.Sequential([keras.Input((8,)), layers.Dense(16), layers.Dense(8)])
    inputs = keras.Input((8,))
    return keras.Model(inputs, layers.Dense(3)(inner(inner(inputs))))


MODELS = (convolutions, sequence, attention, called_twice, nested)


def counted(model: Any) -> Counter[int]:
    """How often each number of parameters occurs among the innermost layers, by Keras."""
    found: Counter[int] = Counter()
    for layer in model._flatten_layers(include_self=False, recursive=True):
        own = [x for x in layer._flatten_layers(include_self=False, recursive=True) if x.count_params()]
        is_cell = isinstance(layer, (layers.LSTM, layers.GRU))
        inside_cell = type(layer).__name__.endswith("Cell")
        if layer.count_params() and (is_cell or not own) and not inside_cell:
            found[layer.count_params()] += 1
    return found


@pytest.mark.parametrize("how", ["export", "save"])
@pytest.mark.parametrize("build", MODELS, ids=lambda build: build.__name__)
def test_parameters_and_flops_are_in_one_row(build: Any, how: str, tmp_path: Any) -> None:
    build()  # The layers of the second model have numbers.
    model = build()
    model.export(tmp_path, verbose=False) if how == "export" else tf.saved_model.save(model, tmp_path)
    cost = tfprof.cost(tmp_path)
    rows = cost.details["scopes"]
    assert sum(row["params"] for row in rows) == cost.parameters == model.count_params()
    assert sum(row["float_ops"] for row in rows) == cost.float_ops
    with_parameters = [row for row in rows if row["params"]]
    assert Counter(row["params"] for row in with_parameters) == counted(model), rows
    assert all(row["float_ops"] or "embedding" in row["name"] for row in with_parameters), rows
    names = {layer.name for layer in model._flatten_layers(include_self=False, recursive=True)}
    assert all(row["name"].rsplit("/")[-1] in names for row in with_parameters), rows
    assert cost.details["shared_parameters"] == []
