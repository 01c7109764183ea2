//! Facts about the trace of each host: lines, steps and kinds of events. `info` shows them.

use super::activity::{DeviceFacts, StepParts};
use super::allocators::AllocatorFacts;
use crate::json::{maybe_picos_as_micros, picos_as_micros};
use serde::Serialize;

/// The facts of one host. Times are in picoseconds since the first line began.
#[derive(Clone, Debug, Default)]
pub struct HostFacts {
    pub file: String,
    pub host: String,
    /// The framework that was recorded, with its version, if the file names it.
    pub framework: Option<String>,
    /// When recording began and ended, in nanoseconds since 1970.
    pub start_time: Option<u64>,
    pub stop_time: Option<u64>,
    /// Reported by the profiler while it recorded.
    pub errors: Vec<String>,
    pub profiler_warnings: Vec<String>,
    pub planes: Vec<PlaneFacts>,
    pub lines: Vec<LineFacts>,
    /// By kind, in the order of `EventKind::ALL`.
    pub kinds: [SpanSums; EventKind::ALL.len()],
    pub rule: StepRule,
    /// The name of the events that mark steps, and other names that could have.
    pub marker: String,
    pub other_markers: Vec<String>,
    pub steps: Vec<StepSpan>,
    /// By step, the ops in it; then those in no step.
    pub step_ops: Vec<SpanSums>,
    pub outside: SpanSums,
    pub assigned: StepSources,
    /// The number of compiled programs in the file.
    pub programs: usize,
    /// Some op has a line of source.
    pub has_source: bool,
    /// Its ops ran one by one, outside of functions.
    pub is_eager: bool,
    pub memory_peak: Option<AllocatorPeak>,
    pub allocators: Vec<AllocatorFacts>,
    /// How busy devices were, and by step, what its time was spent on. Empty unless asked for.
    pub devices: Vec<DeviceFacts>,
    pub step_parts: Vec<StepParts>,
    /// The earliest time of a line, in nanoseconds.
    pub base: i64,
    /// The kind of recording, unless it is an XSpace: `a Kineto trace of PyTorch`.
    pub recording: Option<String>,
    /// Its place among the processes of a run, and how many there were.
    pub rank: Option<i64>,
    pub world_size: Option<i64>,
    /// Of the work of devices, how much belongs to an op.
    pub launched: u64,
    /// Shapes of inputs were recorded.
    pub has_shapes: bool,
    /// Collectives between ranks, the longest first.
    pub collectives: Vec<CollectiveFacts>,
    /// Devices and settings of the recording, as the file states them.
    pub about: Vec<(String, String)>,
}

/// The collectives of one name and size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CollectiveFacts {
    pub name: String,
    pub dtype: String,
    pub in_elements: i64,
    pub out_elements: i64,
    pub group_size: i64,
    pub runs: i64,
    /// Picoseconds.
    pub time: i64,
}

impl CollectiveFacts {
    /// The bytes that a rank puts in or gets out of one run, whichever is more; `None` if its type is unknown.
    pub fn bytes(&self) -> Option<i64> {
        let size = match self.dtype.as_str() {
            "Double" | "Long" | "ComplexFloat" | "UInt64" => 8,
            "Float" | "Int" | "UInt32" => 4,
            "Half" | "BFloat16" | "Short" | "UInt16" => 2,
            "Byte" | "Char" | "Bool" | "Float8_e4m3fn" | "Float8_e5m2" | "Float8_e4m3fnuz" | "Float8_e5m2fnuz" => 1,
            _ => return None,
        };
        Some(self.in_elements.max(self.out_elements).saturating_mul(size))
    }

    /// Bytes by time, in GB/s: the algorithm's bandwidth, without what ranks forward for each other.
    pub fn bandwidth(&self) -> Option<f64> {
        let bytes = self.bytes()? as f64 * self.runs as f64;
        (self.time > 0).then(|| bytes * 1000.0 / self.time as f64)
    }
}

/// A group of lines: a device, or the threads of a process.
#[derive(Clone, Debug, Serialize)]
pub struct PlaneFacts {
    pub name: String,
    pub lines: usize,
    pub events: u64,
    #[serde(skip)]
    pub stats: Vec<(String, FactValue)>,
}

/// Whether a plane or device is an accelerator: `/device:GPU:0`, but not `/device:CPU:0`.
pub fn is_accelerator(name: &str) -> bool {
    name.starts_with("/device:") && !name.starts_with("/device:CPU")
}

#[derive(Clone, Debug, PartialEq)]
pub enum FactValue {
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(String),
    /// Bytes, or a reference to a string that does not exist.
    Other,
}

/// A thread or a stream.
#[derive(Clone, Debug, Default, Serialize)]
pub struct LineFacts {
    pub plane: String,
    pub id: i64,
    pub name: String,
    pub display_name: String,
    pub events: u64,
    /// Events that stand for several.
    pub aggregated: u64,
    #[serde(rename = "first_micros", serialize_with = "maybe_picos_as_micros")]
    pub first: Option<i64>,
    #[serde(rename = "last_micros", serialize_with = "maybe_picos_as_micros")]
    pub last: Option<i64>,
    /// The time during which some event ran.
    #[serde(rename = "busy_micros", serialize_with = "picos_as_micros")]
    pub busy: i64,
    /// The time of events that lie in no other; where they overlap, each counts.
    #[serde(rename = "top_level_micros", serialize_with = "picos_as_micros")]
    pub top_level: i64,
    #[serde(rename = "op_micros", serialize_with = "picos_as_micros")]
    pub op_self_time: i64,
    pub deepest: usize,
}

