//! `tfprof layers`: the layers of a model, with their time if a run is given.

use super::{Exit, check_form, deliver, load, several_batches};
use crate::flags::Request;
use std::io::Write;
use tfprof::internal::engine::needs;
use tfprof::internal::report::cost::render::Style;
use tfprof::internal::report::layers::render::{write_layers, write_layers_json};
use tfprof::{Error, Output};

pub fn run(request: &Request, out: &mut dyn Write, err: &mut dyn Write) -> Result<Exit, Error> {
    let (flags, options) = (&request.flags, &request.options);
    let forms = [Output::TEXT, "json", "markdown", "html"];
    check_form(&options.output, "layers", &forms)?;
    several_batches(request)?;
    let (profiler, exit) = load(request, needs::LAYERS, err)?;
    let report = profiler.layers(options)?;
    let title = format!("layers of {}", request.named.join(", "));
    deliver(
        request,
        &flags.files(),
        out,
        err,
        &[
            (forms[0], &|out| write_layers(&report, Style::Text(request.terminal.width), out)),
            (forms[1], &|out| write_layers_json(&report, out)),
            (forms[2], &|out| write_layers(&report, Style::Markdown, out)),
            (forms[3], &|out| write_layers(&report, Style::Html(title.trim_end_matches(" of "), request.page()), out)),
        ],
    )?;
    Ok(exit)
}
