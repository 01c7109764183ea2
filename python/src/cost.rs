//! The cost of a model, for Python: a path or the bytes of a graph in, JSON and text out.

use crate::interrupt::interruptible;
use crate::raise;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use std::path::PathBuf;
use tfprof::internal::engine::needs;
use tfprof::internal::report::cost::render::{Report, Style, write_json, write_tables};
use tfprof::{Error, Inputs, Profiler, Settings, Shape, Source, Spelling};

/// The cost of a file, or of a graph, as JSON and as tables.
#[pyfunction]
#[pyo3(signature = (
    path, graph, trainable, *,
    batch=None, inputs=vec![], signature=None, all=false, trip_counts=vec![], const_params=false
))]
pub fn cost(
    py: Python<'_>,
    path: Option<PathBuf>,
    graph: Option<PyBackedBytes>,
    trainable: Option<Vec<String>>,
    batch: Option<i64>,
    inputs: Vec<(String, Vec<i64>)>,
    signature: Option<String>,
    all: bool,
    trip_counts: Vec<(String, i64)>,
    const_params: bool,
) -> PyResult<(Bound<'_, PyBytes>, String)> {
    let inputs = inputs.into_iter().map(|(name, dims)| (name, Shape::of(&dims))).collect();
    let settings = Settings { batch, seq: None, inputs, signature, all, trip_counts, const_params };
    // A large model takes long enough for Ctrl-C.
    let answer = interruptible(py, false, move || -> Result<_, Error> {
        let mut profiler = Profiler::new(needs::COST);
        if let Some(path) = path {
            let mut files = Inputs::default();
            files.add_path(&path)?;
            files.settings = settings;
            files.load(&mut profiler)?;
        } else {
            profiler.set(&settings);
            profiler.add_graph(Source::memory("graph", graph.as_deref().unwrap_or_default())?)?;
            if let Some(trainable) = trainable {
                profiler.mark_trainable(&trainable);
            }
            profiler.infer()?;
        }
        report(&profiler)
    })?;
    let (json, text) = answer.map_err(|error| raise(&error))?;
    Ok((PyBytes::new(py, &json), text))
}

/// The cost of a loaded model, as JSON and as tables.
pub fn report(profiler: &Profiler) -> Result<(Vec<u8>, String), Error> {
    let cost = profiler.cost()?;
    let report = Report { cost: &cost, over: None, changes: None, spelling: Spelling::Python };
    let (mut json, mut text) = (Vec::new(), Vec::new());
    let written = write_json(&report, &mut json).and_then(|()| write_tables(&report, Style::Text(None), &mut text));
    written.map_err(|source| Error::Io { file: "memory".to_owned(), action: "cannot write", source })?;
    Ok((json, String::from_utf8_lossy(&text).into_owned()))
}
