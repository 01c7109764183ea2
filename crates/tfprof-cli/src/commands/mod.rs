//! The commands: one file and one row of [`COMMANDS`] for each. [`run`] runs one; they share how inputs are loaded and
//! answers delivered.

mod advise;
mod checkpoint;
mod completions;
mod cost;
pub mod demo;
mod diff;
pub mod examples;
pub mod help;
pub mod info;
mod layers;
mod man;
mod open;
mod peak;
mod save;
mod script;
#[cfg(feature = "sql")]
pub mod sql;
pub mod stubs;
mod tables;
mod trace;
pub mod view;
pub mod web;
mod what_if;

use crate::flags::{self, FLAGS, Group, Request};
use crate::terminal::{Guard, ProgressBar, Terminal};
use crate::{shell, target};
use std::cell::RefCell;
use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use tfprof::internal::budget::{Account, ChargedWriter};
use tfprof::internal::render::fit;
use tfprof::{Error, Inputs, Keep, Output, Profiler, ViewKind, Warning};

use Takes::{All, Only};

/// Exit codes. Scripts rely on the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Answered = 0,
    CouldNotAnswer = 1,
    WrongUsage = 2,
    /// The answer was written, but a requested check failed.
    CheckFailed = 3,
    /// The answer was written, but part of an input is damaged and left out.
    Damaged = 4,
}

/// Runs one command line, without the program's name. `terminal` says which streams are terminals.
pub fn run(
    words: impl IntoIterator<Item = OsString>,
    terminal: Terminal,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> ExitCode {
    let (mut out, mut err) = (guarded(terminal.stdout, out), guarded(terminal.stderr, err));
    let (out, err) = (&mut *out, &mut *err);
    let words: Vec<OsString> = words.into_iter().collect();
    if let Some((first, words)) = words.split_first()
        && first == "run"
    {
        return script::run(words, err);
    }
    let outcome = flags::parse(words, terminal).and_then(|request| {
        // Everything that the command does is charged to one account.
        let account = Account::new(request.flags.inputs.limits, 0);
        let run = if request.flags.report.is_empty() { request.command.run } else { web::report };
        account.guard(|| run(&request, out, err))
    });
    let exit = match outcome {
        Ok(exit) => exit,
        Err(error) => {
            // Ignore a closed standard error.
            let _ = writeln!(err, "tfprof: {error}{}", sample_hint(&error));
            exit_of(&error)
        }
    };
    ExitCode::from(exit as u8)
}

/// The built-in sample comes before the command; people write it as a path, too.
fn sample_hint(error: &Error) -> &'static str {
    match error.cause() {
        Error::Io { file, source, .. } if file == "demo" && source.kind() == io::ErrorKind::NotFound => {
            "; for the built-in sample, type tfprof demo COMMAND, as in tfprof demo op"
        }
        _ => "",
    }
}

fn guarded<'a>(terminal: bool, stream: &'a mut dyn Write) -> Box<dyn Write + 'a> {
    if terminal { Box::new(Guard::new(stream)) } else { Box::new(stream) }
}

pub fn exit_of(error: &Error) -> Exit {
    if error.is_wrong_question() { Exit::WrongUsage } else { Exit::CouldNotAnswer }
}

/// A command, as help, completion and the parser see it.
#[derive(Debug)]
pub struct CommandInfo {
    pub word: &'static str,
    pub about: &'static str,
    /// The arguments.
    pub usage: &'static str,
    /// It needs input files.
    pub reads: bool,
    /// The options that it takes, besides flags of its own.
    takes: &'static [Takes],
    pub run: fn(&Request, &mut dyn Write, &mut dyn Write) -> Result<Exit, Error>,
}

/// Options that a command takes.
#[derive(Debug)]
enum Takes {
    All(Group),
    Only(&'static [&'static str]),
}

impl CommandInfo {
    /// Whether the command takes an option or a flag.
    pub fn takes(&self, name: &str) -> bool {
        let own = FLAGS.iter().any(|flag| flag.name == name && flag.commands.contains(&self.word));
        let group = Group::of(name);
        let taken = |takes: &Takes| match takes {
            All(known) => *known == group,
            Only(names) => names.contains(&name),
        };
        own || self.takes.iter().any(taken)
    }
}

