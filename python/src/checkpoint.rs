//! The `Checkpoint` class of the Python package.

use crate::answer::in_memory;
use crate::interrupt::interruptible;
use crate::{question, raise, raise_checkpoint};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyList};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use tfprof::internal::checkpoint::Values;
use tfprof::internal::checkpoint::query::{Comparison, Listing};
use tfprof::internal::checkpoint::render::Answer;
use tfprof::internal::words;
use tfprof::{Comparing, Container, Damage, Element, Error, Warning};

/// The tensors of a checkpoint. Values are read on demand.
#[pyclass(frozen)]
#[derive(Debug)]
pub struct Checkpoint {
    /// Shared with reader threads, which outlive an interrupted call.
    checkpoint: Arc<tfprof::Checkpoint>,
    /// Small enough to be read without checking for interrupts.
    is_small: bool,
}

/// Smaller checkpoints are read without checking for interrupts.
const SMALL: u64 = 4 << 20;

/// The form of an answer.
#[derive(Clone, Copy)]
enum Form {
    Text,
    Json,
    Csv,
    Html(Container<'static>),
}

impl Form {
    fn parse(word: &str) -> PyResult<Form> {
        Ok(match word {
            "file" => Form::Text,
            "json" => Form::Json,
            "csv" => Form::Csv,
            "html" => Form::Html(Container::PAGE),
            "cell" => Form::Html(Container::Cell),
            word => return Err(PyValueError::new_err(words::unknown("form", word, &["file", "json", "csv", "html"]))),
        })
    }

    fn write(self, answer: &dyn Answer, warnings: &[Warning]) -> Result<Vec<u8>, Error> {
        to_memory(|out| match self {
            Form::Text => answer.text(None, out),
            Form::Json => answer.json(warnings, out),
            Form::Csv => answer.csv(out),
            Form::Html(place) => answer.html(place, out),
        })
    }
}

#[pymethods]
impl Checkpoint {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let named = path.clone();
        let checkpoint = interruptible(py, false, move || tfprof::Checkpoint::open(&named))?;
        let checkpoint = checkpoint.map_err(|error| raise_checkpoint(&error, &path))?;
        let sizes = checkpoint.files.iter().filter_map(|file| Some(file.metadata().ok()?.len()));
        let is_small = sizes.sum::<u64>() < SMALL;
        Ok(Checkpoint { checkpoint: Arc::new(checkpoint), is_small })
    }

    /// The common prefix of its files' names.
    #[getter]
    fn name(&self) -> &str {
        &self.checkpoint.name
    }

    #[getter]
    fn files(&self) -> Vec<PathBuf> {
        self.checkpoint.files.clone()
    }

    /// Damage found when it was opened.
    #[getter]
    fn damage(&self) -> Vec<String> {
        self.checkpoint.damage.iter().map(Damage::to_string).collect()
    }

    /// The list of tensors in a form, and the damage found while reading values.
    fn list<'py>(
        &self,
        py: Python<'py>,
        form: &str,
        options: &Bound<'py, PyDict>,
        stats: bool,
    ) -> PyResult<(Bound<'py, PyBytes>, Vec<String>)> {
        let (form, options) = (Form::parse(form)?, question::options(options, false)?);
        let checkpoint = Arc::clone(&self.checkpoint);
        let written = interruptible(py, self.is_small, move || {
            let listing = Listing::new(&checkpoint, &options, stats)?;
            let damage = checkpoint.damage.iter().chain(&listing.damage);
            let bytes = form.write(&listing, &damage.map(Damage::warning).collect::<Vec<_>>())?;
            Ok((bytes, listing.damage.iter().map(Damage::to_string).collect()))
        })?;
        written.map(|(bytes, damage)| (PyBytes::new(py, &bytes), damage)).map_err(|error| raise(&error))
    }

    /// How another checkpoint differs from this one, in a form, and the damage found.
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
        let written = interruptible(py, self.is_small && other.is_small, move || {
            let comparison = Comparison::new(&before, &after, &options, &Comparing::default(), stats)?;
            let (before, after) = (&before.damage, &after.damage);
            let damage = before.iter().chain(after).chain(&comparison.damage);
            let bytes = form.write(&comparison, &damage.map(Damage::warning).collect::<Vec<_>>())?;
            Ok((bytes, comparison.damage.iter().map(Damage::to_string).collect()))
        })?;
        written.map(|(bytes, damage)| (PyBytes::new(py, &bytes), damage)).map_err(|error| raise(&error))
    }

    /// The damage found by reading everything: as text, JSON and HTML.
    fn verify(&self, py: Python<'_>) -> PyResult<(String, String, String)> {
        let checkpoint = Arc::clone(&self.checkpoint);
        let written = interruptible(py, self.is_small, move || {
            let verdict = checkpoint.verify();
            let write =
                |form: Form| form.write(&verdict, &[]).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            Ok((write(Form::Text)?, write(Form::Json)?, write(Form::Html(Container::Cell))?))
        })?;
        written.map_err(|error: Error| raise(&error))
    }

    /// The key, type and shape of a tensor.
    fn find(&self, name: &str) -> PyResult<(String, String, Vec<i64>)> {
        let tensor = self.tensor(name)?;
        Ok((tensor.name.clone(), tensor.dtype.name(), tensor.shape.clone()))
    }

    /// The values within a range of each dimension: their type, their bytes or strings, and the damage found.
    /// `widen` converts types that `NumPy` lacks to `float32`, `int8` or `uint8`. Resource handles have no values.
    fn values<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        part: Option<Vec<(u64, u64)>>,
        widen: bool,
    ) -> PyResult<(String, Bound<'py, PyAny>, Vec<String>)> {
        let tensor = self.tensor(name)?;
        let (checkpoint, wanted) = (Arc::clone(&self.checkpoint), tensor.clone());
        let values = interruptible(py, self.is_small, move || match &part {
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
    fn tensor(&self, name: &str) -> PyResult<&tfprof::Tensor> {
        self.checkpoint.find(name).ok_or_else(|| {
            let tensors = &self.checkpoint.tensors;
            let near = words::nearest(name, tensors.iter().flat_map(|tensor| [tensor.name.as_str(), tensor.label()]));
            let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            PyKeyError::new_err(format!("there is no tensor `{name}` in {}{near}", self.checkpoint.name))
        })
    }
}

/// Converts small floats to `float32` and integers of less than a byte to bytes, without loss.
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
