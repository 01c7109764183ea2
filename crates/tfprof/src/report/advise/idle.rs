//! Gaps in steps, in which no op ran.

use super::finding::{Confidence, Finding};
use super::waiting;
use super::{Advice, Evidence};

pub(super) fn check(evidence: &Evidence<'_>, advice: &mut Advice) {
    let Some(step) = waiting::any_average(evidence, advice) else { return };
    // An accelerator of another kind may work in the gaps, or one that was not recorded.
    if let Some(names) = waiting::unseen_devices(step.host) {
        return advice
            .note(&format!("the trace names {names}, but no work of it that tfprof knows, so gaps tell nothing"));
    }
    let part = step.idle();
    let Some(share) = step.share(part) else { return };
    let problem = match (waiting::has_accelerator(step.host), waiting::has_host(step.host)) {
        (true, true) => format!("no op of the host or of an accelerator runs during {share}"),
        (true, false) => format!("no op of an accelerator runs during {share}; the host was not recorded"),
        (false, _) => format!("no op runs during {share}"),
    };
    let change = "Look at the gaps in the timeline: work of the host outside of ops, such as Python, logging, data \
                  loading in other processes, or waiting for a lock";
    advice.find(
        Finding::new("idle gaps", problem, change, Confidence::Low)
            .saves(part, step.arithmetic("the time of the step without any op")),
    );
}
