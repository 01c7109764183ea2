//! Budgets: upper limits for a model, its runs, and parts of them, as TOML. A limit is a number, or a growth in percent:
//!
//! ```toml
//! max_params = 4_000_000
//! max_flops = 6e8
//! max_unknown_ops = 0
//! max_step_micros = "+2 %"
//!
//! [scope."block_1.*"]
//! max_flops = 50_000_000
//! [op."Conv2D.*"]
//! max_step_micros = "+5 %"
//! [line."train.py:.*"]
//! max_step_micros = 20_000
//! ```
//!
//! `cost` checks the limits that a model file can keep, `diff` all of them (`check.rs`).

pub mod check;
pub mod render;

pub use check::Checked;

use crate::error::{Error, Location};
use crate::metric::Metric;
use crate::view::filter::Patterns;
use crate::words;
use serde::{Serialize, Serializer};
use std::sync::Arc;
use tfprof_proto::stream::Spot;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

/// The keys of limits.
const LIMITS: [(&str, Metric); 7] = [
    ("max_params", Metric::Parameters),
    ("max_flops", Metric::FloatOps),
    ("max_macs", Metric::Macs),
    ("max_io_bytes", Metric::IoBytes),
    ("max_unknown_ops", Metric::UnknownOps),
    ("max_step_micros", Metric::Micros),
    ("max_peak_bytes", Metric::PeakBytes),
];

#[derive(Debug, Default)]
pub struct Budget {
    limits: Vec<Limit>,
}

#[derive(Debug)]
struct Limit {
    part: Option<Arc<Part>>,
    metric: Metric,
    most: Allowance,
}

/// The subject of a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum LimitTarget {
    /// Everything.
    #[default]
    Model,
    Scope,
    Op,
    Line,
}

impl LimitTarget {
    /// The table of its limits, and what it is called.
    const PARTS: [(&'static str, LimitTarget); 3] =
        [("scope", LimitTarget::Scope), ("op", LimitTarget::Op), ("line", LimitTarget::Line)];
}

/// The rows that a limit is about.
#[derive(Debug)]
struct Part {
    place: LimitTarget,
    text: String,
    patterns: Patterns,
}

/// The bound of a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Allowance {
    Number(i64),
    /// So many percent more than before.
    Growth(f64),
}

impl Allowance {
    /// The number that must not be exceeded; None if it needs one before, and there is none.
    fn number(self, before: Option<i64>) -> Option<i64> {
        match self {
            Allowance::Number(most) => Some(most),
            Allowance::Growth(percent) => Some((before? as f64 * (1.0 + percent / 100.0)).floor() as i64),
        }
    }
}

/// An exceeded limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Over {
    pub place: LimitTarget,
    /// The pattern of the scope, op or line; empty for the whole model.
    pub scope: String,
    #[serde(serialize_with = "metric_key")]
    pub metric: Metric,
    /// The number on the first side, if the limit is a growth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<i64>,
    pub found: i64,
    #[serde(rename = "limit")]
    pub most: i64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn metric_key<S: Serializer>(metric: &Metric, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(metric.info().key)
}

impl Budget {
    /// The limit that `--fail_on_unknown` sets.
    pub fn limit_unknown(&mut self) {
        self.limits.push(Limit { part: None, metric: Metric::UnknownOps, most: Allowance::Number(0) });
    }

    /// Reads a file. `file` is its name for messages.
    pub fn parse(file: &str, text: &str) -> Result<Budget, Error> {
        let file = BudgetFile { file, text };
        let table = DeTable::parse(text).map_err(|error| file.syntax_error(&error))?;
        let mut budget = Budget::default();
        for (key, value) in in_order(table.get_ref()) {
            let word = key.get_ref().as_ref();
            let place = LimitTarget::PARTS.iter().find(|(table, _)| *table == word).map(|(_, place)| *place);
            match (place, value.get_ref()) {
                (Some(place), DeValue::Table(parts)) => {
                    for (pattern, limits) in in_order(parts) {
                        let part = Part::new(place, pattern.get_ref())?;
                        let DeValue::Table(limits) = limits.get_ref() else {
                            let message = format!("expected limits below [{word}.\"PATTERN\"]");
                            return Err(file.error(pattern, message));
                        };
                        budget.add(&file, &in_order(limits), Some(&part))?;
                    }
                }
                (Some(place), DeValue::Array(parts)) => {
                    for part in parts {
                        budget.add_named(&file, place, word, part)?;
                    }
                }
                (_, DeValue::Table(_) | DeValue::Array(_)) => {
                    let expected = "expected [scope.\"PATTERN\"], [op.\"PATTERN\"] or [line.\"PATTERN\"]";
                    return Err(file.error(key, format!("unknown table `{word}`; {expected}")));
                }
                _ => budget.add(&file, &[(key, value)], None)?,
            }
        }
        Ok(budget)
    }

