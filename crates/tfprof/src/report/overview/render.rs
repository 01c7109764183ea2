//! An overview as text for one screen.

use crate::error::OneLine;
use crate::metric::Unit;
use crate::model::activity::StepParts;
use crate::model::allocators::AllocatorFacts;
use crate::model::hosts::{AllocatorPeak, EventKind, FactValue, HostFacts, LineFacts, StepRule, events};
use crate::render::fit;
use crate::render::theme::Theme;
use crate::report::overview::hosts::{self, Recording, micros};
pub use crate::report::overview::json::write_json;
use crate::report::overview::{MemoryPeak, Overview, TopRows, torch};
use crate::units;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Writes the overview. `ask` turns a question into a command to type.
pub fn write_text(
    overview: &Overview,
    theme: &Theme,
    ask: &dyn Fn(&str) -> String,
    out: &mut dyn Write,
) -> io::Result<()> {
    write_facts(overview, theme, out)?;
    for top in &overview.top {
        write_top(overview, top, theme, out)?;
    }
    if !overview.deeper.is_empty() {
        out.write_all(b"\n")?;
        theme.strong(out, b"to look deeper\n")?;
        for next in &overview.deeper {
            write!(out, "  {}", OneLine(&ask(&next.words)))?;
            theme.faint(out, format!("  # {}", next.about).as_bytes())?;
            out.write_all(b"\n")?;
        }
    }
    for missing in &overview.missing {
        out.write_all(b"\n")?;
        theme.strong(out, format!("no {}", missing.what).as_bytes())?;
        writeln!(out, ": {}; to record it:", OneLine(&missing.why))?;
        for line in &missing.how {
            writeln!(out, "  {line}")?;
        }
    }
    Ok(())
}

/// The columns that names of facts take, at least and at most.
const NAME_COLUMN: usize = 18;
const WIDEST_NAME_COLUMN: usize = 26;

fn write_facts(overview: &Overview, theme: &Theme, out: &mut dyn Write) -> io::Result<()> {
    let facts = facts(overview);
    let longest = facts.iter().map(|fact| fit::width(&fact.name) + 2).max().unwrap_or(0);
    let column = longest.clamp(NAME_COLUMN, WIDEST_NAME_COLUMN);
    for Fact { name, value } in facts {
        let name = OneLine(&name).to_string();
        let gap = column.saturating_sub(fit::width(&name)).max(1);
        theme.strong(out, format!("{name}{:gap$}", "").as_bytes())?;
        writeln!(out, "{}", OneLine(&value))?;
    }
    Ok(())
}

/// A line of the overview; the name of a detail is indented.
pub(super) struct Fact {
    pub name: String,
    pub value: String,
}

impl Fact {
    pub(super) fn new(name: &str, value: String) -> Fact {
        Fact { name: name.to_owned(), value }
    }
}

/// The most important figures.
pub(super) fn facts(overview: &Overview) -> Vec<Fact> {
    let files: Vec<_> = overview.files.iter().map(|file| format!("{} ({})", file.kind, file.name)).collect();
    let mut facts = vec![Fact::new("files", files.join(", "))];
    facts.extend(overview.stated.iter().map(|(topic, text)| Fact::new(topic, text.clone())));
    facts.extend(run_facts(overview));
    facts.extend(host_facts(&overview.hosts));
    let mut fact = |name: &str, value: String| facts.push(Fact::new(name, value));
    let plural = |n: usize, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
    let nodes = if overview.hosts.is_empty() { "graph" } else { "ops" };
    fact(nodes, format!("{}, {}", plural(overview.nodes, "node"), plural(overview.op_types, "op type")));
    if overview.parameters > 0 || (overview.steps.is_empty() && overview.hosts.is_empty()) {
        let all = units::text(Unit::Count, overview.parameters);
        let trainable = overview.trainable.map(|n| format!("{} trainable, ", units::text(Unit::Count, n)));
        let frozen = overview.warnings.iter().any(|warning| warning.code == "frozen");
        let frozen = if frozen { "; the graph is frozen: count its constants with --const_params" } else { "" };
        fact("parameters", format!("{}{all} in all variables{frozen}", trainable.unwrap_or_default()));
    }
    if overview.float_ops > 0 {
        let cover = overview.float_ops_cover.filter(|cover| *cover < 0.9995);
        let cover = cover.map(|cover| {
            format!(", of ops with {:.1}% of the device time; those of the others are unknown", 100.0 * cover)
        });
        fact("FLOPs", format!("{} a step{}", units::text(Unit::Count, overview.float_ops), cover.unwrap_or_default()));
    }
    let time = |micros| units::text(Unit::Micros, micros);
    if overview.micros > 0 {
        fact("time", format!("{} of ops a step, on average", time(overview.micros)));
        for step in overview.steps.iter().take(5) {
            fact(&format!("  step {}", step.step), format!("{} in {}", time(step.micros), time(step.span)));
        }
        if overview.steps.len() > 5 {
            fact("", format!("and {} more steps", overview.steps.len() - 5));
        }
        for device in overview.devices.iter().filter(|device| device.micros > 0).take(8) {
            fact("  on", format!("{}  {}", device.name, time(device.micros)));
        }
    }
    if let Some(MemoryPeak { device, bytes }) = &overview.memory_peak {
        fact("memory peak", format!("{} on {device}", units::text(Unit::Bytes, *bytes)));
    }
    facts
}

