//! Normalization, as the elementwise ops that Keras runs at inference.

use super::config::Layer;
use super::convolution::channels_first;
use super::elementwise::by_constant;
use super::layers::{Lower, lower_inner};
use super::lowering::{Lowering, Value, Values};
use crate::model::attr_value::AttrValue;

pub const LAYERS: &[(&[&str], Lower)] = &[
    (&["BatchNormalization", "SyncBatchNormalization", "BatchNormalizationV1", "BatchNormalizationV2"], batch),
    (&["LayerNormalization"], layer_norm),
    (&["GroupNormalization"], group),
    (&["UnitNormalization"], |layer, lowering, inputs| {
        let axes = axes(layer, &inputs[0])?;
        Some(vec![by_length(lowering, &inputs[0], &axes)])
    }),
    (&["RMSNormalization"], rms),
    (&["Normalization"], normalization),
    (&["SpectralNormalization"], spectral),
];

/// The axes of a layer, from the start.
fn axes(layer: &Layer<'_>, x: &Value) -> Option<Vec<i64>> {
    let rank = x.rank()? as i64;
    let axes = layer.config.ints("axis");
    let axes = if axes.is_empty() { vec![-1] } else { axes };
    let axes: Vec<i64> = axes.into_iter().map(|axis| if axis < 0 { axis + rank } else { axis }).collect();
    axes.iter().all(|axis| (0..rank).contains(axis)).then_some(axes)
}

/// A parameter for the sizes of some axes, in a shape that fits the input.
fn scale(lowering: &mut Lowering, name: &str, x: &Value, axes: &[i64], trainable: bool) -> Value {
    let sizes: Vec<i64> = axes.iter().map(|axis| x.dim(*axis)).collect();
    let parameter = lowering.parameter(name, &sizes, trainable);
    let rank = x.rank().unwrap_or(0) as i64;
    let is_last = (0_i64..).zip(axes).all(|(at, axis)| *axis == rank - axes.len() as i64 + at);
    if is_last {
        return parameter;
    }
    let all: Vec<i64> = (0..rank).map(|axis| if axes.contains(&axis) { x.dim(axis) } else { 1 }).collect();
    lowering.reshape(&parameter, &all, Some(all.clone()))
}

fn batch(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let (config, x) = (layer.config, &inputs[0]);
    let axes = axes(layer, x)?;
    let gamma = config.flag("scale", true).then(|| scale(lowering, "gamma", x, &axes, true));
    let beta = config.flag("center", true).then(|| scale(lowering, "beta", x, &axes, true));
    let mean = scale(lowering, "moving_mean", x, &axes, false);
    let variance = scale(lowering, "moving_variance", x, &axes, false);
    Some(vec![normalized(lowering, x, &mean, &variance, gamma.as_ref(), beta.as_ref())])
}

/// `x · s + (beta - mean · s)`, where `s` is `gamma / sqrt(variance + epsilon)`.
fn normalized(
    lowering: &mut Lowering,
    x: &Value,
    mean: &Value,
    variance: &Value,
    gamma: Option<&Value>,
    beta: Option<&Value>,
) -> Value {
    let sum = by_constant("AddV2", lowering, variance);
    let mut factor = lowering.map("Rsqrt", &sum);
    if let Some(gamma) = gamma {
        factor = lowering.zip("Mul", &factor, gamma);
    }
    let scaled = lowering.zip("Mul", x, &factor);
    let shift = lowering.zip("Mul", mean, &factor);
    let shift = match beta {
        Some(beta) => lowering.zip("Sub", beta, &shift),
        None => lowering.map("Neg", &shift),
    };
    let all = lowering.zip("AddV2", &scaled, &shift);
    Value { dims: x.dims.clone(), ..all }
}

/// Mean and variance over axes.
pub fn moments(lowering: &mut Lowering, x: &Value, axes: &[i64], keep: bool) -> (Value, Value) {
    let mean = lowering.reduce("Mean", x, axes, true);
    let squares = lowering.zip("SquaredDifference", x, &mean);
    let variance = lowering.reduce("Mean", &squares, axes, keep);
    if keep {
        return (mean, variance);
    }
    let tensor = lowering.op("Squeeze", &[mean.tensor], &[("squeeze_dims", AttrValue::Ints(axes))]);
    (Value::new(tensor, variance.dims.clone()), variance)
}

