//! Executions of nodes: each is added to the sums of its step.

use super::Builder;
use crate::model::Model;
use crate::model::cells::{Cells, Sum, Sums};
use crate::model::devices::{DeviceId, DeviceKind};
use crate::model::names::NameHash;
use crate::model::nodes::NodeId;
use crate::model::peaks::PeakFinder;
use crate::model::records::{Allocation, Details, MemoryUse, Records, Timing};
use tfprof_proto::stream::Spot;

/// One execution of a node.
#[derive(Clone, Copy, Debug, Default)]
pub struct Execution<'a> {
    pub name: &'a [u8],
    pub start: i64,
    /// The duration in microseconds.
    pub length: i64,
    pub requested_bytes: Sum,
    pub peak_bytes: Sum,
    pub residual_bytes: Sum,
    pub output_bytes: Sum,
    /// Temporary memory that the requested and peak bytes contain twice.
    pub repeated_temp: i64,
    /// Present if single executions are kept.
    pub details: Option<&'a Details>,
}

impl Execution<'_> {
    /// Its peak memory.
    #[inline]
    pub fn peak(&self) -> i64 {
        self.peak_bytes.limited().saturating_sub(self.repeated_temp)
    }

    /// The figures, wrapped where they overflow.
    fn wrapped(&self) -> Figures {
        Figures {
            start: self.start,
            length: self.length,
            requested_bytes: self.requested_bytes.wrapped(),
            peak_bytes: self.peak_bytes.wrapped(),
            residual_bytes: self.residual_bytes.wrapped(),
            output_bytes: self.output_bytes.wrapped(),
            repeated_temp: self.repeated_temp,
        }
    }

    /// Whether a time or a count is implausible. As unsigned numbers, negative ones are the largest.
    #[inline]
    fn is_odd(&self) -> bool {
        let bytes = self.requested_bytes.wrapped() | self.peak_bytes.wrapped() | self.output_bytes.wrapped();
        self.start as u64 > LAST_START || self.length as u64 > LONGEST || bytes < 0
    }
}

/// The figures of an execution, if no sum in them overflows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    pub start: i64,
    /// The duration in microseconds.
    pub length: i64,
    pub requested_bytes: i64,
    pub peak_bytes: i64,
    pub residual_bytes: i64,
    pub output_bytes: i64,
    /// See [`Execution::repeated_temp`].
    pub repeated_temp: i64,
}

impl Figures {
    /// See [`Execution::peak`].
    #[inline]
    pub fn peak(&self) -> i64 {
        self.peak_bytes.saturating_sub(self.repeated_temp)
    }

    fn execution(&self) -> Execution<'static> {
        Execution {
            name: b"",
            start: self.start,
            length: self.length,
            requested_bytes: Sum::new(self.requested_bytes),
            peak_bytes: Sum::new(self.peak_bytes),
            residual_bytes: Sum::new(self.residual_bytes),
            output_bytes: Sum::new(self.output_bytes),
            repeated_temp: self.repeated_temp,
            details: None,
        }
    }

    /// Whether it has no start, or a time or a count is implausible.
    #[inline]
    fn is_odd(&self) -> bool {
        let bytes = self.requested_bytes | self.peak_bytes | self.output_bytes;
        // As an unsigned number, the start 0 becomes the largest.
        (self.start as u64).wrapping_sub(1) >= LAST_START || self.length as u64 > LONGEST || bytes < 0
    }
}

/// In microseconds: a year; the year 2300; a century, longer than anything runs.
const YEAR: u64 = 31_556_952_000_000;
const LAST_START: u64 = 330 * YEAR;
const LONGEST: u64 = 100 * YEAR;

