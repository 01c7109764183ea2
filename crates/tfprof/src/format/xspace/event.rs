//! One event, as its bytes and the plane's tables tell it.

use super::decode::Numbers;
use super::own::{Few, Own, Taker};
use super::plane::{Line, Meta, Plane};
use super::stats::{self, Found, Held, Key, Stat, Texts};
use crate::model::names::escape_invalid;
use std::borrow::Cow;

/// An event, with what is needed to ask for its stats.
#[derive(Debug)]
pub struct Event<'a> {
    pub plane: &'a Plane,
    pub meta: Option<&'a Meta>,
    /// The place of its metadata in the plane.
    pub meta_at: Option<usize>,
    /// The stats that its metadata has, as bits.
    pub meta_mask: u32,
    pub id: i64,
    pub start: i64,
    pub end: i64,
    /// How many events it stands for, if it is a sum without a start.
    pub count: Option<i64>,
    /// Its place in the line.
    pub seq: u32,
    own: &'a Own,
    /// Its bytes, and perhaps those of others behind them.
    bytes: &'a [u8],
    limit: usize,
    /// Where its stats begin.
    stats: u32,
}

impl<'a> Event<'a> {
    /// Reads the field with an event that `bytes` begin with, if it is written as profilers do and ends before `limit`.
    /// Says how long it is.
    #[inline(always)]
    pub fn quickly(
        plane: &'a Plane,
        line: &Line,
        bytes: &'a [u8],
        limit: usize,
        seq: u32,
        taker: &'a mut Taker,
    ) -> Option<(Event<'a>, usize)> {
        let (numbers, end) = Numbers::quickly(bytes, limit)?;
        let meta_at = plane.meta(numbers.id);
        let own = taker.take(plane, meta_at, bytes, numbers.stats as usize, end)?;
        Some((Event::new(plane, line, (bytes, end), numbers, meta_at, seq, own), end))
    }

