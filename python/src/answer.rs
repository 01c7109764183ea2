//! A profile that Python fills and asks.

use crate::interrupt::interruptible;
use crate::{question, raise};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};
use std::io::{self, Write};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use tfprof::error::{Error, Warning};
use tfprof::format::source::Source;
use tfprof::format::{Format, detect};
use tfprof::inputs::Inputs;
use tfprof::model::builder::Keep;
use tfprof::model::cells::Measure;
use tfprof::options::{Form, Options, Output, ViewKind};
use tfprof::profiler::Profiler;
use tfprof::quirks::Quirks;
use tfprof::render::{self, timeline};
use tfprof::{advise, view::View};

/// Messages of this size are read, and models of this many nodes are asked, in a few milliseconds: no time for Ctrl-C.
const SHORT: usize = 256 * 1024;
const FEW_NODES: usize = 2000;

/// What is loaded, and the questions that can be put to it.
#[pyclass(frozen)]
#[derive(Debug)]
pub struct Profile {
    shared: Arc<Shared>,
}

/// What outlives a call that was interrupted.
#[derive(Debug)]
struct Shared {
    loaded: RwLock<Loaded>,
    /// Something was being added when Ctrl-C came: nobody can say how much of it is there.
    interrupted: AtomicBool,
}

#[derive(Debug)]
struct Loaded {
    profiler: Profiler,
    /// How many warnings Python has been told.
    told: usize,
    /// Nodes that no graph has had when a run named them.
    made_by_runs: Vec<Range<usize>>,
}

#[pymethods]
impl Profile {
    /// `cmd` is the only question that will be asked, if that is known.
    #[new]
    #[pyo3(signature = (cmd=None, *, records=true))]
    fn new(cmd: Option<&str>, records: bool) -> Self {
        let keep = match cmd {
            None => Keep::EVERYTHING,
            Some(cmd) => Keep {
                traces: matches!(cmd, "code" | "advise"),
                attributes: cmd == "advise",
                records,
                ..Keep::EVERYTHING
            },
        };
        let loaded = RwLock::new(Loaded { profiler: Profiler::new(keep), told: 0, made_by_runs: Vec::new() });
        Profile { shared: Arc::new(Shared { loaded, interrupted: AtomicBool::new(false) }) }
    }

    /// Adds a message, wire or text format: `graph`, `run_meta`, `op_log` or `profile`.
    #[pyo3(signature = (what, bytes, step=0, name=""))]
    fn add(&self, py: Python<'_>, what: &str, bytes: PyBackedBytes, step: i64, name: &str) -> PyResult<()> {
        let format = match what {
            "graph" => Format::GraphDef,
            "run_meta" => Format::RunMetadata,
            "op_log" => Format::OpLog,
            "profile" => Format::Profile,
            _ => return Err(PyValueError::new_err(format!("tfprof has no messages `{what}`"))),
        };
        let name = if name.is_empty() { what } else { name };
        let format = match (format, detect::guess(&bytes[..bytes.len().min(64 * 1024)])) {
            (Format::GraphDef, detect::Guess::Is(Format::MetaGraphDef)) => Format::MetaGraphDef,
            (format, _) => format,
        };
        let name = name.to_owned();
        self.change(py, bytes.len() < SHORT, move |shared| {
            let mut loaded = shared.write();
            let before = loaded.profiler.model().nodes.len();
            let added = loaded.profiler.add(Source::memory(&name, &bytes)?, format, step);
            if format == Format::RunMetadata {
                let after = loaded.profiler.model().nodes.len();
                loaded.made_by_runs.push(before..after);
            }
            added
        })
    }

    /// Adds files: those whose content tells what they are, then those that were named.
    #[pyo3(signature = (paths, graphs=vec![], runs=vec![], op_logs=vec![], profiles=vec![]))]
    fn load(
        &self,
        py: Python<'_>,
        paths: Vec<PathBuf>,
        graphs: Vec<PathBuf>,
        runs: Vec<(Option<i64>, PathBuf)>,
        op_logs: Vec<PathBuf>,
        profiles: Vec<PathBuf>,
    ) -> PyResult<()> {
        self.change(py, false, move |shared| {
            let mut inputs = Inputs::default();
            for path in &paths {
                inputs.add_path(path)?;
            }
            inputs.graphs.extend(graphs);
            inputs.runs.extend(runs);
            inputs.op_logs.extend(op_logs);
            inputs.profiles.extend(profiles);
            inputs.load(&mut shared.write().profiler)
        })
    }

