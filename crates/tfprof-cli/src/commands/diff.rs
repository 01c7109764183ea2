//! `tfprof diff [VIEW] A B`: what changed between two runs or models, in any view.

use super::{CommandInfo, Exit, checkpoint, cost, deliver, find, load_into, refuse_damage, save, view, warn};
use crate::flags::{Flags, Request};
use std::io::Write;
use std::path::{Path, PathBuf};
use tfprof::internal::comma_list;
use tfprof::internal::engine::needs;
use tfprof::internal::report::overview::difference;
use tfprof::{Error, Inputs, Keep, Output, Profiler, ViewKind, Warning, compare};

/// The views, besides those of a profile.
const OTHERS: [&str; 3] = ["cost", "checkpoint", "info"];

pub fn run(request: &Request, out: &mut dyn Write, err: &mut dyn Write) -> Result<Exit, Error> {
    let is_view = |path: &PathBuf| {
        let word = path.to_str()?;
        (ViewKind::parse(word).is_some() || OTHERS.contains(&word)).then(|| word.to_owned())
    };
    let word = request.paths.first().and_then(is_view);
    let rest = &request.paths[usize::from(word.is_some())..];
    if !request.flags.save.is_empty() {
        return match rest {
            [run] => save::baseline(request, &side(request, run)?, out, err),
            _ => Err(Error::Question(format!("-save keeps one run, and {} were named", rest.len()))),
        };
    }
    let [before, after] = rest else {
        let found = match rest.len() {
            0 => "none were named".to_owned(),
            1 => "one was named".to_owned(),
            n => format!("{n} were named; separate the files of one side by commas"),
        };
        let how = "tfprof diff [scope|graph|op|code|cost|checkpoint|info] BEFORE AFTER";
        return Err(Error::Question(format!("diff compares two runs or models, and {found}: {how}")));
    };
    match word.as_deref() {
        Some("cost") => cost::run(&cost_request(request, before, after)?, out, err),
        Some("checkpoint") => {
            checkpoint::run(&asked(request, "checkpoint", vec![before.clone(), after.clone()]), out, err)
        }
        Some("info") => info(request, before, after, out, err),
        word => views(word.and_then(ViewKind::parse).unwrap_or(ViewKind::Scope), request, before, after, out, err),
    }
}

fn views(
    kind: ViewKind,
    request: &Request,
    before: &Path,
    after: &Path,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Exit, Error> {
    let question = view::question(kind, request)?;
    let comparing = &request.flags.comparing;
    let (old, new) = (side(request, before)?, side(request, after)?);
    let mut files = old.files();
    files.extend(new.files());
    let (a, first) = load(request, &old, question.needs_to_compare(&old)?, before, err)?;
    let (b, second) = load(request, &new, question.needs_to_compare(&new)?, after, err)?;
    let names = [before, after].map(|path| path.display().to_string());
    let answer = compare((&names[0], &a), (&names[1], &b), &question, comparing)?;
    let written = view::write_answer(&answer, &question, request, &files, out, err)?;
    Ok([first, second, written].into_iter().find(|exit| *exit != Exit::Answered).unwrap_or(Exit::Answered))
}

/// The files of one side: a path, or several separated by commas.
pub fn side(request: &Request, path: &Path) -> Result<Inputs, Error> {
    let mut inputs = request.flags.inputs.clone();
    inputs.run.clone_from(&request.options.run);
    inputs.step_marker.clone_from(&request.options.step_marker);
    match path.to_str().filter(|text| text.contains(',') && !path.exists()) {
        None => inputs.add_path(path)?,
        Some(list) => {
            for path in comma_list::split_list(list) {
                inputs.add_path(Path::new(&comma_list::unescaped_commas(&path)))?;
            }
        }
    }
    Ok(inputs)
}

/// Loads one side, and says which one a warning is about.
fn load(
    request: &Request,
    inputs: &Inputs,
    keep: Keep,
    path: &Path,
    err: &mut dyn Write,
) -> Result<(Profiler, Exit), Error> {
    let mut profiler = Profiler::new(keep);
    let loaded = load_into(&mut profiler, inputs, request.terminal, err);
    let name = path.display().to_string();
    warn(&profiler.warnings().iter().map(|warning| warning.of_side(&name)).collect::<Vec<_>>(), err);
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
fn cost_request(request: &Request, before: &Path, after: &Path) -> Result<Request, Error> {
    let mut asked = asked(request, "cost", vec![after.to_owned()]);
    asked.flags.inputs = side(request, after)?;
    asked.flags.baseline = before.display().to_string();
    Ok(asked)
}

fn info(
    request: &Request,
    before: &Path,
    after: &Path,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Exit, Error> {
    let (old, new) = (side(request, before)?, side(request, after)?);
    let (a, first) = load(request, &old, needs::OVERVIEW, before, err)?;
    let (b, second) = load(request, &new, needs::OVERVIEW, after, err)?;
    let facts = difference::facts(&a.overview(&old)?, &b.overview(&new)?);
    let names = [before, after].map(|path| path.display().to_string());
    let names = [names[0].as_str(), names[1].as_str()];
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
