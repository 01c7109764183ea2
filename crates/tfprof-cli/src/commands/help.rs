//! `tfprof help`, generated from the tables of commands, options and examples.

use super::examples::{EXAMPLES, Example};
use super::{CommandInfo, Exit, SHELL_COMMANDS, write_text};
use crate::flags::{self, Group, Request};
use std::io::Write;
use tfprof::internal::render::fit;
use tfprof::internal::{render, words};
use tfprof::{CHECKERS, DETAILS, Error, FORMATS, METRICS, OPTIONS, Options, ValueKind};

/// Writes the whole help, or that of one command or option.
pub fn run(request: &Request, out: &mut dyn Write) -> Result<Exit, Error> {
    write(request, overview, out)
}

/// Help in the shell, where files are loaded already.
pub fn run_in_shell(request: &Request, out: &mut dyn Write) -> Result<Exit, Error> {
    write(request, shell_overview, out)
}

fn write(request: &Request, overview: fn() -> String, out: &mut dyn Write) -> Result<Exit, Error> {
    let topic = request.paths.first().map(|topic| topic.to_string_lossy().trim_start_matches('-').replace('-', "_"));
    let text = match &topic {
        None => overview(),
        Some(topic) => about(topic)?,
    };
    write_text(out, &request.terminal.width.map_or_else(|| text.clone(), |width| wrapped(&text, width)))
}

/// Help on a terminal of this width.
fn wrapped(text: &str, width: usize) -> String {
    String::from_utf8_lossy(&fit::wrapped(text.as_bytes(), width)).into_owned()
}

/// The kinds of input paths, for help and the manual page.
pub fn paths() -> String {
    let names: Vec<_> = FORMATS.iter().map(|format| format.name).collect();
    let (last, others) = names.split_last().unwrap_or((&"", &[]));
    format!(
        "A PATH is a {}\nor {last}, or a directory that holds them; - is standard input. Messages may be binary or text,\n\
         plain or gzipped. The content says what a file is.\n",
        others.join(", ")
    )
}

/// All kinds of input, each with the flag that names it.
fn kinds_of_input() -> String {
    let mut text = String::new();
    for format in FORMATS {
        text += &format!("  {:30}  {}\n", format!("{} (--{})", format.name, format.flag.name), format.about);
    }
    text +=
        "\n  Flags are optional: the content says what a file is. Messages may be binary or text, plain or gzipped.\n";
    text + "  A directory is looked through, and - is standard input.\n"
}

/// The first thing that a new user sees. Every command in it runs as it is.
fn start() -> String {
    "tfprof: where a model's parameters, FLOPs, time and memory go\n\n\
     It reads SavedModels, frozen graphs, checkpoints, and profiles of TensorFlow\n\
     and JAX. Paste one of these to try it on a sample, a ResNet-32:\n\n\
     \x20 tfprof demo                      an overview; on a terminal, then the shell\n\
     \x20 tfprof demo op                   the ops that take most of the time\n\
     \x20 tfprof demo cost                 parameters and FLOPs, layer by layer\n\
     \x20 tfprof demo advise               what could be better, and how\n\
     \x20 tfprof demo op -output ops.html  all ops as a page for the browser\n\n\
     For your own files, leave out `demo` and name them: tfprof info PATH\n\n\
     \x20 tfprof help                      all commands, and every kind of input\n\
     \x20 tfprof COMMAND --help            all that a command takes, with examples\n"
        .to_owned()
}

/// All commands by what they are for.
const COMMAND_GROUPS: &[(&str, &[&str])] = &[
    ("look first", &["info", "advise", "demo"]),
    ("where time, memory, parameters and FLOPs go", &["op", "scope", "graph", "code"]),
    ("models and checkpoints", &["cost", "layers", "whatif", "checkpoint"]),
    ("two runs or models, and many hosts", &["diff", "fleet", "merge"]),
    ("this machine", &["run", "peak"]),
    ("files for other programs", &["trace", "tables", "save"]),
    ("many questions", &["web", "shell", "sql"]),
    ("about tfprof", &["help", "completions", "man", "version"]),
];

