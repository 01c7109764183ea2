//! Dense layers and embeddings.

use super::config::{Config, Layer};
use super::elementwise::{activate, by_constant};
use super::layers::Lower;
use super::lowering::{Lowering, Value, Values};
use crate::model::attr_value::AttrValue;
use crate::model::body::Tensor;

pub const LAYERS: &[(&[&str], Lower)] = &[
    (&["Dense"], dense),
    (&["EinsumDense"], einsum_dense),
    (&["Embedding"], embedding),
    (&["ReversibleEmbedding"], reversible),
];

fn dense(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let (config, x) = (layer.config, &inputs[0]);
    let units = config.int("units").or_else(|| config.int("output_dim"))?;
    let kernel = lowering.parameter("kernel", &[x.dim(-1), units], true);
    let kernel = adapted(config, lowering, kernel);
    let product = multiply(lowering, x, &kernel);
    let result = add_bias(config, lowering, product, units);
    Some(vec![activate(config.activation("activation"), lowering, result)])
}

/// A kernel with the product of two small ones that `LoRA` adds. A file has the sum alone, but Keras makes them again.
pub fn adapted(config: Config<'_>, lowering: &mut Lowering, kernel: Value) -> Value {
    let (Some(rank), Some(dims)) = (config.int("lora_rank"), kernel.dims.clone()) else { return kernel };
    let [rows @ .., last] = &dims[..] else { return kernel };
    let down = lowering.parameter("lora_kernel_a", &[rows, &[rank]].concat(), true);
    let up = lowering.parameter("lora_kernel_b", &[rank, *last], true);
    let product = multiply(lowering, &down, &up);
    let scaled = by_constant("Mul", lowering, &product);
    lowering.zip("AddV2", &kernel, &scaled)
}

/// The product with a matrix.
pub fn multiply(lowering: &mut Lowering, x: &Value, kernel: &Value) -> Value {
    let dims = x.dims.as_ref().map(|dims| [&dims[..dims.len().saturating_sub(1)], &[kernel.dim(-1)]].concat());
    let op = if x.rank().is_none_or(|rank| rank == 2) { "MatMul" } else { "BatchMatMulV2" };
    Value::new(lowering.op(op, &[x.tensor, kernel.tensor], &[]), dims)
}

/// Adds a bias, if the layer has one.
pub fn add_bias(config: Config<'_>, lowering: &mut Lowering, x: Value, size: i64) -> Value {
    if !config.flag("use_bias", config.flag("bias", true)) {
        return x;
    }
    let bias = lowering.parameter("bias", &[size], true);
    Value::new(lowering.op("BiasAdd", &[x.tensor, bias.tensor], &[]), x.dims)
}

fn einsum_dense(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let (config, x) = (layer.config, &inputs[0]);
    let equation = config.text("equation");
    let (input, rest) = equation.split_once(',')?;
    let (kernel_labels, output) = rest.split_once("->")?;
    if !equation.is_ascii() {
        return None;
    }
    let dims = x.dims.as_ref()?;
    let wanted = super::config::dims(config.get("output_shape"))
        .or_else(|| config.int("output_shape").map(|size| vec![size]))?;
    // Labels of the input, `...` stands for the leading ones.
    let (input, output) = (input.replace("...", "0"), output.replace("...", "0"));
    let input_labels = spread(&input, dims.len())?;
    let output_labels = spread(&output, wanted.len() + 1).or_else(|| spread(&output, dims.len()))?;
    let mut sizes: Vec<(char, i64)> = input_labels.iter().copied().zip(dims.iter().copied()).collect();
    let tail = output_labels.len().checked_sub(wanted.len())?;
    for (label, size) in output_labels[tail..].iter().zip(&wanted) {
        if *size >= 0 && !input_labels.contains(label) {
            sizes.push((*label, *size));
        }
    }
    let size = |label: char| sizes.iter().find(|(known, _)| *known == label).map_or(-1, |(_, size)| *size);
    let kernel: Vec<i64> = kernel_labels.chars().map(size).collect();
    let kernel = lowering.parameter("kernel", &kernel, true);
    let kernel = adapted(config, lowering, kernel);
    let dims = output_labels.iter().map(|label| size(*label)).collect();
    let product = lowering.op("Einsum", &[x.tensor, kernel.tensor], &[("equation", AttrValue::Text(equation))]);
    let mut result = Value::new(product, Some(dims));
    let bias_axes = config.text("bias_axes");
    if !bias_axes.is_empty() {
        let first = output_labels.iter().position(|label| bias_axes.contains(*label))?;
        let bias = output_labels[first..].iter().map(|label| if bias_axes.contains(*label) { size(*label) } else { 1 });
        let bias = bias.collect::<Vec<_>>();
        let bias = lowering.parameter("bias", &bias, true);
        result = Value { dims: result.dims.clone(), ..lowering.zip("AddV2", &result, &bias) };
    }
    Some(vec![activate(config.activation("activation"), lowering, result)])
}

