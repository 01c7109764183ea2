//! Configs of Keras 1, whose keys have other names than those of Keras 2 and 3: they get the newer names beside the old ones.

use serde_json::{Map, Value as Json, json};

/// Old keys and the newer ones with the same values.
const KEYS: &[(&str, &str)] = &[
    ("nb_filter", "filters"),
    ("border_mode", "padding"),
    ("subsample", "strides"),
    ("subsample_length", "strides"),
    ("filter_length", "kernel_size"),
    ("pool_length", "pool_size"),
    ("atrous_rate", "dilation_rate"),
    ("bias", "use_bias"),
    ("inner_activation", "recurrent_activation"),
    ("p", "rate"),
    ("stride", "strides"),
];

/// Sizes that were a key for each dimension.
const SIZES: &[(&[&str], &str)] =
    &[(&["kernel_dim1", "kernel_dim2", "kernel_dim3"], "kernel_size"), (&["nb_row", "nb_col"], "kernel_size")];

/// Old names of classes.
const CLASSES: &[(&str, &str)] = &[
    ("Convolution1D", "Conv1D"),
    ("Convolution2D", "Conv2D"),
    ("Convolution3D", "Conv3D"),
    ("AtrousConvolution1D", "Conv1D"),
    ("AtrousConvolution2D", "Conv2D"),
    ("Deconvolution2D", "Conv2DTranspose"),
    ("SeparableConvolution2D", "SeparableConv2D"),
];

/// Translates all layers of a config. JSON is at most 128 levels deep.
pub fn translate(json: &mut Json) {
    match json {
        Json::Array(items) => items.iter_mut().for_each(translate),
        Json::Object(object) => {
            layer(object);
            object.values_mut().for_each(translate);
        }
        _ => {}
    }
}

/// A copy of a setting: a number, a text, or a few of them. Copies of whole layers would double at each level.
fn copied(config: &Map<String, Json>, key: &str) -> Option<Json> {
    let is_single = |value: &Json| !value.is_object() && !value.is_array();
    let value = config.get(key)?;
    let few = value.as_array().is_some_and(|all| all.len() <= 16 && all.iter().all(is_single));
    (few || is_single(value)).then(|| value.clone())
}

fn layer(object: &mut Map<String, Json>) {
    let class = object.get("class_name").and_then(Json::as_str).unwrap_or_default().to_owned();
    let Some(config) = object.get_mut("config").and_then(Json::as_object_mut) else { return };
    let is_old = ["dim_ordering", "output_dim", "nb_filter", "border_mode", "mode", "pool_length"];
    if class.is_empty() || !is_old.iter().any(|key| config.contains_key(*key)) {
        return;
    }
    for (old, new) in KEYS {
        if let Some(value) = copied(config, old).filter(|_| !config.contains_key(*new)) {
            config.insert((*new).to_owned(), value);
        }
    }
    for (old, new) in SIZES {
        let sizes: Option<Vec<Json>> = old.iter().map(|key| copied(config, key)).collect();
        if let Some(sizes) = sizes.filter(|_| !config.contains_key(*new)) {
            config.insert((*new).to_owned(), Json::Array(sizes));
        }
    }
    if let Some(order) = config.get("dim_ordering").and_then(Json::as_str) {
        let format = if order == "th" { "channels_first" } else { "channels_last" };
        config.insert("data_format".to_owned(), json!(format));
    }
    // The second size of an embedding has kept its name.
    if let Some(units) = copied(config, "output_dim").filter(|_| class != "Embedding" && !config.contains_key("units"))
    {
        config.insert("units".to_owned(), units);
    }
    let merged = config.get("mode").and_then(Json::as_str).and_then(merge);
    if let Some(axis) = copied(config, "concat_axis").filter(|_| class == "Merge") {
        config.insert("axis".to_owned(), axis);
    }
    let renamed = CLASSES.iter().find(|(old, _)| *old == class).map(|(_, new)| *new);
    let renamed = if class == "Merge" { merged } else { renamed };
    if let Some(class) = renamed {
        object.insert("class_name".to_owned(), json!(class));
    }
}

/// The class of a merge by its mode.
fn merge(mode: &str) -> Option<&'static str> {
    Some(match mode {
        "sum" => "Add",
        "mul" => "Multiply",
        "ave" => "Average",
        "max" => "Maximum",
        "concat" => "Concatenate",
        "dot" => "Dot",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(mut config: Json, expect: &Json) {
        translate(&mut config);
        for (key, value) in expect["config"].as_object().into_iter().flatten() {
            assert_eq!(&config["config"][key], value, "{key}: {config}");
        }
        assert_eq!(config["class_name"], expect["class_name"]);
    }

    #[test]
    fn layers_of_keras_1_get_the_keys_of_keras_2() {
        let old = json!({"nb_filter": 8, "nb_row": 3, "nb_col": 5, "border_mode": "same", "subsample": [2, 1],
                         "dim_ordering": "th", "bias": false});
        let new = json!({"filters": 8, "kernel_size": [3, 5], "padding": "same", "strides": [2, 1],
                         "data_format": "channels_first", "use_bias": false});
        check(json!({"class_name": "Convolution2D", "config": old}), &json!({"class_name": "Conv2D", "config": new}));
        check(
            json!({"class_name": "Dense", "config": {"output_dim": 10}}),
            &json!({"class_name": "Dense", "config": {"units": 10}}),
        );
        check(
            json!({"class_name": "Embedding", "config": {"output_dim": 4, "input_dim": 9}}),
            &json!({"class_name": "Embedding", "config": {"units": null, "output_dim": 4}}),
        );
        check(
            json!({"class_name": "Merge", "config": {"mode": "concat", "concat_axis": 1}}),
            &json!({"class_name": "Concatenate", "config": {"axis": 1}}),
        );
        check(
            json!({"class_name": "Dense", "config": {"units": 3, "bias": 1}}),
            &json!({"class_name": "Dense", "config": {"use_bias": null}}),
        );
    }
}
