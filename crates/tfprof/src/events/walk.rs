//! The walk over all spans of a trace: nests them, and sums them by op, Python call and runtime event, and by step.

use super::activity::{self, Activities};
use super::spans::{OpenSpan, OpenSpans, PendingSpan, PendingSpans, SelfTime, Timed};
use super::steps::{FoundBy, NONE, Note, StepCollector, Steps};
use super::{CallPath, Calls, RuntimeEvents, RuntimeName};
use crate::budget;
use crate::hash::UntrustedMap;
use crate::model::activity::{DeviceFacts, StepParts};
use crate::model::allocators::{Allocators, MemorySample};
use crate::model::executions::SpanLog;
use crate::model::hosts::{AllocatorPeak, EventKind, LineFacts, SpanSums, StepSources};
use crate::model::runs::KeepSteps;
use std::io;

/// The parts of a trace that a question needs besides ops.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    pub steps: KeepSteps,
    pub runtime: bool,
    pub python: bool,
    /// Whether any question is about steps; if not, everything is one sum.
    pub step_marks: bool,
    /// How busy lines were, by the kind of their events.
    pub busy: bool,
    /// Costs and categories of ops, if they have to be computed, and the attributes of kernels.
    pub costs: bool,
    pub kernels: bool,
    /// The stacks of ops, and the memory that they took.
    pub stacks: bool,
    pub memory: bool,
    /// Shapes of inputs.
    pub shapes: bool,
    /// Single executions of ops.
    pub spans: bool,
}

/// The class of an event: its kind and, if it is an op, the number of its variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    pub kind: EventKind,
    pub variant: u32,
}

impl Class {
    pub const fn no_op(kind: EventKind) -> Class {
        Class { kind, variant: NONE }
    }
}

/// An event with a start, as a decoder hands it to the walk.
#[derive(Debug)]
pub struct Span {
    pub start: i64,
    pub end: i64,
    /// From its start to that by the clock of the file, if it is timed by another.
    pub shift: i64,
    /// Its index in the line.
    pub seq: u32,
    pub class: Class,
    /// A number of [`TraceWalk::call`] or [`TraceWalk::runtime_event`], or [`NONE`].
    pub item: u32,
    pub note: Note,
}

impl Timed for Span {
    #[inline]
    fn start(&self) -> i64 {
        self.start
    }
    #[inline]
    fn end(&self) -> i64 {
        self.end
    }
    #[inline]
    fn seq(&self) -> u32 {
        self.seq
    }
}

/// A span on the stack of open ones.
#[derive(Debug)]
pub struct Frame {
    class: Class,
    item: u32,
    shift: i64,
    context: u32,
    around: u32,
    executor: u32,
    /// Of an op: minus the ops inside it. Of anything else: minus everything inside it.
    self_time: SelfTime,
    /// Of a call: minus the calls inside it.
    call_self_time: SelfTime,
    /// The nearest op and the nearest call, itself included, by their indices in the stack.
    op: u32,
    call: u32,
    path: u32,
}

/// The sums of a trace.
#[derive(Debug, Default)]
pub struct TraceSums {
    /// By variant of an op.
    pub ops: Tally,
    pub calls: Calls,
    pub runtime: RuntimeEvents,
    pub kinds: [SpanSums; EventKind::ALL.len()],
    pub lines: Vec<LineFacts>,
    /// By step, its ops.
    pub steps: Vec<SpanSums>,
    /// Ops in no step.
    pub outside: SpanSums,
    pub assigned: StepSources,
    pub memory_peak: Option<AllocatorPeak>,
    pub allocators: Allocators,
    pub devices: Vec<DeviceFacts>,
    pub step_parts: Vec<StepParts>,
    /// Single executions of ops, if they are wanted.
    pub executions: SpanLog,
}

/// A walk in progress.
#[derive(Debug)]
pub struct TraceWalk {
    sums: TraceSums,
    /// The current line.
    line: LineFacts,
    wanted: Wanted,
    path_of: UntrustedMap<CallPath, u32>,
    call_of: UntrustedMap<String, u32>,
    pub collector: StepCollector,
    /// Variant, start and end of ops that a device timed by a clock of its own, by that clock.
    on_device_clock: Vec<(u32, i64, i64)>,
    /// The number of ops at the end of each line.
    line_ends: Vec<u64>,
    /// Spans that wait for their steps.
    ops: PendingSpans,
    calls: PendingSpans,
    runtime: PendingSpans,
}

