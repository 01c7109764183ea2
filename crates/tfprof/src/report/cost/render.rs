//! A cost as tables for people, in plain text, Markdown or HTML.

use crate::error::{OneLine, Spelling};
use crate::metric::{Metric, Unit};
use crate::render::fit;
use crate::render::html::{self, Container, Grid};
use crate::render::markup::{self, Xml};
use crate::report::budget::{self, Over};
use crate::report::cost::baseline::Change;
pub use crate::report::cost::json::write_json;
use crate::report::cost::{COLUMNS, Cost, Linear, Scope, Shared, UnknownType};
use crate::units;
use std::cmp::Reverse;
use std::io::{self, Write};

/// The most rows of a table.
const ROWS: usize = 12;

/// A cost, compared with a budget and with a baseline if there are any.
#[derive(Debug)]
pub struct Report<'a> {
    pub cost: &'a Cost,
    /// Exceeded limits; None if no limit was set.
    pub over: Option<Vec<Over>>,
    /// The name of the baseline, and the differences from it.
    pub changes: Option<(&'a str, Vec<Change>)>,
    /// How to write the options that fix something.
    pub spelling: Spelling,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style<'a> {
    /// On a terminal of this width, if it is one.
    Text(Option<usize>),
    Markdown,
    /// A page or a cell, with its heading.
    Html(&'a str, Container<'a>),
}

impl Style<'_> {
    /// The most rows of a table; a page has them all.
    fn most_rows(self) -> usize {
        match self {
            Style::Html(_, container) => container.most_rows(),
            Style::Text(_) | Style::Markdown => ROWS,
        }
    }
}

/// Writes tables.
pub fn write_tables(report: &Report<'_>, style: Style<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Style::Html(title, container) = style else { return write_parts_of(report, style, out) };
    html::begin(title, container, out)?;
    write_parts_of(report, style, out)?;
    html::end(container, out)
}

fn write_parts_of(report: &Report<'_>, style: Style<'_>, out: &mut dyn Write) -> io::Result<()> {
    let cost = report.cost;
    write_facts(cost, style, out)?;
    if let Some((name, changes)) = &report.changes {
        heading(&format!("difference from {name}"), style, out)?;
        write_changes(changes, style, out)?;
    } else {
        write_layers(cost, style, out)?;
    }
    if !cost.unknown.is_empty() {
        heading("not known", style, out)?;
        let row = |unknown: &UnknownType| vec![unknown.op.clone(), unknown.nodes.to_string(), unknown.why.to_owned()];
        let rows: Vec<_> = cost.unknown.iter().take(style.most_rows()).map(row).collect();
        table(&["op type", "nodes", "why"], &rows, style, out)?;
        more(cost.unknown.len(), "op types", style, out)?;
    }
    if !cost.missing.is_empty() {
        heading("shapes that are missing", style, out)?;
        let rows: Vec<_> = cost
            .missing
            .iter()
            .take(style.most_rows())
            .map(|missing| vec![missing.node.clone(), missing.text(report.spelling)])
            .collect();
        table(&["node", "why"], &rows, style, out)?;
    }
    match &report.over {
        None => Ok(()),
        Some(over) if over.is_empty() => {
            heading("budget", style, out)?;
            line("all limits are kept", style, out)
        }
        Some(over) => {
            heading("over budget", style, out)?;
            let has_before = over.iter().any(|over| over.before.is_some());
            let rows: Vec<_> = over.iter().map(|over| budget::render::cells(over, has_before)).collect();
            table(&budget::render::head(has_before), &rows, style, out)
        }
    }
}

