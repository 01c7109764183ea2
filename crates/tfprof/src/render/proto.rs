//! An answer as a message: `GraphNodeProto` for scope and graph view, `MultiGraphNodeProto` for op and code view.
//!
//! Messages nest as deep as the tree does, and a length stands before its content, so lengths are found first, from
//! the last row to the first; then the rows are written from the first to the last.

use super::tensor;
use crate::metric::Metric;
use crate::model::nodes::NodeId;
use crate::view::values::Row;
use crate::view::{View, VisibleRow};
use std::io::{self, Write};
use tfprof_proto::write as pb;

/// Writes the message of a view.
pub fn write(view: &View, out: &mut dyn Write) -> io::Result<()> {
    let children_field = if view.rules().bags { 11 } else { 12 };
    let rows = view.rows();
    // What stands before and behind the children of each row.
    let parts: Vec<[Vec<u8>; 2]> = rows.iter().map(|row| parts(view, row)).collect();
    let parent = |i: usize| if view.rules().chain { i.saturating_sub(1) } else { rows[i].parent };
    let mut lengths: Vec<u64> = parts.iter().map(|[head, tail]| (head.len() + tail.len()) as u64).collect();
    for i in (1..rows.len()).rev() {
        let framed = 1 + pb::varint_len(lengths[i]) as u64 + lengths[i];
        lengths[parent(i)] += framed;
    }
    let mut open: Vec<usize> = Vec::new();
    for i in 0..rows.len() {
        while i > 0 && open.last().is_some_and(|row| *row != parent(i)) {
            if let Some(row) = open.pop() {
                out.write_all(&parts[row][1])?;
            }
        }
        if i > 0 {
            let mut frame = Vec::with_capacity(11);
            pb::key(&mut frame, children_field, 2);
            pb::varint(&mut frame, lengths[i]);
            out.write_all(&frame)?;
        }
        out.write_all(&parts[i][0])?;
        open.push(i);
    }
    while let Some(row) = open.pop() {
        out.write_all(&parts[row][1])?;
    }
    Ok(())
}

fn parts(view: &View, row: &VisibleRow) -> [Vec<u8>; 2] {
    let own = |metric| view.self_value(metric, row);
    let total = |metric| view.total(metric, row);
    if view.rules().bags {
        multi_node(view, row, &own, &total)
    } else {
        graph_node(view, Some(row), view.name(row), view.node(row), &own, &total)
    }
}

type Number<'a> = &'a dyn Fn(Metric) -> i64;

/// `GraphNodeProto` without its children.
fn graph_node(
    view: &View,
    row: Option<&VisibleRow>,
    name: &str,
    node: Option<NodeId>,
    own: Number<'_>,
    total: Number<'_>,
) -> [Vec<u8>; 2] {
    let mut head = Vec::new();
    pb::bytes(&mut head, 1, name.as_bytes());
    pb::int(&mut head, 2, own(Metric::Micros));
    pb::int(&mut head, 3, own(Metric::RequestedBytes));
    pb::int(&mut head, 4, own(Metric::Parameters));
    pb::int(&mut head, 6, total(Metric::Micros));
    pb::int(&mut head, 7, total(Metric::RequestedBytes));
    pb::int(&mut head, 8, total(Metric::Parameters));
    for device in node.into_iter().flat_map(|node| view.values().devices(node)) {
        pb::element(&mut head, 10, view.model.names.get(device).as_bytes());
    }
    let mut tail = Vec::new();
    pb::int(&mut tail, 13, own(Metric::FloatOps));
    pb::int(&mut tail, 14, total(Metric::FloatOps));
    if let Some(values) = row.and_then(|row| view.tensor(row, None)) {
        pb::element(&mut tail, 15, &tensor::message(&values, &view.options.quirks));
    }
    if let Some(node) = node {
        input_shapes(view, node, &mut tail);
    }
    pb::int(&mut tail, 17, own(Metric::AcceleratorMicros));
    pb::int(&mut tail, 18, own(Metric::CpuMicros));
    pb::int(&mut tail, 19, total(Metric::AcceleratorMicros));
    pb::int(&mut tail, 20, total(Metric::CpuMicros));
    pb::int(&mut tail, 21, own(Metric::Runs));
    pb::int(&mut tail, 22, total(Metric::Runs));
    pb::int(&mut tail, 23, total(Metric::Definitions));
    pb::int(&mut tail, 24, own(Metric::PeakBytes));
    pb::int(&mut tail, 25, own(Metric::ResidualBytes));
    pb::int(&mut tail, 26, own(Metric::OutputBytes));
    pb::int(&mut tail, 27, total(Metric::PeakBytes));
    pb::int(&mut tail, 28, total(Metric::ResidualBytes));
    pb::int(&mut tail, 29, total(Metric::OutputBytes));
    [head, tail]
}

/// `MultiGraphNodeProto` without its children.
fn multi_node(view: &View, row: &VisibleRow, own: Number<'_>, total: Number<'_>) -> [Vec<u8>; 2] {
    let mut head = Vec::new();
    pb::bytes(&mut head, 1, view.name(row).as_bytes());
    pb::int(&mut head, 2, own(Metric::Micros));
    pb::int(&mut head, 3, own(Metric::RequestedBytes));
    pb::int(&mut head, 4, own(Metric::Parameters));
    pb::int(&mut head, 5, own(Metric::FloatOps));
    pb::int(&mut head, 6, total(Metric::Micros));
    pb::int(&mut head, 7, total(Metric::RequestedBytes));
    pb::int(&mut head, 8, total(Metric::Parameters));
    pb::int(&mut head, 9, total(Metric::FloatOps));
    for node in view.bag(row) {
        let numbers: Row = view.values().row(node);
        let number = |metric: Metric| numbers[metric as usize];
        let [first, rest] = graph_node(view, None, view.model.name(node), Some(node), &number, &number);
        pb::key(&mut head, 10, 2);
        pb::varint(&mut head, (first.len() + rest.len()) as u64);
        head.extend_from_slice(&first);
        head.extend_from_slice(&rest);
    }
    let mut tail = Vec::new();
    pb::int(&mut tail, 12, own(Metric::AcceleratorMicros));
    pb::int(&mut tail, 13, own(Metric::CpuMicros));
    pb::int(&mut tail, 14, total(Metric::AcceleratorMicros));
    pb::int(&mut tail, 15, total(Metric::CpuMicros));
    pb::int(&mut tail, 16, own(Metric::PeakBytes));
    pb::int(&mut tail, 17, own(Metric::ResidualBytes));
    pb::int(&mut tail, 18, own(Metric::OutputBytes));
    pb::int(&mut tail, 19, total(Metric::PeakBytes));
    pb::int(&mut tail, 20, total(Metric::ResidualBytes));
    pb::int(&mut tail, 21, total(Metric::OutputBytes));
    [head, tail]
}

/// A map from the number of an input to its shape, in the order of the numbers.
fn input_shapes(view: &View, node: NodeId, out: &mut Vec<u8>) {
    for (i, input) in view.model.nodes.inputs(node).iter().enumerate() {
        pb::message(out, 16, |entry| {
            // Key and value of a map are written even if they are zero or empty.
            pb::key(entry, 1, 0);
            pb::varint(entry, i as u64);
            pb::message(entry, 2, |shape| match view.model.shapes.get(view.values().input_shape(input)) {
                [] => pb::int(shape, 3, 1),
                dims => dims.iter().for_each(|dim| pb::message(shape, 2, |out| pb::int(out, 1, *dim))),
            });
        });
    }
}
