//! Statistics of a tensor in one pass: extremes, mean, deviation, zeros, non-finite values and a histogram. Also the
//! distance of two tensors.

use crate::checkpoint::{Checkpoint, Damage, Tensor};
use crate::model::dtype::{DType, Element};

/// Statistics of the finite values, unless noted otherwise. A complex number counts as two values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// All values.
    pub count: u64,
    pub zeros: u64,
    pub nan: u64,
    pub infinite: u64,
    pub min: f64,
    pub max: f64,
    pub mean: f64,
    /// The sum of squared deviations from the mean.
    squares: f64,
    bins: Bins,
}

/// How two tensors differ.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Change {
    /// The largest absolute difference.
    pub largest: f64,
    /// The norm of the difference, relative to the norm of the first tensor.
    pub relative: f64,
}

impl Checkpoint {
    /// The statistics of a tensor, `None` if it has no numbers; and the damage found.
    pub fn stats(&self, tensor: &Tensor) -> Result<(Option<Stats>, Vec<Damage>), Damage> {
        if tensor.dtype.size().is_none() {
            return Ok((None, Vec::new()));
        }
        let mut stats = Stats::default();
        let damage = self.stream(tensor, &mut |bytes| add_elements(bytes, tensor.dtype, &mut stats))?;
        Ok((Some(stats), damage))
    }

