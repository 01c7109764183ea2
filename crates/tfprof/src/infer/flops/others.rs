//! Ops that TensorFlow does not have, or has with other operands: fused layers of other dialects.

use super::super::heads::Attention;
use super::matmul::with_fused;
use super::{Count, Flops, Formula, Op, UnknownReason, Work, dim, elements, formula, product};
use crate::model::attr_value;

#[rustfmt::skip]
pub const FORMULAS: &[Formula] = &[
    formula(&["_FusedConv"], Count::By(|op| {
        op.input(0)?;
        let filter = op.input(1)?;
        // All sizes of the filter but its output channels.
        let taps = match op.text("filter_format") {
            b"" => filter.split_last().map(|(_, taps)| taps),
            // Each output channel reads one input channel.
            b"1HWC" => filter.get(1..filter.len().saturating_sub(1)),
            _ => filter.split_first().map(|(_, taps)| taps),
        };
        let taps = elements(taps.ok_or(UnknownReason::Malformed)?);
        with_fused(op, Work::multiply_adds(taps.saturating_mul(elements(op.output()?))))
    }, "2 · N(out) · N(in1) / channels of out, and N(out) for each fused op")),
    formula(&["DeformConv"], Count::By(|op| {
        let (x, filter, out) = (op.input(0)?, op.input(1)?, op.output()?);
        let taps = elements(filter.get(1..).ok_or(UnknownReason::Malformed)?);
        let places = product(&[dim(out, 0)?, elements(out.get(2..).unwrap_or_default())]);
        let samples = product(&[places, dim(x, 1)?, elements(filter.get(2..).unwrap_or_default())]);
        let work = Work::multiply_adds(taps.saturating_mul(elements(out))).and(samples.saturating_mul(9));
        with_fused(op, work)
    }, "as _FusedConv, and 9 for each sample of in0")),
    formula(&["SoftmaxLoss"], Count::In(6)),
    formula(&["LikelihoodLoss"], Count::By(|op| Ok(Work::plain(elements(op.input(1)?).saturating_mul(2))), "2 · N(in1)")),
    formula(&["UniqueElements", "Col2Im"], Count::In(1)),
    formula(&["ConvTranspose"], Count::By(|op| {
        let taps = elements(op.input(1)?.get(1..).ok_or(UnknownReason::Malformed)?);
        with_fused(op, Work::multiply_adds(taps.saturating_mul(elements(op.input(0)?))))
    }, "2 · N(in0) · N(in1) / channels of in0, and N(out) for each fused op")),
    formula(&["TransposedConv"], Count::By(|op| {
        let taps = elements(op.input(1)?.split_last().ok_or(UnknownReason::Malformed)?.1);
        with_fused(op, Work::multiply_adds(taps.saturating_mul(elements(op.input(2)?))))
    }, "2 · N(in2) · N(in1) / channels of in2, and N(out) for each fused op")),
    formula(&["WeightedSteps"], Count::By(weighted_steps, "2 · N(weights) · steps, and the elementwise work of the gates")),
    formula(&["_FullyConnected"], Count::By(|op| {
        let inner = *op.input(1)?.last().ok_or(UnknownReason::Malformed)?;
        with_fused(op, Work::multiply_adds(inner.saturating_mul(elements(op.output()?))))
    }, "2 · k · N(out), k the last size of in1, and N(out) for each fused op")),
    formula(&["MatMulNBits"], Count::By(|op| {
        let columns = (op.attribute)("N").and_then(attr_value::int).ok_or(UnknownReason::Malformed)?;
        Ok(Work::multiply_adds(elements(op.input(0)?).saturating_mul(columns.max(0))))
    }, "2 · N(in0) · columns")),
    formula(&["Recurrent"], Count::By(recurrent, "as BlockLSTM, for each direction; 4 gates for LSTM, 3 for GRU, else 1")),
    formula(&["HeadsAttention"], Count::By(attention, "2 · heads · queries · keys · (depth of keys + depth of values)")),
    formula(&["PackedAttention"], Count::By(|op| {
        let (x, weights, out) = (op.input(0)?, op.input(1)?, op.output()?);
        let products = elements(x).saturating_mul(*weights.last().ok_or(UnknownReason::Malformed)?);
        let attention = product(&[2, elements(out), dim(x, 1)?]);
        Ok(Work::multiply_adds(products.saturating_add(attention)))
    }, "2 · N(in0) · columns of in1 + 4 · N(out) · length of in0")),
    formula(&["LayerNorm"], Count::In(7)),
    formula(&["SkipLayerNorm", "EmbedLayerNorm"], Count::Out(8)),
    formula(&["RmsNorm"], Count::In(4)),
    formula(&["SkipRmsNorm"], Count::In(5)),
    formula(&["LpNormalize"], Count::In(3)),
    formula(&["HardSigmoid", "Celu"], Count::In(4)),
    formula(&["HardSwish", "Gelu"], Count::In(5)),
    formula(&["QuickGelu", "BiasGelu", "RotaryEmbedding"], Count::In(6)),
    formula(&["FastGelu"], Count::In(8)),
    formula(&["QuantizeLinear"], Count::In(2)),
    formula(&["MaximumN", "MinimumN", "SumN"], Count::By(
        |op| Ok(Work::plain(elements(op.output()?).saturating_mul((op.facts.len() as i64 - 1).max(0)))), "N(out) · (inputs − 1)")),
    formula(&["MeanN"], Count::By(
        |op| Ok(Work::plain(elements(op.output()?).saturating_mul(op.facts.len() as i64))), "N(out) · inputs")),
    formula(&["ReduceL1", "ReduceSumSquare"], Count::In(2)),
    formula(&["ReduceLogSum"], Count::In(1)),
    formula(&["ReduceLogSumExp"], Count::In(3)),
    formula(&["ResizeScaled", "GridSample"], Count::Out(9)),
    // As many samples for each element of the result as the attribute says, each between four elements.
    formula(&["RoiAlign"], Count::By(|op| {
        let samples = (op.attribute)("sampling_ratio").and_then(attr_value::int).unwrap_or(0).max(1);
        Ok(Work::plain(product(&[9, samples, samples, elements(op.output()?)])))
    }, "9 · samples² · N(out), samples in each direction")),
];

