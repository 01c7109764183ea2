//! Convolutions, pooling, normalisation, and their gradients.

use super::super::fact::{ANY, Fact, Shape};
use super::elementwise::bound;
use super::image::resized;
use super::reshaping::padded;
use super::{Family, Op, like_first, one, plus, shape_from, times, typed};
use crate::model::dtype::DType;

#[rustfmt::skip]
pub const RULES: Family = &[
    (&["Conv2D", "_FusedConv2D", "Conv3D", "_FusedConv3D", "Conv", "_FusedConv", "DeformConv"], |op| one(op, convolved(op, op.shape(0), Channels::OfFilter))),
    (&["DepthwiseConv2dNative", "_FusedDepthwiseConv2dNative"], |op| one(op, convolved(op, op.shape(0), Channels::Depthwise))),
    (&["QuantizedConv2DPerChannel"], |op| {
        let range = Fact::new(DType::FLOAT, Shape::of(&[op.shape(1).dim(-1)]));
        vec![Fact::new(op.dtype("out_type"), convolved(op, op.shape(0), Channels::OfFilter)), range.clone(), range]
    }),
    (&["QuantizedConv2D", "QuantizedConv2DWithBias", "QuantizedConv2DAndRelu",
       "QuantizedConv2DWithBiasAndRelu", "QuantizedConv2DWithBiasAndReluAndRequantize",
       "QuantizedConv2DWithBiasSumAndRelu", "QuantizedConv2DWithBiasSumAndReluAndRequantize",
       "QuantizedConv2DWithBiasSignedSumAndReluAndRequantize",
       "QuantizedConv2DWithBiasAndRequantize", "QuantizedConv2DAndReluAndRequantize", "QuantizedConv2DAndRequantize"], |op| {
        vec![Fact::new(op.dtype("out_type"), convolved(op, op.shape(0), Channels::OfFilter)), bound(), bound()]
    }),
    (&["QuantizedDepthwiseConv2D", "QuantizedDepthwiseConv2DWithBias", "QuantizedDepthwiseConv2DWithBiasAndRelu",
       "QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize"], |op| {
        vec![Fact::new(op.dtype("out_type"), convolved(op, op.shape(0), Channels::Depthwise)), bound(), bound()]
    }),
    (&["Dilation2D"], |op| one(op, convolved(op, op.shape(0), Channels::Same))),
    (&["Dilation2DBackpropInput", "Conv3DBackpropInput", "LRNGrad", "MaxPoolGrad", "MaxPoolGradV2", "MaxPoolGradWithArgmax",
       "MaxPool3DGrad", "Conv2DBackpropInputV2"], like_first),
    (&["MaxPoolGradGrad", "MaxPoolGradGradV2", "MaxPool3DGradGrad"], |op| one(op, op.shape(1).clone())),
    (&["Dilation2DBackpropFilter", "Conv3DBackpropFilter", "Conv2DBackpropFilterV2"], |op| one(op, op.shape(1).clone())),
    (&["Conv2DBackpropInput", "Conv3DBackpropInputV2", "DepthwiseConv2dNativeBackpropInput"], backprop_input),
    (&["Conv2DBackpropFilter", "Conv3DBackpropFilterV2", "DepthwiseConv2dNativeBackpropFilter"], |op| {
        one(op, shape_from(op.input(1)))
    }),
    (&["AvgPool", "MaxPool", "MaxPoolV2", "AvgPool3D", "MaxPool3D"], |op| one(op, convolved(op, op.shape(0), Channels::Pool))),
    (&["QuantizedAvgPool", "QuantizedMaxPool"], |op| {
        vec![Fact::new(op.t(), convolved(op, op.shape(0), Channels::Pool)), bound(), bound()]
    }),
    (&["MaxPoolWithArgmax"], |op| {
        let shape = convolved(op, op.shape(0), Channels::Pool);
        vec![Fact::new(op.t(), shape.clone()), Fact::new(op.dtype_or("Targmax", DType::INT64), shape)]
    }),
    (&["AvgPoolGrad", "AvgPool3DGrad"], |op| vec![Fact::new(op.dtype_or("T", op.input(1).dtype), shape_from(op.input(0)))]),
    (&["FractionalMaxPool", "FractionalAvgPool"], |op| {
        let regions = Fact::new(DType::INT64, Shape::of_rank(1));
        vec![Fact::new(op.t(), Shape::of_rank(4)), regions.clone(), regions]
    }),
    (&["FusedBatchNorm"], |op| batch_norm(op, 5)),
    (&["FusedBatchNormV2"], |op| batch_norm(op, 5)),
    (&["FusedBatchNormV3", "_FusedBatchNormEx"], |op| batch_norm(op, 6)),
    (&["FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3", "_FusedBatchNormGradEx"], |op| {
        let channels = Shape::of(&[op.shape(1).dim(channel_axis(op))]);
        let u = op.dtype_or("U", op.t());
        let shape = op.shape(0).and(op.shape(1));
        let mut facts = vec![Fact::new(op.t(), shape), Fact::new(u, channels.clone()), Fact::new(u, channels)];
        facts.extend([Fact::new(u, Shape::of(&[0])), Fact::new(u, Shape::of(&[0]))]);
        facts
    }),
    (&["BatchNormWithGlobalNormalization"], like_first),
    (&["BatchNormWithGlobalNormalizationGrad"], |op| {
        let mut facts = vec![Fact::new(op.t(), op.shape(0).clone())];
        facts.extend(vec![Fact::new(op.t(), Shape::of(&[op.shape(0).dim(-1)])); 4]);
        facts
    }),
    (&["QuantizedBatchNormWithGlobalNormalization", "QuantizedInstanceNorm"], |op| {
        vec![Fact::new(op.dtype_or("out_type", op.t()), op.shape(0).clone()), bound(), bound()]
    }),
    (&["FusedPadConv2D"], |op| {
        let padded = padded(op.shape(0), op.input(1), plus);
        one(op, convolved_with(op, &padded, op.shape(2), Channels::OfFilter))
    }),
    (&["FusedResizeAndPadConv2D"], |op| {
        let padded = padded(&resized(op, 1), op.input(2), plus);
        one(op, convolved_with(op, &padded, op.shape(3), Channels::OfFilter))
    }),
    (&["ExtractImagePatches", "ExtractVolumePatches"], patches),
];

