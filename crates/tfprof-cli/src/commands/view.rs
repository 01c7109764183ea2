//! Answers a question: loads what it needs, asks the view, writes the form that was asked for.

use crate::flags::{Flags, Request};
use crate::{Exit, target};
use std::io::Write;
use tfprof::error::{Error, Warning};
use tfprof::metric::Detail;
use tfprof::model::builder::Keep;
use tfprof::model::runs::KeepSteps;
use tfprof::options::{Form, Options, Step, ViewKind};
use tfprof::profiler::Profiler;
use tfprof::render;

pub fn run(kind: ViewKind, request: &Request, out: &mut dyn Write, err: &mut dyn Write) -> Result<Exit, Error> {
    let Request { options, flags, .. } = request;
    let mut profiler = Profiler::new(needed(kind, options, flags));
    flags.inputs.load(&mut profiler)?;
    let damage = profiler.warnings().iter().find(|warning| warning.damage);
    if let (Some(damage), true) = (damage, flags.strict) {
        warn(profiler.warnings(), err);
        return Err(Error::Missing(format!("refused, since -strict was given: {damage}")));
    }
    let exit = if damage.is_some() { Exit::Damaged } else { Exit::Answered };
    let view = match profiler.view(kind, options) {
        Ok(view) => view,
        Err(error) => {
            warn(profiler.warnings(), err);
            return Err(error);
        }
    };
    warn(profiler.warnings(), err);
    warn(&view.warnings, err);
    let file = &options.output.outfile;
    let inputs = flags.inputs.paths();
    match options.output.form {
        Form::None => {}
        Form::Stdout => target::to_stdout(out, |out| render::text::write(&view, out))?,
        Form::File => target::to_file(file, inputs, out, |out| render::text::write(&view, out))?,
        Form::Proto => target::to_file(file, inputs, out, |out| render::proto::write(&view, out))?,
        Form::Json => target::to_file(file, inputs, out, |out| render::json::write(&view, profiler.warnings(), out))?,
        Form::Csv => target::to_file(file, inputs, out, |out| render::csv::write(&view, out))?,
    }
    Ok(exit)
}

/// What the question needs of the files: a cold answer does not pay for other views.
fn needed(kind: ViewKind, options: &Options, flags: &Flags) -> Keep {
    let whole = options.output.form == Form::Proto;
    let shapes = whole || options.select.is_some_and(|select| select.has_detail(Detail::InputShapes));
    let mut steps = flags.inputs.steps();
    let runs = steps.len();
    steps.sort_unstable();
    steps.dedup();
    let steps = match options.step {
        // A step in several files is put together while it is kept.
        _ if steps.len() < runs || !flags.inputs.profiles.is_empty() => KeepSteps::Each,
        Step::Average => KeepSteps::TotalsOnly,
        Step::At(step) => KeepSteps::One(step),
    };
    Keep {
        steps,
        memory: true,
        inputs: shapes || kind == ViewKind::Graph,
        output_shapes: shapes,
        traces: kind == ViewKind::Code,
        records: false,
    }
}

fn warn(warnings: &[Warning], err: &mut dyn Write) {
    for warning in warnings {
        // Nothing can be done if even standard error is closed.
        let _ = writeln!(err, "tfprof: warning: {warning}");
    }
}
