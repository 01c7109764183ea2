//! A checkpoint that Python lists and reads.

use crate::answer::in_memory;
use crate::interrupt::interruptible;
use crate::{question, raise, raise_checkpoint};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyList};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use tfprof::checkpoint::query::{Comparison, Listing};
use tfprof::checkpoint::render;
use tfprof::checkpoint::values::Values;
use tfprof::checkpoint::{self as format, Damage};
use tfprof::error::Error;
use tfprof::model::dtype::Element;
use tfprof::render::html::Place;
use tfprof::words;

/// The tensors of a checkpoint; values are read when they are asked for.
#[pyclass(frozen)]
#[derive(Debug)]
pub struct Checkpoint {
    /// Shared with the threads that read it, which may outlive a caller who was interrupted.
    checkpoint: Arc<format::Checkpoint>,
    /// It is read in less time than anyone would interrupt.
    short: bool,
}

/// Checkpoints of less bytes are read at once.
const SHORT: u64 = 4 << 20;

/// How an answer is written.
#[derive(Clone, Copy)]
enum Form {
    Text,
    Json,
    Csv,
    Html(Place),
}

impl Form {
    fn parse(word: &str) -> PyResult<Form> {
        Ok(match word {
            "file" => Form::Text,
            "json" => Form::Json,
            "csv" => Form::Csv,
            "html" => Form::Html(Place::Page),
            "cell" => Form::Html(Place::Cell),
            word => return Err(PyValueError::new_err(words::unknown("form", word, &["file", "json", "csv", "html"]))),
        })
    }
}

