//! Convolutions and their gradients.

use super::{Dims, Flops, Formula, Op, Unknown, dim, elements};

pub const FORMULAS: &[(&str, Formula)] = &[
    ("Conv2D", |op| convolution(op, 3)),
    ("Conv3D", |op| convolution(op, 4)),
    // Each output channel reads one input channel.
    ("DepthwiseConv2dNative", |op| convolution(op, 2)),
    ("Dilation2D", |op| convolution(op, 2)),
    ("Conv2DBackpropInput", |op| {
        op.needs_nhwc()?;
        gradient(op, op.output()?, op.input(1)?)
    }),
    ("Conv2DBackpropFilter", |op| {
        op.needs_nhwc()?;
        gradient(op, op.input(0)?, op.output()?)
    }),
];

/// Two operations for each output and each element of the filter that it depends on: its first `dims` dimensions.
fn convolution(op: &Op<'_>, dims: usize) -> Flops {
    op.input(0)?;
    let (filter, outputs) = (op.input(1)?, elements(op.output()?));
    let taps = filter.get(..dims).ok_or(Unknown::Malformed)?;
    Ok(elements(taps).saturating_mul(outputs).saturating_mul(2))
}

/// The same work as the convolution forwards, from the shapes of its image and its filter.
// As the original: divided as real numbers, then cut.
fn gradient(op: &Op<'_>, image: Dims<'_>, filter: Dims<'_>) -> Flops {
    let strides = op.integers("strides")?;
    let channels = *image.last().ok_or(Unknown::Malformed)?;
    let divisor = channels as f64 * dim(&strides, 1)? as f64 * dim(&strides, 2)? as f64;
    if divisor == 0.0 {
        return Err(Unknown::Malformed);
    }
    Ok((2.0 * elements(image) as f64 * elements(filter) as f64 / divisor) as i64)
}
