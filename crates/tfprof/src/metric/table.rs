//! Sets of metrics, and their numbers by row.

use super::{METRICS, Metric, MetricInfo, Source};
use crate::budget;

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

/// One number per metric and row. Columns of metrics that are not needed are empty, and so are those of ratios.
#[derive(Debug)]
pub struct Table {
    columns: [Vec<i64>; Metric::COUNT],
}

// Not derived: the standard library derives it for arrays of at most 32.
impl Default for Table {
    fn default() -> Table {
        Table { columns: std::array::from_fn(|_| Vec::new()) }
    }
}

/// Bytes of a number in a column.
const COLUMN_ENTRY: u64 = size_of::<i64>() as u64;

impl Clone for Table {
    fn clone(&self) -> Table {
        let mut table = Table::default();
        for (to, from) in table.columns.iter_mut().zip(&self.columns) {
            budget::reserve(COLUMN_ENTRY * from.len() as u64);
            to.clone_from(from);
        }
        table
    }
}

impl Table {
    pub fn new(metrics: MetricSet, rows: usize) -> Self {
        let mut table = Table::default();
        for metric in metrics.summed().iter() {
            budget::reserve(COLUMN_ENTRY * rows as u64);
            table.columns[metric as usize] = vec![0; rows];
        }
        table
    }

    /// The column of a metric; empty if it is not needed.
    #[inline]
    pub fn column(&self, metric: Metric) -> &[i64] {
        &self.columns[metric as usize]
    }

    #[inline]
    pub fn column_mut(&mut self, metric: Metric) -> &mut Vec<i64> {
        &mut self.columns[metric as usize]
    }

    /// A number, 0 if its column is empty.
    #[inline]
    pub fn get(&self, metric: Metric, row: usize) -> i64 {
        self.columns[metric as usize].get(row).copied().unwrap_or(0)
    }

    /// A ratio, from the numbers of its row; none where there is nothing to divide by.
    pub fn ratio(&self, metric: Metric, row: usize) -> Option<f64> {
        let Source::Ratio { numerator, denominator, scale } = metric.info().source else { return None };
        match self.get(denominator, row) {
            0 => None,
            n => Some(scale * (self.get(numerator, row) as f64 / n as f64)),
        }
    }

    /// The columns that are needed, with their metrics.
    pub fn columns_mut_with_metric(&mut self) -> impl Iterator<Item = (Metric, &mut Vec<i64>)> {
        let metrics = METRICS.iter().map(|info| info.metric);
        metrics.zip(self.columns.iter_mut()).filter(|(_, column)| !column.is_empty())
    }

    /// The metrics whose columns are needed.
    pub fn metrics(&self) -> MetricSet {
        MetricSet::with(|info| !self.columns[info.metric as usize].is_empty())
    }

    /// The columns that are needed.
    pub fn columns_mut(&mut self) -> impl Iterator<Item = &mut Vec<i64>> {
        self.columns.iter_mut().filter(|column| !column.is_empty())
    }
}