/// Where the output channels come from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Channels {
    /// The last dimension of the filter.
    OfFilter,
    /// The input channels times the last dimension of the filter.
    Depthwise,
    /// The input channels; the filter has no dimension for them.
    Same,
    /// The input channels; there is a window instead of a filter.
    Pool,
}

/// The axis of the channels.
fn channel_axis(op: &Op<'_>) -> i64 {
    if op.text("data_format").starts_with(b"NC") { 1 } else { -1 }
}

/// The output size of one spatial dimension.
pub fn output_size(size: i64, window: i64, stride: i64, dilation: i64, padding: Padding) -> i64 {
    if stride <= 0 || dilation <= 0 {
        return ANY;
    }
    let reach = if window < 0 { ANY } else { (window - 1).saturating_mul(dilation).saturating_add(1) };
    let (size, reach) = match padding {
        Padding::Same => return if size < 0 { ANY } else { (size / stride) + i64::from(size % stride != 0) },
        Padding::Valid => (size, reach),
        Padding::Explicit(before, after) => (plus(plus(size, before), after), reach),
        Padding::Unknown => return ANY,
    };
    if size < 0 || reach < 0 { ANY } else { ((size - reach) / stride + 1).max(0) }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    Same,
    Valid,
    Explicit(i64, i64),
    Unknown,
}

