//! Compares limits with figures: those of a cost, or those of compared views.

use super::{Allowance, Budget, Limit, LimitTarget, Over, Part};
use crate::metric::{Metric, MetricSet, Unit};
use crate::options::{Options, Selection, ViewKind};
use crate::report::cost::{Cost, Figures};
use crate::units::Amount;
use crate::view::View;
use crate::view::compare::Status;
use crate::view::filter::Patterns;

/// The outcome of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checked {
    /// The exceeded limits, in the order of the file.
    pub over: Vec<Over>,
    /// The limits that could not be checked, and why.
    pub unchecked: Vec<String>,
}

/// A figure of both sides.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    before: Option<i64>,
    after: i64,
    /// The change is no noise; None if that is not known.
    stands_out: Option<bool>,
}

impl Budget {
    /// Checks the cost of a model, against that of an earlier one if limits are growths.
    pub fn check(&self, cost: &Cost, baseline: Option<&Cost>) -> Checked {
        let mut verdict = Checked::default();
        for limit in &self.limits {
            let is_known = matches!(
                limit.metric,
                Metric::Parameters | Metric::FloatOps | Metric::Macs | Metric::IoBytes | Metric::UnknownOps
            );
            if !is_known || limit.place() == LimitTarget::Line {
                verdict.unchecked.push(format!("{}: no model file tells; `tfprof diff` checks it", limit.name()));
                continue;
            }
            let before = baseline.map(|cost| figures(cost, limit.part.as_deref()).get(limit.metric));
            let after = figures(cost, limit.part.as_deref()).get(limit.metric);
            verdict.judge(limit, Found { before, after, stands_out: Some(true) });
        }
        verdict
    }

    /// The views that [`check_views`](Budget::check_views) needs, each with its options.
    pub fn questions(&self) -> Vec<(ViewKind, Options)> {
        let kinds = [
            (LimitTarget::Scope, ViewKind::Scope),
            (LimitTarget::Op, ViewKind::Op),
            (LimitTarget::Line, ViewKind::Code),
        ];
        let mut questions = Vec::new();
        for (place, kind) in kinds {
            let mut selection = Selection::default();
            let is_about = |limit: &&Limit| {
                limit.place() == place || (place == LimitTarget::Scope && limit.place() == LimitTarget::Model)
            };
            self.limits.iter().filter(is_about).for_each(|limit| selection.add_metric(limit.metric));
            if selection.metrics() != MetricSet::default() {
                let max_depth = Some(i64::from(i32::MAX));
                questions.push((kind, Options { select: Some(selection), max_depth, ..Options::default() }));
            }
        }
        questions
    }

    /// Checks compared views: the answers to [`questions`](Budget::questions).
    pub fn check_views(&self, views: &[&View]) -> Checked {
        let mut verdict = Checked::default();
        for limit in &self.limits {
            let kind = match limit.place() {
                LimitTarget::Model | LimitTarget::Scope => ViewKind::Scope,
                LimitTarget::Op => ViewKind::Op,
                LimitTarget::Line => ViewKind::Code,
            };
            match views.iter().find(|view| view.kind == kind).and_then(|view| found(view, limit)) {
                Some(found) => verdict.judge(limit, found),
                None => verdict.unchecked.push(format!("{}: the files do not say", limit.name())),
            }
        }
        verdict
    }
}

impl Checked {
    fn judge(&mut self, limit: &Limit, found: Found) {
        let Some(most) = limit.most.number(found.before) else {
            self.unchecked.push(format!("{}: a growth needs something to compare with", limit.name()));
            return;
        };
        if found.after <= most {
            return;
        }
        let is_noisy = matches!(limit.most, Allowance::Growth(_)) && limit.metric.info().unit == Unit::Micros;
        match found.stands_out {
            Some(false) if is_noisy => {}
            None if is_noisy => {
                let why =
                    "it is exceeded, but too few steps say whether that is noise; record five or more on each side";
                self.unchecked.push(format!("{}: {why}", limit.name()));
            }
            _ => self.over.push(limit.over(found.before, found.after, most)),
        }
    }
}

/// The figures of a whole cost, or of a part of it.
fn figures(cost: &Cost, part: Option<&Part>) -> Figures {
    match part {
        None => cost.figures,
        Some(Part { place: LimitTarget::Op, patterns, .. }) => {
            let matching = cost.op_types.iter().filter(|op| patterns.matches(&op.op));
            matching.fold(Figures::default(), |sum, op| sum.plus(&op.figures))
        }
        Some(part) => matching(cost, &part.patterns),
    }
}

/// The sum of the scopes that match by their own name or by that in the graph; a scope within a matching one is part of it.
fn matching(cost: &Cost, patterns: &Patterns) -> Figures {
    let mut inside = vec![false; cost.scopes.len()];
    let mut sum = Figures::default();
    for (at, scope) in cost.scopes.iter().enumerate().skip(1) {
        inside[at] = inside[scope.parent];
        if !inside[at] && (patterns.matches(&scope.name) || patterns.matches(&scope.path)) {
            inside[at] = true;
            sum = sum.plus(&scope.total);
        }
    }
    sum
}

/// A figure of a comparison: that of the root, or the sum of matching rows; a row within a matching one is part of it.
fn found(view: &View, limit: &Limit) -> Option<Found> {
    let compared = view.compared()?;
    let metric = limit.metric;
    if !compared.after.knows(metric) {
        return None;
    }
    let knows_before = compared.before.knows(metric);
    let judged = |status: Status| match status {
        Status::Differs => None,
        status => Some(status.stands_out()),
    };
    let number = |row: &crate::view::VisibleRow, is_before| {
        let n = view.side_total(metric, row, is_before);
        Amount { n, parts: view.parts(metric) }.rounded()
    };
    let rows = view.rows();
    let Some(part) = &limit.part else {
        if metric == Metric::PeakBytes {
            // The sum of what ops hold is not what is held at one time.
            let peak = |view: &View| view.model.peaks.largest().map(|(_, bytes)| bytes);
            let after = peak(&compared.after)?;
            return Some(Found { before: peak(&compared.before), after, stands_out: Some(true) });
        }
        let root = rows.first()?;
        let before = knows_before.then(|| number(root, true));
        return Some(Found { before, after: number(root, false), stands_out: judged(compared.status(root)) });
    };
    let mut inside = vec![false; rows.len()];
    let (mut before, mut after, mut stands_out) = (0_i64, 0_i64, Some(false));
    for (i, row) in rows.iter().enumerate().skip(1) {
        inside[i] = inside[row.parent];
        if inside[i] || !part.patterns.matches(view.name(row)) {
            continue;
        }
        inside[i] = true;
        before = before.saturating_add(number(row, true));
        after = after.saturating_add(number(row, false));
        stands_out = match (stands_out, judged(compared.status(row))) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (None, _) | (_, None) => None,
            _ => Some(false),
        };
    }
    Some(Found { before: knows_before.then_some(before), after, stands_out })
}