    /// Adds a `[[scope]]`, `[[op]]` or `[[line]]`, which names its pattern by a key.
    fn add_named(
        &mut self,
        file: &BudgetFile<'_>,
        place: LimitTarget,
        word: &str,
        part: &Spanned<DeValue<'_>>,
    ) -> Result<(), Error> {
        let fields = part.get_ref().as_table().map(in_order).unwrap_or_default();
        let is_name = |(key, _): &Entry<'_, '_>| matches!(key.get_ref().as_ref(), "name" | "pattern");
        let Some((_, name)) = fields.iter().find(|field| is_name(field)) else {
            let message = format!("this [[{word}]] has no name; add name = \"PATTERN\" below it");
            return Err(file.error(part, message));
        };
        let Some(pattern) = name.get_ref().as_str() else {
            return Err(file.error(name, "expected a pattern in quotes".to_owned()));
        };
        let limits: Vec<_> = fields.iter().filter(|field| !is_name(field)).copied().collect();
        self.add(file, &limits, Some(&Part::new(place, pattern)?))
    }

    fn add(&mut self, file: &BudgetFile<'_>, limits: &[Entry<'_, '_>], part: Option<&Arc<Part>>) -> Result<(), Error> {
        for (key, value) in limits {
            let name = key.get_ref().as_ref();
            let Some((_, metric)) = LIMITS.iter().find(|(limit, _)| *limit == name) else {
                let message = words::unknown("limit", name, &LIMITS.map(|(limit, _)| limit));
                return Err(file.error(key, message));
            };
            let most = match value.get_ref() {
                DeValue::String(text) => growth(text).map(Allowance::Growth),
                value => whole_number(value).map(Allowance::Number),
            };
            let Some(most) = most else {
                return Err(file.error(value, expected_number(&file.text[value.span()])));
            };
            self.limits.push(Limit { part: part.cloned(), metric: *metric, most });
        }
        Ok(())
    }
}

impl Part {
    fn new(place: LimitTarget, text: &str) -> Result<Arc<Part>, Error> {
        let text = text.to_owned();
        Ok(Arc::new(Part { place, patterns: Patterns::new("budget", std::slice::from_ref(&text))?, text }))
    }
}

impl Limit {
    fn place(&self) -> LimitTarget {
        self.part.as_ref().map_or(LimitTarget::Model, |part| part.place)
    }

    /// Its subject and key, for people.
    fn name(&self) -> String {
        let key = LIMITS.iter().find(|(_, metric)| *metric == self.metric).map_or("", |(key, _)| key);
        match &self.part {
            None => key.to_owned(),
            Some(part) => {
                let table =
                    LimitTarget::PARTS.iter().find(|(_, place)| *place == part.place).map_or("", |(table, _)| table);
                format!("{key} of {table} `{}`", part.text)
            }
        }
    }

    fn over(&self, before: Option<i64>, found: i64, most: i64) -> Over {
        let scope = self.part.as_ref().map_or_else(String::new, |part| part.text.clone());
        let before = before.filter(|_| matches!(self.most, Allowance::Growth(_)));
        Over { place: self.place(), scope, metric: self.metric, before, found, most }
    }
}

/// `+2 %`: how much more than before is allowed.
fn growth(text: &str) -> Option<f64> {
    let number = text.trim().strip_suffix('%')?.trim();
    let percent: f64 = number.strip_prefix('+').unwrap_or(number).parse().ok()?;
    (percent.is_finite() && percent > -100.0).then_some(percent)
}

type Entry<'t, 'i> = (&'t Spanned<DeString<'i>>, &'t Spanned<DeValue<'i>>);

/// The entries of a table in the order of the file.
fn in_order<'t, 'i>(table: &'t DeTable<'i>) -> Vec<Entry<'t, 'i>> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// A whole number that is not negative, also one such as `6e8`.
fn whole_number(value: &DeValue<'_>) -> Option<i64> {
    let number = match value {
        DeValue::Integer(n) => i64::from_str_radix(n.as_str(), n.radix()).ok(),
        DeValue::Float(n) => {
            n.as_str().parse::<f64>().ok().filter(|n| n.fract() == 0.0 && n.abs() < 9e18).map(|n| n as i64)
        }
        _ => None,
    };
    number.filter(|n| *n >= 0)
}

fn expected_number(found: &str) -> String {
    let found = if found.is_empty() { "nothing".to_owned() } else { format!("`{found}`") };
    format!("expected a whole number such as 4_000_000, or a growth such as \"+2 %\", found {found}")
}

/// A file, for messages.
struct BudgetFile<'a> {
    file: &'a str,
    text: &'a str,
}

