//! The ranks of a run beside each other: their steps, compute and collectives, and the one that the others wait for.
//!
//! Clocks of machines differ, so that only lengths are compared. In a run that exchanges results in every step, steps of all
//! ranks take equally long, and the slow rank is the one that computes longest: the others wait for it in collectives.

use crate::json::picos_as_micros;
use crate::model::activity::Activity;
use crate::model::hosts::HostFacts;
use serde::Serialize;
use std::collections::BTreeMap;

/// All ranks of a run. Times are picoseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ranks {
    pub ranks: Vec<Rank>,
    /// By step that all ranks have, the longest minus the shortest, on average and at most.
    #[serde(rename = "mean_skew_micros", serialize_with = "picos_as_micros")]
    pub mean_skew: i64,
    #[serde(rename = "largest_skew_micros", serialize_with = "picos_as_micros")]
    pub largest_skew: i64,
    /// The number of steps that all ranks have.
    pub common_steps: usize,
    pub straggler: Option<Straggler>,
}

/// A rank, in its average step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rank {
    pub host: String,
    pub rank: Option<i64>,
    pub steps: usize,
    #[serde(rename = "step_micros", serialize_with = "picos_as_micros")]
    pub step: i64,
    #[serde(rename = "compute_micros", serialize_with = "picos_as_micros")]
    pub compute: i64,
    /// In which it exchanged results, and computed nothing.
    #[serde(rename = "exposed_collectives_micros", serialize_with = "picos_as_micros")]
    pub exposed: i64,
}

/// The rank that computes longest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Straggler {
    pub host: String,
    #[serde(rename = "compute_micros", serialize_with = "picos_as_micros")]
    pub compute: i64,
    #[serde(rename = "median_compute_micros", serialize_with = "picos_as_micros")]
    pub median: i64,
    /// In how many of the steps that all ranks have it computed longest.
    pub slowest_in: usize,
}

impl Straggler {
    /// The excess of its compute time over the median.
    pub fn extra(&self) -> i64 {
        self.compute.saturating_sub(self.median)
    }

    pub fn extra_percent(&self) -> f64 {
        if self.median > 0 { 100.0 * self.extra() as f64 / self.median as f64 } else { 0.0 }
    }
}

/// The ranks of a run; `None` unless there are two with steps whose parts are known.
pub fn compare(hosts: &[HostFacts]) -> Option<Ranks> {
    let of_run: Vec<&HostFacts> =
        hosts.iter().filter(|host| host.rank.is_some() && !host.step_parts.is_empty()).collect();
    if of_run.len() < 2 {
        return None;
    }
    let ranks: Vec<Rank> = of_run.iter().map(|host| rank(host)).collect();
    // By step, the length and the compute of each rank.
    let mut by_step: BTreeMap<i64, Vec<(i64, i64)>> = BTreeMap::new();
    for host in &of_run {
        for (step, parts) in host.steps.iter().zip(&host.step_parts) {
            let compute = parts.by_activity[Activity::Compute as usize];
            by_step.entry(step.number).or_default().push((step.length, compute));
        }
    }
    let common: Vec<Vec<(i64, i64)>> = by_step.into_values().filter(|step| step.len() == of_run.len()).collect();
    let skews = common.iter().map(|step| {
        let lengths = || step.iter().map(|(length, _)| *length);
        lengths().max().unwrap_or(0).saturating_sub(lengths().min().unwrap_or(0))
    });
    let skews: Vec<i64> = skews.collect();
    let mean_skew = mean(skews.iter().copied());
    let largest_skew = skews.into_iter().max().unwrap_or(0);
    let straggler = straggler(&ranks, &common);
    Some(Ranks { ranks, mean_skew, largest_skew, common_steps: common.len(), straggler })
}

fn rank(host: &HostFacts) -> Rank {
    let part = |activity: Activity| mean(host.step_parts.iter().map(|parts| parts.by_activity[activity as usize]));
    Rank {
        host: host.host.clone(),
        rank: host.rank,
        steps: host.steps.len(),
        step: mean(host.steps.iter().map(|step| step.length)),
        compute: part(Activity::Compute),
        exposed: part(Activity::Collective),
    }
}

fn straggler(ranks: &[Rank], common: &[Vec<(i64, i64)>]) -> Option<Straggler> {
    let (at, slowest) = ranks.iter().enumerate().rev().max_by_key(|(_, rank)| rank.compute)?;
    let mut sorted: Vec<i64> = ranks.iter().map(|rank| rank.compute).collect();
    sorted.sort_unstable();
    let half = sorted.len() / 2;
    let median = if sorted.len() % 2 == 1 { sorted[half] } else { mean(sorted[half - 1..=half].iter().copied()) };
    let slowest_in = common.iter().filter(|step| {
        let longest = step.iter().map(|(_, compute)| *compute).max();
        longest == Some(step[at].1)
    });
    let slowest_in = slowest_in.count();
    let host = slowest.host.clone();
    (slowest.compute > 0).then_some(Straggler { host, compute: slowest.compute, median, slowest_in })
}

fn mean(numbers: impl Iterator<Item = i64> + Clone) -> i64 {
    let count = numbers.clone().count() as i128;
    let sum: i128 = numbers.map(i128::from).sum();
    if count == 0 { 0 } else { (sum / count) as i64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::activity::StepParts;
    use crate::model::hosts::StepSpan;

    /// A rank with steps of this length, compute and collectives.
    fn host(rank: i64, steps: &[(i64, i64, i64, i64)]) -> HostFacts {
        let mut facts = HostFacts { host: format!("rank{rank}"), rank: Some(rank), ..HostFacts::default() };
        for (number, length, compute, exposed) in steps {
            facts.steps.push(StepSpan::new(*number, 0, *length));
            let mut parts = StepParts::default();
            parts.by_activity[Activity::Compute as usize] = *compute;
            parts.by_activity[Activity::Collective as usize] = *exposed;
            facts.step_parts.push(parts);
        }
        facts
    }

    #[test]
    fn the_rank_that_computes_longest_holds_up_the_others() {
        let hosts = [
            host(0, &[(5, 100, 60, 30), (6, 100, 62, 28)]),
            host(1, &[(5, 104, 90, 5), (6, 100, 92, 3)]),
            host(2, &[(5, 102, 58, 32), (6, 110, 60, 30), (7, 500, 500, 0)]),
        ];
        let ranks = compare(&hosts[..2]).expect("two ranks");
        assert_eq!((ranks.mean_skew, ranks.largest_skew, ranks.common_steps), (2, 4, 2));
        let slow = ranks.straggler.expect("a straggler");
        assert_eq!((slow.host.as_str(), slow.compute, slow.median, slow.slowest_in), ("rank1", 91, 76, 2));
        let ranks = compare(&hosts).expect("three ranks");
        // The third has a step that the others do not have: it counts for its average alone.
        assert_eq!((ranks.mean_skew, ranks.largest_skew, ranks.common_steps), (7, 10, 2));
        assert_eq!(ranks.straggler.map(|slow| (slow.host, slow.slowest_in)), Some(("rank2".to_owned(), 0)));
        assert_eq!(compare(&hosts[..1]), None);
    }
}