impl TraceWalk {
    pub fn new(wanted: Wanted) -> TraceWalk {
        TraceWalk {
            sums: TraceSums::default(),
            line: LineFacts::default(),
            wanted,
            path_of: UntrustedMap::default(),
            call_of: UntrustedMap::default(),
            collector: StepCollector::default(),
            on_device_clock: Vec::new(),
            line_ends: Vec::new(),
            ops: if wanted.spans { PendingSpans::spilling() } else { PendingSpans::default() },
            calls: PendingSpans::default(),
            runtime: PendingSpans::default(),
        }
    }

    /// Begins a line of a plane; `plane` is the index of the plane in the file.
    pub fn begin_line(&mut self, plane: usize, line: LineFacts) {
        budget::check();
        self.collector.begin_line(plane, &line.plane);
        self.line = line;
    }

    /// Ends a line, all of whose spans were visited and closed.
    pub fn end_line(&mut self, display_name: String) {
        self.collector.end_line();
        self.line.display_name = display_name;
        self.sums.lines.push(std::mem::take(&mut self.line));
        self.line_ends.push(self.ops.count());
    }

    /// Whether spans of this kind need an item number.
    #[inline]
    pub fn wants_item(&self, kind: EventKind) -> bool {
        match kind {
            EventKind::Runtime => self.wanted.runtime,
            EventKind::Python => self.wanted.python,
            _ => false,
        }
    }

    /// The number of a Python call's name.
    pub fn call(&mut self, name: &str) -> u32 {
        let next = self.call_of.len() as u32;
        let call = *self.call_of.entry(name.to_owned()).or_insert(next);
        if call == next {
            self.sums.calls.names.push(name.to_owned());
        }
        call
    }

    /// The number of a runtime event that is new.
    pub fn runtime_event(&mut self, plane: usize, name: String) -> u32 {
        self.sums.runtime.names.push(RuntimeName { plane, name });
        self.sums.runtime.names.len() as u32 - 1
    }

    /// Notes how much memory an allocator had given out.
    pub fn memory(&mut self, bytes: i64, allocator: impl FnOnce() -> String) {
        if self.sums.memory_peak.as_ref().is_none_or(|peak| bytes > peak.bytes) {
            self.sums.memory_peak = Some(AllocatorPeak { allocator: allocator(), bytes });
        }
    }

    /// Adds an event that stands for several: without a start, it is in no other event and in no step.
    pub fn add_aggregated(&mut self, class: Class, item: u32, sums: &SpanSums) {
        self.sums.kinds[class.kind as usize].add(sums);
        self.line.events += 1;
        self.line.aggregated += 1;
        if class.kind.is_op() {
            self.sums.ops.add(class.variant, None, sums, None);
            self.sums.outside.add(sums);
        } else if class.kind == EventKind::Runtime && item != NONE {
            self.sums.runtime.sums.add(item, None, sums, None);
        }
    }

    /// Visits the next span of a line, in the order of [`super::spans::SpanOrder`].
    #[inline]
    pub fn visit(&mut self, span: &Span, open: &mut OpenSpans<Frame>) {
        budget::check();
        let Span { start, end, shift, class, item, note, .. } = *span;
        open.close_before(start, end, |span| self.close(&span));
        let stack = &mut open.stack;
        let here = stack.len() as u32;
        self.line.add(start, end, stack.len());
        let is_op = class.kind.is_op();
        if !(is_op || self.wanted.busy || item != NONE || note.is_something()) {
            // No sum includes it, and for its children the nearest op is the same without it.
            return;
        }
        let mut frame = Frame {
            class,
            item,
            shift,
            context: 0,
            around: 0,
            executor: note.executor,
            self_time: SelfTime::new(start, end),
            call_self_time: SelfTime::new(start, end),
            op: NONE,
            call: NONE,
            path: NONE,
        };
        if let Some(parent) = stack.last_mut() {
            let parent = &mut parent.frame;
            if !parent.class.kind.is_op() {
                parent.self_time.cover(start, end);
            }
            (frame.op, frame.call, frame.around) = (parent.op, parent.call, parent.around);
            if note.executor == 0 {
                frame.executor = parent.executor;
            }
        }
        if self.wanted.step_marks {
            frame.around = self.collector.visit(start, end, note, frame.around);
        }
        if is_op {
            if let Some(op) = stack.get_mut(frame.op as usize) {
                op.frame.self_time.cover(start, end);
            }
            frame.op = here;
        } else if class.kind == EventKind::Python && item != NONE {
            let outer = stack.get_mut(frame.call as usize).map_or(NONE, |call| {
                call.frame.call_self_time.cover(start, end);
                call.frame.path
            });
            frame.call = here;
            frame.path = self.path(CallPath { outer, call: item });
        }
        if self.wanted.step_marks && (is_op || item != NONE) {
            // Only ops look for their launch.
            let executor = if is_op { frame.executor } else { 0 };
            frame.context = self.collector.context(frame.around, note.launch, executor);
        }
        stack.push(OpenSpan { start, end, frame });
    }

