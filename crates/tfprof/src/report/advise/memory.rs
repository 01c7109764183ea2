//! The ops that hold most memory at the peak of a GPU.

use super::{Advice, Evidence, bytes, largest, percent};
use crate::metric::Unit;
use crate::model::devices::DeviceId;
use crate::model::nodes::NodeId;
use crate::model::records::{Allocation, Records};
use std::collections::BTreeMap;

pub(super) fn check(evidence: &Evidence<'_>, advice: &mut Advice) {
    let model = evidence.model;
    let mut peaks: BTreeMap<&str, (i64, Peak)> = BTreeMap::new();
    for step in model.runs.steps() {
        let Some(records) = model.runs.records(step) else { continue };
        for (device, changes) in by_device(records) {
            let Some(peak) = Peak::of(&changes) else { continue };
            let name = model.names.get(model.devices.name(device));
            let highest = peaks.entry(name).or_insert_with(|| (step, Peak::default()));
            if peak.held > highest.1.held {
                *highest = (step, peak);
            }
        }
    }
    if peaks.is_empty() && model.hosts.iter().any(|host| host.memory_peak.is_some()) {
        return advice.note("the profile says how much memory was in use (tfprof info), but not which ops held it");
    }
    if peaks.is_empty() {
        return advice.note("no allocations of a GPU were recorded, so the ops that held memory are unknown");
    }
    for (device, (step, Peak { held, owners })) in peaks.into_iter().filter(|(_, (_, peak))| peak.held > 0) {
        let first = owners.values().max().copied().unwrap_or(0);
        let most = largest(owners.iter().map(|(node, n)| (model.name(*node), *n)), 5, Unit::Bytes);
        advice.report(&format!(
            "{device}: {} are held at the peak, in step {step}, by {} ops; most: {most}; the first holds {:.0}%. \
             Smaller batches or recomputation of these tensors lower the peak",
            bytes(held),
            owners.len(),
            percent(first, held)
        ));
    }
}

/// Allocations and deallocations by device, in order of time.
fn by_device(records: &Records) -> BTreeMap<DeviceId, Vec<Allocation>> {
    let mut devices: BTreeMap<DeviceId, Vec<Allocation>> = BTreeMap::new();
    for allocation in records.all_allocations() {
        devices.entry(allocation.device).or_default().push(*allocation);
    }
    // At equal times, memory is freed before it is allocated.
    devices.values_mut().for_each(|changes| changes.sort_by_key(|change| (change.micros, change.bytes)));
    devices
}

/// The peak memory, and the bytes of each node in it.
#[derive(Default)]
struct Peak {
    held: i64,
    owners: BTreeMap<NodeId, i64>,
}

impl Peak {
    fn of(changes: &[Allocation]) -> Option<Peak> {
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
        Some(Peak { held: most, owners })
    }
}
