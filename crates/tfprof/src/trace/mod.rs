//! A `RunMetadata` as a Chrome trace, event for event as TensorFlow's own `timeline` module writes it.
//!
//! Nothing but the file is needed, so the model takes no part. A trace begins with the names of its processes and
//! draws arrows from producers that may stand anywhere, so the file is walked several times, and each walk forgets
//! a record once it is done with it:
//!
//! 1. `survey.rs`: the devices, which become processes; for times by GPU kernel, when each op's kernels ran;
//! 2. `tensors.rs`: who made each tensor last, and the life of each tensor if memory is shown;
//! 3. `compute.rs`: the ops and the arrows between them.
//!
//! Memory is the table of the tensors' names, and nothing at all if neither arrows nor memory are asked for.

mod arrows;
mod compute;
mod describe;
mod kernels;
mod lanes;
mod page;
pub mod profile;
mod record;
mod survey;
mod tensors;
mod walk;
mod writer;

use crate::error::{Error, Warning};
use crate::format::source::Source;
use crate::words::Choice;
use std::io::{self, Write};
use survey::Survey;
use tensors::Tensors;
use writer::Events;

/// What a trace shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceOptions {
    /// Arrows from the op that makes a tensor to each op that reads it.
    pub show_dataflow: bool,
    /// The life of each tensor, and how much each allocator holds.
    pub show_memory: bool,
    pub op_time: OpTime,
}

impl Default for TraceOptions {
    fn default() -> Self {
        TraceOptions { show_dataflow: true, show_memory: false, op_time: OpTime::Schedule }
    }
}

/// From when to when an op that launches kernels is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OpTime {
    /// While it was launched.
    #[default]
    Schedule,
    /// From its first kernel to the end of its last.
    Gpu,
    /// From its launch to the end of its last kernel.
    All,
}

impl Choice for OpTime {
    const KIND: &'static str = "time";
    const WORDS: &'static [(&'static str, OpTime)] =
        &[("schedule", OpTime::Schedule), ("gpu", OpTime::Gpu), ("all", OpTime::All)];
}

/// One step: a `RunMetadata` that can be read from its start as often as it takes.
pub struct Step<'a> {
    pub step: i64,
    pub open: Box<dyn Fn() -> Result<Source<'a>, Error> + 'a>,
}

impl std::fmt::Debug for Step<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Step").field("step", &self.step).finish_non_exhaustive()
    }
}

/// The most that an allocator held in a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peak {
    pub allocator: String,
    /// When; a sum of two numbers of the file, and so wider than they are.
    pub at: i128,
    pub bytes: i128,
    /// The tensors that it held then.
    pub tensors: Vec<String>,
}

/// A trace that is ready to be written.
#[derive(Debug)]
pub struct Trace<'a> {
    steps: Vec<(Step<'a>, Survey)>,
    options: TraceOptions,
    pub warnings: Vec<Warning>,
}

impl<'a> Trace<'a> {
    /// Looks through all steps; what cannot be read is an error here, not half-way through the writing.
    pub fn new(steps: Vec<Step<'a>>, options: TraceOptions) -> Result<Trace<'a>, Error> {
        let mut warnings = Vec::new();
        let several = steps.len() > 1;
        let mut next_process = 0;
        let mut surveyed = Vec::new();
        for step in steps {
            // Not part of the original: several steps in one trace, each with processes of its own.
            let prefix = if several { format!("step {}: ", step.step) } else { String::new() };
            let survey = Survey::new(&step, options.op_time, prefix, &mut next_process, &mut warnings)?;
            surveyed.push((step, survey));
        }
        Ok(Trace { steps: surveyed, options, warnings })
    }

    /// Writes the trace as JSON. If memory is shown, the most that each allocator held in each step is returned.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<Vec<Peak>> {
        let mut events = Events::begin(out)?;
        for (_, survey) in &self.steps {
            survey.write_processes(&mut events)?;
        }
        let mut peaks = Vec::new();
        for (step, survey) in &self.steps {
            let mut tensors = Tensors::new(self.options);
            if !tensors.are_of_no_use() {
                tensors::walk(step, survey, &mut tensors, &mut events)?;
            }
            compute::walk(step, survey, self.options, &mut tensors, &mut events)?;
            peaks.extend(tensors.write_memory(survey.allocators, &mut events)?);
        }
        events.end().map(|()| peaks)
    }
}
