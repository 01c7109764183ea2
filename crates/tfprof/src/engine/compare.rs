//! Asks one question about two runs: [`compare`].

use super::inputs::Inputs;
use super::profiler::{Answer, Profiler};
use super::question::Question;
use crate::budget;
use crate::error::Error;
use crate::format::Role;
use crate::metric::Metric;
use crate::model::builder::Keep;
use crate::model::runs::KeepSteps;
use crate::options::Comparing;
use crate::quirks::Quirks;
use crate::view::View;

/// Joins the answers of two profilers to one question. Each comes with its name for people, such as its path.
///
/// ```
/// use tfprof::{Comparing, Metric, Options, Profiler, Question, Source, ViewKind, compare};
///
/// let model = |size: i64| {
///     let shape = format!("shape {{ dim {{ size: {size} }} }}");
///     let graph = format!("node {{ name: 'w' op: 'VariableV2' attr {{ key: 'shape' value {{ {shape} }} }} }}");
///     let mut profiler = Profiler::default();
///     profiler.add_graph(Source::memory("graph.pbtxt", graph.as_bytes())?)?;
///     Ok::<_, tfprof::Error>(profiler)
/// };
/// let (before, after) = (model(8)?, model(10)?);
/// let question = Question::new(ViewKind::Scope, &Options::new().select([Metric::Parameters]).form("csv"));
/// let mut csv = Vec::new();
/// compare(("old", &before), ("new", &after), &question, &Comparing::default())?.write(&mut csv)?;
/// assert!(String::from_utf8(csv)?.contains("1,0,1,w,changed,name,,8,8,10,10,2,2,25,25"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn compare(
    before: (&str, &Profiler),
    after: (&str, &Profiler),
    question: &Question,
    comparing: &Comparing,
) -> Result<Answer, Error> {
    let form = question.form()?;
    let (limits, input) = (after.1.limits(), before.1.input().saturating_add(after.1.input()));
    let view = view(before, after, question, comparing)?;
    let of_side = |(name, profiler): &(&str, &Profiler)| {
        profiler.warnings().iter().map(|warning| warning.of_side(name)).collect::<Vec<_>>()
    };
    let warnings = [before, after].iter().flat_map(of_side).collect();
    Ok(Answer::of_view(view, form, (limits, input), warnings))
}

/// The rows of that answer alone.
pub fn view(
    before: (&str, &Profiler),
    after: (&str, &Profiler),
    question: &Question,
    comparing: &Comparing,
) -> Result<View, Error> {
    let form = question.form()?;
    if !form.demand.compares {
        let why = format!("{} has no place for two sides; try json, csv, html or markdown", form.word);
        return Err(Error::option("output", why));
    }
    let sides = [before, after];
    let [old, new] = sides.map(|(name, profiler)| profiler.subject(name));
    let (limits, input) = (after.1.limits(), before.1.input().saturating_add(after.1.input()));
    budget::guard(limits, input, || {
        View::compare([&old, &new], question.kind, &question.options, comparing, form.demand)
    })
}

impl Question {
    /// The parts of the files of a side that a comparison needs: those of the question, and each step, for the noise.
    pub fn needs_to_compare(&self, inputs: &Inputs) -> Result<Keep, Error> {
        let keep = self.needs(inputs)?;
        let options = &self.options;
        // Sums of each step take most of the memory, and most questions are about times.
        let times = [Metric::Micros, Metric::AcceleratorMicros, Metric::CpuMicros, Metric::Runs];
        let are_times = |metric: Metric| !metric.info().averaged || times.contains(&metric);
        let asks_times = options.selection(true).given().map(Metric::summed).all(are_times);
        let only_runs = [Role::Profile, Role::Host, Role::Partial].iter().all(|role| inputs.of(*role).next().is_none());
        let plain = !keep.memory && options.quirks == Quirks::NONE;
        let steps = match keep.steps {
            steps if !options.step.is_average() => steps,
            KeepSteps::TotalsOnly if asks_times && only_runs && plain => KeepSteps::Times,
            _ => KeepSteps::Each,
        };
        Ok(Keep { steps, ..keep })
    }
}
