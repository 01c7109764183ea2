//! `Profile`: loads files for Python and answers its questions.

use crate::arrow::TypedRows;
use crate::columns::Columns;
use crate::interrupt::interruptible;
use crate::{cost, question, raise, raise_checkpoint};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use tfprof::internal::engine::needs;
use tfprof::internal::format::Reader;
use tfprof::internal::format::profile;
use tfprof::internal::model::cells::Measure;
use tfprof::internal::render::{self, html};
use tfprof::internal::report::{advise, overview};
#[cfg(feature = "sql")]
use tfprof::internal::sql::Database;
use tfprof::internal::tables::{TABLES, TableInfo};
use tfprof::{
    Answer, Dress, Error, Format, Input, Inputs, Output, Profiler, Question, Quirks, Role, Source, Spelling, Theme,
    ViewKind, Warning,
};
use tfprof_cli::Sample;

/// Below these sizes, reading and asking take a few milliseconds: not worth a thread that Ctrl-C can interrupt.
const SHORT: usize = 256 * 1024;
const FEW_NODES: usize = 2000;

/// The loaded files, and all questions about them.
#[pyclass(frozen)]
#[derive(Debug)]
pub struct Profile {
    shared: Arc<Shared>,
}

/// The state that survives an interrupted call.
#[derive(Debug)]
pub struct Shared {
    loaded: RwLock<Loaded>,
    /// Ctrl-C interrupted loading, so the model may be incomplete.
    interrupted: AtomicBool,
}

#[derive(Debug)]
struct Loaded {
    profiler: Profiler,
    /// The loaded files.
    inputs: Inputs,
    /// The sample's files, which are read again for tensor values; dropping this deletes them.
    sample: Option<Sample>,
    /// The number of warnings that Python has already seen.
    told: usize,
    /// Nodes that a run named before any graph had them.
    made_by_runs: Vec<Range<usize>>,
    /// More was loaded since costs were computed.
    stale: bool,
}

#[pymethods]
impl Profile {
    /// `cmd`: the only question that will follow, if known.
    #[new]
    #[pyo3(signature = (cmd=None, *, records=true))]
    fn new(cmd: Option<&str>, records: bool) -> Self {
        let profiler = match cmd {
            None => Profiler::default(),
            Some(cmd) => Profiler::new(needs::of_original(cmd, records)),
        };
        let loaded = RwLock::new(Loaded {
            profiler,
            inputs: Inputs::default(),
            sample: None,
            told: 0,
            made_by_runs: Vec::new(),
            stale: false,
        });
        Profile { shared: Arc::new(Shared { loaded, interrupted: AtomicBool::new(false) }) }
    }

    /// Adds the built-in sample.
    fn load_sample(&self, py: Python<'_>) -> PyResult<()> {
        self.change(py, true, |shared| {
            let sample = Sample::unpack()?;
            let mut inputs = Inputs::default();
            inputs.add_path(sample.dir())?;
            inputs.add(sample.checkpoint(), Format::of(Role::Checkpoint));
            let mut loaded = shared.write();
            loaded.sample = Some(sample);
            loaded.load(&inputs)
        })
    }

    /// Adds a message, wire or text format: `graph`, `run_meta`, `op_log` or `profile`.
    #[pyo3(signature = (what, bytes, step=0, name=""))]
    fn add(&self, py: Python<'_>, what: &str, bytes: PyBackedBytes, step: i64, name: &str) -> PyResult<()> {
        let format = Format::by_word(what).filter(|format| matches!(format.reader, Reader::Records(_)));
        let Some(format) = format else {
            return Err(PyValueError::new_err(format!("there are no messages of the kind `{what}`")));
        };
        let format = format.refined(&bytes[..bytes.len().min(64 * 1024)]);
        let name = if name.is_empty() { what } else { name };
        let name = name.to_owned();
        self.change(py, bytes.len() < SHORT, move |shared| {
            let mut loaded = shared.write();
            let given = (format.role == Role::Run).then_some(step);
            loaded.inputs.list.push(Input { path: PathBuf::from(&name), format, step: given });
            loaded.stale = true;
            let before = loaded.profiler.model().nodes.len();
            let added = loaded.profiler.add(Source::memory(&name, &bytes)?, format, step);
            if format.role == Role::Run {
                let after = loaded.profiler.model().nodes.len();
                loaded.made_by_runs.push(before..after);
            }
            added
        })
    }

