//! The time span of each op's kernels, for traces that draw ops at the time of their kernels.

use super::OpTime;
use super::record::{Record, kernel};
use super::survey::Device;
use crate::hash::UntrustedMap;
use crate::render::chrome::Micros;

/// By op: the first start and the last end of its kernels.
#[derive(Debug, Default)]
pub(super) struct Kernels {
    op_time: OpTime,
    spans: UntrustedMap<Vec<u8>, Span>,
}

#[derive(Debug)]
struct Span {
    start: Micros,
    end: Micros,
}

impl Kernels {
    pub fn new(op_time: OpTime) -> Self {
        Kernels { op_time, spans: UntrustedMap::default() }
    }

    /// Adds a kernel of a device that lists all streams.
    pub fn add(&mut self, record: &Record<'_>) {
        let (name, _) = kernel(record);
        match self.spans.get_mut(name) {
            Some(span) => {
                span.start = span.start.min(record.start);
                span.end = span.end.max(record.end());
            }
            None => drop(self.spans.insert(name.to_vec(), Span { start: record.start, end: record.end() })),
        }
    }

    /// Moves the record of an op to the time of its kernels.
    pub fn adjust(&self, device: &Device, record: &mut Record<'_>) {
        if !device.has_ops || self.spans.is_empty() {
            return;
        }
        let Some(span) = self.spans.get(record.name) else { return };
        let end = span.end.max(record.end());
        if self.op_time == OpTime::Gpu {
            record.start = span.start;
        }
        record.duration = end - record.start;
    }
}