/// The values of `-output`: the forms of answers, and the report of all of them.
fn outputs() -> impl Iterator<Item = (&'static str, &'static str)> {
    render::outputs().chain([("report", "the page of `tfprof web` as one file, for anyone with a browser")])
}

fn overview() -> String {
    let mut text = "tfprof: where a model's parameters, FLOPs, time and memory go\n\n\
                    usage: tfprof COMMAND [PATH...] [options]\n\
                    \x20      tfprof PATH...                 the shell, or the overview where there is no terminal\n\
                    \x20      tfprof PATH... < SCRIPT        the lines of a script\n\
                    \x20      tfprof demo [COMMAND]          try it on a sample that is built in\n"
        .to_owned();
    text += &commands(|_| true);
    text += "\ninputs\n";
    text += &kinds_of_input();
    text += "\noutputs, as -output FORM:outfile=FILE\n";
    outputs().for_each(|(word, about)| text += &entry(word, about));
    text += &examples(|example| ["info", "op", "cost"].contains(&example.command()));
    text += "\nmore\n";
    for (words, about) in [
        ("tfprof COMMAND --help", "everything that a command takes, with examples"),
        ("tfprof help OPTION", "one option, its values and its default"),
        ("tfprof help options", "all options"),
        ("tfprof man", "the manual page"),
    ] {
        text += &entry(words, about);
    }
    text
}

fn commands(wanted: impl Fn(&str) -> bool) -> String {
    let mut text = String::new();
    for (title, words) in COMMAND_GROUPS {
        let known = words.iter().filter(|word| wanted(word)).filter_map(|word| super::find(word));
        let entries: String = known.map(|command| entry(command.word, command.about)).collect();
        if !entries.is_empty() {
            text += &format!("\n{title}\n{entries}");
        }
    }
    text
}

fn shell_overview() -> String {
    let mut text = commands(|word| super::find_in_shell(word).is_some()).trim_start().to_owned();
    text += "\nin the shell\n";
    SHELL_COMMANDS.iter().for_each(|command| text += &entry(command.word, command.about));
    text += &entry("QUESTION | COMMAND", "send the answer to less, head or any other command");
    text += &entry("QUESTION > FILE, >> FILE", "write the answer to a file, or add it");
    text += &options(|name| super::find("set").is_some_and(|set| set.takes(name)));
    text += "\nexamples\n";
    for example in EXAMPLES {
        text += &format!("  {}\n      {}\n", example.in_shell(), example.about);
    }
    text += "\n`?` is help, and `? WORD` says more about a command or an option. Enter shows the options as they are, `set` keeps\n\
             them. Quotes protect blanks; lists split at commas, but not inside braces or after a backslash.\n";
    text
}

/// The options that are wanted, group by group.
fn options(wanted: impl Fn(&str) -> bool) -> String {
    let mut text = String::new();
    for (group, title) in Group::ALL {
        let known = flags::spellings().filter(|known| Group::of(known.name) == group && wanted(known.name));
        let entries: String = known.map(|known| entry(&spelled(known.name, known.value), known.about)).collect();
        if !entries.is_empty() {
            text += &format!("\n{title}\n{entries}");
        }
    }
    text
}

