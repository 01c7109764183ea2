//! Control flow, and ops that pass on their inputs.

use super::super::fact::{Fact, Shape};
use super::{Family, Op, none, typed};
use crate::model::dtype::DType;

pub const RULES: Family = &[
    (
        &[
            "Identity",
            "RefIdentity",
            "StopGradient",
            "PreventGradient",
            "Snapshot",
            "Enter",
            "RefEnter",
            "Exit",
            "RefExit",
            "NextIteration",
            "RefNextIteration",
            "CheckNumerics",
            "CheckNumericsV2",
            "Print",
            "GuaranteeConst",
            "DeepCopy",
            "Copy",
            "CopyHost",
            "DebugIdentity",
            "DebugIdentityV2",
            "DebugIdentityV3",
            "DebugGradientIdentity",
            "DebugGradientRefIdentity",
            "PlaceholderWithDefault",
            "_Retval",
            "_DeviceRetval",
            "LoopCond",
            "_XlaRecvAtHost",
            "XlaOptimizationBarrier",
            "OptimizationBarrier",
            "CopyToMesh",
            "XlaSpmdFullToShardShape",
            "ReadVariableOpSnapshot",
            "CollectiveReduce",
            "CollectiveReduceV2",
            "CollectiveReduceV3",
            "NcclAllReduce",
            "NcclReduce",
            "CrossReplicaSum",
            "SleepIdentityOp",
            "EnsureShapeIdentity",
            "_EagerConst",
            "InplaceUpdate",
            "InplaceAdd",
            "InplaceSub",
        ],
        identity,
    ),
    (&["IdentityN", "XlaHostCompute"], |op| op.inputs.to_vec()),
    (&["Switch", "RefSwitch"], |op| vec![op.input(0).clone(), op.input(0).clone()]),
    (&["_SwitchN"], |op| vec![op.input(0).clone(); op.count("num_outs")]),
    (&["Merge", "RefMerge", "_XlaMerge"], merge),
    (&["RefSelect"], |op| {
        let mut inputs = op.inputs.iter().skip(1);
        let first = inputs.next().cloned().unwrap_or_default();
        vec![inputs.fold(first, |all, one| all.either(one))]
    }),
    (&["EnsureShape"], |op| {
        let mut fact = op.input(0).clone();
        fact.shape = fact.shape.and(&op.stated_shape("shape"));
        vec![fact]
    }),
    (
        &[
            "NoOp",
            "ControlTrigger",
            "Assert",
            "Abort",
            "_Send",
            "_HostSend",
            "Send",
            "PrintV2",
            "_NcclReduceSend",
            "ConsumeMutexLock",
            "_XlaSendFromHost",
            "XlaSendToHost",
        ],
        none,
    ),
    (&["Recv", "_Recv", "_HostRecv"], |op| typed(op.dtype("tensor_type"), Shape::UNKNOWN)),
    (&["CollectivePermute", "CollectiveBcastSend", "CollectiveBcastSendV2"], identity),
    (&["CollectiveBcastRecv"], |op| typed(op.dtype("T"), op.stated_shape("shape"))),
    (&["OptionalFromValue", "OptionalNone", "RaggedTensorToVariant", "CompositeTensorVariantFromComponents"], |_| {
        typed(DType::VARIANT, Shape::UNKNOWN)
    }),
    (&["Timestamp"], |_| typed(DType::DOUBLE, Shape::scalar())),
    (&["DeviceIndex"], |_| typed(DType::INT32, Shape::scalar())),
    (&["ToBool"], |_| typed(DType::BOOL, Shape::scalar())),
];

fn identity(op: &Op<'_>) -> Vec<Fact> {
    vec![op.input(0).clone()]
}

/// The facts common to all inputs, and the index of the input that arrived.
fn merge(op: &Op<'_>) -> Vec<Fact> {
    let first = op.input(0).clone();
    let merged = op.inputs.iter().skip(1).fold(first, |all, one| all.either(one));
    vec![merged, Fact::new(DType::INT32, Shape::scalar())]
}
