//! Recurrent layers, and wrappers along time. All time steps are one product: the steps of a sequence cost the same, and
//! a product of all of them costs what they cost together.

use super::config::{Config, Layer};
use super::convolution::{Window, channels_first, convolve, spatial};
use super::dense::{add_bias, multiply};
use super::elementwise::{activate, by_constant, joined};
use super::layers::{Lower, lower_inner};
use super::lowering::{Lowering, Value, Values};
use crate::model::attr_value::AttrValue;
use crate::model::body::Tensor;

pub const LAYERS: &[(&[&str], Lower)] = &[
    (&["LSTM", "CuDNNLSTM", "GRU", "CuDNNGRU", "SimpleRNN"], recurrent),
    (&["RNN"], cells),
    (&["ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D"], conv_lstm),
    (&["Bidirectional"], bidirectional),
    (&["TimeDistributed"], time_distributed),
];

fn recurrent(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let x = &inputs[0];
    x.dims.as_ref().filter(|dims| dims.len() == 3)?;
    let flat = lowering.reshape(x, &[-1, x.dim(2)], Some(vec![-1, x.dim(2)]));
    let (states, has_cell) = cell(layer.class, layer.config, lowering, &flat)?;
    Some(outputs(layer.config, lowering, x, &states, if has_cell { 2 } else { 1 }))
}

/// The states of a cell at all time steps, and whether it also has a state of its own.
fn cell(class: &str, config: Config<'_>, lowering: &mut Lowering, x: &Value) -> Option<(Value, bool)> {
    let units = config.int("units").or_else(|| config.int("output_dim"))?;
    let gates = match class {
        "LSTM" | "CuDNNLSTM" | "LSTMCell" => 4,
        "GRU" | "CuDNNGRU" | "GRUCell" => 3,
        "SimpleRNN" | "SimpleRNNCell" => 1,
        _ => return None,
    };
    let kernel = lowering.parameter("kernel", &[x.dim(-1), units * gates], true);
    let recurrent = lowering.parameter("recurrent_kernel", &[units, units * gates], true);
    let mut product = multiply(lowering, x, &kernel);
    let fused = class.starts_with("CuDNN");
    let mut second = None;
    let two = gates == 3 && (fused || config.flag("reset_after", false));
    if two && config.flag("use_bias", true) {
        let bias = lowering.parameter("bias", &[2, units * gates], true);
        // One for the input, one for the state.
        let tensor = lowering.op("Unpack", &[bias.tensor], &[("num", AttrValue::Int(2)), ("axis", AttrValue::Int(0))]);
        let row = |output| Value::new(Tensor { output, ..tensor }, Some(vec![units * gates]));
        product = lowering.zip("AddV2", &product, &row(0));
        second = Some(row(1));
    } else if fused {
        let bias = lowering.parameter("bias", &[2 * units * gates], true);
        let _ = bias;
    } else {
        product = add_bias(config, lowering, product, units * gates);
    }
    let state = first_part(lowering, &product, gates, units);
    let mut more = multiply(lowering, &state, &recurrent);
    if let Some(bias) = second {
        more = lowering.zip("AddV2", &more, &bias);
    }
    let sum = lowering.zip("AddV2", &product, &more);
    let gate = first_part(lowering, &sum, gates, units);
    let inner = config.text_or("recurrent_activation", "sigmoid");
    let activation = config.text_or("activation", "tanh");
    let state = match gates {
        4 => remembered(lowering, &gate, &state, inner, activation),
        3 => {
            let gated: Vec<Value> = (0..2).map(|_| activate(inner, lowering, gate.clone())).collect();
            let reset = lowering.zip("Mul", &gated[0], &state);
            let candidate = activate(activation, lowering, reset);
            let kept = lowering.zip("Mul", &gated[1], &state);
            let rest = by_constant("Sub", lowering, &gated[1]);
            let added = lowering.zip("Mul", &rest, &candidate);
            lowering.zip("AddV2", &kept, &added)
        }
        _ => activate(activation, lowering, gate),
    };
    Some((state, gates == 4))
}

