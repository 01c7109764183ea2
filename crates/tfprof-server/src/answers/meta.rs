//! The first answer to a page: files, steps, metrics, screens, and what is missing.

use super::steps::{self, RULE, warm_up};
use crate::params::Params;
use crate::question::ViewQuestion;
use crate::reply::{Problem, Reply};
use crate::site::Site;
use crate::tree::{Tree, label, unit};
use serde_json::{Value, json};
use tfprof::internal::report::overview::hosts::framework;
use tfprof::internal::words;
use tfprof::reports::Missing;
use tfprof::{METRICS, Metric, MetricSource, OPTIONS, Role, Unit, ViewKind};

pub fn meta(site: &Site, _: &mut Params) -> Result<Reply, Problem> {
    let overview = &site.overview;
    let warm_up = warm_up(overview, site.profiler.model());
    let can_leave_out = warm_up.others.is_some();
    let rest = json!({ "steps": warm_up.steps, "can_leave_out": can_leave_out, "rule": RULE });
    let loading = site.profiler.warnings();
    let losses: Value = loading
        .iter()
        .filter(|warning| warning.damage)
        .map(|warning| {
            let place = warning.location.as_ref().map(ToString::to_string).unwrap_or_default();
            let file = warning.location.as_ref().map(|location| location.file.clone()).unwrap_or_default();
            json!({ "file": file, "place": place, "message": warning.message })
        })
        .collect();
    let options: Value = OPTIONS
        .iter()
        .map(|option| json!({ "name": option.name, "about": option.about, "words": (option.words)() }))
        .collect();
    let steps: Value = overview.steps.iter().map(|step| steps::json(step, &warm_up)).collect();
    Ok(site.plain_frame("info").warn(loading).reply(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "title": title(site),
        "files": overview.files,
        "nodes": overview.nodes,
        "op_types": overview.op_types,
        "metric": site.default_metric().info().word,
        "metrics": metrics(site)?,
        "views": views(site),
        "screens": screens(site),
        "steps": steps,
        "warm_up": rest,
        "devices": overview.devices,
        "hosts": overview.hosts.iter().map(|host| json!({ "name": host.host })).collect::<Value>(),

        "nothing": site.nothing,
        "losses": losses,
        "missing": overview.missing,
        "options": options,
        "inputs": site.setup.command.inputs.join(" "),
        "baseline": site.baseline.as_ref().map(|baseline| &baseline.name),
        "defaults": site.setup.defaults.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
        "source_root": site.setup.source_root.display().to_string(),
        "is_report": false,
        "report": null,
    })))
}

fn title(site: &Site) -> String {
    let name = |text: &str| words::base_name(text.trim_end_matches(std::path::is_separator)).to_owned();
    let names: Vec<_> = site.setup.command.inputs.iter().map(|input| name(input)).collect();
    match &names[..] {
        [] => "demo".to_owned(),
        [one] => one.clone(),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
    }
}

/// A view of all metrics; its root has the totals.
pub fn all_metrics(site: &Site) -> Result<std::sync::Arc<Tree>, Problem> {
    let words: Vec<_> = METRICS.iter().filter_map(|info| info.word).collect();
    site.tree(&ViewQuestion::new(ViewKind::Scope, &words, Some("name"), Vec::new())?)
}

fn metrics(site: &Site) -> Result<Value, Problem> {
    let tree = all_metrics(site)?;
    let has_runs = !tree.view.model.runs.is_empty() || tree.view.model.is_trace;
    let one = |info: &tfprof::MetricInfo| {
        info.word?;
        let metric = info.metric;
        let is_there = tree.view.number(tfprof::Side::Total, metric, tree.row(0));
        let is_zero = matches!(is_there, tfprof::Number::Int(0) | tfprof::Number::Missing)
            || matches!(is_there, tfprof::Number::Decimal(amount) if amount.n == 0);
        let measured = matches!(info.source, MetricSource::Measured);
        let why = match () {
            () if !tree.view.knows(metric) => "these files cannot have it",
            () if measured && !has_runs => "no step is loaded",
            () if measured && is_zero => "none of it was recorded",
            () if is_zero && info.is_ratio() => "one of its two metrics is not known",
            () if is_zero => "it is 0 for every op",
            () => "",
        };
        Some(json!({
            "key": info.key, "word": info.word, "label": label(metric), "unit": unit(metric), "about": info.about,
            "group": group(info), "known": why.is_empty(), "why": why, "averaged": info.averaged,
        }))
    };
    Ok(METRICS.iter().filter_map(one).collect())
}

fn group(info: &tfprof::MetricInfo) -> &'static str {
    match (info.is_ratio(), info.unit) {
        (true, _) => "rate",
        (_, Unit::Micros) => "time",
        (_, Unit::Bytes) if info.key != "io_bytes" => "size",
        _ if info.key == "params" => "size",
        _ => "work",
    }
}

