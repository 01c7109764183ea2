//! Two views joined by path: one tree whose rows have numbers of both sides.
//!
//! Each side is asked without filters, which could hide a row of one side only; filters apply to the joined rows. The
//! result is a [`View`] of the second model that carries the first one's numbers, so every form can show it.

mod columns;
pub mod noise;
mod steps;
mod tree;

pub use columns::{Figure, size_of};

use super::pipeline::{Filters, Joined, Pipeline, Rules};
use super::{Demand, View, VisibleRow, lead_metric};
use crate::checkpoint::Checkpoint;
use crate::error::{Error, Warning};
use crate::metric::{Metric, MetricSet, Source, Table, Unit};
use crate::model::Model;
use crate::options::{Comparing, Options, OrderBy, Selection, ViewKind};
use crate::pairing::Match;
use noise::{Calibration, Shift};
use std::sync::{Arc, Mutex};

/// One side of a comparison: its data and its name.
#[derive(Clone, Debug)]
pub struct Subject<'a> {
    pub name: &'a str,
    pub model: &'a Arc<Model>,
    pub checkpoints: &'a [Arc<Checkpoint>],
}

/// How a row differs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Status {
    #[default]
    Same,
    /// It differs, but not more than its steps do among each other.
    WithinNoise,
    /// It differs, and too few steps say whether that is noise.
    Differs,
    Changed,
    Added,
    Removed,
}

impl Status {
    pub const ALL: [Status; 6] =
        [Status::Changed, Status::Added, Status::Removed, Status::Differs, Status::WithinNoise, Status::Same];

    pub const fn word(self) -> &'static str {
        match self {
            Status::Same => "same",
            Status::WithinNoise => "noise",
            Status::Differs => "differs",
            Status::Changed => "changed",
            Status::Added => "added",
            Status::Removed => "removed",
        }
    }

    /// Whether a reader should look at it.
    pub fn stands_out(self) -> bool {
        self >= Status::Differs
    }
}

/// The other side of a view.
#[derive(Debug)]
pub struct Compared {
    pub names: [String; 2],
    /// Both sides as they were asked, with all rows.
    pub before: View,
    pub after: View,
    /// By row of the joined tree.
    rows: Vec<JoinedRow>,
    before_self: Table,
    before_totals: Table,
    /// By metric whose word was given, and row.
    shifts: Vec<(Metric, Vec<Option<Shift>>, Calibration)>,
    /// How finely times are stored on either side.
    time_parts: i64,
    /// The steps that count, and those left out as warm-up, by side.
    pub steps: [SideSteps; 2],
    /// Rows that are hidden since nothing differs in them.
    pub hidden: usize,
    changes_only: bool,
}

/// The steps of a side.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SideSteps {
    pub counted: Vec<i64>,
    pub warmup: Vec<i64>,
}

/// A row of the joined tree: its visible rows on both sides.
#[derive(Clone, Copy, Debug)]
struct JoinedRow {
    before: Option<u32>,
    after: Option<u32>,
    by: Match,
    /// Its names differ.
    is_renamed: bool,
    status: Status,
}

