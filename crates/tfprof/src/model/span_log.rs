//! Spans in few bytes: those that wait for their steps while a trace is read, and the executions that are kept.

use super::hosts::SpanSums;
use super::spill::Spill;
use std::io;

/// A span that waits for its step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingSpan {
    pub item: u32,
    pub context: u32,
    pub start: i64,
    pub total: i64,
    pub self_time: i64,
}

impl PendingSpan {
    #[inline]
    pub fn sums(&self) -> SpanSums {
        let last = self.start.saturating_add(self.total);
        SpanSums { runs: 1, total: self.total, self_time: self.self_time, first: self.start, last }
    }
}

/// Spans in the order in which they were added, encoded as differences from the span before.
#[derive(Debug, Default)]
pub struct PendingSpans {
    /// The first pieces, if they wait on the disk.
    spilled: Option<Spill>,
    pieces: Vec<Vec<u8>>,
    /// With so many pieces in memory, they go to the disk; 0 for never.
    most_pieces: usize,
    before: Before,
    count: u64,
}

/// The span before, from which the next one differs.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    context: u32,
    end: i64,
}

impl Before {
    #[inline]
    fn set(&mut self, record: &PendingSpan) {
        *self = Before { context: record.context, end: record.start.wrapping_add(record.total) };
    }
}

const PIECE: usize = 1 << 18;
/// The pieces of a log that may spill: 8 MB.
const IN_MEMORY: usize = 32;
/// The longest encoding of a span.
const MOST: usize = 48;
const SAME_CONTEXT: u8 = 1;
/// No children: its self time is its total.
const NO_CHILDREN: u8 = 2;
/// Times take eight bytes each instead of four.
const WIDE: u8 = 4;
/// Times are whole nanoseconds, without children, and take two bytes each; so does the item. Most kernels are short.
const SHORT: u8 = 8;

/// Picoseconds of a nanosecond.
const NANO: i64 = 1000;

/// A short span: its item, the nanoseconds since the span before, and its own.
#[inline]
fn short(record: &PendingSpan, since: i64) -> Option<(u16, i16, u16)> {
    let fits = record.total == record.self_time && since % NANO == 0 && record.total % NANO == 0;
    let (since, total) = (since / NANO, record.total / NANO);
    let fits = fits && u16::try_from(record.item).is_ok();
    let (since, total) = (i16::try_from(since).ok()?, u16::try_from(total).ok()?);
    fits.then_some((record.item as u16, since, total))
}

impl PendingSpans {
    /// Spans that take a bounded amount of memory; the others wait on the disk. As long as it has room: without, all of them
    /// stay in memory.
    pub fn spilling() -> PendingSpans {
        PendingSpans { most_pieces: IN_MEMORY, ..PendingSpans::default() }
    }

    #[inline]
    pub fn push(&mut self, record: &PendingSpan) {
        let Before { context, end } = self.before;
        let since = record.start.wrapping_sub(end);
        let mut out = Out { bytes: [0; MOST], at: 1 };
        if let Some((item, since, total)) = short(record, since) {
            out.bytes[0] |= SHORT | NO_CHILDREN;
            out.put(item.to_le_bytes());
            out.put(since.to_le_bytes());
            out.put(total.to_le_bytes());
        } else if let (Ok(since), Ok(total), Ok(self_time)) =
            (i32::try_from(since), u32::try_from(record.total), u32::try_from(record.self_time))
        {
            out.put(record.item.to_le_bytes());
            out.put(since.to_le_bytes());
            out.put(total.to_le_bytes());
            if self_time == total {
                out.bytes[0] |= NO_CHILDREN;
            } else {
                out.put(self_time.to_le_bytes());
            }
        } else {
            out.bytes[0] |= WIDE;
            out.put(record.item.to_le_bytes());
            [since, record.total, record.self_time].iter().for_each(|time| out.put(time.to_le_bytes()));
        }
        if record.context == context {
            out.bytes[0] |= SAME_CONTEXT;
        } else {
            out.put(record.context.to_le_bytes());
        }
        self.count += 1;
        self.before.set(record);
        let bytes = &out.bytes[..out.at];
        match self.pieces.last_mut() {
            Some(piece) if piece.len() + MOST <= PIECE => piece.extend_from_slice(bytes),
            _ => self.new_piece(bytes),
        }
    }

    fn new_piece(&mut self, bytes: &[u8]) {
        if self.most_pieces > 0 && self.pieces.len() >= self.most_pieces && self.spill().is_err() {
            self.most_pieces = 0;
        }
        let mut piece = Vec::with_capacity(PIECE);
        piece.extend_from_slice(bytes);
        self.pieces.push(piece);
    }

