//! `SavedModel`: reads the serving graph, prunes it to what a signature needs, and finds the trainable variables.
//!
//! A `MetaGraphDef` is read in the same way if one of its signatures is asked for.

mod objects;
pub(super) mod signature;

use super::detect::{Head, first_field, is_name};
use super::graph_def::{Collections, FUNCTION, FUNCTION_LIBRARY, is_node};
use super::{FormatReader, drive};
use super::{debug_info, function_def, lowered};
use crate::error::Error;
use crate::format::source::Source;
use crate::hash::{TrustedMap, UntrustedMap};
use crate::model::attr_value;
use crate::model::body::{Body, UnresolvedBody};
use crate::model::builder::Builder;
use crate::model::functions::FunctionDefs;
use crate::model::nodes::NodeId;
use crate::model::type_names::{GENERATOR_STATE, OPTIMIZER_SLOT, TRAINABLE};
use objects::{Objects, is_seed};
use signature::Signature;
use tfprof_proto::fields::meta_graph_def::{self, meta_info_def};
use tfprof_proto::fields::{graph_def, op_list, saved_model, saved_object_graph};
use tfprof_proto::node_def::NodeDecoder;
use tfprof_proto::schema;
use tfprof_proto::stream::{Layout, Record, Rule, Tag};
use tfprof_proto::wire::{Fields, Value, each_field, map_entry};

const META: Tag = 1;
const INFO: Tag = 2;
const GRAPH: Tag = 3;
const NODE: Tag = 4;
const LIBRARY: Tag = 5;
const DEBUG: Tag = 6;
const COLLECTION: Tag = 7;
const SIGNATURE: Tag = 8;
const OBJECTS: Tag = 9;
const OBJECT: Tag = 10;
const CONCRETE_FUNCTION: Tag = 11;
const VERSIONS: Tag = 12;

static SAVED_MODEL: Layout = Layout { fields: &[(saved_model::META_GRAPHS, Rule::Enter(META, &META_GRAPH))] };
static META_GRAPH: Layout = Layout {
    fields: &[
        (meta_graph_def::META_INFO_DEF, Rule::Take(INFO)),
        (meta_graph_def::GRAPH_DEF, Rule::Enter(GRAPH, &GRAPH_OF_META)),
        (meta_graph_def::COLLECTION_DEF, Rule::Take(COLLECTION)),
        (meta_graph_def::SIGNATURE_DEF, Rule::Take(SIGNATURE)),
        (meta_graph_def::OBJECT_GRAPH_DEF, Rule::Enter(OBJECTS, &OBJECT_GRAPH)),
    ],
};
static GRAPH_OF_META: Layout = Layout {
    fields: &[
        (graph_def::NODE, Rule::Take(NODE)),
        (graph_def::LIBRARY, Rule::Enter(LIBRARY, &FUNCTION_LIBRARY)),
        (graph_def::VERSIONS, Rule::Take(VERSIONS)),
        (graph_def::DEBUG_INFO, Rule::Take(DEBUG)),
    ],
};
static OBJECT_GRAPH: Layout = Layout {
    fields: &[
        (saved_object_graph::NODES, Rule::Take(OBJECT)),
        (saved_object_graph::CONCRETE_FUNCTIONS, Rule::Take(CONCRETE_FUNCTION)),
    ],
};

/// Reads a `SavedModel`.
pub fn read(source: Source<'_>, _step: i64, builder: &mut Builder) -> Result<(), Error> {
    drive(source, &schema::SAVED_MODEL, &SAVED_MODEL, Reader::new(builder))
}

/// Reads a `MetaGraphDef` if the user asks for one of its signatures.
pub(super) fn read_meta_graph(source: Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    drive(source, &schema::META_GRAPH_DEF, &META_GRAPH, Reader::new(builder))
}

/// A `SavedModel` starts with the version of its schema; some start with a `MetaGraphDef`.
pub fn recognizes(head: &Head<'_>) -> bool {
    match (head.field, head.first) {
        ((saved_model::SAVED_MODEL_SCHEMA_VERSION, Value::Varint(_)), _) => true,
        // A GraphDef with a library, or a MetaGraphDef, start with the same numbers, but with other messages inside.
        ((saved_model::META_GRAPHS, Value::Bytes(_)), Some((meta_graph_def::META_INFO_DEF, Value::Bytes(info)))) => {
            match first_field(info) {
                Some((meta_info_def::STRIPPED_OP_LIST, Value::Bytes(ops))) => ops.is_empty() || !is_name(ops),
                Some((meta_info_def::TAGS | meta_info_def::TENSORFLOW_VERSION, Value::Bytes(_))) => true,
                _ => false,
            }
        }
        ((saved_model::META_GRAPHS, Value::Bytes(_)), Some((meta_graph_def::GRAPH_DEF, Value::Bytes(graph)))) => {
            matches!(first_field(graph), Some((graph_def::NODE, Value::Bytes(node))) if is_node(node))
        }
        _ => false,
    }
}

