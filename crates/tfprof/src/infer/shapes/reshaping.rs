//! Ops that rearrange, join, split, pad or repeat tensors.

use super::super::fact::{ANY, Fact, LONGEST_VALUE, Shape, UNKNOWN};
use super::super::floats;
use super::elementwise::bound;
use super::fold::{self, is_integer};
use super::shape_math::reshape;
use super::{Family, Op, axes, axis_of, minus, one, over, plus, shape_from, times};

#[rustfmt::skip]
pub const RULES: Family = &[
    (&["Reshape"], |op| {
        let mut to = shape_from(op.input(1));
        if op.flag("zero_copies") && let Some(dims) = to.dims() {
            let dim = |(at, dim): (usize, &i64)| if *dim == 0 { op.shape(0).dim(at as i64) } else { *dim };
            to = Shape::of(&dims.iter().enumerate().map(dim).collect::<Vec<i64>>());
        }
        let shape = reshape(op.shape(0), &to);
        vec![fold::reshaped(op.input(0), shape)]
    }),
    (&["QuantizedReshape"], |op| {
        let shape = reshape(op.shape(0), &shape_from(op.input(1)));
        vec![fold::reshaped(op.input(0), shape), op.input(2).clone(), op.input(3).clone()]
    }),
    (&["ExpandDims"], expand),
    (&["Squeeze"], squeeze),
    (&["Transpose", "ConjugateTranspose"], transpose),
    (&["Pack"], pack),
    (&["ParallelConcat"], |op| one(op, op.stated_shape("shape"))),
    (&["Unpack"], unpack),
    (&["ConcatV2"], |op| match op.inputs.split_last() {
        Some((axis, parts)) => vec![concat(op, parts, axis)],
        None => Vec::new(),
    }),
    (&["QuantizedConcat"], |op| {
        let parts = op.inputs.get(1..=op.count("N")).unwrap_or_default();
        vec![concat(op, parts, op.input(0)), bound(), bound()]
    }),
    (&["Concat"], |op| match op.inputs.split_first() {
        Some((axis, parts)) => vec![concat(op, parts, axis)],
        None => Vec::new(),
    }),
    (&["Split"], |op| split(op, 1, op.input(0), None)),
    (&["SplitV"], |op| split(op, 0, op.input(2), Some(op.input(1)))),
    (&["Tile"], tile),
    (&["Pad", "PadV2", "MirrorPad"], |op| one(op, padded(op.shape(0), op.input(1), plus))),
    (&["MirrorPadGrad"], |op| one(op, padded(op.shape(0), op.input(1), minus))),
    (&["Reverse", "ReverseV2", "ReverseSequence", "Roll", "MatrixBandPart", "BatchMatrixBandPart", "TensorScatterUpdate",
       "TensorScatterAdd", "TensorScatterSub", "TensorScatterMax", "TensorScatterMin", "TensorStridedSliceUpdate",
       "MatrixSetDiag", "MatrixSetDiagV2", "MatrixSetDiagV3", "ScatterNdNonAliasingAdd"], super::like_first),
    (&["SpaceToDepth"], |op| depth(op, over, |channels, block| times(channels, times(block, block)))),
    (&["DepthToSpace"], |op| depth(op, times, |channels, block| over(channels, times(block, block)))),
    (&["SpaceToBatchND"], |op| blocks(op, |size, block, pads| over(plus(plus(size, pads[0]), pads[1]), block), times)),
    (&["BatchToSpaceND"], |op| blocks(op, |size, block, crops| minus(minus(times(size, block), crops[0]), crops[1]), over)),
    (&["Diag"], |op| {
        let dims = op.shape(0).dims();
        one(op, dims.map(|dims| Shape::of(&[dims, dims].concat())).unwrap_or_default())
    }),
    (&["DiagPart"], |op| {
        let dims = op.shape(0).dims();
        one(op, dims.map(|dims| Shape::of(&dims[..dims.len() / 2])).unwrap_or_default())
    }),
    (&["MatrixDiag", "BatchMatrixDiag"], |op| {
        let dims = op.shape(0).dims().filter(|dims| !dims.is_empty());
        one(op, dims.map(|dims| Shape::of(&[dims, &dims[dims.len() - 1..]].concat())).unwrap_or_default())
    }),
    (&["MatrixDiagV2", "MatrixDiagV3"], band),
    (&["MatrixDiagPartV2", "MatrixDiagPartV3"], diagonals),
    (&["MatrixDiagPart", "BatchMatrixDiagPart"], |op| match op.shape(0).dims() {
        Some([batch @ .., rows, columns]) => {
            let short = if *rows < 0 || *columns < 0 { ANY } else { (*rows).min(*columns) };
            one(op, Shape::of(&[batch, &[short]].concat()))
        }
        _ => one(op, Shape::UNKNOWN),
    }),
];

