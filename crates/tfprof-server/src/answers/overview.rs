//! The first screen: the most important figures, the steps, the largest rows, findings, and what is missing.

use super::lists::each_node;
use super::steps::{self, Parts, WarmUp, parts_of_step, warm_up};
use crate::params::Params;
use crate::question::ViewQuestion;
use crate::reply::{Problem, Reply};
use crate::site::Site;
use crate::tree::{Direction, Tree, tells_directions};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use tfprof::internal::report::advise;
use tfprof::internal::units;
use tfprof::{CHECKERS, Metric, Quirks, Step, ViewKind};

/// The maximum number of steps drawn as bars.
const BARS: usize = 400;
/// The rows of each list.
const TOP: usize = 6;

pub fn overview(site: &Site, params: &mut Params) -> Result<Reply, Problem> {
    let asked = site.asked(params)?;
    let warm_up = warm_up(&site.overview, site.profiler.model());
    let words = asked.words();
    let scopes = site.tree(&asked.with(ViewKind::Scope, &words)?)?;
    let mut top = Vec::new();
    let mut slowest = json!({ "op": null, "line": null });
    for (kind, title) in [(ViewKind::Op, "Op types"), (ViewKind::Scope, "Scopes"), (ViewKind::Code, "Lines of Python")]
    {
        let Ok(tree) = asked.with(kind, &words).and_then(|asked| site.tree(&asked)) else { continue };
        let rows = match kind {
            ViewKind::Code => lines(&tree),
            ViewKind::Op => largest(&tree).into_iter().map(|id| op_row(&tree, id)).collect(),
            _ => tree.rows_json(largest(&tree)),
        };
        match kind {
            ViewKind::Code => slowest["line"] = rows[0].clone(),
            ViewKind::Scope => slowest["op"] = single(&tree).map_or(Value::Null, |id| tree.row_json(id)),
            _ => {}
        }
        top.push(json!({ "view": kind.word(), "title": title, "columns": tree.columns(), "rows": rows }));
    }
    let (bars, bins) = step_bars(site, &warm_up);
    let (findings, notes) = findings(site)?;
    let frame = site.frame(&scopes);
    let figures = figures(site, &asked)?;
    Ok(frame.reply(json!({
        "op_time_is_not_step_time": ops_beside_step(figures[0]["value"].as_f64(), figures[1]["value"].as_f64()),
        "figures": figures,
        "steps": bars,
        "step_bins": bins,
        "parts": parts(&scopes),
        "top": top,
        "findings": findings,
        "notes": notes,
        "missing": site.overview.missing,
        "slowest": slowest,
        "peak": peak(site),
    })))
}

/// The reason why the duration of a step and the time in its ops differ.
fn ops_beside_step(step: Option<f64>, ops: Option<f64>) -> Option<&'static str> {
    let (step, ops) = step.zip(ops)?;
    Some(if ops > step {
        "Ops run at the same time, so their times add up to more than the time of a step."
    } else {
        "A step is longer than its ops: the rest of it passes outside of them."
    })
}

/// The largest rows; of scopes those at the level where the tree branches.
fn largest(tree: &Tree) -> Vec<usize> {
    let mut rows: Vec<usize> = match tree.view.kind {
        ViewKind::Op => (1..tree.len()).collect(),
        _ => {
            let mut level: Vec<usize> = vec![0];
            // Scopes that hold nearly everything say little; use those inside them.
            loop {
                let large =
                    |id: &usize| tree.parts(*id) as f64 > 0.5 * tree.parts(0) as f64 && tree.kids(*id).len() > 1;
                let single =
                    |id: &usize| tree.kids(*id).len() == 1 && tree.parts(*id) as f64 > 0.5 * tree.parts(0) as f64;
                let Some(at) = level.iter().position(|id| *id == 0 || large(id) || single(id)) else { break };
                let id = level.remove(at);
                level.extend(tree.kids(id).iter().map(|kid| *kid as usize));
            }
            level
        }
    };
    rows.retain(|id| tree.parts(*id) > 0);
    rows.sort_by_key(|id| Reverse(tree.parts(*id)));
    rows.truncate(TOP);
    rows
}

