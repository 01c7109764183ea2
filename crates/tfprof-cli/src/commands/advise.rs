//! Runs the checkers and writes what they say.

use super::view::{refuse_damage, warn};
use crate::flags::Request;
use crate::{Exit, target};
use std::io::Write;
use tfprof::advise;
use tfprof::error::{Error, Warning};
use tfprof::model::builder::Keep;
use tfprof::options::Form;
use tfprof::profiler::Profiler;
use tfprof::quirks::Quirks;

pub fn run(request: &Request, out: &mut dyn Write, err: &mut dyn Write) -> Result<Exit, Error> {
    let Request { options, flags, .. } = request;
    if !matches!(options.output.form, Form::Stdout | Form::File | Form::Proto | Form::None) {
        return Err(Error::Question("advice is text or proto; use -output file or proto (tfprof help advise)".into()));
    }
    let mut profiler =
        Profiler::new(Keep { inputs: false, output_shapes: false, functions: false, costs: false, ..Keep::EVERYTHING });
    flags.inputs.load(&mut profiler)?;
    warn(profiler.warnings(), err);
    let exit = refuse_damage(profiler.warnings(), flags.strict)?;
    let quirks = options.quirks;
    let names = if flags.checkers.is_empty() { advise::default_names(quirks) } else { flags.checkers.clone() };
    let advice = advise::advise(profiler.model(), &names, quirks)?;
    if quirks == Quirks::ORIGINAL {
        // The original speaks of what it lacks on standard error.
        for note in
            advice.iter().flat_map(|advice| advice.notes.iter().map(|note| format!("{}: {note}", advice.checker)))
        {
            warn(&[Warning { code: "no_data", place: None, message: note, damage: false }], err);
        }
    }
    let (file, inputs) = (&options.output.outfile, flags.inputs.paths());
    match options.output.form {
        Form::Proto => target::to_file(file, inputs, out, |out| advise::write_proto(&advice, quirks, out))?,
        Form::File => target::to_file(file, inputs, out, |out| advise::write_text(&advice, quirks, out))?,
        Form::None => {}
        _ => target::to_stdout(out, |out| advise::write_text(&advice, quirks, out))?,
    }
    Ok(exit)
}
