//! `tfprof info`: an overview of the files on one screen.

use super::{Exit, deliver, load};
use crate::flags::Request;
use std::io::Write;
use tfprof::internal::engine::needs;
use tfprof::internal::report::overview::{html, render};
use tfprof::internal::words;
use tfprof::{Container, Error, Output, Profiler, Theme};

pub fn run(request: &Request, out: &mut dyn Write, err: &mut dyn Write) -> Result<Exit, Error> {
    let (profiler, exit) = load(request, needs::OVERVIEW, err)?;
    let prefix = if request.sample.is_some() { "tfprof demo " } else { "tfprof " };
    let named: Vec<_> = request.named.iter().map(|name| words::quoted(name)).collect();
    let ask = |question: &str| {
        let (command, options) = question.split_once(' ').unwrap_or((question, ""));
        let words = [command].into_iter().chain(named.iter().map(String::as_str)).chain([options]);
        format!("{prefix}{}", words.collect::<Vec<_>>().join(" ").trim_end())
    };
    answer(&profiler, request, &ask, out)?;
    Ok(exit)
}

/// Writes the overview. `ask` turns a question into a command to type.
pub fn answer(
    profiler: &Profiler,
    request: &Request,
    ask: &dyn Fn(&str) -> String,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let overview = profiler.overview(&request.flags.inputs)?;
    let output = &request.options.output;
    let theme = if output.to_screen() { request.theme() } else { Theme::PLAIN };
    deliver(
        output,
        &request.flags.files(),
        out,
        "info",
        &[
            (Output::TEXT, &|out| render::write_text(&overview, &theme, ask, out)),
            ("json", &|out| render::write_json(&overview, out)),
            ("html", &|out| html::write(&overview, ask, Container::Page, out)),
        ],
    )
}
