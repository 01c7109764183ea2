//! The machinery of traces, independent of their format: spans to self time, steps, sums by op, hosts to one model.
//!
//! A decoder makes a [`walk::Span`] of each event and hands it to a [`walk::TraceWalk`], line by line, in the order
//! that [`spans::SpanOrder`] establishes. The walk nests the spans, sums them by op, Python call and runtime event,
//! and gives each its step. [`merge`] puts the [`HostProfile`]s of all hosts into one model. Times are picoseconds.

pub mod activity;
pub mod held;
mod merge;
pub mod spans;
pub mod steps;
pub mod walk;

pub use merge::{merge, reconcile};

use crate::error::{Error, Warning};
use crate::hardware::Precision;
use crate::hash::UntrustedMap;
use crate::model::activity::Activity;
use crate::model::executions::SpanLog;
use crate::model::hosts::HostFacts;
use crate::model::op_facts::Launch;
use regex::Regex;
use walk::{Tally, Wanted};

/// The trace file of one host, opened. The files of all hosts are read side by side.
pub trait HostFile: Sync {
    fn name(&self) -> &str;

    /// Its size in bytes.
    fn size(&self) -> u64;

    fn read(&self, settings: &TraceSettings) -> Result<HostProfile, Error>;
}

impl HostFile for Box<dyn HostFile> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn size(&self) -> u64 {
        (**self).size()
    }

    fn read(&self, settings: &TraceSettings) -> Result<HostProfile, Error> {
        (**self).read(settings)
    }
}

/// How traces are read.
#[derive(Clone, Debug)]
pub struct TraceSettings {
    pub wanted: Wanted,
    /// A pattern of event names that mark steps.
    pub step_marker: Option<Regex>,
}

/// The contents of one host's trace.
#[derive(Debug, Default)]
pub struct HostProfile {
    pub facts: HostFacts,
    /// The name of the host according to the name of its file.
    pub file_host: String,
    pub ops: Vec<Op>,
    pub variants: Vec<Variant>,
    /// By variant.
    pub op_sums: Tally,
    /// By variant and step, the memory that ops took and gave back.
    pub op_memory: Vec<(u32, Option<u32>, OpMemory)>,
    /// The work that ops launched, as rows of its own.
    pub kernels: KernelRows,
    /// Shapes of inputs, which ops refer to.
    pub shapes: Vec<InputShapes>,
    pub calls: Calls,
    pub runtime: RuntimeEvents,
    /// Single executions of ops, by variant, if they are wanted.
    pub executions: SpanLog,
    pub warnings: Vec<Warning>,
}

/// An op on a device: it becomes a node and a cell of the model.
#[derive(Clone, Debug)]
pub struct Op {
    pub key: OpKey,
    pub about: OpDetails,
}

/// Equal keys are the same op. Ops of several programs with one name become one node, but each has its own cost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OpKey {
    pub device: String,
    pub name: String,
    pub kind: String,
    /// The compiled program that it is part of, as users know it: `jit_f(36)`. Empty if it is part of none.
    pub program: String,
}

/// An op and one of its kernels, if it has any.
#[derive(Clone, Debug, Default)]
pub struct Variant {
    pub op: u32,
    /// Kernels of one name have one number.
    pub kernel: u32,
    pub name: String,
    pub launch: Launch,
}

/// The cost of one run; `None` is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpCost {
    pub flops: Option<i64>,
    pub bytes: Option<i64>,
    /// That of its inputs.
    pub precision: Option<Precision>,
}

/// Memory that an op took, kept, and the most that its allocators had in use meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpMemory {
    pub requested: i64,
    pub residual: i64,
    pub peak: i64,
}

/// Device work below the ops that launched it.
#[derive(Clone, Debug, Default)]
pub struct KernelRows {
    pub rows: Vec<OpKey>,
    /// By row.
    pub sums: Tally,
}

/// The inputs of an op, as its framework recorded them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct InputShapes {
    /// By input; empty if it is no tensor, or a scalar.
    pub dims: Vec<Vec<i64>>,
    /// By input, its type, such as `float`.
    pub types: Vec<String>,
    /// By input, its value if it is no tensor, such as `[1, 1]`.
    pub values: Vec<String>,
}

impl InputShapes {
    /// The sizes of all tensors: `8192x4096,4096x4096`.
    pub fn label(&self) -> String {
        let size = |size: &i64| if *size < 0 { "?".to_owned() } else { size.to_string() };
        let tensors = self.dims.iter().filter(|dims| !dims.is_empty());
        let tensors: Vec<String> = tensors.map(|dims| dims.iter().map(size).collect::<Vec<_>>().join("x")).collect();
        tensors.join(",")
    }
}

/// Facts about an op.
#[derive(Clone, Debug, Default)]
pub struct OpDetails {
    /// An index into the paths of calls: the stack of its call.
    pub path: Option<u32>,
    /// An index into the shapes of the host.
    pub shapes: Option<u32>,
    /// It stands for the device work of another op: the cost is that op's.
    pub no_work: bool,
    /// A second type, such as the opcode of an XLA instruction.
    pub second_type: String,
    /// Outermost first.
    pub stack: Vec<SourceLine>,
    pub cost: OpCost,
    /// The category of an XLA instruction.
    pub category: String,
    pub activity: Activity,
    /// A `::` in its name separates scopes.
    pub is_dataset: bool,
}

/// Python calls by their path: a call, and the path of the call around it.
#[derive(Clone, Debug, Default)]
pub struct Calls {
    pub names: Vec<String>,
    /// By name, its line of source; empty if the names tell.
    pub lines: Vec<SourceLine>,
    /// A path comes after the path around it.
    pub paths: Vec<CallPath>,
    /// By path.
    pub sums: Tally,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CallPath {
    pub outer: u32,
    pub call: u32,
}

/// Events of the runtime, each with its name and plane.
#[derive(Clone, Debug, Default)]
pub struct RuntimeEvents {
    pub names: Vec<RuntimeName>,
    pub sums: Tally,
}

#[derive(Clone, Debug)]
pub struct RuntimeName {
    /// An index into the planes of the host.
    pub plane: usize,
    pub name: String,
}

impl HostProfile {
    pub fn has_ops(&self) -> bool {
        !self.op_sums.items.is_empty()
    }
}

/// A line of source: a stack frame of an op, or a Python call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SourceLine {
    pub file: String,
    pub function: String,
    pub line: i64,
}

/// An id that connects events, such as a launch and its kernel. Equal keys are the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    /// By bits: the same id may be written as a signed and as an unsigned number.
    Number(u64),
    Text(u32),
    Double(u64),
}

/// Texts that are used as keys, each with a number.
#[derive(Debug, Default)]
pub struct KeyTexts(UntrustedMap<String, u32>);

impl KeyTexts {
    pub fn key(&mut self, text: &str) -> Key {
        let next = self.0.len() as u32;
        let known = self.0.get(text).copied();
        Key::Text(known.unwrap_or_else(|| *self.0.entry(text.to_owned()).or_insert(next)))
    }
}
