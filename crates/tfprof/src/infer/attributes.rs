//! Attributes of nodes, from the bytes of an `AttrValue`. It holds one of several kinds, and the last one written counts.

use super::fact::{Fact, LONGEST_VALUE, Shape};
use crate::model::dtype::DType;
use tfprof_proto::lenient::each_quietly;
use tfprof_proto::wire::{Fields, Value, each_int};

const LIST: u32 = 1;
const TEXT: u32 = 2;
const INT: u32 = 3;
const FLAG: u32 = 5;
const TYPE: u32 = 6;
const SHAPE: u32 = 7;
const TENSOR: u32 = 8;

/// The value if it is of the kind that a field number stands for.
fn kind(attribute: &[u8], number: u32) -> Option<Value<'_>> {
    let mut last = None;
    each_quietly(Fields::new(attribute, 0), |_, number, value| last = Some((number, value)));
    last.filter(|(found, _)| *found == number).map(|(_, value)| value)
}

pub fn flag(attribute: &[u8]) -> bool {
    matches!(kind(attribute, FLAG), Some(Value::Varint(n)) if n != 0)
}

pub fn int(attribute: &[u8]) -> Option<i64> {
    kind(attribute, INT)?.int()
}

pub fn text(attribute: &[u8]) -> Option<&[u8]> {
    kind(attribute, TEXT)?.bytes()
}

pub fn dtype(attribute: &[u8]) -> Option<DType> {
    Some(dtype_of(kind(attribute, TYPE)?.int()?))
}

pub fn shape(attribute: &[u8]) -> Option<Shape> {
    Some(shape_of(kind(attribute, SHAPE)?.bytes()?))
}

/// The tensor with its value if it is one of integers.
pub fn tensor(attribute: &[u8]) -> Option<Fact> {
    Some(tensor_of(kind(attribute, TENSOR)?.bytes()?))
}

pub fn ints(attribute: &[u8]) -> Option<Vec<i64>> {
    let mut ints = Vec::new();
    let mut whole = true;
    each_of_list(attribute, INT, |value| whole &= each_int(value, |n| ints.push(n)).is_ok())?;
    whole.then_some(ints)
}

pub fn dtypes(attribute: &[u8]) -> Vec<DType> {
    let mut dtypes = Vec::new();
    each_of_list(attribute, TYPE, |value| {
        // What is wrong is as if it were not there.
        let _ = each_int(value, |n| dtypes.push(dtype_of(n)));
    });
    dtypes
}

pub fn shapes(attribute: &[u8]) -> Vec<Shape> {
    let mut shapes = Vec::new();
    each_of_list(attribute, SHAPE, |value| shapes.extend(value.bytes().map(shape_of)));
    shapes
}

/// The texts of a list.
pub fn texts(attribute: &[u8]) -> Vec<&[u8]> {
    let mut texts = Vec::new();
    let Some(Value::Bytes(list)) = kind(attribute, LIST) else { return texts };
    each_quietly(Fields::new(list, 0), |_, number, value| {
        if number == TEXT {
            texts.extend(value.bytes());
        }
    });
    texts
}