    /// Writes the pieces in memory to the disk. After an error, those that were not written are still in memory.
    fn spill(&mut self) -> io::Result<()> {
        let spill = match &mut self.spilled {
            Some(spill) => spill,
            none => none.insert(Spill::create()?),
        };
        let mut written = 0;
        let outcome = self.pieces.iter().try_for_each(|piece| spill.push(piece).map(|()| written += 1));
        self.pieces.drain(..written);
        outcome
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Decodes all spans. Fails only if the disk does.
    pub fn each(&self, mut then: impl FnMut(&PendingSpan)) -> io::Result<()> {
        let mut before = Before::default();
        if let Some(spill) = &self.spilled {
            spill.each(|piece| read(piece, &mut before, &mut then))?;
        }
        self.pieces.iter().for_each(|piece| read(piece, &mut before, &mut then));
        Ok(())
    }

    /// Decodes all spans, freeing their memory on the way.
    pub fn drain(self, mut then: impl FnMut(&PendingSpan)) -> io::Result<()> {
        let mut before = Before::default();
        if let Some(spill) = self.spilled {
            spill.each(|piece| read(piece, &mut before, &mut then))?;
        }
        self.pieces.into_iter().for_each(|piece| read(&piece, &mut before, &mut then));
        Ok(())
    }
}

struct Out {
    bytes: [u8; MOST],
    at: usize,
}

impl Out {
    #[inline]
    fn put<const N: usize>(&mut self, number: [u8; N]) {
        self.bytes[self.at..self.at + N].copy_from_slice(&number);
        self.at += N;
    }
}

#[inline]
fn read(mut piece: &[u8], before: &mut Before, then: &mut impl FnMut(&PendingSpan)) {
    while let Some((flags, rest)) = piece.split_first() {
        piece = rest;
        let is_short = flags & SHORT != 0;
        let item = if is_short {
            u32::from(u16::from_le_bytes(take(&mut piece)))
        } else {
            u32::from_le_bytes(take(&mut piece))
        };
        let (since, total, self_time);
        if is_short {
            since = i64::from(i16::from_le_bytes(take(&mut piece))) * NANO;
            total = i64::from(u16::from_le_bytes(take(&mut piece))) * NANO;
            self_time = total;
        } else if flags & WIDE == 0 {
            since = i64::from(i32::from_le_bytes(take(&mut piece)));
            total = i64::from(u32::from_le_bytes(take(&mut piece)));
            self_time = if flags & NO_CHILDREN == 0 { u32::from_le_bytes(take(&mut piece)).into() } else { total };
        } else {
            [since, total, self_time] = [(); 3].map(|()| i64::from_le_bytes(take(&mut piece)));
        }
        let context = if flags & SAME_CONTEXT == 0 { u32::from_le_bytes(take(&mut piece)) } else { before.context };
        let record = PendingSpan { item, context, start: before.end.wrapping_add(since), total, self_time };
        before.set(&record);
        then(&record);
    }
}

#[inline]
fn take<const N: usize>(piece: &mut &[u8]) -> [u8; N] {
    let Some((number, rest)) = piece.split_first_chunk() else { return [0; N] };
    *piece = rest;
    *number
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn spans_survive_encoding(
            records in proptest::collection::vec(
                (prop_oneof![any::<u32>(), 0..9_u32], 0..3_u32, prop_oneof![any::<i64>(), (0..9_i64).prop_map(|n| n * 1000)],
                 prop_oneof![any::<i64>(), (0..70_000_i64).prop_map(|n| n * 1000)], any::<bool>()), 0..50),
            times in 1..400_usize,
            spills in any::<bool>(),
        ) {
            let record = |(item, context, start, total, whole): &(u32, u32, i64, i64, bool)| {
                PendingSpan { item: *item, context: *context, start: *start, total: *total, self_time: if *whole { *total } else { total / 3 } }
            };
            let mut kept = if spills { PendingSpans { most_pieces: 1, ..PendingSpans::default() } } else { PendingSpans::default() };
            let all: Vec<PendingSpan> = (0..times).flat_map(|_| records.iter().map(record)).collect();
            all.iter().for_each(|record| kept.push(record));
            let mut out = Vec::new();
            kept.each(|record| out.push(*record)).unwrap();
            prop_assert_eq!(&out, &all);
            out.clear();
            kept.drain(|record| out.push(*record)).unwrap();
            prop_assert_eq!(&out, &all);
        }
    }
    #[test]
    fn many_spans_wait_on_the_disk() {
        let mut kept = PendingSpans::spilling();
        let span = |at: i64| PendingSpan { item: 7, context: 0, start: at * 10, total: 4, self_time: 3 };
        let count = (PIECE * (IN_MEMORY + 2) / 16) as i64;
        (0..count).for_each(|at| kept.push(&span(at)));
        assert!(kept.spilled.is_some() && kept.pieces.len() <= IN_MEMORY);
        for _ in 0..2 {
            let mut at = 0;
            let check = |found: &PendingSpan| {
                assert_eq!(*found, span(at));
                at += 1;
            };
            kept.each(check).unwrap();
            assert_eq!(at, count);
        }
    }
}
