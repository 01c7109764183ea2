//! Ops on the tensors of a model: those of `keras.ops`, which a functional model lists as layers, and those of TensorFlow in
//! models of tf.keras 2, which are the same under other names (`tensorflow.rs`).

use super::attention::attend;
use super::config::{Config, Layer, integer};
use super::elementwise::{activate, by_constant, concatenate, merge};
use super::layers::Lower;
use super::lowering::{Lowering, Value, Values};
use super::moving;
use super::normalization::{by_length, moments};
use super::reshaping::resize;
use super::weights::snake_case;
use crate::model::attr_value::AttrValue;
use serde_json::Value as Json;

pub const OPS: &[&[(&[&str], Lower)]] = &[ELEMENTWISE, ACTIVATIONS, REDUCTIONS, PRODUCTS, moving::OPS];

const ELEMENTWISE: &[(&[&str], Lower)] = &[
    (&["Add"], |_, lowering, inputs| merge("AddV2", lowering, inputs)),
    (&["Subtract"], |_, lowering, inputs| merge("Sub", lowering, inputs)),
    (&["Multiply"], |_, lowering, inputs| merge("Mul", lowering, inputs)),
    (&["Divide", "TrueDivide"], |_, lowering, inputs| merge("RealDiv", lowering, inputs)),
    (&["DivideNoNan"], |_, lowering, inputs| merge("DivNoNan", lowering, inputs)),
    (&["FloorDivide"], |_, lowering, inputs| merge("FloorDiv", lowering, inputs)),
    (&["Mod"], |_, lowering, inputs| merge("FloorMod", lowering, inputs)),
    (&["Power"], |_, lowering, inputs| merge("Pow", lowering, inputs)),
    (&["Arctan2"], |_, lowering, inputs| merge("Atan2", lowering, inputs)),
    (
        &[
            "Maximum",
            "Minimum",
            "Greater",
            "GreaterEqual",
            "Less",
            "LessEqual",
            "Equal",
            "NotEqual",
            "LogicalAnd",
            "LogicalOr",
            "SquaredDifference",
        ],
        |layer, lowering, inputs| merge(layer.class, lowering, inputs),
    ),
    (&["LogicalXor"], |_, lowering, inputs| merge("NotEqual", lowering, inputs)),
    (
        &[
            "Ceil",
            "Cos",
            "Cosh",
            "Cumprod",
            "Cumsum",
            "Erf",
            "Erfc",
            "Erfinv",
            "Exp",
            "Expm1",
            "Floor",
            "Log",
            "Log1p",
            "LogicalNot",
            "OnesLike",
            "Reciprocal",
            "Round",
            "Rsqrt",
            "Sign",
            "Sin",
            "Sinh",
            "Sqrt",
            "Square",
            "Tan",
            "Tanh",
            "ZerosLike",
        ],
        |layer, lowering, inputs| Some(vec![lowering.map(layer.class, &inputs[0])]),
    ),
    (&["Absolute", "Abs"], |_, lowering, inputs| Some(vec![lowering.map("Abs", &inputs[0])])),
    (&["Negative"], |_, lowering, inputs| Some(vec![lowering.map("Neg", &inputs[0])])),
    (&["Arccos"], |_, lowering, inputs| Some(vec![lowering.map("Acos", &inputs[0])])),
    (&["Arccosh"], |_, lowering, inputs| Some(vec![lowering.map("Acosh", &inputs[0])])),
    (&["Arcsin"], |_, lowering, inputs| Some(vec![lowering.map("Asin", &inputs[0])])),
    (&["Arcsinh"], |_, lowering, inputs| Some(vec![lowering.map("Asinh", &inputs[0])])),
    (&["Arctan"], |_, lowering, inputs| Some(vec![lowering.map("Atan", &inputs[0])])),
    (&["Arctanh"], |_, lowering, inputs| Some(vec![lowering.map("Atanh", &inputs[0])])),
    (&["Isnan"], |_, lowering, inputs| Some(vec![lowering.map("IsNan", &inputs[0])])),
    (&["Isinf"], |_, lowering, inputs| Some(vec![lowering.map("IsInf", &inputs[0])])),
    (&["Isfinite"], |_, lowering, inputs| Some(vec![lowering.map("IsFinite", &inputs[0])])),
    (&["Log2", "Log10"], |_, lowering, inputs| {
        let log = lowering.map("Log", &inputs[0]);
        Some(vec![by_constant("RealDiv", lowering, &log)])
    }),
    (&["StopGradient"], |_, lowering, inputs| Some(vec![lowering.map("Identity", &inputs[0])])),
    (&["Clip"], |_, lowering, inputs| {
        let below = by_constant("Minimum", lowering, &inputs[0]);
        Some(vec![by_constant("Maximum", lowering, &below)])
    }),
    (&["Where"], |_, lowering, inputs| select(lowering, inputs)),
    (&["Cast"], |layer, lowering, inputs| {
        let dtype = crate::model::dtype::DType::named(layer.config.text("dtype"))?;
        let tensor = lowering.op("Cast", &[inputs[0].tensor], &[("DstT", AttrValue::Type(dtype))]);
        Some(vec![Value::new(tensor, inputs[0].dims.clone())])
    }),
];

