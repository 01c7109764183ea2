//! What a user says of a model beyond its files: which part of it counts, sizes that it leaves open, how often loops run.

use super::fact::Shape;

/// Settings of an inference. They are load options: another answer means to infer anew.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// The size of unknown leading dimensions of what is fed; 1 if it is not said.
    pub batch: Option<i64>,
    /// Shapes of what is fed, by name.
    pub inputs: Vec<(String, Shape)>,
    /// The signature of a `SavedModel` that counts.
    pub signature: Option<String>,
    /// Everything counts, not only what a signature needs.
    pub all: bool,
    /// How often loops run, by the names of their nodes.
    pub trip_counts: Vec<(String, i64)>,
    /// Constants of floating point with at least one dimension are parameters: the weights of a frozen graph.
    pub const_params: bool,
}