/// The next state of a cell with a memory, from one of its four gates.
fn remembered(lowering: &mut Lowering, gate: &Value, state: &Value, inner: &str, activation: &str) -> Value {
    let gated: Vec<Value> = (0..3).map(|_| activate(inner, lowering, gate.clone())).collect();
    let candidate = activate(activation, lowering, gate.clone());
    let kept = lowering.zip("Mul", &gated[0], state);
    let added = lowering.zip("Mul", &gated[1], &candidate);
    let memory = lowering.zip("AddV2", &kept, &added);
    let shown = activate(activation, lowering, memory);
    lowering.zip("Mul", &gated[2], &shown)
}

/// The first of the gates, which split the last dimension.
fn first_part(lowering: &mut Lowering, x: &Value, gates: i64, units: i64) -> Value {
    if gates == 1 {
        return x.clone();
    }
    let axis = lowering.scalar(-1);
    let tensor = lowering.op("Split", &[axis, x.tensor], &[("num_split", AttrValue::Int(gates))]);
    let dims = x.dims.clone().map(|mut dims| {
        if let Some(last) = dims.last_mut() {
            *last = units;
        }
        dims
    });
    Value::new(tensor, dims)
}

/// States of all steps as the outputs of the layer: the sequence or its last state, and the final states.
fn outputs(config: Config<'_>, lowering: &mut Lowering, x: &Value, flat: &Value, states: usize) -> Values {
    let inner = flat.dims.as_ref().map(|dims| dims[1..].to_vec()).unwrap_or_default();
    let sequence = unflattened(lowering, x, flat, &inner);
    let wants_states = config.flag("return_state", false);
    let wants_sequence = config.flag("return_sequences", false);
    if wants_sequence && !wants_states {
        return vec![sequence];
    }
    let last = last_step(lowering, &sequence);
    let mut all = vec![if wants_sequence { sequence } else { last.clone() }];
    if wants_states {
        all.extend(vec![last; states]);
    }
    all
}

/// Splits batch and time steps into two dimensions again.
fn unflattened(lowering: &mut Lowering, x: &Value, flat: &Value, inner: &[i64]) -> Value {
    let dims = [&[x.dim(0), x.dim(1)][..], inner].concat();
    let sizes = lowering.sizes(&dims, x.tensor);
    Value::new(lowering.op("Reshape", &[flat.tensor, sizes], &[]), Some(dims))
}

fn last_step(lowering: &mut Lowering, x: &Value) -> Value {
    let rank = x.rank().unwrap_or(3);
    let mut from = vec![0; rank];
    from[1] = -1;
    let (from, to, steps) =
        (lowering.constant(&from), lowering.constant(&vec![0; rank]), lowering.constant(&vec![1; rank]));
    let whole = (1_i64 << rank) - 1 - 2;
    let masks = [
        ("begin_mask", AttrValue::Int(whole)),
        ("end_mask", AttrValue::Int(whole)),
        ("shrink_axis_mask", AttrValue::Int(2)),
    ];
    let tensor: Tensor = lowering.op("StridedSlice", &[x.tensor, from, to, steps], &masks);
    let dims = x.dims.clone().map(|mut dims| {
        dims.remove(1);
        dims
    });
    Value::new(tensor, dims)
}

/// A layer of one cell, or of several that follow each other.
fn cells(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let x = &inputs[0];
    x.dims.as_ref().filter(|dims| dims.len() == 3)?;
    let inner = layer.config.layer("cell")?;
    let stacked: Vec<Layer<'_>> = match inner.config.get("cells").as_array() {
        Some(cells) => cells.iter().filter_map(Layer::of).collect(),
        None => vec![inner],
    };
    if stacked.iter().any(|cell| !matches!(cell.class, "LSTMCell" | "GRUCell" | "SimpleRNNCell") || !cell.is_own()) {
        return None;
    }
    let mut flat = lowering.reshape(x, &[-1, x.dim(2)], Some(vec![-1, x.dim(2)]));
    for (number, one) in stacked.iter().enumerate() {
        let outer = lowering.enter_inner(one, &format!("cell_{number}"));
        let states = cell(one.class, one.config, lowering, &flat);
        lowering.leave(outer, true);
        flat = states?.0;
    }
    Some(outputs(layer.config, lowering, x, &flat, stacked.len()))
}

