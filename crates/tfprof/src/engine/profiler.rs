//! [`Profiler`] loads files into a model and answers questions about it. An [`Answer`] is owned, so that threads can share
//! it, and written in the form that was asked for.

use super::inputs::Inputs;
use super::question::Question;
use super::torch_costs;
use crate::budget::{self, Limits};
use crate::checkpoint::{Checkpoint, Damage, OBJECT_GRAPH};
use crate::error::{Error, Fix, Warning};
use crate::events::walk::Wanted;
use crate::events::{self, HostFile, HostProfile, TraceSettings};
use crate::format;
use crate::format::debug_info;
use crate::format::source::Source;
use crate::format::{Format, Reader, Role};
use crate::hardware::{Ceiling, Precision};
use crate::infer::annotate::annotate;
use crate::infer::functions::calls::Program;
use crate::infer::overrides::check_inputs;
use crate::model::Model;
use crate::model::builder::{Builder, Keep};
use crate::model::hosts::HostFacts;
use crate::model::join::Fork;
use crate::model::settings::Settings;
use crate::options::{Options, Step, ViewKind};
use crate::parallel;
use crate::part::{self, Partial};
use crate::quirks::Quirks;
use crate::render::{self, Dress, FORMS, Form};
use crate::report::advise::{self, Advice};
use crate::report::cost::Cost;
use crate::report::layers::LayerReport;
use crate::report::layers::what_if::{self, Case};
use crate::report::overview::{Overview, Sources};
use crate::view::View;
use crate::view::compare::Subject;
use crate::view::steps::from_step;
use regex::Regex;
use std::io::{self, Write};
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A model and what ran of it. Files are added one by one; views share the model, and adding more leaves them as they
/// are.
#[derive(Debug)]
pub struct Profiler {
    /// Its model is empty except while something is added.
    builder: Builder,
    model: Arc<Model>,
    program: Program,
    checkpoints: Vec<Arc<Checkpoint>>,
    /// The budget of answers: the limits, and the bytes that were read.
    limits: Limits,
    input: u64,
    /// The model of the last question with [`Step::From`].
    later: Mutex<Option<Later>>,
}

/// A model without its first steps.
#[derive(Debug)]
struct Later {
    of: Weak<Model>,
    first: i64,
    model: Arc<Model>,
}

/// The maximum number of warnings about one damaged checkpoint.
const DAMAGE: usize = 10;

impl Default for Profiler {
    fn default() -> Self {
        Profiler::new(Keep::EVERYTHING)
    }
}

impl Profiler {
    /// `keep` selects the parts of the files to load; see [`needs`](super::needs). [`Keep::EVERYTHING`] is always right.
    pub fn new(keep: Keep) -> Self {
        Profiler::from_builder(Builder::new(keep))
    }

    fn from_builder(mut builder: Builder) -> Self {
        Profiler {
            model: Arc::new(std::mem::take(&mut builder.model)),
            builder,
            program: Program::default(),
            checkpoints: Vec::new(),
            limits: Limits::default(),
            input: 0,
            later: Mutex::default(),
        }
    }

    /// Sets which part of a model counts. Call this before loading.
    pub fn set(&mut self, settings: &Settings) {
        self.builder.program.settings = settings.clone();
    }

    /// Sets what answers may cost.
    pub(crate) fn set_limits(&mut self, limits: Limits, input: u64) {
        (self.limits, self.input) = (limits, input);
    }

    pub(super) fn limits(&self) -> Limits {
        self.limits
    }

    /// The bytes that were read.
    pub(crate) fn input(&self) -> u64 {
        self.input
    }

    fn guard<T>(&self, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        budget::guard(self.limits, self.input, work)
    }

    /// Expands functions and computes the costs of nodes, as far as was kept. Call this after loading, and again after
    /// loading more.
    pub fn infer(&mut self) -> Result<(), Error> {
        budget::guard(self.limits, self.input, || self.infer_all())
    }

    fn infer_all(&mut self) -> Result<(), Error> {
        let program = &mut self.program;
        let mut builder = Edit::new(&mut self.builder, &mut self.model);
        program.update(&mut builder.program);
        if !program.graph.is_empty() {
            check_inputs(program, &builder.program.settings)?;
            annotate(program, &mut builder)?;
        }
        Ok(())
    }

