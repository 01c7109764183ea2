//! Elementwise ops, of one operand or two.

use super::super::fact::{ANY, Fact, Shape, UNKNOWN};
use super::fold::{self, is_integer, zip_elements};
use super::{Family, Op, broadcast, like_first, typed};
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
            "Ceil",
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
            "Floor",
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
            "Rint",
            "Round",
            "Rsqrt",
            "Selu",
            "Sigmoid",
            "Sin",
            "Sinh",
            "Softmax",
            "Softplus",
            "Softsign",
            "Spence",
            "Sqrt",
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
    (&["Abs"], |op| unary(op, i64::checked_abs)),
    (&["Neg"], |op| unary(op, i64::checked_neg)),
    (&["Sign"], |op| unary(op, |n| Some(n.signum()))),
    (&["Square"], |op| unary(op, |n| n.checked_mul(n))),
    (&["LogicalNot"], |op| {
        let mut facts = unary(op, |n| Some(i64::from(n == 0)));
        facts.iter_mut().for_each(|fact| fact.dtype = DType::BOOL);
        facts
    }),
    (&["ZerosLike"], |op| unary(op, |_| Some(0))),
    (&["OnesLike"], |op| unary(op, |_| Some(1))),
    (&["IsFinite", "IsInf", "IsNan"], |op| typed(DType::BOOL, op.shape(0).clone())),
    (&["Real", "Imag", "Angle", "ComplexAbs"], |op| {
        let dtype = if op.t() == DType::COMPLEX128 { DType::DOUBLE } else { DType::FLOAT };
        typed(op.dtype_or("Tout", dtype), op.shape(0).clone())
    }),
    (&["Complex"], |op| typed(op.dtype_or("Tout", DType::COMPLEX64), broadcast(op.shape(0), op.shape(1)))),
    (&["Cast", "_HostCast"], cast),
    (&["Bitcast"], bitcast),
    (&["Add", "AddV2"], |op| binary(op, i64::checked_add)),
    (&["Sub"], |op| binary(op, i64::checked_sub)),
    (&["Mul", "MulNoNan"], |op| binary(op, i64::checked_mul)),
    (&["FloorDiv"], |op| binary(op, floor_div)),
    (&["Div", "TruncateDiv", "RealDiv", "DivNoNan"], |op| binary(op, i64::checked_div)),
    (&["FloorMod", "Mod"], |op| binary(op, |a, b| a.checked_sub(floor_div(a, b)?.checked_mul(b)?))),
    (&["TruncateMod"], |op| binary(op, i64::checked_rem)),
    (&["Maximum"], |op| binary(op, |a, b| Some(a.max(b)))),
    (&["Minimum"], |op| binary(op, |a, b| Some(a.min(b)))),
    (&["Pow"], |op| binary(op, |a, b| a.checked_pow(u32::try_from(b).ok()?))),
    (&["SquaredDifference"], |op| binary(op, |a, b| a.checked_sub(b).and_then(|n| n.checked_mul(n)))),
    (&["LeftShift"], |op| binary(op, |a, b| a.checked_shl(u32::try_from(b).ok()?))),
    (&["RightShift"], |op| binary(op, |a, b| a.checked_shr(u32::try_from(b).ok()?))),
    (&["BitwiseAnd"], |op| binary(op, |a, b| Some(a & b))),
    (&["BitwiseOr"], |op| binary(op, |a, b| Some(a | b))),
    (&["BitwiseXor"], |op| binary(op, |a, b| Some(a ^ b))),
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
    (&["Equal"], |op| compare(op, |a, b| a == b)),
    (&["NotEqual"], |op| compare(op, |a, b| a != b)),
    (&["Less"], |op| compare(op, |a, b| a < b)),
    (&["LessEqual"], |op| compare(op, |a, b| a <= b)),
    (&["Greater"], |op| compare(op, |a, b| a > b)),
    (&["GreaterEqual"], |op| compare(op, |a, b| a >= b)),
    (&["LogicalAnd"], |op| compare(op, |a, b| a != 0 && b != 0)),
    (&["LogicalOr"], |op| compare(op, |a, b| a != 0 || b != 0)),
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
        vec![Fact::new(dtype, op.shape(0).clone()), bound(), bound()]
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

/// The shape of the first input, with `change` applied to each known element.
fn unary(op: &Op<'_>, change: impl Fn(i64) -> Option<i64>) -> Vec<Fact> {
    let one = |n: &i64| if *n == UNKNOWN { UNKNOWN } else { change(*n).unwrap_or(UNKNOWN) };
    let value = op.input(0).integers().map(|value| value.iter().map(one).collect());
    vec![Fact::with_value(op.t(), op.shape(0).clone(), value)]
}

fn broadcast_inputs(op: &Op<'_>, dtype: DType) -> Vec<Fact> {
    typed(dtype, broadcast(op.shape(0), op.shape(1)))
}

fn binary(op: &Op<'_>, change: impl Fn(i64, i64) -> Option<i64>) -> Vec<Fact> {
    let dtype = op.t();
    let dtype = if dtype == DType::UNKNOWN { op.input(1).dtype } else { dtype };
    let value = if is_integer(dtype) { zip_elements(op.input(0), op.input(1), change) } else { None };
    vec![Fact::with_value(dtype, broadcast(op.shape(0), op.shape(1)), value)]
}

fn compare(op: &Op<'_>, holds: impl Fn(i64, i64) -> bool) -> Vec<Fact> {
    let value = zip_elements(op.input(0), op.input(1), |a, b| Some(i64::from(holds(a, b))));
    vec![Fact::with_value(DType::BOOL, broadcast(op.shape(0), op.shape(1)), value)]
}

fn floor_div(a: i64, b: i64) -> Option<i64> {
    let quotient = a.checked_div(b)?;
    let rest = a.checked_rem(b)?;
    Some(if rest != 0 && (rest < 0) != (b < 0) { quotient - 1 } else { quotient })
}

fn cast(op: &Op<'_>) -> Vec<Fact> {
    let (from, to) = (op.input(0), op.dtype("DstT"));
    let value = from.integers().filter(|_| is_integer(to)).map(|value| {
        let cast = |n: &i64| if to == DType::BOOL && *n != UNKNOWN { i64::from(*n != 0) } else { *n };
        value.iter().map(cast).collect()
    });
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
