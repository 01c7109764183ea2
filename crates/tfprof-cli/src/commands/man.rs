//! The manual page, as roff for `man` and as Markdown for the docs, from the same tables as the help; and how float
//! operations are counted, from the table of formulas.

use super::examples::EXAMPLES;
use super::{COMMANDS, Exit, SHELL_COMMANDS, help, stubs, to_stdout, write_text};
use crate::flags::{FLAGS, Request};
use std::io::Write;
use tfprof::internal::infer::flops;
use tfprof::internal::{render, words};
use tfprof::{DETAILS, Error, METRICS, OPTIONS, Options, OrderBy};

pub fn run(request: &Request, out: &mut dyn Write) -> Result<Exit, Error> {
    let form = request.paths.first().map_or_else(|| "roff".into(), |word| word.to_string_lossy());
    let text = match &*form {
        "roff" => roff(),
        "markdown" => markdown(),
        "stubs" => stubs::write(),
        "flops" => return to_stdout(out, flops::write_page).map(|()| Exit::Answered),
        other => return Err(Error::Question(words::unknown("form", other, &["roff", "markdown", "flops", "stubs"]))),
    };
    write_text(out, &text)
}

/// The exit codes.
const EXITS: &[(&str, &str)] = &[
    ("0", "answered"),
    ("1", "could not answer: an input cannot be read, or an output cannot be written"),
    ("2", "wrong usage: an unknown word, a bad pattern, a step that is not loaded"),
    ("3", "answered, but a check that was asked for failed"),
    ("4", "answered from a damaged input; with -strict this is 1"),
    ("130", "Ctrl-C"),
];

const ENVIRONMENT: &[(&str, &str)] = &[
    ("PAGER", "what shows long answers of the shell on a terminal; less -R by default, empty for none"),
    ("NO_COLOR", "if set, no colour and no bars"),
    ("XDG_STATE_HOME", "where the shell keeps its history, in tfprof/history; ~/.local/state by default"),
];

/// A command, option or word with its description.
type Entry = (String, String);

/// The lists of the page, each with its title.
fn sections() -> Vec<(&'static str, Vec<Entry>)> {
    let command = |command: &super::CommandInfo| {
        let usage = if command.usage.is_empty() { String::new() } else { format!(" {}", command.usage) };
        (format!("{}{usage}", command.word), command.about.to_owned())
    };
    let flags = FLAGS.iter().map(|flag| {
        let only = if flag.commands.is_empty() { String::new() } else { format!(" ({})", flag.commands.join(", ")) };
        (format!("-{}", help::spelled(flag.name, flag.value)), format!("{}{only}", flag.about))
    });
    let options = OPTIONS.iter().map(|option| {
        let default = option.show(&Options::default());
        let default = match (option.name, default.as_str()) {
            ("select" | "output", _) | (_, "" | "0" | "false") => String::new(),
            (_, default) => format!("; {default} by default"),
        };
        let values = match option.name {
            "order_by" => format!(": {}", OrderBy::words().join(", ")),
            "output" => format!("; the forms are {}", render::output_words().join(", ")),
            _ => String::new(),
        };
        (help::spelled(option.name, option.value), format!("{}{values}{default}", option.about))
    });
    let metrics = METRICS.iter().filter_map(|info| Some((info.word?.to_owned(), info.about.to_owned())));
    let details = DETAILS.iter().map(|info| (info.word.to_owned(), info.about.to_owned()));
    let pairs = |list: &[(&str, &str)]| list.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
    vec![
        ("Commands", COMMANDS.iter().map(command).collect()),
        ("Commands of the shell", SHELL_COMMANDS.iter().map(command).collect()),
        ("Inputs and the rest", flags.collect()),
        ("Options of the views", options.collect()),
        ("Words for -select", metrics.chain(details).collect()),
        ("Exit codes", pairs(EXITS)),
        ("Environment", pairs(ENVIRONMENT)),
    ]
}

fn roff() -> String {
    let mut text = format!(
        ".TH TFPROF 1 \"\" \"tfprof {}\" \"User Commands\"\n.SH NAME\n\
         tfprof \\- where a model's parameters, FLOPs, time and memory go\n.SH SYNOPSIS\n\
         .B tfprof\n.I COMMAND\n[\\fIPATH\\fR...] [\\fIoptions\\fR]\n.br\n.B tfprof\n.I PATH\\fR...\n\
         .br\n.B tfprof demo\n[\\fICOMMAND\\fR]\n.SH DESCRIPTION\n{}",
        env!("CARGO_PKG_VERSION"),
        escaped(&help::paths())
    );
    text += ".PP\nWithout a command it opens a shell, runs the script on standard input, or shows an overview.\n";
    for (title, entries) in sections() {
        text += &format!(".SH {}\n", title.to_uppercase());
        for (word, about) in entries {
            text += &format!(".TP\n.B {}\n{}\n", escaped(&word), escaped(&about));
        }
    }
    text += ".SH EXAMPLES\n";
    for example in EXAMPLES {
        text += &format!(".TP\n.B tfprof {}\n{}\n", escaped(example.words), escaped(example.about));
    }
    text
}

/// Escapes text for roff: backslashes, dashes and requests.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    let line = |line: &str| if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line.to_owned() };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

fn markdown() -> String {
    let mut text = String::from(
        "# Reference\n\n\
         <!-- Written by `tfprof man markdown`; a test compares. Change the tables in the source, not this page. -->\n\n\
         Every option takes `-x v`, `--x v` and `--x=v`, and `-` and `_` are the same in its name.\n\n",
    );
    text += &help::paths();
    for (title, entries) in sections() {
        text += &format!("\n## {title}\n\n| | |\n|---|---|\n");
        for (word, about) in entries {
            text += &format!("| `{}` | {} |\n", word.replace('|', "\\|"), cell(&about));
        }
    }
    text += "\n## Examples\n\n| | |\n|---|---|\n";
    for example in EXAMPLES {
        text += &format!("| `tfprof {}` | {} |\n", example.words.replace('|', "\\|"), cell(example.about));
    }
    text
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace('*', "\\*")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roff_has_nothing_to_interpret() {
        assert_eq!(escaped("-a\\b\n.c"), "\\-a\\eb\n\\&.c");
        assert!(roff().contains(".B \\-max_depth N\n"));
    }
}
