//! The command line: parses a request, runs its command, and returns an exit code.
//!
//! The binary only calls [`run`], and so does the `tfprof` command of the Python package.

mod commands;
mod flags;
mod progress;
mod shell;
pub mod target;
mod terminal;

pub use commands::demo::Sample;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;
use terminal::Guard;
pub use terminal::Terminal;
use tfprof::Error;

/// Exit codes. Scripts rely on the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Answered = 0,
    CouldNotAnswer = 1,
    WrongUsage = 2,
    /// The answer was written, but a requested check failed.
    CheckFailed = 3,
    /// The answer was written, but part of an input is damaged and left out.
    Damaged = 4,
}

/// Whether the shell can parse a line. For fuzzing.
#[cfg(fuzzing)]
pub fn understands_line(line: &str) -> bool {
    flags::parse_line(line, &tfprof::Options::default(), Terminal::default()).is_ok()
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
    let outcome = flags::parse(words, terminal).and_then(|request| (request.command.run)(&request, out, err));
    let exit = match outcome {
        Ok(exit) => exit,
        Err(error) => {
            // Ignore a closed standard error.
            let _ = writeln!(err, "tfprof: {error}");
            exit_of(&error)
        }
    };
    ExitCode::from(exit as u8)
}

fn guarded<'a>(terminal: bool, stream: &'a mut dyn Write) -> Box<dyn Write + 'a> {
    if terminal { Box::new(Guard::new(stream)) } else { Box::new(stream) }
}

fn exit_of(error: &Error) -> Exit {
    if error.is_wrong_question() { Exit::WrongUsage } else { Exit::CouldNotAnswer }
}

/// Writes to standard output. A closed pipe is not an error.
fn write_line(out: &mut dyn Write, line: &str) -> Result<Exit, Error> {
    target::to_stdout(out, |out| writeln!(out, "{line}")).map(|()| Exit::Answered)
}
