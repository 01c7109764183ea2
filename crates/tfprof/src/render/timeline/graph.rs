//! The timeline of a step: its ops by device, with arrows where data moves between devices.

use super::Peak;
use super::memory;
use crate::budget;
use crate::hash::{TrustedMap, TrustedSet};
use crate::model::devices::{DeviceId, DeviceKind};
use crate::model::names::NameId;
use crate::model::nodes::NodeId;
use crate::model::records::{Records, Timing};
use crate::render::chrome::{ArgKey, Event, EventWriter, Lanes, Layout, Micros, Point};
use crate::view::View;
use crate::view::values::Values;
use std::io::{self, Write};

pub fn write(view: &View, step: i64, out: &mut dyn Write) -> io::Result<Vec<Peak>> {
    let nothing = Records::default();
    let records = view.model.runs.records(step).unwrap_or(&nothing);
    let nodes: Vec<NodeId> = view.rows().iter().filter_map(|row| view.node(row)).collect();
    let nodes: Vec<NodeId> = nodes.into_iter().filter(|node| view.values().is_on_timeline(*node)).collect();
    let mut timeline = Timeline { view, records, processes: Vec::new(), process_of: TrustedMap::default() };
    timeline.run(&nodes);
    let arrows = timeline.arrows();
    let memory = memory::of_devices(view, records, &nodes);

    // Names and ops come first, then arrows and counters.
    let mut events = EventWriter::begin(&Layout::SORTED, out);
    let name_key = ArgKey::of_text(b"name", &Layout::SORTED);
    for (process, Process { name, .. }) in (0..).zip(&timeline.processes) {
        let kind = if name.contains("stream") { "execution" } else { "scheduling" };
        events.process_name(process, &format!("Op {kind} threads: {name}"))?;
    }
    for (process, Process { executions, .. }) in (0..).zip(&timeline.processes) {
        let mut by_lane: Vec<&Execution> = executions.iter().collect();
        by_lane.sort_by_key(|execution| execution.lane);
        for execution in by_lane {
            let at = Point { process, lane: execution.lane, time: execution.start.into() };
            let (name, duration) = (view.model.name(execution.node).as_bytes(), Some(execution.length.into()));
            let event = Event { phase: "X", category: "Op", name, at, duration, id: None };
            events.event_with(&event, |args| args.text(&name_key, name))?;
        }
    }
    let memory_processes = (timeline.processes.len() as u32..).step_by(2);
    for (process, device) in memory_processes.clone().zip(&memory) {
        events.process_name(process, &format!("mem usage on:{}", device.name))?;
        events.process_name(process + 1, &format!("mem usage on:{} allocations", device.name))?;
    }
    let mut label = String::new();
    for (id, Arrow { from, to }) in (1_u64..).zip(&arrows) {
        let source = timeline.execution(*from);
        let start = timeline.at(*from, source.start.wrapping_add(source.length));
        let end = timeline.at(*to, timeline.execution(*to).start);
        label.clear();
        label.extend([view.model.name(source.node), "_flow"]);
        for (phase, at) in [("s", start), ("t", end)] {
            let (name, id) = (label.as_bytes(), Some(id));
            events.event(&Event { phase, category: "DataFlow", name, at, duration: None, id })?;
        }
    }
    let mut peaks = Vec::new();
    for (process, device) in memory_processes.zip(memory) {
        peaks.extend(device.write(&view.model, process, &mut events)?);
    }
    events.end()?;
    Ok(peaks)
}

/// Writes the ops of one side of a comparison from time 0 and from a process on, and returns the first process that is
/// free.
pub fn push_ops(view: &View, step: i64, side: &str, first: u32, events: &mut EventWriter<'_>) -> io::Result<u32> {
    let nothing = Records::default();
    let records = view.model.runs.records(step).unwrap_or(&nothing);
    let nodes: Vec<NodeId> = view.rows().iter().filter_map(|row| view.node(row)).collect();
    let mut timeline = Timeline { view, records, processes: Vec::new(), process_of: TrustedMap::default() };
    timeline.run(&nodes);
    let starts = timeline.processes.iter().flat_map(|process| &process.executions).map(|execution| execution.start);
    let begin = starts.min().unwrap_or(0);
    let name_key = ArgKey::of_text(b"name", &Layout::SORTED);
    for (process, Process { name, executions, .. }) in (first..).zip(&timeline.processes) {
        events.process_name(process, &format!("{side}: {name}"))?;
        for execution in executions {
            let time = i128::from(execution.start) - i128::from(begin);
            let at = Point { process, lane: execution.lane, time };
            let (name, duration) = (view.model.name(execution.node).as_bytes(), Some(execution.length.into()));
            let event = Event { phase: "X", category: "Op", name, at, duration, id: None };
            events.event_with(&event, |args| args.text(&name_key, name))?;
        }
    }
    Ok(first + timeline.processes.len() as u32)
}

