//! Reads a `ProfileProto`.

mod executions;
mod merge;
mod messages;

use super::own_fields::{DECLARED_DEVICE, INPUT_OUTPUTS};
use crate::error::Error;
use crate::format::detect::{Head, is_name};
use crate::format::driver::{FormatReader, drive};
use crate::format::op_log::Traces;
use crate::format::source::Source;
use crate::model::builder::Builder;
use crate::model::devices::DeviceId;
use crate::model::names::NameId;
use crate::model::nodes::{Input, NO_INPUT, NodeId, ShapeId};
use crate::model::stacks::StackId;
use executions::Executions;
use merge::{Definition, Merge};
use messages::indexed_tuple;
use rustc_hash::FxHashMap;
use tfprof_proto::lenient::{each_quietly, int_entry, map_entry, next_quietly};
use tfprof_proto::node_def::Attribute;
use tfprof_proto::schema;
use tfprof_proto::stream::{Layout, Record, Rule, Tag};
use tfprof_proto::wire::{Fields, Value, each_int};

const NODE: Tag = 1;
const HAS_TRACE: Tag = 2;
const STEPS: Tag = 3;
const STRING: Tag = 4;
const MISSES_STREAMS: Tag = 5;

static PROFILE: Layout = Layout {
    fields: &[
        (1, Rule::Take(NODE)),
        (2, Rule::Take(HAS_TRACE)),
        (3, Rule::Take(STEPS)),
        (4, Rule::Take(STRING)),
        (5, Rule::Take(MISSES_STREAMS)),
    ],
};

/// Reads a `ProfileProto`.
pub fn read(source: Source<'_>, _step: i64, builder: &mut Builder) -> Result<(), Error> {
    drive(source, &schema::PROFILE, &PROFILE, ProfileReader::new(builder))
}

/// A `ProfileProto` starts with a node, which starts with its number and a message. A plane starts with its number and a
/// name.
pub fn recognizes(head: &Head<'_>) -> bool {
    let starts_with_number = matches!((head.field, head.first), ((1, Value::Bytes(_)), Some((1, Value::Varint(_)))));
    let is_plane = matches!(head.second, Some((2, Value::Bytes(name))) if !name.is_empty() && is_name(name));
    starts_with_number && !is_plane
}

struct ProfileReader<'b> {
    builder: &'b mut Builder,
    traces: Traces,
    executions: Executions,
    /// The first node of this file.
    first: NodeId,
    /// The name of each node by its number in the file, and the numbers that inputs speak of.
    name_of: FxHashMap<i64, NameId>,
    sources: Vec<i64>,
    merge: Merge,
}

/// A `ProfileNode`.
struct Parts<'f> {
    name: NameId,
    op: NameId,
    definition: Definition<'f>,
    /// From the first field on that says what ran.
    executions: Option<Fields<'f>>,
}

impl<'b> ProfileReader<'b> {
    pub fn new(builder: &'b mut Builder) -> Self {
        let first = NodeId(builder.model.nodes.len() as u32);
        ProfileReader {
            builder,
            traces: Traces::default(),
            executions: Executions::default(),
            first,
            name_of: FxHashMap::default(),
            sources: Vec::new(),
            merge: Merge::default(),
        }
    }

    /// An entry of the map from number to node.
    fn entry(&mut self, entry: Fields<'_>) {
        let (mut id, mut node) = (0, None);
        each_quietly(entry, |all, number, value| match (number, value) {
            (1, Value::Varint(n)) => id = n as i64,
            (2, Value::Bytes(bytes)) => node = Some(all.nested(bytes)),
            _ => {}
        });
        if let Some(fields) = node {
            self.node(id, fields);
        }
    }

    fn node(&mut self, id: i64, fields: Fields<'_>) {
        let Parts { name, op, definition, executions } = self.take_apart(fields);
        if self.keeps_inputs() {
            self.name_of.insert(id, name);
        }
        let node = match self.builder.add_node(name, op) {
            Some(node) => {
                if self.first.index() == 0 {
                    self.builder.model.saved_ids.push(id);
                }
                self.define(node, definition);
                node
            }
            None => {
                let node = self.builder.model.node(name).unwrap_or(NodeId(0));
                // Of two nodes of one name in one file the first counts; what was measured adds up.
                if node < self.first {
                    self.merge.add(node, op, definition, self.builder);
                }
                node
            }
        };
        let Some(executions) = executions else { return };
        self.executions.begin_node(node);
        each_quietly(executions, |all, number, value| {
            if let (12, Value::Bytes(entry)) = (number, value) {
                self.executions.add(node, all.nested(entry), self.builder);
            }
        });
        self.executions.end_node(node);
    }

    /// What is known of a node from another file is compared with what this one says, so all of it is needed.
    fn compares(&self) -> bool {
        self.first.index() > 0
    }

    fn keeps_inputs(&self) -> bool {
        self.builder.keep.inputs || self.compares()
    }