    /// Adds a `GraphDebugInfo`: where nodes were made.
    pub fn add_debug_info(&mut self, mut source: Source<'_>) {
        debug_info::read(&mut source.input, &mut self.edit());
    }

    /// Names the trained variables, for models whose files do not.
    pub fn mark_trainable(&mut self, names: &[String]) {
        let mut builder = self.edit();
        builder.model.knows_trainable = true;
        builder.mark_variables(names.iter(), crate::model::type_names::TRAINABLE);
    }

    /// Adds a `GraphDef`. Nodes whose names are known already are skipped.
    pub fn add_graph(&mut self, source: Source<'_>) -> Result<(), Error> {
        self.add(source, Format::of(Role::Graph), 0)
    }

    /// Adds a `RunMetadata` to a step; several for one step add up.
    pub fn add_step(&mut self, step: i64, source: Source<'_>) -> Result<(), Error> {
        self.add(source, Format::of(Role::Run), step)
    }

    /// Adds an `OpLogProto`: types, FLOPs and traces of nodes that are loaded already.
    pub fn add_op_log(&mut self, source: Source<'_>) -> Result<(), Error> {
        self.add(source, Format::of(Role::OpLog), 0)
    }

    /// Adds a `ProfileProto`.
    pub fn add_profile(&mut self, source: Source<'_>) -> Result<(), Error> {
        self.add(source, Format::of(Role::Profile), 0)
    }

    /// Adds a checkpoint, the source of tensor values. Loaded nodes that are in it are marked as such.
    ///
    /// If nothing else is loaded, its variables become the model.
    pub fn add_checkpoint(&mut self, checkpoint: Checkpoint) {
        let alone = self.model.nodes.is_empty();
        let mut builder = Edit::new(&mut self.builder, &mut self.model);
        let damage = &checkpoint.damage;
        builder.warnings.extend(damage.iter().take(DAMAGE).map(Damage::warning));
        if damage.len() > DAMAGE {
            let more = format!("{} more places are damaged; verify the checkpoint to list them", damage.len() - DAMAGE);
            builder.warnings.push(Damage { offset: None, tensor: None, what: more, ..damage[0].clone() }.warning());
        }
        for tensor in checkpoint.tensors.iter().filter(|tensor| tensor.name != OBJECT_GRAPH) {
            let name = if alone { tensor.label() } else { &tensor.name };
            builder.add_variable(name, &tensor.shape, alone);
        }
        if !alone {
            checkpoint.other_names().for_each(|(name, tensor)| builder.add_variable(name, &tensor.shape, false));
        }
        self.checkpoints.push(Arc::new(checkpoint));
    }

    /// Adds the profiles of all hosts of a run, read in parallel. Calls `done` for each.
    #[doc(hidden)]
    pub fn add_profiles(
        &mut self,
        files: &[impl HostFile],
        step_marker: Option<Regex>,
        done: &dyn Fn(&str, u64),
    ) -> Result<(), Error> {
        let keep = self.builder.keep;
        let Keep { steps, runtime, calls, step_marks, busy, kernels, traces, memory, shapes, spans, .. } = keep;
        // Advice keeps kernels: it looks at the costs of traces, and computes none of graphs.
        let costs = keep.costs || kernels;
        let (python, stacks) = (calls, traces);
        let wanted = Wanted { steps, runtime, python, step_marks, busy, costs, kernels, stacks, memory, shapes, spans };
        let settings = TraceSettings { wanted, step_marker };
        let mut hosts = Vec::new();
        let mut failures = Vec::new();
        let threads = parallel::processors(files.len());
        let reads = parallel::map(files.iter().collect(), threads, |file| file.read(&settings));
        for (read, file) in reads.into_iter().zip(files) {
            done(file.name(), file.size());
            match read {
                Ok(host) => hosts.push(host),
                Err(error) => failures.push(error),
            }
        }
        // A host that cannot be read does not hide the others.
        if hosts.is_empty() {
            return Err(failures
                .into_iter()
                .next()
                .unwrap_or_else(|| Error::Missing("no profile was named".to_owned())));
        }
        let mut builder = Edit::new(&mut self.builder, &mut self.model);
        let warnings = &mut builder.warnings;
        for error in failures {
            let message = format!("{error}; the answer is about the other hosts");
            warnings.push(Warning::new("lost_host", message).with_damage());
        }
        hosts.iter_mut().for_each(|host| warnings.append(&mut host.warnings));
        if costs {
            hosts.iter_mut().for_each(torch_costs::add);
        }
        warnings.extend(events::reconcile(&mut hosts));
        let no_ops = !hosts.iter().any(HostProfile::has_ops);
        if no_ops {
            let message = "none of the events is an op, so all events are shown".to_owned();
            builder.warnings.push(Warning::new("no_ops", message));
        }
        let with_runtime = keep.runtime || no_ops;
        events::merge(&mut hosts, with_runtime, &mut builder);
        builder.model.hosts = hosts.into_iter().map(|host| host.facts).collect();
        Ok(())
    }