fn write_top(overview: &Overview, top: &TopRows, theme: &Theme, out: &mut dyn Write) -> io::Result<()> {
    let info = overview.metric.info();
    out.write_all(b"\n")?;
    theme.strong(out, format!("{}\n", title(overview, top)).as_bytes())?;
    for (name, number) in &top.rows {
        let (name, share) = (OneLine(name).to_string(), share(overview, *number));
        let text = units::text(info.unit, *number);
        out.write_all(b"  ")?;
        theme.begin_row(share, out)?;
        let numbers = format!("{text:>10} {:6.2}%  ", 100.0 * share);
        let taken = 2 + theme.margin() + fit::width(&numbers);
        let name = theme.width.map_or_else(|| name.clone(), |width| fit::middle(&name, width.saturating_sub(taken)));
        writeln!(out, "{numbers}{name}")?;
    }
    Ok(())
}

pub(super) fn title(overview: &Overview, top: &TopRows) -> String {
    format!("{} by {}", top.title, overview.metric.info().legend.trim_start_matches("# "))
}

pub(super) fn share(overview: &Overview, number: i64) -> f64 {
    if overview.whole > 0 { number as f64 / overview.whole as f64 } else { 0.0 }
}

fn time(picos: i64) -> String {
    micros(picos).text(Unit::Micros)
}

/// The maximum number of lines and steps listed.
const ROWS: usize = 5;

/// The lines in the order of the screen.
fn host_facts(hosts: &[HostFacts]) -> Vec<Fact> {
    let mut facts = Vec::new();
    if hosts.is_empty() {
        return facts;
    }
    let Recording { start, length } = Recording::of(hosts);
    let date = start.map(|start| format!(", recorded {}", hosts::date(start))).unwrap_or_default();
    facts.push(Fact::new("profile", format!("{}{date}, {} long", hosts::framework(hosts), time(length))));
    facts.extend(torch::recording(hosts));
    let kinds = EventKind::ALL.iter().map(|kind| (kind.word(), events(hosts, *kind)));
    let kinds = kinds.filter(|(_, events)| *events > 0).map(|(kind, events)| format!("{events} {kind}"));
    let kinds: Vec<_> = kinds.collect();
    facts.push(Fact::new("events", if kinds.is_empty() { "none".to_owned() } else { kinds.join(", ") }));
    let several = hosts.len() > 1;
    for host in hosts {
        let name = if several { format!("steps of {}", host.host) } else { "steps".to_owned() };
        facts.push(Fact { name, value: steps(host) });
        if !host.other_markers.is_empty() {
            facts.push(Fact::new("  other markers", host.other_markers.join(", ")));
        }
        facts.extend(step_parts(host));
        facts.extend(devices(host));
        facts.extend(duty_cycles(host));
    }
    facts.extend(torch::communication(hosts));
    facts.extend(torch::ranks(hosts));
    if several {
        facts.extend(by_host(hosts));
        facts.extend(slowest_steps(hosts));
    }
    facts.extend(busiest_lines(hosts));
    for host in hosts {
        if let Some(AllocatorPeak { allocator, bytes }) = &host.memory_peak {
            let bytes = units::text(Unit::Bytes, *bytes);
            let on = if several { format!(" on {}", host.host) } else { String::new() };
            facts.push(Fact::new("memory peak", format!("{bytes} of {allocator}{on}")));
        }
        facts.extend(allocators(host));
    }
    facts
}

