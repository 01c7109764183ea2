//! CPU fallback: ops that ran on the CPU although ops of the same type ran on an accelerator.

use super::{Advice, DeviceCell, Evidence, grow, largest, micros, percent};
use crate::metric::Unit;
use crate::model::devices::DeviceKind;
use std::collections::{BTreeMap, BTreeSet};

/// Ignore CPU times below this percentage of all time, and below these microseconds per step.
const MUCH: f64 = 5.0;
const LEAST_MICROS: i64 = 1000;

pub(super) fn check(evidence: &Evidence<'_>, advice: &mut Advice) {
    // Executed by a GPU, or placed on one.
    let on_gpu = |kind: DeviceKind, device: &str| match kind {
        DeviceKind::AllStreams => true,
        DeviceKind::Placement => device.contains("gpu"),
        kind => evidence.is_accelerator(kind),
    };
    let accelerated = evidence.accelerated();
    let mut gpu_ops: BTreeSet<&str> = BTreeSet::new();
    let mut total = 0_i64;
    for DeviceCell { cell, kind, device } in evidence.cells() {
        if on_gpu(kind, device) {
            gpu_ops.insert(evidence.op(cell));
        }
        if matches!(kind, DeviceKind::Placement | DeviceKind::AllStreams) || evidence.is_accelerator(kind) {
            total = total.saturating_add(evidence.time_of(cell));
        }
    }
    if gpu_ops.is_empty() {
        return advice.note("nothing ran on a GPU or TPU");
    }
    let mut ops: BTreeMap<&str, i64> = BTreeMap::new();
    let mut example: BTreeMap<&str, &str> = BTreeMap::new();
    for DeviceCell { cell, kind, device } in evidence.cells() {
        // Parameter servers have no GPU.
        let on_cpu = kind == DeviceKind::Placement && device.contains("cpu") && !device.contains("/job:ps");
        let op = evidence.op(cell);
        if on_cpu && gpu_ops.contains(op) && !accelerated.contains(&cell.node) {
            grow(ops.entry(op).or_default(), evidence.time_of(cell));
            let name = evidence.model.name(cell.node);
            let first = example.entry(op).or_insert(name);
            *first = (*first).min(name);
        }
    }
    let steps = evidence.steps();
    let time = ops.values().copied().fold(0, i64::saturating_add);
    let share = percent(time, total);
    if share < MUCH || time / steps < LEAST_MICROS {
        return;
    }
    let slowest = ops.iter().max_by_key(|(_, time)| **time).map_or("", |(op, _)| op);
    let most = largest(ops.iter().map(|(op, n)| (*op, n / steps)), 3, Unit::Micros);
    let (time, example) = (micros(time / steps), example.get(slowest).copied().unwrap_or_default());
    advice.report(&format!(
        "ops of types that also run on the accelerator ran on the CPU for {time} a step, {share:.0}% of all time: {most} (as \
         {example}). Look for device scopes and types, such as int32, that keep them there"
    ));
}
