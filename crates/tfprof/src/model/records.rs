//! Single executions, for answers that need more than sums: timelines and saved profiles.
//!
//! Stored only if [`Keep::records`](super::builder::Keep) asks for them, one [`Records`] for each kept step. Records of
//! all devices are stored; as with cells, the reader decides which devices count.

use super::devices::DeviceId;
use super::join::Renumber;
use super::nodes::NodeId;
use crate::budget;

/// When a node ran on a device. Records without a start time are left out; the cells have their device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    pub node: NodeId,
    pub device: DeviceId,
    /// In microseconds; always positive if it comes from a run.
    pub start: i64,
    /// In microseconds, and at least 1 if the file says 0.
    pub length: i64,
}

/// The memory of one execution, on a device where a node is scheduled (never on a stream). A run has one for each
/// [`Timing`] on such a device, in the same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryUse {
    pub node: NodeId,
    /// Of a saved profile: the placement of the node, or the nameless device if it has none.
    pub device: DeviceId,
    /// When the op finished and its memory was measured, in microseconds.
    pub micros: i64,
    pub host_temp: i64,
    pub host_persistent: i64,
    pub accelerator_temp: i64,
    pub accelerator_persistent: i64,
    pub requested: i64,
    pub peak: i64,
    pub residual: i64,
    pub output: i64,
    /// Bytes that the GPU allocators had in use at that time, for all ops together.
    pub allocator_in_use: i64,
    outputs_start: u32,
    outputs_end: u32,
}

/// The memory of one output of an execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutputMemory {
    pub slot: i32,
    pub bytes: i64,
    pub address: u64,
}

/// Memory that a GPU allocator gave to a node, or got back (negative).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    pub node: NodeId,
    pub device: DeviceId,
    pub micros: i64,
    pub bytes: i64,
}

/// Fields of one record besides the sums; scratch space of a reader.
#[derive(Clone, Debug, Default)]
pub struct Details {
    pub temp: i64,
    pub persistent: i64,
    pub allocator_in_use: i64,
    pub outputs: Vec<OutputMemory>,
    /// Time and bytes.
    pub allocations: Vec<(i64, i64)>,
}

impl Details {
    pub fn clear(&mut self) {
        (self.temp, self.persistent, self.allocator_in_use) = (0, 0, 0);
        self.outputs.clear();
        self.allocations.clear();
    }
}

/// The executions of a step by node. Those of one node are in the order of the files.
#[derive(Clone, Debug, Default)]
pub struct Records {
    timings: Vec<Timing>,
    memory: Vec<MemoryUse>,
    outputs: Vec<OutputMemory>,
    allocations: Vec<Allocation>,
}

/// The temporary memory that requested bytes contain twice: the allocators' totals include it, and the original adds it
/// again. An allocator that reports nothing leaves it counted once.
#[inline]
pub fn repeated_temp(requested: i64, persistent: i64, temp: i64) -> i64 {
    let allocated = requested.wrapping_sub(persistent).wrapping_sub(temp);
    if allocated == 0 { 0 } else { temp }
}

impl MemoryUse {
    pub fn new(node: NodeId, device: DeviceId) -> Self {
        MemoryUse {
            node,
            device,
            micros: 0,
            host_temp: 0,
            host_persistent: 0,
            accelerator_temp: 0,
            accelerator_persistent: 0,
            requested: 0,
            peak: 0,
            residual: 0,
            output: 0,
            allocator_in_use: 0,
            outputs_start: 0,
            outputs_end: 0,
        }
    }

    /// See [`repeated_temp`].
    pub fn repeated_temp(&self) -> i64 {
        let temp = self.host_temp.wrapping_add(self.accelerator_temp);
        repeated_temp(self.requested, self.host_persistent.wrapping_add(self.accelerator_persistent), temp)
    }
}

impl Records {
    /// When a node ran.
    pub fn timings(&self, node: NodeId) -> &[Timing] {
        rows_of(&self.timings, node, |row| row.node)
    }

    /// When all nodes ran, by node.
    pub fn all_timings(&self) -> &[Timing] {
        &self.timings
    }

    /// Memory of a node's executions.
    pub fn memory(&self, node: NodeId) -> &[MemoryUse] {
        rows_of(&self.memory, node, |row| row.node)
    }

    /// The outputs of one execution, in the order of the file. If a slot comes twice, the last wins.
    pub fn outputs(&self, memory: &MemoryUse) -> &[OutputMemory] {
        &self.outputs[memory.outputs_start as usize..memory.outputs_end as usize]
    }

    /// Allocations of a node's executions.
    pub fn allocations(&self, node: NodeId) -> &[Allocation] {
        rows_of(&self.allocations, node, |row| row.node)
    }

    /// All allocations, by node.
    pub fn all_allocations(&self) -> &[Allocation] {
        &self.allocations
    }

    /// Whether no execution has a start time.
    pub fn is_empty(&self) -> bool {
        self.timings.is_empty()
    }

