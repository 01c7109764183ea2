//! Updates of variables: arithmetic assignments, scatter updates and optimizer steps.

use super::{Count, Formula, Io, Work, elements};

/// Ops with `each` FLOPs per element of the first input that overwrite their first `state` inputs.
const fn step(ops: &'static [&'static str], each: i64, state: usize) -> Formula {
    Formula { ops, count: Count::In(each), io: Io::Updates(state), original: false }
}

/// Ops with `$each` FLOPs per element of the gradient, which is the input `$at`.
macro_rules! sparse_step {
    ($ops:expr, $each:literal, $at:literal) => {
        Formula {
            ops: $ops,
            count: Count::By(
                |op| Ok(Work::plain(elements(op.input($at)?).saturating_mul($each))),
                concat!(stringify!($each), " · N(in", stringify!($at), ")"),
            ),
            io: Io::Indexed,
            original: false,
        }
    };
}

#[rustfmt::skip]
pub const FORMULAS: &[Formula] = &[
    step(&["AssignAddVariableOp", "AssignSubVariableOp"], 1, 1),
    step(&["ApplyGradientDescent", "ResourceApplyGradientDescent"], 2, 1),
    step(&["ApplyMomentum", "ResourceApplyMomentum", "ResourceApplyKerasMomentum"], 4, 2),
    step(&["ApplyProximalGradientDescent", "ResourceApplyProximalGradientDescent"], 6, 1),
    step(&["ApplyAdagrad", "ApplyAdagradV2", "ResourceApplyAdagrad", "ResourceApplyAdagradV2"], 7, 2),
    step(&["ApplyAddSign", "ApplyPowerSign", "ResourceApplyAddSign", "ResourceApplyPowerSign"], 8, 2),
    step(&["ApplyAdaMax", "ResourceApplyAdaMax"], 9, 3),
    step(&["ApplyProximalAdagrad", "ResourceApplyProximalAdagrad"], 10, 2),
    step(&["ApplyRMSProp", "ResourceApplyRMSProp"], 11, 3),
    step(&["ApplyAdam", "ResourceApplyAdam"], 12, 3),
    step(&["ApplyAdagradDA", "ResourceApplyAdagradDA"], 12, 3),
    step(&["ResourceApplyAdamWithAmsgrad"], 13, 4),
    step(&["ApplyCenteredRMSProp", "ResourceApplyCenteredRMSProp"], 15, 4),
    step(&["ApplyAdadelta", "ResourceApplyAdadelta"], 16, 3),
    step(&["ApplyFtrl", "ApplyFtrlV2", "ResourceApplyFtrl", "ResourceApplyFtrlV2"], 20, 3),
    sparse_step!(&["ScatterAdd", "ScatterSub", "ScatterMul", "ScatterDiv", "ScatterMin", "ScatterMax", "ScatterNdAdd",
        "ScatterNdSub", "ScatterNdMin", "ScatterNdMax", "ResourceScatterAdd", "ResourceScatterSub", "ResourceScatterMul",
        "ResourceScatterDiv", "ResourceScatterMin", "ResourceScatterMax", "ResourceScatterNdAdd", "ResourceScatterNdSub",
        "ResourceScatterNdMin", "ResourceScatterNdMax", "TensorScatterAdd", "TensorScatterSub", "TensorScatterMin",
        "TensorScatterMax", "ScatterNdNonAliasingAdd"], 1, 2),
    sparse_step!(&["SparseApplyMomentum", "ResourceSparseApplyMomentum", "ResourceSparseApplyKerasMomentum"], 4, 3),
    sparse_step!(&["SparseApplyAdagrad", "ResourceSparseApplyAdagrad"], 7, 3),
    sparse_step!(&["SparseApplyAdagradV2", "ResourceSparseApplyAdagradV2"], 7, 4),
    sparse_step!(&["SparseApplyProximalGradientDescent", "ResourceSparseApplyProximalGradientDescent"], 6, 4),
    sparse_step!(&["SparseApplyProximalAdagrad", "ResourceSparseApplyProximalAdagrad"], 10, 5),
    sparse_step!(&["SparseApplyRMSProp", "ResourceSparseApplyRMSProp"], 11, 7),
    sparse_step!(&["SparseApplyCenteredRMSProp", "ResourceSparseApplyCenteredRMSProp"], 15, 8),
    sparse_step!(&["SparseApplyAdagradDA", "ResourceSparseApplyAdagradDA"], 12, 3),
    sparse_step!(&["SparseApplyAdadelta", "ResourceSparseApplyAdadelta"], 16, 6),
    sparse_step!(&["SparseApplyFtrl", "SparseApplyFtrlV2", "ResourceSparseApplyFtrl", "ResourceSparseApplyFtrlV2"], 20, 3),
];
