//! `tfprof help`, generated from the tables of commands, options and examples.

use super::examples::{EXAMPLES, Example};
use super::{COMMANDS, CommandInfo, Exit, SHELL_COMMANDS, write_text};
use crate::flags::{self, FLAGS, Request};
use std::io::Write;
use tfprof::internal::{render, words};
use tfprof::{CHECKERS, DETAILS, Error, FORMATS, METRICS, OPTIONS, Options, ValueKind, ViewKind};

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
    write_text(out, &text)
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

/// All kinds of input, with the flags that name them.
fn inputs() -> String {
    let mut text = String::from("inputs: what tfprof reads\n\n");
    for format in FORMATS {
        text += &format!("  {:14}{}\n", format.name, format.about);
        text += &format!("  {:14}--{}\n", "", format.flag.name);
    }
    text + "\n" + &paths()
}

fn overview() -> String {
    let mut text = format!(
        "tfprof: where a model's parameters, FLOPs, time and memory go\n\n\
         usage: tfprof COMMAND [PATH...] [options]\n\
         \x20      tfprof PATH...                 the shell, or the overview where there is no terminal\n\
         \x20      tfprof PATH... < SCRIPT        the lines of a script\n\
         \x20      tfprof demo [COMMAND]          try it on a sample that is built in\n\n\
         {}\n",
        paths()
    );
    text += "commands\n";
    COMMANDS.iter().for_each(|command| text += &entry(command.word, command.about));
    text += "\nin the shell, besides\n";
    SHELL_COMMANDS.iter().for_each(|command| text += &entry(command.word, command.about));
    text += "\ninputs, if you would rather say what they are, and what is not about a view\n";
    FLAGS.iter().for_each(|flag| text += &entry(&spelled(flag.name, flag.value), flag.about));
    text += "\noptions of the views\n";
    OPTIONS.iter().for_each(|option| text += &entry(&spelled(option.name, option.value), option.about));
    text += &examples(|_| true);
    text += "\ntfprof help COMMAND and tfprof help OPTION say more.\n";
    text
}

fn shell_overview() -> String {
    let mut text = String::from("commands\n");
    for word in super::words_in_shell() {
        if let Some(command) = super::find(word) {
            text += &entry(word, command.about);
        }
    }
    text += "\noptions\n";
    OPTIONS.iter().for_each(|option| text += &entry(&spelled(option.name, option.value), option.about));
    text += "\nexamples\n";
    for example in EXAMPLES {
        text += &format!("  {}\n      {}\n", example.in_shell(), example.about);
    }
    text += "\nEnter shows the options as they are, `set` keeps them, quotes protect blanks and commas.\n";
    text
}

fn about(topic: &str) -> Result<String, Error> {
    if let Some(command) = super::find(topic) {
        return Ok(about_command(command));
    }
    if topic == "inputs" {
        return Ok(inputs());
    }
    let Some(known) = flags::find(topic) else {
        let shell = SHELL_COMMANDS.iter().map(|command| command.word);
        let names = flags::spellings().map(|known| known.name);
        let known: Vec<_> = super::words().into_iter().chain(shell).chain(names).chain(["inputs"]).collect();
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
        "output" | "format" => list(&mut render::outputs()),
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
    let own: Vec<_> = FLAGS.iter().filter(|flag| flag.commands.contains(&command.word)).collect();
    if !own.is_empty() {
        text += "\noptions of this command\n";
        own.iter().for_each(|flag| text += &entry(&spelled(flag.name, flag.value), flag.about));
    }
    if ViewKind::parse(command.word).is_some() {
        text += "\noptions\n";
        OPTIONS.iter().for_each(|option| text += &entry(&spelled(option.name, option.value), option.about));
    }
    if command.reads {
        text += &format!("\n{}\n", paths());
        let inputs = FLAGS.iter().filter(|flag| flag.commands.is_empty());
        inputs.for_each(|flag| text += &entry(&spelled(flag.name, flag.value), flag.about));
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
