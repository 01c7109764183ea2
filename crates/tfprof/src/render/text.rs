//! An answer as text, in the layout of the original.

mod numbers;

use super::theme::{self, Theme};
use super::write_each;
use super::{fit, tensor};
use crate::error::{Fix, Spelling};
use crate::hash::UntrustedMap;
use crate::metric::{DETAILS, Detail, METRICS, Metric, MetricInfo, Unit};
use crate::model::nodes::NodeId;
use crate::options::ViewKind;
use crate::units::{self, Amount};
use crate::view::columns::Number;
use crate::view::values::plus;
use crate::view::{Side, View, VisibleRow};
use crate::words::is_deceptive;
use numbers::{Numbers, push_pair};
use std::collections::BTreeSet;
use std::io::{self, Write};

/// Writes the head, which explains the selected words, and the report.
pub fn write(view: &View, out: &mut dyn Write) -> io::Result<()> {
    write_head(view, &Theme::PLAIN, out)?;
    write_rows(view, &Theme::PLAIN, Spelling::CommandLine, out)
}

/// Explains the view and the words of the selection.
pub fn write_head(view: &View, theme: &Theme, out: &mut dyn Write) -> io::Result<()> {
    let mut head = Vec::new();
    push_head(view, &mut head)?;
    if let Some(width) = theme.width {
        head = fit::wrapped(&head, width);
    }
    theme.faint(out, &head)
}

fn push_head(view: &View, out: &mut dyn Write) -> io::Result<()> {
    if view.model.misses_streams {
        out.write_all(
            b"\n\nA step ran ops on a GPU, but has no record of the GPU's streams.\n\n\
              Their accelerator time is missing; check that the GPU tracing library was found when it was recorded.\n\n",
        )?;
    }
    let quirk = view.options.quirks.graph_doc_is_scopes && view.kind == ViewKind::Graph;
    let kind = if quirk { ViewKind::Scope } else { view.kind };
    write!(out, "\nDoc:\n{}: {}\n", kind.word(), kind.about())?;
    let mut lines = Vec::new();
    for word in view.selection.words() {
        let metric = METRICS.iter().find(|info| info.word == Some(word));
        let with = metric.into_iter().flat_map(|info| info.with).map(|metric| metric.info());
        for info in metric.into_iter().chain(with).filter(|info| !info.legend.is_empty()) {
            lines.push(format!("{}: {}", info.legend.trim_start_matches("# "), info.about));
        }
        if let Some(info) = DETAILS.iter().find(|info| info.word == word) {
            lines.push(format!("{}: {}", info.word, info.about));
        }
    }
    write!(out, "{}\n\n", lines.join("\n"))
}

/// Writes the report without the head, from the line `Profile:` on.
pub fn write_report(view: &View, out: &mut dyn Write) -> io::Result<()> {
    write_rows(view, &Theme::PLAIN, Spelling::CommandLine, out)
}

/// The same, dressed for a terminal if the theme says so.
pub fn write_rows(view: &View, theme: &Theme, spelling: Spelling, out: &mut dyn Write) -> io::Result<()> {
    let width = theme.width.filter(|_| !view.options.quirks.op_rows_by_name);
    let mut columns = columns(view);
    if width.is_some() {
        drop_idle(view, &mut columns);
    }
    out.write_all(b"Profile:\n")?;
    let rows = view.rows();
    if !view.rules().chain {
        write_legend(view, &columns, width, out)?;
        let mut numbers = Numbers::new(view, &columns);
        write_each(rows, out, |row, text| write_row(view, &columns, &mut numbers, theme, width, row, text))?;
        write_left_out(view, theme, spelling, out)?;
        write_peaks(view, theme, width, out)?;
        return match folded(view, spelling) {
            None => Ok(()),
            Some(line) => theme.faint(out, line.as_bytes()).and_then(|()| out.write_all(b"\n")),
        };
    }
    // If there are no rows, show the root with its zeros.
    let below = if view.is_empty() { &rows[..1] } else { &rows[1..] };
    let layout = OpLayout::new(view, &mut columns, width.map(|width| width.saturating_sub(theme.margin())), below);
    if !view.is_empty() {
        write_legend(view, &columns, width, out)?;
    }
    write_each(below, out, |row, text| write_op_row(view, &columns, theme, &layout, row, text))?;
    write_left_out(view, theme, spelling, out)?;
    write_peaks(view, theme, width, out)?;
    if layout.cut.is_empty() {
        return Ok(());
    }
    let line = format!("… no room for {}; use a wider terminal, or -select fewer columns", layout.cut.join(", "));
    theme.faint(out, &fit::wrapped(line.as_bytes(), width.unwrap_or(usize::MAX)))?;
    out.write_all(b"\n")
}

