//! Sorting and searching, counted by comparisons.

use super::{Count, Formula, Unknown, Work, elements, formula, halvings, product};

#[rustfmt::skip]
pub const FORMULAS: &[Formula] = &[
    formula(&["TopK", "TopKV2", "NthElement", "ApproxTopK"], Count::By(|op| {
        let dims = op.input(0)?;
        let row = *dims.last().ok_or(Unknown::Malformed)?;
        Ok(Work::plain(product(&[elements(dims), halvings(row)])))
    }, "N(in0) · log2 of the last size")),
    formula(&["LowerBound", "UpperBound"], Count::By(|op| {
        let row = *op.input(0)?.last().ok_or(Unknown::Malformed)?;
        Ok(Work::plain(product(&[elements(op.input(1)?), halvings(row)])))
    }, "N(in1) · log2 of the last size of in0")),
    formula(&["InTopK", "InTopKV2", "Unique", "UniqueV2", "UniqueWithCounts", "UniqueWithCountsV2"], Count::In(1)),
    formula(&["ListDiff"], Count::By(
        |op| Ok(Work::plain(elements(op.input(0)?).saturating_add(elements(op.input(1)?)))), "N(in0) + N(in1)")),
];
