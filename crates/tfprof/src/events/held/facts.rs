//! Accumulates the sums of a held trace, and turns them into the profile of a host.

use super::calls::{CallCursor, CallPaths};
use super::host::Target;
use super::ops::{KernelRow, OpIdent, OpTable, Role};
use super::paths::Paths;
use super::{CallSpan, DeviceSpan, HeldTrace, NONE, picos};
use crate::events::activity::{self, Activities};
use crate::events::spans::{OpenSpan, OpenSpans, PendingSpan, SelfTime};
use crate::events::steps::Steps;
use crate::events::walk::{KeptSteps, Tally, TraceSums, Wanted};
use crate::events::{
    Calls, HostProfile, KernelRows, Op, OpCost, OpDetails, OpKey, OpMemory, RuntimeEvents, RuntimeName, SourceLine,
};
use crate::hash::{TrustedMap, TrustedSet, UntrustedMap};
use crate::model::activity::Activity;
use crate::model::allocators::MemorySample;
use crate::model::hosts::{CollectiveFacts, EventKind, HostFacts, LineFacts, PlaneFacts, SpanSums};
use crate::model::names::NameId;

/// The plane of all threads.
pub const HOST: &str = "/host:CPU";

#[derive(Debug)]
pub struct Summary {
    pub(super) trace: HeldTrace,
    facts: HostFacts,
    steps: Steps,
    pub(super) wanted: Wanted,
    pub(super) keep: Option<KeptSteps>,
    pub(super) base: i64,
    pub(super) sums: TraceSums,
    by_step: Vec<SpanSums>,
    pub(super) paths: Paths,
    pub(super) calls: CallPaths,
    pub(super) table: OpTable,
    planes: Vec<String>,
    plane_of: UntrustedMap<String, u32>,
    pub(super) step_name: NameId,
    /// By sequence number, the scope of the forward op.
    pub(super) forward: UntrustedMap<i64, u32>,
    /// Ops by external id; `None` until the op is seen.
    pub(super) by_id: UntrustedMap<u64, Option<Target>>,
    /// The launch call of each correlation id; the op around each call.
    pub(super) launch_of: UntrustedMap<u64, u32>,
    pub(super) by_launch: Vec<Option<Target>>,
    pub(super) graph_launches: TrustedSet<u32>,
    pub(super) attributed: u64,
    pub(super) kernel_rows: Vec<KernelRow>,
    pub(super) kernel_row_of: TrustedMap<KernelRow, u32>,
    pub(super) kernel_sums: Tally,
    pub(super) activity_of: Vec<Option<Activity>>,
    pub(super) busy_device: Vec<(u32, i64, i64)>,
    pub(super) busy_host: Vec<(i64, i64)>,
    pub(super) line_self_time: i64,
    pub(super) lone_memory: Vec<u32>,
    memory: TrustedMap<(u32, u32), OpMemory>,
    collectives: TrustedMap<(u32, NameId), CollectiveFacts>,
}

impl Summary {
    pub fn new(mut trace: HeldTrace, facts: HostFacts, steps: Steps, wanted: Wanted) -> Summary {
        let keep = KeptSteps::of(wanted.steps, &steps);
        let step_name = trace.names.intern("ProfilerStep*");
        Summary {
            base: trace.start.unwrap_or(0),
            by_step: vec![SpanSums::default(); steps.list.len()],
            trace,
            facts,
            steps,
            wanted,
            keep,
            sums: TraceSums::default(),
            paths: Paths::default(),
            calls: CallPaths::default(),
            table: OpTable::default(),
            planes: vec![HOST.to_owned()],
            plane_of: UntrustedMap::from_iter([(HOST.to_owned(), 0)]),
            step_name,
            forward: UntrustedMap::default(),
            by_id: UntrustedMap::default(),
            launch_of: UntrustedMap::default(),
            by_launch: Vec::new(),
            graph_launches: TrustedSet::default(),
            attributed: 0,
            kernel_rows: Vec::new(),
            kernel_row_of: TrustedMap::default(),
            kernel_sums: Tally::default(),
            activity_of: Vec::new(),
            busy_device: Vec::new(),
            busy_host: Vec::new(),
            line_self_time: 0,
            lone_memory: Vec::new(),
            memory: TrustedMap::default(),
            collectives: TrustedMap::default(),
        }
    }

    /// The step that a time of the file lies in.
    #[inline]
    pub(super) fn step_of(&mut self, time: i64) -> Option<u32> {
        self.steps.holding(picos(time, self.base))
    }

