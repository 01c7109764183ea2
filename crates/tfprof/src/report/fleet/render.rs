//! The answer about a fleet as tables for people, as HTML with a heat map, and as JSON.

use super::{Fleet, Host};
use crate::error::Warning;
use crate::json::{self, Level};
use crate::metric::Unit;
use crate::render::html;
use crate::report::cost::render::{Style, heading, line, table};
use crate::units::Amount;
use serde::Serialize;
use std::io::{self, Write};

/// The maximum number of hosts in text; JSON has all.
const HOSTS: usize = 20;

pub fn write(fleet: &Fleet, style: Style<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Style::Html(title, container) = style else { return write_parts(fleet, style, out) };
    html::begin(title, container, out)?;
    out.write_all(b"<div class=\"title part\">hosts and steps</div>\n")?;
    fleet.heat.write(out)?;
    write_parts(fleet, style, out)?;
    html::end(container, out)
}

fn write_parts(fleet: &Fleet, style: Style<'_>, out: &mut dyn Write) -> io::Result<()> {
    heading("step time by host, slowest first", style, out)?;
    let head = ["host", "steps", "median", "p99", "longest", "vs median", "busy", "idle", "input", "communication"];
    let rows: Vec<Vec<String>> = fleet.hosts.iter().take(HOSTS).map(host_cells).collect();
    table(&head, &rows, style, out)?;
    if fleet.hosts.len() > HOSTS {
        line(&format!("… and {} more hosts", fleet.hosts.len() - HOSTS), style, out)?;
    }
    if let Some(skew) = fleet.skew_percent {
        let text = format!("skew: in the median step, the slowest host is {skew:.1}% behind the median one");
        line(&text, style, out)?;
        heading("steps of most skew", style, out)?;
        let rows: Vec<Vec<String>> = fleet
            .skewed_steps
            .iter()
            .take(5)
            .map(|step| {
                let skew = format!("{:+.1}%", step.skew_percent);
                let times = [step.median_micros, step.max_micros].map(time);
                let [median, max] = times;
                vec![step.step.to_string(), median, max, skew, step.slowest.clone()]
            })
            .collect();
        table(&["step", "median host", "slowest host", "skew", "slowest"], &rows, style, out)?;
    }
    for slow in &fleet.slowest {
        heading(&format!("{:.1}% slower than the median host: {}", slow.slower_percent, slow.host), style, out)?;
        let rows: Vec<Vec<String>> = slow
            .ops
            .iter()
            .map(|op| {
                let [own, median, more] = [op.micros, op.median_micros, op.difference_micros].map(time);
                vec![op.op.clone(), own, median, format!("+{more}"), format!("{:.1}/{:.1}", op.runs, op.median_runs)]
            })
            .collect();
        table(&["op, by step", "here", "median host", "difference", "runs here/median"], &rows, style, out)?;
    }
    if !fleet.outliers.is_empty() {
        heading("outlier steps of single hosts", style, out)?;
        let rows: Vec<Vec<String>> = fleet
            .outliers
            .iter()
            .map(|one| {
                let factor = format!("{:.1}x", one.micros / one.median_micros);
                vec![one.host.clone(), one.step.to_string(), time(one.micros), time(one.median_micros), factor]
            })
            .collect();
        table(&["host", "step", "time", "its median", "factor"], &rows, style, out)?;
    }
    write_ops(fleet, style, out)?;
    write_missing(fleet, style, out)
}

fn write_ops(fleet: &Fleet, style: Style<'_>, out: &mut dyn Write) -> io::Result<()> {
    if fleet.ops.is_empty() {
        return Ok(());
    }
    heading("ops of most time, by step and host", style, out)?;
    let rows: Vec<Vec<String>> = fleet
        .ops
        .iter()
        .take(10)
        .map(|op| {
            let times = [op.mean_micros, op.p50_micros, op.p90_micros, op.p99_micros, op.max_micros].map(time);
            let mut cells = vec![op.name.clone(), op.op.clone(), op.host_steps.to_string()];
            cells.extend(times);
            cells
        })
        .collect();
    table(&["name", "op", "host steps", "mean", "p50", "p90", "p99", "longest"], &rows, style, out)
}

fn write_missing(fleet: &Fleet, style: Style<'_>, out: &mut dyn Write) -> io::Result<()> {
    for (title, list) in [("missing hosts", &fleet.missing), ("damaged inputs", &fleet.damaged)] {
        if !list.is_empty() {
            heading(title, style, out)?;
            let rows: Vec<Vec<String>> = list.iter().map(|one| vec![one.path.clone(), one.why.clone()]).collect();
            table(&["path", "why"], &rows, style, out)?;
        }
    }
    Ok(())
}

fn host_cells(host: &Host) -> Vec<String> {
    let known = |micros: Option<f64>| micros.map_or_else(|| "--".to_owned(), time);
    let slower = host.slower_percent.map_or_else(|| "--".to_owned(), |percent| format!("{percent:+.1}%"));
    let mut cells = vec![host.host.clone(), host.steps.to_string()];
    cells.extend([host.median_micros, host.p99_micros, host.max_micros].map(known));
    cells.push(slower);
    let parts = [host.busy_micros, host.idle_micros, host.input_micros, host.communication_micros];
    cells.extend(parts.map(known));
    cells
}

fn time(micros: f64) -> String {
    Amount { n: (micros * 1e6) as i64, parts: 1_000_000 }.text(Unit::Micros)
}

#[derive(Serialize)]
struct ReportJson<'a> {
    version: u32,
    command: &'static str,
    warnings: &'a [Warning],
    #[serde(flatten)]
    fleet: &'a Fleet,
}

const LINES: &[Level] = &[Level {
    keys: &[
        "command",
        "warnings",
        "hosts",
        "skew_percent",
        "skewed_steps",
        "slowest",
        "outliers",
        "ops",
        "missing",
        "damaged",
    ],
    rows: &["warnings", "hosts", "skewed_steps", "slowest", "outliers", "ops", "missing", "damaged"],
}];

pub fn write_json(fleet: &Fleet, warnings: &[Warning], out: &mut dyn Write) -> io::Result<()> {
    json::write_report(&ReportJson { version: 1, command: "fleet", warnings, fleet }, LINES, out)
}
