//! `OpLogProto`: types, float operations and code traces of nodes.

use super::detect::{Head, is_name};
use super::driver::{FormatReader, drive};
use crate::error::Error;
use crate::format::source::Source;
use crate::model::builder::Builder;
use crate::model::name_order::common_length;
use crate::model::names::NameId;
use crate::model::nodes::NodeId;
use crate::model::stacks::{FrameId, StackId, Stacks};
use rustc_hash::FxHashMap;
use tfprof_proto::lenient::{each_quietly, next_quietly};
use tfprof_proto::schema;
use tfprof_proto::stream::{Layout, Record, Rule, Spot, Tag};
use tfprof_proto::wire::{Fields, Value};

const ENTRY: Tag = 1;
const STRING: Tag = 2;

static LOG: Layout = Layout { fields: &[(1, Rule::Take(ENTRY)), (2, Rule::Take(STRING))] };

/// Reads an `OpLogProto`.
pub fn read(source: Source<'_>, _step: i64, builder: &mut Builder) -> Result<(), Error> {
    drive(source, &schema::OP_LOG, &LOG, Reader::new(builder))
}

/// An `OpLogProto` starts with an entry, which starts with the name of a node, or with a numbered string.
pub fn recognizes(head: &Head<'_>) -> bool {
    match (head.field, head.first, head.second) {
        ((2, Value::Bytes(_)), Some((1, Value::Varint(_))), _) => true,
        (
            (1, Value::Bytes(_)),
            Some((1, Value::Bytes(name))),
            Some((2, Value::Varint(_)) | (3 | 4, Value::Bytes(_))),
        ) => is_name(name),
        _ => false,
    }
}

struct Reader<'b> {
    builder: &'b mut Builder,
    traces: Traces,
    /// The node of the entry before.
    last: u32,
}

/// Call stacks whose strings are still numbers: the strings stand behind them in the file.
#[derive(Default)]
pub(super) struct Traces {
    stacks: Stacks,
    entries: Vec<(NodeId, StackId)>,
    strings: FxHashMap<i64, NameId>,
    /// Logs of 2017 spelled strings out; each gets a number below all others.
    spelled_out: i64,
    /// By the bytes that spell them: most frames of a log were there before.
    frames: FxHashMap<Box<[u8]>, FrameId>,
    /// The stack before: its bytes, and where each of its frames ends with the path up to there.
    last_code: Vec<u8>,
    last_paths: Vec<(usize, StackId)>,
}

impl<'b> Reader<'b> {
    pub fn new(builder: &'b mut Builder) -> Self {
        Reader { builder, traces: Traces::default(), last: 0 }
    }

    fn entry(&mut self, fields: Fields<'_>) {
        let mut name = &b""[..];
        each_quietly(fields.clone(), |_, number, value| {
            if let (1, Value::Bytes(bytes)) = (number, value) {
                name = bytes;
            }
        });
        let Some(node) = self.builder.model.node_near(self.last, name) else { return };
        self.last = node.0;
        let mut trace = None;
        each_quietly(fields, |all, number, value| match (number, value) {
            // As the original: the last number that is not zero counts.
            (2, Value::Varint(n)) if n != 0 => {
                let count = n as i64;
                self.builder.model.nodes.float_ops[node.index()] = count;
                if count < 0 {
                    let name = self.builder.model.name(node).to_owned();
                    let message = || format!("`{name}` has {count} float operations");
                    self.builder.warn("negative_count", Some(Spot::Byte(all.offset())), message);
                }
            }
            (3, Value::Bytes(ty)) => {
                let ty = self.builder.name(ty, all.offset());
                self.builder.add_type(node, ty);
            }
            (4, Value::Bytes(code)) => {
                let stack = if self.builder.keep.traces {
                    self.traces.stack(&all.nested(code), self.builder)
                } else {
                    StackId::EMPTY
                };
                trace = Some(stack);
            }
            _ => {}
        });
        if let Some(stack) = trace {
            self.traces.entries.push((node, stack));
        }
    }
}

