//! The spans of a line: put in order, nested by containment (with a stack instead of recursion), reduced to self time,
//! and stored in few bytes until the steps are known.

use crate::model::hosts::SpanSums;

/// An event with a start and an end.
pub trait Timed {
    fn start(&self) -> i64;
    fn end(&self) -> i64;
    /// Its index in the line.
    fn seq(&self) -> u32;
}

/// Sorts the spans of a line: by start, the longer first, then as in the file.
///
/// Recorded lines are sorted already, so only spans with equal starts are held back. An unsorted line is held whole.
#[derive(Debug)]
pub struct SpanOrder<E> {
    /// The last span, and others with the same start.
    last: Option<E>,
    held: Vec<E>,
    whole_line: bool,
}

/// A line is not sorted: read it again with `whole_line`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsorted;

impl<E: Timed> SpanOrder<E> {
    pub fn new(whole_line: bool) -> Self {
        SpanOrder { last: None, held: Vec::new(), whole_line }
    }

    /// Adds the next span of the file, and passes on those whose position is certain.
    #[inline]
    pub fn add(&mut self, event: E, mut then: impl FnMut(E)) -> Result<(), Unsorted> {
        if let Some(last) = self.last.replace(event) {
            let (start, next) = (last.start(), self.last.as_ref().map_or(0, Timed::start));
            if self.whole_line || next == start {
                self.held.push(last);
            } else if next < start {
                return Err(Unsorted);
            } else if self.held.is_empty() {
                then(last);
            } else {
                self.held.push(last);
                self.pass_on(then);
            }
        }
        Ok(())
    }

    /// Passes on all spans that are held back.
    #[inline]
    pub fn flush(&mut self, then: impl FnMut(E)) {
        self.held.extend(self.last.take());
        self.pass_on(then);
    }

    #[inline(never)]
    fn pass_on(&mut self, mut then: impl FnMut(E)) {
        if self.held.len() > 1 {
            self.held.sort_unstable_by(|a, b| {
                let (x, y) = ((a.start(), b.end(), a.seq()), (b.start(), a.end(), b.seq()));
                x.cmp(&y)
            });
        }
        self.held.drain(..).for_each(&mut then);
    }
}

/// A span that may contain the next ones.
#[derive(Debug)]
pub struct OpenSpan<F> {
    pub start: i64,
    pub end: i64,
    pub frame: F,
}

/// The spans around the current one, outermost first.
#[derive(Debug)]
pub struct OpenSpans<F> {
    pub stack: Vec<OpenSpan<F>>,
}

impl<F> Default for OpenSpans<F> {
    fn default() -> Self {
        OpenSpans { stack: Vec::new() }
    }
}

impl<F> OpenSpans<F> {
    /// Closes the spans that do not contain an interval.
    // Of equal intervals, the earlier contains the later. Spans that overlap in part are siblings.
    #[inline]
    pub fn close_before(&mut self, start: i64, end: i64, mut close: impl FnMut(OpenSpan<F>)) {
        while let Some(top) = self.stack.last() {
            if top.start <= start && end <= top.end {
                break;
            }
            if let Some(top) = self.stack.pop() {
                close(top);
            }
        }
    }

    pub fn close_all(&mut self, mut close: impl FnMut(OpenSpan<F>)) {
        while let Some(top) = self.stack.pop() {
            close(top);
        }
    }
}

/// Self time: an interval minus its children, which come sorted by start.
#[derive(Clone, Copy, Debug)]
pub struct SelfTime {
    pub time: i64,
    covered_until: i64,
}

impl SelfTime {
    pub fn new(start: i64, end: i64) -> SelfTime {
        SelfTime { time: end.saturating_sub(start), covered_until: start }
    }

    /// Subtracts a child; where children overlap, only once.
    #[inline]
    pub fn cover(&mut self, start: i64, end: i64) {
        self.time -= end.saturating_sub(start.max(self.covered_until)).max(0);
        self.covered_until = self.covered_until.max(end);
    }
}

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
    pieces: Vec<Vec<u8>>,
    before: Before,
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
/// The longest encoding of a span.
const MOST: usize = 48;
const SAME_CONTEXT: u8 = 1;
/// No children: its self time is its total.
const NO_CHILDREN: u8 = 2;
/// Times take eight bytes each instead of four.
const WIDE: u8 = 4;

