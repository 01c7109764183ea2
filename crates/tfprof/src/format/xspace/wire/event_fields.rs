//! Decodes the fields of an event: a fast path for the encoding that profilers write, and a general one.

use super::event_stats::StatReader;
use super::fast_varint::{LENGTH, VARINT, tag, varint};
use super::plane::Plane;
use super::stats::{OwnValue, Slice};
use tfprof_proto::fields::{xevent, xline, xstat};
use tfprof_proto::wire::{Fields, Value};

/// The numbers of an event, and the offset of its stats.
#[derive(Clone, Copy, Default)]
pub struct EventFields {
    pub id: i64,
    pub offset: i64,
    pub duration: i64,
    pub count: Option<i64>,
    pub stats: u32,
}

impl EventFields {
    /// Reads an event whose fields are in ascending order, and the offset of its end.
    #[inline(always)]
    pub fn fast(bytes: &[u8], limit: usize) -> Option<(EventFields, usize)> {
        const OFFSET: u8 = tag(xevent::OFFSET_PS, VARINT);
        const COUNT: u8 = tag(xevent::NUM_OCCURRENCES, VARINT);
        let mut numbers = EventFields::default();
        if *bytes.first()? != tag(xline::EVENTS, LENGTH) {
            return None;
        }
        let mut at = 1;
        let length = usize::try_from(varint(bytes, &mut at)?).ok()?;
        let end = at.checked_add(length)?;
        if end > limit || end >= bytes.len() {
            return None;
        }
        if at < end && bytes[at] == tag(xevent::METADATA_ID, VARINT) {
            at += 1;
            numbers.id = varint(bytes, &mut at)? as i64;
        }
        match *bytes.get(at)? {
            OFFSET if at < end => {
                at += 1;
                numbers.offset = varint(bytes, &mut at)? as i64;
            }
            COUNT if at < end => {
                at += 1;
                numbers.count = Some(varint(bytes, &mut at)? as i64);
            }
            _ => {}
        }
        if at < end && bytes[at] == tag(xevent::DURATION_PS, VARINT) {
            at += 1;
            numbers.duration = varint(bytes, &mut at)? as i64;
        }
        numbers.stats = at as u32;
        (at <= end).then_some((numbers, end))
    }

    /// Reads any event. Damage ends the message that it is in; the fields before it count.
    pub fn general(
        plane: &Plane,
        bytes: &[u8],
        stat_reader: &mut StatReader,
        damaged: &mut dyn FnMut(u64, String),
    ) -> EventFields {
        stat_reader.clear();
        let (mut id, mut offset, mut duration, mut count) = (0, 0, 0_i64, None);
        let mut fields = Fields::new(bytes, 0);
        loop {
            let rest = fields.rest();
            let first = rest.first().copied().unwrap_or(0);
            match fields.next_field() {
                Ok(Some(field)) if first & 7 != 3 => match (field.number, field.value) {
                    (xevent::METADATA_ID, Value::Varint(n)) => id = n as i64,
                    (xevent::OFFSET_PS, Value::Varint(n)) => (offset, count) = (n as i64, None),
                    (xevent::DURATION_PS, Value::Varint(n)) => duration = n as i64,
                    (xevent::STATS, Value::Bytes(stat)) => {
                        let at = (fields.offset() as usize - stat.len()) as u32;
                        read_stat(plane, stat, at, stat_reader, damaged);
                    }
                    (xevent::NUM_OCCURRENCES, Value::Varint(n)) => (offset, count) = (0, Some(n as i64)),
                    _ => {}
                },
                Ok(None) => break,
                Err(error) => {
                    if first == tag(xevent::STATS, LENGTH) && error.offset > (bytes.len() - rest.len()) as u64 {
                        let at = error.offset as u32;
                        read_stat(plane, fields.rest(), at, stat_reader, damaged);
                    }
                    damaged(error.offset, error.to_string());
                    break;
                }
                Ok(Some(_)) => {
                    damaged(fields.offset(), "expected a field, found a group; is this protobuf?".to_owned());
                    break;
                }
            }
        }
        EventFields { id, offset, duration, count, stats: 0 }
    }
}

/// Reads any stat.
fn read_stat(plane: &Plane, bytes: &[u8], at: u32, stat_reader: &mut StatReader, damaged: &mut dyn FnMut(u64, String)) {
    let (mut id, mut found) = (0_i64, None);
    let mut fields = Fields::new(bytes, 0);
    let mut goes_on = true;
    while goes_on {
        let rest = fields.rest();
        let first = rest.first().copied().unwrap_or(0);
        let (number, value) = match fields.next_field() {
            Ok(Some(field)) if first & 7 != 3 => (field.number, field.value),
            Ok(None) => break,
            Ok(Some(_)) => {
                damaged(u64::from(at), "expected a field, found a group; is this protobuf?".to_owned());
                break;
            }
            Err(error) => {
                damaged(u64::from(at) + error.offset, error.to_string());
                goes_on = false;
                if first & 7 == 2 && error.offset > (bytes.len() - rest.len()) as u64 {
                    (u32::from(first >> 3), Value::Bytes(fields.rest()))
                } else {
                    break;
                }
            }
        };
        let slice = |part: &[u8]| {
            let start = at + (part.as_ptr() as usize - bytes.as_ptr() as usize) as u32;
            Slice { start, length: part.len() as u32 }
        };
        let value = match (number, value) {
            (xstat::METADATA_ID, Value::Varint(n)) => {
                id = n as i64;
                continue;
            }
            (xstat::DOUBLE_VALUE, Value::Fixed64(n)) => Some(OwnValue::Double(f64::from_bits(n))),
            (xstat::UINT64_VALUE, Value::Varint(n)) => Some(OwnValue::Uint(n)),
            (xstat::INT64_VALUE, Value::Varint(n)) => Some(OwnValue::Int(n as i64)),
            (xstat::STR_VALUE, Value::Bytes(text)) => Some(OwnValue::Text(slice(text))),
            (xstat::BYTES_VALUE, Value::Bytes(content)) => Some(OwnValue::Bytes(slice(content))),
            (xstat::REF_VALUE, Value::Varint(n)) => plane.string(n as i64).map(|at| OwnValue::Name(at as u32)),
            (xstat::GZIP_STR_VALUE, Value::Bytes(text)) => Some(OwnValue::Gzip(slice(text))),
            _ => continue,
        };
        found = value;
    }
    stat_reader.put(plane.code(id), found);
}
