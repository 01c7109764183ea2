//! The view commands: load what the question needs, ask it, write the answer to its target.

use super::{Exit, load, open, refuse_directory, to_file, to_stdout, warn};
use crate::flags::Request;
use crate::target;
use std::io::Write;
use std::path::PathBuf;
use tfprof::{Answer, Dress, Error, Frames, Options, Part, Profiler, Question, ViewKind};

pub fn run(kind: ViewKind, request: &Request, out: &mut dyn Write, err: &mut dyn Write) -> Result<Exit, Error> {
    let question = question(kind, request)?;
    let (profiler, exit) = load(request, question.needs(&request.flags.inputs)?, err)?;
    let answered = answer(&question, &profiler, request, out, err)?;
    Ok(if exit == Exit::Answered { answered } else { exit })
}

/// The question of a request; with `--open` its answer goes to a file.
pub fn question(kind: ViewKind, request: &Request) -> Result<Question, Error> {
    let output = open::target(request)?;
    refuse_directory(&output, kind.word())?;
    let mut options = Options { output, ..request.options.clone() };
    // On a terminal, the frames of frameworks are folded.
    let on_terminal = request.terminal.stdout && options.output.to_screen() && !options.quirks.frames_are_all_shown;
    if on_terminal && options.frames == Frames::Auto {
        options.frames = Frames::User;
    }
    Ok(Question::new(kind, &options))
}

/// Answers the question from the loaded files, and writes the answer to its target.
pub fn answer(
    question: &Question,
    profiler: &Profiler,
    request: &Request,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Exit, Error> {
    write_answer(&profiler.ask(question)?, question, request, &request.flags.files(), out, err)
}

/// Writes an answer to its target, which must not be one of the files that it was made of.
pub fn write_answer(
    answer: &Answer,
    question: &Question,
    request: &Request,
    files: &[PathBuf],
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Exit, Error> {
    let outfile = &question.options.output.outfile;
    if answer.parts() > 1 && target::is_stream(outfile) {
        let (form, steps) = (answer.form().word, answer.parts());
        let why = format!("-output {form}: there are {steps} steps, and {outfile} can take one; choose it with -step");
        return Err(Error::Question(why));
    }
    // Damage that was found while values were written.
    let mut late = Vec::new();
    let mut written = 0;
    answer.each_part(|part| {
        warn(&part.view.warnings, err);
        let is_told = written < MOST_TOLD;
        write(part, answer.form().word, is_told, request, files, out, err)?;
        written += 1;
        late.extend(part.view.late_warnings());
        Ok::<(), Error>(())
    })?;
    if written > MOST_TOLD && !outfile.is_empty() {
        // Nothing can be done if even standard error is closed.
        let _ = writeln!(err, "tfprof: wrote {} more files, for the other steps", written - MOST_TOLD);
    }
    warn(&late, err);
    match late.iter().find(|warning| warning.damage) {
        Some(damage) if request.flags.strict => {
            Err(Error::Missing(format!("a value is damaged, and -strict was given: {damage}")))
        }
        Some(_) => Ok(Exit::Damaged),
        None => Ok(Exit::Answered),
    }
}

/// The most notes of a file, and the most files, that are told one by one; files beyond are not opened either.
const MOST_TOLD: usize = 10;

/// Writes one file of an answer and, if that is told, says how to open it.
fn write(
    part: &Part<'_>,
    form: &str,
    is_told: bool,
    request: &Request,
    files: &[PathBuf],
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<(), Error> {
    let output = &part.view.options.output;
    if output.to_nowhere() {
        return Ok(());
    }
    if output.to_screen() {
        let dress = Dress { theme: request.theme(), legend: !request.terminal.explained, ..Dress::PLAIN };
        return to_stdout(out, |out| part.write(&dress, out));
    }
    let stream = target::is_stream(&output.outfile);
    let file = if stream { &output.outfile } else { &part.file };
    let container = request.page();
    to_file(file, files, out, |out| part.write(&Dress { container, ..Dress::PLAIN }, out))?;
    // Nothing can be done if even standard error is closed.
    let notes = part.view.take_notes();
    if !is_told {
        return Ok(());
    }
    for note in notes.iter().take(MOST_TOLD) {
        let _ = writeln!(err, "tfprof: {note}");
    }
    if notes.len() > MOST_TOLD {
        let _ = writeln!(err, "tfprof: and {} more of these notes", notes.len() - MOST_TOLD);
    }
    open::say_and_open(request, file, form, err);
    Ok(())
}