/// The run that was read, if the log directory has several.
fn run_facts(overview: &Overview) -> Vec<Fact> {
    let Overview { run, other_runs, .. } = overview;
    if other_runs.is_empty() {
        return Vec::new();
    }
    let age = if other_runs.iter().all(|other| other < run) { ", the newest" } else { "" };
    vec![
        Fact::new("run", format!("{run}{age} of {}", 1 + other_runs.len())),
        Fact::new("other runs", other_runs.join(", ")),
    ]
}

fn sum(times: impl Iterator<Item = i64>) -> i64 {
    times.fold(0, i64::saturating_add)
}

fn steps(host: &HostFacts) -> String {
    let lengths = || host.steps.iter().map(|step| step.length);
    let (Some(least), Some(most)) = (lengths().min(), lengths().max()) else {
        return "none: no event has a start".to_owned();
    };
    let count = host.steps.len() as i64;
    let named = !host.marker.is_empty() && host.rule != StepRule::ProfilerSteps;
    let marker = if named { format!(" `{}`", host.marker) } else { String::new() };
    let inside = sum(host.step_ops.iter().map(|ops| ops.self_time));
    let all = inside.saturating_add(host.outside.self_time);
    let outside = if all > 0 { 100.0 * host.outside.self_time as f64 / all as f64 } else { 0.0 };
    let length = match count {
        1 => format!("{} long", time(least)),
        _ => format!("{} on average, {} to {}", time(sum(lengths()) / count), time(least), time(most)),
    };
    let (word, about) = (host.rule.word(), host.rule.about());
    format!("{count} by {word} ({about}{marker}); {length}; {outside:.2}% of op time lies in none")
}

/// The breakdown of the average step.
fn step_parts(host: &HostFacts) -> Option<Fact> {
    let mut all = StepParts::default();
    host.step_parts.iter().for_each(|parts| all.add(parts));
    let whole = sum(all.each().map(|(_, part)| part));
    let count = host.step_parts.len() as i64;
    let part = |(word, part): (&str, i64)| {
        format!("{} {word} ({:.2}%)", time(part / count), 100.0 * part as f64 / whole as f64)
    };
    (whole > 0).then(|| Fact::new("  of a step", all.each().map(part).collect::<Vec<_>>().join(", ")))
}

/// The utilization of the devices that have ops.
fn duty_cycles(host: &HostFacts) -> impl Iterator<Item = Fact> {
    let devices = host.devices.iter().filter(|device| device.name.starts_with("/device:"));
    devices.filter_map(|device| {
        let (duty, span) = (device.duty_cycle()?, time(device.span));
        Some(Fact::new(
            "  duty cycle",
            format!("{}: {duty:.2}% of {span}, from its first event to its last", device.name),
        ))
    })
}

/// The allocators with most memory in use.
fn allocators(host: &HostFacts) -> impl Iterator<Item = Fact> {
    let mut all: Vec<&AllocatorFacts> = host.allocators.iter().collect();
    all.sort_by_key(|allocator| Reverse(allocator.peak.in_use()));
    let bytes = |n: i64| units::text(Unit::Bytes, n);
    all.into_iter().take(ROWS).map(move |AllocatorFacts { name, peak, lifetime_peak, .. }| {
        let capacity = peak.capacity().map(|capacity| format!(" of {}", bytes(capacity))).unwrap_or_default();
        let stack =
            if peak.stack_bytes > 0 { format!(", {} of it stack", bytes(peak.stack_bytes)) } else { String::new() };
        let pieces = peak.fragmentation.map(|share| format!(", {:.2}% fragmented", 100.0 * share)).unwrap_or_default();
        let (most, at) = (bytes(peak.in_use()), time(peak.time));
        // Allocators leave the stack out of their own figure.
        let ever = if *lifetime_peak < peak.in_use() { "ever, without stack" } else { "ever" };
        let lifetime = bytes(*lifetime_peak);
        Fact::new("  allocator", format!("{name}: peak {most}{capacity}, at {at}{stack}{pieces}; {lifetime} {ever}"))
    })
}

