//! Batch and local response normalization.

use super::{Count, Flops, Formula, Op, Work, elements, formula};
use crate::model::attr_value;

#[rustfmt::skip]
pub const FORMULAS: &[Formula] = &[
    formula(&["FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"], Count::By(
        batch_norm, "2 · N(in0) + 4 · N(in1) with given moments; 6 · N(in0) + 6 · N(in1) in training")),
    formula(&["_FusedBatchNormEx"], Count::By(
        |op| Ok(batch_norm(op)?.and(elements(op.input(0)?))), "as FusedBatchNorm, and N(in0) for the activation")),
    formula(&["FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3", "_FusedBatchNormGradEx"], Count::By(
        |op| Ok(Work::plain(elements(op.input(1)?).saturating_mul(11))), "11 · N(in1)")),
    formula(&["BatchNormWithGlobalNormalization"], Count::In(2)),
    formula(&["BatchNormWithGlobalNormalizationGrad"], Count::In(8)),
    // The squares of the neighbors along the depth, their sum, a power and a quotient.
    formula(&["LRN"], Count::By(|op| local_response(op, 1), "(2 · (2 · depth_radius + 1) + 4) · N(in0)")),
    formula(&["LRNGrad"], Count::By(|op| local_response(op, 2), "twice LRN")),
];

fn batch_norm(op: &Op<'_>) -> Flops {
    let (all, channels) = (elements(op.input(0)?), elements(op.input(1)?));
    // The default is training.
    let trains = (op.attribute)("is_training").is_none_or(attr_value::flag);
    let (each, once) = if trains { (6, 6) } else { (2, 4) };
    Ok(Work::plain(all.saturating_mul(each).saturating_add(channels.saturating_mul(once))))
}

fn local_response(op: &Op<'_>, times: i64) -> Flops {
    let radius = (op.attribute)("depth_radius").and_then(attr_value::int).unwrap_or(5).max(0);
    let each = radius.saturating_mul(4).saturating_add(6).saturating_mul(times);
    Ok(Work::plain(elements(op.input(0)?).saturating_mul(each)))
}
