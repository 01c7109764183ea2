//! Reads a `ProfileProto`.

mod executions;
mod merge;
mod messages;
mod quick;

use super::own_fields::{COSTS, DECLARED_DEVICE, INPUT_OUTPUTS};
use crate::error::Error;
use crate::format::detect::{Head, is_name};
use crate::format::op_log::CallStacks;
use crate::format::source::Source;
use crate::format::{FormatReader, drive};
use crate::hash::UntrustedMap;
use crate::model::builder::Builder;
use crate::model::costs::NodeCosts;
use crate::model::devices::DeviceId;
use crate::model::names::NameId;
use crate::model::nodes::{Input, NO_INPUT, NodeId, ShapeId};
use crate::model::stacks::StackId;
use executions::Executions;
use merge::{Definition, Merge, SavedInput};
use messages::shape_entry;
use tfprof_proto::fields::map_entry::KEY;
use tfprof_proto::fields::{profile, profile_node as field, xplane};
use tfprof_proto::node_def::Attribute;
use tfprof_proto::schema;
use tfprof_proto::stream::{Layout, Record, Rule, Tag};
use tfprof_proto::wire::{Fields, Value, each_field, each_int, int_entry, int_keyed_entry, map_entry, next_field};

const NODE: Tag = 1;
const HAS_TRACE: Tag = 2;
const STEPS: Tag = 3;
const STRING: Tag = 4;
const MISSES_STREAMS: Tag = 5;

static PROFILE: Layout = Layout {
    fields: &[
        (profile::NODES, Rule::Take(NODE)),
        (profile::HAS_TRACE, Rule::Take(HAS_TRACE)),
        (profile::STEPS, Rule::Take(STEPS)),
        (profile::ID_TO_STRING, Rule::Take(STRING)),
        (profile::MISS_ACCELERATOR_STREAM, Rule::Take(MISSES_STREAMS)),
    ],
};

/// Reads a `ProfileProto`.
pub fn read(source: Source<'_>, _step: i64, builder: &mut Builder) -> Result<(), Error> {
    drive(source, &schema::PROFILE, &PROFILE, ProfileReader::new(builder))
}

/// A `ProfileProto` starts with a node: its id, then a message. The planes of an `XSpace` start with an id and a name.
pub fn recognizes(head: &Head<'_>) -> bool {
    let starts_with_id =
        matches!((head.field, head.first), ((profile::NODES, Value::Bytes(_)), Some((KEY, Value::Varint(_)))));
    let is_plane = matches!(head.second, Some((xplane::NAME, Value::Bytes(name))) if !name.is_empty() && is_name(name));
    starts_with_id && !is_plane
}

struct ProfileReader<'b> {
    builder: &'b mut Builder,
    call_stacks: CallStacks,
    executions: Executions,
    /// The first node of this file.
    first: NodeId,
    /// The name of each node by its id in the file.
    name_of: UntrustedMap<i64, NameId>,
    /// The ids of the sources of inputs. Until the end of the file, an input names its source by an index in this list.
    sources: Vec<i64>,
    merge: Merge,
}

/// A `ProfileNode`.
struct ProfileNode<'f> {
    name: NameId,
    op: NameId,
    definition: Definition<'f>,
    /// The message from its first execution on.
    executions: Option<Fields<'f>>,
}

impl<'b> ProfileReader<'b> {
    pub fn new(builder: &'b mut Builder) -> Self {
        let first = NodeId(builder.model.nodes.len() as u32);
        ProfileReader {
            builder,
            call_stacks: CallStacks::default(),
            executions: Executions::default(),
            first,
            name_of: UntrustedMap::default(),
            sources: Vec::new(),
            merge: Merge::default(),
        }
    }