fn expand(op: &Op<'_>) -> Vec<Fact> {
    let from = op.input(0);
    let Some(dims) = from.shape.dims() else { return one(op, Shape::UNKNOWN) };
    // ONNX adds several dimensions at once.
    if let Some(added @ [_, _, ..]) = op.input(1).known_integers() {
        let Some(mut added) = axes(added, dims.len() + added.len()) else { return one(op, Shape::UNKNOWN) };
        added.sort_unstable();
        let mut dims = dims.to_vec();
        added.into_iter().for_each(|at| dims.insert(at.min(dims.len()), 1));
        return vec![fold::reshaped(from, Shape::of(&dims))];
    }
    let at = op.input(1).integer().and_then(|axis| axis_of(axis, dims.len() + 1));
    let Some(at) = at else {
        let added = op.shape(1).elements().and_then(|count| usize::try_from(count).ok()).filter(|count| *count <= 64);
        return one(op, added.map_or(Shape::UNKNOWN, |added| Shape::of_rank(dims.len() + added)));
    };
    let mut dims = dims.to_vec();
    dims.insert(at, 1);
    vec![fold::reshaped(from, Shape::of(&dims))]
}

fn squeeze(op: &Op<'_>) -> Vec<Fact> {
    let from = op.input(0);
    let Some(dims) = from.shape.dims() else { return one(op, Shape::UNKNOWN) };
    let squeezed = match op.inputs.get(1) {
        None => op.ints(if op.attribute("squeeze_dims").is_some() { "squeeze_dims" } else { "axis" }),
        Some(axes) => match axes.known_integers() {
            Some(axes) => axes.to_vec(),
            None => return one(op, Shape::UNKNOWN),
        },
    };
    let kept: Vec<i64> = if squeezed.is_empty() {
        // An unknown size may be 1, so the rank is unknown.
        if dims.contains(&ANY) {
            return one(op, Shape::UNKNOWN);
        }
        dims.iter().copied().filter(|dim| *dim != 1).collect()
    } else {
        let Some(squeezed) = axes(&squeezed, dims.len()) else { return one(op, Shape::UNKNOWN) };
        let kept = dims.iter().enumerate().filter(|(at, _)| !squeezed.contains(at));
        kept.map(|(_, dim)| *dim).collect()
    };
    vec![fold::reshaped(from, Shape::of(&kept))]
}

fn transpose(op: &Op<'_>) -> Vec<Fact> {
    let (from, order) = (op.input(0), op.input(1));
    let rank = from.shape.rank().or_else(|| usize::try_from(order.shape.dim(0)).ok());
    let Some(rank) = rank else { return one(op, Shape::UNKNOWN) };
    let order = match op.inputs.len() {
        // Without an order, ONNX reverses all dimensions.
        1 => Some((0..rank).rev().collect()),
        _ => order.known_integers().and_then(|order| axes(order, rank)).filter(|order| order.len() == rank),
    };
    let (Some(order), Some(dims)) = (order, from.shape.dims()) else { return one(op, Shape::of_rank(rank)) };
    let to: Vec<i64> = order.iter().map(|axis| dims[*axis]).collect();
    let value = from
        .integers()
        .and_then(|value| fold::pick(value, from.shape.known()?, &to, |index, axis| (order[axis], index)));
    vec![Fact::with_value(op.t(), Shape::of(&to), value)]
}

fn pack(op: &Op<'_>) -> Vec<Fact> {
    let all = op.inputs.iter().fold(Shape::UNKNOWN, |all, input| all.and(&input.shape));
    let Some(dims) = all.dims() else { return one(op, Shape::UNKNOWN) };
    let Some(at) = axis_of(op.int("axis").unwrap_or(0), dims.len() + 1) else { return one(op, Shape::UNKNOWN) };
    let mut to = dims.to_vec();
    to.insert(at, op.inputs.len() as i64);
    let value = || {
        if !(is_integer(op.t()) || floats::is_float(op.t())) || at != 0 {
            return None;
        }
        let mut value = Vec::new();
        for input in op.inputs {
            value.extend(fold::elements(&Fact { dtype: op.t(), shape: all.clone(), ..input.clone() })?);
            if value.len() > LONGEST_VALUE {
                return None;
            }
        }
        Some(value).filter(|value| fold::any_known(value))
    };
    vec![Fact::with_value(op.t(), Shape::of(&to), value())]
}

