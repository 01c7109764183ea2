//! Activations, merges of several inputs, layers that do nothing at inference, and ops on tensors.

use super::config::{Layer, integer};
use super::layers::Lower;
use super::lowering::{Lowering, Value, Values};
use crate::model::attr_value::AttrValue;
use crate::model::body::Tensor;
use crate::model::dtype::DType;

pub const LAYERS: &[(&[&str], Lower)] = &[
    (&["Activation"], |layer, lowering, inputs| {
        Some(vec![activate(layer.config.activation("activation"), lowering, inputs[0].clone())])
    }),
    (&["ReLU"], |layer, lowering, inputs| Some(relu(layer, lowering, inputs))),
    (&["LeakyReLU"], |_, lowering, inputs| Some(vec![lowering.map("LeakyRelu", &inputs[0])])),
    (&["ELU"], |_, lowering, inputs| Some(vec![lowering.map("Elu", &inputs[0])])),
    (&["Softmax"], |_, lowering, inputs| Some(vec![lowering.map("Softmax", &inputs[0])])),
    (&["ThresholdedReLU"], |_, lowering, inputs| {
        let above = lowering.map("Relu", &inputs[0]);
        Some(vec![lowering.zip("Mul", &inputs[0], &above)])
    }),
    (&["PReLU"], prelu),
    (&["LayerScale"], |layer, lowering, inputs| {
        let gamma = lowering.parameter("gamma", &[layer.config.int("projection_dim")?], true);
        Some(vec![lowering.zip("Mul", &inputs[0], &gamma)])
    }),
    (&["Add"], |_, lowering, inputs| merge("AddV2", lowering, inputs)),
    (&["Subtract"], |_, lowering, inputs| merge("Sub", lowering, inputs)),
    (&["Multiply"], |_, lowering, inputs| merge("Mul", lowering, inputs)),
    (&["Divide", "TrueDivide"], |_, lowering, inputs| merge("RealDiv", lowering, inputs)),
    (&["Maximum"], |_, lowering, inputs| merge("Maximum", lowering, inputs)),
    (&["Minimum"], |_, lowering, inputs| merge("Minimum", lowering, inputs)),
    (&["Average"], |_, lowering, inputs| {
        let sum = merge("AddV2", lowering, inputs)?.remove(0);
        Some(vec![by_constant("Mul", lowering, &sum)])
    }),
    (
        &[
            "Dropout",
            "SpatialDropout1D",
            "SpatialDropout2D",
            "SpatialDropout3D",
            "GaussianNoise",
            "GaussianDropout",
            "AlphaDropout",
            "ActivityRegularization",
            "Identity",
            "RandomFlip",
            "RandomRotation",
            "RandomZoom",
            "RandomContrast",
            "RandomBrightness",
            "RandomTranslation",
            "RandomShear",
            "RandomHue",
            "RandomSaturation",
            "RandomSharpness",
            "RandomGrayscale",
            "RandomColorJitter",
            "RandomColorDegeneration",
            "RandomPosterization",
            "RandomInvert",
            "RandomErasing",
            "RandomElasticTransform",
            "RandomGaussianBlur",
            "RandomPerspective",
            "RandAugment",
            "Solarization",
            "Equalization",
            "AugMix",
            "MixUp",
            "CutMix",
            "RandomHeight",
            "RandomWidth",
        ],
        |_, lowering, inputs| Some(vec![lowering.map("Identity", &inputs[0])]),
    ),
    (&["AutoContrast"], |layer, lowering, inputs| Some(auto_contrast(layer, lowering, inputs))),
    (&["Rescaling"], |_, lowering, inputs| {
        let scaled = by_constant("Mul", lowering, &inputs[0]);
        Some(vec![by_constant("AddV2", lowering, &scaled)])
    }),
    (&["Masking"], |_, lowering, inputs| {
        let differs = by_constant("NotEqual", lowering, &inputs[0]);
        let any = lowering.reduce("Any", &differs, &[-1], true);
        if lowering.is_new {
            let tensor = lowering.op("SelectV2", &[any.tensor, inputs[0].tensor, differs.tensor], &[]);
            return Some(vec![Value::new(tensor, inputs[0].dims.clone())]);
        }
        Some(vec![lowering.zip("Mul", &inputs[0], &any)])
    }),
];

