//! The steps of both sides: which of them are warm-up, and the numbers of each.

use super::noise::{self, Calibration, FEWEST_STEPS, MOST_STEPS, Room, Shift};
use super::{Compared, JoinedRow, SideSteps, Subject};
use crate::error::Error;
use crate::metric::{Column, Metric, MetricSet, Table, Unit};
use crate::model::Model;
use crate::model::cells::{Cells, Measure};
use crate::options::{Options, Selection, Step, Warmup};
use crate::view::pipeline::{Filters, Pipeline, Rules};
use crate::view::steps::{from_step, without};
use crate::view::tree::Tree;
use crate::view::values::Values;
use crate::view::{View, VisibleRow};
use std::sync::Arc;

/// The uncertainty of a time in whole microseconds, in these.
const TICK: f64 = 0.3;

/// Finds the steps that count. If some do not, `model` becomes one without them.
pub fn leave_out_warmup(
    side: &Subject<'_>,
    step: Step,
    warmup: Warmup,
    model: &mut Arc<Model>,
) -> Result<SideSteps, Error> {
    let all: Vec<i64> = side.model.runs.steps().collect();
    // A step that was asked for is the only one that counts, and all of everything has no steps.
    match step {
        Step::Average => {}
        Step::From(first) => {
            let (warmup, counted) = all.into_iter().partition(|step| *step < first);
            *model = from_step(side.model, first)?;
            return Ok(SideSteps { counted, warmup });
        }
        Step::At(step) => return Ok(SideSteps { counted: vec![step], warmup: Vec::new() }),
        Step::All => return Ok(SideSteps::default()),
    }
    let runs = &side.model.runs;
    let time_of = |step: &i64| runs.step(*step).map(time).or_else(|| Some(runs.times(*step)?.micros()));
    let kept: Vec<f64> = all.iter().filter_map(time_of).collect();
    let first = match warmup {
        Warmup::Auto if kept.len() == all.len() => noise::warm_up(&kept),
        Warmup::Keep | Warmup::Auto => 0,
        Warmup::First(n) if n > 0 && n >= all.len() => {
            let why = format!("{} has {} steps, so {n} leave none", side.name, all.len());
            return Err(Error::option("warmup", why));
        }
        Warmup::First(n) if n > 0 && kept.len() < all.len() => {
            let why = format!("{} is a partial with the sums of {} of its {} steps", side.name, kept.len(), all.len());
            return Err(Error::option("warmup", format!("{why}, so none can be left out")));
        }
        Warmup::First(n) => n,
    };
    let (warmup, counted) = all.split_at(first);
    if !warmup.is_empty() {
        *model = without(side.model, warmup);
    }
    Ok(SideSteps { counted: counted.to_vec(), warmup: warmup.to_vec() })
}

/// The time of a step, on all devices together.
fn time(cells: &Cells) -> f64 {
    cells.rows().map(|cell| cell.sum(Measure::Micros).limited() as f64).sum()
}

impl Compared {
    /// Finds the shift of each row from the numbers of single steps, if there are enough of them.
    pub(super) fn measure(&mut self, selection: Selection, step: Step, tree: &Tree) {
        let mut metrics = MetricSet::default();
        for metric in selection.given().map(Metric::summed) {
            if metric.info().averaged && self.knows(metric) {
                metrics.add(metric);
            }
        }
        let enough = self.steps.iter().all(|side| side.counted.len() >= FEWEST_STEPS);
        if !step.is_average() || !enough || metrics == MetricSet::default() {
            return;
        }
        let before = step_totals(&self.before, &self.steps[0].counted, metrics);
        let after = step_totals(&self.after, &self.steps[1].counted, metrics);
        if before.len() < FEWEST_STEPS || after.len() < FEWEST_STEPS {
            return;
        }
        let is_leaf = leaves(tree);
        let mut room = Room::default();
        for metric in metrics.iter() {
            let [old, new] = [(&self.before, &before), (&self.after, &after)].map(|(view, steps)| Numbers {
                rows: view.rows(),
                steps: steps.iter().map(|table| [table.column(Metric::Runs), table.column(metric)]).collect(),
                parts: view.model.parts(metric) as f64,
            });
            let tick = if metric.info().unit == Unit::Micros { TICK } else { 0.0 };
            let shift = |row: &JoinedRow| {
                old.gather(row.before?, &mut room.before);
                new.gather(row.after?, &mut room.after);
                room.shift(tick)
            };
            let shifts: Vec<Option<Shift>> = self.rows.iter().map(shift).collect();
            let innermost = shifts.iter().zip(&is_leaf).filter(|(_, leaf)| **leaf).filter_map(|(shift, _)| *shift);
            let calibration = Calibration::new(&innermost.collect::<Vec<_>>());
            self.shifts.push((metric, shifts, calibration));
        }
    }
}

/// The numbers of a metric on one side.
struct Numbers<'v> {
    rows: &'v [VisibleRow],
    /// By step, the runs and the numbers of each row of the tree.
    steps: Vec<[Column<'v>; 2]>,
    parts: f64,
}

impl Numbers<'_> {
    /// Those of a visible row in the steps in which it ran, in units.
    fn gather(&self, row: u32, into: &mut Vec<f64>) {
        let row = self.rows[row as usize].row;
        let ran = self.steps.iter().map(|[runs, numbers]| (runs[row], numbers[row]));
        into.clear();
        into.extend(ran.filter(|(runs, n)| *runs > 0 || *n > 0).map(|(_, n)| n as f64 / self.parts));
    }
}

/// The totals of each row in each step, at most [`MOST_STEPS`] of them.
fn step_totals(view: &View, steps: &[i64], mut metrics: MetricSet) -> Vec<Table> {
    metrics.add(Metric::Runs);
    let runs = &view.model.runs;
    let is_kept = |step: &i64| runs.step(*step).is_some() || runs.times(*step).is_some();
    let kept: Vec<i64> = steps.iter().copied().filter(is_kept).collect();
    let every = kept.len().div_ceil(MOST_STEPS).max(1);
    let times: Vec<_> = kept.iter().step_by(every).filter_map(|step| runs.times(*step)).collect();
    if !times.is_empty() {
        let Ok(filters) = Filters::new(&view.options) else { return Vec::new() };
        let (rules, tree) = (Rules::of(view.kind), view.rows.tree.clone());
        let pipeline = Pipeline::new(rules, &view.options, filters, view.values(), tree, metrics, None);
        return pipeline.totals_of_times(&times);
    }
    let mut tree = view.rows.tree.clone();
    let mut tables = Vec::new();
    for step in kept.into_iter().step_by(every) {
        let options = Options { step: Step::At(step), ..view.options.clone() };
        // The same patterns were compiled before.
        let Ok(filters) = Filters::new(&options) else { return tables };
        let values = Values::new(&view.model, options.step, options.quirks);
        let pipeline = Pipeline::new(Rules::of(view.kind), &options, filters, values, tree, metrics, None);
        let totals;
        (tree, totals) = pipeline.totals();
        tables.push(totals);
    }
    tables
}

/// By row, whether it contains no other.
fn leaves(tree: &Tree) -> Vec<bool> {
    (0..tree.len()).map(|row| row > 0 && (row + 1 == tree.len() || tree.parent(row + 1) != row)).collect()
}