/// The options of views, and of commands that ask views.
const VIEW: &[Takes] = &[
    All(Group::Counted),
    All(Group::Rows),
    All(Group::Traces),
    All(Group::Limits),
    All(Group::Output),
    All(Group::Inputs),
    All(Group::Model),
    All(Group::Reading),
    All(Group::Quirks),
];

const TARGET: Takes = Only(&["output", "format", "outfile"]);

const fn view(kind: ViewKind, run: fn(&Request, &mut dyn Write, &mut dyn Write) -> Result<Exit, Error>) -> CommandInfo {
    CommandInfo { word: kind.word(), about: kind.about(), usage: "[PATH...] [options]", reads: true, takes: VIEW, run }
}

/// All commands, in the order of the help.
pub const COMMANDS: &[CommandInfo] = &[
    view(ViewKind::Scope, |request, out, err| view::run(ViewKind::Scope, request, out, err)),
    view(ViewKind::Graph, |request, out, err| view::run(ViewKind::Graph, request, out, err)),
    view(ViewKind::Op, |request, out, err| view::run(ViewKind::Op, request, out, err)),
    view(ViewKind::Code, |request, out, err| view::run(ViewKind::Code, request, out, err)),
    CommandInfo {
        word: "cost",
        about: "parameters, FLOPs and bytes of a model, by layer, and the nodes of unknown cost",
        usage: "MODEL [--budget=FILE.toml] [--fail_on_unknown] [--baseline=OLD] [options]",
        reads: true,
        takes: &[All(Group::Output), All(Group::Inputs), All(Group::Model), All(Group::Reading)],
        run: cost::run,
    },
    CommandInfo {
        word: "layers",
        about: "the layers of a model: shapes, parameters, FLOPs, bytes, activations and, with a run, time and share of the peak",
        usage: "MODEL [RUN] [-max_depth N] [-peak_flops RATE] [-output FILE.html] [options]",
        reads: true,
        takes: &[
            Only(&["max_depth", "step_marker", "run", "hosts"]),
            All(Group::Limits),
            All(Group::Output),
            All(Group::Inputs),
            All(Group::Model),
            All(Group::Reading),
        ],
        run: layers::run,
    },
    CommandInfo {
        word: "whatif",
        about: "the least step time, and the memory, at other batch sizes, precisions, lengths or devices",
        usage: "MODEL [--batch 1,8,32] [--dtype bf16] [-device h100,a100] [--seq 8192] [-output FILE.html]",
        reads: true,
        takes: &[All(Group::Limits), All(Group::Output), All(Group::Inputs), All(Group::Model), All(Group::Reading)],
        run: what_if::run,
    },
    CommandInfo {
        word: "advise",
        about: "problems in the loaded data, and how to fix them",
        usage: "[PATH...] [--checkers=NAME,...] [-output FILE.html]",
        reads: true,
        takes: &[
            Only(&["step_marker", "run", "hosts"]),
            All(Group::Output),
            All(Group::Inputs),
            All(Group::Model),
            All(Group::Reading),
            All(Group::Quirks),
        ],
        run: advise::run,
    },
    CommandInfo {
        word: "save",
        about: "all loaded data as one ProfileProto, which --profile_path reads",
        usage: "[PATH...] --outfile=FILE",
        reads: true,
        takes: &[TARGET, All(Group::Inputs), All(Group::Model), All(Group::Reading), All(Group::Quirks)],
        run: save::run,
    },
    CommandInfo {
        word: "trace",
        about: "runs and profiles as a trace for Perfetto (https://ui.perfetto.dev)",
        usage: "FILE... [--outfile=FILE] [options]",
        reads: true,
        takes: &[Only(&["run", "hosts"]), TARGET, All(Group::Inputs), All(Group::Reading)],
        run: trace::run,
    },
    CommandInfo {
        word: "tables",
        about: "everything that is loaded as tables for DuckDB, pandas, polars, Spark or SQLite",
        usage: "[PATH...] [-output DIR/ | -output FILE.sqlite | --table=NAME [-output FILE.parquet]]",
        reads: true,
        takes: &[
            Only(&["step_marker", "run", "hosts"]),
            TARGET,
            All(Group::Inputs),
            All(Group::Model),
            All(Group::Reading),
        ],
        run: tables::run,
    },
    #[cfg(feature = "sql")]
    CommandInfo {
        word: "sql",
        about: "answers to SQL about these tables; without a statement, a prompt or a script",
        usage: "[PATH...] ['select ...' | .tables | '.schema TABLE'] [-output FILE]",
        reads: true,
        takes: &[
            Only(&["step_marker", "run", "hosts"]),
            TARGET,
            All(Group::Inputs),
            All(Group::Model),
            All(Group::Reading),
        ],
        run: sql::run,
    },
    CommandInfo {
        word: "diff",
        about: "what changed between two runs or models, in any view; with -budget, whether that is too much",
        usage: "[scope|graph|op|code|cost|checkpoint|info] BEFORE AFTER [options] | --save=FILE RUN",
        reads: false,
        takes: &[
            All(Group::Counted),
            All(Group::Rows),
            All(Group::Traces),
            All(Group::Limits),
            All(Group::Output),
            All(Group::Model),
            All(Group::Reading),
        ],
        run: diff::run,
    },
    CommandInfo {
        word: "checkpoint",
        about: "the tensors of a checkpoint: shapes, sizes, statistics, values; of two checkpoints, the differences",
        usage: "P [Q] [--stats] [--values NAME[0:2,:]] [--verify] [options]",
        reads: false,
        takes: &[
            Only(&["order_by", "show_name_regexes", "hide_name_regexes", "min_params", "min_bytes"]),
            All(Group::Output),
            Only(&["checkpoint_path", "strict", "follow", "max_memory", "max_work"]),
        ],
        run: checkpoint::run,
    },
    CommandInfo {
        word: "info",
        about: "an overview of the files, and questions to ask next",
        usage: "[PATH...] [-output FILE.html | -output DIR/]",
        reads: true,
        takes: VIEW,
        run: info::run,
    },
    CommandInfo {
        word: "peak",
        about: "what this machine's CPU can do at the most, measured, and saved for other questions",
        usage: "[--threads=N] [--no_save] [-output FILE.json]",
        reads: false,
        takes: &[TARGET],
        run: peak::run,
    },
    CommandInfo {
        word: "web",
        about: "all of it as a page in the browser: overview, flame graph, timeline, graph, memory, code",
        usage: "[PATH...] [--baseline=OTHER] [--port=N] [--no_open] [--source_root=DIR] | -output report:outfile=FILE",
        reads: true,
        takes: &[
            Only(&["step_marker", "run", "hosts", "output"]),
            All(Group::Inputs),
            All(Group::Model),
            All(Group::Reading),
        ],
        run: web::run,
    },
    CommandInfo {
        word: "run",
        about: "record some steps of a Python script, unedited, and print the first lines of the answer",
        usage: "[--outdir=DIR] [--steps=N] [--warmup=N] [--no_stacks] SCRIPT [argument...]",
        reads: false,
        takes: &[],
        run: |_, _, _| Err(Error::Question("run comes first: tfprof run SCRIPT [argument...]".to_owned())),
    },
    CommandInfo {
        word: "shell",
        about: "an interactive session; on a terminal, PATH without a command starts it",
        usage: "[PATH...] [options]",
        reads: true,
        takes: VIEW,
        run: shell::run,
    },
    CommandInfo {
        word: "demo",
        about: "any command on the built-in sample, a ResNet-32; alone, its overview and the shell",
        usage: "[COMMAND] [options] | --write DIR",
        reads: false,
        takes: VIEW,
        run: demo::run,
    },
    CommandInfo {
        word: "help",
        about: "commands and options; help WORD describes one",
        usage: "[COMMAND|OPTION|inputs|options]",
        reads: false,
        takes: &[],
        run: |request, out, _| help::run(request, out),
    },
    CommandInfo {
        word: "completions",
        about: "a completion script for your shell",
        usage: "bash|zsh|fish",
        reads: false,
        takes: &[],
        run: |request, out, _| completions::run(request, out),
    },
    CommandInfo {
        word: "man",
        about: "the manual page; `man markdown` for the web, `man flops` for how FLOPs are counted",
        usage: "[roff|markdown|flops]",
        reads: false,
        takes: &[],
        run: |request, out, _| man::run(request, out),
    },
    CommandInfo {
        word: "version",
        about: "the version",
        usage: "",
        reads: false,
        takes: &[],
        run: |_, out, _| write_text(out, concat!("tfprof ", env!("CARGO_PKG_VERSION"), "\n")),
    },
];

