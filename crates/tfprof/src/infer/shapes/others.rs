//! Ops that TensorFlow does not have, or has with other operands: fused layers, slices by axis, padding by end.

use super::super::fact::{ANY, Fact, Shape, UNKNOWN};
use super::super::floats;
use super::super::heads::Attention;
use super::slicing::interval;
use super::{Family, Op, axis_of, broadcast, fold, like_first, minus, one, over, plus, shape_from, times, typed};
use crate::model::dtype::DType;

#[rustfmt::skip]
pub const RULES: Family = &[
    (&["HardSigmoid", "HardSwish", "Gelu", "Celu", "QuickGelu", "FastGelu", "BiasGelu", "LpNormalize", "RotaryEmbedding"], like_first),
    (&["LayerNorm", "RmsNorm", "SkipLayerNorm", "SkipRmsNorm"], like_first),
    (&["EmbedLayerNorm"], |op| {
        let hidden = op.shape(2).dim(-1);
        let dims = [op.shape(0).dim(0), op.shape(0).dim(1), hidden];
        vec![Fact::new(op.input(2).dtype, Shape::of(&dims)), Fact::new(DType::INT32, Shape::of(&dims[..1]))]
    }),
    (&["MaximumN", "MinimumN", "SumN", "MeanN"], |op| {
        one(op, op.inputs.iter().skip(1).fold(op.shape(0).clone(), |all, next| broadcast(&all, &next.shape)))
    }),
    (&["QuantizeLinear"], |op| {
        vec![Fact::new(op.dtype("out_type"), op.shape(0).clone()), Fact::new(DType::FLOAT, Shape::scalar()),
             Fact::new(op.dtype("out_type"), Shape::scalar())]
    }),
    (&["Expand"], |op| one(op, broadcast(op.shape(0), &shape_from(op.input(1))))),
    (&["Flatten"], flatten),
    (&["GatherElements"], |op| one(op, op.shape(1).clone())),
    (&["Compress"], compress),
    (&["CenterCropPad"], center),
    (&["Col2Im"], columns_to_image),
    // A loss for each label, or their mean or sum; then the logarithms.
    (&["SoftmaxLoss", "LikelihoodLoss"], |op| {
        let loss = if op.text("reduction") == b"none" { op.shape(1).clone() } else { Shape::scalar() };
        vec![Fact::new(op.t(), loss), Fact::new(op.t(), op.shape(0).clone())]
    }),
    // Elements that are there once: all, or slices along an axis; then places and counts.
    (&["UniqueElements"], |op| {
        let places = Fact::new(DType::INT64, Shape::of(&[ANY]));
        [compress(op), vec![places.clone(), places.clone(), places]].concat()
    }),
    // Lists of tensors have no shape of their own.
    (&["SequenceOfTensors"], |_| Vec::new()),
    (&["NonZero"], |op| typed(DType::INT64, Shape::of(&[op.shape(0).rank().map_or(ANY, |rank| rank as i64), ANY]))),
    (&["SelectedBoxes"], |_| typed(DType::INT64, Shape::of(&[ANY, 3]))),
    (&["RoiAlign"], |op| {
        let (image, regions) = (op.shape(0), op.shape(1));
        let size = |key: &str| op.int(key).unwrap_or(ANY);
        one(op, Shape::of(&[regions.dim(0), image.dim(1), size("output_height"), size("output_width")]))
    }),
    (&["SliceAxes"], slice),
    (&["PadEnds"], pad),
    (&["ResizeScaled", "ResizeScaledNearest"], resize),
    (&["GridSample"], |op| match (op.shape(0).dims(), op.shape(1).dims()) {
        (Some([batch, channels, ..]), Some([_, space @ .., _])) => one(op, Shape::of(&[&[*batch, *channels], space].concat())),
        _ => one(op, Shape::UNKNOWN),
    }),
    (&["MatMulNBits"], |op| match op.shape(0).dims() {
        Some([rows @ .., _]) => one(op, Shape::of(&[rows, &[op.int("N").unwrap_or(ANY)]].concat())),
        _ => one(op, Shape::UNKNOWN),
    }),
    (&["_FullyConnected"], fully_connected),
    (&["TransposedConv"], |op| vec![Fact::new(op.input(2).dtype, shape_from(op.input(0)))]),
    (&["ConvTranspose"], transposed_convolution),
    (&["Recurrent"], recurrent),
    (&["HeadsAttention"], attention),
    (&["PackedAttention"], |op| match op.shape(0).dims() {
        // The weights hold queries, keys and values side by side.
        Some([batch, length, _]) => one(op, Shape::of(&[*batch, *length, over(op.shape(1).dim(-1), 3)])),
        _ => one(op, Shape::UNKNOWN),
    }),
];

