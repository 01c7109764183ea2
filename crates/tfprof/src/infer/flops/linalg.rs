//! Matrix decompositions, linear solvers and Fourier transforms: the leading terms of the usual algorithms.

use super::super::fact::Fact;
use super::{Count, Flops, Formula, Op, UnknownReason, Work, dim, elements, formula, log2_ceil, product};

#[rustfmt::skip]
pub const FORMULAS: &[Formula] = &[
    formula(&["FFT", "IFFT", "BatchFFT", "BatchIFFT"], Count::By(|op| fft(op, 1, 5), "5 · N(in0) · log2 n, n the elements of one transform")),
    formula(&["FFT2D", "IFFT2D", "BatchFFT2D", "BatchIFFT2D"], Count::By(|op| fft(op, 2, 5), "5 · N(in0) · log2 n")),
    formula(&["FFT3D", "IFFT3D", "BatchFFT3D", "BatchIFFT3D"], Count::By(|op| fft(op, 3, 5), "5 · N(in0) · log2 n")),
    formula(&["FFTND", "IFFTND"], Count::By(
        |op| Ok(Work::plain(product(&[5, elements(op.input(0)?), levels_along(op, op.input(0)?)?]))),
        "5 · N(in0) · log2 n, n the elements along the axes in2")),
    formula(&["RFFTND"], Count::By(
        |op| Ok(Work::plain(product(&[5, elements(op.input(0)?), levels_along(op, op.input(0)?)?]) / 2)),
        "2.5 · N(in0) · log2 n")),
    formula(&["RFFT"], Count::By(|op| fft(op, 1, 2), "2.5 · N(in0) · log2 n, rounded down for each level")),
    formula(&["RFFT2D"], Count::By(|op| fft(op, 2, 2), "2.5 · N(in0) · log2 n")),
    formula(&["RFFT3D"], Count::By(|op| fft(op, 3, 2), "2.5 · N(in0) · log2 n")),
    formula(&["IRFFT"], Count::By(|op| inverse_real_fft(op, 1), "2.5 · N(out) · log2 n")),
    formula(&["IRFFT2D"], Count::By(|op| inverse_real_fft(op, 2), "2.5 · N(out) · log2 n")),
    formula(&["IRFFT3D"], Count::By(|op| inverse_real_fft(op, 3), "2.5 · N(out) · log2 n")),
    formula(&["Cholesky", "BatchCholesky"], Count::By(|op| cubes(op, 1, 3), "n³ / 3 for each matrix n×n")),
    formula(&["CholeskyGrad", "MatrixInverse", "BatchMatrixInverse"], Count::By(|op| cubes(op, 2, 1), "2 · n³")),
    formula(&["MatrixDeterminant", "BatchMatrixDeterminant", "LogMatrixDeterminant", "Lu"], Count::By(|op| cubes(op, 2, 3), "2 · n³ / 3")),
    formula(&["SelfAdjointEigV2", "BatchSelfAdjointEigV2"], Count::By(|op| cubes(op, 9, 1), "9 · n³")),
    formula(&["MatrixExponential", "MatrixSquareRoot", "MatrixLogarithm", "Eig"], Count::By(|op| cubes(op, 25, 1), "25 · n³")),
    formula(&["MatrixSolve", "BatchMatrixSolve"], Count::By(|op| {
        let (n, work) = (square_size(op)?, cubes(op, 2, 3)?);
        Ok(work.and(product(&[2, n, elements(op.input(1)?)])))
    }, "2 · n³ / 3 for each matrix, and 2 · n · N(in1)")),
    formula(&["MatrixTriangularSolve", "BatchMatrixTriangularSolve"], Count::By(
        |op| Ok(Work::plain(product(&[square_size(op)?, elements(op.output()?)]))), "n · N(out)")),
    formula(&["BandedTriangularSolve"], Count::By(|op| {
        let bands = op.input(0)?;
        let bands = dim(bands, bands.len().checked_sub(2).ok_or(UnknownReason::Malformed)?)?;
        Ok(Work::plain(product(&[2, bands, elements(op.output()?)])))
    }, "2 · bands · N(out)")),
    formula(&["TridiagonalSolve"], Count::By(|op| Ok(Work::plain(elements(op.input(1)?).saturating_mul(8))), "8 · N(in1)")),
    formula(&["MatrixSolveLs", "BatchMatrixSolveLs"], Count::By(|op| rectangle(op, 2), "2 · m · n · min(m, n)")),
    formula(&["Qr"], Count::By(|op| rectangle(op, 2), "2 · m · n · min(m, n)")),
    formula(&["Svd"], Count::By(|op| rectangle(op, 14), "14 · m · n · min(m, n)")),
    formula(&["AudioSpectrogram"], Count::By(|op| {
        let out = elements(op.output()?);
        let window = op.output()?.last().map_or(0, |columns| columns.saturating_sub(1).saturating_mul(2));
        Ok(Work::plain(product(&[5, out, log2_ceil(window)])))
    }, "5 · N(out) · log2 of the window")),
];

/// The elements of one transform over the last `rank` dimensions.
fn transform_size(dims: &[i64], rank: usize) -> Result<i64, UnknownReason> {
    Ok(product(dims.get(dims.len().checked_sub(rank).ok_or(UnknownReason::Malformed)?..).unwrap_or_default()))
}

/// The levels of a transform along the axes that the third input lists.
fn levels_along(op: &Op<'_>, dims: &[i64]) -> Result<i64, UnknownReason> {
    let axes = op.facts.get(2).and_then(Fact::known_integers).ok_or(UnknownReason::Shape)?;
    let size = |axis: &i64| {
        let at = if *axis < 0 { axis + dims.len() as i64 } else { *axis };
        usize::try_from(at).ok().and_then(|at| dims.get(at)).copied().ok_or(UnknownReason::Malformed)
    };
    Ok(log2_ceil(product(&axes.iter().map(size).collect::<Result<Vec<i64>, _>>()?)))
}

fn fft(op: &Op<'_>, rank: usize, each: i64) -> Flops {
    let dims = op.input(0)?;
    let levels = log2_ceil(transform_size(dims, rank)?);
    let half = if each == 2 { elements(dims) / 2 } else { 0 };
    Ok(Work::plain(product(&[elements(dims).saturating_mul(each).saturating_add(half), levels])))
}

fn inverse_real_fft(op: &Op<'_>, rank: usize) -> Flops {
    let dims = op.output()?;
    let levels = log2_ceil(transform_size(dims, rank)?);
    Ok(Work::plain(product(&[elements(dims).saturating_mul(5) / 2, levels])))
}

/// The size of the square matrices in the first input.
fn square_size(op: &Op<'_>) -> Result<i64, UnknownReason> {
    op.input(0)?.last().copied().ok_or(UnknownReason::Malformed)
}

/// `times` · n³ / `over` for each matrix of size n×n.
fn cubes(op: &Op<'_>, times: i64, over: i64) -> Flops {
    let (n, dims) = (square_size(op)?, op.input(0)?);
    Ok(Work::plain(product(&[elements(dims), n, times]) / over))
}

/// `times` · m · n · min(m, n) for each matrix of size m×n.
fn rectangle(op: &Op<'_>, times: i64) -> Flops {
    let dims = op.input(0)?;
    let [.., rows, columns] = dims else { return Err(UnknownReason::Malformed) };
    Ok(Work::plain(product(&[elements(dims), *rows.min(columns), times])))
}
