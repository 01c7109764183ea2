//! Timelines: Chrome trace events for `chrome://tracing` and Perfetto.
//!
//! The graph view shows when each op ran and how much memory was in use (`graph.rs`). Rows of other views have no start
//! times, so their timeline shows the tree, each row as long as its total (`tree.rs`).

mod graph;
mod memory;
mod tree;

use crate::model::Model;
use crate::options::{Form, Options, Step, ViewKind};
use crate::view::View;
use std::io::{self, Write};

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

/// The steps that each have a timeline of their own: in graph view, all that are loaded unless one is asked for.
pub fn steps(model: &Model, kind: ViewKind, options: &Options) -> Vec<Step> {
    let each = options.output.form == Form::Timeline && kind == ViewKind::Graph && options.step == Step::Average;
    if each { model.runs.steps().map(Step::At).collect() } else { vec![options.step] }
}

/// As the original: the number of the step stands behind the name of the file, -1 for an average.
pub fn file_name(outfile: &str, step: Step) -> String {
    match step {
        Step::Average => format!("{outfile}_-1"),
        Step::All => format!("{outfile}_all"),
        Step::At(step) => format!("{outfile}_{step}"),
    }
}