/// Attention: its result, all keys and values with those of earlier calls, and the scores.
fn attention(op: &Op<'_>) -> Vec<Fact> {
    let given = |at: usize, name: &str| if op.flag(name) { op.shape(at).dims() } else { Some(&[][..]) };
    let shapes = [op.shape(0).dims(), given(1, "has_keys"), given(2, "has_values"), given(3, "has_past")];
    let Some(of) = Attention::of(shapes, op.int("heads").unwrap_or(0), op.int("shared_heads").unwrap_or(0)) else {
        return one(op, Shape::UNKNOWN);
    };
    let result = if of.apart {
        vec![of.batch, of.heads, of.queries, of.value_depth]
    } else {
        vec![of.batch, of.queries, times(of.heads, of.value_depth)]
    };
    let all = [
        result,
        vec![of.batch, of.shared, of.keys, of.depth],
        vec![of.batch, of.shared, of.keys, of.value_depth],
        vec![of.batch, of.heads, of.queries, of.keys],
    ];
    all.iter().map(|dims| Fact::new(op.t(), Shape::of(dims))).collect()
}

/// The elements, or slices along an axis, that a condition keeps.
fn compress(op: &Op<'_>) -> Vec<Fact> {
    let (Some(axis), Some(dims)) = (op.int("axis"), op.shape(0).dims()) else { return one(op, Shape::of(&[ANY])) };
    let Some(at) = axis_of(axis, dims.len()) else { return one(op, Shape::UNKNOWN) };
    let mut to = dims.to_vec();
    to[at] = ANY;
    one(op, Shape::of(&to))
}

/// A tensor that is cut or padded along some axes to the sizes that the second input states.
fn center(op: &Op<'_>) -> Vec<Fact> {
    let Some(dims) = op.shape(0).dims() else { return one(op, Shape::UNKNOWN) };
    let listed = op.attribute("axes").map(|_| op.ints("axes"));
    let axes = listed.map_or(Some((0..dims.len()).collect()), |listed| super::axes(&listed, dims.len()));
    let sizes = op.input(1).integers();
    let (Some(axes), Some(sizes)) = (axes, sizes) else { return one(op, Shape::of_rank(dims.len())) };
    let mut to = dims.to_vec();
    axes.iter().zip(sizes).for_each(|(axis, size)| to[*axis] = (*size).max(ANY));
    one(op, Shape::of(&to))
}

/// Columns of blocks to the image that they came from: batch, channels, then the sizes of the image.
fn columns_to_image(op: &Op<'_>) -> Vec<Fact> {
    let (image, block) = (op.input(1).integers(), op.input(2).known_integers());
    let Some(image) = image else { return one(op, Shape::UNKNOWN) };
    let taps = block.map_or(ANY, |block| block.iter().fold(1, |all, size| times(all, *size)));
    let sizes = image.iter().map(|size| (*size).max(ANY));
    one(
        op,
        Shape::of(&[op.shape(0).dim(0), over(op.shape(0).dim(1), taps)].into_iter().chain(sizes).collect::<Vec<_>>()),
    )
}

