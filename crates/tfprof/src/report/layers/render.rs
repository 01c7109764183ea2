//! Layers and cases as tables for people, and as JSON.

use super::memory::Memory;
use super::what_if::Case;
use super::{Layer, LayerReport};
use crate::error::Warning;
use crate::hardware::rate;
use crate::json::{self, Level};
use crate::metric::Unit;
use crate::render::html;
use crate::report::cost::render::{Style, heading, line, table};
use crate::units::{self, Amount};
use serde::Serialize;
use std::io::{self, Write};

/// Writes the layers as a table, and the figures of the model below it.
pub fn write_layers(report: &LayerReport, style: Style<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Style::Html(title, container) = style else { return write_parts(report, style, out) };
    html::begin(title, container, out)?;
    write_parts(report, style, out)?;
    html::end(container, out)
}

fn write_parts(report: &LayerReport, style: Style<'_>, out: &mut dyn Write) -> io::Result<()> {
    let timed = report.whole.micros.is_some();
    let has_share = report.layers.iter().any(|layer| layer.flops_share.is_some());
    let mut head = vec!["layer", "output shape", "params", "flops", "bytes", "activations"];
    if timed {
        head.extend(["time", "share", "FLOP/s"]);
        head.extend(if has_share { &["of peak", "of roofline"][..] } else { &[] });
    }
    let whole = report.whole.micros.unwrap_or(0.0);
    let rows: Vec<Vec<String>> = report
        .layers
        .iter()
        .chain([&report.whole])
        .map(|layer| {
            let mut cells = cells(layer, whole, timed);
            cells.truncate(head.len());
            cells
        })
        .collect();
    table(&head, &rows, style, out)?;
    if !report.prefix.is_empty() {
        line(&format!("names leave out {}/", report.prefix), style, out)?;
    }
    heading("the model", style, out)?;
    let facts = facts(report);
    table(&["", "figure"], &facts, style, out)?;
    report.peaks.iter().try_for_each(|peak| line(peak, style, out))
}

fn cells(layer: &Layer, whole: f64, timed: bool) -> Vec<String> {
    let count = |n: i64| units::text(Unit::Count, n);
    let unknown = |text: Option<String>| text.unwrap_or_else(|| "--".to_owned());
    let percent = |share: Option<f64>| unknown(share.map(|share| format!("{:.2}%", 100.0 * share)));
    let least = if layer.unknown_ops > 0 { "≥ " } else { "" };
    let mut cells = vec![
        layer.name.clone(),
        shape(&layer.shape),
        count(layer.parameters),
        format!("{least}{}", count(layer.float_ops)),
        format!("{least}{}", units::text(Unit::Bytes, layer.io_bytes)),
        unknown(layer.activations.map(|bytes| units::text(Unit::Bytes, bytes))),
    ];
    if timed {
        let micros = layer.micros.unwrap_or(0.0);
        cells.push(time(micros));
        cells.push(percent((whole > 0.0).then(|| micros / whole)));
        cells.push(unknown(layer.flops_per_second.map(|flops| rate(flops, "FLOP/s"))));
        cells.push(percent(layer.flops_share));
        cells.push(percent(layer.roofline_share));
    }
    cells
}

fn time(micros: f64) -> String {
    Amount { n: (micros * 1e6) as i64, parts: 1_000_000 }.text(Unit::Micros)
}

/// `32x224x224x3`; a size that is unknown is `?`.
fn shape(dims: &[i64]) -> String {
    if dims.is_empty() {
        return "--".to_owned();
    }
    let size = |size: &i64| if *size < 0 { "?".to_owned() } else { size.to_string() };
    dims.iter().map(size).collect::<Vec<_>>().join("x")
}

/// The figures of the whole model.
fn facts(report: &LayerReport) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut fact = |name: &str, value: String| rows.push(vec![name.to_owned(), value]);
    let whole = &report.whole;
    let least = if whole.unknown_ops > 0 { format!("≥ ({} ops unknown) ", whole.unknown_ops) } else { String::new() };
    fact("FLOPs a step", format!("{least}{}", units::text(Unit::Count, whole.float_ops)));
    if let Some(step) = report.step_micros {
        fact("step time", time(step));
        match report.utilization {
            Some(share) => {
                fact(
                    "FLOP utilization",
                    format!("{:.2}% of the peak: FLOPs a step by step time and peak", 100.0 * share),
                );
            }
            None => fact("FLOP utilization", "unknown: no peak is known, or the FLOPs of some op that ran".to_owned()),
        }
        if let Some(batch) = report.batch.filter(|_| step > 0.0) {
            fact("samples a second", format!("{:.1} at batch {batch}", batch as f64 / step * 1e6));
        }
    }
    if let Some(share) = report.joined {
        fact("time joined", format!("{:.2}% of the measured time belongs to ops of the model", 100.0 * share));
    }
    memory_facts(&report.memory, &mut fact);
    rows
}