    /// The answer to a question in a form: files with their names, and what was odd.
    #[pyo3(signature = (cmd, form, options, original, outfile=""))]
    fn view<'py>(
        &self,
        py: Python<'py>,
        cmd: &str,
        form: &str,
        options: &Bound<'py, PyDict>,
        original: bool,
        outfile: &str,
    ) -> PyResult<(Vec<(String, Bound<'py, PyBytes>)>, Vec<String>)> {
        let kind = ViewKind::parse(cmd).ok_or_else(|| PyValueError::new_err(format!("unknown cmd: {cmd}")))?;
        let form = Form::ALL.into_iter().find(|known| known.word() == form);
        let form = form.ok_or_else(|| PyValueError::new_err("unknown form"))?;
        let mut options = question::options(options, original)?;
        options.output = Output { form, outfile: outfile.to_owned() };
        let (files, warnings) = self.ask(py, move |shared| shared.answer(kind, &options))?;
        let files = files.into_iter().map(|(name, bytes)| (name, PyBytes::new(py, &bytes))).collect();
        Ok((files, warnings))
    }

    /// Where the `output` of options sends an answer: the form and the file.
    #[staticmethod]
    fn target(options: &Bound<'_, PyDict>) -> PyResult<(&'static str, String)> {
        let output = question::options(options, true)?.output;
        Ok((output.form.word(), output.outfile))
    }

    /// What the checkers say: as text, as a message, and what they could not look at.
    fn advise<'py>(
        &self,
        py: Python<'py>,
        checkers: Option<Vec<String>>,
        original: bool,
    ) -> PyResult<(String, Bound<'py, PyBytes>, Vec<String>)> {
        let quirks = if original { Quirks::ORIGINAL } else { Quirks::NONE };
        let (text, message, notes) = self.ask(py, move |shared| -> Result<_, Error> {
            let loaded = shared.read();
            let names = checkers.unwrap_or_else(|| advise::default_names(quirks));
            let advice = advise::advise(loaded.profiler.model(), &names, quirks)?;
            let (mut text, mut message) = (Vec::new(), Vec::new());
            advise::write_text(&advice, quirks, &mut text).map_err(in_memory)?;
            advise::write_proto(&advice, quirks, &mut message).map_err(in_memory)?;
            let notes =
                advice.iter().flat_map(|advice| advice.notes.iter().map(|n| format!("{}: {n}", advice.checker)));
            Ok((String::from_utf8_lossy(&text).into_owned(), message, notes.collect::<Vec<_>>()))
        })?;
        Ok((text, PyBytes::new(py, &message), notes))
    }

    /// Everything that is loaded as a `ProfileProto`.
    fn serialize<'py>(&self, py: Python<'py>, original: bool) -> PyResult<Bound<'py, PyBytes>> {
        let quirks = if original { Quirks::ORIGINAL } else { Quirks::NONE };
        let bytes = self.ask(py, move |shared| {
            let mut out = Vec::new();
            let written = render::profile::write(shared.read().profiler.model(), quirks, &mut out);
            written.map(|()| out).map_err(in_memory)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The steps that are loaded.
    fn steps(&self, py: Python<'_>) -> PyResult<Vec<i64>> {
        self.ask(py, |shared| Ok(shared.read().profiler.model().runs.steps().collect()))
    }

    /// The number of nodes, and how many of them ran.
    fn coverage(&self, py: Python<'_>) -> PyResult<(usize, usize)> {
        self.ask(py, |shared| Ok(shared.coverage()))
    }

    /// What was odd in what was added since this was asked last.
    fn warnings(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.ask(py, |shared| Ok(shared.new_warnings()))
    }
}

impl Profile {
    /// Adds something; if that is interrupted, nothing can be asked any more.
    fn change(
        &self,
        py: Python<'_>,
        short: bool,
        work: impl FnOnce(&Shared) -> Result<(), Error> + Send + 'static,
    ) -> PyResult<()> {
        let shared = self.usable()?;
        let done = interruptible(py, short, move || work(&shared));
        if done.is_err() {
            self.shared.interrupted.store(true, Ordering::Relaxed);
        }
        done?.map_err(|error| raise(&error))
    }

    /// Asks something.
    fn ask<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Shared) -> Result<T, Error> + Send + 'static,
    ) -> PyResult<T> {
        let shared = self.usable()?;
        let short = shared.loaded.try_read().is_ok_and(|loaded| loaded.profiler.model().nodes.len() < FEW_NODES);
        interruptible(py, short, move || work(&shared))?.map_err(|error| raise(&error))
    }

    fn usable(&self) -> PyResult<Arc<Shared>> {
        if self.shared.interrupted.load(Ordering::Relaxed) {
            let why = "a file was being added when Ctrl-C came, so what is loaded is not whole; begin anew";
            return Err(crate::Error::new_err(why));
        }
        Ok(Arc::clone(&self.shared))
    }
}