fn flatten(op: &Op<'_>) -> Vec<Fact> {
    let Some(dims) = op.shape(0).dims() else { return one(op, Shape::of_rank(2)) };
    let axis = op.int("axis").unwrap_or(1);
    let at = if axis == dims.len() as i64 { Some(dims.len()) } else { axis_of(axis, dims.len().max(1)) };
    let Some(at) = at.filter(|at| *at <= dims.len()) else { return one(op, Shape::of_rank(2)) };
    let size = |dims: &[i64]| dims.iter().fold(1, |size, dim| times(size, *dim));
    one(op, Shape::of(&[size(&dims[..at]), size(&dims[at..])]))
}

/// Slices along some axes: starts, ends, then axes and steps if there are any.
fn slice(op: &Op<'_>) -> Vec<Fact> {
    let from = op.input(0);
    let Some(dims) = from.shape.dims() else { return one(op, Shape::UNKNOWN) };
    let (has_axes, has_steps) = (op.flag("has_axes"), op.flag("has_steps"));
    let count = [1, 2].iter().find_map(|at| super::count(op.shape(*at).dim(0))).unwrap_or(dims.len());
    let number = |at: usize, entry: usize| {
        op.input(at).integers().and_then(|numbers| numbers.get(entry)).copied().unwrap_or(UNKNOWN)
    };
    let mut ranges: Vec<Option<(i64, i64)>> = vec![Some((0, 1)); dims.len()];
    let mut to = dims.to_vec();
    for entry in 0..count.min(dims.len()) {
        let axis = if has_axes { axis_of(number(3, entry), dims.len()) } else { Some(entry) };
        let Some(axis) = axis else { return one(op, Shape::of_rank(dims.len())) };
        let step = if has_steps { number(3 + usize::from(has_axes), entry) } else { 1 };
        let range = interval(dims[axis], Some(number(1, entry)), Some(number(2, entry)), step);
        to[axis] = range.size;
        ranges[axis] = (range.size >= 0).then_some((range.start, range.step));
    }
    let value = from.elements().zip(ranges.iter().copied().collect::<Option<Vec<_>>>()).and_then(|(value, ranges)| {
        fold::pick(value, from.shape.known()?, &to, |index, axis| {
            (axis, ranges[axis].1.saturating_mul(index).saturating_add(ranges[axis].0))
        })
    });
    vec![Fact::with_value(op.t(), Shape::of(&to), value)]
}

/// Padding that lists all beginnings, then all ends, of all axes or of those that the third input names.
fn pad(op: &Op<'_>) -> Vec<Fact> {
    let Some(dims) = op.shape(0).dims() else { return one(op, Shape::UNKNOWN) };
    let Some(pads) = op.input(1).integers() else { return one(op, Shape::of_rank(dims.len())) };
    let axes = match op.inputs.get(2) {
        None => Some((0..dims.len()).collect()),
        Some(axes) => axes.known_integers().and_then(|axes| super::axes(axes, dims.len())),
    };
    let Some(axes) = axes.filter(|axes| pads.len() == 2 * axes.len()) else {
        return one(op, Shape::of_rank(dims.len()));
    };
    let mut to = dims.to_vec();
    for (place, axis) in axes.iter().enumerate() {
        // A negative number crops.
        let change = |size: i64, by: i64| match by {
            UNKNOWN => ANY,
            0.. => plus(size, by),
            _ => minus(size, by.saturating_neg()),
        };
        to[*axis] = change(change(to[*axis], pads[place]), pads[place + axes.len()]);
    }
    one(op, Shape::of(&to))
}