    fn path(&mut self, path: CallPath) -> u32 {
        *self.path_of.entry(path).or_insert_with(|| {
            self.sums.calls.paths.push(path);
            self.sums.calls.paths.len() as u32 - 1
        })
    }

    /// Sums up a span whose children were all visited.
    #[inline]
    pub fn close(&mut self, span: &OpenSpan<Frame>) {
        let OpenSpan { start, end, frame } = span;
        let (start, end) = (*start, *end);
        let kind = frame.class.kind;
        if frame.shift != 0 && self.wanted.busy && kind.is_op() {
            self.on_device_clock.push((frame.class.variant, start, end));
        }
        let (start, end) = (start.saturating_add(frame.shift), end.saturating_add(frame.shift));
        let (total, mut self_time) = (end.saturating_sub(start), frame.self_time.time);
        let mut sums = SpanSums { runs: 1, total, self_time, first: start, last: end };
        self.sums.kinds[kind as usize].add(&sums);
        let (pending, tally, item) = if kind.is_op() {
            self.line.op_self_time = self.line.op_self_time.saturating_add(self_time);
            (&mut self.ops, &mut self.sums.ops, frame.class.variant)
        } else if frame.path != NONE {
            self_time = frame.call_self_time.time;
            (&mut self.calls, &mut self.sums.calls.sums, frame.path)
        } else if frame.item != NONE {
            (&mut self.runtime, &mut self.sums.runtime.sums, frame.item)
        } else {
            return;
        };
        if self.wanted.step_marks {
            return pending.push(&PendingSpan { item, context: frame.context, start, total, self_time });
        }
        sums.self_time = self_time;
        tally.add(item, None, &sums, None);
        if kind.is_op() {
            self.sums.outside.add(&sums);
        }
    }

    /// Whether the memory of allocators is asked for.
    pub fn wants_allocators(&self) -> bool {
        self.wanted.busy
    }

    /// Notes the memory of an allocator at one time.
    pub fn allocator(&mut self, name: &str, sample: MemorySample, lifetime_peak: i64) {
        self.sums.allocators.add(name, sample, lifetime_peak);
    }

    /// Ends the walk: finds the steps and adds each span to its own. `activities` are those of the variants.
    pub fn finish(self, activities: &Activities) -> io::Result<(TraceSums, Steps)> {
        let TraceWalk { mut sums, wanted, collector, on_device_clock, line_ends, ops, calls, runtime, .. } = self;
        if !wanted.step_marks {
            return Ok((sums, Steps::default()));
        }
        let first = sums.lines.iter().filter_map(|line| line.first).min();
        let last = sums.lines.iter().filter_map(|line| line.last).max();
        let mut steps = collector.find_steps(first.zip(last), &ops)?;
        let keep = KeptSteps::of(wanted.steps, &steps);
        let mut by_step = vec![SpanSums::default(); steps.list.len()];
        let mut busy = wanted.busy.then(|| activity::Spans::new(activities));
        let (mut line, mut at) = (0_u32, 0_u64);
        ops.drain(|span| {
            if let Some(busy) = &mut busy {
                busy.add(span.item, span.start, span.start.saturating_add(span.total));
            }
            let (step, found_by) = steps.of(span.context, span.start);
            if wanted.spans {
                while line_ends.get(line as usize).is_some_and(|end| *end <= at) {
                    line += 1;
                }
                at += 1;
                sums.executions.push(line, step, span);
            }
            let of_span = span.sums();
            sums.ops.add(span.item, step, &of_span, keep);
            step.map_or(&mut sums.outside, |step| &mut by_step[step as usize]).add(&of_span);
            let assigned = &mut sums.assigned;
            *match found_by {
                FoundBy::Line => &mut assigned.line,
                FoundBy::StepsLine => &mut assigned.steps_line,
                FoundBy::Launch => &mut assigned.launch,
                FoundBy::Time => &mut assigned.time,
                FoundBy::Outside => &mut assigned.outside,
            } += 1;
        })?;
        sums.steps = by_step;
        if let Some(busy) = busy {
            (sums.devices, sums.step_parts) = busy.finish(&sums.lines, &steps.list);
            // Utilization is measured by the device's own clock.
            let mut by_device = activity::Spans::new(activities);
            on_device_clock.into_iter().for_each(|(variant, start, end)| by_device.add(variant, start, end));
            for facts in by_device.finish(&sums.lines, &[]).0 {
                sums.devices
                    .iter_mut()
                    .filter(|known| known.name == facts.name)
                    .for_each(|known| *known = facts.clone());
            }
        }
        for (pending, tally) in [(calls, &mut sums.calls.sums), (runtime, &mut sums.runtime.sums)] {
            pending.drain(|span| tally.add(span.item, steps.of(span.context, span.start).0, &span.sums(), keep))?;
        }
        Ok((sums, steps))
    }
}