/// One step as one file records it.
#[derive(Debug)]
pub struct Run {
    pub peaks: PeakFinder,
    step: i64,
    /// The sums of this step alone, if questions may ask for it.
    cells: Option<Cells>,
    records: Records,
    /// The node of the last record. The one after it is a good guess for the next record.
    last: u32,
    gpu: bool,
    streams: bool,
    /// A device, and whether it is a CPU.
    cpu: (DeviceId, bool),
}

/// Executions on one device that are looked up together: the time goes into cache misses, and many misses at once
/// take little longer than one.
#[derive(Debug, Default)]
pub struct Batch {
    names: Vec<u8>,
    /// Each with the end of its name and its offset in the file.
    executions: Vec<(Figures, usize, u64)>,
}

impl Batch {
    const SIZE: usize = 32;

    fn push(&mut self, name: &[u8], figures: &Figures, offset: u64) {
        self.names.extend_from_slice(name);
        self.executions.push((*figures, self.names.len(), offset));
    }
}

impl Builder {
    pub fn device(&mut self, name: &[u8]) -> DeviceId {
        self.model.devices.intern(name, &mut self.model.names)
    }

    pub fn begin_run(&mut self, step: i64) -> Run {
        let cells = self.model.runs.begin_run(step).then(Cells::default);
        let (peaks, records) = (PeakFinder::default(), Records::default());
        Run { peaks, step, cells, records, last: 0, gpu: false, streams: false, cpu: (DeviceId::NONE, false) }
    }

    /// Records that the run has executions on this device.
    pub fn add_device(&mut self, run: &mut Run, device: DeviceId) {
        let name = self.model.names.get(self.model.devices.name(device));
        let gpu = name.contains("gpu");
        run.gpu |= gpu;
        run.streams |= gpu && name.contains("stream:all");
    }

    /// The node of a name, which is probably near the last record's node: files list nodes in much the same order, up
    /// to concurrency.
    #[inline]
    pub fn node_near(&self, last: u32, name: &[u8]) -> Option<NodeId> {
        let guess = last.wrapping_add(1);
        if let Some(next) = self.model.nodes.name.get(guess as usize)
            && self.model.names.get(*next).as_bytes() == name
        {
            return Some(NodeId(guess));
        }
        let hash = NameHash::of(name);
        self.node_within(guess, NEAR, name, hash)
            .or_else(|| self.node_within(guess.saturating_sub(NEAR), NEAR, name, hash))
            .or_else(|| self.node_within(guess.saturating_add(NEAR), NEAR, name, hash))
            .or_else(|| self.model.names.find_hashed(name, hash).and_then(|name| self.model.node(name)))
    }

    /// The node that ran after the last record's node before, if this record is of it. Devices list much the same ops in
    /// much the same order, and so do steps.
    #[inline]
    fn follower(&self, last: u32, name: &[u8]) -> Option<NodeId> {
        let node = NodeId(*self.followers.get(last as usize)?);
        self.is_named(node, name).then_some(node)
    }

    /// Whether a record names a node that may not exist.
    #[inline]
    fn is_named(&self, node: NodeId, name: &[u8]) -> bool {
        let Some(known) = self.model.nodes.name.get(node.index()) else { return false };
        let known = self.model.names.get(*known).as_bytes();
        // Names near each other begin in the same way, so look at the end first.
        let Some(end) = known.len().checked_sub(1) else { return false };
        // As in `node_name`: no name that was looked up has a colon.
        name.get(end) == known.get(end) && matches!(name.get(known.len()), None | Some(b':')) && name.starts_with(known)
    }

    fn learn_follower(&mut self, last: u32, node: NodeId) {
        if last as usize >= self.followers.len() {
            self.followers.resize(self.model.nodes.len().max(last as usize + 1), u32::MAX);
        }
        self.followers[last as usize] = node.0;
    }