fn conv_lstm(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let (config, x, spatial) = (layer.config, &inputs[0], spatial(layer.class));
    let dims = x.dims.as_ref().filter(|dims| dims.len() == spatial + 3)?;
    let first = channels_first(config);
    let channels = if first { dims[2] } else { *dims.last()? };
    let window = Window {
        size: config.sizes("kernel_size", spatial, 1),
        strides: config.sizes("strides", spatial, 1),
        dilations: config.sizes("dilation_rate", spatial, 1),
        same: config.text("padding") == "same",
        first,
    };
    let filters = config.int("filters")?;
    let inner = [&[-1], &dims[2..]].concat();
    let flat = lowering.reshape(x, &inner, Some(inner.clone()));
    let kernel = lowering.parameter("kernel", &[&window.size[..], &[channels, 4 * filters]].concat(), true);
    let again = lowering.parameter("recurrent_kernel", &[&window.size[..], &[filters, 4 * filters]].concat(), true);
    let product = convolve(lowering, &flat, &kernel, &window)?;
    let product = if first { product } else { add_bias(config, lowering, product, 4 * filters) };
    let axis = lowering.scalar(if first { 1 } else { -1 });
    let part = lowering.op("Split", &[axis, product.tensor], &[("num_split", AttrValue::Int(4))]);
    let mut part_dims = product.dims.clone()?;
    let at = if first { 1 } else { part_dims.len() - 1 };
    part_dims[at] = filters;
    let state = Value::new(part, Some(part_dims));
    let plain = Window { strides: vec![1; spatial], dilations: vec![1; spatial], same: true, ..window };
    let more = convolve(lowering, &state, &again, &plain)?;
    let sum = lowering.zip("AddV2", &product, &more);
    let axis = lowering.scalar(if first { 1 } else { -1 });
    let gate = lowering.op("Split", &[axis, sum.tensor], &[("num_split", AttrValue::Int(4))]);
    let gate = Value::new(gate, state.dims.clone());
    // The default of tf.keras, which newer configs state.
    let inner = config.text_or("recurrent_activation", "hard_sigmoid");
    let flat = remembered(lowering, &gate, &state, inner, config.text_or("activation", "tanh"));
    Some(outputs(config, lowering, x, &flat, 2))
}

fn bidirectional(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let config = layer.config;
    let forward = config.layer("layer")?;
    let backward = config.layer("backward_layer");
    let name = |direction: &str| format!("{direction}_{}", forward.name.trim_start_matches("forward_"));
    let named = name("forward");
    let ahead = lower_inner(&Layer { name: &named, ..forward }, "forward_layer", lowering, inputs);
    let named = name("backward");
    let behind = Layer { name: &named, ..backward.unwrap_or(forward) };
    let behind = lower_inner(&behind, "backward_layer", lowering, inputs);
    let (a, b) = (ahead.first()?.clone(), behind.first()?.clone());
    let mut all = match config.get("merge_mode").as_str() {
        Some("concat") => vec![joined(lowering, &[a, b], -1)],
        Some("sum") => vec![lowering.zip("AddV2", &a, &b)],
        Some("mul") => vec![lowering.zip("Mul", &a, &b)],
        Some("ave") => {
            let sum = lowering.zip("AddV2", &a, &b);
            vec![by_constant("Mul", lowering, &sum)]
        }
        _ => vec![a, b],
    };
    all.extend(ahead.into_iter().skip(1).chain(behind.into_iter().skip(1)));
    Some(all)
}

fn time_distributed(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let x = &inputs[0];
    let rest = x.dims.as_ref().filter(|dims| dims.len() > 2)?[2..].to_vec();
    if rest.iter().any(|size| *size < 0) {
        return None;
    }
    let inner = layer.config.layer("layer")?;
    let sizes = [&[-1], &rest[..]].concat();
    let flat = lowering.reshape(x, &sizes, Some(sizes.clone()));
    let outputs = lower_inner(&inner, "layer", lowering, &[flat]);
    let flat = outputs.into_iter().next()?;
    let inner = flat.dims.as_ref()?.get(1..)?.to_vec();
    Some(vec![unflattened(lowering, x, &flat, &inner)])
}