    pub(super) fn add_op(&mut self, variant: u32, step: Option<u32>, sums: &SpanSums) {
        let step = step.filter(|_| self.wanted.step_marks);
        self.sums.ops.add(variant, step, sums, self.keep);
        if self.wanted.spans {
            let SpanSums { total, self_time, first: start, .. } = *sums;
            let span = PendingSpan { item: variant, context: NONE, start, total, self_time };
            self.sums.executions.push(self.sums.lines.len() as u32, step, &span);
        }
        step.map_or(&mut self.sums.outside, |step| &mut self.by_step[step as usize]).add(sums);
    }

    /// The index of a plane.
    pub(super) fn plane(&mut self, name: &str) -> u32 {
        if let Some(known) = self.plane_of.get(name) {
            return *known;
        }
        let next = self.planes.len() as u32;
        self.planes.push(name.to_owned());
        self.plane_of.insert(name.to_owned(), next);
        next
    }

    pub(super) fn add_memory(&mut self, at: u32, target: Option<Target>) {
        let event = self.trace.memory[at as usize];
        let variant = match target {
            Some(Target { path, stack, shapes, .. }) => self.table.host(path, shapes, stack),
            None => {
                let name = self.trace.names.intern("[memory]");
                let path = self.paths.child(super::paths::ROOT, name, &self.trace.names);
                self.table.host(path, NONE, NONE)
            }
        };
        let step = self.step_of(event.time).unwrap_or(NONE);
        let memory = self.memory.entry((variant, step)).or_default();
        memory.requested = memory.requested.saturating_add(event.bytes.max(0));
        memory.residual = memory.residual.saturating_add(event.bytes);
        memory.peak = memory.peak.max(event.allocated.unwrap_or(0));
    }

    pub(super) fn note_collective(&mut self, span: &DeviceSpan, total: i64) {
        let Some(collective) = self.trace.collectives.get(span.collective as usize) else { return };
        let facts = self.collectives.entry((span.collective, collective.name)).or_default();
        facts.runs += 1;
        facts.time = facts.time.saturating_add(total);
    }

    pub(super) fn advance_calls(&mut self, cursor: &mut CallCursor<'_>, time: i64) {
        let Summary { calls, paths, trace, sums, steps, keep, wanted, base, .. } = self;
        let mut closed = |open: &OpenSpan<super::calls::OpenCall>| {
            close_call(open, *base, *wanted, *keep, steps, sums);
        };
        cursor.advance(time, calls, paths, &trace.names, &mut closed);
    }

    pub(super) fn finish_calls(&mut self, cursor: &mut CallCursor<'_>) {
        let Summary { calls, paths, trace, sums, steps, keep, wanted, base, .. } = self;
        let mut closed = |open: &OpenSpan<super::calls::OpenCall>| {
            close_call(open, *base, *wanted, *keep, steps, sums);
        };
        cursor.finish(calls, paths, &trace.names, &mut closed);
    }

    /// Notes the line of Python calls.
    pub(super) fn call_lines(&mut self, calls: &[CallSpan]) {
        let Some(first) = calls.first() else { return };
        let mut line = self.begin_line(first.line);
        let mut open: OpenSpans<()> = OpenSpans::default();
        for call in calls {
            open.close_before(call.start, call.end, |_| {});
            line.add(picos(call.start, self.base), picos(call.end, self.base), open.stack.len());
            open.stack.push(OpenSpan { start: call.start, end: call.end, frame: () });
        }
        self.sums.lines.push(line);
    }

    /// Calls of the runtime and other events: they nest among themselves on their line.
    fn other_lines(&mut self) {
        let launches = self.trace.launches.iter().map(|launch| CallSpan {
            start: launch.start,
            end: launch.end,
            name: launch.name,
            line: launch.line,
            is_module: false,
        });
        let mut spans: Vec<CallSpan> = launches.collect();
        spans.append(&mut self.trace.others);
        let mut item_of: TrustedMap<(u32, NameId), u32> = TrustedMap::default();
        for of_line in spans.chunk_by(|a, b| a.line == b.line) {
            let mut line = self.begin_line(of_line[0].line);
            let plane = self.plane(&line.plane.clone());
            let mut open: OpenSpans<(u32, SelfTime)> = OpenSpans::default();
            for span in of_line {
                open.close_before(span.start, span.end, |closed| self.close_other(&closed));
                if let Some(parent) = open.stack.last_mut() {
                    parent.frame.1.cover(span.start, span.end);
                }
                line.add(picos(span.start, self.base), picos(span.end, self.base), open.stack.len());
                let item = *item_of.entry((plane, span.name)).or_insert_with(|| {
                    let name = self.trace.names.get(span.name).to_owned();
                    self.sums.runtime.names.push(RuntimeName { plane: plane as usize, name });
                    self.sums.runtime.names.len() as u32 - 1
                });
                let frame = (item, SelfTime::new(span.start, span.end));
                open.stack.push(OpenSpan { start: span.start, end: span.end, frame });
            }
            open.close_all(|closed| self.close_other(&closed));
            self.sums.lines.push(line);
        }
    }

