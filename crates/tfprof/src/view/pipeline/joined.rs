//! The last stages for two sides at once: a row is shown if either side passes, and sorted by its change.

use super::{Filters, Kept, Pipeline, Rows, Rules, VisibleRow};
use crate::metric::{METRICS, Metric, Table, Unit};
use crate::options::{Options, OrderBy};
use crate::view::tree::Tree;
use crate::view::values::Values;
use std::cmp::Ordering;

/// The numbers of both sides, by row of the joined tree.
#[derive(Debug)]
pub struct Joined {
    pub self_values: Table,
    pub totals: Table,
    pub before_self: Table,
    pub before_totals: Table,
    pub accounted: Vec<bool>,
    /// By row: whether it stands out. Rows that do, and the rows around them, come first.
    pub stands_out: Vec<bool>,
    /// By row: whether it is left out, since it has nothing to say.
    pub hidden: Vec<bool>,
    pub time_parts: i64,
    /// By row: the largest change of a row that stands out, within it or of itself.
    pub weights: Vec<f64>,
}

impl Joined {
    /// The larger number of both sides, and its parts.
    pub(super) fn larger(&self, metric: Metric, row: usize, after: i64, own: bool) -> (i64, i64) {
        let table = if own { &self.before_self } else { &self.before_totals };
        let parts = if metric.info().unit == Unit::Micros { self.time_parts } else { 1 };
        (after.max(table.get(metric, row)), parts)
    }
}

impl<'q, 'm> Pipeline<'q, 'm> {
    /// A pipeline whose rows are accounted and summed already.
    #[expect(clippy::large_types_passed_by_value, reason = "once for each view")]
    pub fn joined(
        rules: &'static Rules,
        options: &'q Options,
        filters: Filters,
        values: Values<'m>,
        tree: Tree,
        mut joined: Joined,
        lead: Option<Metric>,
    ) -> Self {
        let minimums = METRICS.iter().filter(|info| info.min.is_some() && options.min[info.metric as usize] > 0);
        let mut kept = vec![Kept { row: 0, parent: 0, depth: 1 }];
        for row in 1..tree.len() {
            let parent = tree.parent(row) as u32;
            kept.push(Kept { row: row as u32, parent, depth: kept[parent as usize].depth + 1 });
        }
        Pipeline {
            rules,
            options,
            filters,
            values,
            tree,
            self_values: std::mem::take(&mut joined.self_values),
            totals: std::mem::take(&mut joined.totals),
            cumulative: Table::default(),
            accounted: std::mem::take(&mut joined.accounted),
            kept,
            minimums: minimums.map(|info| info.metric).collect(),
            lead,
            left_out: super::LeftOut::default(),
            other: Some(joined),
        }
    }

    /// The rows to show, and the self values and totals of the first side.
    pub fn run_joined(mut self) -> (Rows, Table, Table) {
        if let OrderBy::Metric(metric) = self.options.order_by {
            self.weigh(metric);
        }
        let shown: Vec<VisibleRow> = if self.rules.chain {
            self.chain()
        } else {
            self.start();
            let shown = self.show();
            self.order(&shown)
        };
        let (own, totals) = self.other.take().map(|other| (other.before_self, other.before_totals)).unwrap_or_default();
        (self.rows(shown), own, totals)
    }

    /// Finds the largest change of a row that stands out in each row.
    fn weigh(&mut self, metric: Metric) {
        let Some(mut other) = self.other.take() else { return };
        let weight =
            |row: usize| if other.stands_out[row] { self.size(&other, metric, row) + f64::EPSILON } else { 0.0 };
        let mut weights: Vec<f64> = (0..self.tree.len()).map(weight).collect();
        for row in (1..weights.len()).rev() {
            let parent = self.tree.parent(row);
            weights[parent] = weights[parent].max(weights[row]);
        }
        other.weights = weights;
        self.other = Some(other);
    }

    /// The size of a row's change.
    fn size(&self, other: &Joined, metric: Metric, row: usize) -> f64 {
        let ratio = |table: &Table| table.ratio(metric, row).unwrap_or(0.0);
        let plain = |table: &Table| table.get(metric, row) as f64;
        let number = |table: &Table| if metric.is_ratio() { ratio(table) } else { plain(table) };
        (number(&self.totals) - number(&other.before_totals)).abs()
    }

    /// The largest change that stands out first; of rows without one, the largest change.
    pub(super) fn by_change(&self, metric: Metric, a: usize, b: usize) -> Ordering {
        let Some(other) = &self.other else { return Ordering::Equal };
        let size = |row| self.size(other, metric, row);
        other.weights[b].total_cmp(&other.weights[a]).then_with(|| size(b).total_cmp(&size(a)))
    }
}
