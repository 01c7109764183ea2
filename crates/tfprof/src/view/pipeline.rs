//! From a tree to an answer, the same for all views: account → total → start → show → order.

mod joined;
mod rules;
mod steps;

pub use joined::Joined;
pub use rules::Rules;

use super::filter::Patterns;
use super::tree::Tree;
use super::values::{LIMITS, Lens, TypeFilter, Values, plus, times};
use crate::error::Error;
use crate::metric::{Column, METRICS, Metric, MetricSet, Source, Table};
use crate::model::nodes::NodeId;
use crate::options::{DEFAULT_DEPTH, Options, OrderBy};
use std::cmp::Ordering;

/// The patterns of a question, compiled.
#[derive(Debug)]
pub struct Filters {
    pub account: TypeFilter,
    start: Patterns,
    trim: Patterns,
    show: Patterns,
    hide: Patterns,
}

impl Filters {
    pub fn new(options: &Options) -> Result<Filters, Error> {
        Ok(Filters {
            account: TypeFilter::new(Patterns::new("account_type_regexes", &options.account_type_regexes)?),
            start: Patterns::new("start_name_regexes", &options.start_name_regexes)?,
            trim: Patterns::new("trim_name_regexes", &options.trim_name_regexes)?,
            show: Patterns::new("show_name_regexes", &options.show_name_regexes)?,
            hide: Patterns::new("hide_name_regexes", &options.hide_name_regexes)?,
        })
    }

    /// Whether a row's name decides if it is visible. If not, do not fetch it: that is a cache miss.
    fn look_at_names(&self) -> bool {
        !(self.trim.is_empty() && self.hide.is_empty() && self.show.is_everything())
    }
}

/// A visible row, in print order.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct VisibleRow {
    /// The row of the tree.
    pub row: usize,
    /// Its nearest visible ancestor, as an index into the visible rows; the root is its own parent.
    pub parent: usize,
    /// The number of visible ancestors.
    pub depth: usize,
}

/// The state that the stages pass on. Tables are indexed by row of the tree.
#[derive(Debug)]
pub struct Pipeline<'q, 'm> {
    pub rules: &'static Rules,
    pub options: &'q Options,
    pub filters: Filters,
    pub values: Values<'m>,
    pub tree: Tree,
    pub self_values: Table,
    pub totals: Table,
    /// In op view: each row and all rows after it.
    pub cumulative: Table,
    pub accounted: Vec<bool>,
    /// Kept rows, in pre-order, with their parents and depths after accounting and `start`.
    kept: Vec<Kept>,
    minimums: Vec<Metric>,
    /// The metric that rows left out are measured in.
    lead: Option<Metric>,
    left_out: LeftOut,
    /// The other side of a comparison.
    other: Option<Joined>,
}

/// The rows that only `-max_depth` hides.
#[derive(Clone, Copy, Debug, Default)]
pub struct LeftOut {
    pub rows: usize,
    /// The `-max_depth` that shows them all.
    pub depth: i64,
    /// Their part of the leading metric, if there is one.
    pub share: Option<f64>,
    sum: i64,
}

impl LeftOut {
    fn add(&mut self, depth: i64, value: i64) {
        self.rows += 1;
        self.depth = self.depth.max(depth);
        self.sum = self.sum.saturating_add(value);
    }
}

/// The state of a kept row, for the rows below it.
#[derive(Clone, Copy, Debug)]
enum Ancestor {
    /// The nearest visible row, itself included.
    Row(u32),
    /// It is hidden by `-max_depth`, and so are they.
    TooDeep,
    /// They are cut off.
    Trimmed,
}

/// The numbers of nodes that rows are made of.
#[derive(Clone, Copy, Debug)]
enum Needs {
    Measured,
    /// Computed ones, too.
    Costs,
    /// Also those that compare with peaks.
    Everything,
}

