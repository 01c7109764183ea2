//! Runs the checkers and writes what they say.

use super::view::{self, warn};
use crate::flags::Request;
use crate::{Exit, target};
use std::io::Write;
use tfprof::error::{Error, Warning};
use tfprof::model::builder::Keep;
use tfprof::options::Form;
use tfprof::quirks::Quirks;
use tfprof::report::advise;

const KEEP: Keep = Keep { inputs: false, output_shapes: false, functions: false, costs: false, ..Keep::EVERYTHING };

pub fn run(request: &Request, out: &mut dyn Write, err: &mut dyn Write) -> Result<Exit, Error> {
    let Request { options, flags, .. } = request;
    if !matches!(options.output.form, Form::Stdout | Form::File | Form::Json | Form::Proto | Form::None) {
        let form = options.output.form.word();
        let message = format!("advise has no form `{form}`; expected stdout, file, json, proto or none");
        return Err(Error::Question(message));
    }
    let (profiler, exit) = view::load(request, KEEP, err)?;
    let quirks = options.quirks;
    let names = if flags.checkers.is_empty() { advise::default_names(quirks) } else { flags.checkers.clone() };
    let advice = advise::advise(profiler.model(), &names, quirks)?;
    if quirks == Quirks::ORIGINAL {
        // The original speaks of what it lacks on standard error.
        for note in
            advice.iter().flat_map(|advice| advice.notes.iter().map(|note| format!("{}: {note}", advice.checker)))
        {
            warn(&[Warning { code: "no_data", location: None, message: note, damage: false }], err);
        }
    }
    let (file, inputs) = (&options.output.outfile, &flags.files());
    match options.output.form {
        Form::Json => {
            target::to_file(file, inputs, out, |out| advise::write_json(&advice, profiler.warnings(), out))?;
        }
        Form::Proto => target::to_file(file, inputs, out, |out| advise::write_proto(&advice, quirks, out))?,
        Form::File => target::to_file(file, inputs, out, |out| advise::write_text(&advice, quirks, out))?,
        Form::None => {}
        _ => target::to_stdout(out, |out| advise::write_text(&advice, quirks, out))?,
    }
    Ok(exit)
}
