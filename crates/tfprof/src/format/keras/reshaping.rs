//! Layers that move elements: shapes, padding, cropping, resizing, joining; and products of two inputs.

use super::config::{Config, Layer, dims, integer};
use super::convolution::{channels_first, spatial};
use super::elementwise::concatenate;
use super::layers::Lower;
use super::lowering::{Lowering, Value, Values};
use crate::model::attr_value::AttrValue;

pub const LAYERS: &[(&[&str], Lower)] = &[
    (&["Flatten"], flatten),
    (&["Reshape"], reshape),
    (&["Permute"], |layer, lowering, inputs| Some(permute(layer, lowering, inputs))),
    (&["RepeatVector"], repeat),
    (&["ZeroPadding1D", "ZeroPadding2D", "ZeroPadding3D"], zero_padding),
    (&["Cropping1D", "Cropping2D", "Cropping3D"], cropping),
    (&["UpSampling1D", "UpSampling2D", "UpSampling3D"], up_sampling),
    (&["Resizing"], |layer, lowering, inputs| {
        resize(lowering, &inputs[0], &[layer.config.int("height")?, layer.config.int("width")?], layer.config)
    }),
    (&["CenterCrop", "RandomCrop"], |layer, lowering, inputs| {
        let x = &inputs[0];
        x.dims.as_ref().filter(|dims| dims.len() == 4)?;
        let sizes = vec![x.dim(0), layer.config.int("height")?, layer.config.int("width")?, x.dim(3)];
        Some(vec![lowering.moved(x, sizes)])
    }),
    (&["Concatenate"], |layer, lowering, inputs| Some(concatenate(layer, lowering, inputs))),
    (&["Dot"], dot),
    (&["HashedCrossing", "Hashing"], |layer, lowering, inputs| {
        encoded(layer.config, lowering, &inputs[0], layer.config.int("num_bins").unwrap_or(-1))
    }),
    (&["Discretization"], |layer, lowering, inputs| {
        let borders = layer.config.get("bin_boundaries").as_array().map_or(-1, |all| all.len() as i64 + 1);
        let found = lowering.map("Bucketize", &inputs[0]);
        encoded(layer.config, lowering, &found, borders)
    }),
    (&["CategoryEncoding"], |layer, lowering, inputs| {
        encoded(layer.config, lowering, &inputs[0], layer.config.int("num_tokens").unwrap_or(-1))
    }),
    (&["StringLookup", "IntegerLookup"], |layer, lowering, inputs| {
        let config = layer.config;
        let known = config.get("vocabulary").as_array().map(|words| words.len() as i64);
        let known = known.or_else(|| config.int("vocabulary_size"));
        let oov = config.int("num_oov_indices").unwrap_or(1);
        let found = lowering.map("Identity", &inputs[0]);
        encoded(config, lowering, &found, known.map_or(-1, |known| known.saturating_add(oov)))
    }),
    (&["TextVectorization"], |layer, lowering, inputs| {
        let x = &inputs[0];
        let length = layer.config.int("output_sequence_length")?;
        let is_int = layer.config.text_or("output_mode", "int") == "int";
        is_int.then(|| vec![lowering.moved(x, vec![x.dim(0), length])])
    }),
];

/// Numbers of classes as vectors, if the layer makes these of them.
fn encoded(config: Config<'_>, lowering: &mut Lowering, x: &Value, classes: i64) -> Option<Values> {
    let mode = config.text_or("output_mode", if config.get("num_tokens").is_null() { "int" } else { "multi_hot" });
    if mode == "int" {
        return Some(vec![x.clone()]);
    }
    if classes < 0 || !["one_hot", "multi_hot", "count"].contains(&mode) {
        return None;
    }
    let mut dims = x.dims.clone()?;
    let (depth, on, off) = (lowering.scalar(classes), lowering.scalar(1), lowering.scalar(0));
    let mut tensor = x.tensor;
    // A single number for each example needs no dimension of its own.
    if mode == "one_hot" && dims.len() > 1 && dims.last() == Some(&1) {
        tensor = lowering.op("Squeeze", &[tensor], &[("squeeze_dims", AttrValue::Ints(&[-1]))]);
        dims.pop();
    }
    let tensor = lowering.op("OneHot", &[tensor, depth, on, off], &[("axis", AttrValue::Int(-1))]);
    dims.push(classes);
    let vectors = Value::new(tensor, Some(dims));
    Some(vec![match mode {
        "multi_hot" => lowering.reduce("Max", &vectors, &[-2], false),
        "count" => lowering.reduce("Sum", &vectors, &[-2], false),
        _ => vectors,
    }])
}