/// Applies an activation by its name.
pub fn activate(name: &str, lowering: &mut Lowering, x: Value) -> Value {
    let op = match name {
        "linear" => return x,
        "relu" | "ReLU" => "Relu",
        "relu6" => "Relu6",
        "sigmoid" => "Sigmoid",
        "tanh" => "Tanh",
        "softmax" | "Softmax" => "Softmax",
        "log_softmax" => "LogSoftmax",
        "elu" | "ELU" => "Elu",
        "selu" => "Selu",
        "softplus" => "Softplus",
        "softsign" => "Softsign",
        "exponential" => "Exp",
        "leaky_relu" | "LeakyReLU" => "LeakyRelu",
        "swish" | "silu" => {
            // The factor is 1.
            let scaled = by_constant("Mul", lowering, &x);
            let gate = lowering.map("Sigmoid", &scaled);
            return lowering.zip("Mul", &x, &gate);
        }
        "gelu" => {
            let half = by_constant("Mul", lowering, &x);
            let scaled = by_constant("RealDiv", lowering, &x);
            let erf = lowering.map("Erf", &scaled);
            let sum = by_constant("AddV2", lowering, &erf);
            return lowering.zip("Mul", &half, &sum);
        }
        _ => return composed(name, lowering, &x),
    };
    lowering.map(op, &x)
}

/// An activation of several ops.
fn composed(name: &str, lowering: &mut Lowering, x: &Value) -> Value {
    match name {
        "hard_sigmoid" | "hard_silu" | "hard_swish" => {
            let sum = by_constant("AddV2", lowering, x);
            let cut = lowering.map("Relu6", &sum);
            let gate = by_constant("Mul", lowering, &cut);
            if name == "hard_sigmoid" { gate } else { lowering.zip("Mul", x, &gate) }
        }
        "mish" => {
            let plus = lowering.map("Softplus", x);
            let gate = lowering.map("Tanh", &plus);
            lowering.zip("Mul", x, &gate)
        }
        "celu" => {
            let above = by_constant("Maximum", lowering, x);
            let below = by_constant("Minimum", lowering, x);
            let scaled = by_constant("RealDiv", lowering, &below);
            let bent = lowering.map("Expm1", &scaled);
            let bent = by_constant("Mul", lowering, &bent);
            lowering.zip("AddV2", &above, &bent)
        }
        "glu" => glu(lowering, x),
        "hard_tanh" => {
            let below = by_constant("Minimum", lowering, x);
            by_constant("Maximum", lowering, &below)
        }
        "log_sigmoid" => {
            let negative = lowering.map("Neg", x);
            let plus = lowering.map("Softplus", &negative);
            lowering.map("Neg", &plus)
        }
        "softmin" => {
            let negative = lowering.map("Neg", x);
            lowering.map("Softmax", &negative)
        }
        "squareplus" => {
            let square = lowering.map("Square", x);
            let sum = by_constant("AddV2", lowering, &square);
            let root = lowering.map("Sqrt", &sum);
            let sum = lowering.zip("AddV2", x, &root);
            by_constant("RealDiv", lowering, &sum)
        }
        "sparse_plus" | "sparse_sigmoid" => sparse(name, lowering, x),
        "sparsemax" => sparsemax(lowering, x),
        "tanh_shrink" => {
            let bent = lowering.map("Tanh", x);
            lowering.zip("Sub", x, &bent)
        }
        "threshold" => {
            let above = by_constant("Greater", lowering, x);
            chosen(lowering, &above, x)
        }
        "hard_shrink" => {
            let size = lowering.map("Abs", x);
            let above = by_constant("Greater", lowering, &size);
            chosen(lowering, &above, x)
        }
        "soft_shrink" => {
            let (above, below) = (by_constant("Greater", lowering, x), by_constant("Less", lowering, x));
            let (less, more) = (by_constant("Sub", lowering, x), by_constant("AddV2", lowering, x));
            let inner = chosen(lowering, &below, &more);
            let tensor = lowering.op("SelectV2", &[above.tensor, less.tensor, inner.tensor], &[]);
            Value::new(tensor, x.dims.clone())
        }
        // An activation of the user's own.
        _ => {
            let dims = x.dims.clone();
            lowering.unknown(std::slice::from_ref(x), dims).remove(0)
        }
    }
}

