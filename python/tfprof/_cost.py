"""The cost of a model: parameters, FLOPs, multiply-adds, bytes, and how much is unknown."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tfprof import _graphs, _messages, _native, _options

Sizes = Sequence[int | None]


@dataclass(frozen=True)
class Cost:
    """The cost of one run of a model. `str()` gives the tables of `tfprof cost`."""

    parameters: int
    #: None if unknown.
    trainable_parameters: int | None
    float_ops: int
    macs: int
    io_bytes: int
    nodes: int
    covered_nodes: int
    #: Nodes of unknown cost; with any, the figures are lower bounds.
    unknown_ops: int
    #: The size assumed for open leading dimensions; None if there are none.
    batch: int | None
    #: By metric `{"constant": a, "per_element": b}`, which is a + b·B; None where it is not linear.
    per_batch: dict[str, dict[str, int] | None]
    #: The JSON of `tfprof cost --format=json`.
    details: dict[str, Any] = field(repr=False)
    text: str = field(repr=False)

    def __str__(self) -> str:
        return self.text

    @classmethod
    def read(cls, answer: bytes, text: str) -> Cost:
        """From the JSON and the tables of native code."""
        details = json.loads(answer)
        figures = {name: details[name] for name in cls.__dataclass_fields__ if name in details}
        return cls(**figures, details=details, text=text)


@_options.helpful
def cost(
    model: Any,
    *,
    batch: int | None = None,
    inputs: Mapping[str, Sizes] | None = None,
    signature: str | None = None,
    all: bool = False,
    trip_counts: Mapping[str, int] | None = None,
    const_params: bool = False,
) -> Cost:
    """Computes the cost of a model.

    `model` is a path (SavedModel, frozen graph, `.meta`), a `tf.Graph` or `GraphDef`, a concrete function, a `tf.function`
    with an input signature, a loaded SavedModel, or a Keras model. `batch` is the size of open leading
    dimensions, `inputs` are shapes by name, `signature` and `all` choose the part of a SavedModel that counts,
    `trip_counts` are those of loops by name, and `const_params` counts constants as parameters.
    """
    path, graph, trainable = _read(model, signature)
    answer = _native.cost(
        path,
        graph,
        trainable,
        batch=batch,
        inputs=[(name, [-1 if size is None else size for size in sizes]) for name, sizes in (inputs or {}).items()],
        signature=signature if path is not None else None,
        all=all,
        trip_counts=list((trip_counts or {}).items()),
        const_params=const_params,
    )
    return Cost.read(*answer)


@_options.helpful
def flops(
    model: Any,
    *,
    batch: int | None = None,
    inputs: Mapping[str, Sizes] | None = None,
    signature: str | None = None,
    all: bool = False,
    trip_counts: Mapping[str, int] | None = None,
    const_params: bool = False,
) -> int:
    """The FLOPs of one run of a model; model and keywords as in `cost`."""
    return cost(
        model,
        batch=batch,
        inputs=inputs,
        signature=signature,
        all=all,
        trip_counts=trip_counts,
        const_params=const_params,
    ).float_ops


@_options.helpful
def params(
    model: Any,
    *,
    batch: int | None = None,
    inputs: Mapping[str, Sizes] | None = None,
    signature: str | None = None,
    all: bool = False,
    trip_counts: Mapping[str, int] | None = None,
    const_params: bool = False,
) -> int:
    """The parameters of a model; model and keywords as in `cost`."""
    return cost(
        model,
        batch=batch,
        inputs=inputs,
        signature=signature,
        all=all,
        trip_counts=trip_counts,
        const_params=const_params,
    ).parameters


def is_keras(model: Any) -> bool:
    """Whether it is a Keras model or layer, of any version."""
    # Of an instance, Keras 2 raises an error of its own before it is built.
    return hasattr(type(model), "count_params") and hasattr(type(model), "weights")


def _read(model: Any, signature: str | None) -> tuple[str | None, bytes | None, list[str] | None]:
    """A path, or the bytes of a graph and the nodes of its trainable variables."""
    if isinstance(model, (str, os.PathLike)):
        return os.fspath(model), None, None
    if is_keras(model):
        return None, *_keras(model)
    if isinstance(getattr(model, "signatures", None), Mapping):
        model = _signature(model.signatures, signature)
    elif hasattr(model, "get_concrete_function"):
        model = _concrete(model)
    if hasattr(model, "captured_inputs") and hasattr(model, "graph"):
        return None, *_function(model)
    if _graphs.live_graph(model) is not None:
        graph = _graphs.read(model, add_trace=False)
        return None, graph.data, graph.trainable
    data = _messages.to_bytes(model, "graph")
    return None, data, None


def _signature(signatures: Mapping[str, Any], name: str | None) -> Any:
    if name is None:
        name = "serving_default" if "serving_default" in signatures or len(signatures) != 1 else next(iter(signatures))
    if name not in signatures:
        raise ValueError(f"there is no signature {name!r}; choose one of {sorted(signatures)}")
    return signatures[name]


def _concrete(function: Any) -> Any:
    try:
        return function.get_concrete_function()
    except (TypeError, ValueError) as error:
        raise TypeError(
            "this tf.function has no input signature; pass f.get_concrete_function(...) with the shapes to count"
        ) from error


def _keras(model: Any) -> tuple[bytes, list[str]]:
    """A Keras model in inference mode."""
    tf = sys.modules.get("tensorflow")
    if tf is None or not getattr(model, "inputs", None):
        what = "is not built" if tf is not None else "needs TensorFlow, which is not loaded"
        raise TypeError(f"this Keras model {what}; call it once, or pass a path or a concrete function")
    specs = [tf.TensorSpec(tensor.shape, tensor.dtype) for tensor in model.inputs]

    def call(*tensors: Any) -> Any:
        return model(list(tensors) if len(tensors) > 1 else tensors[0], training=False)

    weights = [_variable(weight) for weight in model.weights]
    trained = {id(_variable(weight)) for weight in model.trainable_weights}
    return _function(tf.function(call).get_concrete_function(*specs), weights, trained)


def _variable(weight: Any) -> Any:
    """The variable of TensorFlow: Keras 3 wraps it, Keras 2 does not."""
    value = weight.value
    return weight if callable(value) else value


def _function(function: Any, weights: list[Any] | None = None, trained: set[int] | None = None) -> tuple[bytes, list[str]]:
    """A concrete function: captured variables become variables, and nodes that no output needs are left out.

    Of a Keras model, exactly `weights` count; `trained` holds the ids of the trainable ones.
    """
    graph = function.graph
    fetched = [tensor.op.name for tensor in graph.outputs] + [op.name for op in graph.control_outputs]
    graph_def = graph.as_graph_def(add_shapes=True)
    if fetched:
        _keep_needed(graph_def, fetched)
    variables = {id(variable.handle): variable for variable in [*graph.variables, *(weights or [])]}
    counted = None if weights is None else {id(variable.handle) for variable in weights}
    nodes = {node.name: node for node in graph_def.node}
    trainable = []

    def make_variable(node: Any, variable: Any) -> None:
        node.op = "VarHandleOp"
        node.attr["dtype"].type = variable.dtype.as_datatype_enum
        node.attr["shape"].shape.CopyFrom(variable.shape.as_proto())
        node.attr["shared_name"].s = f"{variable.name}#{id(variable.handle)}".encode()
        if id(variable) in trained if trained is not None else variable.trainable:
            trainable.append(node.name)

    met = set()
    for outside, inside in graph.captures:
        variable = variables.get(id(outside))
        if variable is None or inside.op.name not in nodes:
            continue
        if counted is None or id(outside) in counted:
            make_variable(nodes[inside.op.name], variable)
            met.add(id(outside))
    for variable in weights or []:
        if id(variable.handle) not in met:
            node = graph_def.node.add()
            node.name = f"unread/{variable.name.split(':')[0]}"
            make_variable(node, variable)
    return graph_def.SerializeToString(), trainable


def _keep_needed(graph_def: Any, fetched: list[str]) -> None:
    """Drops the nodes that those fetched do not need."""
    inputs = {node.name: node.input for node in graph_def.node}
    needed: set[str] = set()
    waiting = fetched
    while waiting:
        name = waiting.pop()
        if name not in needed and name in inputs:
            needed.add(name)
            waiting.extend(spelled.removeprefix("^").split(":")[0] for spelled in inputs[name])
    nodes = [node for node in graph_def.node if node.name in needed]
    del graph_def.node[:]
    graph_def.node.extend(nodes)