    /// Adds an entry of the map from id to node.
    fn add_node(&mut self, entry: Fields<'_>) {
        let (id, Some(fields)) = int_keyed_entry(entry) else { return };
        let ProfileNode { name, op, definition, executions } = self.read_node(fields);
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
                // If a file has a node twice, the first definition counts and the measurements add up.
                if node < self.first {
                    self.merge.add(node, op, definition, self.builder);
                }
                node
            }
        };
        let Some(executions) = executions else { return };
        self.executions.begin_node(node);
        each_field(executions, |all, number, value| {
            if let (field::EXECS, Value::Bytes(entry)) = (number, value) {
                self.executions.add(node, all.nested(entry), self.builder);
            }
        });
        self.executions.end_node(node);
    }

    /// Whether nodes are compared with those of another file, which takes all of their fields.
    fn compares(&self) -> bool {
        self.first.index() > 0
    }

    fn keeps_inputs(&self) -> bool {
        self.builder.keep.inputs || self.compares()
    }

    /// Reads a `ProfileNode`, except its executions.
    fn read_node<'f>(&mut self, mut fields: Fields<'f>) -> ProfileNode<'f> {
        let offset = fields.offset();
        let all = fields.clone();
        let keep = self.builder.keep;
        let (keeps_inputs, keeps_shapes) = (self.keeps_inputs(), keep.output_shapes || self.compares());
        let (mut name, mut op, mut device) = (&b""[..], &b""[..], &b""[..]);
        let mut definition = Definition { offset, ..Definition::default() };
        let mut inputs = Vec::new();
        let mut output_of = UntrustedMap::default();
        let mut output_of_input = Vec::new();
        let mut executions = None;
        loop {
            let here = fields.clone();
            let Some(field) = next_field(&mut fields) else { break };
            match (field.number, field.value) {
                (field::NAME, Value::Bytes(bytes)) => name = bytes,
                (field::OP, Value::Bytes(bytes)) => op = bytes,
                (field::CANONICAL_DEVICE, Value::Bytes(bytes)) => device = bytes,
                (field::EXECS, _) => drop(executions.get_or_insert(here)),
                (field::INPUTS, Value::Bytes(entry)) if keeps_inputs => inputs.push(int_entry(all.nested(entry))),
                (field::SRC_OUTPUT_INDEX, Value::Bytes(entry)) if keeps_inputs => {
                    let (source, output) = int_entry(all.nested(entry));
                    output_of.insert(source, output);
                }
                (INPUT_OUTPUTS, value) if keeps_inputs => drop(each_int(value, |n| output_of_input.push(n))),
                (field::SHAPE, value) => drop(each_int(value, |n| definition.dims.push(n))),
                (field::OP_TYPES, Value::Bytes(ty)) => definition.types.push(self.builder.common_name(ty, offset)),
                (field::FLOAT_OPS, Value::Varint(n)) => definition.float_ops = n as i64,
                (field::TRACE, Value::Bytes(code)) => {
                    let stack = if keep.traces {
                        self.call_stacks.stack(&all.nested(code), self.builder)
                    } else {
                        StackId::EMPTY
                    };
                    definition.stack = Some(stack);
                }
                (field::ATTRS, Value::Bytes(entry)) if keep.attributes => {
                    let (key, value) = map_entry(entry);
                    definition.attributes.push(Attribute { key, value });
                }
                (DECLARED_DEVICE, Value::Bytes(device)) => {
                    definition.declared_device = self.builder.device_name(device, offset);
                }
                (COSTS, value) if keep.costs => {
                    let mut numbers = Vec::new();
                    drop(each_int(value, |n| numbers.push(n)));
                    if let [step, float_ops, macs, io_bytes, unknown, runs] = numbers[..] {
                        let costs = NodeCosts { float_ops, macs, io_bytes, unknown, runs, ..NodeCosts::default() };
                        definition.costs = Some((step, NodeCosts { counted: true, ..costs }));
                    }
                }
                (field::OUTPUT_SHAPES, Value::Bytes(entry)) if keeps_shapes => {
                    definition.output_shapes.push(shape_entry(all.nested(entry)));
                }
                _ => {}
            }
        }
        if !device.is_empty() {
            let device = self.builder.device(device);
            let name = self.builder.model.devices.name(device);
            definition.types.retain(|ty| *ty != name);
            definition.device = Some(device);
        }
        // A map may skip indices, but no real one skips more than the message has bytes.
        let length = all.rest().len() as i64;
        definition.output_shapes.retain(|(index, _)| (0..=length).contains(index));
        definition.output_shapes.sort_by_key(|(index, _)| *index);
        inputs.retain(|(index, _)| (0..=length).contains(index));
        inputs.sort_by_key(|(index, _)| *index);
        definition.inputs.extend(inputs.into_iter().map(|(index, source)| {
            let output = output_of_input.get(index as usize).or_else(|| output_of.get(&source)).copied().unwrap_or(0);
            SavedInput { index, source, output: u32::try_from(output).unwrap_or(0) }
        }));
        let name = self.builder.name(name, offset);
        let op = self.builder.common_name(op, offset);
        ProfileNode { name, op, definition, executions }
    }

    /// Sets the definition of the node that was added last.
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
        if let Some((step, costs)) = definition.costs {
            builder.model.costs.set(node, costs);
            self.merge.costs_step = Some(step);
        }
        if let Some(stack) = definition.stack {
            self.call_stacks.push(node, stack);
        }
        for (index, dims) in definition.output_shapes {
            let shape = builder.shape(&dims);
            let nodes = &mut builder.model.nodes;
            while (nodes.output_shapes(node).len() as i64) < index {
                nodes.push_output_shape(ShapeId::EMPTY);
            }
            nodes.push_output_shape(shape);
        }
        for SavedInput { index, source, output } in definition.inputs {
            let nodes = &mut builder.model.nodes;
            while (nodes.inputs(node).len() as i64) < index {
                nodes.push_input(NO_INPUT);
            }
            nodes.push_input(Input { source: NameId(self.sources.len() as u32), output });
            self.sources.push(source);
        }
    }
}

impl FormatReader for ProfileReader<'_> {
    fn take(&mut self, tag: Tag, record: Record<'_>) {
        match (tag, record.value) {
            (NODE, Value::Bytes(entry)) => self.add_node(Fields::new(entry, record.offset)),
            (MISSES_STREAMS, Value::Varint(n)) => self.builder.model.saved_without_streams |= n != 0,
            (HAS_TRACE, Value::Varint(n)) => self.builder.model.has_traces |= n != 0,
            (STEPS, value) => drop(each_int(value, |step| self.executions.add_step(step))),
            (STRING, Value::Bytes(entry)) => self.call_stacks.string(Fields::new(entry, record.offset), self.builder),
            _ => {}
        }
    }

    fn finish(&mut self) {
        let has_traces = self.builder.model.has_traces;
        let placed = std::mem::take(&mut self.call_stacks).finish(self.builder);
        // Every node of a saved model may have a call stack, if only an empty one: only the flag says if there are any.
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