fn flatten(_: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let rest = inputs[0].dims.as_ref()?.get(1..)?;
    let size = if rest.iter().any(|size| *size < 0) {
        -1
    } else {
        rest.iter().fold(1_i64, |all, size| all.saturating_mul(*size))
    };
    if size < 0 {
        // The batch stays, and the rest follows.
        let batch = lowering.batch_and_rest(&inputs[0]);
        return Some(vec![batch]);
    }
    Some(vec![lowering.reshape(&inputs[0], &[-1, size], Some(vec![inputs[0].dim(0), size]))])
}

fn reshape(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let x = &inputs[0];
    let mut target = dims(layer.config.get("target_shape"))?;
    let rest = x.dims.as_ref()?.get(1..)?.to_vec();
    if let Some(open) = target.iter().position(|size| *size < 0) {
        let product = |sizes: &[i64]| {
            let mut sizes = sizes.iter().copied();
            sizes.try_fold(1, i64::checked_mul)
        };
        let known: Vec<i64> = target.iter().copied().filter(|size| *size >= 0).collect();
        let known = product(&known);
        let all = if rest.iter().any(|size| *size < 0) { None } else { product(&rest) };
        target[open] = all.zip(known).and_then(|(all, known)| all.checked_div(known)).unwrap_or(-1);
    }
    let dims = [&[x.dim(0)], &target[..]].concat();
    if target.contains(&-1) {
        let like = dims.clone();
        let like: Vec<i64> = like.iter().enumerate().map(|(at, size)| if at == 0 { -1 } else { *size }).collect();
        let batch = lowering.sizes(&like[..1], x.tensor);
        let others = lowering.constant(&target);
        let axis = lowering.scalar(0);
        let sizes = lowering.op("ConcatV2", &[batch, others, axis], &[("N", AttrValue::Int(2))]);
        return Some(vec![Value::new(lowering.op("Reshape", &[x.tensor, sizes], &[]), Some(dims))]);
    }
    Some(vec![lowering.reshape(x, &[&[-1], &target[..]].concat(), Some(dims))])
}

