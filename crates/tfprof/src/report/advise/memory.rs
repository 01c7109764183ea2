//! Which ops hold the memory of a GPU at its peak.

use super::{Advice, Evidence, bytes, largest, percent};
use crate::metric::Unit;
use crate::model::devices::DeviceId;
use crate::model::nodes::NodeId;
use crate::model::records::{Allocation, Records};
use std::collections::BTreeMap;

pub(super) fn check(evidence: &Evidence<'_>, advice: &mut Advice) {
    let model = evidence.model;
    let mut peaks: BTreeMap<&str, (i64, i64, BTreeMap<NodeId, i64>)> = BTreeMap::new();
    for step in model.runs.steps() {
        let Some(records) = model.runs.records(step) else { continue };
        for (device, changes) in by_device(records) {
            let Some((held, owners)) = peak(&changes) else { continue };
            let name = model.names.get(model.devices.name(device));
            let highest = peaks.entry(name).or_insert((0, step, BTreeMap::new()));
            if held > highest.0 {
                *highest = (held, step, owners);
            }
        }
    }
    if peaks.is_empty() {
        return advice.note("no allocations of a GPU were recorded, so it is not known who held memory when");
    }
    for (device, (held, step, owners)) in peaks.into_iter().filter(|(_, (held, ..))| *held > 0) {
        let first = owners.values().max().copied().unwrap_or(0);
        let most = largest(owners.iter().map(|(node, n)| (model.name(*node), *n)), 5, Unit::Bytes);
        advice.report(format!(
            "{device}: {} are held at the peak, in step {step}, by {} ops; most: {most}; the first holds {:.0}%. \
             Smaller batches or recomputation of these tensors lower the peak",
            bytes(held),
            owners.len(),
            percent(first, held)
        ));
    }
}

/// What was given and taken back on each device, in order of time.
fn by_device(records: &Records) -> BTreeMap<DeviceId, Vec<Allocation>> {
    let mut devices: BTreeMap<DeviceId, Vec<Allocation>> = BTreeMap::new();
    for allocation in records.all_allocations() {
        devices.entry(allocation.device).or_default().push(*allocation);
    }
    // What is given back at a time is free for what is asked for then.
    devices.values_mut().for_each(|changes| changes.sort_by_key(|change| (change.micros, change.bytes)));
    devices
}

/// The most that was held at one time, and by whom.
fn peak(changes: &[Allocation]) -> Option<(i64, BTreeMap<NodeId, i64>)> {
    let (mut held, mut most, mut at) = (0_i64, 0, None);
    for (i, change) in changes.iter().enumerate() {
        held = held.saturating_add(change.bytes);
        if held > most {
            (most, at) = (held, Some(i));
        }
    }
    let mut owners: BTreeMap<NodeId, i64> = BTreeMap::new();
    for change in &changes[..=at?] {
        let owned = owners.entry(change.node).or_default();
        *owned = owned.saturating_add(change.bytes);
    }
    owners.retain(|_, bytes| *bytes > 0);
    Some((most, owners))
}
