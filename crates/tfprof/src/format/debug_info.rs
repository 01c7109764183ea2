//! `GraphDebugInfo`: where in the source the nodes of a graph and of its functions were created.

use super::GO_ON;
use crate::model::builder::Builder;
use crate::model::debug_info::{DebugInfo, SourceLine};
use std::io::Read;
use std::ops::ControlFlow;
use tfprof_proto::fields::graph_debug_info::{self, file_line_col, stack_trace};
use tfprof_proto::fields::map_entry::{KEY, VALUE};
use tfprof_proto::stream::{self, Layout, Record, Rule, Sink, Spot, Tag};
use tfprof_proto::wire::{Fields, Value, each_field, map_entry};

const FILE: Tag = 1;
const TRACE: Tag = 2;
const FRAME_BY_ID: Tag = 4;
const TRACE_OF_NAME: Tag = 5;
const TRACE_BY_ID: Tag = 6;

static LAYOUT: Layout = Layout {
    fields: &[
        (graph_debug_info::FILES, Rule::Take(FILE)),
        (graph_debug_info::TRACES, Rule::Take(TRACE)),
        (graph_debug_info::FRAMES_BY_ID, Rule::Take(FRAME_BY_ID)),
        (graph_debug_info::NAME_TO_TRACE_ID, Rule::Take(TRACE_OF_NAME)),
        (graph_debug_info::TRACES_BY_ID, Rule::Take(TRACE_BY_ID)),
    ],
};

/// Adds a `GraphDebugInfo` if traces are kept. Everything before damage counts.
pub fn read(input: &mut dyn Read, builder: &mut Builder) {
    if !builder.keep.traces {
        return;
    }
    let mut reader = DebugInfoReader { info: &mut builder.program.debug_info };
    if let Err(error) = stream::read(input, &LAYOUT, &mut reader) {
        builder.warn_damage("damaged", None, format!("the debug info is damaged ({error:?}); traces may be missing"));
    }
}

struct DebugInfoReader<'a> {
    info: &'a mut DebugInfo,
}

impl DebugInfoReader<'_> {
    /// The frames of a `StackTrace`: ids, or lines that are spelled out.
    fn trace(&mut self, trace: &[u8]) -> Vec<u64> {
        let mut ids = Vec::new();
        each_field(Fields::new(trace, 0), |_, number, value| match (number, value) {
            (stack_trace::FILE_LINE_COLS, Value::Bytes(bytes)) => {
                let id = self.info.new_id();
                self.info.frames.insert(id, source_line(bytes));
                ids.push(id);
            }
            (stack_trace::FRAME_ID, Value::Bytes(packed)) => {
                let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
                ids.extend(packed.chunks_exact(8).map(word));
            }
            (stack_trace::FRAME_ID, Value::Fixed64(id)) => ids.push(id),
            _ => {}
        });
        ids
    }
}

/// A `FileLineCol`.
fn source_line(bytes: &[u8]) -> SourceLine {
    let mut line = SourceLine::default();
    each_field(Fields::new(bytes, 0), |_, number, value| match (number, value) {
        (file_line_col::FILE_INDEX, Value::Varint(n)) => line.file = usize::try_from(n).unwrap_or(usize::MAX),
        (file_line_col::LINE, Value::Varint(n)) => line.number = n as i32,
        (file_line_col::FUNC, Value::Bytes(bytes)) => line.function = text(bytes),
        (file_line_col::CODE, Value::Bytes(bytes)) => line.code = text(bytes),
        _ => {}
    });
    line
}

/// Key and value of an entry whose key is a `fixed64`.
fn fixed64_entry(entry: &[u8]) -> (u64, &[u8]) {
    let (mut key, mut value) = (0, &b""[..]);
    each_field(Fields::new(entry, 0), |_, number, field| match (number, field) {
        (KEY, Value::Fixed64(n)) => key = n,
        (VALUE, Value::Bytes(bytes)) => value = bytes,
        _ => {}
    });
    (key, value)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl Sink for DebugInfoReader<'_> {
    fn take(&mut self, tag: Tag, record: Record<'_>) -> ControlFlow<()> {
        let Value::Bytes(bytes) = record.value else { return GO_ON };
        match tag {
            FILE => self.info.files.push(text(bytes)),
            FRAME_BY_ID => {
                let (id, frame) = fixed64_entry(bytes);
                self.info.frames.insert(id, source_line(frame));
            }
            TRACE_BY_ID => {
                let (id, trace) = fixed64_entry(bytes);
                let trace = self.trace(trace);
                self.info.traces.insert(id, trace);
            }
            TRACE_OF_NAME => {
                let (mut name, mut id) = (&b""[..], 0);
                each_field(Fields::new(bytes, 0), |_, number, value| match (number, value) {
                    (KEY, Value::Bytes(bytes)) => name = bytes,
                    (VALUE, Value::Fixed64(n)) => id = n,
                    _ => {}
                });
                self.info.trace_of_node.insert(text(name), id);
            }
            _ => {
                let (name, trace) = map_entry(bytes);
                let trace = self.trace(trace.unwrap_or_default());
                let id = self.info.new_id();
                self.info.traces.insert(id, trace);
                self.info.trace_of_node.insert(text(name), id);
            }
        }
        GO_ON
    }

    fn warn(&mut self, _: Spot, _: String) {}
}
