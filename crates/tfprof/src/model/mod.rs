//! What the program knows, free of any file format: a graph as columns, and a table of what ran.
//!
//! A [`Builder`](builder::Builder) fills a [`Model`] while bytes are read. From then on it only lends.

pub mod builder;
pub mod cells;
pub mod devices;
pub mod lists;
pub mod names;
pub mod nodes;
pub mod runs;
pub mod stacks;

use devices::Devices;
use lists::Lists;
use names::{NameId, Names};
use nodes::{NodeId, Nodes};
use runs::Runs;
use rustc_hash::FxHashMap;
use stacks::Stacks;
use std::sync::OnceLock;

/// Everything that was loaded.
#[derive(Debug, Default)]
pub struct Model {
    pub names: Names,
    pub nodes: Nodes,
    pub shapes: Lists<i64>,
    pub type_sets: Lists<NameId>,
    pub devices: Devices,
    pub runs: Runs,
    pub stacks: Stacks,
    /// An op log had traces, if only empty ones.
    pub has_traces: bool,
    /// A step named GPUs but none of their streams.
    pub misses_streams: bool,
    /// What each number meant in the first op log that used it.
    pub first_strings: FxHashMap<i64, NameId>,
    node_of: Vec<u32>,
    by_name: OnceLock<Vec<NodeId>>,
}

impl Model {
    /// The node of that name.
    #[inline]
    pub fn node(&self, name: NameId) -> Option<NodeId> {
        match self.node_of.get(name.index()) {
            None | Some(&u32::MAX) => None,
            Some(id) => Some(NodeId(*id)),
        }
    }

    pub fn name(&self, node: NodeId) -> &str {
        self.names.get(self.nodes.name[node.index()])
    }

    /// All nodes in ascending order of their names' bytes.
    pub fn by_name(&self) -> &[NodeId] {
        self.by_name.get_or_init(|| {
            let mut nodes: Vec<NodeId> = self.nodes.all().collect();
            nodes.sort_unstable_by(|a, b| self.name(*a).cmp(self.name(*b)));
            nodes
        })
    }

    /// Whether any number is below zero, so that even a minimum of 0 hides something.
    pub fn has_negative_numbers(&self) -> bool {
        self.runs.has_negative_numbers() || self.nodes.float_ops.iter().any(|n| *n < 0)
    }

    /// Adds a node whose name is new.
    fn push_node(&mut self, name: NameId, op: NameId) -> NodeId {
        let node = self.nodes.push(name, op);
        if name.index() >= self.node_of.len() {
            self.node_of.resize(self.names.len(), u32::MAX);
        }
        self.node_of[name.index()] = node.0;
        self.by_name = OnceLock::new();
        node
    }
}
