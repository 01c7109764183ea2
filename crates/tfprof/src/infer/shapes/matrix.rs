//! Matrix products, decompositions and Fourier transforms.

use super::super::fact::{ANY, Fact, Shape};
use super::elementwise::bound;
use super::{Family, Op, broadcast, like_first, one, typed};
use crate::hash::TrustedMap;
use crate::model::attr_value;
use crate::model::dtype::DType;

#[rustfmt::skip]
pub const RULES: Family = &[
    (&["MatMul", "_FusedMatMul", "_MklMatMul"], |op| one(op, product(op, "transpose_a", "transpose_b"))),
    (&["SparseMatMul"], |op| typed(DType::FLOAT, product(op, "transpose_a", "transpose_b"))),
    (&["QuantizedMatMul", "QuantizedMatMulWithBias", "QuantizedMatMulWithBiasAndRelu",
       "QuantizedMatMulWithBiasAndReluAndRequantize", "QuantizedMatMulWithBiasAndRequantize"], |op| {
        vec![Fact::new(op.dtype("Toutput"), product(op, "transpose_a", "transpose_b")), bound(), bound()]
    }),
    (&["BatchMatMul", "BatchMatMulV2", "_FusedBatchMatMulV2"], |op| one(op, product(op, "adj_x", "adj_y"))),
    (&["BatchMatMulV3"], |op| typed(op.dtype("Tout"), product(op, "adj_x", "adj_y"))),
    (&["Einsum"], |op| one(op, einsum(op))),
    (&["SparseTensorDenseMatMul"], |op| {
        let rows = sparse_rows(op, usize::from(op.flag("adjoint_a")));
        let columns = op.shape(3).dim(i64::from(!op.flag("adjoint_b")));
        vec![Fact::new(op.dtype_or("T", op.input(1).dtype), Shape::of(&[rows, columns]))]
    }),
    (&["Cross"], like_first),
    (&["MatrixInverse", "BatchMatrixInverse", "MatrixExponential", "MatrixLogarithm", "Cholesky", "BatchCholesky",
       "CholeskyGrad", "MatrixSquareRoot"], |op| one(op, square(op.shape(0)))),
    (&["FFT", "FFT2D", "FFT3D", "IFFT", "IFFT2D", "IFFT3D", "BatchFFT", "BatchFFT2D", "BatchFFT3D", "BatchIFFT",
       "BatchIFFT2D", "BatchIFFT3D"], |op| typed(op.dtype_or("Tcomplex", op.t()), op.shape(0).clone())),
    (&["FFTND", "IFFTND"], |op| typed(op.dtype_or("Tcomplex", op.t()), transformed(op))),
    (&["RFFTND"], |op| typed(op.dtype_or("Tcomplex", DType::COMPLEX64), op.shape(0).rank().map(Shape::of_rank).unwrap_or_default())),
    (&["IRFFTND"], |op| typed(op.dtype_or("Treal", DType::FLOAT), op.shape(0).rank().map(Shape::of_rank).unwrap_or_default())),
    (&["RFFT"], |op| real_fft(op, 1, true)),
    (&["RFFT2D"], |op| real_fft(op, 2, true)),
    (&["RFFT3D"], |op| real_fft(op, 3, true)),
    (&["IRFFT"], |op| real_fft(op, 1, false)),
    (&["IRFFT2D"], |op| real_fft(op, 2, false)),
    (&["IRFFT3D"], |op| real_fft(op, 3, false)),
    (&["MatrixDeterminant", "BatchMatrixDeterminant"], |op| match op.shape(0).dims() {
        Some([batch @ .., _, _]) => one(op, Shape::of(batch)),
        _ => one(op, Shape::UNKNOWN),
    }),
    (&["MatrixSolve", "MatrixTriangularSolve", "BatchMatrixSolve", "BatchMatrixTriangularSolve"], |op| {
        match (op.shape(0).dims(), op.shape(1).dims()) {
            (Some([a @ .., m, n]), Some([b @ .., rows, columns])) => {
                let rows = [*rows, *m, *n].into_iter().find(|size| *size >= 0).unwrap_or(ANY);
                let batch = broadcast(&Shape::of(a), &Shape::of(b));
                let dims = batch.dims().map(|batch| [batch, &[rows, *columns]].concat());
                one(op, dims.map(|dims| Shape::of(&dims)).unwrap_or_default())
            }
            _ => one(op, Shape::UNKNOWN),
        }
    }),
    (&["LogMatrixDeterminant"], |op| {
        let batch = op.shape(0).dims().and_then(|dims| dims.split_last_chunk::<2>()).map(|(batch, _)| Shape::of(batch));
        vec![Fact::new(op.t(), batch.unwrap_or_default()); 2]
    }),
    (&["Svd"], |op| match op.shape(0).dims() {
        Some([batch @ .., m, n]) => {
            let short = if *m < 0 || *n < 0 { ANY } else { (*m).min(*n) };
            let of = |dims: &[i64]| Fact::new(op.t(), Shape::of(&[batch, dims].concat()));
            let full = op.flag("full_matrices");
            let (left, right) = if full { (*m, *n) } else { (short, short) };
            if op.attribute("compute_uv").is_none_or(attr_value::flag) {
                vec![of(&[short]), of(&[*m, left]), of(&[*n, right])]
            } else {
                vec![of(&[short]), Fact::new(op.t(), Shape::of(&[0])), Fact::new(op.t(), Shape::of(&[0]))]
            }
        }
        _ => vec![Fact::new(op.t(), Shape::UNKNOWN); 3],
    }),
    (&["Qr"], |op| match op.shape(0).dims() {
        Some([batch @ .., m, n]) => {
            let short = if *m < 0 || *n < 0 { ANY } else { (*m).min(*n) };
            let inner = if op.flag("full_matrices") { *m } else { short };
            let of = |dims: &[i64]| Fact::new(op.t(), Shape::of(&[batch, dims].concat()));
            vec![of(&[*m, inner]), of(&[inner, *n])]
        }
        _ => vec![Fact::new(op.t(), Shape::UNKNOWN); 2],
    }),
    (&["SelfAdjointEigV2", "Eig"], |op| {
        let dtype = op.dtype_or("Tout", op.t());
        let values = op.shape(0).dims().and_then(|dims| dims.split_last()).map(|(_, values)| Shape::of(values));
        let has_vectors = op.attribute("compute_v").is_none_or(attr_value::flag);
        let vectors = if has_vectors { op.shape(0).clone() } else { Shape::of(&[0]) };
        vec![Fact::new(dtype, values.unwrap_or_default()), Fact::new(dtype, vectors)]
    }),
    (&["Lu"], |op| {
        let rows = op.shape(0).dims().and_then(|dims| dims.split_last()).map(|(_, rows)| Shape::of(rows));
        vec![Fact::new(op.t(), op.shape(0).clone()), Fact::new(op.dtype_or("output_idx_type", DType::INT32), rows.unwrap_or_default())]
    }),
    (&["BandedTriangularSolve"], |op| match (op.shape(0).dims(), op.shape(1).dims()) {
        (Some([left @ .., _, _]), Some([right @ .., n, columns])) => {
            let batch = broadcast(&Shape::of(left), &Shape::of(right));
            one(op, batch.dims().map(|batch| Shape::of(&[batch, &[*n, *columns]].concat())).unwrap_or_default())
        }
        _ => one(op, Shape::UNKNOWN),
    }),
    (&["TridiagonalSolve"], |op| one(op, op.shape(1).clone())),
    (&["TridiagonalMatMul"], |op| one(op, op.shape(3).clone())),
    (&["UniformQuantizedDot", "UniformQuantizedDotHybrid"], |op| {
        typed(op.dtype("Tout"), Shape::of(&[op.shape(0).dim(0), op.shape(1).dim(1)]))
    }),
];