impl View {
    /// Compares two models by one question.
    pub(crate) fn compare(
        sides: [&Subject<'_>; 2],
        kind: ViewKind,
        options: &Options,
        comparing: &Comparing,
        demand: Demand,
    ) -> Result<View, Error> {
        let has_steps = |side: &&Subject<'_>| !side.model.runs.is_empty() || side.model.is_trace;
        let selection = options.selection(sides.iter().all(has_steps));
        demand.check(kind, options, selection)?;
        let mut models = sides.map(|side| Arc::clone(side.model));
        let mut counted = [SideSteps::default(), SideSteps::default()];
        for (at, side) in sides.iter().enumerate() {
            counted[at] = steps::leave_out_warmup(side, options.step, comparing.warmup, &mut models[at])?;
        }
        let [old, new] = models;
        let before = ask_side(old, sides[0], kind, options, selection, demand)?;
        let after = ask_side(new, sides[1], kind, options, selection, demand)?;
        let tree::JoinedTree { tree, rows } = tree::join(&before, &after, comparing);
        let time_parts = [&before, &after].map(|view| view.model.time_unit.per_micro()).into_iter().max().unwrap_or(1);
        let tables = |view: &View, of: fn(&JoinedRow) -> Option<u32>| {
            let gather = |table: &Table| gather(table, view, &rows, of, time_parts);
            (gather(&view.rows.self_values), gather(&view.rows.totals))
        };
        let (before_self, before_totals) = tables(&before, |row| row.before);
        let (self_values, totals) = tables(&after, |row| row.after);
        let mut compared = Compared {
            names: sides.map(|side| side.name.to_owned()),
            before,
            after,
            rows,
            before_self,
            before_totals,
            shifts: Vec::new(),
            time_parts,
            steps: counted,
            hidden: 0,
            changes_only: !comparing.unchanged.unwrap_or(!demand.changes_only),
        };
        compared.measure(selection, options.step, &tree);
        compared.decide(selection, &totals);
        compared.view(tree, self_values, totals, options, comparing, demand)
    }

    /// The other side, if this is a comparison.
    pub fn compared(&self) -> Option<&Compared> {
        self.compared.as_deref()
    }

    /// How finely a metric is stored: so many parts make one unit.
    pub(crate) fn parts(&self, metric: Metric) -> i64 {
        match &self.compared {
            Some(compared) if metric.info().unit == Unit::Micros => compared.time_parts,
            _ => self.model.parts(metric),
        }
    }

    /// The total of a row on one side of a comparison, in parts.
    pub(crate) fn side_total(&self, metric: Metric, row: &VisibleRow, is_before: bool) -> i64 {
        match &self.compared {
            Some(compared) if is_before => compared.before_totals.get(metric, row.row),
            _ => self.rows.totals.get(metric, row.row),
        }
    }

    /// A row that only the first side has, and that side.
    pub(crate) fn removed(&self, row: &VisibleRow) -> Option<(&View, &VisibleRow)> {
        let compared = self.compared.as_deref()?;
        let JoinedRow { before, after, .. } = compared.rows[row.row];
        Some((&compared.before, &compared.before.rows()[before.filter(|_| after.is_none())? as usize]))
    }
}

/// Asks one side for all its rows.
fn ask_side(
    model: Arc<Model>,
    side: &Subject<'_>,
    kind: ViewKind,
    options: &Options,
    selection: Selection,
    demand: Demand,
) -> Result<View, Error> {
    let Options { step, account_type_regexes, source_lines, events, stacks, frames, group_by, quirks, .. } =
        options.clone();
    // The tree of scopes has its names in order.
    let order_by = if kind == ViewKind::Scope { OrderBy::Unordered } else { OrderBy::Name };
    let asked = Options {
        max_depth: Some(i64::from(i32::MAX)),
        order_by,
        select: Some(selection),
        step,
        account_type_regexes,
        source_lines,
        events,
        stacks,
        frames,
        group_by,
        quirks,
        ..Options::default()
    };
    let demand = Demand { one_metric: false, sums: false, executions: false, check: |_, _, _| Ok(()), ..demand };
    let named = |error: Error| error.of_side(side.name);
    let mut view = View::new(model, kind, &asked, demand).map_err(named)?;
    view.checkpoints = side.checkpoints.to_vec();
    Ok(view)
}

/// The numbers of a side by row of the joined tree; 0 for a row that the side does not have.
fn gather(table: &Table, view: &View, rows: &[JoinedRow], of: fn(&JoinedRow) -> Option<u32>, time_parts: i64) -> Table {
    let mut gathered = Table::new(table.metrics(), rows.len());
    let factor = time_parts / view.model.time_unit.per_micro();
    for metric in gathered.metrics().iter() {
        let (from, mut column) = (table.column(metric), gathered.column_mut(metric));
        let factor = if metric.info().unit == Unit::Micros { factor } else { 1 };
        for (to, row) in rows.iter().enumerate() {
            if let Some(at) = of(row) {
                column[to] = from[view.rows()[at as usize].row].saturating_mul(factor);
            }
        }
    }
    gathered
}

impl Compared {
    /// Whether a metric has a number on both sides.
    fn knows(&self, metric: Metric) -> bool {
        self.before.knows(metric) && self.after.knows(metric)
    }

