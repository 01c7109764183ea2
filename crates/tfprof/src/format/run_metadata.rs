//! `RunMetadata`: the executions of one step, record by record.

mod quick;

use super::detect::{Head, first_field, is_name};
use super::{FormatReader, drive};
use crate::error::Error;
use crate::format::source::Source;
use crate::model::builder::{Batch, Builder, Execution, Run};
use crate::model::devices::DeviceId;
use crate::model::peaks::PeakFinder;
use crate::model::records::{Details, OutputMemory, repeated_temp};
use tfprof_proto::fields::{
    allocation_description, allocation_record, allocator_memory_used, device_step_stats, memory_stats,
    node_exec_stats as node, node_output, run_metadata, step_stats, tensor_description,
};
use tfprof_proto::schema;
use tfprof_proto::stream::{Layout, Record, Rule, Tag};
use tfprof_proto::wire::{Fields, Value, each_field, each_message, last_bytes};

/// Shapes of outputs beyond this slot are ignored: a damaged number must not grow a list without limit.
const MAX_OUTPUTS: usize = 1024;

const STEP_STATS: Tag = 1;
const DEVICE_STATS: Tag = 2;
const DEVICE: Tag = 3;
const NODE_STATS: Tag = 4;

static DEVICE_LAYOUT: Layout = Layout {
    fields: &[(device_step_stats::NODE_STATS, Rule::Take(NODE_STATS)), (device_step_stats::DEVICE, Rule::Take(DEVICE))],
};
static STEP_LAYOUT: Layout = Layout { fields: &[(step_stats::DEV_STATS, Rule::Enter(DEVICE_STATS, &DEVICE_LAYOUT))] };
static RUN: Layout = Layout { fields: &[(run_metadata::STEP_STATS, Rule::Enter(STEP_STATS, &STEP_LAYOUT))] };

/// Reads a `RunMetadata`.
pub fn read(source: Source<'_>, step: i64, builder: &mut Builder) -> Result<(), Error> {
    drive(source, &schema::RUN_METADATA, &RUN, RunMetadataReader::new(builder, step))
}

/// A `RunMetadata` starts with a device, which starts with its name or with a record.
pub fn recognizes(head: &Head<'_>) -> bool {
    let ((run_metadata::STEP_STATS, Value::Bytes(_)), Some((step_stats::DEV_STATS, Value::Bytes(device)))) =
        (head.field, head.first)
    else {
        return false;
    };
    match first_field(device) {
        Some((device_step_stats::DEVICE, Value::Bytes(name))) => name.starts_with(b"/") && is_name(name),
        Some((device_step_stats::NODE_STATS, Value::Bytes(record))) => {
            matches!(first_field(record), Some((node::NODE_NAME, Value::Bytes(name))) if is_name(name))
        }
        _ => false,
    }
}

struct RunMetadataReader<'b> {
    builder: &'b mut Builder,
    step: i64,
    run: Run,
    has_stats: bool,
    device: Option<DeviceId>,
    /// Records that precede the name of their device: their concatenated bytes, and for each its end in them and its
    /// offset in the file.
    pending: Vec<u8>,
    pending_ends: Vec<(usize, u64)>,
    details: Details,
    batch: Batch,
}

impl<'b> RunMetadataReader<'b> {
    pub fn new(builder: &'b mut Builder, step: i64) -> Self {
        let run = builder.begin_run(step);
        RunMetadataReader {
            builder,
            step,
            run,
            has_stats: false,
            device: None,
            pending: Vec::new(),
            pending_ends: Vec::new(),
            details: Details::default(),
            batch: Batch::default(),
        }
    }

    fn set_device(&mut self, name: &[u8]) -> DeviceId {
        self.flush();
        let device = self.builder.device(name);
        self.builder.add_device(&mut self.run, device);
        self.device = Some(device);
        let pending = std::mem::take(&mut self.pending);
        let mut start = 0;
        for (end, offset) in std::mem::take(&mut self.pending_ends) {
            self.add(device, &pending[start..end], offset);
            start = end;
        }
        device
    }

