"""The graphs of `tf.function`s, for static costs: an XSpace has the time of ops, but neither shapes nor attributes."""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Iterator
from typing import Any

# The maximum number of graphs kept, largest first: some programs trace a function for each shape.
MOST = 20
# A file of one function. Commands that open the directory leave it alone; `tfprof cost` and `tfprof layers` take it.
ENDING = ".function.pb"


def write(directory: str) -> None:
    """Writes the graph of every traced function that no other one calls."""
    from tensorflow.python.eager import context
    from tensorflow.python.eager.polymorphic_function import concrete_function

    eager = context.context()
    names = set(eager.list_function_names())
    called = {callee for name in names for callee in _callees(eager.get_function_def(name))}
    # Only Python knows the variables of a function, and TensorFlow keeps no list of them.
    traced = [thing for thing in gc.get_objects() if type(thing) is concrete_function.ConcreteFunction]
    graphs = {_name(function): function.graph for function in traced}
    entries = {name: _graph_def(graph) for name, graph in graphs.items() if name in names - called}
    for name in sorted(entries, key=lambda name: (-entries[name].ByteSize(), name))[:MOST]:
        with open(os.path.join(directory, _file_name(name)), "wb") as file:
            file.write(entries[name].SerializeToString())


def _name(function: Any) -> str:
    name = function.name
    return name.decode() if isinstance(name, bytes) else str(name)


def _graph_def(graph: Any) -> Any:
    """The graph, with its variables in place of the inputs that stand for them."""
    result = graph.as_graph_def(add_shapes=True)
    variables = {id(variable.handle): variable for variable in graph.variables}
    inputs = {inner.op.name: variables.get(id(outer)) for outer, inner in graph.captures}
    for node in result.node:
        variable = inputs.get(node.name)
        if variable is None:
            continue
        node.op = "VarHandleOp"
        node.attr.clear()
        node.attr["dtype"].type = variable.dtype.as_datatype_enum
        node.attr["shape"].shape.CopyFrom(variable.shape.as_proto())
        node.attr["shared_name"].s = variable.name.encode()
    return result


def _callees(function: Any) -> Iterator[str]:
    for node in function.node_def:
        for value in node.attr.values():
            yield value.func.name
            yield from (item.name for item in value.list.func)


def _file_name(function: str) -> str:
    plain = re.sub(r"[^\w.-]", "_", re.sub(r"^__inference_", "", function))
    return plain[:200] + ENDING
