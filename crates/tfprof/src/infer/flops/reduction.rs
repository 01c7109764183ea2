//! Reductions along axes, by segment and by bin.

use super::{Count, Formula, Work, elements, formula, original};

#[rustfmt::skip]
pub const FORMULAS: &[Formula] = &[
    // As the original: the final division of a mean is not counted.
    original(&["Mean"], Count::By(|op| {
        op.output()?;
        Ok(Work::plain(elements(op.input(0)?)))
    }, "N(in0)")),
    original(&["Sum", "ArgMax", "ArgMin", "BiasAddGrad"], Count::Reduce),
    original(&["L2Loss"], Count::By(
        |op| Ok(Work::plain(elements(op.input(0)?).saturating_mul(3) - 1)),
        "3 · N(in0) − 1",
    )),
    formula(&["Max", "Min", "Prod", "All", "Any"], Count::Reduce),
    formula(&["EuclideanNorm"], Count::In(2)),
    formula(&[
        "SegmentSum", "SegmentProd", "SegmentMax", "SegmentMin", "SegmentMean", "UnsortedSegmentSum", "UnsortedSegmentProd",
        "UnsortedSegmentMax", "UnsortedSegmentMin", "SegmentSumV2", "SegmentProdV2", "SegmentMaxV2", "SegmentMinV2",
        "Bincount", "DenseBincount", "SparseBincount", "HistogramFixedWidth", "Bucketize", "CompareAndBitpack", "SparseReduceSum", "SparseReduceMax",
    ], Count::In(1)),
    formula(&["CollectiveReduce", "CollectiveReduceV2", "CollectiveReduceV3", "CollectiveReduceScatterV2", "CrossReplicaSum",
              "NcclAllReduce", "NcclReduce", "PopulationCount"], Count::In(1)),
    formula(&["InplaceAdd", "InplaceSub", "AccumulatorApplyGradient", "ResourceAccumulatorApplyGradient"], Count::By(
        |op| Ok(Work::plain(elements(op.input(2)?))), "N(in2)")),
    formula(&["SparseAdd", "SparseSparseMaximum", "SparseSparseMinimum"], Count::By(
        |op| Ok(Work::plain(elements(op.input(1)?).saturating_add(elements(op.input(4)?)))), "N(in1) + N(in4)")),
    // The second input lists the rows to sum.
    formula(&[
        "SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN", "SparseSegmentSumWithNumSegments",
        "SparseSegmentMeanWithNumSegments", "SparseSegmentSqrtNWithNumSegments", "SparseSegmentSumGrad",
        "SparseSegmentMeanGrad", "SparseSegmentSqrtNGrad",
    ], Count::By(|op| {
        let row = elements(op.input(0)?.get(1..).unwrap_or_default());
        Ok(Work::plain(elements(op.input(1)?).saturating_mul(row)))
    }, "N(in1) · N(one row of in0)")),
];
