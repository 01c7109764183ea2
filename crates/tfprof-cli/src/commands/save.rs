//! `tfprof save`: all loaded files as one profile.

use super::{Exit, load, to_file, warn};
use crate::flags::Request;
use std::io::Write;
use tfprof::internal::engine::needs;
use tfprof::internal::format::profile;
use tfprof::{Error, Output};

pub fn run(request: &Request, out: &mut dyn Write, err: &mut dyn Write) -> Result<Exit, Error> {
    let Request { options, flags, .. } = request;
    if ![Output::TEXT, "proto"].contains(&options.output.form.as_str()) {
        return Err(Error::Question("say where to save, as in `tfprof save DIR --outfile=all.profile`".to_owned()));
    }
    let keep = if options.quirks.functions_are_closed { needs::SAVING_AS_ORIGINAL } else { needs::SAVING };
    let (profiler, exit) = load(request, keep, err)?;
    if !profiler.hosts().is_empty() {
        let message =
            "an XSpace is a saved profile already, and a ProfileProto has no place for its times; keep the file";
        return Err(Error::Question(message.to_owned()));
    }
    warn(&profile::warnings(profiler.model()), err);
    to_file(&options.output.outfile, &flags.files(), out, |out| profile::write(profiler.model(), options.quirks, out))?;
    Ok(exit)
}
