//! An answer as a message: `GraphNodeProto` for scope and graph view, `MultiGraphNodeProto` for op and code view.
//!
//! Messages nest as deep as the tree does, and the length of a message precedes its content. A first pass from the last
//! row to the first finds the lengths; a second pass writes the rows.

use super::tensor;
use crate::metric::Metric;
use crate::model::nodes::NodeId;
use crate::view::values::Row;
use crate::view::{View, VisibleRow};
use std::io::{self, Write};
use tfprof_proto::fields::{graph_node, map_entry, multi_graph_node, tensor_shape};
use tfprof_proto::write as pb;

/// Writes the message of a view.
pub fn write(view: &View, out: &mut dyn Write) -> io::Result<()> {
    let children_field = if view.rules().bags { multi_graph_node::CHILDREN } else { graph_node::CHILDREN };
    let rows = view.rows();
    // The fields before and after the children of each row.
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
    let total = |metric| view.cumulative(metric, row).rounded();
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
    pb::bytes(&mut head, graph_node::NAME, name.as_bytes());
    pb::int(&mut head, graph_node::EXEC_MICROS, own(Metric::Micros));
    pb::int(&mut head, graph_node::REQUESTED_BYTES, own(Metric::RequestedBytes));
    pb::int(&mut head, graph_node::PARAMETERS, own(Metric::Parameters));
    pb::int(&mut head, graph_node::TOTAL_EXEC_MICROS, total(Metric::Micros));
    pb::int(&mut head, graph_node::TOTAL_REQUESTED_BYTES, total(Metric::RequestedBytes));
    pb::int(&mut head, graph_node::TOTAL_PARAMETERS, total(Metric::Parameters));
    for device in node.into_iter().flat_map(|node| view.values().devices(node)) {
        pb::element(&mut head, graph_node::DEVICES, view.model.names.get(device).as_bytes());
    }
    let mut tail = Vec::new();
    pb::int(&mut tail, graph_node::FLOAT_OPS, own(Metric::FloatOps));
    pb::int(&mut tail, graph_node::TOTAL_FLOAT_OPS, total(Metric::FloatOps));
    if let Some(values) = row.and_then(|row| view.tensor(row, None)) {
        pb::element(&mut tail, graph_node::TENSOR_VALUE, &tensor::message(&values, &view.options.quirks));
    }
    if let Some(node) = node {
        input_shapes(view, node, &mut tail);
    }
    pb::int(&mut tail, graph_node::ACCELERATOR_EXEC_MICROS, own(Metric::AcceleratorMicros));
    pb::int(&mut tail, graph_node::CPU_EXEC_MICROS, own(Metric::CpuMicros));
    pb::int(&mut tail, graph_node::TOTAL_ACCELERATOR_EXEC_MICROS, total(Metric::AcceleratorMicros));
    pb::int(&mut tail, graph_node::TOTAL_CPU_EXEC_MICROS, total(Metric::CpuMicros));
    pb::int(&mut tail, graph_node::RUN_COUNT, own(Metric::Runs));
    pb::int(&mut tail, graph_node::TOTAL_RUN_COUNT, total(Metric::Runs));
    pb::int(&mut tail, graph_node::TOTAL_DEFINITION_COUNT, total(Metric::Definitions));
    pb::int(&mut tail, graph_node::PEAK_BYTES, own(Metric::PeakBytes));
    pb::int(&mut tail, graph_node::RESIDUAL_BYTES, own(Metric::ResidualBytes));
    pb::int(&mut tail, graph_node::OUTPUT_BYTES, own(Metric::OutputBytes));
    pb::int(&mut tail, graph_node::TOTAL_PEAK_BYTES, total(Metric::PeakBytes));
    pb::int(&mut tail, graph_node::TOTAL_RESIDUAL_BYTES, total(Metric::ResidualBytes));
    pb::int(&mut tail, graph_node::TOTAL_OUTPUT_BYTES, total(Metric::OutputBytes));
    [head, tail]
}

