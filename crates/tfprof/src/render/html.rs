//! An answer as HTML: a collapsible tree with bars, or tables. In a notebook cell it is free of scripts; as a page it
//! adds a heading, sorting and search (see `page.rs`).
//!
//! Browsers cannot show a million rows, so only the largest are written, with their ancestors; a note says how many are
//! left out, and where.

mod compare;
mod grid;
mod page;

use super::markup::{Xml, fit};
use super::{direction, nesting, tensor, text, theme};
use crate::error::Spelling;
use crate::metric::{DETAILS, Detail, Metric, Unit};
use crate::options::{OPTIONS, Options, Step, ViewKind};
use crate::pairing::Match;
use crate::units::Amount;
use crate::view::columns::{Column, Content, Number, Side};
use crate::view::compare::{Figure, size_of};
use crate::view::{View, VisibleRow};
pub use grid::{FINDING, Grid, write_grid, write_table};
pub use page::{Container, Page};
pub(crate) use page::{begin, end, write_command, write_prose};
use std::io::{self, Write};

/// Browsers stop nesting at some hundred levels.
const DEEPEST: usize = 150;
/// Deeper rows are not indented further.
const INDENTED: usize = 24;
/// Length limits in characters: a name, its tooltip, the values of a tensor.
const NAME: usize = 160;
const TOOLTIP: usize = 600;
const VALUES: usize = 1_000;
/// Up to this many rows, all are open at first; otherwise those with a large share, and only children.
const FEW: usize = 30;
const LARGE: f64 = 0.2;

pub fn write(view: &View, container: Container<'_>, out: &mut dyn Write) -> io::Result<()> {
    let about = view.kind.about().split_once("; ").map_or("", |(_, about)| about);
    let grouping = match view.kind {
        ViewKind::Scope => "by name scope",
        ViewKind::Graph => "along the graph",
        ViewKind::Op => "by operation type",
        ViewKind::Code => "by line of Python",
    };
    let metric = view.lead_metric().map_or("nodes", legend);
    let change = if view.compared().is_some() { "change of " } else { "" };
    begin(&format!("{change}{metric} {grouping}"), container, out)?;
    if let Some(compared) = view.compared() {
        compare::write_head(view, compared, out)?;
    }
    let tree = Tree::new(view, container.most_rows());
    write!(out, "<div class=\"note\">{}", Xml(about))?;
    write_question(view, out)?;
    out.write_all(b"</div>\n")?;
    let width: Vec<&str> = tree.columns.iter().map(|styled| styled.style.width()).collect();
    writeln!(
        out,
        "<div class=\"frame{}\"><div class=\"tree\" style=\"--columns:{};min-width:{}px\">",
        container.bounded(),
        if width.is_empty() { "0".to_owned() } else { width.join(" ") },
        280 + 115 * tree.columns.len(),
    )?;
    tree.write_head(out)?;
    tree.write_rows(out)?;
    out.write_all(b"</div></div>\n")?;
    let (shown, all) = (tree.shown.iter().filter(|shown| **shown).count(), view.rows().len());
    if shown < all {
        writeln!(
            out,
            "<div class=\"note\">{} of {} rows, the largest; ask for less (max_depth, start_name_regexes, min_…), or \
             write json or csv, which have all of them</div>",
            grouped(shown),
            grouped(all)
        )?;
    }
    let spelling = if container == Container::Cell { Spelling::Python } else { Spelling::CommandLine };
    for line in view.peaks() {
        writeln!(out, "<div class=\"note\">{}</div>", Xml(line))?;
    }
    if let Some(folded) = text::folded(view, spelling) {
        writeln!(out, "<div class=\"note\">{}</div>", Xml(&folded))?;
    }
    end(container, out)
}

/// Writes preformatted text.
pub fn write_text(title: &str, text: &str, container: Container<'_>, out: &mut dyn Write) -> io::Result<()> {
    begin(title, container, out)?;
    writeln!(out, "<pre>{}</pre>", Lines(text.trim_end()))?;
    end(container, out)
}

/// Writes the step and the options that differ from their defaults.
fn write_question(view: &View, out: &mut dyn Write) -> io::Result<()> {
    match (view.options.step, view.model.runs.steps().count()) {
        (_, 0) => {}
        (Step::At(step), _) => write!(out, " · step {step}")?,
        (Step::Average, 1) => write!(out, " · one step")?,
        (Step::Average, n) => write!(out, " · average of {} steps", grouped(n))?,
        (Step::From(first), n) => write!(out, " · average of {} steps from {first} on", grouped(n))?,
        (Step::All, n) => write!(out, " · sum of {} steps and of what lies in none", grouped(n))?,
    }
    let usual = Options::default();
    for option in OPTIONS.iter().filter(|option| !matches!(option.name, "output" | "step" | "select" | "max_depth")) {
        let value = option.show(&view.options);
        if value != option.show(&usual) {
            write!(out, " · <code>{} {}</code>", option.name, Xml(&fit(&value, NAME)))?;
        }
    }
    Ok(())
}