/// The labels of a tensor of that rank; `0` stands for as many as are needed.
fn spread(labels: &str, rank: usize) -> Option<Vec<char>> {
    let others = labels.chars().filter(|label| *label != '0').count();
    let missing = rank.checked_sub(others).filter(|missing| *missing == 0 || labels.contains('0'))?;
    let leading = (0..missing as u8).map(|number| char::from(b'1' + number.min(8)));
    Some(labels.chars().flat_map(|label| if label == '0' { leading.clone().collect() } else { vec![label] }).collect())
}

fn embedding(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let (config, x) = (layer.config, &inputs[0]);
    let size = config.int("output_dim")?;
    let table = lowering.parameter("embeddings", &[config.int("input_dim")?, size], true);
    let axis = lowering.scalar(0);
    let indices = lowering.op("Cast", &[x.tensor], &[("DstT", AttrValue::Type(crate::model::dtype::DType::INT32))]);
    let indices = if lowering.is_new { from_start(lowering, indices, x) } else { indices };
    let tensor = lowering.op("GatherV2", &[table.tensor, indices, axis], &[]);
    let with = |size: i64| x.dims.as_ref().map(|dims| [&dims[..], &[size]].concat());
    let found = Value::new(tensor, with(size));
    let Some(rank) = config.int("lora_rank") else { return Some(vec![found]) };
    let down = lowering.parameter("lora_embeddings_a", &[config.int("input_dim")?, rank], true);
    let up = lowering.parameter("lora_embeddings_b", &[rank, size], true);
    let rows = Value::new(lowering.op("GatherV2", &[down.tensor, indices, axis], &[]), with(rank));
    let product = multiply(lowering, &rows, &up);
    let scaled = by_constant("Mul", lowering, &product);
    Some(vec![lowering.zip("AddV2", &found, &scaled)])
}

/// Indices that count from the end, too, as those of Keras 3.
fn from_start(lowering: &mut Lowering, indices: Tensor, x: &Value) -> Tensor {
    let indices = Value::new(indices, x.dims.clone());
    let below = by_constant("Less", lowering, &indices);
    let sum = by_constant("AddV2", lowering, &indices);
    lowering.op("SelectV2", &[below.tensor, sum.tensor, indices.tensor], &[])
}

/// An embedding that also leads back: a product with its table, or with one of its own.
fn reversible(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let (config, x) = (layer.config, &inputs[0]);
    let (size, count) = (config.int("output_dim")?, config.int("input_dim")?);
    let is_tied = config.flag("tie_weights", true);
    if layer.argument(1, "reverse").and_then(serde_json::Value::as_bool) != Some(true) {
        let found = embedding(layer, lowering, inputs);
        if !is_tied {
            lowering.parameter("reverse_embeddings", &[size, count], true);
        }
        return found;
    }
    let table = lowering.parameter("embeddings", &[count, size], true);
    let other = (!is_tied).then(|| lowering.parameter("reverse_embeddings", &[size, count], true));
    let kernel = other.unwrap_or(table);
    let dims = x.dims.as_ref().map(|dims| [&dims[..dims.len().saturating_sub(1)], &[count]].concat());
    let turned = [("adj_y", AttrValue::Flag(is_tied))];
    let product = Value::new(lowering.op("BatchMatMulV2", &[x.tensor, kernel.tensor], &turned), dims);
    if config.get("logit_soft_cap").is_null() {
        return Some(vec![product]);
    }
    let scaled = by_constant("RealDiv", lowering, &product);
    let bent = lowering.map("Tanh", &scaled);
    Some(vec![by_constant("Mul", lowering, &bent)])
}
