//! `-output`: where an answer goes, and in which form.

use crate::words;

/// Where an answer goes, and in which form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    pub form: Form,
    /// Empty for standard output and for nothing at all.
    pub outfile: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Stdout,
    File,
    None,
    Proto,
    Json,
    Csv,
    /// When things ran, or how they nest: trace events for Chrome and Perfetto.
    Timeline,
    Pprof,
    /// Collapsed stacks, one line each.
    Folded,
    Speedscope,
    /// A picture that a browser opens.
    Flamegraph,
    /// A tree that a browser opens and closes.
    Html,
}

impl Output {
    /// `form` or `form:outfile=F`; nothing means standard output.
    // As the original: a file that was named before stays until another one is.
    pub(super) fn parse(text: &str, before: &str) -> Result<Output, String> {
        let (word, pairs) = text.split_once(':').unwrap_or((text, ""));
        let word = if word.is_empty() { "stdout" } else { word };
        let Some(form) = Form::ALL.into_iter().find(|form| form.word() == word) else {
            return Err(words::unknown("form", word, &Form::words()));
        };
        let mut outfile = if form.needs_file() { before.to_owned() } else { String::new() };
        for pair in pairs.split(',').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("outfile", file)) if !file.is_empty() && form.needs_file() => file.clone_into(&mut outfile),
                Some((key, file)) if !file.is_empty() && key != "outfile" => {
                    return Err(format!("unknown key `{key}` for the form `{word}`; expected {word}:outfile=FILE"));
                }
                Some(_) if !form.needs_file() => return Err(format!("the form `{word}` takes no file")),
                _ => return Err(format!("expected {word}:outfile=FILE, found `{text}`")),
            }
        }
        if form.needs_file() && outfile.is_empty() {
            return Err(format!("the form `{word}` needs a file: {word}:outfile=FILE (- is standard output)"));
        }
        Ok(Output { form, outfile })
    }

    pub(super) fn show(&self) -> String {
        let file = if self.outfile.is_empty() { String::new() } else { format!("outfile={}", self.outfile) };
        format!("{}:{file}", self.form.word())
    }
}

impl Form {
    pub const ALL: [Form; 12] = [
        Form::Stdout,
        Form::File,
        Form::None,
        Form::Timeline,
        Form::Pprof,
        Form::Flamegraph,
        Form::Folded,
        Form::Speedscope,
        Form::Proto,
        Form::Json,
        Form::Csv,
        Form::Html,
    ];

    pub fn words() -> Vec<&'static str> {
        Form::ALL.map(Form::word).to_vec()
    }

    pub fn word(self) -> &'static str {
        match self {
            Form::Stdout => "stdout",
            Form::File => "file",
            Form::None => "none",
            Form::Proto => "proto",
            Form::Json => "json",
            Form::Csv => "csv",
            Form::Timeline => "timeline",
            Form::Pprof => "pprof",
            Form::Folded => "folded",
            Form::Speedscope => "speedscope",
            Form::Flamegraph => "flamegraph",
            Form::Html => "html",
        }
    }

    pub fn about(self) -> &'static str {
        match self {
            Form::Stdout => "text on standard output",
            Form::File => "text in a file",
            Form::None => "nothing",
            Form::Proto => "a GraphNodeProto or MultiGraphNodeProto",
            Form::Json => "all rows with their numbers",
            Form::Csv => "the same as a table",
            Form::Timeline => "trace events for chrome://tracing and Perfetto, in FILE_<step>",
            Form::Pprof => "a gzipped profile for go tool pprof",
            Form::Folded => "collapsed stacks of one metric",
            Form::Speedscope => "a file of one metric for https://www.speedscope.app",
            Form::Flamegraph => "an SVG of one metric for a browser, with zoom and search",
            Form::Html => "a page for a browser: a tree that opens and closes, with bars",
        }
    }

    /// Whether an answer of this form goes to a file.
    pub fn needs_file(self) -> bool {
        !matches!(self, Form::Stdout | Form::None)
    }
}
