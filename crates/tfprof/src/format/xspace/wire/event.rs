//! One event: its numbers, its name, and its stats or those of its metadata.
//!
//! The fast path decodes the encoding that profilers write, eight bytes at a time; where it returns `None`, the general
//! decoder takes over.

use super::plane::{Line, Meta, Plane};
use super::stats::{
    self, DamageList, EventStats, LenientFields, OwnValue, Slice, Stat, StatMask, StatReader, StatSnapshot, StoredValue,
};
use crate::budget;
use crate::events::{Key, KeyTexts};
use crate::model::names::escape_invalid;
use std::borrow::Cow;
use tfprof_proto::fields::{xevent, xline, xstat};
use tfprof_proto::wire::Value;

/// Bytes of a text that are one unit of work.
pub const BYTES_PER_WORK: u64 = 1;
/// A longer text is no number.
const LONGEST_NUMBER: usize = 100;

/// An event, and access to its stats.
#[derive(Debug)]
pub struct Event<'a> {
    pub plane: &'a Plane,
    pub meta: Option<&'a Meta>,
    /// The index of its metadata in the plane.
    pub meta_at: Option<usize>,
    /// The stats that its metadata has, as bits.
    pub meta_mask: StatMask,
    pub id: i64,
    pub start: i64,
    pub end: i64,
    /// From its start by the clock of the device to that by the clock of the file.
    pub shift: i64,
    /// The number of events that it stands for, if it is an aggregate without a start.
    pub count: Option<i64>,
    /// Its index in the line.
    pub seq: u32,
    own: &'a EventStats,
    /// Its bytes, possibly followed by those of other events.
    bytes: &'a [u8],
    limit: usize,
    /// The offset of its stats.
    stats: u32,
}

impl<'a> Event<'a> {
    /// Decodes the event at the start of `bytes` on the fast path, and returns its length.
    #[inline(always)]
    pub fn fast(
        plane: &'a Plane,
        line: &Line,
        bytes: &'a [u8],
        limit: usize,
        seq: u32,
        stat_reader: &'a mut StatReader,
    ) -> Option<(Event<'a>, usize)> {
        let (numbers, end) = EventFields::fast(bytes, limit)?;
        let meta_at = plane.meta(numbers.id);
        let own = stat_reader.read(plane, meta_at, bytes, numbers.stats as usize, end)?;
        Some((Event::new(plane, line, (bytes, end), numbers, meta_at, seq, own), end))
    }

    /// Decodes any event, which begins at the offset `at` of the file. Damage ends the message that it is in; the fields before it count.
    #[inline(never)]
    pub fn general(
        plane: &'a Plane,
        line: &Line,
        (bytes, at): (&'a [u8], u64),
        seq: u32,
        stat_reader: &'a mut StatReader,
        damage: &mut DamageList,
    ) -> Event<'a> {
        let numbers = EventFields::general(plane, bytes, at, stat_reader, damage);
        let meta_at = plane.meta(numbers.id);
        stat_reader.count(plane, meta_at);
        Event::new(plane, line, (bytes, bytes.len()), numbers, meta_at, seq, stat_reader.own())
    }

    #[inline(always)]
    fn new(
        plane: &'a Plane,
        line: &Line,
        (bytes, limit): (&'a [u8], usize),
        numbers: EventFields,
        meta_at: Option<usize>,
        seq: u32,
        own: &'a EventStats,
    ) -> Event<'a> {
        let EventFields { id, offset, duration, count, stats } = numbers;
        let meta = meta_at.map(|at| &plane.metas[at]);
        let meta_mask = meta_at.map_or(0, |at| plane.summaries[at].mask);
        let start = line.start.saturating_add(offset);
        let end = start.saturating_add(duration.max(0));
        let mut event =
            Event { plane, meta, meta_at, meta_mask, id, start, end, shift: 0, count, seq, own, bytes, limit, stats };
        if plane.mask & Stat::DeviceOffset.bit() != 0
            && let (Some(start), Some(duration)) =
                (event.number(Stat::DeviceOffset), event.number(Stat::DeviceDuration))
        {
            event.shift = event.start.saturating_sub(start);
            (event.start, event.end) = (start, start.saturating_add(duration.max(0)));
        }
        event
    }

