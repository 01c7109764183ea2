//! What is in the files, at a glance: the figures that people look for first, where to look next, and what is missing.
//!
//! Figures come from the views, so that they agree with what the views print.

mod lines;
mod missing;
pub mod profiles;
pub mod render;

use crate::engine::formats::Role;
use crate::engine::inputs::Inputs;
use crate::engine::profiler::Profiler;
use crate::error::{Error, Warning};
use crate::metric::Metric;
use crate::model::Model;
use crate::model::cells::{Cell, Cells, Measure};
use crate::model::devices::DeviceKind;
use crate::model::hosts::HostFacts;
use crate::model::layers::Layer;
use crate::model::type_names::TRAINABLE;
use crate::options::{Options, OrderBy, Selection, Step, ViewKind};
use crate::quirks::Quirks;
use crate::units::Amount;
use crate::view::View;
use crate::view::values::Values;
pub use missing::Missing;
use std::collections::BTreeMap;

/// The answer to "what is this?".
#[derive(Clone, Debug)]
pub struct Overview {
    /// What each file was read as, and its name.
    pub files: Vec<(String, String)>,
    pub nodes: usize,
    pub op_types: usize,
    /// Elements of all variables, and of those that are trained, if that is known.
    pub parameters: i64,
    pub trainable: Option<i64>,
    pub float_ops: i64,
    /// The time of all ops on average over the steps; 0 without steps.
    pub micros: i64,
    pub steps: Vec<StepTime>,
    /// Time of ops by device, on average over the steps, the most first.
    pub devices: Vec<(String, i64)>,
    /// The most memory that was in use at one time, and where.
    pub memory_peak: Option<(String, i64)>,
    /// What the rows below are sorted by: the most telling metric that there is.
    pub metric: Metric,
    pub whole: i64,
    pub top: Vec<Top>,
    pub missing: Vec<Missing>,
    /// Questions that lead further: what they are about, and the words to type.
    pub deeper: Vec<(&'static str, String)>,
    /// What profiles of hosts say of themselves.
    pub hosts: Vec<HostFacts>,
    /// Runs of the log directory that were not read.
    pub other_runs: Vec<String>,
    pub warnings: Vec<Warning>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepTime {
    pub step: i64,
    /// The time of all ops.
    pub micros: i64,
    /// From the first start to the last end; ops run side by side.
    pub span: i64,
}

/// The largest rows of a view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Top {
    pub view: ViewKind,
    pub title: &'static str,
    pub rows: Vec<(String, i64)>,
}

/// How many rows of a kind are shown.
const ROWS: usize = 5;

impl Overview {
    /// Looks at what is loaded; `inputs` are the files it came from.
    pub fn new(profiler: &Profiler, inputs: &Inputs) -> Result<Overview, Error> {
        let model = profiler.model();
        let total = |metric, step, types: &str| total(profiler, metric, step, types);
        let parameters = total(Metric::Parameters, Step::Average, ".*")?;
        let float_ops = total(Metric::FloatOps, Step::Average, ".*")?;
        let trainable = total(Metric::Parameters, Step::Average, TRAINABLE)?;
        let hosts = profiler.hosts();
        let mut steps = profiles::steps(hosts);
        for step in model.runs.steps().filter(|_| hosts.is_empty()) {
            let Some(cells) = model.runs.step(step) else { continue };
            let values = Values::new(model, Step::At(step), Quirks::NONE);
            let times = cells.nodes().map(|node| values.row(node)[Metric::Micros as usize]);
            let micros = times.fold(0, |sum: i64, time| sum.saturating_add(time));
            steps.push(StepTime { step, micros, span: span(cells) });
        }
        let micros = if steps.is_empty() && hosts.is_empty() { 0 } else { total(Metric::Micros, Step::Average, ".*")? };
        let (metric, whole) = match (micros, float_ops) {
            _ if !hosts.is_empty() => (Metric::Micros, micros),
            (1.., _) => (Metric::Micros, micros),
            (_, 1..) => (Metric::FloatOps, float_ops),
            _ => (Metric::Parameters, parameters),
        };
        let top = top(profiler, metric)?;
        let mut overview = Overview {
            files: files(inputs),
            nodes: model.ops().count(),
            op_types: model
                .ops()
                .map(|node| model.nodes.op[node.index()])
                .collect::<std::collections::BTreeSet<_>>()
                .len(),
            parameters,
            trainable: (trainable > 0).then_some(trainable),
            float_ops,
            micros,
            steps,
            devices: devices(model),
            memory_peak: model.peaks.largest().map(|(device, bytes)| (device_name(model, device), bytes)),
            metric,
            whole,
            top,
            missing: Vec::new(),
            deeper: Vec::new(),
            hosts: hosts.to_vec(),
            other_runs: inputs.other_runs.clone(),
            warnings: profiler.warnings().to_vec(),
        };
        let has_graph = inputs.list.iter().any(|input| matches!(input.format.role, Role::Graph | Role::Profile));
        overview.missing =
            if hosts.is_empty() { missing::find(&overview, model, has_graph) } else { profiles::missing(hosts) };
        overview.deeper = deeper(&overview, !model.unknown.has(Metric::RequestedBytes));
        Ok(overview)
    }
}

/// The label and the name of each file.
fn files(inputs: &Inputs) -> Vec<(String, String)> {
    let name = |path: &std::path::Path| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let roles = [Role::Graph, Role::Profile, Role::Checkpoint, Role::OpLog, Role::Host];
    let plain = roles.into_iter().flat_map(|role| inputs.of(role));
    let plain = plain.map(|input| (input.format.label.to_owned(), name(&input.path)));
    plain.chain(inputs.runs().map(|(step, run)| (format!("{} {step}", run.format.label), name(&run.path)))).collect()
}

/// A question about one metric, the largest rows first.
fn question(metric: Metric, step: Step, types: &str, max_depth: i64) -> Options {
    let mut selection = Selection::default();
    selection.add_metric(metric);
    Options {
        max_depth,
        step,
        order_by: OrderBy::Metric(metric),
        account_type_regexes: vec![types.to_owned()],
        select: Some(selection),
        ..Options::default()
    }
}

fn total(profiler: &Profiler, metric: Metric, step: Step, types: &str) -> Result<i64, Error> {
    if profiler.model().unknown.has(metric) {
        return Ok(0);
    }
    let options = question(metric, step, types, 1);
    let view = profiler.view(ViewKind::Op, &options)?;
    Ok(view.rows().first().map_or(0, |root| view.total(metric, root)))
}

fn span(cells: &Cells) -> i64 {
    let started = || cells.rows().iter().filter(|cell| cell.first_start > 0);
    let first = started().map(|cell| cell.first_start).min().unwrap_or(0);
    let last = started().map(|cell| cell.last_end).max().unwrap_or(0);
    last.saturating_sub(first)
}

fn devices(model: &Model) -> Vec<(String, i64)> {
    let steps = (model.runs.steps().count() as i64).max(1);
    let mut micros: BTreeMap<String, i64> = BTreeMap::new();
    let is_op = |cell: &&Cell| model.nodes.layer(cell.node) == Layer::Ops;
    for cell in model.runs.totals().rows().iter().filter(is_op) {
        // The streams of a device are what its `stream:all` has in one.
        if model.devices.kind(cell.device) != DeviceKind::OneStream {
            let time = micros.entry(device_name(model, cell.device)).or_default();
            *time = time.saturating_add(cell.sum(Measure::Micros).limited());
        }
    }
    let parts = model.parts(Metric::Micros);
    let average = |sum: i64| Amount { n: sum / steps, parts }.rounded();
    let mut devices: Vec<_> = micros.into_iter().map(|(name, sum)| (name, average(sum))).collect();
    devices.sort_by(|(a, x), (b, y)| y.cmp(x).then_with(|| a.cmp(b)));
    devices
}

fn device_name(model: &Model, device: crate::model::devices::DeviceId) -> String {
    match model.names.get(model.devices.name(device)) {
        "" => "(no name)".to_owned(),
        name => name.to_owned(),
    }
}

fn top(profiler: &Profiler, metric: Metric) -> Result<Vec<Top>, Error> {
    let ask = |kind, max_depth, title: &'static str, pick: fn(&View, Metric) -> Vec<(String, i64)>| {
        let options = question(metric, Step::Average, ".*", max_depth);
        let view = profiler.view(kind, &options)?;
        Ok(Top { view: kind, title, rows: pick(&view, metric) })
    };
    let mut tops = vec![
        ask(ViewKind::Op, i64::from(i32::MAX), "op types", |view, metric| {
            let rows = view.rows().iter().skip(1);
            largest(rows.map(|row| (view.name(row).to_owned(), view.self_value(metric, row))))
        }),
        ask(ViewKind::Scope, 100, "scopes", scopes),
    ];
    if profiler.model().has_traces && !profiler.model().stacks.is_empty() {
        tops.push(ask(ViewKind::Code, 1000, "lines of code", |view, metric| largest(lines::costs(view, metric))));
    }
    let tops: Result<Vec<Top>, Error> = tops.into_iter().collect();
    tops.map(|tops| tops.into_iter().filter(|top| !top.rows.is_empty()).collect())
}

