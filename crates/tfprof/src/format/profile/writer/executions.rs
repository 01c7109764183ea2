//! What ran: for each step an `ExecProfile`.

use super::{Writer, entry, number};
use crate::model::cells::{Cell, Measure};
use crate::model::devices::{DeviceId, DeviceKind};
use crate::model::nodes::NodeId;
use crate::model::records::{MemoryUse, Records};
use std::collections::BTreeMap;
use tfprof_proto::write;

impl Writer<'_> {
    pub(super) fn executions(&self, node: NodeId, out: &mut Vec<u8>) {
        for step in self.steps_of.of(node) {
            let Some(cells) = self.model.runs.step(*step) else { continue };
            let cells: Vec<&Cell> = cells.of(node).filter(|cell| self.device_counts(node, cell.device)).collect();
            if !cells.is_empty() {
                entry(out, 12, *step, |out| self.execution(node, *step, &cells, out));
            }
        }
    }

    /// As the original: a node has one device. Without that quirk all of them count.
    fn device_counts(&self, node: NodeId, device: DeviceId) -> bool {
        self.model.counts(node, device, self.quirks.first_device_only)
    }

    fn execution(&self, node: NodeId, step: i64, cells: &[&Cell], out: &mut Vec<u8>) {
        let devices = &self.model.devices;
        let runs = cells.iter().filter(|cell| {
            let kind = devices.kind(cell.device);
            kind != DeviceKind::AllStreams && self.kind_counts(kind)
        });
        write::int(out, 1, runs.fold(0, |sum: i64, cell| sum.wrapping_add(cell.sum(Measure::Runs).wrapped())));
        write::int(out, 2, cells.iter().map(|cell| cell.first_start).filter(|start| *start > 0).min().unwrap_or(0));
        write::int(out, 3, cells.iter().map(|cell| cell.last_end).max().unwrap_or(0));
        let records = self.model.runs.records(step);
        if let Some(records) = records {
            self.times(node, records, out);
        }
        let mut names: Vec<&str> = cells.iter().map(|cell| self.device_name(cell.device)).collect();
        names.sort_unstable();
        names.dedup();
        names.iter().for_each(|name| write::element(out, 6, name.as_bytes()));
        if let Some(records) = records {
            for memory in records.memory(node).iter().filter(|memory| self.memory_counts(node, memory.device)) {
                write::message(out, 7, |out| write_memory(memory, records, out));
            }
            for allocation in records.allocations(node) {
                if self.memory_counts(node, allocation.device) {
                    write::message(out, 11, |out| {
                        write::int(out, 1, allocation.micros);
                        write::int(out, 2, allocation.bytes);
                    });
                }
            }
        }
    }

    fn device_name(&self, device: DeviceId) -> &str {
        self.model.names.get(self.model.devices.name(device))
    }

    /// The times on accelerators, then those on CPUs, each by device.
    fn times(&self, node: NodeId, records: &Records, out: &mut Vec<u8>) {
        let mut times: [BTreeMap<&str, Vec<[i64; 2]>>; 2] = Default::default();
        for timing in records.timings(node) {
            let kind = self.model.devices.kind(timing.device);
            if !self.kind_counts(kind) || !self.device_counts(node, timing.device) {
                continue;
            }
            let cpu = !matches!(kind, DeviceKind::AllStreams | DeviceKind::Other);
            let of_device = times[usize::from(cpu)].entry(self.device_name(timing.device)).or_default();
            of_device.push([timing.start, timing.length]);
        }
        for (field, devices) in [4, 5].into_iter().zip(&times) {
            for (device, times) in devices {
                write::message(out, field, |out| {
                    write::element(out, 1, device.as_bytes());
                    write::message(out, 2, |out| {
                        times.iter().for_each(|time| write::message(out, 1, |out| write::packed(out, 1, time)));
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

/// `ExecMemory`.
fn write_memory(memory: &MemoryUse, records: &Records, out: &mut Vec<u8>) {
    let numbers = [
        memory.micros,
        memory.host_temp,
        memory.host_persistent,
        memory.accelerator_temp,
        memory.accelerator_persistent,
        memory.requested,
        memory.peak,
        memory.residual,
        memory.output,
        memory.allocator_in_use,
    ];
    for (field, n) in (1..).zip(numbers) {
        write::int(out, field, n);
    }
    let outputs: BTreeMap<i32, _> = records.outputs(memory).iter().map(|output| (output.slot, output)).collect();
    for (slot, output) in outputs {
        write::message(out, 11, |out| {
            number(out, 1, slot.into());
            write::message(out, 2, |out| {
                write::int(out, 1, output.bytes);
                write::int(out, 2, output.address as i64);
            });
        });
    }
}
