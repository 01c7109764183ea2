//! What a model costs as tables for people, in plain text or Markdown, and as JSON for programs.

use crate::json::{write_string, write_warning};
use crate::metric::{Metric, Unit};
use crate::report::cost::baseline::Change;
use crate::report::cost::budget::Over;
use crate::report::cost::{COLUMNS, Cost, Figures, Linear, Scope, get};
use crate::units;
use std::io::{self, Write};

/// How many rows of a kind are shown to people.
const ROWS: usize = 12;

/// A cost, and what was asked besides.
#[derive(Debug)]
pub struct Report<'a> {
    pub cost: &'a Cost,
    /// Limits that are not kept; none if no limit was set.
    pub over: Option<Vec<Over>>,
    /// How it differs from a baseline, whose name comes first.
    pub changes: Option<(&'a str, Vec<Change>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Text,
    Markdown,
}

/// Writes tables.
pub fn write_tables(report: &Report<'_>, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let cost = report.cost;
    write_facts(cost, style, out)?;
    if let Some((name, changes)) = &report.changes {
        heading(&format!("difference from {name}"), style, out)?;
        write_changes(changes, style, out)?;
    } else {
        write_parts(cost, "float operations by scope", Metric::FloatOps, style, out)?;
        write_parts(cost, "parameters by scope", Metric::Parameters, style, out)?;
    }
    if !cost.unknown.is_empty() {
        heading("not known", style, out)?;
        let row = |unknown: &crate::report::cost::UnknownType| {
            vec![unknown.op.clone(), unknown.count.to_string(), unknown.why.to_owned()]
        };
        let rows: Vec<_> = cost.unknown.iter().take(ROWS).map(row).collect();
        table(&["op type", "nodes", "why"], &rows, style, out)?;
        more(cost.unknown.len(), ROWS, "op types", out)?;
    }
    if !cost.missing.is_empty() {
        heading("shapes that are missing", style, out)?;
        let rows: Vec<_> =
            cost.missing.iter().take(ROWS).map(|missing| vec![missing.node.clone(), missing.why.clone()]).collect();
        table(&["node", "why"], &rows, style, out)?;
    }
    match &report.over {
        None => Ok(()),
        Some(over) if over.is_empty() => {
            heading("budget", style, out)?;
            writeln!(out, "all limits are kept")
        }
        Some(over) => {
            heading("over budget", style, out)?;
            let row = |over: &Over| {
                let scope = if over.scope.is_empty() { "the whole model" } else { &over.scope };
                let excess = exact(over.found.saturating_sub(over.most));
                vec![scope.to_owned(), over.metric.info().key.to_owned(), exact(over.found), exact(over.most), excess]
            };
            table(
                &["scope", "metric", "found", "limit", "over by"],
                &over.iter().map(row).collect::<Vec<_>>(),
                style,
                out,
            )
        }
    }
}

fn write_facts(cost: &Cost, style: Style, out: &mut dyn Write) -> io::Result<()> {
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
    for (dtype, _, bytes) in &cost.by_dtype {
        kinds.push(format!("{} of {dtype}", units::text(Unit::Bytes, *bytes)));
    }
    fact("parameters", with_details(&both(Unit::Count, parameters), &kinds));
    if cost.slots > 0 {
        fact("optimizer state", format!("{} elements, which are no parameters", count(cost.slots)));
    }
    for (at, (name, metric)) in [
        ("float operations", Metric::FloatOps),
        ("multiply-adds", Metric::Macs),
        ("bytes read, written", Metric::IoBytes),
    ]
    .into_iter()
    .enumerate()
    {
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
        fact(name, with_details(&value, &batch(cost, cost.per_batch[at].as_ref(), unit)));
    }
    let share = if cost.nodes > 0 { 100.0 * cost.covered() as f64 / cost.nodes as f64 } else { 100.0 };
    fact("covered", format!("{} of {} nodes ({share:.2}%)", cost.covered(), cost.nodes));
    match style {
        Style::Markdown => table(&["", "cost"], &rows, style, out),
        Style::Text => rows.iter().try_for_each(|row| writeln!(out, "{:21}{}", row[0], row[1])),
    }
}

