//! Ops that wait for their steps, in as few bytes as they take: each is told by how it differs from the one before.

use super::event::varint;

/// An event that waits for its step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    pub item: u32,
    pub context: u32,
    pub start: i64,
    pub total: i64,
    pub own: i64,
}

/// Records in the order in which they came.
#[derive(Debug, Default)]
pub struct Records {
    pieces: Vec<Vec<u8>>,
    last: Last,
}

/// What a record is told by.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    item: u32,
    context: u32,
    end: i64,
}

impl Last {
    #[inline]
    fn turn_to(&mut self, record: &Record) {
        *self = Last { item: record.item, context: record.context, end: record.start.wrapping_add(record.total) };
    }
}

const PIECE: usize = 1 << 18;
/// More than one record takes, and eight bytes that a number is read with.
const MOST: usize = 64;
const SAME_CONTEXT: u8 = 1;
/// Nothing lies in it, so its own time is all of it.
const NO_PARTS: u8 = 2;

impl Records {
    #[inline]
    pub fn push(&mut self, record: &Record) {
        let Last { item, context, end } = self.last;
        let mut bytes = [0_u8; MOST];
        let mut at = 1;
        if record.context == context {
            bytes[0] |= SAME_CONTEXT;
        } else {
            put(&mut bytes, &mut at, zigzag(i64::from(record.context) - i64::from(context)));
        }
        put(&mut bytes, &mut at, zigzag(i64::from(record.item) - i64::from(item)));
        put(&mut bytes, &mut at, zigzag(record.start.wrapping_sub(end)));
        put(&mut bytes, &mut at, record.total as u64);
        if record.own == record.total {
            bytes[0] |= NO_PARTS;
        } else {
            put(&mut bytes, &mut at, record.own as u64);
        }
        self.last.turn_to(record);
        match self.pieces.last_mut() {
            Some(piece) if piece.len() + MOST <= PIECE => piece.extend_from_slice(&bytes[..at]),
            _ => {
                let mut piece = Vec::with_capacity(PIECE);
                piece.extend_from_slice(&bytes[..at]);
                self.pieces.push(piece);
            }
        }
    }

    pub fn each(&self, mut then: impl FnMut(&Record)) {
        let mut last = Last::default();
        self.pieces.iter().for_each(|piece| read(piece, &mut last, &mut then));
    }

    /// Hands out all records, and gives back their memory on the way.
    pub fn drain(self, mut then: impl FnMut(&Record)) {
        let mut last = Last::default();
        self.pieces.into_iter().for_each(|piece| read(&piece, &mut last, &mut then));
    }
}

fn read(piece: &[u8], last: &mut Last, then: &mut impl FnMut(&Record)) {
    let mut at = 0;
    while let Some(flags) = piece.get(at) {
        at += 1;
        let mut next = || number(piece, &mut at);
        let context = if flags & SAME_CONTEXT == 0 { unzigzag(next()) } else { 0 };
        let context = (i64::from(last.context) + context) as u32;
        let item = (i64::from(last.item) + unzigzag(next())) as u32;
        let start = last.end.wrapping_add(unzigzag(next()));
        let total = next() as i64;
        let own = if flags & NO_PARTS == 0 { next() as i64 } else { total };
        let record = Record { item, context, start, total, own };
        last.turn_to(&record);
        then(&record);
    }
}

#[inline]
fn number(piece: &[u8], at: &mut usize) -> u64 {
    match varint(piece, at) {
        Some(n) => n,
        None => last_number(piece, at),
    }
}

/// A number near the end, where eight bytes cannot be read at once.
#[inline(never)]
fn last_number(piece: &[u8], at: &mut usize) -> u64 {
    let mut padded = [0; MOST];
    let rest = piece.get(*at..).unwrap_or_default();
    let length = rest.len().min(MOST);
    padded[..length].copy_from_slice(&rest[..length]);
    let mut read = 0;
    let n = varint(&padded, &mut read).unwrap_or(0);
    *at += read.max(1);
    n
}

#[inline]
fn put(bytes: &mut [u8; MOST], at: &mut usize, mut n: u64) {
    while n >= 0x80 {
        bytes[*at] = n as u8 | 0x80;
        n >>= 7;
        *at += 1;
    }
    bytes[*at] = n as u8;
    *at += 1;
}

#[inline]
fn zigzag(n: i64) -> u64 {
    (n << 1 ^ n >> 63) as u64
}

#[inline]
fn unzigzag(n: u64) -> i64 {
    (n >> 1) as i64 ^ -((n & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn records_come_out_as_they_went_in(
            records in proptest::collection::vec((any::<u32>(), 0..3_u32, any::<i64>(), any::<i64>(), any::<bool>()), 0..50),
            times in 1..400_usize,
        ) {
            let record = |(item, context, start, total, whole): &(u32, u32, i64, i64, bool)| {
                Record { item: *item, context: *context, start: *start, total: *total, own: if *whole { *total } else { total / 3 } }
            };
            let mut kept = Records::default();
            let all: Vec<Record> = (0..times).flat_map(|_| records.iter().map(record)).collect();
            all.iter().for_each(|record| kept.push(record));
            let mut out = Vec::new();
            kept.each(|record| out.push(*record));
            prop_assert_eq!(&out, &all);
            out.clear();
            kept.drain(|record| out.push(*record));
            prop_assert_eq!(&out, &all);
        }
    }
}
