//! Parses a command line, or a line of the shell, into a request.
//!
//! Every flag can be written `-x v`, `--x v` and `--x=v`; `-` and `_` are equal in its name. All flags are rows of tables:
//! the options of views in the library, the other flags in `table.rs`.

mod parser;
mod table;

pub use table::{FLAGS, Group, find, spellings};

use crate::commands::CommandInfo;
use crate::commands::demo::Sample;
use crate::shell::line;
use crate::terminal::Terminal;
use parser::{Origin, Parser};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use tfprof::internal::trace::TraceOptions;
use tfprof::{Comparing, Container, Error, Inputs, Options, Page, Theme};

/// A command with its flags and files.
#[derive(Debug)]
pub struct Request {
    pub command: &'static CommandInfo,
    pub options: Options,
    pub flags: Flags,
    /// Arguments that are not flags. Input files are in `flags.inputs` instead.
    pub paths: Vec<PathBuf>,
    /// The input files as typed, to suggest commands with.
    pub named: Vec<String>,
    /// The sample of `demo`; its files live as long as the request.
    pub sample: Option<Sample>,
    pub terminal: Terminal,
    /// The command as typed, which its page shows.
    pub typed: String,
    /// The commands whose pages are written beside this one's.
    pub pages: Vec<&'static str>,
}

impl Request {
    /// The style of text on the terminal.
    pub fn theme(&self) -> Theme {
        let theme = if self.terminal.colour { Theme::COLOUR } else { Theme::PLAIN };
        theme.fitting(self.terminal.width)
    }

    /// The heading, links and command around an answer as a page.
    pub fn page(&self) -> Container<'_> {
        Container::Page(Page::new(&self.typed, &self.pages))
    }
}

/// Everything but the options of views: inputs, and flags of single commands.
#[derive(Debug, Default)]
pub struct Flags {
    pub inputs: Inputs,
    pub strict: bool,
    /// State files of checkpoints may lead out of their directories.
    pub follow: bool,
    pub open: bool,
    pub trace: TraceOptions,
    /// Of a trace of PyTorch: which part of it to write.
    pub steps: String,
    pub min_dur: String,
    pub lanes: String,
    /// Checkers to run; empty means all.
    pub checkers: Vec<String>,
    /// For `cost`.
    pub budget: String,
    pub baseline: String,
    pub fail_on_unknown: bool,
    /// For `whatif`: sizes of the batch, and the precision.
    pub batches: Vec<i64>,
    pub dtype: String,
    /// For `peak`.
    pub threads: Option<usize>,
    pub no_save: bool,
    /// For `diff`.
    pub comparing: Comparing,
    pub save: String,
    /// For `save`: the sums of the inputs.
    pub partial: bool,
    /// For `fleet`: where partials are kept, the share of an array job, and how many hosts there must be.
    pub cache: String,
    pub share: Option<(usize, usize)>,
    pub require_hosts: Option<usize>,
    /// For `checkpoint`.
    pub stats: bool,
    pub verify: bool,
    pub values: String,
    /// For `web`.
    pub port: u16,
    pub no_open: bool,
    pub source_root: String,
    /// The file of a report, and how large it may be.
    pub report: String,
    pub max_size: Option<u64>,
    /// For `tables`.
    pub table: String,
    pub partition: bool,
    /// For `sql`.
    pub statement: String,
    /// Where `demo` writes the sample.
    pub write: String,
    format: String,
    outfile: String,
}

impl Flags {
    /// All files that a command reads and therefore must not overwrite.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut files = self.inputs.files();
        files.push(PathBuf::from(&self.budget));
        if !self.baseline.is_empty() {
            let mut before = Inputs::default();
            // Reading reports errors.
            let _ = before.add_path(Path::new(&self.baseline));
            files.extend(before.files());
        }
        files
    }
}