/// How a number depends on the batch, if it was left open.
fn batch(cost: &Cost, linear: Option<&Linear>, unit: Unit) -> Vec<String> {
    let Some(batch) = cost.batch else { return Vec::new() };
    let formula = match linear {
        None => "not linear in the batch".to_owned(),
        Some(Linear { constant: 0, per_element }) => format!("{}·B", units::text(unit, *per_element)),
        Some(Linear { constant, per_element: 0 }) => units::text(unit, *constant),
        Some(Linear { constant, per_element }) => {
            format!("{} + {}·B", units::text(unit, *constant), units::text(unit, *per_element))
        }
    };
    vec![format!("batch {batch}"), formula]
}

fn with_details(value: &str, details: &[String]) -> String {
    if details.is_empty() { value.to_owned() } else { format!("{value}: {}", details.join(", ")) }
}

fn write_parts(cost: &Cost, title: &str, metric: Metric, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let parts = cost.parts(metric);
    if parts.is_empty() {
        return Ok(());
    }
    heading(title, style, out)?;
    // What all of them begin with is said once.
    let around = common_scope(&parts);
    let whole = cost.get(metric).max(1);
    let row = |scope: &&Scope| {
        let name = if around.is_empty() { scope.name.clone() } else { format!("…{}", &scope.name[around.len()..]) };
        let n = get(&scope.total, metric);
        let mut row =
            vec![name, units::text(metric.info().unit, n), format!("{:.2}%", 100.0 * n as f64 / whole as f64)];
        if metric == Metric::FloatOps {
            row.extend(figures(&scope.total).skip(2));
        }
        row
    };
    let rows: Vec<_> = parts.iter().take(ROWS).map(row).collect();
    match metric {
        Metric::FloatOps => table(&["scope", "flops", "share", "macs", "bytes", "unknown"], &rows, style, out)?,
        _ => table(&["scope", "params", "share"], &rows, style, out)?,
    }
    if !around.is_empty() {
        writeln!(out, "{}… is {around}", if style == Style::Markdown { "\n" } else { "" })?;
    }
    more(parts.len(), ROWS, "scopes", out)
}

/// The scope that all of them lie in, if its name is long.
fn common_scope<'a>(parts: &[&'a Scope]) -> &'a str {
    const LONG: usize = 16;
    let [first, rest @ ..] = parts else { return "" };
    let mut common = first.name.rsplit_once('/').map_or("", |(scope, _)| scope);
    for part in rest {
        while !common.is_empty() && part.name.strip_prefix(common).is_none_or(|rest| !rest.starts_with('/')) {
            common = common.rsplit_once('/').map_or("", |(scope, _)| scope);
        }
    }
    if common.len() >= LONG { common } else { "" }
}

const HEADER: [&str; COLUMNS.len() + 1] = ["scope", "params", "flops", "macs", "bytes", "unknown"];

fn figures(figures: &Figures) -> impl Iterator<Item = String> + '_ {
    COLUMNS.iter().zip(figures).map(|(metric, n)| units::text(metric.info().unit, *n))
}

fn write_changes(changes: &[Change], style: Style, out: &mut dyn Write) -> io::Result<()> {
    let row = |(at, change): (usize, &Change)| {
        let mut row = vec![if at == 0 { "the whole model".to_owned() } else { change.name.clone() }];
        for (i, metric) in COLUMNS.iter().enumerate() {
            let (before, after) = (change.before[i], change.after[i]);
            let text = |n: i64| units::text(metric.info().unit, n);
            row.push(match after.saturating_sub(before) {
                0 => "=".to_owned(),
                more @ 1.. => format!("+{}", text(more)),
                less => format!("-{}", text(less.saturating_neg())),
            });
        }
        row
    };
    let rows: Vec<_> = changes.iter().enumerate().take(ROWS + 1).map(row).collect();
    table(&HEADER, &rows, style, out)?;
    more(changes.len(), ROWS + 1, "scopes", out)
}

