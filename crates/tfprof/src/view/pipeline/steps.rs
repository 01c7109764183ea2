//! The totals of all rows in single steps, for the noise of a comparison.

use super::Pipeline;
use crate::metric::{Metric, Table};
use crate::model::cells::Cell;
use crate::model::step_times::StepTimes;
use crate::view::tree::Tree;
use crate::view::values::plus;

/// No row of the tree.
const NONE: u32 = u32::MAX;

impl Pipeline<'_, '_> {
    /// The tree, and the totals of all its rows.
    pub fn totals(mut self) -> (Tree, Table) {
        self.account();
        if self.rules.chain {
            self.totals = self.self_values.clone();
            let rows: Vec<usize> = (1..self.tree.len()).filter(|row| self.accounted[*row]).collect();
            self.cumulate(&rows);
        } else {
            self.sum();
        }
        (self.tree, self.totals)
    }

    /// The totals in steps of which nothing but times was kept: the rows and what they are added to are the same in each, so
    /// they are found once.
    pub fn totals_of_times(mut self, steps: &[&StepTimes]) -> Vec<Table> {
        self.account();
        let metrics = self.self_values.metrics();
        let sums = self.sums();
        let targets: Vec<(Metric, Vec<u32>)> = metrics.iter().map(|metric| (metric, self.targets(metric))).collect();
        let of_step = |times: &&StepTimes| {
            let mut table = Table::new(metrics, self.tree.len());
            for (metric, targets) in &targets {
                let mut column = table.column_mut(*metric);
                for (row, times) in times.rows().filter(|(row, _)| targets[*row] != NONE) {
                    let number = if *metric == Metric::Runs { times.runs } else { times.micros };
                    let target = targets[row] as usize;
                    column[target] = plus(column[target], number, false);
                }
                if self.rules.chain {
                    column[0] = (1..column.len()).fold(0, |sum, row| plus(sum, column[row], false));
                }
            }
            if !self.rules.chain {
                sums.add_up(&mut table, false);
            }
            table
        };
        steps.iter().map(of_step).collect()
    }

    /// By row of the sums, the row of the tree to which a metric of it is added.
    fn targets(&mut self, metric: Metric) -> Vec<u32> {
        let model = self.values.model;
        let mut row_of = vec![NONE; model.nodes.len()];
        for (node, row) in self.tree.rows_by_node(model.nodes.len()) {
            if !self.rules.bags || self.filters.account.count(node, &self.values) > 0 {
                row_of[node.index()] = row as u32;
            }
        }
        let target = |cell: Cell<'_>| match self.values.counted_as(&cell) {
            Some((time, memory)) => {
                let counts = match metric {
                    Metric::Runs => memory && time.is_some(),
                    Metric::Micros => time.is_some(),
                    metric => time == Some(metric),
                };
                if counts { row_of[cell.node.index()] } else { NONE }
            }
            None => NONE,
        };
        model.runs.totals().rows().map(target).collect()
    }
}