fn memory_facts(memory: &Memory, fact: &mut dyn FnMut(&str, String)) {
    let bytes = |n: i64| units::text(Unit::Bytes, n);
    let Memory { parameters, gradients, optimizer, activations, schedule_peak, has_gradients, unknown } = *memory;
    fact("memory: parameters", bytes(parameters));
    if let Some(gradients) = gradients {
        fact("memory: gradients", format!("{} if it is trained", bytes(gradients)));
    }
    match optimizer {
        Some(optimizer) => fact("memory: optimizer", bytes(optimizer)),
        None => fact("memory: optimizer", "none in this file".to_owned()),
    }
    match activations {
        Some(activations) => fact("memory: activations", format!("{} if all are kept", bytes(activations))),
        None if unknown == 1 => fact("memory: activations", "unknown: the outputs of 1 op".to_owned()),
        None if unknown > 0 => fact("memory: activations", format!("unknown: the outputs of {unknown} ops")),
        None => {}
    }
    if let Some(peak) = schedule_peak {
        let of = if has_gradients { "with its gradients" } else { "without gradients" };
        fact("memory: peak", format!("{} besides variables, one op after the other, {of}", bytes(peak)));
    }
}

const LINES: &[Level] = &[Level { keys: &["warnings", "peaks", "model", "rows"], rows: &["warnings", "rows"] }];

#[derive(Serialize)]
struct LayerJson<'a> {
    name: &'a str,
    output_shape: Option<&'a [i64]>,
    params: i64,
    float_ops: i64,
    io_bytes: i64,
    unknown_ops: i64,
    activation_bytes: Option<i64>,
    micros: Option<f64>,
    flops_per_second: Option<f64>,
    flops_share: Option<f64>,
    roofline_share: Option<f64>,
}

impl<'a> LayerJson<'a> {
    fn new(layer: &'a Layer) -> LayerJson<'a> {
        LayerJson {
            name: &layer.name,
            output_shape: Some(&layer.shape[..]).filter(|shape| !shape.is_empty()),
            params: layer.parameters,
            float_ops: layer.float_ops,
            io_bytes: layer.io_bytes,
            unknown_ops: layer.unknown_ops,
            activation_bytes: layer.activations,
            micros: layer.micros,
            flops_per_second: layer.flops_per_second,
            flops_share: layer.flops_share,
            roofline_share: layer.roofline_share,
        }
    }
}

#[derive(Serialize)]
struct ModelJson<'a> {
    #[serde(flatten)]
    whole: LayerJson<'a>,
    step_micros: Option<f64>,
    flop_utilization: Option<f64>,
    batch: Option<i64>,
    joined_share: Option<f64>,
    memory: Memory,
}

#[derive(Serialize)]
struct ReportJson<'a> {
    version: u32,
    command: &'static str,
    warnings: &'a [Warning],
    peaks: &'a [String],
    model: ModelJson<'a>,
    rows: Vec<LayerJson<'a>>,
}

/// Writes the layers as JSON.
pub fn write_layers_json(report: &LayerReport, out: &mut dyn Write) -> io::Result<()> {
    let model = ModelJson {
        whole: LayerJson::new(&report.whole),
        step_micros: report.step_micros,
        flop_utilization: report.utilization,
        batch: report.batch,
        joined_share: report.joined,
        memory: report.memory,
    };
    let rows = report.layers.iter().map(LayerJson::new).collect();
    let LayerReport { warnings, peaks, .. } = report;
    json::write_report(&ReportJson { version: 1, command: "layers", warnings, peaks, model, rows }, LINES, out)
}

/// Writes cases as a table with what they assume.
pub fn write_cases(cases: &[Case], assumptions: &[String], style: Style<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Style::Html(title, container) = style else { return write_case_parts(cases, assumptions, style, out) };
    html::begin(title, container, out)?;
    out.write_all(super::picture::bars(cases).as_bytes())?;
    write_case_parts(cases, assumptions, style, out)?;
    html::end(container, out)
}

fn write_case_parts(cases: &[Case], assumptions: &[String], style: Style<'_>, out: &mut dyn Write) -> io::Result<()> {
    let head = [
        "batch",
        "device",
        "flops",
        "least step time",
        "of it compute-bound",
        "samples/s",
        "parameters",
        "activations",
        "peak",
    ];
    let unknown = |text: Option<String>| text.unwrap_or_else(|| "--".to_owned());
    let bytes = |n: i64| units::text(Unit::Bytes, n);
    let rows: Vec<Vec<String>> = cases
        .iter()
        .map(|case| {
            let least = if case.unknown_ops > 0 { "≥ " } else { "" };
            vec![
                unknown(case.batch.map(|batch| batch.to_string())),
                case.device.clone(),
                format!("{least}{}", units::text(Unit::Count, case.float_ops)),
                unknown(case.micros.map(|micros| format!("{least}{}", time(micros)))),
                unknown(case.compute_bound.map(|share| format!("{:.1}%", 100.0 * share))),
                unknown(case.per_second.map(|per_second| format!("{per_second:.1}"))),
                bytes(case.memory.parameters),
                unknown(case.memory.activations.map(bytes)),
                unknown(case.memory.schedule_peak.map(bytes)),
            ]
        })
        .collect();
    table(&head, &rows, style, out)?;
    heading("assumptions", style, out)?;
    assumptions.iter().try_for_each(|text| line(text, style, out))
}

const CASES: &[Level] = &[Level { keys: &["assumptions", "rows"], rows: &["assumptions", "rows"] }];

#[derive(Serialize)]
struct CasesJson<'a> {
    version: u32,
    command: &'static str,
    assumptions: &'a [String],
    rows: &'a [Case],
}

/// Writes cases as JSON.
pub fn write_cases_json(cases: &[Case], assumptions: &[String], out: &mut dyn Write) -> io::Result<()> {
    json::write_report(&CasesJson { version: 1, command: "whatif", assumptions, rows: cases }, CASES, out)
}
