//! Ops that cost more to start than to run.

use super::{Advice, DeviceCell, Evidence, grow, largest, micros, percent};
use crate::metric::Unit;
use crate::model::cells::Measure;
use crate::model::devices::DeviceKind;
use std::collections::BTreeMap;

/// The longest tiny execution.
const TINY_MICROS: i64 = 10;
/// Report this many tiny executions per step if they are this percentage of all executions …
const MANY: i64 = 1000;
const MOST: f64 = 50.0;
/// … and take this percentage of all time.
const MATTERS: f64 = 10.0;
/// Ignore shorter launch times per step.
const LEAST_LAUNCH_MICROS: i64 = 1000;

#[derive(Default)]
struct Launch {
    launch: i64,
    kernels: i64,
}

pub(super) fn check(evidence: &Evidence<'_>, advice: &mut Advice) {
    if evidence.model.runs.is_empty() {
        return advice.note("no step is loaded");
    }
    launches(evidence, advice);
    tiny(evidence, advice);
}

/// On a GPU, the record of an op is its launch; its kernels have their own records.
fn launches(evidence: &Evidence<'_>, advice: &mut Advice) {
    let accelerated = evidence.accelerated();
    let mut nodes: BTreeMap<usize, Launch> = BTreeMap::new();
    for DeviceCell { cell, kind, device } in evidence.cells() {
        let node = nodes.entry(cell.node.index()).or_default();
        match kind {
            kind if kind == DeviceKind::AllStreams || evidence.is_accelerator(kind) => {
                node.kernels = node.kernels.saturating_add(evidence.time_of(cell));
            }
            DeviceKind::Placement if device.contains("gpu") || accelerated.contains(&cell.node) => {
                node.launch = node.launch.saturating_add(evidence.time_of(cell));
            }
            _ => {}
        }
    }
    let launched = nodes.values().filter(|node| node.kernels > 0 && node.launch > 0);
    let slower = launched.clone().filter(|node| node.launch > node.kernels).count();
    let (all, launch, kernels) = launched.fold((0_usize, 0_i64, 0_i64), |(all, launch, kernels), node| {
        (all + 1, launch.saturating_add(node.launch), kernels.saturating_add(node.kernels))
    });
    let steps = evidence.steps();
    if launch <= kernels || launch / steps < LEAST_LAUNCH_MICROS {
        return;
    }
    let (launch, kernels) = (micros(launch / steps), micros(kernels / steps));
    advice.report(&format!(
        "launching the GPU's ops takes {launch} a step, their kernels {kernels}; {slower} of {all} ops take longer to \
         launch than to run. Larger batches, or fusing with XLA (jit_compile), give each launch more work"
    ));
}

/// On a CPU, the record of an op is its execution.
fn tiny(evidence: &Evidence<'_>, advice: &mut Advice) {
    let (mut all, mut count, mut time, mut all_time) = (0_i64, 0_i64, 0_i64, 0_i64);
    let mut ops: BTreeMap<&str, i64> = BTreeMap::new();
    let accelerated = evidence.accelerated();
    for DeviceCell { cell, kind, device } in evidence.cells() {
        let runs = cell.sum(Measure::Runs).limited();
        let is_launch = accelerated.contains(&cell.node);
        if kind != DeviceKind::Placement || !device.contains("cpu") || runs <= 0 || is_launch {
            continue;
        }
        all = all.saturating_add(runs);
        all_time = all_time.saturating_add(evidence.time_of(cell));
        if evidence.time_of(cell) / runs <= TINY_MICROS {
            count = count.saturating_add(runs);
            time = time.saturating_add(evidence.time_of(cell));
            grow(ops.entry(evidence.op(cell)).or_default(), runs);
        }
    }
    let steps = evidence.steps();
    let share = percent(count, all);
    let time_share = percent(time, all_time);
    if count / steps < MANY || share < MOST || time_share < MATTERS {
        return;
    }
    let most = largest(ops.iter().map(|(op, n)| (*op, n / steps)), 3, Unit::Count);
    let (count, time) = (count / steps, micros(time / steps));
    let compiler = if evidence.is_other_trace() { "a compiler" } else { "XLA" };
    advice.report(&format!(
        "{count} executions a step on CPUs take at most {TINY_MICROS}us each, {share:.0}% of all executions and {time} \
         ({time_share:.0}% of the time) in all; each is scheduled by itself. Most often: {most}. Do more in each op, or let {compiler} fuse them"
    ));
}
