//! Load imbalance: an accelerator or parameter server with much more work than the others.

use super::{Advice, DeviceCell, Evidence, grow, largest, micros};
use crate::metric::Unit;
use crate::model::devices::DeviceKind;
use std::collections::BTreeMap;

/// Report a member whose time is this many times the average.
const MUCH_MORE: f64 = 1.5;
/// Ignore smaller imbalances, in microseconds per step.
const LEAST_MICROS: i64 = 1000;

type Loads<'m> = BTreeMap<String, Load<'m>>;

/// The time of a device or server, in all and by op.
#[derive(Default)]
struct Load<'m> {
    time: i64,
    ops: BTreeMap<&'m str, i64>,
}

pub(super) fn check(evidence: &Evidence<'_>, advice: &mut Advice) {
    let steps = evidence.steps();
    let groups = [
        ("parameter servers", loads(evidence, server)),
        ("GPUs", loads(evidence, gpu)),
        ("TPUs", loads(evidence, tpu)),
    ];
    if groups.iter().all(|(_, loads)| loads.len() < 2) {
        return advice.note("there are no two GPUs, TPUs or parameter servers to compare");
    }
    for (what, loads) in groups {
        let total = loads.values().map(|load| load.time).fold(0, i64::saturating_add);
        let Some((name, Load { time: most, ops })) = loads.iter().max_by_key(|(_, load)| load.time) else { continue };
        let mean = total as f64 / loads.len() as f64;
        let extra = (*most as f64 - mean) / steps as f64;
        if loads.len() < 2 || (*most as f64) < MUCH_MORE * mean || extra < LEAST_MICROS as f64 {
            continue;
        }
        let times: Vec<_> = loads.iter().map(|(name, load)| format!("{name} {}", micros(load.time / steps))).collect();
        let ops = largest(ops.iter().map(|(op, n)| (*op, n / steps)), 3, Unit::Micros);
        advice.report(&format!(
            "{what} have unequal work in a step: {}. Most on {name}: {ops}. Move some of it to the others",
            times.join(", ")
        ));
    }
}

/// The loads of the members of a group.
fn loads<'m>(evidence: &'m Evidence<'_>, member: fn(&str, DeviceKind) -> Option<String>) -> Loads<'m> {
    let mut loads: Loads<'m> = BTreeMap::new();
    for DeviceCell { cell, kind, device } in evidence.cells() {
        let Some(member) = member(device, kind) else { continue };
        let load = loads.entry(member).or_default();
        load.time = load.time.saturating_add(evidence.time_of(cell));
        grow(load.ops.entry(evidence.op(cell)).or_default(), evidence.time_of(cell));
    }
    loads
}

/// The parameter server of a device, as `/job:ps/task:1`.
fn server(device: &str, kind: DeviceKind) -> Option<String> {
    let is_server = device.split('/').any(|part| part == "job:ps");
    let task = device.split('/').find(|part| part.starts_with("task:"))?;
    (is_server && kind == DeviceKind::Placement).then(|| format!("/job:ps/{task}"))
}

/// The GPU of a device that lists kernels.
fn gpu(device: &str, kind: DeviceKind) -> Option<String> {
    match kind {
        DeviceKind::AllStreams => device.rsplit_once('/').map(|(gpu, _)| gpu.to_owned()),
        // In a trace, the GPU itself does.
        DeviceKind::Other => device.contains("/device:gpu:").then(|| device.to_owned()),
        _ => None,
    }
}

fn tpu(device: &str, kind: DeviceKind) -> Option<String> {
    (kind == DeviceKind::Other && device.contains("/device:tpu:")).then(|| device.to_owned())
}
