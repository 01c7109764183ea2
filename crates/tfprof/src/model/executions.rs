//! Single executions of a trace, kept in few bytes if a question is about them. Those of runs are in `records.rs`.

use super::devices::DeviceId;
use super::nodes::NodeId;
use super::span_log::{PendingSpan, PendingSpans};
use std::io;

/// The executions of a host's ops as they were read: by number of an op's variant and by index of a step.
#[derive(Debug)]
pub struct SpanLog {
    spans: PendingSpans,
    /// Where the spans of each line begin.
    lines: Vec<(u64, u32)>,
}

/// No step.
const NONE: u32 = u32::MAX;

impl Default for SpanLog {
    fn default() -> SpanLog {
        SpanLog { spans: PendingSpans::spilling(), lines: Vec::new() }
    }
}

impl SpanLog {
    /// Adds a span of a line.
    #[inline]
    pub fn push(&mut self, line: u32, step: Option<u32>, span: &PendingSpan) {
        if self.lines.last().is_none_or(|(_, last)| *last != line) {
            self.lines.push((self.spans.count(), line));
        }
        self.spans.push(&PendingSpan { context: step.unwrap_or(NONE), ..*span });
    }
}

/// The executions of a host in the model.
#[derive(Debug)]
pub struct HostExecutions {
    /// An index into the hosts of the model.
    pub host: u32,
    pub log: SpanLog,
    /// By variant, its node and device.
    pub places: Vec<(NodeId, DeviceId)>,
    /// By index, the number of a step.
    pub steps: Vec<i64>,
}

/// One execution. Times are picoseconds since the first line of its host began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Execution {
    pub node: NodeId,
    pub device: DeviceId,
    /// An index into the lines of the host.
    pub line: u32,
    pub step: Option<i64>,
    pub start: i64,
    pub duration: i64,
    pub self_time: i64,
}

impl HostExecutions {
    /// All executions, line by line, each after those within it. Fails only if the disk does.
    pub fn each(&self, mut then: impl FnMut(Execution)) -> io::Result<()> {
        let mut lines = self.log.lines.iter().peekable();
        let (mut line, mut at) = (0, 0);
        self.log.spans.each(|span| {
            if let Some((_, next)) = lines.next_if(|(begin, _)| *begin == at) {
                line = *next;
            }
            at += 1;
            let PendingSpan { item, context, start, total: duration, self_time } = *span;
            let Some((node, device)) = self.places.get(item as usize).copied() else { return };
            let step = self.steps.get(context as usize).copied();
            then(Execution { node, device, line, step, start, duration, self_time });
        })
    }
}