/// A column after the name: a column of the view, and its style.
struct Styled {
    column: Column,
    style: Style,
}

#[derive(Clone, Copy)]
enum Style {
    /// A number with a bar: the total, or in op view the number of the row alone.
    Bar(Metric),
    /// The number of the row alone.
    Own(Metric),
    /// A ratio, of which no row has a share.
    Ratio(Metric),
    /// In op view, the share of the whole.
    Share(Metric),
    Detail(Detail),
    /// A number of a comparison.
    Compared(compare::ComparedFigure),
}

impl Style {
    fn width(self) -> &'static str {
        match self {
            Style::Bar(_) | Style::Ratio(_) => "118px",
            Style::Own(_) | Style::Share(_) => "72px",
            Style::Detail(_) => "180px",
            Style::Compared(shown) => shown.width(),
        }
    }
}

/// The rows and columns of a view that are written.
struct Tree<'v> {
    view: &'v View,
    columns: Vec<Styled>,
    /// By row: whether it is written.
    shown: Vec<bool>,
    /// By row: the number of descendants left out, counted at the nearest ancestor that is written.
    left_out: Vec<usize>,
    /// By row: the number of children that are written.
    children: Vec<u32>,
    /// By row of a comparison: whether a row below stands out, and it is open at first.
    holds_change: Vec<bool>,
    /// The largest change of each metric below the root, the whole of its bars.
    largest: Vec<(Metric, f64)>,
}

impl<'v> Tree<'v> {
    fn new(view: &'v View, most: usize) -> Self {
        let rows = view.rows();
        let shown = choose(view, most);
        let (mut left_out, mut children) = (vec![0; rows.len()], vec![0; rows.len()]);
        let mut nearest: Vec<usize> = vec![0; rows.len()];
        for (i, row) in rows.iter().enumerate().skip(1) {
            nearest[i] = if shown[i] { i } else { nearest[row.parent] };
            if shown[i] {
                children[row.parent] += 1;
            } else {
                left_out[nearest[i]] += 1;
            }
        }
        let (holds_change, largest) = changes(view);
        Tree { view, columns: columns(view), shown, left_out, children, holds_change, largest }
    }

    fn write_head(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(b"<div class=\"r h\"><span class=\"n\">name</span>")?;
        for Styled { column, style } in &self.columns {
            let (class, title) = match style {
                Style::Bar(metric) | Style::Ratio(metric) => ("c", legend(*metric)),
                Style::Own(_) => ("c s", "self"),
                Style::Share(_) => ("c s", "share"),
                Style::Detail(detail) => ("t", DETAILS[*detail as usize].word),
                Style::Compared(shown) => {
                    write!(out, "<span class=\"c\" title=\"{}\">{}</span>", Xml(column.about), Xml(&shown.title()))?;
                    continue;
                }
            };
            write!(out, "<span class=\"{class}\" title=\"{}\">{}</span>", Xml(column.about), Xml(title))?;
        }
        out.write_all(b"</div>\n")
    }

    /// Rows come in pre-order: close an element when the next row is not its descendant.
    fn write_rows(&self, out: &mut dyn Write) -> io::Result<()> {
        let rows = self.view.rows();
        let few = rows.len() <= FEW;
        let mut open: Vec<usize> = Vec::new();
        for (i, row) in rows.iter().enumerate().filter(|(i, _)| self.shown[*i]) {
            while i > 0 && open.last().is_some_and(|last| *last != row.parent) {
                self.close(&mut open, out)?;
            }
            let values = self.view.tensor(row, Some(tensor::SHOWN));
            let holds = self.children[i] > 0 || self.left_out[i] > 0 || values.is_some();
            if !holds {
                out.write_all(b"<div class=\"r\">")?;
                self.write_cells(i, row, out)?;
                out.write_all(b"</div>\n")?;
                continue;
            }
            let lone = self.children[row.parent] == 1 && self.left_out[row.parent] == 0;
            let is_open = self.holds_change.get(i).copied().unwrap_or(false)
                || i == 0
                || few
                || lone
                || values.is_some()
                || theme::share(self.view, row) >= LARGE;
            write!(out, "<details{}><summary class=\"r\">", if is_open { " open" } else { "" })?;
            self.write_cells(i, row, out)?;
            writeln!(out, "</summary><div class=\"k{}\">", if open.len() >= INDENTED { " flat" } else { "" })?;
            if let Some(values) = values {
                let text = tensor::text(&values, &self.view.options.quirks);
                let text = String::from_utf8_lossy(&text);
                writeln!(out, "<pre>{}</pre>", Lines(&fit(text.trim_end().trim_end_matches(','), VALUES)))?;
            }
            open.push(i);
        }
        while !open.is_empty() {
            self.close(&mut open, out)?;
        }
        Ok(())
    }

