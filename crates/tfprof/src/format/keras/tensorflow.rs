//! Ops of TensorFlow that were called on the tensors of a model of tf.keras 2: those of `keras.ops` under other names.

use super::config::{Config, Layer};
use super::layers::{Lower, find_in};
use super::lowering::{Lowering, Value, Values};
use super::ops;
use serde_json::{Map, Value as Json, json};

pub const LAYERS: &[(&[&str], Lower)] = &[(&["TFOpLambda", "SlicingOpLambda"], called)];

/// The last name of a function, the op, and the arguments with other names.
type Function = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

/// By name, sorted.
const FUNCTIONS: &[Function] = &[
    ("abs", "Absolute", &[]),
    ("add", "Add", &[]),
    ("argmax", "Argmax", &[]),
    ("argmin", "Argmin", &[]),
    ("batch_matmul", "Matmul", &[]),
    ("broadcast_to", "BroadcastTo", &[]),
    ("cast", "Cast", &[]),
    ("ceil", "Ceil", &[]),
    ("clip_by_value", "Clip", &[]),
    ("concat", "Concatenate", &[]),
    ("concatenate", "Concatenate", &[]),
    ("cos", "Cos", &[]),
    ("cumsum", "Cumsum", &[]),
    ("divide", "Divide", &[]),
    ("divide_no_nan", "DivideNoNan", &[]),
    ("einsum", "Einsum", &[("equation", "subscripts")]),
    ("elu", "Elu", &[]),
    ("equal", "Equal", &[]),
    ("erf", "Erf", &[]),
    ("exp", "Exp", &[]),
    ("expand_dims", "ExpandDims", &[]),
    ("floor", "Floor", &[]),
    ("floordiv", "FloorDivide", &[]),
    ("floormod", "Mod", &[]),
    ("gather", "Take", &[]),
    ("gelu", "Gelu", &[]),
    ("getitem", "GetItem", &[]),
    ("greater", "Greater", &[]),
    ("greater_equal", "GreaterEqual", &[]),
    ("hard_swish", "HardSilu", &[]),
    ("l2_normalize", "Normalize", &[]),
    ("leaky_relu", "LeakyRelu", &[]),
    ("less", "Less", &[]),
    ("less_equal", "LessEqual", &[]),
    ("log", "Log", &[]),
    ("log1p", "Log1p", &[]),
    ("log_softmax", "LogSoftmax", &[]),
    ("logical_and", "LogicalAnd", &[]),
    ("logical_not", "LogicalNot", &[]),
    ("logical_or", "LogicalOr", &[]),
    ("matmul", "Matmul", &[]),
    ("maximum", "Maximum", &[]),
    ("minimum", "Minimum", &[]),
    ("mod", "Mod", &[]),
    ("moments", "Moments", &[]),
    ("multiply", "Multiply", &[]),
    ("neg", "Negative", &[]),
    ("negative", "Negative", &[]),
    ("norm", "Norm", &[]),
    ("not_equal", "NotEqual", &[]),
    ("one_hot", "OneHot", &[("depth", "num_classes")]),
    ("ones_like", "OnesLike", &[]),
    ("pad", "Pad", &[("paddings", "pad_width")]),
    ("pow", "Power", &[]),
    ("reduce_all", "All", &[]),
    ("reduce_any", "Any", &[]),
    ("reduce_logsumexp", "Logsumexp", &[]),
    ("reduce_max", "Max", &[]),
    ("reduce_mean", "Mean", &[]),
    ("reduce_min", "Min", &[]),
    ("reduce_prod", "Prod", &[]),
    ("reduce_std", "Std", &[]),
    ("reduce_sum", "Sum", &[]),
    ("reduce_variance", "Var", &[]),
    ("relu", "Relu", &[]),
    ("relu6", "Relu6", &[]),
    ("repeat", "Repeat", &[]),
    ("reshape", "Reshape", &[("shape", "newshape")]),
    ("resize", "Resize", &[("method", "interpolation")]),
    ("resize_images_v2", "Resize", &[("method", "interpolation")]),
    ("reverse", "Flip", &[]),
    ("roll", "Roll", &[]),
    ("round", "Round", &[]),
    ("rsqrt", "Rsqrt", &[]),
    ("selu", "Selu", &[]),
    ("sigmoid", "Sigmoid", &[]),
    ("sign", "Sign", &[]),
    ("silu", "Silu", &[]),
    ("sin", "Sin", &[]),
    ("softmax", "Softmax", &[]),
    ("softplus", "Softplus", &[]),
    ("softsign", "Softsign", &[]),
    ("split", "Split", &[("num_or_size_splits", "indices_or_sections")]),
    ("sqrt", "Sqrt", &[]),
    ("square", "Square", &[]),
    ("squared_difference", "SquaredDifference", &[]),
    ("squeeze", "Squeeze", &[]),
    ("stack", "Stack", &[]),
    ("stop_gradient", "StopGradient", &[]),
    ("subtract", "Subtract", &[]),
    ("swish", "Silu", &[]),
    ("tanh", "Tanh", &[]),
    ("tensordot", "Tensordot", &[]),
    ("tile", "Tile", &[("multiples", "repeats")]),
    ("top_k", "TopK", &[]),
    ("transpose", "Transpose", &[("perm", "axes")]),
    ("truediv", "Divide", &[]),
    ("unstack", "Unstack", &[]),
    ("where", "Where", &[]),
    ("zeros_like", "ZerosLike", &[]),
];

