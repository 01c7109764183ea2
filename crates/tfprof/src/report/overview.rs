//! An overview of the loaded files: the most important figures, where to look next, and what was not recorded.
//!
//! Figures come from views, so they agree with what the views print.

pub mod difference;
pub mod hosts;
pub mod html;
mod json;
mod missing;
pub mod ranks;
pub mod render;
mod torch;

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
use crate::report::cost::frozen;
use crate::units::Amount;
use crate::view::values::Values;
use crate::view::{Demand, View, VisibleRow};
pub use missing::Missing;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Overview {
    pub files: Vec<InputFile>,
    /// The description in a model file, by topic: its producer, its signatures.
    pub stated: Vec<(&'static str, String)>,
    pub nodes: usize,
    pub op_types: usize,
    /// Elements of all variables, and of the trained ones if known.
    pub parameters: i64,
    pub trainable: Option<i64>,
    pub float_ops: i64,
    /// The share of device time in ops whose FLOPs are known, if there are FLOPs and times.
    pub float_ops_cover: Option<f64>,
    /// The time of all ops on average over the steps; 0 without steps.
    pub micros: i64,
    pub steps: Vec<StepTime>,
    /// The busiest first.
    pub devices: Vec<DeviceTime>,
    pub memory_peak: Option<MemoryPeak>,
    /// The metric of the rows below: time if there is any, else FLOPs, else parameters.
    pub metric: Metric,
    pub whole: i64,
    pub top: Vec<TopRows>,
    pub missing: Vec<Missing>,
    pub deeper: Vec<NextQuestion>,
    pub hosts: Vec<HostFacts>,
    /// The run of a log directory that was read, and those that were not; empty without one.
    pub run: String,
    pub other_runs: Vec<String>,
    pub warnings: Vec<Warning>,
}

/// The files of an overview.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources {
    pub files: Vec<InputFile>,
    /// One of the files has a graph.
    pub has_graph: bool,
    /// The run of a log directory that was read, and those that were not.
    pub run: String,
    pub other_runs: Vec<String>,
    /// The directory of a `SavedModel`, empty for a live model, and the signature that counts.
    pub saved_model: Option<String>,
    pub signature: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct InputFile {
    /// The format it was read as.
    pub kind: String,
    pub name: String,
}

/// Time of ops on a device, on average over the steps.
#[derive(Clone, Debug, Serialize)]
pub struct DeviceTime {
    pub name: String,
    pub micros: i64,
}

/// Peak memory in use.
#[derive(Clone, Debug, Serialize)]
pub struct MemoryPeak {
    pub device: String,
    pub bytes: i64,
}

/// A question that leads further.
#[derive(Clone, Debug)]
pub struct NextQuestion {
    pub about: &'static str,
    /// The command and its options.
    pub words: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StepTime {
    pub step: i64,
    /// The time of all ops.
    pub micros: i64,
    /// From the first start to the last end; ops run in parallel.
    pub span: i64,
}

/// The largest rows of a view.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TopRows {
    pub view: ViewKind,
    pub title: &'static str,
    pub rows: Vec<(String, i64)>,
}

/// The most rows of a table.
const ROWS: usize = 5;

impl Overview {
    pub(crate) fn new(model: &Arc<Model>, sources: &Sources, warnings: &[Warning]) -> Result<Overview, Error> {
        let hosts = &model.hosts;
        let parameters = total(model, Metric::Parameters, ".*")?;
        let float_ops = total(model, Metric::FloatOps, ".*")?;
        let trainable = total(model, Metric::Parameters, TRAINABLE)?;
        let steps = if hosts.is_empty() { step_times(model) } else { hosts::steps(hosts) };
        let micros = if steps.is_empty() && hosts.is_empty() { 0 } else { total(model, Metric::Micros, ".*")? };
        let (metric, whole) = match (micros, float_ops) {
            _ if !hosts.is_empty() => (Metric::Micros, micros),
            (1.., _) => (Metric::Micros, micros),
            (_, 1..) => (Metric::FloatOps, float_ops),
            _ => (Metric::Parameters, parameters),
        };
        let top = top(model, metric)?;
        let peak = |(device, bytes)| MemoryPeak { device: device_name(model, device), bytes };
        let mut overview = Overview {
            files: sources.files.clone(),
            stated: model.stated.clone(),
            nodes: model.ops().count(),
            op_types: model
                .ops()
                .map(|node| model.nodes.op[node.index()])
                .collect::<std::collections::BTreeSet<_>>()
                .len(),
            parameters,
            trainable: (trainable > 0).then_some(trainable),
            float_ops,
            float_ops_cover: if float_ops > 0 && micros > 0 { float_ops_cover(model)? } else { None },
            micros,
            steps,
            devices: devices(model),
            memory_peak: model.peaks.largest().map(peak),
            metric,
            whole,
            top,
            missing: Vec::new(),
            deeper: Vec::new(),
            hosts: hosts.clone(),
            run: sources.run.clone(),
            other_runs: sources.other_runs.clone(),
            warnings: warnings.iter().cloned().chain(frozen(model, parameters)).collect(),
        };
        overview.missing = match &overview.hosts[..] {
            [] => missing::find(&overview, model, sources),
            hosts => hosts::missing(hosts),
        };
        overview.deeper = deeper(&overview, !model.unknown.has(Metric::RequestedBytes), !model.costs.is_empty());
        Ok(overview)
    }
}

fn step_times(model: &Model) -> Vec<StepTime> {
    let times = |step| {
        let cells = model.runs.step(step)?;
        let values = Values::new(model, Step::At(step), Quirks::NONE);
        let times = cells.nodes().map(|node| values.row(node)[Metric::Micros as usize]);
        Some(StepTime { step, micros: times.fold(0, i64::saturating_add), span: span(cells) })
    };
    model.runs.steps().filter_map(times).collect()
}

/// A question about one metric, the largest rows first.
fn question(metric: Metric, types: &str, max_depth: i64) -> Options {
    let mut selection = Selection::default();
    selection.add_metric(metric);
    Options {
        max_depth: Some(max_depth),
        step: Step::Average,
        order_by: OrderBy::Metric(metric),
        account_type_regexes: vec![types.to_owned()],
        select: Some(selection),
        ..Options::default()
    }
}

/// The total of all ops of these types, on average over the steps.
fn total(model: &Arc<Model>, metric: Metric, types: &str) -> Result<i64, Error> {
    if model.unknown.has(metric) {
        return Ok(0);
    }
    let options = question(metric, types, 1);
    let view = View::new(Arc::clone(model), ViewKind::Op, &options, Demand::ROWS)?;
    Ok(view.rows().first().map_or(0, |root| view.total(metric, root)))
}

/// The share of device time in ops whose FLOPs are known; of an accelerator's time, if there is one.
fn float_ops_cover(model: &Arc<Model>) -> Result<Option<f64>, Error> {
    let mut options = question(Metric::FlopsPerSecond, ".*", i64::from(i32::MAX));
    options.select.get_or_insert_default().add_metric(Metric::AcceleratorMicros);
    let view = View::new(Arc::clone(model), ViewKind::Op, &options, Demand::ROWS)?;
    let rows = || view.rows().iter().skip(1);
    let on_accelerator = |row: &&VisibleRow| view.self_value(Metric::AcceleratorMicros, row) > 0;
    let has_accelerator = rows().any(|row| on_accelerator(&row));
    let counted = || rows().filter(|row| !has_accelerator || on_accelerator(row));
    let sum = |metric| counted().fold(0_i64, |sum, row| sum.saturating_add(view.self_value(metric, row)));
    let (known, all) = (sum(Metric::KnownFlopsMicros), sum(Metric::DeviceMicros));
    Ok((all > 0).then(|| known as f64 / all as f64))
}

fn span(cells: &Cells) -> i64 {
    let started = || cells.rows().filter(|cell| cell.first_start > 0);
    let first = started().map(|cell| cell.first_start).min().unwrap_or(0);
    let last = started().map(|cell| cell.last_end).max().unwrap_or(0);
    last.saturating_sub(first)
}

fn devices(model: &Model) -> Vec<DeviceTime> {
    let steps = (model.runs.steps().count() as i64).max(1);
    let mut micros: BTreeMap<String, i64> = BTreeMap::new();
    let is_op = |cell: &Cell<'_>| model.nodes.layer(cell.node) == Layer::Ops;
    for cell in model.runs.totals().rows().filter(is_op) {
        // The streams of a device are what its `stream:all` has in one.
        if model.devices.kind(cell.device) != DeviceKind::OneStream {
            let time = micros.entry(device_name(model, cell.device)).or_default();
            *time = time.saturating_add(cell.sum(Measure::Micros).limited());
        }
    }
    let parts = model.parts(Metric::Micros);
    let average = |sum: i64| Amount { n: sum / steps, parts }.rounded();
    let mut devices: Vec<_> = micros.into_iter().map(|(name, sum)| DeviceTime { name, micros: average(sum) }).collect();
    // Already in the order of names.
    devices.sort_by_key(|device| Reverse(device.micros));
    devices
}

fn device_name(model: &Model, device: crate::model::devices::DeviceId) -> String {
    match model.names.get(model.devices.name(device)) {
        "" => "(no name)".to_owned(),
        name => name.to_owned(),
    }
}

fn top(model: &Arc<Model>, metric: Metric) -> Result<Vec<TopRows>, Error> {
    let ask = |kind, max_depth, title: &'static str, pick: fn(&View, Metric) -> Vec<(String, i64)>| {
        let options = question(metric, ".*", max_depth);
        let view = View::new(Arc::clone(model), kind, &options, Demand::ROWS)?;
        Ok(TopRows { view: kind, title, rows: pick(&view, metric) })
    };
    let mut tops = vec![
        ask(ViewKind::Op, i64::from(i32::MAX), "op types", |view, metric| {
            let rows = view.rows().iter().skip(1);
            largest(rows.map(|row| (view.name(row).to_owned(), view.self_value(metric, row))))
        }),
        ask(ViewKind::Scope, 100, "scopes", scopes),
    ];
    if model.has_traces && !model.stacks.is_empty() {
        tops.push(ask(ViewKind::Code, 1000, "lines of code", |view, metric| largest(costs(view, metric))));
    }
    let tops: Result<Vec<TopRows>, Error> = tops.into_iter().collect();
    tops.map(|tops| tops.into_iter().filter(|top| !top.rows.is_empty()).collect())
}