fn about(topic: &str) -> Result<String, Error> {
    if let Some(command) = super::find(topic) {
        return Ok(about_command(command));
    }
    match topic {
        "start" => return Ok(start()),
        "inputs" => return Ok(format!("inputs: the files that tfprof reads\n\n{}", kinds_of_input())),
        "options" => {
            let all = options(|_| true).replace("\noptions of this command\n", "\noptions of single commands\n");
            return Ok(format!("options: every one takes `-x v`, `--x v` and `--x=v`\n{all}"));
        }
        _ => {}
    }
    let Some(known) = flags::find(topic) else {
        let shell = SHELL_COMMANDS.iter().map(|command| command.word);
        let names = flags::spellings().map(|known| known.name);
        let known: Vec<_> = super::words().into_iter().chain(shell).chain(names).chain(["inputs", "options"]).collect();
        return Err(Error::Question(words::unknown("topic", topic, &known)));
    };
    let option = OPTIONS.iter().find(|option| option.name == topic);
    let dash = if option.is_some() { "" } else { "-" };
    let mut text = format!("{dash}{}\n  {}\n", spelled(topic, known.value), known.about);
    let default = option.map(|option| option.show(&Options::default())).unwrap_or_default();
    if !default.is_empty() && topic != "select" {
        text += &format!("  default: {default}\n");
    }
    let list = |entries: &mut dyn Iterator<Item = (&str, &str)>| {
        entries.fold("\n".to_owned(), |text, (word, about)| text + &entry(word, about))
    };
    text += &match topic {
        "select" => {
            let metrics = METRICS.iter().filter_map(|info| Some((info.word?, info.about)));
            list(&mut metrics.chain(DETAILS.iter().map(|info| (info.word, info.about))))
        }
        "output" | "format" => list(&mut outputs()),
        "checkers" => list(&mut CHECKERS.iter().map(|checker| (checker.name, checker.about))),
        _ => match (known.words)() {
            words if words.is_empty() => String::new(),
            words => format!("\n  one of {}\n", words.join(", ")),
        },
    };
    text += &examples(|example| example.shows(topic));
    Ok(text)
}

fn about_command(command: &CommandInfo) -> String {
    let usage = format!("tfprof {} {}", command.word, command.usage);
    let usage = if SHELL_COMMANDS.iter().any(|known| known.word == command.word) {
        usage.trim_start_matches("tfprof ").to_owned()
    } else {
        usage
    };
    let mut text = format!("{}: {}\n\nusage: {}\n", command.word, command.about, usage.trim_end());
    if command.word == "demo" {
        text += "\nA command takes the options that it has elsewhere; `demo` alone takes these.\n";
    }
    text += &options(|name| command.takes(name));
    if command.reads {
        text += &format!("\n{}", paths());
    }
    text += &match command.word {
        "demo" => "\nexamples\n  tfprof demo\n  tfprof demo op -select micros -order_by micros\n\
                   \x20 tfprof demo --write sample\n"
            .to_owned(),
        "completions" => "\nexamples\n  tfprof completions bash > ~/.local/share/bash-completion/completions/tfprof\n\
                          \x20 tfprof completions zsh > ~/.zfunc/_tfprof\n\
                          \x20 tfprof completions fish > ~/.config/fish/completions/tfprof.fish\n"
            .to_owned(),
        "man" => "\nexamples\n  tfprof man > ~/.local/share/man/man1/tfprof.1\n".to_owned(),
        "set" => "\nexamples\n  set -account_type_regexes _trainable_variables -select params\n".to_owned(),
        "load" => "\nexamples\n  load run_meta_7\n  load --run_meta_path=7=later_run\n".to_owned(),
        "shell" => "\nexamples\n  tfprof shell dump/\n  echo 'op -order_by micros' | tfprof shell dump/\n".to_owned(),
        word => examples(|example| example.command() == word),
    };
    text
}

fn examples(wanted: impl Fn(&Example) -> bool) -> String {
    let mut text = String::new();
    for example in EXAMPLES.iter().filter(|example| wanted(example)) {
        text += if text.is_empty() { "\nexamples\n" } else { "" };
        text += &format!("  tfprof {}\n      {}\n", example.words, example.about);
    }
    text
}

pub fn spelled(name: &str, kind: ValueKind) -> String {
    format!("-{name}{}", value(kind))
}

fn value(kind: ValueKind) -> &'static str {
    match kind {
        ValueKind::Number => " N",
        ValueKind::Word => " WORD",
        ValueKind::Words => " WORD,...",
        ValueKind::Patterns => " REGEX,...",
        ValueKind::Flag => "",
        ValueKind::Output => " FORM[:outfile=FILE]",
        ValueKind::Path => " FILE",
        ValueKind::Paths => " [STEP=]FILE,...",
    }
}

fn entry(word: &str, about: &str) -> String {
    if word.len() > 30 { format!("  {word}\n  {:30}  {about}\n", "") } else { format!("  {word:30}  {about}\n") }
}

#[cfg(test)]
mod tests {
    use super::super::COMMANDS;
    use super::*;
    use crate::terminal::Terminal;

