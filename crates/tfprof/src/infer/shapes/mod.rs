//! What an op's outputs are, from what its inputs are: one file per family of ops, one table.

use super::body::Body;
use super::fact::Fact;

/// What a rule may look at: a node and what is known of its inputs.
#[derive(Clone, Copy, Debug)]
pub struct Op<'a> {
    pub body: &'a Body,
    pub node: u32,
    pub inputs: &'a [Fact],
}

/// The outputs of an op. Fewer than it has means that nothing is known of the others.
pub type Rule = fn(&Op<'_>) -> Vec<Fact>;

/// The rule of an op.
pub fn rule(_op: &str) -> Option<Rule> {
    None
}

/// Whether an op stands for what a program is fed, so that an unknown leading dimension is the batch.
pub fn is_fed(op: &str) -> bool {
    const FED: &[&str] =
        &["Placeholder", "PlaceholderV2", "PlaceholderWithDefault", "_Arg", "IteratorGetNext", "IteratorGetNextSync"];
    FED.contains(&op)
}