/// `MultiGraphNodeProto` without its children.
fn multi_node(view: &View, row: &VisibleRow, own: Number<'_>, total: Number<'_>) -> [Vec<u8>; 2] {
    let mut head = Vec::new();
    pb::bytes(&mut head, multi_graph_node::NAME, view.name(row).as_bytes());
    pb::int(&mut head, multi_graph_node::EXEC_MICROS, own(Metric::Micros));
    pb::int(&mut head, multi_graph_node::REQUESTED_BYTES, own(Metric::RequestedBytes));
    pb::int(&mut head, multi_graph_node::PARAMETERS, own(Metric::Parameters));
    pb::int(&mut head, multi_graph_node::FLOAT_OPS, own(Metric::FloatOps));
    pb::int(&mut head, multi_graph_node::TOTAL_EXEC_MICROS, total(Metric::Micros));
    pb::int(&mut head, multi_graph_node::TOTAL_REQUESTED_BYTES, total(Metric::RequestedBytes));
    pb::int(&mut head, multi_graph_node::TOTAL_PARAMETERS, total(Metric::Parameters));
    pb::int(&mut head, multi_graph_node::TOTAL_FLOAT_OPS, total(Metric::FloatOps));
    for node in view.bag(row) {
        let numbers: Row = view.values().row(node);
        let number = |metric: Metric| numbers[metric as usize];
        let [first, rest] = graph_node(view, None, view.model.name(node), Some(node), &number, &number);
        pb::key(&mut head, multi_graph_node::GRAPH_NODES, 2);
        pb::varint(&mut head, (first.len() + rest.len()) as u64);
        head.extend_from_slice(&first);
        head.extend_from_slice(&rest);
    }
    let mut tail = Vec::new();
    pb::int(&mut tail, multi_graph_node::ACCELERATOR_EXEC_MICROS, own(Metric::AcceleratorMicros));
    pb::int(&mut tail, multi_graph_node::CPU_EXEC_MICROS, own(Metric::CpuMicros));
    pb::int(&mut tail, multi_graph_node::TOTAL_ACCELERATOR_EXEC_MICROS, total(Metric::AcceleratorMicros));
    pb::int(&mut tail, multi_graph_node::TOTAL_CPU_EXEC_MICROS, total(Metric::CpuMicros));
    pb::int(&mut tail, multi_graph_node::PEAK_BYTES, own(Metric::PeakBytes));
    pb::int(&mut tail, multi_graph_node::RESIDUAL_BYTES, own(Metric::ResidualBytes));
    pb::int(&mut tail, multi_graph_node::OUTPUT_BYTES, own(Metric::OutputBytes));
    pb::int(&mut tail, multi_graph_node::TOTAL_PEAK_BYTES, total(Metric::PeakBytes));
    pb::int(&mut tail, multi_graph_node::TOTAL_RESIDUAL_BYTES, total(Metric::ResidualBytes));
    pb::int(&mut tail, multi_graph_node::TOTAL_OUTPUT_BYTES, total(Metric::OutputBytes));
    [head, tail]
}

/// Writes the map from the index of an input to its shape, in order.
fn input_shapes(view: &View, node: NodeId, out: &mut Vec<u8>) {
    for (i, input) in view.model.nodes.inputs(node).iter().enumerate() {
        pb::message(out, graph_node::INPUT_SHAPES, |entry| {
            // Maps have their keys and values even if zero or empty.
            pb::key(entry, map_entry::KEY, 0);
            pb::varint(entry, i as u64);
            pb::message(entry, map_entry::VALUE, |shape| {
                match view.model.shapes.get(view.values().input_shape(*input)) {
                    [] => pb::int(shape, tensor_shape::UNKNOWN_RANK, 1),
                    dims => dims.iter().for_each(|size| {
                        pb::message(shape, tensor_shape::DIM, |out| pb::int(out, tensor_shape::dim::SIZE, *size));
                    }),
                }
            });
        });
    }
}