    /// The node of a name if it is among the `count` nodes from `start` on.
    #[inline]
    fn node_within(&self, start: u32, count: u32, name: &[u8], hash: NameHash) -> Option<NodeId> {
        let start = start as usize;
        let end = (start + count as usize).min(self.model.nodes.len());
        let hashes = self.model.nodes.name_hash.get(start..end)?;
        let at = position(hashes, hash)?;
        let node = NodeId((start + at) as u32);
        (self.model.name(node).as_bytes() == name).then_some(node)
    }

    /// Adds one execution, or puts it into the batch.
    #[inline]
    pub fn add_figures(
        &mut self,
        run: &mut Run,
        device: DeviceId,
        batch: &mut Batch,
        name: &[u8],
        figures: &Figures,
        offset: u64,
    ) {
        if batch.executions.is_empty() {
            if let Some(node) = self.follower(run.last, name) {
                return self.add_figures_of(run, device, node, figures, None, offset);
            }
            let next = NodeId(run.last.wrapping_add(1));
            if self.is_named(next, name) && node_name(name).len() == self.model.name(next).len() {
                self.learn_follower(run.last, next);
                return self.add_figures_of(run, device, next, figures, None, offset);
            }
        }
        batch.push(name, figures, offset);
        if batch.executions.len() >= Batch::SIZE {
            self.add_batch(run, device, batch);
        }
    }

    /// Adds the executions of a batch and empties it.
    pub fn add_batch(&mut self, run: &mut Run, device: DeviceId, batch: &mut Batch) {
        let mut nodes = [None; Batch::SIZE];
        let (mut start, mut last) = (0, run.last);
        for (node, (_, end, _)) in nodes.iter_mut().zip(&batch.executions) {
            let name = &batch.names[start..*end];
            start = *end;
            *node = self.follower(last, name).or_else(|| self.node_near(run.last, node_name(name)));
            if let Some(node) = *node {
                self.learn_follower(last, node);
                last = node.0;
            }
        }
        let mut start = 0;
        for ((figures, end, offset), node) in batch.executions.iter().zip(nodes) {
            let name = &batch.names[start..*end];
            start = *end;
            let Some(node) = node.or_else(|| self.node_outside_graph(node_name(name), *offset)) else { continue };
            self.add_figures_of(run, device, node, figures, None, *offset);
        }
        batch.names.clear();
        batch.executions.clear();
    }

    /// Adds one execution with its details.
    pub fn add_detailed(
        &mut self,
        run: &mut Run,
        device: DeviceId,
        name: &[u8],
        figures: &Figures,
        details: &Details,
        offset: u64,
    ) {
        let node = self.follower(run.last, name).or_else(|| self.node_near(run.last, node_name(name)));
        if let Some(node) = node.or_else(|| self.node_outside_graph(node_name(name), offset)) {
            self.learn_follower(run.last, node);
            self.add_figures_of(run, device, node, figures, Some(details), offset);
        }
    }

    #[inline]
    fn add_figures_of(
        &mut self,
        run: &mut Run,
        device: DeviceId,
        node: NodeId,
        figures: &Figures,
        details: Option<&Details>,
        offset: u64,
    ) {
        if figures.is_odd() {
            let execution = Execution { details, ..figures.execution() };
            return self.add_execution_of(run, device, node, &execution, offset);
        }
        run.last = node.0;
        let device = self.note_placement(node, device);
        let counts = self.model.counts(node, device, true);
        // As the original: an execution takes at least a microsecond.
        let length = if figures.length == 0 { 1 } else { figures.length };
        let Figures { start, requested_bytes, peak_bytes, residual_bytes, output_bytes, repeated_temp, .. } = *figures;
        let numbers = [1, length, requested_bytes, peak_bytes, residual_bytes, output_bytes, repeated_temp];
        let first = if self.keep.bounds { start } else { 0 };
        match &mut run.cells {
            Some(cells) => cells.at(node, device).record_numbers(&numbers, figures.peak(), first, start + length),
            None => {
                let mut cell = self.model.runs.cell(node, device, counts);
                cell.record_numbers(&numbers, figures.peak(), first, start + length);
                let ran = cell.runs();
                self.model.runs.note_numbers(numbers, ran);
            }
        }
        if let Some(details) = details {
            self.add_details(run, node, device, figures, details);
        }
    }