    /// The hosts whose traces are loaded.
    pub fn hosts(&self) -> &[HostFacts] {
        &self.model.hosts
    }

    /// Adds a file of any format but a checkpoint, which has several files; `step` is that of a run.
    pub fn add(&mut self, source: Source<'_>, format: &Format, step: i64) -> Result<(), Error> {
        budget::guard(self.limits, self.input, || match format.reader {
            Reader::Records(read) => format::read(read, source, step, &mut self.edit()),
            Reader::Model(read) => format::read_model(read, source, &mut self.edit()),
            Reader::Host(open) => self.add_profiles(&[open(Path::new(""), source)?], None, &|_, _| {}),
            Reader::Partial => self.add_partial(&super::parts::read_source(source)?),
            Reader::Checkpoint(_) => {
                Err(Error::Question(format!("{}: {format} is read by its path, not from one file", source.name)))
            }
        })
    }

    /// Fills the profiler with a partial. There must be nothing else.
    pub(crate) fn add_partial(&mut self, partial: &Partial) -> Result<(), Error> {
        if !self.model.nodes.is_empty() {
            return Err(Error::Question("a partial cannot be read beside other files".to_owned()));
        }
        let mut builder = self.edit();
        for recording in partial.missing() {
            builder.warnings.push(Warning::new("lost_host", recording.loss()).with_damage());
        }
        for recording in partial.recordings.values() {
            let lost = recording.lost.iter().map(|lost| format!("{}: {lost}", recording.path()));
            builder.warnings.extend(lost.map(|message| Warning::new("damaged", message).with_damage()));
        }
        part::fill(partial, &mut builder).map_err(|fault| Error::Missing(format!("not a whole partial: {fault}")))
    }

    /// A profiler with the same nodes, to read some of the runs on another thread.
    pub(crate) fn fork(&mut self) -> (Profiler, Fork) {
        let (builder, at) = self.edit().fork();
        (Profiler::from_builder(builder), at)
    }

    /// Adds the runs of a fork; false if they must be read again, here.
    #[must_use]
    pub(crate) fn join(&mut self, mut fork: Profiler, at: Fork) -> bool {
        fork.builder.model = Arc::unwrap_or_clone(fork.model);
        self.edit().join(fork.builder, at)
    }

    /// Everything that was loaded. Clone the `Arc` to keep it.
    #[doc(hidden)]
    pub fn model(&self) -> &Arc<Model> {
        &self.model
    }

    pub(super) fn subject<'p>(&'p self, name: &'p str) -> Subject<'p> {
        Subject { name, model: &self.model, checkpoints: &self.checkpoints }
    }