#[pymethods]
impl Checkpoint {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let named = path.clone();
        let checkpoint = interruptible(py, false, move || format::Checkpoint::open(&named))?;
        let checkpoint = checkpoint.map_err(|error| raise_checkpoint(&error, &path))?;
        let sizes = checkpoint.files.iter().filter_map(|file| Some(file.metadata().ok()?.len()));
        let short = sizes.sum::<u64>() < SHORT;
        Ok(Checkpoint { checkpoint: Arc::new(checkpoint), short })
    }

    /// What the names of its files begin with.
    #[getter]
    fn name(&self) -> &str {
        &self.checkpoint.name
    }

    #[getter]
    fn files(&self) -> Vec<PathBuf> {
        self.checkpoint.files.clone()
    }

    /// What was found wrong when it was opened.
    #[getter]
    fn damage(&self) -> Vec<String> {
        self.checkpoint.damage.iter().map(Damage::to_string).collect()
    }

    /// The table of tensors in a form, and what was found wrong with their numbers.
    fn list<'py>(
        &self,
        py: Python<'py>,
        form: &str,
        options: &Bound<'py, PyDict>,
        stats: bool,
    ) -> PyResult<(Bound<'py, PyBytes>, Vec<String>)> {
        let (form, options) = (Form::parse(form)?, question::options(options, false)?);
        let checkpoint = Arc::clone(&self.checkpoint);
        let written = interruptible(py, self.short, move || {
            let listing = Listing::new(&checkpoint, &options, stats)?;
            let wrong = checkpoint.damage.iter().chain(&listing.damage);
            let bytes = to_memory(|out| match form {
                Form::Text => render::text(&listing, out),
                Form::Json => render::json(&listing, &wrong.map(Damage::warning).collect::<Vec<_>>(), out),
                Form::Csv => render::csv(&listing, out),
                Form::Html(place) => render::html(&listing, place, out),
            })?;
            Ok((bytes, listing.damage.iter().map(Damage::to_string).collect()))
        })?;
        written.map(|(bytes, damage)| (PyBytes::new(py, &bytes), damage)).map_err(|error| raise(&error))
    }

    /// How another checkpoint differs from this one, in a form, and what was found wrong.
    fn compare<'py>(
        &self,
        py: Python<'py>,
        other: &Checkpoint,
        form: &str,
        options: &Bound<'py, PyDict>,
        stats: bool,
    ) -> PyResult<(Bound<'py, PyBytes>, Vec<String>)> {
        let (form, options) = (Form::parse(form)?, question::options(options, false)?);
        let (before, after) = (Arc::clone(&self.checkpoint), Arc::clone(&other.checkpoint));
        let written = interruptible(py, self.short && other.short, move || {
            let comparison = Comparison::new(&before, &after, &options, stats)?;
            let (before, after) = (&before.damage, &after.damage);
            let wrong = before.iter().chain(after).chain(&comparison.damage);
            let bytes = to_memory(|out| match form {
                Form::Text => render::comparison_text(&comparison, out),
                Form::Json => {
                    render::comparison_json(&comparison, &wrong.map(Damage::warning).collect::<Vec<_>>(), out)
                }
                Form::Csv => render::comparison_csv(&comparison, out),
                Form::Html(place) => render::comparison_html(&comparison, place, out),
            })?;
            Ok((bytes, comparison.damage.iter().map(Damage::to_string).collect()))
        })?;
        written.map(|(bytes, damage)| (PyBytes::new(py, &bytes), damage)).map_err(|error| raise(&error))
    }

    /// What is wrong with it, after everything was read: as text, as JSON and as HTML.
    fn verify(&self, py: Python<'_>) -> PyResult<(String, String, String)> {
        let checkpoint = Arc::clone(&self.checkpoint);
        let written = interruptible(py, self.short, move || {
            let verdict = checkpoint.verify();
            let text = to_memory(|out| render::verdict_text(&verdict, out))?;
            let json = to_memory(|out| render::verdict_json(&verdict, out))?;
            let html = to_memory(|out| render::verdict_html(&verdict, Place::Cell, out))?;
            Ok([text, json, html].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
        })?;
        written.map(|[text, json, html]| (text, json, html)).map_err(|error: Error| raise(&error))
    }

    /// The stored name, type and shape of a tensor.
    fn find(&self, name: &str) -> PyResult<(String, String, Vec<i64>)> {
        let tensor = self.tensor(name)?;
        Ok((tensor.name.clone(), tensor.dtype.name(), tensor.shape.clone()))
    }

    /// The values within a range of each dimension: their type, their bytes or strings, and what was found wrong.
    /// If `widen`, small types are given as `float32` or `int8`. There are none for handles of a program that is gone.
    fn values<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        part: Option<Vec<(u64, u64)>>,
        widen: bool,
    ) -> PyResult<(String, Bound<'py, PyAny>, Vec<String>)> {
        let tensor = self.tensor(name)?;
        let (checkpoint, wanted) = (Arc::clone(&self.checkpoint), tensor.clone());
        let values = interruptible(py, self.short, move || match &part {
            None => checkpoint.values(&wanted),
            Some(part) => {
                let part: Vec<_> = part.iter().map(|(from, to)| *from..*to).collect();
                checkpoint.part(&wanted, &part)
            }
        })?;
        let values = values.map_err(|damage| raise(&Error::from(damage)))?;
        let damage = values.damage.iter().map(Damage::to_string).collect();
        let (dtype, data) = match values.plain() {
            Some(_) if widen => {
                let (dtype, bytes) = py.detach(|| widened(&values));
                (dtype.to_owned(), PyByteArray::new(py, &bytes).into_any())
            }
            Some(bytes) => (values.dtype.name(), PyByteArray::new(py, bytes).into_any()),
            None if values.is_empty() || values.text(0).is_some() => {
                let texts = (0..values.len()).map(|i| PyBytes::new(py, values.text(i).unwrap_or_default()));
                (values.dtype.name(), PyList::new(py, texts)?.into_any())
            }
            None => {
                let why = "means nothing outside of the program that saved it, and has no values";
                let dtype = values.dtype.name();
                return Err(crate::Error::new_err(format!("`{}` is a {dtype}, which {why}", tensor.name)));
            }
        };
        Ok((dtype, data, damage))
    }
}

impl Checkpoint {
    fn tensor(&self, name: &str) -> PyResult<&format::Tensor> {
        self.checkpoint.find(name).ok_or_else(|| {
            let tensors = &self.checkpoint.tensors;
            let near = words::nearest(name, tensors.iter().flat_map(|tensor| [tensor.name.as_str(), tensor.label()]));
            let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            PyKeyError::new_err(format!("there is no tensor `{name}` in {}{near}", self.checkpoint.name))
        })
    }
}

/// Floats of less than 32 bits as such of 32, integers of less than a byte as bytes; both hold them exactly.
fn widened(values: &Values) -> (&'static str, Vec<u8>) {
    let elements = (0..values.len()).map(|i| values.get(i));
    let is_float = values.dtype.name().contains("float");
    let bytes = elements.flat_map(|element| match element {
        Element::Float(x) => (x as f32).to_le_bytes().to_vec(),
        Element::Int(n) => vec![n as u8],
        Element::Uint(n) => vec![n as u8],
        _ => Vec::new(),
    });
    let bytes = bytes.collect();
    let signed = !values.dtype.name().starts_with('u');
    (
        if is_float {
            "float32"
        } else if signed {
            "int8"
        } else {
            "uint8"
        },
        bytes,
    )
}

fn to_memory(write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    write(&mut out).map_err(in_memory)?;
    Ok(out)
}
