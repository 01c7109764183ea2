//! `GraphDef` and `MetaGraphDef`: the nodes of a graph.

use super::{GO_ON, Reader as FormatReader, each_field};
use crate::model::builder::Builder;
use crate::model::names::NameId;
use crate::model::nodes::{NodeId, ShapeId};
use std::ops::ControlFlow;
use tfprof_proto::stream::{Layout, Record, Rule, Sink, Spot, Tag};
use tfprof_proto::wire::{Fields, Value};

const NODE: Tag = 1;
const GRAPH_OF_META: Tag = 2;
const COLLECTION: Tag = 3;

pub(super) static GRAPH: Layout = Layout { fields: &[(1, Rule::Take(NODE))] };
pub(super) static META_GRAPH: Layout =
    Layout { fields: &[(2, Rule::Enter(GRAPH_OF_META, &GRAPH)), (4, Rule::Take(COLLECTION))] };

pub(super) struct Reader<'b> {
    builder: &'b mut Builder,
    records: u64,
    trainable: Vec<NameId>,
    dims: Vec<i64>,
    parts: Vec<Part>,
}

/// An input or an attribute of the node at hand: which field, and where its value stands in the node's bytes.
#[derive(Clone, Copy)]
struct Part {
    number: u32,
    start: usize,
    length: usize,
}

impl<'b> Reader<'b> {
    pub fn new(builder: &'b mut Builder) -> Self {
        Reader { builder, records: 0, trainable: Vec::new(), dims: Vec::new(), parts: Vec::new() }
    }

    fn node(&mut self, bytes: &[u8], offset: u64) {
        let (mut name, mut op, mut device) = (&b""[..], &b""[..], &b""[..]);
        let parts = &mut self.parts;
        parts.clear();
        each_field(self.builder, Fields::new(bytes, offset), |_, all, field| match (field.number, field.value) {
            (1, Value::Bytes(value)) => name = value,
            (2, Value::Bytes(value)) => op = value,
            (number @ (3 | 5), Value::Bytes(value)) => {
                let start = (all.nested(value).offset() - offset) as usize;
                parts.push(Part { number, start, length: value.len() });
            }
            (4, Value::Bytes(value)) => device = value,
            _ => {}
        });
        let name = self.builder.name(name, offset);
        let op = self.builder.name(op, offset);
        let Some(node) = self.builder.add_node(name, op) else {
            let text = self.builder.model.names.get(name).to_owned();
            self.builder.warn("duplicate_node", Some(Spot::Byte(offset)), || {
                format!("there is a node `{text}` already; the first definition counts")
            });
            return;
        };
        if !device.is_empty() {
            let device = self.builder.name(&device.to_ascii_lowercase(), offset);
            self.builder.model.nodes.declared_device[node.index()] = device;
        }
        self.inputs_and_shapes(node, bytes, offset);
    }

    fn inputs_and_shapes(&mut self, node: NodeId, bytes: &[u8], offset: u64) {
        let keep = self.builder.keep;
        let mut output_shapes = None;
        let mut attributes = Vec::new();
        let dims = &mut self.dims;
        for Part { number, start, length } in &self.parts {
            let part = &bytes[*start..start + length];
            if *number == 3 {
                if keep.inputs {
                    self.builder.add_input(part, offset + *start as u64);
                }
                continue;
            }
            let (key, value) = map_entry(part);
            if keep.attributes {
                attributes.push((key, value.unwrap_or_default()));
            }
            let Some(value) = value else { continue };
            if key == b"shape" {
                let shape = attribute_shape(value, dims).map(|()| self.builder.shape(dims));
                self.builder.model.nodes.shape[node.index()] = shape.unwrap_or(ShapeId::EMPTY);
            } else if key == b"_output_shapes" && keep.output_shapes {
                output_shapes = Some(value);
            }
        }
        if keep.attributes {
            self.builder.set_attributes(node, &attributes, offset);
        }
        for shape in output_shapes.into_iter().flat_map(attribute_shapes) {
            shape_dims(shape, dims);
            let shape = self.builder.shape(dims);
            self.builder.model.nodes.push_output_shape(shape);
        }
    }

