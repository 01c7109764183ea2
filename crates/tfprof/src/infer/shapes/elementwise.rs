//! Elementwise ops, of one operand or two.

use super::super::fact::{ANY, Fact, Shape, UNKNOWN};
use super::super::floats;
use super::fold::{self, is_integer, zip_elements};
use super::{Family, Op, broadcast, like_first, one, typed};
use crate::model::dtype::DType;

pub const RULES: Family = &[
    (
        &[
            "Acos",
            "Acosh",
            "Asin",
            "Asinh",
            "Atan",
            "Atanh",
            "BesselI0",
            "BesselI0e",
            "BesselI1",
            "BesselI1e",
            "BesselJ0",
            "BesselJ1",
            "BesselK0",
            "BesselK0e",
            "BesselK1",
            "BesselK1e",
            "BesselY0",
            "BesselY1",
            "Conj",
            "Cos",
            "Cosh",
            "Dawsn",
            "Digamma",
            "Elu",
            "Erf",
            "Erfc",
            "Erfinv",
            "Exp",
            "Expint",
            "Expm1",
            "FresnelCos",
            "FresnelSin",
            "Inv",
            "Invert",
            "LeakyRelu",
            "Lgamma",
            "Log",
            "Log1p",
            "LogSoftmax",
            "Ndtri",
            "Reciprocal",
            "Relu",
            "Relu6",
            "Rsqrt",
            "Selu",
            "Sigmoid",
            "Sin",
            "Sinh",
            "Softmax",
            "Softplus",
            "Softsign",
            "Spence",
            "Tan",
            "Tanh",
            "_MklSwish",
            "_FusedMish",
            "LRN",
            "FakeQuantWithMinMaxArgs",
            "FakeQuantWithMinMaxVars",
            "FakeQuantWithMinMaxVarsPerChannel",
            "QuantizeAndDequantize",
            "QuantizeAndDequantizeV2",
            "QuantizeAndDequantizeV3",
            "QuantizeAndDequantizeV4",
            "FakeQuantWithMinMaxArgsGradient",
            "Cumsum",
            "Cumprod",
            "CumulativeLogsumexp",
            "ClipByValue",
            "SoftmaxGrad",
        ],
        like_first,
    ),
    // Gradients of unary functions; all their inputs have the shape of the output.
    (
        &[
            "EluGrad",
            "InvGrad",
            "LeakyReluGrad",
            "ReciprocalGrad",
            "Relu6Grad",
            "ReluGrad",
            "RsqrtGrad",
            "SeluGrad",
            "SigmoidGrad",
            "SoftplusGrad",
            "SoftsignGrad",
            "SqrtGrad",
            "TanhGrad",
        ],
        |op| vec![Fact::new(op.t(), op.shape(0).and(op.shape(1)))],
    ),
    (&["Abs"], |op| unary(op, i64::checked_abs, f64::abs)),
    (&["Neg"], |op| unary(op, i64::checked_neg, |n| -n)),
    (&["Sign"], |op| unary(op, |n| Some(n.signum()), |n| if n == 0.0 { 0.0 } else { n.signum() })),
    (&["Square"], |op| unary(op, |n| n.checked_mul(n), |n| n * n)),
    (&["Ceil"], |op| unary(op, |_| None, f64::ceil)),
    (&["Floor"], |op| unary(op, |_| None, f64::floor)),
    (&["Round", "Rint"], |op| unary(op, Some, f64::round_ties_even)),
    (&["Sqrt"], |op| unary(op, |_| None, f64::sqrt)),
    (&["LogicalNot"], |op| {
        let mut facts = unary(op, |n| Some(i64::from(n == 0)), |n| n);
        facts.iter_mut().for_each(|fact| fact.dtype = DType::BOOL);
        facts
    }),
    (&["ZerosLike"], |op| unary(op, |_| Some(0), |_| 0.0)),
    (&["OnesLike"], |op| unary(op, |_| Some(1), |_| 1.0)),
    (&["IsFinite", "IsInf", "IsNan"], |op| typed(DType::BOOL, op.shape(0).clone())),
    (&["Real", "Imag", "Angle", "ComplexAbs"], |op| {
        let dtype = if op.t() == DType::COMPLEX128 { DType::DOUBLE } else { DType::FLOAT };
        typed(op.dtype_or("Tout", dtype), op.shape(0).clone())
    }),
    (&["Complex"], |op| typed(op.dtype_or("Tout", DType::COMPLEX64), broadcast(op.shape(0), op.shape(1)))),
    (&["Cast", "_HostCast"], cast),
    (&["Bitcast"], bitcast),
    (&["Add", "AddV2"], |op| binary(op, i64::checked_add, |a, b| a + b)),
    (&["Sub"], |op| binary(op, i64::checked_sub, |a, b| a - b)),
    (&["Mul", "MulNoNan"], |op| binary(op, i64::checked_mul, |a, b| a * b)),
    (&["FloorDiv"], |op| binary(op, floor_div, |a, b| (a / b).floor())),
    (&["Div", "TruncateDiv", "RealDiv"], |op| binary(op, i64::checked_div, |a, b| a / b)),
    (&["DivNoNan"], |op| binary(op, i64::checked_div, |a, b| if b == 0.0 { 0.0 } else { a / b })),
    (&["FloorMod", "Mod"], |op| binary(op, |a, b| a.checked_sub(floor_div(a, b)?.checked_mul(b)?), untracked)),
    (&["TruncateMod"], |op| binary(op, i64::checked_rem, untracked)),
    (&["Maximum"], |op| binary(op, |a, b| Some(a.max(b)), f64::max)),
    (&["Minimum"], |op| binary(op, |a, b| Some(a.min(b)), f64::min)),
    (&["Pow"], |op| binary(op, |a, b| a.checked_pow(u32::try_from(b).ok()?), untracked)),
    (&["SquaredDifference"], |op| binary(op, |a, b| a.checked_sub(b).and_then(|n| n.checked_mul(n)), untracked)),
    (&["LeftShift"], |op| binary(op, |a, b| a.checked_shl(u32::try_from(b).ok()?), untracked)),
    (&["RightShift"], |op| binary(op, |a, b| a.checked_shr(u32::try_from(b).ok()?), untracked)),
    (&["BitwiseAnd"], |op| binary(op, |a, b| Some(a & b), untracked)),
    (&["BitwiseOr"], |op| binary(op, |a, b| Some(a | b), untracked)),
    (&["BitwiseXor"], |op| binary(op, |a, b| Some(a ^ b), untracked)),
    (
        &[
            "Atan2",
            "Igamma",
            "Igammac",
            "IgammaGradA",
            "Polygamma",
            "Zeta",
            "Xdivy",
            "Xlogy",
            "Xlog1py",
            "NextAfter",
            "RandomGammaGrad",
        ],
        |op| broadcast_inputs(op, op.t()),
    ),
    (&["BiasAdd", "BiasAddV1"], |op| {
        let Some(dims) = op.shape(0).dims() else { return like_first(op) };
        let mut dims = dims.to_vec();
        let channel = if op.text("data_format").starts_with(b"NC") { 1 } else { dims.len().saturating_sub(1) };
        if dims.get(channel) == Some(&ANY) {
            dims[channel] = op.shape(1).dim(0);
        }
        vec![Fact::new(op.t(), Shape::of(&dims))]
    }),
    (&["Betainc"], |op| {
        let shape = broadcast(&broadcast(op.shape(0), op.shape(1)), op.shape(2));
        vec![Fact::new(op.t(), shape)]
    }),
    (&["Equal"], |op| compare(op, |a, b| a == b, |a, b| a.total_cmp(&b).is_eq())),
    (&["NotEqual"], |op| compare(op, |a, b| a != b, |a, b| a.total_cmp(&b).is_ne())),
    (&["Less"], |op| compare(op, |a, b| a < b, |a, b| a < b)),
    (&["LessEqual"], |op| compare(op, |a, b| a <= b, |a, b| a <= b)),
    (&["Greater"], |op| compare(op, |a, b| a > b, |a, b| a > b)),
    (&["GreaterEqual"], |op| compare(op, |a, b| a >= b, |a, b| a >= b)),
    (&["LogicalAnd"], |op| compare(op, |a, b| a != 0 && b != 0, |_, _| false)),
    (&["LogicalOr"], |op| compare(op, |a, b| a != 0 || b != 0, |_, _| false)),
    (&["ApproximateEqual"], |op| typed(DType::BOOL, op.shape(0).and(op.shape(1)))),
    (&["Select"], |op| {
        // The first version also accepts a vector that selects rows.
        let shape = op.shape(1).and(op.shape(2));
        if op.shape(0).rank() == Some(0) || *op.shape(0) == shape { select(op, shape) } else { typed(op.t(), shape) }
    }),
    (&["SelectV2"], |op| {
        let shape = broadcast(&broadcast(op.shape(0), op.shape(1)), op.shape(2));
        select(op, shape)
    }),
    (&["AddN", "AccumulateNV2"], |op| {
        let all = op.inputs.iter().fold(Shape::UNKNOWN, |all, input| all.and(&input.shape));
        vec![Fact::new(op.t(), all)]
    }),
    (&["Bucketize"], |op| typed(DType::INT32, op.shape(0).clone())),
    (&["BoostedTreesBucketize"], |op| {
        let features = op.inputs.iter().take(op.count("num_features"));
        features.map(|feature| Fact::new(DType::INT32, Shape::of(&[feature.shape.dim(0)]))).collect()
    }),
    (&["CompareAndBitpack"], |op| match op.shape(0).dims() {
        // Eight comparisons fill a byte.
        Some([dims @ .., last]) => typed(DType::UINT8, Shape::of(&[dims, &[super::over(*last, 8)]].concat())),
        _ => typed(DType::UINT8, Shape::UNKNOWN),
    }),
    (&["FakeQuantWithMinMaxVarsGradient", "FakeQuantWithMinMaxVarsPerChannelGradient"], |op| {
        let bound = op.shape(2).clone();
        [op.shape(0).and(op.shape(1)), bound.clone(), bound].map(|shape| Fact::new(DType::FLOAT, shape)).to_vec()
    }),
    (&["QuantizeAndDequantizeV4Grad"], |op| {
        let shapes = [op.shape(0), op.shape(2), op.shape(3)];
        shapes.map(|shape| Fact::new(op.t(), shape.clone())).to_vec()
    }),
    (&["QuantizeV2", "Quantize"], |op| {
        let dtype = op.dtype("T");
        // Each slice along an axis may have a range of its own.
        let axis = op.int("axis").filter(|axis| *axis >= 0);
        let range = axis.map_or_else(bound, |axis| Fact::new(DType::FLOAT, Shape::of(&[op.shape(0).dim(axis)])));
        vec![Fact::new(dtype, op.shape(0).clone()), range.clone(), range]
    }),
    (&["UniformQuantize", "UniformDequantize", "UniformRequantize"], |op| typed(op.dtype("Tout"), op.shape(0).clone())),
    (&["UniformQuantizedClipByValue"], |op| one(op, op.shape(0).clone())),
    (&["UniformQuantizedAdd"], |op| typed(op.dtype("Tout"), broadcast(op.shape(0), op.shape(1)))),
    (&["PopulationCount"], |op| typed(DType::UINT8, op.shape(0).clone())),
    (&["IsotonicRegression"], |op| {
        vec![
            Fact::new(op.dtype_or("output_dtype", op.t()), op.shape(0).clone()),
            Fact::new(DType::INT32, op.shape(0).clone()),
        ]
    }),
    (&["Dequantize"], |op| typed(op.dtype_or("dtype", DType::FLOAT), op.shape(0).clone())),
    (&["Requantize", "QuantizeDownAndShrinkRange", "RequantizePerChannel"], |op| {
        vec![Fact::new(op.dtype("out_type"), op.shape(0).clone()), bound(), bound()]
    }),
    (&["RequantizationRange", "RequantizationRangePerChannel"], |_| vec![bound(), bound()]),
    (&["QuantizedRelu", "QuantizedRelu6", "QuantizedReluX"], |op| {
        vec![Fact::new(op.dtype("out_type"), op.shape(0).clone()), bound(), bound()]
    }),
    (&["QuantizedAdd", "QuantizedMul"], |op| {
        vec![Fact::new(op.dtype("Toutput"), broadcast(op.shape(0), op.shape(1))), bound(), bound()]
    }),
    (&["QuantizedBiasAdd"], |op| vec![Fact::new(op.dtype("out_type"), op.shape(0).clone()), bound(), bound()]),
];

