//! `tfprof diff [VIEW] A B`: what changed between two runs or models, in any view.

use super::{
    CommandInfo, Exit, checkpoint, cost, deliver, find, load_into, refuse_damage, save, to_stdout, view, warn,
};
use crate::flags::{Flags, Request};
use std::io::Write;
use std::path::{Path, PathBuf};
use tfprof::internal::comma_list;
use tfprof::internal::engine::needs;
use tfprof::internal::render::fit;
use tfprof::internal::report::budget;
use tfprof::internal::report::overview::difference;
use tfprof::{
    Answer, Budget, Comparing, Error, Inputs, Keep, Output, Profiler, Question, Role, View, ViewKind, Warning, compare,
};

/// The views, besides those of a profile.
const OTHERS: [&str; 3] = ["cost", "checkpoint", "info"];

pub fn run(request: &Request, out: &mut dyn Write, err: &mut dyn Write) -> Result<Exit, Error> {
    let (exit, loaded) = run_and_keep(request, out, err)?;
    // The program ends now, and with it all of its memory at once: that is faster than piece by piece.
    // Where a temporary file cannot be removed while it is open, it goes with what it belongs to.
    if cfg!(unix) {
        std::mem::forget(loaded);
    }
    Ok(exit)
}

/// The answer and both profiles, kept until the process ends: freeing large ones takes time.
type Loaded = Option<(Answer, [Profiler; 2])>;

fn run_and_keep(request: &Request, out: &mut dyn Write, err: &mut dyn Write) -> Result<(Exit, Loaded), Error> {
    if !request.flags.save.is_empty() {
        let rest = named(request).1;
        return match rest {
            [run] => Ok((save::partial(request, &side(request, run)?, &request.flags.save, out, err)?, None)),
            _ => Err(Error::Question(format!("-save keeps one run, and {} were named", rest.len()))),
        };
    }
    let (word, before, after) = sides(request)?;
    answer(word, request, &[Side::new(request, before)?, Side::new(request, after)?], out, err)
}

/// `diff [VIEW] BEFORE` of the shell: the loaded files are the second side, unless two sides are named.
pub fn run_in_shell(mut request: Request, out: &mut dyn Write, err: &mut dyn Write) -> Result<Exit, Error> {
    let loaded = std::mem::take(&mut request.flags.inputs);
    request.flags.inputs.settings.clone_from(&loaded.settings);
    request.flags.inputs.limits = loaded.limits;
    match named(&request) {
        (word, [before]) if request.flags.save.is_empty() => {
            let path = loaded.of(Role::Checkpoint).next().map(|input| input.path.clone());
            let after = Side { name: "(loaded)".to_owned(), path: path.unwrap_or_default(), inputs: loaded };
            if word == Some("checkpoint") && after.path.as_os_str().is_empty() {
                let how = "diff checkpoint BEFORE AFTER";
                return Err(Error::Question(format!("no checkpoint is loaded; name both sides: {how}")));
            }
            Ok(answer(word, &request, &[Side::new(&request, before)?, after], out, err)?.0)
        }
        (_, []) if request.flags.save.is_empty() => {
            let how = "diff [VIEW] BEFORE, or diff [VIEW] BEFORE AFTER";
            Err(Error::Question(format!("diff compares another run with the one that is loaded: {how}")))
        }
        _ => Ok(run_and_keep(&request, out, err)?.0),
    }
}

/// One side: its name for people, the path that was named, and its files.
struct Side {
    name: String,
    path: PathBuf,
    inputs: Inputs,
}

impl Side {
    fn new(request: &Request, path: &Path) -> Result<Side, Error> {
        Ok(Side { name: path.display().to_string(), path: path.to_owned(), inputs: side(request, path)? })
    }
}

