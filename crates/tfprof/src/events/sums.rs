//! Sums by item (an op, a call, a runtime event): in steps, outside of them, and by step if steps are kept.

use crate::hash::TrustedMap;
use crate::model::hosts::SpanSums;

/// The sums of all items.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub items: Vec<ItemSums>,
    /// By item and step, for the steps that are kept.
    pub cells: TrustedMap<(u32, u32), SpanSums>,
}

/// The sums of one item.
#[derive(Clone, Debug, Default)]
pub struct ItemSums {
    pub in_steps: SpanSums,
    pub outside: SpanSums,
    /// The steps that it ran in.
    pub steps: StepSet,
}

impl ItemSums {
    /// In steps and outside.
    pub fn all(&self) -> SpanSums {
        let mut all = self.in_steps;
        if self.outside != SpanSums::default() {
            all.add(&self.outside);
        }
        all
    }
}

impl Tally {
    #[inline]
    pub fn add(&mut self, item: u32, step: Option<u32>, sums: &SpanSums, keep: Option<KeptSteps>) {
        if item as usize >= self.items.len() {
            self.items.resize(item as usize + 1, ItemSums::default());
        }
        let sum = &mut self.items[item as usize];
        let Some(step) = step else {
            return sum.outside.add(sums);
        };
        sum.in_steps.add(sums);
        sum.steps.add(step);
        match keep {
            Some(KeptSteps::Each) => self.cells.entry((item, step)).or_default().add(sums),
            Some(KeptSteps::One(kept)) if kept == step => self.cells.entry((item, step)).or_default().add(sums),
            _ => {}
        }
    }
}

/// The steps that have sums of their own, by index.
#[derive(Clone, Copy, Debug)]
pub enum KeptSteps {
    Each,
    One(u32),
}

/// A set of step indices, 64 to a block. Steps come in nearly ascending order, so few blocks occur twice.
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

    /// All steps; some may occur more than once.
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

    /// The number of distinct steps.
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