/// The commands that only the shell has.
pub const SHELL_COMMANDS: &[CommandInfo] = &[
    CommandInfo {
        takes: &[
            All(Group::Counted),
            All(Group::Rows),
            All(Group::Traces),
            All(Group::Limits),
            All(Group::Output),
            All(Group::Model),
            All(Group::Quirks),
        ],
        ..in_shell("set", "[options]", "keep options for the lines that follow; alone, show them as Enter does")
    },
    in_shell("reset", "", "take back every `set`"),
    CommandInfo {
        takes: &[All(Group::Inputs), Only(&["max_memory", "max_work", "max_unpacked"])],
        ..in_shell("load", "PATH...", "add a step, an op log or another file to what is loaded")
    },
    in_shell("quit", "", "leave; so do exit and Ctrl-D"),
    in_shell("exit", "", "leave"),
];

const fn in_shell(word: &'static str, usage: &'static str, about: &'static str) -> CommandInfo {
    CommandInfo {
        word,
        about,
        usage,
        reads: false,
        takes: &[],
        run: |request, _, _| {
            let word = request.command.word;
            let message = format!("{word} is a command of the shell, which `tfprof shell PATH` starts (tfprof help)");
            Err(Error::Question(message))
        },
    }
}

/// Commands that the shell does not have.
const OUTSIDE: &[&str] = &["peak", "whatif", "layers", "web", "run", "shell", "demo", "diff", "completions", "man"];

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