impl Shared {
    fn read(&self) -> RwLockReadGuard<'_, Loaded> {
        self.loaded.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Loaded> {
        self.loaded.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn coverage(&self) -> (usize, usize) {
        let loaded = self.read();
        let model = loaded.profiler.model();
        let mut records = vec![0; model.nodes.len()];
        for cell in model.runs.totals().rows() {
            records[cell.node.index()] += cell.sum(Measure::Runs).limited();
        }
        // As the original: a node that a run made counts from its second record on.
        for node in loaded.made_by_runs.iter().cloned().flatten() {
            records[node] -= 1;
        }
        (records.len(), records.iter().filter(|records| **records > 0).count())
    }

    fn new_warnings(&self) -> Vec<String> {
        let mut loaded = self.write();
        let told = loaded.told;
        let all = loaded.profiler.warnings();
        // A graph is sent again when it has grown; that its first nodes are known is nothing odd.
        let new =
            all[told..].iter().filter(|warning| warning.code != "duplicate_node").map(Warning::to_string).collect();
        loaded.told = all.len();
        new
    }

    /// One file for each step of a timeline, else one.
    fn answer(&self, kind: ViewKind, options: &Options) -> Result<(Vec<(String, Vec<u8>)>, Vec<String>), Error> {
        let loaded = self.read();
        let profiler = &loaded.profiler;
        let (mut files, mut warnings) = (Vec::new(), Vec::new());
        let steps = timeline::steps(profiler.model(), kind, options);
        if steps.is_empty() {
            let why = "a timeline of the graph view needs steps, and there are none; add a RunMetadata";
            return Err(Error::Missing(why.to_owned()));
        }
        for step in steps {
            let options = Options { step, ..options.clone() };
            let view = profiler.view(kind, &options)?;
            let mut out = Vec::new();
            render(&view, profiler.warnings(), &mut out).map_err(in_memory)?;
            let outfile = &options.output.outfile;
            let timeline = options.output.form == Form::Timeline;
            files.push((if timeline { timeline::file_name(outfile, step) } else { outfile.clone() }, out));
            warnings.extend(view.warnings.iter().map(Warning::to_string));
        }
        Ok((files, warnings))
    }
}

fn render(view: &View<'_, '_>, warnings: &[Warning], out: &mut dyn Write) -> io::Result<()> {
    match view.options.output.form {
        Form::None => Ok(()),
        Form::Stdout | Form::File => render::text::write(view, out),
        Form::Proto => render::proto::write(view, out),
        Form::Json => render::json::write(view, warnings, out),
        Form::Csv => render::csv::write(view, out),
        Form::Pprof => render::pprof::write(view, out),
        Form::Folded => render::folded::write(view, out),
        Form::Speedscope => render::speedscope::write(view, out),
        Form::Flamegraph => render::flamegraph::write(view, out),
        Form::Timeline => timeline::write(view, out).map(|_| ()),
    }
}

fn in_memory(source: io::Error) -> Error {
    Error::Io { file: "the answer".to_owned(), action: "cannot write", source }
}
