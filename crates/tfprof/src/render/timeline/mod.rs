//! Timelines: Chrome trace events for `chrome://tracing` and Perfetto.
//!
//! The graph view shows when each op ran and how much memory was in use (`graph.rs`). Rows of other views have no start
//! times, so their timeline shows the tree, each row as long as its total (`tree.rs`).

mod graph;
mod memory;
mod tree;

use crate::error::{Fix, Refusal};
use crate::metric::Metric;
use crate::options::{Step, ViewKind};
use crate::view::{Demand, View};
use std::io::{self, Write};

pub const DEMAND: Demand = Demand {
    extra_metric: Some(Metric::Micros),
    executions: true,
    check: |kind, options, _| match kind {
        ViewKind::Op if options.quirks.fewer_outputs => {
            let fix = Fix::new("ask the graph, scope or code view, or leave out", "original_quirks");
            Err(Refusal::new("the op view has none", fix))
        }
        ViewKind::Graph if !matches!(options.step, Step::At(_)) => {
            Err(Refusal::new("in graph view it is about one step", Fix::new("give it with", "step")))
        }
        _ => Ok(()),
    },
    ..Demand::ROWS
};

/// The peak of an allocator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peak {
    pub device: String,
    pub bytes: i64,
}

/// Writes the timeline of a view and returns the memory peaks of GPUs.
pub fn write(view: &View, out: &mut dyn Write) -> io::Result<Vec<Peak>> {
    match (view.kind, view.options.step) {
        (ViewKind::Graph, Step::At(step)) => graph::write(view, step, out),
        _ => tree::write(view, out).map(|()| Vec::new()),
    }
}