/// The shape of square matrices: one known size determines the other.
fn square(shape: &Shape) -> Shape {
    let Some([batch @ .., rows, columns]) = shape.dims() else { return shape.clone() };
    let size = if *rows < 0 { *columns } else { *rows };
    Shape::of(&[batch, &[size, size]].concat())
}

/// The shape of a matrix product, possibly batched.
fn product(op: &Op<'_>, flip_a: &str, flip_b: &str) -> Shape {
    let rows = |dims: &[i64], flipped: bool| if flipped { dims[1] } else { dims[0] };
    match (op.shape(0).dims(), op.shape(1).dims()) {
        (Some([left @ .., m, k]), Some([right @ .., l, n])) => {
            let batch = broadcast(&Shape::of(left), &Shape::of(right));
            let Some(batch) = batch.dims() else { return Shape::UNKNOWN };
            let (rows, columns) = (rows(&[*m, *k], op.flag(flip_a)), rows(&[*n, *l], op.flag(flip_b)));
            Shape::of(&[batch, &[rows, columns]].concat())
        }
        // A plain matrix product always has two dimensions.
        (None, Some([l, n])) if flip_a == "transpose_a" => Shape::of(&[ANY, rows(&[*n, *l], op.flag(flip_b))]),
        (Some([m, k]), None) if flip_a == "transpose_a" => Shape::of(&[rows(&[*m, *k], op.flag(flip_a)), ANY]),
        (None, None) if flip_a == "transpose_a" => Shape::of_rank(2),
        _ => Shape::UNKNOWN,
    }
}

/// The rows (`at` = 0) or columns (1) of a sparse matrix, from its dense shape in the third input.
fn sparse_rows(op: &Op<'_>, at: usize) -> i64 {
    op.input(2).integers().and_then(|dims| dims.get(at)).map_or(ANY, |dim| (*dim).max(ANY))
}

/// No tensor has more dimensions.
const MAX_RANK: usize = 254;

/// The sizes of all labels of an einsum: those of its letters and of the dimensions of its ellipsis.
#[derive(Debug, Default)]
pub struct Labels {
    letters: TrustedMap<u8, i64>,
    ellipsis: Vec<i64>,
}

