//! Constants: the `TensorProto` of an attribute becomes a [`Fact`], with its elements if it is a small tensor of integers.

use super::fact::{Fact, LONGEST_VALUE};
use super::floats;
use crate::model::attr_value::{Attr, dtype_of, kind, shape_of};
use crate::model::dtype::DType;
use crate::model::shape::Shape;
use tfprof_proto::fields::attr_value::TENSOR;
use tfprof_proto::fields::tensor;
use tfprof_proto::wire::{Fields, Value, each_field, each_int};

/// The tensor of an `AttrValue`.
pub fn constant(attribute: Attr<'_>) -> Option<Fact> {
    Some(tensor_fact(kind(attribute, TENSOR)?.bytes()?))
}

/// A `TensorProto`.
fn tensor_fact(bytes: &[u8]) -> Fact {
    let (mut dtype, mut shape) = (DType::UNKNOWN, Shape::scalar());
    let mut content = None;
    let mut listed = Vec::new();
    each_field(Fields::new(bytes, 0), |_, number, value| match (number, value) {
        (tensor::DTYPE, Value::Varint(n)) => dtype = dtype_of(n as i64),
        (tensor::TENSOR_SHAPE, Value::Bytes(bytes)) => shape = shape_of(bytes),
        (tensor::TENSOR_CONTENT, Value::Bytes(bytes)) => content = Some(bytes),
        (tensor::INT_VAL | tensor::INT64_VAL | tensor::BOOL_VAL | tensor::UINT32_VAL | tensor::UINT64_VAL, value)
            if listed.len() <= LONGEST_VALUE =>
        {
            let _ = each_int(value, |n| listed.push(n));
        }
        (tensor::FLOAT_VAL | tensor::DOUBLE_VAL, value) if listed.len() <= floats::LONGEST => match value {
            Value::Fixed32(bits) => listed.push(floats::element(DType::FLOAT, f32::from_bits(bits).into())),
            Value::Fixed64(bits) => listed.push(floats::element(DType::DOUBLE, f64::from_bits(bits))),
            Value::Bytes(packed) => {
                let dtype = if number == tensor::FLOAT_VAL { DType::FLOAT } else { DType::DOUBLE };
                listed.extend(floats_of(dtype, packed));
            }
            Value::Varint(_) => {}
        },
        _ => {}
    });
    let is_float = floats::is_float(dtype);
    let longest = if is_float { floats::LONGEST } else { LONGEST_VALUE };
    let Some(count) = shape.elements().filter(|count| *count <= longest as i64) else {
        return Fact::new(dtype, shape);
    };
    let value = match content {
        Some(content) if is_float => Some(floats_of(dtype, content).collect()),
        Some(content) => elements_of(dtype, content),
        None => (is_float || integer_size(dtype).is_some()).then_some(listed),
    };
    let value = value.map(|mut value| {
        // The last element is repeated to the end; without elements, all are 0.
        let last = value.last().copied().unwrap_or(0);
        value.resize(count as usize, last);
        value
    });
    Fact::with_value(dtype, shape, value)
}

/// Bytes per element and whether it is signed; `None` if the type is not an integer.
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

/// The first floats of packed ones.
fn floats_of(dtype: DType, packed: &[u8]) -> impl Iterator<Item = i64> + '_ {
    let size = if dtype == DType::FLOAT { 4 } else { 8 };
    let element = move |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..size].copy_from_slice(bytes);
        let number =
            if size == 4 { f32::from_bits(u64::from_le_bytes(word) as u32).into() } else { f64::from_le_bytes(word) };
        floats::element(dtype, number)
    };
    packed.chunks_exact(size).take(floats::LONGEST + 1).map(element)
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
        let fact = constant(Attr(&attribute)).unwrap();
        assert_eq!(fact.shape, Shape::of(dims));
        assert_eq!(fact.elements(), expect);
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
        check(14, &[1], |out| pb::bytes(out, 4, &[0; 4]), None);
        check(3, &[i64::MAX, 2], |out| pb::packed(out, 7, &[7]), None);
        check(3, &[2], |out| pb::bytes(out, 4, &[0; 7]), Some(&[0, 0]));
        let number = |n: f64| floats::element(DType::DOUBLE, n);
        check(1, &[2], |out| pb::bytes(out, 4, &[0, 0, 0, 63, 0, 0, 0, 64]), Some(&[number(0.5), number(2.0)]));
        check(1, &[], |out| pb::bytes(out, 5, &1.5_f32.to_le_bytes()), Some(&[number(1.5)]));
        check(1, &[], |out| out.extend([0x2d, 0, 0, 0, 64]), Some(&[number(2.0)]));
        check(2, &[2], |out| pb::bytes(out, 6, &0.1_f64.to_le_bytes()), Some(&[number(0.1), number(0.1)]));
        check(1, &[17], |out| pb::bytes(out, 5, &1.5_f32.to_le_bytes()), None);
    }
}