    /// Decides how each row differs, by all metrics whose words were given.
    fn decide(&mut self, selection: Selection, totals: &Table) {
        let mut statuses: Vec<Status> = vec![Status::Same; self.rows.len()];
        for metric in selection.given().filter(|metric| self.knows(*metric)) {
            let shown = metric.summed();
            let tested = self.shifts.iter().find(|(tested, ..)| *tested == shown);
            let found = tested.map(|(_, shifts, calibration)| noise::stand_out(shifts, *calibration));
            let is_measured = shown.info().averaged;
            for (row, status) in statuses.iter_mut().enumerate() {
                let differs = if let Source::Ratio { .. } = metric.info().source {
                    self.before_totals.ratio(metric, row) != totals.ratio(metric, row)
                } else {
                    self.before_totals.get(metric, row) != totals.get(metric, row)
                };
                let verdict = match (&tested, &found) {
                    _ if !differs => Status::Same,
                    _ if !is_measured => Status::Changed,
                    (Some((_, shifts, calibration)), Some(found)) => match shifts[row] {
                        None => Status::Differs,
                        // The whole step is not one of many rows: it may move as all of them do.
                        Some(shift) if row == 0 && noise::has_changed(&shift, calibration.spread) => Status::Changed,
                        // Rare slow steps can move an average against the typical step: that is noise, too.
                        Some(shift) if row > 0 && found[row] => {
                            let grows = self.before_totals.get(shown, row) < totals.get(shown, row);
                            if grows == (shift.log > 0.0) { Status::Changed } else { Status::WithinNoise }
                        }
                        Some(_) => Status::WithinNoise,
                    },
                    _ => Status::Differs,
                };
                *status = (*status).max(verdict);
            }
        }
        for (row, status) in self.rows.iter_mut().zip(statuses) {
            row.status = match (row.before, row.after) {
                (None, _) => Status::Added,
                (_, None) => Status::Removed,
                _ => status,
            };
        }
    }

    /// Shows the rows that the question asks for.
    fn view(
        mut self,
        tree: super::tree::Tree,
        self_values: Table,
        totals: Table,
        options: &Options,
        comparing: &Comparing,
        demand: Demand,
    ) -> Result<View, Error> {
        let kind = self.after.kind;
        let selection = self.after.selection;
        let unknown = self.before.unknown.and(self.after.unknown);
        let mut options = Options { select: Some(selection), ..options.clone() };
        let lead = lead_metric(&options, selection, unknown);
        if options.order_by == OrderBy::Auto {
            options.order_by = lead.map_or(OrderBy::Name, OrderBy::Metric);
        }
        if demand.whole_tree {
            options.max_depth.get_or_insert(i64::from(i32::MAX));
        }
        let hidden = self.hidden_rows(&tree, comparing, &totals);
        self.hidden = hidden.iter().filter(|hidden| **hidden).count();
        let accounted = |row: &JoinedRow| {
            let of = |view: &View, at: Option<u32>| at.is_some_and(|at| view.is_accounted(&view.rows()[at as usize]));
            of(&self.before, row.before) || of(&self.after, row.after)
        };
        let joined = Joined {
            self_values,
            totals,
            before_self: std::mem::take(&mut self.before_self),
            before_totals: std::mem::take(&mut self.before_totals),
            accounted: self.rows.iter().map(accounted).collect(),
            stands_out: self.rows.iter().map(|row| row.status.stands_out()).collect(),
            hidden,
            time_parts: self.time_parts,
            weights: Vec::new(),
        };
        let filters = Filters::new(&options)?;
        let pipeline = Pipeline::joined(Rules::of(kind), &options, filters, self.after.values(), tree, joined, lead);
        let (rows, before_self, before_totals) = pipeline.run_joined();
        (self.before_self, self.before_totals) = (before_self, before_totals);
        let warnings = self.warnings(selection);
        let after = &self.after;
        Ok(View {
            kind,
            options,
            selection,
            model: Arc::clone(&after.model),
            unknown,
            warnings,
            checkpoints: after.checkpoints.clone(),
            late_warnings: Mutex::default(),
            notes: Mutex::default(),
            source_text: Mutex::default(),
            folded: after.folded,
            layers: after.layers,
            demand,
            rows,
            peaks: after.peaks.clone(),
            compared: Some(Box::new(self)),
        })
    }

