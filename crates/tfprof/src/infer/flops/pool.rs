//! Pooling and its gradients.

use super::{Flops, Formula, Op, elements};

pub const FORMULAS: &[(&str, Formula)] = &[
    ("AvgPool", |op| pool(op)),
    ("MaxPool", |op| pool(op)),
    ("AvgPoolGrad", |op| Ok(window(op)?.saturating_mul(elements(op.input(1)?)).saturating_mul(2))),
    ("MaxPoolGrad", |op| {
        let outputs = elements(op.input(1)?);
        Ok(window(op)?.saturating_mul(outputs).saturating_add(outputs))
    }),
];

fn pool(op: &Op<'_>) -> Flops {
    Ok(window(op)?.saturating_mul(elements(op.output()?)))
}

/// How many elements a window covers.
fn window(op: &Op<'_>) -> Flops {
    op.needs_nhwc()?;
    Ok(elements(&op.integers("ksize")?))
}