    fn close_other(&mut self, span: &OpenSpan<(u32, SelfTime)>) {
        let (item, self_time) = span.frame;
        let sums = sums_of(span.start, span.end, self_time.time, self.base);
        self.sums.kinds[EventKind::Runtime as usize].add(&sums);
        let step = self.step_of(span.start);
        self.sums.runtime.sums.add(item, step, &sums, self.keep);
    }

    /// Sums everything up.
    pub fn finish(mut self, base: i64) -> HostProfile {
        let requests = self.requests();
        self.host_lines(requests);
        for at in std::mem::take(&mut self.lone_memory) {
            self.add_memory(at, None);
        }
        self.device_lines();
        self.other_lines();
        self.allocators();
        if self.wanted.busy {
            self.busy();
        }
        self.into_profile(base)
    }

    /// Memory over time, by device.
    fn allocators(&mut self) {
        let mut events = std::mem::take(&mut self.trace.memory);
        events.sort_by_key(|event| event.time);
        let mut in_use: TrustedMap<NameId, i64> = TrustedMap::default();
        for event in &events {
            let sum = in_use.entry(event.device).or_default();
            *sum = sum.saturating_add(event.bytes);
            let heap_bytes = event.allocated.unwrap_or(*sum);
            let free_bytes =
                event.reserved.map(|reserved| reserved.saturating_sub(heap_bytes)).filter(|free| *free > 0);
            let name = self.trace.names.get(event.device);
            if self.sums.memory_peak.as_ref().is_none_or(|peak| heap_bytes > peak.bytes) {
                let allocator = name.to_owned();
                self.sums.memory_peak = Some(crate::model::hosts::AllocatorPeak { allocator, bytes: heap_bytes });
            }
            let time = picos(event.time, self.base);
            let sample = MemorySample { time, stack_bytes: 0, heap_bytes, free_bytes, fragmentation: None };
            self.sums.allocators.add(name, sample, heap_bytes);
        }
    }

    /// Device utilization, and the breakdown of step time.
    fn busy(&mut self) {
        let host = self.table.variants.len() as u32;
        let mut of_variant: Vec<(u32, Activity)> = Vec::new();
        for (variant, at) in self.table.variants.iter().zip(0_usize..) {
            let device = self.table.ops[variant.op as usize].device;
            of_variant.push((device, self.activity_of.get(at).copied().flatten().unwrap_or(Activity::Container)));
        }
        of_variant.push((0, Activity::Host));
        let activities = Activities { devices: self.planes.clone(), of_variant };
        let mut spans = activity::Spans::new(&activities);
        for (variant, start, end) in std::mem::take(&mut self.busy_device) {
            spans.add(variant, start, end);
        }
        for (start, end) in std::mem::take(&mut self.busy_host) {
            spans.add(host, picos(start, self.base), picos(end, self.base));
        }
        (self.sums.devices, self.sums.step_parts) = spans.finish(&self.sums.lines, &self.steps.list);
    }

    fn into_profile(mut self, base: i64) -> HostProfile {
        let calls = self.call_table();
        let ops = self.ops();
        let mut variants = std::mem::take(&mut self.table.variants);
        for (variant, (kernel, attributes)) in variants.iter_mut().zip(&self.table.kernels) {
            self.trace.names.get(*kernel).clone_into(&mut variant.name);
            variant.launch = self.trace.attributes.get(*attributes as usize).copied().unwrap_or_default();
        }
        let Summary {
            mut facts, steps, sums, by_step, trace, planes, plane_of, paths, kernel_rows, kernel_sums, ..
        } = self;
        let names = &trace.names;
        let rows = kernel_rows.iter().map(|row| OpKey {
            device: planes[row.device as usize].clone(),
            name: paths.text(row.path, names),
            kind: names.get(row.name).to_owned(),
            program: row.kind.word().to_owned(),
        });
        let kernels = KernelRows { rows: rows.collect(), sums: kernel_sums };
        facts.planes = plane_facts(&planes, &plane_of, &sums.lines);
        facts.lines = sums.lines;
        facts.kinds = sums.kinds;
        (facts.rule, facts.marker, facts.other_markers) = (steps.rule, steps.marker, steps.other_markers);
        (facts.steps, facts.step_ops, facts.outside) = (steps.list, by_step, sums.outside);
        facts.assigned = sums.assigned;
        facts.has_source = ops.iter().any(|op| op.about.path.is_some());
        facts.memory_peak = sums.memory_peak;
        facts.allocators = sums.allocators.list;
        (facts.devices, facts.step_parts) = (sums.devices, sums.step_parts);
        facts.base = base;
        let mut collectives: Vec<CollectiveFacts> = self
            .collectives
            .into_iter()
            .map(|((at, _), facts)| {
                let held = &trace.collectives[at as usize];
                CollectiveFacts {
                    name: names.get(held.name).to_owned(),
                    dtype: names.get(held.dtype).to_owned(),
                    in_elements: held.in_elements,
                    out_elements: held.out_elements,
                    group_size: held.group_size,
                    ..facts
                }
            })
            .collect();
        collectives.sort_by(|a, b| (b.time, &a.name, a.in_elements).cmp(&(a.time, &b.name, b.in_elements)));
        facts.collectives = collectives;
        facts.launched = self.attributed;
        let memory = self.memory.into_iter().map(|((variant, step), memory)| {
            let step = Some(step).filter(|step| *step != NONE);
            (variant, step, memory)
        });
        let mut memory: Vec<_> = memory.collect();
        memory.sort_unstable_by_key(|(variant, step, _)| (*variant, *step));
        HostProfile {
            file_host: facts.host.clone(),
            facts,
            ops,
            variants,
            op_sums: sums.ops,
            op_memory: memory,
            kernels,
            shapes: trace.shapes,
            executions: sums.executions,
            calls: Calls { sums: sums.calls.sums, ..calls },
            runtime: RuntimeEvents { names: sums.runtime.names, sums: sums.runtime.sums },
            warnings: Vec::new(),
        }
    }

