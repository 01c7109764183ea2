//! The fields of one message in memory: zero-copy, no recursion, an offset for every error.
//!
//! [`Fields`] reports errors. Decoders are lenient instead: they nest and none of them can repair a record, so none
//! returns an error; each stops at the fault it meets and keeps what came before. [`first_fault`] runs a decoder and
//! returns the first fault that it met, at any depth.

use crate::fields::map_entry::{KEY, VALUE};
use crate::quick;
use std::cell::Cell;
use std::fmt;

/// The fields of one message, in the order of the bytes.
///
/// All fields before an error have been handed out, so a caller that stops at the first error has everything readable.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    /// The unread bytes.
    rest: &'a [u8],
    /// Where the message ends in the file.
    end: u64,
}

/// One field: its number, its value, and the offset of its tag in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    pub number: u32,
    pub value: Value<'a>,
    pub offset: u64,
}

/// A value by its wire type, of which there are four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32(u32),
    Bytes(&'a [u8]),
}

/// A fault in the bytes, and its offset in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireError {
    pub offset: u64,
    pub fault: Fault,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A length that runs past the end: `claimed` bytes, of which `left` exist.
    Truncated { claimed: u64, left: u64 },
    /// The input ends inside a number.
    CutNumber,
    /// A number of more than ten bytes.
    LongNumber,
    /// Field number 0 or a wire type that does not exist.
    BadTag { tag: u64 },
    /// The end of a group that was never opened.
    StrayGroupEnd,
}

impl<'a> Value<'a> {
    /// The bytes of a length-delimited value; `None` for other kinds.
    pub fn bytes(self) -> Option<&'a [u8]> {
        match self {
            Value::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// An `int64`, `int32`, `uint64` or enum; `None` for other kinds.
    pub fn int(self) -> Option<i64> {
        match self {
            Value::Varint(n) => Some(n as i64),
            _ => None,
        }
    }
}

impl<'a> Fields<'a> {
    /// `base` is the offset of `bytes` in the file.
    pub fn new(bytes: &'a [u8], base: u64) -> Self {
        Fields { rest: bytes, end: base.saturating_add(bytes.len() as u64) }
    }

    /// The offset in the file of the next field.
    #[inline]
    pub fn offset(&self) -> u64 {
        self.end.saturating_sub(self.rest.len() as u64)
    }

    /// The fields of the nested message `value`, which must be a value that this iterator has not handed out yet.
    #[must_use]
    pub fn nested(&self, value: &'a [u8]) -> Fields<'a> {
        let start = (value.as_ptr() as usize).wrapping_sub(self.rest.as_ptr() as usize);
        let start = if start <= self.rest.len() { start as u64 } else { 0 };
        Fields::new(value, self.offset() + start)
    }

    /// The next field, `None` at the end of the message. Groups, deprecated since 2008, are skipped.
    #[inline(always)]
    pub fn next_field(&mut self) -> Result<Option<Field<'a>>, WireError> {
        // The inlined fast path: a tag of one or two bytes with a short length or a varint, as in nearly all fields.
        // Everything else, errors included, takes the slow path.
        let (tag, after) = match self.rest {
            [tag @ 8..=0x7f, after @ ..] => (u32::from(*tag), after),
            [low @ 0x80..=0xff, high @ 1..=0x7f, after @ ..] => (u32::from(low & 0x7f) | u32::from(*high) << 7, after),
            [] => return Ok(None),
            _ => return self.next_field_slowly(),
        };
        let number = tag >> 3;
        match tag & 7 {
            2 => {
                let (length, after) = match after {
                    [length @ 0..=0x7f, after @ ..] => (usize::from(*length), after),
                    [low, high @ 0..=0x7f, after @ ..] => (usize::from(low & 0x7f) | usize::from(*high) << 7, after),
                    _ => return self.next_field_slowly(),
                };
                if let Some((bytes, rest)) = after.split_at_checked(length) {
                    let offset = self.offset();
                    self.rest = rest;
                    return Ok(Some(Field { number, value: Value::Bytes(bytes), offset }));
                }
            }
            0 => {
                if let Some((n, length)) = short_varint(after) {
                    let offset = self.offset();
                    self.rest = &after[length..];
                    return Ok(Some(Field { number, value: Value::Varint(n), offset }));
                }
            }
            _ => {}
        }
        self.next_field_slowly()
    }

