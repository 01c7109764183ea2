//! Matrix products, dense and sparse, and einsums.

use super::super::fact::Shape;
use super::super::shapes::Labels;
use super::{Count, Flops, Formula, Op, UnknownReason, Work, dim, elements, formula, original, product};
use crate::model::attr_value;

#[rustfmt::skip]
pub const FORMULAS: &[Formula] = &[
    original(&["MatMul"], Count::By(plain, "2 · k · N(out), k the columns of in0, or its rows if transpose_a")),
    original(&["BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"],
             Count::By(batched, "2 · k · N(out), k the last size of in0, or the second to last if adj_x")),
    formula(&["SparseMatMul", "_MklMatMul"], Count::By(plain, "as MatMul, zeros included")),
    formula(&["_FusedMatMul"], Count::By(|op| with_fused(op, plain(op)?), "as MatMul, and N(out) for each fused op")),
    formula(&["_FusedBatchMatMulV2"], Count::By(|op| with_fused(op, batched(op)?), "as BatchMatMul, and N(out) for each fused op")),
    formula(&["Einsum"], Count::By(einsum, "2 · sizes of all labels; half of that if no label is summed over; N(in0) − N(out) for a single input")),
    formula(&["SparseTensorDenseMatMul"], Count::By(|op| {
        let columns = dim(op.output()?, 1)?;
        Ok(Work::multiply_adds(elements(op.input(1)?).saturating_mul(columns)))
    }, "2 · N(in1) · columns of out, in1 the values")),
    formula(&["TridiagonalMatMul"], Count::Out(5)),
    formula(&["SparseDenseCwiseMul", "SparseDenseCwiseDiv", "SparseDenseCwiseAdd"], Count::Out(1)),
    formula(&["SparseTensorDenseAdd"], Count::By(|op| Ok(Work::plain(elements(op.input(1)?))), "N(in1)")),
    formula(&["SparseSoftmax"], Count::Out(5)),
    formula(&["Cross"], Count::Out(3)),
];

/// Two FLOPs for each output element and each of the `inner` products summed for it.
fn dot_products(op: &Op<'_>, inner: i64) -> Flops {
    Ok(Work::multiply_adds(inner.saturating_mul(elements(op.output()?))))
}

pub fn plain(op: &Op<'_>) -> Flops {
    let a = op.input(0)?;
    dot_products(op, dim(a, usize::from(!op.flag("transpose_a")))?)
}

// `as_original` reproduces a bug: the original reads `transpose_a`, which these ops call `adj_x`, so it ignores a
// transposed operand.
fn batched(op: &Op<'_>) -> Flops {
    let a = op.input(0)?;
    let transposed = op.flag(if op.as_original { "transpose_a" } else { "adj_x" });
    let last = if transposed { 2 } else { 1 };
    let inner = a.len().checked_sub(last).and_then(|index| a.get(index)).ok_or(UnknownReason::Malformed)?;
    dot_products(op, *inner)
}

/// Adds the FLOPs of the ops fused into this one.
pub fn with_fused(op: &Op<'_>, work: Work) -> Flops {
    let fused = (op.attribute)("fused_ops").map(attr_value::texts).unwrap_or_default();
    let each: i64 = fused.iter().map(|name| if name.starts_with(b"FusedBatchNorm") { 2 } else { 1 }).sum();
    Ok(work.and(elements(op.output()?).saturating_mul(each)))
}

fn einsum(op: &Op<'_>) -> Flops {
    let shapes: Vec<Shape> = (0..op.facts.len()).map(|at| op.input(at).map(Shape::of)).collect::<Result<_, _>>()?;
    let (labels, output) =
        Labels::new(op.text("equation"), &shapes.iter().collect::<Vec<_>>()).ok_or(UnknownReason::Malformed)?;
    if shapes.len() == 1 {
        let results = labels.dims(&output).ok_or(UnknownReason::Malformed)?;
        return Ok(Work::plain(elements(op.input(0)?).saturating_sub(product(&results)).max(0)));
    }
    let (summed, all) = labels.sizes(&output);
    if all.iter().any(|size| *size < 0) {
        return Err(UnknownReason::Shape);
    }
    let all = product(&all);
    Ok(if summed.is_empty() { Work::plain(all) } else { Work::multiply_adds(all) })
}
