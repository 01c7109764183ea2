//! Typed values of attributes. [`Attr`] is a stored value of one kind; rules and formulas read it by kind. A dialect states
//! an [`AttrValue`]. Both are stored as TensorFlow's message of that name, of which the last kind written wins.

use super::dtype::DType;
use super::shape::Shape;
use tfprof_proto::fields::attr_value::{B, FUNC, I, LIST, S, SHAPE, TENSOR, TYPE, list_value};
use tfprof_proto::fields::tensor_shape::{self, dim};
use tfprof_proto::fields::{name_attr_list, tensor};
use tfprof_proto::shape::attribute_value;
use tfprof_proto::wire::{Fields, Value, each_field, each_int, last_int};
use tfprof_proto::write as pb;

/// A stored attribute. The functions of this module read it by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attr<'a>(pub &'a [u8]);

/// A value that a dialect states for an attribute of a node that it lowers.
#[derive(Clone, Copy, Debug)]
pub enum AttrValue<'a> {
    Flag(bool),
    Int(i64),
    Ints(&'a [i64]),
    Text(&'a str),
    Texts(&'a [&'a str]),
    Type(DType),
    Types(&'a [DType]),
    Shape(&'a Shape),
    Shapes(&'a [Shape]),
    /// The name of a function of the program.
    Function(&'a str),
    Functions(&'a [String]),
    /// A constant, with or without its elements.
    Tensor(DType, &'a Shape, Elements<'a>),
}

/// The elements of a constant, in row-major order.
#[derive(Clone, Copy, Debug)]
pub enum Elements<'a> {
    /// Not stored: sizes do not depend on them.
    Unread,
    Ints(&'a [i64]),
    Floats(&'a [f32]),
}

impl AttrValue<'_> {
    /// Appends the stored form.
    pub fn write(&self, out: &mut Vec<u8>) {
        let list = |out: &mut Vec<u8>, fill: &dyn Fn(&mut Vec<u8>)| pb::message(out, LIST, |out| fill(out));
        match *self {
            AttrValue::Flag(flag) => number(out, B, i64::from(flag)),
            AttrValue::Int(n) => number(out, I, n),
            AttrValue::Ints(all) => list(out, &|out| pb::packed(out, list_value::I, all)),
            AttrValue::Text(text) => pb::element(out, S, text.as_bytes()),
            AttrValue::Texts(all) => {
                list(out, &|out| all.iter().for_each(|text| pb::element(out, list_value::S, text.as_bytes())));
            }
            AttrValue::Type(dtype) => number(out, TYPE, i64::from(dtype.0)),
            AttrValue::Types(all) => {
                let numbers: Vec<i64> = all.iter().map(|dtype| i64::from(dtype.0)).collect();
                list(out, &|out| pb::packed(out, list_value::TYPE, &numbers));
            }
            AttrValue::Shape(shape) => pb::message(out, SHAPE, |out| write_shape(shape, out)),
            AttrValue::Shapes(all) => list(out, &|out| {
                all.iter().for_each(|shape| pb::message(out, list_value::SHAPE, |out| write_shape(shape, out)));
            }),
            AttrValue::Function(name) => write_function(FUNC, name, out),
            AttrValue::Functions(names) => {
                list(out, &|out| names.iter().for_each(|name| write_function(list_value::FUNC, name, out)));
            }
            AttrValue::Tensor(dtype, shape, elements) => pb::message(out, TENSOR, |out| {
                pb::int(out, tensor::DTYPE, i64::from(dtype.0));
                pb::message(out, tensor::TENSOR_SHAPE, |out| write_shape(shape, out));
                match elements {
                    Elements::Unread => {}
                    Elements::Ints(all) => pb::packed(out, tensor::INT64_VAL, all),
                    Elements::Floats(all) => {
                        let bytes: Vec<u8> = all.iter().flat_map(|n| n.to_le_bytes()).collect();
                        pb::element(out, tensor::FLOAT_VAL, &bytes);
                    }
                }
            }),
        }
    }
}

/// An integer field, written even if zero.
fn number(out: &mut Vec<u8>, field: u32, n: i64) {
    pb::key(out, field, 0);
    pb::varint(out, n as u64);
}

fn write_function(field: u32, name: &str, out: &mut Vec<u8>) {
    pb::message(out, field, |out| pb::element(out, name_attr_list::NAME, name.as_bytes()));
}

fn write_shape(shape: &Shape, out: &mut Vec<u8>) {
    match shape.dims() {
        None => pb::int(out, tensor_shape::UNKNOWN_RANK, 1),
        Some(dims) => {
            dims.iter().for_each(|size| pb::message(out, tensor_shape::DIM, |out| number(out, dim::SIZE, *size)));
        }
    }
}

/// The value, if it is of the kind that the field number stands for.
pub fn kind(attribute: Attr<'_>, number: u32) -> Option<Value<'_>> {
    attribute_value(attribute.0).filter(|(found, _)| *found == number).map(|(_, value)| value)
}

pub fn flag(attribute: Attr<'_>) -> bool {
    matches!(kind(attribute, B), Some(Value::Varint(n)) if n != 0)
}

pub fn int(attribute: Attr<'_>) -> Option<i64> {
    kind(attribute, I)?.int()
}

pub fn text(attribute: Attr<'_>) -> Option<&[u8]> {
    kind(attribute, S)?.bytes()
}

pub fn dtype(attribute: Attr<'_>) -> Option<DType> {
    Some(dtype_of(kind(attribute, TYPE)?.int()?))
}

pub fn shape(attribute: Attr<'_>) -> Option<Shape> {
    Some(shape_of(kind(attribute, SHAPE)?.bytes()?))
}

pub fn ints(attribute: Attr<'_>) -> Option<Vec<i64>> {
    let mut ints = Vec::new();
    let mut whole = true;
    each_of_list(attribute, list_value::I, |value| whole &= each_int(value, |n| ints.push(n)).is_ok())?;
    whole.then_some(ints)
}

pub fn dtypes(attribute: Attr<'_>) -> Vec<DType> {
    let mut dtypes = Vec::new();
    each_of_list(attribute, list_value::TYPE, |value| {
        // A damaged number ends the list.
        let _ = each_int(value, |n| dtypes.push(dtype_of(n)));
    });
    dtypes
}

pub fn shapes(attribute: Attr<'_>) -> Vec<Shape> {
    let mut shapes = Vec::new();
    each_of_list(attribute, list_value::SHAPE, |value| shapes.extend(value.bytes().map(shape_of)));
    shapes
}

/// The strings of a list.
pub fn texts(attribute: Attr<'_>) -> Vec<&[u8]> {
    let mut texts = Vec::new();
    each_of_list(attribute, list_value::S, |value| texts.extend(value.bytes()));
    texts
}

fn each_of_list<'a>(attribute: Attr<'a>, number: u32, mut each: impl FnMut(Value<'a>)) -> Option<()> {
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
        let int = |bytes| int(Attr(bytes));
        assert_eq!((int(&[0x18, 3]), int(&[0x28, 1]), flag(Attr(&[0x28, 1]))), (Some(3), None, true));
        assert_eq!((dtype(Attr(&[0x30, 101])), dtype(Attr(&[0x30, 1]))), (Some(DType::FLOAT), Some(DType::FLOAT)));
        assert_eq!(shape(Attr(&[0x3a, 2, 0x18, 1])), Some(Shape::UNKNOWN));
        assert_eq!(ints(Attr(&[0x0a, 4, 0x1a, 2, 1, 2])), Some(vec![1, 2]));
    }

    #[test]
    fn stated_values_read_back() {
        let stored = |value: AttrValue<'_>| {
            let mut out = Vec::new();
            value.write(&mut out);
            out
        };
        let of_int = |n| int(Attr(&stored(AttrValue::Int(n))));
        assert_eq!((of_int(0), of_int(-5), of_int(i64::MAX)), (Some(0), Some(-5), Some(i64::MAX)));
        assert!(flag(Attr(&stored(AttrValue::Flag(true)))) && !flag(Attr(&stored(AttrValue::Flag(false)))));
        assert_eq!(ints(Attr(&stored(AttrValue::Ints(&[])))), Some(vec![]));
        assert_eq!(ints(Attr(&stored(AttrValue::Ints(&[0, -1, 7])))), Some(vec![0, -1, 7]));
        let (known, unknown) = (Shape::of(&[0, -1, 3]), Shape::UNKNOWN);
        assert_eq!(shape(Attr(&stored(AttrValue::Shape(&unknown)))), Some(Shape::UNKNOWN));
        let all = [known.clone(), unknown, Shape::scalar()];
        assert_eq!(shapes(Attr(&stored(AttrValue::Shapes(&all)))), all);
        assert_eq!(texts(Attr(&stored(AttrValue::Texts(&["a", ""])))), [&b"a"[..], b""]);
    }
}
