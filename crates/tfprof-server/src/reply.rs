//! Replies: an answer as JSON or bytes, or a problem with its sentence.

use serde_json::{Map, Value, json};
use std::time::Instant;
use tfprof::internal::budget::check;
use tfprof::internal::report::overview::Missing;
use tfprof::{Error, Spelling, Warning};

/// A JSON object of values that are moved into it: `json!` would copy them, which doubles a long list.
macro_rules! object {
    ($($key:literal: $value:expr),* $(,)?) => {
        serde_json::Value::Object(serde_json::Map::from_iter([
            $(($key.to_owned(), serde_json::Value::from($value))),*
        ]))
    };
}
pub(crate) use object;

/// An answer or a problem, ready to be sent.
#[derive(Clone, Debug)]
pub struct Reply {
    pub status: u16,
    pub body: Body,
    /// It exceeds the budget.
    pub(crate) is_limit: bool,
}

#[derive(Clone, Debug)]
pub enum Body {
    Json(Vec<u8>),
    /// Bytes that never change.
    Bytes(Vec<u8>),
}

/// Why there is no answer.
#[derive(Clone, Debug)]
pub struct Problem {
    status: u16,
    message: String,
    /// The parameter that is wrong.
    option: Option<String>,
    fix: Option<String>,
    missing: Option<Box<Missing>>,
    is_limit: bool,
}

impl Problem {
    fn new(status: u16, message: impl Into<String>) -> Problem {
        Problem { status, message: message.into(), option: None, fix: None, missing: None, is_limit: false }
    }

    /// The request itself is wrong.
    pub fn request(message: &str) -> Problem {
        Problem::new(400, message)
    }

    /// A parameter is wrong.
    pub fn parameter(name: &str, why: &str) -> Problem {
        Problem { option: Some(name.to_owned()), ..Problem::new(400, format!("`{name}` {why}")) }
    }

    /// There is no such thing.
    pub fn not_found(message: impl Into<String>) -> Problem {
        Problem::new(404, message)
    }

    /// The data cannot answer.
    pub fn no_data(message: impl Into<String>, missing: Option<Missing>) -> Problem {
        Problem { missing: missing.map(Box::new), ..Problem::new(422, message) }
    }

    /// The answer would take more than it may.
    pub fn is_limit(&self) -> bool {
        self.is_limit
    }

    pub fn message(&self) -> &str {
        &self.message
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Problem {
        let option = match error.cause() {
            Error::Option { name, .. } => Some(short_name(name).to_owned()),
            _ => None,
        };
        let status = if error.is_wrong_question() { 400 } else { 422 };
        let fix = error.fix().map(|fix| fix.text(Spelling::CommandLine));
        let is_limit = matches!(error.cause(), Error::Limit(_));
        Problem { option, fix, is_limit, ..Problem::new(status, error.to_string()) }
    }
}

/// The options that have shorter names in addresses.
pub const SHORT: &[(&str, &str)] = &[
    ("account", "account_type_regexes"),
    ("start", "start_name_regexes"),
    ("trim", "trim_name_regexes"),
    ("show", "show_name_regexes"),
    ("hide", "hide_name_regexes"),
    ("metric", "select"),
    ("sort", "order_by"),
];

fn short_name(option: &str) -> &str {
    SHORT.iter().find(|(_, long)| *long == option).map_or(option, |(short, _)| short)
}

/// The fields common to all answers.
#[derive(Debug)]
pub struct Frame {
    pub command: String,
    pub python: String,
    pub warnings: Vec<Warning>,
    pub left_out: Option<(u64, String)>,
    pub began: Instant,
}

impl Frame {
    pub fn new(command: String, python: String) -> Frame {
        Frame { command, python, warnings: Vec::new(), left_out: None, began: Instant::now() }
    }

    #[must_use]
    pub fn warn(mut self, warnings: &[Warning]) -> Frame {
        self.warnings.extend_from_slice(warnings);
        self
    }

    #[must_use]
    pub fn leaving_out(mut self, rows: u64, why: &str) -> Frame {
        self.left_out = (rows > 0).then(|| (rows, why.to_owned()));
        self
    }

    /// The answer: `own` must be an object.
    pub fn reply(self, own: Value) -> Reply {
        let mut object = match own {
            Value::Object(object) => object,
            other => Map::from_iter([("value".to_owned(), other)]),
        };
        let left_out = self.left_out.map(|(rows, why)| json!({ "rows": rows, "why": why }));
        let micros = self.began.elapsed().as_micros() as f64;
        object.insert("command".to_owned(), self.command.into());
        object.insert("python".to_owned(), self.python.into());
        object.insert("warnings".to_owned(), warnings(&self.warnings));
        object.insert("left_out".to_owned(), left_out.unwrap_or(Value::Null));
        object.insert("ms".to_owned(), (micros / 1000.0).into());
        check();
        let json = Value::Object(object).to_string().into_bytes();
        check();
        Reply { status: 200, body: Body::Json(json), is_limit: false }
    }
}

/// Warnings as the page shows them.
pub fn warnings(list: &[Warning]) -> Value {
    let one = |warning: &Warning| json!({ "code": warning.code, "message": warning.to_string() });
    list.iter().map(one).collect()
}

impl From<Problem> for Reply {
    fn from(problem: Problem) -> Reply {
        let Problem { status, message, option, fix, missing, is_limit } = problem;
        let error = json!({ "error": { "message": message, "option": option, "fix": fix, "missing": missing } });
        Reply { status, body: Body::Json(error.to_string().into_bytes()), is_limit }
    }
}
