//! Computed, not measured, costs of nodes: filled by inference, one entry per node.

use super::nodes::NodeId;
use crate::error::Fix;
use crate::hash::TrustedMap;
use crate::model::dtype::DType;

/// Why the cost of a node is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnknownReason {
    /// There is no formula for the op.
    NoFormula,
    /// A shape that the formula needs is not fully known.
    Shape,
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
            UnknownReason::DataFormat => "the data format has no formula",
            UnknownReason::Malformed => "an input or attribute is missing",
        }
    }
}

/// The cost of one execution of each node, and how often it runs. May have fewer entries than there are nodes.
#[derive(Clone, Debug, Default)]
pub struct Costs {
    entries: Vec<NodeCosts>,
    /// Data types of variables, and of constants that count as variables.
    pub dtypes: TrustedMap<NodeId, DType>,
    /// The first nodes that lack shapes, and where the shapes got lost.
    pub missing: Vec<MissingShape>,
    /// The size that was assumed for unknown leading dimensions.
    pub batch: Option<i64>,
    /// Elements of constants that would be weights in a frozen graph, if they are not counted as parameters.
    pub frozen_weights: i64,
    /// For costs of a saved profile, the step whose shapes they are for.
    pub step: Option<i64>,
}

/// A node that lacks shapes, where they got lost, and how to state them.
#[derive(Clone, Debug)]
pub struct MissingShape {
    pub node: NodeId,
    pub why: String,
    pub fix: Option<Fix>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeCosts {
    pub float_ops: i64,
    pub macs: i64,
    pub io_bytes: i64,
    /// How many nodes of unknown cost it stands for: itself, or unlisted nodes of functions.
    pub unknown: i64,
    pub why: Option<UnknownReason>,
    /// How often it runs, by the structure of the program.
    pub runs: i64,
    /// It comes from a graph, so that its cost is defined.
    pub counted: bool,
    /// How many unlisted nodes of functions it stands for.
    pub unlisted: i64,
}

impl Costs {
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn set(&mut self, node: NodeId, costs: NodeCosts) {
        if self.entries.len() <= node.index() {
            self.entries.resize(node.index() + 1, NodeCosts::default());
        }
        self.entries[node.index()] = costs;
    }

    pub fn get(&self, node: NodeId) -> NodeCosts {
        self.entries.get(node.index()).copied().unwrap_or_default()
    }
}