/// Whether an execution is drawn: devices of single streams and copy engines repeat what the device of all streams has.
pub fn shows(values: &Values<'_>, timing: &Timing) -> bool {
    match values.model.devices.kind(timing.device) {
        DeviceKind::Placement => values.counts_on(timing.node, timing.device),
        DeviceKind::AllStreams => true,
        DeviceKind::OneStream => false,
        DeviceKind::Other | DeviceKind::Nameless | DeviceKind::NamelessLate => {
            !values.lens.quirks.other_devices_are_free
        }
    }
}

struct Timeline<'v> {
    view: &'v View,
    records: &'v Records,
    /// In the order of first use.
    processes: Vec<Process<'v>>,
    process_of: TrustedMap<NameId, usize>,
}

/// The executions on a device, by start.
struct Process<'m> {
    name: &'m str,
    schedules: bool,
    executions: Vec<Execution>,
}

struct Execution {
    node: NodeId,
    start: i64,
    length: i64,
    lane: u32,
}

/// The maximum number of arrows: a node with many inputs and executions could need more than memory holds.
const MOST_ARROWS: usize = 4_000_000;

/// An execution, by its process and its index there.
#[derive(Clone, Copy, Debug)]
struct ExecutionId {
    process: u32,
    index: u32,
}

struct Arrow {
    from: ExecutionId,
    to: ExecutionId,
}

impl Timeline<'_> {
    fn run(&mut self, nodes: &[NodeId]) {
        let model = &*self.view.model;
        let values = self.view.values();
        let name = |device: DeviceId| model.names.get(model.devices.name(device));
        for node in nodes {
            let mut timings: Vec<&Timing> = self.records.timings(*node).iter().filter(|t| shows(&values, t)).collect();
            timings.sort_by(|a, b| name(a.device).cmp(name(b.device)));
            for Timing { device, start, length, .. } in timings {
                let process = *self.process_of.entry(model.devices.name(*device)).or_insert_with(|| {
                    let schedules = schedules(model.devices.kind(*device));
                    self.processes.push(Process { name: name(*device), schedules, executions: Vec::new() });
                    self.processes.len() - 1
                });
                let execution = Execution { node: *node, start: *start, length: *length, lane: 0 };
                self.processes[process].executions.push(execution);
            }
        }
        for Process { executions, .. } in &mut self.processes {
            executions.sort_by_key(|execution| execution.start);
            if self.view.options.quirks.same_start_is_lost {
                executions.dedup_by_key(|execution| execution.start);
            }
            let mut lanes = Lanes::new(Micros::MIN);
            for execution in executions {
                let end = execution.start.saturating_add(execution.length);
                execution.lane = lanes.place(execution.start.into(), end.into());
            }
        }
    }

    /// Arrows from executions of inputs to their readers on other devices, in the order of events.
    fn arrows(&self) -> Vec<Arrow> {
        let mut arrows = Vec::new();
        let finder = Finder::new(self);
        let mut targets: Vec<usize> = (0..self.processes.len()).filter(|i| self.processes[*i].schedules).collect();
        targets.sort_by_key(|process| self.processes[*process].name);
        for process in targets {
            let mut sources_of: TrustedMap<NodeId, Vec<NodeId>> = TrustedMap::default();
            for (i, reader) in self.processes[process].executions.iter().enumerate() {
                let to = ExecutionId { process: process as u32, index: i as u32 };
                let find = || finder.sources_elsewhere(reader.node, process);
                for source in sources_of.entry(reader.node).or_insert_with(find) {
                    if self.view.options.quirks.arrows_from_every_run {
                        finder.each_run(*source, process, |from| arrows.push(Arrow { from, to }));
                    } else {
                        arrows.extend(finder.last_run(*source, process, reader.start).map(|from| Arrow { from, to }));
                    }
                    if arrows.len() >= MOST_ARROWS {
                        let message = format!("only {MOST_ARROWS} of the arrows between devices are drawn");
                        self.view.warn_late("many_arrows", message);
                        return self.in_order(arrows);
                    }
                }
            }
        }
        self.in_order(arrows)
    }

    fn in_order(&self, mut arrows: Vec<Arrow>) -> Vec<Arrow> {
        // As they were found, the arrows of one execution are in the order of readers. An unstable sort needs no buffer.
        let key = |Arrow { from, to }: &Arrow| {
            let source = (from.process, self.execution(*from).lane, from.index);
            (source, self.processes[to.process as usize].name, to.index)
        };
        arrows.sort_unstable_by(|a, b| key(a).cmp(&key(b)));
        arrows
    }

    /// The inputs of a node that are on the timeline, visible or not.
    fn sources(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let sources = self.view.model.nodes.inputs(node).iter().filter_map(|input| self.view.model.node(input.source));
        sources.filter(|source| self.view.accounts(*source) && self.view.values().is_on_timeline(*source))
    }

    fn execution(&self, id: ExecutionId) -> &Execution {
        &self.processes[id.process as usize].executions[id.index as usize]
    }

    fn at(&self, id: ExecutionId, micros: i64) -> Point {
        Point { process: id.process, lane: self.execution(id).lane, time: micros.into() }
    }
}