    /// Reads `ProfileNode` but for what ran.
    fn take_apart<'f>(&mut self, mut fields: Fields<'f>) -> Parts<'f> {
        let offset = fields.offset();
        let all = fields.clone();
        let keep = self.builder.keep;
        let (keeps_inputs, keeps_shapes) = (self.keeps_inputs(), keep.output_shapes || self.compares());
        let (mut name, mut op, mut device) = (&b""[..], &b""[..], &b""[..]);
        let mut found = Definition { offset, ..Definition::default() };
        let mut inputs = Vec::new();
        let mut output_of = FxHashMap::default();
        let mut output_of_input = Vec::new();
        let mut executions = None;
        loop {
            let here = fields.clone();
            let Some(field) = next_quietly(&mut fields) else { break };
            match (field.number, field.value) {
                (1, Value::Bytes(bytes)) => name = bytes,
                (9, Value::Bytes(bytes)) => op = bytes,
                (6, Value::Bytes(bytes)) => device = bytes,
                (12, _) => drop(executions.get_or_insert(here)),
                (2, Value::Bytes(entry)) if keeps_inputs => inputs.push(int_entry(all.nested(entry))),
                (14, Value::Bytes(entry)) if keeps_inputs => {
                    let (source, output) = int_entry(all.nested(entry));
                    output_of.insert(source, output);
                }
                (INPUT_OUTPUTS, value) if keeps_inputs => drop(each_int(value, |n| output_of_input.push(n))),
                (4, value) => drop(each_int(value, |n| found.dims.push(n))),
                (5, Value::Bytes(ty)) => found.types.push(self.builder.name(ty, offset)),
                (8, Value::Varint(n)) => found.float_ops = n as i64,
                (10, Value::Bytes(code)) => {
                    let stack =
                        if keep.traces { self.traces.stack(&all.nested(code), self.builder) } else { StackId::EMPTY };
                    found.stack = Some(stack);
                }
                (11, Value::Bytes(entry)) if keep.attributes => {
                    let (key, value) = map_entry(entry);
                    found.attributes.push(Attribute { key, value });
                }
                (DECLARED_DEVICE, Value::Bytes(device)) => {
                    found.declared_device = self.builder.name(&device.to_ascii_lowercase(), offset);
                }
                (15, Value::Bytes(entry)) if keeps_shapes => found.output_shapes.push(indexed_tuple(all.nested(entry))),
                _ => {}
            }
        }
        if !device.is_empty() {
            let device = self.builder.device(device);
            let name = self.builder.model.devices.name(device);
            found.types.retain(|ty| *ty != name);
            found.device = Some(device);
        }
        // A map may skip numbers. No honest one skips more than its own bytes could have held.
        let length = all.rest().len() as i64;
        found.output_shapes.retain(|(index, _)| (0..=length).contains(index));
        found.output_shapes.sort_by_key(|(index, _)| *index);
        inputs.retain(|(index, _)| (0..=length).contains(index));
        inputs.sort_by_key(|(index, _)| *index);
        found.inputs.extend(inputs.into_iter().map(|(index, source)| {
            let output = output_of_input.get(index as usize).or_else(|| output_of.get(&source)).copied().unwrap_or(0);
            (index, source, u32::try_from(output).unwrap_or(0))
        }));
        let name = self.builder.name(name, offset);
        let op = self.builder.name(op, offset);
        Parts { name, op, definition: found, executions }
    }

    /// Gives the node that was added last what the file says of it.
    fn define(&mut self, node: NodeId, definition: Definition<'_>) {
        let builder = &mut *self.builder;
        builder.set_attributes(node, &definition.attributes, definition.offset);
        definition.types.iter().for_each(|ty| builder.add_type(node, *ty));
        let shape = builder.shape(&definition.dims);
        let nodes = &mut builder.model.nodes;
        nodes.shape[node.index()] = shape;
        nodes.float_ops[node.index()] = definition.float_ops;
        nodes.declared_device[node.index()] = definition.declared_device;
        builder.model.placement[node.index()] = definition.device.unwrap_or(DeviceId::NONE);
        if let Some(stack) = definition.stack {
            self.traces.push(node, stack);
        }
        for (index, dims) in definition.output_shapes {
            let shape = builder.shape(&dims);
            let nodes = &mut builder.model.nodes;
            while (nodes.output_shapes(node).len() as i64) < index {
                nodes.push_output_shape(ShapeId::EMPTY);
            }
            nodes.push_output_shape(shape);
        }
        for (index, source, output) in definition.inputs {
            let nodes = &mut builder.model.nodes;
            while (nodes.inputs(node).len() as i64) < index {
                nodes.push_input(NO_INPUT);
            }
            // The source is named once all nodes are known; until then its place in the list stands for it.
            nodes.push_input(Input { source: NameId(self.sources.len() as u32), output });
            self.sources.push(source);
        }
    }
}

impl FormatReader for ProfileReader<'_> {
    fn take(&mut self, tag: Tag, record: Record<'_>) {
        match (tag, record.value) {
            (NODE, Value::Bytes(entry)) => self.entry(Fields::new(entry, record.offset)),
            (MISSES_STREAMS, Value::Varint(n)) => self.builder.model.saved_without_streams |= n != 0,
            (HAS_TRACE, Value::Varint(n)) => self.builder.model.has_traces |= n != 0,
            (STEPS, value) => drop(each_int(value, |step| self.executions.meet_step(step))),
            (STRING, Value::Bytes(entry)) => self.traces.string(Fields::new(entry, record.offset), self.builder),
            _ => {}
        }
    }

    fn finish(&mut self) {
        let has_traces = self.builder.model.has_traces;
        let placed = std::mem::take(&mut self.traces).finish(self.builder);
        // A saved model may have a trace without frames on every node; only the flag says that there were any.
        self.builder.model.has_traces = has_traces;
        if self.first.index() < self.builder.model.nodes.len() {
            let (sources, name_of) = (&self.sources, &self.name_of);
            self.builder.model.nodes.resolve_inputs(self.first, |input| {
                let source = sources.get(input.source.index()).and_then(|id| name_of.get(id));
                *input = source.map_or(NO_INPUT, |source| Input { source: *source, ..*input });
            });
        }
        std::mem::take(&mut self.merge).finish(&self.name_of, &placed, self.builder);
        std::mem::take(&mut self.executions).finish(self.builder);
    }

    fn builder(&mut self) -> &mut Builder {
        self.builder
    }
}
