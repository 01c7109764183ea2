//! Errors, warnings, the locations in files that they point to, and the options that fix them.
//!
//! An error names options as data, so that each caller can spell them its way: see [`Spelling`].

use crate::options::OPTIONS;
use crate::words::is_deceptive;
use std::borrow::Cow;
use std::fmt;
use std::io;
use tfprof_proto::stream::Spot;

/// Why a question has no answer. Each message is one sentence that says what to do.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The question itself is wrong: an unknown word, a bad pattern, a step that is not loaded.
    Question(String),
    /// The value of an option is wrong. `value` is empty unless the message needs it.
    Option { name: String, value: String, why: String },
    /// A file that could not be understood.
    Input { location: Location, message: String },
    /// A file that could not be opened, read or written.
    Io { file: String, action: &'static str, source: io::Error },
    /// The question is right, but the loaded files cannot answer it.
    Missing(String),
    /// The answer costs more than its files may; see [`Limits`](crate::Limits).
    Limit(String),
    /// Another error, and the option that fixes it.
    Fixable { error: Box<Error>, fix: Fix },
}

impl Error {
    /// The error for a wrong value of an option.
    pub fn option(name: &str, why: impl Into<String>) -> Error {
        Error::Option { name: name.to_owned(), value: String::new(), why: why.into() }
    }

    /// Adds the option that fixes the error.
    #[must_use]
    pub fn with_fix(self, fix: Fix) -> Error {
        Error::Fixable { error: Box::new(self), fix }
    }

    /// Says which of several inputs it is about, unless it names a file or an option.
    #[must_use]
    pub fn of_side(self, name: &str) -> Error {
        match self {
            Error::Missing(message) => Error::Missing(format!("{name}: {message}")),
            Error::Fixable { error, fix } => Error::Fixable { error: Box::new(error.of_side(name)), fix },
            error => error,
        }
    }

    /// The error without its fix.
    pub fn cause(&self) -> &Error {
        match self {
            Error::Fixable { error, .. } => error.cause(),
            error => error,
        }
    }

    /// The option that fixes the error.
    pub fn fix(&self) -> Option<&Fix> {
        match self {
            Error::Fixable { fix, .. } => Some(fix),
            _ => None,
        }
    }

    /// Whether the question is wrong, whatever the files hold.
    pub fn is_wrong_question(&self) -> bool {
        matches!(self.cause(), Error::Question(_) | Error::Option { .. })
    }

    /// The message, with options spelled as the user writes them.
    pub fn text(&self, spelling: Spelling) -> String {
        match self {
            Error::Question(message) | Error::Missing(message) | Error::Limit(message) => OneLine(message).to_string(),
            Error::Option { name, value, why } => {
                // An unknown word is named before the option: that is what a user looks for.
                let unknown = why.strip_prefix("unknown ").and_then(|rest| rest.split_once("; "));
                let option = spelling.option(name, value);
                let text = match unknown {
                    Some((what, rest)) => format!("unknown {what} in {option}; {rest}"),
                    None => format!("{option}: {why}"),
                };
                OneLine(&text).to_string()
            }
            Error::Input { location, message } => format!("{location}: {}", OneLine(message)),
            Error::Io { file, action, source } => {
                // Limits are options of the command alone.
                let limit = source.get_ref().and_then(|error| error.downcast_ref::<LimitReached>());
                let fix = limit.filter(|_| spelling == Spelling::CommandLine).map(|limit| limit.fix.text(spelling));
                let fix = fix.map(|fix| format!("; {fix}")).unwrap_or_default();
                format!("{}: {action}: {}{fix}", OneLine(file), plain(source))
            }
            // Limits are options of the command alone.
            Error::Fixable { error, .. } if matches!(**error, Error::Limit(_)) && spelling == Spelling::Python => {
                error.text(spelling)
            }
            Error::Fixable { error, fix } => format!("{}; {}", error.text(spelling), fix.text(spelling)),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(Spelling::CommandLine))
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self.cause() {
            Error::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// The way to fix an error or a warning: what to do, and the option to do it with.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Fix {
    /// As in `try` or `choose one with`; the option follows.
    pub action: &'static str,
    /// The options, one of which is enough.
    pub options: Vec<FixOption>,
}

/// An option, and the value to give it if that is known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct FixOption {
    pub name: &'static str,
    pub value: Cow<'static, str>,
}

impl Fix {
    pub fn new(action: &'static str, name: &'static str) -> Fix {
        Fix::with_value(action, name, "")
    }