fn unpack(op: &Op<'_>) -> Vec<Fact> {
    let (count, from) = (op.count("num"), op.input(0));
    let Some(dims) = from.shape.dims() else { return vec![Fact::new(op.t(), Shape::UNKNOWN); count] };
    let Some(at) = axis_of(op.int("axis").unwrap_or(0), dims.len()) else {
        return vec![Fact::new(op.t(), Shape::UNKNOWN); count];
    };
    let mut to = dims.to_vec();
    to.remove(at);
    let shape = Shape::of(&to);
    let each = shape.elements().and_then(|each| usize::try_from(each).ok());
    let part = |index: usize| {
        let value = from.integers().filter(|_| at == 0).zip(each);
        let value = value.and_then(|(value, each)| value.get(index * each..(index + 1) * each)).map(<[i64]>::to_vec);
        Fact::with_value(op.t(), shape.clone(), value)
    };
    (0..count).map(part).collect()
}

fn concat(op: &Op<'_>, parts: &[Fact], axis: &Fact) -> Fact {
    let ranks = parts.iter().filter_map(|part| part.shape.rank());
    let Some(rank) = ranks.max() else { return Fact::new(op.t(), Shape::UNKNOWN) };
    let Some(at) = axis.integer().and_then(|axis| axis_of(axis, rank)) else {
        return Fact::new(op.t(), Shape::of_rank(rank));
    };
    let mut along = 0;
    let mut others = Shape::of_rank(rank);
    for part in parts {
        along = plus(along, part.shape.dim(at as i64));
        others = others.and(&part.shape);
    }
    let mut dims = others.dims().unwrap_or_default().to_vec();
    dims[at] = along;
    let value = || {
        if rank != 1 || !is_integer(op.t()) {
            return None;
        }
        let mut value = Vec::new();
        for part in parts {
            value.extend(fold::elements(part)?);
            if value.len() > LONGEST_VALUE {
                return None;
            }
        }
        Some(value).filter(|value| fold::any_known(value))
    };
    Fact::with_value(op.t(), Shape::of(&dims), value())
}

/// Parts of equal size, or of the given sizes.
fn split(op: &Op<'_>, from: usize, axis: &Fact, sizes: Option<&Fact>) -> Vec<Fact> {
    let (from, count) = (op.input(from), op.count("num_split"));
    let dtype = if op.t() == axis.dtype && sizes.is_none() { from.dtype } else { op.t() };
    let Some(dims) = from.shape.dims() else { return vec![Fact::new(dtype, Shape::UNKNOWN); count] };
    let Some(at) = axis.integer().and_then(|axis| axis_of(axis, dims.len())) else {
        return vec![Fact::new(dtype, Shape::of_rank(dims.len())); count];
    };
    let size_of = |part: usize| match sizes {
        // In ONNX, the last part may be smaller.
        None if op.flag("uneven") && dims[at] >= 0 => {
            let size = (dims[at] - 1) / (count as i64).max(1) + 1;
            (dims[at] - size.saturating_mul(part as i64)).clamp(0, size)
        }
        None => over(dims[at], count as i64),
        Some(sizes) => {
            let sizes = sizes.integers().unwrap_or_default();
            match sizes.get(part).copied() {
                // −1 is the remainder.
                Some(-1) => {
                    let others = sizes.iter().enumerate().filter(|(other, _)| *other != part);
                    let sum = others.fold(0, |sum, (_, size)| plus(sum, *size));
                    minus(dims[at], sum)
                }
                Some(size) => size.max(ANY),
                None if count == 1 => dims[at],
                None => ANY,
            }
        }
    };
    let mut start = 0;
    let part = |part: usize| {
        let mut to = dims.to_vec();
        to[at] = size_of(part);
        let range = (start, plus(start, to[at]));
        start = range.1;
        let value = from.integers().filter(|_| dims.len() == 1).and_then(|value| {
            value.get(usize::try_from(range.0).ok()?..usize::try_from(range.1).ok()?).map(<[i64]>::to_vec)
        });
        Fact::with_value(dtype, Shape::of(&to), value)
    };
    (0..count).map(part).collect()
}

fn tile(op: &Op<'_>) -> Vec<Fact> {
    let (from, times_each) = (op.input(0), shape_from(op.input(1)));
    let rank = from.shape.rank().or(times_each.rank());
    let Some(rank) = rank else { return one(op, Shape::UNKNOWN) };
    let dims: Vec<i64> = (0..rank as i64).map(|at| times(from.shape.dim(at), times_each.dim(at))).collect();
    let value = from.integers().and_then(|value| {
        let from = from.shape.known()?;
        fold::pick(value, from, &dims, |index, axis| (axis, index.checked_rem(from[axis]).unwrap_or(0)))
    });
    vec![Fact::with_value(op.t(), Shape::of(&dims), value)]
}