    /// Equal versions of one metadata have equal [`stats::OP_STATS`]; 0 is unknown.
    #[inline]
    pub fn version(&self) -> u32 {
        if self.own.mask == 0 { 0 } else { self.own.version }
    }

    /// Its bytes, and the offsets where its stats begin and end.
    #[inline]
    pub fn stat_fields(&self) -> (&'a [u8], usize, usize) {
        (self.bytes, self.stats as usize, self.limit)
    }

    #[inline]
    pub fn name(&self) -> &'a str {
        self.meta.map_or("", |meta| meta.name.as_str())
    }

    /// The name, or the id of an event without metadata.
    pub fn full_name(&self) -> Cow<'a, str> {
        match self.meta {
            Some(meta) => Cow::Borrowed(&meta.name),
            None => Cow::Owned(format!("<unknown event {}>", self.id)),
        }
    }

    /// The name that a viewer shows.
    pub fn shown(&self) -> Cow<'a, str> {
        match self.meta {
            Some(meta) if !meta.display_name.is_empty() => Cow::Borrowed(&meta.display_name),
            _ => self.full_name(),
        }
    }

    #[inline]
    pub fn duration(&self) -> i64 {
        self.end.saturating_sub(self.start)
    }

    /// The stats that the event or its metadata has, as bits.
    #[inline]
    pub fn mask(&self) -> StatMask {
        self.own.mask | self.meta_mask
    }

    /// The stats that the event itself has, as bits.
    #[inline]
    pub fn own_mask(&self) -> StatMask {
        self.own.mask
    }

    #[inline]
    pub fn has(&self, stat: Stat) -> bool {
        self.mask() & stat.bit() != 0
    }

    fn get(&self, stat: Stat) -> Option<Either<'a>> {
        if self.own.mask & stat.bit() != 0 {
            return Some(Either::Own(self.own.values[stat as usize]));
        }
        let meta = self.meta.filter(|meta| meta.mask & stat.bit() != 0)?;
        meta.stats.iter().find(|(known, _)| *known == stat).map(|(_, held)| Either::Stored(held))
    }

    /// An integer, by its bits.
    pub fn int(&self, stat: Stat) -> Option<i64> {
        match self.get(stat)? {
            Either::Own(OwnValue::Int(n)) | Either::Stored(&StoredValue::Int(n)) => Some(n),
            Either::Own(OwnValue::Uint(n)) | Either::Stored(&StoredValue::Uint(n)) => Some(n as i64),
            _ => None,
        }
    }

    /// A number of any type.
    pub fn number(&self, stat: Stat) -> Option<i64> {
        self.int(stat).or_else(|| match self.get(stat)? {
            Either::Own(OwnValue::Double(n)) | Either::Stored(&StoredValue::Double(n)) => Some(n as i64),
            _ => self.text(stat).filter(|text| text.len() <= LONGEST_NUMBER)?.trim().parse().ok(),
        })
    }

    /// Text, or a number as text. Many events may refer to one long text, so each look at it is charged.
    pub fn text(&self, stat: Stat) -> Option<Cow<'a, str>> {
        let text = self.read_text(stat)?;
        budget::work(text.len() as u64 / BYTES_PER_WORK);
        Some(text)
    }

    fn read_text(&self, stat: Stat) -> Option<Cow<'a, str>> {
        let bytes = self.bytes;
        Some(match self.get(stat)? {
            Either::Own(OwnValue::Name(at)) => Cow::Borrowed(&*self.plane.strings[at as usize]),
            Either::Own(OwnValue::Text(slice)) => match std::str::from_utf8(slice.of(bytes)) {
                Ok(text) => Cow::Borrowed(text),
                Err(_) => Cow::Owned(escape_invalid(slice.of(bytes))),
            },
            Either::Own(OwnValue::Gzip(slice)) => Cow::Owned(stats::gunzip(slice.of(bytes))?),
            Either::Stored(StoredValue::Text(text)) => Cow::Borrowed(text),
            Either::Own(OwnValue::Int(n)) | Either::Stored(&StoredValue::Int(n)) => Cow::Owned(n.to_string()),
            Either::Own(OwnValue::Uint(n)) | Either::Stored(&StoredValue::Uint(n)) => Cow::Owned(n.to_string()),
            Either::Own(OwnValue::Double(n)) | Either::Stored(&StoredValue::Double(n)) => Cow::Owned(n.to_string()),
            _ => return None,
        })
    }

    /// The value as a key.
    #[inline]
    pub fn key(&self, stat: Stat, texts: &mut KeyTexts) -> Option<Key> {
        if self.mask() & stat.bit() == 0 {
            return None;
        }
        Some(match self.get(stat)? {
            Either::Own(OwnValue::Int(n)) | Either::Stored(&StoredValue::Int(n)) => Key::Number(n as u64),
            Either::Own(OwnValue::Uint(n)) | Either::Stored(&StoredValue::Uint(n)) => Key::Number(n),
            Either::Own(OwnValue::Double(n)) | Either::Stored(&StoredValue::Double(n)) => Key::Double(n.to_bits()),
            _ => texts.key(&self.text(stat)?),
        })
    }

    /// Whether a stat is set and not zero or empty.
    pub fn is_true(&self, stat: Stat) -> bool {
        match self.get(stat) {
            None => false,
            Some(Either::Own(OwnValue::Double(n)) | Either::Stored(&StoredValue::Double(n))) => n != 0.0,
            Some(_) => match self.int(stat) {
                Some(n) => n != 0,
                None => self.text(stat).is_none_or(|text| !text.is_empty()),
            },
        }
    }

    /// Whether the event's own stats of a set equal a snapshot.
    #[inline]
    pub fn has_same(&self, set: StatMask, other: &StatSnapshot) -> bool {
        let mut left = self.own.mask & set;
        if left != other.mask {
            return false;
        }
        for value in &other.values {
            if left == 0 {
                return true;
            }
            if self.own.values[left.trailing_zeros() as usize] != *value {
                return false;
            }
            left &= left - 1;
        }
        left == 0
    }

    /// The event's own stats of a set; `None` if they are too many, or text, which differs in its offset.
    pub fn snapshot(&self, set: StatMask) -> Option<StatSnapshot> {
        let mask = self.own.mask & set;
        let mut snapshot = StatSnapshot { mask, values: [OwnValue::Int(0); StatSnapshot::MOST] };
        let mut left = mask;
        for value in &mut snapshot.values {
            if left != 0 {
                *value = self.own.values[left.trailing_zeros() as usize];
                if matches!(value, OwnValue::Text(_) | OwnValue::Bytes(_) | OwnValue::Gzip(_)) {
                    return None;
                }
                left &= left - 1;
            }
        }
        (left == 0).then_some(snapshot)
    }

    /// Appends all own stats of a set to a lookup key.
    pub fn write_key(&self, set: StatMask, out: &mut Vec<u8>) {
        let mut left = self.own.mask & set;
        out.extend_from_slice(&left.to_le_bytes());
        while left != 0 {
            let at = left.trailing_zeros() as usize;
            left &= left - 1;
            match self.own.values[at] {
                OwnValue::Int(n) => out.extend_from_slice(&n.to_le_bytes()),
                OwnValue::Uint(n) => out.extend_from_slice(&n.to_le_bytes()),
                OwnValue::Double(n) => out.extend_from_slice(&n.to_bits().to_le_bytes()),
                OwnValue::Name(n) => out.extend_from_slice(&n.to_le_bytes()),
                OwnValue::Text(slice) | OwnValue::Bytes(slice) | OwnValue::Gzip(slice) => {
                    out.extend_from_slice(&u32::MAX.to_le_bytes());
                    out.extend_from_slice(&slice.length.to_le_bytes());
                    out.extend_from_slice(slice.of(self.bytes));
                }
            }
        }
    }
}

