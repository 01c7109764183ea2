//! The schema of all tables, in one place. Additions keep the version; a column that changes or goes raises it.

use super::{TableInfo, executions, graph, machine, totals};
use crate::columnar::{Field, Kind};
use std::borrow::Cow;

/// The version of the schema, which every file carries.
pub const VERSION: u32 = 1;

const fn field(name: &'static str, kind: Kind, unit: &'static str, about: &'static str) -> Field {
    Field { name: Cow::Borrowed(name), kind, unit, nullable: false, about: Cow::Borrowed(about) }
}

const fn int(name: &'static str, about: &'static str) -> Field {
    field(name, Kind::Int, "", about)
}

const fn text(name: &'static str, about: &'static str) -> Field {
    field(name, Kind::Text, "", about)
}

const fn flag(name: &'static str, about: &'static str) -> Field {
    field(name, Kind::Bool, "", about)
}

const fn maybe_int(name: &'static str, about: &'static str) -> Field {
    maybe(name, Kind::Int, "", about)
}

const fn maybe_text(name: &'static str, about: &'static str) -> Field {
    maybe(name, Kind::Text, "", about)
}

/// A time in picoseconds.
const fn picos(name: &'static str, about: &'static str) -> Field {
    maybe(name, Kind::Int, "ps", about)
}

const fn bytes(name: &'static str, about: &'static str) -> Field {
    maybe(name, Kind::Int, "bytes", about)
}

const fn maybe(name: &'static str, kind: Kind, unit: &'static str, about: &'static str) -> Field {
    Field { name: Cow::Borrowed(name), kind, unit, nullable: true, about: Cow::Borrowed(about) }
}

const FILES: &[Field] = &[
    int("id", "the number of the file, from 0 on"),
    text("path", "its path, as it was named or found"),
    text("format", "its format, such as RunMetadata or XSpace"),
    bytes("bytes", "its size"),
    maybe_int("step", "the step of a RunMetadata"),
];

const HOSTS: &[Field] = &[
    int("id", "the number of the host, from 0 on"),
    text("host", "its name"),
    text("file", "the trace that it recorded"),
    maybe_text("framework", "the framework, with its version"),
    maybe(
        "origin_ns",
        Kind::Int,
        "ns",
        "the time 0 of its start_ps, by the clock of the trace; in an XSpace and in PyTorch's traces since 1970",
    ),
    maybe_int("rank", "its place among the processes of a run"),
    maybe_int("world_size", "how many processes there were"),
    text("step_rule", "the rule that found its steps"),
];

const DEVICES: &[Field] = &[
    int("id", "the number of the device, from 0 on"),
    text("device", "its name"),
    text("kind", "placement (where an op is scheduled), all streams, one stream, other (TPU, XLA), or nameless"),
    maybe_text("host", "the host of a trace that has it"),
];

const LINES: &[Field] = &[
    int("id", "the number of the line within its host, from 0 on"),
    text("host", "the host of the trace"),
    text("plane", "the device or process that it belongs to"),
    text("line", "the name of the thread or stream"),
    int("events", "how many events it has"),
    picos("first_ps", "when its first event began"),
    picos("last_ps", "when its last event ended"),
    picos("busy_ps", "the time during which some event ran"),
];

const NODES: &[Field] = &[
    int("id", "the number of the node, from 0 on; numbers may be left out"),
    text("name", "its name, scopes included"),
    text("op", "its op type"),
    maybe_text("scope", "the scope around it: its name up to the last slash"),
    maybe_text("types", "further types, such as _trainable_variables, as a list in JSON"),
    maybe_text("shape", "the shape of a variable or placeholder, as a list in JSON; an unknown size is null"),
    maybe_text("output_shapes", "the shapes of its outputs, as a list of lists in JSON; an unknown shape is null"),
    maybe_text("device", "the first device that it ran on, else the one that the graph asks for"),
    maybe_int("parameters", "how many trained numbers it holds; NULL if it is no variable or its shape is open"),
    flag("inner", "it is part of a function, listed under the node that calls it"),
    maybe_int("stack", "the call stack that made it: stacks.id"),
    maybe_text("category", "the categories of an XLA instruction or a kernel, as a list in JSON"),
    maybe_text("program", "the compiled programs that it is part of, as a list in JSON"),
];