/// Mean and variance over axes, then as above.
fn by_moments(lowering: &mut Lowering, x: &Value, axes: &[i64], gamma: Option<&Value>, beta: Option<&Value>) -> Value {
    let (mean, variance) = moments(lowering, x, axes, true);
    if !lowering.is_new {
        return normalized(lowering, x, &mean, &variance, gamma, beta);
    }
    let sum = by_constant("AddV2", lowering, &variance);
    let mut factor = lowering.map("Rsqrt", &sum);
    if let Some(gamma) = gamma {
        factor = lowering.zip("Mul", &factor, gamma);
    }
    let negative = lowering.map("Neg", &mean);
    let mut shift = lowering.zip("Mul", &negative, &factor);
    if let Some(beta) = beta {
        shift = lowering.zip("AddV2", &shift, beta);
    }
    let scaled = lowering.zip("Mul", x, &factor);
    let all = lowering.zip("AddV2", &scaled, &shift);
    Value { dims: x.dims.clone(), ..all }
}

fn layer_norm(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let (config, x) = (layer.config, &inputs[0]);
    let axes = axes(layer, x)?;
    let gamma = config.flag("scale", true).then(|| scale(lowering, "gamma", x, &axes, true));
    if config.flag("rms_scaling", false) {
        // Keras divides by the deviation, without a shift.
        let (_, variance) = moments(lowering, x, &axes, true);
        let normalized = by_deviation(lowering, x, &variance);
        return Some(vec![match gamma {
            Some(gamma) => lowering.zip("Mul", &normalized, &gamma),
            None => normalized,
        }]);
    }
    let beta = config.flag("center", true).then(|| scale(lowering, "beta", x, &axes, true));
    Some(vec![by_moments(lowering, x, &axes, gamma.as_ref(), beta.as_ref())])
}

fn by_deviation(lowering: &mut Lowering, x: &Value, variance: &Value) -> Value {
    let sum = by_constant("AddV2", lowering, variance);
    let factor = lowering.map("Rsqrt", &sum);
    lowering.zip("Mul", x, &factor)
}

/// Each group of channels has moments of its own, as many as there are groups: the sums run over all elements once.
fn group(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let (config, x) = (layer.config, &inputs[0]);
    let axes = axes(layer, x)?;
    let gamma = config.flag("scale", true).then(|| scale(lowering, "gamma", x, &axes, true));
    let beta = config.flag("center", true).then(|| scale(lowering, "beta", x, &axes, true));
    let others: Vec<i64> = (1..x.rank()? as i64).filter(|axis| !axes.contains(axis)).collect();
    Some(vec![by_moments(lowering, x, &others, gamma.as_ref(), beta.as_ref())])
}

pub fn by_length(lowering: &mut Lowering, x: &Value, axes: &[i64]) -> Value {
    let squares = lowering.map("Square", x);
    let sum = lowering.reduce("Sum", &squares, axes, true);
    let sum = by_constant("Maximum", lowering, &sum);
    let factor = lowering.map("Rsqrt", &sum);
    lowering.zip("Mul", x, &factor)
}

fn rms(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let axes = axes(layer, &inputs[0])?;
    let scale = scale(lowering, "scale", &inputs[0], &axes, true);
    let squares = lowering.map("Square", &inputs[0]);
    let mean = lowering.reduce("Mean", &squares, &axes, true);
    let normalized = by_deviation(lowering, &inputs[0], &mean);
    Some(vec![lowering.zip("Mul", &normalized, &scale)])
}

fn normalization(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let x = &inputs[0];
    let config = layer.config;
    let is_whole = config.get("axis").is_null() || config.get("axis").as_array().is_some_and(Vec::is_empty);
    let axes = if is_whole { Vec::new() } else { axes(layer, x)? };
    if config.get("mean").is_null() {
        let mean = scale(lowering, "mean", x, &axes, false);
        let variance = scale(lowering, "variance", x, &axes, false);
        lowering.parameter("count", &[], false);
        let centred = lowering.zip("Sub", x, &mean);
        let deviation = lowering.map("Sqrt", &variance);
        let deviation = by_constant("Maximum", lowering, &deviation);
        let all = lowering.zip("RealDiv", &centred, &deviation);
        return Some(vec![Value { dims: x.dims.clone(), ..all }]);
    }
    let centred = by_constant("Sub", lowering, x);
    Some(vec![by_constant("RealDiv", lowering, &centred)])
}

/// Power iterations run only in training.
fn spectral(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let inner = layer.config.layer("layer")?;
    let outputs = lower_inner(&inner, "layer", lowering, inputs);
    // The last size of the kernel.
    let units = ["units", "filters", "output_dim"].into_iter().find_map(|key| inner.config.int(key));
    let size = match inner.class {
        class if class.ends_with("Transpose") => inputs[0].dim(if channels_first(inner.config) { 1 } else { -1 }),
        class if class.starts_with("DepthwiseConv") => inner.config.int("depth_multiplier").unwrap_or(1),
        _ => units.unwrap_or(-1),
    };
    lowering.parameter("vector_u", &[1, size], false);
    Some(outputs)
}
