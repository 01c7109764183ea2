//! `GraphDef` and `MetaGraphDef`: the nodes of a graph. Each node is decoded once, for the model and for inference.

use super::detect::{Head, first_field, is_name};
use super::{FormatReader, drive};
use super::{debug_info, function_def, saved_model};
use crate::error::Error;
use crate::format::source::Source;
use crate::hash::UntrustedSet;
use crate::model::builder::Builder;
use crate::model::functions::CALL_OPS;
use crate::model::names::NameId;
use crate::model::nodes::NodeId;
use crate::model::type_names::{OPTIMIZER_SLOT, TRAINABLE};
use tfprof_proto::fields::meta_graph_def::{self, meta_info_def};
use tfprof_proto::fields::{self, function_def_library, graph_def, node_def, op_def, variable_def};
use tfprof_proto::node_def::{Attribute, NodeDecoder, NodeDef};
use tfprof_proto::quick::{Quick, content_tag};
use tfprof_proto::schema;
use tfprof_proto::stream::{Layout, Record, Rule, Spot, Tag};
use tfprof_proto::wire::{Fields, Value, each_field, each_message, map_entry};

const NODE: Tag = 1;
const GRAPH_OF_META: Tag = 2;
const COLLECTION: Tag = 3;
const LIBRARY: Tag = 4;
const DEBUG: Tag = 5;
const VERSIONS: Tag = 6;
/// Distinct from the tags of other layouts that contain a library.
pub(super) const FUNCTION: Tag = 100;

static GRAPH: Layout = Layout {
    fields: &[
        (graph_def::NODE, Rule::Take(NODE)),
        (graph_def::LIBRARY, Rule::Enter(LIBRARY, &FUNCTION_LIBRARY)),
        (graph_def::VERSIONS, Rule::Take(VERSIONS)),
        (graph_def::DEBUG_INFO, Rule::Take(DEBUG)),
    ],
};
/// A library of functions. Its gradients are ignored.
pub(super) static FUNCTION_LIBRARY: Layout =
    Layout { fields: &[(function_def_library::FUNCTION, Rule::Take(FUNCTION))] };
static META_GRAPH: Layout = Layout {
    fields: &[
        (meta_graph_def::GRAPH_DEF, Rule::Enter(GRAPH_OF_META, &GRAPH)),
        (meta_graph_def::COLLECTION_DEF, Rule::Take(COLLECTION)),
    ],
};

/// Reads a `GraphDef`.
pub fn read(source: Source<'_>, _step: i64, builder: &mut Builder) -> Result<(), Error> {
    if builder.program.settings.signature.is_some() {
        builder.warn("no_signatures", None, || "a GraphDef has no signatures; all of it counts".to_owned());
    }
    drive(source, &schema::GRAPH_DEF, &GRAPH, Reader::new(builder))
}

/// Reads a `MetaGraphDef`, like a `SavedModel` if one of its signatures is asked for.
pub fn read_meta_graph(source: Source<'_>, _step: i64, builder: &mut Builder) -> Result<(), Error> {
    if builder.program.settings.signature.is_some() {
        return saved_model::read_meta_graph(source, builder);
    }
    drive(source, &schema::META_GRAPH_DEF, &META_GRAPH, Reader::new(builder))
}

/// A `GraphDef` starts with a node, which starts with its name and op, or with its versions.
pub fn recognizes(head: &Head<'_>) -> bool {
    match (head.field, head.first, head.second) {
        (
            (graph_def::NODE, Value::Bytes(_)),
            Some((node_def::NAME, Value::Bytes(name))),
            Some((node_def::OP, Value::Bytes(op))),
        ) => is_name(name) && is_name(op),
        ((graph_def::VERSIONS, Value::Bytes(_)), ..) => true,
        // A library of functions: the signature of a function has a name.
        ((graph_def::LIBRARY, Value::Bytes(_)), Some((function_def_library::FUNCTION, Value::Bytes(function))), _) => {
            let signature = first_field(function).filter(|(number, _)| *number == fields::function_def::SIGNATURE);
            let name = signature.and_then(|(_, signature)| first_field(signature.bytes()?));
            matches!(name, Some((op_def::NAME, Value::Bytes(name))) if is_name(name))
        }
        _ => false,
    }
}

