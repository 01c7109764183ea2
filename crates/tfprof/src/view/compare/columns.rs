//! The columns that only a comparison has: each number before and after, its difference, and how it is judged.

use super::{Compared, JoinedRow};
use crate::metric::{Metric, MetricSet, Source, Table};
use crate::units::Amount;
use crate::view::columns::{Column, Content, Kind, Number, Value};
use crate::view::{Side, View, VisibleRow};

/// A number of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Figure {
    Before,
    After,
    Difference,
    /// The difference in percent of the number before.
    Percent,
    /// The interval of the change, in percent.
    Low,
    High,
}

impl Figure {
    pub const ALL: [Figure; 6] =
        [Figure::Before, Figure::After, Figure::Difference, Figure::Percent, Figure::Low, Figure::High];

    pub const fn word(self) -> &'static str {
        match self {
            Figure::Before => "before",
            Figure::After => "after",
            Figure::Difference => "difference",
            Figure::Percent => "percent",
            Figure::Low => "low",
            Figure::High => "high",
        }
    }

    const fn about(self) -> &'static str {
        match self {
            Figure::Before => "the number on the first side",
            Figure::After => "the number on the second side",
            Figure::Difference => "after minus before",
            Figure::Percent => "the difference in percent of the number before",
            Figure::Low => "the least change that the steps allow, in percent (95 %)",
            Figure::High => "the largest change that the steps allow, in percent (95 %)",
        }
    }
}

impl View {
    /// The columns of a comparison, after those that say where a row is.
    pub(in crate::view) fn push_compared(&self, compared: &Compared, columns: &mut Vec<Column>) {
        let column = |name: &'static str, content, about| Column::optional(name, Kind::Text, content, about);
        columns.push(Column {
            nullable: false,
            ..column("status", Content::Status, "changed, added, removed, differs, noise or same")
        });
        columns.push(column("match", Content::Match, "how both sides found each other: name, rename or guess"));
        columns.push(column("before_name", Content::BeforeName, "the name on the first side, if it was another"));
        for figure in Figure::ALL {
            let is_interval = matches!(figure, Figure::Low | Figure::High);
            let metrics: MetricSet = if is_interval { compared.tested() } else { self.metrics() };
            for side in [Side::SelfOnly, Side::Total] {
                if is_interval && side == Side::SelfOnly {
                    continue;
                }
                columns.extend(metrics.iter().map(|metric| self.figure_column(figure, side, metric)));
            }
        }
    }

    fn figure_column(&self, figure: Figure, side: Side, metric: Metric) -> Column {
        let info = metric.info();
        let is_percent = matches!(figure, Figure::Percent | Figure::Low | Figure::High);
        Column {
            name: format!("{}_{}_{}", figure.word(), side.word(), info.key).into(),
            kind: if is_percent || info.is_ratio() || self.parts(metric) > 1 { Kind::Real } else { Kind::Int },
            unit: (!is_percent).then_some(info.unit),
            nullable: true,
            about: figure.about(),
            content: Content::Figure(figure, side, metric),
        }
    }

    /// A number of a comparison; missing if the side has no such row, or its files do not say.
    pub fn figure(&self, figure: Figure, side: Side, metric: Metric, row: &VisibleRow) -> Number {
        let Some(compared) = self.compared() else { return Number::Missing };
        let joined = &compared.rows[row.row];
        let before = || compared.side_number(self, true, side, metric, row);
        let after = || compared.side_number(self, false, side, metric, row);
        let interval = |pick: fn((f64, f64)) -> f64| {
            let interval = compared.interval(metric, row).filter(|_| side == Side::Total);
            interval.map_or(Number::Missing, |interval| Number::Real(100.0 * (pick(interval) - 1.0)))
        };
        match figure {
            Figure::Before => before(),
            Figure::After => after(),
            Figure::Low => interval(|(low, _)| low),
            Figure::High => interval(|(_, high)| high),
            Figure::Difference => joined.difference(before(), after()),
            Figure::Percent => percent(before(), after()),
        }
    }

