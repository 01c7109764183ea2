//! `keras.ops` that move data: slices, joins, reshaping.

use super::config::{Layer, dims, integer};
use super::convolution::pool_of_rank;
use super::layers::Lower;
use super::lowering::{Lowering, Value, Values};
use super::ops::{axes, axis, flat};
use super::reshaping::padded;
use crate::model::attr_value::AttrValue;
use crate::model::body::Tensor;
use serde_json::Value as Json;

pub const OPS: &[(&[&str], Lower)] = &[
    (&["GetItem"], get_item),
    (&["Reshape"], reshape),
    (&["Transpose"], |layer, lowering, inputs| {
        let rank = inputs[0].rank()? as i64;
        let order = match layer.config.get("axes") {
            Json::Null => (0..rank).rev().collect(),
            named => axes(named, &inputs[0])?,
        };
        Some(transposed(lowering, &inputs[0], &order))
    }),
    (&["Swapaxes"], |layer, lowering, inputs| {
        let a = axis(layer.config.get("axis1"), &inputs[0])?;
        let b = axis(layer.config.get("axis2"), &inputs[0])?;
        let mut order: Vec<i64> = (0..inputs[0].rank()? as i64).collect();
        order.swap(a as usize, b as usize);
        Some(transposed(lowering, &inputs[0], &order))
    }),
    (&["Moveaxis"], moveaxis),
    (&["ExpandDims"], expand),
    (&["Squeeze"], squeeze),
    (&["Stack"], stack),
    (&["Split"], split),
    (&["Unstack"], unstack),
    (&["Tile"], tile),
    (&["Repeat"], repeat),
    (&["Pad"], |layer, lowering, inputs| {
        let pairs = layer.config.get("pad_width").as_array()?;
        let pair = |pair: &Json| Some((integer(pair.get(0)?)?, integer(pair.get(1)?)?));
        let pairs: Vec<(i64, i64)> = pairs.iter().map(pair).collect::<Option<_>>()?;
        Some(vec![padded(lowering, &inputs[0], &pairs)?])
    }),
    (&["Flip", "Roll"], |_, lowering, inputs| {
        let dims = inputs[0].dims.clone()?;
        Some(vec![lowering.moved(&inputs[0], dims)])
    }),
    (&["Take"], take),
    (&["TakeAlongAxis"], |layer, lowering, inputs| {
        let (x, indices) = (inputs.first()?, inputs.get(1)?);
        let axis = AttrValue::Int(layer.config.int("axis")?);
        let tensor = lowering.op("GatherElements", &[x.tensor, indices.tensor], &[("axis", axis)]);
        Some(vec![Value::new(tensor, indices.dims.clone())])
    }),
    (&["Ravel"], |_, lowering, inputs| Some(vec![flat(lowering, &inputs[0])])),
    (&["Triu", "Tril"], |_, lowering, inputs| Some(vec![lowering.map("MatrixBandPart", &inputs[0])])),
    (&["BroadcastTo", "Slice"], |layer, lowering, inputs| {
        let sizes = dims(layer.config.get("shape")).filter(|sizes| sizes.iter().all(|size| *size >= 0))?;
        Some(vec![lowering.moved(&inputs[0], sizes)])
    }),
    (&["OneHot"], |layer, lowering, inputs| {
        let (x, count, axis) = (&inputs[0], layer.config.int("num_classes")?, layer.config.int("axis").unwrap_or(-1));
        let (depth, on, off) = (lowering.scalar(count), lowering.scalar(1), lowering.scalar(0));
        let tensor = lowering.op("OneHot", &[x.tensor, depth, on, off], &[("axis", AttrValue::Int(axis))]);
        let mut sizes = x.dims.clone()?;
        let at = usize::try_from(axis).unwrap_or(sizes.len()).min(sizes.len());
        sizes.insert(at, count);
        Some(vec![Value::new(tensor, Some(sizes))])
    }),
    (&["TopK"], |layer, lowering, inputs| {
        let (x, count) = (&inputs[0], layer.config.int("k")?);
        let number = lowering.scalar(count);
        let tensor = lowering.op("TopKV2", &[x.tensor, number], &[]);
        let mut sizes = x.dims.clone()?;
        *sizes.last_mut()? = count;
        Some(parts(tensor, vec![sizes.clone(), sizes]))
    }),
    (&["MaxPool"], |layer, lowering, inputs| {
        pool_of_rank(layer.config, lowering, &inputs[0], inputs[0].rank()?.checked_sub(2)?, "MaxPool")
    }),
    (&["AveragePool"], |layer, lowering, inputs| {
        pool_of_rank(layer.config, lowering, &inputs[0], inputs[0].rank()?.checked_sub(2)?, "AvgPool")
    }),
];