enum Either<'a> {
    Own(OwnValue),
    Stored(&'a StoredValue),
}

/// The numbers of an event, and the offset of its stats.
#[derive(Clone, Copy, Default)]
struct EventFields {
    id: i64,
    offset: i64,
    duration: i64,
    count: Option<i64>,
    stats: u32,
}

impl EventFields {
    /// Reads an event whose fields are in ascending order, and the offset of its end.
    #[inline(always)]
    fn fast(bytes: &[u8], limit: usize) -> Option<(EventFields, usize)> {
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
    fn general(
        plane: &Plane,
        bytes: &[u8],
        at: u64,
        stat_reader: &mut StatReader,
        damage: &mut DamageList,
    ) -> EventFields {
        stat_reader.clear();
        let mut numbers = EventFields::default();
        let mut fields = LenientFields::new(bytes, at);
        for (number, value, offset) in &mut fields {
            match (number, value) {
                (xevent::METADATA_ID, Value::Varint(n)) => numbers.id = n as i64,
                (xevent::OFFSET_PS, Value::Varint(n)) => (numbers.offset, numbers.count) = (n as i64, None),
                (xevent::DURATION_PS, Value::Varint(n)) => numbers.duration = n as i64,
                (xevent::NUM_OCCURRENCES, Value::Varint(n)) => (numbers.offset, numbers.count) = (0, Some(n as i64)),
                (xevent::STATS, Value::Bytes(stat)) => {
                    let (id, raw) = stats::read_stat(stat, offset, damage);
                    let raw = raw.map(|raw| raw.moved((offset - at) as u32));
                    stat_reader.put(plane.code(id), raw.and_then(|raw| OwnValue::new(raw, plane)));
                }
                _ => {}
            }
        }
        damage.extend(fields.damage);
        numbers
    }
}

const LAST_BYTES: u64 = 0x8080_8080_8080_8080;

pub const VARINT: u32 = 0;
const FIXED64: u32 = 1;
const LENGTH: u32 = 2;

/// The one-byte tag of a field.
pub const fn tag(field: u32, wire_type: u32) -> u8 {
    (field << 3 | wire_type) as u8
}

/// Eight bytes as one word.
#[inline(always)]
pub fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Decodes a varint that has one byte, or eight bytes after its start.
#[inline(always)]
fn varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let first = *bytes.get(*at)?;
    if first < 0x80 {
        *at += 1;
        return Some(u64::from(first));
    }
    let word = word(bytes, *at)?;
    // Most of the longer ones have two bytes.
    if word & 0x8000 == 0 {
        *at += 2;
        return Some(word & 0x7f | word >> 1 & 0x3f80);
    }
    let last = !word & LAST_BYTES;
    if last == 0 {
        return long_varint(bytes, at);
    }
    let bits = last.trailing_zeros() + 1;
    *at += bits as usize / 8;
    // Seven bits of each byte, put together by twos, fours and eights.
    let n = word & (u64::MAX >> (64 - bits)) & !LAST_BYTES;
    let n = n & 0x007f_007f_007f_007f | (n & 0x7f00_7f00_7f00_7f00) >> 1;
    let n = n & 0x0000_3fff_0000_3fff | (n & 0x3fff_0000_3fff_0000) >> 2;
    Some(n & 0x0fff_ffff | (n & 0x0fff_ffff_0000_0000) >> 4)
}

