//! Runs a line whose answer goes to a command or a file. The answer is as plain and as wide as in any pipe.

use super::line::{self, Redirect};
use super::pager::Pager;
use super::session::{Next, Session};
use crate::target;
use std::io::{self, Write};
use std::process::{Child, ChildStdin};
use tfprof::Error;

/// Runs one line, and sends its answer where the line says.
pub fn execute(
    session: &mut Session,
    text: &str,
    pager: &Pager,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Next, Error> {
    // A comment may contain anything.
    if text.trim_start().starts_with('#') {
        return Ok(Next::GoOn);
    }
    let (question, redirect) = line::redirected(text).map_err(Error::Question)?;
    let Some(redirect) = redirect else { return session.execute(text, out, err) };
    out.flush().map_err(|source| Error::Io { file: "standard output".to_owned(), action: "cannot write", source })?;
    session.without_terminal(|session| match redirect {
        Redirect::Pipe(command) => pipe(session, question, pager.with(command), err),
        Redirect::File(file) => write(session, question, &file, err),
        Redirect::Append(file) => append(session, question, &file, err),
    })
}

/// Writes the answer to a file, which stays as it is if there is no answer.
fn write(session: &mut Session, question: &str, file: &str, err: &mut dyn Write) -> Result<Next, Error> {
    let mut outcome = Ok(Next::GoOn);
    let written = target::to_file(file, &session.files(), |out| {
        outcome = session.execute(question, out, err);
        if outcome.is_ok() { Ok(()) } else { Err(io::Error::other("there is no answer")) }
    });
    let next = outcome.map_err(|error| into_file(error, file))?;
    written.map(|()| next)
}

/// Appends the answer to a file, all of it or nothing.
fn append(session: &mut Session, question: &str, file: &str, err: &mut dyn Write) -> Result<Next, Error> {
    let mut answer = Vec::new();
    let next = session.execute(question, &mut answer, err)?;
    target::append(file, &session.files(), &answer)?;
    Ok(next)
}

/// An answer that cannot be written names the file.
fn into_file(error: Error, name: &str) -> Error {
    match error {
        Error::Io { file, action, source } if file == "standard output" => {
            Error::Io { file: name.to_owned(), action, source }
        }
        error => error,
    }
}

fn pipe(session: &mut Session, question: &str, pager: Pager, err: &mut dyn Write) -> Result<Next, Error> {
    let mut command = Lazy { pager, child: None };
    let outcome = session.execute(question, &mut command, err);
    if outcome.is_ok()
        && let Err(error) = command.start()
    {
        return Err(command.failure(&error.to_string()));
    }
    command.end()?;
    outcome
}

/// A command that starts with the first byte of an answer: if there is none, it does not run.
struct Lazy {
    pager: Pager,
    child: Option<(Child, ChildStdin)>,
}

impl Lazy {
    fn start(&mut self) -> io::Result<&mut ChildStdin> {
        if self.child.is_none() {
            self.child = Some(self.pager.start()?);
        }
        self.child.as_mut().map(|(_, stdin)| stdin).ok_or_else(|| io::Error::other("it did not start"))
    }

    /// Waits for the command. Its own exit code is its own affair, unless the system could not run it.
    fn end(mut self) -> Result<(), Error> {
        let Some((mut child, stdin)) = self.child.take() else { return Ok(()) };
        drop(stdin);
        let ended = child.wait();
        self.pager.ended();
        match ended.map(|status| status.code()) {
            Ok(Some(code @ (126 | 127))) => Err(self.failure(&format!("exit code {code}"))),
            Ok(_) => Ok(()),
            Err(error) => Err(self.failure(&error.to_string())),
        }
    }

    fn failure(&self, why: &str) -> Error {
        Error::Missing(format!("cannot run `{}`: {why}", self.pager.command()))
    }
}

impl Write for Lazy {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.start()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