    /// Before, after, the difference and its percentage at once.
    pub(crate) fn figures(&self, side: Side, metric: Metric, row: &VisibleRow) -> [Number; 4] {
        let Some(compared) = self.compared() else { return [Number::Missing; 4] };
        let [before, after] = [true, false].map(|is_before| compared.side_number(self, is_before, side, metric, row));
        [before, after, compared.rows[row.row].difference(before, after), percent(before, after)]
    }

    /// A text of a comparison.
    pub(in crate::view) fn compared_text(&self, content: Content, row: &VisibleRow) -> Value<'_> {
        let Some(compared) = self.compared() else { return Value::Missing };
        let text = match content {
            Content::Status => Some(compared.status(row).word()),
            Content::Match => compared.matched(row).map(crate::pairing::Match::word),
            Content::BeforeName => compared.before_name(row),
            _ => None,
        };
        text.map_or(Value::Missing, |text| Value::Text(text.into()))
    }
}

impl Compared {
    fn side_number(&self, view: &View, is_before: bool, side: Side, metric: Metric, row: &VisibleRow) -> Number {
        let joined = &self.rows[row.row];
        let (at, of) = if is_before { (joined.before, &self.before) } else { (joined.after, &self.after) };
        let Some(at) = at else { return Number::Missing };
        // A row may be of unknown cost, which only its own side can tell.
        if !of.knows(metric) || of.is_missing(side, metric, &of.rows()[at as usize]) {
            return Number::Missing;
        }
        let table: &Table = match (is_before, side) {
            (true, Side::SelfOnly) => &self.before_self,
            (true, _) => &self.before_totals,
            (false, side) => view.table(side),
        };
        if let Source::Ratio { numerator, denominator, .. } = metric.info().source {
            let parts = view.parts(denominator) as f64 / view.parts(numerator) as f64;
            return table.ratio(metric, row.row).map_or(Number::Missing, |ratio| Number::Real(ratio * parts));
        }
        match (table.get(metric, row.row), view.parts(metric)) {
            (n, 1) => Number::Int(n),
            (n, parts) => Number::Decimal(Amount { n, parts }),
        }
    }
}

impl JoinedRow {
    /// After minus before. A row of one side differs by all of it.
    fn difference(&self, before: Number, after: Number) -> Number {
        match (self.before, self.after) {
            (None, _) => after,
            (_, None) => negated(before),
            _ => difference(before, after),
        }
    }
}

/// The difference in percent of the number before.
fn percent(before: Number, after: Number) -> Number {
    match (real(before), real(after)) {
        (Some(old), Some(new)) if old != 0.0 => Number::Real(100.0 * (new - old) / old.abs()),
        _ => Number::Missing,
    }
}

fn negated(number: Number) -> Number {
    match number {
        Number::Missing => Number::Missing,
        Number::Int(n) => Number::Int(n.saturating_neg()),
        Number::Decimal(Amount { n, parts }) => Number::Decimal(Amount { n: n.saturating_neg(), parts }),
        Number::Real(x) => Number::Real(-x),
    }
}

fn difference(before: Number, after: Number) -> Number {
    match (before, after) {
        (Number::Int(a), Number::Int(b)) => Number::Int(b.saturating_sub(a)),
        (Number::Decimal(a), Number::Decimal(b)) => {
            Number::Decimal(Amount { n: b.n.saturating_sub(a.n), parts: b.parts })
        }
        (Number::Real(a), Number::Real(b)) => Number::Real(b - a),
        _ => Number::Missing,
    }
}

/// The size of a number, whatever its sign; 0 if it is missing.
pub fn size_of(number: Number) -> f64 {
    real(number).map_or(0.0, f64::abs)
}

/// A number as a real one.
fn real(number: Number) -> Option<f64> {
    match number {
        Number::Missing => None,
        Number::Int(n) => Some(n as f64),
        Number::Decimal(Amount { n, parts }) => Some(n as f64 / parts as f64),
        Number::Real(x) => Some(x),
    }
}
