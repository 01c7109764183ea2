//! Calls in which the host waits until the device is done. After each, the device has no work until the host launches more.

use super::finding::{Confidence, Finding};
use super::waiting;
use super::{Advice, Evidence};
use crate::model::activity::Activity;
use crate::model::layers::Layer;
use crate::options::ViewKind;

/// Calls of CUDA and HIP that wait.
#[rustfmt::skip]
const WAITS: [&str; 9] = [
    "cudaStreamSynchronize", "cudaEventSynchronize", "cudaDeviceSynchronize", "cuStreamSynchronize", "cuEventSynchronize",
    "cuCtxSynchronize", "hipStreamSynchronize", "hipEventSynchronize", "hipDeviceSynchronize",
];

pub(super) fn check(evidence: &Evidence<'_>, advice: &mut Advice) {
    let Some(step) = waiting::average(evidence, advice) else { return };
    // Without steps, the profiler's own wait at the end cannot be told from the program's.
    let is_whole = step.is_whole();
    let is_wait = |name: &str| WAITS.contains(&name) && !(is_whole && name.ends_with("DeviceSynchronize"));
    let calls = evidence.by_name(Layer::Runtime, |cell| is_wait(evidence.op(cell.cell)));
    let waited = calls.iter().fold(0_i64, |sum, (_, time)| sum.saturating_add(*time));
    let after = step.part(&[Activity::Host]).saturating_add(step.idle());
    let saving = waited.min(after);
    let (Some(share), Some(_)) = (step.share(waited), step.share(saving)) else { return };
    let problem = format!("the host waits for the device during {share}, and launches nothing meanwhile");
    let change = "Take `.item()`, `.cpu()`, `print(tensor)`, `nonzero` and `torch.cuda.synchronize()` out of the step, or \
                  do them every so many steps; copy with `non_blocking=True` from pinned memory";
    advice.find(
        Finding::new("synchronisation", problem, change, Confidence::Low)
            .saves(
                saving,
                "the time of these calls, or of the step without work on the device if that is less".to_owned(),
            )
            .shown_by(ViewKind::Op, calls),
    );
}
