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
    /// Sets an option by its name, without dashes. `output` takes a form that can be written, or the name of a file whose
    /// ending tells the form.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), Error> {
        if name == "output" {
            if let Some(output) = render::output_by_name(value)? {
                self.output = output;
                return Ok(());
            }
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

    #[test]
    fn a_file_name_tells_its_form() {
        let check = |name: &str, form: &str| {
            let mut options = Options::default();
            options.set("output", name).unwrap();
            assert_eq!((options.output.form.as_str(), options.output.outfile.as_str()), (form, name));
        };
        check("x.html", "html");
        check("dir.with.dots/X.HTM", "html");
        check("x.svg", "flamegraph");
        check("a,b.json", "json");
        check("x.trace.json", "timeline");
        check("x.speedscope.json", "speedscope");
        check("x.csv", "csv");
        check("x.pb.gz", "pprof");
        check("x.pb", "proto");
        check("./notes.txt", "file");
        check("C:\\x.md", "markdown");
        let error = |name: &str| Options::default().set("output", name).unwrap_err().to_string();
        assert!(error("x.docx").contains("the end of `x.docx` does not tell its form; expected one of .txt, "));
        assert!(error("dir/.json").contains("does not tell its form"));
        assert!(error("jsn:outfile=x.json").contains("did you mean `json`?"));
        let mut options = Options::default();
        options.set("output", "csv:outfile=x.html").unwrap();
        assert_eq!(options.output.form, "csv", "a form comes before the ending");
    }
}