    /// The change of a tensor to the `later` one of another checkpoint; `None` unless type and shape are the same.
    pub fn change(&self, tensor: &Tensor, other: &Checkpoint, later: &Tensor) -> Result<Option<Change>, Damage> {
        if tensor.dtype.size().is_none() || tensor.dtype != later.dtype || tensor.shape != later.shape {
            return Ok(None);
        }
        let (mut largest, mut norm, mut difference) = (0.0_f64, 0.0, 0.0);
        let mut compare = |a: &[f64], b: &[f64]| {
            for (a, b) in a.iter().zip(b) {
                // Two NaNs are no change, and neither are two equal infinities.
                #[allow(clippy::float_cmp)] // Exact equality is meant.
                let distance = if a == b || (a.is_nan() && b.is_nan()) { 0.0 } else { (a - b).abs() };
                largest = if distance.is_nan() || largest.is_nan() { f64::NAN } else { largest.max(distance) };
                norm += a * a;
                difference += distance * distance;
            }
        };
        let (mut left, mut right) = (Vec::new(), Vec::new());
        let sliced = self.pieces_of(tensor).len() != 1 || other.pieces_of(later).len() != 1;
        if sliced {
            let (a, b) = (self.values(tensor)?, other.values(later)?);
            let (a, b) = (a.plain().unwrap_or_default(), b.plain().unwrap_or_default());
            to_numbers(a, tensor.dtype, &mut left);
            to_numbers(b, tensor.dtype, &mut right);
            compare(&left, &right);
        } else {
            let size = tensor.dtype.size().unwrap_or(1) as u64;
            let total = tensor.elements().unwrap_or(0);
            let mut from = 0;
            while from < total {
                let count = (1 << 20).min(total - from);
                let (a, b) = (self.element_range(tensor, from, count)?, other.element_range(later, from, count)?);
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

    /// The number of finite values.
    pub fn finite(&self) -> u64 {
        self.count - self.nan - self.infinite
    }

    /// The distribution of the finite values between minimum and maximum.
    pub fn histogram(&self, columns: usize) -> Vec<u64> {
        self.bins.columns(self.min, self.max, columns)
    }

    /// Adds a batch of numbers.
    fn add<T: Number>(&mut self, numbers: &[T]) {
        let scan = Scan::of(numbers, self.mean);
        if scan.finite {
            return self.add_finite(numbers, &scan);
        }
        let finite: Vec<f64> = numbers.iter().map(|x| (*x).into()).filter(|x: &f64| x.is_finite()).collect();
        let nan = numbers.iter().filter(|x| Into::<f64>::into(**x).is_nan()).count() as u64;
        self.nan += nan;
        self.infinite += (numbers.len() - finite.len()) as u64 - nan;
        self.count += (numbers.len() - finite.len()) as u64;
        self.add_finite(&finite, &Scan::of(&finite, self.mean));
    }

    fn add_finite<T: Number>(&mut self, numbers: &[T], scan: &Scan) {
        if numbers.is_empty() {
            return;
        }
        let n = numbers.len() as f64;
        let before = self.finite() as f64;
        if before == 0.0 {
            (self.min, self.max) = (scan.min, scan.max);
        } else {
            (self.min, self.max) = (self.min.min(scan.min), self.max.max(scan.max));
        }
        // Clamp: the sum of very large numbers overflows, but their mean lies between them.
        let offset = (scan.sum / n).clamp(scan.min - self.mean, scan.max - self.mean);
        let squares = (scan.squares - scan.sum * (scan.sum / n)).max(0.0);
        self.squares += squares + offset * offset * (before / (before + n)) * n;
        self.mean += offset * (n / (before + n));
        self.zeros += scan.zeros;
        self.count += numbers.len() as u64;
        self.bins.add(numbers, scan.min, scan.max);
    }
}

/// A number that is scanned without conversion.
trait Number:
    Copy + Default + PartialOrd + std::ops::Add<Output = Self> + std::ops::Sub<Output = Self> + Into<f64>
{
}
impl Number for f32 {}
impl Number for f64 {}

/// A scan of a batch of numbers.
struct Scan {
    min: f64,
    max: f64,
    /// Of the offsets from a number near the mean, which avoids cancellation.
    sum: f64,
    squares: f64,
    zeros: u64,
    finite: bool,
}

impl Scan {
    /// Scans in eight independent lanes: plain loops over arrays, which the compiler vectorizes.
    #[allow(clippy::needless_range_loop, clippy::eq_op)]
    fn of<T: Number>(numbers: &[T], near: f64) -> Scan {
        let first = numbers.first().copied().unwrap_or_default();
        let zero = T::default();
        let (mut min, mut max, mut non_finite, mut zeros) = ([first; 8], [first; 8], [zero; 8], [0_u32; 8]);
        let (mut sum, mut squares) = ([0.0_f64; 8], [0.0_f64; 8]);
        let (eights, rest) = numbers.as_chunks::<8>();
        for eight in eights {
            for lane in 0..8 {
                let x = eight[lane];
                min[lane] = if x < min[lane] { x } else { min[lane] };
                max[lane] = if x > max[lane] { x } else { max[lane] };
                // Stays zero unless a number is not finite.
                non_finite[lane] = non_finite[lane] + (x - x);
                zeros[lane] += u32::from(x == zero);
            }
            for lane in 0..8 {
                let offset = eight[lane].into() - near;
                sum[lane] += offset;
                squares[lane] += offset * offset;
            }
        }
        for (lane, x) in rest.iter().copied().enumerate() {
            min[lane] = if x < min[lane] { x } else { min[lane] };
            max[lane] = if x > max[lane] { x } else { max[lane] };
            non_finite[lane] = non_finite[lane] + (x - x);
            zeros[lane] += u32::from(x == zero);
            let offset = x.into() - near;
            sum[lane] += offset;
            squares[lane] += offset * offset;
        }
        Scan {
            min: min.into_iter().map(Into::into).fold(f64::INFINITY, f64::min),
            max: max.into_iter().map(Into::into).fold(f64::NEG_INFINITY, f64::max),
            sum: sum.iter().sum(),
            squares: squares.iter().sum(),
            zeros: zeros.iter().map(|n| u64::from(*n)).sum(),
            finite: non_finite.into_iter().all(|sum| sum.into() == 0.0),
        }
    }
}

/// A histogram of unknown range: the range doubles when a number falls outside.
#[derive(Clone, Debug, Default, PartialEq)]
struct Bins {
    from: f64,
    width: f64,
    counts: Vec<u64>,
}

const BINS: usize = 256;

impl Bins {
    fn add<T: Number>(&mut self, numbers: &[T], min: f64, max: f64) {
        if self.counts.is_empty() {
            let range = max / BINS as f64 - min / BINS as f64;
            // A single number determines the width of the bins by its size.
            self.width = if range > 0.0 { range * 1.01 } else { min.abs().max(f64::MIN_POSITIVE * 1e16) / 1e6 };
            self.from = min - self.width / 4.0;
            self.counts = vec![0; BINS];
        }
        while min < self.from || max >= self.from + self.width * BINS as f64 {
            if !self.grow(min < self.from) {
                break;
            }
        }
        let (from, scale) = (self.from, 1.0 / self.width);
        // Adjacent numbers often share a bin: two alternating tables avoid waiting for the previous increment.
        let mut tables = [[0_u32; BINS]; 2];
        let bin = |x: T| {
            // Adding 2^52 leaves the rounded number in the low bits.
            let bits = ((x.into() - from) * scale + 4_503_599_627_370_496.0).to_bits();
            (bits as u32 as usize).min(BINS - 1)
        };
        let (pairs, rest) = numbers.as_chunks::<2>();
        for [a, b] in pairs {
            tables[0][bin(*a)] += 1;
            tables[1][bin(*b)] += 1;
        }
        rest.iter().for_each(|x| tables[0][bin(*x)] += 1);
        for (i, count) in self.counts.iter_mut().enumerate() {
            *count += u64::from(tables[0][i]) + u64::from(tables[1][i]);
        }
    }

    /// Doubles the range, downwards or upwards. Returns false at the limits of `f64`.
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
            let middle = self.from + i as f64 * self.width;
            let position = if max > min { (middle / 2.0 - min / 2.0) / (max / 2.0 - min / 2.0) } else { 0.5 };
            answer[((position * columns as f64).max(0.0) as usize).min(columns - 1)] += count;
        }
        answer
    }
}

/// Adds elements in batches that fit into the cache.
fn add_elements(bytes: &[u8], dtype: DType, stats: &mut Stats) {
    let (mut floats, mut numbers) = (Vec::new(), Vec::new());
    for part in bytes.chunks(dtype.size().unwrap_or(1) * 4096) {
        if dtype == DType::FLOAT {
            floats.clear();
            floats.extend(part.chunks_exact(4).map(|x| f32::from_le_bytes([x[0], x[1], x[2], x[3]])));
            stats.add(&floats);
        } else {
            to_numbers(part, dtype, &mut numbers);
            stats.add(&numbers);
        }
    }
}

/// Converts elements to numbers, replacing the contents of `numbers`.
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
    fn non_finite_numbers_are_counted_separately() {
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
        fn batch_size_does_not_matter(numbers in proptest::collection::vec(-1e6_f64..1e6, 1..200), at_once in 1_usize..50) {
            let stats = stats(&numbers, at_once);
            let n = numbers.len() as f64;
            let mean = numbers.iter().sum::<f64>() / n;
            let deviation = (numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt();
            prop_assert!((stats.mean - mean).abs() < 1e-6 && (stats.deviation() - deviation).abs() < 1e-5);
            prop_assert_eq!(stats.histogram(7).iter().sum::<u64>(), numbers.len() as u64);
        }

        #[test]
        fn histograms_count_all_finite_numbers(numbers in proptest::collection::vec(any::<f64>(), 0..50), at_once in 1_usize..9) {
            let stats = stats(&numbers, at_once);
            prop_assert_eq!(stats.histogram(7).iter().sum::<u64>(), stats.finite());
        }
    }
}