/// An op by the function that was called.
fn called(layer: &Layer<'_>, lowering: &mut Lowering, inputs: &[Value]) -> Option<Values> {
    let name = layer.config.text("function").rsplit('.').next()?.trim_start_matches("__operators__");
    let at = FUNCTIONS.binary_search_by(|(known, ..)| (*known).cmp(name)).ok()?;
    let (_, class, renamed) = FUNCTIONS[at];
    let given = arguments(layer.call);
    let mut config = Map::new();
    for (key, value) in given.as_object().into_iter().flatten() {
        let own = renamed.iter().find(|(theirs, _)| theirs == key).map_or(key.as_str(), |(_, own)| *own);
        config.insert(own.to_owned(), value.clone());
    }
    if class == "Split" {
        borders(&mut config)?;
    }
    if class == "Resize" {
        config.entry("interpolation").or_insert(json!("bilinear"));
    }
    let config = Json::Object(config);
    let own = Layer { class, config: Config(&config), call: given, ..*layer };
    find_in(ops::OPS, class)?(&own, lowering, inputs)
}

/// The arguments of a call that have names: they follow the first tensor.
fn arguments(call: &Json) -> &Json {
    let object = |reference: &'_ Json| reference.get(3).is_some_and(Json::is_object);
    match call.as_array() {
        Some(_) if object(call) => &call[3],
        Some(all) => all.iter().find(|reference| object(reference)).map_or(&Json::Null, |reference| &reference[3]),
        None => call,
    }
}

/// TensorFlow splits into parts of given sizes, Keras at given borders.
fn borders(config: &mut Map<String, Json>) -> Option<()> {
    let sections = config.get_mut("indices_or_sections")?;
    if let Some(sizes) = sections.as_array() {
        let mut sum = 0_i64;
        let mut borders = Vec::with_capacity(sizes.len());
        for size in sizes.iter().take(sizes.len().saturating_sub(1)) {
            sum = sum.checked_add(size.as_i64().filter(|size| *size >= 0)?)?;
            borders.push(sum);
        }
        *sections = json!(borders);
    }
    config.entry("axis").or_insert(json!(0));
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_sorted_and_lead_to_ops() {
        assert!(FUNCTIONS.is_sorted_by(|a, b| a.0 < b.0));
        for (function, class, _) in FUNCTIONS {
            assert!(find_in(ops::OPS, class).is_some(), "{function}: {class}");
        }
    }

    #[test]
    fn sizes_of_parts_become_borders() {
        let check = |sections: Json, expect: Option<Json>| {
            let mut config = Map::new();
            config.insert("indices_or_sections".to_owned(), sections);
            let found = borders(&mut config).map(|()| config["indices_or_sections"].clone());
            assert_eq!(found, expect);
        };
        check(json!([1, 3, 2]), Some(json!([1, 4])));
        check(json!(3), Some(json!(3)));
        check(json!([-1, 3]), None);
    }
}
