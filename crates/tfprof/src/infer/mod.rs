//! Facts that no file states: computed from the graph.

pub mod flops;
pub mod op_log;
