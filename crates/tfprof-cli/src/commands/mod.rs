//! The commands: one file and one row of [`COMMANDS`] for each. [`run`] runs one; they share how inputs are loaded and
//! answers delivered.

mod advise;
mod checkpoint;
mod completions;
mod cost;
pub mod demo;
pub mod diff;
pub mod examples;
mod fleet;
pub mod help;
pub mod info;
mod layers;
mod man;
mod merge;
mod open;
mod peak;
mod save;
mod script;
#[cfg(feature = "sql")]
pub mod sql;
pub mod stubs;
mod table;
mod tables;
mod trace;
pub mod view;
pub mod web;
mod what_if;

use crate::flags::{self, FLAGS, Group, Request};
use crate::target;
use crate::terminal::{Guard, ProgressBar, Terminal};
use std::cell::RefCell;
use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use tfprof::internal::budget::{Account, ChargedWriter};
use tfprof::internal::render::fit;
use tfprof::{Error, Inputs, Keep, Output, Profiler, Warning};

pub use table::{COMMANDS, SHELL_COMMANDS};

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

/// Commands that the shell does not have.
const OUTSIDE: &[&str] =
    &["peak", "whatif", "layers", "web", "run", "shell", "demo", "merge", "fleet", "completions", "man"];

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