impl Traces {
    /// `CodeDef`: frames from the outermost to the innermost.
    pub(super) fn stack(&mut self, code: &Fields<'_>, builder: &mut Builder) -> StackId {
        let (bytes, offset) = (code.rest(), code.offset());
        // Calls of one program begin alike: what is the same as in the stack before need not be read again.
        let common = common_length(&self.last_code, bytes);
        let known = self.last_paths.partition_point(|(end, _)| *end <= common);
        self.last_paths.truncate(known);
        let (skip, mut stack) = self.last_paths.last().copied().unwrap_or((0, StackId::EMPTY));
        self.last_code.truncate(skip);
        self.last_code.extend_from_slice(&bytes[skip..]);
        let mut fields = Fields::new(&bytes[skip..], offset + skip as u64);
        let all = fields.clone();
        while let Some(field) = next_quietly(&mut fields) {
            if let (1, Value::Bytes(trace)) = (field.number, field.value) {
                let known = self.frames.get(trace).copied();
                let frame = known.unwrap_or_else(|| self.frame(all.nested(trace), builder));
                stack = self.stacks.push(stack, frame);
                self.last_paths.push((bytes.len() - fields.rest().len(), stack));
            }
        }
        stack
    }

    /// `CodeDef.Trace`, one that is new.
    fn frame(&mut self, trace: Fields<'_>, builder: &mut Builder) -> FrameId {
        let bytes = trace.rest();
        let (mut ids, mut lineno, mut start) = ([0_i64; 3], 0, 0);
        each_quietly(trace, |all, number, value| match (number, value) {
            (2, Value::Varint(n)) => lineno = n as i32,
            (5, Value::Varint(n)) => start = n as i32,
            (6..=8, Value::Varint(n)) => ids[number as usize - 6] = n as i64,
            (1 | 3 | 4, Value::Bytes(text)) => {
                let place = [0, 0, 0, 1, 2][number as usize];
                self.spelled_out -= 1;
                let id = i64::MIN / 2 + self.spelled_out;
                self.strings.insert(id, builder.name(text, all.offset()));
                ids[place] = id;
            }
            _ => {}
        });
        let frame = self.stacks.intern_frame(Builder::unresolved_frame(ids, lineno, start));
        self.frames.insert(bytes.into(), frame);
        frame
    }

    pub(super) fn push(&mut self, node: NodeId, stack: StackId) {
        self.entries.push((node, stack));
    }

    /// An entry of `id_to_string`.
    pub(super) fn string(&mut self, entry: Fields<'_>, builder: &mut Builder) {
        let (mut id, mut text) = (0, &b""[..]);
        let offset = entry.offset();
        each_quietly(entry, |_, number, value| match (number, value) {
            (1, Value::Varint(n)) => id = n as i64,
            (2, Value::Bytes(bytes)) => text = bytes,
            _ => {}
        });
        let name = builder.name(text, offset);
        self.strings.insert(id, name);
    }

    /// Says what each stack of the log became.
    pub(super) fn finish(self, builder: &mut Builder) -> Vec<StackId> {
        let mut ids: Vec<_> = self.strings.iter().map(|(id, name)| (*id, *name)).collect();
        ids.sort_unstable();
        for (id, name) in ids {
            builder.model.first_strings.entry(id).or_insert(name);
        }
        builder.end_log(&self.stacks, &self.entries, &self.strings)
    }
}

impl FormatReader for Reader<'_> {
    fn take(&mut self, tag: Tag, record: Record<'_>) {
        let Value::Bytes(bytes) = record.value else { return };
        let fields = Fields::new(bytes, record.offset);
        match tag {
            ENTRY => self.entry(fields),
            _ => self.traces.string(fields, self.builder),
        }
    }

    fn finish(&mut self) {
        std::mem::take(&mut self.traces).finish(self.builder);
    }

    fn builder(&mut self) -> &mut Builder {
        self.builder
    }
}