    /// An entry of `collection_def`; the variables that are trained give their nodes a type.
    fn collection(&mut self, entry: &[u8], offset: u64) {
        let (b"trainable_variables", Some(collection)) = map_entry(entry) else { return };
        each_quietly(Fields::new(collection, offset), |all, number, value| {
            let (2, Value::Bytes(list)) = (number, value) else { return };
            each_quietly(all.nested(list), |all, _, value| {
                let Value::Bytes(variable) = value else { return };
                each_quietly(all.nested(variable), |_, number, value| {
                    if let (1, Value::Bytes(name)) = (number, value) {
                        let name = name.split(|byte| *byte == b':').next().unwrap_or_default();
                        self.trainable.push(self.builder.name(name, offset));
                    }
                });
            });
        });
    }
}

impl Sink for Reader<'_> {
    fn take(&mut self, tag: Tag, record: Record<'_>) -> ControlFlow<()> {
        let Value::Bytes(bytes) = record.value else { return GO_ON };
        self.records += 1;
        match tag {
            NODE => self.node(bytes, record.offset),
            COLLECTION => self.collection(bytes, record.offset),
            _ => {}
        }
        GO_ON
    }

    fn warn(&mut self, spot: Spot, message: String) {
        self.builder.warn("unknown_field", Some(spot), || message);
    }
}

impl FormatReader for Reader<'_> {
    fn records(&self) -> u64 {
        self.records
    }

    fn finish(&mut self) {
        let trainable = self.builder.model.names.intern("_trainable_variables");
        for name in std::mem::take(&mut self.trainable) {
            if let Some(node) = self.builder.model.node(name) {
                self.builder.add_type(node, trainable);
            }
        }
    }

    fn builder(&mut self) -> &mut Builder {
        self.builder
    }
}

/// Calls `each` for the fields up to the first fault, which the caller has reported or leaves alone.
pub(crate) fn each_quietly<'a>(mut fields: Fields<'a>, mut each: impl FnMut(&Fields<'a>, u32, Value<'a>)) {
    let all = fields.clone();
    while let Ok(Some(field)) = fields.next_field() {
        each(&all, field.number, field.value);
    }
}

/// Key and value of an entry of a map whose keys are strings.
pub(crate) fn map_entry(entry: &[u8]) -> (&[u8], Option<&[u8]>) {
    // As all writers have it: the key, then a short value that ends the entry.
    if let [0x0a, length @ 0..=0x7f, rest @ ..] = entry
        && let Some((key, [0x12, length @ 0..=0x7f, value @ ..])) = rest.split_at_checked(usize::from(*length))
        && value.len() == usize::from(*length)
    {
        return (key, Some(value));
    }
    let (mut key, mut value) = (&b""[..], None);
    each_quietly(Fields::new(entry, 0), |_, number, field| match (number, field) {
        (1, Value::Bytes(bytes)) => key = bytes,
        (2, Value::Bytes(bytes)) => value = Some(bytes),
        _ => {}
    });
    (key, value)
}

/// The dimensions of an attribute of the kind shape.
fn attribute_shape(attribute: &[u8], dims: &mut Vec<i64>) -> Option<()> {
    let (7, Value::Bytes(shape)) = last_field(attribute)? else { return None };
    shape_dims(shape, dims);
    Some(())
}

/// The shapes of an attribute of the kind list.
fn attribute_shapes(attribute: &[u8]) -> Vec<&[u8]> {
    let mut shapes = Vec::new();
    if let Some((1, Value::Bytes(list))) = last_field(attribute) {
        each_quietly(Fields::new(list, 0), |_, number, value| {
            if let (7, Value::Bytes(shape)) = (number, value) {
                shapes.push(shape);
            }
        });
    }
    shapes
}

/// An attribute holds one of several kinds; the last one that is written counts.
fn last_field(attribute: &[u8]) -> Option<(u32, Value<'_>)> {
    let mut last = None;
    each_quietly(Fields::new(attribute, 0), |_, number, value| last = Some((number, value)));
    last
}

/// `TensorShapeProto` as dimensions. As the original: a scalar is `[1]`, an unknown rank `[]`.
pub(crate) fn shape_dims(shape: &[u8], dims: &mut Vec<i64>) {
    dims.clear();
    let mut unknown_rank = false;
    each_quietly(Fields::new(shape, 0), |all, number, value| match (number, value) {
        (2, Value::Bytes(dim)) => {
            let mut size = 0;
            each_quietly(all.nested(dim), |_, number, value| {
                if let (1, Value::Varint(n)) = (number, value) {
                    size = n as i64;
                }
            });
            dims.push(size);
        }
        (3, Value::Varint(n)) => unknown_rank = n != 0,
        _ => {}
    });
    if dims.is_empty() && !unknown_rank {
        dims.push(1);
    }
}
