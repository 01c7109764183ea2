//! The lanes of a process: overlapping spans are drawn side by side, each in the first lane that is free.

use super::Micros;

/// When each lane becomes free, as a tree of minima: finding the first free lane takes logarithmic time.
#[derive(Debug)]
pub struct Lanes {
    /// `tree[1]` is the root, the children of `i` are `2i` and `2i + 1`, lanes are the last `width` entries.
    tree: Vec<Micros>,
    width: usize,
    count: usize,
}

impl Lanes {
    /// One lane, free from a time on.
    pub fn new(free_from: Micros) -> Lanes {
        Lanes { tree: vec![free_from; 2], width: 1, count: 1 }
    }

    /// The first lane that is free at `start`, or a new one. It stays occupied until `free_from`.
    pub fn place(&mut self, start: Micros, free_from: Micros) -> u32 {
        let lane = if self.tree[1] <= start { self.first_free(start) } else { self.add() };
        let mut at = self.width + lane;
        self.tree[at] = free_from;
        while at > 1 {
            at /= 2;
            self.tree[at] = self.tree[2 * at].min(self.tree[2 * at + 1]);
        }
        lane as u32
    }

    fn first_free(&self, start: Micros) -> usize {
        let mut at = 1;
        while at < self.width {
            at *= 2;
            at += usize::from(self.tree[at] > start);
        }
        at - self.width
    }

    fn add(&mut self) -> usize {
        if self.count == self.width {
            let ends = self.tree.split_off(self.width);
            self.width *= 2;
            self.tree = vec![Micros::MAX; 2 * self.width];
            self.tree[self.width..self.width + ends.len()].copy_from_slice(&ends);
            for at in (1..self.width).rev() {
                self.tree[at] = self.tree[2 * at].min(self.tree[2 * at + 1]);
            }
        }
        self.count += 1;
        self.count - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_first_free_lane_is_taken() {
        let mut lanes = Lanes::new(Micros::MIN);
        let spans = [(0, 10), (1, 3), (2, 9), (3, 4), (4, 20), (9, 9), (10, 11), (30, 31)];
        assert_eq!(spans.map(|(start, end)| lanes.place(start, end)), [0, 1, 2, 1, 1, 2, 0, 0]);
    }

    proptest! {
        #[test]
        fn lanes_are_those_of_a_linear_search(spans in proptest::collection::vec((-5_i128..60, -3_i128..30), 0..200)) {
            let mut lanes = Lanes::new(1);
            let mut linear: Vec<Micros> = vec![1];
            for (start, length) in spans {
                let lane = linear.iter().position(|free_from| *free_from <= start).unwrap_or_else(|| {
                    linear.push(0);
                    linear.len() - 1
                });
                linear[lane] = start + length;
                prop_assert_eq!(lanes.place(start, start + length), lane as u32);
            }
        }
    }
}
