//! Tensor arrays and stacks, as used by loops of TensorFlow 1. The flow output carries the same facts as the handle.

use super::super::fact::{ANY, Fact, Held, Shape};
use super::lists::{rows, stack};
use super::{Family, Op, none, typed};
use crate::model::dtype::DType;
use std::sync::Arc;

#[rustfmt::skip]
pub const RULES: Family = &[
    (&["TensorArrayV3", "TensorArrayV2", "TensorArray"], |op| {
        let length = op.input(0).integer().unwrap_or(ANY);
        let shape = op.stated_shape("element_shape");
        let held = Held { dtype: op.dtype("dtype"), shape, length };
        handle_and_flow(Arc::new(held))
    }),
    (&["TensorArrayGradV3", "TensorArrayGradV2", "TensorArrayGradWithShape"], |op| match &op.input(0).held {
        Some(held) => handle_and_flow(held.clone()),
        None => vec![Fact::new(DType::RESOURCE, Shape::of(&[2])), flow(None)],
    }),
    (&["TensorArrayWriteV3", "TensorArrayWriteV2"], |op| vec![flow(op.input(0).held.clone())]),
    (&["TensorArrayScatterV3", "TensorArrayScatterV2", "TensorArraySplitV3", "TensorArraySplitV2"], |op| {
        let (_, element) = rows(op.shape(2));
        let held = op.input(0).held.as_ref().map(|held| {
            let shape = if op.body.op(op.node).contains("Scatter") { held.shape.and(&element) } else { held.shape.clone() };
            Arc::new(Held { shape, ..Held::clone(held) })
        });
        vec![flow(held)]
    }),
    (&["TensorArrayReadV3", "TensorArrayReadV2"], |op| typed(op.dtype("dtype"), element(op))),
    (&["TensorArrayGatherV3", "TensorArrayGatherV2"], |op| {
        let count = op.shape(1).dim(0);
        let element = element(op).and(&op.stated_shape("element_shape"));
        typed(op.dtype("dtype"), stack(count, &element))
    }),
    (&["TensorArrayConcatV3", "TensorArrayConcatV2"], |op| {
        vec![Fact::new(op.dtype("dtype"), Shape::UNKNOWN), Fact::new(DType::INT64, Shape::of_rank(1))]
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

/// The shape of an element, from the handle (the first input) and the flow (the last).
fn element(op: &Op<'_>) -> Shape {
    let held = |at: usize| op.input(at).held.as_ref().map(|held| held.shape.clone()).unwrap_or_default();
    held(0).and(&held(op.inputs.len().saturating_sub(1)))
}
