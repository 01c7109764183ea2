//! tfprof on the command line: words become a request, a request becomes an answer and an exit code.
//!
//! The binary is three lines around [`run`], so that the Python package can ship the same command.

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
use tfprof::error::Error;

/// How a command ended. The numbers are a promise to scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Answered = 0,
    CouldNotAnswer = 1,
    WrongUsage = 2,
    /// There is an answer, and a check that was asked for failed.
    CheckFailed = 3,
    /// Part of an input was lost; the answer is about the rest.
    Damaged = 4,
}

/// Reads a line of the shell as the shell would, and does nothing with it; true if it makes sense.
#[cfg(fuzzing)]
pub fn understands_line(line: &str) -> bool {
    flags::parse_line(line, &tfprof::options::Options::default(), Terminal::default()).is_ok()
}

/// Runs one command line, without the program's name. `terminal` says which of the streams are one.
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
            // Nothing can be done if even standard error is closed.
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

/// Writes to standard output; that nobody reads on is no failure.
fn write_line(out: &mut dyn Write, line: &str) -> Result<Exit, Error> {
    target::to_stdout(out, |out| writeln!(out, "{line}")).map(|()| Exit::Answered)
}