/// Each channel from its least to its greatest value.
fn auto_contrast(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Values {
    let x = &inputs[0];
    let is_plain = layer.config.ints("value_range") == [0, 255];
    let ranged = |lowering: &mut Lowering, x: Value| {
        let steps: &[&str] = if is_plain { &[] } else { &["Sub", "RealDiv", "Mul", "AddV2"] };
        steps.iter().fold(x, |x, op| by_constant(op, lowering, &x))
    };
    let x = ranged(lowering, x.clone());
    let (low, high) = (lowering.reduce("Min", &x, &[1, 2], true), lowering.reduce("Max", &x, &[1, 2], true));
    let range = lowering.zip("Sub", &high, &low);
    let scale = by_constant("RealDiv", lowering, &range);
    let negative = lowering.map("Neg", &low);
    let offset = lowering.zip("Mul", &negative, &scale);
    let scaled = lowering.zip("Mul", &x, &scale);
    let moved = lowering.zip("AddV2", &scaled, &offset);
    let cut = ["Minimum", "Maximum"].iter().fold(moved, |x, op| by_constant(op, lowering, &x));
    let result = ranged(lowering, Value { dims: x.dims.clone(), ..cut });
    let odd = lowering.map("IsNan", &result);
    vec![chosen(lowering, &odd, &result)]
}

/// Three pieces: none, a power or a line, all.
fn sparse(name: &str, lowering: &mut Lowering, x: &Value) -> Value {
    let below = by_constant("LessEqual", lowering, x);
    let inside = by_constant(if name == "sparse_plus" { "Less" } else { "GreaterEqual" }, lowering, x);
    let mut bent = by_constant("AddV2", lowering, x);
    if name == "sparse_plus" {
        bent = by_constant("Pow", lowering, &bent);
    }
    let bent = by_constant("Mul", lowering, &bent);
    let bent = chosen(lowering, &inside, &bent);
    chosen(lowering, &below, &bent)
}

/// Sorts, sums up to each place, and cuts what lies below a threshold that follows from both.
fn sparsemax(lowering: &mut Lowering, x: &Value) -> Value {
    let count = lowering.scalar(x.dim(-1));
    let sorted = Value::new(lowering.op("TopKV2", &[x.tensor, count], &[]), x.dims.clone());
    let axis = lowering.scalar(-1);
    let sums = Value::new(lowering.op("Cumsum", &[sorted.tensor, axis], &[]), x.dims.clone());
    let less = by_constant("Sub", lowering, &sums);
    let each = by_constant("RealDiv", lowering, &less);
    let above = lowering.zip("Sub", &sorted, &each);
    let support = by_constant("Greater", lowering, &above);
    let kept = chosen(lowering, &support, &sums);
    let number = Value {
        tensor: lowering.op("Cast", &[support.tensor], &[("DstT", AttrValue::Type(DType::FLOAT))]),
        ..x.clone()
    };
    let number = lowering.reduce("Sum", &number, &[-1], true);
    let sum = lowering.reduce("Sum", &kept, &[-1], true);
    let sum = by_constant("Sub", lowering, &sum);
    let threshold = lowering.zip("RealDiv", &sum, &number);
    let rest = lowering.zip("Sub", x, &threshold);
    by_constant("Maximum", lowering, &rest)
}

/// A tensor where a condition holds, else a number.
fn chosen(lowering: &mut Lowering, condition: &Value, x: &Value) -> Value {
    let number = lowering.scalar(0);
    Value::new(lowering.op("SelectV2", &[condition.tensor, x.tensor, number], &[]), x.dims.clone())
}

/// The first half, gated by the second.
fn glu(lowering: &mut Lowering, x: &Value) -> Value {
    let axis = lowering.scalar(-1);
    let halves = lowering.op("Split", &[axis, x.tensor], &[("num_split", AttrValue::Int(2))]);
    let mut dims = x.dims.clone();
    if let Some(last) = dims.as_mut().and_then(|dims| dims.last_mut()) {
        *last = if *last < 0 { -1 } else { *last / 2 };
    }
    let value = Value::new(halves, dims.clone());
    let gate = lowering.map("Sigmoid", &Value::new(Tensor { output: 1, ..halves }, dims));
    lowering.zip("Mul", &value, &gate)
}

/// An op with a constant number.
pub fn by_constant(op: &str, lowering: &mut Lowering, x: &Value) -> Value {
    let constant = lowering.scalar(1);
    Value::new(lowering.op(op, &[x.tensor, constant], &[]), x.dims.clone())
}

/// One op after the other over all inputs.
pub fn merge(op: &str, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let (first, others) = inputs.split_first()?;
    // With a number.
    if others.is_empty() {
        return Some(vec![by_constant(op, lowering, first)]);
    }
    let mut all = first.clone();
    for other in others {
        all = lowering.zip(op, &all, other);
    }
    Some(vec![all])
}

fn prelu(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let x = &inputs[0];
    let shared = layer.config.ints("shared_axes");
    let dims = x.dims.as_ref()?;
    let alpha = (1_i64..).zip(dims.iter().skip(1)).map(|(axis, dim)| if shared.contains(&axis) { 1 } else { *dim });
    let alpha = alpha.collect::<Vec<_>>();
    let alpha = lowering.parameter("alpha", &alpha, true);
    let above = lowering.map("Relu", x);
    let negative = lowering.map("Neg", x);
    let below = lowering.map("Relu", &negative);
    let factor = lowering.map("Neg", &alpha);
    let scaled = lowering.zip("Mul", &below, &factor);
    Some(vec![lowering.zip("AddV2", &above, &scaled)])
}

/// Joins tensors along an axis.
pub fn concatenate(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Values {
    let axis = integer(layer.config.get("axis")).unwrap_or(-1);
    vec![joined(lowering, inputs, axis)]
}

pub fn joined(lowering: &mut Lowering, inputs: &[Value], axis: i64) -> Value {
    let mut tensors: Vec<_> = inputs.iter().map(|value| value.tensor).collect();
    tensors.push(lowering.scalar(axis));
    let tensor = lowering.op("ConcatV2", &tensors, &[("N", AttrValue::Int(inputs.len() as i64))]);
    let sum = inputs
        .iter()
        .map(|value| value.dim(axis))
        .try_fold(0_i64, |sum, dim| (dim >= 0).then_some(sum.saturating_add(dim)));
    let dims = inputs.first().and_then(|first| first.dims.clone()).map(|mut dims| {
        let rank = dims.len() as i64;
        let at = if axis < 0 { axis + rank } else { axis };
        if let Some(dim) = usize::try_from(at).ok().and_then(|at| dims.get_mut(at)) {
            *dim = sum.unwrap_or(-1);
        }
        dims
    });
    Value::new(tensor, dims)
}

/// As Keras runs it: a slope and a threshold are ops of their own, and so is a bound other than 6.
fn relu(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Values {
    let (x, config) = (&inputs[0], layer.config);
    let number = |key: &str| config.get(key).as_f64();
    let (slope, threshold) = (number("negative_slope").unwrap_or(0.0), number("threshold").unwrap_or(0.0));
    let (max, mut result) = (number("max_value"), x.clone());
    if slope != 0.0 && threshold == 0.0 && max.is_none() {
        return vec![lowering.map("LeakyRelu", x)];
    }
    let below = (slope != 0.0).then(|| {
        let mut negative = lowering.map("Neg", x);
        if threshold != 0.0 {
            negative = by_constant("AddV2", lowering, &negative);
        }
        lowering.map("Relu", &negative)
    });
    if threshold != 0.0 {
        let above = by_constant("Greater", lowering, x);
        result = chosen(lowering, &above, x);
    } else if max == Some(6.0) {
        result = lowering.map("Relu6", x);
    } else {
        result = lowering.map("Relu", &result);
    }
    if max.is_some() && (max != Some(6.0) || threshold != 0.0) {
        let low = by_constant("Minimum", lowering, &result);
        result = by_constant("Maximum", lowering, &low);
    }
    if let Some(below) = below {
        let scaled = by_constant("Mul", lowering, &below);
        result = lowering.zip("Sub", &result, &scaled);
    }
    vec![result]
}