#[inline(never)]
fn long_varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut n = 0;
    for i in 0..10 {
        let byte = *bytes.get(*at)?;
        *at += 1;
        n |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            return Some(n);
        }
    }
    None
}

/// Whether a varint fills the bytes between two offsets.
#[inline(always)]
pub fn is_varint(bytes: &[u8], at: usize, end: usize) -> bool {
    let length = end.wrapping_sub(at);
    let Some(word) = word(bytes, at) else { return false };
    let last = !word & LAST_BYTES;
    match length {
        1..=8 => last & u64::MAX >> (64 - 8 * length) == 1 << (8 * length - 1),
        9 => last == 0 && bytes[end - 1] < 0x80,
        10 => last == 0 && bytes[end - 2] >= 0x80 && bytes[end - 1] < 0x80,
        _ => false,
    }
}

/// The value of a stat as it is encoded.
#[derive(Clone, Copy)]
pub enum RawValue {
    Uint(u64),
    Int(i64),
    Ref(i64),
    Double(f64),
    Text(Slice),
    /// Only from the general decoder, as is the next.
    Bytes(Slice),
    Gzip(Slice),
}

impl RawValue {
    /// The same in a message around it, where it begins `by` bytes later.
    fn moved(self, by: u32) -> RawValue {
        let moved = |Slice { start, length }| Slice { start: start + by, length };
        match self {
            RawValue::Text(slice) => RawValue::Text(moved(slice)),
            RawValue::Bytes(slice) => RawValue::Bytes(moved(slice)),
            RawValue::Gzip(slice) => RawValue::Gzip(moved(slice)),
            number => number,
        }
    }
}

