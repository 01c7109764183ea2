//! Traces whose events come in any order and refer to each other by ids: all spans are held in memory, then sorted.
//!
//! A decoder fills a [`HeldTrace`]; [`HeldTrace::finish`] makes a [`HostProfile`] of it. Ops and ranges nest by time on
//! their thread (`host.rs`), Python calls among themselves (`calls.rs`): the two cross. The work of devices belongs to the
//! op that launched it (`device.rs`), found by ids. Times are nanoseconds here, picoseconds in the profile.

mod calls;
mod device;
mod facts;
mod host;
mod ops;
mod paths;

pub use facts::HOST;

use super::steps::{StepCollector, Steps};
use super::walk::Wanted;
use super::{HostProfile, InputShapes};
use crate::hash::UntrustedMap;
use crate::model::hosts::HostFacts;
use crate::model::names::{NameId, Names};
use crate::model::op_facts::Launch;
use regex::Regex;

/// No index, no id.
pub const NONE: u32 = u32::MAX;

/// All events of a trace that a question needs.
#[derive(Debug, Default)]
pub struct HeldTrace {
    pub names: Names,
    pub lines: Vec<HeldLine>,
    line_of: UntrustedMap<(LineKind, NameId, NameId), u32>,
    /// Ops and ranges of the host.
    pub host: Vec<HostSpan>,
    pub calls: Vec<CallSpan>,
    /// Calls of a device's runtime.
    pub launches: Vec<LaunchSpan>,
    pub device: Vec<DeviceSpan>,
    /// Events that are not work: marks, waits, the profiler's overhead.
    pub others: Vec<CallSpan>,
    pub memory: Vec<MemoryEvent>,
    /// Shapes of inputs, each once; kernels' launch attributes, each once.
    pub shapes: Vec<InputShapes>,
    pub attributes: Vec<Launch>,
    /// Collectives, each size once.
    pub collectives: Vec<Collective>,
    /// By index of [`HostSpan::sequence`].
    pub sequences: Vec<Sequence>,
    /// Stacks recorded with ops, outermost first; indexed by [`HostSpan::stack`].
    pub stacks: Vec<Vec<NameId>>,
    /// The names of calls, as source lines; names without a line here are the functions themselves.
    pub sources: UntrustedMap<NameId, super::SourceLine>,
    /// Categories of events that are not PyTorch's, by name.
    pub categories: UntrustedMap<NameId, NameId>,
    pub start: Option<i64>,
}

/// The kind of a line. It comes from the category of events, never from their process: a thread of Python and a stream
/// may have the same numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LineKind {
    Host,
    Calls,
    Runtime,
    Device,
    Other,
}

#[derive(Clone, Debug)]
pub struct HeldLine {
    pub kind: LineKind,
    pub process: NameId,
    pub thread: NameId,
    /// Its name in the file.
    pub title: String,
    /// The plane that it belongs to.
    pub plane: String,
    /// The scope of its events, if lines are scopes.
    pub scope: Option<NameId>,
}

/// An op or a range on a thread.
#[derive(Clone, Copy, Debug)]
pub struct HostSpan {
    pub start: i64,
    pub end: i64,
    pub id: u64,
    pub name: NameId,
    pub line: u32,
    pub shapes: u32,
    /// An index into the sequences or the stacks, depending on the kind.
    pub sequence: u32,
    pub stack: u32,
    pub kind: HostKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostKind {
    Op,
    /// A user range.
    Range,
    /// A step mark, which is not a scope of the ops inside.
    Step,
}

/// The link from a backward op to its forward op.
#[derive(Clone, Copy, Debug)]
pub struct Sequence {
    pub number: i64,
    pub is_backward: bool,
}

/// A Python call, or any other event that only has a name.
#[derive(Clone, Copy, Debug)]
pub struct CallSpan {
    pub start: i64,
    pub end: i64,
    pub name: NameId,
    pub line: u32,
    /// Whether it is an `nn.Module`, which is a scope.
    pub is_module: bool,
}

#[derive(Clone, Copy, Debug)]
pub struct LaunchSpan {
    pub start: i64,
    pub end: i64,
    pub correlation: u64,
    pub name: NameId,
    pub line: u32,
    /// It runs a graph of many kernels.
    pub is_graph: bool,
}

/// A kernel or a copy on a stream.
#[derive(Clone, Copy, Debug)]
pub struct DeviceSpan {
    pub start: i64,
    pub end: i64,
    pub id: u64,
    pub correlation: u64,
    pub name: NameId,
    pub line: u32,
    /// An index into the attributes, or [`NONE`].
    pub attributes: u32,
    pub collective: u32,
    pub kind: DeviceWork,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DeviceWork {
    Kernel,
    Copy,
    Fill,
}

impl DeviceWork {
    pub fn word(self) -> &'static str {
        match self {
            DeviceWork::Kernel => "kernel",
            DeviceWork::Copy => "copy",
            DeviceWork::Fill => "memset",
        }
    }
}

/// Bytes allocated, or freed if negative.
#[derive(Clone, Copy, Debug)]
pub struct MemoryEvent {
    pub time: i64,
    pub bytes: i64,
    /// Bytes in use and reserved afterwards, as the allocator reports.
    pub allocated: Option<i64>,
    pub reserved: Option<i64>,
    pub line: u32,
    pub device: NameId,
}

/// The data that a collective moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Collective {
    pub name: NameId,
    pub dtype: NameId,
    pub in_elements: i64,
    pub out_elements: i64,
    pub group_size: i64,
}