    fn edit(&mut self) -> Edit<'_> {
        Edit::new(&mut self.builder, &mut self.model)
    }

    /// Adds a warning, once.
    pub(crate) fn warn(&mut self, warning: Option<Warning>) {
        self.builder.warnings.extend(warning.filter(|warning| !self.builder.warnings.contains(warning)));
    }

    /// The warnings of loading.
    pub fn warnings(&self) -> &[Warning] {
        &self.builder.warnings
    }

    /// Answers a question.
    pub fn ask(&self, question: &Question) -> Result<Answer, Error> {
        self.guard(|| Answer::new(self, question))
    }

    /// The rows of a view.
    pub fn view(&self, kind: ViewKind, options: &Options) -> Result<View, Error> {
        self.guard(|| {
            let demand = render::form(&options.output)?.demand;
            let mut view = View::new(self.with_steps_of(options.step)?, kind, options, demand)?;
            view.checkpoints.clone_from(&self.checkpoints);
            Ok(view)
        })
    }

    /// The model of a question; one without its first steps is kept for the next question.
    fn with_steps_of(&self, step: Step) -> Result<Arc<Model>, Error> {
        let Step::From(first) = step else { return Ok(Arc::clone(&self.model)) };
        let of = Arc::downgrade(&self.model);
        let mut later = self.later.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = later.as_ref().filter(|known| known.first == first && known.of.ptr_eq(&of)) {
            return Ok(Arc::clone(&known.model));
        }
        let model = from_step(&self.model, first)?;
        *later = Some(Later { of, first, model: Arc::clone(&model) });
        Ok(model)
    }

    /// An overview of the loaded files, which `inputs` lists.
    pub fn overview(&self, inputs: &Inputs) -> Result<Overview, Error> {
        let sources = Sources {
            files: inputs.labelled(),
            has_graph: inputs
                .list
                .iter()
                .any(|input| matches!(input.format.role, Role::Graph | Role::Profile | Role::Partial)),
            run: inputs.read_run.clone(),
            other_runs: inputs.other_runs.clone(),
            saved_model: inputs.saved_model(),
            signature: self.builder.program.signature.clone(),
        };
        self.guard(|| Overview::new(&self.model, &sources, self.warnings()))
    }

    /// The cost of a model and the ops whose cost is unknown.
    pub fn cost(&self) -> Result<Cost, Error> {
        if let (true, Some(checkpoint)) = (self.model.costs.is_empty(), self.checkpoints.first()) {
            let name = &checkpoint.name;
            return Err(Error::Missing(format!(
                "{name} holds tensors, but not the ops or layers that compute with them; list its tensors with `tfprof \
                 checkpoint {name}`, or name the model: a SavedModel, a .keras or .h5 file of model.save(), or an ONNX \
                 or TensorFlow Lite file"
            )));
        }
        self.guard(|| Cost::new(&self.model, self.warnings()))
    }

    /// The layers of a model and, if a run is loaded, their time. Of the options, depth and peaks count.
    pub fn layers(&self, options: &Options) -> Result<LayerReport, Error> {
        self.guard(|| LayerReport::new(&self.model, options, self.warnings()))
    }

    /// The least time of a step on a device.
    #[doc(hidden)]
    pub fn what_if(&self, device: &str, ceiling: &Ceiling, precision: Option<Precision>) -> Result<Case, Error> {
        self.guard(|| {
            // Says so if there is no graph.
            Cost::new(&self.model, self.warnings())?;
            Ok(what_if::case(&self.model, device, ceiling, precision))
        })
    }

    /// Runs the [`CHECKERS`](advise::CHECKERS) of these names.
    pub fn advise(&self, checkers: &[String], quirks: Quirks) -> Result<Vec<Advice>, Error> {
        self.guard(|| advise::advise(&self.model, checkers, quirks))
    }
}

/// The builder while it owns the model by value, so that readers need no reference count. Copy-on-write: if a view still
/// shares the model, the builder works on a copy.
struct Edit<'p> {
    builder: &'p mut Builder,
    shared: &'p mut Arc<Model>,
}

impl<'p> Edit<'p> {
    fn new(builder: &'p mut Builder, shared: &'p mut Arc<Model>) -> Edit<'p> {
        builder.model = Arc::unwrap_or_clone(std::mem::take(shared));
        Edit { builder, shared }
    }
}

impl Drop for Edit<'_> {
    fn drop(&mut self) {
        *self.shared = Arc::new(std::mem::take(&mut self.builder.model));
    }
}

impl Deref for Edit<'_> {
    type Target = Builder;

    fn deref(&self) -> &Builder {
        self.builder
    }
}

impl DerefMut for Edit<'_> {
    fn deref_mut(&mut self) -> &mut Builder {
        self.builder
    }
}

/// One file, or in the timeline of the graph view one for each step.
#[derive(Debug)]
pub struct Answer {
    form: &'static Form,
    /// The budget for writing it.
    limits: Limits,
    input: u64,
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
    limits: Limits,
    input: u64,
    load_warnings: &'a [Warning],
}

