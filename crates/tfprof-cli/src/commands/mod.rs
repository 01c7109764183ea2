//! What the program can do: one file for each command, one row for each in [`COMMANDS`].

mod advise;
mod checkpoint;
mod help;
mod save;
mod trace;
mod view;

use crate::Exit;
use crate::flags::Request;
use std::io::Write;
use tfprof::error::Error;
use tfprof::options::ViewKind;

/// A command, as help, completion and the parser of words know it.
#[derive(Debug)]
pub struct CommandInfo {
    pub word: &'static str,
    pub about: &'static str,
    /// What stands behind the word.
    pub usage: &'static str,
    /// It works on files, which must be named.
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
        word: "advise",
        about: "what stands out in what is loaded, and what to do about it",
        usage: "[PATH...] [--checkers=NAME,...]",
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
        word: "help",
        about: "what can be asked, and how; help WORD tells of one command or option",
        usage: "[COMMAND|OPTION]",
        reads: false,
        run: |request, out, _| help::run(request, out),
    },
    CommandInfo {
        word: "version",
        about: "the version",
        usage: "",
        reads: false,
        run: |_, out, _| crate::write_line(out, concat!("tfprof ", env!("CARGO_PKG_VERSION"))),
    },
];

/// The command of that word.
pub fn find(word: &str) -> Option<&'static CommandInfo> {
    COMMANDS.iter().find(|command| command.word == word)
}

/// The words of all commands.
pub fn words() -> Vec<&'static str> {
    COMMANDS.iter().map(|command| command.word).collect()
}
