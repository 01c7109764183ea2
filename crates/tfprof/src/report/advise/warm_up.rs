//! First steps that take longer than the others: they allocate, compile and fill caches, and distort averages.

use super::finding::{Confidence, Finding};
use super::{Advice, Evidence, micros};
use crate::model::TimeUnit;
use crate::model::hosts::{HostFacts, StepRule};

/// The fewest steps for which a first one stands out.
const LEAST_STEPS: usize = 4;
/// How many times as long as the median of the others …
const LONGER: f64 = 1.5;
/// … and how many microseconds longer.
const LEAST_MICROS: i64 = 1000;

pub(super) fn check(evidence: &Evidence<'_>, advice: &mut Advice) {
    let hosts = evidence.model.hosts.iter().filter(|host| host.rule != StepRule::WholeProfile);
    let with_steps: Vec<&HostFacts> = hosts.filter(|host| host.steps.len() >= LEAST_STEPS).collect();
    if with_steps.is_empty() {
        return advice.note("there are not enough steps in a trace to tell the first from the others");
    }
    let several = with_steps.len() > 1;
    for host in with_steps {
        let of = |picos: i64| picos / TimeUnit::Picos.per_micro();
        let Some((first, others)) = host.steps.split_first() else { continue };
        let mut lengths: Vec<i64> = others.iter().map(|step| step.length).collect();
        lengths.sort_unstable();
        let (first_micros, median) = (of(first.length), of(lengths[lengths.len() / 2]));
        if (first_micros as f64) < LONGER * median as f64 || first_micros - median < LEAST_MICROS {
            continue;
        }
        let count = host.steps.len() as i64;
        let extra = (first_micros - median) / count;
        let problem = format!(
            "the first step ({}{}) takes {}, the median of the {} others {}; averages over all steps are up to {} too high",
            first.number,
            if several { format!(" of {}", host.host) } else { String::new() },
            micros(first_micros),
            count - 1,
            micros(median),
            micros(extra)
        );
        let change =
            "Leave it out of averages (-step of a later one, or --warmup of tfprof diff), and record later steps";
        // It is lost once, not in each step, so that it has no saving a step.
        advice.find(Finding::new("warm-up", problem, change, Confidence::High));
    }
}

#[cfg(test)]
mod tests {
    use super::super::advise;
    use super::*;
    use crate::model::Model;
    use crate::model::hosts::StepSpan;
    use crate::quirks::Quirks;
    use std::sync::Arc;

    #[test]
    fn a_long_first_step_is_told_from_the_others() {
        let check = |millis: &[i64], reports: usize| {
            let steps = (0..).zip(millis).map(|(at, millis)| StepSpan::new(at, 0, millis * 1_000_000_000)).collect();
            let mut model = Model::default();
            model.hosts.push(HostFacts { steps, rule: StepRule::StepNum, ..HostFacts::default() });
            let found = advise(&Arc::new(model), &["WarmUpChecker".to_owned()], Quirks::NONE).expect("a checker");
            assert_eq!(found[0].reports.len(), reports, "{millis:?}");
        };
        check(&[90, 10, 11, 10, 9], 1);
        check(&[11, 10, 11, 10, 9], 0);
        check(&[90, 10], 0);
    }
}
