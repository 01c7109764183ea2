//! Values of attributes, from the bytes of an `AttrValue`. It holds one of several kinds; the last one written wins.

use super::dtype::DType;
use super::shape::Shape;
use tfprof_proto::fields::attr_value::{B, I, LIST, S, SHAPE, TYPE, list_value};
use tfprof_proto::fields::tensor_shape::{self, dim};
use tfprof_proto::shape::attribute_value;
use tfprof_proto::wire::{Fields, Value, each_field, each_int, last_int};

/// The value, if it is of the kind that the field number stands for.
pub fn kind(attribute: &[u8], number: u32) -> Option<Value<'_>> {
    attribute_value(attribute).filter(|(found, _)| *found == number).map(|(_, value)| value)
}

pub fn flag(attribute: &[u8]) -> bool {
    matches!(kind(attribute, B), Some(Value::Varint(n)) if n != 0)
}

pub fn int(attribute: &[u8]) -> Option<i64> {
    kind(attribute, I)?.int()
}

pub fn text(attribute: &[u8]) -> Option<&[u8]> {
    kind(attribute, S)?.bytes()
}

pub fn dtype(attribute: &[u8]) -> Option<DType> {
    Some(dtype_of(kind(attribute, TYPE)?.int()?))
}

pub fn shape(attribute: &[u8]) -> Option<Shape> {
    Some(shape_of(kind(attribute, SHAPE)?.bytes()?))
}

pub fn ints(attribute: &[u8]) -> Option<Vec<i64>> {
    let mut ints = Vec::new();
    let mut whole = true;
    each_of_list(attribute, list_value::I, |value| whole &= each_int(value, |n| ints.push(n)).is_ok())?;
    whole.then_some(ints)
}

pub fn dtypes(attribute: &[u8]) -> Vec<DType> {
    let mut dtypes = Vec::new();
    each_of_list(attribute, list_value::TYPE, |value| {
        // A damaged number ends the list.
        let _ = each_int(value, |n| dtypes.push(dtype_of(n)));
    });
    dtypes
}

pub fn shapes(attribute: &[u8]) -> Vec<Shape> {
    let mut shapes = Vec::new();
    each_of_list(attribute, list_value::SHAPE, |value| shapes.extend(value.bytes().map(shape_of)));
    shapes
}

/// The strings of a list.
pub fn texts(attribute: &[u8]) -> Vec<&[u8]> {
    let mut texts = Vec::new();
    each_of_list(attribute, list_value::S, |value| texts.extend(value.bytes()));
    texts
}

fn each_of_list<'a>(attribute: &'a [u8], number: u32, mut each: impl FnMut(Value<'a>)) -> Option<()> {
    let Value::Bytes(list) = kind(attribute, LIST)? else { return None };
    each_field(Fields::new(list, 0), |_, found, value| {
        if found == number {
            each(value);
        }
    });
    Some(())
}

/// A type by its number. A reference to a variable counts as the variable's type.
pub fn dtype_of(number: i64) -> DType {
    let number = if number > 100 { number - 100 } else { number };
    DType(i32::try_from(number).unwrap_or(0))
}

/// A `TensorShapeProto`.
pub fn shape_of(bytes: &[u8]) -> Shape {
    let mut dims = Vec::new();
    let mut unknown_rank = false;
    each_field(Fields::new(bytes, 0), |_, number, value| match (number, value) {
        (tensor_shape::DIM, Value::Bytes(bytes)) => {
            dims.push(last_int(Fields::new(bytes, 0), dim::SIZE).unwrap_or(0));
        }
        (tensor_shape::UNKNOWN_RANK, Value::Varint(n)) => unknown_rank = n != 0,
        _ => {}
    });
    if unknown_rank { Shape::UNKNOWN } else { Shape::of(&dims) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_kind_counts_and_others_are_not_there() {
        assert_eq!((int(&[0x18, 3]), int(&[0x28, 1]), flag(&[0x28, 1])), (Some(3), None, true));
        assert_eq!((dtype(&[0x30, 101]), dtype(&[0x30, 1])), (Some(DType::FLOAT), Some(DType::FLOAT)));
        assert_eq!(shape(&[0x3a, 2, 0x18, 1]), Some(Shape::UNKNOWN));
        assert_eq!(ints(&[0x0a, 4, 0x1a, 2, 1, 2]), Some(vec![1, 2]));
    }
}