    /// Adds one execution of a node on a device.
    pub fn add_execution(&mut self, run: &mut Run, device: DeviceId, execution: &Execution<'_>, offset: u64) {
        let name = node_name(execution.name);
        let node = self.node_near(run.last, name).or_else(|| self.node_outside_graph(name, offset));
        if let Some(node) = node {
            self.add_execution_of(run, device, node, execution, offset);
        }
    }

    fn add_execution_of(
        &mut self,
        run: &mut Run,
        device: DeviceId,
        node: NodeId,
        execution: &Execution<'_>,
        offset: u64,
    ) {
        run.last = node.0;
        let device = self.note_placement(node, device);
        let counts = self.model.counts(node, device, true);
        let mut cell = match &mut run.cells {
            Some(cells) => cells.at(node, device),
            None => self.model.runs.cell(node, device, counts),
        };
        if execution.start <= 0 {
            if device == self.model.placement[node.index()] {
                let name = self.model.name(node).to_owned();
                self.warn("no_start_time", Some(Spot::Byte(offset)), || {
                    format!("a record of `{name}` has no start time; its time and memory are left out")
                });
            }
            return;
        }
        // As the original: an execution takes at least a microsecond.
        let length = if execution.length == 0 { 1 } else { execution.length };
        let sums: Sums = [
            Sum::new(1),
            Sum::new(length),
            execution.requested_bytes,
            execution.peak_bytes,
            execution.residual_bytes,
            execution.output_bytes,
            Sum::new(execution.repeated_temp),
        ];
        let first = if self.keep.bounds { execution.start } else { 0 };
        cell.record(&sums, execution.peak(), first, execution.start.saturating_add(length));
        let ran = cell.runs();
        if run.cells.is_none() {
            self.model.runs.note(&sums, ran);
        }
        if let Some(details) = execution.details {
            self.add_details(run, node, device, &execution.wrapped(), details);
        }
        if execution.is_odd() {
            self.warn_odd(node, execution, offset);
        }
    }

    /// Warns about implausible numbers of an execution. It counts nonetheless: its other numbers may be right.
    #[cold]
    fn warn_odd(&mut self, node: NodeId, execution: &Execution<'_>, offset: u64) {
        let name = self.model.name(node).to_owned();
        let (start, length) = (execution.start as u64, execution.length);
        let spot = Some(Spot::Byte(offset));
        if length < 0 {
            let length = length.unsigned_abs();
            self.warn("clock", spot, || format!("a record of `{name}` ends {length}us before it starts"));
        } else if length as u64 > LONGEST {
            let years = length as u64 / YEAR;
            self.warn("clock", spot, || format!("a record of `{name}` lasts {years} years"));
        }
        if start > LAST_START {
            let year = 1970 + start / YEAR;
            self.warn("clock", spot, || format!("a record of `{name}` starts in the year {year}"));
        }
        let counts = [
            ("requested bytes", execution.requested_bytes),
            ("peak bytes", execution.peak_bytes),
            ("output bytes", execution.output_bytes),
        ];
        for (what, count) in counts.map(|(what, sum)| (what, sum.wrapped())) {
            if count < 0 {
                self.warn("negative_count", spot, || format!("a record of `{name}` has {count} {what}"));
            }
        }
    }

