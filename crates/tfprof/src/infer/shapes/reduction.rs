//! Reductions, losses, top-k and segment sums.

use super::super::fact::{ANY, Fact, Shape, UNKNOWN, product};
use super::super::floats;
use super::fold;
use super::{Family, Op, axes, axis_of, one, scalar, typed};
use crate::model::dtype::DType;

#[rustfmt::skip]
pub const RULES: Family = &[
    (&["Mean", "EuclideanNorm", "AnyBatchReduce", "ReduceL1", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"], |op| vec![reduced(op, op.t(), None)]),
    (&["Sum"], |op| vec![reduced(op, op.t(), Some((0, i64::checked_add)))]),
    (&["Prod"], |op| vec![reduced(op, op.t(), Some((1, i64::checked_mul)))]),
    (&["Max"], |op| vec![reduced(op, op.t(), Some((i64::MIN + 1, |a, b| Some(a.max(b)))))]),
    (&["Min"], |op| vec![reduced(op, op.t(), Some((i64::MAX, |a, b| Some(a.min(b)))))]),
    (&["All"], |op| vec![reduced(op, DType::BOOL, Some((1, |a, b| Some(i64::from(a != 0 && b != 0)))))]),
    (&["Any"], |op| vec![reduced(op, DType::BOOL, Some((0, |a, b| Some(i64::from(a != 0 || b != 0)))))]),
    (&["ArgMax"], |op| extreme(op, |element, best| element > best)),
    (&["ArgMin"], |op| extreme(op, |element, best| element < best)),
    (&["L2Loss"], scalar),
    (&["BiasAddGrad"], |op| {
        let channel = if op.text("data_format") == b"NCHW" { 1 } else { -1 };
        one(op, Shape::of(&[op.shape(0).dim(channel)]))
    }),
    (&["SoftmaxCrossEntropyWithLogits"], |op| {
        // One may be broadcast to the other, but both have rank two.
        let rows = Shape::of_rank(2);
        let both = super::broadcast(&op.shape(0).and(&rows), &op.shape(1).and(&rows));
        vec![Fact::new(op.t(), Shape::of(&[both.dim(0)])), Fact::new(op.t(), both)]
    }),
    (&["SparseSoftmaxCrossEntropyWithLogits"], |op| {
        let losses = Shape::of(&[op.shape(0).dim(0)]).and(op.shape(1));
        let rows = Shape::of(&[losses.dim(0), ANY]);
        vec![Fact::new(op.t(), losses), Fact::new(op.t(), op.shape(0).and(&rows))]
    }),
    (&["CTCLoss", "CTCLossV2"], |op| {
        vec![Fact::new(op.t(), Shape::of(&[op.shape(0).dim(1)])), Fact::new(op.t(), op.shape(0).clone())]
    }),
    (&["CTCGreedyDecoder"], |op| decoded(op, 1)),
    (&["CTCBeamSearchDecoder"], |op| decoded(op, op.count("top_paths"))),
    (&["InTopK", "InTopKV2"], |op| typed(DType::BOOL, Shape::of(&[op.shape(0).dim(0)]).and(op.shape(1)))),
    (&["TopK", "TopKV2", "ApproxTopK"], top_k),
    (&["NthElement"], |op| match op.shape(0).dims() {
        Some([dims @ .., _]) => one(op, Shape::of(dims)),
        _ => one(op, Shape::UNKNOWN),
    }),
    (&["SegmentSum", "SegmentMean", "SegmentProd", "SegmentMax", "SegmentMin", "SparseSegmentSum", "SparseSegmentMean",
       "SparseSegmentSqrtN"], |op| rows(op, ANY)),
    (&["UnsortedSegmentSum", "UnsortedSegmentProd", "UnsortedSegmentMax", "UnsortedSegmentMin", "SegmentSumV2",
       "SegmentMaxV2", "SegmentMinV2", "SegmentProdV2"], unsorted),
    (&["SparseSegmentSumWithNumSegments", "SparseSegmentMeanWithNumSegments", "SparseSegmentSqrtNWithNumSegments",
       "SparseSegmentSumGrad", "SparseSegmentMeanGrad", "SparseSegmentSqrtNGrad"], |op| {
        rows(op, op.input(3).integer().unwrap_or(ANY))
    }),
    (&["Bincount", "DenseBincount"], |op| {
        let size = op.input(1).integer().unwrap_or(ANY);
        let dtype = op.input(2).dtype;
        match op.shape(0).dims() {
            Some([rows, _]) if op.body.op(op.node) == "DenseBincount" => typed(dtype, Shape::of(&[*rows, size])),
            _ => typed(dtype, Shape::of(&[size])),
        }
    }),
    (&["HistogramFixedWidth"], |op| {
        typed(op.dtype_or("dtype", DType::INT32), Shape::of(&[op.input(2).integer().unwrap_or(ANY)]))
    }),
];

/// How to reduce elements: the start value and the step function.
type Reduce = (i64, fn(i64, i64) -> Option<i64>);

fn reduced(op: &Op<'_>, dtype: DType, fold: Option<Reduce>) -> Fact {
    let (from, along) = (op.input(0), op.input(1));
    let keeps = op.flag("keep_dims");
    let Some(dims) = from.shape.dims() else {
        return Fact::new(dtype, Shape::UNKNOWN);
    };
    let listed = match op.inputs.len() {
        // Without axes, ONNX reduces all, or all after the batch and the channels.
        1 => Some((op.int("first_axis").map_or(0, |first| first.max(0) as usize)..dims.len()).collect()),
        _ => along.known_integers().and_then(|along| axes(along, dims.len())),
    };
    let Some(reduced_axes) = listed else {
        let count = along.shape.elements().filter(|count| *count <= dims.len() as i64);
        let shape = match (keeps, count) {
            (true, _) => Shape::of_rank(dims.len()),
            (false, Some(0)) => from.shape.clone(),
            _ => Shape::UNKNOWN,
        };
        return Fact::new(dtype, shape);
    };
    let each = |(at, dim): (usize, &i64)| match (reduced_axes.contains(&at), keeps) {
        (true, true) => Some(1),
        (true, false) => None,
        (false, _) => Some(*dim),
    };
    let shape = Shape::of(&dims.iter().enumerate().filter_map(each).collect::<Vec<i64>>());
    let value = fold.and_then(|fold| reduce(from, &reduced_axes, fold));
    Fact::with_value(dtype, shape, value)
}

/// The value of a reduction over all axes of a tensor, or over no axis.
fn reduce(from: &Fact, axes: &[usize], (start, next): Reduce) -> Option<Vec<i64>> {
    let value = from.integers()?;
    let rank = from.shape.rank()?;
    if axes.is_empty() {
        return Some(value.to_vec());
    }
    if !(0..rank).all(|axis| axes.contains(&axis)) {
        return None;
    }
    let add = |sum: i64, n: &i64| {
        if sum == UNKNOWN || *n == UNKNOWN { UNKNOWN } else { next(sum, *n).unwrap_or(UNKNOWN) }
    };
    Some(vec![value.iter().fold(start, add)]).filter(|value| fold::any_known(value))
}

/// The index of the first extreme element along an axis; its value if all elements are known.
fn extreme(op: &Op<'_>, wins: fn(f64, f64) -> bool) -> Vec<Fact> {
    let dtype = op.dtype_or("output_type", DType::INT64);
    let from = op.input(0);
    let Some(dims) = from.shape.dims() else { return typed(dtype, Shape::UNKNOWN) };
    let Some(at) = op.input(1).integer().and_then(|axis| axis_of(axis, dims.len())) else {
        return typed(dtype, Shape::of_rank(dims.len().saturating_sub(1)));
    };
    let is_float = floats::is_float(from.dtype);
    // Sizes are small enough to be exact as floats.
    let number = |element: i64| if is_float { floats::number(element) } else { element as f64 };
    let elements = from.elements().filter(|elements| !elements.contains(&UNKNOWN) && !elements.is_empty());
    let value = elements.map(|elements| {
        let (count, inner) = (dims[at] as usize, product(&dims[at + 1..]) as usize);
        let best = |start: usize| {
            let at = |index: usize| number(elements[start + index * inner]);
            (1..count).fold(0, |best, index| if wins(at(index), at(best)) { index } else { best }) as i64
        };
        let rows = (0..elements.len()).step_by(count * inner);
        rows.flat_map(|row| (row..row + inner).map(best)).collect()
    });
    let mut dims = dims.to_vec();
    if op.flag("keep_dims") {
        dims[at] = 1;
    } else {
        dims.remove(at);
    }
    vec![Fact::with_value(dtype, Shape::of(&dims), value)]
}

fn top_k(op: &Op<'_>) -> Vec<Fact> {
    let k = if op.inputs.len() > 1 { op.input(1).integer().unwrap_or(ANY) } else { op.int("k").unwrap_or(ANY) };
    let axis = op.int("axis").unwrap_or(-1);
    let shape = match op.shape(0).dims().and_then(|dims| Some((dims, axis_of(axis, dims.len())?))) {
        Some((dims, at)) => Shape::of(&[&dims[..at], &[k], &dims[at + 1..]].concat()),
        None => Shape::UNKNOWN,
    };
    vec![Fact::new(op.t(), shape.clone()), Fact::new(op.dtype_or("index_type", DType::INT32), shape)]
}

/// The outputs of a CTC decoder: indices, values and shape of each path, and the scores.
fn decoded(op: &Op<'_>, paths: usize) -> Vec<Fact> {
    let mut facts = Vec::new();
    for dims in [&[ANY, 2][..], &[ANY], &[2]] {
        facts.extend(vec![Fact::new(DType::INT64, Shape::of(dims)); paths]);
    }
    let batch = Shape::of(&[op.shape(0).dim(1)]).and(op.shape(1)).dim(0);
    facts.push(Fact::new(op.t(), Shape::of(&[batch, paths as i64])));
    facts
}

/// The shape of the first input with another number of rows.
fn rows(op: &Op<'_>, count: i64) -> Vec<Fact> {
    match op.shape(0).dims() {
        Some([_, dims @ ..]) => one(op, Shape::of(&[&[count], dims].concat())),
        _ => one(op, Shape::UNKNOWN),
    }
}

fn unsorted(op: &Op<'_>) -> Vec<Fact> {
    let count = op.input(2).integer().unwrap_or(ANY);
    match (op.shape(0).dims(), op.shape(1).rank()) {
        (Some(dims), Some(rank)) if rank <= dims.len() => one(op, Shape::of(&[&[count], &dims[rank..]].concat())),
        _ => one(op, Shape::UNKNOWN),
    }
}
