//! Call stacks of an op log: frames refer to strings by id.

use super::Traces;
use crate::hash::UntrustedMap;
use tfprof_proto::fields::code_def::{self, trace};
use tfprof_proto::fields::map_entry::{KEY, VALUE};
use tfprof_proto::fields::op_log;
use tfprof_proto::wire::{Fields, Value, each_field};
use tfprof_proto::write as pb;

/// The strings that frames refer to by id, and the frames themselves. Id 0 stands for an unknown string.
pub struct Strings<'a> {
    ids: UntrustedMap<&'a str, i64>,
    all: Vec<&'a str>,
    /// The bytes of each frame that is used, as a field of a `CodeDef`.
    frames: Vec<Vec<u8>>,
}

impl Default for Strings<'_> {
    fn default() -> Self {
        Strings { ids: UntrustedMap::from_iter([("none", 0)]), all: vec!["none"], frames: Vec::new() }
    }
}

/// Copies the strings of a log.
pub fn copy(log: &[u8], out: &mut Vec<u8>) {
    each_field(Fields::new(log, 0), |_, number, value| {
        if let (op_log::ID_TO_STRING, Value::Bytes(entry)) = (number, value) {
            pb::element(out, op_log::ID_TO_STRING, entry);
        }
    });
}

impl<'a> Strings<'a> {
    fn id(&mut self, text: &'a str) -> i64 {
        if text.is_empty() {
            return 0;
        }
        let next = self.all.len() as i64;
        let id = *self.ids.entry(text).or_insert(next);
        if id == next {
            self.all.push(text);
        }
        id
    }

    /// The `CodeDef` of a node.
    pub fn code(&mut self, traces: &'a Traces, node: &[u8]) -> Vec<u8> {
        self.frames.resize_with(traces.frames.len(), Vec::new);
        let mut out = Vec::new();
        let frames = std::str::from_utf8(node).ok().and_then(|node| traces.nodes.get(node));
        for frame in frames.into_iter().flatten() {
            let at = *frame as usize;
            let Some(frame) = traces.frames.get(at) else { continue };
            if self.frames[at].is_empty() {
                let [file, function, line] = [&frame.file, &frame.function, &frame.line].map(|text| self.id(text));
                let lineno = if frame.line_number == 0 { -1 } else { frame.line_number };
                pb::message(&mut self.frames[at], code_def::TRACES, |out| {
                    pb::int(out, trace::LINENO, lineno);
                    pb::int(out, trace::FUNC_START_LINE, -1);
                    pb::int(out, trace::FILE_ID, file);
                    pb::int(out, trace::FUNCTION_ID, function);
                    pb::int(out, trace::LINE_ID, line);
                });
            }
            out.extend_from_slice(&self.frames[at]);
        }
        out
    }

    pub fn write(&self, out: &mut Vec<u8>) {
        for (id, text) in self.all.iter().enumerate() {
            pb::message(out, op_log::ID_TO_STRING, |out| {
                pb::key(out, KEY, 0);
                pb::varint(out, id as u64);
                pb::element(out, VALUE, text.as_bytes());
            });
        }
    }
}
