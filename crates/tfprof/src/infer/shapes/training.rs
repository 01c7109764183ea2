//! Assignments, scatter updates and optimizer steps.

use super::super::fact::Fact;
use super::{Family, like_first, none};

#[rustfmt::skip]
pub const RULES: Family = &[
    (&["Assign"], |op| vec![Fact::new(op.t(), op.shape(1).and(op.shape(0)))]),
    (&["AssignAdd", "AssignSub"], like_first),
    (&[
        "ScatterUpdate", "ScatterAdd", "ScatterSub", "ScatterMul", "ScatterDiv", "ScatterMin", "ScatterMax",
        "ScatterNdUpdate", "ScatterNdAdd", "ScatterNdSub", "ScatterNdMax", "ScatterNdMin",
        "ApplyGradientDescent", "ApplyProximalGradientDescent", "ApplyMomentum", "ApplyAdagrad", "ApplyAdagradV2",
        "ApplyAdagradDA", "ApplyProximalAdagrad", "ApplyAdadelta", "ApplyAdam", "ApplyAdaMax", "ApplyRMSProp",
        "ApplyCenteredRMSProp", "ApplyFtrl", "ApplyFtrlV2", "ApplyAddSign", "ApplyPowerSign",
        "SparseApplyAdagrad", "SparseApplyAdagradV2", "SparseApplyAdagradDA", "SparseApplyMomentum", "SparseApplyFtrl",
        "SparseApplyFtrlV2", "SparseApplyRMSProp", "SparseApplyCenteredRMSProp", "SparseApplyAdadelta",
        "SparseApplyProximalAdagrad", "SparseApplyProximalGradientDescent", "DestroyTemporaryVariable",
    ], like_first),
    (&[
        "AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp", "ResourceStridedSliceAssign",
        "ResourceScatterUpdate", "ResourceScatterAdd", "ResourceScatterSub", "ResourceScatterMul", "ResourceScatterDiv",
        "ResourceScatterMin", "ResourceScatterMax", "ResourceScatterNdUpdate", "ResourceScatterNdAdd",
        "ResourceScatterNdSub", "ResourceScatterNdMax", "ResourceScatterNdMin",
        "ResourceApplyGradientDescent", "ResourceApplyProximalGradientDescent", "ResourceApplyMomentum",
        "ResourceApplyKerasMomentum", "ResourceApplyAdagrad", "ResourceApplyAdagradV2", "ResourceApplyAdagradDA",
        "ResourceApplyProximalAdagrad", "ResourceApplyAdadelta", "ResourceApplyAdam", "ResourceApplyAdamWithAmsgrad",
        "ResourceApplyAdaMax", "ResourceApplyRMSProp", "ResourceApplyCenteredRMSProp", "ResourceApplyFtrl",
        "ResourceApplyFtrlV2", "ResourceApplyAddSign", "ResourceApplyPowerSign",
        "ResourceSparseApplyAdagrad", "ResourceSparseApplyAdagradV2", "ResourceSparseApplyAdagradDA",
        "ResourceSparseApplyMomentum", "ResourceSparseApplyKerasMomentum", "ResourceSparseApplyFtrl",
        "ResourceSparseApplyFtrlV2", "ResourceSparseApplyRMSProp", "ResourceSparseApplyCenteredRMSProp",
        "ResourceSparseApplyAdadelta", "ResourceSparseApplyProximalAdagrad", "ResourceSparseApplyProximalGradientDescent",
    ], none),
];