/// The outputs of an op.
fn parts(tensor: Tensor, dims: Vec<Vec<i64>>) -> Values {
    let part = |(output, dims)| Value::new(Tensor { output, ..tensor }, Some(dims));
    (0..).zip(dims).map(part).collect()
}

fn transposed(lowering: &mut Lowering, x: &Value, order: &[i64]) -> Values {
    let sizes = order.iter().map(|axis| x.dim(*axis)).collect();
    let axes = lowering.constant(order);
    vec![Value::new(lowering.op("Transpose", &[x.tensor, axes], &[]), Some(sizes))]
}

fn moveaxis(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let x = &inputs[0];
    let (from, to) = (axes(layer.config.get("source"), x)?, axes(layer.config.get("destination"), x)?);
    let mut order: Vec<i64> = (0..x.rank()? as i64).filter(|axis| !from.contains(axis)).collect();
    let mut moves: Vec<(i64, i64)> = to.into_iter().zip(from).collect();
    moves.sort_unstable();
    for (to, from) in moves {
        order.insert(usize::try_from(to).ok()?.min(order.len()), from);
    }
    Some(transposed(lowering, x, &order))
}

/// One index of a slice: a number, a range, a new axis, or an ellipsis.
enum Index {
    Number(i64),
    Range(Option<i64>, Option<i64>, i64),
    NewAxis,
    Dots,
}

impl Index {
    fn of(json: &Json) -> Option<Index> {
        if json.is_null() {
            return Some(Index::NewAxis);
        }
        if let Some(number) = integer(json) {
            return Some(Index::Number(number));
        }
        // Keras 3 names the kind; tf.keras 2 has the three parts alone.
        let range = if json["config"].is_object() { &json["config"] } else { json };
        match json["class_name"].as_str() {
            Some("__ellipsis__") => Some(Index::Dots),
            Some("__slice__") | None if range.is_object() => {
                let part = |key: &str| match &range[key] {
                    Json::Null => Some(None),
                    number => integer(number).map(Some),
                };
                Some(Index::Range(part("start")?, part("stop")?, part("step")?.unwrap_or(1)))
            }
            _ => None,
        }
    }
}

