"""The messages that tfprof answers with, for processes without TensorFlow.

They live in a descriptor pool of their own: TensorFlow, imported later, adds files of the same names to the default
pool, and two definitions in one pool clash.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_INT64, _INT32, _BOOL, _STRING, _MESSAGE = 3, 5, 8, 9, 11
_OPTIONAL, _REPEATED = 1, 3

# Message: fields as name, number, and a type; `[T]` is repeated, `{K:V}` a map.
_MESSAGES = {
    "TensorShapeProto": "dim 2 [TensorShapeProto.Dim], unknown_rank 3 bool",
    "TensorShapeProto.Dim": "size 1 int64, name 2 string",
    "GraphNodeProto": (
        "name 1 string, tensor_value 15 TFProfTensorProto, run_count 21 int64, exec_micros 2 int64,"
        "accelerator_exec_micros 17 int64, cpu_exec_micros 18 int64, requested_bytes 3 int64, peak_bytes 24 int64,"
        "residual_bytes 25 int64, output_bytes 26 int64, parameters 4 int64, float_ops 13 int64, devices 10 [string],"
        "total_definition_count 23 int64, total_run_count 22 int64, total_exec_micros 6 int64,"
        "total_accelerator_exec_micros 19 int64, total_cpu_exec_micros 20 int64, total_requested_bytes 7 int64,"
        "total_peak_bytes 27 int64, total_residual_bytes 28 int64, total_output_bytes 29 int64,"
        "total_parameters 8 int64, total_float_ops 14 int64, shapes 11 [TensorShapeProto],"
        "input_shapes 16 {int32:TensorShapeProto}, children 12 [GraphNodeProto]"
    ),
    "MultiGraphNodeProto": (
        "name 1 string, exec_micros 2 int64, accelerator_exec_micros 12 int64, cpu_exec_micros 13 int64,"
        "requested_bytes 3 int64, peak_bytes 16 int64, residual_bytes 17 int64, output_bytes 18 int64,"
        "parameters 4 int64, float_ops 5 int64, total_exec_micros 6 int64, total_accelerator_exec_micros 14 int64,"
        "total_cpu_exec_micros 15 int64, total_requested_bytes 7 int64, total_peak_bytes 19 int64,"
        "total_residual_bytes 20 int64, total_output_bytes 21 int64, total_parameters 8 int64,"
        "total_float_ops 9 int64, graph_nodes 10 [GraphNodeProto], children 11 [MultiGraphNodeProto]"
    ),
    "TFProfTensorProto": "dtype 1 int32, value_double 2 [double], value_int64 3 [int64], value_str 4 [string]",
    "AdviceProto": "checkers 1 {string:AdviceProto.Checker}",
    "AdviceProto.Checker": "reports 2 [string]",
    "CodeDef": "traces 1 [CodeDef.Trace]",
    "CodeDef.Trace": "lineno 2 int32, func_start_line 5 int32, file_id 6 int64, function_id 7 int64, line_id 8 int64",
    "OpLogEntry": "name 1 string, float_ops 2 int64, types 3 [string], code_def 4 CodeDef",
    "OpLogProto": "log_entries 1 [OpLogEntry], id_to_string 2 {int64:string}",
}

_SCALARS = {"double": 1, "int64": _INT64, "int32": _INT32, "bool": _BOOL, "string": _STRING}
_PACKAGE = "tensorflow.tfprof"


def classes() -> dict[str, Any]:
    """The message classes by name."""
    file = descriptor_pb2.FileDescriptorProto(name="tfprof/messages.proto", package=_PACKAGE, syntax="proto3")
    messages: dict[str, Any] = {}
    for name, fields in _MESSAGES.items():
        outer, _, inner = name.rpartition(".")
        message = messages[outer].nested_type.add() if outer in messages else file.message_type.add()
        message.name = inner
        messages[name] = message
        for field in fields.split(","):
            _add_field(message, name, *field.split())
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    names = [name for name in _MESSAGES if "." not in name]
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}")) for name in names}


def _add_field(message: Any, owner: str, name: str, number: str, kind: str) -> None:
    field = message.field.add(name=name, number=int(number), label=_OPTIONAL)
    if kind.startswith("{"):
        key, value = kind[1:-1].split(":")
        entry = message.nested_type.add(name="".join(part.capitalize() for part in name.split("_")) + "Entry")
        entry.options.map_entry = True
        _add_field(entry, owner, "key", "1", key)
        _add_field(entry, owner, "value", "2", value)
        kind = f"[{owner}.{entry.name}]"
    if kind.startswith("["):
        field.label = _REPEATED
        kind = kind[1:-1]
    if kind in _SCALARS:
        field.type = _SCALARS[kind]
    else:
        field.type = _MESSAGE
        field.type_name = f".{_PACKAGE}.{kind}"