fn missing<'s>(site: &'s Site, codes: &[&str]) -> Option<&'s Missing> {
    codes.iter().find_map(|code| site.overview.missing.iter().find(|missing| missing.code == *code))
}

/// Codes for data that the code view lacks.
pub const NO_CODE: &[&str] = &["no_traces", "no_hlo", "no_python_calls"];
/// Codes for data that the timeline and memory lack.
const NO_RUNS: &[&str] = &["no_steps", "no_times"];

fn views(site: &Site) -> Value {
    let one = |kind: &ViewKind| {
        let problem = site.knows_view(*kind).err();
        let missing = problem.as_ref().and_then(|_| missing(site, NO_CODE));
        let why = problem.as_ref().map_or("", Problem::message);
        json!({ "word": kind.word(), "about": kind.about(), "known": problem.is_none(), "why": why, "missing": missing })
    };
    ViewKind::ALL.iter().map(one).collect()
}

/// Screens that traces cannot fill: the framework, the screen, why, and the lines that record the data another way.
const RECORDED_OTHERWISE: &[(&str, &str, &str, &[&str])] = &[
    (
        "PyTorch",
        "graph",
        "a trace does not say which op reads from which; the exported model does",
        &["torch.onnx.export(model, (inputs,), \"model.onnx\")", "# then: tfprof web model.onnx"],
    ),
    (
        "PyTorch",
        "memory",
        "the trace was recorded without memory",
        &["with torch.profiler.profile(profile_memory=True) as prof:"],
    ),
    (
        "TensorFlow",
        "graph",
        "a profile does not say which op reads from which; the graph of a tf.function does",
        &["with tfprof.record(\"run\"):", "    model.fit(data)", "# then: tfprof web run/FUNCTION.function.pb"],
    ),
];

/// How to record what a screen shows, where another recording would have it.
fn recorded_otherwise(site: &Site, screen: &'static str) -> Option<Missing> {
    let hosts = &site.profiler.model().hosts;
    let is_torch = hosts.iter().any(|host| host.recording.is_some());
    let is_from = |name: &str| match name {
        "PyTorch" => is_torch && hosts.iter().any(|host| host.framework.is_some()),
        name => !is_torch && framework(hosts).starts_with(name),
    };
    let row = RECORDED_OTHERWISE.iter().find(|(framework, word, ..)| *word == screen && is_from(framework));
    row.map(|(_, word, why, how)| Missing {
        code: "recorded_otherwise",
        what: word,
        why: (*why).to_owned(),
        how: how.iter().map(|line| (*line).to_owned()).collect(),
    })
}

fn screens(site: &Site) -> Value {
    let model = site.profiler.model();
    let has_nodes = site.overview.nodes > 0;
    let screen = |word: &'static str, known: bool, why: &str, codes: &[&str]| {
        let otherwise = if known || site.nothing.is_some() { None } else { recorded_otherwise(site, word) };
        let missing = if known { None } else { otherwise.as_ref().or_else(|| missing(site, codes)) };
        json!({ "word": word, "known": known, "why": if known { "" } else { why }, "missing": missing })
    };
    let nothing = "the files have no op";
    let of_partial = "a partial has sums, not single events; open one of its recordings for them";
    let unless_partial = |why| if model.is_partial { of_partial } else { why };
    let has_hosts = site.inputs.of(Role::Host).next().is_some();
    let has_records =
        model.runs.steps().any(|step| model.runs.records(step).is_some_and(|records| !records.is_empty()));
    let has_outputs = || super::memory::has_lives(site);
    let has_memory = if site.inputs.of(Role::Run).next().is_some() {
        has_outputs()
    } else {
        model.hosts.iter().any(|host| !host.allocators.is_empty())
    };
    let has_edges = model.nodes.all().any(|node| !model.nodes.inputs(node).is_empty());
    let code = site.knows_view(ViewKind::Code);
    let has_times = all_metrics(site).is_ok_and(|tree| tree.view.total(Metric::DeviceMicros, tree.row(0)) > 0);
    json!([
        screen("overview", true, "", &[]),
        screen("flame", has_nodes, nothing, NO_RUNS),
        screen("table", has_nodes, nothing, NO_RUNS),
        screen(
            "timeline",
            has_hosts || has_records,
            unless_partial("no run of an op was recorded with its start"),
            NO_RUNS
        ),
        screen("graph", has_edges, "the files do not say which op reads from which", &["no_graph"]),
        screen("memory", has_memory, unless_partial("no memory was recorded"), NO_RUNS),
        screen("code", code.is_ok(), code.as_ref().err().map_or("", Problem::message), NO_CODE),
        screen("roofline", has_times, "no time of an op was recorded", NO_RUNS),
        screen("query", cfg!(feature = "sql"), "this program was built without SQL", &[]),
        screen("compare", site.baseline.is_some(), "name a second profile to compare with", &[]),
    ])
}