// ---- what commands share

/// Rejects several batch sizes where one counts.
fn several_batches(request: &Request) -> Result<(), Error> {
    if request.flags.batches.len() > 1 {
        return Err(Error::option("batch", "expected one number; whatif compares several"));
    }
    Ok(())
}

/// Loads the inputs of the request and prints the warnings.
pub fn load(request: &Request, keep: Keep, err: &mut dyn Write) -> Result<(Profiler, Exit), Error> {
    let mut profiler = Profiler::new(keep);
    let loaded = load_into(&mut profiler, &request.flags.inputs, request.terminal, err);
    warn(profiler.warnings(), err);
    loaded?;
    let exit = refuse_damage(profiler.warnings(), request.flags.strict)?;
    Ok((profiler, exit))
}

/// Loads inputs; at a terminal, with a progress bar if that takes long.
pub fn load_into(
    profiler: &mut Profiler,
    inputs: &Inputs,
    terminal: Terminal,
    err: &mut dyn Write,
) -> Result<(), Error> {
    if !terminal.stderr {
        return inputs.load(profiler);
    }
    let bar = RefCell::new(ProgressBar::new(err));
    let outcome = inputs.load_with(profiler, &|reading| bar.borrow_mut().tick(reading));
    bar.into_inner().clear();
    outcome
}

/// The exit code after these warnings; with `strict`, damage is an error.
fn refuse_damage(warnings: &[Warning], strict: bool) -> Result<Exit, Error> {
    match warnings.iter().find(|warning| warning.damage) {
        Some(damage) if strict => Err(Error::Missing(format!("refused, since -strict was given: {damage}"))),
        Some(_) => Ok(Exit::Damaged),
        None => Ok(Exit::Answered),
    }
}