    /// Names and paths of calls.
    fn call_table(&mut self) -> Calls {
        let mut number_of: TrustedMap<u32, u32> = TrustedMap::default();
        let (mut names, mut lines) = (Vec::new(), Vec::new());
        let mut paths = std::mem::take(&mut self.calls.paths);
        for path in &mut paths {
            path.call = *number_of.entry(path.call).or_insert_with(|| {
                let id = NameId(path.call);
                let text = self.trace.names.get(id);
                let own = || SourceLine { file: String::new(), function: text.to_owned(), line: -1 };
                lines.push(self.trace.sources.get(&id).cloned().unwrap_or_else(own));
                names.push(text.to_owned());
                names.len() as u32 - 1
            });
        }
        Calls { names, lines, paths, sums: Tally::default() }
    }

    fn ops(&self) -> Vec<Op> {
        let names = &self.trace.names;
        let op = |ident: &OpIdent| {
            let OpIdent { path, shapes, stack, device, role } = *ident;
            let device = &self.planes[device as usize];
            let device = if role == Role::Launched { format!("{device}/stream:all") } else { device.clone() };
            let (name, kind) = (self.paths.text(path, names), names.get(self.paths.name(path)).to_owned());
            let path = Some(stack).filter(|stack| *stack != NONE && self.wanted.stacks);
            let shapes = Some(shapes).filter(|shapes| *shapes != NONE);
            let no_work = role == Role::Launched;
            let category =
                self.trace.categories.get(&self.paths.name(ident.path)).map(|name| names.get(*name).to_owned());
            let category = category.unwrap_or_default();
            let cost = OpCost::default();
            let about = OpDetails { path, shapes, no_work, cost, category, ..OpDetails::default() };
            Op { key: OpKey { device, name, kind, program: String::new() }, about }
        };
        self.table.ops.iter().map(op).collect()
    }
}

/// The number of lines and events of each plane.
fn plane_facts(planes: &[String], plane_of: &UntrustedMap<String, u32>, lines: &[LineFacts]) -> Vec<PlaneFacts> {
    let plane = |name: &String| PlaneFacts { name: name.clone(), lines: 0, events: 0, stats: Vec::new() };
    let mut facts: Vec<PlaneFacts> = planes.iter().map(plane).collect();
    for line in lines {
        if let Some(at) = plane_of.get(&line.plane) {
            facts[*at as usize].lines += 1;
            facts[*at as usize].events += line.events;
        }
    }
    facts
}

fn sums_of(start: i64, end: i64, self_time: i64, base: i64) -> SpanSums {
    let [start, end] = [start, end].map(|time| picos(time, base));
    let self_time = self_time.saturating_mul(1000);
    SpanSums { runs: 1, total: end.saturating_sub(start), self_time, first: start, last: end }
}

/// Sums up a Python call.
fn close_call(
    open: &OpenSpan<super::calls::OpenCall>,
    base: i64,
    wanted: Wanted,
    keep: Option<KeptSteps>,
    steps: &mut Steps,
    sums: &mut TraceSums,
) {
    let of_call = sums_of(open.start, open.end, open.frame.self_time.time, base);
    sums.kinds[EventKind::Python as usize].add(&of_call);
    if wanted.python {
        let step = steps.holding(picos(open.start, base));
        sums.calls.sums.add(open.frame.path, step, &of_call, keep);
    }
}
