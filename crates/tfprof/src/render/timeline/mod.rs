//! Timelines: trace events in Chrome's format, which Perfetto opens.
//!
//! The graph view shows when each op ran and how much memory was in use (`graph.rs`). Rows of other views have no start
//! times, so their timeline shows the tree, each row as long as its total (`tree.rs`).

mod graph;
mod memory;

pub use graph::shows;

use crate::error::{Fix, Refusal};
use crate::metric::Metric;
use crate::options::{Step, ViewKind};
use crate::render::chrome::{Event, EventWriter, Layout, Point};
use crate::render::nesting::{self, Nested};
use crate::view::compare::Compared;
use crate::view::{Demand, View};
use std::io::{self, Write};

pub const DEMAND: Demand = Demand {
    extra_metrics: &[Metric::Micros],
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
    if let Some(compared) = view.compared() {
        return write_both(view, compared, out).map(|()| Vec::new());
    }
    match (view.kind, view.options.step) {
        (ViewKind::Graph, Step::At(step)) => graph::write(view, step, out),
        _ => write_tree(view, out).map(|()| Vec::new()),
    }
}

/// Both sides in one trace, each with processes of its own and from time 0 on.
fn write_both(view: &View, compared: &Compared, out: &mut dyn Write) -> io::Result<()> {
    let mut events = EventWriter::begin(&Layout::SORTED, out);
    let mut process = 0;
    for (side, word) in [(&compared.before, "before"), (&compared.after, "after")] {
        process = match (view.kind, view.options.step) {
            (ViewKind::Graph, Step::At(step)) => graph::push_ops(side, step, word, process, &mut events)?,
            _ => {
                let boxes = nesting::boxes_of_side(view, Metric::Micros, word == "before");
                push_tree(view, &boxes, &format!("{word} Scope:"), process, &mut events)?
            }
        };
    }
    events.end()
}

/// The timeline of a tree: a row starts where its parent does, after its elder siblings, and is as long as its total.
fn write_tree(view: &View, out: &mut dyn Write) -> io::Result<()> {
    let mut events = EventWriter::begin(&Layout::SORTED, out);
    push_tree(view, &nesting::boxes(view, Metric::Micros), "Scope:", 0, &mut events)?;
    events.end()
}

/// Writes boxes from a process on, and returns the first process that is free.
fn push_tree(view: &View, boxes: &[Nested], title: &str, first: u32, events: &mut EventWriter<'_>) -> io::Result<u32> {
    // Each depth is a process, named when it is first needed.
    let mut named = first;
    for nested in boxes {
        let process = first + nested.depth as u32;
        if process >= named {
            events.process_name(process, &format!("{title}{}", process - first))?;
            named = process + 1;
        }
        let name = view.name(&view.rows()[nested.row]).as_bytes();
        let at = Point { process, lane: 0, time: nested.start.into() };
        let event = Event { phase: "X", category: "Op", name, at, duration: Some(nested.width.into()), id: None };
        events.event_with(&event, |args| {
            args.string(b"name", name);
            args.string(b"op", name);
        })?;
    }
    Ok(named)
}