    fn close(&self, open: &mut Vec<usize>, out: &mut dyn Write) -> io::Result<()> {
        let Some(row) = open.pop() else { return Ok(()) };
        if self.left_out[row] > 0 {
            let n = self.left_out[row];
            writeln!(out, "<div class=\"more\">… {} more row{}</div>", grouped(n), if n == 1 { "" } else { "s" })?;
        }
        out.write_all(b"</div></details>\n")
    }

    fn write_cells(&self, i: usize, row: &VisibleRow, out: &mut dyn Write) -> io::Result<()> {
        let view = self.view;
        let name = view.name(row);
        let share = theme::share(view, row);
        let size = match view.compared() {
            Some(compared) => compare::class(compared.status(row)),
            None if i > 0 && share >= 0.1 => " big",
            None => "",
        };
        let around = if i == 0 { row } else { &view.rows()[row.parent] };
        let label = if i == 0 { nesting::ROOT } else { nesting::inner(view, name, view.name(around)) };
        write!(out, "<span class=\"n{size}\" title=\"{}\">{}", Xml(&fit(name, TOOLTIP)), Xml(&fit(label, NAME)))?;
        let mut aside = Vec::new();
        if let Some(compared) = view.compared() {
            let words = [Some(compared.status(row).word()), compared.matched(row).map(Match::word)];
            let was = compared.before_name(row).map(|name| format!("was {}", fit(name, NAME)));
            let told = words.into_iter().flatten().filter(|word| !["same", "name"].contains(word)).map(str::to_owned);
            aside.extend(told.chain(was).collect::<Vec<_>>().join(", ").into_bytes());
        }
        if view.selection.has(Metric::Parameters) {
            text::push_shape(view, row, &mut aside);
        }
        if let Some(line) = view.source_line(row).filter(|_| view.options.source_lines) {
            aside.extend(line.bytes());
        }
        if !aside.is_empty() {
            write!(out, "<i>{}</i>", Xml(&String::from_utf8_lossy(&aside)))?;
        }
        out.write_all(b"</span>")?;
        for styled in &self.columns {
            self.write_cell(styled.style, row, out)?;
        }
        Ok(())
    }

    fn write_cell(&self, style: Style, row: &VisibleRow, out: &mut dyn Write) -> io::Result<()> {
        let view = self.view;
        match style {
            Style::Bar(metric) | Style::Own(metric) | Style::Share(metric) | Style::Ratio(metric)
                if !view.knows(metric) =>
            {
                out.write_all("<span class=\"c s none\" title=\"the files do not say\">–</span>".as_bytes())
            }
            Style::Bar(metric) => {
                let colour = if direction::is_gradient(view, row) { "grad" } else { colour(metric.info().unit) };
                bar(colour, &view.exact_total(metric, row).text(metric.info().unit), self.share(metric, row), out)
            }
            Style::Own(_) if !view.is_accounted(row) => out.write_all(b"<span class=\"c s\">\xe2\x80\x93</span>"),
            Style::Own(metric) => write_number(view.number(Side::SelfOnly, metric, row), metric, out),
            Style::Ratio(metric) => write_number(view.number(Side::Total, metric, row), metric, out),
            Style::Share(metric) => {
                write!(out, "<span class=\"c s\">{:.2}%</span>", 100.0 * self.share(metric, row))
            }
            Style::Compared(shown) => {
                let largest =
                    self.largest.iter().find(|(metric, _)| *metric == shown.metric).map_or(0.0, |(_, size)| *size);
                compare::write_cell(view, shown, row, largest, out)
            }
            Style::Detail(detail) => {
                let text = match detail {
                    Detail::Device => text::devices(view, row).unwrap_or_default(),
                    Detail::OpTypes => text::types(view, row),
                    Detail::Category | Detail::Program | Detail::Kernels | Detail::BoundBy => {
                        text::of_trace(view, detail, row)
                    }
                    _ => {
                        let mut shapes = Vec::new();
                        text::push_input_shapes(view, row, &mut shapes);
                        String::from_utf8_lossy(&shapes).into_owned()
                    }
                };
                write!(
                    out,
                    "<span class=\"t\" title=\"{}\">{}</span>",
                    Xml(&fit(&text, TOOLTIP)),
                    Xml(&fit(&text, NAME))
                )
            }
        }
    }

