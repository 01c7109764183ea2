//! Functions: what a graph calls is opened, so that its nodes are counted where and as often as they run.
//!
//! A [`library`] holds the bodies of a file's functions. [`calls`] goes through a graph and all that it calls, one
//! instance for each function and what it is called with; [`trips`] says how often loops go round; [`expand`] walks what
//! came out as one flat graph, `call/inner/MatMul`.

pub mod calls;
pub mod expand;
pub mod frames;
pub mod library;
mod outputs;
pub mod trip_counts;
pub mod trips;
