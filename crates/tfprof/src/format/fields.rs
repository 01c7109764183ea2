//! Steps through the fields of a record, and the few small messages that several formats share.

use super::damage;
use tfprof_proto::wire::{Field, Fields, Value};

/// The next field, or nothing at the end and at a fault, which is noted: whoever reads the file reports it.
#[inline(always)]
pub(super) fn next_quietly<'a>(fields: &mut Fields<'a>) -> Option<Field<'a>> {
    fields.next_field().unwrap_or_else(|error| {
        damage::note(error);
        None
    })
}

/// Calls `each` for the fields up to the first fault, see [`next_quietly`].
pub(crate) fn each_quietly<'a>(mut fields: Fields<'a>, mut each: impl FnMut(&Fields<'a>, u32, Value<'a>)) {
    let all = fields.clone();
    while let Some(field) = next_quietly(&mut fields) {
        each(&all, field.number, field.value);
    }
}

/// Key and value of an entry of a map whose keys are strings.
pub(crate) fn map_entry(entry: &[u8]) -> (&[u8], Option<&[u8]>) {
    // As all writers have it: the key, then a short value that ends the entry.
    if let [0x0a, length @ 0..=0x7f, rest @ ..] = entry
        && let Some((key, [0x12, length @ 0..=0x7f, value @ ..])) = rest.split_at_checked(usize::from(*length))
        && value.len() == usize::from(*length)
    {
        return (key, Some(value));
    }
    let (mut key, mut value) = (&b""[..], None);
    each_quietly(Fields::new(entry, 0), |_, number, field| match (number, field) {
        (1, Value::Bytes(bytes)) => key = bytes,
        (2, Value::Bytes(bytes)) => value = Some(bytes),
        _ => {}
    });
    (key, value)
}

/// Two numbers: an entry of a map between such, or what was allocated and when.
pub(super) fn int_pair(entry: Fields<'_>) -> (i64, i64) {
    let (mut key, mut number_of) = (0, 0);
    each_quietly(entry, |_, number, value| match (number, value) {
        (1, Value::Varint(n)) => key = n as i64,
        (2, Value::Varint(n)) => number_of = n as i64,
        _ => {}
    });
    (key, number_of)
}

/// The dimensions of an attribute of the kind shape.
pub(crate) fn attribute_shape(attribute: &[u8], dims: &mut Vec<i64>) -> Option<()> {
    let (7, Value::Bytes(shape)) = last_field(attribute)? else { return None };
    shape_dims(shape, dims);
    Some(())
}

/// The shapes of an attribute of the kind list.
pub(super) fn attribute_shapes(attribute: &[u8]) -> Vec<&[u8]> {
    let mut shapes = Vec::new();
    if let Some((1, Value::Bytes(list))) = last_field(attribute) {
        each_quietly(Fields::new(list, 0), |_, number, value| {
            if let (7, Value::Bytes(shape)) = (number, value) {
                shapes.push(shape);
            }
        });
    }
    shapes
}

/// An attribute holds one of several kinds; the last one that is written counts.
fn last_field(attribute: &[u8]) -> Option<(u32, Value<'_>)> {
    let mut last = None;
    each_quietly(Fields::new(attribute, 0), |_, number, value| last = Some((number, value)));
    last
}

/// `TensorShapeProto` as dimensions. As the original: a scalar is `[1]`, an unknown rank `[]`.
pub(crate) fn shape_dims(shape: &[u8], dims: &mut Vec<i64>) {
    dims.clear();
    let mut unknown_rank = false;
    each_quietly(Fields::new(shape, 0), |all, number, value| match (number, value) {
        (2, Value::Bytes(dim)) => {
            let mut size = 0;
            each_quietly(all.nested(dim), |_, number, value| {
                if let (1, Value::Varint(n)) = (number, value) {
                    size = n as i64;
                }
            });
            dims.push(size);
        }
        (3, Value::Varint(n)) => unknown_rank = n != 0,
        _ => {}
    });
    if dims.is_empty() && !unknown_rank {
        dims.push(1);
    }
}
