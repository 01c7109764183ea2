//! `tfprof save`: all loaded files as one profile, or as a partial.

use super::{Exit, load, refuse_damage, to_file, warn};
use crate::flags::Request;
use std::io::Write;
use tfprof::internal::engine::needs;
use tfprof::internal::format::profile;
use tfprof::{Error, Inputs, Output, Profiler};

pub fn run(request: &Request, out: &mut dyn Write, err: &mut dyn Write) -> Result<Exit, Error> {
    let Request { options, flags, .. } = request;
    if flags.partial {
        return partial(request, &flags.inputs, &outfile(request, "save --partial RUN")?, out, err);
    }
    if ![Output::TEXT, "proto"].contains(&options.output.form.as_str()) {
        return Err(Error::Question("say where to save, as in `tfprof save DIR --outfile=all.profile`".to_owned()));
    }
    let keep = if options.quirks.functions_are_closed { needs::SAVING_AS_ORIGINAL } else { needs::SAVING };
    let (profiler, exit) = load(request, keep, err)?;
    refuse_trace(&profiler)?;
    warn(&profile::warnings(profiler.model()), err);
    to_file(&options.output.outfile, &flags.files(), out, |out| profile::write(profiler.model(), options.quirks, out))?;
    Ok(exit)
}

fn refuse_trace(profiler: &Profiler) -> Result<(), Error> {
    if profiler.model().is_partial {
        let message = "a partial keeps sums, and a ProfileProto single executions; keep the partial, or merge it";
        return Err(Error::Question(message.to_owned()));
    }
    if profiler.hosts().is_empty() {
        return Ok(());
    }
    let message =
        "a ProfileProto has no place for the times of a trace; keep the file, or add --partial to save its sums";
    Err(Error::Question(message.to_owned()))
}

/// The file that a partial is written to.
pub fn outfile(request: &Request, example: &str) -> Result<String, Error> {
    let output = &request.options.output;
    if output.outfile.is_empty() || !matches!(output.form.as_str(), Output::TEXT | "proto") {
        let message = format!("say where to write the partial, as in `tfprof {example} -outfile=FILE.part`");
        return Err(Error::Question(message));
    }
    Ok(output.outfile.clone())
}

/// Writes the partial of inputs: `save --partial`, and `diff --save`.
pub fn partial(
    request: &Request,
    inputs: &Inputs,
    file: &str,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Exit, Error> {
    let made = inputs.partial()?;
    warn(&made.warnings, err);
    let exit = refuse_damage(&made.warnings, request.flags.strict)?;
    to_file(file, &inputs.files(), out, |out| made.partial.write(out))?;
    Ok(exit)
}