const ACTIVATIONS: &[(&[&str], Lower)] = &[
    (
        &[
            "Celu",
            "Elu",
            "Gelu",
            "Glu",
            "HardShrink",
            "HardSigmoid",
            "HardSilu",
            "HardTanh",
            "LeakyRelu",
            "LogSigmoid",
            "LogSoftmax",
            "Mish",
            "Relu",
            "Relu6",
            "Selu",
            "Sigmoid",
            "Silu",
            "SoftShrink",
            "Softmax",
            "Softplus",
            "Softsign",
            "Squareplus",
            "TanhShrink",
            "Threshold",
        ],
        |layer, lowering, inputs| Some(vec![activate(&snake_case(layer.class), lowering, inputs[0].clone())]),
    ),
    (&["Normalize"], |layer, lowering, inputs| {
        let axes = axes(layer.config.get("axis"), &inputs[0])?;
        let is_euclidean = layer.config.int("order").is_none_or(|order| order == 2);
        is_euclidean.then(|| vec![by_length(lowering, &inputs[0], &axes)])
    }),
];

const REDUCTIONS: &[(&[&str], Lower)] = &[
    (&["Sum", "Mean", "Max", "Min", "Prod", "All", "Any"], |layer, lowering, inputs| {
        Some(vec![reduced(layer.class, layer.config, lowering, &inputs[0])?])
    }),
    (&["Amax"], |layer, lowering, inputs| Some(vec![reduced("Max", layer.config, lowering, &inputs[0])?])),
    (&["Amin"], |layer, lowering, inputs| Some(vec![reduced("Min", layer.config, lowering, &inputs[0])?])),
    (&["Argmax"], |layer, lowering, inputs| arg(layer, lowering, &inputs[0], "ArgMax")),
    (&["Argmin"], |layer, lowering, inputs| arg(layer, lowering, &inputs[0], "ArgMin")),
    (&["Var"], |layer, lowering, inputs| Some(vec![variance(layer.config, lowering, &inputs[0])?])),
    (&["Std"], |layer, lowering, inputs| {
        let variance = variance(layer.config, lowering, &inputs[0])?;
        Some(vec![lowering.map("Sqrt", &variance)])
    }),
    (&["Moments"], |layer, lowering, inputs| {
        let axes = axes(layer.config.get("axes"), &inputs[0])?;
        let (mean, variance) = moments(lowering, &inputs[0], &axes, layer.config.flag("keepdims", false));
        Some(vec![mean, variance])
    }),
    (&["Logsumexp"], |layer, lowering, inputs| {
        let (x, config) = (&inputs[0], layer.config);
        let axes = axes(config.get("axis"), x)?;
        let largest = lowering.reduce("Max", x, &axes, true);
        let shifted = lowering.zip("Sub", x, &largest);
        let powers = lowering.map("Exp", &shifted);
        let sum = lowering.reduce("Sum", &powers, &axes, config.flag("keepdims", false));
        let log = lowering.map("Log", &sum);
        Some(vec![by_constant("AddV2", lowering, &log)])
    }),
    (&["Norm"], |layer, lowering, inputs| {
        let config = layer.config;
        let is_euclidean = config.get("ord").is_null() || config.int("ord") == Some(2);
        let squares = is_euclidean.then(|| lowering.map("Square", &inputs[0]))?;
        let sum = reduced("Sum", config, lowering, &squares)?;
        Some(vec![lowering.map("Sqrt", &sum)])
    }),
];

