//! Chrome traces of steps: as text, or written to files by a background thread.

use crate::interrupt::{LISTEN, interruptible};
use crate::raise;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use std::collections::VecDeque;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use tfprof::internal::trace::{OpTime, Peak, Step, Trace, TraceOptions};
use tfprof::internal::words::Choice;
use tfprof::{Error, Source};
use tfprof_cli::target;

/// Statistics of this size are written in a few milliseconds.
const SHORT: usize = 256 * 1024;

/// An allocator, and the time, size and tensors of its peak.
type AllocatorPeak = (String, i128, i128, Vec<String>);

/// The Chrome trace of a `StepStats` message: JSON, the peak of each allocator (if memory is shown), and warnings.
#[pyfunction]
pub fn chrome_trace<'py>(
    py: Python<'py>,
    step_stats: PyBackedBytes,
    show_dataflow: bool,
    show_memory: bool,
    op_time: &str,
) -> PyResult<(Bound<'py, PyBytes>, Vec<AllocatorPeak>, Vec<String>)> {
    // As the original: an unknown word means `all`.
    let op_time = OpTime::from_word(op_time).unwrap_or(OpTime::All);
    let options = TraceOptions { show_dataflow, show_memory, op_time };
    let (text, peaks, warnings) = interruptible(py, step_stats.len() < SHORT, move || -> Result<_, Error> {
        let trace = trace_of(&step_stats, options)?;
        let mut out = Vec::new();
        let peaks = trace.write(&mut out).map_err(|source| Error::Io {
            file: "step_stats".to_owned(),
            action: "cannot read",
            source,
        })?;
        Ok((out, peaks, trace.warnings.iter().map(ToString::to_string).collect()))
    })?
    .map_err(|error| raise(&error))?;
    let peaks = peaks.into_iter().map(|Peak { allocator, at, bytes, tensors }| (allocator, at, bytes, tensors));
    Ok((PyBytes::new(py, &text), peaks.collect(), warnings))
}

fn trace_of(step_stats: &[u8], options: TraceOptions) -> Result<Trace<'_>, Error> {
    // A run is a message whose first field is the statistics.
    let mut head = vec![0x0a];
    let mut length = step_stats.len();
    while length > 0x7f {
        head.push(length as u8 | 0x80);
        length >>= 7;
    }
    head.push(length as u8);
    let open = Box::new(move || {
        let input: Box<dyn Read> = Box::new(io::Cursor::new(head.clone()).chain(step_stats));
        Source::new("step_stats".to_owned(), input)
    });
    Trace::new(vec![Step { step: 0, open }], options)
}

/// Writes traces to files on a background thread, in order. The thread runs while there are traces to write.
#[pyclass(frozen)]
#[derive(Debug)]
pub struct TraceWriter {
    shared: Arc<Shared>,
    most_traces: usize,
    most_bytes: usize,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Job>,
    waiting_bytes: usize,
    working: bool,
    errors: Vec<String>,
}

#[derive(Debug)]
struct Job {
    step_stats: PyBackedBytes,
    file: String,
    options: TraceOptions,
}

#[pymethods]
impl TraceWriter {
    /// The queue holds at most `most_traces`, and at most `most_bytes` of statistics unless it is a single trace.
    #[new]
    fn new(most_traces: usize, most_bytes: usize) -> PyResult<Self> {
        if most_traces == 0 {
            return Err(PyValueError::new_err("a writer needs room for one trace at least"));
        }
        Ok(TraceWriter { shared: Arc::default(), most_traces, most_bytes })
    }

    /// Queues a `StepStats` message; waits while the queue is full. The file exists when this returns; its content
    /// follows.
    fn put(
        &self,
        py: Python<'_>,
        step_stats: PyBackedBytes,
        file: String,
        show_dataflow: bool,
        show_memory: bool,
    ) -> PyResult<()> {
        let options = TraceOptions { show_dataflow, show_memory, op_time: OpTime::Schedule };
        py.detach(|| OpenOptions::new().create(true).append(true).open(&file))
            .map_err(|source| raise(&Error::Io { file: file.clone(), action: "cannot write", source }))?;
        let size = step_stats.len();
        let mut job = Some(Job { step_stats, file, options });
        self.wait(py, |state| {
            let crowded = !state.waiting.is_empty() && state.waiting_bytes.saturating_add(size) > self.most_bytes;
            if state.waiting.len() >= self.most_traces || crowded {
                return false;
            }
            state.waiting.extend(job.take());
            state.waiting_bytes += size;
            true
        })?;
        self.start();
        Ok(())
    }

    /// Waits until everything is written.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.wait(py, |state| state.waiting.is_empty() && !state.working)
    }

    /// The write errors since the last call.
    fn take_errors(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.lock().errors)
    }
}

impl TraceWriter {
    /// Waits until `done` returns true; checks for signals meanwhile.
    fn wait(&self, py: Python<'_>, mut done: impl FnMut(&mut State) -> bool + Send) -> PyResult<()> {
        loop {
            let is_done = py.detach(|| {
                let mut state = self.shared.lock();
                if done(&mut state) {
                    return true;
                }
                let waited = self.shared.changed.wait_timeout(state, LISTEN);
                let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
                done(&mut state)
            });
            if is_done {
                return Ok(());
            }
            py.check_signals()?;
        }
    }

    /// Starts the writer if it is not running.
    fn start(&self) {
        let mut state = self.shared.lock();
        if state.working {
            return;
        }
        state.working = true;
        drop(state);
        let shared = Arc::clone(&self.shared);
        let thread = std::thread::Builder::new().name("tfprof traces".to_owned());
        if thread.spawn(move || shared.write_all()).is_err() {
            // If no thread can be started, write on this one: nothing may be lost.
            self.shared.write_all();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_all(&self) {
        loop {
            let mut state = self.lock();
            let Some(job) = state.waiting.pop_front() else {
                state.working = false;
                self.changed.notify_all();
                return;
            };
            state.waiting_bytes -= job.step_stats.len();
            self.changed.notify_all();
            drop(state);
            let written = catch_unwind(AssertUnwindSafe(|| job.write()));
            let error = match written {
                Ok(Ok(())) => continue,
                Ok(Err(error)) => error.to_string(),
                Err(_) => format!("{}: cannot write; this is a fault of tfprof", job.file),
            };
            self.lock().errors.push(error);
        }
    }
}

impl Job {
    fn write(&self) -> Result<(), Error> {
        let written = trace_of(&self.step_stats, self.options)
            .and_then(|trace| target::to_one_of_many(&self.file, |out| trace.write(out).map(|_| ())));
        if written.is_err() {
            // Remove the empty placeholder, which would look like a trace.
            let path = Path::new(&self.file);
            if path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() == 0) {
                let _ = std::fs::remove_file(path);
            }
        }
        written
    }
}