/// Whether bytes are a `NodeDef`: its name comes first.
pub(super) fn is_node(bytes: &[u8]) -> bool {
    matches!(first_field(bytes), Some((node_def::NAME, Value::Bytes(name))) if is_name(name))
}

/// A `MetaGraphDef` starts with its meta info, or with a graph, which starts with a node.
pub fn recognizes_meta_graph(head: &Head<'_>) -> bool {
    match (head.field, head.first) {
        ((meta_graph_def::GRAPH_DEF, Value::Bytes(_)), Some((graph_def::NODE, Value::Bytes(node)))) => is_node(node),
        (
            (meta_graph_def::META_INFO_DEF, Value::Bytes(_)),
            Some((meta_info_def::TAGS | meta_info_def::TENSORFLOW_VERSION, Value::Bytes(_))),
        ) => true,
        // The name of a plane has the same field numbers in an XSpace.
        (
            (meta_graph_def::META_INFO_DEF, Value::Bytes(_)),
            Some((meta_info_def::STRIPPED_OP_LIST, Value::Bytes(ops))),
        ) => ops.is_empty() || !is_name(ops),
        _ => false,
    }
}

struct Reader<'b> {
    builder: &'b mut Builder,
    decoder: NodeDecoder,
    /// The first node of this file.
    first: usize,
    collections: Collections,
    functions: usize,
}

impl<'b> Reader<'b> {
    pub fn new(builder: &'b mut Builder) -> Self {
        let first = builder.model.nodes.len();
        Reader { builder, decoder: NodeDecoder::default(), first, collections: Collections::default(), functions: 0 }
    }
}

fn add_node(builder: &mut Builder, node: &NodeDef<'_>) {
    let keep = builder.keep;
    let known = builder.model.names.len();
    let name = builder.name(node.name, node.offset());
    if keep.costs || (keep.functions && CALL_OPS.iter().any(|call| call.as_bytes() == node.op)) {
        let (names, graph) = (&builder.model.names, &mut builder.program.graph);
        let text = names.get(name);
        // A new name is also new in the body, except that names which are not UTF-8 are spelled in another way there.
        if names.len() > known && text.as_bytes() == node.name && !graph.has_invalid_names {
            graph.push_new(node, text, names.hash(name));
        } else {
            graph.push_node(node);
        }
    }
    let op = builder.common_name(node.op, node.offset());
    let Some(id) = define(builder, name, op, node.device, node.offset()) else { return };
    if keep.inputs {
        node.inputs.iter().for_each(|input| builder.add_input(input, node.offset_of(input)));
    }
    add_attributes(builder, id, node);
}

/// Adds a node with its device, unless there is one of that name.
fn define(builder: &mut Builder, name: NameId, op: NameId, device: &[u8], offset: u64) -> Option<NodeId> {
    let Some(id) = builder.add_node(name, op) else {
        let text = builder.model.names.get(name).to_owned();
        builder.warn("duplicate_node", Some(Spot::Byte(offset)), || {
            format!("there is a node `{text}` already; the first definition counts")
        });
        return None;
    };
    if !device.is_empty() {
        let device = builder.device_name(device, offset);
        builder.model.nodes.declared_device[id.index()] = device;
    }
    Some(id)
}

const NAME_TAG: u8 = content_tag(node_def::NAME);
const OP_TAG: u8 = content_tag(node_def::OP);
const DEVICE_TAG: u8 = content_tag(node_def::DEVICE);
const INPUT_TAG: u8 = content_tag(node_def::INPUT);
const ATTR_TAG: u8 = content_tag(node_def::ATTR);

/// Adds a node of which little is kept: attributes are skipped, except the shape of a variable. False if more is kept, or the
/// node is damaged or unusual.
fn add_quickly(builder: &mut Builder, bytes: &[u8], offset: u64) -> bool {
    let keep = builder.keep;
    if keep.costs || keep.attributes || keep.output_shapes {
        return false;
    }
    let Some((name, op, device, shape)) = quick_node(bytes) else { return false };
    if keep.functions && CALL_OPS.iter().any(|call| call.as_bytes() == op) {
        return false;
    }
    let name = builder.name(name, offset);
    let op = builder.common_name(op, offset);
    let Some(id) = define(builder, name, op, device, offset) else { return true };
    if keep.inputs {
        add_inputs(builder, bytes, offset);
    }
    if let Some(shape) = shape {
        builder.set_shape_attribute(id, Some(shape));
    }
    true
}