const EDGES: &[Field] = &[
    int("node", "the node that reads: nodes.id"),
    int("input", "which of its inputs, from 0 on; control inputs come last"),
    maybe_int("source", "the node that is read: nodes.id; NULL if no file has it"),
    text("source_name", "its name"),
    int("output", "which of its outputs"),
];

const STEPS: &[Field] = &[
    int("step", "the number of the step"),
    maybe_text("host", "the host of a trace; NULL for a RunMetadata"),
    picos("start_ps", "when it began: since the origin of its host, or of the first execution of all steps"),
    picos("duration_ps", "how long it took"),
    maybe_int("runs", "how many executions of ops it has"),
    picos("self_ps", "the sum of their self time"),
    picos("compute_ps", "time in which a device computed"),
    picos("collectives_ps", "time in which devices only exchanged results"),
    picos("device_copies_ps", "time in which only copies on or between devices ran"),
    picos("input_ps", "time in which only data from the host came in"),
    picos("output_ps", "time in which only data to the host went out"),
    picos("input_pipeline_ps", "time in which only the input pipeline of the host ran"),
    picos("host_ops_ps", "time in which only other ops of the host ran"),
    picos("idle_ps", "time in which no op ran"),
];

const TOTALS: &[Field] = &[
    int("node", "the node: nodes.id"),
    text("name", "its name"),
    text("op", "its op type"),
    text("device", "the device that it ran on"),
    maybe_text("host", "the host of a trace"),
    maybe_int("step", "the step; NULL for what ran outside of steps"),
    maybe_int("runs", "how often it ran; NULL on streams, whose kernels are parts of runs"),
    maybe_int("kernels", "how many kernels ran; only on streams"),
    picos(
        "self_ps",
        "its time without that of the ops within it; NULL on a single stream, whose time is part of all streams",
    ),
    picos("inclusive_ps", "its time with that of the ops within it; NULL like self_ps"),
    picos("stream_ps", "the time on a single stream"),
    flag("accelerator", "self_ps is time of an accelerator; if not, of a CPU or of scheduling"),
    bytes("requested_bytes", "the memory that it asked for"),
    bytes("peak_bytes", "the most that it held at one time"),
    bytes("residual_bytes", "the memory that it kept"),
    bytes("output_bytes", "the memory of its outputs"),
    maybe_int("float_ops", "floating-point operations of all its runs"),
    bytes("io_bytes", "the bytes that all its runs read and wrote"),
    picos("first_ps", "when its first run began, like steps.start_ps"),
    picos("last_ps", "when its last run ended"),
];

const EXECUTIONS: &[Field] = &[
    maybe_text("host", "the host of a trace"),
    text("device", "the device that it ran on"),
    maybe_int("line", "the thread or stream of a trace: lines.id of its host"),
    maybe_int("step", "the step; NULL outside of steps"),
    int("node", "the node: nodes.id"),
    text("op", "its op type"),
    picos("start_ps", "when it began: since the origin of its host, or of the first execution of all steps"),
    picos("duration_ps", "how long it took"),
    picos(
        "self_ps",
        "its time without that of the ops within it; NULL on a single stream, whose time is part of all streams",
    ),
];

const KERNELS: &[Field] = &[
    int("node", "the op that launched it: nodes.id"),
    text("op", "its op type"),
    text("kernel", "the name of the kernel"),
    int("runs", "how often it ran"),
    picos("self_ps", "its time"),
    maybe_int("registers", "registers of a thread"),
    bytes("shared_bytes", "shared memory of a block"),
    maybe_text("grid", "blocks, as a list in JSON"),
    maybe_text("block", "threads of a block, as a list in JSON"),
    maybe("occupancy", Kind::Real, "percent", "of the warps that fit"),
];

