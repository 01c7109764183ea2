//! Rows as boxes within boxes, for everything that draws them so: timelines of trees, and flame graphs.
//!
//! A box is as wide as its row's total; the boxes within it begin where it begins, one after the other. In op view a
//! row's total is a running sum, so there a box is as wide as its row alone, and the root holds them all.

use crate::metric::Metric;
use crate::options::ViewKind;
use crate::units::Amount;
use crate::view::View;
use crate::view::values::plus;

/// A row with something to show, in the order of printing; the root is always there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nested {
    /// Its place among the rows of the view.
    pub row: usize,
    /// Its place among the boxes; the root is its own parent.
    pub parent: usize,
    pub depth: usize,
    pub start: i64,
    pub width: i64,
    /// What is left of the width behind the boxes within.
    pub own: i64,
}

/// Boxes wider than nothing. A row without width is left out with all that lies within it.
pub fn boxes(view: &View, metric: Metric) -> Vec<Nested> {
    let rows = view.rows();
    let mut boxes: Vec<Nested> = Vec::with_capacity(rows.len());
    // By row: its box, if it has one. By box: where the next box within it begins.
    let mut box_of = vec![usize::MAX; rows.len()];
    let mut next: Vec<i64> = Vec::with_capacity(rows.len());
    for (i, row) in rows.iter().enumerate() {
        let chain = i > 0 && view.rules().chain;
        let width = if chain { view.exact_self(metric, row).n } else { view.exact_total(metric, row).n };
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
    match view.model.parts(metric) {
        1 => boxes,
        parts => whole(boxes, parts),
    }
}

/// Boxes in whole units. Their edges are rounded, not their widths, so that those within a box still fit into it.
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

/// The metric that a drawing of one metric shows.
pub fn metric(view: &View) -> Metric {
    view.selection.given().next().unwrap_or(Metric::Micros)
}

/// The name of a box within the box around it: of `a/b` in `a`, only `b`.
pub fn label<'v>(view: &'v View, boxes: &[Nested], i: usize) -> &'v str {
    let name = |i: usize| view.name(&view.rows()[boxes[i].row]);
    inner(view, name(i), name(boxes[i].parent))
}

/// A name within another one's row, without what both have in common.
pub fn inner<'v>(view: &View, name: &'v str, around: &str) -> &'v str {
    if view.kind != ViewKind::Scope {
        return name;
    }
    let inner = name.strip_prefix(around).and_then(|rest| rest.strip_prefix('/'));
    inner.filter(|inner| !inner.is_empty()).unwrap_or(name)
}