fn answer(
    word: Option<&str>,
    request: &Request,
    sides: &[Side; 2],
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<(Exit, Loaded), Error> {
    let exit = match word {
        Some("cost") => cost::run(&cost_request(request, sides), out, err),
        Some("checkpoint") => checkpoint::run(
            &asked(request, "checkpoint", sides.iter().map(|side| side.path.clone()).collect()),
            out,
            err,
        ),
        Some("info") => info(request, sides, out, err),
        word => {
            let kind = word.and_then(ViewKind::parse).unwrap_or(ViewKind::Scope);
            return views(kind, request, sides, out, err);
        }
    };
    Ok((exit?, None))
}

/// The view that was named, if any, and the paths after it.
fn named(request: &Request) -> (Option<&str>, &[PathBuf]) {
    let is_view = |word: &&str| ViewKind::parse(word).is_some() || OTHERS.contains(word);
    let word = request.paths.first().and_then(|path| path.to_str()).filter(is_view);
    (word, &request.paths[usize::from(word.is_some())..])
}

/// The view, and the paths of both sides.
pub fn sides(request: &Request) -> Result<(Option<&str>, &Path, &Path), Error> {
    let (word, rest) = named(request);
    let [before, after] = rest else {
        let found = match rest.len() {
            0 => "none were named".to_owned(),
            1 => "one was named".to_owned(),
            n => format!("{n} were named; separate the files of one side by commas"),
        };
        let how = "tfprof diff [scope|graph|op|code|cost|checkpoint|info] BEFORE AFTER";
        return Err(Error::Question(format!("diff compares two runs or models, and {found}: {how}")));
    };
    Ok((word, before, after))
}

fn views(
    kind: ViewKind,
    request: &Request,
    [before, after]: &[Side; 2],
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<(Exit, Loaded), Error> {
    // Read the budget first: its errors should not wait for the files.
    let budget = match request.flags.budget.as_str() {
        "" => None,
        file => Some(cost::read_budget(file)?),
    };
    let question = view::question(kind, request)?;
    let keep = |inputs: &Inputs| match budget {
        // Limits may be about any view.
        Some(_) => Ok(Keep { records: question.needs_records()?, ..needs::ANY_VIEW }),
        None => question.needs_to_compare(inputs),
    };
    let comparing = &request.flags.comparing;
    let mut files = before.inputs.files();
    files.extend(after.inputs.files());
    let (a, first) = load(request, &before.inputs, keep(&before.inputs)?, &before.name, err)?;
    let (b, second) = load(request, &after.inputs, keep(&after.inputs)?, &after.name, err)?;
    let answer = compare((&before.name, &a), (&after.name, &b), &question, comparing)?;
    let written = view::write_answer(&answer, &question, request, &files, out, err)?;
    let mut exit = [first, second, written].into_iter().find(|exit| *exit != Exit::Answered).unwrap_or(Exit::Answered);
    if let Some(budget) = budget
        && check(&budget, [(&before.name, &a), (&after.name, &b)], request, out, err)?
    {
        exit = Exit::CheckFailed;
    }
    Ok((exit, Some((answer, [a, b]))))
}

/// Checks a budget, and says what is not kept; true if anything is.
fn check(
    budget: &Budget,
    [before, after]: [(&String, &Profiler); 2],
    request: &Request,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<bool, Error> {
    let mut answers = Vec::new();
    for (kind, mut options) in budget.questions() {
        options.step = request.options.step;
        options.output = Output { form: "json".to_owned(), outfile: "-".to_owned() };
        let comparing = Comparing { only_guesses: false, ..request.flags.comparing.clone() };
        match compare((before.0, before.1), (after.0, after.1), &Question::new(kind, &options), &comparing) {
            Ok(answer) => answers.push(answer),
            // A side without lines of code: its limits are listed as not checked.
            Err(Error::Missing(_)) => {}
            Err(error) if matches!(error.cause(), Error::Missing(_)) => {}
            Err(error) => return Err(error),
        }
    }
    let views: Vec<&View> = answers.iter().map(Answer::view).collect();
    let verdict = budget.check_views(&views);
    cost::tell_unchecked(&verdict, err);
    let has_before = verdict.over.iter().any(|over| over.before.is_some());
    let head = budget::render::head(has_before);
    let rows: Vec<_> = verdict.over.iter().map(|over| budget::render::cells(over, has_before)).collect();
    let output = &request.options.output;
    let is_markdown = output.form == "markdown" && output.outfile == "-";
    let write = |target: &mut dyn Write| match (rows.is_empty(), is_markdown) {
        (true, _) => writeln!(target, "\nbudget: all limits are kept"),
        (false, true) => {
            writeln!(target, "\n**over budget**\n\n| {} |\n|{}", head.join(" | "), "---|".repeat(head.len()))?;
            let cell = |cell: &String| cell.replace('|', "\\|");
            let line = |row: &Vec<String>| row.iter().map(cell).collect::<Vec<_>>().join(" | ");
            rows.iter().try_for_each(|row| writeln!(target, "| {} |", line(row)))
        }
        (false, false) => {
            writeln!(target, "\nover budget")?;
            fit::write_table(&head, &rows, |column| column > 1, request.terminal.width, target)
        }
    };
    // An answer for programs stays one: the table goes where warnings go.
    if output.to_screen() || is_markdown {
        to_stdout(out, write)?;
    } else {
        // Nothing can be done if even standard error is closed.
        let _ = write(err);
    }
    Ok(!rows.is_empty())
}

/// The files of one side: a path, or several separated by commas.
pub fn side(request: &Request, path: &Path) -> Result<Inputs, Error> {
    let mut inputs = request.flags.inputs.clone();
    inputs.run.clone_from(&request.options.run);
    inputs.step_marker.clone_from(&request.options.step_marker);
    add_side(&mut inputs, path)?;
    Ok(inputs)
}

/// Adds a path, or several separated by commas.
pub fn add_side(inputs: &mut Inputs, path: &Path) -> Result<(), Error> {
    let Some(list) = path.to_str().filter(|text| text.contains(',') && !path.exists()) else {
        return inputs.add_path(path);
    };
    comma_list::split_list(list)
        .iter()
        .try_for_each(|path| inputs.add_path(Path::new(&comma_list::unescaped_commas(path))))
}

/// Loads one side, and says which one a warning is about.
pub fn load(
    request: &Request,
    inputs: &Inputs,
    keep: Keep,
    name: &str,
    err: &mut dyn Write,
) -> Result<(Profiler, Exit), Error> {
    let mut profiler = Profiler::new(keep);
    let loaded = load_into(&mut profiler, inputs, request.terminal, err);
    warn(&profiler.warnings().iter().map(|warning| warning.of_side(name)).collect::<Vec<_>>(), err);
    loaded?;
    let exit = refuse_damage(profiler.warnings(), request.flags.strict)?;
    Ok((profiler, exit))
}

/// The same request to another command.
fn asked(request: &Request, word: &str, paths: Vec<PathBuf>) -> Request {
    let command: &'static CommandInfo = find(word).unwrap_or(request.command);
    let mut flags = Flags::default();
    flags.inputs.clone_from(&request.flags.inputs);
    (flags.strict, flags.open, flags.stats) = (request.flags.strict, request.flags.open, request.flags.stats);
    flags.budget.clone_from(&request.flags.budget);
    flags.comparing.clone_from(&request.flags.comparing);
    Request {
        command,
        options: request.options.clone(),
        flags,
        named: paths.iter().map(|path| path.display().to_string()).collect(),
        paths,
        sample: None,
        terminal: request.terminal,
        typed: request.typed.clone(),
        pages: Vec::new(),
    }
}

/// `diff cost A B` is `cost B --baseline A`.
fn cost_request(request: &Request, [before, after]: &[Side; 2]) -> Request {
    let mut asked = asked(request, "cost", vec![after.path.clone()]);
    asked.flags.inputs = after.inputs.clone();
    asked.flags.baseline.clone_from(&before.name);
    asked
}

fn info(
    request: &Request,
    [before, after]: &[Side; 2],
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Exit, Error> {
    let (old, new) = (&before.inputs, &after.inputs);
    let (a, first) = load(request, old, needs::OVERVIEW, &before.name, err)?;
    let (b, second) = load(request, new, needs::OVERVIEW, &after.name, err)?;
    let facts = difference::facts(&a.overview(old)?, &b.overview(new)?);
    let names = [before.name.as_str(), after.name.as_str()];
    let warnings: Vec<Warning> = a.warnings().iter().chain(b.warnings()).cloned().collect();
    let mut files = old.files();
    files.extend(new.files());
    deliver(
        request,
        &files,
        out,
        err,
        &[
            (Output::TEXT, &|out| difference::write_text(names, &facts, request.terminal.width, out)),
            ("json", &|out| difference::write_json(names, &facts, &warnings, out)),
            ("markdown", &|out| difference::write_markdown(names, &facts, out)),
        ],
    )?;
    Ok(if first == Exit::Answered { second } else { first })
}
