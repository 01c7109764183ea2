//! Losses that are one op. They find their gradient on the way.

use super::{Count, Formula, formula};

#[rustfmt::skip]
pub const FORMULAS: &[Formula] = &[
    // A softmax, then product and sum with the labels, a logarithm, and the difference that is the gradient.
    formula(&["SoftmaxCrossEntropyWithLogits"], Count::In(9)),
    formula(&["SparseSoftmaxCrossEntropyWithLogits"], Count::In(6)),
    // Forwards and backwards through two states for each label, at each time.
    formula(&["CTCLoss", "CTCLossV2"], Count::In(12)),
];