/// The row of an op type, and its figure by direction.
fn op_row(tree: &Tree, id: usize) -> Value {
    let model = &tree.view.model;
    let mut parts = Parts::default();
    let directions = tree.node_directions();
    each_node(tree, id, &mut |node, n| parts.add(directions[node.index()], n));
    let mut row = tree.row_json(id);
    if tells_directions(model) {
        row["forward"] = tree.whole(parts.forward).into();
        row["gradient"] = tree.whole(parts.gradient).into();
    }
    row
}

/// Source lines by self figure, whatever their callers; forward ops and gradients apart.
fn lines(tree: &Tree) -> Value {
    let mut sums: BTreeMap<(&str, i32, bool), (i64, usize)> = BTreeMap::new();
    for id in (1..tree.len()).filter(|id| tree.own_parts(*id) > 0) {
        let Some(line) = tree.view.line(tree.row(id)) else { continue };
        let (sum, _) = sums.entry((line.file, line.number, line.is_gradient)).or_insert((0, id));
        *sum = sum.saturating_add(tree.own_parts(id));
    }
    let mut sorted: Vec<_> = sums.into_iter().collect();
    sorted.sort_by_key(|(_, (sum, _))| Reverse(*sum));
    let one = |((file, number, _), (sum, id)): &((&str, i32, bool), (i64, usize))| {
        let mut row = tree.row_json(*id);
        row["kind"] = "line".into();
        row["path"] = format!("{file}:{number}").into();
        row["kids"] = 0.into();
        row["total"] = json!([tree.whole(*sum)]);
        row["own"] = row["total"].clone();
        row["share"] = json!([tree.share_of(tree.asked.metric(), *sum as f64)]);
        row
    };
    sorted.iter().take(TOP).map(one).collect()
}

/// The op with the largest self figure.
fn single(tree: &Tree) -> Option<usize> {
    (1..tree.len()).filter(|id| tree.own_parts(*id) > 0).max_by_key(|id| (tree.own_parts(*id), Reverse(*id)))
}

/// The metric by direction: forward, gradient and others.
fn parts(tree: &Tree) -> Value {
    let metric = tree.asked.metric();
    if metric.is_ratio() || tree.parts(0) <= 0 {
        return Value::Null;
    }
    let mut parts = Parts::default();
    for id in 1..tree.len() {
        let own = tree.own_parts(id);
        if own != 0 {
            parts.add(Direction::of(tree.name(id), tree.op(id)), own);
        }
    }
    parts.json(tree.view.model.parts(metric), tree.parts(0))
}

fn step_bars(site: &Site, warm_up: &WarmUp) -> (Value, Value) {
    let list = &site.overview.steps;
    let model = site.profiler.model();
    if list.len() > BARS {
        let bins: Value = list
            .chunks(list.len().div_ceil(BARS))
            .map(|bin| {
                let mut spans: Vec<i64> = bin.iter().map(|step| step.span).collect();
                spans.sort_unstable();
                let at = |share: f64| spans[((spans.len() - 1) as f64 * share) as usize];
                json!({ "from": bin[0].step, "to": bin[bin.len() - 1].step, "n": bin.len(), "p50": at(0.5), "p95": at(0.95) })
            })
            .collect();
        return (json!([]), bins);
    }
    let directions = tells_directions(model).then(|| site.node_directions());
    let bars: Value = list
        .iter()
        .map(|step| {
            let mut bar = steps::json(step, warm_up);
            let whole = |n: i64| n as f64 / model.parts(Metric::Micros) as f64;
            let parts = directions.and_then(|directions| parts_of_step(model, step.step, directions));
            bar["forward"] = parts.map(|parts| whole(parts.forward)).into();
            bar["gradient"] = parts.map(|parts| whole(parts.gradient)).into();
            bar["other"] = parts.map(|parts| whole(parts.other)).into();
            bar
        })
        .collect();
    (bars, Value::Null)
}