fn each_of_list(attribute: &[u8], number: u32, mut each: impl FnMut(Value<'_>)) -> Option<()> {
    let Value::Bytes(list) = kind(attribute, LIST)? else { return None };
    each_quietly(Fields::new(list, 0), |_, found, value| {
        if found == number {
            each(value);
        }
    });
    Some(())
}

/// A type by its number; references to variables are what they refer to.
fn dtype_of(number: i64) -> DType {
    let number = if number > 100 { number - 100 } else { number };
    DType(i32::try_from(number).unwrap_or(0))
}

/// A `TensorShapeProto`.
pub fn shape_of(bytes: &[u8]) -> Shape {
    let mut dims = Vec::new();
    let mut unknown_rank = false;
    each_quietly(Fields::new(bytes, 0), |_, number, value| match (number, value) {
        (2, Value::Bytes(dim)) => {
            let mut size = 0;
            each_quietly(Fields::new(dim, 0), |_, number, value| {
                if let (1, Value::Varint(n)) = (number, value) {
                    size = n as i64;
                }
            });
            dims.push(size);
        }
        (3, Value::Varint(n)) => unknown_rank = n != 0,
        _ => {}
    });
    if unknown_rank { Shape::UNKNOWN } else { Shape::of(&dims) }
}

/// A `TensorProto`.
fn tensor_of(bytes: &[u8]) -> Fact {
    let (mut dtype, mut shape) = (DType::UNKNOWN, Shape::scalar());
    let mut content = None;
    let mut listed = Vec::new();
    each_quietly(Fields::new(bytes, 0), |_, number, value| match (number, value) {
        (1, Value::Varint(n)) => dtype = dtype_of(n as i64),
        (2, Value::Bytes(bytes)) => shape = shape_of(bytes),
        (4, Value::Bytes(bytes)) => content = Some(bytes),
        // int_val, int64_val, bool_val, uint32_val, uint64_val.
        (7 | 10 | 11 | 16 | 17, value) if listed.len() <= LONGEST_VALUE => {
            let _ = each_int(value, |n| listed.push(n));
        }
        _ => {}
    });
    let Some(count) = shape.elements().filter(|count| *count <= LONGEST_VALUE as i64) else {
        return Fact::new(dtype, shape);
    };
    let value = match content {
        Some(content) => elements_of(dtype, content),
        None => integer_size(dtype).and(Some(listed)),
    };
    let value = value.map(|mut value| {
        // The last number stands for all that follow it; no number is 0.
        let last = value.last().copied().unwrap_or(0);
        value.resize(count as usize, last);
        value
    });
    Fact::with_value(dtype, shape, value)
}

/// The bytes of an element, and whether it has a sign; none if it is no integer.
fn integer_size(dtype: DType) -> Option<(usize, bool)> {
    Some(match dtype.0 {
        3 => (4, true),
        4 | 10 => (1, false),
        5 => (2, true),
        6 => (1, true),
        9 => (8, true),
        17 => (2, false),
        22 => (4, false),
        23 => (8, false),
        _ => return None,
    })
}

fn elements_of(dtype: DType, content: &[u8]) -> Option<Vec<i64>> {
    let (size, signed) = integer_size(dtype)?;
    let element = |bytes: &[u8]| {
        let mut word = [if signed && bytes[size - 1] >= 0x80 { 0xff } else { 0 }; 8];
        word[..size].copy_from_slice(bytes);
        i64::from_le_bytes(word)
    };
    Some(content.chunks_exact(size).take(LONGEST_VALUE).map(element).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfprof_proto::write as pb;

    fn check(dtype: i64, dims: &[i64], fill: impl Fn(&mut Vec<u8>), expect: Option<&[i64]>) {
        let mut attribute = Vec::new();
        pb::message(&mut attribute, TENSOR, |out| {
            pb::int(out, 1, dtype);
            pb::message(out, 2, |out| dims.iter().for_each(|dim| pb::message(out, 2, |out| pb::int(out, 1, *dim))));
            fill(out);
        });
        let fact = tensor(&attribute).unwrap();
        assert_eq!(fact.shape, Shape::of(dims));
        assert_eq!(fact.integers(), expect);
    }

    #[test]
    fn constants_in_all_their_spellings() {
        check(3, &[2], |out| pb::bytes(out, 4, &[1, 0, 0, 0, 254, 255, 255, 255]), Some(&[1, -2]));
        check(9, &[1], |out| pb::bytes(out, 4, &[255; 8]), Some(&[-1]));
        check(4, &[2], |out| pb::bytes(out, 4, &[255, 1]), Some(&[255, 1]));
        check(3, &[3], |out| pb::packed(out, 7, &[7]), Some(&[7, 7, 7]));
        check(3, &[], |out| pb::packed(out, 7, &[-1]), Some(&[-1]));
        check(9, &[2], |out| pb::packed(out, 10, &[5, 6]), Some(&[5, 6]));
        check(10, &[], |out| pb::packed(out, 11, &[1]), Some(&[1]));
        check(3, &[2], |_| (), Some(&[0, 0]));
        check(3, &[0], |_| (), Some(&[]));
        check(1, &[1], |out| pb::bytes(out, 4, &[0; 4]), None);
        check(3, &[i64::MAX, 2], |out| pb::packed(out, 7, &[7]), None);
        check(3, &[2], |out| pb::bytes(out, 4, &[0; 7]), Some(&[0, 0]));
    }

    #[test]
    fn the_last_kind_counts_and_others_are_not_there() {
        assert_eq!((int(&[0x18, 3]), int(&[0x28, 1]), flag(&[0x28, 1])), (Some(3), None, true));
        assert_eq!((dtype(&[0x30, 101]), dtype(&[0x30, 1])), (Some(DType::FLOAT), Some(DType::FLOAT)));
        assert_eq!(shape(&[0x3a, 2, 0x18, 1]), Some(Shape::UNKNOWN));
        assert_eq!(ints(&[0x0a, 4, 0x1a, 2, 1, 2]), Some(vec![1, 2]));
    }
}