#[derive(Clone, Copy, Debug)]
struct Kept {
    row: u32,
    /// The nearest kept ancestor, as an index into the kept rows.
    parent: u32,
    depth: i64,
}

/// By row: whether it is kept, and the row that its total was added to.
struct Sums {
    keep: Vec<bool>,
    around: Vec<u32>,
}

impl Sums {
    /// Adds the number of each kept row to the row around it.
    fn add_up(&self, table: &mut Table, wrap: bool) {
        for row in (1..self.keep.len()).rev().filter(|row| self.keep[*row]) {
            table.add_row(row, self.around[row] as usize, |sum, n| plus(sum, n, wrap));
        }
    }
}

impl<'q, 'm> Pipeline<'q, 'm> {
    /// `metrics` are those to show; metrics to sort or filter by are added.
    #[expect(clippy::large_types_passed_by_value, reason = "once for each view")]
    pub fn new(
        rules: &'static Rules,
        options: &'q Options,
        filters: Filters,
        values: Values<'m>,
        tree: Tree,
        metrics: MetricSet,
        lead: Option<Metric>,
    ) -> Self {
        let mut metrics = metrics;
        if let OrderBy::Metric(metric) = options.order_by {
            metrics.add(metric);
            metrics.add(Metric::Definitions);
        }
        // As the original: a minimum of 0 hides rows with a negative number.
        let negative = values.lens.quirks.zero_minimum_hides
            && values.model.may_have_negative_numbers(filters.account.patterns().len().max(1));
        let mut minimums = Vec::new();
        for info in METRICS.iter().filter(|info| info.min.is_some()) {
            if negative || options.min[info.metric as usize] > 0 {
                metrics.add(info.metric);
                metrics.add(Metric::Definitions);
                minimums.push(info.metric);
            }
        }
        let rows = tree.len();
        Pipeline {
            rules,
            options,
            filters,
            values,
            self_values: Table::new(metrics, rows),
            totals: Table::default(),
            cumulative: Table::default(),
            accounted: vec![false; rows],
            kept: Vec::new(),
            minimums,
            lead,
            left_out: LeftOut::default(),
            other: None,
            tree,
        }
    }

    pub fn run(mut self) -> Rows {
        self.account();
        let shown = if self.rules.chain {
            self.chain()
        } else {
            self.total();
            self.start();
            let shown = self.show();
            self.order(&shown)
        };
        self.rows(shown)
    }

    fn rows(self, shown: Vec<VisibleRow>) -> Rows {
        Rows {
            lens: self.values.lens,
            filters: self.filters,
            tree: self.tree,
            self_values: self.self_values,
            totals: self.totals,
            cumulative: self.cumulative,
            left_out: self.left_out,
            accounted: self.accounted,
            shown,
        }
    }

    /// Marks the rows whose types match, and fills in the self value of each row.
    fn account(&mut self) {
        let Rules { bags, scope_type, .. } = *self.rules;
        let account = self.filters.account.patterns();
        let everything = account.is_everything();
        let scopes = everything || scope_type.is_some_and(|ty| account.count(&[ty]) > 0);
        let needs_definitions = self.self_values.metrics().has(Metric::Definitions);
        for row in 1..self.tree.len() {
            let is_scope = !bags && self.tree.nodes(row).is_empty();
            self.accounted[row] = (is_scope && scopes) || (bags && everything);
            if is_scope && needs_definitions {
                self.self_values.column_mut(Metric::Definitions)[row] = 1;
            }
        }
        // In node order rather than row order: that is how the numbers lie in memory.
        let is_measured =
            |metric: Metric| matches!(metric.info().source, Source::Measured) || metric == Metric::Definitions;
        let needs = if self.self_values.metrics().iter().all(is_measured) {
            Needs::Measured
        } else if self.self_values.metrics().iter().any(|metric| LIMITS.contains(&metric)) {
            Needs::Everything
        } else {
            Needs::Costs
        };
        let metrics: Vec<Metric> = self.self_values.metrics().iter().collect();
        for (node, row) in self.tree.rows_by_node(self.values.model.nodes.len()) {
            self.account_node(node, row, &metrics, needs);
        }
    }

