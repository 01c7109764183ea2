//! The most expensive op types, scopes and lines of code.

use super::{Advice, Evidence, micros};
use crate::metric::Metric;
use crate::model::layers::Layers;
use crate::options::{Options, OrderBy, Selection, ViewKind};
use crate::quirks::Quirks;
use crate::view::{Demand, View, VisibleRow};

/// Ignore cheaper lines of code.
const LEAST_MICROS: i64 = 1000;

pub(super) fn check(evidence: &Evidence<'_>, advice: &mut Advice) {
    let has_steps = !evidence.model.runs.is_empty();
    if has_steps {
        by_op(evidence, advice);
    } else {
        advice.note("no step is loaded, so nothing is known of times");
    }
    by_scope(evidence, advice);
    if evidence.model.has_traces {
        by_line(evidence, advice);
    } else {
        advice.note("no code traces are loaded, so nothing is known of lines of code");
    }
}

/// The rows of a view by time, if there is such a view.
fn view(evidence: &Evidence<'_>, kind: ViewKind, max_depth: i64, min_micros: i64) -> Option<View> {
    let mut select = Selection::default();
    for metric in [Metric::Micros, Metric::AcceleratorMicros, Metric::CpuMicros] {
        select.add_metric(metric);
    }
    let mut options =
        Options { max_depth: Some(max_depth), quirks: evidence.quirks, select: Some(select), ..Options::default() };
    options.order_by = OrderBy::Metric(Metric::Micros);
    options.min[Metric::Micros as usize] = min_micros;
    View::of_layers(evidence.model.clone(), Layers::OPS, kind, &options, Demand::ROWS).ok()
}

/// `cpu: 1us, accelerator: 2us, total: 3us`.
fn times(number: impl Fn(Metric) -> i64) -> String {
    let [cpu, accelerator, total] =
        [Metric::CpuMicros, Metric::AcceleratorMicros, Metric::Micros].map(|metric| micros(number(metric)));
    format!("cpu: {cpu}, accelerator: {accelerator}, total: {total}")
}

fn by_op(evidence: &Evidence<'_>, advice: &mut Advice) {
    // One more row than are shown: PyTorch's range around a step is no op.
    let Some(view) = view(evidence, ViewKind::Op, 4, 1) else { return };
    let Some((root, rows)) = view.rows().split_first() else { return };
    let total = view.total(Metric::Micros, root) as f64 + 1e-10;
    let lines: Vec<String> = (1..)
        .zip(rows.iter().filter(|row| !is_step(evidence, view.name(row))).take(3))
        .map(|(i, row)| {
            let share = 100.0 * view.self_value(Metric::Micros, row) as f64 / total;
            let times = times(|metric| view.self_value(metric, row));
            format!("top {i} operation type: {}, {times} ({share:.2}%)", view.name(row))
        })
        .collect();
    if !lines.is_empty() {
        advice.report_lines(&lines);
    }
}

/// Whether a row is PyTorch's range around a step.
fn is_step(evidence: &Evidence<'_>, name: &str) -> bool {
    evidence.model.is_trace && name.starts_with("ProfilerStep")
}

/// As the original: a scope is reported with its self time, without its children.
fn by_scope(evidence: &Evidence<'_>, advice: &mut Advice) {
    let Some(view) = view(evidence, ViewKind::Scope, 100, 100) else { return };
    let lines: Vec<String> = (1..)
        .zip(Children::new(&view).of(0).filter(|at| !is_step(evidence, view.name(&view.rows()[*at]))).take(3))
        .map(|(i, child)| {
            let row = &view.rows()[child];
            // In a trace, no scope is a node itself: use the total of its children.
            let number =
                |metric| if evidence.model.is_trace { view.total(metric, row) } else { view.self_value(metric, row) };
            format!("top {i} graph node: {}, {}", view.name(row), times(number))
        })
        .collect();
    if !lines.is_empty() {
        advice.report_lines(&lines);
    }
}

/// Skips the chain of single callees at the top: the user's code begins at the first line with several.
fn by_line(evidence: &Evidence<'_>, advice: &mut Advice) {
    let Some(view) = view(evidence, ViewKind::Code, 100, 1) else { return };
    let children = Children::new(&view);
    let mut at = 0;
    let begin = loop {
        let mut children = children.of(at);
        match (children.next(), children.next()) {
            (None, _) => return,
            (Some(only), None) => at = only,
            (Some(_), Some(_)) => break at,
        }
    };
    let mut lines = Vec::new();
    add_lines(&view, &children, begin, 0, &mut lines);
    // The original reports even if there are no lines.
    if lines.is_empty() && evidence.quirks != Quirks::ORIGINAL {
        return;
    }
    advice.report_lines(&lines);
}

/// Adds the lines of four levels.
fn add_lines(view: &View, children: &Children, at: usize, depth: usize, lines: &mut Vec<String>) {
    if depth > 3 || children.of(at).nth(1).is_none() {
        return;
    }
    for child in children.of(at).take(3) {
        let row: &VisibleRow = &view.rows()[child];
        if view.total(Metric::Micros, row) < LEAST_MICROS {
            continue;
        }
        let times = times(|metric| view.total(metric, row));
        lines.push(format!("{}{}, {times}", "  ".repeat(depth), view.name(row)));
        add_lines(view, children, child, depth + 1, lines);
    }
}

/// The visible children of each row as linked lists: the first child, and the next sibling.
struct Children {
    first: Vec<usize>,
    next: Vec<usize>,
}

impl Children {
    fn new(view: &View) -> Children {
        let rows = view.rows();
        let mut children = Children { first: vec![0; rows.len()], next: vec![0; rows.len()] };
        for row in (1..rows.len()).rev() {
            let parent = rows[row].parent;
            children.next[row] = children.first[parent];
            children.first[parent] = row;
        }
        children
    }

    /// Row 0, the root, is nobody's child, so it ends a list.
    fn of(&self, row: usize) -> impl Iterator<Item = usize> + '_ {
        let some = |row: usize| Some(row).filter(|row| *row != 0);
        std::iter::successors(self.first.get(row).copied().and_then(some), move |at| some(self.next[*at]))
    }
}
