//! `Comparison`: two profiles and how they are compared. It answers as a profile does.

use crate::answer::{Profile, Shared, WrittenAnswer, question_of, view_kind, write_parts};
use crate::arrow::TypedRows;
use crate::columns::Columns;
use crate::interrupt::interruptible;
use crate::{question, raise};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::path::PathBuf;
use std::sync::Arc;
use tfprof::{Answer, Comparing, Error, Output, Question, Rename, Warmup, compare};

/// Two profiles, the earlier one first.
#[pyclass(frozen)]
#[derive(Debug)]
pub struct Comparison {
    sides: Arc<[(String, Arc<Shared>); 2]>,
    comparing: Comparing,
}

#[pymethods]
impl Comparison {
    #[new]
    #[pyo3(signature = (before, after, names, *, rename=vec![], warmup="auto", unchanged=None, only_guesses=false))]
    fn new(
        before: &Profile,
        after: &Profile,
        names: (String, String),
        rename: Vec<String>,
        warmup: &str,
        unchanged: Option<bool>,
        only_guesses: bool,
    ) -> PyResult<Self> {
        let renames = rename.iter().map(|text| Rename::parse(text)).collect::<Result<_, _>>().map_err(|e| raise(&e))?;
        let warmup = Warmup::parse(warmup).map_err(|why| raise(&Error::option("warmup", why)))?;
        let sides = Arc::new([(names.0, before.usable()?), (names.1, after.usable()?)]);
        Ok(Comparison { sides, comparing: Comparing { renames, warmup, unchanged, only_guesses } })
    }

    /// As `Profile.view`.
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
        let to_nowhere = question.options.output.to_nowhere();
        let WrittenAnswer { files, warnings, notes } =
            self.ask(py, question, move |answer| write_parts(answer, &dress, lines, to_nowhere))?;
        let files = files.into_iter().map(|(name, bytes)| (name, PyBytes::new(py, &bytes))).collect();
        Ok((files, warnings, notes))
    }

    /// As `Profile.columns`.
    fn columns(&self, py: Python<'_>, cmd: &str, options: &Bound<'_, PyDict>) -> PyResult<Columns> {
        let mut question = Question { kind: view_kind(cmd)?, options: question::options(options, false)? };
        // The rows that JSON has.
        question.options.output = Output { form: "json".to_owned(), outfile: "-".to_owned() };
        self.ask(py, question, |answer| Ok(Columns::new(answer.view())))
    }

    /// The same with typed columns.
    fn typed_view(&self, py: Python<'_>, cmd: &str, options: &Bound<'_, PyDict>) -> PyResult<TypedRows> {
        let mut question = Question { kind: view_kind(cmd)?, options: question::options(options, false)? };
        question.options.output = Output { form: "json".to_owned(), outfile: "-".to_owned() };
        self.ask(py, question, |answer| TypedRows::of_view(answer.view()))
    }

    /// The paths of the loaded files.
    fn files(&self) -> Vec<PathBuf> {
        self.sides.iter().flat_map(|(_, side)| side.paths()).collect()
    }
}

impl Comparison {
    fn ask<T: Send + 'static>(
        &self,
        py: Python<'_>,
        question: Question,
        take: impl FnOnce(&Answer) -> Result<T, Error> + Send + 'static,
    ) -> PyResult<T> {
        let (sides, comparing) = (Arc::clone(&self.sides), self.comparing.clone());
        let done = interruptible(py, false, move || {
            let [(before, old), (after, new)] = &*sides;
            old.infer()?;
            new.infer()?;
            let answer = old.with(|a| new.with(|b| compare((before, a), (after, b), &question, &comparing)))?;
            take(&answer)
        });
        done?.map_err(|error| raise(&error))
    }
}