const PRODUCTS: &[(&[&str], Lower)] = &[
    (&["Matmul"], matmul),
    (&["Einsum"], |layer, lowering, inputs| einsum(layer.config.text("subscripts"), lowering, inputs)),
    (&["Tensordot"], tensordot),
    (&["Dot"], |_, lowering, inputs| {
        let (a, b) = (inputs.first()?, inputs.get(1)?);
        let (rank_a, rank_b) = (a.rank()?, b.rank()?);
        contracted(lowering, a, b, &[rank_a.checked_sub(1)?], &[rank_b.saturating_sub(2)])
    }),
    (&["Inner"], |_, lowering, inputs| {
        let (a, b) = (inputs.first()?, inputs.get(1)?);
        contracted(lowering, a, b, &[a.rank()?.checked_sub(1)?], &[b.rank()?.checked_sub(1)?])
    }),
    (&["Outer"], |_, lowering, inputs| {
        let (a, b) = (flat(lowering, inputs.first()?), flat(lowering, inputs.get(1)?));
        contracted(lowering, &a, &b, &[], &[])
    }),
    (&["DotProductAttention"], |_, lowering, inputs| {
        let all = inputs.get(..3)?;
        all.iter().all(|x| x.rank() == Some(4)).then(|| vec![attend(lowering, [&all[0], &all[1], &all[2]], true).0])
    }),
    (&["Resize"], |layer, lowering, inputs| {
        let sizes = layer.config.sizes("size", 2, -1);
        let is_plain = layer.config.text("data_format") != "channels_first" && sizes.iter().all(|size| *size > 0);
        is_plain.then(|| resize(lowering, &inputs[0], &sizes, layer.config))?
    }),
    (&["Concatenate"], |layer, lowering, inputs| Some(concatenate(layer, lowering, inputs))),
];

/// The axes that an op names, from the start; all if it names none.
pub fn axes(named: &Json, x: &Value) -> Option<Vec<i64>> {
    let rank = x.rank()? as i64;
    let listed: Vec<i64> = match named {
        Json::Null => return Some((0..rank).collect()),
        Json::Array(all) => all.iter().map(integer).collect::<Option<_>>()?,
        one => vec![integer(one)?],
    };
    let axes: Vec<i64> = listed.into_iter().map(|axis| if axis < 0 { axis + rank } else { axis }).collect();
    axes.iter().all(|axis| (0..rank).contains(axis)).then_some(axes)
}

/// The one axis that an op names, from the start.
pub fn axis(named: &Json, x: &Value) -> Option<i64> {
    integer(named)?;
    axes(named, x)?.first().copied()
}

fn reduced(op: &str, config: Config<'_>, lowering: &mut Lowering, x: &Value) -> Option<Value> {
    let axes = axes(config.get("axis"), x)?;
    Some(lowering.reduce(op, x, &axes, config.flag("keepdims", false)))
}

fn variance(config: Config<'_>, lowering: &mut Lowering, x: &Value) -> Option<Value> {
    let axes = axes(config.get("axis"), x)?;
    let mean = lowering.reduce("Mean", x, &axes, true);
    let centred = lowering.zip("Sub", x, &mean);
    let squares = lowering.map("Square", &centred);
    Some(lowering.reduce("Mean", &squares, &axes, config.flag("keepdims", false)))
}

fn arg(layer: &Layer<'_>, lowering: &mut Lowering, x: &Value, op: &str) -> Option<Values> {
    let axis = axis(layer.config.get("axis"), x)?;
    let number = lowering.scalar(axis);
    let keep = layer.config.flag("keepdims", false);
    let tensor = lowering.op(op, &[x.tensor, number], &[("keep_dims", AttrValue::Flag(keep))]);
    let mut dims = x.dims.clone()?;
    if keep {
        dims[axis as usize] = 1;
    } else {
        dims.remove(axis as usize);
    }
    Some(vec![Value::new(tensor, Some(dims))])
}

/// One of two tensors, or of a tensor and a number, by a condition.
fn select(lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let (condition, others) = inputs.split_first()?;
    let number = lowering.scalar(0);
    let (a, b) = (others.first()?, others.get(1).map_or(number, |b| b.tensor));
    let both = others
        .iter()
        .skip(1)
        .try_fold(condition.dims.clone()?, |all, x| Some(super::lowering::broadcast(&all, x.dims.as_ref()?)))?;
    let dims = super::lowering::broadcast(&both, a.dims.as_ref()?);
    let tensor = lowering.op("SelectV2", &[condition.tensor, a.tensor, b], &[]);
    Some(vec![Value::new(tensor, Some(dims))])
}

