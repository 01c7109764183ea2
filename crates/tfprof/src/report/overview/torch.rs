//! The part of `info` for PyTorch's traces: the recording, ranks and their collectives, and missing data.

use super::hosts::micros;
use super::missing::Missing;
use super::render::Fact;
use crate::metric::Unit;
use crate::model::hosts::{CollectiveFacts, EventKind, HostFacts, StepRule, events, is_accelerator};

/// The maximum number of collectives listed.
const ROWS: usize = 5;
/// The maximum number of ranks listed.
const MOST_RANKS: usize = 16;

/// Data that could have been recorded.
pub fn missing(hosts: &[HostFacts]) -> Vec<Missing> {
    let mut all = Vec::new();
    if !hosts.iter().any(|host| host.framework.is_some()) {
        return all;
    }
    let mut missing = |code, what, why, how| all.push(Missing::new(code, what, why, how));
    if !hosts.iter().any(|host| matches!(host.rule, StepRule::ProfilerSteps | StepRule::Marker)) {
        let how = &[
            "with torch.profiler.profile(schedule=torch.profiler.schedule(wait=1, warmup=1, active=3)) as prof:",
            "    for batch in data:",
            "        train(batch)",
            "        prof.step()",
        ];
        missing("no_step_markers", "step markers", "no ProfilerStep is in the trace, so all of it counts as one", how);
    }
    if events(hosts, EventKind::Python) == 0 && !hosts.iter().any(|host| host.has_source) {
        let how = &["with torch.profiler.profile(with_stack=True) as prof:"];
        missing("no_python_calls", "Python calls", "the trace was recorded without stacks", how);
    }
    let has_setting = |word: &str| hosts.iter().any(|host| host.about.iter().any(|(_, value)| value.contains(word)));
    if !has_setting("record_shapes") && !hosts.iter().any(|host| host.has_shapes) {
        let how = &["with torch.profiler.profile(record_shapes=True) as prof:"];
        missing("no_shapes", "FLOPs", "the shapes of inputs were not recorded", how);
    }
    let has_device = hosts.iter().flat_map(|host| &host.planes).any(|plane| is_accelerator(&plane.name));
    if !has_device {
        let how = &[
            "# if the machine has one: torch.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])",
        ];
        missing("no_device", "accelerator", "no kernel is in the trace", how);
    }
    all
}

/// The kind of trace, and what the file says of the recording.
pub fn recording(hosts: &[HostFacts]) -> Vec<Fact> {
    let mut facts = Vec::new();
    let Some(host) = hosts.first().filter(|host| host.recording.is_some()) else { return facts };
    let kind = host.recording.clone().unwrap_or_default();
    let ranks = if hosts.len() > 1 { format!("{} ranks, each {kind}", hosts.len()) } else { kind };
    let of_world = match (host.rank, host.world_size) {
        (Some(rank), Some(size)) if hosts.len() == 1 => format!(", rank {rank} of {size}"),
        (Some(rank), None) if hosts.len() == 1 => format!(", rank {rank}"),
        (_, Some(size)) if hosts.len() > 1 => format!(", of {size}"),
        _ => String::new(),
    };
    facts.push(Fact::new("trace", format!("{ranks}{of_world}")));
    for (name, value) in &host.about {
        facts.push(Fact { name: format!("  {name}"), value: value.clone() });
    }
    facts
}

/// The overlap of each GPU's work, and its collectives.
pub fn communication(hosts: &[HostFacts]) -> Vec<Fact> {
    let mut facts = Vec::new();
    let several = hosts.len() > 1;
    let text = |picos: i64| micros(picos).text(Unit::Micros);
    for host in hosts {
        for device in host.devices.iter().filter(|device| device.collectives > 0) {
            let on = if several { format!("{}{}", host.host, device.name) } else { device.name.clone() };
            let overlap = device.overlap().unwrap_or(0.0);
            let value = format!(
                "{on}: {} of collectives, {} of it not hidden behind compute ({overlap:.2}% overlap)",
                text(device.collectives),
                text(device.exposed)
            );
            facts.push(Fact::new("  communication", value));
        }
        for collective in host.collectives.iter().take(if several { 1 } else { ROWS }) {
            let on = if several { format!("{}: ", host.host) } else { String::new() };
            facts.push(Fact::new("  collective", format!("{on}{}", describe(collective))));
        }
    }
    facts
}

/// The ranks of a run beside each other.
pub fn ranks(hosts: &[HostFacts]) -> Vec<Fact> {
    let Some(run) = super::ranks::compare(hosts) else { return Vec::new() };
    let text = |picos: i64| micros(picos).text(Unit::Micros);
    let mut facts = Vec::new();
    for rank in run.ranks.iter().take(MOST_RANKS) {
        let value = format!(
            "{}: {} a step, of it {} compute, {} collectives not hidden",
            rank.host,
            text(rank.step),
            text(rank.compute),
            text(rank.exposed)
        );
        facts.push(Fact::new("  rank", value));
    }
    if run.ranks.len() > MOST_RANKS {
        facts.push(Fact::new("", format!("and {} more ranks", run.ranks.len() - MOST_RANKS)));
    }
    if run.common_steps > 0 {
        let (mean, most, steps) = (text(run.mean_skew), text(run.largest_skew), run.common_steps);
        let value =
            format!("{mean} between the longest and the shortest rank of a step, {most} at most ({steps} steps)");
        facts.push(Fact::new("  skew", value));
    }
    if let Some(slow) = &run.straggler {
        let (compute, extra) = (text(slow.compute), slow.extra_percent());
        let value = format!(
            "{} computes longest: {compute} a step, {extra:.2}% more than the median; longest in {} of {} steps",
            slow.host, slow.slowest_in, run.common_steps
        );
        facts.push(Fact::new("  slowest", value));
    }
    facts
}

fn describe(collective: &CollectiveFacts) -> String {
    let CollectiveFacts { name, dtype, in_elements, group_size, runs, time, .. } = collective;
    let time = micros(*time).text(Unit::Micros);
    let size = collective.bytes().map(|bytes| format!(", {} each", crate::units::text(Unit::Bytes, bytes)));
    let rate = collective.bandwidth().map(|rate| format!(", {rate:.2} GB/s"));
    let ranks = if *group_size > 0 { format!(" among {group_size} ranks") } else { String::new() };
    let (size, rate) = (size.unwrap_or_default(), rate.unwrap_or_default());
    format!("{name} of {in_elements} {dtype}{ranks}: {runs} runs, {time}{size}{rate}")
}
