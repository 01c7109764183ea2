//! When the kernels of each op ran, for traces that draw ops at the time of their kernels.

use super::OpTime;
use super::record::{Micros, Record, kernel};
use super::survey::Device;
use rustc_hash::FxHashMap;

/// First start and last end of the kernels of each op.
#[derive(Debug, Default)]
pub(super) struct Kernels {
    op_time: OpTime,
    spans: FxHashMap<Vec<u8>, (Micros, Micros)>,
}

impl Kernels {
    pub fn new(op_time: OpTime) -> Self {
        Kernels { op_time, spans: FxHashMap::default() }
    }

    /// Adds a record of a device that has all streams.
    pub fn add(&mut self, record: &Record<'_>) {
        let (name, _) = kernel(record);
        match self.spans.get_mut(name) {
            Some((start, end)) => {
                *start = (*start).min(record.start);
                *end = (*end).max(record.end());
            }
            None => drop(self.spans.insert(name.to_vec(), (record.start, record.end()))),
        }
    }

    /// Moves the record of an op to the time of its kernels.
    pub fn adjust(&self, device: &Device, record: &mut Record<'_>) {
        if !device.has_ops || self.spans.is_empty() {
            return;
        }
        let Some((start, end)) = self.spans.get(record.name) else { return };
        let end = (*end).max(record.end());
        if self.op_time == OpTime::Gpu {
            record.start = *start;
        }
        record.length = end - record.start;
    }
}
