//! The numbers of an event and its stats from its bytes: quickly where they are written as profilers do, else with care.

use super::own::Taker;
use super::plane::Plane;
use super::quick::varint;
use super::stats::Found;
use tfprof_proto::wire::{Fields, Value};

/// The numbers of an event, and where its stats begin.
#[derive(Clone, Copy, Default)]
pub struct Numbers {
    pub id: i64,
    pub offset: i64,
    pub duration: i64,
    pub count: Option<i64>,
    pub stats: u32,
}

impl Numbers {
    /// Reads the field with an event, in the order of its numbers: those, and where it ends. Nothing if it is written in
    /// any other way.
    #[inline(always)]
    pub fn quickly(bytes: &[u8], limit: usize) -> Option<(Numbers, usize)> {
        let mut numbers = Numbers::default();
        if *bytes.first()? != 0x22 {
            return None;
        }
        let mut at = 1;
        let length = usize::try_from(varint(bytes, &mut at)?).ok()?;
        let end = at.checked_add(length)?;
        if end > limit || end >= bytes.len() {
            return None;
        }
        if at < end && bytes[at] == 0x08 {
            at += 1;
            numbers.id = varint(bytes, &mut at)? as i64;
        }
        match bytes.get(at)? {
            0x10 if at < end => {
                at += 1;
                numbers.offset = varint(bytes, &mut at)? as i64;
            }
            0x28 if at < end => {
                at += 1;
                numbers.count = Some(varint(bytes, &mut at)? as i64);
            }
            _ => {}
        }
        if at < end && bytes[at] == 0x18 {
            at += 1;
            numbers.duration = varint(bytes, &mut at)? as i64;
        }
        numbers.stats = at as u32;
        (at <= end).then_some((numbers, end))
    }

    /// Reads the content of any event. Damage ends the message that it is in; what precedes counts.
    pub fn slowly(plane: &Plane, bytes: &[u8], taker: &mut Taker, damaged: &mut dyn FnMut(u64, String)) -> Numbers {
        taker.clear();
        let (mut id, mut offset, mut duration, mut count) = (0, 0, 0_i64, None);
        let mut fields = Fields::new(bytes, 0);
        loop {
            let rest = fields.rest();
            let tag = rest.first().copied().unwrap_or(0);
            match fields.next_field() {
                Ok(Some(field)) if tag & 7 != 3 => match (field.number, field.value) {
                    (1, Value::Varint(n)) => id = n as i64,
                    (2, Value::Varint(n)) => (offset, count) = (n as i64, None),
                    (3, Value::Varint(n)) => duration = n as i64,
                    (4, Value::Bytes(stat)) => {
                        let at = (fields.offset() as usize - stat.len()) as u32;
                        read_stat(plane, stat, at, taker, damaged);
                    }
                    (5, Value::Varint(n)) => (offset, count) = (0, Some(n as i64)),
                    _ => {}
                },
                Ok(None) => break,
                Err(error) => {
                    if tag == 4 << 3 | 2 && error.offset > (bytes.len() - rest.len()) as u64 {
                        let at = error.offset as u32;
                        read_stat(plane, fields.rest(), at, taker, damaged);
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
        Numbers { id, offset, duration, count, stats: 0 }
    }
}

/// Reads any stat.
fn read_stat(plane: &Plane, bytes: &[u8], at: u32, taker: &mut Taker, damaged: &mut dyn FnMut(u64, String)) {
    let (mut id, mut found) = (0_i64, None);
    let mut fields = Fields::new(bytes, 0);
    let mut goes_on = true;
    while goes_on {
        let rest = fields.rest();
        let tag = rest.first().copied().unwrap_or(0);
        let (number, value) = match fields.next_field() {
            Ok(Some(field)) if tag & 7 != 3 => (field.number, field.value),
            Ok(None) => break,
            Ok(Some(_)) => {
                damaged(u64::from(at), "expected a field, found a group; is this protobuf?".to_owned());
                break;
            }
            Err(error) => {
                damaged(u64::from(at) + error.offset, error.to_string());
                goes_on = false;
                if tag & 7 == 2 && error.offset > (bytes.len() - rest.len()) as u64 {
                    (u32::from(tag >> 3), Value::Bytes(fields.rest()))
                } else {
                    break;
                }
            }
        };
        let place = |text: &[u8]| (at + (text.as_ptr() as usize - bytes.as_ptr() as usize) as u32, text.len() as u32);
        let value = match (number, value) {
            (1, Value::Varint(n)) => {
                id = n as i64;
                continue;
            }
            (2, Value::Fixed64(n)) => Some(Found::Double(f64::from_bits(n))),
            (3, Value::Varint(n)) => Some(Found::Uint(n)),
            (4, Value::Varint(n)) => Some(Found::Int(n as i64)),
            (5, Value::Bytes(text)) => Some(Found::Text(place(text).0, place(text).1)),
            (6, Value::Bytes(content)) => Some(Found::Bytes(place(content).0, place(content).1)),
            (7, Value::Varint(n)) => plane.string(n as i64).map(|at| Found::Name(at as u32)),
            (8, Value::Bytes(text)) => Some(Found::Gzip(place(text).0, place(text).1)),
            _ => continue,
        };
        found = value;
    }
    taker.put(plane.code(id), found);
}
