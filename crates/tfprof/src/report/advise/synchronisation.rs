//! Calls in which the host waits until the device is done. After each, the device has no work until the host launches more.

use super::finding::{Confidence, Finding};
use super::waiting::{self, Average};
use super::{Advice, Evidence};
use crate::model::activity::Activity;
use crate::options::ViewKind;

/// Calls of CUDA and HIP that wait, among them copies that return when they are done.
#[rustfmt::skip]
const WAITS: [&str; 12] = [
    "cudaStreamSynchronize", "cudaEventSynchronize", "cudaDeviceSynchronize", "cuStreamSynchronize", "cuEventSynchronize",
    "cuCtxSynchronize", "hipStreamSynchronize", "hipEventSynchronize", "hipDeviceSynchronize",
    "cudaMemcpy", "hipMemcpy", "hipMemcpyWithStream",
];

pub(super) fn check(evidence: &Evidence<'_>, advice: &mut Advice) {
    let Some(step) = waiting::average(evidence, advice) else { return };
    let calls = calls(evidence, &step);
    let waited = waited(evidence, &calls);
    let after = step.part(&[Activity::Host]).saturating_add(step.idle());
    let saving = waited.min(after);
    let (Some(share), Some(_)) = (step.share(waited), step.share(saving)) else { return };
    let problem =
        format!("the host waits for the device during {share}; the thread that waits launches nothing meanwhile");
    let change = "Take `.item()`, `.cpu()`, `print(tensor)`, `nonzero` and `torch.cuda.synchronize()` out of the step, or \
                  do them every so many steps; copy with `non_blocking=True` from pinned memory";
    advice.find(
        Finding::new("synchronisation", problem, change, Confidence::Low)
            .saves(
                saving,
                step.arithmetic("the time of these calls, or of the step without work on the device if that is less"),
            )
            .shown_by(ViewKind::Scope, calls),
    );
}

/// The calls that wait, with their time a step, those of all hosts together.
pub(super) fn calls(evidence: &Evidence<'_>, step: &Average<'_>) -> Vec<(String, i64)> {
    // Without steps, the profiler's own wait at the end cannot be told from the program's.
    let is_whole = step.is_whole();
    let is_wait = |name: &str| WAITS.contains(&name) && !(is_whole && name.ends_with("DeviceSynchronize"));
    evidence.runtime_calls(is_wait)
}

/// The time a step that one host waits in these calls, on average.
pub(super) fn waited(evidence: &Evidence<'_>, calls: &[(String, i64)]) -> i64 {
    let hosts = i64::try_from(evidence.model.hosts.len()).unwrap_or(i64::MAX).max(1);
    calls.iter().fold(0_i64, |sum, (_, time)| sum.saturating_add(*time)) / hosts
}