impl LineFacts {
    /// Counts an event that lies in `depth` others. Events come sorted by start.
    #[inline]
    pub fn add(&mut self, start: i64, end: i64, depth: usize) {
        self.events += 1;
        let last = self.last.unwrap_or(start);
        self.busy = self.busy.saturating_add(end.saturating_sub(start.max(last)).max(0));
        self.first = Some(self.first.map_or(start, |first| first.min(start)));
        self.last = Some(last.max(end));
        self.deepest = self.deepest.max(depth + 1);
        if depth == 0 {
            self.top_level = self.top_level.saturating_add(end.saturating_sub(start));
        }
    }
}

/// The peak memory in use of an allocator, stack and heap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AllocatorPeak {
    pub allocator: String,
    pub bytes: i64,
}

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    Dataset,
    /// On a line that a viewer derived from others.
    Derived,
    Hlo,
    Kernel,
    /// A call of the host that launches the ops of a device.
    Launch,
    /// An op of PyTorch, or an event of a plain trace.
    Op,
    Python,
    /// A range that the user or the framework named.
    Range,
    Runtime,
    Tf,
}

impl EventKind {
    pub const ALL: [EventKind; 10] = [
        EventKind::Dataset,
        EventKind::Derived,
        EventKind::Hlo,
        EventKind::Kernel,
        EventKind::Launch,
        EventKind::Op,
        EventKind::Python,
        EventKind::Range,
        EventKind::Runtime,
        EventKind::Tf,
    ];

    pub fn word(self) -> &'static str {
        match self {
            EventKind::Dataset => "dataset",
            EventKind::Derived => "derived",
            EventKind::Hlo => "hlo",
            EventKind::Kernel => "kernel",
            EventKind::Launch => "launch",
            EventKind::Op => "op",
            EventKind::Python => "python",
            EventKind::Range => "range",
            EventKind::Runtime => "runtime",
            EventKind::Tf => "tf",
        }
    }

    #[inline]
    pub fn is_op(self) -> bool {
        use EventKind::{Dataset, Hlo, Kernel, Launch, Op, Range, Tf};
        matches!(self, Dataset | Hlo | Kernel | Launch | Op | Range | Tf)
    }
}

/// Sums over events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpanSums {
    pub runs: i64,
    pub total: i64,
    pub self_time: i64,
    /// The first start and the last end; both 0 if nothing had a start.
    pub first: i64,
    pub last: i64,
}

impl SpanSums {
    #[inline]
    pub fn add(&mut self, more: &SpanSums) {
        // No event with a duration was added yet.
        if self.runs == 0 && self.total == 0 {
            (self.first, self.last) = (more.first, more.last);
        } else {
            (self.first, self.last) = (self.first.min(more.first), self.last.max(more.last));
        }
        self.runs = self.runs.saturating_add(more.runs);
        self.total = self.total.saturating_add(more.total);
        self.self_time = self.self_time.saturating_add(more.self_time);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepSpan {
    pub number: i64,
    pub start: i64,
    pub end: i64,
    /// How long it took. Devices that mark their own steps need not run at the same time: then the longest of the spans.
    pub length: i64,
    /// Where the longest span begins.
    pub longest: i64,
}

impl StepSpan {
    pub fn new(number: i64, start: i64, end: i64) -> StepSpan {
        StepSpan { number, start, end, length: end.saturating_sub(start), longest: start }
    }
}

/// The rule that found the steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StepRule {
    /// A pattern that the user gave.
    Marker,
    StepNum,
    ProfilerSteps,
    StepsLine,
    FunctionCalls,
    Root,
    ModuleRuns,
    WholeProfile,
    #[default]
    None,
}

impl StepRule {
    pub fn word(self) -> &'static str {
        match self {
            StepRule::Marker => "step_marker",
            StepRule::StepNum => "step_num",
            StepRule::ProfilerSteps => "ProfilerStep",
            StepRule::StepsLine => "Steps line",
            StepRule::FunctionCalls => "function calls",
            StepRule::Root => "root",
            StepRule::ModuleRuns => "module runs",
            StepRule::WholeProfile => "whole profile",
            StepRule::None => "none",
        }
    }

    pub fn about(self) -> &'static str {
        match self {
            StepRule::Marker => "events that match the step marker",
            StepRule::StepNum => "annotations with a step_num",
            StepRule::ProfilerSteps => "the ProfilerStep ranges of torch.profiler",
            StepRule::StepsLine => "the device's own line of steps",
            StepRule::FunctionCalls => "calls of a tf.function",
            StepRule::Root => "runs of a function, which the runtime marks as roots",
            StepRule::ModuleRuns => "runs of the XLA program that takes most time",
            StepRule::WholeProfile => "nothing marks steps: all of it is one",
            StepRule::None => "nothing has a start",
        }
    }
}

/// The number of ops by the way in which they were assigned to a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StepSources {
    pub line: u64,
    pub steps_line: u64,
    pub launch: u64,
    pub time: u64,
    pub outside: u64,
}

/// The number of events of a kind.
pub fn events(hosts: &[HostFacts], kind: EventKind) -> i64 {
    hosts.iter().fold(0, |sum: i64, host| sum.saturating_add(host.kinds[kind as usize].runs))
}
