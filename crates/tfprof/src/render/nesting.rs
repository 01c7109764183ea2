//! Rows as nested boxes, for flame graphs and timelines of trees.
//!
//! A box is as wide as the total of its row; its children lie side by side from its left edge.

use crate::metric::Metric;
use crate::options::ViewKind;
use crate::units::Amount;
use crate::view::values::plus;
use crate::view::{View, VisibleRow};

/// The name of the root in pictures and pages.
pub const ROOT: &str = "all";

/// The box of a row. Boxes are in the order of rows; the root always has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nested {
    /// The index of its row in the view.
    pub row: usize,
    /// The index of the box around it; the root is its own parent.
    pub parent: usize,
    pub depth: usize,
    pub start: i64,
    pub width: i64,
    /// The width minus that of its children.
    pub own: i64,
}

/// The boxes with a width. A row without one is left out with its children.
pub fn boxes(view: &View, metric: Metric) -> Vec<Nested> {
    let widths = match view.compared() {
        Some(_) => drawn(view, metric),
        None => view.rows().iter().map(|row| view.exact_total(metric, row).n).collect(),
    };
    boxes_of(view, metric, &widths)
}

/// The boxes of one side of a comparison.
pub fn boxes_of_side(view: &View, metric: Metric, is_before: bool) -> Vec<Nested> {
    let widths: Vec<i64> = view.rows().iter().map(|row| view.side_total(metric, row, is_before)).collect();
    boxes_of(view, metric, &widths)
}

/// The widths of a comparison: what is there after, and what was there of rows that are gone.
fn drawn(view: &View, metric: Metric) -> Vec<i64> {
    let rows = view.rows();
    let is_gone = |row: &VisibleRow| view.removed(row).is_some();
    let mut widths: Vec<i64> = rows.iter().map(|row| view.side_total(metric, row, is_gone(row))).collect();
    // Rows that are gone add to the rows around them that are not.
    for (i, row) in rows.iter().enumerate().skip(1).rev() {
        let grown = if is_gone(row) {
            if is_gone(&rows[row.parent]) { 0 } else { widths[i] }
        } else {
            widths[i].saturating_sub(view.side_total(metric, row, false))
        };
        widths[row.parent] = widths[row.parent].saturating_add(grown);
    }
    widths
}

/// The boxes of rows with these widths.
fn boxes_of(view: &View, metric: Metric, widths: &[i64]) -> Vec<Nested> {
    let rows = view.rows();
    let mut boxes: Vec<Nested> = Vec::with_capacity(rows.len());
    // By row: the index of its box. By box: where its next child begins.
    let mut box_of = vec![usize::MAX; rows.len()];
    let mut next: Vec<i64> = Vec::with_capacity(rows.len());
    for (i, row) in rows.iter().enumerate() {
        let width = widths[i];
        let parent = if i == 0 { 0 } else { box_of[row.parent] };
        if i > 0 && (width <= 0 || parent == usize::MAX) {
            continue;
        }
        let start = next.get(parent).copied().unwrap_or(0);
        if i > 0 {
            // As the original: past the largest number, times wrap.
            next[parent] = plus(start, width, view.options.quirks.numbers_wrap);
            boxes[parent].own = boxes[parent].own.saturating_sub(width);
        }
        box_of[i] = boxes.len();
        boxes.push(Nested { row: i, parent, depth: row.depth, start, width, own: width });
        next.push(start);
    }
    match view.parts(metric) {
        1 => boxes,
        parts => whole(boxes, parts),
    }
}

/// Boxes in whole units. Edges are rounded rather than widths, so that children still fit into their parent.
fn whole(mut boxes: Vec<Nested>, parts: i64) -> Vec<Nested> {
    let round = |n| Amount { n, parts }.rounded();
    for nested in &mut boxes {
        let end = round(nested.start.saturating_add(nested.width));
        nested.start = round(nested.start);
        nested.width = end - nested.start;
        nested.own = nested.width;
    }
    for i in 1..boxes.len() {
        let (parent, width) = (boxes[i].parent, boxes[i].width);
        boxes[parent].own -= width;
    }
    boxes
}

/// The metric that is drawn: the first that was selected.
pub fn metric(view: &View) -> Metric {
    view.selection.given().next().unwrap_or(Metric::Micros)
}

/// The name of a box relative to its parent: `b` for `a/b` in `a`.
pub fn label<'v>(view: &'v View, boxes: &[Nested], i: usize) -> &'v str {
    let name = |i: usize| view.name(&view.rows()[boxes[i].row]);
    inner(view, name(i), name(boxes[i].parent))
}

/// A name relative to the name of its parent.
pub fn inner<'v>(view: &View, name: &'v str, around: &str) -> &'v str {
    if view.kind != ViewKind::Scope {
        return name;
    }
    let inner = name.strip_prefix(around).and_then(|rest| rest.strip_prefix('/'));
    inner.filter(|inner| !inner.is_empty()).unwrap_or(name)
}
