//! What items took: each in all, within steps and outside of them, and by step if that is kept.

use rustc_hash::FxHashMap;

/// Sums over events, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    pub runs: i64,
    pub total: i64,
    pub own: i64,
    /// The first start and the last end; both 0 if nothing had a start.
    pub first: i64,
    pub last: i64,
}

impl Sums {
    #[inline]
    pub fn add(&mut self, more: &Sums) {
        // Equal only if nothing with a length was added yet.
        if self.runs == 0 && self.total == 0 {
            (self.first, self.last) = (more.first, more.last);
        } else {
            (self.first, self.last) = (self.first.min(more.first), self.last.max(more.last));
        }
        self.runs = self.runs.saturating_add(more.runs);
        self.total = self.total.saturating_add(more.total);
        self.own = self.own.saturating_add(more.own);
    }
}

/// What a set of items took: each in all, in all steps, and by step if that is kept.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub items: Vec<Item>,
    pub cells: FxHashMap<(u32, u32), Sums>,
}

/// What one item took, within steps and outside of them.
#[derive(Clone, Debug, Default)]
pub struct Item {
    pub in_steps: Sums,
    pub outside: Sums,
    /// The steps that it was met in.
    pub seen: StepSet,
}

impl Item {
    /// Within steps and outside.
    pub fn all(&self) -> Sums {
        let mut all = self.in_steps;
        if self.outside != Sums::default() {
            all.add(&self.outside);
        }
        all
    }
}

impl Tally {
    #[inline]
    pub fn add(&mut self, item: u32, step: Option<u32>, sums: &Sums, keep: Option<Kept>) {
        if item as usize >= self.items.len() {
            self.items.resize(item as usize + 1, Item::default());
        }
        let sum = &mut self.items[item as usize];
        let Some(step) = step else {
            return sum.outside.add(sums);
        };
        sum.in_steps.add(sums);
        sum.seen.add(step);
        match keep {
            Some(Kept::Each) => self.cells.entry((item, step)).or_default().add(sums),
            Some(Kept::One(kept)) if kept == step => self.cells.entry((item, step)).or_default().add(sums),
            _ => {}
        }
    }
}

/// Which steps are kept one by one, by their places.
#[derive(Clone, Copy, Debug)]
pub enum Kept {
    Each,
    One(u32),
}

/// Steps by their places, 64 to a block. They come in nearly ascending order, so that few blocks come twice.
#[derive(Clone, Debug, Default)]
pub struct StepSet {
    blocks: Vec<(u32, u64)>,
}

impl StepSet {
    #[inline]
    pub fn add(&mut self, step: u32) {
        let (block, bit) = (step / 64, 1 << (step % 64));
        match self.blocks.last_mut() {
            Some((last, bits)) if *last == block => *bits |= bit,
            _ => self.blocks.push((block, bit)),
        }
    }

    /// All steps; one may come more than once.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.blocks.iter().flat_map(|(block, bits)| {
            let mut left = *bits;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros())?;
                left &= left - 1;
                Some(block * 64 + bit)
            })
        })
    }

    /// How many different steps there are.
    pub fn count(mut self) -> u32 {
        self.blocks.sort_unstable_by_key(|(block, _)| *block);
        let blocks = self.blocks.chunk_by(|a, b| a.0 == b.0);
        blocks.map(|same| same.iter().fold(0, |all, (_, bits)| all | bits).count_ones()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_counted_once() {
        let mut set = StepSet::default();
        for step in [0, 1, 63, 64, 1, 700, 64, 0] {
            set.add(step);
        }
        let all: Vec<u32> = set.iter().collect();
        assert_eq!(all, [0, 1, 63, 64, 1, 700, 64, 0]);
        assert_eq!(set.count(), 5);
    }
}