/// Says which peaks the answer compares with, and where they come from.
fn write_peaks(view: &View, theme: &Theme, width: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
    for line in view.peaks() {
        theme.faint(out, &fit::wrapped(line.as_bytes(), width.unwrap_or(usize::MAX)))?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// Says how many frames are folded, and how to see them.
pub(super) fn folded(view: &View, spelling: Spelling) -> Option<String> {
    let frames = match view.folded() {
        0 => return None,
        1 => "1 frame of a framework is".to_owned(),
        n => format!("{n} frames of frameworks are"),
    };
    Some(format!("… {frames} folded; {}", Fix::with_value("use", "frames", "all").text(spelling)))
}

/// Says how many rows `-max_depth` hides, and how much they are.
pub(super) fn write_left_out(view: &View, theme: &Theme, spelling: Spelling, out: &mut dyn Write) -> io::Result<()> {
    let left_out = view.left_out();
    if left_out.rows == 0 || view.options.quirks.op_rows_by_name {
        return Ok(());
    }
    let rows = if left_out.rows == 1 { "row" } else { "rows" };
    let share = match (view.lead_metric(), left_out.share) {
        (Some(metric), Some(share)) => format!(", {} of {}", percent(share), noun(metric)),
        _ => String::new(),
    };
    let fix = Fix::with_value("use", "max_depth", left_out.depth.to_string());
    let line = format!("… {} more {rows}{share}; {}", left_out.rows, fix.text(spelling));
    theme.faint(out, line.as_bytes())?;
    out.write_all(b"\n")
}

/// A share in percent, with the digits that a reader needs.
fn percent(share: f64) -> String {
    match 100.0 * share {
        p if p <= 0.0 => "0 %".to_owned(),
        p if p < 0.1 => "less than 0.1 %".to_owned(),
        p if !(10.0..99.5).contains(&p) && p < 100.0 => format!("{:.1} %", p.min(99.9)),
        p => format!("{p:.0} %"),
    }
}

/// The noun for a metric's sum.
fn noun(metric: Metric) -> &'static str {
    match metric {
        Metric::Micros => "the time",
        Metric::CpuMicros => "the CPU time",
        Metric::AcceleratorMicros => "the accelerator time",
        Metric::FloatOps => "the FLOPs",
        Metric::Runs => "the runs",
        Metric::Parameters => "the parameters",
        Metric::Macs => "the multiply-adds",
        metric => metric.info().legend.trim_start_matches("# "),
    }
}

/// A column of the text.
enum Column {
    Metric(&'static MetricInfo),
    Occurrence,
    Detail(Detail),
}

/// The columns of a view, in the order of the original.
fn columns(view: &View) -> Vec<Column> {
    let shown = view.selection.metrics();
    let numbers = METRICS
        .iter()
        .filter(|info| shown.has(info.metric) && !matches!(info.metric, Metric::Runs | Metric::Definitions));
    let (mut first, mut rest): (Vec<_>, Vec<_>) = numbers.partition(|info| {
        view.rules().parameters_first && matches!(info.metric, Metric::Parameters | Metric::FloatOps)
    });
    first.append(&mut rest);
    let mut columns: Vec<_> = first.into_iter().map(Column::Metric).collect();
    for detail in [Detail::Device, Detail::OpTypes, Detail::Category, Detail::Program, Detail::Kernels, Detail::BoundBy]
    {
        if view.selection.has_detail(detail) {
            columns.push(Column::Detail(detail));
        }
    }
    if view.selection.has(Metric::Runs) {
        columns.push(Column::Occurrence);
    }
    if view.selection.has_detail(Detail::InputShapes) {
        columns.push(Column::Detail(Detail::InputShapes));
    }
    columns
}

/// Drops the numbers that are 0 in every row, and those that only come along with another and equal it, unless nothing
/// else would be left.
fn drop_idle(view: &View, columns: &mut Vec<Column>) {
    let both = |metric: Metric, row: &VisibleRow| (view.exact_self(metric, row).n, view.exact_total(metric, row).n);
    let everywhere = |holds: &dyn Fn(&VisibleRow) -> bool| view.rows().iter().all(holds);
    let is_idle = |metric: Metric| {
        let repeats = |main: Metric| {
            main.info().with.contains(&metric) && everywhere(&|row| both(metric, row) == both(main, row))
        };
        let is_zero = || view.knows(metric) && everywhere(&|row| both(metric, row) == (0, 0));
        !metric.is_ratio() && (is_zero() || (!view.selection.has(metric) && view.selection.given().any(repeats)))
    };
    let tells = |column: &Column| !matches!(column, Column::Metric(info) if is_idle(info.metric));
    if columns.iter().any(tells) {
        columns.retain(tells);
    } else {
        columns.truncate(1);
    }
}

fn write_legend(view: &View, columns: &[Column], width: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
    let names: Vec<_> = columns.iter().map(|column| heading(view, column)).collect();
    let legend = format!("node name | {}", names.join(" | "));
    writeln!(out, "{}", width.map_or(legend.clone(), |width| fit::end(&legend, width)))
}

fn heading(view: &View, column: &Column) -> &'static str {
    match column {
        Column::Metric(info) => info.legend,
        Column::Occurrence if view.rules().bags => "op occurrence (run|defined)",
        Column::Occurrence => Metric::Runs.info().legend,
        Column::Detail(Detail::Device) => "assigned devices",
        Column::Detail(Detail::OpTypes) => "op types",
        Column::Detail(detail @ (Detail::Category | Detail::Program | Detail::Kernels | Detail::BoundBy)) => {
            DETAILS[*detail as usize].word
        }
        Column::Detail(_) => "input shapes",
    }
}

/// The least room for a name before the numbers of its row are cut.
const LEAST_NAME: usize = 16;

/// A row of a tree: `name (own/total, …)`.
fn write_row(
    view: &View,
    columns: &[Column],
    numbers: &mut Numbers<'_>,
    theme: &Theme,
    width: Option<usize>,
    row: &VisibleRow,
    out: &mut Vec<u8>,
) -> io::Result<()> {
    let share = if theme.is_plain() { 0.0 } else { theme::share(view, row) };
    let start = out.len();
    theme.begin_row(share, out)?;
    match width {
        None => {
            out.resize(out.len() + 2 * row.depth, b' ');
            theme.name(share, view.name(row).as_bytes(), out)?;
            push_numbers(view, columns, numbers, row, out)?;
        }
        Some(width) => {
            let mut text = Vec::new();
            push_numbers(view, columns, numbers, row, &mut text)?;
            let numbers = String::from_utf8_lossy(&text);
            let width = width.saturating_sub(theme.margin());
            let indent = (2 * row.depth).min(width / 2);
            let numbers = fit::end(&numbers, width.saturating_sub(indent + LEAST_NAME));
            out.resize(out.len() + indent, b' ');
            let name = fit::middle(view.name(row), width.saturating_sub(indent + fit::width(&numbers)));
            theme.name(share, name.as_bytes(), out)?;
            out.write_all(numbers.as_bytes())?;
        }
    }
    theme.end_row(share, out)?;
    end_line(view, theme, start, out);
    match view.tensor(row, Some(tensor::SHOWN)) {
        Some(values) => out.write_all(&tensor::text(&values, &view.options.quirks)),
        None => Ok(()),
    }
}

/// Ends the line that begins at `start`. Characters that would forge a row or reverse it are escaped. As the original,
/// quirks pass them on, but not to a terminal.
fn end_line(view: &View, theme: &Theme, start: usize, out: &mut Vec<u8>) {
    let as_original = view.options.quirks.op_rows_by_name && theme.is_plain() && theme.width.is_none();
    if !as_original && may_have_control(&out[start..]) {
        let line = out.split_off(start);
        for piece in line.utf8_chunks() {
            for c in piece.valid().chars() {
                match c {
                    '\0'..' ' | '\x7f' => out.extend((c as u8).escape_ascii()),
                    c if is_deceptive(c) => out.extend(c.escape_unicode().to_string().bytes()),
                    c => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
                }
            }
            // The marks of a theme.
            out.extend_from_slice(piece.invalid());
        }
    }
    out.push(b'\n');
}

/// Whether a line may have characters to escape: a control character, or any beyond ASCII. A quick look at eight bytes at
/// a time.
fn may_have_control(line: &[u8]) -> bool {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let (words, rest) = line.as_chunks::<8>();
    let found = words.iter().fold(0, |found, word| {
        let word = u64::from_le_bytes(*word);
        let delete = word ^ (0x7f * ONES);
        found | word | (word.wrapping_sub(0x20 * ONES) & !word) | (delete.wrapping_sub(ONES) & !delete)
    });
    found & (0x80 * ONES) != 0 || rest.iter().any(|byte| *byte < b' ' || *byte >= 0x7f)
}

/// Appends the numbers of a row to its name: ` (own/total, …)`.
fn push_numbers(
    view: &View,
    columns: &[Column],
    numbers: &mut Numbers<'_>,
    row: &VisibleRow,
    out: &mut Vec<u8>,
) -> io::Result<()> {
    if view.options.source_lines
        && let Some(line) = view.source_line(row)
    {
        write!(out, ":{line}")?;
    }
    numbers.text(" (");
    let is_accounted = view.is_accounted(row);
    let mut separator = "";
    for (at, column) in columns.iter().enumerate() {
        numbers.flush_if_full(out);
        if let Column::Metric(info) = column {
            numbers.text(separator);
            if info.metric == Metric::Parameters {
                numbers.flush(out);
                if push_shape(view, row, out) {
                    numbers.text(", ");
                }
            }
            if !numbers.pair(at, is_accounted, row) {
                numbers.flush(out);
                push_pair(view, info.metric, row, out);
            }
            numbers.text(info.suffix);
            separator = ", ";
            continue;
        }
        numbers.flush(out);
        match column {
            Column::Metric(_) => {}
            Column::Occurrence if view.rules().bags => write!(out, "{separator}occurrence N/A in code view")?,
            Column::Occurrence => {
                out.write_all(separator.as_bytes())?;
                push_pair(view, Metric::Runs, row, out);
                out.write_all(b"|")?;
                push_pair(view, Metric::Definitions, row, out);
            }
            Column::Detail(Detail::Device) => {
                let Some(devices) = devices(view, row) else { continue };
                write!(out, "{separator}{devices}")?;
            }
            Column::Detail(Detail::OpTypes) => write!(out, "{separator}{}", types(view, row))?,
            Column::Detail(detail @ (Detail::Category | Detail::Program | Detail::Kernels | Detail::BoundBy)) => {
                write!(out, "{separator}{}", of_trace(view, *detail, row))?;
            }
            Column::Detail(_) if view.rules().bags => write!(out, "{separator}input_shapes N/A in code view")?,
            Column::Detail(_) => {
                out.write_all(separator.as_bytes())?;
                push_input_shapes(view, row, out);
            }
        }
        separator = ", ";
    }
    numbers.text(")");
    numbers.flush(out);
    Ok(())
}

pub(super) fn push_number(value: Number, metric: Metric, out: &mut Vec<u8>) {
    let unit = metric.info().unit;
    match value {
        Number::Int(n) => units::push(out, unit, n),
        Number::Decimal(amount) => amount.push(out, unit),
        Number::Real(x) => units::push_real(out, unit, x),
        Number::Missing => out.extend_from_slice(b"--"),
    }
}

pub(super) fn push_shape(view: &View, row: &VisibleRow, out: &mut Vec<u8>) -> bool {
    let Some(node) = view.node(row) else { return false };
    let dims = view.model.shapes.get(view.model.nodes.shape[node.index()]);
    units::push_shape(out, dims);
    !dims.is_empty()
}

/// The devices of a row, if they are known.
pub(super) fn devices(view: &View, row: &VisibleRow) -> Option<String> {
    let names = |node| {
        let devices = view.values().devices(node).into_iter();
        devices.map(|device| view.model.names.get(device)).collect::<Vec<_>>().join("|")
    };
    if view.rules().bags {
        // As the original: nodes without a device are an empty entry.
        let all: BTreeSet<String> = view.bag(row).map(names).collect();
        return (!all.is_empty() || view.rules().chain).then(|| all.into_iter().collect::<Vec<_>>().join("|"));
    }
    Some(names(view.node(row)?)).filter(|devices| !devices.is_empty())
}

pub(super) fn types(view: &View, row: &VisibleRow) -> String {
    if view.rules().bags {
        let all: BTreeSet<_> = view.bag(row).flat_map(|node| view.values().types(node)).collect();
        return all.into_iter().collect::<Vec<_>>().join("|");
    }
    match view.node(row) {
        Some(node) => view.values().types(node).join("|"),
        None => view.rules().root_type.to_owned(),
    }
}

/// A detail of traces about the ops of a row; `--` if there is none.
pub(super) fn of_trace(view: &View, detail: Detail, row: &VisibleRow) -> String {
    let texts = view.trace_detail(detail, row);
    if texts.is_empty() { "--".to_owned() } else { texts.join("|") }
}

pub(super) fn push_input_shapes(view: &View, row: &VisibleRow, out: &mut Vec<u8>) {
    if let Some(node) = view.node(row) {
        push_shapes_read(view, node, b"|", out);
    }
}

/// Appends the number and shape of each input of a node.
fn push_shapes_read(view: &View, node: NodeId, separator: &[u8], out: &mut Vec<u8>) {
    for (i, input) in view.model.nodes.inputs(node).iter().enumerate() {
        out.extend_from_slice(if i > 0 { separator } else { b"" });
        units::push_unsigned(out, i as u64);
        out.push(b':');
        match view.model.shapes.get(view.values().input_shape(*input)) {
            [] => out.extend_from_slice(b"unknown"),
            dims => units::push_shape(out, dims),
        }
    }
}

// ---- op view

/// How wide the parts of a row are.
struct OpLayout {
    name: usize,
    cells: Vec<usize>,
    /// The row without its bar, on a terminal.
    width: Option<usize>,
    /// The headings of columns that do not fit.
    cut: Vec<&'static str>,
}

impl OpLayout {
    /// As the original, or on a terminal as narrow as the rows allow, without the columns that do not fit.
    fn new(view: &View, columns: &mut Vec<Column>, width: Option<usize>, rows: &[VisibleRow]) -> OpLayout {
        let Some(whole) = width else {
            let cells = columns.iter().map(|column| match column {
                Column::Metric(info) if info.is_ratio() => 20,
                Column::Metric(_) => 30,
                Column::Occurrence => 10,
                Column::Detail(_) => 0,
            });
            return OpLayout { name: 25, cells: cells.collect(), width, cut: Vec::new() };
        };
        let widest = |texts: &dyn Fn(&VisibleRow) -> usize| rows.iter().map(texts).max().unwrap_or(0);
        let cells: Vec<usize> =
            columns.iter().map(|column| widest(&|row| fit::width(&op_cell(view, column, row)))).collect();
        let mut taken = LEAST_NAME;
        let fits = |cell: &&usize| {
            taken += **cell + ", ".len();
            taken <= whole
        };
        let fitting = cells.iter().take_while(fits).count().max(1);
        let cut = columns.drain(fitting..).map(|column| heading(view, &column)).collect();
        let numbers: usize = cells.iter().take(fitting).map(|cell| cell + ", ".len()).sum();
        let name = widest(&|row| fit::width(view.name(row))).min(whole.saturating_sub(numbers).max(LEAST_NAME));
        OpLayout { name, cells, width, cut }
    }
}

/// A row of the op view: `name   number (total%, own%), …`.
fn write_op_row(
    view: &View,
    columns: &[Column],
    theme: &Theme,
    layout: &OpLayout,
    row: &VisibleRow,
    out: &mut Vec<u8>,
) -> io::Result<()> {
    let share = if theme.is_plain() { 0.0 } else { theme::share(view, row) };
    let start = out.len();
    theme.begin_row(share, out)?;
    let fitted = layout.width.map(|width| (fit::middle(view.name(row), layout.name), width));
    let name = fitted.as_ref().map_or(view.name(row), |(name, _)| name);
    // As the original: padding counts bytes, not characters.
    let taken = if fitted.is_some() { fit::width(name) } else { name.len() };
    theme.name(share, name.as_bytes(), out)?;
    let mut cells = " ".repeat(layout.name.saturating_sub(taken));
    let shown = columns.iter().zip(&layout.cells);
    for (i, (column, width)) in
        shown.filter(|(column, _)| !matches!(column, Column::Detail(Detail::InputShapes))).enumerate()
    {
        let cell = op_cell(view, column, row);
        cells += if i > 0 {
            ", "
        } else if fitted.is_some() {
            "  "
        } else {
            ""
        };
        cells.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.len())));
        cells += &cell;
    }
    match &fitted {
        Some((name, width)) => out.write_all(fit::end(&cells, width.saturating_sub(fit::width(name))).as_bytes())?,
        None => out.write_all(cells.as_bytes())?,
    }
    theme.end_row(share, out)?;
    end_line(view, theme, start, out);
    if view.selection.has_detail(Detail::InputShapes) {
        write_signatures(view, row, out)?;
    }
    Ok(())
}

