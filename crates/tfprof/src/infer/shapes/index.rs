//! Indexing: gather, scatter, one-hot, partition and stitch.

use super::super::fact::{ANY, Fact, Shape, UNKNOWN};
use super::{Family, Op, axis_of, fold, one, plus, shape_from, typed};
use crate::hash::{UntrustedMap, UntrustedSet};
use crate::model::dtype::DType;

#[rustfmt::skip]
pub const RULES: Family = &[
    (&["Gather"], |op| vec![gather(op, op.input(0), Some(0), 0)]),
    (&["GatherV2"], |op| vec![gather(op, op.input(0), op.input(2).integer(), op.int("batch_dims").unwrap_or(0))]),
    (&["ResourceGather"], |op| {
        let held = op.input(0).held.as_deref();
        let shape = held.map(|held| held.shape.clone()).unwrap_or_default();
        let params = Fact::new(op.dtype_or("dtype", held.map_or(DType::UNKNOWN, |held| held.dtype)), shape);
        vec![gather(op, &params, Some(0), op.int("batch_dims").unwrap_or(0))]
    }),
    // ONNX has leading dimensions that both have in common.
    (&["GatherNd"], |op| one(op, gathered_nd(op.shape(0), op.shape(1), op.count("batch_dims")))),
    (&["ResourceGatherNd"], |op| {
        let held = op.input(0).held.as_ref().map(|held| held.shape.clone()).unwrap_or_default();
        typed(op.dtype("dtype"), gathered_nd(&held, op.shape(1), 0))
    }),
    (&["ScatterNd"], |op| vec![Fact::new(op.dtype_or("T", op.input(1).dtype), shape_from(op.input(2)))]),
    (&["OneHot"], |op| {
        let Some(dims) = op.shape(0).dims() else { return typed(op.dtype("T"), Shape::UNKNOWN) };
        let axis = op.int("axis").unwrap_or(-1);
        let mut dims = dims.to_vec();
        let at = if axis == -1 { Some(dims.len()) } else { axis_of(axis, dims.len() + 1) };
        let Some(at) = at else { return typed(op.dtype("T"), Shape::UNKNOWN) };
        dims.insert(at, op.input(1).integer().unwrap_or(ANY));
        typed(op.dtype_or("T", op.input(2).dtype), Shape::of(&dims))
    }),
    (&["Where"], |op| {
        let rank = op.shape(0).rank().map_or(ANY, |rank| rank as i64);
        typed(DType::INT64, Shape::of(&[ANY, rank]))
    }),
    (&["DynamicPartition"], |op| {
        let part = |at: usize| match (op.shape(0).dims(), op.shape(1).rank()) {
            (Some(dims), Some(rank)) if rank <= dims.len() => {
                let partitions = op.input(1).known_integers();
                let rows = partitions.map_or(ANY, |all| all.iter().filter(|part| **part == at as i64).count() as i64);
                Fact::new(op.t(), Shape::of(&[&[rows], &dims[rank..]].concat()))
            }
            _ => Fact::new(op.t(), Shape::UNKNOWN),
        };
        // The work is bounded by the number of partitions times that of elements, both of which are small.
        (0..op.count("num_partitions")).map(part).collect()
    }),
    (&["DynamicStitch", "ParallelDynamicStitch"], stitch),
    (&["Unique", "UniqueV2"], |op| unique(op, false)),
    (&["UniqueWithCounts", "UniqueWithCountsV2"], |op| unique(op, true)),
    (&["ListDiff"], |op| {
        let index_type = op.dtype_or("out_idx", DType::INT32);
        let (Some(all), Some(left_out)) = (op.input(0).known_integers(), op.input(1).known_integers()) else {
            return vec![Fact::new(op.t(), Shape::of_rank(1)), Fact::new(index_type, Shape::of_rank(1))];
        };
        let left_out: UntrustedSet<i64> = left_out.iter().copied().collect();
        let kept = all.iter().enumerate().filter(|(_, n)| !left_out.contains(n));
        let (indices, values): (Vec<i64>, Vec<i64>) = kept.map(|(at, n)| (at as i64, *n)).unzip();
        let shape = Shape::of(&[values.len() as i64]);
        vec![
            Fact::with_value(op.t(), shape.clone(), Some(values)),
            Fact::with_value(index_type, shape, Some(indices)),
        ]
    }),
    (&["LowerBound", "UpperBound"], |op| typed(op.dtype_or("out_type", DType::INT32), op.shape(1).clone())),
    (&["LogUniformCandidateSampler", "UniformCandidateSampler", "LearnedUnigramCandidateSampler",
       "FixedUnigramCandidateSampler", "AllCandidateSampler", "ThreadUnsafeUnigramCandidateSampler"], |op| {
        let count = op.int("num_sampled").unwrap_or(ANY);
        vec![
            Fact::new(DType::INT64, Shape::of(&[count])),
            Fact::new(DType::FLOAT, Shape::of(&[op.shape(0).dim(0), op.int("num_true").unwrap_or(ANY)])),
            Fact::new(DType::FLOAT, Shape::of(&[count])),
        ]
    }),
    (&["ComputeAccidentalHits"], |_| {
        [DType::INT32, DType::INT64, DType::FLOAT].map(|dtype| Fact::new(dtype, Shape::of_rank(1))).to_vec()
    }),
];