/// Applies the two paddings of each dimension.
pub(super) fn padded(shape: &Shape, pads: &Fact, change: fn(i64, i64) -> i64) -> Shape {
    let rank = shape.rank().or_else(|| usize::try_from(pads.shape.dim(0)).ok());
    let Some(rank) = rank else { return Shape::UNKNOWN };
    let Some(pads) = pads.integers().filter(|pads| Some(pads.len()) == rank.checked_mul(2)) else {
        return Shape::of_rank(rank);
    };
    let pad = |at: usize| if pads[at] == UNKNOWN { ANY } else { pads[at] };
    let dim = |at: usize| change(change(shape.dim(at as i64), pad(2 * at)), pad(2 * at + 1));
    Shape::of(&(0..rank).map(dim).collect::<Vec<i64>>())
}

/// Moves blocks between the spatial dimensions and the channels.
fn depth(op: &Op<'_>, space: fn(i64, i64) -> i64, depth: fn(i64, i64) -> i64) -> Vec<Fact> {
    let block = op.int("block_size").unwrap_or(ANY).max(ANY);
    let dims = match (op.text("data_format"), op.shape(0).dims()) {
        (b"NHWC" | b"", Some([n, h, w, c])) => [*n, space(*h, block), space(*w, block), depth(*c, block)],
        (b"NCHW", Some([n, c, h, w])) => [*n, depth(*c, block), space(*h, block), space(*w, block)],
        (b"NCHW_VECT_C", _) => return one(op, Shape::of_rank(5)),
        _ => return one(op, Shape::of_rank(4)),
    };
    one(op, Shape::of(&dims))
}

/// Moves blocks between the spatial dimensions and the batch.
fn blocks(op: &Op<'_>, space: fn(i64, i64, [i64; 2]) -> i64, batch: fn(i64, i64) -> i64) -> Vec<Fact> {
    let Some(dims) = op.shape(0).dims() else { return one(op, Shape::UNKNOWN) };
    let (block, pads) = (op.input(1).known_integers(), op.input(2).known_integers());
    let mut to = dims.to_vec();
    let Some((block, pads)) = block.zip(pads).filter(|(block, pads)| {
        block.len() < dims.len() && pads.len() == 2 * block.len() && block.iter().chain(*pads).all(|n| *n >= 0)
    }) else {
        let changed = op.shape(1).dim(0);
        let changed = usize::try_from(changed).unwrap_or(to.len()).saturating_add(1).min(to.len());
        to[..changed].fill(ANY);
        return one(op, Shape::of(&to));
    };
    to[0] = block.iter().fold(to[0], |size, block| batch(size, *block));
    for (at, block) in block.iter().enumerate() {
        to[at + 1] = space(to[at + 1], *block, [pads[2 * at], pads[2 * at + 1]]);
    }
    one(op, Shape::of(&to))
}

/// A matrix built from its diagonals, whose range is the second input. It is square unless rows or columns are given.
/// The diagonals of matrices from one number to another; shorter ones are padded.
fn diagonals(op: &Op<'_>) -> Vec<Fact> {
    let numbers = op.input(1).known_integers().and_then(|k| Some((*k.first()?, *k.last()?)));
    let (Some([batch @ .., rows, columns]), Some((low, high))) = (op.shape(0).dims(), numbers) else {
        return one(op, Shape::UNKNOWN);
    };
    let length = if *rows < 0 || *columns < 0 {
        ANY
    } else {
        rows.saturating_add(high.min(0)).min(columns.saturating_sub(low.max(0))).max(ANY)
    };
    let count = high.saturating_sub(low).saturating_add(1).max(ANY);
    let of = if count == 1 { vec![length] } else { vec![count, length] };
    one(op, Shape::of(&[batch, &of].concat()))
}

fn band(op: &Op<'_>) -> Vec<Fact> {
    let diagonals = op.input(1).known_integers().and_then(|k| Some((*k.first()?, *k.last()?)));
    let (Some(dims), Some((low, high))) = (op.shape(0).dims(), diagonals) else { return one(op, Shape::UNKNOWN) };
    let batch =
        if low == high { dims.split_last().map(|(_, batch)| batch) } else { dims.get(..dims.len().saturating_sub(2)) };
    let (Some(batch), Some(length)) = (batch, dims.last()) else { return one(op, Shape::UNKNOWN) };
    let given = |at: usize| op.input(at).integer();
    let smallest = |shift: i64| if *length < 0 { ANY } else { length.saturating_add(shift) };
    let (rows, columns) = match (given(2), given(3)) {
        (Some(-1), Some(-1)) => {
            let size = smallest(low.max(0).max(high.saturating_neg().max(0)));
            (size, size)
        }
        (Some(rows), Some(columns)) => (rows, columns),
        _ => (ANY, ANY),
    };
    let open = |size: i64| if size < 0 { ANY } else { size };
    one(op, Shape::of(&[batch, &[open(rows), open(columns)]].concat()))
}
