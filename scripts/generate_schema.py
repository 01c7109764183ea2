#!/usr/bin/env python3
"""Writes two files of crates/tfprof-proto/src from the descriptors of an installed TensorFlow.

Run it with a Python that has tensorflow-cpu==2.21.0, from anywhere; the output is committed.

* schema/tables.rs: the full closure of ROOTS, so that the text reader knows every field of these files by name.
* fields.rs: the field numbers of NAMED as constants, for the code that reads or writes these messages.
"""

import importlib
import os
import pathlib
import re

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow  # noqa: E402
from google.protobuf import descriptor_pool  # noqa: E402
from google.protobuf.descriptor import FieldDescriptor as F  # noqa: E402

MODULES = [
    "compiler.xla.service.hlo_pb2",
    "core.framework.graph_debug_info_pb2",
    "core.framework.graph_pb2",
    "core.framework.variable_pb2",
    "core.profiler.profile_pb2",
    "core.profiler.tfprof_log_pb2",
    "core.profiler.tfprof_options_pb2",
    "core.profiler.tfprof_output_pb2",
    "core.protobuf.config_pb2",
    "core.protobuf.meta_graph_pb2",
    "core.protobuf.saved_model_pb2",
    "core.protobuf.saved_object_graph_pb2",
    "core.protobuf.tensor_bundle_pb2",
    "core.protobuf.trackable_object_graph_pb2",
    "core.util.saved_tensor_slice_pb2",
    "tsl.profiler.protobuf.xplane_pb2",
]

ROOTS = [
    "tensorflow.CheckpointState",
    "tensorflow.GraphDebugInfo",
    "tensorflow.GraphDef",
    "tensorflow.MetaGraphDef",
    "tensorflow.RunMetadata",
    "tensorflow.SavedModel",
    "tensorflow.SavedObjectGraph",
    "tensorflow.TrackableObjectGraph",
    "tensorflow.VariableDef",
    "tensorflow.tfprof.AdviceProto",
    "tensorflow.tfprof.AdvisorOptionsProto",
    "tensorflow.tfprof.GraphNodeProto",
    "tensorflow.tfprof.MultiGraphNodeProto",
    "tensorflow.tfprof.OpLogProto",
    "tensorflow.tfprof.OptionsProto",
    "tensorflow.tfprof.ProfileProto",
]

# Messages whose fields the code names, an outer message before its inner ones. Entries of maps share `map_entry`.
NAMED = {
    "tensorflow": [
        "AllocationDescription",
        "AllocationRecord",
        "AllocatorMemoryUsed",
        "AttrValue",
        "AttrValue.ListValue",
        "BundleEntryProto",
        "BundleHeaderProto",
        "CheckpointState",
        "DeviceStepStats",
        "FunctionDef",
        "FunctionDef.ArgAttrs",
        "FunctionDefLibrary",
        "FunctionSpec",
        "GradientDef",
        "GraphDebugInfo",
        "GraphDebugInfo.FileLineCol",
        "GraphDebugInfo.StackTrace",
        "GraphDef",
        "MemoryStats",
        "MetaGraphDef",
        "MetaGraphDef.MetaInfoDef",
        "NameAttrList",
        "NodeDef",
        "NodeDef.ExperimentalDebugInfo",
        "NodeExecStats",
        "NodeOutput",
        "OpDef",
        "OpDef.ArgDef",
        "OpDef.AttrDef",
        "OpList",
        "RunMetadata",
        "RunMetadata.FunctionGraphs",
        "SavedBareConcreteFunction",
        "SavedConcreteFunction",
        "SavedFunction",
        "SavedModel",
        "SavedObject",
        "SavedObjectGraph",
        "SavedSlice",
        "SavedSliceMeta",
        "SavedTensorSliceMeta",
        "SavedTensorSlices",
        "SavedVariable",
        "SignatureDef",
        "StepStats",
        "TensorDescription",
        "TensorInfo",
        "TensorProto",
        "TensorShapeProto",
        "TensorShapeProto.Dim",
        "TensorSliceProto",
        "TensorSliceProto.Extent",
        "TrackableObjectGraph",
        "TrackableObjectGraph.TrackableObject",
        "TrackableObjectGraph.TrackableObject.ObjectReference",
        "TrackableObjectGraph.TrackableObject.SerializedTensor",
        "TrackableObjectGraph.TrackableObject.SlotVariableReference",
        "VariableDef",
        "VersionDef",
    ],
    "tensorflow.tfprof": [
        "AdviceProto",
        "AdviceProto.Checker",
        "CodeDef",
        "CodeDef.Trace",
        "ExecMemory",
        "ExecProfile",
        "ExecTime",
        "GraphNodeProto",
        "Memory",
        "MultiGraphNodeProto",
        "OpLogEntry",
        "OpLogProto",
        "ProfileNode",
        "ProfileProto",
        "TFProfTensorProto",
        "Tuple",
    ],
    "tensorflow.tfprof.pprof": ["Function", "Label", "Line", "Location", "Profile", "Sample", "ValueType"],
    "tensorflow.profiler": ["XEvent", "XEventMetadata", "XLine", "XPlane", "XSpace", "XStat", "XStatMetadata"],
    "xla": [
        "ConvolutionDimensionNumbers",
        "DotDimensionNumbers",
        "HloComputationProto",
        "HloInstructionProto",
        "HloModuleProto",
        "HloProto",
        "OpMetadata",
        "ShapeProto",
        "StackFrameIndexProto",
        "StackFrameIndexProto.FileLocation",
        "StackFrameIndexProto.StackFrame",
        "Window",
        "WindowDimension",
    ],
}

# Fields that files have and the installed release does not list: older or newer ones.
UNLISTED = {
    "tensorflow.profiler.XStat": {"gzip_str_value": 8},
    "tensorflow.tfprof.CodeDef.Trace": {"file": 1, "function": 3, "line": 4},
}

