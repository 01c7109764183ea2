//! Executions in a saved profile: for each node an `ExecProfile` for each of its steps.

use super::messages::{device_time, each_time, memory_use};
use crate::format::run_metadata::read_allocation;
use crate::hash::UntrustedSet;
use crate::model::Model;
use crate::model::builder::Builder;
use crate::model::cells::{Cells, Measure, Sum, Sums};
use crate::model::devices::{DeviceId, DeviceKind};
use crate::model::lists::{ListId, Lists};
use crate::model::nodes::NodeId;
use crate::model::records::{Allocation, MemoryUse, Records, Timing};
use std::collections::BTreeMap;
use tfprof_proto::fields::{exec_profile, map_entry};
use tfprof_proto::wire::{Fields, Value, each_field, int_keyed_entry};

#[derive(Default)]
pub(super) struct Executions {
    /// The cells of the steps that are kept. The others are added to the sums at once.
    steps: BTreeMap<i64, Cells>,
    records: BTreeMap<i64, Records>,
    /// The sums of the current `ExecProfile`, by device in the order of the file.
    pub(super) device_sums: Vec<(DeviceId, Sums)>,
    /// By device, its index in `device_sums`; stale if that entry is of another device.
    sums_index: Vec<usize>,
    /// The steps of the current node that were not kept. Each counts once even if a file has the node or the step twice.
    node_steps: UntrustedSet<i64>,
    /// The same of all nodes read so far. Most nodes have the same steps.
    steps_of: Vec<ListId<i64>>,
    step_sets: Lists<i64>,
    last_set: ListId<i64>,
    /// Scratch space.
    sorted: Vec<i64>,
}

/// The figures of an `ExecProfile` that do not name a device, and the device to count them on.
#[derive(Debug)]
pub(super) struct Interval {
    device: DeviceId,
    start: i64,
    end: i64,
    /// The highest peak of the step.
    peak: i64,
}

impl Executions {
    /// Adds a step, if only an empty one.
    pub fn add_step(&mut self, step: i64) {
        self.steps.entry(step).or_default();
    }

    pub fn begin_node(&mut self, node: NodeId) {
        self.node_steps.clear();
        if let Some(steps) = self.steps_of.get(node.index()) {
            self.node_steps.extend(self.step_sets.get(*steps));
        }
    }

    pub fn end_node(&mut self, node: NodeId) {
        if self.node_steps.is_empty() {
            return;
        }
        self.sorted.clear();
        self.sorted.extend(&self.node_steps);
        self.sorted.sort_unstable();
        if self.step_sets.get(self.last_set) != self.sorted {
            self.last_set = self.step_sets.intern(&self.sorted);
        }
        if node.index() >= self.steps_of.len() {
            self.steps_of.resize(node.index() + 1, ListId::EMPTY);
        }
        self.steps_of[node.index()] = self.last_set;
    }

    /// Adds an entry of the map from step to `ExecProfile`.
    pub fn add(&mut self, node: NodeId, entry: Fields<'_>, builder: &mut Builder) {
        let quick = if builder.keep.records { None } else { self.read_quickly(node, entry.rest(), builder) };
        let Some((step, interval)) = quick.or_else(|| self.read_slowly(node, entry, builder)) else { return };
        let keep = builder.keep;
        let Model { runs, placement, devices, .. } = &mut builder.model;
        let Interval { device: main, start, end, peak } = interval;
        let start = if keep.bounds { start } else { 0 };
        let of_device = |device| if device == main { (peak, start, end) } else { (0, 0, 0) };
        if runs.keeps(step) {
            let cells = self.steps.entry(step).or_default();
            for (device, sums) in &self.device_sums {
                let (peak, start, end) = of_device(*device);
                cells.at(node, *device).record(sums, peak, start, end);
            }
            return;
        }
        runs.end_run(step);
        let is_new = self.node_steps.insert(step);
        if is_new {
            runs.begin_run(step);
        }
        for (device, sums) in &self.device_sums {
            let counts = devices.kind(*device) != DeviceKind::Placement || placement[node.index()] == *device;
            let mut cell = if is_new { runs.cell(node, *device, counts) } else { runs.counted_cell(node, *device) };
            let (peak, start, end) = of_device(*device);
            cell.record(sums, peak, start, end);
            let ran = cell.runs();
            runs.note(sums, ran);
        }
    }

    /// Reads an entry of any kind, and its single executions if they are kept.
    pub(super) fn read_slowly(
        &mut self,
        node: NodeId,
        entry: Fields<'_>,
        builder: &mut Builder,
    ) -> Option<(i64, Interval)> {
        let (step, Some(profile)) = int_keyed_entry(entry) else { return None };
        if builder.keep.records {
            self.record(node, step, profile.clone(), builder);
        }
        Some((step, self.read_sums(node, profile, builder)))
    }

