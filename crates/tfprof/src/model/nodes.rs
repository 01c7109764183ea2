//! The graph as columns, one entry per node in each.

use super::layers::Layer;
use super::lists::ListId;
use super::names::{NameHash, NameId};
use super::stacks::StackId;
use crate::hash::TrustedMap;

/// A node, numbered in the order of its first appearance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub(crate) u32);

/// The dimensions of a tensor. As the original: a scalar is `[1]`, an unknown rank is `[]`, an unknown size −1.
pub type ShapeId = ListId<i64>;

/// Types of a node besides its op and its devices, sorted by name.
pub type TypesId = ListId<NameId>;

/// An input of a node: the name of its source, which need not exist, and the number of the source's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input {
    pub source: NameId,
    pub output: u32,
}

#[derive(Clone, Debug, Default)]
pub struct Nodes {
    pub name: Vec<NameId>,
    /// Hashes of the names, adjacent so that many can be searched at once.
    pub name_hash: Vec<NameHash>,
    pub op: Vec<NameId>,
    pub types: Vec<TypesId>,
    /// The attribute `shape` of variables and placeholders.
    pub shape: Vec<ShapeId>,
    pub stack: Vec<StackId>,
    pub float_ops: Vec<i64>,
    /// It belongs to the body of a function, listed under the node that calls it.
    pub inner: Vec<bool>,
    /// The device that the graph asks for, in lower case.
    pub declared_device: Vec<NameId>,
    /// Nodes beyond its end are ops, so that graphs do not pay for it.
    layers: Vec<Layer>,
    inputs: Vec<Input>,
    inputs_end: Vec<u32>,
    output_shapes: Vec<ShapeId>,
    output_shapes_end: Vec<u32>,
    /// Inputs and output shapes of nodes that one file recorded and a later file defined.
    defined_late: TrustedMap<NodeId, (Vec<Input>, Vec<ShapeId>)>,
}

/// Marks an input that a file left out.
pub const NO_INPUT: Input = Input { source: NameId(u32::MAX), output: 0 };

impl NodeId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Nodes {
    pub fn len(&self) -> usize {
        self.name.len()
    }

    pub fn is_empty(&self) -> bool {
        self.name.is_empty()
    }

    pub fn all(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.len() as u32).map(NodeId)
    }

    #[inline]
    pub fn layer(&self, node: NodeId) -> Layer {
        self.layers.get(node.index()).copied().unwrap_or_default()
    }

    pub fn set_layer(&mut self, node: NodeId, layer: Layer) {
        if node.index() >= self.layers.len() {
            self.layers.resize(node.index() + 1, Layer::Ops);
        }
        self.layers[node.index()] = layer;
    }

    /// Adds a node without inputs and shapes.
    pub fn push(&mut self, name: NameId, hash: NameHash, op: NameId) -> NodeId {
        let id = NodeId(self.len() as u32);
        self.name.push(name);
        self.name_hash.push(hash);
        self.op.push(op);
        self.types.push(TypesId::EMPTY);
        self.shape.push(ShapeId::EMPTY);
        self.stack.push(StackId::NONE);
        self.float_ops.push(0);
        self.inner.push(false);
        self.declared_device.push(NameId::EMPTY);
        self.inputs_end.push(self.inputs.len() as u32);
        self.output_shapes_end.push(self.output_shapes.len() as u32);
        id
    }

    /// Adds an input to the last node.
    pub fn push_input(&mut self, input: Input) {
        self.inputs.push(input);
        if let Some(end) = self.inputs_end.last_mut() {
            *end += 1;
        }
    }

    /// Adds the shape of the next output to the last node.
    pub fn push_output_shape(&mut self, shape: ShapeId) {
        self.output_shapes.push(shape);
        if let Some(end) = self.output_shapes_end.last_mut() {
            *end += 1;
        }
    }

    pub fn inputs(&self, node: NodeId) -> &[Input] {
        match self.late(node) {
            Some((inputs, _)) => inputs,
            None => &self.inputs[range(&self.inputs_end, node)],
        }
    }

    pub fn output_shapes(&self, node: NodeId) -> &[ShapeId] {
        match self.late(node) {
            Some((_, shapes)) => shapes,
            None => &self.output_shapes[range(&self.output_shapes_end, node)],
        }
    }

    /// Sets inputs and output shapes of a node that was added without them.
    pub fn define_late(&mut self, node: NodeId, inputs: Vec<Input>, output_shapes: Vec<ShapeId>) {
        self.defined_late.insert(node, (inputs, output_shapes));
    }

    #[inline]
    fn late(&self, node: NodeId) -> Option<&(Vec<Input>, Vec<ShapeId>)> {
        // Only merged profiles have any.
        if self.defined_late.is_empty() { None } else { self.defined_late.get(&node) }
    }

    /// Sets sources that were unknown while the nodes were read.
    pub fn resolve_inputs(&mut self, from: NodeId, mut resolve: impl FnMut(&mut Input)) {
        let start = range(&self.inputs_end, from).start;
        self.inputs[start..].iter_mut().for_each(&mut resolve);
    }
}

fn range(ends: &[u32], node: NodeId) -> std::ops::Range<usize> {
    let start = if node.0 == 0 { 0 } else { ends[node.index() - 1] as usize };
    start..ends[node.index()] as usize
}
