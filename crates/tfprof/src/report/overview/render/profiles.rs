//! The part of an overview that only profiles of hosts have: recording, steps by host, lines, kinds of events.

use crate::json::write_string;
use crate::metric::Unit;
use crate::model::TimeUnit;
use crate::model::hosts::{AllocatorPeak, EventKind, FactValue, HostFacts, SpanSums, StepSpan};
use crate::report::overview::profiles;
use crate::units::Amount;
use std::io::{self, Write};

fn micros(n: i64) -> Amount {
    Amount { n, parts: TimeUnit::Picos.per_micro() }
}

fn time(n: i64) -> String {
    micros(n).text(Unit::Micros)
}

/// How many rows of a kind are shown on a screen.
const ROWS: usize = 5;

/// Facts in the order of the screen: a name and what there is to say.
pub fn facts(hosts: &[HostFacts], other_runs: &[String]) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    if hosts.is_empty() {
        return facts;
    }
    let (start, length) = profiles::recorded(hosts);
    let date = start.map(|start| format!(", recorded {}", profiles::date(start))).unwrap_or_default();
    facts.push(("profile".to_owned(), format!("{}{date}, {} long", profiles::framework(hosts), time(length))));
    let kinds: Vec<_> = EventKind::ALL
        .iter()
        .map(|kind| (kind, hosts.iter().fold(0_i64, |sum, host| sum.saturating_add(host.kinds[*kind as usize].runs))))
        .filter(|(_, events)| *events > 0)
        .map(|(kind, events)| format!("{events} {}", kind.word()))
        .collect();
    facts.push(("events".to_owned(), kinds.join(", ")));
    let several = hosts.len() > 1;
    for host in hosts {
        let name = if several { format!("steps of {}", host.host) } else { "steps".to_owned() };
        facts.push((name, steps(host)));
        if !host.other_markers.is_empty() {
            facts.push(("  other markers".to_owned(), host.other_markers.join(", ")));
        }
        facts.extend(devices(host));
    }
    if several {
        facts.extend(by_host(hosts));
        facts.extend(slowest(hosts));
    }
    facts.extend(lines(hosts));
    for host in hosts {
        if let Some(AllocatorPeak { allocator, bytes }) = &host.memory_peak {
            let bytes = crate::units::text(Unit::Bytes, *bytes);
            let on = if several { format!(" on {}", host.host) } else { String::new() };
            facts.push(("memory peak".to_owned(), format!("{bytes} of {allocator}{on}")));
        }
    }
    if !other_runs.is_empty() {
        facts.push(("other runs".to_owned(), format!("{} (-run NAME)", other_runs.join(", "))));
    }
    facts
}

fn steps(host: &HostFacts) -> String {
    let lengths = || host.steps.iter().map(|step| step.end.saturating_sub(step.start));
    let (Some(least), Some(most)) = (lengths().min(), lengths().max()) else {
        return "none: no event has a start".to_owned();
    };
    let count = host.steps.len() as i64;
    let sum = lengths().fold(0_i64, i64::saturating_add);
    let marker = if host.marker.is_empty() { String::new() } else { format!(" `{}`", host.marker) };
    let inside = host.step_ops.iter().fold(0_i64, |sum, step| sum.saturating_add(step.self_time));
    let all = inside.saturating_add(host.outside.self_time);
    let outside = if all > 0 { 100.0 * host.outside.self_time as f64 / all as f64 } else { 0.0 };
    format!(
        "{count} by {} ({}{marker}); {} on average, {} to {}; {outside:.2}% of op time lies in none",
        host.rule.word(),
        host.rule.about(),
        time(sum / count),
        time(least),
        time(most)
    )
}

