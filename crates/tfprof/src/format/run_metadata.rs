//! `RunMetadata`: what ran in one step, record by record.

use super::detect::{Head, first_field, is_name};
use super::driver::{FormatReader, drive};
use crate::error::Error;
use crate::format::source::Source;
use crate::model::attr_value;
use crate::model::builder::{Batch, Builder, Execution, Run};
use crate::model::devices::DeviceId;
use crate::model::peaks::PeakFinder;
use crate::model::records::{Details, OutputMemory};
use tfprof_proto::lenient::{each_quietly, int_entry};
use tfprof_proto::schema;
use tfprof_proto::stream::{Layout, Record, Rule, Tag};
use tfprof_proto::wire::{Fields, Value};

/// The most outputs of a node whose shapes are noted.
const MOST_OUTPUTS: usize = 1024;

const STEP_STATS: Tag = 1;
const DEVICE_STATS: Tag = 2;
const DEVICE: Tag = 3;
const NODE_STATS: Tag = 4;

static DEVICE_LAYOUT: Layout = Layout { fields: &[(2, Rule::Take(NODE_STATS)), (1, Rule::Take(DEVICE))] };
static STEP_LAYOUT: Layout = Layout { fields: &[(1, Rule::Enter(DEVICE_STATS, &DEVICE_LAYOUT))] };
static RUN: Layout = Layout { fields: &[(1, Rule::Enter(STEP_STATS, &STEP_LAYOUT))] };

/// Reads a `RunMetadata`.
pub fn read(source: Source<'_>, step: i64, builder: &mut Builder) -> Result<(), Error> {
    drive(source, &schema::RUN_METADATA, &RUN, Reader::new(builder, step))
}

/// A `RunMetadata` starts with a device, which starts with its name or with a record.
pub fn recognizes(head: &Head<'_>) -> bool {
    let ((1, Value::Bytes(_)), Some((1, Value::Bytes(device)))) = (head.field, head.first) else { return false };
    match first_field(device) {
        Some((1, Value::Bytes(name))) => name.starts_with(b"/") && is_name(name),
        Some((2, Value::Bytes(record))) => {
            matches!(first_field(record), Some((1, Value::Bytes(name))) if is_name(name))
        }
        _ => false,
    }
}

struct Reader<'b> {
    builder: &'b mut Builder,
    step: i64,
    run: Run,
    has_stats: bool,
    device: Option<DeviceId>,
    /// Records that stand before the name of their device: their bytes, one after the other, and their ends.
    waiting: Vec<u8>,
    waiting_ends: Vec<(usize, u64)>,
    details: Details,
    batch: Batch,
}

impl<'b> Reader<'b> {
    pub fn new(builder: &'b mut Builder, step: i64) -> Self {
        let run = builder.begin_run(step);
        Reader {
            builder,
            step,
            run,
            has_stats: false,
            device: None,
            waiting: Vec::new(),
            waiting_ends: Vec::new(),
            details: Details::default(),
            batch: Batch::default(),
        }
    }

    fn set_device(&mut self, name: &[u8]) -> DeviceId {
        self.flush();
        let device = self.builder.device(name);
        self.builder.meet_device(&mut self.run, device);
        self.device = Some(device);
        let waiting = std::mem::take(&mut self.waiting);
        let mut start = 0;
        for (end, offset) in std::mem::take(&mut self.waiting_ends) {
            self.add(device, &waiting[start..end], offset);
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
            self.batch.push(&execution(bytes, offset, keep.memory, None), offset);
            if self.batch.is_full() {
                self.builder.add_batch(&mut self.run, device, &mut self.batch);
            }
            return;
        }
        let mut details = std::mem::take(&mut self.details);
        let mut execution = execution(bytes, offset, keep.memory, Some(&mut details));
        execution.details = Some(&details);
        self.builder.add_execution(&mut self.run, device, &execution, offset);
        self.details = details;
    }

    /// Adds what waits in the batch.
    fn flush(&mut self) {
        if let Some(device) = self.device {
            self.builder.add_batch(&mut self.run, device, &mut self.batch);
        }
    }
}

impl Reader<'_> {
    /// Notes the shapes of what a node put out.
    fn shapes(&mut self, bytes: &[u8], offset: u64) {
        let mut name = &b""[..];
        let mut outputs = Vec::new();
        each_quietly(Fields::new(bytes, offset), |all, number, value| match (number, value) {
            (1, Value::Bytes(value)) => name = value,
            (7, Value::Bytes(output)) => outputs.push(all.nested(output)),
            _ => {}
        });
        // As the original: what follows a colon is not part of the name.
        let name = name.split(|byte| *byte == b':').next().unwrap_or_default();
        let Ok(name) = std::str::from_utf8(name) else { return };
        for output in outputs {
            let (mut slot, mut shape) = (0_i64, None);
            each_quietly(output, |all, number, value| match (number, value) {
                (1, Value::Varint(n)) => slot = n as i64,
                (3, Value::Bytes(tensor)) => each_quietly(all.nested(tensor), |_, number, value| {
                    if let (2, Value::Bytes(bytes)) = (number, value) {
                        shape = Some(attr_value::shape_of(bytes));
                    }
                }),
                _ => {}
            });
            if let (Ok(slot @ 0..MOST_OUTPUTS), Some(shape)) = (usize::try_from(slot), shape) {
                self.builder.program.observe_shape(name, slot, shape);
            }
        }
    }
}