fn op_cell(view: &View, column: &Column, row: &VisibleRow) -> String {
    match column {
        Column::Metric(info) => op_number(view, info, row),
        Column::Detail(Detail::Device) => devices(view, row).unwrap_or_default(),
        Column::Detail(Detail::OpTypes) => types(view, row),
        Column::Detail(detail) => of_trace(view, *detail, row),
        Column::Occurrence => {
            format!("{}|{}", view.self_value(Metric::Runs, row), view.self_value(Metric::Definitions, row))
        }
    }
}

/// A number with its shares.
fn op_number(view: &View, info: &MetricInfo, row: &VisibleRow) -> String {
    let own = view.number(Side::SelfOnly, info.metric, row);
    if info.is_ratio() {
        let mut text = Vec::new();
        push_number(own, info.metric, &mut text);
        return String::from_utf8_lossy(&text).into_owned() + info.op_suffix;
    }
    if matches!(own, Number::Missing) {
        return "--".to_owned();
    }
    let (own, total) = (view.exact_self(info.metric, row).n, view.cumulative(info.metric, row).n);
    // As the original: a share of memory is 0 if the row itself has none, any other share if its total is 0.
    let some = if info.unit == Unit::Bytes { own > 0 } else { total > 0 };
    let whole = view.exact_total(info.metric, &view.rows()[0]).n as f64;
    let share = |n: i64| if some { 100.0 * n as f64 / whole } else { 0.0 };
    let number = view.exact_self(info.metric, row).text(info.unit);
    format!("{number}{} ({:.2}%, {:.2}%)", info.op_suffix, share(total), share(own))
}

