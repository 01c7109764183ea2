//! [`Keep`]: how much of the files a question needs, decided before they are read.

use crate::model::runs::KeepSteps;

/// Which parts of the files the questions at hand need. What is not kept cannot be asked for later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    pub steps: KeepSteps,
    /// Bytes as well as times.
    pub memory: bool,
    /// Inputs of nodes, and with `output_shapes` the shapes of what they produce.
    pub inputs: bool,
    pub output_shapes: bool,
    pub traces: bool,
    /// Single executions, for timelines and for saving.
    pub records: bool,
    /// The attributes of nodes, for saving and for advice.
    pub attributes: bool,
    /// How much memory was in use at the most.
    pub peaks: bool,
    /// What functions have inside.
    pub functions: bool,
    /// What ops take by computation; it needs all of a graph.
    pub costs: bool,
    /// Of profiles: where steps begin and end, what the runtime did, and Python calls.
    pub step_marks: bool,
    pub runtime: bool,
    pub calls: bool,
    /// Of profiles: how busy each line was, and with what.
    pub busy: bool,
}

impl Keep {
    pub const EVERYTHING: Keep = Keep {
        steps: KeepSteps::Each,
        memory: true,
        inputs: true,
        output_shapes: true,
        traces: true,
        records: true,
        attributes: true,
        peaks: true,
        functions: true,
        costs: true,
        step_marks: true,
        runtime: true,
        calls: true,
        busy: true,
    };
}