impl BudgetFile<'_> {
    fn error<T>(&self, at: &Spanned<T>, message: String) -> Error {
        self.error_at(at.span().start, message)
    }

    fn error_at(&self, at: usize, message: String) -> Error {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line = before.matches('\n').count() as u64 + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() as u64 + 1;
        let spot = Some(Spot::Line { line, column });
        Error::Input { location: Location { file: self.file.to_owned(), spot }, message }
    }

    /// An error of the TOML parser, in terms of budgets where possible.
    fn syntax_error(&self, error: &toml::de::Error) -> Error {
        let at = error.span().map_or(0, |span| span.start);
        let line_start = self.text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |newline| newline + 1);
        let line = self.text.get(line_start..).and_then(|rest| rest.lines().next()).unwrap_or_default();
        let value = line.split_once('=').map(|(_, value)| value.split('#').next().unwrap_or_default());
        match value {
            Some(value) if !value.trim().starts_with(['"', '\'']) => {
                let start = line.find('=').map_or(0, |equals| equals + 1);
                let blanks = value.len() - value.trim_start().len();
                self.error_at(line_start + start + blanks, expected_number(value.trim()))
            }
            _ if error.message().contains("escape") => {
                self.error_at(at, "put a pattern with a backslash in single quotes".to_owned())
            }
            _ => self.error_at(at, error.message().to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::cost::{Cost, Figures, Scopes};

    fn cost() -> Cost {
        let mut scopes = Scopes::default();
        for (name, parent, float_ops) in [("_TFProfRoot", 0, 100), ("a", 0, 60), ("a/b", 1, 50), ("c", 0, 40)] {
            let at = scopes.push_named(parent, name);
            scopes.add(at, &Figures { parameters: 1, float_ops, ..Figures::default() });
        }
        Cost { figures: *scopes.total(0), scopes, ..Cost::default() }
    }

    fn over(text: &str) -> Vec<(String, i64, i64)> {
        let budget = Budget::parse("b.toml", text).unwrap();
        budget.check(&cost(), None).over.into_iter().map(|over| (over.scope, over.found, over.most)).collect()
    }

    #[test]
    fn limits_hold_for_the_whole_and_for_scopes() {
        assert_eq!(over("max_flops = 100 # all of it\nmax_params = 1"), []);
        assert_eq!(over("max_flops = 9_9\n"), [(String::new(), 100, 99)]);
        assert_eq!(over("[scope.\"a.*\"]\nmax_flops = 5e1"), [("a.*".to_owned(), 60, 50)]);
        assert_eq!(over("[scope.'c|\\w/b']\nmax_flops = 89"), [("c|\\w/b".to_owned(), 90, 89)]);
        assert_eq!(over("[[scope]]\nname = 'a/.*|c'\nmax_flops = 89"), [("a/.*|c".to_owned(), 90, 89)]);
    }

    #[test]
    fn errors_have_a_location() {
        let check = |text: &str, expect: &str| {
            let error = Budget::parse("b.toml", text).unwrap_err().to_string();
            assert!(error.starts_with(expect), "{error}");
        };
        check("\nmax_flop = 3", "b.toml:2:1: unknown limit `max_flop`; did you mean `max_flops`?");
        check(
            "max_flops = many",
            "b.toml:1:13: expected a whole number such as 4_000_000, or a growth such as \"+2 %\", found `many`",
        );
        check(
            "max_flops = # 3",
            "b.toml:1:13: expected a whole number such as 4_000_000, or a growth such as \"+2 %\", found nothing",
        );
        check(
            "max_flops = -3",
            "b.toml:1:13: expected a whole number such as 4_000_000, or a growth such as \"+2 %\", found `-3`",
        );
        check(
            "max_flops = 0.5",
            "b.toml:1:13: expected a whole number such as 4_000_000, or a growth such as \"+2 %\", found `0.5`",
        );
        check(
            "max_flops = 3 4",
            "b.toml:1:13: expected a whole number such as 4_000_000, or a growth such as \"+2 %\", found `3 4`",
        );
        check(
            "max_flops = 4.000.000",
            "b.toml:1:13: expected a whole number such as 4_000_000, or a growth such as \"+2 %\", found `4.000.000`",
        );
        check("max_flops 3", "b.toml:1:11: key with no value, expected `=`");
        check("[scop.a]", "b.toml:1:2: unknown table `scop`");
        check("[scope.\"a]", "b.toml:1:11: unclosed table, expected `]`");
        check("[scope.\"a\\.b\"]", "b.toml:1:11: put a pattern with a backslash in single quotes");
        check("max_flops = '2 more'", "b.toml:1:13: expected a whole number");
        check("[[scope]]\nmax_flops = 3", "b.toml:1:1: this [[scope]] has no name");
    }
}