fn figures(site: &Site, asked: &ViewQuestion) -> Result<Value, Problem> {
    let overview = &site.overview;
    let command = &site.setup.command;
    let info = command.line("info", &[]);
    let total = |metric: Metric| -> Result<(Value, String), Problem> {
        let word = metric.info().word.unwrap_or_default();
        // A metric that the files cannot have is refused; the figure is unknown.
        let Ok(tree) = site.tree(&asked.unfiltered(ViewKind::Scope, &[word])?) else {
            return Ok((Value::Null, info.clone()));
        };
        let zero = tree.parts(0) == 0 && !metric.is_ratio();
        let value = if zero { Value::Null } else { tree.number(tfprof::Side::Total, metric, 0) };
        Ok((value, command.line("scope", &asked.unfiltered(ViewKind::Scope, &[word])?.command_options(0))))
    };
    let figure = |key: &str, label: &str, value: Value, unit: &str, note: String, command: &str| json!({ "key": key, "label": label, "value": value, "unit": unit, "note": note, "command": command });
    let chosen: Vec<_> = match asked.step() {
        Step::At(step) => overview.steps.iter().filter(|time| time.step == step).collect(),
        Step::From(first) => overview.steps.iter().filter(|time| time.step >= first).collect(),
        _ => overview.steps.iter().collect(),
    };
    let spans: Vec<i64> = chosen.iter().map(|step| step.span).filter(|span| *span > 0).collect();
    let span = (!spans.is_empty()).then(|| spans.iter().map(|span| *span as f64).sum::<f64>() / spans.len() as f64);
    let steps_note = match (asked.step(), spans.len()) {
        (_, 0) => "no step is recorded".to_owned(),
        (Step::At(step), _) => format!("step {step}"),
        (_, 1) => "one step".to_owned(),
        (Step::From(first), n) => format!("average of {n} steps from {first} on"),
        (_, n) => format!("average of {n} steps"),
    };
    let (op_time, op_command) = total(Metric::Micros)?;
    let at_a_time = op_time.as_f64().zip(span).filter(|(_, span)| *span > 0.0).map(|(time, span)| time / span);
    let device = overview.devices.first().map(|device| device.name.rsplit('/').next().unwrap_or("").to_owned());
    let op_note = match (at_a_time, device) {
        (Some(n), Some(device)) => format!("{n:.2} at a time on {}", device.trim_start_matches("device:")),
        _ if op_time.is_null() => "no time is recorded".to_owned(),
        _ => "of all ops together".to_owned(),
    };
    let (float_ops, flop_command) = total(Metric::FloatOps)?;
    let (rate, rate_command) = total(Metric::FlopsPerSecond)?;
    let params_note = match overview.trainable {
        Some(trainable) => format!("{} trained", units::grouped(trainable)),
        None if overview.parameters == 0 => "no variable is known".to_owned(),
        None => "in all variables".to_owned(),
    };
    let params = (overview.parameters > 0).then_some(overview.parameters);
    let cover = overview.float_ops_cover.filter(|cover| *cover < 0.9995);
    let float_ops_note = match cover {
        _ if float_ops.is_null() => "no op with known shapes".to_owned(),
        Some(cover) => format!("known for {:.1} % of time", 100.0 * cover),
        None if op_time.is_null() => "one run of the graph".to_owned(),
        None => "a step".to_owned(),
    };
    let rate_note = match (rate.is_null(), op_time.is_null()) {
        (false, _) => "FLOPs over device time",
        (true, true) => "no time is recorded",
        (true, false) => "some FLOPs are unknown",
    };
    let peak = memory_peak(site);
    let peak_note =
        peak.as_ref().map_or_else(|| "no memory is recorded".to_owned(), |(_, owner)| format!("on {owner}"));
    Ok(json!([
        figure("step_time", "Step time", span.into(), "us", steps_note, &info),
        figure("op_time", "Time in ops", op_time, "us", op_note, &op_command),
        figure("params", "Parameters", params.into(), "count", params_note, &info),
        figure("float_ops", "Float operations", float_ops, "flop", float_ops_note, &flop_command),
        figure("rate", "Rate", rate, "flop_per_s", rate_note.to_owned(), &rate_command),
        figure("memory_peak", "Memory peak", peak.map(|(bytes, _)| bytes).into(), "bytes", peak_note, &info),
    ]))
}