/// The lower or upper bound of a quantized range.
pub fn bound() -> Fact {
    Fact::new(DType::FLOAT, Shape::scalar())
}

/// The shape of the first input, with `integer` or `float` applied to each known element.
fn unary(op: &Op<'_>, integer: fn(i64) -> Option<i64>, float: fn(f64) -> f64) -> Vec<Fact> {
    let from = op.input(0);
    let is_float = floats::is_float(from.dtype);
    let one = |n: &i64| match *n {
        UNKNOWN => UNKNOWN,
        n if is_float => floats::element(from.dtype, float(floats::number(n))),
        n => integer(n).unwrap_or(UNKNOWN),
    };
    let value = from.elements().filter(|_| op.t() == from.dtype || !is_float);
    vec![Fact::with_value(op.t(), from.shape.clone(), value.map(|value| value.iter().map(one).collect()))]
}

/// For functions whose results in single precision are not known to the last bit, or that are not needed for sizes.
fn untracked(_: f64, _: f64) -> f64 {
    f64::NAN
}

fn broadcast_inputs(op: &Op<'_>, dtype: DType) -> Vec<Fact> {
    typed(dtype, broadcast(op.shape(0), op.shape(1)))
}

fn binary(op: &Op<'_>, integer: fn(i64, i64) -> Option<i64>, float: fn(f64, f64) -> f64) -> Vec<Fact> {
    let dtype = op.t();
    let dtype = if dtype == DType::UNKNOWN { op.input(1).dtype } else { dtype };
    let (a, b) = (op.input(0), op.input(1));
    let value = match () {
        () if is_integer(dtype) && !floats::is_float(a.dtype) && !floats::is_float(b.dtype) => {
            zip_elements(a, b, integer)
        }
        () if floats::is_float(dtype) && a.dtype == dtype => {
            fold::zip_floats(a, b, |a, b| floats::element(dtype, float(a, b)))
        }
        () => None,
    };
    vec![Fact::with_value(dtype, broadcast(&a.shape, &b.shape), value)]
}

