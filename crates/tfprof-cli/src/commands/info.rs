//! `tfprof info`: an overview of the files on one screen, or with every other answer as pages in a directory.

use super::{Exit, deliver, find, load, open};
use crate::flags::{Flags, Request};
use std::io::{self, Write};
use tfprof::internal::engine::needs;
use tfprof::internal::report::overview::{html, render};
use tfprof::internal::words;
use tfprof::{Error, Options, Output, Profiler, Theme};

pub fn run(request: &Request, out: &mut dyn Write, err: &mut dyn Write) -> Result<Exit, Error> {
    let (profiler, exit) = load(request, needs::OVERVIEW, err)?;
    let prefix = if request.sample.is_some() { "tfprof demo " } else { "tfprof " };
    let named: Vec<_> = request.named.iter().map(|name| words::quoted(name)).collect();
    let run = &request.flags.inputs.run;
    let ask = |question: &str| {
        let (command, options) = question.split_once(' ').unwrap_or((question, ""));
        // The answers are about the same run, unless the question is about another.
        let run = if run.is_empty() || options.starts_with("-run ") { None } else { Some(run.as_str()) };
        let run = run.map(|run| format!("-run {}", words::quoted(run))).unwrap_or_default();
        let words = [command].into_iter().chain(named.iter().map(String::as_str)).chain([&run, options]);
        let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
        format!("{prefix}{}", words.join(" "))
    };
    answer(&profiler, request, &ask, out, err)?;
    Ok(exit)
}

/// Writes the overview. `ask` turns a question into a command to type.
pub fn answer(
    profiler: &Profiler,
    request: &Request,
    ask: &dyn Fn(&str) -> String,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<(), Error> {
    if request.options.output.is_directory() {
        return write_pages(profiler, request, ask, err);
    }
    write(profiler, request, ask, out, err)
}

fn write(
    profiler: &Profiler,
    request: &Request,
    ask: &dyn Fn(&str) -> String,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<(), Error> {
    let overview = profiler.overview(&request.flags.inputs)?;
    let theme = if request.options.output.to_screen() { request.theme() } else { Theme::PLAIN };
    deliver(
        request,
        &request.flags.files(),
        out,
        err,
        &[
            (Output::TEXT, &|out| render::write_text(&overview, &theme, ask, out)),
            ("json", &|out| render::write_json(&overview, out)),
            ("html", &|out| html::write(&overview, ask, request.page(), out)),
        ],
    )
}

/// The commands that may have a page besides the overview.
const PAGES: [&str; 6] = ["scope", "graph", "op", "code", "advise", "cost"];

/// Writes a page for every command that has an answer, with links between them.
fn write_pages(
    profiler: &Profiler,
    request: &Request,
    ask: &dyn Fn(&str) -> String,
    err: &mut dyn Write,
) -> Result<(), Error> {
    let dir = request.options.output.outfile.as_str();
    std::fs::create_dir_all(dir).map_err(|source| Error::Io {
        file: dir.to_owned(),
        action: "cannot create",
        source,
    })?;
    let page = |word: &'static str, pages: &[&'static str]| {
        let file = if word == "info" { "index" } else { word };
        let output = Output { form: "html".to_owned(), outfile: format!("{dir}{file}.html") };
        let mut flags = Flags::default();
        (flags.inputs, flags.strict) = (request.flags.inputs.clone(), request.flags.strict);
        Request {
            command: find(word).unwrap_or(request.command),
            options: Options { output, ..request.options.clone() },
            flags,
            paths: Vec::new(),
            named: request.named.clone(),
            sample: None,
            terminal: request.terminal,
            typed: ask(word),
            pages: pages.to_vec(),
        }
    };
    // A command that lacks data has no page, which the others must not link to.
    let mut pages: Vec<&str> = ["info"].into_iter().chain(PAGES).collect();
    loop {
        let written = |word: &&'static str| {
            let page = page(word, &pages);
            match *word {
                "info" => write(profiler, &page, ask, &mut io::sink(), &mut io::sink()).map(|()| Exit::Answered),
                _ => (page.command.run)(&page, &mut io::sink(), &mut io::sink()),
            }
        };
        let mut answered = Vec::new();
        for word in &pages {
            match written(word) {
                Ok(_) => answered.push(*word),
                Err(error @ Error::Io { .. }) => return Err(error),
                Err(_) => {}
            }
        }
        if answered.len() == pages.len() {
            break;
        }
        pages = answered;
    }
    // Nothing can be done if even standard error is closed.
    let _ = writeln!(err, "tfprof: wrote {} pages to {dir}: {}", pages.len(), pages.join(", "));
    open::say_and_open(request, &format!("{dir}index.html"), "html", err);
    Ok(())
}