    /// Adds files: `paths` are recognized by their content; `named` are a kind (`graph`, `run_meta`, `checkpoint`, …),
    /// a path, and for runs a step.
    #[pyo3(signature = (paths, named=vec![], run=String::new(), step_marker=String::new(), hosts=false, live=false))]
    fn load(
        &self,
        py: Python<'_>,
        paths: Vec<PathBuf>,
        named: Vec<(String, PathBuf, Option<i64>)>,
        run: String,
        step_marker: String,
        hosts: bool,
        live: bool,
    ) -> PyResult<()> {
        let format = |word: &str| {
            let unknown = || PyValueError::new_err(format!("there are no files of the kind `{word}`"));
            Format::by_word(word).ok_or_else(unknown)
        };
        let mut inputs = Inputs::default();
        (inputs.run, inputs.step_marker, inputs.hosts, inputs.live) = (run, step_marker, hosts, live);
        for (word, path, step) in named {
            inputs.list.push(Input { path, format: format(&word)?, step });
        }
        let checkpoint = inputs.of(Role::Checkpoint).next().map(|input| input.path.clone());
        let raise_at = move |error: &Error| match (error.cause(), &checkpoint) {
            (Error::Input { .. }, Some(path)) => raise_checkpoint(error, path),
            _ => raise(error),
        };
        self.change_or(py, false, raise_at, move |shared| {
            for path in &paths {
                inputs.add_path(path)?;
            }
            shared.write().load(&inputs)
        })
    }