    /// The rows in which nothing differs, and nothing below them; or all but guesses.
    fn hidden_rows(&self, tree: &super::tree::Tree, comparing: &Comparing, totals: &Table) -> Vec<bool> {
        if comparing.only_guesses {
            return self.rows.iter().map(|row| row.by != Match::Guess).collect();
        }
        let metrics: Vec<Metric> = self.after.metrics().summed().iter().collect();
        let is_nothing = |row: usize| {
            metrics.iter().all(|metric| totals.get(*metric, row) == 0 && self.before_totals.get(*metric, row) == 0)
        };
        let is_quiet = |(row, joined): (usize, &JoinedRow)| {
            self.changes_only && (joined.status == Status::Same || (!metrics.is_empty() && is_nothing(row)))
        };
        let mut hidden: Vec<bool> = self.rows.iter().enumerate().map(is_quiet).collect();
        for row in (1..hidden.len()).rev() {
            hidden[tree.parent(row)] &= hidden[row];
        }
        if let Some(root) = hidden.first_mut() {
            *root = false;
        }
        hidden
    }

    fn warnings(&self, selection: Selection) -> Vec<Warning> {
        let mut warnings = Vec::new();
        for (view, name) in [&self.before, &self.after].into_iter().zip(&self.names) {
            warnings.extend(view.warnings.iter().map(|warning| warning.of_side(name)));
        }
        let measured = selection.given().any(|metric| metric.summed().info().averaged && self.knows(metric));
        if measured && self.shifts.is_empty() {
            let steps = self.steps.each_ref().map(|side| side.counted.len());
            let message = format!(
                "the noise is unknown: it takes {} steps on each side to tell a change from noise, and there are {} and {}",
                noise::FEWEST_STEPS,
                steps[0],
                steps[1],
            );
            warnings.push(Warning::new("noise_unknown", message));
        }
        warnings
    }

    /// The number of rows of each status, hidden ones included, without the root.
    pub fn count(&self, status: Status) -> usize {
        self.rows.iter().skip(1).filter(|row| row.status == status).count()
    }

    /// The number of rows that were paired by structure.
    pub fn guesses(&self) -> usize {
        self.rows.iter().filter(|row| row.by == Match::Guess).count()
    }

    /// How a row differs.
    pub fn status(&self, row: &VisibleRow) -> Status {
        self.rows[row.row].status
    }

    /// How the two sides of a row found each other; None for a row of one side.
    pub fn matched(&self, row: &VisibleRow) -> Option<Match> {
        let JoinedRow { before, after, by, .. } = self.rows[row.row];
        (before.is_some() && after.is_some()).then_some(by)
    }

    /// The name of a row on the first side, if it was another.
    pub fn before_name(&self, row: &VisibleRow) -> Option<&str> {
        let JoinedRow { before, is_renamed, .. } = self.rows[row.row];
        is_renamed.then(|| self.before.name(&self.before.rows()[before.unwrap_or(0) as usize]))
    }

    /// The shift that rows have in common, as a factor, for the first metric with noise.
    pub fn common_shift(&self) -> Option<(Metric, f64)> {
        let (metric, _, calibration) = self.shifts.first()?;
        (*calibration != Calibration::NONE).then(|| (*metric, calibration.center.exp()))
    }

    /// The metrics that have intervals.
    fn tested(&self) -> MetricSet {
        let mut tested = MetricSet::default();
        self.shifts.iter().for_each(|(metric, ..)| tested.add(*metric));
        tested
    }

    /// The interval of a change, as factors.
    pub fn interval(&self, metric: Metric, row: &VisibleRow) -> Option<(f64, f64)> {
        let (_, shifts, calibration) = self.shifts.iter().find(|(tested, ..)| *tested == metric)?;
        Some(shifts[row.row]?.interval(calibration.spread))
    }
}
