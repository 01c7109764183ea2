//! What is loaded so far, and the questions that can be put to it.

use crate::cost::{Linear, PerBatch};
use crate::error::{Error, Warning};
use crate::format::checkpoint::{Checkpoint, Damage, OBJECT_GRAPH};
use crate::format::source::Source;
use crate::format::{self, Format};
use crate::infer::functions::calls::Program;
use crate::infer::opened;
use crate::infer::settings::Settings;
use crate::model::Model;
use crate::model::builder::{Builder, Keep};
use crate::model::join::Fork;
use crate::options::{Options, ViewKind};
use crate::view::View;

/// A model and what ran of it. Files are added one by one; views borrow what is there.
#[derive(Debug)]
pub struct Profiler {
    builder: Builder,
    program: Program,
    checkpoints: Vec<Checkpoint>,
}

/// How many damaged places of a checkpoint are worth reading.
const DAMAGE: usize = 10;

impl Default for Profiler {
    fn default() -> Self {
        Profiler::new(Keep::EVERYTHING)
    }
}

impl Profiler {
    /// `keep` says which parts of the files will be asked for; [`Keep::EVERYTHING`] is always right.
    pub fn new(keep: Keep) -> Self {
        Profiler { builder: Builder::new(keep), program: Program::default(), checkpoints: Vec::new() }
    }

    /// Says which part of a model counts, before it is loaded.
    pub fn set(&mut self, settings: &Settings) {
        self.builder.settings = settings.clone();
    }

    /// Looks into functions and computes what nodes take, as far as was kept. Do this when everything is loaded, and again
    /// when more was.
    pub fn infer(&mut self) -> Result<(), Error> {
        let builder = &mut self.builder;
        if !builder.graph.is_empty() {
            self.program.graph = std::mem::take(&mut builder.graph).finish();
        } else if !builder.served.is_empty() {
            self.program.graph = std::mem::take(&mut builder.served);
        }
        if !builder.library.is_empty() {
            self.program.library = std::mem::take(&mut builder.library).finish();
        }
        if !self.program.graph.is_empty() {
            self.program.trip_counts.clone_from(&builder.settings.trip_counts);
            opened::check_inputs(&self.program, &builder.settings)?;
            opened::open(&self.program, builder);
        }
        Ok(())
    }

    /// Adds a `GraphDebugInfo`: where nodes were made.
    pub fn add_debug_info(&mut self, mut source: Source<'_>) {
        self.builder.add_debug_info(&mut source.input);
    }

    /// Says which variables are trained, where no file does.
    pub fn mark_trainable(&mut self, names: &[String]) {
        self.builder.model.knows_trainable = true;
        self.builder.mark_variables(names.iter(), "_trainable_variables");
    }

    /// Float operations, multiply-adds and bytes of one run as functions of the batch, where they are linear.
    pub fn per_batch(&self) -> [PerBatch; 3] {
        let at = |batch| {
            let total = opened::total(&self.program, &self.builder.settings, batch);
            [total.float_ops, total.macs, total.io_bytes]
        };
        let [one, two, three] = [1, 2, 3].map(at);
        std::array::from_fn(|i| {
            let per_element = two[i].checked_sub(one[i])?;
            let linear = three[i].checked_sub(two[i])? == per_element;
            linear.then(|| Linear { constant: one[i] - per_element, per_element })
        })
    }

    /// Adds a `GraphDef`: nodes whose names are new.
    pub fn add_graph(&mut self, source: Source<'_>) -> Result<(), Error> {
        self.add(source, Format::GraphDef, 0)
    }

    /// Adds a `RunMetadata` to a step; several under one step add up.
    pub fn add_step(&mut self, step: i64, source: Source<'_>) -> Result<(), Error> {
        self.add(source, Format::RunMetadata, step)
    }

    /// Adds an `OpLogProto`: types, float operations and traces of nodes that are loaded already.
    pub fn add_op_log(&mut self, source: Source<'_>) -> Result<(), Error> {
        self.add(source, Format::OpLog, 0)
    }

    /// Adds a `ProfileProto`.
    pub fn add_profile(&mut self, source: Source<'_>) -> Result<(), Error> {
        self.add(source, Format::Profile, 0)
    }

    /// Adds a checkpoint: nodes that are loaded already learn that they are in it, and may be asked for their values.
    ///
    /// Where nothing is loaded, its variables are a model of their own.
    pub fn add_checkpoint(&mut self, checkpoint: Checkpoint) {
        let alone = self.model().nodes.is_empty();
        let damage = &checkpoint.damage;
        self.builder.warnings.extend(damage.iter().take(DAMAGE).map(Damage::warning));
        if damage.len() > DAMAGE {
            let more =
                format!("{} more places are damaged; `tfprof checkpoint --verify` lists them", damage.len() - DAMAGE);
            self.builder
                .warnings
                .push(Damage { offset: None, tensor: None, what: more, ..damage[0].clone() }.warning());
        }
        for tensor in checkpoint.tensors.iter().filter(|tensor| tensor.name != OBJECT_GRAPH) {
            let name = if alone { tensor.label() } else { &tensor.name };
            self.builder.add_variable(name, &tensor.shape, alone);
        }
        if !alone {
            checkpoint.other_names().for_each(|(name, tensor)| self.builder.add_variable(name, &tensor.shape, false));
        }
        self.checkpoints.push(checkpoint);
    }

    /// Adds a file of any format; `step` matters for `RunMetadata` alone.
    pub fn add(&mut self, source: Source<'_>, format: Format, step: i64) -> Result<(), Error> {
        let outcome = format::read(source, format, step, &mut self.builder);
        self.builder.end_file();
        outcome
    }

    /// A profiler for runs alone that knows the same nodes, to read some of them on another thread.
    pub(crate) fn fork(&mut self) -> (Profiler, Fork) {
        let (builder, at) = self.builder.fork();
        (Profiler { builder, program: Program::default(), checkpoints: Vec::new() }, at)
    }

    /// Adds what a fork has read; false if its runs must be read again, here.
    #[must_use]
    pub(crate) fn join(&mut self, fork: Profiler, at: Fork) -> bool {
        self.builder.join(fork.builder, at)
    }

    pub fn model(&self) -> &Model {
        &self.builder.model
    }

    /// What was odd while loading.
    pub fn warnings(&self) -> &[Warning] {
        &self.builder.warnings
    }

    /// Answers a question.
    pub fn view<'q>(&self, kind: ViewKind, options: &'q Options) -> Result<View<'q, '_>, Error> {
        let mut view = View::new(self.model(), kind, options)?;
        view.checkpoints = &self.checkpoints;
        Ok(view)
    }
}
