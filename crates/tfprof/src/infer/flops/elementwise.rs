//! Elementwise ops.
//!
//! An elementary function is one FLOP, as logarithms and powers are in the original. Composite activations count their
//! parts.

use super::{Count, Formula, formula, original};

#[rustfmt::skip]
pub const FORMULAS: &[Formula] = &[
    original(&["Reciprocal", "Square", "Log", "Neg", "AssignSub", "AssignAdd", "BiasAdd"], Count::In(1)),
    original(&["Rsqrt"], Count::In(2)),
    // Five FLOPs per element: find the maximum, subtract it, exponentiate, sum, divide.
    original(&["Softmax"], Count::In(5)),
    original(&[
        "Add", "AddV2", "Sub", "Mul", "RealDiv", "Maximum", "Minimum", "Pow", "GreaterEqual", "Greater", "LessEqual", "Less",
        "Equal", "NotEqual",
    ], Count::Out(1)),
    original(&["RsqrtGrad"], Count::Out(4)),
    original(&["SquaredDifference"], Count::Out(2)),
    // As the original: control inputs count as inputs.
    original(&["AddN"], Count::By(
        |op| match op.inputs.len() {
            0 => Ok(super::Work::default()),
            inputs => Ok(super::Work::plain(super::elements(op.input(0)?).saturating_mul(inputs as i64 - 1))),
        },
        "N(in0) · (inputs − 1), including control inputs",
    )),
    formula(&["AccumulateNV2"], Count::By(
        |op| Ok(super::Work::plain(super::elements(op.input(0)?).saturating_mul((op.facts.len() as i64 - 1).max(0)))),
        "N(in0) · (inputs − 1)",
    )),
    formula(&[
        "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "BesselI0", "BesselI0e", "BesselI1", "BesselI1e", "BesselJ0",
        "BesselJ1", "BesselK0", "BesselK0e", "BesselK1", "BesselK1e", "BesselY0", "BesselY1", "BiasAddV1", "Ceil", "Conj",
        "Cos", "Cosh", "Cumprod", "Cumsum", "Dawsn", "Digamma", "Erf", "Erfc", "Erfinv", "Exp", "Expint", "Expm1", "Floor",
        "FresnelCos", "FresnelSin", "Inv", "Invert", "IsFinite", "IsInf", "IsNan", "Lgamma", "Log1p", "LogicalNot", "Ndtri",
        "Relu", "Rint", "Round", "Sign", "Sin", "Sinh", "Spence", "Sqrt", "Tan", "Tanh",
    ], Count::In(1)),
    formula(&["ComplexAbs", "Angle", "LeakyRelu", "Relu6", "ClipByValue", "Softsign"], Count::In(2)),
    formula(&["Elu", "Softplus", "CumulativeLogsumexp"], Count::In(3)),
    formula(&["Selu", "Sigmoid"], Count::In(4)),
    formula(&["LogSoftmax", "_MklSwish"], Count::In(5)),
    formula(&["_FusedMish"], Count::In(6)),
    formula(&[
        "ApproximateEqual", "Atan2", "Betainc", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Div", "DivNoNan", "FloorDiv",
        "FloorMod", "Igamma", "IgammaGradA", "Igammac", "LeftShift", "LogicalAnd", "LogicalOr", "Mod", "MulNoNan",
        "NextAfter", "Polygamma", "RandomGammaGrad", "RightShift", "TruncateDiv", "TruncateMod", "Zeta",
    ], Count::Out(1)),
    formula(&["Xdivy", "Xlogy"], Count::Out(2)),
    formula(&["Xlog1py"], Count::Out(3)),
    formula(&["ReluGrad"], Count::Out(1)),
    formula(&["EluGrad", "LeakyReluGrad", "Relu6Grad", "SeluGrad", "SqrtGrad"], Count::Out(2)),
    formula(&["InvGrad", "ReciprocalGrad", "SigmoidGrad", "SoftplusGrad", "TanhGrad"], Count::Out(3)),
    formula(&["SoftsignGrad"], Count::Out(4)),
];