fn matmul(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let (a, b) = (inputs.first()?, inputs.get(1)?);
    let (rank_a, rank_b) = (a.rank()?, b.rank()?);
    if rank_a < 2 || rank_b < 2 {
        return contracted(lowering, a, b, &[rank_a.checked_sub(1)?], &[rank_b.saturating_sub(2)]);
    }
    // TensorFlow can turn the operands.
    let turned = |key: &str| layer.config.flag(key, false);
    let (turns_a, turns_b) = (turned("transpose_a"), turned("transpose_b"));
    let (dims_a, dims_b) = (a.dims.as_ref()?, b.dims.as_ref()?);
    let leading = super::lowering::broadcast(&dims_a[..rank_a - 2], &dims_b[..rank_b - 2]);
    let dims = [&leading[..], &[a.dim(if turns_a { -1 } else { -2 }), b.dim(if turns_b { -2 } else { -1 })]].concat();
    let attributes = [("adj_x", AttrValue::Flag(turns_a)), ("adj_y", AttrValue::Flag(turns_b))];
    let tensor = lowering.op("BatchMatMulV2", &[a.tensor, b.tensor], &attributes);
    Some(vec![Value::new(tensor, Some(dims))])
}

/// Sums of products over the labels that the result lacks.
fn einsum(equation: &str, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let equation: String = equation.chars().filter(|letter| !letter.is_whitespace()).collect();
    let (operands, output) = equation.split_once("->")?;
    let operands: Vec<&str> = operands.split(',').collect();
    if operands.len() != inputs.len() || !equation.is_ascii() {
        return None;
    }
    let tensors: Vec<_> = inputs.iter().map(|x| x.tensor).collect();
    let attributes = [("equation", AttrValue::Text(&equation)), ("N", AttrValue::Int(inputs.len() as i64))];
    let tensor = lowering.op("Einsum", &tensors, &attributes);
    let size = |label: char| {
        let found = operands.iter().zip(inputs).filter_map(|(labels, x)| Some(x.dim(labels.find(label)? as i64)));
        found.max().unwrap_or(-1)
    };
    let dims = (!equation.contains("...")).then(|| output.chars().map(size).collect());
    let like = inputs.first().map(|x| x.tensor).filter(|_| dims.is_none());
    Some(vec![Value { tensor, dims, like }])
}

/// The product over some axes of each tensor.
fn tensordot(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let (a, b) = (inputs.first()?, inputs.get(1)?);
    let named = layer.config.get("axes");
    let (of_a, of_b) = match (integer(named), named.as_array().map(Vec::as_slice)) {
        (Some(count), _) => {
            let rank = a.rank()? as i64;
            ((rank.checked_sub(count)?.max(0)..rank).collect(), (0..count.min(b.rank()? as i64)).collect())
        }
        (None, Some([of_a, of_b])) => (axes(of_a, a)?, axes(of_b, b)?),
        _ => return None,
    };
    let places = |axes: Vec<i64>| axes.into_iter().map(|axis| axis as usize).collect::<Vec<usize>>();
    contracted(lowering, a, b, &places(of_a), &places(of_b))
}

/// The sum of products over pairs of axes, as an einsum.
fn contracted(lowering: &mut Lowering, a: &Value, b: &Value, of_a: &[usize], of_b: &[usize]) -> Option<Values> {
    let (rank_a, rank_b) = (a.rank()?, b.rank()?);
    if rank_a + rank_b > 26 || of_a.len() != of_b.len() {
        return None;
    }
    let letter = |at: usize| char::from(b'a' + at as u8);
    let labels_a: Vec<char> = (0..rank_a).map(letter).collect();
    let mut labels_b: Vec<char> = (rank_a..rank_a + rank_b).map(letter).collect();
    for (in_a, in_b) in of_a.iter().zip(of_b) {
        *labels_b.get_mut(*in_b)? = *labels_a.get(*in_a)?;
    }
    let is_kept = |all: &[char], summed: &[usize]| {
        let kept = all.iter().enumerate().filter(|(at, _)| !summed.contains(at));
        kept.map(|(_, label)| *label).collect::<String>()
    };
    let output = is_kept(&labels_a, of_a) + &is_kept(&labels_b, of_b);
    let text = |labels: &[char]| labels.iter().collect::<String>();
    let equation = format!("{},{}->{output}", text(&labels_a), text(&labels_b));
    einsum(&equation, lowering, &[a.clone(), b.clone()])
}

/// All elements in a row.
pub fn flat(lowering: &mut Lowering, x: &Value) -> Value {
    let known = x.dims.as_ref().filter(|dims| dims.iter().all(|size| *size >= 0));
    let count = known.map_or(-1, |dims| dims.iter().fold(1_i64, |all, size| all.saturating_mul(*size)));
    lowering.reshape(x, &[-1], Some(vec![count]))
}
