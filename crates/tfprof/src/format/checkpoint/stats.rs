//! What the numbers of a tensor look like: extremes, mean, spread, zeros, what is not finite, and a histogram. One
//! pass over the bytes, however many there are.

use super::dtype::{DType, Element};
use super::{Checkpoint, Damage, Tensor};

/// Of the finite numbers, unless said otherwise. A complex number counts as its two parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// All numbers.
    pub count: u64,
    pub zeros: u64,
    pub nan: u64,
    pub infinite: u64,
    pub min: f64,
    pub max: f64,
    pub mean: f64,
    /// The sum of squared distances from the mean.
    squares: f64,
    bins: Bins,
}

/// How two tensors differ.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Change {
    /// The largest distance of two numbers.
    pub largest: f64,
    /// The norm of the difference over the norm of the first.
    pub relative: f64,
}

impl Checkpoint {
    /// The numbers of a tensor; none if it has no numbers. Also what is wrong with its bytes.
    pub fn stats(&self, tensor: &Tensor) -> Result<(Option<Stats>, Vec<Damage>), Damage> {
        if tensor.dtype.size().is_none() {
            return Ok((None, Vec::new()));
        }
        let mut stats = Stats::default();
        let mut numbers = Vec::new();
        let damage = self.stream(tensor, &mut |bytes| {
            each_part(bytes, tensor.dtype, &mut numbers, |numbers| stats.add(numbers));
        })?;
        Ok((Some(stats), damage))
    }

    /// How the numbers of a tensor differ from those of one of the same type and shape in another checkpoint.
    pub fn change(&self, tensor: &Tensor, other: &Checkpoint, its: &Tensor) -> Result<Option<Change>, Damage> {
        if tensor.dtype.size().is_none() || tensor.dtype != its.dtype || tensor.shape != its.shape {
            return Ok(None);
        }
        let (mut largest, mut norm, mut difference) = (0.0_f64, 0.0, 0.0);
        let mut compare = |a: &[f64], b: &[f64]| {
            for (a, b) in a.iter().zip(b) {
                // Two NaNs are no change, and the same infinity is not either.
                #[allow(clippy::float_cmp)] // Equal means equal here.
                let distance = if a == b || (a.is_nan() && b.is_nan()) { 0.0 } else { (a - b).abs() };
                largest = if distance.is_nan() || largest.is_nan() { f64::NAN } else { largest.max(distance) };
                norm += a * a;
                difference += distance * distance;
            }
        };
        let (mut left, mut right) = (Vec::new(), Vec::new());
        let sliced = self.pieces_of(tensor).len() != 1 || other.pieces_of(its).len() != 1;
        if sliced {
            let (a, b) = (self.values(tensor)?, other.values(its)?);
            let (a, b) = (a.plain().unwrap_or_default(), b.plain().unwrap_or_default());
            to_numbers(a, tensor.dtype, &mut left);
            to_numbers(b, tensor.dtype, &mut right);
            compare(&left, &right);
        } else {
            // Both come in the same pieces unless one is of the first format, which comes whole.
            let size = tensor.dtype.size().unwrap_or(1) as u64;
            let total = tensor.elements().unwrap_or(0);
            let mut from = 0;
            while from < total {
                let count = (1 << 20).min(total - from);
                let (a, b) = (self.elements_at(tensor, from, count)?, other.elements_at(its, from, count)?);
                to_numbers(&a, tensor.dtype, &mut left);
                to_numbers(&b, tensor.dtype, &mut right);
                compare(&left, &right);
                from += (a.len() as u64 / size).max(1);
            }
        }
        let relative = if difference == 0.0 { 0.0 } else { (difference / norm).sqrt() };
        Ok(Some(Change { largest, relative }))
    }
}

impl Stats {
    /// The standard deviation.
    pub fn deviation(&self) -> f64 {
        let finite = self.finite();
        if finite == 0 { 0.0 } else { (self.squares / finite as f64).sqrt() }
    }

    /// How many numbers are finite.
    pub fn finite(&self) -> u64 {
        self.count - self.nan - self.infinite
    }

