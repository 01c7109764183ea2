//! One lane of a timeline: events that never overlap, as columns, with a pyramid of the longest event per block.

/// An event before it is placed, in nanoseconds since the first of all.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub start: u64,
    pub length: u64,
    pub name: u32,
}

/// Events in order of time; 16 bytes each.
#[derive(Debug, Default)]
pub struct Lane {
    start: Vec<u64>,
    /// [`LONG`] for those in `long`.
    length: Vec<u32>,
    name: Vec<u32>,
    /// The lengths that do not fit into 32 bits, by event.
    long: Vec<(u32, u64)>,
    /// By level, the longest event of each block.
    pyramid: Vec<Vec<u32>>,
    pub busy: u64,
}

const LONG: u32 = u32::MAX;
/// Events of a block of the lowest level, and blocks of a block of the next.
const BLOCK: usize = 64;

impl Lane {
    pub fn len(&self) -> usize {
        self.start.len()
    }

    pub fn is_empty(&self) -> bool {
        self.start.is_empty()
    }

    /// When the last event ends.
    pub fn end(&self) -> u64 {
        self.len().checked_sub(1).map_or(0, |last| self.end_of(last))
    }

    /// Adds an event that starts no earlier than the last one ends.
    pub fn push(&mut self, event: Event) {
        debug_assert!(event.start >= self.end());
        let length = u32::try_from(event.length).ok().filter(|length| *length != LONG);
        if length.is_none() {
            self.long.push((self.len() as u32, event.length));
        }
        self.start.push(event.start);
        self.length.push(length.unwrap_or(LONG));
        self.name.push(event.name);
        self.busy = self.busy.saturating_add(event.length);
    }

    /// Builds the pyramid; call this after the last event.
    pub fn finish(&mut self) {
        self.start.shrink_to_fit();
        self.length.shrink_to_fit();
        self.name.shrink_to_fit();
        let mut below = self.len();
        while below > BLOCK {
            let longest = |block: usize| {
                let from = block * BLOCK;
                let to = (from + BLOCK).min(below);
                let events = (from..to).map(|at| self.pyramid.last().map_or(at as u32, |level| level[at]));
                events.max_by_key(|event| (self.length_of(*event as usize), std::cmp::Reverse(*event))).unwrap_or(0)
            };
            let level: Vec<u32> = (0..below.div_ceil(BLOCK)).map(longest).collect();
            below = level.len();
            self.pyramid.push(level);
        }
    }

    #[inline]
    pub fn start_of(&self, at: usize) -> u64 {
        self.start[at]
    }

    #[inline]
    pub fn length_of(&self, at: usize) -> u64 {
        match self.length[at] {
            LONG => match self.long.binary_search_by_key(&(at as u32), |(event, _)| *event) {
                Ok(found) => self.long[found].1,
                Err(_) => u64::from(LONG),
            },
            length => u64::from(length),
        }
    }

    #[inline]
    pub fn end_of(&self, at: usize) -> u64 {
        self.start[at].saturating_add(self.length_of(at))
    }

    #[inline]
    pub fn name_of(&self, at: usize) -> u32 {
        self.name[at]
    }

    /// The first event that starts at a time or later.
    fn first_from(&self, time: u64) -> usize {
        self.start.partition_point(|start| *start < time)
    }

    /// The same, known to be at `from` or later, and likely near.
    pub fn next_from(&self, from: usize, time: u64) -> usize {
        let (mut low, mut step) = (from, 1);
        while low + step < self.len() && self.start[low + step] < time {
            low += step;
            step *= 2;
        }
        let high = (low + step).min(self.len());
        low + self.start[low..high].partition_point(|start| *start < time)
    }

    /// The longest of some events, of equal ones the first.
    pub fn longest(&self, from: usize, to: usize) -> usize {
        let mut best = from;
        let mut best_length = self.length_of(from);
        let mut try_event = |event: usize| {
            let length = self.length_of(event);
            if length > best_length || (length == best_length && event < best) {
                (best, best_length) = (event, length);
            }
        };
        let (mut at, mut until) = (from, to);
        // Single events up to the next block on both sides, then blocks, then blocks of blocks.
        for level in 0..=self.pyramid.len() {
            let event = |at: usize| if level == 0 { at } else { self.pyramid[level - 1][at] as usize };
            if level == self.pyramid.len() || until - at <= BLOCK {
                (at..until).for_each(|at| try_event(event(at)));
                break;
            }
            let (begin, end) = (at.next_multiple_of(BLOCK), until / BLOCK * BLOCK);
            (at..begin).chain(end..until).for_each(|at| try_event(event(at)));
            (at, until) = (begin / BLOCK, end / BLOCK);
        }
        best
    }

