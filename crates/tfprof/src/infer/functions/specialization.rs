//! A body inferred for given arguments: its facts, its callees, and its total cost.

use crate::infer::fact::{BATCHES, Point};
use crate::infer::inference::{Cost, Instance};

/// A function, or the graph, inferred for given arguments.
#[derive(Clone, Debug)]
pub struct Specialization {
    /// `None` for the graph.
    pub function: Option<u32>,
    pub instance: Instance,
    /// In the order of nodes.
    pub calls: Vec<Call>,
    /// The runs of each node per run of the body; `None` if all nodes run once.
    pub runs: Option<Vec<i64>>,
    pub total: Total,
}

/// A node and its callees.
#[derive(Clone, Debug)]
pub struct Call {
    pub node: u32,
    pub targets: Vec<Target>,
}

#[derive(Clone, Debug)]
pub struct Target {
    pub instance: u32,
    /// The callee's role, such as `body`; empty if there is only one callee.
    pub part: String,
    /// Runs per run of the call; 0 for a branch not taken.
    pub runs: i64,
    /// The same, at each of [`BATCHES`].
    pub by_batch: [i64; BATCHES.len()],
    /// The number of inputs before the first argument.
    pub skipped: u32,
}

impl Target {
    /// `runs` are those at each of [`Point::ALL`].
    pub fn new(instance: u32, part: String, runs: [i64; Point::ALL.len()], skipped: u32) -> Target {
        let [runs, by_batch @ ..] = runs;
        Target { instance, part, runs, by_batch, skipped }
    }
}

/// The cost of one run of a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    pub cost: Cost,
    /// The cost at each of [`BATCHES`].
    pub by_batch: [Cost; BATCHES.len()],
    /// Nodes, including those of callees, but not arguments.
    pub nodes: i64,
    /// Nodes that run and whose cost is unknown.
    pub unknown: i64,
}

impl Total {
    /// Adds runs of another body: some at the size of the batch that was asked for, and some at each of [`BATCHES`].
    pub fn add(&mut self, other: &Total, runs: i64, by_batch: [i64; BATCHES.len()]) {
        self.cost.add(&other.cost, runs);
        for (at, runs) in by_batch.into_iter().enumerate() {
            self.by_batch[at].add(&other.by_batch[at], runs);
        }
        self.nodes = self.nodes.saturating_add(other.nodes);
        if runs > 0 {
            self.unknown = self.unknown.saturating_add(other.unknown);
        }
    }

    pub fn cost_at(&self, point: Point) -> Cost {
        match point {
            Point::Asked => self.cost,
            Point::Batch(index) => self.by_batch[index],
        }
    }
}
