//! Errors, warnings, and the places in files that they speak of.

use std::fmt;
use std::io;
use tfprof_proto::stream::Spot;

/// Why a question has no answer. Each message is one sentence that says what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The question itself is wrong: an unknown word, a bad pattern, a step that is not loaded.
    #[error("{0}")]
    Question(String),
    /// A file that could not be understood.
    #[error("{place}: {message}")]
    Input { place: Place, message: String },
    /// A file that could not be opened, read or written.
    #[error("{file}: {action}: {}", plain(source))]
    Io { file: String, action: &'static str, source: io::Error },
    /// The question is right, but what is loaded cannot answer it.
    #[error("{0}")]
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

/// A file, and where in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub file: String,
    pub spot: Option<Spot>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.spot {
            None => write!(f, "{}", self.file),
            Some(Spot::Byte(byte)) => write!(f, "{}: byte {byte}", self.file),
            Some(Spot::Line { line, column }) => write!(f, "{}:{line}:{column}", self.file),
        }
    }
}

/// Something that the user should know although there is an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// A stable word for programs, such as `truncated`.
    pub code: &'static str,
    pub place: Option<Place>,
    pub message: String,
    /// Part of an input was lost: the answer is about the rest.
    pub damage: bool,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(f, "{place}: {}", self.message),
            None => write!(f, "{}", self.message),
        }
    }
}