fn permute(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Values {
    let order = [&[0], &layer.config.ints("dims")[..]].concat();
    let x = &inputs[0];
    let dims = x.dims.as_ref().map(|_| order.iter().map(|axis| x.dim(*axis)).collect());
    let axes = lowering.constant(&order);
    vec![Value::new(lowering.op("Transpose", &[x.tensor, axes], &[]), dims)]
}

fn repeat(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let (x, times) = (&inputs[0], layer.config.int("n")?);
    let axis = lowering.scalar(1);
    let wide = lowering.op("ExpandDims", &[x.tensor, axis], &[]);
    let counts = lowering.constant(&[1, times, 1]);
    let tensor = lowering.op("Tile", &[wide, counts], &[]);
    Some(vec![Value::new(tensor, Some(vec![x.dim(0), times, x.dim(1)]))])
}

/// Pads each dimension before and after.
pub fn padded(lowering: &mut Lowering, x: &Value, pads: &[(i64, i64)]) -> Option<Value> {
    let dims = x.dims.as_ref().filter(|dims| dims.len() == pads.len())?;
    let dims = dims
        .iter()
        .zip(pads)
        .map(|(dim, (a, b))| if *dim < 0 { -1 } else { dim.saturating_add(a + b).max(0) })
        .collect();
    let numbers: Vec<i64> = pads.iter().flat_map(|(a, b)| [*a, *b]).collect();
    let numbers = lowering.constant(&numbers);
    let sizes = lowering.constant(&[pads.len() as i64, 2]);
    let pairs = lowering.op("Reshape", &[numbers, sizes], &[]);
    Some(Value::new(lowering.op("Pad", &[x.tensor, pairs], &[]), Some(dims)))
}

/// Two numbers for each spatial dimension: one for all, one for each, or pairs.
fn pairs(config: Config<'_>, key: &str, count: usize) -> Vec<(i64, i64)> {
    let value = config.get(key);
    if let Some(one) = integer(value) {
        return vec![(one, one); count];
    }
    let pair = |item: &serde_json::Value| match (integer(item), item.as_array().map(Vec::as_slice)) {
        (Some(both), _) => (both, both),
        (None, Some([a, b])) => (integer(a).unwrap_or(0), integer(b).unwrap_or(0)),
        _ => (0, 0),
    };
    match value.as_array().map(Vec::as_slice) {
        Some([a, b]) if count == 1 => vec![(integer(a).unwrap_or(0), integer(b).unwrap_or(0))],
        Some(all) if all.len() == count => all.iter().map(pair).collect(),
        _ => vec![(1, 1); count],
    }
}

fn all_pairs(layer: &Layer<'_>, key: &str) -> Vec<(i64, i64)> {
    let pairs = pairs(layer.config, key, spatial(layer.class));
    let none = [(0, 0)];
    if channels_first(layer.config) {
        [&[(0, 0), (0, 0)], &pairs[..]].concat()
    } else {
        [&none, &pairs[..], &none].concat()
    }
}

fn zero_padding(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    Some(vec![padded(lowering, &inputs[0], &all_pairs(layer, "padding"))?])
}

fn cropping(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let pads = all_pairs(layer, "cropping");
    let x = &inputs[0];
    let dims = x.dims.as_ref().filter(|dims| dims.len() == pads.len())?;
    let kept = dims.iter().zip(&pads).map(|(dim, (a, b))| if *dim < 0 { -1 } else { dim.saturating_sub(a + b).max(0) });
    let kept: Vec<i64> = kept.collect();
    Some(vec![lowering.moved(x, kept)])
}

fn up_sampling(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let (config, x, spatial) = (layer.config, &inputs[0], spatial(layer.class));
    let dims = x.dims.as_ref().filter(|dims| dims.len() == spatial + 2)?.clone();
    let times = config.sizes("size", spatial, 2);
    let first = channels_first(config);
    let from = if first { 2 } else { 1 };
    let mut wanted = dims;
    for (at, times) in times.iter().enumerate() {
        let size = &mut wanted[from + at];
        *size = if *size < 0 { -1 } else { size.saturating_mul(*times) };
    }
    if spatial == 2 && !first && wanted[1] >= 0 && wanted[2] >= 0 {
        return resize(lowering, x, &wanted[1..3], config);
    }
    Some(vec![lowering.moved(x, wanted)])
}

pub fn resize(lowering: &mut Lowering, x: &Value, sizes: &[i64], config: Config<'_>) -> Option<Values> {
    x.dims.as_ref().filter(|dims| dims.len() == 4)?;
    let default = if config.get("size").is_null() { "bilinear" } else { "nearest" };
    let op = match config.text_or("interpolation", default) {
        "nearest" => "ResizeNearestNeighbor",
        "bilinear" => "ResizeBilinear",
        "bicubic" => "ResizeBicubic",
        "area" => "ResizeArea",
        _ => return None,
    };
    let numbers = lowering.constant(sizes);
    let tensor = lowering.op(op, &[x.tensor, numbers], &[]);
    Some(vec![Value::new(tensor, Some(vec![x.dim(0), sizes[0], sizes[1], x.dim(3)]))])
}

fn dot(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let [a, b] = inputs else { return None };
    let axes = layer.config.sizes("axes", 2, -1);
    let (rank_a, rank_b) = (a.rank()? as i64, b.rank()? as i64);
    let axis = |axis: i64, rank: i64| if axis < 0 { axis + rank } else { axis };
    let (axis_a, axis_b) = (axis(axes[0], rank_a), axis(axes[1], rank_b));
    let letters =
        |count: i64, first: u8| (0..count).map(|at| char::from(first + at.clamp(0, 9) as u8)).collect::<Vec<_>>();
    let (mut of_a, mut of_b) = (letters(rank_a, b'b'), letters(rank_b, b'n'));
    *of_a.get_mut(usize::try_from(axis_a).ok()?)? = 'z';
    *of_b.get_mut(usize::try_from(axis_b).ok()?)? = 'z';
    (of_a[0], of_b[0]) = ('a', 'a');
    let rest = |labels: &[char]| labels.iter().skip(1).filter(|label| **label != 'z').collect::<String>();
    let text = |labels: &[char]| labels.iter().collect::<String>();
    let mut output = format!("a{}{}", rest(&of_a), rest(&of_b));
    let size = |label: char| {
        let find =
            |labels: &[char], x: &Value| labels.iter().position(|known| *known == label).map(|at| x.dim(at as i64));
        find(&of_a, a).or_else(|| find(&of_b, b)).unwrap_or(-1)
    };
    let mut dims: Vec<i64> = output.chars().map(size).collect();
    let equation = format!("{},{}->{output}", text(&of_a), text(&of_b));
    let tensor = lowering.op("Einsum", &[a.tensor, b.tensor], &[("equation", AttrValue::Text(&equation))]);
    output.clear();
    let mut result = Value::new(tensor, Some(dims.clone()));
    if dims.len() == 1 {
        dims.push(1);
        result = lowering.reshape(&result, &[-1, 1], Some(dims));
    }
    Some(vec![result])
}
