//! `tfprof merge`: partials become one.

use super::{Exit, refuse_damage, save, to_file, warn};
use crate::flags::Request;
use std::io::Write;
use tfprof::Error;
use tfprof::internal::engine::parts;

pub fn run(request: &Request, out: &mut dyn Write, err: &mut dyn Write) -> Result<Exit, Error> {
    let file = save::outfile(request, "merge A.part B.part")?;
    if request.paths.is_empty() {
        return Err(Error::Question("no partial was named: tfprof merge PART... -outfile=FILE".to_owned()));
    }
    let made = parts::merge_files(&request.paths, request.flags.inputs.limits)?;
    warn(&made.warnings, err);
    let exit = refuse_damage(&made.warnings, request.flags.strict)?;
    let missing = made.partial.missing().next().is_some();
    to_file(&file, &request.paths, out, |out| made.partial.write(out))?;
    // A host that was missing before still is.
    Ok(if missing { Exit::Damaged } else { exit })
}
