"""Graphs of every kind that users hold: what tfprof needs of them is bytes."""

from __future__ import annotations

import os
import sys
from typing import Any

from tfprof import _messages

Frame = tuple[str, int, str, str]
Traces = tuple[list[Frame], list[tuple[str, list[int]]]]


class Graph:
    """A graph as bytes, with what only a live graph knows."""

    def __init__(
        self,
        data: bytes = b"",
        path: str | None = None,
        trainable: list[str] | None = None,
        traces: Traces | None = None,
    ) -> None:
        self.data = data
        # A file or directory, read by native code; `data` is empty then.
        self.path = path
        self.trainable = trainable or []
        self.traces = traces

    @property
    def is_there(self) -> bool:
        return bool(self.data) or self.path is not None


def default_graph() -> Any:
    """TensorFlow's default graph; none without TensorFlow or under eager execution."""
    if not _messages.tensorflow_is_loaded():
        return None
    tf = sys.modules["tensorflow"]
    return None if tf.executing_eagerly() else tf.compat.v1.get_default_graph()


def live_graph(graph: Any) -> Any:
    """The `tf.Graph` behind a graph, a function or a concrete function; none for anything else."""
    if hasattr(graph, "get_concrete_function"):
        graph = graph.get_concrete_function()
    if hasattr(graph, "graph") and not hasattr(graph, "as_graph_def"):
        graph = graph.graph
    return graph if hasattr(graph, "as_graph_def") else None


def read(graph: Any, add_trace: bool) -> Graph:
    """Reads a graph: live, a message, bytes, a path, or none at all."""
    if graph is None:
        return Graph()
    if isinstance(graph, (str, os.PathLike)):
        return Graph(path=os.fspath(graph))
    live = live_graph(graph)
    if live is not None:
        data = live.as_graph_def(add_shapes=True).SerializeToString()
        return Graph(data, None, trainable(live), traces(live) if add_trace else None)
    return Graph(_messages.to_bytes(graph, "graph"))


def trainable(graph: Any) -> list[str]:
    """The nodes of the variables that are trained."""
    names = []
    for variable in graph.get_collection("trainable_variables"):
        # A variable that was made under eager execution belongs to no graph.
        try:
            names.append(variable.op.name)
        except AttributeError:
            continue
    return names


def traces(graph: Any) -> Traces:
    """Where each node was made; each distinct frame once."""
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
