//! Ops that convert between shapes and integers, and compute with shapes.

use super::super::fact::{ANY, Fact, LONGEST_VALUE, Shape, UNKNOWN, product};
use super::super::floats;
use super::fold::{self, is_integer};
use super::{Family, Op, broadcast, shape_from, typed};
use crate::model::dtype::DType;

#[rustfmt::skip]
pub const RULES: Family = &[
    (&["Shape"], |op| {
        let dtype = op.dtype_or("out_type", DType::INT32);
        // ONNX may take a part of the dimensions.
        let (start, end) = (op.int("start").unwrap_or(0), op.int("end"));
        let Some(dims) = op.shape(0).dims().filter(|_| start != 0 || end.is_some()) else {
            return vec![shape_value(op.shape(0), dtype)];
        };
        let rank = dims.len() as i64;
        let place = |at: i64| (if at < 0 { at.saturating_add(rank) } else { at }).clamp(0, rank) as usize;
        let range = place(start)..place(end.unwrap_or(rank));
        vec![shape_value(&Shape::of(dims.get(range).unwrap_or_default()), dtype)]
    }),
    (&["ShapeN"], |op| {
        let dtype = op.dtype_or("out_type", DType::INT32);
        op.inputs.iter().map(|input| shape_value(&input.shape, dtype)).collect()
    }),
    (&["VariableShape"], |op| {
        let shape = op.input(0).held.as_ref().map(|held| held.shape.clone()).unwrap_or_default();
        vec![shape_value(&shape, op.dtype_or("out_type", DType::INT32))]
    }),
    (&["Size"], |op| vec![number(op.dtype_or("out_type", DType::INT32), op.shape(0).elements())]),
    (&["Rank"], |op| vec![number(DType::INT32, op.shape(0).rank().map(|rank| rank as i64))]),
    (&["Range"], range),
    (&["LinSpace"], |op| typed(op.t(), Shape::of(&[op.input(2).integer().unwrap_or(ANY)]))),
    (&["Fill"], fill),
    (&["BroadcastTo"], broadcast_to),
    (&["BroadcastArgs"], |op| {
        let (a, b) = (shape_from(op.input(0)), shape_from(op.input(1)));
        let (Some(x), Some(y)) = (a.dims(), b.dims()) else { return typed(op.t(), Shape::of_rank(1)) };
        let rank = x.len().max(y.len()) as i64;
        let value = broadcast(&a, &b).dims().map(sizes);
        vec![Fact::with_value(op.t(), Shape::of(&[rank]), value)]
    }),
    (&["BroadcastGradientArgs"], gradient_args),
    (&["InvertPermutation"], |op| {
        let value = op.input(0).known_integers().and_then(|permutation| {
            let mut inverse = vec![UNKNOWN; permutation.len()];
            for (at, target) in permutation.iter().enumerate() {
                *inverse.get_mut(usize::try_from(*target).ok()?)? = at as i64;
            }
            Some(inverse)
        });
        vec![Fact::with_value(op.t(), op.shape(0).clone(), value)]
    }),
    (&["ConcatOffset"], |op| op.inputs.iter().skip(1).map(|input| Fact::new(DType::INT32, input.shape.clone())).collect()),
    (&["DataFormatDimMap"], |op| typed(op.t(), op.shape(0).clone())),
    (&["DataFormatVecPermute"], permute_format),
    (&["UnravelIndex"], |op| {
        let rank = op.shape(1).dim(0);
        let shape = match op.shape(0).dims() {
            Some([]) => Shape::of(&[rank]),
            Some([count]) => Shape::of(&[rank, *count]),
            _ => Shape::UNKNOWN,
        };
        typed(op.dtype_or("Tidx", op.input(0).dtype), shape)
    }),
];

/// A shape as an integer tensor.
fn shape_value(shape: &Shape, dtype: DType) -> Fact {
    let Some(dims) = shape.dims() else { return Fact::new(dtype, Shape::of_rank(1)) };
    Fact::with_value(dtype, Shape::of(&[dims.len() as i64]), Some(sizes(dims)))
}

/// The dimensions as elements of an integer tensor.
fn sizes(dims: &[i64]) -> Vec<i64> {
    dims.iter().map(|dim| if *dim < 0 { UNKNOWN } else { *dim }).collect()
}

/// A scalar, possibly of unknown value.
fn number(dtype: DType, number: Option<i64>) -> Fact {
    Fact::with_value(dtype, Shape::scalar(), Some(vec![number.unwrap_or(UNKNOWN)]))
}

