//! Exposed communication: collectives that do not overlap with compute.

use super::finding::{Confidence, Finding};
use super::waiting;
use super::{Advice, Evidence};
use crate::model::activity::Activity;
use crate::options::ViewKind;

pub(super) fn check(evidence: &Evidence<'_>, advice: &mut Advice) {
    let Some(step) = waiting::average(evidence, advice) else { return };
    let part = step.part(&[Activity::Collective]);
    let Some(share) = step.share(part) else { return };
    let problem = format!("accelerators exchange results and compute nothing during {share}");
    let change = "Overlap collectives with compute (smaller buckets, earlier gradients), send less (lower precision, \
                  accumulation), or use a faster link";
    let collectives = step.host.collectives.iter();
    let named: Vec<_> = collectives.map(|of| (of.name.clone(), step.micros(of.time))).collect();
    let rows = if named.is_empty() { evidence.collectives() } else { named };
    advice.find(
        Finding::new("exposed communication", problem, change, step.confidence(Confidence::Medium))
            .saves(part, step.arithmetic("the time of collectives that no compute hides"))
            .shown_by(ViewKind::Op, rows),
    );
}
