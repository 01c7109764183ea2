"""Converts graphs of all kinds to bytes."""

from __future__ import annotations

import gc
import os
import sys
from typing import Any

from tfprof import _messages, _native

Frame = tuple[str, int, str, str]
Traces = tuple[list[Frame], list[tuple[str, list[int]]]]


class Graph:
    """A graph as bytes, with the data that only a live graph has."""

    def __init__(
        self,
        data: bytes = b"",
        path: str | None = None,
        trainable: list[str] | None = None,
        traces: Traces | None = None,
        float_ops: dict[str, int] | None = None,
        live: bool = False,
    ) -> None:
        self.data = data
        # A file or directory, read by native code; `data` is empty then.
        self.path = path
        self.trainable = trainable or []
        self.traces = traces
        # FLOPs by formulas that the user registered with TensorFlow, by node.
        self.float_ops = float_ops or {}
        # A `tf.Graph`; other graphs know no code traces.
        self.live = live

    @property
    def is_there(self) -> bool:
        return bool(self.data) or self.path is not None


def default_graph() -> Any:
    """TensorFlow's default graph; None without TensorFlow or under eager execution."""
    if not _messages.tensorflow_is_loaded():
        return None
    tf = sys.modules["tensorflow"]
    return None if tf.executing_eagerly() else tf.compat.v1.get_default_graph()


def save_keras(model: Any, directory: str) -> None:
    """Saves a Keras model of any backend as a SavedModel, with its lines of code if TensorFlow made them."""
    import tensorflow as tf

    if not getattr(model, "built", True):
        raise TypeError("this Keras model is not built; call it once, or give it an Input")
    logger = tf.get_logger()
    level = logger.level
    logger.setLevel("ERROR")
    try:
        if isinstance(model, tf.__internal__.tracking.AutoTrackable):
            lines = tf.saved_model.SaveOptions(save_debug_info=True)
            tf.saved_model.save(model, directory, options=lines)
        else:
            model.export(directory, verbose=False)
    finally:
        logger.setLevel(level)


def live_graph(graph: Any) -> Any:
    """The `tf.Graph` of a graph, a function or a concrete function; None for anything else."""
    if hasattr(graph, "get_concrete_function"):
        graph = graph.get_concrete_function()
    if hasattr(graph, "graph") and not hasattr(graph, "as_graph_def"):
        graph = graph.graph
    return graph if hasattr(graph, "as_graph_def") else None


def read(graph: Any, add_trace: bool) -> Graph:
    """Reads a graph: live, a message, bytes, a path, or None."""
    if graph is None:
        return Graph()
    if isinstance(graph, (str, os.PathLike)):
        return Graph(path=os.fspath(graph))
    live = live_graph(graph)
    if live is not None:
        stacks = traces(live) if add_trace else None
        return Graph(live_bytes(live), None, trainable(live), stacks, registered_float_ops(live), live=True)
    return Graph(_messages.to_bytes(graph, "graph"))


def live_bytes(graph: Any) -> bytes:
    """The GraphDef of a live graph, with the shapes of all outputs.

    TensorFlow's own way makes a Python object of each node and shape, which takes longer than the rest of a profile. If its
    native module has the functions we expect, the bytes come from there.
    """
    try:
        data = _bytes_without_shapes(graph)
        operations = graph.get_operations()
        names = [op.name for op in operations]
        # None of these lists is garbage; collecting takes four times as long as making them.
        collecting = gc.isenabled()
        gc.disable()
        try:
            shapes = [[output._shape for output in op.outputs] for op in operations]
        finally:
            if collecting:
                gc.enable()
        with_shapes = _native.graph_with_shapes(data, names, shapes)
    except (AttributeError, ImportError, TypeError, ValueError):
        with_shapes = None
    if with_shapes is not None:
        return with_shapes
    slow: bytes = graph.as_graph_def(add_shapes=True).SerializeToString()
    return slow


def _bytes_without_shapes(graph: Any) -> bytes:
    from tensorflow.python.client import pywrap_tf_session
    from tensorflow.python.framework import c_api_util

    with graph._lock, c_api_util.tf_buffer() as buffer, graph._c_graph.get() as native:
        pywrap_tf_session.TF_GraphToGraphDef(native, buffer)
        data: bytes = pywrap_tf_session.TF_GetBuffer(buffer)
    return data


def trainable(graph: Any) -> list[str]:
    """The nodes of trainable variables."""
    names = []
    for variable in graph.get_collection("trainable_variables"):
        # A variable made under eager execution belongs to no graph.
        try:
            names.append(variable.op.name)
        except AttributeError:
            continue
    return names


def registered_float_ops(graph: Any) -> dict[str, int]:
    """FLOPs by formulas that users registered for their ops."""
    if not _messages.tensorflow_is_loaded():
        return {}
    from tensorflow.python.framework import ops

    own = set()
    for name in ops._stats_registry.list():
        op, _, statistic = name.rpartition(",")
        module = getattr(ops._stats_registry.lookup(name), "__module__", None) or ""
        if statistic == "flops" and not module.startswith("tensorflow."):
            own.add(op)
    found = {}
    for op in graph.get_operations() if own else ():
        if op.type in own:
            try:
                statistics = ops.get_stats_for_node_def(graph, op.node_def, "flops")
            except ValueError:
                # As for other ops: the shapes are unknown.
                continue
            if statistics is not None and statistics.value:
                found[op.name] = int(statistics.value)
    return found


def traces(graph: Any) -> Traces:
    """The call stack that created each node; each distinct frame once."""
    frames: list[Frame] = []
    places: dict[tuple[str, int, str], int] = {}
    nodes = []
    for op in graph.get_operations():
        stack = []
        for frame in op.traceback or ():
            filename, lineno, name = frame.filename, frame.lineno, frame.name
            key = (filename, lineno, name)
            place = places.get(key)
            if place is None:
                place = places[key] = len(frames)
                frames.append((filename or "", lineno or 0, name or "", frame.line or ""))
            stack.append(place)
        nodes.append((op.name, stack))
    return frames, nodes
