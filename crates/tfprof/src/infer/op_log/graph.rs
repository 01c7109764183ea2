//! FLOPs of the nodes of a graph, from its `_output_shapes` and from shapes that runs recorded.

use crate::hash::UntrustedMap;
use crate::infer::flops::{self, Dims, Formula, Op};
use crate::model::attr_value::Attr;
use tfprof_proto::fields::attr_value::{self, list_value};
use tfprof_proto::fields::map_entry::{KEY, VALUE};
use tfprof_proto::fields::tensor_shape::{self, dim};
use tfprof_proto::fields::{
    device_step_stats, graph_def, node_def, node_exec_stats, node_output, run_metadata, step_stats, tensor_description,
};
use tfprof_proto::node_def::{Attribute, each_node};
use tfprof_proto::shape::{attribute_shapes, shape_dims};
use tfprof_proto::wire::{Fields, Value, each_field, map_entry};
use tfprof_proto::write as pb;

/// The parts of a graph that FLOPs depend on. Borrows the bytes of a `GraphDef`.
#[derive(Debug)]
pub struct GraphShapes<'a> {
    nodes: Vec<Node<'a>>,
    by_name: UntrustedMap<&'a [u8], usize>,
}

#[derive(Debug)]
pub struct Node<'a> {
    pub name: &'a [u8],
    bytes: &'a [u8],
    /// The shapes of its outputs, each a `TensorShapeProto`.
    shapes: Vec<&'a [u8]>,
    /// Present if the op has a formula.
    counted: Option<Counted<'a>>,
}

/// The parts of a node that its formula needs.
#[derive(Debug)]
struct Counted<'a> {
    formula: &'static Formula,
    op: &'a str,
    inputs: Vec<&'a [u8]>,
    attributes: Vec<Attribute<'a>>,
}

impl<'a> GraphShapes<'a> {
    /// Reads the nodes of a `GraphDef` as far as it is not damaged.
    pub fn new(graph: &'a [u8]) -> Self {
        let mut nodes = Vec::new();
        each_node(graph, |node, bytes| {
            let shapes = |attribute: &Attribute<'a>| attribute.value.filter(|_| attribute.key == b"_output_shapes");
            let shapes = node.attributes.iter().rev().find_map(shapes).map(attribute_shapes).unwrap_or_default();
            let op = std::str::from_utf8(node.op).ok();
            let counted = op.and_then(|op| {
                let formula = flops::find(op).filter(|formula| formula.original)?;
                Some(Counted { formula, op, inputs: node.inputs.clone(), attributes: node.attributes.clone() })
            });
            nodes.push(Node { name: node.name, bytes, shapes, counted });
        });
        let by_name = nodes.iter().enumerate().map(|(at, node)| (node.name, at)).collect();
        GraphShapes { nodes, by_name }
    }

    pub fn nodes(&self) -> &[Node<'a>] {
        &self.nodes
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The `GraphDef` with shapes completed from runs; `None` if runs add nothing.
    // As the original, which changes its caller's graph in place.
    pub fn completed(&self, graph: &[u8], run_shapes: &RunShapes) -> Option<Vec<u8>> {
        if run_shapes.shapes.is_empty() {
            return None;
        }
        let mut nodes = self.nodes.iter();
        let mut out = Vec::with_capacity(graph.len() + graph.len() / 8);
        let mut fields = Fields::new(graph, 0);
        while let Ok(Some(field)) = fields.next_field() {
            let node =
                if field.number == graph_def::NODE && field.value.bytes().is_some() { nodes.next() } else { None };
            match node {
                Some(node) if (0..node.shapes.len()).any(|output| run_shapes.get(node.name, output).is_some()) => {
                    pb::bytes(&mut out, graph_def::NODE, &node.completed(run_shapes));
                }
                _ => out.extend_from_slice(&graph[field.offset as usize..fields.offset() as usize]),
            }
        }
        Some(out)
    }

    /// The shape of an output, from a run or else from the graph. Empty if it is unknown.
    pub(super) fn shape(&self, node: usize, output: usize, run_shapes: Option<&RunShapes>) -> Vec<i64> {
        let node = &self.nodes[node];
        if let Some(run_shapes) = run_shapes
            && let Some(dims) = run_shapes.get(node.name, output)
        {
            return dims.to_vec();
        }
        let mut dims = Vec::new();
        if let Some(shape) = node.shapes.get(output) {
            shape_dims(shape, &mut dims);
        }
        dims
    }

    /// The FLOPs of a node; `None` if there is no formula for its op.
    pub fn float_ops(&self, node: usize, run_shapes: Option<&RunShapes>) -> Option<flops::Flops> {
        let Counted { formula, op, inputs, attributes } = self.nodes[node].counted.as_ref()?;
        let inputs: Vec<Vec<i64>> = inputs.iter().map(|input| self.input_shape(input, run_shapes)).collect();
        let inputs: Vec<Option<Dims<'_>>> = inputs.iter().map(|dims| ranked(dims)).collect();
        let output = self.shape(node, 0, run_shapes);
        let attribute = |name: &str| {
            let is_it = |attribute: &&Attribute<'_>| attribute.key == name.as_bytes();
            attributes.iter().rev().find(is_it).and_then(|attribute| attribute.value).map(Attr)
        };
        Some(formula.count(&Op {
            name: op,
            inputs: &inputs,
            output: ranked(&output),
            facts: &[],
            attribute: &attribute,
            as_original: true,
        }))
    }

    /// The shape of `name` or `name:1`; that of a control input is unknown.
    fn input_shape(&self, input: &[u8], run_shapes: Option<&RunShapes>) -> Vec<i64> {
        let (source, output) = match memchr::memrchr(b':', input) {
            None => (input, 0),
            Some(colon) => {
                let output = std::str::from_utf8(&input[colon + 1..]).ok().and_then(|digits| digits.parse().ok());
                (&input[..colon], output.unwrap_or(usize::MAX))
            }
        };
        self.by_name.get(source).map(|node| self.shape(*node, output, run_shapes)).unwrap_or_default()
    }
}

impl Node<'_> {
    /// The `NodeDef` with completed shapes.
    fn completed(&self, run_shapes: &RunShapes) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.bytes.len() + 32);
        let mut fields = Fields::new(self.bytes, 0);
        while let Ok(Some(field)) = fields.next_field() {
            let attribute = field.value.bytes().filter(|_| field.number == node_def::ATTR);
            if attribute.is_none_or(|entry| map_entry(entry).0 != b"_output_shapes") {
                out.extend_from_slice(&self.bytes[field.offset as usize..fields.offset() as usize]);
            }
        }
        let mut list = Vec::new();
        for (output, known) in self.shapes.iter().enumerate() {
            match run_shapes.get(self.name, output) {
                None => pb::element(&mut list, list_value::SHAPE, known),
                Some(dims) => {
                    let mut shape = Vec::new();
                    for size_of_dim in dims {
                        let mut size = Vec::new();
                        pb::int(&mut size, dim::SIZE, *size_of_dim);
                        pb::element(&mut shape, tensor_shape::DIM, &size);
                    }
                    pb::element(&mut list, list_value::SHAPE, &shape);
                }
            }
        }
        let (mut value, mut entry) = (Vec::new(), Vec::new());
        pb::bytes(&mut value, attr_value::LIST, &list);
        pb::bytes(&mut entry, KEY, b"_output_shapes");
        pb::bytes(&mut entry, VALUE, &value);
        pb::bytes(&mut out, node_def::ATTR, &entry);
        out
    }
}

