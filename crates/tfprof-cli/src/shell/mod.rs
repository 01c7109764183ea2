//! The shell: many questions about the same files, from a terminal or from a script on standard input.
//!
//! A line is parsed like a command line (`flags`) and answered by the same commands. Files stay loaded, and `set` keeps
//! options.

mod complete;
mod history;
pub mod line;
mod pager;
mod redirect;
mod session;
#[cfg(feature = "sql")]
pub mod sql_prompt;

use crate::commands::{Exit, exit_of, info, write_text};
use crate::flags::Request;
use complete::Words;
use pager::{Pager, Screen};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Config, Editor};
use session::{Next, Session};
use std::cell::RefCell;
use std::io::{self, BufRead, Write};
use std::rc::Rc;
use tfprof::Error;

/// Asks at a terminal, runs a script from standard input, or shows the overview if there is neither.
pub fn run(request: &Request, out: &mut dyn Write, err: &mut dyn Write) -> Result<Exit, Error> {
    run_from(request, None, out, err)
}

/// The same, and at a terminal the overview comes first.
pub fn run_with_overview(request: &Request, out: &mut dyn Write, err: &mut dyn Write) -> Result<Exit, Error> {
    run_from(request, Some("info"), out, err)
}

fn run_from(
    request: &Request,
    first_line: Option<&str>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Exit, Error> {
    let reads_stdin = request.flags.inputs.paths().any(|path| path.as_os_str() == "-");
    let terminal = request.terminal;
    if reads_stdin || (terminal.stdin && !terminal.stdout) {
        return info::run(request, out, err);
    }
    if terminal.stdin {
        return interact(request, first_line, out, err);
    }
    let mut lines = io::stdin().lock().lines();
    match lines.next() {
        None => info::run(request, out, err),
        Some(first) => script(request, std::iter::once(first).chain(lines), out, err),
    }
}

/// Runs lines until one fails, and reports its number.
fn script(
    request: &Request,
    lines: impl Iterator<Item = io::Result<String>>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Exit, Error> {
    let mut session = Session::new(request, err)?;
    let pager = Pager::of_script();
    for (i, line) in lines.enumerate() {
        let read_error = |source| Error::Io { file: "standard input".to_owned(), action: "cannot read", source };
        let line = line.map_err(read_error)?;
        match redirect::execute(&mut session, &line, &pager, out, err) {
            Ok(Next::GoOn) => {}
            Ok(Next::Leave) => break,
            Err(error) => {
                // Nothing can be done if even standard error is closed.
                let _ = writeln!(err, "tfprof: line {}: {error}", i + 1);
                return Ok(exit_of(&error));
            }
        }
    }
    Ok(session.exit())
}

const PROMPT: &str = "tfprof> ";

fn interact(
    request: &Request,
    first_line: Option<&str>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Exit, Error> {
    let session = Rc::new(RefCell::new(Session::new(request, err)?));
    let pager = Pager::of_process();
    let mut editor = editor(Rc::clone(&session)).map_err(|error| terminal_error(&error))?;
    let history = history::file();
    if let Some(file) = &history {
        // Start a new history if the old one cannot be read.
        let _ = editor.load_history(file);
    }
    if let Some(line) = first_line {
        session.borrow_mut().execute(line, out, err)?;
        write_text(out, "\n")?;
    }
    let greeting = session.borrow().greeting();
    write_text(out, &format!("{greeting}\n"))?;
    loop {
        let line = match editor.readline(PROMPT) {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(terminal_error(&error)),
        };
        if !line.trim().is_empty() {
            let _ = editor.add_history_entry(&line);
            history.iter().for_each(|file| history::save(&mut editor, file));
        }
        let mut screen = Screen::new(out, editor.dimensions(), pager.clone());
        let outcome = redirect::execute(&mut session.borrow_mut(), &line, &pager, &mut screen, err);
        screen.finish().map_err(|source| Error::Io {
            file: "standard output".to_owned(),
            action: "cannot write",
            source,
        })?;
        match outcome {
            Ok(Next::GoOn) => {}
            Ok(Next::Leave) => break,
            Err(error) => drop(writeln!(err, "tfprof: {error}")),
        }
    }
    let exit = session.borrow().exit();
    Ok(exit)
}

fn editor(session: Rc<RefCell<Session>>) -> rustyline::Result<Editor<Words, FileHistory>> {
    let config = Config::builder()
        .max_history_size(1000)?
        .history_ignore_dups(true)?
        .history_ignore_space(true)
        .completion_type(CompletionType::List)
        .completion_show_all_if_ambiguous(true)
        .build();
    let mut editor = Editor::with_config(config)?;
    editor.set_helper(Some(Words::new(session)));
    Ok(editor)
}

fn terminal_error(error: &ReadlineError) -> Error {
    let source = io::Error::other(error.to_string());
    Error::Io { file: "terminal".to_owned(), action: "cannot read", source }
}
