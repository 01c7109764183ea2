//! Devices of one kind, or parameter servers, of which one has much more to do than the others.

use super::{Advice, Evidence, largest, micros};
use crate::metric::Unit;
use crate::model::devices::DeviceKind;
use std::collections::BTreeMap;

/// The busiest stands out if it works this many times as long as the average of all.
const MUCH_MORE: f64 = 1.5;
/// Less than this in a step is no loss that anybody would feel.
const LEAST_MICROS: i64 = 1000;

type Loads<'m> = BTreeMap<String, (i64, BTreeMap<&'m str, i64>)>;

pub(super) fn check(evidence: &Evidence<'_>, advice: &mut Advice) {
    let steps = evidence.steps();
    let groups = [("parameter servers", loads(evidence, server)), ("GPUs", loads(evidence, gpu))];
    if groups.iter().all(|(_, loads)| loads.len() < 2) {
        return advice.note("there are no two GPUs or parameter servers to compare");
    }
    for (what, loads) in groups {
        let total: i64 = loads.values().map(|(time, _)| *time).sum();
        let Some((name, (most, ops))) = loads.iter().max_by_key(|(_, (time, _))| *time) else { continue };
        let mean = total as f64 / loads.len() as f64;
        let extra = (*most as f64 - mean) / steps as f64;
        if loads.len() < 2 || (*most as f64) < MUCH_MORE * mean || extra < LEAST_MICROS as f64 {
            continue;
        }
        let times: Vec<_> = loads.iter().map(|(name, (time, _))| format!("{name} {}", micros(time / steps))).collect();
        let ops = largest(ops.iter().map(|(op, n)| (*op, n / steps)), 3, Unit::Micros);
        advice.report(format!(
            "{what} have unequal work in a step: {}. Most on {name}: {ops}. Move some of it to the others",
            times.join(", ")
        ));
    }
}

/// Time by member of a group, and within it by op.
fn loads<'m>(evidence: &'m Evidence<'_>, member: fn(&str, DeviceKind) -> Option<String>) -> Loads<'m> {
    let mut loads: Loads<'m> = BTreeMap::new();
    for (cell, kind, device) in evidence.cells() {
        let Some(member) = member(device, kind) else { continue };
        let (time, ops) = loads.entry(member).or_default();
        *time = time.saturating_add(evidence.time_of(cell));
        *ops.entry(evidence.op(cell)).or_default() += evidence.time_of(cell);
    }
    loads
}

/// `/job:ps/task:1` of a device where a server's ops are placed.
fn server(device: &str, kind: DeviceKind) -> Option<String> {
    let is_server = device.split('/').any(|part| part == "job:ps");
    let task = device.split('/').find(|part| part.starts_with("task:"))?;
    (is_server && kind == DeviceKind::Placement).then(|| format!("/job:ps/{task}"))
}

/// The GPU whose kernels a device stands for.
fn gpu(device: &str, kind: DeviceKind) -> Option<String> {
    let (gpu, _) = device.rsplit_once('/')?;
    (kind == DeviceKind::AllStreams).then(|| gpu.to_owned())
}
