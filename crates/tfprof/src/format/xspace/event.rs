//! One event, as its bytes and the plane's tables tell it.

use super::plane::{Brief, Line, Meta, NO_NAME, NO_STAT, Plane};
use super::stats::{self, Found, Held, Key, Stat, Texts};
use crate::model::names::escape_invalid;
use std::borrow::Cow;
use tfprof_proto::wire::{Fields, Value};

/// The stats of one event, by kind; which of them are its own is told by a mask, so that nothing need be cleared.
#[derive(Debug)]
pub struct Own {
    /// The stats that are taken, as bits.
    wanted: u32,
    mask: u32,
    values: [Found; Stat::COUNT],
    /// What led nowhere in all events so far.
    pub dangling: Dangling,
}

impl Own {
    pub fn new(wanted: u32) -> Self {
        Own { wanted, mask: 0, values: [Found::Int(0); Stat::COUNT], dangling: Dangling::default() }
    }
}

/// A few stats of an event, in the order of their bits.
#[derive(Clone, Copy, Debug)]
pub struct Few {
    mask: u32,
    values: [Found; Few::MOST],
}

impl Few {
    const MOST: usize = 4;
}

/// What leads nowhere: ids without an entry, and lines by another clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dangling {
    pub events: u64,
    pub stats: u64,
    pub strings: u64,
}

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
    bytes: &'a [u8],
    /// Where its stats begin.
    stats: u32,
}

impl<'a> Event<'a> {
    /// Reads the field with an event that `bytes` begin with, if it is written as profilers do; it ends before `limit`.
    /// Says how long it is.
    #[inline(always)]
    pub fn quickly(
        plane: &'a Plane,
        line: &Line,
        bytes: &'a [u8],
        limit: usize,
        seq: u32,
        own: &'a mut Own,
    ) -> Option<(Event<'a>, usize)> {
        let (head, end) = Head::quickly(plane, bytes, limit, own)?;
        Some((Event::new(plane, line, &bytes[..end], head, seq, own), end))
    }

    /// Reads the content of any event. Damage ends the message that it is in; what precedes counts.
    #[inline(never)]
    pub fn slowly(
        plane: &'a Plane,
        line: &Line,
        bytes: &'a [u8],
        seq: u32,
        own: &'a mut Own,
        damaged: &mut dyn FnMut(u64, String),
    ) -> Event<'a> {
        let head = Head::slowly(plane, bytes, own, damaged);
        Event::new(plane, line, bytes, head, seq, own)
    }

    #[inline(always)]
    fn new(plane: &'a Plane, line: &Line, bytes: &'a [u8], head: Head, seq: u32, own: &'a mut Own) -> Event<'a> {
        let Head { id, offset, duration, count, stats } = head;
        let meta_at = plane.meta(id);
        let meta = meta_at.map(|at| &plane.metas[at]);
        let brief = meta_at.map_or(Brief::default(), |at| plane.briefs[at]);
        match meta {
            None => own.dangling.events += 1,
            Some(meta) if brief.dangles => {
                own.dangling.stats += meta.nameless;
                own.dangling.strings += meta.lost;
            }
            Some(_) => {}
        }
        let meta_mask = brief.mask;
        let start = line.start.saturating_add(offset);
        let end = start.saturating_add(duration.max(0));
        let own: &Own = own;
        let mut event = Event { plane, meta, meta_at, meta_mask, id, start, end, count, seq, own, bytes, stats };
        if plane.mask & Stat::DeviceOffset.bit() != 0
            && let (Some(start), Some(duration)) =
                (event.number(Stat::DeviceOffset), event.number(Stat::DeviceDuration))
        {
            (event.start, event.end) = (start, start.saturating_add(duration.max(0)));
        }
        event
    }

    /// The fields with its stats, and perhaps others.
    pub(super) fn stat_fields(&self) -> &'a [u8] {
        &self.bytes[self.stats as usize..]
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

/// The numbers of an event, and where its stats begin.
#[derive(Clone, Copy, Default)]
struct Head {
    id: i64,
    offset: i64,
    duration: i64,
    count: Option<i64>,
    stats: u32,
}

impl Head {
    /// Reads an event as profilers write it, by the numbers of its fields; nothing if it is written in any other way.
    #[inline(always)]
    fn quickly(plane: &Plane, bytes: &[u8], limit: usize, own: &mut Own) -> Option<(Head, usize)> {
        let mut head = Head::default();
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
            head.id = varint(bytes, &mut at)? as i64;
        }
        match bytes.get(at)? {
            0x10 if at < end => {
                at += 1;
                head.offset = varint(bytes, &mut at)? as i64;
            }
            0x28 if at < end => {
                at += 1;
                head.count = Some(varint(bytes, &mut at)? as i64);
            }
            _ => {}
        }
        if at < end && bytes[at] == 0x18 {
            at += 1;
            head.duration = varint(bytes, &mut at)? as i64;
        }
        head.stats = at as u32;
        own.mask = 0;
        if at < end && own.wanted != 0 {
            let before = own.dangling;
            while at < end {
                if stat_quickly(plane, bytes, &mut at, end, own).is_none() {
                    own.dangling = before;
                    return None;
                }
            }
            return (at == end).then_some((head, end));
        }
        // Without stats that are wanted, those that are there are passed over.
        (at <= end).then_some((head, end))
    }

    /// Reads any event.
    fn slowly(plane: &Plane, bytes: &[u8], own: &mut Own, damaged: &mut dyn FnMut(u64, String)) -> Head {
        own.mask = 0;
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
                        read_stat(plane, stat, at, own, damaged);
                    }
                    (5, Value::Varint(n)) => (offset, count) = (0, Some(n as i64)),
                    _ => {}
                },
                Ok(None) => break,
                Err(error) => {
                    if tag == 4 << 3 | 2 && error.offset > (bytes.len() - rest.len()) as u64 {
                        let at = error.offset as u32;
                        read_stat(plane, fields.rest(), at, own, damaged);
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
        Head { id, offset, duration, count, stats: 0 }
    }
}

