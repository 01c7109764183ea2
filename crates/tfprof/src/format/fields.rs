//! Steps through the fields of a record, and the few small messages that several formats share.

use crate::model::builder::Builder;
use tfprof_proto::stream::Spot;
use tfprof_proto::wire::{Fault, Field, Fields, Value, WireError};

/// Calls `each` for the fields of a record; at the first fault, warns and leaves the rest out.
pub(super) fn each_field<'a>(
    builder: &mut Builder,
    mut fields: Fields<'a>,
    mut each: impl FnMut(&mut Builder, &Fields<'a>, Field<'a>),
) {
    let all = fields.clone();
    loop {
        match fields.next_field() {
            Ok(Some(field)) => each(builder, &all, field),
            Ok(None) => return,
            Err(error) => return warn_wire(builder, &error),
        }
    }
}

fn warn_wire(builder: &mut Builder, error: &WireError) {
    let WireError { offset, fault } = error;
    // The end of the file is reported once, by whoever reads the file.
    if !matches!(fault, Fault::Truncated { .. } | Fault::CutNumber) {
        builder.warn_damage(
            "damaged_record",
            Some(Spot::Byte(*offset)),
            format!("{fault}; a part of a record is left out"),
        );
    }
}

/// Calls `each` for the fields up to the first fault, which the caller has reported or leaves alone.
pub(crate) fn each_quietly<'a>(mut fields: Fields<'a>, mut each: impl FnMut(&Fields<'a>, u32, Value<'a>)) {
    let all = fields.clone();
    while let Ok(Some(field)) = fields.next_field() {
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
