//! An answer as JSON, flat so that depth costs nothing: rows in the order of printing, each with its parent.

use super::rows::write_each;
use super::tensor;
use crate::digits;
use crate::error::Warning;
use crate::metric::{Detail, Metric};
use crate::model::nodes::NodeId;
use crate::options::OPTIONS;
use crate::units::Amount;
use crate::view::{Line, Shown, View};
use std::collections::BTreeMap;
use std::io::{self, Write};
use tfprof_proto::stream::Spot;

/// Writes one object and a newline. `warnings` are those of loading; the view adds its own.
pub fn write(view: &View, warnings: &[Warning], out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{{\"version\":1,\"command\":\"{}\",\"options\":{{", view.kind.word())?;
    for (i, option) in OPTIONS.iter().enumerate() {
        write!(out, "{}\"{}\":", if i > 0 { "," } else { "" }, option.name)?;
        let value = match option.name {
            "select" => view.selection.words().join(","),
            _ => (option.show)(&view.options),
        };
        write_string(&value, out)?;
    }
    out.write_all(b"},\n\"warnings\":[")?;
    for (i, warning) in warnings.iter().chain(&view.warnings).enumerate() {
        out.write_all(if i > 0 { b",\n" } else { b"\n" })?;
        write_warning(warning, out)?;
    }
    out.write_all(b"],\n\"columns\":[")?;
    let metrics: Vec<_> = view.metrics().iter().collect();
    for (i, metric) in metrics.iter().enumerate() {
        write!(out, "{}\"{}\"", if i > 0 { "," } else { "" }, metric.info().key)?;
    }
    out.write_all(b"],\n\"rows\":[")?;
    let mut id = 0;
    write_each(view.rows(), out, |row, text| {
        text.extend_from_slice(if id > 0 { b",\n" } else { b"\n" });
        write_row(view, &metrics, id, row, text)?;
        id += 1;
        Ok(())
    })?;
    out.write_all(b"]}\n")
}

fn write_row(view: &View, metrics: &[Metric], id: usize, row: &Shown, out: &mut Vec<u8>) -> io::Result<()> {
    out.extend_from_slice(b"{\"id\":");
    digits::push_unsigned(out, id as u64);
    out.extend_from_slice(b",\"parent\":");
    if id == 0 {
        out.extend_from_slice(b"null");
    } else {
        digits::push_unsigned(out, row.parent as u64);
    }
    out.extend_from_slice(b",\"depth\":");
    digits::push_unsigned(out, row.depth as u64);
    out.extend_from_slice(b",\"name\":");
    push_string(view.name(row), out);
    out.extend_from_slice(b",\"accounted\":");
    out.extend_from_slice(if view.is_accounted(row) { b"true" } else { b"false" });
    out.extend_from_slice(b",\"self\":");
    push_numbers(metrics, |metric| view.knows(metric).then(|| view.exact_own(metric, row)), out);
    out.extend_from_slice(b",\"total\":");
    push_numbers(metrics, |metric| view.knows(metric).then(|| view.exact_total(metric, row)), out);
    write_details(view, row, out)?;
    out.push(b'}');
    Ok(())
}

fn push_numbers(metrics: &[Metric], number: impl Fn(Metric) -> Option<Amount>, out: &mut Vec<u8>) {
    out.push(b'{');
    for (i, metric) in metrics.iter().enumerate() {
        out.extend_from_slice(if i > 0 { b",\"" } else { b"\"" });
        out.extend_from_slice(metric.info().key.as_bytes());
        out.extend_from_slice(b"\":");
        match number(*metric) {
            Some(number) => number.push_exact(out),
            None => out.extend_from_slice(b"null"),
        }
    }
    out.push(b'}');
}

/// What was selected besides numbers.
fn write_details(view: &View, row: &Shown, out: &mut dyn Write) -> io::Result<()> {
    let nodes: Vec<NodeId> = view.node(row).into_iter().chain(view.bag(row)).collect();
    if view.selection.has_detail(Detail::Device) {
        let mut devices: Vec<_> = nodes.iter().flat_map(|node| view.values().devices(*node)).collect();
        devices.sort_unstable_by(|a, b| view.model.names.get(*a).cmp(view.model.names.get(*b)));
        devices.dedup();
        write_strings("devices", devices.into_iter().map(|device| view.model.names.get(device)), out)?;
        if view.model.is_trace {
            write_by_device(view, &nodes, out)?;
        }
    }
    if view.model.is_trace
        && let Some(Line { file, function, number, .. }) = view.line(row)
    {
        out.write_all(b",\"frame\":")?;
        let line = if number < 0 { String::new() } else { format!(":{number}") };
        write_string(&format!("{file}{line} {function}"), out)?;
    }
    if view.selection.has_detail(Detail::OpTypes) {
        let mut types: Vec<_> = nodes.iter().flat_map(|node| view.values().types(*node)).collect();
        types.sort_unstable();
        types.dedup();
        write_strings("op_types", types.into_iter(), out)?;
    }
    if let Some(values) = view.tensor(row, None) {
        write!(
            out,
            ",\"tensor_value\":{{\"dtype\":\"{}\",\"shape\":{:?},\"values\":",
            values.dtype.name(),
            values.shape
        )?;
        tensor::json(&values, out)?;
        out.write_all(b"}")?;
    }
    let Some(node) = view.node(row) else { return Ok(()) };
    let shape = view.model.shapes.get(view.model.nodes.shape[node.index()]);
    if view.selection.has(Metric::Parameters) && !shape.is_empty() {
        write!(out, ",\"shape\":{shape:?}")?;
    }
    if view.selection.has_detail(Detail::InputShapes) {
        out.write_all(b",\"input_shapes\":[")?;
        for (i, input) in view.model.nodes.inputs(node).iter().enumerate() {
            out.write_all(if i > 0 { b"," } else { b"" })?;
            match view.model.shapes.get(view.values().input_shape(input)) {
                [] => out.write_all(b"null")?,
                dims => write!(out, "{dims:?}")?,
            }
        }
        out.write_all(b"]")?;
    }
    Ok(())
}

/// What the nodes of a row took on each device.
fn write_by_device(view: &View, nodes: &[NodeId], out: &mut dyn Write) -> io::Result<()> {
    let mut sums: BTreeMap<&str, [i64; 3]> = BTreeMap::new();
    for (device, numbers) in nodes.iter().flat_map(|node| view.values().by_device(*node)) {
        let sum = sums.entry(view.model.devices.spelled(device)).or_default();
        sum.iter_mut().zip(numbers).for_each(|(sum, number)| *sum = sum.saturating_add(number));
    }
    out.write_all(b",\"by_device\":[")?;
    for (i, (device, [runs, own, inclusive])) in sums.into_iter().enumerate() {
        out.write_all(if i > 0 { b",{\"device\":" } else { b"{\"device\":" })?;
        write_string(device, out)?;
        let time = |n| Amount { n, parts: view.model.parts(Metric::Micros) };
        write!(out, ",\"runs\":{runs},\"micros\":{},\"inclusive_micros\":{}}}", time(own), time(inclusive))?;
    }
    out.write_all(b"]")
}

fn write_strings<'a>(key: &str, strings: impl Iterator<Item = &'a str>, out: &mut dyn Write) -> io::Result<()> {
    write!(out, ",\"{key}\":[")?;
    for (i, string) in strings.enumerate() {
        out.write_all(if i > 0 { b"," } else { b"" })?;
        write_string(string, out)?;
    }
    out.write_all(b"]")
}