fn range(op: &Op<'_>) -> Vec<Fact> {
    let dtype = op.dtype_or("Tidx", op.input(0).dtype);
    if floats::is_float(dtype) {
        return typed(dtype, Shape::of(&[float_range(op, dtype).unwrap_or(ANY)]));
    }
    let numbers = || Some((op.input(0).integer()?, op.input(1).integer()?, op.input(2).integer()?));
    let Some((start, limit, step)) = numbers().filter(|(_, _, step)| *step != 0) else {
        return typed(dtype, Shape::of_rank(1));
    };
    let (start, limit, step) = (i128::from(start), i128::from(limit), i128::from(step));
    let span = if step > 0 { limit - start } else { start - limit };
    let count = if span <= 0 { 0 } else { (span + step.abs() - 1) / step.abs() };
    let Ok(count) = i64::try_from(count) else { return typed(dtype, Shape::of_rank(1)) };
    let value =
        (count <= LONGEST_VALUE as i64).then(|| (0..count).map(|at| (start + i128::from(at) * step) as i64).collect());
    vec![Fact::with_value(dtype, Shape::of(&[count]), value)]
}

/// The length of a range of floats, computed in their type.
fn float_range(op: &Op<'_>, dtype: DType) -> Option<i64> {
    let [start, limit, step] = [0, 1, 2].map(|at| floats::scalar(op.input(at)));
    let (start, limit, step) = (start?, limit?, step?);
    let rounded = |n: f64| floats::number(floats::element(dtype, n));
    let count = rounded(rounded(limit - start) / step).ceil();
    // TensorFlow refuses a step of 0, and one in the wrong direction.
    (step != 0.0 && (0.0..1e15).contains(&count)).then_some(count as i64)
}

fn fill(op: &Op<'_>) -> Vec<Fact> {
    let shape = shape_from(op.input(0));
    let count = shape.elements().filter(|count| *count <= LONGEST_VALUE as i64);
    let value = count.zip(op.input(1).integer()).map(|(count, n)| vec![n; count as usize]);
    vec![Fact::with_value(op.dtype_or("T", op.input(1).dtype), shape, value)]
}

fn broadcast_to(op: &Op<'_>) -> Vec<Fact> {
    let (from, shape) = (op.input(0), shape_from(op.input(1)));
    let value = from.integers().and_then(|value| fold::broadcast_elements(value, from.shape.known()?, shape.known()?));
    vec![Fact::with_value(op.t(), shape, value)]
}

/// The dimensions along which each of two shapes was broadcast.
fn gradient_args(op: &Op<'_>) -> Vec<Fact> {
    let unknown = || vec![Fact::new(op.t(), Shape::of_rank(1)); 2];
    let (Some(a), Some(b)) = (op.input(0).known_integers(), op.input(1).known_integers()) else { return unknown() };
    let rank = a.len().max(b.len());
    let at = |dims: &[i64], axis: usize| (axis + dims.len()).checked_sub(rank).map_or(1, |axis| dims[axis]);
    let (mut of_a, mut of_b) = (Vec::new(), Vec::new());
    for axis in 0..rank {
        let sizes = (at(a, axis), at(b, axis));
        // As TensorFlow: if both sizes are 1, both are summed over, which changes nothing.
        if sizes.0 == 1 {
            of_a.push(axis as i64);
        }
        if sizes.1 == 1 {
            of_b.push(axis as i64);
        }
    }
    if a == b {
        (of_a, of_b) = (Vec::new(), Vec::new());
    }
    [of_a, of_b].map(|axes| Fact::with_value(op.t(), Shape::of(&[axes.len() as i64]), Some(axes))).to_vec()
}

/// Permutes sizes from one data format to another, such as `NHWC` to `NCHW`.
fn permute_format(op: &Op<'_>) -> Vec<Fact> {
    let (from, to) = (op.text("src_format"), op.text("dst_format"));
    let value =
        op.input(0).integers().filter(|value| value.len() == from.len() && is_integer(op.t())).and_then(|value| {
            to.iter().map(|letter| from.iter().position(|other| other == letter).map(|at| value[at])).collect()
        });
    vec![Fact::with_value(op.t(), op.shape(0).clone(), value)]
}

/// The shape of a reshaped tensor. If exactly one size is unknown, it follows from the number of elements.
pub fn reshape(from: &Shape, to: &Shape) -> Shape {
    let Some(dims) = to.dims() else { return Shape::UNKNOWN };
    let mut open = dims.iter().enumerate().filter(|(_, dim)| **dim < 0).map(|(at, _)| at);
    let (Some(at), None) = (open.next(), open.next()) else { return to.clone() };
    let Some(elements) = from.elements() else { return to.clone() };
    let others: Vec<i64> = dims.iter().copied().filter(|dim| *dim >= 0).collect();
    let others = product(&others);
    if others == 0 || elements % others != 0 || elements == i64::MAX {
        return to.clone();
    }
    let mut dims = dims.to_vec();
    dims[at] = elements / others;
    Shape::of(&dims)
}
