//! Two sides as text and Markdown: before, after, the difference and its share, row by row; and the summary of all forms.

use super::markdown::code;
use super::{Dress, fit, nesting, text};
use crate::error::{Fix, Spelling};
use crate::json::push_string;
use crate::metric::Metric;
use crate::pairing::{self, Match};
use crate::units;
use crate::view::columns::Number;
use crate::view::compare::{Compared, Figure, SideSteps, Status};
use crate::view::{Side, View, VisibleRow};
use crate::words::is_deceptive;
use std::borrow::Cow;
use std::io::{self, Write};

/// The maximum size of Markdown in bytes: a comment on a pull request takes no more.
const MOST_MARKDOWN: usize = 60_000;
/// Deeper rows are not indented further.
const INDENTED: usize = 24;
/// The least room for a name.
const LEAST_NAME: usize = 16;
/// Rows that Markdown shows without opening anything.
const TOP: usize = 10;

// ---- the summary

/// Writes the part of a JSON answer that is about both sides.
pub fn write_summary(view: &View, compared: &Compared, out: &mut dyn Write) -> io::Result<()> {
    let mut text = Vec::new();
    for (i, word) in ["before", "after"].into_iter().enumerate() {
        let SideSteps { counted, warmup } = &compared.steps[i];
        write!(text, "\"{word}\":{{\"name\":")?;
        push_string(&compared.names[i], &mut text);
        writeln!(text, ",\"steps\":{counted:?},\"warmup_steps\":{warmup:?}}},")?;
    }
    text.extend_from_slice(b"\"counts\":{");
    for (i, status) in Status::ALL.into_iter().enumerate() {
        write!(text, "{}\"{}\":{}", if i > 0 { "," } else { "" }, status.word(), compared.count(status))?;
    }
    write!(text, "}},\"guesses\":{},\"hidden_rows\":{},\"noise\":", compared.guesses(), compared.hidden)?;
    let unknown = view.warnings.iter().any(|warning| warning.code == "noise_unknown");
    text.extend_from_slice(if unknown { b"\"unknown\"" } else { b"\"known\"" });
    if let Some((metric, factor)) = compared.common_shift() {
        write!(text, ",\"common_shift\":{{\"metric\":\"{}\",\"percent\":{}}}", metric.info().key, percent_of(factor))?;
    }
    text.extend_from_slice(b",\n");
    out.write_all(&text)
}

fn percent_of(factor: f64) -> f64 {
    100.0 * (factor - 1.0)
}

/// The heading: both sides, and how many rows differ.
pub(super) fn summary(view: &View, compared: &Compared) -> Vec<String> {
    let mut lines = Vec::new();
    for (i, word) in ["before", "after "].into_iter().enumerate() {
        let SideSteps { counted, warmup } = &compared.steps[i];
        let steps = match (counted.len(), warmup.len()) {
            (0, _) => String::new(),
            (n, 0) => format!(" ({})", many(n, "step")),
            (n, slow) => format!(" ({}; the first {slow} left out as warm-up)", many(n, "step")),
        };
        let harmless = |c: char| if c.is_control() || is_deceptive(c) { ' ' } else { c };
        let name: String = compared.names[i].chars().map(harmless).collect();
        lines.push(format!("{word}  {name}{steps}"));
    }
    let count = |status| compared.count(status);
    let mut parts = vec![
        format!("{} changed", count(Status::Changed)),
        format!("{} added", count(Status::Added)),
        format!("{} removed", count(Status::Removed)),
    ];
    for (status, words) in [(Status::Differs, "differ"), (Status::WithinNoise, "within the noise")] {
        if count(status) > 0 {
            parts.push(format!("{} {words}", count(status)));
        }
    }
    parts.push(format!("{} the same", count(Status::Same)));
    let guesses = match compared.guesses() {
        0 => String::new(),
        n => format!("; {} paired by guess (--list_guesses)", many(n, "row")),
    };
    lines.push(format!("rows    {}{guesses}", parts.join(", ")));
    if let Some((metric, factor)) = compared.common_shift() {
        let shift = signed_percent(percent_of(factor));
        lines.push(format!(
            "shift   {shift} {} in the median row; rows count if they stand out from that",
            metric.info().key
        ));
    }
    if view.rows().len() > 1 && view.lead_metric().is_none() {
        lines.push("no metric is known on both sides".to_owned());
    }
    lines
}