fn write_facts(cost: &Cost, style: Style<'_>, out: &mut dyn Write) -> io::Result<()> {
    let count = |n| units::text(Unit::Count, n);
    let unknown = cost.get(Metric::UnknownOps);
    let mut rows = Vec::new();
    let mut fact = |name: &str, value: String| rows.push(vec![name.to_owned(), value]);
    let parameters = cost.get(Metric::Parameters);
    let mut kinds = Vec::new();
    if let Some(trainable) = cost.trainable.filter(|_| parameters > 0) {
        kinds.push(format!("{} trainable", count(trainable)));
        kinds.push(format!("{} other", count(parameters - trainable)));
    }
    for of_type in &cost.by_dtype {
        kinds.push(format!("{} of {}", units::text(Unit::Bytes, of_type.bytes), of_type.dtype));
    }
    fact("parameters", with_details(&both(Unit::Count, parameters), &kinds));
    if cost.slots > 0 {
        fact("optimizer state", format!("{} elements, which are no parameters", count(cost.slots)));
    }
    for (name, metric, per_batch) in [
        ("FLOPs", Metric::FloatOps, cost.per_batch.float_ops),
        ("multiply-adds", Metric::Macs, cost.per_batch.macs),
        ("bytes read, written", Metric::IoBytes, cost.per_batch.io_bytes),
    ] {
        let unit = metric.info().unit;
        let n = cost.get(metric);
        let value = match (metric, unknown) {
            (Metric::FloatOps, 1..) => {
                let ops = if unknown == 1 { "op" } else { "ops" };
                format!("≥ {} flops, {unknown} {ops} unknown", units::text(unit, n))
            }
            (_, 1..) => format!("≥ {}", both(unit, n)),
            _ => both(unit, n),
        };
        fact(name, with_details(&value, &batch(cost, per_batch, unit)));
    }
    let coverable = cost.nodes.saturating_sub(cost.data_dependent);
    let share = if coverable > 0 { 100.0 * cost.covered() as f64 / coverable as f64 } else { 100.0 };
    let depend = match cost.data_dependent {
        0 => String::new(),
        1 => "; the shapes of 1 more depend on data".to_owned(),
        n => format!("; the shapes of {n} more depend on data"),
    };
    fact("covered", format!("{} of {coverable} nodes ({share:.2}%){depend}", cost.covered()));
    match style {
        Style::Markdown => table(&["", "cost"], &rows, style, out),
        Style::Text(_) => rows.iter().try_for_each(|row| writeln!(out, "{:21}{}", row[0], OneLine(&row[1]))),
        Style::Html(..) => {
            out.write_all(b"<table class=\"facts\"><tbody>\n")?;
            let row = |row: &Vec<String>| writeln!(out, "<tr><td>{}</td><td>{}</td></tr>", Xml(&row[0]), Xml(&row[1]));
            rows.iter().try_for_each(row)?;
            out.write_all(b"</tbody></table>\n")
        }
    }
}

/// A number as a function of the batch size, if the model leaves that open.
fn batch(cost: &Cost, linear: Option<Linear>, unit: Unit) -> Vec<String> {
    let Some(batch) = cost.batch else { return Vec::new() };
    let formula = match linear {
        None => "not linear in the batch".to_owned(),
        Some(Linear { constant: 0, per_element }) => format!("{}·B", units::text(unit, per_element)),
        Some(Linear { constant, per_element: 0 }) => units::text(unit, constant),
        Some(Linear { constant, per_element }) => {
            format!("{} + {}·B", units::text(unit, constant), units::text(unit, per_element))
        }
    };
    vec![format!("batch {batch}"), formula]
}

fn with_details(value: &str, details: &[String]) -> String {
    if details.is_empty() { value.to_owned() } else { format!("{value}: {}", details.join(", ")) }
}

/// The layers in one table or, if it would not show them all, the first ones by FLOPs and by parameters.
fn write_layers(cost: &Cost, style: Style<'_>, out: &mut dyn Write) -> io::Result<()> {
    let parts = cost.parts();
    if parts.is_empty() {
        return Ok(());
    }
    let metrics = [Metric::FloatOps, Metric::Parameters];
    if parts.len() <= style.most_rows() {
        write_parts(cost, "by layer", metrics, parts.iter().collect(), style, out)?;
    } else {
        let parts_of = |metric| parts.iter().filter(|scope| scope.total.get(metric) > 0).collect();
        let [flops, parameters] = metrics;
        write_parts(cost, "FLOPs by layer", metrics, parts_of(flops), style, out)?;
        write_parts(cost, "parameters by layer", [parameters, flops], parts_of(parameters), style, out)?;
    }
    if !cost.prefix.is_empty() {
        let inner = cost.prefix.strip_prefix(&cost.around).filter(|_| !cost.around.is_empty()).unwrap_or_default();
        let gap = if matches!(style, Style::Html(..)) { "" } else { "\n" };
        match inner.strip_prefix('/') {
            None => line(&format!("{gap}names leave out {}/", OneLine(&cost.prefix)), style, out)?,
            Some(inner) => {
                let (around, inner) = (OneLine(&cost.around), OneLine(inner));
                line(&format!("{gap}names leave out {around}/ and {inner}/ within it"), style, out)?;
            }
        }
    }
    if !cost.shared.is_empty() {
        heading("shared parameters", style, out)?;
        let row = |shared: &Shared| vec![shared.name.clone(), shared.readers.join(", ")];
        let rows: Vec<_> = cost.shared.iter().take(style.most_rows()).map(row).collect();
        table(&["variable", "also read in"], &rows, style, out)?;
        more(cost.shared.len(), "variables", style, out)?;
    }
    Ok(())
}