/// The sums of all items (ops, calls or runtime events): in steps, outside of them, and by step if steps are kept.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub items: Vec<ItemSums>,
    /// By item and step, for the steps that are kept.
    pub cells: UntrustedMap<(u32, u32), SpanSums>,
}

/// The sums of one item.
#[derive(Clone, Debug, Default)]
pub struct ItemSums {
    pub in_steps: SpanSums,
    pub outside: SpanSums,
    /// The steps that it ran in.
    pub steps: StepSet,
}

impl ItemSums {
    /// In steps and outside.
    pub fn all(&self) -> SpanSums {
        let mut all = self.in_steps;
        if self.outside != SpanSums::default() {
            all.add(&self.outside);
        }
        all
    }
}

impl Tally {
    #[inline]
    pub(super) fn add(&mut self, item: u32, step: Option<u32>, sums: &SpanSums, keep: Option<KeptSteps>) {
        if item as usize >= self.items.len() {
            self.items.resize(item as usize + 1, ItemSums::default());
        }
        let sum = &mut self.items[item as usize];
        let Some(step) = step else {
            return sum.outside.add(sums);
        };
        sum.in_steps.add(sums);
        sum.steps.add(step);
        match keep {
            Some(KeptSteps::Each) => self.cells.entry((item, step)).or_default().add(sums),
            Some(KeptSteps::One(kept)) if kept == step => self.cells.entry((item, step)).or_default().add(sums),
            _ => {}
        }
    }
}

/// The steps that have sums of their own, by index.
#[derive(Clone, Copy, Debug)]
pub(super) enum KeptSteps {
    Each,
    One(u32),
}

impl KeptSteps {
    pub(super) fn of(keep: KeepSteps, steps: &Steps) -> Option<KeptSteps> {
        match keep {
            KeepSteps::TotalsOnly => None,
            KeepSteps::One(number) => {
                let at = steps.list.iter().position(|step| step.number == number);
                at.map(|step| KeptSteps::One(step as u32))
            }
            KeepSteps::Times | KeepSteps::Each => Some(KeptSteps::Each),
        }
    }
}

/// A set of step indices, 64 to a block. Steps come in nearly ascending order, so few blocks occur twice.
#[derive(Clone, Debug, Default)]
pub struct StepSet {
    blocks: Vec<(u32, u64)>,
}

impl StepSet {
    #[inline]
    pub fn add(&mut self, step: u32) {
        let (block, bit) = (step / 64, 1 << (step % 64));
        match self.blocks.last_mut() {
            Some((last, bits)) if *last == block => *bits |= bit,
            _ => self.blocks.push((block, bit)),
        }
    }

    /// All steps; some may occur more than once.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.blocks.iter().flat_map(|(block, bits)| {
            let mut left = *bits;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros())?;
                left &= left - 1;
                Some(block * 64 + bit)
            })
        })
    }

    /// The number of distinct steps.
    pub fn count(mut self) -> u32 {
        self.blocks.sort_unstable_by_key(|(block, _)| *block);
        let blocks = self.blocks.chunk_by(|a, b| a.0 == b.0);
        blocks.map(|same| same.iter().fold(0, |all, (_, bits)| all | bits).count_ones()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_counted_once() {
        let mut set = StepSet::default();
        for step in [0, 1, 63, 64, 1, 700, 64, 0] {
            set.add(step);
        }
        let all: Vec<u32> = set.iter().collect();
        assert_eq!(all, [0, 1, 63, 64, 1, 700, 64, 0]);
        assert_eq!(set.count(), 5);
    }
}
