//! What a user or a run says of shapes, which wins over what follows from the graph.

use super::fact::{ANY, Fact, Shape};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Shapes of outputs that a run told of, by the names of nodes; unknown where it did not tell.
pub type RanShapes = FxHashMap<String, Vec<Shape>>;

/// Statements from outside. The default says nothing, so that unknown sizes stay unknown.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// The size of unknown leading dimensions of what is fed: placeholders, iterators and the arguments of the body.
    ///
    /// Leave it out for the body of a function that is called: its arguments are what the caller passes.
    pub batch: Option<i64>,
    /// Shapes of placeholders and arguments, by the names of their nodes.
    pub inputs: FxHashMap<String, Shape>,
    /// What runs told.
    pub ran: Arc<RanShapes>,
}

impl Overrides {
    /// Completes what is known of a tensor that is fed. Says whether the batch was needed.
    pub fn complete_input(&self, name: &str, fact: &mut Fact) -> bool {
        if let Some(shape) = self.inputs.get(name) {
            fact.shape = shape.and(&fact.shape);
            fact.value = None;
        }
        let (Some(batch), Some([ANY, rest @ ..])) = (self.batch, fact.shape.dims()) else { return false };
        let mut dims = vec![batch];
        dims.extend(rest);
        fact.shape = Shape::of(&dims);
        fact.value = None;
        true
    }
}
