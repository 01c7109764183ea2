//! Answers that are not a tree: overview, cost, advice.

pub mod advise;
pub mod cost;
pub mod overview;
