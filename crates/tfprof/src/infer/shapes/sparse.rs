//! Sparse and ragged tensors, and ops that parse examples.

use super::super::fact::{ANY, Fact, Shape};
use super::{Family, Op, plus, shape_from, typed};
use crate::model::dtype::DType;

#[rustfmt::skip]
pub const RULES: Family = &[
    (&["SparseToDense"], |op| vec![Fact::new(op.dtype_or("T", op.input(2).dtype), shape_from(op.input(1)))]),
    (&["SparseReshape"], |op| {
        let (count, rank) = (op.shape(0).dim(0), op.shape(2).dim(0));
        vec![Fact::new(DType::INT64, Shape::of(&[count, rank])), Fact::new(DType::INT64, Shape::of(&[rank]))]
    }),
    (&["SparseReorder"], |op| vec![op.input(0).clone(), Fact::new(op.input(1).dtype, op.shape(1).clone())]),
    (&["SparseSoftmax", "SparseDenseCwiseMul", "SparseDenseCwiseDiv", "SparseDenseCwiseAdd"], |op| {
        vec![Fact::new(op.dtype_or("T", op.input(1).dtype), op.shape(1).clone())]
    }),
    (&["SparseTensorDenseAdd"], |op| vec![Fact::new(op.dtype_or("T", op.input(3).dtype), op.shape(3).clone())]),
    (&["SparseFillEmptyRows"], |op| {
        let rank = op.shape(0).dim(1);
        let rows = shape_from(op.input(2)).dim(0);
        vec![
            Fact::new(DType::INT64, Shape::of(&[ANY, rank])),
            Fact::new(op.dtype_or("T", op.input(1).dtype), Shape::of(&[ANY])),
            Fact::new(DType::BOOL, Shape::of(&[rows])),
            Fact::new(DType::INT64, Shape::of(&[op.shape(0).dim(0)])),
        ]
    }),
    (&["SparseConcat", "SparseSlice", "SparseAdd", "SparseSparseMaximum", "SparseSparseMinimum"], |op| {
        sparse_tensor(op.t(), op.shape(0).dim(1))
    }),
    // Crosses of features are lists, whatever the features are.
    (&["SparseCross"], |op| sparse_tensor(op.dtype("out_type"), 2)),
    (&["SparseCrossV2"], |_| sparse_tensor(DType::STRING, 2)),
    (&["SparseCrossHashed"], |_| sparse_tensor(DType::INT64, 2)),
    (&["SparseSplit"], |op| {
        let part = sparse_tensor(op.t(), Shape::of(&[op.shape(1).dim(1)]).and(op.shape(3)).dim(0));
        part.into_iter().flat_map(|fact| vec![fact; op.count("num_split")]).collect()
    }),
    (&["DenseCountSparseOutput"], |op| {
        sparse_tensor(op.dtype("output_type"), op.shape(0).rank().map_or(ANY, |rank| rank as i64))
    }),
    (&["SparseTensorToCSRSparseMatrix"], |_| typed(DType::VARIANT, Shape::scalar())),
    (&["SerializeSparse"], |op| typed(op.dtype_or("out_type", DType::STRING), Shape::of(&[3]))),
    (&["SerializeManySparse"], |op| typed(op.dtype_or("out_type", DType::STRING), Shape::of(&[ANY, 3]))),
    (&["SparseReduceSum", "SparseReduceMax"], |op| vec![Fact::new(op.dtype("T"), Shape::UNKNOWN)]),
    (&["DeserializeSparse", "DeserializeManySparse"], |op| sparse_tensor(op.dtype("dtype"), ANY)),
    (&["RaggedTensorToTensor"], |op| vec![Fact::new(op.dtype("T"), shape_from(op.input(0)))]),
    (&["RaggedRange"], |op| {
        // A row for each entry of a vector; scalars are the same for all rows.
        let vectors = || op.inputs.iter().filter(|input| input.shape.rank() != Some(0));
        let known = vectors().map(|input| input.shape.dim(0)).find(|rows| *rows >= 0);
        let rows = if vectors().next().is_none() { 1 } else { known.unwrap_or(ANY) };
        let splits = Fact::new(op.dtype_or("Tsplits", DType::INT64), Shape::of(&[plus(rows, 1)]));
        vec![splits, Fact::new(op.dtype("T"), Shape::of_rank(1))]
    }),
    (&["RaggedTensorToSparse"], |op| {
        let splits = op.count("RAGGED_RANK");
        let rank = op.shape(splits).rank().map_or(ANY, |rank| (rank + splits) as i64);
        sparse_tensor(op.t(), rank)
    }),
    (&["RaggedGather"], |op| {
        let values = op.shape(op.count("PARAMS_RAGGED_RANK"));
        let rows = values.dims().and_then(|dims| dims.get(1..)).map(|row| Shape::of(&[&[ANY], row].concat()));
        let splits = Fact::new(op.dtype_or("Tsplits", DType::INT64), Shape::of_rank(1));
        let mut facts = vec![splits; op.count("OUTPUT_RAGGED_RANK")];
        facts.push(Fact::new(op.dtype("Tvalues"), rows.unwrap_or_default()));
        facts
    }),
    (&["RaggedBincount"], |op| {
        typed(op.dtype_or("T", op.input(3).dtype), Shape::of(&[ANY, op.input(2).integer().unwrap_or(ANY)]))
    }),
    (&["ParseExample"], |op| {
        let batch = op.shape(0).dim(0);
        let dense = op.dtypes("Tdense").into_iter().zip(op.stated_shapes("dense_shapes"));
        let mut facts = sparse_features(op, "sparse_types", "Nsparse", 2);
        facts.extend(dense.map(|(dtype, shape)| {
            Fact::new(dtype, shape.dims().map(|dims| Shape::of(&[&[batch], dims].concat())).unwrap_or_default())
        }));
        facts
    }),
    (&["ParseSingleExample"], |op| {
        let mut facts = sparse_features(op, "sparse_types", "num_sparse", 1);
        let dense = op.dtypes("Tdense").into_iter().zip(op.stated_shapes("dense_shapes"));
        facts.extend(dense.map(|(dtype, shape)| Fact::new(dtype, shape)));
        facts
    }),
    (&["ParseExampleV2"], |op| {
        let mut facts = sparse_features(op, "sparse_types", "num_sparse", 1 + op.shape(0).rank().unwrap_or(1) as i64);
        let batch = op.shape(0).dims();
        let dense = op.dtypes("Tdense").into_iter().zip(op.stated_shapes("dense_shapes"));
        facts.extend(dense.map(|(dtype, shape)| {
            let dims = batch.zip(shape.dims()).map(|(batch, dims)| Shape::of(&[batch, dims].concat()));
            Fact::new(dtype, dims.unwrap_or_default())
        }));
        // Ragged features: all values, then the splits of each into rows.
        let values = op.dtypes("ragged_value_types").into_iter();
        facts.extend(values.map(|dtype| Fact::new(dtype, Shape::of_rank(1))));
        let rows = match batch {
            Some([size]) => plus(*size, 1),
            _ => ANY,
        };
        let splits = op.dtypes("ragged_split_types").into_iter();
        facts.extend(splits.map(|dtype| Fact::new(dtype, Shape::of(&[rows]))));
        facts
    }),
    (&["DenseToDenseSetOperation", "DenseToSparseSetOperation"], |op| {
        let rank = op.shape(0).rank().or_else(|| op.shape(1).rank().filter(|_| op.inputs.len() == 2));
        sparse_tensor(op.t(), rank.map_or_else(|| op.shape(3).dim(0), |rank| rank as i64))
    }),
    (&["SparseToSparseSetOperation"], |op| {
        sparse_tensor(op.dtype_or("T", op.input(1).dtype), Shape::of(&[op.shape(0).dim(1)]).and(op.shape(2)).dim(0))
    }),
    (&["SetSize"], |_| typed(DType::INT32, Shape::UNKNOWN)),
    (&["EditDistance"], |op| {
        // A distance for each pair of sequences, which lie along the last dimension.
        let sizes = op.input(2).known_integers().zip(op.input(5).known_integers());
        let shape = sizes.filter(|(a, b)| a.len() == b.len() && !a.is_empty()).map(|(a, b)| {
            let dims: Vec<i64> = a.iter().zip(b).take(a.len() - 1).map(|(a, b)| *a.max(b)).collect();
            Shape::of(&dims)
        });
        typed(DType::FLOAT, shape.unwrap_or_default())
    }),
    (&["ParseTensor"], |op| typed(op.dtype("out_type"), Shape::UNKNOWN)),
];

/// The three outputs of a sparse tensor: indices, values and dense shape.
fn sparse_tensor(dtype: DType, rank: i64) -> Vec<Fact> {
    vec![
        Fact::new(DType::INT64, Shape::of(&[ANY, rank])),
        Fact::new(dtype, Shape::of(&[ANY])),
        Fact::new(DType::INT64, Shape::of(&[rank])),
    ]
}

/// The outputs of parsed sparse features: all indices, then all values, then all dense shapes.
fn sparse_features(op: &Op<'_>, types: &str, count: &str, rank: i64) -> Vec<Fact> {
    let types = op.dtypes(types);
    let count = op.count(count).max(types.len()).min(super::MAX_OUTPUTS);
    let mut facts = vec![Fact::new(DType::INT64, Shape::of(&[ANY, rank])); count];
    facts.extend((0..count).map(|at| Fact::new(types.get(at).copied().unwrap_or_default(), Shape::of(&[ANY]))));
    facts.extend(vec![Fact::new(DType::INT64, Shape::of(&[rank])); count]);
    facts
}