fn compare(op: &Op<'_>, integer: fn(i64, i64) -> bool, float: fn(f64, f64) -> bool) -> Vec<Fact> {
    let (a, b) = (op.input(0), op.input(1));
    let value = if floats::is_float(a.dtype) || floats::is_float(b.dtype) {
        fold::zip_floats(a, b, |a, b| i64::from(float(a, b)))
    } else {
        zip_elements(a, b, |a, b| Some(i64::from(integer(a, b))))
    };
    vec![Fact::with_value(DType::BOOL, broadcast(&a.shape, &b.shape), value)]
}

fn floor_div(a: i64, b: i64) -> Option<i64> {
    let quotient = a.checked_div(b)?;
    let rest = a.checked_rem(b)?;
    Some(if rest != 0 && (rest < 0) != (b < 0) { quotient - 1 } else { quotient })
}

fn cast(op: &Op<'_>) -> Vec<Fact> {
    let (from, to) = (op.input(0), op.dtype("DstT"));
    // Long vectors of floats are weights, not sizes.
    let tracked = |value: &&[i64]| is_integer(to) || (floats::is_float(to) && value.len() <= floats::LONGEST);
    let value = from.elements().filter(tracked);
    let value = value.map(|value| value.iter().map(|n| floats::cast(*n, from.dtype, to)).collect());
    vec![Fact::with_value(to, from.shape.clone(), value)]
}