    /// The answer in a form: its files with their names, its warnings, and notes on each file. `report` is text without
    /// its legend, at most `lines` of it; `cell` is HTML for a notebook.
    #[pyo3(signature = (cmd, form, options, original, outfile="", lines=usize::MAX))]
    fn view<'py>(
        &self,
        py: Python<'py>,
        cmd: &str,
        form: &str,
        options: &Bound<'py, PyDict>,
        original: bool,
        outfile: &str,
        lines: usize,
    ) -> PyResult<(Vec<(String, Bound<'py, PyBytes>)>, Vec<String>, Vec<Vec<String>>)> {
        let (question, dress) = question_of(cmd, form, options, original, outfile)?;
        let WrittenAnswer { files, warnings, notes } = self.ask(py, move |shared| {
            // The original infers nothing.
            if !original {
                shared.infer()?;
            }
            shared.answer(&question, &dress, lines)
        })?;
        let files = files.into_iter().map(|(name, bytes)| (name, PyBytes::new(py, &bytes))).collect();
        Ok((files, warnings, notes))
    }

    /// The rows of an answer as columns of 64-bit numbers, and its warnings.
    fn columns(&self, py: Python<'_>, cmd: &str, options: &Bound<'_, PyDict>) -> PyResult<Columns> {
        let (kind, mut options) = (view_kind(cmd)?, question::options(options, false)?);
        options.output = Output::default();
        self.ask(py, move |shared| {
            shared.infer()?;
            shared.read().profiler.view(kind, &options).map(|view| Columns::new(&view))
        })
    }

    /// The rows of an answer with typed columns.
    fn typed_view(&self, py: Python<'_>, cmd: &str, options: &Bound<'_, PyDict>) -> PyResult<TypedRows> {
        let (kind, mut options) = (view_kind(cmd)?, question::options(options, false)?);
        options.output = Output::default();
        self.ask(py, move |shared| {
            shared.infer()?;
            let view = shared.read().profiler.view(kind, &options)?;
            TypedRows::of_view(&view)
        })
    }

    /// The names of the tables.
    #[staticmethod]
    fn table_names() -> Vec<&'static str> {
        TABLES.iter().map(|table| table.name).collect()
    }

    /// A table of everything that is loaded.
    fn table(&self, py: Python<'_>, name: &str) -> PyResult<TypedRows> {
        let table = TableInfo::named(name).map_err(PyValueError::new_err)?;
        self.ask(py, move |shared| {
            shared.infer()?;
            let loaded = shared.read();
            let facts = loaded.profiler.facts(&loaded.inputs);
            TypedRows::filled(table.fields.to_vec(), &mut |sink| table.fill(&facts, sink))
        })
    }

    /// The rows that a statement in SQL gives.
    #[cfg(feature = "sql")]
    fn sql(&self, py: Python<'_>, statement: &str) -> PyResult<TypedRows> {
        let statement = statement.to_owned();
        let gone = Arc::new(AtomicBool::new(false));
        let is_gone = Arc::clone(&gone);
        let answer = self.ask(py, move |shared| {
            shared.infer()?;
            let loaded = shared.read();
            let source = loaded.profiler.sql_source(&loaded.inputs);
            drop(loaded);
            let database = Database::new(source, move || is_gone.load(Ordering::SeqCst))?;
            let answer = database.query(&statement)?;
            Ok(TypedRows::new(answer.fields, answer.rows))
        });
        // After Ctrl-C, the statement ends, too.
        gone.store(true, Ordering::SeqCst);
        answer
    }

    /// An overview of the files: text, JSON, and HTML for a notebook.
    fn overview(&self, py: Python<'_>) -> PyResult<(String, String, String)> {
        let [text, json, cell] = self.ask(py, |shared| {
            shared.infer()?;
            let loaded = shared.read();
            let overview = loaded.profiler.overview(&loaded.inputs)?;
            let (mut text, mut json, mut cell) = (Vec::new(), Vec::new(), Vec::new());
            overview::render::write_text(&overview, &Theme::PLAIN, &question::call, &mut text).map_err(in_memory)?;
            overview::render::write_json(&overview, &mut json).map_err(in_memory)?;
            overview::html::write(&overview, &question::call, html::Container::Cell, &mut cell).map_err(in_memory)?;
            Ok([text, json, cell].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
        })?;
        Ok((text, json, cell))
    }

    /// The cost of the model, as JSON and as tables.
    fn cost<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyBytes>, String)> {
        let (json, text) = self.ask(py, |shared| {
            shared.infer()?;
            cost::report(&shared.read().profiler)
        })?;
        Ok((PyBytes::new(py, &json), text))
    }

    /// The warnings of loading, and whether each is about damage.
    fn all_warnings(&self, py: Python<'_>) -> PyResult<Vec<(String, bool)>> {
        let told = |warning: &Warning| (python_text(warning), warning.damage);
        self.ask(py, move |shared| Ok(shared.read().profiler.warnings().iter().map(told).collect()))
    }

    /// The form and the file of the option `output`.
    #[staticmethod]
    fn target(options: &Bound<'_, PyDict>) -> PyResult<(String, String)> {
        let output = question::options(options, true)?.output;
        Ok((output.form, output.outfile))
    }

    /// The checkers' reports as text and as a message, and notes on missing data.
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
            let advice = loaded.profiler.advise(&names, quirks)?;
            let (mut text, mut message) = (Vec::new(), Vec::new());
            advise::write_text(&advice, quirks, &mut text).map_err(in_memory)?;
            advise::write_proto(&advice, quirks, &mut message).map_err(in_memory)?;
            let notes =
                advice.iter().flat_map(|advice| advice.notes.iter().map(|n| format!("{}: {n}", advice.checker)));
            Ok((String::from_utf8_lossy(&text).into_owned(), message, notes.collect::<Vec<_>>()))
        })?;
        Ok((text, PyBytes::new(py, &message), notes))
    }

    /// By checker: name, reports, and notes on missing data; then everything as text.
    fn advice(
        &self,
        py: Python<'_>,
        checkers: Option<Vec<String>>,
        original: bool,
    ) -> PyResult<(Vec<(&'static str, Vec<String>, Vec<String>)>, String)> {
        let quirks = if original { Quirks::ORIGINAL } else { Quirks::NONE };
        self.ask(py, move |shared| -> Result<_, Error> {
            let names = checkers.unwrap_or_else(|| advise::default_names(quirks));
            let advice = shared.read().profiler.advise(&names, quirks)?;
            let mut text = Vec::new();
            advise::write_text(&advice, quirks, &mut text).map_err(in_memory)?;
            let text = String::from_utf8_lossy(&text).trim_start_matches('\n').to_owned();
            Ok((advice.into_iter().map(|a| (a.checker, a.reports, a.notes)).collect(), text))
        })
    }

    /// The paths of the loaded files.
    fn files(&self, py: Python<'_>) -> PyResult<Vec<PathBuf>> {
        self.ask(py, |shared| Ok(shared.paths()))
    }

    /// All loaded data as a `ProfileProto`.
    fn serialize<'py>(&self, py: Python<'py>, original: bool) -> PyResult<Bound<'py, PyBytes>> {
        let quirks = if original { Quirks::ORIGINAL } else { Quirks::NONE };
        if !self.shared.read().profiler.hosts().is_empty() {
            let message = "an XSpace cannot be saved as a ProfileProto; keep its file";
            return Err(raise(&Error::Question(message.to_owned())));
        }
        let bytes = self.ask(py, move |shared| {
            let mut out = Vec::new();
            let written = profile::write(shared.read().profiler.model(), quirks, &mut out);
            written.map(|()| out).map_err(in_memory)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The loaded steps.
    fn steps(&self, py: Python<'_>) -> PyResult<Vec<i64>> {
        self.ask(py, |shared| Ok(shared.read().profiler.model().runs.steps().collect()))
    }

    /// The steps of profiles: number, start and length in microseconds, and the rule that found them. Of several hosts,
    /// the first start and the longest.
    fn profile_steps(&self) -> Vec<(i64, f64, f64, &'static str)> {
        let mut steps: BTreeMap<i64, (i64, i64, &'static str)> = BTreeMap::new();
        for host in self.shared.read().profiler.hosts() {
            for step in &host.steps {
                let known = steps.entry(step.number).or_insert((step.start, step.length, host.rule.word()));
                *known = (known.0.min(step.start), known.1.max(step.length), known.2);
            }
        }
        let micros = |picos: i64| picos as f64 / 1e6;
        steps.into_iter().map(|(step, (start, length, rule))| (step, micros(start), micros(length), rule)).collect()
    }

    /// The number of nodes, and how many of them ran.
    fn coverage(&self, py: Python<'_>) -> PyResult<(usize, usize)> {
        self.ask(py, |shared| Ok(shared.coverage()))
    }

    /// The warnings since the last call.
    fn warnings(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.ask(py, |shared| Ok(shared.new_warnings()))
    }
}

impl Profile {
    /// Runs work that loads something. If Ctrl-C interrupts it, the profile becomes unusable.
    fn change(
        &self,
        py: Python<'_>,
        short: bool,
        work: impl FnOnce(&Shared) -> Result<(), Error> + Send + 'static,
    ) -> PyResult<()> {
        self.change_or(py, short, raise, work)
    }

    /// As [`change`](Self::change), with a custom mapping of errors.
    fn change_or(
        &self,
        py: Python<'_>,
        short: bool,
        raise: impl Fn(&Error) -> PyErr,
        work: impl FnOnce(&Shared) -> Result<(), Error> + Send + 'static,
    ) -> PyResult<()> {
        let shared = self.usable()?;
        let done = interruptible(py, short, move || work(&shared));
        if done.is_err() {
            self.shared.interrupted.store(true, Ordering::Relaxed);
        }
        done?.map_err(|error| raise(&error))
    }

    /// Runs work that only reads.
    fn ask<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Shared) -> Result<T, Error> + Send + 'static,
    ) -> PyResult<T> {
        let shared = self.usable()?;
        let short = shared.loaded.try_read().is_ok_and(|loaded| loaded.profiler.model().nodes.len() < FEW_NODES);
        interruptible(py, short, move || work(&shared))?.map_err(|error| raise(&error))
    }

    pub fn usable(&self) -> PyResult<Arc<Shared>> {
        if self.shared.interrupted.load(Ordering::Relaxed) {
            let why = "Ctrl-C interrupted loading, so the profile is incomplete; open it again";
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
        // As the original: a node that only runs name counts from its second record on.
        for node in loaded.made_by_runs.iter().cloned().flatten() {
            records[node] -= 1;
        }
        let ran = model.ops().filter(|node| records[node.index()] > 0);
        (model.ops().count(), ran.count())
    }

    fn new_warnings(&self) -> Vec<String> {
        let mut loaded = self.write();
        let told = loaded.told;
        let all = loaded.profiler.warnings();
        // A graph that has grown is sent again, so repeated nodes are expected.
        let new = all[told..].iter().filter(|warning| warning.code != "duplicate_node").map(python_text).collect();
        loaded.told = all.len();
        new
    }

    /// Computes costs, if more was loaded since the last time.
    pub fn infer(&self) -> Result<(), Error> {
        if !self.read().stale {
            return Ok(());
        }
        let mut loaded = self.write();
        loaded.stale = false;
        loaded.profiler.infer()
    }

    /// The files of an answer, and the first `lines` of each.
    fn answer(&self, question: &Question, dress: &Dress<'_>, lines: usize) -> Result<WrittenAnswer, Error> {
        write_parts(&self.read().profiler.ask(question)?, dress, lines, question.options.output.to_nowhere())
    }

    /// The paths of the loaded files.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.read().inputs.paths().map(std::path::Path::to_path_buf).collect()
    }

    /// Lends the profiler.
    pub fn with<T>(&self, take: impl FnOnce(&Profiler) -> T) -> T {
        take(&self.read().profiler)
    }
}

