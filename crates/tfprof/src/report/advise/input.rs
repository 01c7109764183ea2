//! Accelerators that wait for input.

use super::finding::{Confidence, Finding};
use super::waiting;
use super::{Advice, Evidence, micros};
use crate::model::activity::Activity;
use crate::options::ViewKind;

pub(super) fn check(evidence: &Evidence<'_>, advice: &mut Advice) {
    let Some(step) = waiting::average(evidence, advice) else { return };
    let part = step.part(&[Activity::Input, Activity::HostInput]);
    let Some(share) = step.share(part) else { return };
    let (copies, pipeline) = (micros(step.part(&[Activity::Input])), micros(step.part(&[Activity::HostInput])));
    let problem = format!("accelerators wait for input during {share}");
    let change = "Prepare batches while the device computes: prefetch, more workers, or cache what does not change";
    let finding = Finding::new("input-bound", problem, change, step.confidence(Confidence::Medium)).saves(
        part,
        step.arithmetic(&format!(
            "{copies} of copies to the device and {pipeline} of input pipeline that no compute hides"
        )),
    );
    advice.find(finding.shown_by(ViewKind::Op, evidence.host_ops(is_input)));
}

/// Whether an op of the host prepares input.
pub(super) fn is_input(op: &str) -> bool {
    op.contains("Dataset") || op.contains("Iterator") || op.starts_with("enumerate(DataLoader)")
}
