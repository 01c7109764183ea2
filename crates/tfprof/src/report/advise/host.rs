//! Accelerators that wait for the host.

use super::finding::{Confidence, Finding};
use super::{Advice, Evidence};
use super::{synchronisation, waiting};
use crate::model::activity::Activity;
use crate::options::ViewKind;

pub(super) fn check(evidence: &Evidence<'_>, advice: &mut Advice) {
    let Some(step) = waiting::average(evidence, advice) else { return };
    // A host that waits for the device longer than this was seen to work waits for work that was not recorded.
    let waited = synchronisation::waited(evidence, &synchronisation::calls(evidence, &step));
    let unseen = (waited - step.on_device()).max(0);
    let part = step.part(&[Activity::Host]) - unseen;
    let Some(share) = step.share(part) else { return };
    let problem = format!("accelerators wait while ops of the host run, during {share}");
    let change = "Give each launch more work (larger batches, fused or compiled ops, CUDA graphs), and take \
                  synchronisation and Python work out of the step";
    let finding = Finding::new("host-bound", problem, change, step.confidence(Confidence::Medium))
        .saves(part, step.arithmetic("the time of the step in which some op of the host ran, and no accelerator"));
    advice.find(finding.shown_by(ViewKind::Op, evidence.host_ops(|op| !super::input::is_input(op))));
}
