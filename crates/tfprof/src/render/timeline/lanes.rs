//! Puts what overlaps into lanes: each execution goes to the first lane that is free when it starts.

/// Lanes by when they become free. A tree of minima finds the first free one in logarithmic time.
#[derive(Debug)]
pub struct Lanes {
    /// A binary heap's layout: the children of `i` are `2i` and `2i + 1`; leaves are lanes.
    free_at: Vec<i64>,
    lanes: usize,
}

/// When a lane becomes free that was never used: it always is.
const UNUSED: i64 = i64::MIN;

impl Lanes {
    pub fn new() -> Self {
        Lanes { free_at: vec![UNUSED; 2], lanes: 1 }
    }

    /// The lane for something that lasts from `start` to `end`. Calls must come in the order of `start`.
    pub fn place(&mut self, start: i64, end: i64) -> usize {
        if self.free_at[1] > start {
            self.grow();
        }
        let mut at = 1;
        while at < self.lanes {
            at *= 2;
            at += usize::from(self.free_at[at] > start);
        }
        let lane = at - self.lanes;
        self.free_at[at] = end;
        while at > 1 {
            at /= 2;
            self.free_at[at] = self.free_at[2 * at].min(self.free_at[2 * at + 1]);
        }
        lane
    }

    /// Twice as many lanes.
    fn grow(&mut self) {
        let used = self.free_at.split_off(self.lanes);
        self.lanes *= 2;
        self.free_at = vec![UNUSED; 2 * self.lanes];
        self.free_at[self.lanes..self.lanes + used.len()].copy_from_slice(&used);
        for at in (1..self.lanes).rev() {
            self.free_at[at] = self.free_at[2 * at].min(self.free_at[2 * at + 1]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_free_lane_is_taken() {
        let mut lanes = Lanes::new();
        let spans = [(0, 10), (1, 3), (2, 9), (3, 4), (4, 20), (9, 9), (10, 11), (30, 31)];
        assert_eq!(spans.map(|(start, end)| lanes.place(start, end)), [0, 1, 2, 1, 1, 2, 0, 0]);
    }

    #[test]
    fn many_lanes_are_as_a_plain_search_finds_them() {
        let (mut lanes, mut ends) = (Lanes::new(), Vec::new());
        for i in 0..500_i64 {
            let (start, end) = (i, i + i * 7919 % 97);
            let free = ends.iter().position(|end| *end <= start).unwrap_or(ends.len());
            ends.resize(ends.len().max(free + 1), 0);
            ends[free] = end;
            assert_eq!(lanes.place(start, end), free, "{i}");
        }
    }
}