impl Labels {
    /// Parses the labels of all inputs and of the output. `None` if the equation does not match the shapes or a rank is
    /// unknown.
    pub fn new(equation: &[u8], inputs: &[&Shape]) -> Option<(Labels, Vec<u8>)> {
        let text: Vec<u8> = equation.iter().copied().filter(|byte| *byte != b' ').collect();
        let arrow = text.windows(2).position(|pair| pair == b"->")?;
        let (terms, output) = (&text[..arrow], text[arrow + 2..].to_vec());
        let mut labels = Labels::default();
        let terms: Vec<&[u8]> = terms.split(|byte| *byte == b',').collect();
        if terms.len() != inputs.len() {
            return None;
        }
        for (term, shape) in terms.iter().zip(inputs) {
            labels.add(term, shape.dims()?)?;
        }
        Some((labels, output))
    }

    fn add(&mut self, term: &[u8], dims: &[i64]) -> Option<()> {
        let dots = term.windows(3).position(|three| three == b"...");
        let named = term.len() - if dots.is_some() { 3 } else { 0 };
        let broadcast_dims = dims.len().checked_sub(named)?;
        if dots.is_none() && broadcast_dims > 0 {
            return None;
        }
        let (front, back) = match dots {
            Some(at) => (&term[..at], &term[at + 3..]),
            None => (term, &b""[..]),
        };
        for (letter, dim) in front.iter().zip(dims).chain(back.iter().zip(&dims[front.len() + broadcast_dims..])) {
            let known = self.letters.entry(*letter).or_insert(ANY);
            *known = if *known < 0 { *dim } else { *known };
        }
        let ellipsis = Shape::of(&dims[front.len()..front.len() + broadcast_dims]);
        self.ellipsis = broadcast(&Shape::of(&self.ellipsis), &ellipsis).dims()?.to_vec();
        Some(())
    }

    /// The dimensions of the output.
    pub fn dims(&self, output: &[u8]) -> Option<Vec<i64>> {
        let mut dims = Vec::new();
        let mut rest = output;
        while let [letter, tail @ ..] = rest {
            if dims.len() > MAX_RANK {
                return None;
            }
            if let Some(tail) = rest.strip_prefix(b"...") {
                dims.extend(&self.ellipsis);
                rest = tail;
            } else {
                dims.push(*self.letters.get(letter)?);
                rest = tail;
            }
        }
        Some(dims)
    }

    /// The sizes of labels that are summed over, and of all labels; unknown sizes are [`ANY`].
    pub fn sizes(&self, output: &[u8]) -> (Vec<i64>, Vec<i64>) {
        let mut letters: Vec<(u8, i64)> = self.letters.iter().map(|(letter, size)| (*letter, *size)).collect();
        letters.sort_unstable();
        let summed = letters.iter().filter(|(letter, _)| !output.contains(letter)).map(|(_, size)| *size).collect();
        let all = letters.iter().map(|(_, size)| *size).chain(self.ellipsis.iter().copied()).collect();
        (summed, all)
    }
}

fn einsum(op: &Op<'_>) -> Shape {
    let shapes: Vec<&Shape> = op.inputs.iter().map(|input| &input.shape).collect();
    if let Some((labels, output)) = Labels::new(op.text("equation"), &shapes) {
        return labels.dims(&output).map(|dims| Shape::of(&dims)).unwrap_or_default();
    }
    Shape::UNKNOWN
}

/// The shape of a transform along chosen axes. TensorFlow's own rule ignores lengths other than those of the input, so
/// we leave their dimensions open.
fn transformed(op: &Op<'_>) -> Shape {
    let shape = op.shape(0);
    let (Some(dims), Some(lengths), Some(along)) = (shape.dims(), op.input(1).integers(), op.input(2).known_integers())
    else {
        return shape.clone();
    };
    let Some(along) = super::axes(along, dims.len()) else { return shape.clone() };
    let mut dims = dims.to_vec();
    for (axis, length) in along.into_iter().zip(lengths) {
        if dims[axis] != *length {
            dims[axis] = ANY;
        }
    }
    Shape::of(&dims)
}

fn real_fft(op: &Op<'_>, rank: usize, forward: bool) -> Vec<Fact> {
    let dtype = if forward { op.dtype_or("Tcomplex", DType::COMPLEX64) } else { op.dtype_or("Treal", DType::FLOAT) };
    let Some(dims) = op.shape(0).dims().filter(|dims| dims.len() >= rank) else { return typed(dtype, Shape::UNKNOWN) };
    let mut dims = dims.to_vec();
    let start = dims.len() - rank;
    let lengths = op.input(1).integers().filter(|lengths| lengths.len() == rank);
    for at in 0..rank {
        let length = lengths.map_or(ANY, |lengths| lengths[at].max(ANY));
        let halved = forward && at == rank - 1;
        dims[start + at] = if halved && length > 0 { length / 2 + 1 } else { length };
    }
    typed(dtype, Shape::of(&dims))
}