impl Answer {
    pub(super) fn new(profiler: &Profiler, question: &Question) -> Result<Answer, Error> {
        let Question { kind, options } = question;
        let form = question.form()?;
        let first = match options.step {
            Step::Average => Some(i64::MIN),
            Step::From(first) => Some(first),
            _ => None,
        };
        let mut steps = match first.filter(|_| form.demand.executions && *kind == ViewKind::Graph) {
            Some(first) => profiler.model().runs.steps().filter(|step| *step >= first).map(Step::At).collect(),
            None => vec![options.step],
        };
        if steps.is_empty() {
            let missing = Error::Missing("a timeline of the graph view needs steps, and there are none".to_owned());
            return Err(missing.with_fix(Fix::new("load some with", "run_meta_path")));
        }
        let first = profiler.view(*kind, &Options { step: steps.remove(0), ..options.clone() })?;
        let (limits, input) = (profiler.limits, profiler.input);
        Ok(Answer { form, limits, input, load_warnings: profiler.warnings().to_vec(), first, further: steps })
    }

    /// An answer of one part.
    pub(super) fn of_view(
        view: View,
        form: &'static Form,
        (limits, input): (Limits, u64),
        load_warnings: Vec<Warning>,
    ) -> Answer {
        Answer { form, limits, input, load_warnings, first: view, further: Vec::new() }
    }

    pub fn form(&self) -> &'static Form {
        self.form
    }

    /// The number of files.
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
            let view = budget::guard(self.limits, self.input, || {
                // Each step is a view of its own: many steps of many nodes are paid for.
                budget::work(WORK_PER_ROW * self.first.model.nodes.len() as u64);
                self.first.at(*step)
            })?;
            take(&self.part(&view))?;
        }
        Ok(())
    }

    fn part<'a>(&'a self, view: &'a View) -> Part<'a> {
        let Options { output, step, quirks, .. } = &view.options;
        let step = match step {
            Step::Average => "-1".to_owned(),
            Step::All => "all".to_owned(),
            Step::At(step) => step.to_string(),
            Step::From(first) => format!("from_{first}"),
        };
        let outfile = &output.outfile;
        let file = match json_ending(outfile) {
            _ if !self.form.demand.executions => outfile.clone(),
            // As in the original, the step follows the name of a timeline; -1 is an average.
            _ if quirks.timelines_lack_endings => format!("{outfile}_{step}"),
            "" => format!("{outfile}_{step}.json"),
            _ if self.further.is_empty() => outfile.clone(),
            ending => format!("{}_{step}{ending}", &outfile[..outfile.len() - ending.len()]),
        };
        let Answer { form, limits, input, load_warnings, .. } = self;
        Part { file, view, form, limits: *limits, input: *input, load_warnings }
    }
}

/// The work for each node in a view of a further step: a run takes more bytes in its file.
const WORK_PER_ROW: u64 = 20;

/// The ending of a name in JSON: `.json`, or the longer one of a timeline.
fn json_ending(file: &str) -> &str {
    let endings = FORMS.iter().flat_map(|form| form.endings).filter(|ending| ending.contains(".json"));
    let longest =
        endings.filter(|ending| file.to_ascii_lowercase().ends_with(*ending)).map(|ending| ending.len()).max();
    &file[file.len() - longest.unwrap_or(0)..]
}

impl Part<'_> {
    /// Writes the part. `dress.load_warnings` are filled in.
    pub fn write(&self, dress: &Dress<'_>, out: &mut dyn Write) -> io::Result<()> {
        budget::guard_io(self.limits, self.input, || {
            let dress = Dress { load_warnings: self.load_warnings, ..*dress };
            (self.form.write)(self.view, &dress, &mut budget::ChargedWriter(out))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_is_shared_between_threads_and_stays_as_it_was() {
        fn is_shareable<T: Send + Sync + 'static>() {}
        is_shareable::<Answer>();
        let graph = |name: &str| format!("node {{ name: '{name}' op: 'NoOp' }}");
        let mut profiler = Profiler::default();
        profiler.add_graph(Source::memory("one", graph("a").as_bytes()).unwrap()).unwrap();
        let view = profiler.view(ViewKind::Scope, &Options::default()).unwrap();
        profiler.add_graph(Source::memory("two", graph("b").as_bytes()).unwrap()).unwrap();
        assert_eq!((view.model.nodes.len(), profiler.model().nodes.len()), (1, 2));
        assert_eq!(view.rows().len(), 2);
    }
}
