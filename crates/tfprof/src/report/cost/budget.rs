//! Budgets: the most that a model, or a part of it, may cost. A small part of TOML:
//!
//! ```toml
//! max_params = 4_000_000
//! max_flops = 6e8
//! max_unknown_ops = 0
//!
//! [scope."block_1.*"]
//! max_flops = 50_000_000
//! ```

use super::{Cost, Figures, get};
use crate::error::{Error, Location};
use crate::metric::Metric;
use crate::view::filter::Patterns;
use crate::words;
use tfprof_proto::stream::Spot;

/// What can be limited.
pub const LIMITS: [(&str, Metric); 5] = [
    ("max_params", Metric::Parameters),
    ("max_flops", Metric::FloatOps),
    ("max_macs", Metric::Macs),
    ("max_io_bytes", Metric::IoBytes),
    ("max_unknown_ops", Metric::UnknownOps),
];

#[derive(Debug, Default)]
pub struct Budget {
    limits: Vec<Limit>,
}

#[derive(Debug)]
struct Limit {
    /// None for the whole model.
    scope: Option<(String, Patterns)>,
    metric: Metric,
    most: i64,
}

/// A limit that is not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Over {
    /// The pattern of the scope; empty for the whole model.
    pub scope: String,
    pub metric: Metric,
    pub found: i64,
    pub most: i64,
}

impl Budget {
    /// The limit that `--fail_on_unknown` sets.
    pub fn limit_unknown(&mut self) {
        self.limits.push(Limit { scope: None, metric: Metric::UnknownOps, most: 0 });
    }

    /// Reads a file. `file` is its name for messages.
    pub fn parse(file: &str, text: &str) -> Result<Budget, Error> {
        let mut budget = Budget::default();
        let mut scope: Option<String> = None;
        // A `[[scope]]` is named by a key of its own.
        let mut unnamed: Option<usize> = None;
        for (at, line) in text.lines().enumerate() {
            let mut cursor = Cursor { file, line, number: at as u64 + 1, at: 0 };
            cursor.blanks();
            match cursor.peek() {
                None | Some('#') => continue,
                Some('[') => {
                    if let Some(header) = unnamed {
                        return Err(unnamed_scope(file, header));
                    }
                    (scope, unnamed) = cursor.header()?;
                }
                Some(_) => {
                    let start = cursor.at;
                    let key = cursor.word()?;
                    cursor.expect('=')?;
                    if unnamed.is_some() && matches!(key.as_str(), "name" | "pattern") {
                        scope = Some(cursor.text()?);
                        unnamed = None;
                    } else if let Some((_, metric)) = LIMITS.iter().find(|(name, _)| *name == key) {
                        if let Some(header) = unnamed {
                            return Err(unnamed_scope(file, header));
                        }
                        let most = cursor.integer()?;
                        let patterns = scope.as_ref().map(|name| {
                            let compiled = Patterns::new("budget", std::slice::from_ref(name));
                            compiled.map(|patterns| (name.clone(), patterns))
                        });
                        budget.limits.push(Limit { scope: patterns.transpose()?, metric: *metric, most });
                    } else {
                        cursor.at = start;
                        let known = LIMITS.map(|(name, _)| name);
                        return Err(cursor.error(words::unknown("limit", &key, &known)));
                    }
                }
            }
            cursor.end()?;
        }
        match unnamed {
            Some(header) => Err(unnamed_scope(file, header)),
            None => Ok(budget),
        }
    }

    /// What is over, in the order of the file.
    pub fn check(&self, cost: &Cost) -> Vec<Over> {
        let over = |limit: &Limit| {
            let found = match &limit.scope {
                None => cost.get(limit.metric),
                Some((_, patterns)) => get(&matching(cost, patterns), limit.metric),
            };
            (found > limit.most).then(|| Over {
                scope: limit.scope.as_ref().map_or_else(String::new, |(name, _)| name.clone()),
                metric: limit.metric,
                found,
                most: limit.most,
            })
        };
        self.limits.iter().filter_map(over).collect()
    }
}

fn unnamed_scope(file: &str, line: usize) -> Error {
    let location = Location { file: file.to_owned(), spot: Some(Spot::Line { line: line as u64, column: 1 }) };
    Error::Input { location, message: "this [[scope]] has no name; add name = \"PATTERN\" below it".to_owned() }
}

/// The sum of the scopes that match; what lies within one that matches is part of it.
fn matching(cost: &Cost, patterns: &Patterns) -> Figures {
    let mut inside = vec![false; cost.scopes.len()];
    let mut sum = Figures::default();
    for (at, scope) in cost.scopes.iter().enumerate().skip(1) {
        inside[at] = inside[scope.parent];
        if !inside[at] && patterns.matches(&scope.name) {
            inside[at] = true;
            super::add(&mut sum, &scope.total);
        }
    }
    sum
}

/// A place in a line.
struct Cursor<'a> {
    file: &'a str,
    line: &'a str,
    number: u64,
    at: usize,
}

