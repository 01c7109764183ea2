//! The canonical form of a message: fields sorted by number, numbers packed, maps sorted by key.
//!
//! Deterministic proto3 writers produce the same form. Fields missing from the schema come last, unchanged.

use crate::fields::map_entry;
use crate::schema::{Field, Kind, Message};
use crate::wire::{Fields, Value, decode_varint};
use crate::write;

/// Appends the canonical form of a message.
///
/// Bytes after a fault are dropped, as in all readers of this crate.
pub fn encode(message: &'static Message, bytes: &[u8], out: &mut Vec<u8>) {
    encode_within(message, bytes, 0, out);
}

/// The depth limit of protobuf's own readers; deeper messages are copied unchanged.
const DEEPEST: usize = 100;

fn encode_within(message: &'static Message, bytes: &[u8], depth: usize, out: &mut Vec<u8>) {
    if depth > DEEPEST {
        return out.extend_from_slice(bytes);
    }
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    let mut fields = Fields::new(bytes, 0);
    while let Ok(Some(found)) = fields.next_field() {
        match message.fields.iter().find(|field| field.number == found.number && fits(field, found.value)) {
            Some(field) => known.push((field, found.value)),
            None => unknown.push((found.number, found.value)),
        }
    }
    if is_choice(message) {
        // The last member of a oneof counts and clears the others.
        if let Some((last, _)) = known.last() {
            let number = last.number;
            let others = known.iter().rposition(|(field, _)| field.number != number).map_or(0, |at| at + 1);
            known.drain(..others);
        }
    }
    known.sort_by_key(|(field, _)| field.number);
    for same in known.chunk_by(|(a, _), (b, _)| a.number == b.number) {
        let values: Vec<Value<'_>> = same.iter().map(|(_, value)| *value).collect();
        field(same[0].0, &values, is_choice(message), depth, out);
    }
    for (number, value) in unknown {
        raw(number, value, out);
    }
}

/// The only message with a oneof here. Its zeros are written: they say which member is set.
fn is_choice(message: &Message) -> bool {
    message.name == "tensorflow.AttrValue"
}

fn is_map(message: &Message) -> bool {
    message.name.ends_with("Entry") && matches!(message.fields, [a, b] if a.name == "key" && b.name == "value")
}

fn fits(field: &Field, value: Value<'_>) -> bool {
    match value {
        Value::Bytes(_) => matches!(field.kind, Kind::Message(_) | Kind::String | Kind::Bytes) || field.repeated,
        Value::Varint(_) => !matches!(
            field.kind,
            Kind::Message(_) | Kind::String | Kind::Bytes | Kind::Float | Kind::Double | Kind::Fixed64
        ),
        Value::Fixed32(_) => matches!(field.kind, Kind::Float),
        Value::Fixed64(_) => matches!(field.kind, Kind::Double | Kind::Fixed64),
    }
}