/// Writes the distinct input shapes of the nodes of a row, each with its runs, nodes and time.
fn write_signatures(view: &View, row: &VisibleRow, out: &mut Vec<u8>) -> io::Result<()> {
    #[derive(Default)]
    struct Signature {
        runs: i64,
        defined: i64,
        micros: i64,
    }
    let wrap = view.options.quirks.numbers_wrap;
    let mut signatures: UntrustedMap<Vec<u8>, Signature> = UntrustedMap::default();
    for node in view.bag(row) {
        let mut text = Vec::new();
        push_shapes_read(view, node, b",\t", &mut text);
        let numbers = view.values().row(node);
        let signature = signatures.entry(text).or_default();
        signature.runs = plus(signature.runs, numbers[Metric::Runs as usize], wrap);
        signature.micros = plus(signature.micros, numbers[Metric::Micros as usize], wrap);
        signature.defined += 1;
    }
    if signatures.is_empty() {
        return Ok(());
    }
    let parts = view.parts(Metric::Micros);
    let mut signatures: Vec<_> = signatures.into_iter().collect();
    signatures.sort_unstable_by(|(a, x), (b, y)| y.runs.cmp(&x.runs).then_with(|| a.cmp(b)));
    for (text, Signature { runs, defined, micros }) in signatures {
        out.write_all(b"\ninput_type: ")?;
        out.write_all(&text)?;
        write!(out, "\t(run*{runs}|defined*{defined})\texec_time: {}", Amount { n: micros, parts }.text(Unit::Micros))?;
    }
    out.write_all(b"\n\n")
}