fn gather(op: &Op<'_>, params: &Fact, axis: Option<i64>, batch_dims: i64) -> Fact {
    let indices = op.input(1);
    let dtype = op.dtype_or("Tparams", params.dtype);
    let (Some(from), Some(of)) = (params.shape.dims(), indices.shape.dims()) else {
        return Fact::new(dtype, Shape::UNKNOWN);
    };
    let batch = if batch_dims < 0 { batch_dims.saturating_add(of.len() as i64) } else { batch_dims };
    let Some(batch) = usize::try_from(batch).ok().filter(|batch| *batch <= of.len() && *batch < from.len()) else {
        return Fact::new(dtype, Shape::UNKNOWN);
    };
    let Some(at) = axis.and_then(|axis| axis_of(axis, from.len())).filter(|at| *at >= batch) else {
        return Fact::new(dtype, Shape::of_rank(from.len() + of.len() - 1 - batch));
    };
    let both = Shape::of(&from[..batch]).and(&Shape::of(&of[..batch]));
    let dims = [both.dims().unwrap_or_default(), &from[batch..at], &of[batch..], &from[at + 1..]].concat();
    let value = || {
        let (value, picks) = (params.integers().filter(|_| from.len() == 1)?, indices.integers()?);
        let pick = |at: &i64| {
            // ONNX counts negative indices from the end.
            let at = if *at < 0 { at.saturating_add(value.len() as i64) } else { *at };
            let known = usize::try_from(at).ok().and_then(|at| value.get(at));
            known.copied().unwrap_or(UNKNOWN)
        };
        Some(picks.iter().map(pick).collect()).filter(|value: &Vec<i64>| fold::any_known(value))
    };
    Fact::with_value(dtype, Shape::of(&dims), value())
}

fn gathered_nd(params: &Shape, indices: &Shape, batch: usize) -> Shape {
    let (Some(from), Some([of @ .., depth])) = (params.dims(), indices.dims()) else { return Shape::UNKNOWN };
    match usize::try_from(*depth) {
        Ok(depth) if depth.saturating_add(batch) <= from.len() => Shape::of(&[of, &from[depth + batch..]].concat()),
        _ => Shape::UNKNOWN,
    }
}

/// Rows from several tensors. The largest index determines how many, if it is known.
fn stitch(op: &Op<'_>) -> Vec<Fact> {
    let (indices, data) = op.inputs.split_at(op.inputs.len() / 2);
    let mut rest = Shape::UNKNOWN;
    let mut largest = Some(-1);
    for (index, data) in indices.iter().zip(data) {
        largest = largest.zip(index.known_integers()).map(|(most, value)| value.iter().fold(most, |a, b| a.max(*b)));
        if let (Some(rank), Some(dims)) = (index.shape.rank(), data.shape.dims())
            && rank <= dims.len()
        {
            rest = rest.and(&Shape::of(&dims[rank..]));
        }
    }
    let Some(dims) = rest.dims() else { return one(&Op { inputs: data, ..*op }, Shape::UNKNOWN) };
    let rows = largest.map_or(ANY, |largest| plus(largest.max(ANY).saturating_add(1), 0));
    let shape = Shape::of(&[&[rows], dims].concat());
    let value = || {
        let count = usize::try_from(rows)
            .ok()
            .filter(|count| dims.is_empty() && *count <= super::super::fact::LONGEST_VALUE)?;
        let mut value = vec![UNKNOWN; count];
        for (index, data) in indices.iter().zip(data) {
            for (at, n) in index.known_integers()?.iter().zip(data.integers()?) {
                *value.get_mut(usize::try_from(*at).ok()?)? = *n;
            }
        }
        Some(value)
    };
    vec![Fact::with_value(op.dtype_or("T", data.first().map_or(DType::UNKNOWN, |data| data.dtype)), shape, value())]
}

fn unique(op: &Op<'_>, counts: bool) -> Vec<Fact> {
    let index_type = op.dtype_or("out_idx", DType::INT32);
    if let (Some(value), Some(1)) = (op.input(0).known_integers(), op.shape(0).rank()) {
        let mut distinct: Vec<i64> = Vec::new();
        let mut index_of = UntrustedMap::default();
        let indices: Vec<i64> = value
            .iter()
            .map(|n| {
                let next = distinct.len() as i64;
                let index = *index_of.entry(*n).or_insert(next);
                if index == next {
                    distinct.push(*n);
                }
                index
            })
            .collect();
        let shape = Shape::of(&[distinct.len() as i64]);
        let mut facts = vec![
            Fact::with_value(op.t(), shape.clone(), Some(distinct)),
            Fact::with_value(index_type, op.shape(0).clone(), Some(indices)),
        ];
        facts.extend(counts.then(|| Fact::new(index_type, shape)));
        return facts;
    }
    let shape = if op.shape(0).rank() == Some(1) { Shape::of_rank(1) } else { Shape::UNKNOWN };
    let mut facts = vec![Fact::new(op.t(), shape.clone()), Fact::new(index_type, op.shape(0).clone())];
    if op.shape(0).rank() != Some(1) {
        facts[1].shape = Shape::of_rank(1);
    }
    if counts {
        facts.push(Fact::new(index_type, Shape::of_rank(1)));
    }
    facts
}
