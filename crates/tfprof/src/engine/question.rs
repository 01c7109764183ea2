//! A question to a view. It knows what it needs of the files; [`Profiler::ask`](super::profiler::Profiler::ask) answers
//! it.

use crate::error::Error;
use crate::options::{Options, Output, ViewKind};
use crate::render::{self, Form};

/// Which view, and with which options; these say where the answer goes, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub kind: ViewKind,
    pub options: Options,
}

impl Question {
    pub fn new(kind: ViewKind, options: &Options) -> Question {
        Question { kind, options: options.clone() }
    }

    /// The form of the answer.
    pub fn form(&self) -> Result<&'static Form, Error> {
        render::form(&self.options.output)
    }
}

impl Options {
    /// Sets an option by its name, without dashes. The form of `output` must be one that can be written.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), Error> {
        if name == "output" {
            render::form_of(Output::word_of(value))?;
        }
        self.apply(name, value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_form_is_refused() {
        let mut options = Options::default();
        let error = |options: &mut Options, value: &str| options.set("output", value).unwrap_err().to_string();
        assert!(
            error(&mut options, "paper").starts_with("unknown form `paper` in -output; expected one of stdout, file")
        );
        assert!(error(&mut options, "jsn:outfile=x").contains("did you mean `json`?"));
        assert!(error(&mut options, "json").contains("needs a file"));
        assert_eq!(options, Options::default());
        options.set("output", "json:outfile=x").unwrap();
        assert_eq!(Question::new(ViewKind::Op, &options).form().unwrap().word, "json");
    }
}
