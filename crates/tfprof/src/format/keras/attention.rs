//! Attention: projections, scores and weighted sums, as einsums and products.

use super::config::{Config, Layer};
use super::elementwise::by_constant;
use super::layers::Lower;
use super::lowering::{Lowering, Value, Values};
use crate::model::attr_value::AttrValue;

pub const LAYERS: &[(&[&str], Lower)] = &[
    (&["MultiHeadAttention"], multi_head),
    (&["GroupedQueryAttention", "GroupQueryAttention"], grouped),
    (&["Attention"], |layer, lowering, inputs| dot(layer, lowering, inputs, false)),
    (&["AdditiveAttention"], |layer, lowering, inputs| dot(layer, lowering, inputs, true)),
];

/// An einsum of two tensors, with the shape of its result.
fn einsum(lowering: &mut Lowering, equation: &str, a: &Value, b: &Value, dims: Vec<i64>) -> Value {
    let tensor = lowering.op("Einsum", &[a.tensor, b.tensor], &[("equation", AttrValue::Text(equation))]);
    Value::new(tensor, Some(dims))
}

/// A projection to heads.
fn project(lowering: &mut Lowering, part: &str, x: &Value, heads: i64, size: i64, bias: bool) -> Value {
    let kernel = lowering.parameter(&format!("{part}/kernel"), &[x.dim(-1), heads, size], true);
    let dims = vec![x.dim(0), x.dim(1), heads, size];
    let result = einsum(lowering, "abc,cde->abde", x, &kernel, dims);
    if !bias {
        return result;
    }
    let bias = lowering.parameter(&format!("{part}/bias"), &[heads, size], true);
    lowering.zip("AddV2", &result, &bias)
}

/// Scores, their softmax, and the weighted sum of values; then the softmax. Either the query is scaled, or the scores are.
pub fn attend(lowering: &mut Lowering, parts: [&Value; 3], scales_scores: bool) -> (Value, Value) {
    let [query, key, value] = parts;
    let query = if scales_scores { query.clone() } else { by_constant("Mul", lowering, query) };
    let dims = vec![query.dim(0), query.dim(2), query.dim(1), key.dim(1)];
    let mut scores = einsum(lowering, "acde,abde->adbc", key, &query, dims);
    if scales_scores {
        scores = by_constant("Mul", lowering, &scores);
    }
    let weights = lowering.map("Softmax", &scores);
    let dims = vec![query.dim(0), query.dim(1), query.dim(2), value.dim(3)];
    (einsum(lowering, "adbc,acde->abde", &weights, value, dims), weights)
}

/// Keras 3 has one op for attention, and calls it since layers have a gate, unless there is dropout.
fn scales_scores(config: Config<'_>) -> bool {
    !config.get("use_gate").is_null() && config.get("dropout").as_f64().unwrap_or(0.0) == 0.0
}

/// The result, scaled by the gate that a query computes.
fn gated(config: Config<'_>, lowering: &mut Lowering, query: &Value, attended: Value) -> Value {
    if !config.flag("use_gate", false) {
        return attended;
    }
    let bias = config.flag("use_bias", true);
    let gate = project(lowering, "gate", query, attended.dim(2), attended.dim(3), bias);
    let gate = lowering.map("Sigmoid", &gate);
    lowering.zip("Mul", &attended, &gate)
}

/// A sequence of the elements that attend to each other: attention over several axes takes them as one, and axes before
/// them belong to the batch.
fn as_sequence(config: Config<'_>, lowering: &mut Lowering, x: &Value) -> Option<Value> {
    let dims = x.dims.as_ref().filter(|dims| dims.len() >= 3)?;
    let rank = dims.len();
    let named = config.ints("attention_axes");
    let from_start = named.iter().map(|axis| if *axis < 0 { axis + rank as i64 } else { *axis });
    let first = from_start.clone().min().unwrap_or(1);
    let is_tail = named.is_empty() || from_start.clone().max() == Some(rank as i64 - 2);
    let first = usize::try_from(first).ok().filter(|first| (1..rank - 1).contains(first) && is_tail)?;
    if rank == 3 {
        return Some(x.clone());
    }
    if dims[1..].iter().any(|size| *size < 0) {
        return None;
    }
    let product = |sizes: &[i64]| sizes.iter().fold(1_i64, |all, size| all.saturating_mul(*size));
    let batch = if first == 1 { dims[0] } else { -1 };
    let sizes = [batch, product(&dims[first..rank - 1]), dims[rank - 1]];
    Some(lowering.reshape(x, &[-1, sizes[1], sizes[2]], Some(sizes.to_vec())))
}

/// The projection back to the size of the query.
fn output(lowering: &mut Lowering, x: &Value, size: i64, bias: bool) -> Value {
    let kernel = lowering.parameter("attention_output/kernel", &[x.dim(2), x.dim(3), size], true);
    let result = einsum(lowering, "abde,def->abf", x, &kernel, vec![x.dim(0), x.dim(1), size]);
    if !bias {
        return result;
    }
    let bias = lowering.parameter("attention_output/bias", &[size], true);
    lowering.zip("AddV2", &result, &bias)
}

