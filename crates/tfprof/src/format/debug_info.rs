//! `GraphDebugInfo`: where in the source the nodes of a graph and of its functions were made.

use super::driver::GO_ON;
use crate::model::names::{NameId, Names};
use crate::model::stacks::{Frame, FrameId, StackId, Stacks};
use rustc_hash::FxHashMap;
use std::io::Read;
use std::ops::ControlFlow;
use tfprof_proto::lenient::{each_quietly, map_entry};
use tfprof_proto::stream::{self, Layout, Record, Rule, Sink, Spot, StreamError, Tag};
use tfprof_proto::wire::{Fields, Value};

const FILE: Tag = 1;
const TRACE: Tag = 2;
const FRAME_OF_ID: Tag = 4;
const TRACE_OF_NAME: Tag = 5;
const TRACE_OF_ID: Tag = 6;

static LAYOUT: Layout = Layout {
    fields: &[
        (1, Rule::Take(FILE)),
        (2, Rule::Take(TRACE)),
        (4, Rule::Take(FRAME_OF_ID)),
        (5, Rule::Take(TRACE_OF_NAME)),
        (6, Rule::Take(TRACE_OF_ID)),
    ],
};

/// Traces by the names of nodes: `node`, or `node@function`.
#[derive(Debug, Default)]
pub struct DebugInfo {
    files: Vec<String>,
    frames: FxHashMap<u64, Line>,
    traces: FxHashMap<u64, Vec<u64>>,
    names: FxHashMap<String, u64>,
    /// Frames and traces that have no numbers of their own get some from the end of all numbers.
    spelled_out: u64,
}

#[derive(Clone, Debug, Default)]
struct Line {
    file: usize,
    number: i32,
    function: String,
    code: String,
}

impl DebugInfo {
    /// Reads a message; what comes before damage counts.
    pub fn read(&mut self, input: &mut dyn Read) -> Result<(), StreamError> {
        stream::read(input, &LAYOUT, self).map(|_| ())
    }

    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The call stack of a node of the graph, or of a function.
    pub fn stack(&self, node: &str, function: Option<&str>, names: &mut Names, stacks: &mut Stacks) -> Option<StackId> {
        let trace = match function {
            Some(function) => self.names.get(&format!("{node}@{function}")),
            None => self.names.get(node).or_else(|| self.names.get(&format!("{node}@"))),
        }?;
        let mut stack = StackId::EMPTY;
        for id in self.traces.get(trace)? {
            let Some(line) = self.frames.get(id) else { continue };
            let frame = self.frame(line, names, stacks);
            stack = stacks.push(stack, frame);
        }
        stack.has_frames().then_some(stack)
    }

    fn frame(&self, line: &Line, names: &mut Names, stacks: &mut Stacks) -> FrameId {
        let mut name = |text: &str| if text.is_empty() { NameId::EMPTY } else { names.intern(text) };
        let file = name(self.files.get(line.file).map_or("", String::as_str));
        let (function, code) = (name(&line.function), name(&line.code));
        stacks.intern_frame(Frame {
            file,
            function,
            line: code,
            lineno: line.number,
            function_start: -1,
            string_ids: [0; 3],
        })
    }

    /// The frames of a `StackTrace`: numbers, or lines that are spelled out.
    fn trace(&mut self, trace: &[u8]) -> Vec<u64> {
        let mut ids = Vec::new();
        each_quietly(Fields::new(trace, 0), |_, number, value| match (number, value) {
            (1, Value::Bytes(bytes)) => {
                self.spelled_out += 1;
                let id = u64::MAX - self.spelled_out;
                self.frames.insert(id, line(bytes));
                ids.push(id);
            }
            (2, Value::Bytes(packed)) => {
                let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
                ids.extend(packed.chunks_exact(8).map(word));
            }
            (2, Value::Fixed64(id)) => ids.push(id),
            _ => {}
        });
        ids
    }
}

/// A `FileLineCol`.
fn line(bytes: &[u8]) -> Line {
    let mut line = Line::default();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    each_quietly(Fields::new(bytes, 0), |_, number, value| match (number, value) {
        (1, Value::Varint(n)) => line.file = usize::try_from(n).unwrap_or(usize::MAX),
        (2, Value::Varint(n)) => line.number = n as i32,
        (4, Value::Bytes(bytes)) => line.function = text(bytes),
        (5, Value::Bytes(bytes)) => line.code = text(bytes),
        _ => {}
    });
    line
}

/// Key and value of an entry whose key is a `fixed64`.
fn numbered(entry: &[u8]) -> (u64, &[u8]) {
    let (mut key, mut value) = (0, &b""[..]);
    each_quietly(Fields::new(entry, 0), |_, number, field| match (number, field) {
        (1, Value::Fixed64(n)) => key = n,
        (2, Value::Bytes(bytes)) => value = bytes,
        _ => {}
    });
    (key, value)
}

impl Sink for DebugInfo {
    fn take(&mut self, tag: Tag, record: Record<'_>) -> ControlFlow<()> {
        let Value::Bytes(bytes) = record.value else { return GO_ON };
        match tag {
            FILE => self.files.push(String::from_utf8_lossy(bytes).into_owned()),
            FRAME_OF_ID => {
                let (id, frame) = numbered(bytes);
                self.frames.insert(id, line(frame));
            }
            TRACE_OF_ID => {
                let (id, trace) = numbered(bytes);
                let trace = self.trace(trace);
                self.traces.insert(id, trace);
            }
            TRACE_OF_NAME => {
                let (mut name, mut id) = (&b""[..], 0);
                each_quietly(Fields::new(bytes, 0), |_, number, value| match (number, value) {
                    (1, Value::Bytes(bytes)) => name = bytes,
                    (2, Value::Fixed64(n)) => id = n,
                    _ => {}
                });
                self.names.insert(String::from_utf8_lossy(name).into_owned(), id);
            }
            _ => {
                let (name, trace) = map_entry(bytes);
                let (name, trace) = (String::from_utf8_lossy(name).into_owned(), self.trace(trace.unwrap_or_default()));
                self.spelled_out += 1;
                let id = u64::MAX - self.spelled_out;
                self.traces.insert(id, trace);
                self.names.insert(name, id);
            }
        }
        GO_ON
    }

    fn warn(&mut self, _: Spot, _: String) {}
}
