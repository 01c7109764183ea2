//! Tensor lists, as used by loops of TensorFlow 2.

use super::super::fact::{ANY, Fact, Held, Shape, UNKNOWN};
use super::{Family, Op, list, minus, plus, shape_from, typed};
use crate::model::dtype::DType;

#[rustfmt::skip]
pub const RULES: Family = &[
    (&["EmptyTensorList"], |op| vec![list(op.dtype("element_dtype"), shape_from(op.input(0)), 0)]),
    (&["TensorListReserve"], |op| {
        vec![list(op.dtype("element_dtype"), shape_from(op.input(0)), op.input(1).integer().unwrap_or(ANY))]
    }),
    (&["TensorListFromTensor"], |op| {
        let (length, element) = rows(op.shape(0));
        vec![list(op.dtype("element_dtype"), element.and(&shape_from(op.input(1))), length)]
    }),
    (&["TensorListStack"], |op| {
        let held = elements(op, 1);
        let stated = op.int("num_elements").unwrap_or(ANY).max(ANY);
        typed(held.dtype, stack(if stated < 0 { held.length } else { stated }, &held.shape))
    }),
    (&["TensorListGetItem"], |op| {
        let held = elements(op, 2);
        typed(held.dtype, held.shape)
    }),
    (&["TensorListSetItem"], |op| vec![changed(op, op.shape(2), |length| length)]),
    (&["TensorListPushBack"], |op| vec![changed(op, op.shape(1), |length| plus(length, 1))]),
    (&["TensorListPopBack"], |op| {
        let held = elements(op, 1);
        vec![changed(op, &Shape::UNKNOWN, |length| minus(length, 1)), Fact::new(held.dtype, held.shape)]
    }),
    (&["TensorListResize"], |op| {
        let size = op.input(1).integer().unwrap_or(ANY);
        vec![changed(op, &Shape::UNKNOWN, |_| size)]
    }),
    (&["TensorListPushBackBatch", "TensorListScatterIntoExistingList"], |op| vec![op.input(0).clone()]),
    (&["TensorListConcatLists"], |op| vec![changed(op, &Shape::UNKNOWN, |_| ANY)]),
    (&["TensorListLength"], |op| {
        let length = op.input(0).held.as_ref().map_or(ANY, |held| held.length);
        let value = if length < 0 { UNKNOWN } else { length };
        vec![Fact::with_value(DType::INT32, Shape::scalar(), Some(vec![value]))]
    }),
    (&["TensorListElementShape"], |op| {
        let shape = op.input(0).held.as_ref().map(|held| held.shape.clone()).unwrap_or_default();
        let rank = shape.rank().map_or(ANY, |rank| rank as i64);
        let value = shape.dims().map(|dims| dims.iter().map(|dim| if *dim < 0 { UNKNOWN } else { *dim }).collect());
        vec![Fact::with_value(op.dtype_or("shape_type", DType::INT32), Shape::of(&[rank]), value)]
    }),
    (&["TensorListGather"], |op| {
        let held = elements(op, 2);
        typed(held.dtype, stack(op.shape(1).dim(0), &held.shape))
    }),
    (&["TensorListScatter", "TensorListScatterV2"], |op| {
        let (_, element) = rows(op.shape(0));
        let length = op.input(3).integer().filter(|length| *length >= 0).unwrap_or(ANY);
        vec![list(op.dtype("element_dtype"), element.and(&shape_from(op.input(2))), length)]
    }),
    (&["TensorListConcat", "TensorListConcatV2"], |op| {
        let held = op.input(0).held.as_deref();
        let stated = shape_from(op.input(1));
        let element = held.map(|held| held.shape.clone()).unwrap_or_default().and(&stated);
        let (_, rest) = rows(&element);
        let length = held.map_or(ANY, |held| held.length);
        vec![Fact::new(op.dtype("element_dtype"), stack(ANY, &rest)), Fact::new(DType::INT64, Shape::of(&[length]))]
    }),
    (&["TensorListSplit"], |op| {
        let (_, rest) = rows(op.shape(0));
        vec![list(op.dtype("element_dtype"), stack(ANY, &rest), op.shape(2).dim(0))]
    }),
    (&["EmptyTensorMap"], |_| typed(DType::VARIANT, Shape::scalar())),
    (&["TensorMapInsert", "TensorMapErase"], |_| typed(DType::VARIANT, Shape::scalar())),
    (&["TensorMapSize"], |_| typed(DType::INT32, Shape::scalar())),
];

/// The number of rows, and the shape of one row.
pub fn rows(shape: &Shape) -> (i64, Shape) {
    match shape.dims() {
        Some([first, rest @ ..]) => (*first, Shape::of(rest)),
        _ => (ANY, Shape::UNKNOWN),
    }
}

/// The shape of `count` tensors of the shape `element`, stacked.
pub fn stack(count: i64, element: &Shape) -> Shape {
    element.dims().map(|dims| Shape::of(&[&[count], dims].concat())).unwrap_or_default()
}

/// The elements of the list in the first input. The input `stated` may give their shape.
fn elements(op: &Op<'_>, stated: usize) -> Held {
    let held = op.input(0).held.as_deref();
    let dtype = op.dtype_or("element_dtype", held.map_or(DType::UNKNOWN, |held| held.dtype));
    let shape = held.map(|held| held.shape.clone()).unwrap_or_default();
    Held { dtype, shape: shape.and(&shape_from(op.input(stated))), length: held.map_or(ANY, |held| held.length) }
}

/// The list in the first input after an update that puts an item of this shape into it and changes its length.
fn changed(op: &Op<'_>, item: &Shape, length: impl FnOnce(i64) -> i64) -> Fact {
    let Some(held) = op.input(0).held.as_deref() else {
        return list(op.dtype("element_dtype"), item.clone(), ANY);
    };
    list(op.dtype_or("element_dtype", held.dtype), held.shape.and(item), length(held.length))
}
