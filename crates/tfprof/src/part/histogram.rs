//! Histograms whose buckets never depend on the data, so that merging is addition in any order.
//!
//! There are 64 buckets per power of two: a bucket is at most 1/64 of its lower bound wide, and its midpoint is within 0.8 % of any
//! number in it. Numbers below 128 each have their own bucket.

use super::bytes::{Cursor, Fault, put, put_len};

/// Non-zero counts by bucket, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram(Vec<(u16, u64)>);

const BITS: u32 = 6;
/// The number of possible buckets.
const BUCKETS: u128 = 64 * 60;

impl Histogram {
    pub fn add(&mut self, number: i64) {
        self.add_count(bucket(number.max(0).unsigned_abs()), 1);
    }

    fn add_count(&mut self, bucket: u16, count: u64) {
        match self.0.binary_search_by_key(&bucket, |(bucket, _)| *bucket) {
            Ok(at) => self.0[at].1 = self.0[at].1.saturating_add(count),
            Err(at) => self.0.insert(at, (bucket, count)),
        }
    }

    pub fn merge(&mut self, other: &Histogram) {
        if self.0.is_empty() {
            self.0.clone_from(&other.0);
            return;
        }
        other.0.iter().for_each(|(bucket, count)| self.add_count(*bucket, *count));
    }

    pub fn count(&self) -> u64 {
        self.0.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// A quantile, given in thousandths, within 1 %; `None` if the histogram is empty.
    pub fn quantile(&self, thousandths: u64) -> Option<i64> {
        let all = u128::from(self.count());
        let rank = (all * u128::from(thousandths)).div_ceil(1000).max(1);
        let mut below = 0;
        for (bucket, count) in &self.0 {
            below += u128::from(*count);
            if below >= rank {
                return Some(middle(*bucket));
            }
        }
        None
    }

    pub fn write(&self, out: &mut Vec<u8>) {
        put_len(out, self.0.len());
        let mut last = 0;
        for (bucket, count) in &self.0 {
            put(out, u128::from(bucket - last));
            put(out, u128::from(*count));
            last = *bucket;
        }
    }

    pub fn read(cursor: &mut Cursor<'_>) -> Result<Histogram, Fault> {
        let count = cursor.count(2, "buckets")?;
        let mut buckets = Vec::with_capacity(count);
        let mut last = 0_u128;
        for i in 0..count {
            let step = cursor.number()?;
            last = last.saturating_add(step);
            let number = cursor.u64()?;
            if last >= BUCKETS || number == 0 || (i > 0 && step == 0) {
                return Err("the buckets of a histogram are not in order".to_owned());
            }
            buckets.push((last as u16, number));
        }
        Ok(Histogram(buckets))
    }
}

fn bucket(number: u64) -> u16 {
    let exponent = (u64::BITS - number.leading_zeros()).saturating_sub(BITS + 1);
    // Below 128 the exponent is 0, and the number is its own bucket.
    ((u64::from(exponent) << BITS) + (number >> exponent)) as u16
}

fn middle(bucket: u16) -> i64 {
    let bucket = u64::from(bucket);
    let exponent = (bucket >> BITS).saturating_sub(1);
    let low = (bucket - (exponent << BITS)) << exponent;
    i64::try_from(low + ((1 << exponent) >> 1)).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_bucket_is_within_one_percent() {
        let mut number = 1_u64;
        while number < i64::MAX as u64 {
            for near in [number - 1, number, number + number / 3] {
                let near = near.min(i64::MAX as u64);
                let found = middle(bucket(near)) as f64;
                assert!((found - near as f64).abs() <= near as f64 * 0.01, "{near}: {found}");
                assert!(bucket(near) >= bucket(near.saturating_sub(1)), "{near}");
            }
            number = number.saturating_add(number / 20 + 1);
        }
        assert!(u128::from(bucket(i64::MAX as u64)) < BUCKETS);
    }

    #[test]
    fn quantiles_are_near_those_of_the_numbers() {
        let mut histogram = Histogram::default();
        (1..=100_000).for_each(|i| histogram.add(i * 7));
        for (thousandths, exact) in [(500, 350_000.0), (990, 693_000.0), (1, 700.0), (1000, 700_000.0)] {
            let found = histogram.quantile(thousandths).unwrap_or_default() as f64;
            assert!((found - exact).abs() <= exact * 0.01, "{thousandths}: {found}");
        }
        assert_eq!(Histogram::default().quantile(500), None);
    }
}