struct Reader<'b> {
    builder: &'b mut Builder,
    decoder: NodeDecoder,
    current: MetaGraph,
    /// The best graph so far, and the tags of all graphs.
    best: Option<MetaGraph>,
    all_tags: Vec<String>,
}

/// One graph of the file.
#[derive(Default)]
struct MetaGraph {
    tags: Vec<String>,
    graph: UnresolvedBody,
    /// The devices that nodes ask for, by name.
    devices: UntrustedMap<String, Vec<u8>>,
    functions: FunctionDefs,
    signatures: Vec<Signature>,
    collections: Collections,
    objects: Objects,
}

impl<'b> Reader<'b> {
    pub fn new(builder: &'b mut Builder) -> Self {
        Reader {
            builder,
            decoder: NodeDecoder::default(),
            current: MetaGraph::default(),
            best: None,
            all_tags: Vec::new(),
        }
    }

    /// Prefers the serving graph, else the first one.
    fn consider(&mut self) {
        let graph = std::mem::take(&mut self.current);
        self.all_tags.push(graph.tags.join(","));
        let served = |graph: &MetaGraph| graph.tags.iter().any(|tag| tag == "serve");
        if self.best.as_ref().is_none_or(|best| served(&graph) && (!served(best) || graph.tags.len() < best.tags.len()))
        {
            self.best = Some(graph);
        }
    }

    fn store(&mut self, meta: MetaGraph) {
        if self.all_tags.len() > 1 {
            let (all, tags) = (self.all_tags.join("`, `"), meta.tags.join(","));
            let count = self.all_tags.len();
            self.builder.warn("several_graphs", None, || {
                format!("the file has {count} graphs, with the tags `{all}`; the answer is about `{tags}`")
            });
        }
        let settings = &self.builder.program.settings;
        let chosen = match signature::choose(&meta.signatures, settings.signature.as_deref(), settings.all) {
            Ok(chosen) => chosen,
            Err(message) => {
                self.builder.refused = Some(message);
                return;
            }
        };
        self.builder.program.signature = chosen.map(|signature| signature.name.clone());
        let (graph, nodes) = meta.graph.resolve_named();
        let graph = match chosen {
            None => graph,
            Some(signature) => {
                let node = |name: &str| nodes.get(&graph, name);
                let asked = signature.outputs.iter().chain(&signature.inputs).map(String::as_str);
                graph.pruned(asked.chain(meta.objects.unread()).filter_map(node))
            }
        };
        self.builder.model.knows_trainable |= !meta.objects.is_empty() || !meta.collections.variables.is_empty();
        let nodes = lowered::push_graph(self.builder, &graph, &meta.devices);
        let variables = Variables { graph: &graph, nodes: &nodes };
        variables.mark_objects(self.builder, &meta.objects);
        variables.mark_collections(self.builder, &meta.collections);
        self.builder.program.served = graph;
        self.builder.program.functions = meta.functions;
    }
}

/// The variables of a graph: its handles, and their nodes in the model.
struct Variables<'a> {
    graph: &'a Body,
    nodes: &'a [Option<NodeId>],
}