/// A table of layers, the largest first, with the shares of the first metric. Columns that are 0 everywhere are left out.
fn write_parts(
    cost: &Cost,
    title: &str,
    [metric, second]: [Metric; 2],
    mut parts: Vec<&Scope<'_>>,
    style: Style<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    if parts.is_empty() {
        return Ok(());
    }
    parts.sort_by_key(|scope| (Reverse(scope.total.get(metric)), Reverse(scope.total.get(second))));
    heading(title, style, out)?;
    let whole = cost.get(metric);
    let mut columns = vec![metric, second];
    columns.extend(if metric == Metric::FloatOps { &COLUMNS[2..] } else { &[] });
    columns.retain(|metric| cost.get(*metric) != 0);
    let share = |scope: &Scope<'_>| 100.0 * scope.total.get(metric) as f64 / whole.max(1) as f64;
    let row = |scope: &&Scope<'_>| {
        let mut row = vec![scope.name.clone().into_owned()];
        for column in &columns {
            row.push(units::text(column.info().unit, scope.total.get(*column)));
            row.extend((*column == metric).then(|| format!("{:.2}%", share(scope))));
        }
        row
    };
    let rows: Vec<_> = parts.iter().take(style.most_rows()).map(row).collect();
    let mut header = vec!["layer"];
    for column in &columns {
        header.push(HEADER[1 + COLUMNS.iter().position(|other| other == column).unwrap_or_default()]);
        header.extend((*column == metric).then_some("share"));
    }
    table(&header, &rows, style, out)?;
    more(parts.len(), "layers", style, out)
}

const HEADER: [&str; COLUMNS.len() + 1] = ["layer", "params", "flops", "macs", "bytes", "unknown"];

fn write_changes(changes: &[Change], style: Style<'_>, out: &mut dyn Write) -> io::Result<()> {
    let row = |(at, change): (usize, &Change)| {
        let mut row = vec![if at == 0 { "the whole model".to_owned() } else { change.label() }];
        let difference = change.after.minus(&change.before);
        for metric in COLUMNS {
            let text = |n: i64| units::text(metric.info().unit, n);
            row.push(match difference.get(metric) {
                0 => "=".to_owned(),
                more @ 1.. => format!("+{}", text(more)),
                less => format!("-{}", text(less.saturating_neg())),
            });
        }
        row
    };
    let rows: Vec<_> = changes.iter().enumerate().take(style.most_rows() + 1).map(row).collect();
    table(&HEADER, &rows, style, out)?;
    more(changes.len() - 1, "layers", style, out)
}

/// Counts the rows that a table leaves out.
fn more(all: usize, what: &str, style: Style<'_>, out: &mut dyn Write) -> io::Result<()> {
    match all.saturating_sub(style.most_rows()) {
        0 => Ok(()),
        1 => line(&format!("and 1 more {}", what.strip_suffix('s').unwrap_or(what)), style, out),
        left => line(&format!("and {left} more {what}"), style, out),
    }
}

pub(in crate::report) fn line(text: &str, style: Style<'_>, out: &mut dyn Write) -> io::Result<()> {
    match style {
        Style::Text(_) => writeln!(out, "{text}"),
        Style::Markdown => writeln!(out, "{}", text.replace('<', "&lt;")),
        Style::Html(..) => writeln!(out, "<div class=\"note\">{}</div>", Xml(text)),
    }
}

pub(in crate::report) fn heading(text: &str, style: Style<'_>, out: &mut dyn Write) -> io::Result<()> {
    match style {
        Style::Text(_) => writeln!(out, "\n{}", OneLine(text)),
        Style::Markdown => writeln!(out, "\n**{}**\n", markup::cell(text)),
        Style::Html(..) => writeln!(out, "<div class=\"title part\">{}</div>", Xml(text)),
    }
}

/// A table with a header; numbers are right-aligned, except in the first column.
pub(in crate::report) fn table(
    header: &[&'static str],
    rows: &[Vec<String>],
    style: Style<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let is_number = |column: usize| {
        column > 0 && rows.iter().all(|row| row[column].starts_with(|c: char| c.is_ascii_digit() || "+-=≥".contains(c)))
    };
    if style == Style::Markdown {
        writeln!(out, "| {} |", header.join(" | "))?;
        let rule = |column| if is_number(column) { "---:" } else { "---" };
        writeln!(out, "|{}|", (0..header.len()).map(rule).collect::<Vec<_>>().join("|"))?;
        let cell = |text: &String| markup::cell(text);
        return rows
            .iter()
            .try_for_each(|row| writeln!(out, "| {} |", row.iter().map(cell).collect::<Vec<_>>().join(" | ")));
    }
    if let Style::Html(_, container) = style {
        let is_number = (0..header.len()).map(is_number).collect();
        let grid = Grid { head: header.to_vec(), rows: rows.to_vec(), is_number, foot: String::new() };
        return html::write_table(&grid, container, out);
    }
    let width = if let Style::Text(width) = style { width } else { None };
    fit::write_table(header, rows, is_number, width, out)
}

/// A rounded number and, if it is large, the exact one.
fn both(unit: Unit, n: i64) -> String {
    if n < 1000 { units::text(unit, n) } else { format!("{} ({})", units::text(unit, n), units::grouped(n)) }
}
