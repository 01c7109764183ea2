//! `tfprof advise`: runs the checkers and writes their findings.

use super::{Exit, check_form, deliver, load, warn};
use crate::flags::Request;
use std::io::Write;
use tfprof::internal::engine::needs;
use tfprof::internal::report::advise;
use tfprof::{Error, Output, Quirks, Warning};

pub fn run(request: &Request, out: &mut dyn Write, err: &mut dyn Write) -> Result<Exit, Error> {
    let Request { options, flags, .. } = request;
    // Before anything is read.
    check_form(&options.output, "advise", &[Output::TEXT, "json", "proto", "html"])?;
    let (profiler, exit) = load(request, needs::ADVICE, err)?;
    let quirks = options.quirks;
    let names = if flags.checkers.is_empty() { advise::default_names(quirks) } else { flags.checkers.clone() };
    let advice = profiler.advise(&names, quirks)?;
    if quirks == Quirks::ORIGINAL {
        // The original reports missing data on standard error.
        for note in
            advice.iter().flat_map(|advice| advice.notes.iter().map(|note| format!("{}: {note}", advice.checker)))
        {
            warn(&[Warning::new("no_data", note)], err);
        }
    }
    deliver(
        request,
        &flags.files(),
        out,
        err,
        &[
            (Output::TEXT, &|out| advise::write_text(&advice, quirks, out)),
            ("json", &|out| advise::write_json(&advice, profiler.warnings(), out)),
            ("proto", &|out| advise::write_proto(&advice, quirks, out)),
            ("html", &|out| advise::write_html(&advice, request.page(), out)),
        ],
    )?;
    Ok(exit)
}
