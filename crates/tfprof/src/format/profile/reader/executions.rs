//! What ran, as a saved profile has it: node by node, and for each node step by step.

use super::messages::{device_time, each_time, memory_use};
use crate::model::Model;
use crate::model::builder::Builder;
use crate::model::cells::{Cells, Measure, Sum, Sums};
use crate::model::devices::{DeviceId, DeviceKind};
use crate::model::lists::{ListId, Lists};
use crate::model::nodes::NodeId;
use crate::model::records::{Allocation, MemoryUse, Records, Timing};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;
use tfprof_proto::lenient::{each_quietly, int_entry};
use tfprof_proto::wire::{Fields, Value};

#[derive(Default)]
pub(super) struct Executions {
    /// The steps that are kept. The others are summed as they come.
    steps: BTreeMap<i64, Cells>,
    records: BTreeMap<i64, Records>,
    /// The sums of the entry at hand, by device in the order in which they are met.
    here: Vec<(DeviceId, Sums)>,
    /// By device, its place there.
    place_of: Vec<usize>,
    /// The steps of the node at hand, which are counted once even if a file has a node or a step twice.
    steps_here: FxHashSet<i64>,
    /// By node, its steps, if they were summed as they came. Most nodes have the same.
    steps_of: Vec<ListId<i64>>,
    step_sets: Lists<i64>,
    last_set: ListId<i64>,
    /// A list for sorting, which is used again.
    sorted: Vec<i64>,
}

impl Executions {
    /// Notes that the file has a step.
    pub fn meet_step(&mut self, step: i64) {
        self.steps.entry(step).or_default();
    }

    pub fn begin_node(&mut self, node: NodeId) {
        self.steps_here.clear();
        if let Some(steps) = self.steps_of.get(node.index()) {
            self.steps_here.extend(self.step_sets.get(*steps));
        }
    }

    pub fn end_node(&mut self, node: NodeId) {
        if self.steps_here.is_empty() {
            return;
        }
        self.sorted.clear();
        self.sorted.extend(&self.steps_here);
        self.sorted.sort_unstable();
        if self.step_sets.get(self.last_set) != self.sorted {
            self.last_set = self.step_sets.intern(&self.sorted);
        }
        if node.index() >= self.steps_of.len() {
            self.steps_of.resize(node.index() + 1, ListId::EMPTY);
        }
        self.steps_of[node.index()] = self.last_set;
    }

    /// An entry of the map from step to what ran in it.
    pub fn add(&mut self, node: NodeId, entry: Fields<'_>, builder: &mut Builder) {
        let (mut step, mut profile) = (0, None);
        each_quietly(entry, |all, number, value| match (number, value) {
            (1, Value::Varint(n)) => step = n as i64,
            (2, Value::Bytes(bytes)) => profile = Some(all.nested(bytes)),
            _ => {}
        });
        let Some(profile) = profile else { return };
        if builder.keep.records {
            self.record(node, step, profile.clone(), builder);
        }
        let (device, start, end) = self.sums(node, profile, builder);
        let Model { runs, placement, devices, .. } = &mut builder.model;
        let when = |other: DeviceId| if other == device { (start, end) } else { (0, 0) };
        if runs.keeps(step) {
            let cells = self.steps.entry(step).or_default();
            for (device, sums) in &self.here {
                let (start, end) = when(*device);
                cells.at(node, *device).record(sums, start, end);
            }
            return;
        }
        runs.end_run(step);
        let is_new = self.steps_here.insert(step);
        if is_new {
            runs.begin_run(step);
        }
        for (device, sums) in &self.here {
            let counts = devices.kind(*device) != DeviceKind::Placement || placement[node.index()] == *device;
            let cell = if is_new { runs.cell(node, *device, counts) } else { runs.counted_cell(node, *device) };
            let (start, end) = when(*device);
            cell.record(sums, start, end);
            let ran = cell.sum(Measure::Runs).wrapped();
            runs.note(sums, ran);
        }
    }