impl Padding {
    /// The padding of one dimension.
    fn of(op: &Op<'_>, explicit: &[i64], at: usize) -> Padding {
        match op.text("padding") {
            b"SAME" => Padding::Same,
            b"VALID" => Padding::Valid,
            b"EXPLICIT" => match explicit.get(2 * at..2 * at + 2) {
                Some([before, after]) => Padding::Explicit(*before, *after),
                _ => Padding::Unknown,
            },
            _ => Padding::Unknown,
        }
    }
}

/// The output shape of a convolution or pooling op, whose filter is its second input.
fn convolved(op: &Op<'_>, image: &Shape, channels: Channels) -> Shape {
    let filter = op.shape(1);
    let format = op.text("filter_format");
    if format.is_empty() {
        return convolved_with(op, image, filter, channels);
    }
    let filter =
        filter.dims().and_then(|dims| filter_dims(dims, format)).map_or(Shape::UNKNOWN, |dims| Shape::of(&dims));
    convolved_with(op, image, &filter, channels)
}

/// A filter of another layout as TensorFlow has it: space, input channels, output channels.
fn filter_dims(dims: &[i64], format: &[u8]) -> Option<Vec<i64>> {
    match (format, dims) {
        (b"OI", [out, inputs, space @ ..]) | (b"OHWI", [out, space @ .., inputs]) => {
            Some([space, &[*inputs, *out]].concat())
        }
        (b"1HWC", [_, space @ .., out]) => Some([space, &[1, *out]].concat()),
        _ => None,
    }
}

/// The output size if a window that starts inside but reaches beyond the end counts.
fn rounded_up(size: i64, window: i64, stride: i64, dilation: i64, padding: Padding) -> i64 {
    let (before, after) = match padding {
        Padding::Explicit(before, after) => (before, after),
        Padding::Valid => (0, 0),
        _ => return output_size(size, window, stride, dilation, padding),
    };
    if size < 0 || window <= 0 || stride <= 0 || dilation <= 0 || before < 0 || after < 0 {
        return ANY;
    }
    let reach = (window - 1).saturating_mul(dilation).saturating_add(1);
    let span = size.saturating_add(before).saturating_add(after).saturating_sub(reach);
    if span < 0 {
        return 0;
    }
    let count = span / stride + i64::from(span % stride != 0) + 1;
    // The last window must start inside.
    if (count - 1).saturating_mul(stride) >= size.saturating_add(before) { count - 1 } else { count }
}

/// The output shape of a convolution with any number of spatial dimensions.
fn convolved_with(op: &Op<'_>, image: &Shape, filter: &Shape, channels: Channels) -> Shape {
    let strides = numbers(op, "strides", 3);
    let dilations = numbers(op, if channels == Channels::Same { "rates" } else { "dilations" }, 0);
    let windows = if channels == Channels::Pool { numbers(op, "ksize", 1) } else { Vec::new() };
    let rank = if strides.len() >= 4 { strides.len() } else { image.rank().unwrap_or(4) };
    let format = op.text("data_format");
    let Some(image) = image.dims().filter(|image| image.len() == rank && rank >= 3) else {
        return if format == b"NCHW_VECT_C" { Shape::of_rank(5) } else { Shape::of_rank(rank) };
    };
    if format == b"NCHW_VECT_C" {
        return Shape::of_rank(image.len());
    }
    let first = format.starts_with(b"NC");
    let axis = if first { 1 } else { rank - 1 };
    let explicit = op.ints("explicit_paddings");
    let mut out = vec![ANY; rank];
    out[0] = image[0];
    for (space, at) in (0..rank).filter(|at| *at != 0 && *at != axis).enumerate() {
        let window =
            if channels == Channels::Pool { windows.get(at).copied().unwrap_or(ANY) } else { filter.dim(space as i64) };
        let stride = strides.get(at).copied().unwrap_or(1);
        let dilation = dilations.get(at).copied().unwrap_or(1);
        let size = if channels == Channels::Pool && op.flag("ceil_mode") { rounded_up } else { output_size };
        out[at] = size(image[at], window, stride, dilation, Padding::of(op, &explicit, at));
    }
    out[axis] = match channels {
        Channels::OfFilter => filter.dim(-1),
        Channels::Depthwise => times(filter.dim(2).max(image[axis]), filter.dim(3)),
        Channels::Pool => {
            let (window, stride) = (windows.get(axis).copied().unwrap_or(1), strides.get(axis).copied().unwrap_or(1));
            if window == 1 && stride == 1 {
                image[axis]
            } else {
                output_size(image[axis], window, stride, 1, Padding::of(op, &explicit, axis))
            }
        }
        Channels::Same => image[axis],
    };
    Shape::of(&out)
}