    #[inline]
    fn account_node(&mut self, node: NodeId, row: usize, metrics: &[Metric], needs: Needs) {
        let wrap = self.values.lens.quirks.numbers_wrap;
        let mut count = self.filters.account.count(node, &self.values);
        self.accounted[row] |= count > 0;
        if !self.rules.bags {
            // A node that is only kept for its children adds its numbers, too.
            count = 1;
        } else if !self.values.lens.quirks.two_matches_count_twice {
            count = count.min(1);
        }
        if count == 0 {
            return;
        }
        let numbers = match needs {
            Needs::Measured => self.values.measured(node),
            Needs::Costs => self.values.costs_and_measured(node),
            Needs::Everything => self.values.row(node),
        };
        for (sum, metric) in self.self_values.row_mut(row).iter_mut().zip(metrics.iter().copied()) {
            // As the original: counting a node twice doubles neither its runs nor its definitions.
            let once = matches!(metric, Metric::Runs | Metric::Definitions);
            let count = if once { 1 } else { count as i64 };
            *sum = plus(*sum, times(numbers[metric as usize], count, wrap), wrap);
        }
    }

    /// Sums self values into totals, children before parents: one backward scan, whatever the depth.
    // As the original: a row that is not accounted but kept for its children adds its self values.
    fn total(&mut self) {
        let Sums { keep, around } = self.sum();
        let rows = self.tree.len();
        let mut place = vec![0_u32; rows];
        self.kept.push(Kept { row: 0, parent: 0, depth: 1 });
        for row in (1..rows).filter(|row| keep[*row]) {
            let parent = place[around[row] as usize];
            place[row] = self.kept.len() as u32;
            let depth = self.kept[parent as usize].depth + 1;
            self.kept.push(Kept { row: row as u32, parent, depth });
        }
    }

    /// The sums alone, without listing the rows that are kept.
    fn sum(&mut self) -> Sums {
        let sums = self.sums();
        self.totals = self.self_values.clone();
        sums.add_up(&mut self.totals, self.values.lens.quirks.numbers_wrap);
        sums
    }

    /// Which rows are kept, and what each is added to.
    fn sums(&self) -> Sums {
        let rows = self.tree.len();
        let mut keep = self.accounted.clone();
        // The row that each total is added to: the nearest ancestor that does not vanish.
        let mut around: Vec<u32> = Vec::with_capacity(rows);
        for row in 0..rows {
            let parent = self.tree.parent(row);
            let vanishes = self.rules.unaccounted_vanish && parent != 0 && !self.accounted[parent];
            around.push(if vanishes { around[parent] } else { parent as u32 });
        }
        if !self.rules.unaccounted_vanish {
            for row in (1..rows).rev() {
                if keep[row] {
                    keep[around[row] as usize] = true;
                }
            }
        }
        keep[0] = false;
        Sums { keep, around }
    }

    /// Finds the rows to start at, drops everything outside them, and counts depth from there.
    fn start(&mut self) {
        if self.filters.start.is_everything() {
            return;
        }
        let kept = std::mem::take(&mut self.kept);
        let mut place = vec![0_u32; kept.len()];
        self.kept.push(kept[0]);
        for (i, old) in kept.iter().enumerate().skip(1) {
            let parent = place[old.parent as usize];
            if parent != 0 || self.filters.start.matches(self.name(old.row as usize)) {
                place[i] = self.kept.len() as u32;
                let depth = self.kept[parent as usize].depth + 1;
                self.kept.push(Kept { row: old.row, parent, depth });
            }
        }
    }