    /// Sums of `ExecProfile` by device, and the device that has what is said of all of them together, with start and
    /// end.
    fn sums(&mut self, node: NodeId, profile: Fields<'_>, builder: &mut Builder) -> (DeviceId, i64, i64) {
        self.here.clear();
        let keeps_memory = builder.keep.memory;
        let mut placed: Sums = [Sum::default(); Measure::COUNT];
        let (mut start, mut end) = (0, 0);
        let mut add = |index: Measure, n: i64| placed[index as usize].add(n);
        each_quietly(profile, |all, number, value| match (number, value) {
            (1, Value::Varint(n)) => add(Measure::Runs, n as i64),
            (2, Value::Varint(n)) => start = n as i64,
            (3, Value::Varint(n)) => end = n as i64,
            (4 | 5, Value::Bytes(entry)) => {
                let (device, micros) = device_time(all.nested(entry));
                let device = builder.device(device);
                self.sums_on(device)[Measure::Micros as usize].add_sum(micros);
            }
            (6, Value::Bytes(device)) => {
                let device = builder.device(device);
                self.sums_on(device);
            }
            (7, Value::Bytes(memory)) if keeps_memory => each_quietly(all.nested(memory), |_, number, value| {
                let Value::Varint(n) = value else { return };
                match number {
                    6 => add(Measure::RequestedBytes, n as i64),
                    7 => add(Measure::PeakBytes, n as i64),
                    8 => add(Measure::ResidualBytes, n as i64),
                    9 => add(Measure::OutputBytes, n as i64),
                    _ => {}
                }
            }),
            _ => {}
        });
        let nothing = placed.iter().all(|sum| *sum == Sum::default());
        let device = self.device_of_sums(node, nothing, builder);
        let sums = self.sums_on(device);
        sums.iter_mut().zip(placed).for_each(|(sum, more)| sum.add_sum(more));
        (device, start, end)
    }

    fn sums_on(&mut self, device: DeviceId) -> &mut Sums {
        if device.index() >= self.place_of.len() {
            self.place_of.resize(device.index() + 1, 0);
        }
        let place = &mut self.place_of[device.index()];
        // What stands there may be of an earlier entry.
        if self.here.get(*place).is_none_or(|(there, _)| *there != device) {
            *place = self.here.len();
            self.here.push((device, [Sum::default(); Measure::COUNT]));
        }
        &mut self.here[*place].1
    }

    /// Where to put what is said of all devices together: on the placement, or else on a device that is named, so that
    /// saving again names no other.
    fn device_of_sums(&self, node: NodeId, nothing: bool, builder: &mut Builder) -> DeviceId {
        let placement = placement(node, builder);
        let devices = &builder.model.devices;
        let mut here = self.here.iter().map(|(device, _)| *device);
        if here.clone().any(|device| device == placement) {
            return placement;
        }
        // A record without a device, before the node was placed, is the only one besides that has memory.
        let kinds: &[DeviceKind] = &[DeviceKind::Nameless, DeviceKind::Placement, DeviceKind::Other];
        let of_kind = |kind: &DeviceKind| here.clone().find(|device| devices.kind(*device) == *kind);
        let some = kinds.iter().find_map(of_kind);
        here.next().filter(|_| nothing).or(some).unwrap_or(placement)
    }

    /// `ExecProfile` again, execution by execution.
    fn record(&mut self, node: NodeId, step: i64, profile: Fields<'_>, builder: &mut Builder) {
        let placement = placement(node, builder);
        let records = self.records.entry(step).or_default();
        each_quietly(profile, |all, number, value| match (number, value) {
            (4 | 5, Value::Bytes(entry)) => {
                let mut device = &b""[..];
                each_quietly(all.nested(entry), |_, number, value| {
                    if let (1, Value::Bytes(name)) = (number, value) {
                        device = name;
                    }
                });
                let device = builder.device(device);
                each_time(all.nested(entry), |start, length| {
                    records.push_timing(Timing { node, device, start, length });
                });
            }
            (7, Value::Bytes(memory)) => {
                let mut outputs = Vec::new();
                let memory = memory_use(all.nested(memory), MemoryUse::new(node, placement), &mut outputs);
                records.push_memory(memory, &outputs);
            }
            (11, Value::Bytes(allocation)) => {
                let (micros, bytes) = int_entry(all.nested(allocation));
                records.push_allocation(Allocation { node, device: placement, micros, bytes });
            }
            _ => {}
        });
    }

    pub fn finish(self, builder: &mut Builder) {
        for (step, cells) in self.steps {
            builder.add_step(step, cells);
        }
        for (step, records) in self.records {
            builder.model.runs.fold_records(step, records);
        }
    }
}

fn placement(node: NodeId, builder: &mut Builder) -> DeviceId {
    let placement = builder.model.placement[node.index()];
    if placement.is_some() { placement } else { builder.device(b"") }
}
