//! A rank that computes longer than the others, which wait for it in their collectives.

use super::finding::{Confidence, Finding};
use super::{Advice, Evidence, micros};
use crate::model::TimeUnit;
use crate::report::overview::ranks;

/// Ignore ranks that compute less than this much longer than the median, in percent and in microseconds.
const LEAST_PERCENT: f64 = 5.0;
const LEAST_MICROS: i64 = 100;

pub(super) fn check(evidence: &Evidence<'_>, advice: &mut Advice) {
    let Some(run) = ranks::compare(&evidence.model.hosts) else {
        return advice.note("there are no two ranks with steps to compare");
    };
    let Some(slow) = &run.straggler else { return };
    let of_picos = |picos: i64| picos / TimeUnit::Picos.per_micro();
    let extra = of_picos(slow.extra());
    if slow.extra_percent() < LEAST_PERCENT || extra < LEAST_MICROS {
        return;
    }
    let (compute, median) = (micros(of_picos(slow.compute)), micros(of_picos(slow.median)));
    let problem = format!(
        "{} computes {compute} a step, {:.0}% more than the median of {} ranks; it is the slowest in {} of {} steps",
        slow.host,
        slow.extra_percent(),
        run.ranks.len(),
        slow.slowest_in,
        run.common_steps
    );
    let change = "Give all ranks equal work (batch, sequence length, experts, tables), and check the clocks and the \
                  temperature of that machine";
    // A rank that is always the slowest is slow; one that is sometimes has more work in some steps.
    let is_always = run.common_steps > 0 && slow.slowest_in * 5 >= run.common_steps * 4;
    let confidence = if is_always { Confidence::Medium } else { Confidence::Low };
    let arithmetic = format!("{compute} of compute on it minus the median of {median}");
    advice.find(Finding::new("a rank holds up the others", problem, change, confidence).saves(extra, arithmetic));
}

#[cfg(test)]
mod tests {
    use super::super::advise;
    use crate::model::Model;
    use crate::model::activity::{Activity, StepParts};
    use crate::model::hosts::{HostFacts, StepSpan};
    use crate::quirks::Quirks;
    use std::sync::Arc;

    /// Ranks with two steps of 1 ms, which compute so many microseconds of each.
    fn ranks(compute: &[i64]) -> Arc<Model> {
        let mut model = Model::default();
        for (rank, compute) in compute.iter().enumerate() {
            let mut parts = StepParts::default();
            parts.by_activity[Activity::Compute as usize] = compute * 1_000_000;
            let steps = [5, 6].map(|number| StepSpan::new(number, 0, 1_000_000_000)).to_vec();
            let (host, rank) = (format!("rank{rank}"), Some(rank as i64));
            model.hosts.push(HostFacts { host, rank, steps, step_parts: vec![parts; 2], ..HostFacts::default() });
        }
        Arc::new(model)
    }

    #[test]
    fn the_slow_rank_is_named_with_the_time_that_it_costs() {
        let check = |compute: &[i64], savings: &[Option<i64>]| {
            let found = advise(&ranks(compute), &["StragglerChecker".to_owned()], Quirks::NONE).expect("a checker");
            let found: Vec<_> = found[0].findings.iter().map(|finding| finding.saving_micros).collect();
            assert_eq!(found, savings, "{compute:?}");
        };
        check(&[500, 500, 800], &[Some(300)]);
        check(&[500, 510, 505], &[]);
        check(&[800], &[]);
    }
}