/// A slice in TensorFlow's form: bounds, strides and masks.
fn get_item(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let x = inputs.first()?;
    let key = layer.argument(1, "key").or_else(|| layer.argument(1, "slice_spec"))?;
    let one = std::slice::from_ref(key);
    let listed = key.as_array().map_or(one, Vec::as_slice);
    let indices: Vec<Index> = listed.iter().map(Index::of).collect::<Option<_>>()?;
    let (mut from, mut to, mut steps) = (Vec::new(), Vec::new(), Vec::new());
    let masks = ["begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"];
    let mut bits = [0_i64; 5];
    if indices.len() > 32 {
        return None;
    }
    for (at, index) in indices.iter().enumerate() {
        let bit = 1_i64 << at;
        let mut bounds = (0, 0, 1);
        match *index {
            Index::Number(number) => {
                bounds = (number, number.saturating_add(1), 1);
                bits[4] |= bit;
            }
            Index::Range(start, stop, step) => {
                bounds = (start.unwrap_or(0), stop.unwrap_or(0), step);
                bits[0] |= if start.is_none() { bit } else { 0 };
                bits[1] |= if stop.is_none() { bit } else { 0 };
            }
            Index::NewAxis => bits[3] |= bit,
            Index::Dots => bits[2] |= bit,
        }
        from.push(bounds.0);
        to.push(bounds.1);
        steps.push(bounds.2);
    }
    let sizes = sliced(x.dims.as_ref()?, &indices)?;
    let (from, to, steps) = (lowering.constant(&from), lowering.constant(&to), lowering.constant(&steps));
    let masks: Vec<(&str, AttrValue<'_>)> = masks.into_iter().zip(bits.map(AttrValue::Int)).collect();
    let tensor = lowering.op("StridedSlice", &[x.tensor, from, to, steps], &masks);
    Some(vec![Value::new(tensor, Some(sizes))])
}

/// The sizes of a slice.
fn sliced(dims: &[i64], indices: &[Index]) -> Option<Vec<i64>> {
    let taken = indices.iter().filter(|index| matches!(index, Index::Number(_) | Index::Range(..))).count();
    let rest = dims.len().checked_sub(taken)?;
    let (mut at, mut sizes, mut has_dots) = (0, Vec::new(), false);
    for index in indices {
        match *index {
            Index::NewAxis => sizes.push(1),
            Index::Dots if has_dots => return None,
            Index::Dots => {
                sizes.extend_from_slice(&dims[at..at + rest]);
                at += rest;
                has_dots = true;
            }
            Index::Number(_) => at += 1,
            Index::Range(start, stop, step) => {
                sizes.push(range_size(dims[at], start, stop, step)?);
                at += 1;
            }
        }
    }
    sizes.extend_from_slice(dims.get(at..)?);
    Some(sizes)
}

/// How many elements a range has, as in Python. -1 if the size is open and the bounds depend on it.
fn range_size(size: i64, start: Option<i64>, stop: Option<i64>, step: i64) -> Option<i64> {
    let step = step.clamp(-(1 << 40), 1 << 40);
    if step == 0 {
        return None;
    }
    if size < 0 {
        // Only a whole dimension of unknown size stays as it is.
        return Some(-1);
    }
    let bound = |place: i64, low: i64, high: i64| (if place < 0 { place + size } else { place }).clamp(low, high);
    let count = if step > 0 {
        let (start, stop) = (start.map_or(0, |at| bound(at, 0, size)), stop.map_or(size, |at| bound(at, 0, size)));
        (stop - start + step - 1) / step
    } else {
        let first = start.map_or(size - 1, |at| bound(at, -1, size - 1));
        let last = stop.map_or(-1, |at| bound(at, -1, size - 1));
        (first - last - step - 1) / -step
    };
    Some(count.max(0))
}

fn reshape(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let (x, sizes) = (&inputs[0], dims(layer.config.get("newshape"))?);
    let known = x.dims.as_ref().filter(|dims| dims.iter().all(|size| *size >= 0));
    let all = known.map(|dims| dims.iter().fold(1_i64, |all, size| all.saturating_mul(*size)));
    let others = sizes.iter().filter(|size| **size >= 0).fold(1_i64, |all, size| all.saturating_mul(*size));
    let open = all.and_then(|all| all.checked_div(others)).unwrap_or(-1);
    let result = sizes.iter().map(|size| if *size < 0 { open } else { *size }).collect();
    Some(vec![lowering.reshape(x, &sizes, Some(result))])
}

fn expand(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let mut x = inputs[0].clone();
    let mut places = layer.config.ints("axis");
    places.sort_unstable();
    for place in places {
        let mut sizes = x.dims.clone()?;
        let rank = sizes.len() as i64 + 1;
        let at = usize::try_from(if place < 0 { place + rank } else { place }).ok()?;
        if at > sizes.len() {
            return None;
        }
        sizes.insert(at, 1);
        let axis = lowering.scalar(at as i64);
        x = Value::new(lowering.op("ExpandDims", &[x.tensor, axis], &[]), Some(sizes));
    }
    Some(vec![x])
}

fn squeeze(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let x = &inputs[0];
    let sizes = x.dims.as_ref()?;
    let gone = match layer.config.get("axis") {
        Json::Null => (0..sizes.len() as i64).filter(|axis| x.dim(*axis) == 1).collect(),
        named => axes(named, x)?,
    };
    let kept = (0..sizes.len() as i64).filter(|axis| !gone.contains(axis)).map(|axis| x.dim(axis)).collect();
    let tensor = lowering.op("Squeeze", &[x.tensor], &[("squeeze_dims", AttrValue::Ints(&gone))]);
    Some(vec![Value::new(tensor, Some(kept))])
}

fn stack(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let mut sizes = inputs.first()?.dims.clone()?;
    let axis = layer.config.int("axis").unwrap_or(0);
    let at = usize::try_from(if axis < 0 { axis + sizes.len() as i64 + 1 } else { axis }).ok()?;
    if at > sizes.len() {
        return None;
    }
    sizes.insert(at, inputs.len() as i64);
    let tensors: Vec<Tensor> = inputs.iter().map(|x| x.tensor).collect();
    let attributes = [("N", AttrValue::Int(inputs.len() as i64)), ("axis", AttrValue::Int(at as i64))];
    Some(vec![Value::new(lowering.op("Pack", &tensors, &attributes), Some(sizes))])
}

/// Splits into parts of equal size, or at given indices.
fn split(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let x = &inputs[0];
    let axis = axis(layer.config.get("axis"), x)?;
    let size = x.dim(axis);
    let with = |part: i64| {
        let mut sizes = x.dims.clone().unwrap_or_default();
        sizes[axis as usize] = part;
        sizes
    };
    let sections = layer.config.get("indices_or_sections");
    if let Some(count) = integer(sections).filter(|count| (1..=4096).contains(count)) {
        let number = lowering.scalar(axis);
        let tensor = lowering.op("Split", &[number, x.tensor], &[("num_split", AttrValue::Int(count))]);
        let part = if size < 0 { -1 } else { size / count };
        return Some(parts(tensor, vec![with(part); count as usize]));
    }
    let borders: Vec<i64> = sections.as_array()?.iter().map(integer).collect::<Option<_>>()?;
    if size < 0 {
        return None;
    }
    let mut sizes = Vec::with_capacity(borders.len() + 1);
    let mut before = 0;
    for border in borders.into_iter().chain([size]) {
        let border = (if border < 0 { border + size } else { border }).clamp(before, size);
        sizes.push(border - before);
        before = border;
    }
    let (numbers, at) = (lowering.constant(&sizes), lowering.scalar(axis));
    let attributes = [("num_split", AttrValue::Int(sizes.len() as i64))];
    let tensor = lowering.op("SplitV", &[x.tensor, numbers, at], &attributes);
    Some(parts(tensor, sizes.into_iter().map(with).collect()))
}

fn unstack(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let x = &inputs[0];
    let axis = axis(layer.config.get("axis"), x)?;
    let count = Some(x.dim(axis)).filter(|count| (1..=4096).contains(count))?;
    let attributes = [("num", AttrValue::Int(count)), ("axis", AttrValue::Int(axis))];
    let tensor = lowering.op("Unpack", &[x.tensor], &attributes);
    let mut sizes = x.dims.clone()?;
    sizes.remove(axis as usize);
    Some(parts(tensor, vec![sizes; count as usize]))
}

fn tile(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let (x, times) = (&inputs[0], layer.config.ints("repeats"));
    if times.len() != x.rank()? {
        return None;
    }
    let sizes = (0_i64..)
        .zip(&times)
        .map(|(axis, times)| if x.dim(axis) < 0 { -1 } else { x.dim(axis).saturating_mul(*times) });
    let sizes = sizes.collect();
    let numbers = lowering.constant(&times);
    Some(vec![Value::new(lowering.op("Tile", &[x.tensor, numbers], &[]), Some(sizes))])
}

/// Repeats each element.
fn repeat(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let (x, times) = (&inputs[0], layer.config.int("repeats")?);
    let axis = axis(layer.config.get("axis"), x)?;
    let mut sizes = x.dims.clone()?;
    let size = sizes.get_mut(axis as usize).filter(|size| **size >= 0)?;
    *size = size.saturating_mul(times);
    Some(vec![lowering.moved(x, sizes)])
}

/// The entries of an axis that a list or a tensor names.
fn take(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let x = inputs.first()?;
    let axis = axis(layer.config.get("axis"), x)?;
    let (indices, chosen) = match inputs.get(1) {
        Some(indices) => (indices.tensor, indices.dims.clone()?),
        None => {
            let named = layer.argument(1, "indices")?;
            match integer(named) {
                Some(one) => (lowering.scalar(one), Vec::new()),
                None => {
                    let listed: Vec<i64> = named.as_array()?.iter().map(integer).collect::<Option<_>>()?;
                    (lowering.constant(&listed), vec![listed.len() as i64])
                }
            }
        }
    };
    let number = lowering.scalar(axis);
    let tensor = lowering.op("GatherV2", &[x.tensor, indices, number], &[]);
    let all = x.dims.as_ref()?;
    let sizes = [&all[..axis as usize], &chosen, &all[axis as usize + 1..]].concat();
    Some(vec![Value::new(tensor, Some(sizes))])
}
