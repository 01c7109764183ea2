//! Shapes of tensors: `TensorShapeProto`, alone or as an attribute of a node.

use crate::fields::attr_value::{self, list_value};
use crate::fields::tensor_shape::{self, dim};
use crate::wire::{Fields, Value, each_field, each_message, last_int};

/// Reads a `TensorShapeProto` into `dims`. As the original: a scalar is `[1]`, an unknown rank `[]`.
pub fn shape_dims(shape: &[u8], dims: &mut Vec<i64>) {
    dims.clear();
    let mut unknown_rank = false;
    each_field(Fields::new(shape, 0), |all, number, value| match (number, value) {
        (tensor_shape::DIM, Value::Bytes(bytes)) => dims.push(last_int(all.nested(bytes), dim::SIZE).unwrap_or(0)),
        (tensor_shape::UNKNOWN_RANK, Value::Varint(n)) => unknown_rank = n != 0,
        _ => {}
    });
    if dims.is_empty() && !unknown_rank {
        dims.push(1);
    }
}

/// Reads the shape of an `AttrValue` into `dims`; `None` if it holds something else.
pub fn attribute_shape(attribute: &[u8], dims: &mut Vec<i64>) -> Option<()> {
    let (attr_value::SHAPE, Value::Bytes(shape)) = attribute_value(attribute)? else { return None };
    shape_dims(shape, dims);
    Some(())
}

/// The shapes of an `AttrValue` that holds a list of them.
pub fn attribute_shapes(attribute: &[u8]) -> Vec<&[u8]> {
    let mut shapes = Vec::new();
    if let Some((attr_value::LIST, Value::Bytes(list))) = attribute_value(attribute) {
        each_message(Fields::new(list, 0), list_value::SHAPE, |shape| shapes.push(shape.rest()));
    }
    shapes
}

/// The field of an `AttrValue` that counts. Its fields exclude each other, and the last one wins.
pub fn attribute_value(attribute: &[u8]) -> Option<(u32, Value<'_>)> {
    let mut last = None;
    each_field(Fields::new(attribute, 0), |_, number, value| last = Some((number, value)));
    last
}
