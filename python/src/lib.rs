//! The native module: bytes in, bytes out. Messages, graphs and files are handled in Python.

// Arguments from Python are owned, and signatures are those of the Python functions.
#![allow(clippy::needless_pass_by_value, clippy::too_many_arguments, clippy::type_complexity)]

mod answer;
mod arrow;
mod checkpoint;
mod columns;
mod compare;
mod cost;
mod interrupt;
mod parts;
mod question;
mod shapes;
mod traces;

use interrupt::interruptible;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyOSError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use tfprof::internal::checkpoint::locate;
use tfprof::internal::infer::op_log;
use tfprof::internal::render::html;
use tfprof::internal::view::filter::Patterns;
use tfprof::{CountingAllocator, FORMS, METRICS, OPTIONS, Source, Spelling};
use tfprof_cli::python_type;

/// Counts memory, so that an answer that needs too much is an exception and not the end of the interpreter.
#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

create_exception!(tfprof, Error, PyException, "Why tfprof has no answer: one sentence.");
create_exception!(tfprof, MissingData, Error, "The question is right, but what is loaded cannot answer it.");

#[pymodule(name = "_native", gil_used = false)]
mod native {
    #[pymodule_export]
    use super::answer::Profile;
    #[pymodule_export]
    use super::arrow::TypedRows;
    #[pymodule_export]
    use super::checkpoint::Checkpoint;
    #[pymodule_export]
    use super::compare::Comparison;
    #[pymodule_export]
    use super::cost::cost;
    #[pymodule_export]
    use super::parts::{ledger, lost, merge, part};
    #[pymodule_export]
    use super::shapes::graph_with_shapes;
    #[pymodule_export]
    use super::traces::{TraceWriter, chrome_trace};
    #[pymodule_export]
    use super::{Error, MissingData};
    #[pymodule_export]
    use super::{
        Shapes, form_endings, html_text, is_pattern, metric_words, options, read_file, run_command, split_list,
        write_sample,
    };
}

/// The library's error as a Python exception, which names keywords instead of flags.
fn raise(error: &tfprof::Error) -> PyErr {
    let text = error.text(Spelling::Python);
    match error.cause() {
        tfprof::Error::Io { source, .. } => match source.kind() {
            std::io::ErrorKind::NotFound => {
                pyo3::exceptions::PyFileNotFoundError::new_err((source.raw_os_error(), text))
            }
            _ => PyOSError::new_err(text),
        },
        tfprof::Error::Missing(_) => MissingData::new_err(text),
        _ => Error::new_err(text),
    }
}

/// The same for a checkpoint; a missing one is a `FileNotFoundError`.
fn raise_checkpoint(error: &tfprof::Error, path: &Path) -> PyErr {
    if !path.exists() && locate::locate(path).is_err() {
        return pyo3::exceptions::PyFileNotFoundError::new_err(error.text(Spelling::Python));
    }
    raise(error)
}

/// The distinct frames of a graph: file, line number, function and text of the line.
type Frames = Vec<(String, i64, String, String)>;

/// Makes op logs of one graph, and keeps the shapes of its runs.
#[pyclass(frozen)]
#[derive(Debug, Default)]
struct Shapes {
    shapes: Arc<Mutex<op_log::RunShapes>>,
}

#[pymethods]
impl Shapes {
    #[new]
    fn new() -> Self {
        Shapes::default()
    }