pub fn write_warning(warning: &Warning, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{{\"code\":\"{}\",\"file\":", warning.code)?;
    match &warning.location {
        None => out.write_all(b"null,\"place\":null")?,
        Some(location) => {
            write_string(&location.file, out)?;
            match location.spot {
                None => out.write_all(b",\"place\":null")?,
                Some(Spot::Byte(byte)) => write!(out, ",\"place\":\"byte {byte}\"")?,
                Some(Spot::Line { line, column }) => write!(out, ",\"place\":\"{line}:{column}\"")?,
            }
        }
    }
    out.write_all(b",\"message\":")?;
    write_string(&warning.message, out)?;
    out.write_all(b"}")
}

/// Writes a string in quotes, with what JSON does not allow escaped.
pub fn write_string(text: &str, out: &mut dyn Write) -> io::Result<()> {
    let mut quoted = Vec::with_capacity(text.len() + 2);
    push_string(text, &mut quoted);
    out.write_all(&quoted)
}

/// The same, at the end of a buffer.
pub fn push_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut from = 0;
    for (i, byte) in text.bytes().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' && byte != 0x7f {
            continue;
        }
        out.extend_from_slice(&text.as_bytes()[from..i]);
        from = i + 1;
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            byte => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
        }
    }
    out.extend_from_slice(&text.as_bytes()[from..]);
    out.push(b'"');
}
