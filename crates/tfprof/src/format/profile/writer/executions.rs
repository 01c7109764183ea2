//! Writes the executions of a node: an `ExecProfile` for each step.

use super::{Writer, entry};
use crate::model::cells::{Cell, Measure};
use crate::model::devices::{DeviceId, DeviceKind};
use crate::model::nodes::NodeId;
use crate::model::records::{MemoryUse, Records};
use std::collections::BTreeMap;
use tfprof_proto::fields::{
    allocation_record, exec_memory, exec_profile, exec_time, map_entry, memory as output_memory, profile_node, tuple,
};
use tfprof_proto::write;

impl Writer<'_> {
    pub(super) fn executions(&self, node: NodeId, out: &mut Vec<u8>) {
        for step in self.steps_of.of(node) {
            let Some(cells) = self.model.runs.step(*step) else { continue };
            let cells: Vec<Cell<'_>> = cells.of(node).filter(|cell| self.device_counts(node, cell.device)).collect();
            if !cells.is_empty() {
                entry(out, profile_node::EXECS, *step, |out| self.execution(node, *step, &cells, out));
            }
        }
    }

    /// As the original, with its quirk: a node has one device. Otherwise all of its devices count.
    fn device_counts(&self, node: NodeId, device: DeviceId) -> bool {
        self.model.counts(node, device, self.quirks.first_device_only)
    }

    fn execution(&self, node: NodeId, step: i64, cells: &[Cell<'_>], out: &mut Vec<u8>) {
        let devices = &self.model.devices;
        let runs = cells.iter().filter(|cell| {
            let kind = devices.kind(cell.device);
            kind != DeviceKind::AllStreams && self.kind_counts(kind)
        });
        let runs = runs.fold(0, |sum: i64, cell| sum.wrapping_add(cell.sum(Measure::Runs).wrapped()));
        let starts = cells.iter().map(|cell| cell.first_start).filter(|start| *start > 0);
        write::int(out, exec_profile::RUN_COUNT, runs);
        write::int(out, exec_profile::ALL_START_MICROS, starts.min().unwrap_or(0));
        write::int(out, exec_profile::LATEST_END_MICROS, cells.iter().map(|cell| cell.last_end).max().unwrap_or(0));
        let records = self.model.runs.records(step);
        if let Some(records) = records {
            self.times(node, records, out);
        }
        let mut names: Vec<&str> = cells.iter().map(|cell| self.device_name(cell.device)).collect();
        names.sort_unstable();
        names.dedup();
        names.iter().for_each(|name| write::element(out, exec_profile::DEVICES, name.as_bytes()));
        if let Some(records) = records {
            for memory in records.memory(node).iter().filter(|memory| self.memory_counts(node, memory.device)) {
                write::message(out, exec_profile::MEMORY_EXECS, |out| write_memory(memory, records, out));
            }
            for allocation in records.allocations(node) {
                if self.memory_counts(node, allocation.device) {
                    write::message(out, exec_profile::ALLOCATIONS, |out| {
                        write::int(out, allocation_record::ALLOC_MICROS, allocation.micros);
                        write::int(out, allocation_record::ALLOC_BYTES, allocation.bytes);
                    });
                }
            }
        }
    }

    fn device_name(&self, device: DeviceId) -> &str {
        self.model.names.get(self.model.devices.name(device))
    }

    /// Writes the times on accelerators, then those on CPUs, each by device.
    fn times(&self, node: NodeId, records: &Records, out: &mut Vec<u8>) {
        let (mut on_accelerators, mut on_cpus) = (BTreeMap::new(), BTreeMap::new());
        for timing in records.timings(node) {
            let kind = self.model.devices.kind(timing.device);
            if !self.kind_counts(kind) || !self.device_counts(node, timing.device) {
                continue;
            }
            let is_accelerator = matches!(kind, DeviceKind::AllStreams | DeviceKind::Other);
            let times = if is_accelerator { &mut on_accelerators } else { &mut on_cpus };
            let of_device: &mut Vec<_> = times.entry(self.device_name(timing.device)).or_default();
            of_device.push([timing.start, timing.length]);
        }
        for (field, by_device) in
            [(exec_profile::ACCELERATOR_EXECS, on_accelerators), (exec_profile::CPU_EXECS, on_cpus)]
        {
            for (device, times) in by_device {
                write::message(out, field, |out| {
                    write::element(out, map_entry::KEY, device.as_bytes());
                    write::message(out, map_entry::VALUE, |out| {
                        for time in times {
                            write::message(out, exec_time::TIMES, |out| write::packed(out, tuple::INT64_VALUES, &time));
                        }
                    });
                });
            }
        }
    }

    /// As the original: memory counts where the node is placed, or where no device is named.
    fn memory_counts(&self, node: NodeId, device: DeviceId) -> bool {
        let kind = self.model.devices.kind(device);
        kind == DeviceKind::Nameless
            || (kind != DeviceKind::AllStreams && self.kind_counts(kind) && self.device_counts(node, device))
    }
}

/// Writes an `ExecMemory`.
fn write_memory(memory: &MemoryUse, records: &Records, out: &mut Vec<u8>) {
    write::int(out, exec_memory::MEMORY_MICROS, memory.micros);
    write::int(out, exec_memory::HOST_TEMP_BYTES, memory.host_temp);
    write::int(out, exec_memory::HOST_PERSISTENT_BYTES, memory.host_persistent);
    write::int(out, exec_memory::ACCELERATOR_TEMP_BYTES, memory.accelerator_temp);
    write::int(out, exec_memory::ACCELERATOR_PERSISTENT_BYTES, memory.accelerator_persistent);
    write::int(out, exec_memory::REQUESTED_BYTES, memory.requested);
    write::int(out, exec_memory::PEAK_BYTES, memory.peak);
    write::int(out, exec_memory::RESIDUAL_BYTES, memory.residual);
    write::int(out, exec_memory::OUTPUT_BYTES, memory.output);
    write::int(out, exec_memory::ALLOCATOR_BYTES_IN_USE, memory.allocator_in_use);
    let outputs: BTreeMap<i32, _> = records.outputs(memory).iter().map(|output| (output.slot, output)).collect();
    for (slot, output) in outputs {
        entry(out, exec_memory::OUTPUT_MEMORY, slot.into(), |out| {
            write::int(out, output_memory::BYTES, output.bytes);
            write::int(out, output_memory::PTR, output.address as i64);
        });
    }
}
