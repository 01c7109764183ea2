//! The rows of an answer as columns, from which Python makes rows and tables.

use crate::answer::python_text;
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use tfprof::internal::view::columns::{Content, Kind, Value};
use tfprof::{Column, View};

/// The columns of a view that a table can hold.
#[derive(Debug)]
pub struct Columns {
    cells: Vec<(Column, Cells)>,
    metrics: Vec<&'static str>,
    warnings: Vec<String>,
}

/// The cells of one column.
#[derive(Debug)]
enum Cells {
    Texts(Vec<String>),
    /// Numbers of 64 bits in native byte order, or one byte for each flag. A missing real number is NaN.
    Bytes(Vec<u8>),
    /// Unknown.
    Unknown,
    /// In the JSON form only; Python reads it on demand.
    Elsewhere,
}

impl Columns {
    pub fn new(view: &View) -> Self {
        let fits = |column: &Column| column.kind != Kind::Record && column.content != Content::Frame;
        let columns = view.columns().into_iter().filter(fits);
        Columns {
            cells: columns.map(|column| (column.clone(), cells(view, &column))).collect(),
            metrics: view.metrics().iter().map(|metric| metric.info().key).collect(),
            warnings: view.warnings.iter().map(python_text).collect(),
        }
    }
}

fn cells(view: &View, column: &Column) -> Cells {
    let ids = 0..view.rows().len();
    let values = ids.map(|id| view.cell(column, id));
    let is_figure = matches!(column.content, Content::Figure(..));
    match column.metric() {
        // A row may have one side only, and 0 would be a number.
        _ if is_figure => Cells::Bytes(values.flat_map(|value| real(&value).to_ne_bytes()).collect()),
        _ if column.is_detail() => Cells::Elsewhere,
        Some((_, metric)) if !view.knows(metric) => Cells::Unknown,
        _ if column.kind == Kind::Text => Cells::Texts(
            values.map(|value| if let Value::Text(text) = value { text.into_owned() } else { String::new() }).collect(),
        ),
        _ if column.kind == Kind::Bool => {
            Cells::Bytes(values.map(|value| u8::from(matches!(value, Value::Bool(true)))).collect())
        }
        _ => Cells::Bytes(values.flat_map(|value| number(column.kind, &value)).collect()),
    }
}

fn real(value: &Value<'_>) -> f64 {
    match value {
        Value::Int(n) => *n as f64,
        Value::Decimal(amount) => amount.n as f64 / amount.parts as f64,
        Value::Real(x) => *x,
        _ => f64::NAN,
    }
}

fn number(kind: Kind, value: &Value<'_>) -> [u8; 8] {
    match value {
        Value::Int(n) => n.to_ne_bytes(),
        Value::Decimal(amount) => (amount.n as f64 / amount.parts as f64).to_ne_bytes(),
        Value::Real(x) => x.to_ne_bytes(),
        _ if kind == Kind::Int => 0_i64.to_ne_bytes(),
        _ => f64::NAN.to_ne_bytes(),
    }
}

/// The kind of a column, in the words of `_tables.py`.
fn kind(column: &Column) -> &'static str {
    if matches!(column.content, Content::Figure(..)) {
        return "optional float";
    }
    match (column.kind, column.nullable) {
        (Kind::Int, false) => "int",
        (Kind::Int, true) => "optional int",
        (Kind::Real, false) => "float",
        (Kind::Real, true) => "optional float",
        (Kind::Bool, _) => "bool",
        (Kind::Texts, _) => "texts",
        (Kind::Ints, _) => "ints",
        (Kind::Shapes, _) => "shapes",
        (Kind::Text | Kind::Record, _) => "text",
    }
}

impl<'py> IntoPyObject<'py> for Columns {
    type Target = PyDict;
    type Output = Bound<'py, PyDict>;
    type Error = PyErr;

    /// A dict from the name of each column to its cells, besides `schema`, `metrics` and `warnings`.
    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        or_memory_error(|| self.into_dict(py))
    }
}

/// pyo3 panics if Python cannot allocate a string, and `except Exception` does not catch that: raises what Python would.
fn or_memory_error<T>(make: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(make)).unwrap_or_else(|panic| {
        let told = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        match told {
            Some("PyObject pointer is null") => {
                let why = "not enough memory for the rows in Python; ask for fewer, or write the answer to a file";
                Err(PyMemoryError::new_err(why))
            }
            _ => resume_unwind(panic),
        }
    })
}

impl Columns {
    fn into_dict(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let columns = PyDict::new(py);
        let schema: Vec<_> = self.cells.iter().map(|(column, _)| (column.name.to_string(), kind(column))).collect();
        for (column, cells) in self.cells {
            match cells {
                Cells::Texts(texts) => columns.set_item(column.name, texts)?,
                Cells::Bytes(bytes) => columns.set_item(column.name, PyBytes::new(py, &bytes))?,
                Cells::Unknown | Cells::Elsewhere => columns.set_item(column.name, py.None())?,
            }
        }
        columns.set_item("schema", schema)?;
        columns.set_item("metrics", self.metrics)?;
        columns.set_item("warnings", self.warnings)?;
        Ok(columns)
    }
}
