//! Rows within a process, so that records that overlap are drawn side by side.

use super::record::Micros;

/// The end of the last record in each lane, as a tree of minima: the first lane that is free is found by walking
/// down, so many lanes cost little.
pub(super) struct Lanes {
    /// `tree[1]` is the root, the children of `i` are `2i` and `2i + 1`, lanes are the last `width` entries.
    tree: Vec<Micros>,
    width: usize,
    count: usize,
}

impl Default for Lanes {
    fn default() -> Self {
        // As the original: one lane that is busy until time 0.
        Lanes { tree: vec![0; 2], width: 1, count: 1 }
    }
}

impl Lanes {
    /// The first lane whose last record ended before `start`, or a new one.
    pub fn place(&mut self, start: Micros, end: Micros) -> u32 {
        let lane = if self.tree[1] < start { self.first_free(start) } else { self.add() };
        let mut at = self.width + lane;
        self.tree[at] = end;
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
            at += usize::from(self.tree[at] >= start);
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

    proptest! {
        #[test]
        fn lanes_are_those_of_a_plain_search(records in proptest::collection::vec((-5_i128..60, -3_i128..30), 0..200)) {
            let mut lanes = Lanes::default();
            let mut plain: Vec<Micros> = vec![0];
            for (start, length) in records {
                let lane = plain.iter().position(|end| start > *end).unwrap_or_else(|| {
                    plain.push(0);
                    plain.len() - 1
                });
                plain[lane] = start + length;
                prop_assert_eq!(lanes.place(start, start + length), lane as u32);
            }
        }
    }
}
