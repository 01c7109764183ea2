//! `tfprof web`: a page in the browser about the files, served on the loopback interface until Ctrl-C.

use super::{Exit, diff, load, open, to_file};
use crate::flags::Request;
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tfprof::internal::format::NO_EVENTS;
use tfprof::internal::{comma_list, units};
use tfprof::{Error, Inputs, Keep, Profiler, Unit};
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
pub const REPORTS: [&str; 7] = ["scope", "graph", "op", "code", "info", "web", "diff"];

/// Writes the page as one file.
pub fn report(request: &Request, out: &mut dyn Write, err: &mut dyn Write) -> Result<Exit, Error> {
    let site = site(request, err)?;
    let metrics = request.options.select.map(|select| select.words().into_iter().map(str::to_owned).collect());
    let max_size = request.flags.max_size.unwrap_or(MAX_SIZE);
    let settings = Settings { max_size, metrics: metrics.unwrap_or_default() };
    let file = &request.flags.report;
    let report = site.report(&PAGE, &settings)?;
    to_file(file, &request.flags.files(), out, |out| out.write_all(&report.html))?;
    // Nothing can be done if even standard error is closed.
    let size = units::text(Unit::Bytes, report.html.len() as i64);
    let _ = writeln!(err, "tfprof: wrote {file}, {size}; open it in a browser");
    for what in &report.left_out {
        let _ = writeln!(err, "tfprof: left out for its size: {what}; --max_size allows more");
    }
    Ok(Exit::Answered)
}

/// Loads everything that a page may ask for: of one profile, or of two to compare.
pub fn site(request: &Request, err: &mut dyn Write) -> Result<Site, Error> {
    if request.command.word == "diff" {
        let (_, before, after) = diff::sides(request)?;
        let inputs = diff::side(request, after)?;
        let (profiler, _) = diff::load(request, &inputs, Keep::EVERYTHING, &after.display().to_string(), err)?;
        let named = comma_list::split_list(&after.display().to_string());
        let site = site_of(request, profiler, inputs, &named)?;
        return with_baseline(site, request, &diff::side(request, before)?, before, err);
    }
    let site = match load(request, Keep::EVERYTHING, err) {
        Ok((profiler, _)) => site_of(request, profiler, request.flags.inputs.clone(), &request.named)?,
        // The page says so, and how to record something.
        Err(error) if is_empty(&error) => {
            let site = site_of(request, Profiler::new(Keep::EVERYTHING), Inputs::default(), &request.named)?;
            site.without_events(error.to_string())
        }
        Err(error) => return Err(error),
    };
    if request.flags.baseline.is_empty() {
        return Ok(site);
    }
    if request.sample.is_some() || request.named.iter().any(|name| name.starts_with('-')) {
        let why = "compares paths; name the files of the page without the flags of their formats";
        return Err(Error::option("baseline", why));
    }
    let flags = &request.flags;
    let mut inputs = Inputs::default();
    (inputs.settings, inputs.limits) = (flags.inputs.settings.clone(), flags.inputs.limits);
    let before = Path::new(&flags.baseline);
    diff::add_side(&mut inputs, before)?;
    with_baseline(site, request, &inputs, before, err)
}

/// Whether a file is whole, but nothing was recorded in it.
fn is_empty(error: &Error) -> bool {
    matches!(error.cause(), Error::Input { message, .. } if message.contains(NO_EVENTS))
}

fn with_baseline(
    site: Site,
    request: &Request,
    inputs: &Inputs,
    path: &Path,
    err: &mut dyn Write,
) -> Result<Site, Error> {
    let (profiler, _) = diff::load(request, inputs, Keep::EVERYTHING, &path.display().to_string(), err)?;
    site.compared_with(profiler, inputs, &path.display().to_string())
}

fn site_of(request: &Request, profiler: Profiler, files: Inputs, named: &[String]) -> Result<Site, Error> {
    let root = match request.flags.source_root.as_str() {
        "" => PathBuf::from("."),
        root => PathBuf::from(root),
    };
    if !root.is_dir() {
        return Err(Error::option("source_root", format!("{} is not a directory", root.display())));
    }
    let is_demo = request.sample.is_some();
    let mut inputs = named.to_vec();
    for (name, value) in [("run", &request.options.run), ("step_marker", &request.options.step_marker)] {
        if !value.is_empty() {
            inputs.push(format!("-{name}={value}"));
        }
    }
    let python = if is_demo {
        "import tfprof\np = tfprof.demo(\"dump\")".to_owned()
    } else {
        let paths: Vec<_> = named.iter().map(|path| python_string(path)).collect();
        let paths = if let [one] = &paths[..] { one.clone() } else { format!("[{}]", paths.join(", ")) };
        format!("import tfprof\np = tfprof.open({paths})")
    };
    let program = if is_demo { "tfprof demo" } else { "tfprof" }.to_owned();
    let options = &request.options;
    let peaks = [("peak_flops", &options.peak_flops), ("peak_bandwidth", &options.peak_bandwidth)];
    let peaks = peaks.into_iter().chain([("device", &options.device), ("devices", &options.devices)]);
    let given = peaks.filter(|(_, value)| !value.is_empty()).map(|(name, value)| (name.to_owned(), value.clone()));
    let setup = Setup { command: Command { program, inputs, python }, source_root: root, defaults: given.collect() };
    Site::new(profiler, files, setup)
}
