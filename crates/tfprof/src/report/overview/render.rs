//! An overview as text for one screen, and as JSON.

mod profiles;

use crate::json::{write_string, write_warning};
use crate::metric::Unit;
use crate::render::theme::Theme;
use crate::report::overview::{Overview, Top};
use crate::units;
use std::io::{self, Write};

/// Writes the overview. `ask` makes a line to type out of the words of a question.
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
        for (about, words) in &overview.deeper {
            write!(out, "  {}", ask(words))?;
            theme.faint(out, format!("  # {about}").as_bytes())?;
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
    for (name, value) in facts(overview) {
        theme.strong(out, format!("{name:18}").as_bytes())?;
        writeln!(out, "{value}")?;
    }
    Ok(())
}

/// The figures that people look for first, each with its name; those that belong to the one above are indented.
pub(crate) fn facts(overview: &Overview) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    let mut fact = |name: &str, value: String| facts.push((name.to_owned(), value));
    let files: Vec<_> = overview.files.iter().map(|(kind, name)| format!("{kind} ({name})")).collect();
    fact("files", files.join(", "));
    for (name, value) in profiles::facts(&overview.hosts, &overview.other_runs) {
        fact(&name, value);
    }
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
        for (device, micros) in overview.devices.iter().filter(|(_, micros)| *micros > 0).take(8) {
            fact("  on", format!("{device}  {}", time(*micros)));
        }
    }
    if let Some((device, bytes)) = &overview.memory_peak {
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

pub(crate) fn title(overview: &Overview, top: &Top) -> String {
    format!("{} by {}", top.title, overview.metric.info().legend.trim_start_matches("# "))
}

pub(crate) fn share(overview: &Overview, number: i64) -> f64 {
    if overview.whole > 0 { number as f64 / overview.whole as f64 } else { 0.0 }
}

/// Writes the overview in the shape of all JSON: the figures under `overview`, the largest rows as `rows`.
pub fn write_json(overview: &Overview, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"{\"version\":1,\"command\":\"info\",\"options\":{},\n\"warnings\":[")?;
    for (i, warning) in overview.warnings.iter().enumerate() {
        out.write_all(if i > 0 { b",\n" } else { b"\n" })?;
        write_warning(warning, out)?;
    }
    out.write_all(b"],\n\"overview\":{\"files\":[")?;
    for (i, (kind, name)) in overview.files.iter().enumerate() {
        out.write_all(if i > 0 { b",{\"kind\":" } else { b"{\"kind\":" })?;
        write_string(kind, out)?;
        out.write_all(b",\"name\":")?;
        write_string(name, out)?;
        out.write_all(b"}")?;
    }
    write!(out, "],\n\"nodes\":{},\"op_types\":{}", overview.nodes, overview.op_types)?;
    write!(out, ",\"params\":{},\"trainable_params\":", overview.parameters)?;
    match overview.trainable {
        Some(n) => write!(out, "{n}")?,
        None => out.write_all(b"null")?,
    }
    write!(out, ",\"float_ops\":{},\"micros\":{},\n\"steps\":[", overview.float_ops, overview.micros)?;
    for (i, step) in overview.steps.iter().enumerate() {
        let comma = if i > 0 { "," } else { "" };
        write!(out, "{comma}{{\"step\":{},\"micros\":{},\"span\":{}}}", step.step, step.micros, step.span)?;
    }
    out.write_all(b"],\n\"devices\":[")?;
    for (i, (device, micros)) in overview.devices.iter().enumerate() {
        out.write_all(if i > 0 { b",{\"name\":" } else { b"{\"name\":" })?;
        write_string(device, out)?;
        write!(out, ",\"micros\":{micros}}}")?;
    }
    out.write_all(b"],\n\"memory_peak\":")?;
    match &overview.memory_peak {
        None => out.write_all(b"null")?,
        Some((device, bytes)) => {
            out.write_all(b"{\"device\":")?;
            write_string(device, out)?;
            write!(out, ",\"bytes\":{bytes}}}")?;
        }
    }
    if !overview.hosts.is_empty() {
        profiles::write_json(&overview.hosts, &overview.other_runs, out)?;
    }
    out.write_all(b",\n\"missing\":[")?;
    for (i, missing) in overview.missing.iter().enumerate() {
        let comma = if i > 0 { "," } else { "" };
        write!(out, "{comma}{{\"code\":\"{}\",\"what\":\"{}\",\"why\":", missing.code, missing.what)?;
        write_string(&missing.why, out)?;
        out.write_all(b",\"how\":")?;
        write_string(&missing.how.join("\n"), out)?;
        out.write_all(b"}")?;
    }
    out.write_all(b"],\n\"deeper\":[")?;
    for (i, (_, words)) in overview.deeper.iter().enumerate() {
        out.write_all(if i > 0 { b"," } else { b"" })?;
        write_string(words, out)?;
    }
    let key = overview.metric.info().key;
    write!(out, "]}},\n\"columns\":[\"{key}\"],\n\"rows\":[")?;
    let mut id = 0;
    for top in &overview.top {
        let parent = id;
        out.write_all(if id > 0 { b",\n" } else { b"\n" })?;
        write!(out, "{{\"id\":{id},\"parent\":null,\"depth\":0,\"name\":\"{}\",\"self\":{{}}", top.view.word())?;
        write!(out, ",\"total\":{{\"{key}\":{}}}}}", overview.whole)?;
        id += 1;
        for (name, number) in &top.rows {
            write!(out, ",\n{{\"id\":{id},\"parent\":{parent},\"depth\":1,\"name\":")?;
            write_string(name, out)?;
            write!(out, ",\"self\":{{}},\"total\":{{\"{key}\":{number}}}}}")?;
            id += 1;
        }
    }
    out.write_all(b"]}\n")
}