    fn example_of(name: &str, kind: ValueKind, words: &[&'static str]) -> String {
        let word = words.first().copied().unwrap_or("x");
        let value = match (name, kind) {
            ("input" | "trip_count", _) => "a=1",
            ("max_memory" | "max_unpacked" | "max_size", _) => "1GB",
            ("rename", _) => "s/a/b/",
            ("peak_flops" | "peak_bandwidth", _) => "1T",
            ("warmup", _) => "auto",
            ("part", _) => "1/2",
            ("output", _) => "none",
            (_, ValueKind::Number) => "1",
            (_, ValueKind::Flag) => "true",
            _ => word,
        };
        format!("--{name}={value}")
    }

    #[test]
    fn a_command_takes_the_options_that_its_help_lists() {
        let mut faults = Vec::new();
        for command in COMMANDS.iter().filter(|command| !["help", "version"].contains(&command.word)) {
            let help = about_command(command);
            for known in flags::spellings() {
                let listed =
                    help.lines().any(|line| line.split_whitespace().next() == Some(&format!("-{}", known.name)));
                let mut words = vec![command.word.to_owned(), example_of(known.name, known.value, &(known.words)())];
                if command.reads {
                    words.push("--graph_path=g".to_owned());
                }
                if command.word == "demo" {
                    words.push("--write=x".to_owned());
                }
                let parsed = flags::parse(words.iter().map(std::ffi::OsString::from), Terminal::default());
                let refused = parsed.as_ref().err().map(ToString::to_string);
                let taken = !refused.as_ref().is_some_and(|why| why.contains(" is not for "));
                if taken != listed || (taken && refused.is_some()) {
                    faults.push(format!("{words:?}: listed: {listed}, {refused:?}"));
                }
            }
        }
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }

    #[test]
    fn a_line_of_the_shell_takes_the_options_that_help_lists() {
        for command in SHELL_COMMANDS {
            let help = about_command(command);
            for known in flags::spellings().filter(|known| Group::of(known.name) != Group::Inputs) {
                let line = format!("{} {}", command.word, example_of(known.name, known.value, &(known.words)()));
                let taken = flags::parse_line(&line, &Options::default(), Terminal::default()).is_ok();
                // As the original: its options may stand in any line.
                let original = OPTIONS.iter().any(|option| option.name == known.name && option.original);
                let listed =
                    help.lines().any(|line| line.split_whitespace().next() == Some(&format!("-{}", known.name)));
                assert!(taken == listed || original, "{line}: listed: {listed}");
            }
        }
    }

    #[test]
    fn help_fits_the_terminal() {
        for width in [40, 80, 200] {
            for text in COMMANDS.iter().map(about_command).chain([overview(), shell_overview(), start()]) {
                let wrapped = wrapped(&text, width);
                // Long commands break with a backslash.
                let words = |text: &str| {
                    let words = text.split_whitespace().filter(|word| *word != "\\");
                    words.map(str::to_owned).collect::<Vec<_>>()
                };
                assert_eq!(words(&wrapped), words(&text));
                let wide = |line: &&str| {
                    line.chars().count() > width && line.trim().contains(' ') && !line.starts_with("  tfprof ")
                };
                assert_eq!(wrapped.lines().find(wide), None);
            }
        }
        assert_eq!(wrapped("  -x N      a b c d e\n", 36), "  -x N      a b c d e\n");
        assert_eq!(
            wrapped("  -x N      every word of this text counts\n", 36),
            "  -x N      every word of this text\n            counts\n"
        );
    }

    #[test]
    fn every_command_is_in_one_group() {
        let mut grouped: Vec<_> = COMMAND_GROUPS.iter().flat_map(|(_, words)| words.iter().copied()).collect();
        let mut known = super::super::words();
        grouped.sort_unstable();
        known.sort_unstable();
        assert_eq!(grouped, known);
    }

    #[test]
    fn the_first_help_is_short_and_runs_as_pasted() {
        let text = start();
        assert!((14..=16).contains(&text.lines().count()), "{text}");
        assert!(text.lines().all(|line| line.len() < 80), "{text}");
        let pasted = text.lines().filter_map(|line| line.strip_prefix("  tfprof demo"));
        assert_eq!(pasted.count(), 5);
    }
}
