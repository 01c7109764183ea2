//! What profiles of hosts say of themselves: where they come from, their steps, and how busy everything was.

use super::{Missing, StepTime};
use crate::model::TimeUnit;
use crate::model::hosts::{EventKind, HostFacts, StepRule, events};
use std::collections::BTreeMap;

/// The framework that was recorded, as far as the files tell, with its version.
pub fn framework(hosts: &[HostFacts]) -> String {
    match hosts.iter().find_map(|host| host.framework.clone()) {
        Some(framework) => framework,
        None if events(hosts, EventKind::Tf) > 0 => "TensorFlow".to_owned(),
        None => "unknown framework".to_owned(),
    }
}

/// When the first recording began, in nanoseconds since 1970, and how long it took, in picoseconds.
pub fn recorded(hosts: &[HostFacts]) -> (Option<u64>, i64) {
    let start = hosts.iter().filter_map(|host| host.start_time).min();
    let length = |host: &HostFacts| {
        let times = host.start_time.zip(host.stop_time);
        match times {
            Some((start, stop)) if stop > start => i64::try_from(stop - start).unwrap_or(i64::MAX).saturating_mul(1000),
            _ => {
                let first = host.lines.iter().filter_map(|line| line.first).min().unwrap_or(0);
                let last = host.lines.iter().filter_map(|line| line.last).max().unwrap_or(0);
                last.saturating_sub(first)
            }
        }
    };
    (start, hosts.iter().map(length).max().unwrap_or(0))
}

/// Nanoseconds since 1970 as a date and a time of day, UTC.
pub fn date(nanos: u64) -> String {
    let seconds = nanos / 1_000_000_000;
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Years are counted from March, so that the odd day is the last.
    let days = days + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = era * 400 + year_of_era + next;
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02} UTC", second / 3600, second / 60 % 60, second % 60)
}

/// The steps of all hosts together: op time adds up, the longest counts.
pub fn steps(hosts: &[HostFacts]) -> Vec<StepTime> {
    let mut steps: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
    for host in hosts {
        for (step, ops) in host.steps.iter().zip(&host.step_ops) {
            let (micros, span) = steps.entry(step.number).or_default();
            *micros = micros.saturating_add(ops.self_time);
            *span = (*span).max(step.end.saturating_sub(step.start));
        }
    }
    let micros = |n| crate::units::Amount { n, parts: TimeUnit::Picos.per_micro() }.rounded();
    steps.into_iter().map(|(step, (own, span))| StepTime { step, micros: micros(own), span: micros(span) }).collect()
}

/// What could be recorded and was not.
pub fn missing(hosts: &[HostFacts]) -> Vec<Missing> {
    let mut all = Vec::new();
    let mut missing = |code, what, why: &str, how| all.push(Missing { code, what, why: why.to_owned(), how });
    let rule = hosts.first().map_or(StepRule::None, |host| host.rule);
    if !matches!(rule, StepRule::StepNum | StepRule::StepsLine | StepRule::Marker) {
        missing(
            "no_step_markers",
            "step markers",
            &format!("steps are taken from {}", rule.about()),
            &[
                "with jax.profiler.StepTraceAnnotation(\"train\", step_num=i): …",
                "with tf.profiler.experimental.Trace(\"train\", step_num=i, _r=1): …",
            ][..],
        );
    }
    if events(hosts, EventKind::Python) == 0 {
        missing(
            "no_python_calls",
            "Python calls",
            "the Python tracer was off; TensorFlow 2.21 does not turn it on whatever is asked",
            &[
                "options = jax.profiler.ProfileOptions(); options.python_tracer_level = 1",
                "jax.profiler.start_trace(logdir, profiler_options=options)",
            ],
        );
    }
    let has_device = hosts.iter().flat_map(|host| &host.planes).any(|plane| plane.name.starts_with("/device:"));
    if !has_device {
        missing(
            "no_device",
            "accelerator",
            "no plane of a GPU or TPU is in the profile",
            &["nothing to do if there is none; else check the log of the recording for its tracer (CUPTI, libtpu)"],
        );
    }
    if events(hosts, EventKind::Hlo) > 0 && !hosts.iter().any(|host| host.has_source) {
        missing(
            "no_hlo",
            "lines of source",
            "the compiled programs are not in the profile, or do not know their lines",
            &["record with JAX, or with enable_hlo_proto on in the profiler's options"],
        );
    }
    all
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn dates() {
        assert_eq!(date(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(date(951_782_400_000_000_000), "2000-02-29 00:00:00 UTC");
        assert_eq!(date(1_794_780_126_684_579_282), "2026-11-15 22:02:06 UTC");
    }
}
