//! Sets of metrics, and their numbers by row.

use super::{METRICS, Metric, MetricInfo, Source};
use crate::budget;
use std::ops::{Index, IndexMut};

/// A set of metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MetricSet(u64);

impl MetricSet {
    pub const ALL: MetricSet = MetricSet((1 << Metric::COUNT) - 1);

    /// The metrics with a property.
    pub fn with(property: impl Fn(&MetricInfo) -> bool) -> MetricSet {
        let mut found = MetricSet::default();
        METRICS.iter().filter(|info| property(info)).for_each(|info| found.add(info.metric));
        found
    }

    /// The metrics of either set.
    #[must_use]
    pub fn and(self, other: MetricSet) -> MetricSet {
        MetricSet(self.0 | other.0)
    }

    pub fn add(&mut self, metric: Metric) {
        self.0 |= 1 << metric as u64;
    }

    pub fn has(self, metric: Metric) -> bool {
        self.0 & 1 << metric as u64 != 0
    }

    /// Whether it has the metric or, of a ratio, one of the two that are divided.
    pub(crate) fn has_part_of(self, metric: Metric) -> bool {
        match metric.info().source {
            Source::Ratio { numerator, denominator, .. } => self.has(numerator) || self.has(denominator),
            _ => self.has(metric),
        }
    }

    /// The metrics to sum in order to show these: instead of a ratio, the two that are divided.
    #[must_use]
    pub fn summed(self) -> MetricSet {
        let mut summed = MetricSet::default();
        for metric in self.iter() {
            summed.add(metric.summed());
            if let Source::Ratio { denominator, .. } = metric.info().source {
                summed.add(denominator);
            }
            metric.info().covered_by.into_iter().for_each(|covered| summed.add(covered));
        }
        summed
    }

    pub fn iter(self) -> impl Iterator<Item = Metric> {
        METRICS.iter().map(|info| info.metric).filter(move |metric| self.has(*metric))
    }
}

/// One number per metric and row. Rows lie one after the other, as they are filled, added up and written row by row.
/// Metrics that are not needed have no numbers, and ratios have none.
#[derive(Debug)]
pub struct Table {
    numbers: Vec<i64>,
    /// The numbers of a row.
    width: usize,
    /// By metric, one more than its place in a row; 0 if it has none.
    places: [u8; Metric::COUNT],
}

// Not derived: the standard library derives it for arrays of at most 32.
impl Default for Table {
    fn default() -> Table {
        Table { numbers: Vec::new(), width: 0, places: [0; Metric::COUNT] }
    }
}

impl Clone for Table {
    fn clone(&self) -> Table {
        budget::reserve(NUMBER * self.numbers.len() as u64);
        Table { numbers: self.numbers.clone(), ..*self }
    }
}

/// Bytes of a number.
const NUMBER: u64 = size_of::<i64>() as u64;

/// The numbers of a metric by row; empty if it is not needed.
#[derive(Clone, Copy, Debug)]
pub struct Column<'t> {
    numbers: &'t [i64],
    width: usize,
}

impl Column<'_> {
    pub fn len(self) -> usize {
        self.numbers.len().div_ceil(self.width.max(1))
    }

    pub fn is_empty(self) -> bool {
        self.numbers.is_empty()
    }
}

impl Index<usize> for Column<'_> {
    type Output = i64;

    #[inline]
    fn index(&self, row: usize) -> &i64 {
        &self.numbers[row * self.width]
    }
}

/// The same to change them.
#[derive(Debug)]
pub struct ColumnMut<'t> {
    numbers: &'t mut [i64],
    width: usize,
}

impl ColumnMut<'_> {
    pub fn len(&self) -> usize {
        self.numbers.len().div_ceil(self.width.max(1))
    }
}

impl Index<usize> for ColumnMut<'_> {
    type Output = i64;

    #[inline]
    fn index(&self, row: usize) -> &i64 {
        &self.numbers[row * self.width]
    }
}

impl IndexMut<usize> for ColumnMut<'_> {
    #[inline]
    fn index_mut(&mut self, row: usize) -> &mut i64 {
        &mut self.numbers[row * self.width]
    }
}

impl Table {
    pub fn new(metrics: MetricSet, rows: usize) -> Self {
        let mut table = Table::default();
        for metric in metrics.summed().iter() {
            table.width += 1;
            table.places[metric as usize] = table.width as u8;
        }
        budget::reserve(NUMBER * (rows * table.width) as u64);
        table.numbers = vec![0; rows * table.width];
        table
    }

    fn place(&self, metric: Metric) -> Option<usize> {
        usize::from(self.places[metric as usize]).checked_sub(1)
    }

    #[inline]
    pub fn column(&self, metric: Metric) -> Column<'_> {
        let numbers = self.place(metric).and_then(|place| self.numbers.get(place..)).unwrap_or_default();
        Column { numbers, width: self.width }
    }

    #[inline]
    pub fn column_mut(&mut self, metric: Metric) -> ColumnMut<'_> {
        let place = self.place(metric);
        let numbers = place.and_then(|place| self.numbers.get_mut(place..)).unwrap_or_default();
        ColumnMut { numbers, width: self.width }
    }

    /// A number, 0 if its column is empty.
    #[inline]
    pub fn get(&self, metric: Metric, row: usize) -> i64 {
        self.place(metric).and_then(|place| self.numbers.get(row * self.width + place)).copied().unwrap_or(0)
    }

    /// The numbers of a row, in the order of [`Table::metrics`].
    #[inline]
    pub fn row_mut(&mut self, row: usize) -> &mut [i64] {
        &mut self.numbers[row * self.width..][..self.width]
    }

    /// Adds a row to an earlier one.
    #[inline]
    pub fn add_row(&mut self, row: usize, to: usize, add: impl Fn(i64, i64) -> i64) {
        let (before, from) = self.numbers.split_at_mut(row * self.width);
        let sums = &mut before[to * self.width..][..self.width];
        sums.iter_mut().zip(from).for_each(|(sum, n)| *sum = add(*sum, *n));
    }

    /// A ratio, from the numbers of its row; none where there is nothing to divide by.
    pub fn ratio(&self, metric: Metric, row: usize) -> Option<f64> {
        let Source::Ratio { numerator, denominator, scale } = metric.info().source else { return None };
        match self.get(denominator, row) {
            0 => None,
            n => Some(scale * (self.get(numerator, row) as f64 / n as f64)),
        }
    }

    /// The metrics that are needed.
    pub fn metrics(&self) -> MetricSet {
        MetricSet::with(|info| self.places[info.metric as usize] > 0)
    }
}