    /// How the finite numbers are spread between the least and the greatest, in so many columns.
    pub fn histogram(&self, columns: usize) -> Vec<u64> {
        self.bins.columns(self.min, self.max, columns)
    }

    fn add(&mut self, numbers: &[f64]) {
        if numbers.iter().all(|x| x.is_finite()) {
            return self.add_finite(numbers);
        }
        let finite: Vec<f64> = numbers.iter().copied().filter(|x| x.is_finite()).collect();
        let nan = numbers.iter().filter(|x| x.is_nan()).count() as u64;
        self.nan += nan;
        self.infinite += (numbers.len() - finite.len()) as u64 - nan;
        self.count += (numbers.len() - finite.len()) as u64;
        self.add_finite(&finite);
    }

    fn add_finite(&mut self, numbers: &[f64]) {
        if numbers.is_empty() {
            return;
        }
        // Four sums side by side, so that the next need not wait for the one before.
        let (mut min, mut max, mut sums, mut zeros) =
            ([f64::INFINITY; 4], [f64::NEG_INFINITY; 4], [0.0; 4], [0_u64; 4]);
        for four in numbers.chunks(4) {
            for (i, x) in four.iter().enumerate() {
                min[i] = if *x < min[i] { *x } else { min[i] };
                max[i] = if *x > max[i] { *x } else { max[i] };
                sums[i] += x;
                zeros[i] += u64::from(*x == 0.0);
            }
        }
        let n = numbers.len() as f64;
        let least = min.into_iter().fold(f64::INFINITY, f64::min);
        let greatest = max.into_iter().fold(f64::NEG_INFINITY, f64::max);
        let mean = (sums.iter().sum::<f64>() / n).clamp(least, greatest);
        let mut squares = [0.0; 4];
        for four in numbers.chunks(4) {
            for (i, x) in four.iter().enumerate() {
                squares[i] += (x - mean) * (x - mean);
            }
        }
        let before = self.finite() as f64;
        if before == 0.0 {
            (self.min, self.max) = (least, greatest);
        } else {
            (self.min, self.max) = (self.min.min(least), self.max.max(greatest));
        }
        let apart = mean - self.mean;
        self.squares += squares.iter().sum::<f64>() + apart * apart * before * n / (before + n);
        self.mean += apart * n / (before + n);
        self.zeros += zeros.iter().sum::<u64>();
        self.count += numbers.len() as u64;
        self.bins.add(numbers, least, greatest);
    }
}

/// A histogram whose range is not known before all numbers were seen: it doubles when a number falls outside.
#[derive(Clone, Debug, Default, PartialEq)]
struct Bins {
    from: f64,
    width: f64,
    counts: Vec<u64>,
}

const BINS: usize = 256;

impl Bins {
    fn add(&mut self, numbers: &[f64], least: f64, greatest: f64) {
        if self.counts.is_empty() {
            let range = greatest / BINS as f64 - least / BINS as f64;
            // A single number gets bins as narrow as it is small.
            self.width = if range > 0.0 { range * 1.01 } else { least.abs().max(f64::MIN_POSITIVE * 1e16) / 1e6 };
            self.from = least - self.width / 4.0;
            self.counts = vec![0; BINS];
        }
        while least < self.from || greatest >= self.from + self.width * BINS as f64 {
            if !self.grow(least < self.from) {
                break;
            }
        }
        let scale = 1.0 / self.width;
        for x in numbers {
            let bin = ((x - self.from) * scale) as usize;
            self.counts[bin.min(BINS - 1)] += 1;
        }
    }

    /// Twice the range, towards smaller numbers or greater ones.
    fn grow(&mut self, down: bool) -> bool {
        let width = self.width * 2.0;
        let from = if down { self.from - self.width * BINS as f64 } else { self.from };
        if !width.is_finite() || !from.is_finite() {
            return false;
        }
        let mut counts = vec![0; BINS];
        let first = if down { BINS / 2 } else { 0 };
        for (i, count) in self.counts.iter().enumerate() {
            counts[first + i / 2] += count;
        }
        *self = Bins { from, width, counts };
        true
    }

