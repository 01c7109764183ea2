//! A tensor description in protobuf's text format, with the quotes missing as in the original's snapshots.

use std::io::Write;
use tfprof_proto::schema::{self, Field, Kind, Message};
use tfprof_proto::wire::{Fields, Value, each_field};

/// The text of a `TensorDescription`; its parts count as one message.
pub(super) fn tensor(parts: &[Fields<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    if let Some(message) = schema::message("tensorflow.TensorDescription") {
        print(message, parts, 0, &mut out);
    }
    out
}

/// Prints fields in the order of their numbers. The recursion is bounded: no message here contains itself.
fn print(message: &'static Message, parts: &[Fields<'_>], depth: usize, out: &mut Vec<u8>) {
    let mut fields: Vec<&Field> = message.fields.iter().collect();
    fields.sort_unstable_by_key(|field| field.number);
    for field in fields {
        let mut messages = Vec::new();
        let mut last = None;
        for part in parts {
            each_field(part.clone(), |all, number, value| match value {
                _ if number != field.number => {}
                Value::Bytes(bytes) if matches!(field.kind, Kind::Message(_)) => messages.push(all.nested(bytes)),
                value => last = Some(value),
            });
        }
        let indent = "  ".repeat(depth);
        if let Kind::Message(inner) = field.kind {
            let size = if field.repeated { 1 } else { messages.len().max(1) };
            for parts in messages.chunks(size) {
                // Writing to memory cannot fail.
                let _ = writeln!(out, "{indent}{} {{", field.name);
                print(inner, parts, depth + 1, out);
                let _ = writeln!(out, "{indent}}}");
            }
        } else if let Some(value) = last.filter(|value| !is_zero(field, *value)) {
            let _ = write!(out, "{indent}{}: ", field.name);
            scalar(field, value, out);
            out.push(b'\n');
        }
    }
}

fn is_zero(field: &Field, value: Value<'_>) -> bool {
    match value {
        Value::Varint(n) if matches!(field.kind, Kind::Int32 | Kind::Uint32 | Kind::Enum(_)) => n as u32 == 0,
        Value::Varint(n) | Value::Fixed64(n) => n == 0,
        Value::Fixed32(n) => n == 0,
        Value::Bytes(bytes) => bytes.is_empty(),
    }
}

fn scalar(field: &Field, value: Value<'_>, out: &mut Vec<u8>) {
    let _ = match (field.kind, value) {
        (Kind::Enum(names), Value::Varint(n)) => {
            let name = names.iter().find(|(_, number)| *number == n as i32);
            match name {
                Some((name, _)) => write!(out, "{name}"),
                None => write!(out, "{}", n as i32),
            }
        }
        (Kind::Bool, Value::Varint(n)) => write!(out, "{}", n != 0),
        (Kind::Uint64, Value::Varint(n)) => write!(out, "{n}"),
        (_, Value::Varint(n)) => write!(out, "{}", n as i64),
        (_, Value::Bytes(text)) => {
            escape(text, out);
            Ok(())
        }
        // These messages have no fixed-size fields.
        _ => Ok(()),
    };
}

/// As the original, which removes all quotes: an escaped quote leaves its backslash behind.
fn escape(text: &[u8], out: &mut Vec<u8>) {
    for byte in text {
        match byte {
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'"' => out.push(b'\\'),
            b'\'' => out.extend_from_slice(b"\\'"),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b' '..=b'~' | 0x80.. => out.push(*byte),
            _ => {
                let _ = write!(out, "\\{byte:03o}");
            }
        }
    }
}