    /// The events that touch a span of time.
    pub fn within(&self, from: u64, to: u64) -> std::ops::Range<usize> {
        let mut first = self.first_from(from);
        if first > 0 && self.end_of(first - 1) > from {
            first -= 1;
        }
        first..self.first_from(to).max(first)
    }
}

/// Places the events of one line into lanes in which they do not overlap: each into the first that is free.
pub fn place(mut events: Vec<Event>, most: usize) -> (Vec<Lane>, u64) {
    // Of events that start together, the longest is outermost.
    events.sort_by_key(|event| (event.start, std::cmp::Reverse(event.length)));
    let mut lanes: Vec<Lane> = Vec::new();
    let mut free = std::collections::BTreeSet::new();
    let mut busy = std::collections::BinaryHeap::new();
    let mut dropped = 0;
    for event in events {
        while let Some(std::cmp::Reverse((end, lane))) = busy.peek().copied() {
            if end > event.start {
                break;
            }
            busy.pop();
            free.insert(lane);
        }
        let lane = match free.pop_first() {
            Some(lane) => lane,
            None if lanes.len() < most => {
                lanes.push(Lane::default());
                lanes.len() - 1
            }
            None => {
                dropped += 1;
                continue;
            }
        };
        lanes[lane].push(event);
        busy.push(std::cmp::Reverse((event.start.saturating_add(event.length), lane)));
    }
    lanes.iter_mut().for_each(Lane::finish);
    (lanes, dropped)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers without a pattern.
    pub fn random(seed: &mut u64) -> u64 {
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        *seed
    }

    #[test]
    fn the_longest_event_is_found_in_any_range() {
        let mut seed = 7;
        let mut lane = Lane::default();
        let mut lengths = Vec::new();
        for at in 0..20_000_u64 {
            let length = if at % 3000 == 17 { u64::from(u32::MAX) + at } else { random(&mut seed) % 1000 };
            lengths.push(length);
            lane.push(Event { start: at << 40, length, name: at as u32 });
        }
        lane.finish();
        for _ in 0..2000 {
            let from = random(&mut seed) as usize % 20_000;
            let to = from + 1 + random(&mut seed) as usize % (20_000 - from);
            let best = lane.longest(from, to);
            assert_eq!(Some(&lengths[best]), lengths[from..to].iter().max());
            assert!(lengths[from..best].iter().all(|length| *length < lengths[best]), "the first of equals");
        }
    }

    #[test]
    fn boxes_of_a_lane_never_overlap() {
        let mut seed = 99;
        let events: Vec<Event> = (0..5000)
            .map(|name| Event { start: random(&mut seed) % 100_000, length: random(&mut seed) % 900, name })
            .collect();
        let (lanes, dropped) = place(events, 1000);
        assert_eq!((lanes.iter().map(Lane::len).sum::<usize>(), dropped), (5000, 0));
        for lane in &lanes {
            assert!((1..lane.len()).all(|at| lane.end_of(at - 1) <= lane.start_of(at)));
        }
        let nested =
            [(0, 100), (0, 50), (10, 20), (60, 10), (100, 5)].map(|(start, length)| Event { start, length, name: 0 });
        assert_eq!(place(nested.to_vec(), 10).0.iter().map(Lane::len).collect::<Vec<_>>(), [2, 2, 1]);
        assert_eq!(place(nested.to_vec(), 2), (place(nested.to_vec(), 2).0, 1));
    }

    impl PartialEq for Lane {
        fn eq(&self, other: &Lane) -> bool {
            (&self.start, &self.length) == (&other.start, &other.length)
        }
    }

    #[test]
    fn the_next_event_is_found_from_anywhere() {
        let mut lane = Lane::default();
        (0..1000).for_each(|at| lane.push(Event { start: at * 10, length: 5, name: 0 }));
        lane.finish();
        for (from, time, expect) in
            [(0, 0, 0), (0, 1, 1), (3, 55, 6), (3, 10_000, 1000), (999, 9990, 999), (1000, 5, 1000)]
        {
            assert_eq!(lane.next_from(from, time), expect);
        }
        assert_eq!((lane.within(12, 31), lane.within(16, 20), lane.within(0, 0)), (1..4, 2..2, 0..0));
    }
}
