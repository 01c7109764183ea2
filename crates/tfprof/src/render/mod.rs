//! Answers as bytes. [`FORMS`] is the one list of output forms: each has a file here that writes a
//! [`View`](crate::view::View), and a row that names it.

pub(crate) mod chrome;
pub mod compare;
pub mod csv;
pub mod direction;
pub mod fit;
pub mod flamegraph;
mod folded;
pub mod html;
pub mod json;
mod markdown;
pub(crate) mod markup;
pub mod nesting;
pub mod pprof;
pub mod proto;
pub mod roofline;
mod speedscope;
pub mod tensor;
pub mod text;
pub mod theme;
pub mod timeline;

use crate::error::{Error, OneLine, Spelling, Warning};
use crate::options::{Output, refused};
use crate::view::{Demand, View};
use crate::words;
use html::Container;
use std::io::{self, Write};
use theme::Theme;

/// An output form.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Form {
    pub word: &'static str,
    pub about: &'static str,
    /// How the names of its files end, the usual ending first.
    pub endings: &'static [&'static str],
    /// How to open a file of it; empty if any program does.
    pub opened_with: &'static str,
    #[doc(hidden)]
    pub demand: Demand,
    #[doc(hidden)]
    pub write: fn(&View, &Dress<'_>, &mut dyn Write) -> io::Result<()>,
}

/// How an answer is presented, as far as its form leaves that open.
#[derive(Clone, Copy, Debug)]
pub struct Dress<'w> {
    /// Text: colours and bars.
    pub theme: Theme,
    /// Text: begin with what the words of the question mean.
    pub legend: bool,
    /// Text: how the reader writes options.
    pub spelling: Spelling,
    /// HTML: what it is a part of.
    pub container: Container<'w>,
    /// JSON: what was odd while loading.
    pub load_warnings: &'w [Warning],
}

impl Dress<'_> {
    pub const PLAIN: Dress<'static> = Dress {
        theme: Theme::PLAIN,
        legend: true,
        spelling: Spelling::CommandLine,
        container: Container::PAGE,
        load_warnings: &[],
    };
}

/// All output forms, in the order of the help. The first is text, which a screen shows, too.
pub const FORMS: &[Form] = &[
    Form {
        word: Output::TEXT,
        about: "text in a file",
        endings: &[".txt"],
        opened_with: "",
        demand: Demand { changes_only: true, ..Demand::ROWS },
        write: |view, dress, out| {
            if let Some(compared) = view.compared() {
                return compare::write_text(view, compared, dress, out);
            }
            if dress.legend {
                text::write_head(view, &dress.theme, out)?;
            }
            text::write_rows(view, &dress.theme, dress.spelling, out)
        },
    },
    Form {
        word: "timeline",
        about: "trace events for Perfetto, in FILE_<step>.json",
        endings: &[".trace.json", ".timeline.json"],
        opened_with: "open it at https://ui.perfetto.dev",
        demand: timeline::DEMAND,
        write: |view, _, out| {
            for timeline::Peak { device, bytes } in timeline::write(view, out)? {
                view.note(format!("{} peak memory: {:.2} MB", OneLine(&device), bytes as f64 / 1e6));
            }
            Ok(())
        },
    },
    Form {
        word: "pprof",
        about: "a gzipped profile for go tool pprof",
        endings: &[".pb.gz", ".pprof"],
        opened_with: "look at it with `go tool pprof -top` or `-http=:`",
        demand: pprof::DEMAND,
        write: |view, _, out| pprof::write(view, out),
    },
    Form {
        word: "flamegraph",
        about: "an SVG of one metric for a browser, with zoom and search",
        endings: &[".svg"],
        opened_with: "open it in a browser",
        demand: Demand::DRAWING,
        write: |view, _, out| flamegraph::write(view, out),
    },
    Form {
        word: "roofline",
        about: "achieved FLOP/s over FLOPs per byte, below the peaks of the device: an SVG, or a page if FILE ends in .html",
        endings: &[".roofline.svg", ".roofline.html"],
        opened_with: "open it in a browser",
        demand: roofline::DEMAND,
        write: |view, dress, out| roofline::write(view, dress.container, out),
    },
    Form {
        word: "folded",
        about: "collapsed stacks of one metric",
        endings: &[".folded"],
        opened_with: "",
        demand: Demand::DRAWING,
        write: |view, _, out| folded::write(view, out),
    },
    Form {
        word: "speedscope",
        about: "a file of one metric for https://www.speedscope.app",
        endings: &[".speedscope.json"],
        opened_with: "open it at https://www.speedscope.app",
        demand: Demand::DRAWING,
        write: |view, _, out| speedscope::write(view, out),
    },
    Form {
        word: "proto",
        about: "a GraphNodeProto or MultiGraphNodeProto",
        endings: &[".pb"],
        opened_with: "",
        demand: Demand { all_metrics: true, nodes_by_name: true, compares: false, ..Demand::ROWS },
        write: |view, _, out| proto::write(view, out),
    },
    Form {
        word: "json",
        about: "all rows with their numbers",
        endings: &[".json"],
        opened_with: "",
        demand: Demand::ROWS,
        write: |view, dress, out| json::write(view, dress.load_warnings, out),
    },
    Form {
        word: "csv",
        about: "the same as a table",
        endings: &[".csv"],
        opened_with: "",
        demand: Demand::ROWS,
        write: |view, _, out| csv::write(view, out),
    },
    Form {
        word: "markdown",
        about: "the same as a table in Markdown",
        endings: &[".md"],
        opened_with: "",
        demand: Demand { changes_only: true, ..Demand::ROWS },
        write: |view, _, out| match view.compared() {
            Some(compared) => compare::write_markdown(view, compared, out),
            None => markdown::write(view, out),
        },
    },
    Form {
        word: "html",
        about: "a page for a browser: a tree that opens and closes, with bars, sorting and search",
        endings: &[".html", ".htm"],
        opened_with: "open it in a browser",
        demand: Demand { whole_tree: true, folds_frames: true, ..Demand::ROWS },
        write: |view, dress, out| html::write(view, dress.container, out),
    },
];