    /// Reads an `ExecProfile` into `device_sums`.
    fn read_sums(&mut self, node: NodeId, profile: Fields<'_>, builder: &mut Builder) -> Interval {
        self.device_sums.clear();
        let keeps_memory = builder.keep.memory;
        let mut sums: Sums = [Sum::default(); Measure::COUNT];
        let (mut start, mut end, mut peak) = (0, 0, 0);
        let mut add = |index: Measure, n: i64| sums[index as usize].add(n);
        each_field(profile, |all, number, value| match (number, value) {
            (exec_profile::RUN_COUNT, Value::Varint(n)) => add(Measure::Runs, n as i64),
            (exec_profile::ALL_START_MICROS, Value::Varint(n)) => start = n as i64,
            (exec_profile::LATEST_END_MICROS, Value::Varint(n)) => end = n as i64,
            (exec_profile::ACCELERATOR_EXECS | exec_profile::CPU_EXECS, Value::Bytes(entry)) => {
                let (device, micros) = device_time(all.nested(entry));
                let device = builder.device(device);
                self.sums_on(device)[Measure::Micros as usize].add_sum(micros);
            }
            (exec_profile::DEVICES, Value::Bytes(device)) => {
                let device = builder.device(device);
                self.sums_on(device);
            }
            (exec_profile::MEMORY_EXECS, Value::Bytes(memory)) if keeps_memory => {
                let memory = memory_use(all.nested(memory), MemoryUse::new(node, DeviceId::NONE), None);
                add(Measure::RequestedBytes, memory.requested);
                add(Measure::PeakBytes, memory.peak);
                add(Measure::ResidualBytes, memory.residual);
                add(Measure::OutputBytes, memory.output);
                add(Measure::RepeatedTemp, memory.repeated_temp());
                peak = peak.max(memory.peak.saturating_sub(memory.repeated_temp()));
            }
            _ => {}
        });
        self.interval(node, &sums, [start, end, peak], builder)
    }

    /// Adds the sums that name no device to one of `device_sums`.
    pub(super) fn interval(
        &mut self,
        node: NodeId,
        sums: &Sums,
        [start, end, peak]: [i64; 3],
        builder: &mut Builder,
    ) -> Interval {
        let is_empty = sums.iter().all(|sum| *sum == Sum::default());
        let device = self.device_of_sums(node, is_empty, builder);
        self.sums_on(device).iter_mut().zip(sums).for_each(|(sum, more)| sum.add_sum(*more));
        Interval { device, start, end, peak }
    }

    pub(super) fn sums_on(&mut self, device: DeviceId) -> &mut Sums {
        if device.index() >= self.sums_index.len() {
            self.sums_index.resize(device.index() + 1, 0);
        }
        let index = &mut self.sums_index[device.index()];
        if self.device_sums.get(*index).is_none_or(|(other, _)| *other != device) {
            *index = self.device_sums.len();
            self.device_sums.push((device, [Sum::default(); Measure::COUNT]));
        }
        &mut self.device_sums[*index].1
    }

    /// The device to count sums on that name none: the placement of the node, or else a device of this `ExecProfile`, so
    /// that saving it again adds no other.
    fn device_of_sums(&self, node: NodeId, is_empty: bool, builder: &mut Builder) -> DeviceId {
        let placement = placement(node, builder);
        let devices = &builder.model.devices;
        let mut named = self.device_sums.iter().map(|(device, _)| *device);
        if named.clone().any(|device| device == placement) {
            return placement;
        }
        // Besides the placement, only a nameless device from before the placement can have memory.
        let kinds: &[DeviceKind] = &[DeviceKind::Nameless, DeviceKind::Placement, DeviceKind::Other];
        let of_kind = |kind: &DeviceKind| named.clone().find(|device| devices.kind(*device) == *kind);
        let some = kinds.iter().find_map(of_kind);
        named.next().filter(|_| is_empty).or(some).unwrap_or(placement)
    }

    /// Reads the single executions of an `ExecProfile`.
    fn record(&mut self, node: NodeId, step: i64, profile: Fields<'_>, builder: &mut Builder) {
        let placement = placement(node, builder);
        let records = self.records.entry(step).or_default();
        each_field(profile, |all, number, value| match (number, value) {
            (exec_profile::ACCELERATOR_EXECS | exec_profile::CPU_EXECS, Value::Bytes(entry)) => {
                let mut device = &b""[..];
                each_field(all.nested(entry), |_, number, value| {
                    if let (map_entry::KEY, Value::Bytes(name)) = (number, value) {
                        device = name;
                    }
                });
                let device = builder.device(device);
                each_time(all.nested(entry), |start, length| {
                    records.push_timing(Timing { node, device, start, length });
                });
            }
            (exec_profile::MEMORY_EXECS, Value::Bytes(memory)) => {
                let mut outputs = Vec::new();
                let memory = memory_use(all.nested(memory), MemoryUse::new(node, placement), Some(&mut outputs));
                records.push_memory(memory, &outputs);
            }
            (exec_profile::ALLOCATIONS, Value::Bytes(allocation)) => {
                let (micros, bytes) = read_allocation(all.nested(allocation));
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
