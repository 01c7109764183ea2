//! `GraphDef` and `MetaGraphDef`: the nodes of a graph.

use super::saved_model::is_slot_name;
use super::{GO_ON, Reader as FormatReader, each_field};
use crate::infer::inference::CALL_OPS;
use crate::model::builder::Builder;
use crate::model::nodes::NodeId;
use crate::view::values::OPTIMIZER_SLOT;
use rustc_hash::FxHashSet;
use std::ops::ControlFlow;
use tfprof_proto::stream::{Layout, Record, Rule, Sink, Spot, Tag};
use tfprof_proto::wire::{Fields, Value};

const NODE: Tag = 1;
const GRAPH_OF_META: Tag = 2;
const COLLECTION: Tag = 3;
const LIBRARY: Tag = 4;
const DEBUG: Tag = 5;
/// Not a tag of any other layout that has a library.
pub(super) const FUNCTION: Tag = 100;

pub(super) static GRAPH: Layout =
    Layout { fields: &[(1, Rule::Take(NODE)), (2, Rule::Enter(LIBRARY, &FUNCTION_LIBRARY)), (5, Rule::Take(DEBUG))] };
/// A library of functions; its gradients are not looked at.
pub(super) static FUNCTION_LIBRARY: Layout = Layout { fields: &[(1, Rule::Take(FUNCTION))] };
pub(super) static META_GRAPH: Layout =
    Layout { fields: &[(2, Rule::Enter(GRAPH_OF_META, &GRAPH)), (4, Rule::Take(COLLECTION))] };

pub(super) struct Reader<'b> {
    builder: &'b mut Builder,
    records: u64,
    trainable: FxHashSet<String>,
    variables: FxHashSet<String>,
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
        Reader {
            builder,
            records: 0,
            trainable: FxHashSet::default(),
            variables: FxHashSet::default(),
            dims: Vec::new(),
            parts: Vec::new(),
        }
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
        let keep = self.builder.keep;
        if keep.costs || (keep.functions && CALL_OPS.iter().any(|call| call.as_bytes() == op)) {
            self.builder.graph.push_node(bytes);
        }
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
                self.builder.set_shape_attribute(node, Some(value));
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

    /// An entry of `collection_def`.
    fn collection(&mut self, entry: &[u8], offset: u64) {
        collection_variables(entry, offset, |collection, name| {
            let name = String::from_utf8_lossy(name).into_owned();
            let list = if collection == b"trainable_variables" { &mut self.trainable } else { &mut self.variables };
            list.insert(name);
        });
    }
}

/// The variables of an entry of `collection_def`: those that are trained, and all of them.
pub(super) fn collection_variables(entry: &[u8], offset: u64, mut each: impl FnMut(&[u8], &[u8])) {
    let (name @ (b"trainable_variables" | b"variables"), Some(collection)) = map_entry(entry) else { return };
    each_quietly(Fields::new(collection, offset), |all, number, value| {
        let (2, Value::Bytes(list)) = (number, value) else { return };
        each_quietly(all.nested(list), |all, _, value| {
            let Value::Bytes(variable) = value else { return };
            each_quietly(all.nested(variable), |_, number, value| {
                if let (1, Value::Bytes(variable)) = (number, value) {
                    each(name, variable.split(|byte| *byte == b':').next().unwrap_or_default());
                }
            });
        });
    });
}

impl Sink for Reader<'_> {
    fn take(&mut self, tag: Tag, record: Record<'_>) -> ControlFlow<()> {
        let Value::Bytes(bytes) = record.value else { return GO_ON };
        if tag == FUNCTION {
            if self.builder.keep.functions {
                self.builder.library.push_function(bytes);
            }
            return GO_ON;
        }
        if tag == DEBUG {
            self.builder.add_debug_info(&mut &*bytes);
            return GO_ON;
        }
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
        let (trainable, variables) = (std::mem::take(&mut self.trainable), std::mem::take(&mut self.variables));
        self.builder.model.knows_trainable |= !variables.is_empty() || !trainable.is_empty();
        self.builder.mark_variables(trainable.iter(), "_trainable_variables");
        let is_slot = |name: &&String| !trainable.contains(*name) && is_slot_name(name, &trainable);
        self.builder.mark_variables(variables.iter().filter(is_slot), OPTIMIZER_SLOT);
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
pub(crate) fn attribute_shape(attribute: &[u8], dims: &mut Vec<i64>) -> Option<()> {
    let (7, Value::Bytes(shape)) = last_field(attribute)? else { return None };
    shape_dims(shape, dims);
    Some(())
}

/// The shapes of an attribute of the kind list.
pub(super) fn attribute_shapes(attribute: &[u8]) -> Vec<&[u8]> {
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
