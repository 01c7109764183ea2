//! Combines a graph with the shapes of a live one, as TensorFlow's Python code does node by node.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use tfprof::internal::format::live_graph::{LiveShape, with_output_shapes};

/// Adds `_output_shapes`, given by node, to a `GraphDef`. `None` if that is not enough: see `with_output_shapes`.
#[pyfunction]
pub fn graph_with_shapes(
    py: Python<'_>,
    graph: PyBackedBytes,
    names: Vec<String>,
    shapes: Vec<Vec<LiveShape>>,
) -> Option<Bound<'_, PyBytes>> {
    let done = py.detach(|| with_output_shapes(&graph, &names, &shapes));
    done.map(|bytes| PyBytes::new(py, &bytes))
}