    #[inline(never)]
    fn next_field_slowly(&mut self) -> Result<Option<Field<'a>>, WireError> {
        loop {
            let offset = self.offset();
            if self.rest.is_empty() {
                return Ok(None);
            }
            let tag = self.varint()?;
            let number = (tag >> 3) as u32;
            if number == 0 || tag > u64::from(u32::MAX) {
                return Err(WireError { offset, fault: Fault::BadTag { tag } });
            }
            let value = match tag & 7 {
                0 => Value::Varint(self.varint()?),
                1 => Value::Fixed64(u64::from_le_bytes(self.array()?)),
                2 => {
                    let length = self.varint()?;
                    Value::Bytes(self.take(length)?)
                }
                5 => Value::Fixed32(u32::from_le_bytes(self.array()?)),
                3 => {
                    self.skip_group()?;
                    continue;
                }
                4 => return Err(WireError { offset, fault: Fault::StrayGroupEnd }),
                _ => return Err(WireError { offset, fault: Fault::BadTag { tag } }),
            };
            return Ok(Some(Field { number, value, offset }));
        }
    }

    #[inline]
    fn varint(&mut self) -> Result<u64, WireError> {
        let decoded = short_varint(self.rest).map_or_else(|| decode_varint(self.rest), Ok);
        match decoded {
            Ok((n, length)) => {
                self.rest = &self.rest[length..];
                Ok(n)
            }
            Err(fault) => Err(WireError { offset: self.offset(), fault }),
        }
    }

    #[inline]
    fn take(&mut self, length: u64) -> Result<&'a [u8], WireError> {
        let left = self.rest.len() as u64;
        if length > left {
            let fault = Fault::Truncated { claimed: length, left };
            return Err(WireError { offset: self.offset(), fault });
        }
        let (bytes, rest) = self.rest.split_at(length as usize);
        self.rest = rest;
        Ok(bytes)
    }

    /// The unread bytes. After a length that runs past the end, these are the content of its field.
    ///
    /// As the original: the part of a truncated message that exists counts.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let bytes = self.take(N as u64)?;
        let mut array = [0; N];
        array.copy_from_slice(bytes);
        Ok(array)
    }

    /// Skips to the end of the group whose start tag was just read. Nested groups are only counted.
    fn skip_group(&mut self) -> Result<(), WireError> {
        let mut open = 1_u64;
        while open > 0 {
            let offset = self.offset();
            if self.rest.is_empty() {
                return Err(WireError { offset, fault: Fault::Truncated { claimed: 1, left: 0 } });
            }
            let tag = self.varint()?;
            match tag & 7 {
                0 => drop(self.varint()?),
                1 => drop(self.take(8)?),
                2 => {
                    let length = self.varint()?;
                    self.take(length)?;
                }
                3 => open += 1,
                4 => open -= 1,
                5 => drop(self.take(4)?),
                _ => return Err(WireError { offset, fault: Fault::BadTag { tag } }),
            }
        }
        Ok(())
    }
}

