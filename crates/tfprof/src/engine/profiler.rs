//! [`Profiler`]: loads files into a model and answers questions about it.

use super::answer::Answer;
use super::question::Question;
use crate::checkpoint::{Checkpoint, Damage, OBJECT_GRAPH};
use crate::engine::formats::{Format, Reader, Role};
use crate::error::{Error, Warning};
use crate::events::walk::Wanted;
use crate::events::{self, HostFile, HostProfile, TraceSettings};
use crate::format;
use crate::format::debug_info;
use crate::format::source::Source;
use crate::infer::annotate::{self, annotate};
use crate::infer::functions::calls::Program;
use crate::infer::overrides::check_inputs;
use crate::model::Model;
use crate::model::builder::{Builder, Keep};
use crate::model::hosts::HostFacts;
use crate::model::join::Fork;
use crate::model::layers::{Layer, Layers};
use crate::model::settings::Settings;
use crate::options::{CodeStacks, Events, Options, ViewKind};
use crate::parallel;
use crate::render;
use crate::report::cost::{Linear, PerBatch};
use crate::view::View;
use regex::Regex;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::Arc;

/// A model and what ran of it. Files are added one by one; views share the model, and adding more leaves them as they
/// are.
#[derive(Debug)]
pub struct Profiler {
    /// Its model is empty except while something is added.
    builder: Builder,
    model: Arc<Model>,
    program: Program,
    checkpoints: Vec<Arc<Checkpoint>>,
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
        }
    }

    /// Sets which part of a model counts. Call this before loading.
    pub fn set(&mut self, settings: &Settings) {
        self.builder.program.settings = settings.clone();
    }

    /// Expands functions and computes the costs of nodes, as far as was kept. Call this after loading, and again after
    /// loading more.
    pub fn infer(&mut self) -> Result<(), Error> {
        let program = &mut self.program;
        let mut builder = Edit::new(&mut self.builder, &mut self.model);
        program.update(&mut builder.program);
        if !program.graph.is_empty() {
            check_inputs(program, &builder.program.settings)?;
            annotate(program, &mut builder);
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

    /// FLOPs, multiply-adds and bytes of one run as functions of the batch size, where they are linear.
    pub fn per_batch(&self) -> PerBatch {
        let [one, two, three] =
            [1, 2, 3].map(|batch| annotate::total(&self.program, &self.builder.program.settings, batch));
        let linear = |one: i64, two: i64, three: i64| {
            let per_element = two.checked_sub(one)?;
            let is_linear = three.checked_sub(two)? == per_element;
            is_linear.then(|| Linear { constant: one - per_element, per_element })
        };
        PerBatch {
            float_ops: linear(one.float_ops, two.float_ops, three.float_ops),
            macs: linear(one.macs, two.macs, three.macs),
            io_bytes: linear(one.io_bytes, two.io_bytes, three.io_bytes),
        }
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
            let more =
                format!("{} more places are damaged; `tfprof checkpoint --verify` lists them", damage.len() - DAMAGE);
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
        let Keep { steps, runtime, calls, step_marks, busy, .. } = keep;
        let wanted = Wanted { steps, runtime, python: calls, step_marks, busy };
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
            warnings.push(Warning { code: "lost_host", location: None, message, damage: true });
        }
        hosts.iter_mut().for_each(|host| warnings.append(&mut host.warnings));
        warnings.extend(events::reconcile(&mut hosts));
        let no_ops = !hosts.iter().any(HostProfile::has_ops);
        if no_ops {
            let message =
                "none of the events is an op, so everything that ran is shown, as with -events all".to_owned();
            builder.warnings.push(Warning { code: "no_ops", location: None, message, damage: false });
        }
        let with_runtime = keep.runtime || no_ops;
        events::merge(&hosts, with_runtime, keep.steps, &mut builder);
        builder.model.hosts = hosts.into_iter().map(|host| host.facts).collect();
        Ok(())
    }

    /// The hosts whose traces are loaded.
    pub fn hosts(&self) -> &[HostFacts] {
        &self.model.hosts
    }

    /// Adds a file of any format but a checkpoint, which has several files; `step` is that of a run.
    pub fn add(&mut self, source: Source<'_>, format: &Format, step: i64) -> Result<(), Error> {
        match format.reader {
            Reader::Records(read) => format::read(read, source, step, &mut self.edit()),
            Reader::Host(open) => self.add_profiles(&[open(Path::new(""), source)?], None, &|_, _| {}),
            Reader::Checkpoint(_) => {
                Err(Error::Question(format!("{}: {format} is read by its path, not from one file", source.name)))
            }
        }
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

    fn edit(&mut self) -> Edit<'_> {
        Edit::new(&mut self.builder, &mut self.model)
    }

    /// The warnings of loading.
    pub fn warnings(&self) -> &[Warning] {
        &self.builder.warnings
    }

    /// The layers that a question is about.
    fn layers(&self, kind: ViewKind, options: &Options) -> Result<Layers, Error> {
        let model = self.model();
        if model.hosts.is_empty() {
            return Ok(Layers::OPS);
        }
        if kind == ViewKind::Code {
            return match options.stacks {
                CodeStacks::Source => Ok(Layers::OPS),
                CodeStacks::Auto if model.has_traces || !model.has_calls => Ok(Layers::OPS),
                _ if model.has_calls => Ok(Layers::CALLS),
                _ => {
                    let how = "JAX records them with jax.profiler.ProfileOptions().python_tracer_level = 1";
                    Err(Error::Missing(format!("no Python call is in this profile; {how}")))
                }
            };
        }
        let has_ops = || model.runs.everything().rows().iter().any(|cell| model.nodes.layer(cell.node) == Layer::Ops);
        Ok(if options.events == Events::All || !has_ops() { Layers::OPS_AND_RUNTIME } else { Layers::OPS })
    }

    /// Answers a question.
    pub fn ask(&self, question: &Question) -> Result<Answer, Error> {
        Answer::new(self, question)
    }

    /// The rows of a view.
    pub fn view(&self, kind: ViewKind, options: &Options) -> Result<View, Error> {
        let demand = render::form(&options.output)?.demand;
        let layers = self.layers(kind, options)?;
        let mut view = View::new(Arc::clone(self.model()), layers, kind, options, demand)?;
        view.checkpoints.clone_from(&self.checkpoints);
        Ok(view)
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
