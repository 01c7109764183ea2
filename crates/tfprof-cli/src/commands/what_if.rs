//! `tfprof whatif`: the least step time of a model at other batch sizes, precisions, lengths and devices.

use super::{Exit, check_form, deliver, load_into, refuse_damage, warn};
use crate::flags::Request;
use std::io::Write;
use tfprof::internal::engine::needs;
use tfprof::internal::hardware::{Ceiling, Devices, of_word};
use tfprof::internal::report::cost::render::Style;
use tfprof::internal::report::layers::render::{write_cases, write_cases_json};
use tfprof::internal::report::layers::what_if::assumptions;
use tfprof::{Error, Fix, Output, Profiler, Warning};

pub fn run(request: &Request, out: &mut dyn Write, err: &mut dyn Write) -> Result<Exit, Error> {
    let (flags, options) = (&request.flags, &request.options);
    let forms = [Output::TEXT, "json", "markdown", "html"];
    check_form(&options.output, "whatif", &forms)?;
    let targets = targets(request)?;
    let precision = if flags.dtype.is_empty() { None } else { Some(of_word(&flags.dtype).map_err(Error::Question)?) };
    let batches = if flags.batches.is_empty() { vec![None] } else { flags.batches.iter().copied().map(Some).collect() };
    let (mut cases, mut said, mut exit) = (Vec::new(), Vec::new(), Exit::Answered);
    for (at, batch) in batches.into_iter().enumerate() {
        let mut inputs = flags.inputs.clone();
        inputs.settings.batch = batch;
        let mut profiler = Profiler::new(needs::LAYERS);
        load_into(&mut profiler, &inputs, request.terminal, err)?;
        if at == 0 {
            warn(profiler.warnings(), err);
            exit = refuse_damage(profiler.warnings(), flags.strict)?;
            said = assumptions(profiler.model(), precision, flags.inputs.settings.seq);
        }
        for (name, ceiling) in &targets {
            let case = profiler.what_if(name, ceiling, precision)?;
            if batch.is_some() && case.batch.is_none() && at == 0 {
                warn(
                    &[Warning::new("no_batch", "the model leaves no batch size open, so --batch changes nothing")],
                    err,
                );
            }
            cases.push(case);
        }
    }
    said.extend(targets.iter().map(|(name, ceiling)| {
        let missing = "; the bandwidth of its memory is unknown, so there is no time: name one model of it, or give -peak_bandwidth";
        format!("{name}: {ceiling}{}", if ceiling.bandwidth().is_none() { missing } else { "" })
    }));
    let title = format!("what if: {}", request.named.join(", "));
    deliver(
        request,
        &flags.files(),
        out,
        err,
        &[
            (forms[0], &|out| write_cases(&cases, &said, Style::Text(request.terminal.width), out)),
            (forms[1], &|out| write_cases_json(&cases, &said, out)),
            (forms[2], &|out| write_cases(&cases, &said, Style::Markdown, out)),
            (forms[3], &|out| write_cases(&cases, &said, Style::Html(&title, request.page()), out)),
        ],
    )?;
    Ok(exit)
}

/// The devices to compute for: those named, with given peaks in place of published ones; else the measured CPU.
fn targets(request: &Request) -> Result<Vec<(String, Ceiling)>, Error> {
    let options = &request.options;
    let devices = Devices::load(&options.devices)?;
    let mut given = Ceiling::default();
    given.parse_flops(&options.peak_flops).map_err(|why| Error::option("peak_flops", why))?;
    if !options.peak_bandwidth.is_empty() {
        given.parse_bandwidth(&options.peak_bandwidth).map_err(|why| Error::option("peak_bandwidth", why))?;
    }
    let mut targets = Vec::new();
    for name in options.device.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        let device = devices.named(name).map_err(|why| Error::option("device", why))?;
        let mut ceiling = given;
        ceiling.fill_from(&device.ceiling);
        targets.push((device.name, ceiling));
    }
    if targets.is_empty() && given.is_known() {
        targets.push(("the given peaks".to_owned(), given));
    }
    if targets.is_empty()
        && let Some(device) = devices.measured()
    {
        targets.push((device.name.clone(), device.ceiling));
    }
    if targets.is_empty() {
        let missing =
            Error::Missing("no device is given, and this machine's CPU is not measured (tfprof peak)".to_owned());
        return Err(missing.with_fix(Fix::with_value("name one, as in", "device", "h100")));
    }
    Ok(targets)
}
