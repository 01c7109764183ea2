//! A `RunMetadata` as a Chrome trace, event for event as TensorFlow's own `timeline` module writes it.
//!
//! A trace needs only the file, not the model. It begins with the names of its processes, and an arrow may begin at any
//! record, so the file is read in several passes that keep no records:
//!
//! 1. `survey.rs`: the devices, which become processes; for times by GPU kernel, when each op's kernels ran;
//! 2. `tensors.rs`: the op that made each tensor last, and the lifetime of each tensor if memory is shown;
//! 3. `write_ops`: the ops and the arrows between them.
//!
//! Memory use is the table of tensor names, and constant if neither arrows nor memory are shown.

mod describe;
pub mod excerpt;
pub mod profile;
mod record;
mod survey;
mod tensors;
mod walk;
mod writer;

use crate::error::{Error, Warning};
use crate::format::source::Source;
use crate::render::chrome::Point;
use crate::words::Choice;
use record::{OpLabel, OpRun, kernel};
use std::io::{self, Write};
use survey::Survey;
use tensors::Tensors;
use writer::Events;

/// The parts of a trace to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceOptions {
    /// Arrows from the op that makes a tensor to each op that reads it.
    pub show_dataflow: bool,
    /// The lifetime of each tensor, and how much each allocator holds.
    pub show_memory: bool,
    pub op_time: OpTime,
}

impl Default for TraceOptions {
    fn default() -> Self {
        TraceOptions { show_dataflow: true, show_memory: false, op_time: OpTime::Schedule }
    }
}

/// The time span of an op that launches kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OpTime {
    /// Its launch.
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

/// One step: a `RunMetadata` that can be read several times.
pub struct Step<'a> {
    pub step: i64,
    pub open: Box<dyn Fn() -> Result<Source<'a>, Error> + 'a>,
}

impl std::fmt::Debug for Step<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Step").field("step", &self.step).finish_non_exhaustive()
    }
}

/// The peak of an allocator in a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peak {
    pub allocator: String,
    /// The time of the peak, the sum of two 64-bit numbers.
    pub at: i128,
    pub bytes: i128,
    /// The tensors that it held at the peak.
    pub tensors: Vec<String>,
}

/// A tensor from the start of the op that made it to the end of its last reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorLife {
    pub tensor: String,
    pub allocator: String,
    pub bytes: i64,
    /// In microseconds.
    pub made: i128,
    pub last_read: i128,
}

/// A surveyed trace, ready to be written.
#[derive(Debug)]
pub struct Trace<'a> {
    steps: Vec<(Step<'a>, Survey)>,
    options: TraceOptions,
    pub warnings: Vec<Warning>,
}

impl<'a> Trace<'a> {
    /// Surveys all steps. A file that cannot be read is an error here, not half-way through the output.
    pub fn new(steps: Vec<Step<'a>>, options: TraceOptions) -> Result<Trace<'a>, Error> {
        let mut warnings = Vec::new();
        let several = steps.len() > 1;
        let mut next_process = 0;
        let mut surveyed = Vec::new();
        for step in steps {
            // An extension of the original: several steps in one trace, each with its own processes.
            let prefix = if several { format!("step {}: ", step.step) } else { String::new() };
            let survey = Survey::new(&step, options.op_time, prefix, &mut next_process, &mut warnings)?;
            surveyed.push((step, survey));
        }
        Ok(Trace { steps: surveyed, options, warnings })
    }

    /// The tensors of each step, in the order in which they were made.
    pub fn lives(&self) -> io::Result<Vec<(i64, Vec<TensorLife>)>> {
        let mut nowhere = io::sink();
        let mut events = Events::begin(&mut nowhere);
        let mut all = Vec::new();
        for (step, survey) in &self.steps {
            let options = TraceOptions { show_memory: true, show_dataflow: false, ..self.options };
            let mut tensors = Tensors::new(options);
            tensors::walk(step, survey, &mut tensors, &mut events)?;
            write_ops(step, survey, options, &mut tensors, &mut events)?;
            all.push((step.step, tensors.lives()));
        }
        Ok(all)
    }

    /// Writes the trace as JSON. If memory is shown, returns the peak of each allocator in each step.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<Vec<Peak>> {
        let mut events = Events::begin(out);
        for (_, survey) in &self.steps {
            survey.write_processes(&mut events)?;
        }
        let mut peaks = Vec::new();
        for (step, survey) in &self.steps {
            let mut tensors = Tensors::new(self.options);
            if !tensors.are_unused() {
                tensors::walk(step, survey, &mut tensors, &mut events)?;
            }
            write_ops(step, survey, self.options, &mut tensors, &mut events)?;
            peaks.extend(tensors.write_memory(survey.allocators, &mut events)?);
        }
        events.end().map(|()| peaks)
    }
}

/// Writes the ops of a step, and tells `tensors` which of them were read until when.
fn write_ops(
    step: &Step<'_>,
    survey: &Survey,
    options: TraceOptions,
    tensors: &mut Tensors,
    events: &mut Events<'_>,
) -> io::Result<()> {
    walk::records(step, survey, |device, record, lane| {
        let begin = Point { process: device.compute, lane, time: record.start };
        let run = OpRun { begin, duration: record.duration, name: record.name, op: record.name };
        if device.has_kernels {
            let (name, op) = kernel(record);
            return events.op(&OpRun { name, op, ..run }, std::iter::empty());
        }
        // A transfer between workers has a label of another form.
        if record.name == b"RecvTensor" {
            return events.op(&run, std::iter::empty());
        }
        let label = OpLabel::parse(record.label);
        events.op(&OpRun { op: label.op, ..run }, label.inputs())?;
        if tensors.are_unused() {
            return Ok(());
        }
        for input in label.inputs() {
            let Some((input, origin)) = tensors.read(input, record.end() - 1) else { continue };
            // As the original: an arrow along one lane would only hide what lies below it.
            if options.show_dataflow && (origin.process, origin.lane) != (begin.process, begin.lane) {
                events.flow(input, origin, begin)?;
            }
        }
        Ok(())
    })
}
