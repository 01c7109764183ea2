//! Tells shapes that depend on data from shapes that inference lost.

use super::super::fact::{Fact, UNKNOWN};
use super::Op;
use super::fold::is_integer;

/// Ops that choose, split, parse or decode: the sizes of their outputs depend on the elements of their inputs.
const CHOOSES: &[&str] = &[
    "Where",
    "Compress",
    "ListDiff",
    "ComputeAccidentalHits",
    "DynamicPartition",
    "SparseFillEmptyRows",
    "SparseSlice",
    "SparseConcat",
    "SparseSplit",
    "SparseReduceSumSparse",
    "SparseReduceMaxSparse",
    "SparseCross",
    "SparseCrossV2",
    "SparseSparseMaximum",
    "SparseSparseMinimum",
    "SparseAdd",
    "DenseToSparseSetOperation",
    "DenseToDenseSetOperation",
    "SparseToSparseSetOperation",
    "SetSize",
    "DenseCountSparseOutput",
    "SparseCountSparseOutput",
    "RaggedCountSparseOutput",
    "CTCGreedyDecoder",
    "CTCBeamSearchDecoder",
    "GenerateBoundingBoxProposals",
    "SdcaOptimizer",
    "ReadVariableXlaSplitND",
];

/// The same, by the beginnings of their names: `UniqueV2`, `NonMaxSuppressionV5`, `DecodeJpeg`.
const CHOOSES_LIKE: &[&str] = &[
    "Unique",
    "NonMaxSuppression",
    "StringSplit",
    "StringNGrams",
    "UnicodeDecode",
    "UnicodeEncode",
    "Decode",
    "Parse",
    "Ragged",
    "MatchingFiles",
    "TakeManySparse",
    "DeserializeManySparse",
    "DeserializeSparse",
];

/// Ops that use only the shapes of their inputs.
const READS_SHAPE: &[&str] = &[
    "Shape",
    "ShapeN",
    "Size",
    "Rank",
    "VariableShape",
    "TensorListLength",
    "TensorListElementShape",
    "TensorArraySizeV3",
    "TensorArraySizeV2",
    "ZerosLike",
    "OnesLike",
];

/// Marks outputs whose shapes or elements depend on data.
///
/// A shape depends on data if the op chooses by the elements of its inputs, or if a shape or an integer that it is
/// computed from depends on data, and none of the inputs lost its shape otherwise.
pub fn mark_data(op: &Op<'_>, has_rule: bool, outputs: &mut [Fact]) {
    let name = op.body.op(op.node);
    let is_lost = |input: &Fact| !input.shape.is_known() && !input.shape_is_data;
    let chooses = || CHOOSES.contains(&name) || CHOOSES_LIKE.iter().any(|start| name.starts_with(start));
    let by_shape = op.inputs.iter().any(|input| input.shape_is_data);
    let by_value = op.inputs.iter().any(|input| input.value_is_data);
    let by_integer =
        || op.inputs.iter().any(|input| input.value_is_data && (is_integer(input.dtype) || name == "Range"));
    let is_random = name.contains("Random") || name.contains("Multinomial") || name.starts_with("Restore");
    let is_source = op.inputs.is_empty() && !matches!(name, "Const" | "HostConst" | "Parameter");
    // Which element of an array is read depends on the run, and its integers are not tracked.
    let is_element = name.starts_with("TensorArrayRead") || name == "TensorListGetItem";
    let value_is_data = by_shape || is_random || is_source || is_element || (by_value && !READS_SHAPE.contains(&name));
    for output in outputs {
        output.shape_is_data = has_rule
            && !output.shape.is_known()
            && !op.inputs.iter().any(is_lost)
            && (by_shape || (by_value && chooses()) || by_integer());
        output.value_is_data = value_is_data && output.elements().is_none_or(|elements| elements.contains(&UNKNOWN));
    }
}
