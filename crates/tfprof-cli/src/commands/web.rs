//! `tfprof web`: a page in the browser about the files, served on the loopback interface until Ctrl-C.

use super::{Exit, load, open, to_file};
use crate::flags::Request;
use std::ffi::OsStr;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use tfprof::internal::units;
use tfprof::{Error, Keep, Unit};
use tfprof_server::http::{PAGE, Server};
use tfprof_server::question::python_string;
use tfprof_server::report::{MAX_SIZE, Settings};
use tfprof_server::{Command, Setup, Site};

pub fn run(request: &Request, out: &mut dyn Write, err: &mut dyn Write) -> Result<Exit, Error> {
    if !request.options.output.to_screen() {
        let file = &request.options.output.outfile;
        return Err(Error::Question(format!("web writes a report, not another form: -output report:outfile={file}")));
    }
    let site = Arc::new(site(request, err)?);
    let port = request.flags.port;
    let io_error = |source| Error::Io { file: format!("port {port}"), action: "cannot listen on", source };
    let server = Server::bind(site, PAGE, port).map_err(io_error)?;
    let link = server.link();
    let opened = if request.flags.no_open { Ok(()) } else { open::open_in_browser(OsStr::new(&link)) };
    let how = match opened {
        Ok(()) if !request.flags.no_open => "the page is open in your browser",
        _ => "open the page in a browser of this machine",
    };
    // A closed standard output is no reason to stop; the browser may have the page.
    let _ = writeln!(out, "{link}").and_then(|()| out.flush());
    let _ = writeln!(err, "tfprof: {how}; the address works once. Ctrl-C stops");
    server.run_until_interrupted().map_err(io_error)?;
    Ok(Exit::Answered)
}

/// The commands that write a report: their options choose its first question.
pub const REPORTS: [&str; 6] = ["scope", "graph", "op", "code", "info", "web"];

/// Writes the page as one file.
pub fn report(request: &Request, out: &mut dyn Write, err: &mut dyn Write) -> Result<Exit, Error> {
    let site = site(request, err)?;
    let metrics = request.options.select.map(|select| select.words().into_iter().map(str::to_owned).collect());
    let max_size = request.flags.max_size.unwrap_or(MAX_SIZE);
    let settings = Settings { max_size, metrics: metrics.unwrap_or_default() };
    let file = &request.flags.report;
    let io_error = |source| Error::Io { file: file.clone(), action: "cannot write", source };
    let report = site.report(&PAGE, &settings).map_err(io_error)?;
    to_file(file, &request.flags.files(), out, |out| out.write_all(&report.html))?;
    // Nothing can be done if even standard error is closed.
    let size = units::text(Unit::Bytes, report.html.len() as i64);
    let _ = writeln!(err, "tfprof: wrote {file}, {size}; open it in a browser");
    for what in &report.left_out {
        let _ = writeln!(err, "tfprof: left out for its size: {what}; --max_size allows more");
    }
    Ok(Exit::Answered)
}

/// Loads everything that a page may ask for.
pub fn site(request: &Request, err: &mut dyn Write) -> Result<Site, Error> {
    let (profiler, _) = load(request, Keep::EVERYTHING, err)?;
    let root = match request.flags.source_root.as_str() {
        "" => PathBuf::from("."),
        root => PathBuf::from(root),
    };
    if !root.is_dir() {
        return Err(Error::option("source_root", format!("{} is not a directory", root.display())));
    }
    let is_demo = request.sample.is_some();
    let mut inputs = request.named.clone();
    for (name, value) in [("run", &request.options.run), ("step_marker", &request.options.step_marker)] {
        if !value.is_empty() {
            inputs.push(format!("-{name}={value}"));
        }
    }
    let python = if is_demo {
        "import tfprof\np = tfprof.demo(\"dump\")".to_owned()
    } else {
        let paths: Vec<_> = request.named.iter().map(|path| python_string(path)).collect();
        let paths = if let [one] = &paths[..] { one.clone() } else { format!("[{}]", paths.join(", ")) };
        format!("import tfprof\np = tfprof.open({paths})")
    };
    let program = if is_demo { "tfprof demo" } else { "tfprof" }.to_owned();
    let setup = Setup { command: Command { program, inputs, python }, source_root: root };
    Site::new(profiler, request.flags.inputs.clone(), setup)
}
