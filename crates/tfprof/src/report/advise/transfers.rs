//! Copies between host and GPU that take long compared with the kernels.

use super::{Advice, DeviceCell, Evidence, grow, largest, micros, percent};
use crate::metric::Unit;
use crate::model::devices::DeviceKind;
use std::collections::BTreeMap;

/// Report copies that take this percentage of the kernels' time.
const MUCH: f64 = 20.0;

#[derive(Default)]
struct Gpu<'m> {
    kernels: i64,
    copies: i64,
    of_node: BTreeMap<&'m str, i64>,
}

pub(super) fn check(evidence: &Evidence<'_>, advice: &mut Advice) {
    let mut gpus: BTreeMap<&str, Gpu<'_>> = BTreeMap::new();
    let mut saw_copies = false;
    for DeviceCell { cell, kind, device } in evidence.cells() {
        // In a trace, copies and kernels are ops of the GPU itself.
        if evidence.model.is_trace && device.contains("/device:gpu:") {
            let of_gpu = gpus.entry(device).or_default();
            let op = evidence.op(cell);
            if op.starts_with("Memcpy") && op != "MemcpyDToD" {
                saw_copies = true;
                of_gpu.copies = of_gpu.copies.saturating_add(evidence.time_of(cell));
                grow(of_gpu.of_node.entry(evidence.model.name(cell.node)).or_default(), evidence.time_of(cell));
            } else {
                of_gpu.kernels = of_gpu.kernels.saturating_add(evidence.time_of(cell));
            }
            continue;
        }
        let Some((gpu, stream)) = split_stream(device) else { continue };
        let of_gpu = gpus.entry(gpu).or_default();
        if kind == DeviceKind::AllStreams {
            of_gpu.kernels = of_gpu.kernels.saturating_add(evidence.time_of(cell));
        } else if stream.starts_with("memcpy") {
            saw_copies = true;
            of_gpu.copies = of_gpu.copies.saturating_add(evidence.time_of(cell));
            grow(of_gpu.of_node.entry(evidence.model.name(cell.node)).or_default(), evidence.time_of(cell));
        }
    }
    if !saw_copies {
        return advice.note("no copies between host and GPU were recorded");
    }
    let steps = evidence.steps();
    for (gpu, Gpu { kernels, copies, of_node }) in gpus {
        let share = percent(copies, kernels);
        if kernels == 0 || share < MUCH {
            continue;
        }
        let (copies, kernels) = (micros(copies / steps), micros(kernels / steps));
        let most = largest(of_node.into_iter().map(|(name, n)| (name, n / steps)), 3, Unit::Micros);
        advice.report(&format!(
            "{gpu}: copies to and from the GPU take {copies} a step, {share:.0}% of the {kernels} of its kernels; \
             most: {most}. Keep these tensors on one side, or feed them through a prefetching input pipeline"
        ));
    }
}

/// Splits `…/gpu:0/memcpy` into `…/gpu:0` and `memcpy`, likewise for `stream:…`.
fn split_stream(device: &str) -> Option<(&str, &str)> {
    let (gpu, stream) = device.rsplit_once('/')?;
    (stream.starts_with("memcpy") || stream.starts_with("stream:")).then_some((gpu, stream))
}