/// Adds the inputs of a node that was read to its end.
fn add_inputs(builder: &mut Builder, bytes: &[u8], offset: u64) -> Option<()> {
    let mut fields = Quick::new(bytes);
    while let Some(tag) = fields.tag() {
        if tag == INPUT_TAG {
            let input = fields.text()?;
            let start = input.as_ptr() as usize - bytes.as_ptr() as usize;
            builder.add_input(input, offset + start as u64);
        } else {
            fields.skip(tag)?;
        }
    }
    Some(())
}

/// Name, op, device and the attribute `shape`.
type QuickNode<'a> = (&'a [u8], &'a [u8], &'a [u8], Option<&'a [u8]>);

fn quick_node(bytes: &[u8]) -> Option<QuickNode<'_>> {
    let (mut name, mut op, mut device, mut shape) = (&b""[..], &b""[..], &b""[..], None);
    let mut fields = Quick::new(bytes);
    while let Some(tag) = fields.tag() {
        match tag {
            NAME_TAG => name = fields.text()?,
            OP_TAG => op = fields.text()?,
            DEVICE_TAG => device = fields.text()?,
            ATTR_TAG => {
                let entry = fields.text()?;
                // Nearly all attributes start with their name.
                if let [0x0a, length, key, ..] = entry
                    && (*length, *key) != (5, b's')
                    && is_usual_entry(entry)
                {
                    continue;
                }
                if let (b"shape", Some(value)) = map_entry(entry) {
                    shape = Some(value);
                }
            }
            _ => fields.skip(tag)?,
        }
    }
    Some((name, op, device, shape))
}

/// Whether an entry of a map is a key and a value that ends it.
fn is_usual_entry(entry: &[u8]) -> bool {
    const KEY: u8 = content_tag(fields::map_entry::KEY);
    const VALUE: u8 = content_tag(fields::map_entry::VALUE);
    let mut fields = Quick::new(entry);
    let mut is = |tag| fields.tag() == Some(tag) && fields.text().is_some();
    is(KEY) && is(VALUE) && fields.tag().is_none()
}

fn add_attributes(builder: &mut Builder, id: NodeId, node: &NodeDef<'_>) {
    let keep = builder.keep;
    let mut output_shapes = None;
    for Attribute { key, value } in &node.attributes {
        if value.is_some() && *key == b"shape" {
            builder.set_shape_attribute(id, *value);
        } else if value.is_some() && *key == b"_output_shapes" {
            output_shapes = *value;
        }
    }
    if keep.attributes {
        builder.set_attributes(id, &node.attributes, node.offset());
    }
    if let (true, Some(output_shapes)) = (keep.output_shapes, output_shapes) {
        builder.add_output_shapes(output_shapes);
    }
}

/// `CollectionDef.bytes_list`.
const BYTES_LIST: u32 = 2;

/// Names of variables in the collections of TensorFlow 1.
#[derive(Default)]
pub(super) struct Collections {
    pub variables: UntrustedSet<String>,
    pub trainable: UntrustedSet<String>,
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
        each_message(Fields::new(collection, offset), BYTES_LIST, |list| {
            each_field(list, |all, _, value| {
                let Value::Bytes(variable) = value else { return };
                each_field(all.nested(variable), |_, number, value| {
                    if let (variable_def::VARIABLE_NAME, Value::Bytes(variable)) = (number, value) {
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

    /// Whether a variable is not trainable and has the name of an optimizer slot of TensorFlow 1.
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
            NODE if add_quickly(self.builder, bytes, record.offset) => {}
            NODE => self.decoder.decode(bytes, record.offset, |node| add_node(self.builder, node)),
            VERSIONS => self.builder.program.graph.read_versions(bytes),
            COLLECTION => self.collections.read(bytes, record.offset),
            FUNCTION => {
                self.functions += 1;
                if self.builder.keep.functions {
                    function_def::read_function(bytes, &mut self.builder.program.functions);
                }
            }
            DEBUG => debug_info::read(&mut &*bytes, self.builder),
            _ => {}
        }
    }

    fn finish(&mut self) {
        if self.functions > 0 && self.builder.model.nodes.len() == self.first {
            let functions = self.functions;
            self.builder.warn("only_functions", None, || {
                let s = if functions == 1 { "" } else { "s" };
                format!("the graph has no nodes, only a library of {functions} function{s} that nothing calls")
            });
        }
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
