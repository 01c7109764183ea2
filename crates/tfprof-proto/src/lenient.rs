//! Lenient reading: take every field up to the first fault, and let the caller of the reader report it.
//!
//! Decoders nest and none of them can repair a record, so none returns an error: each stops at the fault it meets and
//! keeps what came before. [`first_fault`] runs a decoder and returns the first fault that it met, at any depth.

use crate::fields::map_entry::{KEY, VALUE};
use crate::wire::{Field, Fields, Value, WireError};
use std::cell::Cell;

thread_local! {
    /// The first fault since [`first_fault`] began. Only `first_fault` reads it, so no decoder has to pass it on.
    static FAULT: Cell<Option<WireError>> = const { Cell::new(None) };
}

/// Runs `decode` and returns the first fault that the functions of this module met in it.
#[inline]
pub fn first_fault(decode: impl FnOnce()) -> Option<WireError> {
    FAULT.take();
    decode();
    FAULT.take()
}

#[cold]
fn note(error: WireError) {
    FAULT.set(FAULT.take().or(Some(error)));
}

/// The next field; `None` at the end of the message and at a fault.
#[inline(always)]
pub fn next_field<'a>(fields: &mut Fields<'a>) -> Option<Field<'a>> {
    fields.next_field().unwrap_or_else(|error| {
        note(error);
        None
    })
}

/// Calls `each` with the number and the value of every field up to the first fault. Its first argument is the whole
/// message, for [`Fields::nested`].
pub fn each_field<'a>(mut fields: Fields<'a>, mut each: impl FnMut(&Fields<'a>, u32, Value<'a>)) {
    let all = fields.clone();
    while let Some(field) = next_field(&mut fields) {
        each(&all, field.number, field.value);
    }
}

/// Key and value of an entry of a map with string keys.
pub fn map_entry(entry: &[u8]) -> (&[u8], Option<&[u8]>) {
    // The usual form: the key, then a short value that ends the entry.
    if let [0x0a, length @ 0..=0x7f, rest @ ..] = entry
        && let Some((key, [0x12, length @ 0..=0x7f, value @ ..])) = rest.split_at_checked(usize::from(*length))
        && value.len() == usize::from(*length)
    {
        return (key, Some(value));
    }
    let (mut key, mut value) = (&b""[..], None);
    each_field(Fields::new(entry, 0), |_, number, field| match (number, field) {
        (KEY, Value::Bytes(bytes)) => key = bytes,
        (VALUE, Value::Bytes(bytes)) => value = Some(bytes),
        _ => {}
    });
    (key, value)
}

/// Key and value of an entry of a map from integer to integer.
pub fn int_entry(entry: Fields<'_>) -> (i64, i64) {
    let (mut key, mut int) = (0, 0);
    each_field(entry, |_, number, value| match (number, value) {
        (KEY, Value::Varint(n)) => key = n as i64,
        (VALUE, Value::Varint(n)) => int = n as i64,
        _ => {}
    });
    (key, int)
}

/// Key and value of an entry of a map from integer to message or string, and `None` if there is no value.
pub fn int_keyed_entry(entry: Fields<'_>) -> (i64, Option<Fields<'_>>) {
    let (mut key, mut content) = (0, None);
    each_field(entry, |all, number, value| match (number, value) {
        (KEY, Value::Varint(n)) => key = n as i64,
        (VALUE, Value::Bytes(bytes)) => content = Some(all.nested(bytes)),
        _ => {}
    });
    (key, content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_fault_is_returned_from_any_depth() {
        // A message whose field 1 claims seven bytes of which two exist, then a good field.
        let bytes = [0x0a, 4, 0x0a, 7, b'h', b'i', 0x10, 3];
        let mut int = None;
        let fault = first_fault(|| {
            each_field(Fields::new(&bytes, 100), |all, _, value| match value {
                Value::Bytes(inner) => each_field(all.nested(inner), |_, _, _| {}),
                value => int = value.int(),
            });
        });
        assert_eq!((fault.map(|error| error.offset), int), (Some(104), Some(3)));
        assert_eq!(first_fault(|| ()), None);
    }

    #[test]
    fn entries_of_maps_in_any_order() {
        assert_eq!(map_entry(&[0x0a, 1, b'k', 0x12, 1, b'v']), (&b"k"[..], Some(&b"v"[..])));
        assert_eq!(map_entry(&[0x12, 1, b'v', 0x0a, 1, b'k']), (&b"k"[..], Some(&b"v"[..])));
        assert_eq!(map_entry(&[0x0a, 1, b'k']), (&b"k"[..], None));
        assert_eq!(int_entry(Fields::new(&[0x10, 7, 0x08, 5], 0)), (5, 7));
    }
}
