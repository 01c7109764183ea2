//! [`Keep`]: the parts of files that questions need, decided before the files are read.

use crate::model::runs::KeepSteps;

/// The parts of files to keep. Questions about other parts cannot be answered later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    pub steps: KeepSteps,
    /// Bytes as well as times.
    pub memory: bool,
    /// When each node first began and last ended.
    pub bounds: bool,
    /// Inputs of nodes, and the shapes of their outputs.
    pub inputs: bool,
    pub output_shapes: bool,
    pub traces: bool,
    /// Single executions, for timelines and for saving.
    pub records: bool,
    /// Attributes of nodes, for saving and for advice.
    pub attributes: bool,
    /// Peak memory.
    pub peaks: bool,
    /// Nodes inside of functions.
    pub functions: bool,
    /// Computed costs of ops, which need the whole graph.
    pub costs: bool,
    /// Of profiles: boundaries of steps, events of the runtime, and Python calls.
    pub step_marks: bool,
    pub runtime: bool,
    pub calls: bool,
    /// Of profiles: how busy each lane was, and with what.
    pub busy: bool,
    /// Of profiles: ops by the program that they are part of, and the kernels that they launched.
    pub programs: bool,
    pub kernels: bool,
    /// Of profiles: ops by the shapes of their inputs.
    pub shapes: bool,
    /// Of profiles: single executions.
    pub spans: bool,
}

impl Keep {
    pub const EVERYTHING: Keep = Keep {
        steps: KeepSteps::Each,
        memory: true,
        bounds: true,
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
        programs: true,
        kernels: true,
        shapes: true,
        spans: true,
    };
}