/// Writes all values of one field.
fn field(field: &Field, values: &[Value<'_>], zero_counts: bool, depth: usize, out: &mut Vec<u8>) {
    match field.kind {
        Kind::Message(inner) if field.repeated && is_map(inner) => map(field.number, inner, values, depth, out),
        Kind::Message(inner) if field.repeated => {
            for value in values {
                let bytes = value.bytes().unwrap_or_default();
                write::message(out, field.number, |out| encode_within(inner, bytes, depth + 1, out));
            }
        }
        Kind::Message(inner) => {
            // Several parts of one message are merged.
            let whole: Vec<u8> = values.iter().filter_map(|value| value.bytes()).flatten().copied().collect();
            write::message(out, field.number, |out| encode_within(inner, &whole, depth + 1, out));
        }
        Kind::String | Kind::Bytes if field.repeated => {
            for value in values {
                write::element(out, field.number, value.bytes().unwrap_or_default());
            }
        }
        _ if field.repeated => packed(field, values, out),
        kind => {
            let value = values.last().map(|value| narrowed(kind, *value));
            if let Some(value) = value.filter(|value| zero_counts || !is_zero(*value)) {
                raw(field.number, value, out);
            }
        }
    }
}

fn packed(field: &Field, values: &[Value<'_>], out: &mut Vec<u8>) {
    let mut content = Vec::new();
    let mut push = |value: Value<'_>| scalar(narrowed(field.kind, value), &mut content);
    for value in values {
        let Value::Bytes(mut bytes) = *value else {
            push(*value);
            continue;
        };
        loop {
            let (value, length) = match field.kind {
                Kind::Float => match bytes.first_chunk() {
                    Some(chunk) => (Value::Fixed32(u32::from_le_bytes(*chunk)), 4),
                    None => break,
                },
                Kind::Double | Kind::Fixed64 => match bytes.first_chunk() {
                    Some(chunk) => (Value::Fixed64(u64::from_le_bytes(*chunk)), 8),
                    None => break,
                },
                _ => match decode_varint(bytes) {
                    Ok((n, length)) => (Value::Varint(n), length),
                    Err(_) => break,
                },
            };
            push(value);
            bytes = &bytes[length..];
        }
    }
    write::bytes(out, field.number, &content);
}

/// Writes map entries sorted by key. The last of equal keys counts, and every entry has both a key and a value.
fn map(number: u32, entry: &'static Message, values: &[Value<'_>], depth: usize, out: &mut Vec<u8>) {
    let mut entries: Vec<(Key<'_>, &[u8])> = Vec::new();
    for bytes in values.iter().filter_map(|value| value.bytes()) {
        let mut key = Value::Varint(0);
        let mut fields = Fields::new(bytes, 0);
        while let Ok(Some(field)) = fields.next_field() {
            if field.number == map_entry::KEY {
                key = field.value;
            }
        }
        let key = match narrowed(entry.fields[0].kind, key) {
            Value::Bytes(bytes) => Key::Text(bytes),
            Value::Varint(_) if matches!(entry.fields[0].kind, Kind::String) => Key::Text(b""),
            Value::Varint(n) | Value::Fixed64(n) => Key::Number(n as i64),
            Value::Fixed32(n) => Key::Number(i64::from(n)),
        };
        entries.push((key, bytes));
    }
    entries.sort_by_key(|(key, _)| *key);
    for same in entries.chunk_by(|(a, _), (b, _)| a == b) {
        let (key, bytes) = same[same.len() - 1];
        write::message(out, number, |out| {
            match key {
                Key::Text(text) => write::element(out, map_entry::KEY, text),
                Key::Number(n) => raw(map_entry::KEY, Value::Varint(n as u64), out),
            }
            let mut fields = Fields::new(bytes, 0);
            let mut found = Vec::new();
            while let Ok(Some(value)) = fields.next_field() {
                if value.number == map_entry::VALUE && fits(&entry.fields[1], value.value) {
                    found.push(value.value);
                }
            }
            if found.is_empty() {
                found.push(match entry.fields[1].kind {
                    Kind::Message(_) | Kind::String | Kind::Bytes => Value::Bytes(b""),
                    Kind::Float => Value::Fixed32(0),
                    Kind::Double | Kind::Fixed64 => Value::Fixed64(0),
                    _ => Value::Varint(0),
                });
            }
            field(&entry.fields[1], &found, true, depth + 1, out);
        });
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Key<'a> {
    Number(i64),
    Text(&'a [u8]),
}

/// A number cut to the width of its kind, as all protobuf readers do.
fn narrowed(kind: Kind, value: Value<'_>) -> Value<'_> {
    match (kind, value) {
        (Kind::Int32 | Kind::Enum(_), Value::Varint(n)) => Value::Varint(i64::from(n as i32) as u64),
        (Kind::Uint32, Value::Varint(n)) => Value::Varint(u64::from(n as u32)),
        (Kind::Bool, Value::Varint(n)) => Value::Varint(u64::from(n != 0)),
        _ => value,
    }
}

fn is_zero(value: Value<'_>) -> bool {
    match value {
        Value::Varint(n) | Value::Fixed64(n) => n == 0,
        Value::Fixed32(n) => n == 0,
        Value::Bytes(bytes) => bytes.is_empty(),
    }
}

fn scalar(value: Value<'_>, out: &mut Vec<u8>) {
    match value {
        Value::Varint(n) => write::varint(out, n),
        Value::Fixed64(n) => out.extend_from_slice(&n.to_le_bytes()),
        Value::Fixed32(n) => out.extend_from_slice(&n.to_le_bytes()),
        Value::Bytes(bytes) => out.extend_from_slice(bytes),
    }
}

/// Writes a field unchanged.
fn raw(number: u32, value: Value<'_>, out: &mut Vec<u8>) {
    match value {
        Value::Bytes(bytes) => return write::element(out, number, bytes),
        Value::Varint(_) => write::key(out, number, 0),
        Value::Fixed64(_) => write::key(out, number, 1),
        Value::Fixed32(_) => write::key(out, number, 5),
    }
    scalar(value, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema;
    use proptest::prelude::*;

    fn canonical(message: &str, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        encode(schema::message(message).unwrap(), bytes, &mut out);
        out
    }

    #[test]
    fn fields_go_by_number_and_numbers_are_packed() {
        // A shape: unknown_rank before two sizes, one of them in two parts.
        let shape = [0x18, 1, 0x12, 2, 0x08, 3, 0x12, 4, 0x08, 9, 0x08, 4];
        assert_eq!(canonical("tensorflow.TensorShapeProto", &shape), [0x12, 2, 0x08, 3, 0x12, 2, 0x08, 4, 0x18, 1]);
        let list = [0x18, 1, 0x18, 2, 0x1a, 1, 3];
        assert_eq!(canonical("tensorflow.AttrValue.ListValue", &list), [0x1a, 3, 1, 2, 3]);
    }

    #[test]
    fn the_last_member_of_a_choice_counts_even_if_zero() {
        assert_eq!(canonical("tensorflow.AttrValue", &[0x18, 5, 0x28, 0]), [0x28, 0]);
        assert_eq!(canonical("tensorflow.AttrValue", &[0x12, 0]), [0x12, 0]);
    }

    #[test]
    fn map_entries_go_by_key_and_have_both_halves() {
        let inputs = [0x12, 4, 0x08, 2, 0x10, 7, 0x12, 0, 0x12, 4, 0x10, 8, 0x08, 2];
        let expect = [0x12, 4, 0x08, 0, 0x10, 0, 0x12, 4, 0x08, 2, 0x10, 8];
        assert_eq!(canonical("tensorflow.tfprof.ProfileNode", &inputs), expect);
    }

    proptest! {
        #[test]
        fn any_bytes_end_without_a_panic_and_the_form_is_final(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let once = canonical("tensorflow.NodeDef", &bytes);
            prop_assert_eq!(canonical("tensorflow.NodeDef", &once), once);
        }
    }
}