    /// Applies name filters, minimums, depth and trim; moves the children of hidden rows up; recounts if asked.
    fn show(&mut self) -> Vec<Kept> {
        let max_depth = self.max_depth();
        let mut shown: Vec<Kept> = Vec::new();
        let mut left_out = LeftOut::default();
        // By kept row: what it is to the rows below.
        let mut open: Vec<Ancestor> = Vec::with_capacity(self.kept.len());
        let looks_at_names = self.filters.look_at_names();
        for (i, kept) in self.kept.iter().enumerate() {
            let row = kept.row as usize;
            let around = if i == 0 { Ancestor::Row(0) } else { open[kept.parent as usize] };
            if let Ancestor::Trimmed = around {
                open.push(Ancestor::Trimmed);
                continue;
            }
            let name = if looks_at_names { self.name(row) } else { "" };
            let trimmed = self.filters.trim.matches_one(name);
            let dropped = trimmed && self.rules.trimmed_are_dropped;
            let passes = i == 0 || (!dropped && self.is_shown(row, name));
            let below = match around {
                Ancestor::Row(around) if i == 0 || kept.depth <= max_depth => {
                    if passes {
                        shown.push(Kept { row: kept.row, parent: around, depth: kept.depth });
                    }
                    Ancestor::Row(if passes { shown.len() as u32 - 1 } else { around })
                }
                _ => {
                    if passes {
                        left_out.add(kept.depth, self.lead.map_or(0, |metric| self.self_values.get(metric, row)));
                    }
                    Ancestor::TooDeep
                }
            };
            open.push(if trimmed { Ancestor::Trimmed } else { below });
        }
        self.leave_out(left_out);
        if self.options.account_displayed_op_only && self.rules.can_recount {
            self.recount(&shown);
        }
        shown
    }

    fn max_depth(&self) -> i64 {
        self.options.max_depth.unwrap_or(DEFAULT_DEPTH)
    }

    /// Keeps the account of hidden rows, with their share of the root's total.
    fn leave_out(&mut self, left_out: LeftOut) {
        let whole = self.lead.map_or(0, |metric| self.totals.get(metric, 0));
        let share = (whole > 0).then(|| left_out.sum as f64 / whole as f64);
        self.left_out = LeftOut { share, ..left_out };
    }

    /// Whether a row's name and numbers pass the filters.
    fn is_shown(&self, row: usize, name: &str) -> bool {
        if self.other.as_ref().is_some_and(|other| other.hidden[row]) {
            return false;
        }
        if self.options.ops_only && !self.rules.bags && self.tree.nodes(row).is_empty() {
            return false;
        }
        let enough = self.minimums.iter().all(|metric| {
            let of_row_alone =
                matches!(metric, Metric::Parameters | Metric::FloatOps) && !self.rules.minimums_of_totals;
            let number = match metric {
                Metric::Runs if self.rules.minimum_of_runs => self.self_values.get(Metric::Runs, row),
                Metric::Runs if self.rules.chain => self.self_values.get(Metric::Definitions, row),
                Metric::Runs => return true,
                metric if of_row_alone => self.self_values.get(*metric, row),
                // As the original: in op view a minimum is compared with the running sum.
                metric if self.rules.chain && self.other.is_none() => self.cumulative.get(*metric, row),
                metric => self.totals.get(*metric, row),
            };
            let (number, parts) = match &self.other {
                Some(other) => other.larger(*metric, row, number, of_row_alone),
                None => (number, self.values.model.parts(*metric)),
            };
            number >= self.options.min[*metric as usize].saturating_mul(parts)
        });
        enough && self.filters.show.matches(name) && !self.filters.hide.matches_one(name)
    }

    /// Totals over visible rows only: the self value plus the visible rows below.
    // As the original: rows that are not accounted add their numbers, and each visible row counts as one definition.
    fn recount(&mut self, shown: &[Kept]) {
        let wrap = self.values.lens.quirks.numbers_wrap;
        recount(&mut self.totals, &self.self_values, shown, wrap);
        if let Some(other) = &mut self.other {
            recount(&mut other.before_totals, &other.before_self, shown, wrap);
        }
    }