fn more(all: usize, shown: usize, what: &str, out: &mut dyn Write) -> io::Result<()> {
    if all > shown { writeln!(out, "and {} more {what}", all - shown) } else { Ok(()) }
}

fn heading(text: &str, style: Style, out: &mut dyn Write) -> io::Result<()> {
    match style {
        Style::Text => writeln!(out, "\n{text}"),
        Style::Markdown => writeln!(out, "\n**{text}**\n"),
    }
}

/// Columns under their names: the first to the left, numbers to the right.
fn table(header: &[&str], rows: &[Vec<String>], style: Style, out: &mut dyn Write) -> io::Result<()> {
    let is_number = |column: usize| {
        column > 0 && rows.iter().all(|row| row[column].starts_with(|c: char| c.is_ascii_digit() || "+-=≥".contains(c)))
    };
    if style == Style::Markdown {
        writeln!(out, "| {} |", header.join(" | "))?;
        let rule = |column| if is_number(column) { "---:" } else { "---" };
        writeln!(out, "|{}|", (0..header.len()).map(rule).collect::<Vec<_>>().join("|"))?;
        let cell = |text: &String| text.replace('|', "\\|");
        return rows
            .iter()
            .try_for_each(|row| writeln!(out, "| {} |", row.iter().map(cell).collect::<Vec<_>>().join(" | ")));
    }
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([header[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let mut line = |cells: &[&str]| {
        let mut text = String::new();
        for (column, cell) in cells.iter().enumerate() {
            let width = widths[column];
            let gap = if column > 0 { "  " } else { "" };
            text += &if is_number(column) { format!("{gap}{cell:>width$}") } else { format!("{gap}{cell:width$}") };
        }
        writeln!(out, "{}", text.trim_end())
    };
    line(header)?;
    rows.iter().try_for_each(|row| line(&row.iter().map(String::as_str).collect::<Vec<_>>()))
}

/// A number for reading and, if it is large, the number itself.
fn both(unit: Unit, n: i64) -> String {
    if n < 1000 { units::text(unit, n) } else { format!("{} ({})", units::text(unit, n), exact(n)) }
}

/// `1,234,567`.
fn exact(n: i64) -> String {
    let digits = n.unsigned_abs().to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if n < 0 { format!("-{text}") } else { text }
}

/// Writes one object and a newline.
pub fn write_json(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let cost = report.cost;
    out.write_all(b"{\"version\":1,\"command\":\"cost\",\n\"warnings\":[")?;
    list(&cost.warnings, out, |warning, out| write_warning(warning, out))?;
    write!(out, "],\n\"parameters\":{},\"trainable_parameters\":", cost.get(Metric::Parameters))?;
    match cost.trainable {
        Some(trainable) => write!(out, "{trainable}")?,
        None => out.write_all(b"null")?,
    }
    write!(out, ",\"optimizer_state\":{},\"parameter_bytes\":{{", cost.slots)?;
    for (at, (dtype, _, bytes)) in cost.by_dtype.iter().enumerate() {
        write!(out, "{}\"{dtype}\":{bytes}", if at > 0 { "," } else { "" })?;
    }
    let [float_ops, macs, io_bytes] = [Metric::FloatOps, Metric::Macs, Metric::IoBytes].map(|metric| cost.get(metric));
    write!(out, "}},\n\"float_ops\":{float_ops},\"macs\":{macs},\"io_bytes\":{io_bytes},")?;
    let (nodes, covered, unknown) = (cost.nodes, cost.covered(), cost.get(Metric::UnknownOps));
    write!(out, "\n\"nodes\":{nodes},\"covered_nodes\":{covered},\"unknown_ops\":{unknown},\n\"batch\":")?;
    match cost.batch {
        Some(batch) => write!(out, "{batch}")?,
        None => out.write_all(b"null")?,
    }
    out.write_all(b",\"per_batch\":{")?;
    for (at, key) in ["float_ops", "macs", "io_bytes"].iter().enumerate() {
        write!(out, "{}\"{key}\":", if at > 0 { "," } else { "" })?;
        match cost.per_batch[at] {
            Some(Linear { constant, per_element }) => {
                write!(out, "{{\"constant\":{constant},\"per_element\":{per_element}}}")?;
            }
            None => out.write_all(b"null")?,
        }
    }
    out.write_all(b"},\n\"unknown_op_types\":[")?;
    list(&cost.unknown, out, |unknown, out| {
        out.write_all(b"{\"op\":")?;
        write_string(&unknown.op, out)?;
        write!(out, ",\"nodes\":{},\"why\":", unknown.count)?;
        write_string(unknown.why, out)?;
        out.write_all(b"}")
    })?;
    out.write_all(b"],\n\"missing_shapes\":[")?;
    list(&cost.missing, out, |missing, out| {
        out.write_all(b"{\"node\":")?;
        write_string(&missing.node, out)?;
        out.write_all(b",\"why\":")?;
        write_string(&missing.why, out)?;
        out.write_all(b"}")
    })?;
    out.write_all(b"],\n\"op_types\":[")?;
    list(&cost.op_types, out, |(op, nodes, figures), out| {
        out.write_all(b"{\"op\":")?;
        write_string(op, out)?;
        write!(out, ",\"nodes\":{nodes},")?;
        keys(figures, out)?;
        out.write_all(b"}")
    })?;
    out.write_all(b"],\n\"scopes\":[")?;
    let mut parts = cost.parts(Metric::FloatOps);
    parts.extend(cost.parts(Metric::Parameters));
    let mut seen = std::collections::HashSet::new();
    parts.retain(|scope| seen.insert(scope.name.as_str()));
    list(&parts, out, |scope, out| {
        out.write_all(b"{\"name\":")?;
        write_string(&scope.name, out)?;
        out.write_all(b",")?;
        keys(&scope.total, out)?;
        out.write_all(b"}")
    })?;
    out.write_all(b"]")?;
    if let Some((name, changes)) = &report.changes {
        out.write_all(b",\n\"baseline\":")?;
        write_string(name, out)?;
        out.write_all(b",\"changes\":[")?;
        list(changes, out, |change, out| {
            out.write_all(b"{\"name\":")?;
            write_string(&change.name, out)?;
            for (side, figures) in [("before", &change.before), ("after", &change.after)] {
                write!(out, ",\"{side}\":{{")?;
                keys(figures, out)?;
                out.write_all(b"}")?;
            }
            out.write_all(b"}")
        })?;
        out.write_all(b"]")?;
    }
    if let Some(over) = &report.over {
        out.write_all(b",\n\"over\":[")?;
        list(over, out, |over, out| {
            out.write_all(b"{\"scope\":")?;
            write_string(&over.scope, out)?;
            let (metric, found, most) = (over.metric.info().key, over.found, over.most);
            write!(out, ",\"metric\":\"{metric}\",\"found\":{found},\"limit\":{most}}}")
        })?;
        out.write_all(b"]")?;
    }
    out.write_all(b"}\n")
}

fn keys(figures: &Figures, out: &mut dyn Write) -> io::Result<()> {
    for (at, (metric, n)) in COLUMNS.iter().zip(figures).enumerate() {
        write!(out, "{}\"{}\":{n}", if at > 0 { "," } else { "" }, metric.info().key)?;
    }
    Ok(())
}

fn list<T>(
    items: &[T],
    out: &mut dyn Write,
    mut each: impl FnMut(&T, &mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    for (at, item) in items.iter().enumerate() {
        out.write_all(if at > 0 { b",\n" } else { b"\n" })?;
        each(item, out)?;
    }
    Ok(())
}