    fn share(&self, metric: Metric, row: &VisibleRow) -> f64 {
        let whole = self.view.exact_total(metric, &self.view.rows()[0]).n;
        if whole > 0 { self.view.exact_total(metric, row).n as f64 / whole as f64 } else { 0.0 }
    }
}

/// Of a comparison: the rows around a row that stands out, and the largest change of each metric below the root.
fn changes(view: &View) -> (Vec<bool>, Vec<(Metric, f64)>) {
    let Some(compared) = view.compared() else { return (Vec::new(), Vec::new()) };
    let rows = view.rows();
    let mut holds = vec![false; rows.len()];
    for (i, row) in rows.iter().enumerate().skip(1).rev() {
        if holds[i] || compared.status(row).stands_out() {
            holds[row.parent] = true;
        }
    }
    let size = |metric: Metric, row: &VisibleRow| size_of(view.figure(Figure::Difference, Side::Total, metric, row));
    let most = |metric| (metric, rows.iter().skip(1).map(|row| size(metric, row)).fold(0.0, f64::max));
    (holds, view.selection.given().map(most).collect())
}

/// A number without a bar.
fn write_number(value: Number, metric: Metric, out: &mut dyn Write) -> io::Result<()> {
    let none = if matches!(value, Number::Int(0) | Number::Decimal(Amount { n: 0, .. })) { " none" } else { "" };
    let mut text = Vec::new();
    match value {
        Number::Missing => text.extend_from_slice("–".as_bytes()),
        value => text::push_number(value, metric, &mut text),
    }
    write!(out, "<span class=\"c s{none}\">{}</span>", String::from_utf8_lossy(&text))
}

/// The colour of bars of this unit.
pub(crate) fn colour(unit: Unit) -> &'static str {
    match unit {
        Unit::Micros => "micros",
        Unit::Bytes => "bytes",
        Unit::Count | Unit::BytesPerSecond | Unit::FlopsPerSecond | Unit::Share => "count",
    }
}

/// A number with a bar behind it.
pub(crate) fn bar(colour: &str, number: &str, share: f64, out: &mut dyn Write) -> io::Result<()> {
    let none = if number.trim_end_matches(char::is_alphabetic) == "0" { " none" } else { "" };
    let share = 100.0 * share.clamp(0.0, 1.0);
    write!(
        out,
        "<span class=\"c b{none}\" style=\"--bar:var(--{colour});--p:{share:.1}%\" title=\"{share:.2}%\">{number}</span>",
    )
}

/// The columns to show. A metric that only comes along with another is left out if it is 0, or the same as the other.
fn columns(view: &View) -> Vec<Styled> {
    if view.compared().is_some() {
        return compare::columns(view);
    }
    let root = &view.rows()[0];
    let all = |metric: Metric| view.exact_total(metric, root).n;
    let shows = |metric: Metric| {
        let tells = |main: Metric| main.info().with.contains(&metric) && all(metric) != all(main);
        view.selection.has(metric) || (all(metric) != 0 && view.selection.given().any(tells))
    };
    let chain = view.rules().chain;
    let mut columns = Vec::new();
    for column in view.columns() {
        let mut push = |style: Style| columns.push(Styled { column: column.clone(), style });
        match column.content {
            Content::Number(Side::Total, metric) if shows(metric) => {
                push(if metric.is_ratio() { Style::Ratio(metric) } else { Style::Bar(metric) });
                match chain {
                    false => push(Style::Own(metric)),
                    true if metric.is_ratio() => {}
                    true => push(Style::Share(metric)),
                }
            }
            // Values come below their row.
            Content::Detail(detail) if detail != Detail::TensorValue => push(Style::Detail(detail)),
            _ => {}
        }
    }
    columns
}

/// The columns of a comparison: figures, then details.
fn columns_with_details(view: &View, figures: Vec<compare::ComparedFigure>) -> Vec<Styled> {
    let all = view.columns();
    let find = |shown: &compare::ComparedFigure| {
        let content = Content::Figure(shown.figure, shown.side, shown.metric);
        all.iter().find(|column| column.content == content).cloned()
    };
    let figures =
        figures.into_iter().filter_map(|shown| Some(Styled { column: find(&shown)?, style: Style::Compared(shown) }));
    let details = all.iter().filter_map(|column| match column.content {
        Content::Detail(detail) if detail != Detail::TensorValue => {
            Some(Styled { column: column.clone(), style: Style::Detail(detail) })
        }
        _ => None,
    });
    figures.chain(details).collect()
}

