//! `GraphDef` and `MetaGraphDef`: the nodes of a graph.

use super::detect::{Head, is_name};
use super::driver::{FormatReader, drive};
use crate::error::Error;
use crate::format::saved_model;
use crate::format::source::Source;
use crate::infer::inference::CALL_OPS;
use crate::model::builder::Builder;
use crate::model::nodes::NodeId;
use crate::model::type_names::{OPTIMIZER_SLOT, TRAINABLE};
use rustc_hash::FxHashSet;
use tfprof_proto::lenient::{each_quietly, map_entry};
use tfprof_proto::schema;
use tfprof_proto::shape::{attribute_shapes, shape_dims};
use tfprof_proto::stream::{Layout, Record, Rule, Spot, Tag};
use tfprof_proto::wire::{Fields, Value};

const NODE: Tag = 1;
const GRAPH_OF_META: Tag = 2;
const COLLECTION: Tag = 3;
const LIBRARY: Tag = 4;
const DEBUG: Tag = 5;
/// Not a tag of any other layout that has a library.
pub(super) const FUNCTION: Tag = 100;

static GRAPH: Layout =
    Layout { fields: &[(1, Rule::Take(NODE)), (2, Rule::Enter(LIBRARY, &FUNCTION_LIBRARY)), (5, Rule::Take(DEBUG))] };
/// A library of functions; its gradients are not looked at.
pub(super) static FUNCTION_LIBRARY: Layout = Layout { fields: &[(1, Rule::Take(FUNCTION))] };
static META_GRAPH: Layout = Layout { fields: &[(2, Rule::Enter(GRAPH_OF_META, &GRAPH)), (4, Rule::Take(COLLECTION))] };

/// Reads a `GraphDef`.
pub fn read(source: Source<'_>, _step: i64, builder: &mut Builder) -> Result<(), Error> {
    if builder.settings.signature.is_some() {
        builder.warn("no_signatures", None, || "a GraphDef has no signatures; all of it counts".to_owned());
    }
    drive(source, &schema::GRAPH_DEF, &GRAPH, Reader::new(builder))
}

/// Reads a `MetaGraphDef`, like a `SavedModel` if one of its signatures is asked for.
pub fn read_meta_graph(source: Source<'_>, _step: i64, builder: &mut Builder) -> Result<(), Error> {
    if builder.settings.signature.is_some() {
        return saved_model::read_meta_graph(source, builder);
    }
    drive(source, &schema::META_GRAPH_DEF, &META_GRAPH, Reader::new(builder))
}

/// A `GraphDef` starts with a node, which starts with its name and op, or with its versions.
pub fn recognizes(head: &Head<'_>) -> bool {
    match (head.field, head.first, head.second) {
        ((1, Value::Bytes(_)), Some((1, Value::Bytes(name))), Some((2, Value::Bytes(op)))) => {
            is_name(name) && is_name(op)
        }
        ((4, Value::Bytes(_)), ..) => true,
        _ => false,
    }
}

/// A `MetaGraphDef` starts with its meta info, or with a graph, which starts with a node.
pub fn recognizes_meta_graph(head: &Head<'_>) -> bool {
    match (head.field, head.first) {
        ((2, Value::Bytes(_)), Some((1, Value::Bytes(_)))) => true,
        ((1, Value::Bytes(_)), Some((4 | 5, Value::Bytes(_)))) => true,
        // A list of ops; the name of a plane is at the same place of an XSpace.
        ((1, Value::Bytes(_)), Some((2, Value::Bytes(ops)))) => ops.is_empty() || !is_name(ops),
        _ => false,
    }
}

struct Reader<'b> {
    builder: &'b mut Builder,
    /// The first node of this file.
    first: usize,
    collections: Collections,
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
        let first = builder.model.nodes.len();
        Reader { builder, first, collections: Collections::default(), dims: Vec::new(), parts: Vec::new() }
    }

    fn node(&mut self, bytes: &[u8], offset: u64) {
        let (mut name, mut op, mut device) = (&b""[..], &b""[..], &b""[..]);
        let parts = &mut self.parts;
        parts.clear();
        each_quietly(Fields::new(bytes, offset), |all, number, value| match (number, value) {
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
}

/// Names of variables, as the collections of TensorFlow 1 have them.
#[derive(Default)]
pub(super) struct Collections {
    pub variables: FxHashSet<String>,
    pub trainable: FxHashSet<String>,
}

impl Collections {
    /// An entry of `collection_def`.
    pub fn read(&mut self, entry: &[u8], offset: u64) {
        let (name, Some(collection)) = map_entry(entry) else { return };
        let names = match name {
            b"trainable_variables" => &mut self.trainable,
            b"variables" => &mut self.variables,
            _ => return,
        };
        each_quietly(Fields::new(collection, offset), |all, number, value| {
            let (2, Value::Bytes(list)) = (number, value) else { return };
            each_quietly(all.nested(list), |all, _, value| {
                let Value::Bytes(variable) = value else { return };
                each_quietly(all.nested(variable), |_, number, value| {
                    if let (1, Value::Bytes(variable)) = (number, value) {
                        let variable = variable.split(|byte| *byte == b':').next().unwrap_or_default();
                        names.insert(String::from_utf8_lossy(variable).into_owned());
                    }
                });
            });
        });
    }

    pub fn is_empty(&self) -> bool {
        self.variables.is_empty() && self.trainable.is_empty()
    }

    /// Whether a variable is not trained, and named as what an optimizer of TensorFlow 1 keeps beside one that is.
    pub fn is_slot(&self, name: &str) -> bool {
        let of_variable = || name.rsplit_once('/').is_some_and(|(variable, _)| self.trainable.contains(variable));
        let last = name.rsplit('/').next().unwrap_or(name);
        let last = last.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('_');
        self.variables.contains(name)
            && !self.trainable.contains(name)
            && (of_variable() || matches!(last, "beta1_power" | "beta2_power" | "beta_power"))
    }
}

impl FormatReader for Reader<'_> {
    const BESIDE: &'static [Tag] = &[FUNCTION, DEBUG];

    fn take(&mut self, tag: Tag, record: Record<'_>) {
        let Value::Bytes(bytes) = record.value else { return };
        match tag {
            NODE => self.node(bytes, record.offset),
            COLLECTION => self.collections.read(bytes, record.offset),
            FUNCTION if self.builder.keep.functions => self.builder.library.push_function(bytes),
            DEBUG => self.builder.add_debug_info(&mut &*bytes),
            _ => {}
        }
    }

    fn finish(&mut self) {
        self.builder.warn_missing_inputs(self.first);
        let known = &self.collections;
        self.builder.model.knows_trainable |= !known.is_empty();
        self.builder.mark_variables(known.trainable.iter(), TRAINABLE);
        let slots = known.variables.iter().filter(|name| known.is_slot(name));
        self.builder.mark_variables(slots, OPTIMIZER_SLOT);
    }

    fn builder(&mut self) -> &mut Builder {
        self.builder
    }
}