pub fn warn(warnings: &[Warning], err: &mut dyn Write) {
    for warning in warnings {
        // Nothing can be done if even standard error is closed.
        let _ = writeln!(err, "tfprof: warning: {warning}");
    }
}

/// Writes to standard output. A closed pipe (`| head`) is not an error.
pub fn to_stdout(out: &mut dyn Write, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Error> {
    let mut buffered = BufWriter::with_capacity(64 * 1024, Patient(out));
    let filled = fill(&mut ChargedWriter(&mut buffered));
    match filled.and_then(|()| buffered.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::Io { file: "standard output".to_owned(), action: "cannot write", source: error })
        }
        _ => {
            // Drop the rest after a broken pipe.
            let _ = buffered.into_parts();
            Ok(())
        }
    }
}

/// A writer that waits for a stream that takes nothing at the moment: some programs make their pipes non-blocking.
struct Patient<'w>(&'w mut dyn Write);

impl Patient<'_> {
    fn retry<T>(&mut self, mut attempt: impl FnMut(&mut dyn Write) -> io::Result<T>) -> io::Result<T> {
        loop {
            match attempt(self.0) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::sleep(PATIENCE),
                other => return other,
            }
        }
    }
}

/// The time between two attempts to write.
const PATIENCE: Duration = Duration::from_millis(2);

impl Write for Patient<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.retry(|out| out.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.retry(|out| out.flush())
    }
}

/// Writes a text to standard output.
pub fn write_text(out: &mut dyn Write, text: &str) -> Result<Exit, Error> {
    to_stdout(out, |out| out.write_all(text.as_bytes())).map(|()| Exit::Answered)
}

/// Writes to a file, or to standard output if it is `-`.
fn to_file(
    file: &str,
    inputs: &[PathBuf],
    out: &mut dyn Write,
    fill: impl FnMut(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Error> {
    if file == "-" { to_stdout(out, fill) } else { target::to_file(file, inputs, fill) }
}

/// A form that a command writes: its word, and its writer.
type Writer<'w> = (&'static str, &'w dyn Fn(&mut dyn Write) -> io::Result<()>);

/// Writes an answer to the target of `-output`, in its form, and opens it if asked. The first form is text.
fn deliver(
    request: &Request,
    inputs: &[PathBuf],
    out: &mut dyn Write,
    err: &mut dyn Write,
    forms: &[Writer<'_>],
) -> Result<(), Error> {
    let output = &open::target(request)?;
    if output.to_nowhere() {
        return Ok(());
    }
    if output.to_screen() {
        let write = forms[0].1;
        return match request.terminal.width {
            None => to_stdout(out, write),
            Some(width) => to_stdout(out, |out: &mut dyn Write| {
                let mut text = Vec::new();
                write(&mut text)?;
                out.write_all(&fit::wrapped(&text, width))
            }),
        };
    }
    refuse_directory(output, request.command.word)?;
    check_form(output, request.command.word, &forms.iter().map(|(word, _)| *word).collect::<Vec<_>>())?;
    if let Some((_, write)) = forms.iter().find(|(word, _)| *word == output.form) {
        to_file(&output.outfile, inputs, out, write)?;
        open::say_and_open(request, &output.outfile, &output.form, err);
    }
    Ok(())
}

/// Rejects a directory; only the overview writes several pages.
fn refuse_directory(output: &Output, command: &str) -> Result<(), Error> {
    if !output.is_directory() {
        return Ok(());
    }
    let dir = &output.outfile;
    let how = format!("name a file, as in -output {dir}{command}.html, or write all pages with `info -output {dir}`");
    Err(Error::Question(format!("{dir} is a directory; {how}")))
}

/// Rejects a form that a command does not write.
fn check_form(output: &Output, command: &str, words: &[&str]) -> Result<(), Error> {
    let form = output.form.as_str();
    if !Output::takes_file(form) || words.contains(&form) {
        return Ok(());
    }
    let words = words.join(", ");
    Err(Error::Question(format!("{command} has no form `{form}`; expected stdout, {words} or none")))
}
