//! Errors, warnings, and the locations in files that they point to.

use std::fmt;
use std::io;
use tfprof_proto::stream::Spot;

/// Why a question has no answer. Each message is one sentence that says what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The question itself is wrong: an unknown word, a bad pattern, a step that is not loaded.
    #[error("{}", OneLine(.0))]
    Question(String),
    /// A file that could not be understood.
    #[error("{location}: {}", OneLine(message))]
    Input { location: Location, message: String },
    /// A file that could not be opened, read or written.
    #[error("{}: {action}: {}", OneLine(file), plain(source))]
    Io { file: String, action: &'static str, source: io::Error },
    /// The question is right, but what is loaded cannot answer it.
    #[error("{}", OneLine(.0))]
    Missing(String),
}

/// The system's words without the number that `io::Error` puts behind them.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error ") {
        Some(at) => text[..at].to_lowercase(),
        None => text,
    }
}

/// A text without control characters: names from files can neither end a line of a log nor begin one.
struct OneLine<'a>(&'a str);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some(at) = rest.find(char::is_control) {
            let (before, character) = rest.split_at(at);
            let length = character.chars().next().map_or(0, char::len_utf8);
            write!(f, "{before}{}", character[..length].escape_default())?;
            rest = &character[length..];
        }
        f.write_str(rest)
    }
}

/// A file, and where in it.
#[derive(Clone, Debug, PartialEq, Eq)]
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// A stable word for programs, such as `truncated`.
    pub code: &'static str,
    pub location: Option<Location>,
    pub message: String,
    /// Part of an input was lost: the answer is about the rest.
    pub damage: bool,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.location {
            Some(location) => write!(f, "{location}: {}", OneLine(&self.message)),
            None => write!(f, "{}", OneLine(&self.message)),
        }
    }
}