/// The form that a word of Python means, and how it is presented.
fn dress_of(form: &str) -> PyResult<(&str, Dress<'static>)> {
    let plain = Dress { spelling: Spelling::Python, ..Dress::PLAIN };
    let (form, dress) = match form {
        "report" => (Output::SCREEN, Dress { legend: false, ..plain }),
        "cell" => ("html", Dress { container: html::Container::Cell, ..plain }),
        form => (form, plain),
    };
    render::form_of(form).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok((form, dress))
}

/// A question with its output, and how its answer is presented.
pub fn question_of(
    cmd: &str,
    form: &str,
    options: &Bound<'_, PyDict>,
    original: bool,
    outfile: &str,
) -> PyResult<(Question, Dress<'static>)> {
    let (form, dress) = dress_of(form)?;
    let mut question = Question { kind: view_kind(cmd)?, options: question::options(options, original)? };
    question.options.output = Output { form: form.to_owned(), outfile: outfile.to_owned() };
    Ok((question, dress))
}

/// Writes all parts of an answer, at most `lines` of each.
pub fn write_parts(answer: &Answer, dress: &Dress<'_>, lines: usize, to_nowhere: bool) -> Result<WrittenAnswer, Error> {
    let mut found = WrittenAnswer::default();
    answer.each_part(|part| {
        let mut out = Vec::new();
        if lines < usize::MAX {
            let mut head = Head { out: &mut out, lines };
            // A head that is full refuses more.
            part.write(dress, &mut head).or_else(|error| if head.lines == 0 { Ok(()) } else { Err(error) })
        } else if to_nowhere {
            Ok(())
        } else {
            part.write(dress, &mut out)
        }
        .map_err(in_memory)?;
        found.files.push((part.file.clone(), out));
        let warnings = [&part.view.warnings[..], &part.view.late_warnings()].concat();
        found.warnings.extend(warnings.iter().map(python_text));
        found.notes.push(part.view.take_notes());
        Ok::<(), Error>(())
    })?;
    Ok(found)
}

