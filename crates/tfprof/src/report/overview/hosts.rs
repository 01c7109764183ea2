//! The traces of hosts as `info` sums them up: the recording, the steps, and what was not recorded.

use super::StepTime;
use super::missing::{Missing, SAVE_WITH_LINES};
use super::torch;
use crate::model::TimeUnit;
use crate::model::hosts::{EventKind, HostFacts, StepRule, events};
use crate::units::Amount;
use std::collections::BTreeMap;

/// Picoseconds as microseconds.
pub fn micros(picos: i64) -> Amount {
    Amount { n: picos, parts: TimeUnit::Picos.per_micro() }
}

/// The framework that was recorded, with its version if the files tell it.
pub fn framework(hosts: &[HostFacts]) -> String {
    match hosts.iter().find_map(|host| host.framework.clone()) {
        Some(framework) => framework,
        None if events(hosts, EventKind::Tf) > 0 => "TensorFlow".to_owned(),
        None if hosts.iter().any(|host| host.recording.is_some()) => {
            hosts.iter().find_map(|host| host.recording.clone()).unwrap_or_default()
        }
        None => "unknown framework".to_owned(),
    }
}

/// When the first recording began, and how long the longest took.
#[derive(Clone, Copy, Debug)]
pub struct Recording {
    /// Nanoseconds since 1970.
    pub start: Option<u64>,
    /// Picoseconds.
    pub length: i64,
}

impl Recording {
    pub fn of(hosts: &[HostFacts]) -> Recording {
        let start = hosts.iter().filter_map(|host| host.start_time).min();
        let length = |host: &HostFacts| match host.start_time.zip(host.stop_time) {
            Some((start, stop)) if stop > start => i64::try_from(stop - start).unwrap_or(i64::MAX).saturating_mul(1000),
            _ => {
                let first = host.lines.iter().filter_map(|line| line.first).min().unwrap_or(0);
                let last = host.lines.iter().filter_map(|line| line.last).max().unwrap_or(0);
                last.saturating_sub(first)
            }
        };
        Recording { start, length: hosts.iter().map(length).max().unwrap_or(0) }
    }
}

/// Nanoseconds since 1970 as a date and time in UTC.
pub fn date(nanos: u64) -> String {
    let seconds = nanos / 1_000_000_000;
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Years begin in March, so that the leap day is the last.
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

/// The steps of all hosts together: the sum of their op times, and the longest span.
pub fn steps(hosts: &[HostFacts]) -> Vec<StepTime> {
    let mut steps: BTreeMap<i64, StepTime> = BTreeMap::new();
    for (step, ops) in hosts.iter().flat_map(|host| host.steps.iter().zip(&host.step_ops)) {
        let sum = steps.entry(step.number).or_insert(StepTime { step: step.number, micros: 0, span: 0 });
        sum.micros = sum.micros.saturating_add(ops.self_time);
        sum.span = sum.span.max(step.length);
    }
    let rounded = |picos| micros(picos).rounded();
    steps
        .into_values()
        .map(|step| StepTime { micros: rounded(step.micros), span: rounded(step.span), ..step })
        .collect()
}

/// Data that could have been recorded, with the framework that recorded the rest.
pub fn missing(hosts: &[HostFacts]) -> Vec<Missing> {
    if hosts.iter().any(|host| host.recording.is_some()) {
        return torch::missing(hosts);
    }
    let framework = framework(hosts);
    let (is_tensorflow, is_jax) = (framework.starts_with("TensorFlow"), framework.starts_with("JAX"));
    let mut all = Vec::new();
    let mut missing = |code, what, why: &str, how| all.push(Missing::new(code, what, why, how));
    if hosts.iter().any(|host| host.is_eager) {
        missing(
            "eager",
            "scopes",
            "the ops ran one by one, outside of a tf.function",
            &["step = tf.function(step)  # call it as before; with Keras: model.compile(run_eagerly=False)"],
        );
    }
    let rule = hosts.first().map_or(StepRule::None, |host| host.rule);
    if !matches!(rule, StepRule::StepNum | StepRule::StepsLine | StepRule::Marker) {
        let why = match rule {
            StepRule::WholeProfile => "nothing marks steps, so the whole profile counts as one".to_owned(),
            StepRule::None => "nothing has a start, so there are no steps".to_owned(),
            rule => format!("steps are taken from {}", rule.about()),
        };
        let (jax, tensorflow) = MARKERS.split_at(MARKERS.len() / 2);
        let how = if is_tensorflow {
            tensorflow
        } else if is_jax {
            jax
        } else {
            MARKERS
        };
        missing("no_step_markers", "step markers", &why, how);
    }
    if is_tensorflow {
        if !hosts.iter().any(|host| host.has_source) {
            let why =
                "TensorFlow records no lines and no Python calls; a model that is saved with them has FLOPs by line";
            missing("no_traces", "lines of code", why, SAVE_WITH_LINES);
        }
    } else {
        if events(hosts, EventKind::Python) == 0 {
            let how = &[
                "options = jax.profiler.ProfileOptions()",
                "options.python_tracer_level = 1",
                "jax.profiler.start_trace('logdir', profiler_options=options)",
            ];
            missing("no_python_calls", "Python calls", "the Python tracer was off", how);
        }
        if events(hosts, EventKind::Hlo) > 0 && !hosts.iter().any(|host| host.has_source) {
            let why = "the compiled programs are not in the profile, or do not know their lines";
            let how = &[
                "options = jax.profiler.ProfileOptions()",
                "options.enable_hlo_proto = True",
                "jax.profiler.start_trace('logdir', profiler_options=options)",
            ];
            missing("no_hlo", "lines of source", why, how);
        }
    }
    let has_device = hosts.iter().flat_map(|host| &host.planes).any(|plane| plane.name.starts_with("/device:"));
    if !has_device {
        let how = &["# if the machine has one, look for its tracer (CUPTI, libtpu) in the log of the recording"];
        missing("no_device", "accelerator", "no plane of a GPU or TPU is in the profile", how);
    }
    all
}

/// How JAX and TensorFlow mark steps.
const MARKERS: &[&str] = &[
    "for i in range(10):",
    "    with jax.profiler.StepTraceAnnotation('train', step_num=i):",
    "        step()",
    "for i in range(10):",
    "    with tf.profiler.experimental.Trace('train', step_num=i, _r=1):",
    "        step()",
];

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