/// The fast path of varints: a number of at most eight bytes and its length, if the input has eight bytes or the number
/// at most two.
#[inline(always)]
pub(crate) fn short_varint(bytes: &[u8]) -> Option<(u64, usize)> {
    match bytes {
        [first @ 0..=0x7f, ..] => return Some((u64::from(*first), 1)),
        [first, second @ 0..=0x7f, ..] => return Some((u64::from(first & 0x7f) | u64::from(*second) << 7, 2)),
        _ => {}
    }
    let word = u64::from_le_bytes(*bytes.first_chunk()?);
    // The first byte with a clear top bit ends the number.
    let last = !word & 0x8080_8080_8080_8080;
    if last == 0 {
        return None;
    }
    let n = word & (last ^ (last - 1)) & 0x7f7f_7f7f_7f7f_7f7f;
    // Close the gaps of the top bits: between bytes, then between pairs, then between fours.
    let n = (n & 0x007f_007f_007f_007f) | (n & 0x7f00_7f00_7f00_7f00) >> 1;
    let n = (n & 0x0000_3fff_0000_3fff) | (n & 0x3fff_0000_3fff_0000) >> 2;
    let n = (n & 0x0fff_ffff) | (n & 0x0fff_ffff_0000_0000) >> 4;
    Some((n, last.trailing_zeros() as usize / 8 + 1))
}

/// A number and its length in bytes, from the start of `bytes`.
#[inline(never)]
pub(crate) fn decode_varint(bytes: &[u8]) -> Result<(u64, usize), Fault> {
    let mut n = 0_u64;
    for (i, byte) in bytes.iter().take(10).enumerate() {
        n |= u64::from(byte & 0x7f) << (7 * i as u32).min(63);
        if *byte < 0x80 {
            return Ok((n, i + 1));
        }
    }
    Err(if bytes.len() < 10 { Fault::CutNumber } else { Fault::LongNumber })
}

/// Calls `each` with the numbers of a repeated integer field, packed (`Bytes`) or single (`Varint`).
pub fn each_int(value: Value<'_>, mut each: impl FnMut(i64)) -> Result<(), Fault> {
    match value {
        Value::Varint(n) => each(n as i64),
        Value::Bytes(mut bytes) => {
            while !bytes.is_empty() {
                let (n, length) = decode_varint(bytes)?;
                each(n as i64);
                bytes = &bytes[length..];
            }
        }
        Value::Fixed32(_) | Value::Fixed64(_) => {}
    }
    Ok(())
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.fault)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Truncated { claimed, left } => {
                write!(f, "length {claimed} runs past the end ({left} bytes left); is the file truncated?")
            }
            Fault::CutNumber => write!(f, "the input ends inside a number; is the file truncated?"),
            Fault::LongNumber => write!(f, "expected a number of at most ten bytes; is this protobuf?"),
            Fault::BadTag { tag } => write!(f, "expected a field, found the tag {tag}; is this protobuf?"),
            Fault::StrayGroupEnd => write!(f, "found the end of a group that was not opened; is this protobuf?"),
        }
    }
}

impl std::error::Error for WireError {}

// ---- lenient reading

thread_local! {
    /// Whether there was a fault since [`first_fault`] began.
    static IS_FAULTY: Cell<bool> = const { Cell::new(false) };
    /// The first of them. Only `first_fault` reads it, so no decoder has to pass it on.
    static FAULT: Cell<Option<WireError>> = const { Cell::new(None) };
}

/// Runs `decode` and returns the first fault that the functions below met in it.
#[inline]
pub fn first_fault(decode: impl FnOnce()) -> Option<WireError> {
    IS_FAULTY.set(false);
    decode();
    if IS_FAULTY.get() { FAULT.take() } else { None }
}

#[cold]
fn note(error: WireError) {
    if !IS_FAULTY.replace(true) {
        FAULT.set(Some(error));
    }
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
#[inline]
pub fn each_field<'a>(mut fields: Fields<'a>, mut each: impl FnMut(&Fields<'a>, u32, Value<'a>)) {
    let all = fields.clone();
    while let Some(field) = next_field(&mut fields) {
        each(&all, field.number, field.value);
    }
}

