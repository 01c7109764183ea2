//! One event, as its bytes and the plane's tables tell it.

use super::plane::{Line, Meta, NO_NAME, NO_STAT, Plane};
use super::stats::{self, Found, Held, Key, Stat, Texts};
use crate::model::names::escape_invalid;
use std::borrow::Cow;
use tfprof_proto::wire::{Fields, Value};

/// The stats of one event, by kind; which of them are its own is told by a mask, so that nothing need be cleared.
#[derive(Debug)]
pub struct Own {
    mask: u32,
    values: [Found; Stat::COUNT],
}

impl Default for Own {
    fn default() -> Self {
        Own { mask: 0, values: [Found::Int(0); Stat::COUNT] }
    }
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
    pub id: i64,
    pub start: i64,
    pub end: i64,
    /// How many events it stands for, if it is a sum without a start.
    pub count: Option<i64>,
    /// Its place in the line.
    pub seq: u32,
    own: &'a Own,
    bytes: &'a [u8],
}

impl<'a> Event<'a> {
    /// Reads an event's bytes.
    #[inline]
    pub fn read(
        plane: &'a Plane,
        line: &Line,
        bytes: &'a [u8],
        seq: u32,
        own: &'a mut Own,
        dangling: &mut Dangling,
        damaged: &mut dyn FnMut(u64, String),
    ) -> Event<'a> {
        let head = match Head::quickly(plane, bytes, own, dangling) {
            Some(head) => head,
            None => Head::slowly(plane, bytes, own, dangling, damaged),
        };
        let Head { id, offset, duration, count } = head;
        let meta_at = plane.meta(id);
        let meta = meta_at.map(|at| &plane.metas[at]);
        match meta {
            None => dangling.events += 1,
            Some(meta) => {
                dangling.stats += meta.nameless;
                dangling.strings += meta.lost;
            }
        }
        let start = line.start.saturating_add(offset);
        let end = start.saturating_add(duration.max(0));
        let own: &Own = own;
        let mut event = Event { plane, meta, meta_at, id, start, end, count, seq, own, bytes };
        if plane.mask & Stat::DeviceOffset.bit() != 0
            && let (Some(start), Some(duration)) =
                (event.number(Stat::DeviceOffset), event.number(Stat::DeviceDuration))
        {
            (event.start, event.end) = (start, start.saturating_add(duration.max(0)));
        }
        event
    }

    pub(super) fn bytes(&self) -> &'a [u8] {
        self.bytes
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
        self.own.mask | self.meta.map_or(0, |meta| meta.mask)
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
    pub fn has_same(&self, set: u32, other: &[Found; Stat::COUNT], other_mask: u32) -> bool {
        let mut left = self.own.mask & set;
        if left != other_mask {
            return false;
        }
        while left != 0 {
            let at = left.trailing_zeros() as usize;
            left &= left - 1;
            let value = self.own.values[at];
            // Text is told by its place, which says nothing about another event's.
            if matches!(value, Found::Text(..) | Found::Bytes(..) | Found::Gzip(..)) || value != other[at] {
                return false;
            }
        }
        true
    }

    /// The values of its own stats, of which the mask says which are there.
    pub fn own_values(&self) -> [Found; Stat::COUNT] {
        self.own.values
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

/// The numbers of an event.
#[derive(Clone, Copy, Default)]
struct Head {
    id: i64,
    offset: i64,
    duration: i64,
    count: Option<i64>,
}

impl Head {
    /// Reads an event as profilers write it; nothing if it is written in any other way.
    #[inline]
    fn quickly(plane: &Plane, bytes: &[u8], own: &mut Own, dangling: &mut Dangling) -> Option<Head> {
        own.mask = 0;
        let before = *dangling;
        let mut head = Head::default();
        let mut at = 0;
        while let Some(tag) = bytes.get(at) {
            at += 1;
            let read = match tag {
                0x22 => {
                    let length = bytes.get(at).filter(|length| **length < 0x80).map(|length| usize::from(*length));
                    at += 1;
                    length.and_then(|length| bytes.get(at..at + length)).and_then(|stat| {
                        let read = stat_quickly(plane, stat, at as u32, own, dangling);
                        at += stat.len();
                        read
                    })
                }
                0x08 => varint(bytes, &mut at).map(|n| head.id = n as i64),
                0x10 => varint(bytes, &mut at).map(|n| (head.offset, head.count) = (n as i64, None)),
                0x18 => varint(bytes, &mut at).map(|n| head.duration = n as i64),
                0x28 => varint(bytes, &mut at).map(|n| (head.offset, head.count) = (0, Some(n as i64))),
                _ => None,
            };
            if read.is_none() {
                *dangling = before;
                return None;
            }
        }
        Some(head)
    }

    /// Reads any event. Damage ends the message that it is in; what precedes counts.
    #[inline(never)]
    fn slowly(
        plane: &Plane,
        bytes: &[u8],
        own: &mut Own,
        dangling: &mut Dangling,
        damaged: &mut dyn FnMut(u64, String),
    ) -> Head {
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
                        read_stat(plane, stat, at, own, dangling, damaged);
                    }
                    (5, Value::Varint(n)) => (offset, count) = (0, Some(n as i64)),
                    _ => {}
                },
                Ok(None) => break,
                Err(error) => {
                    if tag == 4 << 3 | 2 && error.offset > (bytes.len() - rest.len()) as u64 {
                        let at = error.offset as u32;
                        read_stat(plane, fields.rest(), at, own, dangling, damaged);
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
        Head { id, offset, duration, count }
    }
}

#[inline(always)]
fn varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut n = 0;
    let mut shift = 0;
    while shift < 64 {
        let byte = *bytes.get(*at)?;
        *at += 1;
        n |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(n);
        }
        shift += 7;
    }
    None
}

/// Reads a stat as profilers write it: its id, then its value.
#[inline]
fn stat_quickly(plane: &Plane, bytes: &[u8], start: u32, own: &mut Own, dangling: &mut Dangling) -> Option<()> {
    let mut at = 0;
    let mut id = 0;
    if bytes.first() == Some(&0x08) {
        at = 1;
        id = varint(bytes, &mut at)? as i64;
    }
    let code = plane.code(id);
    let tag = *bytes.get(at)?;
    at += 1;
    let found = match tag {
        0x18 => Some(Found::Uint(varint(bytes, &mut at)?)),
        0x20 => Some(Found::Int(varint(bytes, &mut at)? as i64)),
        0x38 => plane.string(varint(bytes, &mut at)? as i64).map(|at| Found::Name(at as u32)),
        0x11 => {
            let number = bytes.get(at..)?.first_chunk()?;
            at += 8;
            Some(Found::Double(f64::from_le_bytes(*number)))
        }
        0x2a => {
            let length = varint(bytes, &mut at)?;
            let text = at;
            at = text.checked_add(usize::try_from(length).ok()?)?;
            Some(Found::Text(start + text as u32, length as u32))
        }
        _ => return None,
    };
    if at != bytes.len() {
        return None;
    }
    keep(code, found, own, dangling);
    Some(())
}

/// Puts a stat among the event's own. The first of two wins.
#[inline]
fn keep(code: u8, found: Option<Found>, own: &mut Own, dangling: &mut Dangling) {
    match (code, found) {
        (NO_NAME, _) => dangling.stats += 1,
        (_, None) => dangling.strings += 1,
        (NO_STAT, _) => {}
        (code, Some(found)) => {
            if own.mask & 1 << code == 0 {
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
    dangling: &mut Dangling,
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
    keep(plane.code(id), found, own, dangling);
}