    /// Sorts siblings and puts all rows into print order.
    fn order(&self, shown: &[Kept]) -> Vec<VisibleRow> {
        if self.options.order_by == OrderBy::Unordered {
            return in_order_of_the_tree(shown);
        }
        // The children of each row by counting sort, which keeps the order of the tree.
        let mut ends = vec![0_u32; shown.len() + 1];
        shown.iter().skip(1).for_each(|kept| ends[kept.parent as usize + 1] += 1);
        for i in 1..ends.len() {
            ends[i] += ends[i - 1];
        }
        let starts = ends.clone();
        let mut next = ends;
        let mut children = vec![0_u32; shown.len().saturating_sub(1)];
        for (i, kept) in shown.iter().enumerate().skip(1) {
            let slot = &mut next[kept.parent as usize];
            children[*slot as usize] = i as u32;
            *slot += 1;
        }
        for i in 0..shown.len() {
            let siblings = &mut children[starts[i] as usize..starts[i + 1] as usize];
            self.sort(siblings, |i| (shown[*i as usize].row as usize, shown[*i as usize].depth));
        }
        let mut ordered = Vec::with_capacity(shown.len());
        let mut open = vec![(0_u32, 0_usize, 0_usize)];
        while let Some((i, parent, depth)) = open.pop() {
            let at = ordered.len();
            ordered.push(VisibleRow { row: shown[i as usize].row as usize, parent, depth });
            let below = &children[starts[i as usize] as usize..starts[i as usize + 1] as usize];
            open.extend(below.iter().rev().map(|child| (*child, at, depth + 1)));
        }
        ordered
    }

    /// Sorts rows as asked, stably. `key` gives the row of the tree and its depth there.
    fn sort<T>(&self, rows: &mut [T], key: impl Fn(&T) -> (usize, i64)) {
        let key = &key;
        let by_name = |a: &T, b: &T| self.name(key(a).0).cmp(self.name(key(b).0));
        let by_column = |column: Column<'_>, a: &T, b: &T| column[key(b).0].cmp(&column[key(a).0]);
        let compare: &dyn Fn(&T, &T) -> Ordering = &match self.options.order_by {
            OrderBy::Unordered => return,
            OrderBy::Metric(metric) if self.other.is_some() => {
                Box::new(move |a: &T, b: &T| self.by_change(metric, key(a).0, key(b).0).then_with(|| by_name(a, b)))
            }
            OrderBy::Name | OrderBy::Auto => Box::new(by_name) as Box<dyn Fn(&T, &T) -> Ordering + '_>,
            OrderBy::Depth => Box::new(|a: &T, b: &T| key(a).1.cmp(&key(b).1).then_with(|| by_name(a, b))),
            // Bags are sorted by their number of nodes, which is 1 where each row is a node.
            OrderBy::Metric(Metric::Runs) if !self.rules.bags => Box::new(by_name),
            OrderBy::Metric(Metric::Runs) => {
                Box::new(|a: &T, b: &T| by_column(self.self_values.column(Metric::Definitions), a, b))
            }
            OrderBy::Metric(metric) if metric.is_ratio() => Box::new(move |a: &T, b: &T| {
                let ratio = |row: &T| self.totals.ratio(metric, key(row).0).unwrap_or(f64::NEG_INFINITY);
                ratio(b).total_cmp(&ratio(a))
            }),
            OrderBy::Metric(metric) => Box::new(move |a: &T, b: &T| by_column(self.totals.column(metric), a, b)),
        };
        if !rows.is_sorted_by(|a, b| compare(a, b) != Ordering::Greater) {
            rows.sort_by(compare);
        }
    }

