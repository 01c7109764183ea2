//! Answers a question: loads what it needs, asks the view, writes the form that was asked for.

use crate::flags::{Flags, Request};
use crate::{Exit, progress, target};
use std::io::Write;
use tfprof::engine::formats::Role;
use tfprof::engine::profiler::Profiler;
use tfprof::error::{Error, Warning};
use tfprof::metric::{Detail, Source, Unit};
use tfprof::model::builder::Keep;
use tfprof::model::runs::KeepSteps;
use tfprof::options::{CodeStacks, Events, Form, Options, Step, ViewKind};
use tfprof::render::theme::Theme;
use tfprof::render::{self, html, timeline};
use tfprof::units;
use tfprof::view::{View, needs_memory};

pub fn run(kind: ViewKind, request: &Request, out: &mut dyn Write, err: &mut dyn Write) -> Result<Exit, Error> {
    let (profiler, exit) = load(request, needed(kind, &request.options, &request.flags), err)?;
    let answered = answer(kind, &profiler, request, out, err)?;
    Ok(if exit == Exit::Answered { answered } else { exit })
}

/// Loads what the request names, with a bar on the terminal if that takes long. Warnings are told.
pub fn load(request: &Request, keep: Keep, err: &mut dyn Write) -> Result<(Profiler, Exit), Error> {
    let mut profiler = Profiler::new(keep);
    let loaded = progress::load(&request.flags.inputs, &mut profiler, request.terminal, err);
    warn(profiler.warnings(), err);
    loaded?;
    let exit = refuse_damage(profiler.warnings(), request.flags.strict)?;
    Ok((profiler, exit))
}

