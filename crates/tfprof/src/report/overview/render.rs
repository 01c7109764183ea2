//! An overview as text for one screen.

mod hosts;

pub use super::json::write_json;

use crate::metric::Unit;
use crate::render::theme::Theme;
use crate::report::overview::{MemoryPeak, Overview, Top};
use crate::units;
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
            write!(out, "  {}", ask(&next.words))?;
            theme.faint(out, format!("  # {}", next.about).as_bytes())?;
            out.write_all(b"\n")?;
        }
    }
    for missing in &overview.missing {
        out.write_all(b"\n")?;
        theme.strong(out, format!("no {}", missing.what).as_bytes())?;
        writeln!(out, ": {}; to record it:", missing.why)?;
        for line in missing.how {
            writeln!(out, "  {line}")?;
        }
    }
    Ok(())
}

fn write_facts(overview: &Overview, theme: &Theme, out: &mut dyn Write) -> io::Result<()> {
    for Fact { name, value } in facts(overview) {
        theme.strong(out, format!("{name:18}").as_bytes())?;
        writeln!(out, "{value}")?;
    }
    Ok(())
}

/// A line of the overview; the name of a detail is indented.
pub(super) struct Fact {
    pub name: String,
    pub value: String,
}

impl Fact {
    fn new(name: &str, value: String) -> Fact {
        Fact { name: name.to_owned(), value }
    }
}

/// The most important figures.
pub(super) fn facts(overview: &Overview) -> Vec<Fact> {
    let files: Vec<_> = overview.files.iter().map(|file| format!("{} ({})", file.kind, file.name)).collect();
    let mut facts = vec![Fact::new("files", files.join(", "))];
    facts.extend(hosts::facts(&overview.hosts, &overview.other_runs));
    let mut fact = |name: &str, value: String| facts.push(Fact::new(name, value));
    let plural = |n: usize, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
    let nodes = if overview.hosts.is_empty() { "graph" } else { "ops" };
    fact(nodes, format!("{}, {}", plural(overview.nodes, "node"), plural(overview.op_types, "op type")));
    if overview.parameters > 0 || (overview.steps.is_empty() && overview.hosts.is_empty()) {
        let all = units::text(Unit::Count, overview.parameters);
        let trainable = overview.trainable.map(|n| format!("{} trainable, ", units::text(Unit::Count, n)));
        fact("parameters", format!("{}{all} in all variables", trainable.unwrap_or_default()));
    }
    if overview.float_ops > 0 {
        fact("float operations", format!("{} a step", units::text(Unit::Count, overview.float_ops)));
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

fn write_top(overview: &Overview, top: &Top, theme: &Theme, out: &mut dyn Write) -> io::Result<()> {
    let info = overview.metric.info();
    out.write_all(b"\n")?;
    theme.strong(out, format!("{}\n", title(overview, top)).as_bytes())?;
    for (name, number) in &top.rows {
        let share = share(overview, *number);
        let text = units::text(info.unit, *number);
        out.write_all(b"  ")?;
        theme.begin_row(share, out)?;
        writeln!(out, "{text:>10} {:6.2}%  {name}", 100.0 * share)?;
    }
    Ok(())
}

pub(super) fn title(overview: &Overview, top: &Top) -> String {
    format!("{} by {}", top.title, overview.metric.info().legend.trim_start_matches("# "))
}

pub(super) fn share(overview: &Overview, number: i64) -> f64 {
    if overview.whole > 0 { number as f64 / overview.whole as f64 } else { 0.0 }
}