/// A list of integers: an attribute, or an input of `MaxPoolV2`.
fn numbers(op: &Op<'_>, name: &str, input: usize) -> Vec<i64> {
    match op.attribute(name) {
        None if input > 0 && op.body.op(op.node) == "MaxPoolV2" => {
            // The window is its second input, the strides its third.
            let input = if input == 1 { 1 } else { 2 };
            op.input(input).known_integers().unwrap_or_default().to_vec()
        }
        _ => op.ints(name),
    }
}

fn backprop_input(op: &Op<'_>) -> Vec<Fact> {
    let shape = shape_from(op.input(0));
    let dtype = op.dtype_or("T", op.input(1).dtype);
    // The sizes may cover the spatial dimensions only.
    let Some([height, width]) = shape.dims().filter(|_| op.body.op(op.node).starts_with("Conv2D")) else {
        let out = op.shape(2);
        let batch =
            shape.dims().filter(|dims| dims.first() == Some(&ANY)).map(|dims| [&[out.dim(0)], &dims[1..]].concat());
        return typed(dtype, batch.map_or(shape.clone(), |dims| Shape::of(&dims)));
    };
    let (batch, channels) = (op.shape(2).dim(0), op.shape(1).dim(2));
    let dims =
        if channel_axis(op) == 1 { [batch, channels, *height, *width] } else { [batch, *height, *width, channels] };
    typed(dtype, Shape::of(&dims))
}

fn batch_norm(op: &Op<'_>, outputs: usize) -> Vec<Fact> {
    let channels = Shape::of(&[op.shape(0).dim(channel_axis(op))]).and(op.shape(1));
    let u = op.dtype_or("U", op.t());
    let mut image = op.shape(0).clone();
    if let Some(dims) = image.dims() {
        let mut dims = dims.to_vec();
        let axis = if channel_axis(op) == 1 { 1 } else { dims.len().saturating_sub(1) };
        if dims.get(axis) == Some(&ANY) {
            dims[axis] = channels.dim(0);
            image = Shape::of(&dims);
        }
    }
    let mut facts = vec![Fact::new(op.t(), image)];
    facts.extend(vec![Fact::new(u, channels); 4]);
    if outputs == 6 {
        facts.push(Fact::new(u, Shape::UNKNOWN));
    }
    facts
}

fn patches(op: &Op<'_>) -> Vec<Fact> {
    let (sizes, strides, rates) = (op.ints("ksizes"), op.ints("strides"), op.ints("rates"));
    let Some(image) = op.shape(0).dims().filter(|image| image.len() >= 4) else { return one(op, Shape::UNKNOWN) };
    let last = image.len() - 1;
    let mut out = image.to_vec();
    for at in 1..last {
        let number = |list: &[i64]| list.get(at).copied();
        let (Some(size), Some(stride)) = (number(&sizes), number(&strides)) else {
            return one(op, Shape::of_rank(last + 1));
        };
        out[at] = output_size(image[at], size, stride, number(&rates).unwrap_or(1), Padding::of(op, &[], at));
        out[last] = times(out[last], size.max(ANY));
    }
    one(op, Shape::of(&out))
}
