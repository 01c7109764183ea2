//! Products of matrices.

use super::{Flops, Formula, Op, Unknown, dim, elements};

pub const FORMULAS: &[(&str, Formula)] = &[
    ("MatMul", |op| {
        let a = op.input(0)?;
        product(op, dim(a, usize::from(!op.flag("transpose_a")))?)
    }),
    ("BatchMatMul", batched),
    ("BatchMatMulV2", batched),
    ("BatchMatMulV3", batched),
];

/// Two operations for each result and each pair that is multiplied for it.
fn product(op: &Op<'_>, pairs: i64) -> Flops {
    Ok(pairs.saturating_mul(elements(op.output()?)).saturating_mul(2))
}

// As the original: it looks for `transpose_a`, which these ops call `adj_x`, so a transposed operand is not noticed.
fn batched(op: &Op<'_>) -> Flops {
    let a = op.input(0)?;
    let last = if op.flag("transpose_a") { 2 } else { 1 };
    let pairs = a.len().checked_sub(last).and_then(|index| a.get(index)).ok_or(Unknown::Malformed)?;
    product(op, *pairs)
}
