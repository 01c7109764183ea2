//! Device work: assigns each kernel and copy to the op that launched it.
//!
//! The owner is the op with the same external id. If there is none, it is found through the launch call: the op
//! around that call. The kernels of a CUDA graph belong to the call that launched the graph. Work without an owner gets a row of
//! its own.

use super::facts::Summary;
use super::host::{Request, RequestKind, Target};
use super::ops::{KernelRow, OpIdent, Role};
use super::paths::ROOT;
use super::{DeviceSpan, LineKind, NONE, picos};
use crate::model::activity::Activity;
use crate::model::hosts::{EventKind, SpanSums};
use crate::model::names::NameId;

impl Summary {
    /// The links from launches and memory events to their ops.
    pub(super) fn requests(&mut self) -> Vec<Request> {
        for span in &self.trace.device {
            if span.id != 0 {
                self.by_id.entry(span.id).or_insert(None);
            }
            if span.correlation != 0 {
                self.launch_of.entry(span.correlation).or_insert(NONE);
            }
        }
        for (launch, at) in self.trace.launches.iter().zip(0..) {
            if let Some(found @ &mut NONE) = self.launch_of.get_mut(&launch.correlation) {
                *found = at;
            }
        }
        self.by_launch = vec![None; self.trace.launches.len()];
        let launches = self.trace.launches.iter().zip(0..).filter_map(|(launch, at)| {
            let is_needed = self.launch_of.get(&launch.correlation) == Some(&at);
            let line = self.trace.beside(launch.line, LineKind::Host).filter(|_| is_needed)?;
            Some(Request { line, start: launch.start, end: launch.end, what: RequestKind::Launch(at) })
        });
        let mut requests: Vec<Request> = launches.collect();
        for at in 0..self.trace.memory.len() {
            let event = self.trace.memory[at];
            // Without an op on its thread, it has no owner.
            match self.trace.beside(event.line, LineKind::Host) {
                Some(line) => {
                    let (start, end, what) = (event.time, event.time, RequestKind::Memory(at as u32));
                    requests.push(Request { line, start, end, what });
                }
                None => self.lone_memory.push(at as u32),
            }
        }
        requests
    }

    pub(super) fn device_lines(&mut self) {
        let spans = std::mem::take(&mut self.trace.device);
        for of_line in spans.chunk_by(|a, b| a.line == b.line) {
            let mut line = self.begin_line(of_line[0].line);
            let device = self.plane(&line.plane.clone());
            for span in of_line {
                let [start, end] = [span.start, span.end].map(|time| picos(time, self.base));
                line.add(start, end, 0);
                line.op_self_time = line.op_self_time.saturating_add(end.saturating_sub(start));
                self.device_span(span, device);
            }
            self.sums.lines.push(line);
        }
        self.trace.device = spans;
    }

    fn device_span(&mut self, span: &DeviceSpan, device: u32) {
        let launch = self.launch_of.get(&span.correlation).copied().unwrap_or(NONE);
        let launched = self.trace.launches.get(launch as usize).copied();
        let by_id = self.by_id.get(&span.id).copied().flatten().filter(|_| span.id != 0);
        let around = self.by_launch.get(launch as usize).copied().flatten();
        let graph = launched.filter(|launch| launch.is_graph);
        let target = match graph {
            Some(graph) => Some(self.graph_row(launch, graph.name, around)),
            None => by_id.or(around),
        };
        let [start, end] = [span.start, span.end].map(|time| picos(time, self.base));
        let total = end.saturating_sub(start);
        let sums = SpanSums { runs: 1, total, self_time: total, first: start, last: end };
        self.sums.kinds[EventKind::Kernel as usize].add(&sums);
        // Work belongs to the step that launched it, whenever it ran.
        let began = launched.map(|launch| launch.start).or(target.map(|target| target.start));
        let step = self.step_of(began.unwrap_or(span.start));
        let found = if began.is_some() { &mut self.sums.assigned.launch } else { &mut self.sums.assigned.time };
        *if step.is_some() { found } else { &mut self.sums.assigned.outside } += 1;
        let variant = match target {
            Some(Target { path, stack, shapes, .. }) => {
                let ident = OpIdent { path, shapes, stack, device, role: Role::Launched };
                let variant = self.table.variant(ident, span.name, span.attributes);
                let path = self.paths.child(path, span.name, &self.trace.names);
                let row = self.kernel_row(KernelRow { path, device, name: span.name, kind: span.kind });
                self.kernel_sums.add(row, step, &sums, self.keep);
                variant
            }
            None => {
                let path = self.paths.child(ROOT, span.name, &self.trace.names);
                let ident = OpIdent { path, shapes: NONE, stack: NONE, device, role: Role::Lone };
                self.table.variant(ident, span.name, span.attributes)
            }
        };
        self.attributed += u64::from(target.is_some());
        self.work_of_variant(variant, span);
        if self.wanted.busy {
            self.busy_device.push((variant, start, end));
        }
        self.add_op(variant, step, &sums);
        self.note_collective(span, total);
    }

    /// The row of a call that launches a graph, below the op or range around it.
    fn graph_row(&mut self, launch: u32, name: NameId, around: Option<Target>) -> Target {
        let outer = around.map_or(ROOT, |target| target.path);
        let path = self.paths.child(outer, name, &self.trace.names);
        let stack = around.map_or(NONE, |target| target.stack);
        let start = self.trace.launches[launch as usize].start;
        let target = Target { path, stack, shapes: NONE, start };
        if self.graph_launches.insert(launch) {
            let variant = self.table.host(path, NONE, stack);
            let step = self.step_of(start);
            let [first, last] = [start, start].map(|time| picos(time, self.base));
            self.add_op(variant, step, &SpanSums { runs: 1, total: 0, self_time: 0, first, last });
        }
        target
    }

    fn kernel_row(&mut self, row: KernelRow) -> u32 {
        let next = self.kernel_rows.len() as u32;
        let found = *self.kernel_row_of.entry(row).or_insert(next);
        if found == next {
            self.kernel_rows.push(row);
        }
        found
    }

    /// Records the activity of device work.
    fn work_of_variant(&mut self, variant: u32, span: &DeviceSpan) {
        if variant as usize >= self.activity_of.len() {
            self.activity_of.resize(variant as usize + 1, None);
        }
        self.activity_of[variant as usize].get_or_insert_with(|| activity(span, self.trace.names.get(span.name)));
    }
}

/// The activity of device work.
fn activity(span: &DeviceSpan, name: &str) -> Activity {
    use super::DeviceWork::{Copy, Fill, Kernel};
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    match span.kind {
        Kernel if span.collective != NONE => Activity::Collective,
        Kernel => Activity::on_device([name, "", ""]),
        Copy if has(&["HtoD", "HostToDevice", "Host -> Device", "Pageable -> Device", "Pinned -> Device"]) => {
            Activity::Input
        }
        Copy if has(&["DtoH", "DeviceToHost", "Device -> Host", "Device -> Pageable", "Device -> Pinned"]) => {
            Activity::Output
        }
        Copy | Fill => Activity::DeviceCopy,
    }
}
