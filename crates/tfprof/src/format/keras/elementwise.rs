//! Activations, merges of several inputs, layers that do nothing at inference, and ops on tensors.

use super::config::{Config, Layer, integer};
use super::layers::Lower;
use super::lowering::{Lowering, Value, Values};
use crate::model::attr_value::AttrValue;

pub const LAYERS: &[(&[&str], Lower)] = &[
    (&["Activation"], |layer, lowering, inputs| {
        Some(vec![activate(layer.config.activation("activation"), lowering, inputs[0].clone())])
    }),
    (&["ReLU"], |layer, lowering, inputs| {
        let leaks = layer.config.get("negative_slope").as_f64().is_some_and(|slope| slope != 0.0);
        let max = layer.config.get("max_value");
        let op = if leaks {
            "LeakyRelu"
        } else if max.as_f64() == Some(6.0) {
            "Relu6"
        } else {
            "Relu"
        };
        Some(vec![lowering.map(op, &inputs[0])])
    }),
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
            "AugMix",
            "MixUp",
            "CutMix",
            "RandomHeight",
            "RandomWidth",
            "StopGradient",
        ],
        |_, lowering, inputs| Some(vec![lowering.map("Identity", &inputs[0])]),
    ),
    (&["Rescaling"], |_, lowering, inputs| {
        let scaled = by_constant("Mul", lowering, &inputs[0]);
        Some(vec![by_constant("AddV2", lowering, &scaled)])
    }),
    (&["Masking"], |_, lowering, inputs| Some(vec![lowering.map("Identity", &inputs[0])])),
    (
        &[
            "Relu",
            "Relu6",
            "Sigmoid",
            "Tanh",
            "Elu",
            "Selu",
            "Softplus",
            "Softsign",
            "LogSoftmax",
            "Exp",
            "Sqrt",
            "Rsqrt",
            "Square",
            "Log",
            "Abs",
            "Erf",
            "Sin",
            "Cos",
            "Round",
            "Floor",
            "Sign",
            "Cast",
        ],
        |layer, lowering, inputs| Some(vec![lowering.map(layer.class, &inputs[0])]),
    ),
    (&["Absolute"], |_, lowering, inputs| Some(vec![lowering.map("Abs", &inputs[0])])),
    (&["Negative"], |_, lowering, inputs| Some(vec![lowering.map("Neg", &inputs[0])])),
    (&["Silu", "Gelu", "HardSigmoid", "HardSilu", "Mish"], |layer, lowering, inputs| {
        let name = match layer.class {
            "Silu" => "silu",
            "Gelu" => "gelu",
            "HardSigmoid" => "hard_sigmoid",
            "HardSilu" => "hard_silu",
            _ => "mish",
        };
        Some(vec![activate(name, lowering, inputs[0].clone())])
    }),
    (&["Power"], |_, lowering, inputs| merge("Pow", lowering, inputs)),
    (&["TFOpLambda"], |layer, lowering, inputs| tensorflow_op(layer.config, lowering, inputs)),
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
            let gate = lowering.map("Sigmoid", &x);
            return lowering.zip("Mul", &x, &gate);
        }
        "gelu" => {
            let half = by_constant("Mul", lowering, &x);
            let scaled = by_constant("RealDiv", lowering, &x);
            let erf = lowering.map("Erf", &scaled);
            let sum = by_constant("AddV2", lowering, &erf);
            return lowering.zip("Mul", &half, &sum);
        }
        "hard_sigmoid" | "hard_silu" | "hard_swish" => {
            let sum = by_constant("AddV2", lowering, &x);
            let cut = lowering.map("Relu6", &sum);
            let gate = by_constant("Mul", lowering, &cut);
            return if name == "hard_sigmoid" { gate } else { lowering.zip("Mul", &x, &gate) };
        }
        "mish" => {
            let plus = lowering.map("Softplus", &x);
            let gate = lowering.map("Tanh", &plus);
            return lowering.zip("Mul", &x, &gate);
        }
        // An activation of the user's own.
        _ => "",
    };
    if op.is_empty() {
        let dims = x.dims.clone();
        return lowering.unknown(&[x], dims).remove(0);
    }
    lowering.map(op, &x)
}

/// An op with a constant number.
pub fn by_constant(op: &str, lowering: &mut Lowering, x: &Value) -> Value {
    let constant = lowering.scalar(1);
    Value::new(lowering.op(op, &[x.tensor, constant], &[]), x.dims.clone())
}

/// One op after the other over all inputs.
fn merge(op: &str, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
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
    let scaled = lowering.zip("Mul", &below, &alpha);
    Some(vec![lowering.zip("Sub", &above, &scaled)])
}

/// An op of TensorFlow that was called on the tensors of a model.
fn tensorflow_op(config: Config<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let op = match config.text("function").rsplit('.').next()? {
        "add" | "__operators__add" => "AddV2",
        "subtract" => "Sub",
        "multiply" => "Mul",
        "truediv" | "divide" => "RealDiv",
        "maximum" => "Maximum",
        "minimum" => "Minimum",
        "relu" => "Relu",
        "relu6" => "Relu6",
        "sigmoid" => "Sigmoid",
        "tanh" => "Tanh",
        "exp" => "Exp",
        "sqrt" => "Sqrt",
        "square" => "Square",
        "softmax" => "Softmax",
        "negative" => "Neg",
        _ => return None,
    };
    if matches!(op, "AddV2" | "Sub" | "Mul" | "RealDiv" | "Maximum" | "Minimum") {
        return merge(op, lowering, inputs);
    }
    Some(vec![lowering.map(op, &inputs[0])])
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
    let sum = inputs.iter().map(|value| value.dim(axis)).try_fold(0, |sum, dim| (dim >= 0).then_some(sum + dim));
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