KINDS = {
    F.TYPE_INT32: "Int32",
    F.TYPE_INT64: "Int64",
    F.TYPE_UINT32: "Uint32",
    F.TYPE_UINT64: "Uint64",
    F.TYPE_SINT64: "Sint64",
    F.TYPE_FIXED64: "Fixed64",
    F.TYPE_BOOL: "Bool",
    F.TYPE_FLOAT: "Float",
    F.TYPE_DOUBLE: "Double",
    F.TYPE_STRING: "String",
    F.TYPE_BYTES: "Bytes",
}


GENERATED = f"// Generated by scripts/generate_schema.py from TensorFlow {tensorflow.__version__}; do not edit."
PACKAGES = r"^(tensorflow\.(tfprof\.)?|google\.protobuf\.)"


def main():
    for module in MODULES:
        importlib.import_module("tensorflow." + module)
    pool = descriptor_pool.Default()
    source = pathlib.Path(__file__).resolve().parent.parent / "crates/tfprof-proto/src"
    write_tables(pool, source / "schema/tables.rs")
    write_fields(pool, source / "fields.rs")


def write_tables(pool, target):
    messages = closure(pool.FindMessageTypeByName(root) for root in ROOTS)
    enums = {f.enum_type.full_name: f.enum_type for m in messages for f in m.fields if f.enum_type}

    out = [
        GENERATED,
        "",
        "use super::{Field, Kind, Message};",
        "",
        "/// All messages, sorted by full name.",
        "#[rustfmt::skip]",
        "pub(super) static MESSAGES: &[&Message] = &[",
        *(f"    &{static_name(m)}," for m in messages),
        "];",
    ]
    for m in messages:
        fields = sorted(m.fields, key=lambda f: f.name)
        out += ["", "#[rustfmt::skip]", f'pub static {static_name(m)}: Message = Message {{ name: "{m.full_name}", fields: &[']
        out += [
            f'    Field::new("{f.name}", {f.number}, {kind(f)}, {str(repeated(f)).lower()}),'
            for f in fields
        ]
        out += ["] };"]
    for _, e in sorted(enums.items()):
        out += ["", "#[rustfmt::skip]", f"static {static_name(e)}: &[(&str, i32)] = &["]
        out += [f'    ("{v.name}", {v.number}),' for v in sorted(e.values, key=lambda v: v.name)]
        out += ["];"]

    names = [static_name(x) for x in [*messages, *enums.values()]]
    assert len(names) == len(set(names)), "two messages or enums would share a name"
    target.write_text("\n".join(out) + "\n")
    print(f"{target}: {len(messages)} messages, {len(enums)} enums")


def write_fields(pool, target):
    modules = {"map_entry": {"about": "An entry of any map.", "fields": {"key": 1, "value": 2}}}
    for package, names in NAMED.items():
        for name in names:
            message = pool.FindMessageTypeByName(f"{package}.{name}")
            fields = {f.name: f.number for f in message.fields} | UNLISTED.get(message.full_name, {})
            path = [snake(re.sub("Proto$", "", part)).lower() for part in name.split(".")]
            inside = modules
            for outer in [*(["pprof"] if package.endswith(".pprof") else []), *path[:-1]]:
                inside = inside.setdefault(outer, {"about": "The messages of pprof.", "fields": {}}).setdefault("inner", {})
            assert path[-1] not in inside, f"two messages would share the module {path[-1]}"
            inside[path[-1]] = {"about": f"`{message.full_name}`", "fields": fields}
    out = [GENERATED, "", "//! Field numbers by name, one module for each message: `fields::node_exec_stats::OUTPUT`."]
    write_modules(out, modules, "")
    target.write_text("\n".join(out) + "\n")
    print(f"{target}: {sum(map(len, NAMED.values()))} messages")


def write_modules(out, modules, indent):
    for name, module in sorted(modules.items()):
        fields = sorted(module["fields"].items(), key=lambda field: field[1])
        out += ["", f"{indent}/// {module['about']}", f"{indent}pub mod {name} {{"]
        first = len(out)
        out += [f"{indent}    pub const {snake(field).upper()}: u32 = {number};" for field, number in fields]
        write_modules(out, module.get("inner", {}), indent + "    ")
        if not out[first]:
            del out[first]
        out += [f"{indent}}}"]


def closure(roots):
    seen, todo = {}, list(roots)
    while todo:
        message = todo.pop()
        if message.full_name not in seen:
            seen[message.full_name] = message
            todo += [f.message_type for f in message.fields if f.message_type]
    # By bytes, as Rust's binary search compares.
    return [seen[name] for name in sorted(seen)]


def kind(field):
    if field.type == F.TYPE_MESSAGE:
        return f"Kind::Message(&{static_name(field.message_type)})"
    if field.type == F.TYPE_ENUM:
        return f"Kind::Enum({static_name(field.enum_type)})"
    # A kind that is missing here must be taught to the text reader first.
    return f"Kind::{KINDS[field.type]}"


def repeated(field):
    # Newer releases of protobuf drop `label` in favour of `is_repeated`.
    return field.is_repeated if hasattr(field, "is_repeated") else field.label == F.LABEL_REPEATED


def static_name(descriptor):
    """tensorflow.AttrValue.ListValue → ATTR_VALUE_LIST_VALUE"""
    name = re.sub(PACKAGES, "", descriptor.full_name)
    return snake(name).replace(".", "_").upper()


def snake(name):
    """AttrValue → Attr_Value, XSpace → Xspace"""
    name = re.sub(r"^X([A-Z])", lambda m: "X" + m[1].lower(), name)
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)


if __name__ == "__main__":
    main()