/// The largest rows that are not zero; equal ones by name.
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
        // A scope around everything tells nothing.
        if rows.first().is_none_or(|(_, number)| (*number as f64) < 0.95 * whole as f64) {
            return rows;
        }
    }
    Vec::new()
}

/// Where to look next. Each answer fits a screen or two.
fn deeper(overview: &Overview, knows_memory: bool, has_costs: bool) -> Vec<NextQuestion> {
    let word = overview.metric.info().word.unwrap_or_default();
    let find = |kind| overview.top.iter().find(|top| top.view == kind).and_then(|top| top.rows.first());
    let mut deeper = Vec::new();
    let mut add = |about, words: String| deeper.push(NextQuestion { about, words });
    if overview.micros > 0 {
        let (about, words) = if knows_memory {
            ("op types, with memory", "op -select micros,bytes,occurrence -order_by micros")
        } else {
            ("op types, and how often they ran", "op -select micros,occurrence -order_by micros")
        };
        add(about, words.to_owned());
    } else if overview.whole > 0 {
        add("op types", format!("op -select {word} -order_by {word}"));
    }
    if let Some((scope, size)) = find(ViewKind::Scope).filter(|_| !overview.hosts.iter().any(|host| host.is_eager)) {
        let start = crate::words::quoted(&crate::view::filter::escaped(scope));
        // Below the root and the scope are its parts. Their FLOPs and parameters have no minimum: it is one for single nodes.
        let min =
            if overview.metric == Metric::Micros { at_least(overview.metric, *size / 100) } else { String::new() };
        let words = format!("scope -start_name_regexes {start} -select {word} -order_by {word} -max_depth 3{min}");
        add("inside the largest scope", words);
    }
    if find(ViewKind::Code).is_some() {
        let min = at_least(overview.metric, overview.whole / 20);
        let words = format!("code -select {word} -order_by {word} -max_depth 100{min}");
        add("which lines call which, without small ones", words);
    }
    if has_costs && overview.parameters > 0 {
        add("parameters and FLOPs of each layer", "cost".to_owned());
    }
    if overview.float_ops > 0 && overview.micros > 0 {
        add("FLOPs and time", "op -select float_ops,micros -order_by float_ops".to_owned());
    }
    if let Some(run) = overview.other_runs.last() {
        add("another run", format!("info -run {}", crate::words::quoted(run)));
    }
    deeper
}