/// The largest rows, without those that have nothing; equals by name.
fn largest(rows: impl IntoIterator<Item = (String, i64)>) -> Vec<(String, i64)> {
    let mut rows: Vec<_> = rows.into_iter().filter(|(_, number)| *number > 0).collect();
    rows.sort_by(|(a, x), (b, y)| y.cmp(x).then_with(|| a.cmp(b)));
    rows.truncate(ROWS);
    rows
}

/// The scopes at the first depth where the model branches.
fn scopes(view: &View, metric: Metric) -> Vec<(String, i64)> {
    let whole = view.rows().first().map_or(0, |root| view.total(metric, root));
    for depth in 1..=10 {
        let level = view.rows().iter().filter(|row| row.depth == depth);
        let rows = largest(level.map(|row| (view.name(row).to_owned(), view.total(metric, row))));
        // One scope around everything says nothing.
        if rows.first().is_none_or(|(_, number)| (*number as f64) < 0.95 * whole as f64) {
            return rows;
        }
    }
    Vec::new()
}

/// Where to look next.
fn deeper(overview: &Overview, knows_memory: bool) -> Vec<(&'static str, String)> {
    let word = overview.metric.info().word.unwrap_or_default();
    let find = |kind| overview.top.iter().find(|top| top.view == kind).and_then(|top| top.rows.first());
    let mut deeper = Vec::new();
    if overview.micros > 0 {
        let (about, words) = if knows_memory {
            ("all op types, with memory", "op -select micros,bytes,occurrence -order_by micros")
        } else {
            ("all op types", "op -select micros,occurrence -order_by micros")
        };
        deeper.push((about, words.to_owned()));
    } else if overview.whole > 0 {
        deeper.push(("all op types", format!("op -select {word} -order_by {word}")));
    }
    if let Some((scope, _)) = find(ViewKind::Scope) {
        let start = crate::words::quoted(&crate::view::filter::escaped(scope));
        let words = format!("scope -start_name_regexes {start} -select {word} -order_by {word} -max_depth 4");
        deeper.push(("inside the largest scope", words));
    }
    if find(ViewKind::Code).is_some() {
        let words = format!("code -select {word} -order_by {word} -max_depth 100");
        deeper.push(("which lines call which", words));
    }
    if overview.parameters > 0 {
        let types = if overview.trainable.is_some() { " -account_type_regexes _trainable_variables" } else { "" };
        let words = format!("scope{types} -select params -max_depth 4 -ops_only");
        deeper.push(("parameters of each layer", words));
    }
    if overview.float_ops > 0 && overview.micros > 0 {
        let words = "op -select float_ops,micros -order_by float_ops";
        deeper.push(("float operations beside time", words.to_owned()));
    }
    deeper
}
