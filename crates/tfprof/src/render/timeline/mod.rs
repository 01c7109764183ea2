//! Trace events, as the tracing page of Chrome and Perfetto read them.
//!
//! The graph view shows when each op ran and what memory was held (`graph.rs`); the other views have no times of their
//! own, so theirs shows how rows nest, each as long as its total (`tree.rs`).

mod events;
mod graph;
mod lanes;
mod memory;
mod tree;

use crate::model::Model;
use crate::options::{Form, Options, Step, ViewKind};
use crate::view::View;
use std::io::{self, Write};

/// The most memory that an allocator had given out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peak {
    pub device: String,
    pub bytes: i64,
}

/// Writes the timeline of a view, and says what it showed of the memory of GPUs.
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