    /// Reads the content of any event. Damage ends the message that it is in; what precedes counts.
    #[inline(never)]
    pub fn slowly(
        plane: &'a Plane,
        line: &Line,
        bytes: &'a [u8],
        seq: u32,
        taker: &'a mut Taker,
        damaged: &mut dyn FnMut(u64, String),
    ) -> Event<'a> {
        let numbers = Numbers::slowly(plane, bytes, taker, damaged);
        let meta_at = plane.meta(numbers.id);
        taker.count(plane, meta_at);
        Event::new(plane, line, (bytes, bytes.len()), numbers, meta_at, seq, taker.own())
    }

    #[inline(always)]
    fn new(
        plane: &'a Plane,
        line: &Line,
        (bytes, limit): (&'a [u8], usize),
        numbers: Numbers,
        meta_at: Option<usize>,
        seq: u32,
        own: &'a Own,
    ) -> Event<'a> {
        let Numbers { id, offset, duration, count, stats } = numbers;
        let meta = meta_at.map(|at| &plane.metas[at]);
        let meta_mask = meta_at.map_or(0, |at| plane.briefs[at].mask);
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

    /// Changes between events of one metadata only if a stat does that says which op it is; 0 if that is not told.
    #[inline]
    pub fn version(&self) -> u32 {
        if self.own.mask == 0 { 0 } else { self.own.version }
    }

    /// Bytes with the fields of its stats, and perhaps others; where those begin and end.
    #[inline]
    pub(super) fn stat_fields(&self) -> (&'a [u8], usize, usize) {
        (self.bytes, self.stats as usize, self.limit)
    }

    #[inline]
    pub fn name(&self) -> &'a str {
        self.meta.map_or("", |meta| meta.name.as_str())
    }

    /// The name for people and for nodes: one without metadata is called by its id.
    pub fn full_name(&self) -> Cow<'a, str> {
        match self.meta {
            Some(meta) => Cow::Borrowed(&meta.name),
            None => Cow::Owned(format!("<unknown event {}>", self.id)),
        }
    }

    /// What a viewer shows.
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

    /// The stats that are the event's own.
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
        meta.stats.iter().find(|(known, _)| *known == stat).map(|(_, held)| Either::Held(held))
    }

    /// A whole number, by its bits.
    pub fn int(&self, stat: Stat) -> Option<i64> {
        match self.get(stat)? {
            Either::Own(Found::Int(n)) | Either::Held(&Held::Int(n)) => Some(n),
            Either::Own(Found::Uint(n)) | Either::Held(&Held::Uint(n)) => Some(n as i64),
            _ => None,
        }
    }

    /// A number, of whatever kind it is written as.
    pub fn number(&self, stat: Stat) -> Option<i64> {
        self.int(stat).or_else(|| match self.get(stat)? {
            Either::Own(Found::Double(n)) | Either::Held(&Held::Double(n)) => Some(n as i64),
            _ => self.text(stat)?.trim().parse().ok(),
        })
    }

    /// Text, or a number as text.
    pub fn text(&self, stat: Stat) -> Option<Cow<'a, str>> {
        let bytes = self.bytes;
        let slice = |at: u32, length: u32| &bytes[at as usize..(at + length) as usize];
        Some(match self.get(stat)? {
            Either::Own(Found::Name(at)) => Cow::Borrowed(self.plane.strings[at as usize].as_str()),
            Either::Own(Found::Text(at, length)) => match std::str::from_utf8(slice(at, length)) {
                Ok(text) => Cow::Borrowed(text),
                Err(_) => Cow::Owned(escape_invalid(slice(at, length))),
            },
            Either::Own(Found::Gzip(at, length)) => Cow::Owned(stats::gunzip(slice(at, length))?),
            Either::Held(Held::Text(text)) => Cow::Borrowed(text),
            Either::Own(Found::Int(n)) | Either::Held(&Held::Int(n)) => Cow::Owned(n.to_string()),
            Either::Own(Found::Uint(n)) | Either::Held(&Held::Uint(n)) => Cow::Owned(n.to_string()),
            Either::Own(Found::Double(n)) | Either::Held(&Held::Double(n)) => Cow::Owned(n.to_string()),
            _ => return None,
        })
    }

    /// A value that is compared with others of its kind.
    #[inline]
    pub fn key(&self, stat: Stat, texts: &mut Texts) -> Option<Key> {
        if self.mask() & stat.bit() == 0 {
            return None;
        }
        Some(match self.get(stat)? {
            Either::Own(Found::Int(n)) | Either::Held(&Held::Int(n)) => Key::Number(n as u64),
            Either::Own(Found::Uint(n)) | Either::Held(&Held::Uint(n)) => Key::Number(n),
            Either::Own(Found::Double(n)) | Either::Held(&Held::Double(n)) => Key::Double(n.to_bits()),
            _ => texts.key(self.text(stat)?),
        })
    }

    /// Whether a stat is there and says yes.
    pub fn is_true(&self, stat: Stat) -> bool {
        match self.get(stat) {
            None => false,
            Some(Either::Own(Found::Double(n)) | Either::Held(&Held::Double(n))) => n != 0.0,
            Some(_) => match self.int(stat) {
                Some(n) => n != 0,
                None => self.text(stat).is_none_or(|text| !text.is_empty()),
            },
        }
    }

    /// Whether the event's own stats of a set are those that another one had, as far as that is easily told.
    #[inline]
    pub fn has_same(&self, set: u32, other: &Few) -> bool {
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

    /// The event's own stats of a set, to be compared with those of others; nothing if that is not easily done.
    pub fn few(&self, set: u32) -> Option<Few> {
        let mask = self.own.mask & set;
        let mut few = Few { mask, values: [Found::Int(0); Few::MOST] };
        let mut left = mask;
        for value in &mut few.values {
            if left != 0 {
                *value = self.own.values[left.trailing_zeros() as usize];
                // Text is told by its place, which says nothing about another event's.
                if matches!(value, Found::Text(..) | Found::Bytes(..) | Found::Gzip(..)) {
                    return None;
                }
                left &= left - 1;
            }
        }
        (left == 0).then_some(few)
    }

    /// Writes all own stats of a set in a form that is equal for equal values.
    pub fn write_key(&self, set: u32, out: &mut Vec<u8>) {
        let mut left = self.own.mask & set;
        out.extend_from_slice(&left.to_le_bytes());
        while left != 0 {
            let at = left.trailing_zeros() as usize;
            left &= left - 1;
            match self.own.values[at] {
                Found::Int(n) => out.extend_from_slice(&n.to_le_bytes()),
                Found::Uint(n) => out.extend_from_slice(&n.to_le_bytes()),
                Found::Double(n) => out.extend_from_slice(&n.to_bits().to_le_bytes()),
                Found::Name(n) => out.extend_from_slice(&n.to_le_bytes()),
                Found::Text(at, length) | Found::Bytes(at, length) | Found::Gzip(at, length) => {
                    out.extend_from_slice(&u32::MAX.to_le_bytes());
                    out.extend_from_slice(&length.to_le_bytes());
                    out.extend_from_slice(&self.bytes[at as usize..(at + length) as usize]);
                }
            }
        }
    }
}

enum Either<'a> {
    Own(Found),
    Held(&'a Held),
}
