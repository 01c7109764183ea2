//! `tfprof save`: all loaded files as one profile.

use super::{Exit, load, load_into, refuse_damage, to_file, warn};
use crate::flags::Request;
use flate2::{Compression, GzBuilder};
use std::io::Write;
use tfprof::internal::engine::needs;
use tfprof::internal::format::profile;
use tfprof::{Error, Inputs, Keep, Output, Profiler, Quirks};

pub fn run(request: &Request, out: &mut dyn Write, err: &mut dyn Write) -> Result<Exit, Error> {
    let Request { options, flags, .. } = request;
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
    if profiler.hosts().is_empty() {
        return Ok(());
    }
    let message = "an XSpace is a saved profile already, and a ProfileProto has no place for its times; keep the file";
    Err(Error::Question(message.to_owned()))
}

/// The parts of a run that later runs are compared with.
const BASELINE: Keep =
    Keep { memory: false, attributes: false, inputs: false, output_shapes: false, traces: false, ..needs::SAVING };

/// `diff --save`: keeps a run to compare others with, as a gzipped `ProfileProto`.
pub fn baseline(request: &Request, inputs: &Inputs, out: &mut dyn Write, err: &mut dyn Write) -> Result<Exit, Error> {
    let mut profiler = Profiler::new(BASELINE);
    let loaded = load_into(&mut profiler, inputs, request.terminal, err);
    warn(profiler.warnings(), err);
    loaded?;
    let exit = refuse_damage(profiler.warnings(), request.flags.strict)?;
    refuse_trace(&profiler)?;
    to_file(&request.flags.save, &inputs.files(), out, |out| {
        // Without a time or a name, so that equal baselines are equal files.
        let mut gzip = GzBuilder::new().operating_system(3).write(out, Compression::best());
        profile::write(profiler.model(), Quirks::NONE, &mut gzip)?;
        gzip.finish().map(drop)
    })?;
    Ok(exit)
}