/// Query, value and key: the key is the value if it is not given.
fn three(config: Config<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<[Value; 3]> {
    let query = as_sequence(config, lowering, inputs.first()?)?;
    let value = inputs.get(1).map_or(Some(query.clone()), |value| as_sequence(config, lowering, value))?;
    let key = inputs.get(2).map_or(Some(value.clone()), |key| as_sequence(config, lowering, key))?;
    Some([query, value, key])
}

fn multi_head(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let config = layer.config;
    let [query, value, key] = &three(config, lowering, inputs)?;
    let (heads, size) = (config.int("num_heads")?, config.int("key_dim")?);
    let value_size = config.int("value_dim").unwrap_or(size);
    let bias = config.flag("use_bias", true);
    let result = match config.ints("output_shape")[..] {
        [] => query.dim(-1),
        [size] => size,
        _ => return None,
    };
    let q = project(lowering, "query", query, heads, size, bias);
    let k = project(lowering, "key", key, heads, size, bias);
    let v = project(lowering, "value", value, heads, value_size, bias);
    let (attended, weights) = attend(lowering, [&q, &k, &v], scales_scores(config));
    let attended = gated(config, lowering, query, attended);
    let mut projected = output(lowering, &attended, result, bias);
    if inputs[0].rank() != Some(3) {
        let dims = inputs[0].dims.as_ref()?;
        let dims = [&dims[..dims.len() - 1], &[result]].concat();
        let sizes = [&[-1], &dims[1..]].concat();
        projected = lowering.reshape(&projected, &sizes, Some(dims));
    }
    Some(vec![projected, weights])
}

fn grouped(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let config = layer.config;
    let [query, value, key] = &three(config, lowering, inputs)?;
    let (heads, shared) = (config.int("num_query_heads")?, config.int("num_key_value_heads")?);
    let (size, bias) = (config.int("head_dim")?, config.flag("use_bias", true));
    let q = project(lowering, "query", query, heads, size, bias);
    let k = project(lowering, "key", key, shared, size, bias);
    let v = project(lowering, "value", value, shared, size, bias);
    // Heads that share keys and values read them several times.
    let repeated = |lowering: &mut Lowering, x: &Value| {
        let times = lowering.constant(&[1, 1, heads / shared.max(1), 1]);
        let tensor = lowering.op("Tile", &[x.tensor, times], &[]);
        Value::new(tensor, Some(vec![x.dim(0), x.dim(1), heads, size]))
    };
    let (k, v) = (repeated(lowering, &k), repeated(lowering, &v));
    let (attended, weights) = attend(lowering, [&q, &k, &v], scales_scores(config));
    let attended = gated(config, lowering, query, attended);
    Some(vec![output(lowering, &attended, query.dim(-1), bias), weights])
}

fn dot(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value], additive: bool) -> Option<Values> {
    let config = layer.config;
    let [query, value, key] = &three(config, lowering, inputs)?;
    let dims = vec![query.dim(0), query.dim(1), key.dim(1)];
    let joins = config.text("score_mode") == "concat";
    let mut scores = if additive || joins {
        let (axis, other) = (lowering.scalar(2), lowering.scalar(1));
        let size = query.dim(-1);
        let wide = lowering.op("ExpandDims", &[query.tensor, axis], &[]);
        let wide = Value::new(wide, Some(vec![query.dim(0), query.dim(1), 1, size]));
        let long = lowering.op("ExpandDims", &[key.tensor, other], &[]);
        let long = Value::new(long, Some(vec![query.dim(0), 1, key.dim(1), size]));
        let sum = lowering.zip("AddV2", &wide, &long);
        let sum = Value { dims: Some(vec![query.dim(0), query.dim(1), key.dim(1), size]), ..sum };
        let mut bent = sum;
        if joins && config.flag("use_scale", false) {
            let scale = lowering.parameter("scale", &[], true);
            bent = lowering.zip("Mul", &bent, &scale);
        }
        bent = lowering.map("Tanh", &bent);
        if additive {
            // Without a scale, the factor is 1.
            bent = if config.flag("use_scale", true) {
                let scale = lowering.parameter("scale", &[size], true);
                lowering.zip("Mul", &bent, &scale)
            } else {
                by_constant("Mul", lowering, &bent)
            };
        }
        let sums = lowering.reduce("Sum", &bent, &[-1], false);
        if joins {
            let weight = lowering.parameter("concat_score_weight", &[], true);
            lowering.zip("Mul", &sums, &weight)
        } else {
            sums
        }
    } else {
        let product = lowering.op("BatchMatMulV2", &[query.tensor, key.tensor], &[("adj_y", AttrValue::Flag(true))]);
        Value::new(product, Some(dims))
    };
    if !additive && !joins && config.flag("use_scale", false) {
        let scale = lowering.parameter("scale", &[], true);
        scores = lowering.zip("Mul", &scores, &scale);
    }
    let weights = lowering.map("Softmax", &scores);
    let tensor = lowering.op("BatchMatMulV2", &[weights.tensor, value.tensor], &[]);
    let result = Value::new(tensor, Some(vec![query.dim(0), query.dim(1), value.dim(2)]));
    Some(vec![result, weights])
}