/// Calls `each` with every message in the field `wanted`.
pub fn each_message<'a>(fields: Fields<'a>, wanted: u32, mut each: impl FnMut(Fields<'a>)) {
    each_field(fields, |all, number, value| match value {
        Value::Bytes(bytes) if number == wanted => each(all.nested(bytes)),
        _ => {}
    });
}

/// The text in the field `wanted`. The last one counts.
pub fn last_bytes(fields: Fields<'_>, wanted: u32) -> Option<&[u8]> {
    let mut last = None;
    if quick::last_bytes(fields.rest(), wanted, &mut last).is_some() {
        return last;
    }
    last = None;
    each_message(fields, wanted, |text| last = Some(text.rest()));
    last
}

/// The number in the field `wanted`. The last one counts.
pub fn last_int(fields: Fields<'_>, wanted: u32) -> Option<i64> {
    let mut last = None;
    each_field(fields, |_, number, value| match value {
        Value::Varint(n) if number == wanted => last = Some(n as i64),
        _ => {}
    });
    last
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
    use proptest::prelude::*;

    fn all(bytes: &[u8]) -> (Vec<Field<'_>>, Option<WireError>) {
        let mut fields = Fields::new(bytes, 100);
        let mut seen = Vec::new();
        loop {
            match fields.next_field() {
                Ok(Some(field)) => seen.push(field),
                Ok(None) => return (seen, None),
                Err(error) => return (seen, Some(error)),
            }
        }
    }

    #[test]
    fn reads_each_kind() {
        let bytes = [0x08, 0x96, 0x01, 0x12, 2, b'h', b'i', 0x1d, 1, 0, 0, 0, 0x21, 2, 0, 0, 0, 0, 0, 0, 0];
        let (fields, error) = all(&bytes);
        assert_eq!(error, None);
        let values: Vec<_> = fields.iter().map(|f| (f.number, f.value, f.offset)).collect();
        assert_eq!(
            values,
            [
                (1, Value::Varint(150), 100),
                (2, Value::Bytes(b"hi"), 103),
                (3, Value::Fixed32(1), 107),
                (4, Value::Fixed64(2), 112),
            ]
        );
    }

    #[test]
    fn negative_numbers_take_ten_bytes() {
        let bytes = [0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(all(&bytes).0[0].value.int(), Some(-1));
    }

    #[test]
    fn groups_are_passed_over() {
        let bytes = [0x0b, 0x13, 0x08, 1, 0x14, 0x0c, 0x10, 7];
        let (fields, error) = all(&bytes);
        assert_eq!((fields.len(), fields[0].number, error), (1, 2, None));
    }

    #[test]
    fn a_length_past_the_end_keeps_earlier_fields() {
        let (fields, error) = all(&[0x08, 1, 0x12, 0x7f, b'x']);
        assert_eq!(fields.len(), 1);
        assert_eq!(error, Some(WireError { offset: 104, fault: Fault::Truncated { claimed: 127, left: 1 } }));
    }

    #[test]
    fn nested_fields_know_their_offset() {
        let bytes = [0x0a, 2, 0x08, 5];
        let fields = Fields::new(&bytes, 10);
        let mut outer = fields.clone();
        let inner = outer.next_field().unwrap().unwrap().value.bytes().unwrap();
        assert_eq!(fields.nested(inner).offset(), 12);
    }

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

    proptest! {
        #[test]
        fn both_ways_to_decode_a_number_agree(n: u64, shift in 0..64_u32, more: [u8; 8]) {
            let mut bytes = Vec::new();
            crate::write::varint(&mut bytes, n >> shift);
            let length = bytes.len();
            prop_assert_eq!(decode_varint(&bytes), Ok((n >> shift, length)));
            bytes.extend(more);
            let short = short_varint(&bytes);
            prop_assert!(short.is_none_or(|decoded| decoded == (n >> shift, length)));
            prop_assert_eq!(short.is_some(), length <= 8);
        }

        #[test]
        fn any_bytes_end_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            all(&bytes);
        }
    }
}
