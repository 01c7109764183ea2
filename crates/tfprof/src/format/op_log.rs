//! `OpLogProto`: types, FLOPs and call stacks of nodes.

use super::detect::{Head, is_name};
use super::{FormatReader, drive};
use crate::error::Error;
use crate::format::source::Source;
use crate::hash::UntrustedMap;
use crate::model::builder::Builder;
use crate::model::name_order::common_length;
use crate::model::names::NameId;
use crate::model::nodes::NodeId;
use crate::model::stacks::{FrameId, StackId, Stacks, StringIds};
use tfprof_proto::fields::map_entry::KEY;
use tfprof_proto::fields::{code_def, code_def::trace, op_log, op_log_entry};
use tfprof_proto::schema;
use tfprof_proto::stream::{Layout, Record, Rule, Spot, Tag};
use tfprof_proto::wire::{Fields, Value, each_field, int_keyed_entry, last_bytes, next_field};

const ENTRY: Tag = 1;
const STRING: Tag = 2;

static LOG: Layout =
    Layout { fields: &[(op_log::LOG_ENTRIES, Rule::Take(ENTRY)), (op_log::ID_TO_STRING, Rule::Take(STRING))] };

/// Reads an `OpLogProto`.
pub fn read(source: Source<'_>, _step: i64, builder: &mut Builder) -> Result<(), Error> {
    drive(source, &schema::OP_LOG, &LOG, OpLogReader::new(builder))
}

/// An `OpLogProto` starts with an entry, which starts with the name of a node, or with a numbered string.
pub fn recognizes(head: &Head<'_>) -> bool {
    match (head.field, head.first, head.second) {
        ((op_log::ID_TO_STRING, Value::Bytes(_)), Some((KEY, Value::Varint(_))), _) => true,
        (
            (op_log::LOG_ENTRIES, Value::Bytes(_)),
            Some((op_log_entry::NAME, Value::Bytes(name))),
            Some(
                (op_log_entry::FLOAT_OPS, Value::Varint(_))
                | (op_log_entry::TYPES | op_log_entry::CODE_DEF, Value::Bytes(_)),
            ),
        ) => is_name(name),
        _ => false,
    }
}

struct OpLogReader<'b> {
    builder: &'b mut Builder,
    call_stacks: CallStacks,
    /// The node of the previous entry: where to look first for the next.
    last_node: u32,
}

/// Call stacks of a log or a profile. Their strings stay numbers until the end of the file, where the strings are.
#[derive(Default)]
pub(super) struct CallStacks {
    stacks: Stacks,
    entries: Vec<(NodeId, StackId)>,
    strings: UntrustedMap<i64, NameId>,
    /// The count of strings without a number. Logs of 2017 contain the strings themselves; see
    /// [`number_string`](Self::number_string).
    unnumbered: i64,
    /// Frames by their bytes: most frames of a log occur many times.
    frames: UntrustedMap<Box<[u8]>, FrameId>,
    /// The bytes of the previous stack, and for each of its frames the end in these bytes and the path up to it.
    last_code: Vec<u8>,
    last_paths: Vec<(usize, StackId)>,
}

impl<'b> OpLogReader<'b> {
    pub fn new(builder: &'b mut Builder) -> Self {
        OpLogReader { builder, call_stacks: CallStacks::default(), last_node: 0 }
    }

    fn entry(&mut self, fields: Fields<'_>) {
        let name = last_bytes(fields.clone(), op_log_entry::NAME).unwrap_or_default();
        let Some(node) = self.builder.node_near(self.last_node, name) else { return };
        self.last_node = node.0;
        let mut call_stack = None;
        each_field(fields, |all, number, value| match (number, value) {
            // As the original: the last number that is not zero counts.
            (op_log_entry::FLOAT_OPS, Value::Varint(n)) if n != 0 => {
                let count = n as i64;
                self.builder.model.nodes.float_ops[node.index()] = count;
                if count < 0 {
                    let name = self.builder.model.name(node).to_owned();
                    let message = || format!("`{name}` has {count} FLOPs");
                    self.builder.warn("negative_count", Some(Spot::Byte(all.offset())), message);
                }
            }
            (op_log_entry::TYPES, Value::Bytes(ty)) => {
                let ty = self.builder.common_name(ty, all.offset());
                self.builder.add_type(node, ty);
            }
            (op_log_entry::CODE_DEF, Value::Bytes(code)) => {
                let stack = if self.builder.keep.traces {
                    self.call_stacks.stack(&all.nested(code), self.builder)
                } else {
                    StackId::EMPTY
                };
                call_stack = Some(stack);
            }
            _ => {}
        });
        if let Some(stack) = call_stack {
            self.call_stacks.push(node, stack);
        }
    }
}