/// A resized tensor of any layout: the second input has the sizes, or the factors if it has floats.
fn resize(op: &Op<'_>) -> Vec<Fact> {
    let Some(dims) = op.shape(0).dims() else { return one(op, Shape::UNKNOWN) };
    let by = op.input(1);
    // All axes, or those that are named.
    let listed = op.attribute("axes").map(|_| op.ints("axes"));
    let axes = listed.map_or(Some((0..dims.len()).collect()), |listed| super::axes(&listed, dims.len()));
    let Some((elements, axes)) = by.elements().zip(axes).filter(|(elements, axes)| elements.len() == axes.len()) else {
        return one(op, Shape::of_rank(dims.len()));
    };
    let scaled = |dim: i64, by_each: i64| match by_each {
        UNKNOWN => ANY,
        n if !floats::is_float(by.dtype) => n.max(ANY),
        _ if dim < 0 => ANY,
        n => {
            let size = dim as f64 * floats::number(n);
            if size.is_finite() && (0.0..9e15).contains(&size) { size.floor() as i64 } else { ANY }
        }
    };
    let mut to = dims.to_vec();
    axes.into_iter().zip(elements).for_each(|(axis, by_each)| to[axis] = scaled(to[axis], *by_each));
    one(op, Shape::of(&to))
}

fn fully_connected(op: &Op<'_>) -> Vec<Fact> {
    let (units, inner) = (op.shape(1).dim(0), op.shape(1).dim(1));
    let Some(dims) = op.shape(0).dims() else { return one(op, Shape::UNKNOWN) };
    if let (true, [rows @ .., _]) = (op.flag("keep_num_dims"), dims) {
        return one(op, Shape::of(&[rows, &[units]].concat()));
    }
    let all = dims.iter().fold(1, |size, dim| times(size, *dim));
    one(op, Shape::of(&[over(all, inner), units]))
}

fn transposed_convolution(op: &Op<'_>) -> Vec<Fact> {
    let Some([batch, _, space @ ..]) = op.shape(0).dims() else { return one(op, Shape::UNKNOWN) };
    let filter = op.shape(1);
    let channels = times(filter.dim(1), op.int("group").unwrap_or(1));
    let stated = op.ints("output_shape");
    let (strides, dilations) = (op.ints("strides"), op.ints("dilations"));
    let (pads, more) = (op.ints("explicit_paddings"), op.ints("output_padding"));
    let mut to = vec![*batch, channels];
    for (at, size) in space.iter().enumerate() {
        let number = |list: &[i64], at: usize, default: i64| list.get(at).copied().unwrap_or(default);
        let (stride, dilation) = (number(&strides, at + 2, 1), number(&dilations, at + 2, 1));
        let reach = plus(times(minus(filter.dim(at as i64 + 2), 1), dilation), 1);
        let whole = plus(plus(times(minus(*size, 1), stride), reach), number(&more, at, 0));
        let pad = |end: usize| number(&pads, 2 * (at + 2) + end, 0);
        to.push(match op.text("padding") {
            _ if stated.len() >= space.len() => stated[stated.len() - space.len() + at],
            b"SAME" => times(*size, stride),
            _ => minus(minus(whole, pad(0)), pad(1)),
        });
    }
    one(op, Shape::of(&to))
}

/// A recurrent layer: the input, then weights for it and for the states, by direction.
fn recurrent(op: &Op<'_>) -> Vec<Fact> {
    let (directions, states) = (op.shape(1).dim(0), op.shape(2).dim(2));
    let batch_first = op.int("layout") == Some(1);
    let (steps, batch) = if batch_first { (1, 0) } else { (0, 1) };
    let (steps, batch) = (op.shape(0).dim(steps), op.shape(0).dim(batch));
    let dims = if batch_first {
        [vec![batch, steps, directions, states], vec![batch, directions, states]]
    } else {
        [vec![steps, directions, batch, states], vec![directions, batch, states]]
    };
    let fact = |dims: &[i64]| Fact::new(op.t(), Shape::of(dims));
    vec![fact(&dims[0]), fact(&dims[1]), fact(&dims[1])]
}