const COSTS: &[Field] = &[
    int("node", "the node: nodes.id"),
    text("name", "its name"),
    text("op", "its op type"),
    maybe_int("runs", "how often it runs in one run of the program"),
    maybe_int("float_ops", "floating-point operations of one run; NULL if they are not known"),
    maybe_int("macs", "multiply-and-add pairs of one run"),
    bytes("io_bytes", "the bytes that one run reads and writes"),
    int("unknown", "how many nodes of unknown cost it stands for"),
    maybe_text("why", "why its cost is not known"),
];

const MEMORY: &[Field] = &[
    maybe_text("host", "the host of a trace"),
    text("place", "the device or the allocator"),
    text("what", "peak (the most in use), or sample (the most in use in a span of time)"),
    maybe_int("step", "the step of a peak"),
    picos("time_ps", "when it was, or when the span of time begins"),
    bytes("in_use_bytes", "the memory in use"),
    bytes("stack_bytes", "of it, reserved for the stacks of programs"),
    bytes("heap_bytes", "of it, allocated on the heap"),
    bytes("free_bytes", "the memory that was left"),
];

const STACKS: &[Field] = &[
    int("id", "the number of the call stack"),
    maybe_int("outer", "the call stack without its innermost frame: stacks.id; NULL for an outermost frame"),
    int("frame", "its innermost frame: frames.id"),
];

const FRAMES: &[Field] = &[
    int("id", "the number of the frame, from 0 on"),
    text("file", "the file of the source"),
    maybe_int("line", "the line in it"),
    text("function", "the function"),
    maybe_text("source", "the text of the line"),
];

const WARNINGS: &[Field] = &[
    text("code", "a stable word, such as truncated"),
    maybe_text("file", "the file that it is about"),
    flag("damage", "part of a file was lost"),
    text("message", "the warning"),
];

/// All tables, in the order in which they are listed.
pub const TABLES: &[TableInfo] = &[
    TableInfo { name: "files", about: "the files that were read", fields: FILES, fill: machine::files },
    TableInfo { name: "hosts", about: "the hosts whose traces were read", fields: HOSTS, fill: machine::hosts },
    TableInfo { name: "devices", about: "the devices of runs", fields: DEVICES, fill: machine::devices },
    TableInfo { name: "lines", about: "threads and streams of traces", fields: LINES, fill: machine::lines },
    TableInfo { name: "nodes", about: "the ops of a graph or a trace", fields: NODES, fill: graph::nodes },
    TableInfo { name: "edges", about: "which node reads which", fields: EDGES, fill: graph::edges },
    TableInfo { name: "steps", about: "the steps, by host", fields: STEPS, fill: totals::steps },
    TableInfo { name: "totals", about: "sums by node, device and step", fields: TOTALS, fill: totals::totals },
    TableInfo {
        name: "executions",
        about: "every execution of an op that was recorded with its start",
        fields: EXECUTIONS,
        fill: executions::executions,
    },
    TableInfo { name: "kernels", about: "kernels by the op that launched them", fields: KERNELS, fill: graph::kernels },
    TableInfo { name: "costs", about: "computed costs of nodes", fields: COSTS, fill: graph::costs },
    TableInfo { name: "memory", about: "memory of devices and allocators", fields: MEMORY, fill: machine::memory },
    TableInfo { name: "stacks", about: "call stacks, as a tree of frames", fields: STACKS, fill: graph::stacks },
    TableInfo { name: "frames", about: "lines of source in call stacks", fields: FRAMES, fill: graph::frames },
    TableInfo { name: "warnings", about: "what was odd about the files", fields: WARNINGS, fill: machine::warnings },
];