fn many(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

// ---- cells

/// The metrics with columns.
fn metrics(view: &View) -> Vec<Metric> {
    view.selection.given().filter(|metric| !metric.info().legend.is_empty()).collect()
}

/// The sides that are shown: of the op view, both are the same.
fn sides(view: &View) -> &'static [Side] {
    if view.rules().chain { &[Side::Total] } else { &[Side::Total, Side::SelfOnly] }
}

const FIGURES: [Figure; 4] = [Figure::Before, Figure::After, Figure::Difference, Figure::Percent];

/// The titles of the numbers.
fn titles(view: &View) -> Vec<String> {
    let metrics = metrics(view);
    let mut titles = Vec::new();
    for metric in &metrics {
        let of = if metrics.len() > 1 { format!("{} ", metric.info().key) } else { String::new() };
        for side in sides(view) {
            let own = if *side == Side::SelfOnly { "self " } else { "" };
            let words = ["before", "after", "change", "%"];
            titles.extend(words.iter().enumerate().map(|(i, word)| match i {
                0 => format!("{of}{own}{word}"),
                _ => format!("{own}{word}"),
            }));
        }
    }
    titles
}

/// The numbers of a row.
fn cells(view: &View, row: &VisibleRow) -> Vec<String> {
    let mut cells = Cells::default();
    cells.push_row(view, &metrics(view), row);
    let text = |cell: &[u8]| String::from_utf8_lossy(cell).into_owned();
    cells.rows(cells.lengths.len()).flatten().map(text).collect()
}

/// The numbers of all rows, concatenated: a comparison may have millions. They are ASCII, so a byte is a column.
#[derive(Default)]
struct Cells {
    text: Vec<u8>,
    lengths: Vec<u16>,
}

impl Cells {
    fn push_row(&mut self, view: &View, metrics: &[Metric], row: &VisibleRow) {
        for metric in metrics {
            for side in sides(view) {
                let numbers = view.figures(*side, *metric, row);
                for (figure, number) in FIGURES.into_iter().zip(numbers) {
                    let start = self.text.len();
                    push_cell(figure, number, *metric, &mut self.text);
                    // A number has some hundred digits at most.
                    self.lengths.push((self.text.len() - start) as u16);
                }
            }
        }
    }

    /// The cells of each row, which has so many.
    fn rows(&self, columns: usize) -> impl Iterator<Item = impl Iterator<Item = &[u8]>> {
        let mut rest = self.text.as_slice();
        self.lengths.chunks(columns.max(1)).map(move |row| {
            let (mut text, after) = rest.split_at(row.iter().map(|length| usize::from(*length)).sum());
            rest = after;
            row.iter().map(move |length| {
                let (cell, after) = text.split_at(usize::from(*length));
                text = after;
                cell
            })
        })
    }

    /// The widest cell of each column, or its title.
    fn widths(&self, titles: &[String]) -> Vec<usize> {
        let mut widths: Vec<usize> = titles.iter().map(|title| fit::width(title)).collect();
        for row in self.lengths.chunks(titles.len().max(1)) {
            for (width, length) in widths.iter_mut().zip(row) {
                *width = (*width).max(usize::from(*length));
            }
        }
        widths
    }
}

