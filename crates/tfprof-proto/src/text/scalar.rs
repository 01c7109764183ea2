//! Scalar values: converts numbers, bools, enums and strings to wire form.

use super::fault::{expected, quote};
use super::source::{LETTER, NUMBER, Source, is};
use super::string;
use crate::schema::{self, Field, Kind};
use crate::stream::StreamError;
use crate::wire::Value;
use crate::write;

/// Reads the next value of `field`. The content of a string is appended to `out`, and the returned value is empty.
///
/// `None` stands for an unknown enum value; the source is then still at its name.
#[inline]
pub(super) fn read(
    source: &mut Source<'_>,
    field: &Field,
    out: &mut Vec<u8>,
) -> Result<Option<Value<'static>>, StreamError> {
    if let Kind::String | Kind::Bytes = field.kind {
        return match source.peek()? {
            Some(b'"' | b'\'') => string::read(source, out).map(|()| Some(Value::Bytes(&[]))),
            _ => Err(wrong(source, field, "a string")),
        };
    }
    number(source, field)
}

/// Appends the next value of `field` to a message, with its tag. False for an unknown enum value, see [`read`].
pub(super) fn encode(source: &mut Source<'_>, field: &Field, out: &mut Vec<u8>) -> Result<bool, StreamError> {
    if let Kind::String | Kind::Bytes = field.kind {
        let before = out.len();
        write::key(out, field.number, 2);
        out.push(0);
        let start = out.len();
        let outcome = read(source, field, out);
        if outcome.is_err() {
            // If the input ends here, the message ends with the previous field.
            out.truncate(before);
        } else {
            put_length(out, start, 1);
        }
        return outcome.map(|_| true);
    }
    match number(source, field)? {
        Some(Value::Varint(n)) => {
            write::key(out, field.number, 0);
            write::varint(out, n);
        }
        Some(Value::Fixed64(n)) => {
            write::key(out, field.number, 1);
            out.extend_from_slice(&n.to_le_bytes());
        }
        Some(Value::Fixed32(n)) => {
            write::key(out, field.number, 5);
            out.extend_from_slice(&n.to_le_bytes());
        }
        Some(Value::Bytes(_)) => {}
        None => return Ok(false),
    }
    Ok(true)
}

/// Writes the length of the bytes from `start` on into the `reserved` bytes before them.
///
/// A shorter length is padded, which every varint decoder accepts; a longer one moves the content.
#[inline]
pub(super) fn put_length(out: &mut Vec<u8>, start: usize, reserved: usize) {
    let end = out.len();
    let length = (end - start) as u64;
    match &mut out[start - reserved..start] {
        [a] if length < 1 << 7 => {
            *a = length as u8;
            return;
        }
        [a, b] if length < 1 << 14 => {
            (*a, *b) = (length as u8 | 0x80, (length >> 7) as u8);
            return;
        }
        _ => {}
    }
    let needed = write::varint_len(length);
    let width = needed.max(reserved);
    if needed > reserved {
        out.resize(end + needed - reserved, 0);
        out.copy_within(start..end, start + needed - reserved);
    }
    let at = start - reserved;
    for i in 0..width {
        let more = if i + 1 < width { 0x80 } else { 0 };
        out[at + i] = (length >> (7 * i)) as u8 & 0x7f | more;
    }
}

/// A number, bool or enum.
#[inline]
fn number(source: &mut Source<'_>, field: &Field) -> Result<Option<Value<'static>>, StreamError> {
    let negative = source.eat(b'-')?;
    let first = source.peek()?;
    if !first.is_some_and(|byte| is(byte, NUMBER)) {
        return Err(wrong(source, field, wanted(field.kind)));
    }
    let length = number_length(source)?;
    let token = &source.rest()[..length];
    let value = match field.kind {
        Kind::Int32 => integer(token, negative, i128::from(i32::MIN), i128::from(i32::MAX)).map(varint),
        Kind::Int64 => integer(token, negative, i128::from(i64::MIN), i128::from(i64::MAX)).map(varint),
        Kind::Uint32 => integer(token, negative, 0, i128::from(u32::MAX)).map(varint),
        Kind::Uint64 => integer(token, negative, 0, i128::from(u64::MAX)).map(varint),
        Kind::Sint64 => integer(token, negative, i128::from(i64::MIN), i128::from(i64::MAX)).map(|n| {
            let n = n as i64;
            Value::Varint((n << 1 ^ n >> 63) as u64)
        }),
        Kind::Fixed64 => integer(token, negative, 0, i128::from(u64::MAX)).map(|n| Value::Fixed64(n as u64)),
        Kind::Bool => match token {
            b"true" | b"True" | b"t" if !negative => Ok(Value::Varint(1)),
            b"false" | b"False" | b"f" if !negative => Ok(Value::Varint(0)),
            _ => integer(token, negative, 0, 1).map(varint),
        },
        Kind::Enum(values) => match schema::enum_value(values, token) {
            Some(n) if !negative => Ok(Value::Varint(i64::from(n) as u64)),
            None if !negative && is(token[0], LETTER) => return Ok(None),
            _ => integer(token, negative, i128::from(i32::MIN), i128::from(i32::MAX)).map(varint),
        },
        // As the original: a float is read as a double, then rounded.
        Kind::Float => float(token, negative).map(|n| Value::Fixed32((n as f32).to_bits())),
        Kind::Double => float(token, negative).map(|n| Value::Fixed64(n.to_bits())),
        Kind::String | Kind::Bytes | Kind::Message(_) => Err(Wrong::Kind),
    };
    match value {
        Ok(value) => {
            source.advance(length);
            Ok(Some(value))
        }
        Err(Wrong::Kind) => Err(wrong(source, field, wanted(field.kind))),
        Err(Wrong::Range(least, most)) => Err(out_of_range(source, field, length, negative, (least, most))),
    }
}

enum Wrong {
    Kind,
    Range(i128, i128),
}

fn varint(n: i128) -> Value<'static> {
    Value::Varint(n as i64 as u64)
}