    fn columns(&self, min: f64, max: f64, columns: usize) -> Vec<u64> {
        let mut answer = vec![0; columns];
        for (i, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let middle = self.from + (i as f64 + 0.5) * self.width;
            let place = if max > min { (middle / 2.0 - min / 2.0) / (max / 2.0 - min / 2.0) } else { 0.5 };
            answer[((place * columns as f64).max(0.0) as usize).min(columns - 1)] += count;
        }
        answer
    }
}

/// Numbers in pieces that fit into a cache.
fn each_part(bytes: &[u8], dtype: DType, numbers: &mut Vec<f64>, mut each: impl FnMut(&[f64])) {
    let size = dtype.size().unwrap_or(1);
    for part in bytes.chunks(size * 4096) {
        to_numbers(part, dtype, numbers);
        each(numbers);
    }
}

/// Elements as numbers, in place of what was there.
fn to_numbers(bytes: &[u8], dtype: DType, numbers: &mut Vec<f64>) {
    numbers.clear();
    let size = dtype.size().unwrap_or(1);
    match dtype {
        DType::FLOAT => {
            numbers.extend(bytes.chunks_exact(4).map(|x| f64::from(f32::from_le_bytes([x[0], x[1], x[2], x[3]]))));
        }
        DType::DOUBLE => {
            let double = |x: &[u8]| f64::from_le_bytes([x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]]);
            numbers.extend(bytes.chunks_exact(8).map(double));
        }
        _ => {
            for bytes in bytes.chunks_exact(size) {
                match dtype.element(bytes) {
                    Element::Float(x) => numbers.push(x),
                    Element::Int(n) => numbers.push(n as f64),
                    Element::Uint(n) => numbers.push(n as f64),
                    Element::Bool(on) => numbers.push(f64::from(u8::from(on))),
                    Element::Complex(re, im) => numbers.extend([re, im]),
                    Element::Text(_) | Element::Opaque => {}
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stats(numbers: &[f64], at_once: usize) -> Stats {
        let mut stats = Stats::default();
        numbers.chunks(at_once).for_each(|numbers| stats.add(numbers));
        stats
    }

    #[test]
    fn odd_numbers_are_counted_apart() {
        let stats = stats(&[0.0, -0.0, 1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 3.0], 3);
        assert_eq!((stats.count, stats.zeros, stats.nan, stats.infinite), (7, 2, 1, 2));
        assert_eq!((stats.min, stats.max, stats.mean), (0.0, 3.0, 1.0));
        assert!((stats.deviation() - 1.5_f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn histograms_grow_to_both_sides() {
        let numbers: Vec<f64> = (0..1000).map(|i| f64::from((i * 7919) % 1000)).collect();
        let stats = stats(&numbers, 10);
        let columns = stats.histogram(10);
        assert_eq!(columns.iter().sum::<u64>(), 1000);
        assert!(columns.iter().all(|count| (80..=120).contains(count)), "{columns:?}");
        assert_eq!(self::stats(&[5.0; 4], 4).histogram(5), [0, 0, 4, 0, 0]);
        assert_eq!(self::stats(&[], 4).histogram(5), [0; 5]);
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(numbers in proptest::collection::vec(-1e6_f64..1e6, 1..200), at_once in 1_usize..50) {
            let stats = stats(&numbers, at_once);
            let n = numbers.len() as f64;
            let mean = numbers.iter().sum::<f64>() / n;
            let deviation = (numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt();
            prop_assert!((stats.mean - mean).abs() < 1e-6 && (stats.deviation() - deviation).abs() < 1e-5);
            prop_assert_eq!(stats.histogram(7).iter().sum::<u64>(), numbers.len() as u64);
        }

        #[test]
        fn any_numbers_end(numbers in proptest::collection::vec(any::<f64>(), 0..50), at_once in 1_usize..9) {
            let stats = stats(&numbers, at_once);
            prop_assert_eq!(stats.histogram(7).iter().sum::<u64>(), stats.finite());
        }
    }
}