/// The rows to write: all, or the largest with their ancestors.
fn choose(view: &View, most: usize) -> Vec<bool> {
    let rows = view.rows();
    let mut shown = vec![false; rows.len()];
    if rows.len() <= most && rows.iter().all(|row| row.depth < DEEPEST) {
        shown.fill(true);
        return shown;
    }
    let size = |row: &VisibleRow| match (view.compared(), view.lead_metric()) {
        (Some(_), Some(metric)) => size_of(view.figure(Figure::Difference, Side::Total, metric, row)),
        _ => theme::share(view, row),
    };
    let mut order: Vec<(f64, usize)> =
        rows.iter().enumerate().map(|(i, row)| (if i == 0 { f64::MAX } else { size(row) }, i)).collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut left = most;
    let mut path = Vec::new();
    for (_, row) in order.into_iter().filter(|(_, row)| rows[*row].depth < DEEPEST) {
        path.clear();
        let mut at = row;
        while !shown[at] {
            path.push(at);
            if at == 0 {
                break;
            }
            at = rows[at].parent;
        }
        // A row needs its ancestors. If they do not fit, stop: a smaller row must not take its place.
        if path.len() > left {
            break;
        }
        left -= path.len();
        path.iter().for_each(|at| shown[*at] = true);
    }
    shown
}

pub(super) fn legend(metric: Metric) -> &'static str {
    let info = metric.info();
    match info.metric {
        Metric::Runs => "runs",
        Metric::Definitions => "definitions",
        _ => info.legend.trim_start_matches("# "),
    }
}

/// 1234567 as 1,234,567.
fn grouped(n: usize) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Escaped text with line breaks kept.
struct Lines<'a>(&'a str);

impl std::fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, line) in self.0.lines().enumerate() {
            write!(f, "{}{}", if i > 0 { "\n" } else { "" }, Xml(line))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::profiler::Profiler;
    use crate::format::source::Source;

    fn html(graph: &str, container: Container<'_>) -> String {
        let mut profiler = Profiler::default();
        profiler.add_graph(Source::memory("graph.pbtxt", graph.as_bytes()).unwrap()).unwrap();
        let mut options = Options { max_depth: Some(100_000), ..Options::default() };
        options.set("select", "params").unwrap();
        let view = profiler.view(ViewKind::Scope, &options).unwrap();
        let mut out = Vec::new();
        write(&view, container, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn variable(name: &str, size: usize) -> String {
        format!(
            "node {{ name: \"{name}\" op: \"VariableV2\" \
             attr {{ key: \"shape\" value {{ shape {{ dim {{ size: {size} }} }} }} }} }}\n"
        )
    }

    fn balanced(html: &str) {
        for tag in ["div", "details", "summary", "span"] {
            let (opened, closed) =
                (html.matches(&format!("<{tag}")).count(), html.matches(&format!("</{tag}>")).count());
            assert_eq!(opened, closed, "{tag}");
        }
    }

    #[test]
    fn names_are_text() {
        let html = html(&variable("<img src=x onerror=alert(1)>&\\\"", 3), Container::PAGE);
        assert!(html.contains("&lt;img src=x onerror=alert(1)&gt;&amp;&quot;"));
        assert!(!html.contains("<img") && !html.contains("http:") && !html.contains("https:"));
        assert_eq!(html.matches("<script").count(), 1, "the page's own");
        balanced(&html);
    }

    #[test]
    fn the_largest_of_many_rows_are_shown() {
        let graph: String = (0..5000).map(|i| variable(&format!("s{}/v{i}", i % 7), i + 1)).collect();
        let html = html(&graph, Container::Cell);
        assert!(html.contains("1,000 of 5,008 rows"), "{}", &html[html.len() - 400..]);
        assert!(html.contains("title=\"s1/v4999\"") && !html.contains("title=\"s0/v0\""));
        let left_out: usize = html
            .match_indices("<div class=\"more\">… ")
            .map(|(at, mark)| {
                let rest = &html[at + mark.len()..];
                rest[..rest.find(' ').unwrap()].replace(',', "").parse::<usize>().unwrap()
            })
            .sum();
        assert_eq!(left_out, 4008);
        balanced(&html);
    }

    #[test]
    fn depth_is_bounded() {
        let deep = vec!["d"; 3000].join("/");
        let html = html(&variable(&deep, 2), Container::PAGE);
        assert!(html.contains("… 2,851 more rows"));
        balanced(&html);
    }

    #[test]
    fn thousands_are_grouped() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
