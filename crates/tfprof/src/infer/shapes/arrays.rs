//! Tensor arrays and stacks, as used by loops of TensorFlow 1. The flow output carries the same facts as the handle.

use super::super::fact::{ANY, Fact, Held, Shape};
use super::lists::{rows, stack};
use super::{Family, Op, none, times, typed};
use crate::model::dtype::DType;
use std::sync::Arc;

#[rustfmt::skip]
pub const RULES: Family = &[
    (&["TensorArrayV3", "TensorArrayV2", "TensorArray"], |op| {
        let length = op.input(0).integer().unwrap_or(ANY);
        let shape = op.stated_shape("element_shape");
        let held = Held { dtype: op.dtype("dtype"), shape, items: None, length };
        handle_and_flow(Arc::new(held))
    }),
    // The elements of a gradient have the shapes of those that were written.
    (&["TensorArrayGradV3", "TensorArrayGradV2", "TensorArrayGradWithShape"], |op| match &op.input(0).held {
        Some(held) => {
            let is_alike = op.body.op(op.node) != "TensorArrayGradWithShape";
            let shape = if is_alike { element(op) } else { Shape::UNKNOWN };
            handle_and_flow(Arc::new(Held { shape, items: None, ..Held::clone(held) }))
        }
        None => vec![Fact::new(DType::RESOURCE, Shape::of(&[2])), flow(None)],
    }),
    (&["TensorArrayWriteV3", "TensorArrayWriteV2", "TensorArrayWrite"], |op| vec![written(op, op.shape(2))]),
    (&["TensorArrayScatterV3", "TensorArrayScatterV2", "TensorArrayScatter"], |op| {
        vec![written(op, &rows(op.shape(2)).1)]
    }),
    // The pieces may be of different lengths.
    (&["TensorArraySplitV3", "TensorArraySplitV2", "TensorArraySplit"], |op| {
        vec![written(op, &stack(ANY, &rows(op.shape(1)).1))]
    }),
    (&["TensorArrayReadV3", "TensorArrayReadV2", "TensorArrayRead"], |op| typed(op.dtype("dtype"), element(op))),
    (&["TensorArrayGatherV3", "TensorArrayGatherV2", "TensorArrayGather"], |op| {
        let count = op.shape(1).dim(0);
        let element = element(op).and(&op.stated_shape("element_shape"));
        typed(op.dtype("dtype"), stack(count, &element))
    }),
    (&["TensorArrayConcatV3", "TensorArrayConcatV2", "TensorArrayConcat"], |op| {
        let (first, rest) = rows(&element(op));
        let length = op.input(0).held.as_ref().map_or(ANY, |held| held.length);
        let lengths = Fact::new(DType::INT64, Shape::of(&[length]));
        vec![Fact::new(op.dtype("dtype"), stack(times(first, length), &rest)), lengths]
    }),
    (&["TensorArraySizeV3", "TensorArraySizeV2"], |op| {
        let length = op.input(0).held.as_ref().map(|held| held.length).filter(|length| *length >= 0);
        vec![Fact::with_value(DType::INT32, Shape::scalar(), length.map(|length| vec![length]))]
    }),
    (&["TensorArrayCloseV3", "TensorArrayCloseV2", "StackCloseV2", "StackClose"], none),
    (&["StackPushV2", "StackPush"], |op| vec![op.input(1).clone()]),
    // The second input is the pushed tensor, if inference could find it.
    (&["StackPopV2", "StackPop"], |op| {
        vec![Fact { dtype: op.dtype_or("elem_type", op.input(1).dtype), ..op.input(1).clone() }]
    }),
];

fn flow(held: Option<Arc<Held>>) -> Fact {
    Fact { held, ..Fact::new(DType::FLOAT, Shape::scalar()) }
}

/// The two outputs of a tensor array: its handle and its flow.
fn handle_and_flow(held: Arc<Held>) -> Vec<Fact> {
    let handle = Fact { held: Some(held.clone()), ..Fact::new(DType::RESOURCE, Shape::of(&[2])) };
    vec![handle, flow(Some(held))]
}

/// The flow after items of this shape were written. The handle is the first input, the flow the last.
fn written(op: &Op<'_>, items: &Shape) -> Fact {
    let held = |at: usize| op.input(at).held.as_deref();
    let (array, before) = (held(0), held(op.inputs.len().saturating_sub(1)));
    flow(
        array
            .or(before)
            .map(|array| Arc::new(Held { items: before.unwrap_or(array).with_items(Some(items)), ..array.clone() })),
    )
}

/// The shape of an element: as the handle (the first input) declares it, and as the flow (the last) has seen it.
fn element(op: &Op<'_>) -> Shape {
    let held = |at: usize| op.input(at).held.as_deref().map(Held::element).unwrap_or_default();
    held(0).and(&held(op.inputs.len().saturating_sub(1)))
}
