//! Sets of steps as ranges, and the sample of steps whose sums a partial keeps.

use super::bytes::{Cursor, Fault, put, put_len, put_signed};
use crate::budget;
use std::collections::BTreeSet;

/// Step numbers as ascending ranges (first, last) that do not touch.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepSet(Vec<(i64, i64)>);

/// The sample size: enough to estimate the noise of a comparison.
const SAMPLED: usize = 16;

impl StepSet {
    pub fn new(mut steps: Vec<i64>) -> StepSet {
        steps.sort_unstable();
        StepSet::joined(steps.into_iter().map(|step| (step, step)))
    }

    /// From ranges in ascending order of their starts.
    fn joined(ranges: impl Iterator<Item = (i64, i64)>) -> StepSet {
        let mut set: Vec<(i64, i64)> = Vec::new();
        for (first, last) in ranges {
            match set.last_mut() {
                Some((_, end)) if first <= end.saturating_add(1) => *end = (*end).max(last),
                _ => set.push((first, last)),
            }
        }
        StepSet(set)
    }

    #[must_use]
    pub fn union(&self, other: &StepSet) -> StepSet {
        budget::work((self.0.len() + other.0.len()) as u64);
        let mut ranges: Vec<(i64, i64)> = self.0.iter().chain(&other.0).copied().collect();
        ranges.sort_unstable();
        StepSet::joined(ranges.into_iter())
    }

    pub fn count(&self) -> u64 {
        self.0.iter().fold(0, |sum: u64, (first, last)| sum.saturating_add(last.abs_diff(*first).saturating_add(1)))
    }

    /// Iterates over all steps; a set from a file may be huge.
    pub fn each(&self) -> impl Iterator<Item = i64> {
        self.0.iter().flat_map(|(first, last)| *first..=*last)
    }

    pub fn write(&self, out: &mut Vec<u8>) {
        put_len(out, self.0.len());
        let mut end = 0;
        for (first, last) in &self.0 {
            put_signed(out, i128::from(*first) - end);
            put(out, u128::from(last.abs_diff(*first)));
            end = i128::from(*last);
        }
    }

    pub fn read(cursor: &mut Cursor<'_>) -> Result<StepSet, Fault> {
        let count = cursor.count(2, "ranges of steps")?;
        let mut ranges = Vec::with_capacity(count);
        let mut end = 0;
        for i in 0..count {
            let first = end + cursor.signed()?;
            if i > 0 && first <= end + 1 {
                return Err("the steps are not in order".to_owned());
            }
            end = first.saturating_add(cursor.sum()? as i128);
            match (i64::try_from(first), i64::try_from(end)) {
                (Ok(first), Ok(last)) => ranges.push((first, last)),
                _ => return Err("the number of a step does not fit 64 bits".to_owned()),
            }
        }
        Ok(StepSet(ranges))
    }
}

/// The sampled steps of a set: those with the smallest hashes. The sample of a union is within the union of the samples, so
/// merging keeps the same steps in any order.
pub fn sample(all: &StepSet) -> BTreeSet<i64> {
    let mut steps: Vec<(u64, i64)> = Vec::new();
    for step in all.each() {
        budget::work(1);
        steps.push((mix(step), step));
        // Memory follows the sample, not the steps.
        if steps.len() >= 64 * SAMPLED {
            steps.sort_unstable();
            steps.truncate(SAMPLED);
        }
    }
    steps.sort_unstable();
    steps.into_iter().take(SAMPLED).map(|(_, step)| step).collect()
}

fn mix(step: i64) -> u64 {
    let mut z = step.cast_unsigned().wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_ranges_however_they_are_made() {
        let all = StepSet::new(vec![5, 1, 2, 3, 9, 2]);
        assert_eq!(all, StepSet(vec![(1, 3), (5, 5), (9, 9)]));
        assert_eq!(all.union(&StepSet::new(vec![4, 8])), StepSet(vec![(1, 5), (8, 9)]));
        let mut bytes = Vec::new();
        all.write(&mut bytes);
        assert_eq!(StepSet::read(&mut Cursor::new(&bytes)), Ok(all));
    }

    #[test]
    fn the_sample_of_a_union_is_within_the_samples() {
        let (a, b) = (StepSet::new((0..500).collect()), StepSet::new((300..900).map(|i| i * 3).collect()));
        let both: BTreeSet<i64> = sample(&a).union(&sample(&b)).copied().collect();
        let of_union = sample(&a.union(&b));
        assert_eq!(of_union.len(), SAMPLED);
        assert!(of_union.is_subset(&both));
        assert_eq!(sample(&StepSet::new(vec![7, 3])), BTreeSet::from([3, 7]));
    }
}
