//! Attention: projections, scores and weighted sums, as einsums and products.

use super::config::Layer;
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

/// Scores, their softmax, and the weighted sum of values.
fn attend(lowering: &mut Lowering, query: &Value, key: &Value, value: &Value) -> Value {
    let query = by_constant("Mul", lowering, query);
    let dims = vec![query.dim(0), query.dim(2), query.dim(1), key.dim(1)];
    let scores = einsum(lowering, "acde,abde->adbc", key, &query, dims);
    let weights = lowering.map("Softmax", &scores);
    let dims = vec![query.dim(0), query.dim(1), query.dim(2), value.dim(3)];
    einsum(lowering, "adbc,acde->abde", &weights, value, dims)
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
fn three(inputs: &[Value]) -> Option<(&Value, &Value, &Value)> {
    let query = inputs.first()?;
    let value = inputs.get(1).unwrap_or(query);
    let key = inputs.get(2).unwrap_or(value);
    let sequences = [query, value, key].iter().all(|x| x.rank() == Some(3));
    sequences.then_some((query, value, key))
}

fn multi_head(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let config = layer.config;
    let (query, value, key) = three(inputs)?;
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
    let attended = attend(lowering, &q, &k, &v);
    Some(vec![output(lowering, &attended, result, bias)])
}

fn grouped(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let config = layer.config;
    let (query, value, key) = three(inputs)?;
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
    let attended = attend(lowering, &q, &k, &v);
    Some(vec![output(lowering, &attended, query.dim(-1), bias)])
}

fn dot(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value], additive: bool) -> Option<Values> {
    let config = layer.config;
    let (query, value, key) = three(inputs)?;
    let dims = vec![query.dim(0), query.dim(1), key.dim(1)];
    let mut scores = if additive {
        let (axis, other) = (lowering.scalar(2), lowering.scalar(1));
        let size = query.dim(-1);
        let wide = lowering.op("ExpandDims", &[query.tensor, axis], &[]);
        let wide = Value::new(wide, Some(vec![query.dim(0), query.dim(1), 1, size]));
        let long = lowering.op("ExpandDims", &[key.tensor, other], &[]);
        let long = Value::new(long, Some(vec![query.dim(0), 1, key.dim(1), size]));
        let sum = lowering.zip("AddV2", &wide, &long);
        let sum = Value { dims: Some(vec![query.dim(0), query.dim(1), key.dim(1), size]), ..sum };
        let mut bent = lowering.map("Tanh", &sum);
        if config.flag("use_scale", true) {
            let scale = lowering.parameter("scale", &[size], true);
            bent = lowering.zip("Mul", &bent, &scale);
        }
        lowering.reduce("Sum", &bent, &[-1], false)
    } else {
        if config.text("score_mode") == "concat" {
            return None;
        }
        let product = lowering.op("BatchMatMulV2", &[query.tensor, key.tensor], &[("adj_y", AttrValue::Flag(true))]);
        Value::new(product, Some(dims))
    };
    if !additive && config.flag("use_scale", false) {
        let scale = lowering.parameter("scale", &[], true);
        scores = lowering.zip("Mul", &scores, &scale);
    }
    let weights = lowering.map("Softmax", &scores);
    let tensor = lowering.op("BatchMatMulV2", &[weights.tensor, value.tensor], &[]);
    Some(vec![Value::new(tensor, Some(vec![query.dim(0), query.dim(1), value.dim(2)]))])
}
