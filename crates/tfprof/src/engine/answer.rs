//! The answer to a question: owned, so that threads can share it, and written in the form that was asked for.

use super::profiler::Profiler;
use super::question::Question;
use crate::error::{Error, Fix, Warning};
use crate::options::{Options, Step, ViewKind};
use crate::render::{Dress, Form};
use crate::view::View;
use std::io::{self, Write};

/// One file, or in the timeline of the graph view one for each step.
#[derive(Debug)]
pub struct Answer {
    form: &'static Form,
    /// Warnings from loading.
    load_warnings: Vec<Warning>,
    first: View,
    /// Further steps. Their views are computed one after the other, when they are written.
    further: Vec<Step>,
}

/// One file of an answer.
#[derive(Debug)]
pub struct Part<'a> {
    /// The name of its file; empty if it goes to no file.
    pub file: String,
    pub view: &'a View,
    form: &'static Form,
    load_warnings: &'a [Warning],
}

impl Answer {
    pub(super) fn new(profiler: &Profiler, question: &Question) -> Result<Answer, Error> {
        let Question { kind, options } = question;
        let form = question.form()?;
        let each_step = form.demand.executions && *kind == ViewKind::Graph && options.step == Step::Average;
        let mut steps =
            if each_step { profiler.model().runs.steps().map(Step::At).collect() } else { vec![options.step] };
        if steps.is_empty() {
            let missing = Error::Missing("a timeline of the graph view needs steps, and there are none".to_owned());
            return Err(missing.with_fix(Fix::new("load some with", "run_meta_path")));
        }
        let first = profiler.view(*kind, &Options { step: steps.remove(0), ..options.clone() })?;
        Ok(Answer { form, load_warnings: profiler.warnings().to_vec(), first, further: steps })
    }

    pub fn form(&self) -> &'static Form {
        self.form
    }

    /// How many files there are.
    pub fn parts(&self) -> usize {
        1 + self.further.len()
    }

    /// The rows; of several steps, those of the first.
    pub fn view(&self) -> &View {
        &self.first
    }

    /// Writes the answer, or of several parts the first, in its form and without colours.
    ///
    /// ```
    /// use tfprof::{Metric, Options, Profiler, Question, Source, ViewKind};
    ///
    /// let graph = r#"node { name: "w" op: "VariableV2" attr { key: "shape" value { shape { dim { size: 8 } } } } }"#;
    /// let mut profiler = Profiler::default();
    /// profiler.add_graph(Source::memory("graph.pbtxt", graph.as_bytes())?)?;
    /// let options = Options::new().select([Metric::Parameters]).form("csv");
    /// let mut csv = Vec::new();
    /// profiler.ask(&Question::new(ViewKind::Scope, &options))?.write(&mut csv)?;
    /// assert!(csv.starts_with(b"id,parent,depth,name,"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.part(&self.first).write(&Dress::PLAIN, out)
    }

    /// Hands out one part after the other.
    pub fn each_part<E: From<Error>>(&self, mut take: impl FnMut(&Part<'_>) -> Result<(), E>) -> Result<(), E> {
        take(&self.part(&self.first))?;
        for step in &self.further {
            take(&self.part(&self.first.at(*step)?))?;
        }
        Ok(())
    }

    fn part<'a>(&'a self, view: &'a View) -> Part<'a> {
        let outfile = &view.options.output.outfile;
        // As the original: the step stands behind the name of a timeline, -1 for an average.
        let file = match view.options.step {
            _ if !self.form.demand.executions => outfile.clone(),
            Step::Average => format!("{outfile}_-1"),
            Step::All => format!("{outfile}_all"),
            Step::At(step) => format!("{outfile}_{step}"),
        };
        Part { file, view, form: self.form, load_warnings: &self.load_warnings }
    }
}

impl Part<'_> {
    /// Writes the part. `dress.load_warnings` are filled in.
    pub fn write(&self, dress: &Dress<'_>, out: &mut dyn Write) -> io::Result<()> {
        (self.form.write)(self.view, &Dress { load_warnings: self.load_warnings, ..*dress }, out)
    }
}