    #[inline]
    fn add(&mut self, device: DeviceId, bytes: &[u8], offset: u64) {
        let keep = self.builder.keep;
        if keep.peaks {
            find_peaks(bytes, offset, device, &mut self.run.peaks);
        }
        if keep.costs {
            self.shapes(bytes, offset);
        }
        if !keep.records {
            if let Some((name, figures)) = quick::read(bytes, keep.memory, None) {
                if keep.peaks {
                    self.run.peaks.op(device, figures.peak());
                }
                return self.builder.add_figures(&mut self.run, device, &mut self.batch, name, &figures, offset);
            }
            let execution = read_execution(bytes, offset, keep.memory, None);
            if keep.peaks {
                self.run.peaks.op(device, execution.peak());
            }
            self.builder.add_batch(&mut self.run, device, &mut self.batch);
            self.builder.add_execution(&mut self.run, device, &execution, offset);
            return;
        }
        let mut details = std::mem::take(&mut self.details);
        if let Some((name, figures)) = quick::read(bytes, keep.memory, Some(&mut details)) {
            if keep.peaks {
                self.run.peaks.op(device, figures.peak());
            }
            self.builder.add_detailed(&mut self.run, device, name, &figures, &details, offset);
            self.details = details;
            return;
        }
        let mut execution = read_execution(bytes, offset, keep.memory, Some(&mut details));
        execution.details = Some(&details);
        if keep.peaks {
            self.run.peaks.op(device, execution.peak());
        }
        self.builder.add_execution(&mut self.run, device, &execution, offset);
        self.details = details;
    }

    /// Adds the executions of the unfinished batch.
    fn flush(&mut self) {
        if let Some(device) = self.device {
            self.builder.add_batch(&mut self.run, device, &mut self.batch);
        }
    }

    /// Notes the shapes of the outputs.
    fn shapes(&mut self, bytes: &[u8], offset: u64) {
        let record = Fields::new(bytes, offset);
        let mut name = None;
        each_message(record.clone(), node::OUTPUT, |output| {
            let (mut slot, mut shape) = (0_i64, None);
            each_field(output, |all, number, value| match (number, value) {
                (node_output::SLOT, Value::Varint(n)) => slot = n as i64,
                (node_output::TENSOR_DESCRIPTION, Value::Bytes(tensor)) => {
                    shape = last_bytes(all.nested(tensor), tensor_description::SHAPE).or(shape);
                }
                _ => {}
            });
            let (Ok(slot @ 0..MAX_OUTPUTS), Some(shape)) = (usize::try_from(slot), shape) else { return };
            let name = *name.get_or_insert_with(|| {
                // As the original: a colon ends the name.
                let name = last_bytes(record.clone(), node::NODE_NAME).unwrap_or_default();
                let end = memchr::memchr(b':', name).unwrap_or(name.len());
                std::str::from_utf8(&name[..end]).ok()
            });
            if let Some(name) = name {
                self.builder.program.observe_shape(name, slot, shape);
            }
        });
    }
}

impl FormatReader for RunMetadataReader<'_> {
    const BESIDE: &'static [Tag] = &[DEVICE];

    fn open(&mut self, tag: Tag) {
        match tag {
            STEP_STATS => self.has_stats = true,
            _ => {
                self.flush();
                self.device = None;
            }
        }
    }

    fn close(&mut self, tag: Tag) {
        if tag == DEVICE_STATS && self.device.is_none() {
            self.set_device(b"");
        }
        self.flush();
    }

    fn take(&mut self, tag: Tag, record: Record<'_>) {
        let Value::Bytes(bytes) = record.value else { return };
        match (tag, self.device) {
            (DEVICE, _) => {
                if record.whole {
                    self.set_device(bytes);
                }
            }
            (_, Some(device)) => self.add(device, bytes, record.offset),
            (_, None) => {
                self.pending.extend_from_slice(bytes);
                self.pending_ends.push((self.pending.len(), record.offset));
            }
        }
    }

    fn finish(&mut self) {
        self.flush();
        if self.has_stats {
            self.builder.end_run(&mut self.run);
        } else {
            let step = self.step;
            self.builder.warn("no_step_stats", None, || {
                format!("no step statistics, so there is no step {step}; record with trace_level=FULL_TRACE")
            });
        }
    }

    fn builder(&mut self) -> &mut Builder {
        self.builder
    }
}

