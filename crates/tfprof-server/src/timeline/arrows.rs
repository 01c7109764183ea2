//! Arrows from a launch on the host to the work that it started on a device.

/// An end of an arrow: the event that starts in a lane at that time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct End {
    pub lane: u32,
    pub start: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrow {
    pub from: End,
    pub to: End,
}

/// All arrows, to be found from either end.
#[derive(Debug, Default)]
pub struct Arrows {
    /// By thread and start of the launch.
    by_source: Vec<(u32, Arrow)>,
    /// Indices by the end that was launched.
    by_target: Vec<u32>,
}

impl Arrows {
    /// `thread` says which thread a lane belongs to: a call of the runtime and the op around it are in two lanes of one thread.
    pub fn new(list: Vec<Arrow>, thread: impl Fn(u32) -> u32) -> Arrows {
        let mut by_source: Vec<_> = list.into_iter().map(|arrow| (thread(arrow.from.lane), arrow)).collect();
        by_source.sort_unstable_by_key(|(thread, arrow)| (*thread, arrow.from.start, arrow.from.lane, arrow.to));
        let mut by_target: Vec<u32> = (0..by_source.len() as u32).collect();
        by_target.sort_unstable_by_key(|at| (by_source[*at as usize].1.to, *at));
        Arrows { by_source, by_target }
    }

    pub fn count(&self) -> usize {
        self.by_source.len()
    }

    /// The arrows that begin within an event of a thread.
    pub fn from(&self, thread: u32, start: u64, length: u64) -> impl Iterator<Item = Arrow> + '_ {
        let end = start.saturating_add(length.max(1));
        let first = self.by_source.partition_point(|(of, arrow)| (*of, arrow.from.start) < (thread, start));
        let rest = self.by_source[first..].iter();
        rest.take_while(move |(of, arrow)| (*of, arrow.from.start) < (thread, end)).map(|(_, arrow)| *arrow)
    }

    /// The arrows that end at an event.
    pub fn to(&self, end: End) -> impl Iterator<Item = Arrow> + '_ {
        let arrow = |at: &u32| self.by_source[*at as usize].1;
        let first = self.by_target.partition_point(|at| arrow(at).to < end);
        self.by_target[first..].iter().map(arrow).take_while(move |arrow| arrow.to == end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_are_found_from_both_ends() {
        let arrow = |from: (u32, u64), to: (u32, u64)| Arrow {
            from: End { lane: from.0, start: from.1 },
            to: End { lane: to.0, start: to.1 },
        };
        // Lanes 0 and 1 are one thread.
        let list =
            vec![arrow((1, 30), (5, 90)), arrow((1, 10), (5, 50)), arrow((2, 12), (5, 70)), arrow((1, 10), (6, 55))];
        let arrows = Arrows::new(list, |lane| lane / 2);
        assert_eq!(arrows.count(), 4);
        let from =
            |thread, start, length| arrows.from(thread, start, length).map(|arrow| arrow.to.start).collect::<Vec<_>>();
        assert_eq!(from(0, 5, 20), [50, 55]);
        assert_eq!(from(0, 10, 0), [50, 55]);
        assert_eq!(from(0, 0, 100), [50, 55, 90]);
        assert_eq!(from(1, 0, 100), [70]);
        assert_eq!(from(7, 0, 100), [0_u64; 0]);
        assert_eq!(arrows.to(End { lane: 5, start: 70 }).map(|arrow| arrow.from.start).collect::<Vec<_>>(), [12]);
        assert_eq!(arrows.to(End { lane: 5, start: 71 }).count(), 0);
    }
}