impl Variables<'_> {
    fn add_type(&self, builder: &mut Builder, at: u32, ty: &str) {
        if let Some(Some(node)) = self.nodes.get(at as usize) {
            let ty = builder.model.names.intern(ty);
            builder.add_type(*node, ty);
        }
    }

    /// Types variables by the objects of TensorFlow 2.
    fn mark_objects(&self, builder: &mut Builder, objects: &Objects) {
        if objects.is_empty() {
            return;
        }
        // Captured objects of a function follow its other inputs, in the same order.
        let mut variable_of: TrustedMap<u32, u32> = TrustedMap::default();
        for call in 0..self.graph.len() as u32 {
            let Some(bound) = self.graph.attribute(call, "f").and_then(|function| objects.bound_to(function.0)) else {
                continue;
            };
            let inputs = self.graph.inputs(call);
            let first = inputs.len().saturating_sub(bound.len());
            for (input, object) in inputs[first..].iter().zip(bound) {
                variable_of.entry(input.node).or_insert(*object);
            }
        }
        for handle in (0..self.graph.len() as u32).filter(|node| self.graph.op(*node) == "VarHandleOp") {
            let shared = self.graph.attribute(handle, "shared_name").and_then(attr_value::text).unwrap_or_default();
            let name = if shared.is_empty() { self.graph.name(handle).into() } else { String::from_utf8_lossy(shared) };
            let object = variable_of.get(&handle).copied().filter(|object| objects.variable(*object).is_some());
            let Some(object) = object.or_else(|| objects.named(&name)) else { continue };
            let Some(variable) = objects.variable(object) else { continue };
            if objects.is_slot(object) {
                self.add_type(builder, handle, OPTIMIZER_SLOT);
            } else if is_seed(&variable.name) {
                self.add_type(builder, handle, GENERATOR_STATE);
            } else if objects.is_trainable(object) {
                self.add_type(builder, handle, TRAINABLE);
            }
            // If the handle's shape is not fully known, the object may have it.
            if let (Some(Some(node)), Some(dims)) = (self.nodes.get(handle as usize), &variable.dims) {
                let own = builder.model.nodes.shape[node.index()];
                let open = builder.model.shapes.get(own);
                if open.is_empty() || open.iter().any(|dim| *dim < 0) {
                    builder.model.nodes.shape[node.index()] = builder.model.shapes.intern(dims);
                }
            }
        }
    }

    /// Types variables by the collections of TensorFlow 1.
    fn mark_collections(&self, builder: &mut Builder, known: &Collections) {
        if known.is_empty() {
            return;
        }
        for at in 0..self.graph.len() as u32 {
            let name = self.graph.name(at);
            if known.trainable.contains(name) {
                self.add_type(builder, at, TRAINABLE);
            } else if known.is_slot(name) {
                self.add_type(builder, at, OPTIMIZER_SLOT);
            }
        }
    }
}

impl FormatReader for Reader<'_> {
    fn close(&mut self, tag: Tag) {
        if tag == META {
            self.consider();
        }
    }

    fn take(&mut self, tag: Tag, record: Record<'_>) {
        let Value::Bytes(bytes) = record.value else { return };
        let meta = &mut self.current;
        match tag {
            INFO => each_field(Fields::new(bytes, record.offset), |all, number, value| match (number, value) {
                (meta_info_def::STRIPPED_OP_LIST, Value::Bytes(ops)) => {
                    each_field(all.nested(ops), |_, number, value| {
                        if let (op_list::OP, Value::Bytes(op)) = (number, value) {
                            function_def::read_op(op, &mut meta.functions);
                        }
                    });
                }
                (meta_info_def::TAGS, Value::Bytes(tag)) => meta.tags.push(String::from_utf8_lossy(tag).into_owned()),
                _ => {}
            }),
            NODE => {
                self.decoder.decode(bytes, record.offset, |node| {
                    meta.graph.push_node(node);
                    if !node.device.is_empty() {
                        meta.devices.insert(String::from_utf8_lossy(node.name).into_owned(), node.device.to_vec());
                    }
                });
            }
            VERSIONS => meta.graph.read_versions(bytes),
            FUNCTION => function_def::read_function(bytes, &mut meta.functions),
            DEBUG => debug_info::read(&mut &*bytes, self.builder),
            COLLECTION => meta.collections.read(bytes, record.offset),
            SIGNATURE => {
                let (name, signature) = map_entry(bytes);
                meta.signatures.push(Signature::read(name, signature.unwrap_or_default()));
            }
            OBJECT => meta.objects.push(bytes),
            CONCRETE_FUNCTION => {
                let (name, function) = map_entry(bytes);
                meta.objects.push_function(name, function.unwrap_or_default());
            }
            _ => {}
        }
    }

    fn finish(&mut self) {
        // Nothing closes the graph of a `MetaGraphDef`, nor the last one of a truncated file.
        if !self.current.graph.is_empty() {
            self.consider();
        }
        if let Some(mut best) = self.best.take() {
            best.objects.finish();
            self.store(best);
        }
    }

    fn builder(&mut self) -> &mut Builder {
        self.builder
    }
}
