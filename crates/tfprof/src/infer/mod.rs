//! Facts that no file states: computed from the graph.
//!
//! [`inference`] goes through a [`body`] and finds a [`fact`] for each tensor by the rules in [`shapes`], then the cost
//! of each node by the formulas in [`flops`].

pub mod attributes;
pub mod body;
pub mod fact;
pub mod flops;
pub mod functions;
pub mod inference;
pub mod known;
pub mod op_log;
pub mod opened;
pub mod settings;
pub mod shapes;
