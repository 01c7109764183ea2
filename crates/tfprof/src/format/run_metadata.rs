//! `RunMetadata`: what ran in one step, record by record.

use super::graph_def::each_quietly;
use super::{GO_ON, Reader as FormatReader};
use crate::model::builder::{Builder, Execution, Run};
use crate::model::devices::DeviceId;
use std::ops::ControlFlow;
use tfprof_proto::stream::{Layout, Record, Rule, Sink, Spot, Tag};
use tfprof_proto::wire::{Fields, Value};

const STEP_STATS: Tag = 1;
const DEVICE_STATS: Tag = 2;
const DEVICE: Tag = 3;
const NODE_STATS: Tag = 4;

static DEVICE_LAYOUT: Layout = Layout { fields: &[(2, Rule::Take(NODE_STATS)), (1, Rule::Take(DEVICE))] };
static STEP_LAYOUT: Layout = Layout { fields: &[(1, Rule::Enter(DEVICE_STATS, &DEVICE_LAYOUT))] };
pub(super) static RUN: Layout = Layout { fields: &[(1, Rule::Enter(STEP_STATS, &STEP_LAYOUT))] };

pub(super) struct Reader<'b> {
    builder: &'b mut Builder,
    step: i64,
    run: Run,
    has_stats: bool,
    records: u64,
    device: Option<DeviceId>,
    /// Records that stand before the name of their device: their bytes, one after the other, and their ends.
    waiting: Vec<u8>,
    waiting_ends: Vec<(usize, u64)>,
}

impl<'b> Reader<'b> {
    pub fn new(builder: &'b mut Builder, step: i64) -> Self {
        Reader {
            builder,
            step,
            run: Run::default(),
            has_stats: false,
            records: 0,
            device: None,
            waiting: Vec::new(),
            waiting_ends: Vec::new(),
        }
    }

    fn set_device(&mut self, name: &[u8]) -> DeviceId {
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
        let execution = execution(bytes, offset, self.builder.keep.memory);
        self.builder.add_execution(&mut self.run, device, &execution, offset);
    }
}

impl Sink for Reader<'_> {
    fn open(&mut self, tag: Tag, _offset: u64) -> ControlFlow<()> {
        match tag {
            STEP_STATS => self.has_stats = true,
            _ => self.device = None,
        }
        GO_ON
    }

    fn close(&mut self, tag: Tag) -> ControlFlow<()> {
        if tag == DEVICE_STATS && self.device.is_none() {
            self.set_device(b"");
        }
        GO_ON
    }

    fn take(&mut self, tag: Tag, record: Record<'_>) -> ControlFlow<()> {
        let Value::Bytes(bytes) = record.value else { return GO_ON };
        match (tag, self.device) {
            (DEVICE, _) => {
                if record.whole {
                    self.set_device(bytes);
                }
            }
            (_, Some(device)) => {
                self.records += 1;
                self.add(device, bytes, record.offset);
            }
            (_, None) => {
                self.records += 1;
                self.waiting.extend_from_slice(bytes);
                self.waiting_ends.push((self.waiting.len(), record.offset));
            }
        }
        GO_ON
    }

    fn warn(&mut self, spot: Spot, message: String) {
        self.builder.warn("unknown_field", Some(spot), || message);
    }
}

impl FormatReader for Reader<'_> {
    fn records(&self) -> u64 {
        self.records
    }

    fn finish(&mut self) {
        if self.has_stats {
            self.builder.end_run(self.step, std::mem::take(&mut self.run));
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
fn execution(bytes: &[u8], offset: u64, memory: bool) -> Execution<'_> {
    let mut seen = Execution::default();
    let (mut temporary, mut persistent) = (0_i64, 0_i64);
    each_quietly(Fields::new(bytes, offset), |all, number, value| match (number, value) {
        (1, Value::Bytes(name)) => seen.name = name,
        (2, Value::Varint(n)) => seen.start = n as i64,
        (4, Value::Varint(n)) => seen.length = n as i64,
        (6, Value::Bytes(used)) if memory => each_quietly(all.nested(used), |_, number, value| {
            let Value::Varint(n) = value else { return };
            let sum = match number {
                2 => &mut seen.requested_bytes,
                3 => &mut seen.peak_bytes,
                4 => &mut seen.residual_bytes,
                _ => return,
            };
            sum.add(n as i64);
        }),
        (7, Value::Bytes(output)) if memory => {
            seen.output_bytes.add(output_bytes(all.nested(output)));
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
    seen.residual_bytes.add(persistent);
    for sum in [&mut seen.requested_bytes, &mut seen.peak_bytes] {
        sum.add(persistent);
        sum.add(temporary);
    }
    seen
}

/// The size of one output: what was allocated for it, or asked for if that is more.
fn output_bytes(output: Fields<'_>) -> i64 {
    let (mut requested, mut allocated) = (0, 0);
    each_quietly(output, |all, number, value| {
        let (3, Value::Bytes(tensor)) = (number, value) else { return };
        each_quietly(all.nested(tensor), |all, number, value| {
            let (4, Value::Bytes(allocation)) = (number, value) else { return };
            each_quietly(all.nested(allocation), |_, number, value| match (number, value) {
                (1, Value::Varint(n)) => requested = n as i64,
                (2, Value::Varint(n)) => allocated = n as i64,
                _ => {}
            });
        });
    });
    requested.max(allocated)
}
