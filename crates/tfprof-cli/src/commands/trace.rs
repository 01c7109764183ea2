//! `tfprof trace`: runs and profiles as a Chrome trace.

use super::{Exit, open, refuse_damage, to_file, warn};
use crate::flags::{Flags, Request};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{self, Read, Write};
use std::path::Path;
use std::rc::Rc;
use tfprof::internal::trace::excerpt::{Excerpt, ExcerptTrace};
use tfprof::internal::trace::profile::ProfileTrace;
use tfprof::internal::trace::{Step, Trace};
use tfprof::{Error, Output, Role, Source, Warning};

pub fn run(request: &Request, out: &mut dyn Write, err: &mut dyn Write) -> Result<Exit, Error> {
    let Request { options, flags, .. } = request;
    if ![Output::SCREEN, Output::TEXT, "json", "timeline"].contains(&options.output.form.as_str()) {
        return Err(Error::Question("a trace is JSON; name its file with --outfile=FILE".to_owned()));
    }
    if flags.inputs.of(Role::Host).next().is_some() {
        return profiles(request, out, err);
    }
    let trace = Trace::new(steps(flags)?, flags.trace)?;
    deliver(request, &trace.warnings, |out| trace.write(out).map(|_| ()), out, err)
}

/// Traces profiles of hosts.
fn profiles(request: &Request, out: &mut dyn Write, err: &mut dyn Write) -> Result<Exit, Error> {
    let flags = &request.flags;
    if flags.inputs.of(Role::Run).next().is_some() {
        let message = "an XSpace and RunMetadata are not drawn as one trace; trace them one by one";
        return Err(Error::Question(message.to_owned()));
    }
    let excerpt = Excerpt::parse(&flags.steps, &flags.min_dur, &flags.lanes)?;
    let mut traces = flags.inputs.open_traces()?;
    if let Some(file) = traces.pop() {
        if !traces.is_empty() || flags.inputs.of(Role::Host).count() > 1 {
            let message = "the traces of several ranks are not written as one; name the file of one rank";
            return Err(Error::Question(message.to_owned()));
        }
        let trace = ExcerptTrace::new(&file, excerpt)?;
        return deliver(request, &trace.warnings, |out| trace.write(out), out, err);
    }
    if !excerpt.is_everything() {
        let message = "-steps, -min_dur and -lanes choose a part of a trace of PyTorch; an XSpace is written whole";
        return Err(Error::Question(message.to_owned()));
    }
    let files = flags.inputs.open_profiles()?;
    let trace = ProfileTrace::new(&files, flags.trace.show_dataflow)?;
    deliver(request, &trace.warnings, |out| trace.write(out), out, err)
}

/// Prints the warnings of a trace, and writes it to the file that was asked for.
fn deliver(
    request: &Request,
    warnings: &[Warning],
    mut write: impl FnMut(&mut dyn Write) -> io::Result<()>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Exit, Error> {
    let Request { options, flags, .. } = request;
    warn(warnings, err);
    let exit = refuse_damage(warnings, flags.strict)?;
    let file = if options.output.to_screen() { "-" } else { &options.output.outfile };
    to_file(file, &flags.files(), out, |out| compressed(file, out, &mut write))?;
    open::say_and_open(request, file, "timeline", err);
    Ok(exit)
}

/// Writes to a file, gzipped if its name says so.
fn compressed(file: &str, out: &mut dyn Write, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    if Path::new(file).extension().is_none_or(|ending| !ending.eq_ignore_ascii_case("gz")) {
        return fill(out);
    }
    let mut gzip = GzEncoder::new(out, Compression::default());
    fill(&mut gzip)?;
    gzip.finish().map(|_| ())
}

fn steps(flags: &Flags) -> Result<Vec<Step<'static>>, Error> {
    if flags.inputs.of(Role::Run).next().is_none() {
        return Err(Error::Missing(
            "no run to trace; name a RunMetadata, as in `tfprof trace run_meta_0` (tfprof help trace)".to_owned(),
        ));
    }
    flags.inputs.runs().map(|(step, run)| self::step(flags, &run.path, step)).collect()
}

/// A run that can be read several times; a pipe is held in memory for that.
fn step(flags: &Flags, path: &Path, step: i64) -> Result<Step<'static>, Error> {
    let (path, limits) = (path.to_owned(), flags.inputs.limits);
    if path.is_file() {
        return Ok(Step { step, open: Box::new(move || Source::open_with(&path, limits, &|_| {})) });
    }
    let mut source = flags.inputs.open(&path)?;
    let mut bytes = Vec::new();
    let name: Rc<str> = source.name.clone().into();
    source.input.read_to_end(&mut bytes).map_err(|source| Error::Io {
        file: name.to_string(),
        action: "cannot read",
        source,
    })?;
    let bytes: Rc<[u8]> = bytes.into();
    let open = move || Source::new(name.to_string(), Box::new(io::Cursor::new(Rc::clone(&bytes))));
    Ok(Step { step, open: Box::new(open) })
}