    /// The op log of a graph: its bytes, how many ops lack shapes, and the nodes whose shapes contradict the run.
    #[pyo3(signature = (graph, run_meta=None, op_log=None, trainable=vec![], traces=None, without_float_ops=false, keep_strings=false))]
    fn op_log<'py>(
        &self,
        py: Python<'py>,
        graph: PyBackedBytes,
        run_meta: Option<PyBackedBytes>,
        op_log: Option<PyBackedBytes>,
        trainable: Vec<String>,
        traces: Option<(Frames, Vec<(String, Vec<u32>)>)>,
        without_float_ops: bool,
        keep_strings: bool,
    ) -> PyResult<(Bound<'py, PyBytes>, usize, Vec<String>)> {
        let shapes = Arc::clone(&self.shapes);
        let (log, contradictions) = interruptible(py, graph.len() < 256 * 1024, move || {
            let traces = traces.map(|(frames, nodes)| op_log::Traces {
                frames: frames
                    .into_iter()
                    .map(|(file, line_number, function, line)| op_log::SourceFrame {
                        file,
                        line_number,
                        function,
                        line,
                    })
                    .collect(),
                nodes: nodes.into_iter().collect(),
            });
            let graph = op_log::GraphShapes::new(&graph);
            let mut shapes = shapes.lock().unwrap_or_else(PoisonError::into_inner);
            let contradictions = run_meta.map(|run_meta| shapes.add(&graph, &run_meta)).unwrap_or_default();
            let parts = op_log::Parts {
                trainable: &trainable,
                traces: traces.as_ref(),
                run_shapes: Some(&shapes),
                without_float_ops,
                keep_strings,
                caller: op_log.as_deref(),
            };
            (op_log::op_log(&graph, &parts), contradictions)
        })?;
        Ok((PyBytes::new(py, &log.bytes), log.missing_shapes, contradictions))
    }

    /// Takes shapes from a run. Returns the nodes whose shapes contradict it.
    fn learn(&self, py: Python<'_>, graph: PyBackedBytes, run_meta: PyBackedBytes) -> PyResult<Vec<String>> {
        let shapes = Arc::clone(&self.shapes);
        interruptible(py, graph.len() < 256 * 1024, move || {
            let mut shapes = shapes.lock().unwrap_or_else(PoisonError::into_inner);
            shapes.add(&op_log::GraphShapes::new(&graph), &run_meta)
        })
    }

    /// The graph completed with the shapes of runs; `None` if they add nothing.
    fn complete<'py>(&self, py: Python<'py>, graph: PyBackedBytes) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let shapes = Arc::clone(&self.shapes);
        let done = interruptible(py, graph.len() < 256 * 1024, move || {
            let shapes = shapes.lock().unwrap_or_else(PoisonError::into_inner);
            op_log::GraphShapes::new(&graph).completed(&graph, &shapes)
        })?;
        Ok(done.map(|bytes| PyBytes::new(py, &bytes)))
    }
}

/// Runs the `tfprof` command and returns its exit code.
#[pyfunction]
fn run_command(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| {
        let (mut out, mut err) = (std::io::stdout(), std::io::stderr());
        let code = tfprof_cli::run(words, tfprof_cli::Terminal::of_process(), &mut out, &mut err);
        // A closed pipe is not an error.
        let _ = out.flush();
        (0..=u8::MAX).find(|number| ExitCode::from(*number) == code).unwrap_or(1)
    })
}

/// The options of a view: names, what each does, and types.
#[pyfunction]
fn options() -> Vec<(&'static str, &'static str, &'static str)> {
    OPTIONS.iter().map(|option| (option.name, option.about, python_type(option))).collect()
}

/// Whether a pattern is valid.
#[pyfunction]
fn is_pattern(text: String) -> bool {
    Patterns::new("", &[text]).is_ok()
}

/// The words that select metrics, and the key of each metric.
#[pyfunction]
fn metric_words() -> Vec<(&'static str, &'static str)> {
    METRICS.iter().filter_map(|info| Some((info.word?, info.key))).collect()
}

/// Endings of file names, and the form of each.
#[pyfunction]
fn form_endings() -> Vec<(&'static str, &'static str)> {
    FORMS.iter().flat_map(|form| form.endings.iter().map(|ending| (*ending, form.word))).collect()
}

/// The pieces of a list that is given as text, as on the command line.
#[pyfunction]
fn split_list(text: &str) -> Vec<String> {
    tfprof::internal::comma_list::split_list(text)
}

/// Writes the files of the built-in sample.
#[pyfunction]
fn write_sample(py: Python<'_>, directory: PathBuf) -> PyResult<Vec<&'static str>> {
    py.detach(|| tfprof_cli::Sample::write_to(&directory)).map_err(|error| raise(&error))
}

/// A text as HTML for a notebook cell.
#[pyfunction]
fn html_text(title: &str, text: &str) -> PyResult<String> {
    let mut out = Vec::new();
    html::write_text(title, text, html::Container::Cell, &mut out)?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// The bytes of a file, unpacked if it is gzipped and not absurdly large.
#[pyfunction]
fn read_file(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyBytes>> {
    let read = py.detach(|| -> Result<Vec<u8>, tfprof::Error> {
        let mut bytes = Vec::new();
        let file = path.display().to_string();
        let read = std::io::Read::read_to_end(&mut Source::open(&path)?.input, &mut bytes);
        read.map_err(|source| tfprof::Error::Io { file, action: "cannot read", source })?;
        Ok(bytes)
    });
    read.map(|bytes| PyBytes::new(py, &bytes)).map_err(|error| raise(&error))
}
