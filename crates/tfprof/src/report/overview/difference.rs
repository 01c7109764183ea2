//! Two overviews side by side.

use super::Overview;
use crate::error::{OneLine, Warning};
use crate::json::{push_string, write_warning};
use crate::metric::Unit;
use crate::render::fit;
use crate::render::markup::cell;
use crate::units;
use std::io::{self, Write};

/// A figure of both; None where a side does not know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    pub key: &'static str,
    pub name: String,
    pub unit: Unit,
    pub before: Option<i64>,
    pub after: Option<i64>,
}

impl Fact {
    pub fn difference(&self) -> Option<i64> {
        Some(self.after?.saturating_sub(self.before?))
    }

    pub fn percent(&self) -> Option<f64> {
        let before = self.before.filter(|before| *before != 0)?;
        Some(100.0 * self.difference()? as f64 / before as f64)
    }
}

/// The figures of two overviews.
pub fn facts(before: &Overview, after: &Overview) -> Vec<Fact> {
    let fact = |key, name: &str, unit, of: &dyn Fn(&Overview) -> Option<i64>| Fact {
        key,
        name: name.to_owned(),
        unit,
        before: of(before),
        after: of(after),
    };
    let some = |n: i64, is_known: bool| is_known.then_some(n);
    let ran = |overview: &Overview| !overview.steps.is_empty();
    let mut facts = vec![
        fact("nodes", "nodes", Unit::Count, &|side| Some(side.nodes as i64)),
        fact("op_types", "op types", Unit::Count, &|side| Some(side.op_types as i64)),
        fact("params", "parameters", Unit::Count, &|side| some(side.parameters, side.parameters > 0)),
        fact("trainable_params", "trainable parameters", Unit::Count, &|side| side.trainable),
        fact("float_ops", "FLOPs", Unit::Count, &|side| some(side.float_ops, side.float_ops > 0)),
        fact("steps", "steps", Unit::Count, &|side| Some(side.steps.len() as i64)),
        fact("micros", "time of all ops in a step", Unit::Micros, &|side| some(side.micros, ran(side))),
        fact("span_micros", "from the first start to the last end", Unit::Micros, &|side| {
            let spans: i128 = side.steps.iter().map(|step| i128::from(step.span)).sum();
            let count = side.steps.len() as i128;
            some((spans / count.max(1)) as i64, spans > 0)
        }),
        fact("peak_bytes", "most memory at one time", Unit::Bytes, &|side| Some(side.memory_peak.as_ref()?.bytes)),
    ];
    let mut devices: Vec<&str> =
        before.devices.iter().chain(&after.devices).map(|device| device.name.as_str()).collect();
    devices.sort_unstable();
    devices.dedup();
    for name in devices {
        facts.push(fact("device_micros", &format!("time on {name}"), Unit::Micros, &|side| {
            side.devices.iter().find(|device| device.name == name).map(|device| device.micros)
        }));
    }
    facts.retain(|fact| fact.before.is_some() || fact.after.is_some());
    facts
}

pub fn write_text(names: [&str; 2], facts: &[Fact], width: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "before  {}\nafter   {}\n", OneLine(names[0]), OneLine(names[1]))?;
    fit::write_table(&HEAD, &table(facts), |column| column > 0, width, out)
}

pub fn write_markdown(names: [&str; 2], facts: &[Fact], out: &mut dyn Write) -> io::Result<()> {
    let quiet = |name: &str| name.replace(['|', '`', '\n'], " ");
    writeln!(out, "**before**: `{}`  \n**after**: `{}`  \n", quiet(names[0]), quiet(names[1]))?;
    writeln!(out, "| {} |\n|---|---:|---:|---:|---:|", HEAD.join(" | "))?;
    table(facts)
        .iter()
        .try_for_each(|row| writeln!(out, "| {} |", row.iter().map(|text| cell(text)).collect::<Vec<_>>().join(" | ")))
}

pub fn write_json(names: [&str; 2], facts: &[Fact], warnings: &[Warning], out: &mut dyn Write) -> io::Result<()> {
    let mut text = b"{\"version\":2,\"command\":\"diff\",\"view\":\"info\",\"warnings\":[".to_vec();
    for (i, warning) in warnings.iter().enumerate() {
        text.extend_from_slice(if i > 0 { b",\n" } else { b"\n" });
        write_warning(warning, &mut text)?;
    }
    text.extend_from_slice(b"],\n");
    for (word, name) in ["before", "after"].into_iter().zip(names) {
        write!(text, "\"{word}\":{{\"name\":")?;
        push_string(name, &mut text);
        text.extend_from_slice(b"},\n");
    }
    text.extend_from_slice(b"\"rows\":[");
    let number = |n: Option<i64>| n.map_or_else(|| "null".to_owned(), |n| n.to_string());
    for (i, fact) in facts.iter().enumerate() {
        write!(text, "{}\n{{\"key\":\"{}\",\"name\":", if i > 0 { "," } else { "" }, fact.key)?;
        push_string(&fact.name, &mut text);
        let percent = fact.percent().map_or_else(|| "null".to_owned(), |percent| percent.to_string());
        let [before, after, difference] = [fact.before, fact.after, fact.difference()].map(number);
        write!(text, ",\"before\":{before},\"after\":{after},\"difference\":{difference},\"percent\":{percent}}}")?;
    }
    text.extend_from_slice(b"]}\n");
    out.write_all(&text)
}

const HEAD: [&str; 5] = ["", "before", "after", "change", "%"];

fn table(facts: &[Fact]) -> Vec<Vec<String>> {
    let number = |fact: &Fact, n: Option<i64>| n.map_or_else(|| "-".to_owned(), |n| units::text(fact.unit, n));
    let change = |fact: &Fact| {
        let Some(n) = fact.difference() else { return "-".to_owned() };
        let sign = ["-", "", "+"][(n.signum() + 1) as usize];
        format!("{sign}{}", units::text(fact.unit, n.saturating_abs()))
    };
    let percent = |fact: &Fact| fact.percent().map_or_else(|| "-".to_owned(), |percent| format!("{percent:+.1} %"));
    let row = |fact: &Fact| {
        vec![fact.name.clone(), number(fact, fact.before), number(fact, fact.after), change(fact), percent(fact)]
    };
    facts.iter().map(row).collect()
}
