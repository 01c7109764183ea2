//! The spans of a line: put in order, nested by containment (with a stack instead of recursion), reduced to self time.

pub use crate::model::span_log::{PendingSpan, PendingSpans};

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
    }
}
