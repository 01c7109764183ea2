//! Facts that no file states, computed from the graph.
//!
//! [`inference`] walks a [`Body`](crate::model::body::Body) and finds a [`fact`] for each tensor by the rules in
//! [`shapes`], and the cost of each node by the formulas in [`flops`]. [`functions`] does so for a graph and all
//! functions that it calls, and [`annotate`] writes the results into the model. [`op_log`] makes the log that
//! TensorFlow's Python layer would write.

pub mod annotate;
mod constant;
mod data_order;
pub mod fact;
mod floats;
pub mod flops;
pub mod functions;
mod heads;
pub mod inference;
pub mod op_log;
pub mod overrides;
mod readers;
mod results;
pub mod shapes;
mod suggest;
