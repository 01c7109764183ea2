//! Memory near the limit of an allocator, and the ops that hold it.

use super::{Advice, Evidence, bytes, largest, percent};
use crate::metric::Unit;
use crate::model::cells::Measure;
use std::collections::BTreeMap;

/// Report more of the limit than this, in percent.
const NEAR: f64 = 90.0;

pub(super) fn check(evidence: &Evidence<'_>, advice: &mut Advice) {
    let allocators = || evidence.model.hosts.iter().flat_map(|host| &host.allocators);
    // PyTorch's allocator takes from the device as it needs: the part that it reserved is no limit.
    let limited: Vec<_> = allocators()
        .filter(|_| !evidence.is_other_trace())
        .filter_map(|allocator| Some((allocator, allocator.peak.capacity().filter(|limit| *limit > 0)?)))
        .collect();
    if limited.is_empty() {
        return advice.note("no allocator says how much memory it may use");
    }
    for (allocator, limit) in limited {
        let used = allocator.peak.in_use();
        let share = percent(used, limit);
        if share < NEAR {
            continue;
        }
        let held = holders(evidence);
        let who = if held.is_empty() { String::new() } else { format!("; ops that hold most: {held}") };
        advice.report(&format!(
            "{} had {} of {} in use ({share:.0}%){who}. Smaller batches, recomputation, optimizer state in fewer or smaller \
             numbers, or sharding leave room",
            allocator.name,
            bytes(used),
            bytes(limit)
        ));
    }
}

/// The ops that kept most memory beyond their own run.
fn holders(evidence: &Evidence<'_>) -> String {
    let mut held: BTreeMap<&str, i64> = BTreeMap::new();
    for cell in evidence.cells() {
        let sum = held.entry(evidence.model.name(cell.cell.node)).or_default();
        *sum = sum.saturating_add(cell.cell.sum(Measure::ResidualBytes).limited() / evidence.steps());
    }
    largest(held, 5, Unit::Bytes)
}

#[cfg(test)]
mod tests {
    use super::super::advise;
    use crate::model::Model;
    use crate::model::allocators::{Allocators, MemorySample};
    use crate::model::hosts::HostFacts;
    use crate::quirks::Quirks;
    use std::sync::Arc;

    #[test]
    fn an_allocator_near_its_limit_is_named() {
        for (heap_bytes, free, reports) in [(950, 50, 1), (500, 500, 0)] {
            let free_bytes = Some(free);
            let sample = MemorySample { time: 0, stack_bytes: 0, heap_bytes, free_bytes, fragmentation: None };
            let mut allocators = Allocators::default();
            allocators.add("GPU_0_bfc", sample, heap_bytes);
            let mut model = Model::default();
            model.hosts.push(HostFacts { allocators: allocators.list, ..HostFacts::default() });
            let found = advise(&Arc::new(model), &["MemoryLimitChecker".to_owned()], Quirks::NONE).expect("a checker");
            assert_eq!(found[0].reports.len(), reports, "{found:?}");
        }
    }
}
