//! The cells of a comparison: numbers of both sides, and a bar to either side of the middle for the change.

use super::{Styled, Xml, columns_with_details, legend};
use crate::metric::Metric;
use crate::render::compare::{signed, signed_percent, summary};
use crate::render::text;
use crate::view::columns::{Content, Number};
use crate::view::compare::{Compared, Figure, Status, size_of};
use crate::view::{Side, View, VisibleRow};
use std::io::{self, Write};

/// A figure that a page shows.
#[derive(Clone, Copy, Debug)]
pub struct ComparedFigure {
    pub figure: Figure,
    pub side: Side,
    pub metric: Metric,
}

impl ComparedFigure {
    pub fn width(self) -> &'static str {
        match self.figure {
            Figure::Difference => "150px",
            Figure::Percent => "84px",
            _ => "88px",
        }
    }

    pub fn title(self) -> String {
        let own = if self.side == Side::SelfOnly { "self " } else { "" };
        match self.figure {
            Figure::Before => format!("{own}{} before", legend(self.metric)),
            Figure::Difference => format!("{own}change"),
            Figure::Percent => format!("{own}%"),
            figure => format!("{own}{}", figure.word()),
        }
    }
}

/// The columns of a comparison: those of totals, and the change of the row alone.
pub fn columns(view: &View) -> Vec<Styled> {
    let chain = view.rules().chain;
    let shows = |figure: Figure, side: Side, metric: Metric| {
        let total = matches!(figure, Figure::Before | Figure::After | Figure::Difference | Figure::Percent);
        let own = figure == Figure::Difference && !chain;
        view.selection.has(metric) && (if side == Side::Total { total } else { own })
    };
    let mut numbers: Vec<ComparedFigure> = Vec::new();
    for column in view.columns() {
        if let Content::Figure(figure, side, metric) = column.content
            && shows(figure, side, metric)
        {
            numbers.push(ComparedFigure { figure, side, metric });
        }
    }
    // By metric, its totals first.
    numbers.sort_by_key(|shown| (shown.metric, shown.side == Side::SelfOnly));
    columns_with_details(view, numbers)
}

/// A line for each side, and how many rows differ.
pub fn write_head(view: &View, compared: &Compared, out: &mut dyn Write) -> io::Result<()> {
    for line in summary(view, compared) {
        writeln!(out, "<div class=\"note\">{}</div>", Xml(&line))?;
    }
    Ok(())
}

pub fn class(status: Status) -> &'static str {
    match status {
        Status::Same | Status::WithinNoise => " quiet",
        Status::Added => " added",
        Status::Removed => " removed",
        Status::Changed | Status::Differs => "",
    }
}

pub fn write_cell(
    view: &View,
    shown: ComparedFigure,
    row: &VisibleRow,
    largest: f64,
    out: &mut dyn Write,
) -> io::Result<()> {
    let ComparedFigure { figure, side, metric } = shown;
    let number = view.figure(figure, side, metric, row);
    let quiet = view.compared().map_or("", |compared| class(compared.status(row)));
    let text = match (figure, number) {
        (_, Number::Missing) => "–".to_owned(),
        (Figure::Percent, Number::Real(percent)) => signed_percent(percent),
        (Figure::Difference, number) => signed(number, metric),
        (_, number) => {
            let mut out = Vec::new();
            text::push_number(number, metric, &mut out);
            String::from_utf8_lossy(&out).into_owned()
        }
    };
    if figure != Figure::Difference || side == Side::SelfOnly {
        return write!(out, "<span class=\"c s{quiet}\">{}</span>", Xml(&text));
    }
    let share = 50.0 * (size_of(number) / largest.max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
    let grew = !text.starts_with('-');
    let (from, to) = if grew { (50.0, 50.0 + share) } else { (50.0 - share, 50.0) };
    let way = if grew { "up" } else { "down" };
    write!(out, "<span class=\"c d {way}{quiet}\" style=\"--from:{from:.1}%;--to:{to:.1}%\">{}</span>", Xml(&text))
}