fn cell(view: &View, figure: Figure, side: Side, metric: Metric, row: &VisibleRow) -> String {
    let mut out = Vec::new();
    push_cell(figure, view.figure(figure, side, metric, row), metric, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

fn push_cell(figure: Figure, number: Number, metric: Metric, out: &mut Vec<u8>) {
    match (figure, number) {
        (_, Number::Missing) => out.push(b'-'),
        (Figure::Percent, Number::Real(x)) => push_signed_percent(x, out),
        (Figure::Difference, number) => push_signed(number, metric, out),
        (_, number) => text::push_number(number, metric, out),
    }
}

/// A difference with its sign.
pub(super) fn signed(number: Number, metric: Metric) -> String {
    let mut out = Vec::new();
    push_signed(number, metric, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

fn push_signed(number: Number, metric: Metric, out: &mut Vec<u8>) {
    let (sign, size) = match number {
        Number::Missing => return out.push(b'-'),
        Number::Int(n) => (n.signum(), Number::Int(n.saturating_abs())),
        Number::Decimal(amount) => {
            let size = units::Amount { n: amount.n.saturating_abs(), ..amount };
            (amount.n.signum(), Number::Decimal(size))
        }
        Number::Real(x) => (if x == 0.0 { 0 } else { x.signum() as i64 }, Number::Real(x.abs())),
    };
    match sign {
        1 => out.push(b'+'),
        -1 => out.push(b'-'),
        _ => {}
    }
    text::push_number(size, metric, out);
}

pub(super) fn signed_percent(percent: f64) -> String {
    let mut out = Vec::new();
    push_signed_percent(percent, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

fn push_signed_percent(percent: f64, out: &mut Vec<u8>) {
    match percent.abs() {
        size if size < 0.05 => out.extend_from_slice(b"0.0"),
        size if size >= 1000.0 || size.is_nan() => out.extend_from_slice(format!("{percent:+.0}").as_bytes()),
        size => {
            out.push(if percent < 0.0 { b'-' } else { b'+' });
            units::push_tenths(out, size);
        }
    }
    out.extend_from_slice(b" %");
}

/// The mark before a row, which also says it without colours.
fn mark(status: Status) -> &'static str {
    match status {
        Status::Same => " ",
        Status::WithinNoise => "~",
        Status::Differs => "?",
        Status::Changed => "!",
        Status::Added => "+",
        Status::Removed => "-",
    }
}

const MARKS: &str = "! changed, + added, - removed, ~ within the noise, ? noise unknown, ≈ paired by guess";

/// The name of a row among its siblings, and the name that it had, if that differs within it.
fn name<'v>(view: &'v View, compared: &'v Compared, i: usize) -> (&'v str, Option<&'v str>) {
    let row = &view.rows()[i];
    if i == 0 {
        return (nesting::ROOT, None);
    }
    let name = match view.removed(row) {
        Some((before, row)) => nesting::inner(before, before.name(row), before.name(&before.rows()[row.parent])),
        None => nesting::inner(view, view.name(row), view.name(&view.rows()[row.parent])),
    };
    let last = |name: &'v str| name.rsplit_once('/').map_or(name, |(_, last)| last);
    let before = compared.before_name(row).filter(|before| last(before) != last(view.name(row)));
    (name, before.map(|before| if compared.matched(row) == Some(Match::Rename) { before } else { last(before) }))
}

fn label<'v>(view: &'v View, compared: &'v Compared, i: usize) -> Cow<'v, str> {
    let is_guess = compared.matched(&view.rows()[i]) == Some(Match::Guess);
    match name(view, compared, i) {
        (name, None) if !is_guess => Cow::Borrowed(name),
        (name, before) => Cow::Owned(pairing::label(name, before, is_guess)),
    }
}

// ---- text

pub fn write_text(view: &View, compared: &Compared, dress: &Dress<'_>, out: &mut dyn Write) -> io::Result<()> {
    let (theme, width) = (&dress.theme, dress.theme.width);
    let mut head = summary(view, compared);
    head.push(String::new());
    for line in head {
        let line = width.map_or_else(|| line.clone(), |width| fit::end(&line, width));
        writeln!(out, "{}", clean(line.into()))?;
    }
    let rows = view.rows();
    let (mut titles, metrics) = (titles(view), metrics(view));
    let mut cells = Cells::default();
    rows.iter().for_each(|row| cells.push_row(view, &metrics, row));
    let columns = titles.len();
    let mut widths = cells.widths(&titles);
    let labels: Vec<Cow<'_, str>> = (0..rows.len()).map(|i| clean(label(view, compared, i))).collect();
    let indent = |row: &VisibleRow| if view.rules().chain { 0 } else { 2 * row.depth.min(INDENTED) };
    let name_width = |(i, row): (usize, &VisibleRow)| fit::width(&labels[i]) + indent(row);
    let longest = rows.iter().enumerate().map(name_width).max().unwrap_or(0).max(4);
    let mut room = longest;
    if let Some(width) = width {
        // Whole groups of four go, the last first: those of the rows alone.
        let taken = |widths: &[usize]| widths.iter().map(|width| width + 2).sum::<usize>() + 2;
        while widths.len() > FIGURES.len() && taken(&widths) + longest.min(30) > width {
            widths.truncate(widths.len() - FIGURES.len());
        }
        titles.truncate(widths.len());
        room = longest.min(width.saturating_sub(taken(&widths)).max(LEAST_NAME));
    }
    let mut line = Vec::new();
    let heads = titles.iter().map(String::as_bytes);
    push_line(&mut line, (" ", 0, "name", room), heads, &widths);
    theme.faint(out, &line)?;
    out.write_all(b"\n")?;
    let mut numbers = cells.rows(columns);
    for (i, row) in rows.iter().enumerate() {
        let status = compared.status(row);
        line.clear();
        let cells = numbers.next().into_iter().flatten();
        push_line(&mut line, (mark(status), indent(row).min(room / 2), &labels[i], room), cells, &widths);
        theme.change(status, lead_growth(view, row), line.trim_ascii_end(), out)?;
        out.write_all(b"\n")?;
    }
    write_foot(view, compared, dress, out)
}

/// Appends a line: a mark, an indented name in its room, and cells to the right of their columns.
fn push_line<'c>(
    line: &mut Vec<u8>,
    (mark, indent, name, room): (&str, usize, &str, usize),
    cells: impl Iterator<Item = &'c [u8]>,
    widths: &[usize],
) {
    let pad = |line: &mut Vec<u8>, count: usize| line.resize(line.len() + count, b' ');
    line.extend_from_slice(mark.as_bytes());
    pad(line, 1 + indent);
    let room = room.saturating_sub(indent);
    let mut taken = fit::width(name);
    if taken > room {
        let name = fit::middle(name, room);
        taken = fit::width(&name);
        line.extend_from_slice(name.as_bytes());
    } else {
        line.extend_from_slice(name.as_bytes());
    }
    pad(line, room.saturating_sub(taken));
    for (cell, width) in cells.zip(widths) {
        pad(line, 2 + width.saturating_sub(cell.len()));
        line.extend_from_slice(cell);
    }
}

/// The footer: rows left out, and the meaning of the marks.
fn write_foot(view: &View, compared: &Compared, dress: &Dress<'_>, out: &mut dyn Write) -> io::Result<()> {
    let theme = &dress.theme;
    if compared.hidden > 0 {
        let how = match dress.spelling {
            Spelling::Python => "unchanged=True shows them",
            _ => "--unchanged shows them",
        };
        let line = format!("… {} without a difference; {how}", many(compared.hidden, "row"));
        theme.faint(out, line.as_bytes())?;
        out.write_all(b"\n")?;
    }
    let left_out = view.left_out();
    if left_out.rows > 0 {
        let fix = Fix::with_value("use", "max_depth", left_out.depth.to_string()).text(dress.spelling);
        theme.faint(out, format!("… {} below; {fix}", many(left_out.rows, "more row")).as_bytes())?;
        out.write_all(b"\n")?;
    }
    if dress.legend {
        theme.faint(out, MARKS.as_bytes())?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// Whether the leading metric grew (1), shrank (-1), or neither.
fn lead_growth(view: &View, row: &VisibleRow) -> i8 {
    view.lead_metric().map_or(0, |metric| growth(view, metric, row))
}

/// The numbers of a row in one sentence.
pub(super) fn told(view: &View, compared: &Compared, metric: Metric, row: &VisibleRow) -> String {
    let [before, after, change, percent] = FIGURES.map(|figure| cell(view, figure, Side::Total, metric, row));
    format!("{before} → {after}, {change}, {percent}, {}", compared.status(row).word())
}

/// Whether a metric grew (1), shrank (-1), or neither.
pub(super) fn growth(view: &View, metric: Metric, row: &VisibleRow) -> i8 {
    match view.figure(Figure::Difference, Side::Total, metric, row) {
        Number::Int(n) => n.signum() as i8,
        Number::Decimal(amount) => amount.n.signum() as i8,
        Number::Real(x) if x > 0.0 => 1,
        Number::Real(x) if x < 0.0 => -1,
        _ => 0,
    }
}

/// Control characters would forge rows.
fn clean(text: Cow<'_, str>) -> Cow<'_, str> {
    let escape = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    if fit::is_plain(&text) || !text.chars().any(char::is_control) {
        return text;
    }
    Cow::Owned(text.chars().map(escape).collect())
}

// ---- Markdown

/// A comment for a pull request: the summary, the rows that stand out most, and all others in a closed section.
pub fn write_markdown(view: &View, compared: &Compared, out: &mut dyn Write) -> io::Result<()> {
    let mut text = Vec::new();
    for (i, word) in ["before", "after"].into_iter().enumerate() {
        let steps = compared.steps[i].counted.len();
        let steps = if steps > 0 { format!(", {}", many(steps, "step")) } else { String::new() };
        writeln!(text, "**{word}**: {}{steps}  ", code(&compared.names[i]))?;
    }
    for line in summary(view, compared).into_iter().skip(2) {
        let (word, rest) = line.split_once(' ').unwrap_or(("", &line));
        writeln!(text, "**{word}**: {}  ", rest.trim().replace("--list_guesses", "`--list_guesses`"))?;
    }
    for warning in &view.warnings {
        writeln!(text, "⚠ {}  ", code(&warning.to_string()))?;
    }
    text.push(b'\n');
    let rows = view.rows();
    // The innermost rows that stand out: the rows around them differ because of them.
    let mut is_around = vec![false; rows.len()];
    for row in rows.iter().skip(1).filter(|row| compared.status(row).stands_out()) {
        is_around[row.parent] = true;
    }
    let innermost = |i: &usize| compared.status(&rows[*i]).stands_out() && !is_around[*i];
    let mut top: Vec<usize> = (1..rows.len()).filter(innermost).collect();
    if let Some(metric) = view.lead_metric() {
        let size = |i: &usize| {
            let difference = view.figure(Figure::Difference, Side::Total, metric, &rows[*i]);
            crate::view::compare::size_of(difference)
        };
        top.sort_by(|a, b| size(b).total_cmp(&size(a)).then(a.cmp(b)));
    }
    let found = top.len();
    top.truncate(TOP);
    top.insert(0, 0);
    write_markdown_rows(view, compared, &top, true, MOST_MARKDOWN / 2, &mut text)?;
    if found > TOP {
        writeln!(text, "\nand {} more", found - TOP)?;
    }
    if rows.len() > 1 {
        writeln!(text, "\n<details><summary>{} by {}</summary>\n", many(rows.len() - 1, "row"), view.kind.word())?;
        let all: Vec<usize> = (0..rows.len()).collect();
        let room = MOST_MARKDOWN.saturating_sub(text.len() + 200);
        let left_out = write_markdown_rows(view, compared, &all, false, room, &mut text)?;
        if left_out > 0 {
            writeln!(text, "\n… and {} that do not fit here", many(left_out, "row"))?;
        }
        text.extend_from_slice(b"\n</details>\n");
    }
    out.write_all(&text)
}

/// Writes rows as a table, as many as there is room for, and returns how many are left out.
fn write_markdown_rows(
    view: &View,
    compared: &Compared,
    ids: &[usize],
    whole_names: bool,
    room: usize,
    out: &mut Vec<u8>,
) -> io::Result<usize> {
    let titles = titles(view);
    let start = out.len();
    writeln!(out, "| | name | {} |\n|---|---|{}", titles.join(" | "), "---:|".repeat(titles.len()))?;
    for (at, i) in ids.iter().enumerate() {
        let row = &view.rows()[*i];
        let label = if whole_names && *i > 0 { Cow::Borrowed(view.name(row)) } else { label(view, compared, *i) };
        let indent = if view.rules().chain || whole_names { 0 } else { row.depth.min(INDENTED) };
        let status = compared.status(row);
        let status = if status == Status::Same { "" } else { status.word() };
        let mut line = format!("| {status} | {}{} |", "&emsp;".repeat(indent), code(&fit::middle(&label, 300)));
        for cell in cells(view, row) {
            line += &format!(" {cell} |");
        }
        if out.len() - start + line.len() >= room {
            return Ok(ids.len() - at);
        }
        writeln!(out, "{line}")?;
    }
    Ok(0)
}