impl PendingSpans {
    #[inline]
    pub fn push(&mut self, record: &PendingSpan) {
        let Before { context, end } = self.before;
        let since = record.start.wrapping_sub(end);
        let mut out = Out { bytes: [0; MOST], at: 1 };
        out.put(record.item.to_le_bytes());
        if let (Ok(since), Ok(total), Ok(self_time)) =
            (i32::try_from(since), u32::try_from(record.total), u32::try_from(record.self_time))
        {
            out.put(since.to_le_bytes());
            out.put(total.to_le_bytes());
            if self_time == total {
                out.bytes[0] |= NO_CHILDREN;
            } else {
                out.put(self_time.to_le_bytes());
            }
        } else {
            out.bytes[0] |= WIDE;
            [since, record.total, record.self_time].iter().for_each(|time| out.put(time.to_le_bytes()));
        }
        if record.context == context {
            out.bytes[0] |= SAME_CONTEXT;
        } else {
            out.put(record.context.to_le_bytes());
        }
        self.before.set(record);
        let bytes = &out.bytes[..out.at];
        match self.pieces.last_mut() {
            Some(piece) if piece.len() + MOST <= PIECE => piece.extend_from_slice(bytes),
            _ => {
                let mut piece = Vec::with_capacity(PIECE);
                piece.extend_from_slice(bytes);
                self.pieces.push(piece);
            }
        }
    }

    pub fn each(&self, mut then: impl FnMut(&PendingSpan)) {
        let mut before = Before::default();
        self.pieces.iter().for_each(|piece| read(piece, &mut before, &mut then));
    }

    /// Decodes all spans, freeing their memory on the way.
    pub fn drain(self, mut then: impl FnMut(&PendingSpan)) {
        let mut before = Before::default();
        self.pieces.into_iter().for_each(|piece| read(&piece, &mut before, &mut then));
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
        let item = u32::from_le_bytes(take(&mut piece));
        let (since, total, self_time);
        if flags & WIDE == 0 {
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

    struct E(i64, i64, u32);

    impl Timed for E {
        fn start(&self) -> i64 {
            self.0
        }
        fn end(&self) -> i64 {
            self.1
        }
        fn seq(&self) -> u32 {
            self.2
        }
    }

    /// Self times in the order of the file, by both ways to sort a line where both work.
    fn self_times(events: &[(i64, i64)]) -> Vec<i64> {
        let run = |whole: bool| {
            let mut result = vec![0; events.len()];
            let mut order = SpanOrder::new(whole);
            let mut open: OpenSpans<(u32, SelfTime)> = OpenSpans::default();
            let mut visit = |e: E| {
                open.close_before(e.0, e.1, |span| result[span.frame.0 as usize] = span.frame.1.time);
                if let Some(parent) = open.stack.last_mut() {
                    parent.frame.1.cover(e.0, e.1);
                }
                open.stack.push(OpenSpan { start: e.0, end: e.1, frame: (e.2, SelfTime::new(e.0, e.1)) });
            };
            for (i, (start, end)) in events.iter().enumerate() {
                order.add(E(*start, *end, i as u32), &mut visit).ok()?;
            }
            order.flush(&mut visit);
            open.close_all(|span| result[span.frame.0 as usize] = span.frame.1.time);
            Some(result)
        };
        let whole = run(true).unwrap();
        if let Some(streamed) = run(false) {
            assert_eq!(streamed, whole);
        }
        whole
    }

    #[test]
    fn children_that_overlap_are_not_taken_twice() {
        assert_eq!(self_times(&[(0, 100), (10, 40), (30, 50), (60, 70)]), [50, 30, 20, 10]);
        assert_eq!(self_times(&[(0, 10), (0, 10)]), [0, 10]);
        assert_eq!(self_times(&[(0, 10), (5, 15)]), [10, 10]);
        assert_eq!(self_times(&[(50, 60), (0, 100)]), [10, 90]);
    }

    proptest! {
        #[test]
        fn self_times_are_never_negative(events in proptest::collection::vec((0_i64..50, 0_i64..30), 0..60)) {
            let events: Vec<_> = events.into_iter().map(|(start, length)| (start, start + length)).collect();
            let times = self_times(&events);
            prop_assert!(times.iter().zip(&events).all(|(time, (start, end))| (0..=end - start).contains(time)));
        }

        #[test]
        fn spans_survive_encoding(
            records in proptest::collection::vec((any::<u32>(), 0..3_u32, any::<i64>(), any::<i64>(), any::<bool>()), 0..50),
            times in 1..400_usize,
        ) {
            let record = |(item, context, start, total, whole): &(u32, u32, i64, i64, bool)| {
                PendingSpan { item: *item, context: *context, start: *start, total: *total, self_time: if *whole { *total } else { total / 3 } }
            };
            let mut kept = PendingSpans::default();
            let all: Vec<PendingSpan> = (0..times).flat_map(|_| records.iter().map(record)).collect();
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