const LAST_BYTES: u64 = 0x8080_8080_8080_8080;

/// A number, if eight bytes or its end follow.
#[inline(always)]
pub(super) fn varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let first = *bytes.get(*at)?;
    if first < 0x80 {
        *at += 1;
        return Some(u64::from(first));
    }
    let word = u64::from_le_bytes(*bytes.get(*at..)?.first_chunk()?);
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

/// Reads a stat as profilers write it: its id, then its value.
#[inline(always)]
fn stat_quickly(plane: &Plane, bytes: &[u8], at: &mut usize, limit: usize, own: &mut Own) -> Option<()> {
    let (id, value, end) = stat_head(bytes, *at, limit)?;
    let code = plane.code(id);
    let is_number = matches!(bytes[value], 0x18 | 0x20);
    if is_number && (code == NO_STAT || code < 32 && own.wanted & 1 << code == 0) {
        // Nobody asks what the number is.
        if !is_varint(bytes, value + 1, end) {
            return None;
        }
    } else {
        let found = match raw_value(bytes, value, end)? {
            Raw::Uint(n) => Some(Found::Uint(n)),
            Raw::Int(n) => Some(Found::Int(n)),
            Raw::Ref(n) => plane.string(n).map(|at| Found::Name(at as u32)),
            Raw::Double(n) => Some(Found::Double(n)),
            Raw::Text(text, length) => Some(Found::Text(text as u32, length as u32)),
        };
        keep(code, found, own);
    }
    *at = end;
    Some(())
}

/// Whether a number fills a place.
#[inline(always)]
fn is_varint(bytes: &[u8], at: usize, end: usize) -> bool {
    let length = end.wrapping_sub(at);
    let Some(word) = bytes.get(at..).and_then(<[u8]>::first_chunk) else { return false };
    let last = !u64::from_le_bytes(*word) & LAST_BYTES;
    match length {
        1..=8 => last & u64::MAX >> (64 - 8 * length) == 1 << (8 * length - 1),
        9 => last == 0 && bytes[end - 1] < 0x80,
        10 => last == 0 && bytes[end - 2] >= 0x80 && bytes[end - 1] < 0x80,
        _ => false,
    }
}

/// The value of a stat as it is written.
#[derive(Clone, Copy)]
pub(super) enum Raw {
    Uint(u64),
    Int(i64),
    Ref(i64),
    Double(f64),
    /// Where it begins, and how long it is.
    Text(usize, usize),
}

/// The field with a stat at a place, if it is written as profilers do and ends before `limit`: the id of its name, and
/// where its value begins and ends.
#[inline(always)]
fn stat_head(bytes: &[u8], at: usize, limit: usize) -> Option<(i64, usize, usize)> {
    let word = u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?);
    // Its tag, a length of one byte, the tag of the id.
    if word & 0xff_80ff != 0x08_0022 {
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
    (value < end && end <= limit).then_some((id as i64, value, end))
}

/// A value that fills a place.
#[inline(always)]
fn raw_value(bytes: &[u8], mut at: usize, end: usize) -> Option<Raw> {
    let tag = *bytes.get(at)?;
    at += 1;
    let value = match tag {
        0x18 => Raw::Uint(varint(bytes, &mut at)?),
        0x20 => Raw::Int(varint(bytes, &mut at)? as i64),
        0x38 => Raw::Ref(varint(bytes, &mut at)? as i64),
        0x11 => {
            let number = bytes.get(at..)?.first_chunk()?;
            at += 8;
            Raw::Double(f64::from_le_bytes(*number))
        }
        0x2a => {
            let length = usize::try_from(varint(bytes, &mut at)?).ok()?;
            let text = at;
            at = text.checked_add(length)?;
            Raw::Text(text, length)
        }
        _ => return None,
    };
    (at == end).then_some(value)
}

/// The stat at a place, written as profilers do: the id of its name, its value, and where it ends.
#[inline(always)]
pub(super) fn raw_stat(bytes: &[u8], at: usize, limit: usize) -> Option<(i64, Raw, usize)> {
    let (id, value, end) = stat_head(bytes, at, limit)?;
    Some((id, raw_value(bytes, value, end)?, end))
}

/// Puts a stat among the event's own. The first of two wins.
#[inline]
fn keep(code: u8, found: Option<Found>, own: &mut Own) {
    match (code, found) {
        (NO_NAME, _) => own.dangling.stats += 1,
        (_, None) => own.dangling.strings += 1,
        (NO_STAT, _) => {}
        (code, Some(found)) => {
            if code < 32 && own.wanted & !own.mask & 1 << code != 0 {
                own.mask |= 1 << code;
                own.values[usize::from(code)] = found;
            }
        }
    }
}

enum Either<'a> {
    Own(Found),
    Held(&'a Held),
}

#[inline]
fn read_stat(
    plane: &Plane,
    bytes: &[u8],
    at: u32,
    own: &mut Own,
    damaged: &mut dyn FnMut(u64, String),
) {
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
    keep(plane.code(id), found, own);
}
