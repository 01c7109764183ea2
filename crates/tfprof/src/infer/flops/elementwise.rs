//! Ops that do the same to every element, and reductions.

use super::{Flops, Formula, Op, elements};

pub const FORMULAS: &[(&str, Formula)] = &[
    ("Reciprocal", |op| per_input(op, 1)),
    ("Square", |op| per_input(op, 1)),
    ("Log", |op| per_input(op, 1)),
    ("Neg", |op| per_input(op, 1)),
    ("AssignSub", |op| per_input(op, 1)),
    ("AssignAdd", |op| per_input(op, 1)),
    ("BiasAdd", |op| per_input(op, 1)),
    ("Rsqrt", |op| per_input(op, 2)),
    // For each element: subtract the largest, exponentiate, add up, divide; finding the largest is the fifth.
    ("Softmax", |op| per_input(op, 5)),
    ("L2Loss", |op| Ok(per_input(op, 3)? - 1)),
    ("Add", |op| per_output(op, 1)),
    ("AddV2", |op| per_output(op, 1)),
    ("Sub", |op| per_output(op, 1)),
    ("Mul", |op| per_output(op, 1)),
    ("RealDiv", |op| per_output(op, 1)),
    ("Maximum", |op| per_output(op, 1)),
    ("Minimum", |op| per_output(op, 1)),
    ("Pow", |op| per_output(op, 1)),
    ("GreaterEqual", |op| per_output(op, 1)),
    ("Greater", |op| per_output(op, 1)),
    ("LessEqual", |op| per_output(op, 1)),
    ("Less", |op| per_output(op, 1)),
    ("Equal", |op| per_output(op, 1)),
    ("NotEqual", |op| per_output(op, 1)),
    ("RsqrtGrad", |op| per_output(op, 4)),
    ("SquaredDifference", |op| per_output(op, 2)),
    // As the original: the division at the end is left out of the mean.
    ("Mean", |op| op.output().and_then(|_| per_input(op, 1))),
    ("Sum", reduction),
    ("ArgMax", reduction),
    ("ArgMin", reduction),
    ("BiasAddGrad", reduction),
    // As the original: control inputs count as inputs.
    ("AddN", |op| match op.inputs.len() {
        0 => Ok(0),
        inputs => Ok(elements(op.input(0)?).saturating_mul(inputs as i64 - 1)),
    }),
];

fn per_input(op: &Op<'_>, times: i64) -> Flops {
    Ok(elements(op.input(0)?).saturating_mul(times))
}

fn per_output(op: &Op<'_>, times: i64) -> Flops {
    Ok(elements(op.output()?).saturating_mul(times))
}

/// One operation less than there are elements, for each result.
fn reduction(op: &Op<'_>) -> Flops {
    Ok(elements(op.input(0)?) - elements(op.output()?))
}