/// A stat: the id of its name, and the offsets of its value and its end.
#[derive(Clone, Copy)]
pub struct StatHead {
    pub id: i64,
    pub value: usize,
    pub end: usize,
}

/// The tag of a stat and that of its id, with a length of one byte between them.
const STAT_HEAD: u64 = tag(xevent::STATS, LENGTH) as u64 | (tag(xstat::METADATA_ID, VARINT) as u64) << 16;

/// The stat at an offset, if it ends before `limit`.
#[inline(always)]
pub fn stat_head(bytes: &[u8], at: usize, limit: usize) -> Option<StatHead> {
    let word = word(bytes, at)?;
    if word & 0xff_80ff != STAT_HEAD {
        return None;
    }
    let end = at + 2 + (word >> 8 & 0x7f) as usize;
    let (id, value) = if word & 0x80 << 24 == 0 {
        (word >> 24 & 0x7f, at + 4)
    } else if word & 0x80 << 32 == 0 {
        (word >> 24 & 0x7f | (word >> 32 & 0x7f) << 7, at + 5)
    } else {
        let mut value = at + 3;
        (varint(bytes, &mut value)?, value)
    };
    (value < end && end <= limit).then_some(StatHead { id: id as i64, value, end })
}

/// Decodes a value that fills the bytes between two offsets.
#[inline(always)]
pub fn raw_value(bytes: &[u8], mut at: usize, end: usize) -> Option<RawValue> {
    const UINT64: u8 = tag(xstat::UINT64_VALUE, VARINT);
    const INT64: u8 = tag(xstat::INT64_VALUE, VARINT);
    const REF: u8 = tag(xstat::REF_VALUE, VARINT);
    const DOUBLE: u8 = tag(xstat::DOUBLE_VALUE, FIXED64);
    const STR: u8 = tag(xstat::STR_VALUE, LENGTH);
    let first = *bytes.get(at)?;
    at += 1;
    let value = match first {
        UINT64 => RawValue::Uint(varint(bytes, &mut at)?),
        INT64 => RawValue::Int(varint(bytes, &mut at)? as i64),
        REF => RawValue::Ref(varint(bytes, &mut at)? as i64),
        DOUBLE => {
            let number = bytes.get(at..)?.first_chunk()?;
            at += 8;
            RawValue::Double(f64::from_le_bytes(*number))
        }
        STR => {
            let length = usize::try_from(varint(bytes, &mut at)?).ok()?;
            let text = at;
            at = text.checked_add(length)?;
            RawValue::Text(Slice { start: text as u32, length: length as u32 })
        }
        _ => return None,
    };
    (at == end).then_some(value)
}

/// The stat at an offset: the id of its name, its value, and the offset of its end.
#[inline(always)]
pub fn raw_stat(bytes: &[u8], at: usize, limit: usize) -> Option<(i64, RawValue, usize)> {
    let StatHead { id, value, end } = stat_head(bytes, at, limit)?;
    Some((id, raw_value(bytes, value, end)?, end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_of_all_lengths_are_read(n: u64, length in 0..64_u32) {
            let n = n >> length;
            let mut bytes = Vec::new();
            tfprof_proto::write::varint(&mut bytes, n);
            let end = bytes.len();
            bytes.extend_from_slice(&[0xff; 8]);
            let mut at = 0;
            prop_assert_eq!(varint(&bytes, &mut at), Some(n));
            prop_assert_eq!(at, end);
            prop_assert!(is_varint(&bytes, 0, end));
            prop_assert!(!is_varint(&bytes, 0, end + 1));
        }
    }
}
