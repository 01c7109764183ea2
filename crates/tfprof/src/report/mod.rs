//! Reports: answers that are not a tree, each with its data and its writers.

pub mod advise;
pub mod budget;
pub mod cost;
pub mod fleet;
pub mod layers;
pub mod overview;
