//! Functions: calls are expanded, so that each node of a callee is counted at each call, as often as it runs.
//!
//! A [`library`] holds the bodies of a file's functions. [`calls`] infers a graph and all callees, one specialization
//! for each function and its arguments; [`trips`] and [`frames`] find trip counts of loops, and [`branches`] the
//! conditionals of TensorFlow 1.

pub mod branches;
pub mod calls;
pub mod frames;
pub mod library;
mod outputs;
pub mod specialization;
pub mod trip_counts;
pub mod trips;
