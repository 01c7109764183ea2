//! Fused losses, which also compute their gradient.

use super::{Count, Formula, formula};

#[rustfmt::skip]
pub const FORMULAS: &[Formula] = &[
    // A softmax, the product with the labels, a sum, a logarithm, and a subtraction for the gradient.
    formula(&["SoftmaxCrossEntropyWithLogits"], Count::In(9)),
    formula(&["SparseSoftmaxCrossEntropyWithLogits"], Count::In(6)),
    // A forward and a backward pass through two states per label at each time step.
    formula(&["CTCLoss", "CTCLossV2"], Count::In(12)),
];