/// The length of the next number or word.
#[inline]
fn number_length(source: &mut Source<'_>) -> Result<usize, StreamError> {
    let length = source.run(0, NUMBER)?;
    // Only the exponent of a decimal number has a sign inside: `1e-5`.
    if let [b'0'..=b'9' | b'.', .., b'e' | b'E'] = source.rest()[..length]
        && !source.rest()[..length].starts_with(b"0x")
    {
        source.want(length + 1)?;
        if let Some(b'+' | b'-') = source.rest().get(length) {
            return Ok(source.run(length + 1, NUMBER)?);
        }
    }
    Ok(length)
}

#[inline]
fn integer(token: &[u8], negative: bool, least: i128, most: i128) -> Result<i128, Wrong> {
    let (digits, radix) = match token {
        [b'0', b'x' | b'X', digits @ ..] => (digits, 16),
        [b'0', digits @ ..] if !digits.is_empty() => (digits, 8),
        _ => (token, 10),
    };
    if digits.is_empty() {
        return Err(Wrong::Kind);
    }
    let mut n = Some(0_u64);
    for digit in digits {
        let digit = char::from(*digit).to_digit(radix).ok_or(Wrong::Kind)?;
        n = n.and_then(|n| n.checked_mul(u64::from(radix))?.checked_add(u64::from(digit)));
    }
    let n = i128::from(n.ok_or(Wrong::Range(least, most))?);
    let n = if negative { -n } else { n };
    if n < least || n > most { Err(Wrong::Range(least, most)) } else { Ok(n) }
}

fn float(token: &[u8], negative: bool) -> Result<f64, Wrong> {
    let n = if is(token[0], LETTER) {
        match token.to_ascii_lowercase().as_slice() {
            b"inf" | b"infinity" => f64::INFINITY,
            b"nan" => f64::NAN,
            _ => return Err(Wrong::Kind),
        }
    } else {
        let digits = token.strip_suffix(b"f").or_else(|| token.strip_suffix(b"F")).unwrap_or(token);
        let text = std::str::from_utf8(digits).map_err(|_| Wrong::Kind)?;
        text.parse().map_err(|_| Wrong::Kind)?
    };
    Ok(if negative { -n } else { n })
}

fn wanted(kind: Kind) -> &'static str {
    match kind {
        Kind::Float | Kind::Double => "a number",
        Kind::Bool => "`true` or `false`",
        Kind::Enum(_) => "a name or a number",
        Kind::String | Kind::Bytes => "a string",
        _ => "an integer",
    }
}

/// The error for a value of the wrong kind, or a missing one.
#[cold]
fn wrong(source: &mut Source<'_>, field: &Field, what: &str) -> StreamError {
    let next = match source.peek() {
        Ok(next) => next,
        Err(error) => return StreamError::Io(error),
    };
    let is_value = next.is_some_and(|byte| is(byte, NUMBER) || matches!(byte, b'"' | b'\'' | b'-'));
    let what = if is_value { what } else { "a value" };
    expected(source, &format!("{what} after `{}:`", field.name))
}

#[cold]
fn out_of_range(
    source: &mut Source<'_>,
    field: &Field,
    length: usize,
    negative: bool,
    (least, most): (i128, i128),
) -> StreamError {
    let mut token = if negative { b"-".to_vec() } else { Vec::new() };
    token.extend_from_slice(&source.rest()[..length]);
    let (name, found) = (field.name, quote(&token));
    let message = format!("expected a number from {least} to {most} after `{name}:`, found {found}");
    StreamError::Text { spot: source.spot(), message }
}
