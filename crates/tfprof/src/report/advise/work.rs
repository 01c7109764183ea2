//! The ops of an average step with the time that they take where they run: on the accelerator if they have work there, else
//! on the host.

use super::finding::Finding;
use super::{Advice, Evidence, micros, percent, waiting};
use crate::metric::Metric;
use crate::model::TimeUnit;
use crate::model::cells::{Cell, Measure};
use crate::model::devices::DeviceKind;
use crate::model::hosts::HostFacts;
use crate::model::nodes::NodeId;
use crate::options::{Step, ViewKind};
use crate::view::values::Values;
use std::collections::BTreeMap;

/// Ignore findings that could save less of the time of all ops, in percent and in microseconds a step.
const LEAST_PERCENT: f64 = 5.0;
const LEAST_MICROS: f64 = 100.0;

/// An op that ran, in an average step.
pub(super) struct OpWork<'m> {
    pub node: NodeId,
    pub name: &'m str,
    /// Its type: `MatMul`, `aten::mm`.
    pub op: &'m str,
    /// Microseconds a step without ops inside it, and how often it runs.
    pub micros: f64,
    pub runs: f64,
}

impl OpWork<'_> {
    /// The type in lower case, without the library in front and the underscore of ops that work in place.
    pub fn short(&self) -> String {
        let op = self.op.rsplit("::").next().unwrap_or(self.op).to_ascii_lowercase();
        op.strip_suffix('_').map(str::to_owned).unwrap_or(op)
    }
}

/// All ops that took time, if their times are those of their work; else a note says why they are not.
pub(super) fn known_ops<'m>(evidence: &Evidence<'m>, advice: &mut Advice) -> Option<Vec<OpWork<'m>>> {
    if let Some(names) = evidence.model.hosts.iter().find_map(waiting::unseen_devices) {
        advice.note(&format!(
            "the trace names {names}, but no work of it that tfprof knows, so that the times of ops may be those of launches"
        ));
        return None;
    }
    Some(ops(evidence))
}

/// All ops that took time.
pub(super) fn ops<'m>(evidence: &Evidence<'m>) -> Vec<OpWork<'m>> {
    let model = evidence.model;
    let values = Values::new(model, Step::Average, evidence.quirks);
    let parts = model.parts(Metric::DeviceMicros) as f64;
    // Sums of all steps.
    let steps = evidence.steps() as f64;
    let of_node = |node: NodeId| {
        let row = values.row(node);
        let op = model.names.get(model.nodes.op[node.index()]);
        OpWork {
            node,
            name: model.name(node),
            op,
            micros: row[Metric::DeviceMicros as usize] as f64 / parts,
            runs: model.runs.totals().of(node).map(|cell| runs(&cell)).fold(0.0, f64::max) / steps,
        }
    };
    let is_op = |work: &OpWork<'_>| work.micros > 0.0 && !is_range(work.op);
    model.ops().map(of_node).filter(is_op).collect()
}

/// The most that a step saves if these ops take so much less time, in microseconds, and how that follows: devices work side by
/// side, so the one that saves most counts, and no more than a step can be saved.
pub(super) fn saving<'o, 'm: 'o>(
    evidence: &Evidence<'_>,
    less: impl IntoIterator<Item = (&'o OpWork<'m>, f64)>,
) -> (i64, &'static str) {
    let model = evidence.model;
    let mut by_device: BTreeMap<&str, f64> = BTreeMap::new();
    for (op, micros) in less.into_iter().filter(|(_, micros)| *micros > 0.0) {
        let cells: Vec<Cell<'_>> = model.runs.totals().of(op.node).collect();
        let on_accelerator =
            |cell: &&Cell<'_>| matches!(model.devices.kind(cell.device), DeviceKind::AllStreams | DeviceKind::Other);
        let accelerators: Vec<Cell<'_>> = cells.iter().filter(on_accelerator).copied().collect();
        let cells = if accelerators.iter().any(|cell| time(cell) > 0.0) { accelerators } else { cells };
        let all: f64 = cells.iter().map(time).sum();
        for cell in cells.iter().filter(|_| all > 0.0) {
            *by_device.entry(model.names.get(model.devices.name(cell.device))).or_default() +=
                micros * time(cell) / all;
        }
    }
    let most = by_device.values().copied().fold(0.0, f64::max);
    let why = if by_device.len() > 1 { ", on the device that has most of it" } else { "" };
    match step_micros(evidence) {
        Some(step) if most > step => (step as i64, ", which is more than a step, since ops run side by side"),
        _ => (most as i64, why),
    }
}

fn time(cell: &Cell<'_>) -> f64 {
    cell.sum(Measure::Micros).limited().max(0) as f64
}

/// The length of an average step, on the host whose steps take longest.
fn step_micros(evidence: &Evidence<'_>) -> Option<f64> {
    let of_host = |host: &HostFacts| {
        let sum: f64 = host.steps.iter().map(|step| step.length as f64).sum();
        (!host.steps.is_empty()).then(|| sum / host.steps.len() as f64 / TimeUnit::Picos.per_micro() as f64)
    };
    evidence.model.hosts.iter().filter_map(of_host).reduce(f64::max)
}

fn runs(cell: &Cell<'_>) -> f64 {
    cell.sum(Measure::Runs).limited() as f64
}

/// Whether a row of a trace is a range of PyTorch around ops rather than an op.
pub(super) fn is_range(op: &str) -> bool {
    op.starts_with("ProfilerStep") || op.contains('#')
}

pub(super) fn total(ops: &[OpWork<'_>]) -> f64 {
    ops.iter().map(|op| op.micros).sum()
}

/// `3.00ms of 9.00ms of ops a step (33%)`, if that is worth a word.
pub(super) fn share(part: f64, all: f64) -> Option<String> {
    let percent = percent(part as i64, all as i64);
    (part >= LEAST_MICROS && percent >= LEAST_PERCENT)
        .then(|| format!("{} of {} of ops a step ({percent:.0}%)", micros(part as i64), micros(all as i64)))
}

impl Finding {
    /// Sets the ops that show it, by type.
    #[must_use]
    pub(super) fn shown_by_ops<'o, 'm: 'o>(self, ops: impl IntoIterator<Item = &'o OpWork<'m>>) -> Finding {
        self.shown_by(ViewKind::Op, ops.into_iter().map(|op| (op.op.to_owned(), op.micros as i64)))
    }
}