    pub fn push_timing(&mut self, timing: Timing) {
        self.timings.push(timing);
    }

    pub fn push_memory(&mut self, mut memory: MemoryUse, outputs: &[OutputMemory]) {
        memory.outputs_start = self.outputs.len() as u32;
        self.outputs.extend_from_slice(outputs);
        memory.outputs_end = self.outputs.len() as u32;
        self.memory.push(memory);
    }

    pub fn push_allocation(&mut self, allocation: Allocation) {
        self.allocations.push(allocation);
    }

    /// Appends the records that another file has of the same step.
    pub fn merge(&mut self, other: &Records) {
        let shift = self.outputs.len() as u32;
        self.outputs.extend_from_slice(&other.outputs);
        self.timings.extend_from_slice(&other.timings);
        self.allocations.extend_from_slice(&other.allocations);
        self.memory.extend(other.memory.iter().map(|memory| MemoryUse {
            outputs_start: memory.outputs_start + shift,
            outputs_end: memory.outputs_end + shift,
            ..*memory
        }));
        self.sort();
    }

    /// Translates ids of nodes and devices.
    pub fn renumber(&mut self, numbers: &Renumber<'_>) {
        let change = |node: &mut NodeId, device: &mut DeviceId| {
            *node = numbers.node(*node);
            *device = numbers.device(*node, *device);
        };
        self.timings.iter_mut().for_each(|timing| change(&mut timing.node, &mut timing.device));
        self.memory.iter_mut().for_each(|memory| change(&mut memory.node, &mut memory.device));
        self.allocations.iter_mut().for_each(|allocation| change(&mut allocation.node, &mut allocation.device));
    }

    /// Groups records by node.
    pub fn sort(&mut self) {
        group(&mut self.timings, |row| row.node);
        group(&mut self.memory, |row| row.node);
        group(&mut self.allocations, |row| row.node);
    }

    /// Drops everything except persistent memory of accelerators, which other steps need.
    pub fn keep_persistent_only(&mut self) {
        let mut memory = std::mem::take(&mut self.memory);
        memory.retain(|memory| memory.accelerator_persistent != 0);
        memory.iter_mut().for_each(|memory| (memory.outputs_start, memory.outputs_end) = (0, 0));
        memory.shrink_to_fit();
        *self = Records { memory, ..Records::default() };
        self.sort();
    }
}

/// Sorts rows by node, stably: by counting if there are not many more nodes than rows.
fn group<T>(rows: &mut [T], node_of: impl Fn(&T) -> NodeId) {
    if rows.is_sorted_by_key(&node_of) {
        return;
    }
    let nodes = rows.iter().map(|row| node_of(row).index() + 1).max().unwrap_or(0);
    if nodes / 4 > rows.len() || u32::try_from(rows.len()).is_err() {
        return rows.sort_by_key(node_of);
    }
    budget::reserve((size_of::<u32>() * (rows.len() + nodes)) as u64);
    let mut places = vec![0_u32; nodes];
    rows.iter().for_each(|row| places[node_of(row).index()] += 1);
    let mut start = 0;
    for place in &mut places {
        // Counts become positions.
        start += std::mem::replace(place, start);
    }
    let mut place_of: Vec<u32> = rows
        .iter()
        .map(|row| {
            let place = &mut places[node_of(row).index()];
            *place += 1;
            *place - 1
        })
        .collect();
    // In place, as a copy would take pages that are new to the process.
    for at in 0..rows.len() {
        while place_of[at] as usize != at {
            let place = place_of[at] as usize;
            rows.swap(at, place);
            place_of.swap(at, place);
        }
    }
}

/// The rows of a node, of rows that are sorted by node. No index: a step may have one node of a million.
fn rows_of<T>(rows: &[T], node: NodeId, node_of: impl Fn(&T) -> NodeId) -> &[T] {
    let start = rows.partition_point(|row| node_of(row) < node);
    let count = rows[start..].iter().take_while(|row| node_of(row) == node).count();
    &rows[start..start + count]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_node_keep_the_order_of_files() {
        let mut records = Records::default();
        for (node, start) in [(3, 50), (0, 7), (3, 20)] {
            records.push_timing(Timing { node: NodeId(node), device: DeviceId(0), start, length: 1 });
            let output = OutputMemory { slot: 0, bytes: start, address: 0 };
            records.push_memory(MemoryUse { micros: start, ..MemoryUse::new(NodeId(node), DeviceId(0)) }, &[output]);
        }
        let mut both = records.clone();
        records.sort();
        both.merge(&records);
        let starts: Vec<_> = both.timings(NodeId(3)).iter().map(|timing| timing.start).collect();
        assert_eq!(starts, [50, 20, 50, 20]);
        let bytes: Vec<_> = both.memory(NodeId(3)).iter().map(|memory| both.outputs(memory)[0].bytes).collect();
        assert_eq!(bytes, [50, 20, 50, 20]);
        assert!(both.timings(NodeId(1)).is_empty());
    }
}