impl Cursor<'_> {
    fn error(&self, message: String) -> Error {
        let column = self.line[..self.at].chars().count() as u64 + 1;
        let spot = Some(Spot::Line { line: self.number, column });
        Error::Input { location: Location { file: self.file.to_owned(), spot }, message }
    }

    fn peek(&self) -> Option<char> {
        self.line[self.at..].chars().next()
    }

    fn found(&self) -> String {
        self.peek().map_or_else(|| "the end of the line".to_owned(), |c| format!("`{c}`"))
    }

    fn blanks(&mut self) {
        self.at += self.line[self.at..].len() - self.line[self.at..].trim_start().len();
    }

    fn expect(&mut self, wanted: char) -> Result<(), Error> {
        self.blanks();
        if self.peek() != Some(wanted) {
            return Err(self.error(format!("expected `{wanted}`, found {}", self.found())));
        }
        self.at += wanted.len_utf8();
        self.blanks();
        Ok(())
    }

    /// A bare key, or a text in quotes.
    fn word(&mut self) -> Result<String, Error> {
        if matches!(self.peek(), Some('"' | '\'')) {
            return self.text();
        }
        let rest = &self.line[self.at..];
        let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-').unwrap_or(rest.len());
        if length == 0 {
            return Err(self.error(format!("expected a name, found {}", self.found())));
        }
        self.at += length;
        Ok(rest[..length].to_owned())
    }

    /// A text in quotes; within double ones a backslash keeps the quote or backslash behind it.
    fn text(&mut self) -> Result<String, Error> {
        let Some(quote @ ('"' | '\'')) = self.peek() else {
            return Err(self.error(format!("expected a text in quotes, found {}", self.found())));
        };
        let mut text = String::new();
        let mut chars = self.line[self.at + 1..].char_indices();
        while let Some((place, c)) = chars.next() {
            if c == quote {
                self.at += place + 2;
                return Ok(text);
            }
            if c == '\\' && quote == '"' {
                match chars.next() {
                    Some((_, c @ ('"' | '\\'))) => text.push(c),
                    // Patterns are full of backslashes; TOML knows few of them.
                    Some((_, c)) => text.extend(['\\', c]),
                    None => break,
                }
            } else {
                text.push(c);
            }
        }
        Err(self.error(format!("this text has no closing {quote}")))
    }

    fn integer(&mut self) -> Result<i64, Error> {
        let rest = &self.line[self.at..];
        let length = rest.find(|c: char| c.is_whitespace() || c == '#').unwrap_or(rest.len());
        let digits = rest[..length].replace('_', "");
        let whole = digits.parse::<i64>().ok();
        let rounded = || digits.parse::<f64>().ok().filter(|n| n.fract() == 0.0 && n.abs() < 9e18).map(|n| n as i64);
        let number = whole.or_else(rounded).filter(|n| *n >= 0);
        match number {
            Some(number) => {
                self.at += length;
                Ok(number)
            }
            None if length == 0 => Err(self.error(format!("expected a whole number, found {}", self.found()))),
            None => Err(self.error(format!("expected a whole number such as 4_000_000, found `{}`", &rest[..length]))),
        }
    }

    /// `[scope."PATTERN"]`, or `[[scope]]`, whose name follows: the line of the header is given.
    fn header(&mut self) -> Result<(Option<String>, Option<usize>), Error> {
        self.expect('[')?;
        let list = self.peek() == Some('[');
        if list {
            self.expect('[')?;
        }
        let start = self.at;
        let table = self.word()?;
        if table != "scope" {
            self.at = start;
            return Err(self.error(format!("unknown table `{table}`; expected [scope.\"PATTERN\"]")));
        }
        self.blanks();
        let name = if list {
            self.expect(']')?;
            None
        } else {
            self.expect('.')?;
            Some(self.word()?)
        };
        self.expect(']')?;
        Ok((name, list.then_some(self.number as usize)))
    }

    fn end(&mut self) -> Result<(), Error> {
        self.blanks();
        match self.peek() {
            None | Some('#') => Ok(()),
            Some(_) => Err(self.error(format!("expected the end of the line, found {}", self.found()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::cost::Scope;

    fn cost() -> Cost {
        let scope = |name: &str, parent, float_ops| Scope {
            name: name.to_owned(),
            parent,
            own: Figures::default(),
            total: [1, float_ops, 0, 0, 0],
        };
        let scopes = vec![scope("_TFProfRoot", 0, 100), scope("a", 0, 60), scope("a/b", 1, 50), scope("c", 0, 40)];
        Cost { figures: scopes[0].total, scopes, ..Cost::default() }
    }

    fn over(text: &str) -> Vec<(String, i64, i64)> {
        let budget = Budget::parse("b.toml", text).unwrap();
        budget.check(&cost()).into_iter().map(|over| (over.scope, over.found, over.most)).collect()
    }

    #[test]
    fn limits_hold_for_the_whole_and_for_scopes() {
        assert_eq!(over("max_flops = 100 # all of it\nmax_params = 1"), []);
        assert_eq!(over("max_flops = 9_9\n"), [(String::new(), 100, 99)]);
        assert_eq!(over("[scope.\"a.*\"]\nmax_flops = 5e1"), [("a.*".to_owned(), 60, 50)]);
        assert_eq!(over("[[scope]]\nname = 'a/.*|c'\nmax_flops = 89"), [("a/.*|c".to_owned(), 90, 89)]);
    }

    #[test]
    fn errors_have_a_location() {
        let check = |text: &str, expect: &str| {
            let error = Budget::parse("b.toml", text).unwrap_err().to_string();
            assert!(error.starts_with(expect), "{error}");
        };
        check("\nmax_flop = 3", "b.toml:2:1: unknown limit `max_flop`; did you mean `max_flops`?");
        check("max_flops = many", "b.toml:1:13: expected a whole number such as 4_000_000, found `many`");
        check("max_flops 3", "b.toml:1:11: expected `=`, found `3`");
        check("max_flops = 3 4", "b.toml:1:15: expected the end of the line, found `4`");
        check("[scop.a]", "b.toml:1:2: unknown table `scop`");
        check("[scope.\"a]", "b.toml:1:8: this text has no closing \"");
        check("[[scope]]\nmax_flops = 3", "b.toml:1:1: this [[scope]] has no name");
    }
}
