//! One event: its numbers, its name, and its stats or those of its metadata.

use super::event_fields::EventFields;
use super::event_stats::{EventStats, StatReader, StatSnapshot};
use super::plane::{Line, Meta, Plane};
use super::stats::{self, OwnValue, Stat, StoredValue};
use crate::events::{Key, KeyTexts};
use crate::model::names::escape_invalid;
use std::borrow::Cow;

/// An event, and access to its stats.
#[derive(Debug)]
pub struct Event<'a> {
    pub plane: &'a Plane,
    pub meta: Option<&'a Meta>,
    /// The index of its metadata in the plane.
    pub meta_at: Option<usize>,
    /// The stats that its metadata has, as bits.
    pub meta_mask: u32,
    pub id: i64,
    pub start: i64,
    pub end: i64,
    /// How many events it stands for, if it is an aggregate without a start.
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

    /// Decodes any event. Damage ends the message that it is in; the fields before it count.
    #[inline(never)]
    pub fn general(
        plane: &'a Plane,
        line: &Line,
        bytes: &'a [u8],
        seq: u32,
        stat_reader: &'a mut StatReader,
        damaged: &mut dyn FnMut(u64, String),
    ) -> Event<'a> {
        let numbers = EventFields::general(plane, bytes, stat_reader, damaged);
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
        let mut event = Event { plane, meta, meta_at, meta_mask, id, start, end, count, seq, own, bytes, limit, stats };
        if plane.mask & Stat::DeviceOffset.bit() != 0
            && let (Some(start), Some(duration)) =
                (event.number(Stat::DeviceOffset), event.number(Stat::DeviceDuration))
        {
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
    pub fn mask(&self) -> u32 {
        self.own.mask | self.meta_mask
    }

    /// The stats that the event itself has, as bits.
    #[inline]
    pub fn own_mask(&self) -> u32 {
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
            _ => self.text(stat)?.trim().parse().ok(),
        })
    }

    /// Text, or a number as text.
    pub fn text(&self, stat: Stat) -> Option<Cow<'a, str>> {
        let bytes = self.bytes;
        Some(match self.get(stat)? {
            Either::Own(OwnValue::Name(at)) => Cow::Borrowed(self.plane.strings[at as usize].as_str()),
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
            _ => texts.key(self.text(stat)?),
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
    pub fn has_same(&self, set: u32, other: &StatSnapshot) -> bool {
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
    pub fn snapshot(&self, set: u32) -> Option<StatSnapshot> {
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
    pub fn write_key(&self, set: u32, out: &mut Vec<u8>) {
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
