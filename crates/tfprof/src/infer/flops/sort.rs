//! Sorting and searching, counted by comparisons.

use super::super::fact::Fact;
use super::{Count, Formula, Op, UnknownReason, Work, dim, elements, formula, log2_ceil, product};

#[rustfmt::skip]
pub const FORMULAS: &[Formula] = &[
    formula(&["TopK", "TopKV2", "NthElement", "ApproxTopK"], Count::By(|op| {
        let dims = op.input(0)?;
        let row = *dims.last().ok_or(UnknownReason::Malformed)?;
        Ok(Work::plain(product(&[elements(dims), log2_ceil(row)])))
    }, "N(in0) · log2 of the last size")),
    formula(&["LowerBound", "UpperBound"], Count::By(|op| {
        let row = *op.input(0)?.last().ok_or(UnknownReason::Malformed)?;
        Ok(Work::plain(product(&[elements(op.input(1)?), log2_ceil(row)])))
    }, "N(in1) · log2 of the last size of in0")),
    formula(&["InTopK", "InTopKV2", "Unique", "UniqueV2", "UniqueWithCounts", "UniqueWithCountsV2"], Count::In(1)),
    // Each box is compared with each box kept: two areas, their intersection, a quotient.
    formula(&["NonMaxSuppression", "NonMaxSuppressionV2", "NonMaxSuppressionV3", "NonMaxSuppressionV4", "NonMaxSuppressionV5"],
            Count::By(|op| Ok(boxes(op, dim(op.input(0)?, 0)?, 1)), "16 · boxes · min(boxes, in2)")),
    formula(&["NonMaxSuppressionWithOverlaps"], Count::In(1)),
    formula(&["CombinedNonMaxSuppression"], Count::By(|op| {
        let scores = op.input(1)?;
        Ok(boxes(op, dim(scores, 1)?, dim(scores, 0)?.saturating_mul(dim(scores, 2)?)))
    }, "16 · boxes · min(boxes, in2), for each image and class")),
    formula(&["CTCGreedyDecoder", "DenseCountSparseOutput", "SparseCountSparseOutput", "RaggedCountSparseOutput", "RaggedBincount"],
            Count::In(1)),
    formula(&["ListDiff"], Count::By(
        |op| Ok(Work::plain(elements(op.input(0)?).saturating_add(elements(op.input(1)?)))), "N(in0) + N(in1)")),
];

/// Non-maximum suppression of `boxes` boxes, `times` times.
fn boxes(op: &Op<'_>, boxes: i64, times: i64) -> Work {
    let most = op.facts.get(2).and_then(Fact::integer).unwrap_or(boxes);
    Work::plain(product(&[16, boxes, boxes.min(most.max(0)), times]))
}