/// Reads a `NodeExecStats`, or the part of it before damage.
fn read_execution<'a>(bytes: &'a [u8], offset: u64, memory: bool, mut details: Option<&mut Details>) -> Execution<'a> {
    let mut execution = Execution::default();
    if let Some(details) = &mut details {
        details.clear();
    }
    let (mut temporary, mut persistent) = (0_i64, 0_i64);
    each_field(Fields::new(bytes, offset), |all, number, value| match (number, value) {
        (node::NODE_NAME, Value::Bytes(name)) => execution.name = name,
        (node::ALL_START_MICROS, Value::Varint(n)) => execution.start = n as i64,
        (node::OP_END_REL_MICROS, Value::Varint(n)) => execution.length = n as i64,
        (node::MEMORY, Value::Bytes(used)) if memory => {
            each_field(all.nested(used), |_, number, value| {
                let Value::Varint(n) = value else { return };
                let sum = match number {
                    allocator_memory_used::TOTAL_BYTES => &mut execution.requested_bytes,
                    allocator_memory_used::PEAK_BYTES => &mut execution.peak_bytes,
                    allocator_memory_used::LIVE_BYTES => &mut execution.residual_bytes,
                    _ => return,
                };
                sum.add(n as i64);
            });
            if let Some(details) = &mut details {
                gpu_allocator(all.nested(used), details);
            }
        }
        (node::OUTPUT, Value::Bytes(output)) if memory => {
            if let Some(output) = output_memory(all.nested(output)) {
                execution.output_bytes.add(output.bytes);
                if let Some(details) = &mut details {
                    details.outputs.push(output);
                }
            }
        }
        (node::MEMORY_STATS, Value::Bytes(stats)) if memory => {
            each_field(all.nested(stats), |_, number, value| match (number, value) {
                (memory_stats::TEMP_MEMORY_SIZE, Value::Varint(n)) => temporary = n as i64,
                (memory_stats::PERSISTENT_MEMORY_SIZE, Value::Varint(n)) => persistent = n as i64,
                _ => {}
            });
        }
        _ => {}
    });
    if let Some(details) = details {
        (details.temp, details.persistent) = (temporary, persistent);
    }
    execution.residual_bytes.add(persistent);
    for sum in [&mut execution.requested_bytes, &mut execution.peak_bytes] {
        sum.add(persistent);
        sum.add(temporary);
    }
    execution.repeated_temp = repeated_temp(execution.requested_bytes.wrapped(), persistent, temporary);
    execution
}

/// Passes on the bytes in use that allocators report, and each allocation and deallocation with its time.
fn find_peaks(bytes: &[u8], offset: u64, device: DeviceId, peaks: &mut PeakFinder) {
    each_message(Fields::new(bytes, offset), node::MEMORY, |used| {
        each_field(used, |all, number, value| match (number, value) {
            (allocator_memory_used::ALLOCATOR_BYTES_IN_USE, Value::Varint(n)) => peaks.in_use(device, n as i64),
            (allocator_memory_used::ALLOCATION_RECORDS, Value::Bytes(record)) => {
                let (micros, bytes) = read_allocation(all.nested(record));
                peaks.allocation(device, micros, bytes);
            }
            _ => {}
        });
    });
}

/// Reads an `AllocatorMemoryUsed`, if it is of a GPU: the bytes in use, and the allocations of this execution.
fn gpu_allocator(used: Fields<'_>, details: &mut Details) {
    let (mut gpu, mut in_use) = (false, 0);
    each_field(used.clone(), |_, number, value| match (number, value) {
        (allocator_memory_used::ALLOCATOR_NAME, Value::Bytes(name)) => {
            gpu = memchr::memmem::find(name, b"GPU").is_some();
        }
        (allocator_memory_used::ALLOCATOR_BYTES_IN_USE, Value::Varint(n)) => in_use = n as i64,
        _ => {}
    });
    if !gpu {
        return;
    }
    details.allocator_in_use = details.allocator_in_use.max(in_use);
    each_message(used, allocator_memory_used::ALLOCATION_RECORDS, |record| {
        details.allocations.push(read_allocation(record));
    });
}

/// Reads an `AllocationRecord`: the time in microseconds and the bytes, negative for a deallocation.
pub(super) fn read_allocation(record: Fields<'_>) -> (i64, i64) {
    let (mut micros, mut bytes) = (0, 0);
    each_field(record, |_, number, value| match (number, value) {
        (allocation_record::ALLOC_MICROS, Value::Varint(n)) => micros = n as i64,
        (allocation_record::ALLOC_BYTES, Value::Varint(n)) => bytes = n as i64,
        _ => {}
    });
    (micros, bytes)
}

/// Reads a `NodeOutput`, if its allocation is known. Its size is the larger of the requested and the allocated bytes.
fn output_memory(output: Fields<'_>) -> Option<OutputMemory> {
    let (mut requested, mut allocated, mut known) = (0, 0, false);
    let (mut slot, mut address) = (0, 0);
    each_field(output, |all, number, value| match (number, value) {
        (node_output::SLOT, Value::Varint(n)) => slot = n as i32,
        (node_output::TENSOR_DESCRIPTION, Value::Bytes(tensor)) => {
            each_field(all.nested(tensor), |all, number, value| {
                let (tensor_description::ALLOCATION_DESCRIPTION, Value::Bytes(allocation)) = (number, value) else {
                    return;
                };
                known = true;
                each_field(all.nested(allocation), |_, number, value| match (number, value) {
                    (allocation_description::REQUESTED_BYTES, Value::Varint(n)) => requested = n as i64,
                    (allocation_description::ALLOCATED_BYTES, Value::Varint(n)) => allocated = n as i64,
                    (allocation_description::PTR, Value::Varint(n)) => address = n,
                    _ => {}
                });
            });
        }
        _ => {}
    });
    known.then(|| OutputMemory { slot, bytes: requested.max(allocated), address })
}
