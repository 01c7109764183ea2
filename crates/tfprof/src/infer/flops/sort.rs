//! Sorting and searching, counted by comparisons.

use super::super::fact::Fact;
use super::{Count, Flops, Formula, Op, UnknownReason, Work, dim, elements, formula, log2_ceil, product};
use crate::model::attr_value;

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
    formula(&["SelectedBoxes"], Count::By(|op| {
        let scores = op.input(1)?;
        Ok(boxes(op, dim(scores, 2)?, dim(scores, 0)?.saturating_mul(dim(scores, 1)?)))
    }, "16 · boxes · min(boxes, in2), for each image and class")),
    formula(&["NonMaxSuppressionWithOverlaps"], Count::In(1)),
    formula(&["CombinedNonMaxSuppression"], Count::By(|op| {
        let scores = op.input(1)?;
        Ok(boxes(op, dim(scores, 1)?, dim(scores, 0)?.saturating_mul(dim(scores, 2)?)))
    }, "16 · boxes · min(boxes, in2), for each image and class")),
    formula(&["CTCGreedyDecoder", "DenseCountSparseOutput", "SparseCountSparseOutput", "RaggedCountSparseOutput", "RaggedBincount"],
            Count::In(1)),
    formula(&["ListDiff", "DenseToDenseSetOperation"], Count::By(|op| both(op, 0, 1), "N(in0) + N(in1)")),
    formula(&["DenseToSparseSetOperation"], Count::By(|op| both(op, 0, 2), "N(in0) + N(in2)")),
    formula(&["SparseToSparseSetOperation"], Count::By(|op| both(op, 1, 4), "N(in1) + N(in4)")),
    formula(&["SetSize"], Count::By(|op| Ok(Work::plain(elements(op.input(1)?))), "N(in1)")),
    formula(&["BoostedTreesBucketize"], Count::By(|op| {
        let features = op.inputs.len() / 2;
        (0..features).try_fold(Work::default(), |work, at| {
            let levels = log2_ceil(elements(op.input(features + at)?));
            Ok(work.and(product(&[elements(op.input(at)?), levels])))
        })
    }, "N(in) · log2 of the number of boundaries, for each feature")),
    // Each beam is extended by each class.
    formula(&["CTCBeamSearchDecoder"], Count::By(|op| {
        let width = (op.attribute)("beam_width").and_then(attr_value::int).ok_or(UnknownReason::Malformed)?;
        Ok(Work::plain(product(&[2, elements(op.input(0)?), width.max(0)])))
    }, "2 · N(in0) · beam_width")),
    // The usual table of distances between prefixes, for the longest sequences that the shapes allow.
    formula(&["EditDistance"], Count::By(|op| {
        let length = |at: usize| op.facts.get(at).and_then(Fact::known_integers).and_then(<[i64]>::last).copied();
        let (a, b) = length(2).zip(length(5)).ok_or(UnknownReason::Shape)?;
        Ok(Work::plain(product(&[3, elements(op.output()?), a.max(0), b.max(0)])))
    }, "3 · N(out) · the last numbers of in2 and in5")),
];

/// One comparison for each element of two inputs.
fn both(op: &Op<'_>, a: usize, b: usize) -> Flops {
    Ok(Work::plain(elements(op.input(a)?).saturating_add(elements(op.input(b)?))))
}

/// Non-maximum suppression of `boxes` boxes, `times` times.
fn boxes(op: &Op<'_>, boxes: i64, times: i64) -> Work {
    let most = op.facts.get(2).and_then(Fact::integer).unwrap_or(boxes);
    Work::plain(product(&[16, boxes, boxes.min(most.max(0)), times]))
}
