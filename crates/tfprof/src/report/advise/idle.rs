//! Gaps in steps, in which nothing ran that was recorded.

use super::finding::{Confidence, Finding};
use super::waiting;
use super::{Advice, Evidence};

pub(super) fn check(evidence: &Evidence<'_>, advice: &mut Advice) {
    let Some(step) = waiting::average(evidence, advice) else { return };
    let part = step.idle();
    let Some(share) = step.share(part) else { return };
    let problem = format!("nothing that was recorded runs during {share}");
    let change = "Look at the gaps in the timeline: work of the host outside of ops, such as Python, logging, data \
                  loading in other processes, or waiting for a lock";
    advice.find(
        Finding::new("idle gaps", problem, change, Confidence::Low)
            .saves(part, "the time of the step without any op on host or accelerator".to_owned()),
    );
}
