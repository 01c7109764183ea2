//! `tfprof fleet`: partials of many recordings on this machine, merged, and the questions about hosts and steps.
//!
//! Each recording is a task; partials are kept in `--cache` by path, size and time of change, so that a second run resumes. With
//! `--part=I/N` only a share is read, for array jobs of Slurm or Kubernetes, and `tfprof merge` puts the shares together.

use super::{Exit, deliver, refuse_damage, target, to_file, warn};
use crate::flags::Request;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;
use tfprof::internal::engine::parts::{self, Made};
use tfprof::internal::part::Partial;
use tfprof::internal::part::bytes::Tag;
use tfprof::internal::report::cost::render::Style;
use tfprof::internal::report::fleet::{Fleet, render};
use tfprof::{Error, Inputs, Output, Role, Warning};

pub fn run(request: &Request, out: &mut dyn Write, err: &mut dyn Write) -> Result<Exit, Error> {
    let flags = &request.flags;
    if request.paths.is_empty() {
        return Err(Error::Question("no recording was named: tfprof fleet PATH...".to_owned()));
    }
    let mut tasks = tasks(request);
    if let Some((part, of)) = flags.share {
        if flags.save.is_empty() {
            let message = "say where to keep the share, as in `tfprof fleet PATH... --part=1/8 --save=1.part`";
            return Err(Error::Question(message.to_owned()));
        }
        let mut at = 0..;
        tasks.retain(|_| at.next().is_some_and(|at: usize| at % of == part - 1));
    }
    let mut made = gather(request, &tasks)?;
    warn(&made.warnings, err);
    let mut exit = refuse_damage(&made.warnings, flags.strict)?;
    if made.partial.missing().next().is_some() {
        exit = Exit::Damaged;
    }
    let files: Vec<PathBuf> = request.paths.clone();
    if !flags.save.is_empty() {
        to_file(&flags.save, &files, out, |out| made.partial.write(out))?;
    }
    let hosts = made.partial.blocks.len();
    if let Some(required) = flags.require_hosts.filter(|required| hosts < *required) {
        let message = format!("{hosts} hosts were read, and --require_hosts asks for {required}");
        made.warnings.push(Warning::new("few_hosts", message));
        warn(&made.warnings[made.warnings.len() - 1..], err);
        exit = Exit::CheckFailed;
    }
    if flags.share.is_some() {
        return Ok(exit);
    }
    answer(request, &made, &files, out, err)?;
    Ok(exit)
}

fn answer(
    request: &Request,
    made: &Made,
    files: &[PathBuf],
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<(), Error> {
    let fleet = Fleet::new(&made.partial).map_err(|fault| Error::Missing(format!("not a whole partial: {fault}")))?;
    let title = format!("fleet of {} hosts", fleet.hosts.len());
    deliver(
        request,
        files,
        out,
        err,
        &[
            (Output::TEXT, &|out| render::write(&fleet, Style::Text(request.terminal.width), out)),
            ("json", &|out| render::write_json(&fleet, &made.warnings, out)),
            ("markdown", &|out| render::write(&fleet, Style::Markdown, out)),
            ("html", &|out| render::write(&fleet, Style::Html(&title, request.page()), out)),
        ],
    )
}

/// The inputs of one recording, or a path that cannot be read.
enum Task {
    Read(Box<Inputs>),
    Lost(String, Error),
}

/// The recordings at all paths, sorted by path, so that every share of an array job sees the same list.
fn tasks(request: &Request) -> Vec<Task> {
    let mut paths = request.paths.clone();
    paths.sort();
    paths.dedup();
    let given = &request.flags.inputs;
    let mut tasks = Vec::new();
    for path in &paths {
        let mut inputs = Inputs::default();
        (inputs.limits, inputs.run, inputs.hosts) = (given.limits, given.run.clone(), given.hosts);
        inputs.step_marker.clone_from(&given.step_marker);
        inputs.settings.clone_from(&given.settings);
        if let Err(error) = inputs.add_path(path) {
            tasks.push(Task::Lost(path.display().to_string(), error));
            continue;
        }
        let each = inputs.list.iter().all(|input| matches!(input.format.role, Role::Host | Role::Partial));
        if !each {
            tasks.push(Task::Read(Box::new(inputs)));
            continue;
        }
        for input in std::mem::take(&mut inputs.list) {
            let mut one = inputs.clone();
            one.list.push(input);
            tasks.push(Task::Read(Box::new(one)));
        }
    }
    tasks
}

fn gather(request: &Request, tasks: &[Task]) -> Result<Made, Error> {
    let cache = Path::new(&request.flags.cache);
    let read = |task: &Task| match task {
        Task::Lost(path, error) => (path.clone(), Err(Error::Missing(error.to_string()))),
        Task::Read(inputs) => {
            let name = inputs.paths().next().map_or_else(String::new, |path| path.display().to_string());
            (name, cached(cache, inputs))
        }
    };
    let made = parts::map(tasks.iter().collect(), read);
    let mut warnings = Vec::new();
    let mut bytes = Vec::new();
    for (path, made) in made {
        match made {
            Ok((part, mut more)) => {
                bytes.push(part);
                warnings.append(&mut more);
            }
            Err(error) => {
                let lost = Partial::lost(&path, &error.to_string());
                warnings.extend(lost.missing().map(|lost| Warning::new("lost_host", lost.loss()).with_damage()));
                bytes.push(lost.to_bytes());
            }
        }
    }
    let parts: Vec<&[u8]> = bytes.iter().map(Vec::as_slice).collect();
    let mut merged = parts::merge_bytes(&parts, request.flags.inputs.limits)?;
    warnings.append(&mut merged.warnings);
    if merged.partial.blocks.is_empty() && merged.partial.rows.rows.is_empty() {
        let why = warnings.first().map_or_else(String::new, ToString::to_string);
        return Err(Error::Missing(format!("no recording could be read: {why}")));
    }
    Ok(Made { partial: merged.partial, warnings })
}

/// The partial of inputs: from the cache if neither path nor size nor time has changed, else made and kept there.
fn cached(cache: &Path, inputs: &Inputs) -> Result<(Vec<u8>, Vec<Warning>), Error> {
    let file = key(inputs).filter(|_| !cache.as_os_str().is_empty()).map(|key| cache.join(format!("{key:032x}.part")));
    if let Some(bytes) = file.as_ref().and_then(|file| std::fs::read(file).ok())
        && Partial::from_bytes(&bytes).is_ok()
    {
        return Ok((bytes, Vec::new()));
    }
    let made = inputs.partial()?;
    let bytes = made.partial.to_bytes();
    if let Some(file) = file {
        let cannot = |source| Error::Io { file: cache.display().to_string(), action: "cannot write", source };
        std::fs::create_dir_all(cache).map_err(cannot)?;
        target::to_file(&file.display().to_string(), &inputs.files(), |out| out.write_all(&bytes))?;
    }
    Ok((bytes, made.warnings))
}

/// Path, size and time of change of all files; `None` if one has none of them.
fn key(inputs: &Inputs) -> Option<u128> {
    let mut tag = Tag::default();
    tag.add(inputs.step_marker.as_bytes());
    for path in inputs.files() {
        let about = path.metadata().ok()?;
        let changed = about.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        tag.add(path.canonicalize().ok()?.as_os_str().as_encoded_bytes());
        tag.add(&about.len().to_le_bytes());
        tag.add(&changed.as_nanos().to_le_bytes());
    }
    Some(tag.finish())
}