impl FormatReader for Reader<'_> {
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
                self.waiting.extend_from_slice(bytes);
                self.waiting_ends.push((self.waiting.len(), record.offset));
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

/// `NodeExecStats`, as far as it is there.
fn execution<'a>(bytes: &'a [u8], offset: u64, memory: bool, mut details: Option<&mut Details>) -> Execution<'a> {
    let mut seen = Execution::default();
    if let Some(details) = &mut details {
        details.clear();
    }
    let (mut temporary, mut persistent) = (0_i64, 0_i64);
    each_quietly(Fields::new(bytes, offset), |all, number, value| match (number, value) {
        (1, Value::Bytes(name)) => seen.name = name,
        (2, Value::Varint(n)) => seen.start = n as i64,
        (4, Value::Varint(n)) => seen.length = n as i64,
        (6, Value::Bytes(used)) if memory => {
            each_quietly(all.nested(used), |_, number, value| {
                let Value::Varint(n) = value else { return };
                let sum = match number {
                    2 => &mut seen.requested_bytes,
                    3 => &mut seen.peak_bytes,
                    4 => &mut seen.residual_bytes,
                    _ => return,
                };
                sum.add(n as i64);
            });
            if let Some(details) = &mut details {
                allocator(all.nested(used), details);
            }
        }
        (7, Value::Bytes(output)) if memory => {
            if let Some(output) = output_memory(all.nested(output)) {
                seen.output_bytes.add(output.bytes);
                if let Some(details) = &mut details {
                    details.outputs.push(output);
                }
            }
        }
        (12, Value::Bytes(stats)) if memory => {
            each_quietly(all.nested(stats), |_, number, value| match (number, value) {
                (1, Value::Varint(n)) => temporary = n as i64,
                (3, Value::Varint(n)) => persistent = n as i64,
                _ => {}
            });
        }
        _ => {}
    });
    if let Some(details) = details {
        (details.temp, details.persistent) = (temporary, persistent);
    }
    seen.residual_bytes.add(persistent);
    for sum in [&mut seen.requested_bytes, &mut seen.peak_bytes] {
        sum.add(persistent);
        sum.add(temporary);
    }
    seen
}

/// What allocators say of themselves, and when memory was taken and given back.
fn find_peaks(bytes: &[u8], offset: u64, device: DeviceId, peaks: &mut PeakFinder) {
    each_quietly(Fields::new(bytes, offset), |all, number, value| {
        let (6, Value::Bytes(used)) = (number, value) else { return };
        each_quietly(all.nested(used), |all, number, value| match (number, value) {
            (5, Value::Varint(n)) => peaks.in_use(device, n as i64),
            (6, Value::Bytes(record)) => {
                let (micros, bytes) = int_entry(all.nested(record));
                peaks.allocation(device, micros, bytes);
            }
            _ => {}
        });
    });
}

/// `AllocatorMemoryUsed` of a GPU: what the allocator had given out, and to whom.
fn allocator(used: Fields<'_>, details: &mut Details) {
    let (mut gpu, mut in_use) = (false, 0);
    each_quietly(used.clone(), |_, number, value| match (number, value) {
        (1, Value::Bytes(name)) => gpu = memchr::memmem::find(name, b"GPU").is_some(),
        (5, Value::Varint(n)) => in_use = n as i64,
        _ => {}
    });
    if !gpu {
        return;
    }
    details.allocator_in_use = details.allocator_in_use.max(in_use);
    each_quietly(used, |all, number, value| {
        let (6, Value::Bytes(record)) = (number, value) else { return };
        details.allocations.push(int_entry(all.nested(record)));
    });
}

/// One output with a known allocation; its size is what was allocated, or asked for if that is more.
fn output_memory(output: Fields<'_>) -> Option<OutputMemory> {
    let (mut requested, mut allocated, mut known) = (0, 0, false);
    let (mut slot, mut address) = (0, 0);
    each_quietly(output, |all, number, value| match (number, value) {
        (1, Value::Varint(n)) => slot = n as i32,
        (3, Value::Bytes(tensor)) => each_quietly(all.nested(tensor), |all, number, value| {
            let (4, Value::Bytes(allocation)) = (number, value) else { return };
            known = true;
            each_quietly(all.nested(allocation), |_, number, value| match (number, value) {
                (1, Value::Varint(n)) => requested = n as i64,
                (2, Value::Varint(n)) => allocated = n as i64,
                (6, Value::Varint(n)) => address = n,
                _ => {}
            });
        }),
        _ => {}
    });
    known.then(|| OutputMemory { slot, bytes: requested.max(allocated), address })
}
