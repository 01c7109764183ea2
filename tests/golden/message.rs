//! Messages with their map entries in ascending order.
//!
//! A map has no order on the wire; the goldens have theirs as the original's library left it.

use tfprof_proto::wire::{Fields, Value};
use tfprof_proto::write;

/// A `GraphNodeProto`, or with `multi` a `MultiGraphNodeProto`, with its map of input shapes sorted by key.
pub fn with_sorted_maps(bytes: &[u8], multi: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let mut entries: Vec<(i64, &[u8])> = Vec::new();
    let mut fields = Fields::new(bytes, 0);
    while let Some(field) = fields.next_field().expect("a valid message") {
        match (field.number, field.value) {
            (16, Value::Bytes(entry)) if !multi => {
                let key = Fields::new(entry, 0).next_field().expect("a valid message").and_then(|key| key.value.int());
                entries.push((key.unwrap_or(0), entry));
                continue;
            }
            _ => {
                entries.sort_unstable();
                entries.drain(..).for_each(|(_, entry)| write::element(&mut out, 16, entry));
            }
        }
        match (field.number, field.value) {
            (10, Value::Bytes(node)) if multi => write::element(&mut out, 10, &with_sorted_maps(node, false)),
            (11, Value::Bytes(node)) if multi => write::element(&mut out, 11, &with_sorted_maps(node, true)),
            (12, Value::Bytes(node)) if !multi => write::element(&mut out, 12, &with_sorted_maps(node, false)),
            (number, Value::Bytes(bytes)) => write::element(&mut out, number, bytes),
            (number, Value::Varint(n)) => write::int(&mut out, number, n as i64),
            (number, value) => panic!("field {number} is {value:?}"),
        }
    }
    entries.sort_unstable();
    entries.drain(..).for_each(|(_, entry)| write::element(&mut out, 16, entry));
    out
}
