//! Slices, strided slices with their five masks, and their gradients.

use super::super::fact::{ANY, Fact, Shape, UNKNOWN};
use super::{Family, Op, count, fold, minus, one, shape_from};

#[rustfmt::skip]
pub const RULES: Family = &[
    (&["Slice"], slice),
    (&["StridedSlice"], strided_slice),
    (&["StridedSliceGrad"], |op| vec![Fact::new(op.dtype_or("T", op.input(4).dtype), shape_from(op.input(0)))]),
    (&["StridedSliceAssign"], |op| one(op, op.shape(0).clone())),
];

fn slice(op: &Op<'_>) -> Vec<Fact> {
    let from = op.input(0);
    let rank = from.shape.rank().or_else(|| [1, 2].iter().find_map(|at| count(op.shape(*at).dim(0))));
    // No tensor has that many dimensions.
    let Some(rank) = rank.filter(|rank| Shape::of_rank(*rank).rank().is_some()) else { return one(op, Shape::UNKNOWN) };
    let number = |fact: &Fact, at: usize| fact.integers().and_then(|n| n.get(at)).copied().unwrap_or(UNKNOWN);
    let (begins, sizes) = (op.input(1), op.input(2));
    let dim = |at: usize| match number(sizes, at) {
        -1 => minus(from.shape.dim(at as i64), number(begins, at).max(ANY)),
        size => size.max(ANY),
    };
    let dims: Vec<i64> = (0..rank).map(dim).collect();
    let value = from.integers().and_then(|value| {
        let begins = begins.known_integers()?;
        fold::pick(value, from.shape.known()?, &dims, |index, axis| (axis, index.saturating_add(begins[axis])))
    });
    vec![Fact::with_value(op.t(), Shape::of(&dims), value)]
}

/// The slice of one dimension of the input, or a new dimension.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// The dimension of the input; `None` for a new one.
    axis: Option<usize>,
    range: Range,
    /// The dimension is removed from the result.
    shrinks: bool,
}

/// The elements taken from one dimension.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub start: i64,
    pub step: i64,
    /// [`ANY`] if unknown; then start and step mean nothing.
    pub size: i64,
}

impl Range {
    const UNKNOWN: Range = Range { start: 0, step: 0, size: ANY };
    const NEW_AXIS: Range = Range { start: 0, step: 0, size: 1 };
}

fn strided_slice(op: &Op<'_>) -> Vec<Fact> {
    let from = op.input(0);
    let Some(parts) = parts(op) else { return one(op, Shape::UNKNOWN) };
    let kept: Vec<Part> = parts.iter().copied().filter(|part| !part.shrinks).collect();
    let dims: Vec<i64> = kept.iter().map(|part| part.range.size).collect();
    let value = || {
        let value = from.elements().filter(|_| from.dtype == op.t())?;
        let dims_from = from.shape.known()?;
        if parts.iter().any(|part| part.range.size < 0) {
            return None;
        }
        // Removed dimensions stay in as dimensions of size one: they shift the offset of all elements.
        let all: Vec<i64> = parts.iter().map(|part| part.range.size).collect();
        fold::pick(value, dims_from, &all, |index, axis| match parts[axis] {
            Part { axis: None, .. } => (dims_from.len(), 0),
            Part { axis: Some(of), range, .. } => (of, range.step.saturating_mul(index).saturating_add(range.start)),
        })
    };
    vec![Fact::with_value(op.t(), Shape::of(&dims), value())]
}

/// The slice by dimension; `None` if the rank of the result is unknown.
fn parts(op: &Op<'_>) -> Option<Vec<Part>> {
    let dims = op.shape(0).dims()?;
    let lengths = [1, 2, 3].map(|at| op.shape(at).dim(0));
    let length = usize::try_from(*lengths.iter().find(|length| **length >= 0)?).ok().filter(|length| *length <= 64)?;
    let mask = |name: &str| op.int(name).unwrap_or(0) as u64;
    let (begin_mask, end_mask) = (mask("begin_mask"), mask("end_mask"));
    let (ellipsis, new_axis, shrink) = (mask("ellipsis_mask"), mask("new_axis_mask"), mask("shrink_axis_mask"));
    let number = |at: usize, entry: usize| {
        op.input(at).integers().and_then(|numbers| numbers.get(entry)).copied().unwrap_or(UNKNOWN)
    };
    let bit = |mask: u64, entry: usize| mask >> entry & 1 != 0;
    let dense = (0..length).filter(|entry| !bit(ellipsis, *entry) && !bit(new_axis, *entry)).count();
    let mut parts = Vec::new();
    let mut axis = 0;
    let whole = |axis: usize| {
        let range = Range { start: 0, step: 1, size: dims[axis] };
        Part { axis: Some(axis), range, shrinks: false }
    };
    for entry in 0..length {
        if bit(ellipsis, entry) {
            for _ in 0..dims.len().checked_sub(dense)? {
                parts.push(whole(axis));
                axis += 1;
            }
        } else if bit(new_axis, entry) {
            parts.push(Part { axis: None, range: Range::NEW_AXIS, shrinks: false });
        } else {
            let size = *dims.get(axis)?;
            let begin = if bit(begin_mask, entry) { None } else { Some(number(1, entry)) };
            let end = if bit(end_mask, entry) { None } else { Some(number(2, entry)) };
            let range = if bit(shrink, entry) {
                element(size, begin.unwrap_or(0))
            } else {
                interval(size, begin, end, number(3, entry))
            };
            parts.push(Part { axis: Some(axis), range, shrinks: bit(shrink, entry) });
            axis += 1;
        }
    }
    // The remaining dimensions are taken whole.
    parts.extend((axis..dims.len()).map(whole));
    Some(parts)
}

/// The range of one element.
fn element(size: i64, begin: i64) -> Range {
    let start = if begin < 0 && begin != UNKNOWN { begin.saturating_add(size) } else { begin };
    if size < 0 || start < 0 || start >= size { Range::UNKNOWN } else { Range { start, step: 1, size: 1 } }
}

/// The range of an interval, whose missing ends are those of the dimension.
pub(super) fn interval(size: i64, begin: Option<i64>, end: Option<i64>, step: i64) -> Range {
    // A dimension of unknown size may be shorter than the interval.
    if size < 0 || step == UNKNOWN || step == 0 || begin == Some(UNKNOWN) || end == Some(UNKNOWN) {
        return Range::UNKNOWN;
    }
    let forward = step > 0;
    let (low, high) = if forward { (0, size) } else { (-1, size - 1) };
    let clamped = |n: i64| (if n < 0 { n.saturating_add(size) } else { n }).clamp(low, high);
    let start = begin.map_or(if forward { low } else { high }, clamped);
    let stop = end.map_or(if forward { high } else { low }, clamped);
    let span = if forward { stop - start } else { start - stop };
    let stride = step.saturating_abs();
    let count = if span <= 0 { 0 } else { (span - 1) / stride + 1 };
    Range { start, step, size: count }
}
