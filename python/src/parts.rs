//! Partials: the two functions that every engine of a fleet calls, and a ledger entry for a host that is missing.

use crate::interrupt::interruptible;
use crate::raise;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use std::path::PathBuf;
use tfprof::internal::engine::parts::{self, Made};
use tfprof::internal::part::{Partial, Recording};
use tfprof::{Error, Inputs, Limits};

/// The partial of files, and the warnings of reading them. Files of several hosts become a recording each. `names` stand for
/// the paths in the ledger, if the files are copies of others.
#[pyfunction]
#[pyo3(signature = (paths, names = None))]
pub fn part(py: Python<'_>, paths: Vec<PathBuf>, names: Option<Vec<String>>) -> PyResult<Bound<'_, PyBytes>> {
    let copies: Vec<(String, String)> =
        paths.iter().map(|path| path.display().to_string()).zip(names.unwrap_or_default()).collect();
    let made = interruptible(py, false, move || {
        let mut inputs = Inputs::default();
        for path in &paths {
            inputs.add_path(path)?;
        }
        if inputs.is_empty() {
            return Err(Error::Missing("no file was named".to_owned()));
        }
        let mut made = inputs.partial()?;
        made.partial.rename(&copies);
        Ok(made)
    })?;
    bytes(py, made)
}

/// One partial of several, the same in any order and grouping.
#[pyfunction]
pub fn merge(py: Python<'_>, parts: Vec<PyBackedBytes>) -> PyResult<Bound<'_, PyBytes>> {
    let made = interruptible(py, false, move || {
        let parts: Vec<&[u8]> = parts.iter().map(|part| &**part).collect();
        parts::merge_bytes(&parts, Limits::default())
    })?;
    bytes(py, made)
}

/// A partial that says only that a path could not be read, and why.
#[pyfunction]
pub fn lost<'py>(py: Python<'py>, path: &str, reason: &str) -> Bound<'py, PyBytes> {
    PyBytes::new(py, &Partial::lost(path, reason).to_bytes())
}

/// The recordings of a partial: host, path, size, tag, records, what was lost, and why it failed.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn ledger(part: PyBackedBytes) -> PyResult<Vec<(String, String, u64, String, u64, Vec<String>, Option<String>)>> {
    let partial = parts::read_partial("the partial", &part).map_err(|error| raise(&error))?;
    let entry = |recording: &Recording| {
        let measured = recording.inputs.iter().find(|input| input.is_measured).or(recording.inputs.first());
        let (size, tag) = measured.map_or((0, 0), |input| (input.size, input.tag));
        let path = recording.path().to_owned();
        let Recording { host, records, lost, failed, .. } = recording.clone();
        (host, path, size, format!("{tag:032x}"), records, lost, failed)
    };
    let mut entries: Vec<_> = partial.recordings.values().map(entry).collect();
    entries.sort();
    Ok(entries)
}

fn bytes(py: Python<'_>, made: Result<Made, Error>) -> PyResult<Bound<'_, PyBytes>> {
    let made = made.map_err(|error| raise(&error))?;
    Ok(PyBytes::new(py, &made.partial.to_bytes()))
}
