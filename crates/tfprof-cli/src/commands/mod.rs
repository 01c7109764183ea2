//! The commands: one file and one row of [`COMMANDS`] for each.

mod advise;
mod checkpoint;
mod completions;
mod cost;
pub mod demo;
pub mod examples;
pub mod help;
pub mod info;
mod man;
mod save;
mod trace;
pub mod view;

use crate::Exit;
use crate::flags::Request;
use crate::shell;
use std::io::Write;
use tfprof::{Error, ViewKind};

/// A command, as help, completion and the parser see it.
#[derive(Debug)]
pub struct CommandInfo {
    pub word: &'static str,
    pub about: &'static str,
    /// The arguments.
    pub usage: &'static str,
    /// It needs input files.
    pub reads: bool,
    pub run: fn(&Request, &mut dyn Write, &mut dyn Write) -> Result<Exit, Error>,
}

const fn view(kind: ViewKind, run: fn(&Request, &mut dyn Write, &mut dyn Write) -> Result<Exit, Error>) -> CommandInfo {
    CommandInfo { word: kind.word(), about: kind.about(), usage: "[PATH...] [options]", reads: true, run }
}

/// All commands, in the order of the help.
pub const COMMANDS: &[CommandInfo] = &[
    view(ViewKind::Scope, |request, out, err| view::run(ViewKind::Scope, request, out, err)),
    view(ViewKind::Graph, |request, out, err| view::run(ViewKind::Graph, request, out, err)),
    view(ViewKind::Op, |request, out, err| view::run(ViewKind::Op, request, out, err)),
    view(ViewKind::Code, |request, out, err| view::run(ViewKind::Code, request, out, err)),
    CommandInfo {
        word: "cost",
        about: "parameters, float operations and bytes of a model, where they are, and what is not known",
        usage: "MODEL [--budget=FILE.toml] [--fail_on_unknown] [--baseline=OLD] [options]",
        reads: true,
        run: cost::run,
    },
    CommandInfo {
        word: "advise",
        about: "what stands out in what is loaded, and what to do about it",
        usage: "[PATH...] [--checkers=NAME,...] [-output json:outfile=FILE]",
        reads: true,
        run: advise::run,
    },
    CommandInfo {
        word: "save",
        about: "everything that is loaded as one ProfileProto, which --profile_path reads back",
        usage: "[PATH...] --outfile=FILE",
        reads: true,
        run: save::run,
    },
    CommandInfo {
        word: "trace",
        about: "runs as a Chrome trace, for chrome://tracing and Perfetto",
        usage: "RUN_META... [--outfile=FILE] [options]",
        reads: true,
        run: trace::run,
    },
    CommandInfo {
        word: "checkpoint",
        about: "the tensors of a checkpoint: shapes, sizes, numbers, values; with two, what changed",
        usage: "P [Q] [--stats] [--values NAME[0:2,:]] [--verify] [options]",
        reads: false,
        run: checkpoint::run,
    },
    CommandInfo {
        word: "info",
        about: "what is in the files, on one screen, and where to look next",
        usage: "[PATH...] [-output json:outfile=FILE]",
        reads: true,
        run: info::run,
    },
    CommandInfo {
        word: "shell",
        about: "one question after another; what PATH without a command does on a terminal",
        usage: "[PATH...] [options]",
        reads: true,
        run: shell::run,
    },
    CommandInfo {
        word: "demo",
        about: "any command on a sample that is built in, a ResNet-32; alone, its overview and the shell",
        usage: "[COMMAND] [options] | --write DIR",
        reads: false,
        run: demo::run,
    },
    CommandInfo {
        word: "help",
        about: "what can be asked, and how; help WORD tells of one command or option",
        usage: "[COMMAND|OPTION]",
        reads: false,
        run: |request, out, _| help::run(request, out),
    },
    CommandInfo {
        word: "completions",
        about: "a script that completes words of this program in your shell",
        usage: "bash|zsh|fish",
        reads: false,
        run: |request, out, _| completions::run(request, out),
    },
    CommandInfo {
        word: "man",
        about: "the manual page; `man markdown` for the web, `man flops` for how float operations are counted",
        usage: "[roff|markdown|flops]",
        reads: false,
        run: |request, out, _| man::run(request, out),
    },
    CommandInfo {
        word: "version",
        about: "the version",
        usage: "",
        reads: false,
        run: |_, out, _| crate::write_line(out, concat!("tfprof ", env!("CARGO_PKG_VERSION"))),
    },
];

/// The commands that only the shell has.
pub const SHELL_COMMANDS: &[CommandInfo] = &[
    in_shell("set", "[options]", "keep options for the lines that follow; alone, show them as Enter does"),
    in_shell("reset", "", "take back every `set`"),
    in_shell("load", "PATH...", "add a step, an op log or another file to what is loaded"),
    in_shell("quit", "", "leave; so do exit and Ctrl-D"),
    in_shell("exit", "", "leave"),
];

const fn in_shell(word: &'static str, usage: &'static str, about: &'static str) -> CommandInfo {
    CommandInfo {
        word,
        about,
        usage,
        reads: false,
        run: |request, _, _| {
            let word = request.command.word;
            let message = format!("{word} is a command of the shell, which `tfprof shell PATH` starts (tfprof help)");
            Err(Error::Question(message))
        },
    }
}

/// Commands that the shell does not have.
const OUTSIDE: &[&str] = &["shell", "demo", "completions", "man"];

/// The command of that word.
pub fn find(word: &str) -> Option<&'static CommandInfo> {
    COMMANDS.iter().chain(SHELL_COMMANDS).find(|command| command.word == word)
}

/// The words of all commands.
pub fn words() -> Vec<&'static str> {
    COMMANDS.iter().map(|command| command.word).collect()
}

/// The command of that word in the shell.
pub fn find_in_shell(word: &str) -> Option<&'static CommandInfo> {
    find(word).filter(|command| !OUTSIDE.contains(&command.word))
}

/// The words of all commands in the shell.
pub fn words_in_shell() -> Vec<&'static str> {
    let all = COMMANDS.iter().chain(SHELL_COMMANDS).map(|command| command.word);
    all.filter(|word| !OUTSIDE.contains(word)).collect()
}