impl HeldTrace {
    /// The number of a line, which may be new.
    pub fn line(&mut self, kind: LineKind, process: NameId, thread: NameId) -> u32 {
        let next = self.lines.len() as u32;
        let line = *self.line_of.entry((kind, process, thread)).or_insert(next);
        if line == next {
            let (title, plane) = (String::new(), String::new());
            self.lines.push(HeldLine { kind, process, thread, title, plane, scope: None });
        }
        line
    }

    /// The line of another kind with the same process and thread.
    fn beside(&self, line: u32, kind: LineKind) -> Option<u32> {
        let HeldLine { process, thread, .. } = self.lines[line as usize];
        self.line_of.get(&(kind, process, thread)).copied()
    }

    fn sort(&mut self) {
        // Stable: of equal intervals, the one with the smaller id contains the other, as ids count ops from their start;
        // without ids, the earlier in the file does.
        self.host.sort_by_key(|span| (span.line, span.start, std::cmp::Reverse(span.end), span.id));
        self.calls.sort_by_key(|span| (span.line, span.start, std::cmp::Reverse(span.end)));
        self.others.sort_by_key(|span| (span.line, span.start, std::cmp::Reverse(span.end)));
        self.launches.sort_by_key(|span| (span.line, span.start));
        self.device.sort_by_key(|span| (span.line, span.start, std::cmp::Reverse(span.end)));
    }

    /// Sorts, nests, attributes and sums everything. `facts` is the file's own description.
    pub fn finish(mut self, facts: HostFacts, marks: StepMarks<'_>, wanted: Wanted) -> HostProfile {
        self.sort();
        let base = self.start.unwrap_or(0);
        let steps = self.find_steps(base, marks);
        facts::Summary::new(self, facts, steps, wanted).finish(base)
    }

    /// The steps: spans that mark them, else those that match the user's pattern, else the whole trace.
    fn find_steps(&self, base: i64, marks: StepMarks<'_>) -> Steps {
        let mut collector = StepCollector::default();
        let time = |time: i64| picos(time, base);
        let all = self.host.iter().map(|span| (span.name, span.start, span.end));
        let calls = self.calls.iter().chain(&self.others).map(|span| (span.name, span.start, span.end));
        if let Some(marker) = marks.pattern {
            let mut matches: UntrustedMap<NameId, bool> = UntrustedMap::default();
            for (name, start, end) in all.chain(calls) {
                let text = self.names.get(name);
                if *matches.entry(name).or_insert_with(|| marker.is_match(text)) {
                    collector.add_custom_mark(text, (marks.number)(text), time(start), time(end));
                }
            }
        }
        for span in self.host.iter().filter(|span| span.kind == HostKind::Step) {
            let text = self.names.get(span.name);
            if let Some(number) = (marks.number)(text) {
                collector.add_step_mark(marks.name, number, time(span.start), time(span.end));
            }
        }
        let first = self.start.map(|_| 0);
        let last = self.last().map(time);
        collector.find_held_steps(first.zip(last), marks.rule)
    }

    /// The end of the last event.
    fn last(&self) -> Option<i64> {
        let host = self.host.iter().map(|span| span.end).max();
        let calls = self.calls.iter().chain(&self.others).map(|span| span.end).max();
        let device = self.device.iter().map(|span| span.end).max();
        let launches = self.launches.iter().map(|span| span.end).max();
        host.max(calls).max(device).max(launches)
    }
}

/// The kind of step marks.
#[derive(Clone, Copy, Debug)]
pub struct StepMarks<'m> {
    /// The user's pattern.
    pub pattern: Option<&'m Regex>,
    /// The name that all marks share, and the number that one has.
    pub name: &'m str,
    pub number: fn(&str) -> Option<i64>,
    pub rule: crate::model::hosts::StepRule,
}

/// Nanoseconds of the file to picoseconds since its first event.
#[inline]
fn picos(time: i64, base: i64) -> i64 {
    time.saturating_sub(base).saturating_mul(1000)
}