/// Shapes that runs recorded for outputs whose shape the graph does not know. The first run wins.
#[derive(Clone, Debug, Default)]
pub struct RunShapes {
    pub(super) shapes: UntrustedMap<(Vec<u8>, usize), Vec<i64>>,
}

impl RunShapes {
    fn get(&self, node: &[u8], output: usize) -> Option<&[i64]> {
        if self.shapes.is_empty() {
            return None;
        }
        self.shapes.get(&(node.to_vec(), output)).map(Vec::as_slice)
    }

    /// Adds the shapes that a `RunMetadata` recorded for outputs whose shape the graph does not fully know. Returns
    /// the nodes whose shapes contradict the graph; they keep the graph's shapes.
    pub fn add(&mut self, graph: &GraphShapes<'_>, run_meta: &[u8]) -> Vec<String> {
        let mut contradictions = Vec::new();
        each_field(Fields::new(run_meta, 0), |all, number, value| {
            let (run_metadata::STEP_STATS, Value::Bytes(stats)) = (number, value) else { return };
            each_field(all.nested(stats), |all, number, value| {
                let (step_stats::DEV_STATS, Value::Bytes(device)) = (number, value) else { return };
                each_field(all.nested(device), |_, number, value| {
                    if let (device_step_stats::NODE_STATS, Value::Bytes(record)) = (number, value) {
                        self.add_record(graph, record, &mut contradictions);
                    }
                });
            });
        });
        contradictions
    }

    fn add_record(&mut self, graph: &GraphShapes<'_>, record: &[u8], contradictions: &mut Vec<String>) {
        let mut name = &b""[..];
        let mut outputs = Vec::new();
        each_field(Fields::new(record, 0), |_, number, value| match (number, value) {
            (node_exec_stats::NODE_NAME, Value::Bytes(bytes)) => name = bytes,
            (node_exec_stats::OUTPUT, Value::Bytes(output)) => outputs.push(output),
            _ => {}
        });
        let Some(node) = graph.by_name.get(name).copied() else { return };
        if outputs.len() != graph.nodes[node].shapes.len() {
            return;
        }
        for (output, bytes) in outputs.into_iter().enumerate() {
            let known = graph.shape(node, output, Some(self));
            if !known.is_empty() && known.iter().all(|dim| *dim >= 0) {
                continue;
            }
            let recorded = output_dims(bytes);
            if known.is_empty() || fits(&known, &recorded) {
                self.shapes.insert((name.to_vec(), output), recorded);
            } else {
                contradictions.push(String::from_utf8_lossy(name).into_owned());
            }
        }
    }
}

fn fits(known: &[i64], recorded: &[i64]) -> bool {
    known.len() == recorded.len() && known.iter().zip(recorded).all(|(known, size)| *known < 0 || known == size)
}

/// The dimensions in `NodeOutput.tensor_description.shape`.
fn output_dims(output: &[u8]) -> Vec<i64> {
    let mut dims = vec![1];
    each_field(Fields::new(output, 0), |all, number, value| {
        let (node_output::TENSOR_DESCRIPTION, Value::Bytes(tensor)) = (number, value) else { return };
        each_field(all.nested(tensor), |_, number, value| {
            if let (tensor_description::SHAPE, Value::Bytes(shape)) = (number, value) {
                shape_dims(shape, &mut dims);
            }
        });
    });
    if dims.is_empty() { vec![1] } else { dims }
}

/// As the original: no dimensions mean an unknown rank.
fn ranked(dims: &[i64]) -> Option<Dims<'_>> {
    Some(dims).filter(|dims| !dims.is_empty())
}
