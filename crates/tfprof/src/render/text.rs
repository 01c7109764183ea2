//! An answer as text, in the layout of the original.

use super::tensor;
use super::theme::{self, Theme};
use super::write_each;
use crate::hash::UntrustedMap;
use crate::metric::{DETAILS, Detail, METRICS, Metric, MetricInfo, Unit};
use crate::model::nodes::NodeId;
use crate::options::ViewKind;
use crate::units::{self, Amount};
use crate::view::values::plus;
use crate::view::{Side, Value, View, VisibleRow};
use std::collections::BTreeSet;
use std::io::{self, Write};

/// Writes the head, which explains the selected words, and the report.
pub fn write(view: &View, out: &mut dyn Write) -> io::Result<()> {
    write_themed(view, &Theme::PLAIN, out)
}

/// The same with bars and colour for a terminal.
pub fn write_themed(view: &View, theme: &Theme, out: &mut dyn Write) -> io::Result<()> {
    let mut head = Vec::new();
    write_head(view, &mut head)?;
    theme.faint(out, &head)?;
    write_rows(view, theme, out)
}

fn write_head(view: &View, out: &mut dyn Write) -> io::Result<()> {
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
    write_rows(view, &Theme::PLAIN, out)
}

fn write_rows(view: &View, theme: &Theme, out: &mut dyn Write) -> io::Result<()> {
    let columns = columns(view);
    let mut legend = b"Profile:\n".to_vec();
    let chain = view.rules().chain;
    if !(chain && view.is_empty()) {
        write_legend(view, &columns, &mut legend)?;
    }
    out.write_all(&legend)?;
    let rows = view.rows();
    if !chain {
        return write_each(rows, out, |row, text| write_row(view, &columns, theme, row, text));
    }
    // If there are no rows, show the root with its zeros.
    let (root, below) = (&rows[0], if view.is_empty() { &rows[..1] } else { &rows[1..] });
    write_each(below, out, |row, text| write_op_row(view, &columns, theme, root, row, text))
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
    for detail in [Detail::Device, Detail::OpTypes, Detail::Category, Detail::Program, Detail::Kernels] {
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

fn write_legend(view: &View, columns: &[Column], out: &mut Vec<u8>) -> io::Result<()> {
    out.write_all(b"node name | ")?;
    for (i, column) in columns.iter().enumerate() {
        let legend = match column {
            Column::Metric(info) => info.legend,
            Column::Occurrence if view.rules().bags => "op occurrence (run|defined)",
            Column::Occurrence => Metric::Runs.info().legend,
            Column::Detail(Detail::Device) => "assigned devices",
            Column::Detail(Detail::OpTypes) => "op types",
            Column::Detail(detail @ (Detail::Category | Detail::Program | Detail::Kernels)) => {
                DETAILS[*detail as usize].word
            }
            Column::Detail(_) => "input shapes",
        };
        out.write_all(if i > 0 { b" | " } else { b"" })?;
        out.write_all(legend.as_bytes())?;
    }
    out.write_all(b"\n")
}

/// A row of a tree: `name (own/total, …)`.
fn write_row(view: &View, columns: &[Column], theme: &Theme, row: &VisibleRow, out: &mut Vec<u8>) -> io::Result<()> {
    let share = if theme.is_plain() { 0.0 } else { theme::share(view, row) };
    theme.begin_row(share, out)?;
    out.resize(out.len() + 2 * row.depth, b' ');
    theme.name(share, view.name(row).as_bytes(), out)?;
    if view.options.source_lines
        && let Some(line) = view.source_line(row)
    {
        write!(out, ":{line}")?;
    }
    out.write_all(b" (")?;
    let mut separator = "";
    for column in columns {
        match column {
            Column::Metric(info) => {
                out.write_all(separator.as_bytes())?;
                if info.metric == Metric::Parameters && push_shape(view, row, out) {
                    out.write_all(b", ")?;
                }
                push_pair(view, info.metric, row, out);
                out.write_all(info.suffix.as_bytes())?;
            }
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
            Column::Detail(detail @ (Detail::Category | Detail::Program | Detail::Kernels)) => {
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
    out.write_all(b")")?;
    theme.end_row(share, out)?;
    out.write_all(b"\n")?;
    match view.tensor(row, Some(tensor::SHOWN)) {
        Some(values) => out.write_all(&tensor::text(&values, &view.options.quirks)),
        None => Ok(()),
    }
}

fn push_pair(view: &View, metric: Metric, row: &VisibleRow, out: &mut Vec<u8>) {
    let own = if view.is_accounted(row) { view.number(Side::SelfOnly, metric, row) } else { Value::Missing };
    push_number(&own, metric, out);
    out.push(b'/');
    push_number(&view.number(Side::Total, metric, row), metric, out);
}

pub(super) fn push_number(value: &Value<'_>, metric: Metric, out: &mut Vec<u8>) {
    let unit = metric.info().unit;
    match value {
        Value::Int(n) => units::push(out, unit, *n),
        Value::Decimal(amount) => amount.push(out, unit),
        Value::Real(x) => units::push_real(out, unit, *x),
        _ => out.extend_from_slice(b"--"),
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

/// What traces tell of the ops of a row; `--` if nothing.
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

/// A row of the op view: `name   number (total%, own%), …`.
fn write_op_row(
    view: &View,
    columns: &[Column],
    theme: &Theme,
    root: &VisibleRow,
    row: &VisibleRow,
    out: &mut Vec<u8>,
) -> io::Result<()> {
    let share = if theme.is_plain() { 0.0 } else { theme::share(view, row) };
    theme.begin_row(share, out)?;
    // As the original: padding counts bytes, not characters.
    let name = view.name(row);
    theme.name(share, name.as_bytes(), out)?;
    write!(out, "{:1$}", "", 25_usize.saturating_sub(name.len()))?;
    let mut separator = "";
    for column in columns {
        if matches!(column, Column::Detail(Detail::InputShapes)) {
            continue;
        }
        out.write_all(separator.as_bytes())?;
        separator = ", ";
        match column {
            Column::Metric(info) => write_share(view, info, root, row, out)?,
            Column::Detail(Detail::Device) => out.write_all(devices(view, row).unwrap_or_default().as_bytes())?,
            Column::Detail(Detail::OpTypes) => out.write_all(types(view, row).as_bytes())?,
            Column::Detail(detail) => out.write_all(of_trace(view, *detail, row).as_bytes())?,
            Column::Occurrence => {
                let counts =
                    format!("{}|{}", view.self_value(Metric::Runs, row), view.self_value(Metric::Definitions, row));
                write_padded(out, &counts, 10)?;
            }
        }
    }
    theme.end_row(share, out)?;
    out.write_all(b"\n")?;
    if view.selection.has_detail(Detail::InputShapes) {
        write_signatures(view, row, out)?;
    }
    Ok(())
}

fn write_share(
    view: &View,
    info: &MetricInfo,
    root: &VisibleRow,
    row: &VisibleRow,
    out: &mut Vec<u8>,
) -> io::Result<()> {
    let own = view.number(Side::SelfOnly, info.metric, row);
    if !info.is_ratio() && matches!(own, Value::Missing) {
        return write_padded(out, "--", 30);
    }
    if info.is_ratio() {
        let mut text = Vec::new();
        push_number(&own, info.metric, &mut text);
        text.extend_from_slice(info.op_suffix.as_bytes());
        return write_padded(out, &String::from_utf8_lossy(&text), 20);
    }
    let (own, total) = (view.exact_self(info.metric, row).n, view.exact_total(info.metric, row).n);
    // As the original: a share of memory is 0 if the row itself has none, any other share if its total is 0.
    let some = if info.unit == Unit::Bytes { own > 0 } else { total > 0 };
    let share = |n: i64| if some { 100.0 * n as f64 / view.exact_total(info.metric, root).n as f64 } else { 0.0 };
    let number = view.exact_self(info.metric, row).text(info.unit);
    let text = format!("{number}{} ({:.2}%, {:.2}%)", info.op_suffix, share(total), share(own));
    write_padded(out, &text, 30)
}

/// Writes right-aligned text.
fn write_padded(out: &mut Vec<u8>, text: &str, width: usize) -> io::Result<()> {
    write!(out, "{:1$}{text}", "", width.saturating_sub(text.len()))
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
    let parts = view.model.parts(Metric::Micros);
    let mut signatures: Vec<_> = signatures.into_iter().collect();
    signatures.sort_unstable_by(|(a, x), (b, y)| y.runs.cmp(&x.runs).then_with(|| a.cmp(b)));
    for (text, Signature { runs, defined, micros }) in signatures {
        out.write_all(b"\ninput_type: ")?;
        out.write_all(&text)?;
        write!(out, "\t(run*{runs}|defined*{defined})\texec_time: {}", Amount { n: micros, parts }.text(Unit::Micros))?;
    }
    out.write_all(b"\n\n")
}