impl CallStacks {
    /// Reads a `CodeDef`: frames from the outermost to the innermost.
    pub(super) fn stack(&mut self, code: &Fields<'_>, builder: &mut Builder) -> StackId {
        let (bytes, offset) = (code.rest(), code.offset());
        // The stacks of one program share their outer frames, so decode only those that differ from the previous stack.
        let common = common_length(&self.last_code, bytes);
        let shared = self.last_paths.partition_point(|(end, _)| *end <= common);
        self.last_paths.truncate(shared);
        let (skip, mut stack) = self.last_paths.last().copied().unwrap_or((0, StackId::EMPTY));
        self.last_code.truncate(skip);
        self.last_code.extend_from_slice(&bytes[skip..]);
        let mut fields = Fields::new(&bytes[skip..], offset + skip as u64);
        let all = fields.clone();
        while let Some(field) = next_field(&mut fields) {
            if let (code_def::TRACES, Value::Bytes(trace)) = (field.number, field.value) {
                let seen = self.frames.get(trace).copied();
                let frame = seen.unwrap_or_else(|| self.frame(all.nested(trace), builder));
                stack = self.stacks.push(stack, frame);
                self.last_paths.push((bytes.len() - fields.rest().len(), stack));
            }
        }
        stack
    }

    /// Reads a `CodeDef.Trace` that occurs for the first time.
    fn frame(&mut self, trace: Fields<'_>, builder: &mut Builder) -> FrameId {
        let bytes = trace.rest();
        let mut ids = StringIds::default();
        let (mut lineno, mut function_start) = (0, 0);
        each_field(trace, |all, number, value| match (number, value) {
            (trace::LINENO, Value::Varint(n)) => lineno = n as i32,
            (trace::FUNC_START_LINE, Value::Varint(n)) => function_start = n as i32,
            (trace::FILE_ID, Value::Varint(n)) => ids.file = n as i64,
            (trace::FUNCTION_ID, Value::Varint(n)) => ids.function = n as i64,
            (trace::LINE_ID, Value::Varint(n)) => ids.line = n as i64,
            (trace::FILE, Value::Bytes(text)) => ids.file = self.number_string(text, all.offset(), builder),
            (trace::FUNCTION, Value::Bytes(text)) => ids.function = self.number_string(text, all.offset(), builder),
            (trace::LINE, Value::Bytes(text)) => ids.line = self.number_string(text, all.offset(), builder),
            _ => {}
        });
        let frame = self.stacks.intern_frame(Builder::unresolved_frame(ids, lineno, function_start));
        self.frames.insert(bytes.into(), frame);
        frame
    }

    /// Gives a string without a number one that is below all numbers of logs.
    fn number_string(&mut self, text: &[u8], offset: u64, builder: &mut Builder) -> i64 {
        self.unnumbered += 1;
        let id = i64::MIN / 2 - self.unnumbered;
        self.strings.insert(id, builder.name(text, offset));
        id
    }

    pub(super) fn push(&mut self, node: NodeId, stack: StackId) {
        self.entries.push((node, stack));
    }

    /// An entry of `id_to_string`.
    pub(super) fn string(&mut self, entry: Fields<'_>, builder: &mut Builder) {
        let offset = entry.offset();
        let (id, text) = int_keyed_entry(entry);
        let name = builder.name(text.as_ref().map_or(b"", Fields::rest), offset);
        self.strings.insert(id, name);
    }

    /// Adds the stacks to the model and returns for each stack of the file its id there.
    pub(super) fn finish(self, builder: &mut Builder) -> Vec<StackId> {
        let mut ids: Vec<_> = self.strings.iter().map(|(id, name)| (*id, *name)).collect();
        ids.sort_unstable();
        for (id, name) in ids {
            builder.model.first_strings.entry(id).or_insert(name);
        }
        builder.end_log(&self.stacks, &self.entries, &self.strings)
    }
}

impl FormatReader for OpLogReader<'_> {
    fn take(&mut self, tag: Tag, record: Record<'_>) {
        let Value::Bytes(bytes) = record.value else { return };
        let fields = Fields::new(bytes, record.offset);
        match tag {
            ENTRY => self.entry(fields),
            _ => self.call_stacks.string(fields, self.builder),
        }
    }

    fn finish(&mut self) {
        std::mem::take(&mut self.call_stacks).finish(self.builder);
    }

    fn builder(&mut self) -> &mut Builder {
        self.builder
    }
}