/// The memory peak and its place: a device and a step, or an allocator of a trace.
fn memory_peak(site: &Site) -> Option<(i64, String)> {
    if let Some(peak) = &site.overview.memory_peak {
        return Some((peak.bytes, peak.device.clone()));
    }
    let peaks = site.profiler.model().hosts.iter().filter_map(|host| host.memory_peak.as_ref());
    peaks.max_by_key(|peak| peak.bytes).map(|peak| (peak.bytes, peak.allocator.clone()))
}

/// Lists the largest rows, as the tables of this screen do.
const LARGEST_ROWS: &str = "ExpensiveOperationChecker";

/// The reports of all other checkers, and the checks that lacked data.
fn findings(site: &Site) -> Result<(Value, Value), Problem> {
    let mut names = advise::default_names(Quirks::NONE);
    names.retain(|name| *name != LARGEST_ROWS);
    let advice = site.profiler.advise(&names, Quirks::NONE)?;
    let about = |name: &str| CHECKERS.iter().find(|checker| checker.name == name).map_or("", |checker| checker.about);
    let mut findings = Vec::new();
    let mut notes = Vec::new();
    for checker in &advice {
        for text in &checker.reports {
            let finding = checker.findings.iter().find(|finding| finding.text() == *text);
            let micros = finding.and_then(|finding| finding.saving_micros);
            let saving = micros.map(|micros| json!({ "value": micros, "unit": "us", "bound": "up to" }));
            let proof = finding.and_then(|finding| finding.evidence.first());
            let sel = selection_in(site, proof.map_or(text, |proof| &proof.name));
            let about = about(checker.checker);
            let finding =
                json!({ "checker": checker.checker, "about": about, "text": text, "sel": sel, "saving": saving });
            findings.push((Reverse(micros), finding));
        }
        notes.extend(checker.notes.iter().cloned());
    }
    // Largest savings first.
    findings.sort_by_key(|(micros, _)| *micros);
    let findings: Vec<Value> = findings.into_iter().map(|(_, finding)| finding).collect();
    Ok((findings.into(), notes.into()))
}

/// The op type, scope or line that a report begins with.
fn selection_in(site: &Site, text: &str) -> Option<String> {
    let rest = text.split_once(": ").filter(|(head, _)| head.starts_with("top ")).map_or(text, |(_, rest)| rest);
    let name = rest.split(", ").next()?;
    let word = site.default_metric().info().word?;
    let has = |kind: ViewKind| {
        let tree: Arc<Tree> = site.tree(&ViewQuestion::new(kind, &[word], None, Vec::new()).ok()?).ok()?;
        tree.find(name).filter(|id| *id != 0).map(|id| tree.sel(id))
    };
    has(ViewKind::Op).or_else(|| has(ViewKind::Scope))
}

/// The step and device of the largest memory peak.
fn peak(site: &Site) -> Value {
    let Some(peak) = &site.overview.memory_peak else { return Value::Null };
    let step = site.profiler.model().peaks.largest_step().or_else(|| site.overview.steps.first().map(|step| step.step));
    json!({ "step": step, "device": peak.device, "bytes": peak.bytes })
}