/// Devices with what they can do.
fn devices(host: &HostFacts) -> Vec<(String, String)> {
    let devices = host.planes.iter().filter(|plane| plane.name.starts_with("/device:") && !plane.stats.is_empty());
    let about = |stats: &[(String, FactValue)]| {
        let known = stats.iter().filter_map(|(name, value)| Some(format!("{name} {}", plain(value)?)));
        known.take(8).collect::<Vec<_>>().join(", ")
    };
    devices.map(|plane| ("  device".to_owned(), format!("{}: {}", plane.name, about(&plane.stats)))).collect()
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

/// How long each host took for its steps, the slowest first.
fn by_host(hosts: &[HostFacts]) -> Vec<(String, String)> {
    let sum = |times: &mut dyn Iterator<Item = i64>| times.fold(0_i64, i64::saturating_add);
    let mut all: Vec<_> = hosts
        .iter()
        .map(|host| {
            let steps = sum(&mut host.steps.iter().map(|step| step.end.saturating_sub(step.start)));
            (steps, sum(&mut host.step_ops.iter().map(|step| step.self_time)), host.host.as_str())
        })
        .collect();
    all.sort_by(|a, b| b.0.cmp(&a.0).then(a.2.cmp(b.2)));
    let text = |steps, ops, host| format!("{host}: {} of steps, {} of ops in them", time(steps), time(ops));
    all.into_iter().map(|(steps, ops, host)| ("  host".to_owned(), text(steps, ops, host))).collect()
}

/// The slowest steps of all hosts, and how long each host took for them.
fn slowest(hosts: &[HostFacts]) -> Vec<(String, String)> {
    let mut all: Vec<(i64, i64, &str)> = Vec::new();
    for host in hosts {
        let length = |step: &StepSpan| step.end.saturating_sub(step.start);
        all.extend(host.steps.iter().map(|step| (length(step), step.number, host.host.as_str())));
    }
    all.sort_by(|a, b| b.0.cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    let slow = all.into_iter().take(ROWS);
    slow.map(|(length, step, host)| (format!("  step {step}"), format!("{} on {host}", time(length)))).collect()
}

/// The busiest lines: how long something ran in them, and how long nothing did.
fn lines<'h>(hosts: &'h [HostFacts]) -> Vec<(String, String)> {
    let of_host = |host: &'h HostFacts| host.lines.iter().map(move |line| (host.host.as_str(), line));
    let mut lines: Vec<_> = hosts.iter().flat_map(of_host).filter(|(_, line)| line.first.is_some()).collect();
    lines.sort_by_key(|(_, line)| std::cmp::Reverse(line.busy));
    let shown = lines.into_iter().take(ROWS).map(|(host, line)| {
        let span = line.last.unwrap_or(0).saturating_sub(line.first.unwrap_or(0));
        let name = if line.display_name.is_empty() { &line.name } else { &line.display_name };
        // What stands behind the slash repeats the number of the thread.
        let name = name.split('/').next().filter(|name| !name.is_empty()).unwrap_or(name);
        let idle = span.saturating_sub(line.busy).max(0);
        let on = if hosts.len() > 1 { format!("/{host}") } else { String::new() };
        let text = format!(
            "{on}{} {name}: {} busy, {} idle, {} of it ops",
            line.plane,
            time(line.busy),
            time(idle),
            time(line.op_self_time)
        );
        ("  line".to_owned(), text)
    });
    shown.collect()
}

/// The same and more for programs: keys of the overview's object, each with a comma before it.
pub fn write_json(hosts: &[HostFacts], other_runs: &[String], out: &mut dyn Write) -> io::Result<()> {
    let (start, length) = profiles::recorded(hosts);
    out.write_all(b",\n\"framework\":")?;
    write_string(&profiles::framework(hosts), out)?;
    write!(out, ",\"recorded\":")?;
    match start {
        Some(start) => write_string(&profiles::date(start), out)?,
        None => out.write_all(b"null")?,
    }
    write!(out, ",\"length_micros\":{},\"other_runs\":", micros(length))?;
    list(other_runs.iter(), out, |run, out| write_string(run, out))?;
    out.write_all(b",\n\"hosts\":")?;
    list(hosts.iter(), out, |host, out| write_host(host, out))
}

fn write_host(host: &HostFacts, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"\n{\"host\":")?;
    write_string(&host.host, out)?;
    out.write_all(b",\"file\":")?;
    write_string(&host.file, out)?;
    for (key, texts) in [("errors", &host.errors), ("warnings", &host.profiler_warnings)] {
        write!(out, ",\"{key}\":")?;
        list(texts.iter(), out, |text, out| write_string(text, out))?;
    }
    for (key, time) in [("profile_start_time", host.start_time), ("profile_stop_time", host.stop_time)] {
        match time {
            Some(n) => write!(out, ",\"{key}\":{n}")?,
            None => write!(out, ",\"{key}\":null")?,
        }
    }
    write!(out, ",\"smallest_line_timestamp_ns\":{},\"programs\":{},\n\"planes\":", host.base, host.programs)?;
    list(host.planes.iter(), out, |plane, out| {
        out.write_all(b"{\"name\":")?;
        write_string(&plane.name, out)?;
        write!(out, ",\"lines\":{},\"events\":{}}}", plane.lines, plane.events)
    })?;
    out.write_all(b",\n\"lines\":")?;
    list(host.lines.iter(), out, |line, out| {
        out.write_all(b"{\"plane\":")?;
        write_string(&line.plane, out)?;
        write!(out, ",\"id\":{},\"name\":", line.id)?;
        write_string(&line.name, out)?;
        out.write_all(b",\"display_name\":")?;
        write_string(&line.display_name, out)?;
        write!(out, ",\"events\":{},\"aggregated\":{}", line.events, line.aggregated)?;
        for (key, at) in [("first_micros", line.first), ("last_micros", line.last)] {
            match at {
                Some(at) => write!(out, ",\"{key}\":{}", micros(at))?,
                None => write!(out, ",\"{key}\":null")?,
            }
        }
        let (busy, ops) = (micros(line.busy), micros(line.op_self_time));
        write!(out, ",\"busy_micros\":{busy},\"op_micros\":{ops},\"deepest\":{}}}", line.deepest)
    })?;
    out.write_all(b",\n\"kinds\":{")?;
    let met = EventKind::ALL.iter().filter(|kind| host.kinds[**kind as usize] != SpanSums::default());
    for (i, kind) in met.enumerate() {
        let sums = &host.kinds[*kind as usize];
        let comma = if i > 0 { "," } else { "" };
        write!(out, "{comma}\"{}\":{{\"events\":{},", kind.word(), sums.runs)?;
        write!(out, "\"inclusive_micros\":{},\"micros\":{}}}", micros(sums.total), micros(sums.self_time))?;
    }
    let assigned = host.assigned;
    write!(out, "}},\n\"step_rule\":\"{}\",\"step_marker\":", host.rule.word())?;
    write_string(&host.marker, out)?;
    out.write_all(b",\"other_markers\":")?;
    list(host.other_markers.iter(), out, |name, out| write_string(name, out))?;
    write!(
        out,
        ",\"assigned_by\":{{\"line\":{},\"steps_line\":{},\"launch\":{},\"time\":{},\"outside\":{}}}",
        assigned.line, assigned.steps_line, assigned.launch, assigned.time, assigned.outside
    )?;
    out.write_all(b",\n\"steps\":")?;
    list(host.steps.iter().zip(&host.step_ops), out, |(step, ops), out| {
        let (start, length) = (micros(step.start), micros(step.end.saturating_sub(step.start)));
        write!(out, "{{\"step\":{},\"start_micros\":{start},\"length_micros\":{length},", step.number)?;
        write!(out, "\"op_events\":{},\"op_micros\":{}}}", ops.runs, micros(ops.self_time))
    })?;
    let outside = &host.outside;
    write!(out, ",\"outside\":{{\"op_events\":{},\"op_micros\":{}}}}}", outside.runs, micros(outside.self_time))
}

fn list<T>(
    items: impl Iterator<Item = T>,
    out: &mut dyn Write,
    mut each: impl FnMut(T, &mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    out.write_all(b"[")?;
    for (i, item) in items.enumerate() {
        out.write_all(if i > 0 { b"," } else { b"" })?;
        each(item, out)?;
    }
    out.write_all(b"]")
}