/// Puts the question to what is loaded and writes the form that was asked for.
pub fn answer(
    kind: ViewKind,
    profiler: &Profiler,
    request: &Request,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Exit, Error> {
    let options = &request.options;
    check_target(kind, profiler, options)?;
    // What was found wrong with values, which are read when they are written.
    let mut late = Vec::new();
    for step in timeline::steps(profiler.model(), kind, options) {
        let options = Options { step, ..options.clone() };
        let view = profiler.view(kind, &options)?;
        warn(&view.warnings, err);
        write(&view, profiler, request, out, err)?;
        late.extend(view.late_warnings());
    }
    warn(&late, err);
    match late.iter().find(|warning| warning.damage) {
        Some(damage) if request.flags.strict => {
            Err(Error::Missing(format!("a value is damaged, and -strict was given: {damage}")))
        }
        Some(_) => Ok(Exit::Damaged),
        None => Ok(Exit::Answered),
    }
}

/// Whether the answer needs more of the files than a session keeps.
pub fn needs_records(kind: ViewKind, options: &Options) -> bool {
    kind == ViewKind::Graph && options.output.form == Form::Timeline
}

/// Refuses a timeline of no step, and several timelines for one pipe.
fn check_target(kind: ViewKind, profiler: &Profiler, options: &Options) -> Result<(), Error> {
    let steps = timeline::steps(profiler.model(), kind, options).len();
    if steps == 0 {
        let how = "load some with --run_meta_path";
        return Err(Error::Missing(format!("a timeline of the graph view needs steps, and there are none; {how}")));
    }
    if steps > 1 && target::is_stream(&options.output.outfile) {
        let file = &options.output.outfile;
        let why = format!("-output timeline: there are {steps} steps, and {file} can take one; choose it with -step");
        return Err(Error::Question(why));
    }
    Ok(())
}

/// Writes one answer in the form that was asked for.
fn write(
    view: &View,
    profiler: &Profiler,
    request: &Request,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<(), Error> {
    let file = &view.options.output.outfile;
    let mut to = |file: &str, fill: &mut dyn FnMut(&mut dyn Write) -> std::io::Result<()>| {
        target::to_file(file, &request.flags.files(), out, fill)
    };
    let theme = if request.terminal.colour { Theme::COLOUR } else { Theme::PLAIN };
    match view.options.output.form {
        Form::None => Ok(()),
        Form::Stdout => target::to_stdout(out, |out| render::text::write_themed(view, &theme, out)),
        Form::File => to(file, &mut |out| render::text::write(view, out)),
        Form::Proto => to(file, &mut |out| render::proto::write(view, out)),
        Form::Json => to(file, &mut |out| render::json::write(view, profiler.warnings(), out)),
        Form::Csv => to(file, &mut |out| render::csv::write(view, out)),
        Form::Pprof => {
            to(file, &mut |out| render::pprof::write(view, out))?;
            notice(file, "look at it with `go tool pprof -top` or `-http=:`", err);
            Ok(())
        }
        Form::Folded => to(file, &mut |out| render::folded::write(view, out)),
        Form::Speedscope => {
            to(file, &mut |out| render::speedscope::write(view, out))?;
            notice(file, "open it at https://www.speedscope.app", err);
            Ok(())
        }
        Form::Flamegraph => {
            to(file, &mut |out| render::flamegraph::write(view, out))?;
            notice(file, "open it in a browser", err);
            Ok(())
        }
        Form::Html => {
            to(file, &mut |out| html::write(view, html::Place::Page, out))?;
            notice(file, "open it in a browser", err);
            Ok(())
        }
        Form::Timeline => {
            let stream = target::is_stream(file);
            let file = if stream { file.clone() } else { timeline::file_name(file, view.options.step) };
            let mut peaks = Vec::new();
            to(&file, &mut |out| {
                peaks = timeline::write(view, out)?;
                Ok(())
            })?;
            for timeline::Peak { device, bytes } in peaks {
                // Nothing can be done if even standard error is closed.
                let _ = writeln!(err, "tfprof: {device}: {} in use at the most", units::text(Unit::Bytes, bytes));
            }
            notice(&file, "open it at chrome://tracing or https://ui.perfetto.dev", err);
            Ok(())
        }
    }
}

/// Says what to do with a file that was written, unless it went to a program that knows.
fn notice(file: &str, what: &str, err: &mut dyn Write) {
    if !target::is_stream(file) {
        // Nothing can be done if even standard error is closed.
        let _ = writeln!(err, "tfprof: wrote {file}; {what}");
    }
}

/// What the question needs of the files: a cold answer does not pay for other views.
fn needed(kind: ViewKind, options: &Options, flags: &Flags) -> Keep {
    let whole = options.output.form == Form::Proto;
    let shapes = whole || options.select.is_some_and(|select| select.has_detail(Detail::InputShapes));
    let mut steps: Vec<i64> = flags.inputs.runs().map(|(step, _)| step).collect();
    let (runs, profiles) = (steps.len(), flags.inputs.of(Role::Profile).count());
    steps.sort_unstable();
    steps.dedup();
    let records = needs_records(kind, options);
    let steps = match options.step {
        // A step in several files is put together while it is kept.
        _ if steps.len() < runs || profiles > 1 || (profiles == 1 && runs > 0) => KeepSteps::Each,
        Step::Average if records => KeepSteps::Each,
        Step::Average | Step::All => KeepSteps::TotalsOnly,
        Step::At(step) => KeepSteps::One(step),
    };
    Keep {
        steps,
        memory: records || needs_memory(options),
        inputs: shapes || kind == ViewKind::Graph,
        output_shapes: shapes,
        traces: kind == ViewKind::Code,
        records,
        attributes: false,
        peaks: false,
        functions: !options.quirks.functions_are_closed,
        costs: !options.quirks.functions_are_closed && needs_costs(options, flags),
        step_marks: options.step != Step::All,
        runtime: options.events == Events::All,
        calls: kind == ViewKind::Code && options.stacks != CodeStacks::Source,
        busy: false,
    }
}

/// Whether a number is asked for that is computed from the graph.
fn needs_costs(options: &Options, flags: &Flags) -> bool {
    let computed = || options.summed_metrics().iter().any(|metric| metric.info().source == Source::Computed);
    flags.inputs.settings.const_params || options.output.form == Form::Proto || computed()
}

/// How an answer from these inputs ends, unless damage is refused.
pub(super) fn refuse_damage(warnings: &[Warning], strict: bool) -> Result<Exit, Error> {
    match warnings.iter().find(|warning| warning.damage) {
        Some(damage) if strict => Err(Error::Missing(format!("refused, since -strict was given: {damage}"))),
        Some(_) => Ok(Exit::Damaged),
        None => Ok(Exit::Answered),
    }
}

pub fn warn(warnings: &[Warning], err: &mut dyn Write) {
    for warning in warnings {
        // Nothing can be done if even standard error is closed.
        let _ = writeln!(err, "tfprof: warning: {warning}");
    }
}