/// An answer in one form.
#[derive(Default)]
pub struct WrittenAnswer {
    /// Names and contents.
    pub files: Vec<(String, Vec<u8>)>,
    pub warnings: Vec<String>,
    /// By file.
    pub notes: Vec<Vec<String>>,
}

/// A warning that names arguments of Python.
pub fn python_text(warning: &Warning) -> String {
    warning.text(Spelling::Python)
}

impl Loaded {
    fn load(&mut self, inputs: &Inputs) -> Result<(), Error> {
        let loaded = inputs.load(&mut self.profiler);
        self.inputs.extend(inputs);
        loaded
    }
}

pub fn view_kind(cmd: &str) -> PyResult<ViewKind> {
    ViewKind::parse(cmd).ok_or_else(|| PyValueError::new_err(format!("unknown cmd: {cmd}")))
}

/// Accepts a number of lines, then refuses more.
struct Head<'o> {
    out: &'o mut Vec<u8>,
    lines: usize,
}

impl Write for Head<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.lines == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        let end = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1);
        self.out.extend_from_slice(&bytes[..end]);
        self.lines -= usize::from(bytes[..end].ends_with(b"\n"));
        Ok(end)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub fn in_memory(source: io::Error) -> Error {
    Error::Io { file: "the answer".to_owned(), action: "cannot write", source }
}