    pub fn with_value(action: &'static str, name: &'static str, value: impl Into<Cow<'static, str>>) -> Fix {
        Fix { action, options: vec![FixOption { name, value: value.into() }] }
    }

    /// One of several options fixes the error.
    pub fn any(action: &'static str, names: impl IntoIterator<Item = &'static str>) -> Fix {
        Fix { action, options: names.into_iter().map(|name| FixOption { name, value: "".into() }).collect() }
    }

    /// `try -select micros`, or `try select='micros'` in Python.
    pub fn text(&self, spelling: Spelling) -> String {
        let options: Vec<_> = self.options.iter().map(|option| spelling.suggestion(option)).collect();
        match options.split_last() {
            Some((last, [])) => format!("{} {last}", self.action),
            Some((last, others)) => format!("{} {} or {last}", self.action, others.join(", ")),
            None => self.action.to_owned(),
        }
    }
}

/// The cause of an I/O error: reading stopped at a limit, which an option of the command changes.
#[derive(Debug)]
pub(crate) struct LimitReached {
    pub message: String,
    pub fix: Fix,
}

impl fmt::Display for LimitReached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for LimitReached {}

/// How a user writes options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Spelling {
    /// `-step 3`, `--graph_path=FILE`.
    CommandLine,
    /// `step=3`; files are arguments of `tfprof.open`.
    Python,
}

impl Spelling {
    /// An option that an error is about.
    fn option(self, name: &str, value: &str) -> String {
        let dash = if self == Spelling::CommandLine { "-" } else { "" };
        // Python takes all inputs at once.
        let name = if self == Spelling::Python && name == "input" { "inputs" } else { name };
        if value.is_empty() { format!("{dash}{name}") } else { format!("{dash}{name} {value}") }
    }

    /// An option to use.
    fn suggestion(self, option: &FixOption) -> String {
        let FixOption { name, value } = option;
        let is_view_option = OPTIONS.iter().any(|option| option.name == *name);
        match self {
            Spelling::CommandLine if is_view_option => self.option(name, value),
            Spelling::CommandLine if value.is_empty() => format!("--{name}"),
            // `--input=image=1x3` is read the same way, but not by people.
            Spelling::CommandLine if value.contains('=') => format!("--{name} {value}"),
            Spelling::CommandLine => format!("--{name}={value}"),
            Spelling::Python if *name == "input" => python_input(value),
            Spelling::Python => match (name.strip_suffix("_path").unwrap_or(name), &**value) {
                ("graph" | "xspace", _) => "path_or_graph".to_owned(),
                (name, "") => name.to_owned(),
                ("trip_count", entry) => match entry.rsplit_once('=') {
                    Some((key, value)) => format!("{name}s={{'{key}': {value}}}"),
                    None => format!("{name}s"),
                },
                (name, value) if value == "N" || value.parse::<i64>().is_ok() => format!("{name}={value}"),
                (name, value) => format!("{name}='{value}'"),
            },
        }
    }
}

/// `image=1xHxWx3` as Python's `inputs={'image': [1, H, W, 3]}`.
fn python_input(value: &str) -> String {
    let (name, sizes) = value.rsplit_once('=').unwrap_or((value, ""));
    let sizes = if sizes == "scalar" { String::new() } else { sizes.replace('x', ", ") };
    format!("inputs={{'{name}': [{sizes}]}}")
}

/// Why something is refused, before it is known for which file or option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub why: String,
    pub fix: Option<Fix>,
}

impl Refusal {
    pub fn new(why: impl Into<String>, fix: Fix) -> Refusal {
        Refusal { why: why.into(), fix: Some(fix) }
    }

    /// The error that `make` builds of the message, with the fix.
    pub fn into_error(self, make: impl FnOnce(String) -> Error) -> Error {
        let error = make(self.why);
        match self.fix {
            Some(fix) => error.with_fix(fix),
            None => error,
        }
    }
}

impl From<String> for Refusal {
    fn from(why: String) -> Refusal {
        Refusal { why, fix: None }
    }
}

/// The system's words without the number that `io::Error` appends.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error ") {
        Some(at) => text[..at].to_lowercase(),
        None => text,
    }
}

/// A text without characters that end a line, move a cursor or change the direction of text: names from files stay in
/// their place in logs and tables.
pub(crate) struct OneLine<'a>(pub(crate) &'a str);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some(at) = rest.find(|c: char| c.is_control() || is_deceptive(c)) {
            let (before, character) = rest.split_at(at);
            let length = character.chars().next().map_or(0, char::len_utf8);
            write!(f, "{before}{}", character[..length].escape_default())?;
            rest = &character[length..];
        }
        f.write_str(rest)
    }
}

