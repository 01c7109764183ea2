//! Constant folding of small integer tensors, from which shapes are computed.

use super::super::fact::{Fact, LONGEST_VALUE, Shape, UNKNOWN};
use super::super::floats;
use super::broadcast;
use crate::model::dtype::DType;

/// Whether values of tensors of this type are tracked.
pub fn is_integer(dtype: DType) -> bool {
    matches!(dtype.0, 3..=6 | 9 | 10 | 17 | 22 | 23)
}

/// The elements of a tensor of integers or floats, each possibly unknown. `None` if the tensor is too long or its shape
/// is unknown.
pub fn elements(fact: &Fact) -> Option<Vec<i64>> {
    if let Some(elements) = fact.elements() {
        return Some(elements.to_vec());
    }
    let count = fact.shape.elements().filter(|count| *count <= LONGEST_VALUE as i64)?;
    is_integer(fact.dtype).then(|| vec![UNKNOWN; count as usize])
}

/// Whether any element is known.
pub fn any_known(value: &[i64]) -> bool {
    value.is_empty() || value.iter().any(|element| *element != UNKNOWN)
}

/// Applies `op` to each pair of elements, with TensorFlow's broadcasting.
pub fn zip_elements(a: &Fact, b: &Fact, op: impl Fn(i64, i64) -> Option<i64>) -> Option<Vec<i64>> {
    if a.value.is_none() && b.value.is_none() {
        return None;
    }
    let (left, right) = (elements(a)?, elements(b)?);
    let shape = broadcast(&a.shape, &b.shape);
    let dims = shape.known()?;
    if shape.elements()? > LONGEST_VALUE as i64 {
        return None;
    }
    let left = broadcast_elements(&left, a.shape.known()?, dims)?;
    let right = broadcast_elements(&right, b.shape.known()?, dims)?;
    let pair = |(a, b): (i64, i64)| {
        if a == UNKNOWN || b == UNKNOWN { UNKNOWN } else { op(a, b).unwrap_or(UNKNOWN) }
    };
    Some(left.into_iter().zip(right).map(pair).collect())
}

/// Like [`zip_elements`] for floats. Both must be tracked.
pub fn zip_floats(a: &Fact, b: &Fact, op: impl Fn(f64, f64) -> i64) -> Option<Vec<i64>> {
    if a.dtype != b.dtype || a.value.is_none() || b.value.is_none() {
        return None;
    }
    zip_elements(a, b, |a, b| Some(op(floats::number(a), floats::number(b))))
}

/// Broadcasts elements; `None` if the shapes are incompatible.
pub fn broadcast_elements(value: &[i64], from: &[i64], to: &[i64]) -> Option<Vec<i64>> {
    if from == to {
        return Some(value.to_vec());
    }
    let missing = to.len().checked_sub(from.len())?;
    pick(value, from, to, |index, out| match out.checked_sub(missing) {
        None => (0, 0),
        Some(axis) if from[axis] == 1 => (axis, 0),
        Some(axis) => (axis, index),
    })
}

/// Picks an element of `value` for each element of a tensor of shape `to`. `source` maps an index along an axis of the
/// result to an axis of the source and an index along it; indices along the same axis of the source add up.
pub fn pick(value: &[i64], from: &[i64], to: &[i64], source: impl Fn(i64, usize) -> (usize, i64)) -> Option<Vec<i64>> {
    let count = super::super::fact::product(to);
    if count > LONGEST_VALUE as i64 || to.iter().any(|dim| *dim < 0) {
        return None;
    }
    let mut strides = vec![1_i64; from.len()];
    for axis in (1..from.len()).rev() {
        strides[axis - 1] = strides[axis].saturating_mul(from[axis]);
    }
    let mut indices = vec![0_i64; to.len()];
    let mut out = Vec::with_capacity(count as usize);
    for _ in 0..count {
        let mut at = 0_i64;
        for (axis, index) in indices.iter().enumerate() {
            let (axis, index) = source(*index, axis);
            at = at.saturating_add(strides.get(axis).copied().unwrap_or(0).saturating_mul(index));
        }
        out.push(*usize::try_from(at).ok().and_then(|at| value.get(at))?);
        for axis in (0..to.len()).rev() {
            indices[axis] += 1;
            if indices[axis] < to[axis] {
                break;
            }
            indices[axis] = 0;
        }
    }
    Some(out)
}

/// The same elements in another shape.
pub fn reshaped(fact: &Fact, shape: Shape) -> Fact {
    Fact::with_value(fact.dtype, shape, fact.elements().map(<[i64]>::to_vec))
}