/// Parses the arguments of the program.
pub fn parse(words: impl IntoIterator<Item = OsString>, terminal: Terminal) -> Result<Request, Error> {
    let mut parser = Parser::new(Origin::Arguments, Options::default());
    parser.read(words)?;
    parser.finish(terminal)
}

/// Parses a line of the shell. Its options start from `options` and apply to this line only.
pub fn parse_line(text: &str, options: &Options, terminal: Terminal) -> Result<Request, Error> {
    let words = line::split(text).map_err(Error::Question)?;
    let mut parser = Parser::new(Origin::Line, options.clone());
    parser.read(words.into_iter().map(OsString::from))?;
    parser.finish_line(terminal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfprof::Step;

    fn parsed(line: &str) -> Result<Request, String> {
        parse(line.split_whitespace().map(OsString::from), Terminal::default()).map_err(|error| error.to_string())
    }

    #[test]
    fn flags_come_in_three_spellings() {
        for line in
            ["op --max_depth=3 --graph_path=g", "op -max-depth 3 -graph_path g", "--max_depth 3 op --graph-path g"]
        {
            let request = parsed(line).unwrap();
            assert_eq!((request.command.word, request.options.max_depth), ("op", Some(3)), "{line}");
            assert_eq!(request.flags.inputs.paths().collect::<Vec<_>>(), [Path::new("g")]);
        }
    }

    #[test]
    fn an_empty_path_is_refused() {
        let request = parsed("op --graph_path=g --op_log_path= --run_meta_path=").unwrap();
        assert_eq!(request.flags.inputs.paths().collect::<Vec<_>>(), [Path::new("g")]);
        assert!(parsed("op --graph_path=").unwrap_err().starts_with("nothing to read"));
    }

    #[test]
    fn a_boolean_takes_the_next_word_only_if_it_is_one() {
        let request = parsed("op -account_displayed_op_only -step 4 --graph_path=g -ops_only no").unwrap();
        assert!(request.options.account_displayed_op_only && !request.options.ops_only);
        assert_eq!(request.options.step, Step::At(4));
    }

    #[test]
    fn lists_may_be_repeated() {
        let request = parsed("op --graph_path=g -hide_name_regexes a -hide_name_regexes b,c").unwrap();
        assert_eq!(request.options.hide_name_regexes, ["a", "b", "c"]);
    }

    #[test]
    fn format_and_outfile_are_an_output() {
        let output = parsed("op --graph_path=g --format=json").unwrap().options.output;
        assert_eq!((output.form.as_str(), output.outfile.as_str()), ("json", "-"));
        let output = parsed("op --graph_path=g --outfile=x").unwrap().options.output;
        assert_eq!((output.form.as_str(), output.outfile.as_str()), ("file", "x"));
        let output = parsed("op --graph_path=g --outfile=x.csv").unwrap().options.output;
        assert_eq!((output.form.as_str(), output.outfile.as_str()), ("csv", "x.csv"));
    }

    #[test]
    fn wrong_words_are_refused_with_the_nearest() {
        let error = |line| parsed(line).unwrap_err();
        assert!(error("scop g").starts_with("unknown command `scop`; did you mean `scope`?"));
        assert!(error("op -max_dept 3").starts_with("unknown option `-max_dept`; did you mean `-max_depth`?"));
        assert!(error("op -max_depth").starts_with("-max_depth needs a value"));
        assert!(error("op").starts_with("nothing to read"));
        assert!(
            error("nofile").starts_with("unknown command `nofile`, and there is no such file; expected one of scope")
        );
        assert!(error("Cargo.toml op").starts_with("`op` is a command, which comes first: tfprof op Cargo.toml"));
        assert!(error("op g --json").starts_with("unknown option `-json`; did you mean `--format=json`?"));
        assert!(error("op g -o x").starts_with("unknown option `-o`; did you mean `-outfile`?"));
        assert!(error("cost g --format=markdwn").contains("in -format; did you mean `markdown`?"));
        assert!(error("op -select beauty --graph_path=g").contains("unknown metric `beauty`"));
    }
}
