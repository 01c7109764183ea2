//! Tensor lists, as used by loops of TensorFlow 2.

use super::super::fact::{ANY, Fact, Held, Shape, UNKNOWN};
use super::{Family, Op, list, minus, plus, shape_from, times, typed};
use crate::model::dtype::DType;

#[rustfmt::skip]
pub const RULES: Family = &[
    (&["EmptyTensorList"], |op| vec![new_list(op, shape_from(op.input(0)), None, 0)]),
    (&["TensorListReserve"], |op| {
        vec![new_list(op, shape_from(op.input(0)), None, op.input(1).integer().unwrap_or(ANY))]
    }),
    (&["TensorListFromTensor"], |op| {
        let (length, element) = rows(op.shape(0));
        vec![new_list(op, shape_from(op.input(1)), Some(element), length)]
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
    (&["TensorListSetItem"], |op| vec![changed(op, Some(op.shape(2)), |length| length)]),
    (&["TensorListPushBack"], |op| vec![changed(op, Some(op.shape(1)), |length| plus(length, 1))]),
    (&["TensorListPopBack"], |op| {
        let held = elements(op, 1);
        vec![changed(op, None, |length| minus(length, 1)), Fact::new(held.dtype, held.shape)]
    }),
    (&["TensorListResize"], |op| {
        let size = op.input(1).integer().unwrap_or(ANY);
        vec![changed(op, None, |_| size)]
    }),
    // A tensor of lists, and one row for each.
    (&["TensorListPushBackBatch"], |op| {
        let pushed = changed(op, Some(&rows(op.shape(1)).1), |length| plus(length, 1));
        vec![Fact { shape: op.shape(0).clone(), ..pushed }]
    }),
    (&["TensorListScatterIntoExistingList"], |op| vec![changed(op, Some(&rows(op.shape(1)).1), |_| ANY)]),
    (&["TensorListConcatLists"], |op| {
        let other = op.input(1).held.as_deref();
        let more = other.map_or(ANY, |other| other.length);
        match (&op.input(0).held, other) {
            // Nothing is known of the items of the other list.
            (Some(_), None) => vec![changed(op, Some(&Shape::UNKNOWN), |_| ANY)],
            _ => vec![changed(op, other.and_then(|other| other.items.as_ref()), |length| plus(length, more))],
        }
    }),
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
        vec![new_list(op, shape_from(op.input(2)), Some(element), length)]
    }),
    (&["TensorListConcat", "TensorListConcatV2"], |op| {
        let held = op.input(0).held.as_deref();
        // The second version may state the shape of an element, or of its rows alone.
        let element = held.map(Held::element).unwrap_or_default();
        let stated = if op.inputs.len() > 1 { shape_from(op.input(1)) } else { op.stated_shape("element_shape") };
        let (first, rest) = rows(&element.and(&stated));
        let length = held.map_or(ANY, |held| held.length);
        let lengths = Fact::new(DType::INT64, Shape::of(&[length]));
        vec![Fact::new(op.dtype("element_dtype"), stack(times(first, length), &rest)), lengths]
    }),
    (&["TensorListSplit"], |op| {
        let (_, rest) = rows(op.shape(0));
        // The pieces may be of different lengths.
        vec![new_list(op, shape_from(op.input(1)), Some(stack(ANY, &rest)), op.shape(2).dim(0))]
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

/// A list that declares the shape of its elements, and the items that are in it from the start.
fn new_list(op: &Op<'_>, shape: Shape, items: Option<Shape>, length: i64) -> Fact {
    list(Held { dtype: op.dtype("element_dtype"), shape, items, length })
}

/// The elements of the list in the first input. The input `stated` may give their shape.
fn elements(op: &Op<'_>, stated: usize) -> Held {
    let held = op.input(0).held.as_deref();
    let dtype = op.dtype_or("element_dtype", held.map_or(DType::UNKNOWN, |held| held.dtype));
    let shape = held.map(Held::element).unwrap_or_default().and(&shape_from(op.input(stated)));
    Held { dtype, shape, items: None, length: held.map_or(ANY, |held| held.length) }
}

/// The list in the first input after an update that puts items of this shape into it and changes its length.
fn changed(op: &Op<'_>, items: Option<&Shape>, length: impl FnOnce(i64) -> i64) -> Fact {
    let Some(held) = op.input(0).held.as_deref() else {
        // Earlier items are unknown.
        return new_list(op, Shape::UNKNOWN, Some(Shape::UNKNOWN), ANY);
    };
    let dtype = op.dtype_or("element_dtype", held.dtype);
    list(Held { dtype, shape: held.shape.clone(), items: held.with_items(items), length: length(held.length) })
}