/// Whether ops are scheduled on devices of this kind, rather than executed for another device.
fn schedules(kind: DeviceKind) -> bool {
    matches!(kind, DeviceKind::Placement | DeviceKind::Other)
}

/// Finds executions by node.
struct Finder<'t, 'v> {
    timeline: &'t Timeline<'v>,
    /// By node: its executions on scheduling devices, by start. Empty under the quirk that draws all arrows.
    runs_of: TrustedMap<NodeId, Vec<ExecutionId>>,
    /// By node: the process of all its executions, if it is one.
    only_in: TrustedMap<NodeId, u32>,
}

impl<'t, 'v> Finder<'t, 'v> {
    fn new(timeline: &'t Timeline<'v>) -> Self {
        let mut runs_of: TrustedMap<NodeId, Vec<ExecutionId>> = TrustedMap::default();
        if !timeline.view.options.quirks.arrows_from_every_run {
            for (process, Process { executions, schedules, .. }) in timeline.processes.iter().enumerate() {
                for (i, execution) in executions.iter().enumerate().filter(|_| *schedules) {
                    runs_of
                        .entry(execution.node)
                        .or_default()
                        .push(ExecutionId { process: process as u32, index: i as u32 });
                }
            }
            #[allow(clippy::iter_over_hash_type)] // Each list is sorted by itself.
            for runs in runs_of.values_mut() {
                runs.sort_by_key(|run| timeline.execution(*run).start);
            }
        }
        let only = |runs: &[ExecutionId]| {
            let process = runs.first()?.process;
            runs.iter().all(|run| run.process == process).then_some(process)
        };
        let only_in = runs_of.iter().filter_map(|(node, runs)| Some((*node, only(runs)?))).collect();
        Finder { timeline, runs_of, only_in }
    }

    /// The inputs of a node that ran on another device.
    fn sources_elsewhere(&self, node: NodeId, process: usize) -> Vec<NodeId> {
        budget::work(self.timeline.view.model.nodes.inputs(node).len() as u64);
        let sources = self.timeline.sources(node);
        if self.timeline.view.options.quirks.arrows_from_every_run {
            return sources.collect();
        }
        let mut met = TrustedSet::default();
        let runs_elsewhere = |source: &NodeId| match self.only_in.get(source) {
            Some(only) => *only as usize != process,
            None => self.runs_of.contains_key(source),
        };
        sources.filter(|source| met.insert(*source) && runs_elsewhere(source)).collect()
    }

    /// As the original: all executions of a node, found by their start alone.
    fn each_run(&self, node: NodeId, elsewhere: usize, mut each: impl FnMut(ExecutionId)) {
        let timeline = self.timeline;
        let devices = &timeline.view.model.devices;
        let values = timeline.view.values();
        let timings = timeline.records.timings(node).iter();
        for timing in timings.filter(|timing| shows(&values, timing) && schedules(devices.kind(timing.device))) {
            budget::work(1);
            let Some(process) = timeline.process_of.get(&devices.name(timing.device)) else { continue };
            let executions = &timeline.processes[*process].executions;
            let found = executions.binary_search_by_key(&timing.start, |execution| execution.start);
            if let (Ok(i), true) = (found, *process != elsewhere) {
                each(ExecutionId { process: *process as u32, index: i as u32 });
            }
        }
    }

    /// The last execution of a node that began before its reader.
    fn last_run(&self, node: NodeId, elsewhere: usize, reader: i64) -> Option<ExecutionId> {
        let runs = self.runs_of.get(&node)?;
        let before = runs.partition_point(|run| self.timeline.execution(*run).start <= reader);
        runs[..before].last().copied().filter(|run| run.process as usize != elsewhere)
    }
}