/// A file, and where in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Location {
    pub file: String,
    pub spot: Option<Spot>,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = OneLine(&self.file);
        match self.spot {
            None => write!(f, "{file}"),
            Some(Spot::Byte(byte)) => write!(f, "{file}: byte {byte}"),
            Some(Spot::Line { line, column }) => write!(f, "{file}:{line}:{column}"),
        }
    }
}

/// Something that the user should know although there is an answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Warning {
    /// A stable word for programs, such as `truncated`.
    pub code: &'static str,
    pub location: Option<Location>,
    pub message: String,
    /// Part of an input was lost: the answer is about the rest.
    pub damage: bool,
    /// The option that changes it.
    pub fix: Option<Fix>,
}

impl Warning {
    /// A warning that is about no file in particular.
    pub fn new(code: &'static str, message: impl Into<String>) -> Warning {
        Warning { code, location: None, message: message.into(), damage: false, fix: None }
    }

    /// Adds the file that it is about.
    #[must_use]
    pub fn at(self, location: Location) -> Warning {
        Warning { location: Some(location), ..self }
    }

    /// Says which of several inputs it is about, unless it names a file.
    #[must_use]
    pub fn of_side(&self, name: &str) -> Warning {
        let message = if self.location.is_some() { self.message.clone() } else { format!("{name}: {}", self.message) };
        Warning { message, ..self.clone() }
    }

    /// Adds that part of an input was lost.
    #[must_use]
    pub fn with_damage(self) -> Warning {
        Warning { damage: true, ..self }
    }

    /// Adds the option that changes it.
    #[must_use]
    pub fn with_fix(self, fix: Fix) -> Warning {
        Warning { fix: Some(fix), ..self }
    }

    /// The message and its fix, with options spelled as the user writes them; without the file.
    pub fn message(&self, spelling: Spelling) -> String {
        match &self.fix {
            Some(fix) => format!("{}; {}", self.message, fix.text(spelling)),
            None => self.message.clone(),
        }
    }

    /// The whole warning, with options spelled as the user writes them.
    pub fn text(&self, spelling: Spelling) -> String {
        let message = self.message(spelling);
        match &self.location {
            Some(location) => format!("{location}: {}", OneLine(&message)),
            None => OneLine(&message).to_string(),
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(Spelling::CommandLine))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_spelled_as_the_user_writes_them() {
        let check = |error: Error, command_line: &str, python: &str| {
            assert_eq!(error.to_string(), command_line);
            assert_eq!(error.text(Spelling::Python), python);
        };
        check(Error::option("step", "there is no step 7"), "-step: there is no step 7", "step: there is no step 7");
        check(Error::option("input", "there is none"), "-input: there is none", "inputs: there is none");
        check(
            Error::option("select", "unknown metric `micro`; did you mean `micros`?"),
            "unknown metric `micro` in -select; did you mean `micros`?",
            "unknown metric `micro` in select; did you mean `micros`?",
        );
        let none = || Error::Question("no metric is selected".to_owned());
        check(
            none().with_fix(Fix::with_value("try", "select", "micros")),
            "no metric is selected; try -select micros",
            "no metric is selected; try select='micros'",
        );
        check(
            none().with_fix(Fix::any("use", ["graph_path", "run_meta_path", "op_log_path"])),
            "no metric is selected; use --graph_path, --run_meta_path or --op_log_path",
            "no metric is selected; use path_or_graph, run_meta or op_log",
        );
        check(
            none().with_fix(Fix::with_value("choose one with", "signature", "NAME")),
            "no metric is selected; choose one with --signature=NAME",
            "no metric is selected; choose one with signature='NAME'",
        );
        check(
            none().with_fix(Fix::with_value("say", "input", "image=1xHxWx3".to_owned())),
            "no metric is selected; say --input image=1xHxWx3",
            "no metric is selected; say inputs={'image': [1, H, W, 3]}",
        );
        check(
            none().with_fix(Fix::with_value("say", "input", "keep_prob=scalar")),
            "no metric is selected; say --input keep_prob=scalar",
            "no metric is selected; say inputs={'keep_prob': []}",
        );
        assert!(none().with_fix(Fix::new("use", "step")).is_wrong_question());
        let warning = Warning::new("trip_count", "it counts once");
        let warning = warning.with_fix(Fix::with_value("set it with", "trip_count", "loop=N"));
        assert_eq!(warning.to_string(), "it counts once; set it with --trip_count loop=N");
        assert_eq!(warning.text(Spelling::Python), "it counts once; set it with trip_counts={'loop': N}");
    }
}