/// Casting to smaller elements adds a last dimension, casting to larger ones removes it.
fn bitcast(op: &Op<'_>) -> Vec<Fact> {
    let (from, to) = (op.t(), op.dtype("type"));
    let shape = match (from.size(), to.size(), op.shape(0).dims()) {
        (Some(a), Some(b), Some(_)) if a == b => op.shape(0).clone(),
        (Some(a), Some(b), Some(dims)) if a > b => {
            let mut dims = dims.to_vec();
            dims.push((a / b) as i64);
            Shape::of(&dims)
        }
        (Some(_), Some(_), Some([dims @ .., _])) => Shape::of(dims),
        _ => Shape::UNKNOWN,
    };
    typed(to, shape)
}

/// An element is known if its condition and the selected element are, or if both choices agree.
fn select(op: &Op<'_>, shape: Shape) -> Vec<Fact> {
    let (yes, no) = (op.input(1), op.input(2));
    let dtype = if op.t() == DType::BOOL && op.dtype("T") == DType::UNKNOWN { yes.dtype } else { op.t() };
    let fold = || {
        let dims = shape.known()?;
        let elements = |fact: &Fact| fold::broadcast_elements(&fold::elements(fact)?, fact.shape.known()?, dims);
        let (condition, yes, no) = (elements(op.input(0))?, elements(yes)?, elements(no)?);
        let choose = |at: usize| match condition[at] {
            UNKNOWN if yes[at] == no[at] => yes[at],
            UNKNOWN => UNKNOWN,
            0 => no[at],
            _ => yes[at],
        };
        Some((0..condition.len()).map(choose).collect::<Vec<i64>>())
    };
    let value = fold().filter(|value| fold::any_known(value));
    vec![Fact::with_value(dtype, shape, value)]
}