    /// Adds one execution to the records, and its memory unless it is on a stream: streams repeat ops that are scheduled
    /// elsewhere.
    fn add_details(&self, run: &mut Run, node: NodeId, device: DeviceId, figures: &Figures, details: &Details) {
        let start = figures.start;
        // As the original: an execution takes at least a microsecond.
        let length = if figures.length == 0 { 1 } else { figures.length };
        run.records.push_timing(Timing { node, device, start, length });
        if matches!(self.model.devices.kind(device), DeviceKind::AllStreams | DeviceKind::OneStream) {
            return;
        }
        let mut memory = MemoryUse::new(node, device);
        // The end as the file has it: of an execution of 0 us, its start.
        memory.micros = start.wrapping_add(figures.length);
        memory.requested = figures.requested_bytes;
        memory.peak = figures.peak_bytes;
        memory.residual = figures.residual_bytes;
        memory.output = figures.output_bytes;
        memory.allocator_in_use = details.allocator_in_use;
        if run.cpu.0 != device {
            let name = self.model.names.get(self.model.devices.name(device));
            run.cpu = (device, name.contains("cpu"));
        }
        if run.cpu.1 {
            (memory.host_temp, memory.host_persistent) = (details.temp, details.persistent);
        } else {
            (memory.accelerator_temp, memory.accelerator_persistent) = (details.temp, details.persistent);
        }
        run.records.push_memory(memory, &details.outputs);
        for (micros, bytes) in &details.allocations {
            run.records.push_allocation(Allocation { node, device, micros: *micros, bytes: *bytes });
        }
    }

    /// Adds a node for a name that is not in the graph.
    #[inline(never)]
    fn node_outside_graph(&mut self, name: &[u8], offset: u64) -> Option<NodeId> {
        // As the original: these belong to the session, not to the model.
        if name == b"RecvTensor" || name == b"_SOURCE" || memchr::memmem::find(name, b"MEMCPY").is_some() {
            return None;
        }
        let name = self.name(name, offset);
        Some(self.model.node(name).unwrap_or_else(|| self.model.push_node(name, name)))
    }

    /// Stores the first placement of a node.
    #[inline]
    fn note_placement(&mut self, node: NodeId, device: DeviceId) -> DeviceId {
        let placement = &mut self.model.placement[node.index()];
        match self.model.devices.kind(device) {
            DeviceKind::Placement if !placement.is_some() => *placement = device,
            DeviceKind::Nameless if placement.is_some() => return self.model.devices.late(device),
            _ => {}
        }
        device
    }

    /// Adds the sums and records of a run to the model.
    pub fn end_run(&mut self, run: &mut Run) {
        let step = run.step;
        self.model.misses_streams |= run.gpu && !run.streams;
        self.model.peaks.add(step, std::mem::take(&mut run.peaks));
        match run.cells.take() {
            Some(cells) => self.add_step(step, cells),
            None => self.model.runs.end_run(step),
        }
        if self.keep.records {
            self.model.runs.fold_records(step, std::mem::take(&mut run.records));
        }
    }

    /// Adds the measurements of a step.
    pub fn add_step(&mut self, step: i64, cells: Cells) {
        let Model { runs, placement, devices, .. } = &mut self.model;
        runs.fold(step, cells, placement, devices);
    }
}

/// As the original: the name ends at a colon.
#[inline]
fn node_name(name: &[u8]) -> &[u8] {
    match memchr::memchr(b':', name) {
        None => name,
        Some(colon) => &name[..colon],
    }
}

/// The search around the last node goes this far behind it, and twice as far ahead: executors run some dozens of ops
/// concurrently, and a batch of records is looked up at once.
const NEAR: u32 = 64;

/// The position of a hash. Searches in blocks that the compiler vectorizes.
#[inline]
fn position(hashes: &[NameHash], wanted: NameHash) -> Option<usize> {
    if hashes.first() == Some(&wanted) {
        return Some(0);
    }
    let in_block = |block: &[NameHash]| block.iter().fold(0, |found, hash| found | u8::from(*hash == wanted)) != 0;
    let (block, hashes_of) = hashes.chunks(16).enumerate().find(|(_, block)| in_block(block))?;
    Some(block * 16 + hashes_of.iter().position(|hash| *hash == wanted)?)
}
