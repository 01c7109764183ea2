//! Which events lie in which: per line, by containment, with a stack instead of recursion.

/// An event with a start, in the form that a walk needs it.
pub trait Timed {
    fn start(&self) -> i64;
    fn end(&self) -> i64;
    fn seq(&self) -> u32;
}

/// Events of a line, put in order: by start, the longer first, then as in the file.
///
/// Recorded lines are in order already, so only events with equal starts are held. A line that is not is taken whole.
#[derive(Debug)]
pub struct Ordered<E> {
    /// The last event, and others that begin when it does.
    last: Option<E>,
    held: Vec<E>,
    whole: bool,
}

/// A line is not in order; it must be read again and taken whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsorted;

impl<E: Timed> Ordered<E> {
    pub fn new(whole: bool) -> Self {
        Ordered { last: None, held: Vec::new(), whole }
    }

    /// Takes the next event of the file, and hands out those that are in place.
    #[inline]
    pub fn add(&mut self, event: E, mut then: impl FnMut(E)) -> Result<(), Unsorted> {
        if let Some(last) = self.last.replace(event) {
            let (start, next) = (last.start(), self.last.as_ref().map_or(0, Timed::start));
            if self.whole || next == start {
                self.held.push(last);
            } else if next < start {
                return Err(Unsorted);
            } else if self.held.is_empty() {
                then(last);
            } else {
                self.held.push(last);
                self.hand_out(then);
            }
        }
        Ok(())
    }

    /// Hands out what is held.
    #[inline]
    pub fn flush(&mut self, then: impl FnMut(E)) {
        self.held.extend(self.last.take());
        self.hand_out(then);
    }

    #[inline(never)]
    fn hand_out(&mut self, mut then: impl FnMut(E)) {
        if self.held.len() > 1 {
            self.held.sort_unstable_by(|a, b| {
                let (x, y) = ((a.start(), b.end(), a.seq()), (b.start(), a.end(), b.seq()));
                x.cmp(&y)
            });
        }
        self.held.drain(..).for_each(&mut then);
    }
}

/// An event that others may lie in.
#[derive(Debug)]
pub struct Open<F> {
    pub start: i64,
    pub end: i64,
    pub frame: F,
}

/// The events around the current one.
#[derive(Debug)]
pub struct Nest<F> {
    pub open: Vec<Open<F>>,
}

impl<F> Nest<F> {
    pub fn new() -> Self {
        Nest { open: Vec::new() }
    }

    /// Closes what does not hold an event.
    // Equal intervals: the earlier holds the later. Those that overlap in part are side by side.
    #[inline]
    pub fn close_before(&mut self, start: i64, end: i64, mut close: impl FnMut(Open<F>)) {
        while let Some(top) = self.open.last() {
            if top.start <= start && end <= top.end {
                break;
            }
            if let Some(top) = self.open.pop() {
                close(top);
            }
        }
    }

    pub fn end(&mut self, mut close: impl FnMut(Open<F>)) {
        while let Some(top) = self.open.pop() {
            close(top);
        }
    }
}

/// What is left of an interval behind the things inside it, which come by their starts.
#[derive(Clone, Copy, Debug)]
pub struct Left {
    pub own: i64,
    covered: i64,
}

impl Left {
    pub fn new(start: i64, end: i64) -> Left {
        Left { own: end.saturating_sub(start), covered: start }
    }

    /// Takes away what is newly covered, so that things that overlap are not taken twice.
    #[inline]
    pub fn cover(&mut self, start: i64, end: i64) {
        self.own -= end.saturating_sub(start.max(self.covered)).max(0);
        self.covered = self.covered.max(end);
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

    /// Own times in the order of the file, by both ways to order a line where both work.
    fn own(events: &[(i64, i64)]) -> Vec<i64> {
        let run = |whole: bool| {
            let mut result = vec![0; events.len()];
            let mut ordered = Ordered::new(whole);
            let mut nest: Nest<(u32, Left)> = Nest::new();
            let mut visit = |e: E| {
                nest.close_before(e.0, e.1, |open| result[open.frame.0 as usize] = open.frame.1.own);
                if let Some(parent) = nest.open.last_mut() {
                    parent.frame.1.cover(e.0, e.1);
                }
                nest.open.push(Open { start: e.0, end: e.1, frame: (e.2, Left::new(e.0, e.1)) });
            };
            for (i, (start, end)) in events.iter().enumerate() {
                ordered.add(E(*start, *end, i as u32), &mut visit).ok()?;
            }
            ordered.flush(&mut visit);
            nest.end(|open| result[open.frame.0 as usize] = open.frame.1.own);
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
        assert_eq!(own(&[(0, 100), (10, 40), (30, 50), (60, 70)]), [50, 30, 20, 10]);
        assert_eq!(own(&[(0, 10), (0, 10)]), [0, 10]);
        assert_eq!(own(&[(0, 10), (5, 15)]), [10, 10]);
        assert_eq!(own(&[(50, 60), (0, 100)]), [10, 90]);
    }

    proptest! {
        #[test]
        fn own_times_are_never_negative_and_add_up(events in proptest::collection::vec((0_i64..50, 0_i64..30), 0..60)) {
            let events: Vec<_> = events.into_iter().map(|(start, length)| (start, start + length)).collect();
            let own = own(&events);
            prop_assert!(own.iter().zip(&events).all(|(own, (start, end))| (0..=end - start).contains(own)));
        }
    }
}