/// Devices and their properties; equal ones share a line.
fn devices(host: &HostFacts) -> impl Iterator<Item = Fact> {
    let mut kinds: Vec<(String, Vec<&str>)> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for plane in host.planes.iter().filter(|plane| plane.name.starts_with("/device:") && !plane.stats.is_empty()) {
        let text = |(name, value): &(String, FactValue)| Some(format!("{name} {}", plain(value)?));
        let stats = plane.stats.iter().filter_map(text).take(8).collect::<Vec<_>>().join(", ");
        let place = *places.entry(stats).or_insert_with_key(|stats| {
            kinds.push((stats.clone(), Vec::new()));
            kinds.len() - 1
        });
        kinds[place].1.push(&plane.name);
    }
    kinds.into_iter().map(|(stats, names)| {
        let others = match names.len() {
            1 => String::new(),
            n => format!(" and {} like it", n - 1),
        };
        Fact::new("  device", format!("{}{others}: {stats}", names[0]))
    })
}

fn plain(value: &FactValue) -> Option<String> {
    match value {
        FactValue::Int(n) => Some(n.to_string()),
        FactValue::Uint(n) => Some(n.to_string()),
        FactValue::Double(n) => Some(n.to_string()),
        FactValue::Text(text) => Some(text.clone()),
        FactValue::Other => None,
    }
}

/// Step and op times by host, the slowest first.
fn by_host(hosts: &[HostFacts]) -> impl Iterator<Item = Fact> {
    let total = |host: &HostFacts| sum(host.steps.iter().map(|step| step.length));
    let mut all: Vec<&HostFacts> = hosts.iter().collect();
    all.sort_by_key(|host| (Reverse(total(host)), host.host.as_str()));
    all.into_iter().map(move |host| {
        let (steps, ops) = (time(total(host)), time(sum(host.step_ops.iter().map(|ops| ops.self_time))));
        Fact::new("  host", format!("{}: {steps} of steps, {ops} of ops in them", host.host))
    })
}

/// The slowest steps of all hosts.
fn slowest_steps(hosts: &[HostFacts]) -> impl Iterator<Item = Fact> {
    let mut all = Vec::new();
    for host in hosts {
        all.extend(host.steps.iter().map(|step| (step, host.host.as_str())));
    }
    all.sort_by_key(|(step, host)| (Reverse(step.length), step.number, *host));
    let slowest = all.into_iter().take(ROWS);
    slowest.map(|(step, host)| Fact {
        name: format!("  step {}", step.number),
        value: format!("{} on {host}", time(step.length)),
    })
}

/// The busiest lines, with their idle time.
fn busiest_lines(hosts: &[HostFacts]) -> impl Iterator<Item = Fact> {
    let mut lines: Vec<(&str, &LineFacts)> = Vec::new();
    for host in hosts {
        lines.extend(host.lines.iter().filter(|line| line.first.is_some()).map(|line| (host.host.as_str(), line)));
    }
    lines.sort_by_key(|(_, line)| Reverse(line.busy));
    let several = hosts.len() > 1;
    lines.into_iter().take(ROWS).map(move |(host, line)| {
        let span = line.last.unwrap_or(0).saturating_sub(line.first.unwrap_or(0));
        let name = if line.display_name.is_empty() { &line.name } else { &line.display_name };
        // The part after the slash repeats the thread id.
        let name = name.split('/').next().filter(|name| !name.is_empty()).unwrap_or(name).trim_end();
        let idle = span.saturating_sub(line.busy).max(0);
        let on = if several { format!("/{host}") } else { String::new() };
        let (busy, idle, ops) = (time(line.busy), time(idle), time(line.op_self_time));
        Fact::new("  line", format!("{on}{} {name}: {busy} busy, {idle} idle, {ops} of it ops", line.plane))
    })
}