/// The form of an output; text if it goes to the screen or nowhere.
pub fn form(output: &Output) -> Result<&'static Form, Error> {
    form_of(&output.form)
}

/// The form that a word of `-output` means.
pub fn form_of(word: &str) -> Result<&'static Form, Error> {
    let known = if Output::takes_file(word) { word } else { Output::TEXT };
    let found = FORMS.iter().find(|form| form.word == known);
    found.ok_or_else(|| refused("output", &words::unknown("form", word, &output_words())))
}

/// The output that a file name alone means: its form by its ending, the longest that fits. `None` if the text is not a
/// name but a form.
pub fn output_by_name(text: &str) -> Result<Option<Output>, Error> {
    let word = Output::word_of(text);
    let is_form = !Output::takes_file(word) || FORMS.iter().any(|form| form.word == word);
    let is_name = text.contains(['.', '/', '\\']) && !text.contains(":outfile=");
    if is_form || !is_name {
        return Ok(None);
    }
    if text.ends_with(['/', '\\']) {
        return Ok(Some(Output { form: "html".to_owned(), outfile: text.to_owned() }));
    }
    match form_by_ending(text) {
        Some(form) => Ok(Some(Output { form: form.word.to_owned(), outfile: text.to_owned() })),
        None => {
            let endings: Vec<_> = FORMS.iter().flat_map(|form| form.endings).copied().collect();
            let why = format!("the end of `{text}` does not tell its form; expected one of {}", endings.join(", "));
            Err(refused("output", &format!("{why}, or FORM:outfile={text}")))
        }
    }
}

/// The form of a file by the ending of its name, in any case.
pub fn form_by_ending(file: &str) -> Option<&'static Form> {
    let file = file.to_ascii_lowercase();
    let endings = FORMS.iter().flat_map(|form| form.endings.iter().map(move |ending| (*ending, form)));
    let fitting = endings.filter(|(ending, _)| file.ends_with(ending) && !file.ends_with(&format!("/{ending}")));
    fitting.max_by_key(|(ending, _)| ending.len()).map(|(_, form)| form)
}

/// The values of `-output`, with a description: the screen, text in a file, nowhere, and the other forms.
pub fn outputs() -> impl Iterator<Item = (&'static str, &'static str)> {
    let (text, others) = FORMS.split_at(1);
    let row = |form: &'static Form| (form.word, form.about);
    let screen = [(Output::SCREEN, "text on standard output")];
    screen.into_iter().chain(text.iter().map(row)).chain([(Output::NOWHERE, "nothing")]).chain(others.iter().map(row))
}

/// The words that `-output` takes.
pub fn output_words() -> Vec<&'static str> {
    outputs().map(|(word, _)| word).collect()
}

/// The buffer is written when it holds this many bytes.
const FULL_BUFFER: usize = 64 << 10;

/// Writes each item in the form that `push` appends, through one reused buffer: numbers and commas do not each call a
/// writer.
fn write_each<'i, T: 'i>(
    items: impl IntoIterator<Item = &'i T>,
    out: &mut dyn Write,
    mut push: impl FnMut(&'i T, &mut Vec<u8>) -> io::Result<()>,
) -> io::Result<()> {
    let mut text = Vec::with_capacity(2 * FULL_BUFFER);
    for item in items {
        push(item, &mut text)?;
        if text.len() >= FULL_BUFFER {
            out.write_all(&text)?;
            text.clear();
        }
    }
    out.write_all(&text)
}