    /// The op view: a list of rows below the root, each with its self value and a running sum from the last row up.
    fn chain(&mut self) -> Vec<VisibleRow> {
        let mut rows: Vec<usize> = (1..self.tree.len()).filter(|row| self.accounted[*row]).collect();
        if self.other.is_none() {
            self.totals = self.self_values.clone();
        }
        self.sort(&mut rows, |row| (*row, 0));
        if self.other.is_none() {
            self.cumulate(&rows);
        }
        let start = if self.filters.start.is_everything() || self.filters.start.is_empty() {
            Some(0)
        } else {
            rows.iter().position(|row| self.filters.start.matches(self.name(*row)))
        };
        // As the original: the first row has depth 0, so one row more than `max_depth` is shown.
        let limit = self.max_depth().saturating_add(i64::from(self.values.lens.quirks.op_depth_is_one_more));
        let mut shown: Vec<usize> = Vec::new();
        let mut left_out = LeftOut::default();
        for (row, depth) in rows[start.unwrap_or(rows.len())..].iter().copied().zip(0_i64..) {
            if self.filters.trim.matches_one(self.name(row)) {
                break;
            }
            if !self.is_shown(row, self.name(row)) {
                continue;
            }
            if depth < limit {
                shown.push(row);
            } else {
                left_out.add(depth + 1, self.lead.map_or(0, |metric| self.self_values.get(metric, row)));
            }
        }
        self.leave_out(left_out);
        if self.options.account_displayed_op_only && self.other.is_none() {
            self.cumulate(&shown);
        }
        let root = VisibleRow { row: 0, parent: 0, depth: 0 };
        std::iter::once(root).chain(shown.into_iter().map(|row| VisibleRow { row, parent: 0, depth: 1 })).collect()
    }

    /// Sums self values from the last of these rows up; the root's total is the sum of all.
    fn cumulate(&mut self, rows: &[usize]) {
        let wrap = self.values.lens.quirks.numbers_wrap;
        self.cumulative = self.self_values.clone();
        for metric in self.cumulative.metrics().iter() {
            let mut column = self.cumulative.column_mut(metric);
            let mut sum = 0_i64;
            for row in rows.iter().rev() {
                sum = plus(sum, column[*row], wrap);
                column[*row] = sum;
            }
            column[0] = sum;
            self.totals.column_mut(metric)[0] = sum;
        }
    }

    fn name(&self, row: usize) -> &str {
        self.tree.name(row, self.values.model)
    }
}

/// Rows in pre-order, as they are.
fn in_order_of_the_tree(shown: &[Kept]) -> Vec<VisibleRow> {
    let mut rows: Vec<VisibleRow> = Vec::with_capacity(shown.len());
    for kept in shown {
        let parent = kept.parent as usize;
        let depth = rows.get(parent).map_or(0, |around| around.depth + 1);
        rows.push(VisibleRow { row: kept.row as usize, parent, depth });
    }
    rows
}

fn recount(totals: &mut Table, own: &Table, shown: &[Kept], wrap: bool) {
    for metric in totals.metrics().iter() {
        let mut column = totals.column_mut(metric);
        let self_values = own.column(metric);
        for kept in shown {
            let row = kept.row as usize;
            column[row] = if metric == Metric::Definitions { 1 } else { self_values[row] };
        }
        for kept in shown.iter().skip(1).rev() {
            let parent = shown[kept.parent as usize].row as usize;
            column[parent] = plus(column[parent], column[kept.row as usize], wrap);
        }
    }
}

/// The result of a pipeline: the tree, its numbers, and the rows to show.
#[derive(Debug)]
pub struct Rows {
    pub lens: Lens,
    pub filters: Filters,
    pub tree: Tree,
    pub self_values: Table,
    pub totals: Table,
    pub cumulative: Table,
    pub left_out: LeftOut,
    pub accounted: Vec<bool>,
    pub shown: Vec<VisibleRow>,
}
