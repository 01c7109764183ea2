//! Computed, not measured, costs of nodes: filled by inference, one entry per node.

use super::nodes::{NodeId, ShapeId};
use crate::error::Fix;
use crate::hash::TrustedMap;
use crate::model::dtype::DType;

/// Why the cost of a node is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UnknownReason {
    /// There is no formula for the op.
    NoFormula,
    /// A shape that the formula needs is not fully known.
    Shape,
    /// The same, and no inference can know it: the shape depends on data.
    Data,
    /// The formula does not know this layout of data.
    DataFormat,
    /// The node contradicts the definition of its op: an input, a dimension or an attribute is missing.
    Malformed,
}

impl UnknownReason {
    /// The reason in a few words.
    pub fn words(self) -> &'static str {
        match self {
            UnknownReason::NoFormula => "there is no formula for the op",
            UnknownReason::Shape => "a shape is not known",
            UnknownReason::Data => "a shape depends on data",
            UnknownReason::DataFormat => "the data format has no formula",
            UnknownReason::Malformed => "an input or attribute is missing",
        }
    }
}

/// The cost of one execution of each node, and how often it runs. May have fewer entries than there are nodes.
#[derive(Clone, Debug, Default)]
pub struct Costs {
    entries: Vec<Entry>,
    /// The nodes that stand for several: how many of unknown cost, and how many unlisted ones.
    several: TrustedMap<NodeId, (i64, i64)>,
    /// Data types of variables, and of constants that count as variables.
    pub dtypes: TrustedMap<NodeId, DType>,
    /// Variables, and the nodes that compute with them, in the order of the nodes.
    pub reads: Vec<(NodeId, NodeId)>,
    /// The first nodes that lack shapes, and where the shapes got lost.
    pub missing: Vec<MissingShape>,
    /// The size that was assumed for unknown leading dimensions.
    pub batch: Option<i64>,
    /// The cost of one run of the program if that size is 1, 2 and 3; `None` for a saved profile.
    pub by_batch: Option<[RunCost; 3]>,
    /// Elements of constants that would be weights in a frozen graph, if they are not counted as parameters.
    pub frozen_weights: i64,
    /// By node, its outputs; empty unless shapes of outputs are kept.
    pub tensors: Vec<Outputs>,
    /// For costs of a saved profile, the step whose shapes they are for.
    pub step: Option<i64>,
}

/// The outputs of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outputs {
    /// The shape of the first; empty if it is unknown.
    pub shape: ShapeId,
    /// The bytes of all of them; `None` if any size is unknown.
    pub bytes: Option<i64>,
}

/// The cost of one run of a program, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunCost {
    pub float_ops: i64,
    pub macs: i64,
    pub io_bytes: i64,
}

/// A node that lacks shapes, where they got lost, and how to state them.
#[derive(Clone, Debug)]
pub struct MissingShape {
    pub node: NodeId,
    pub why: String,
    pub fix: Option<Fix>,
}

/// The costs of a node in as few bytes as most of them take.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    float_ops: i64,
    macs: i64,
    io_bytes: i64,
    runs: i64,
    why: Option<UnknownReason>,
    counted: bool,
    is_unknown: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeCosts {
    pub float_ops: i64,
    pub macs: i64,
    pub io_bytes: i64,
    /// The number of nodes of unknown cost that it stands for: itself, or unlisted nodes of functions.
    pub unknown: i64,
    pub why: Option<UnknownReason>,
    /// How often it runs, by the structure of the program.
    pub runs: i64,
    /// It comes from a graph, so that its cost is defined.
    pub counted: bool,
    /// The number of unlisted nodes of functions that it stands for.
    pub unlisted: i64,
}

impl Costs {
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Makes room for this many nodes.
    pub fn reserve(&mut self, nodes: usize) {
        self.entries.reserve_exact(nodes.saturating_sub(self.entries.len()));
    }

    pub fn set(&mut self, node: NodeId, costs: NodeCosts) {
        if self.entries.len() <= node.index() {
            self.entries.resize(node.index() + 1, Entry::default());
        }
        let NodeCosts { float_ops, macs, io_bytes, unknown, why, runs, counted, unlisted } = costs;
        let is_unknown = unknown > 0;
        self.entries[node.index()] = Entry { float_ops, macs, io_bytes, runs, why, counted, is_unknown };
        if unknown > 1 || unlisted > 0 {
            self.several.insert(node, (unknown, unlisted));
        } else if !self.several.is_empty() {
            self.several.remove(&node);
        }
    }

    /// The outputs of a node, if they were kept.
    pub fn outputs(&self, node: NodeId) -> Option<Outputs> {
        self.tensors.get(node.index()).copied()
    }

    pub fn get(&self, node: NodeId) -> NodeCosts {
        let entry = self.entries.get(node.index()).copied().unwrap_or_default();
        let Entry { float_ops, macs, io_bytes, runs, why, counted, is_unknown } = entry;
        let several = if self.several.is_empty() { None } else { self.several.get(&node) };
        let (unknown, unlisted) = several.copied().unwrap_or((i64::from(is_unknown), 0));
        NodeCosts { float_ops, macs, io_bytes, unknown, why, runs, counted, unlisted }
    }
}
