//! Convolutions and their gradients.

use super::super::fact::Fact;
use super::matmul::with_fused;
use super::{Count, Dims, Flops, Formula, Op, UnknownReason, Work, dim, elements, formula, original, product};

#[rustfmt::skip]
pub const FORMULAS: &[Formula] = &[
    original(&["Conv2D"], Count::By(|op| convolution(op, 3), "2 · N(out) · f0 · f1 · f2, f the shape of in1")),
    original(&["Conv3D"], Count::By(|op| convolution(op, 4), "2 · N(out) · f0 · f1 · f2 · f3")),
    // Each output channel reads one input channel.
    original(&["DepthwiseConv2dNative", "Dilation2D"], Count::By(|op| convolution(op, 2), "2 · N(out) · f0 · f1")),
    original(&["Conv2DBackpropInput"], Count::By(|op| {
        let first = op.channels_first()?;
        let work = gradient(op, first, op.output()?, op.input(1)?)?;
        // The original's FLOPs are rounded where strides do not divide the sizes; multiply-adds are those of each element of in2.
        let exact = op.input(2).and_then(|from| all_but_last(op, op.input(1)?, from));
        Ok(Work { macs: exact.map_or(work.macs, |exact| exact.macs), ..work })
    }, "2 · N(out) · N(in1) / (channels of out · strides); macs: N(in2) · N(in1) / channels of in2")),
    original(&["Conv2DBackpropFilter"], Count::By(|op| {
        let first = op.channels_first()?;
        gradient(op, first, op.input(0)?, op.output()?)
    }, "2 · N(in0) · N(out) / (channels of in0 · strides)")),
    formula(&["Conv"], Count::By(|op| all_but_last(op, op.input(1)?, op.output()?), "2 · N(out) · N(in1) / channels of out")),
    formula(&["_FusedConv2D"], Count::By(|op| with_fused(op, convolution(op, 3)?), "as Conv2D, and N(out) for each fused op")),
    formula(&["_FusedConv3D"], Count::By(|op| with_fused(op, convolution(op, 4)?), "as Conv3D, and N(out) for each fused op")),
    formula(&["_FusedDepthwiseConv2dNative"], Count::By(
        |op| with_fused(op, convolution(op, 2)?), "as DepthwiseConv2dNative, and N(out) for each fused op")),
    formula(&["FusedPadConv2D"], Count::By(|op| taps(op.input(2)?, 3, op.output()?), "2 · N(out) · f0 · f1 · f2, f the shape of in2")),
    formula(&["FusedResizeAndPadConv2D"], Count::By(|op| {
        let image = op.input(0)?;
        let size = op.facts.get(1).and_then(Fact::known_integers).ok_or(UnknownReason::Shape)?;
        let resized = product(&[dim(image, 0)?, elements(size), dim(image, 3)?]);
        Ok(taps(op.input(3)?, 3, op.output()?)?.and(resized.saturating_mul(9)))
    }, "2 · N(out) · f0 · f1 · f2, f the shape of in3, and 9 for each element of the resized image")),
    formula(&["Conv3DBackpropInput", "Conv3DBackpropInputV2", "Conv2DBackpropInputV2"], Count::By(
        |op| all_but_last(op, op.input(1)?, op.input(2)?), "2 · N(in2) · N(in1) / channels of in2")),
    formula(&["Conv3DBackpropFilter", "Conv3DBackpropFilterV2", "Conv2DBackpropFilterV2"], Count::By(
        |op| all_but_last(op, op.output()?, op.input(2)?), "2 · N(in2) · N(out) / channels of in2")),
    formula(&["DepthwiseConv2dNativeBackpropInput", "Dilation2DBackpropInput"], Count::By(
        |op| taps(op.input(1)?, 2, op.input(2)?), "2 · N(in2) · f0 · f1, f the shape of in1")),
    formula(&["DepthwiseConv2dNativeBackpropFilter", "Dilation2DBackpropFilter"], Count::By(
        |op| taps(op.output()?, 2, op.input(2)?), "2 · N(in2) · f0 · f1, f the shape of out")),
];

/// Two FLOPs for each output and each filter element that contributes to it: those of the filter's first `dims`
/// dimensions.
pub fn convolution(op: &Op<'_>, dims: usize) -> Flops {
    op.input(0)?;
    taps(op.input(1)?, dims, op.output()?)
}

fn taps(filter: Dims<'_>, dims: usize, outputs: Dims<'_>) -> Flops {
    let taps = filter.get(..dims).ok_or(UnknownReason::Malformed)?;
    Ok(Work::multiply_adds(elements(taps).saturating_mul(elements(outputs))))
}

/// The same, with all dimensions of the filter but the last, the output channels.
fn all_but_last(op: &Op<'_>, filter: Dims<'_>, outputs: Dims<'_>) -> Flops {
    op.channels_first()?;
    taps(filter, filter.len().checked_sub(1).ok_or(UnknownReason::Malformed)?, outputs)
}

/// The same work as the forward convolution, from the shapes of its image and its filter.
// As the original: divide as floats, then truncate.
fn gradient(op: &Op<'_>, channels_first: bool, image: Dims<'_>, filter: Dims<'_>) -> Flops {
    let strides = op.integers("strides")?;
    let (channels, space) = if channels_first { (image.get(1), 2) } else { (image.last(), 1) };
    let channels = *channels.ok_or(UnknownReason::Malformed)?;
    let divisor = channels as f64 * dim(&strides, space)? as f64 * dim(&strides, space + 1)? as f64;
    if divisor == 0.0 {
        return Err(UnknownReason::Malformed);
    }
    let float_ops = (2.0 * elements(image) as f64 * elements(filter) as f64 / divisor) as i64;
    Ok(Work { float_ops, macs: float_ops / 2 })
}