/// The option that hides smaller rows, with a round number.
fn at_least(metric: Metric, least: i64) -> String {
    let units = std::iter::successors(Some(1_i64), |unit| unit.checked_mul(10)).take_while(|unit| *unit <= least);
    let (Some(unit), Some(min)) = (units.last(), metric.info().min) else { return String::new() };
    format!(" -{} {}", min.option, least / unit * unit)
}

/// Lines of a code view with what they and the packages below them took.
fn costs(view: &View, metric: Metric) -> BTreeMap<String, i64> {
    let mut costs: BTreeMap<String, i64> = BTreeMap::new();
    // The lines around a row, each with the line of the user's that it counts for.
    let mut around: Vec<(usize, &VisibleRow)> = Vec::new();
    for row in view.rows().iter().skip(1) {
        around.retain(|(depth, _)| *depth < row.depth);
        let owner = match around.last() {
            Some((_, owner)) if is_of_a_package(view, row) => *owner,
            _ => row,
        };
        around.push((row.depth, owner));
        let cost = costs.entry(view.name(owner).to_owned()).or_default();
        *cost = cost.saturating_add(view.self_value(metric, row));
    }
    costs
}

fn is_of_a_package(view: &View, row: &VisibleRow) -> bool {
    let file = view.frame(row).map(|frame| view.model.names.get(frame.file)).unwrap_or_default();
    ["/site-packages/", "/dist-packages/", "/tensorflow/python/"].iter().any(|part| file.contains(part))
}