/// Each query meets each key, and each weight a value.
fn attention(op: &Op<'_>) -> Flops {
    let number = |name: &str| (op.attribute)(name).and_then(attr_value::int).unwrap_or(0);
    let given = |at: usize, name: &str| if op.flag(name) { op.input(at) } else { Ok(&[][..]) };
    let shapes = [op.input(0)?, given(1, "has_keys")?, given(2, "has_values")?, given(3, "has_past")?];
    let of =
        Attention::of(shapes.map(Some), number("heads"), number("shared_heads")).ok_or(UnknownReason::Malformed)?;
    let sizes = [of.batch, of.heads, of.queries, of.keys, of.depth.saturating_add(of.value_depth)];
    Ok(Work::multiply_adds(product(&sizes)))
}

fn recurrent(op: &Op<'_>) -> Flops {
    let (x, states) = (op.input(0)?, op.input(2)?);
    let number = |name: &str| (op.attribute)(name).and_then(attr_value::int).ok_or(UnknownReason::Malformed);
    let steps = product(&[dim(x, 0)?, dim(x, 1)?, dim(states, 0)?]);
    let (inputs, cells) = (dim(x, 2)?, dim(states, 2)?);
    let macs = product(&[steps, inputs.saturating_add(cells), cells, number("gates")?]);
    Ok(Work::multiply_adds(macs).and(product(&[steps, cells, number("elementwise")?])))
}

/// All matrices of a recurrent layer meet each step of the input once.
fn weighted_steps(op: &Op<'_>) -> Flops {
    let x = op.input(0)?;
    let inputs = *x.last().filter(|inputs| **inputs > 0).ok_or(UnknownReason::Malformed)?;
    let steps = elements(x) / inputs;
    let mut weights = 0_i64;
    for at in 1..op.facts.len() {
        weights = weights.saturating_add(elements(op.input(at)?));
    }
    let each = (op.attribute)("elementwise").and_then(attr_value::int).unwrap_or(0);
    Ok(Work::multiply_adds(weights.saturating_mul(steps)).and(elements(op.output()?).saturating_mul(each)))
}
