//! Typed access to the config of a layer, with Keras's defaults for missing keys.

use crate::model::dtype::DType;
use serde_json::Value as Json;

/// The config of a layer.
#[derive(Clone, Copy, Debug)]
pub struct Config<'j>(pub &'j Json);

impl<'j> Config<'j> {
    pub fn get(self, key: &str) -> &'j Json {
        &self.0[key]
    }

    pub fn text(self, key: &str) -> &'j str {
        self.get(key).as_str().unwrap_or_default()
    }

    pub fn text_or(self, key: &str, default: &'j str) -> &'j str {
        self.get(key).as_str().unwrap_or(default)
    }

    pub fn int(self, key: &str) -> Option<i64> {
        integer(self.get(key))
    }

    pub fn flag(self, key: &str, default: bool) -> bool {
        self.get(key).as_bool().unwrap_or(default)
    }

    /// A number for each of `count` dimensions, or one for all.
    pub fn sizes(self, key: &str, count: usize, default: i64) -> Vec<i64> {
        match self.get(key) {
            Json::Array(all) if all.len() == count => all.iter().map(|size| integer(size).unwrap_or(default)).collect(),
            one => vec![integer(one).unwrap_or(default); count],
        }
    }

    /// A list of numbers; empty if it is not one.
    pub fn ints(self, key: &str) -> Vec<i64> {
        match self.get(key) {
            Json::Array(all) => all.iter().filter_map(integer).collect(),
            one => integer(one).into_iter().collect(),
        }
    }

    /// The config of a layer within this one.
    pub fn layer(self, key: &str) -> Option<Layer<'j>> {
        Layer::of(self.get(key))
    }

    /// The name of an activation, which newer files may store as an object.
    pub fn activation(self, key: &str) -> &'j str {
        let value = self.get(key);
        let inner = value.as_str().or_else(|| value["config"].as_str());
        inner.or_else(|| value["config"]["name"].as_str()).or_else(|| value["class_name"].as_str()).unwrap_or("linear")
    }
}

/// A layer: its class, its config and its name.
#[derive(Clone, Copy, Debug)]
pub struct Layer<'j> {
    pub class: &'j str,
    pub config: Config<'j>,
    pub name: &'j str,
    pub json: &'j Json,
    /// The arguments of the call that is lowered: tensors, and the numbers between them.
    pub call: &'j Json,
}

impl<'j> Layer<'j> {
    pub fn of(json: &'j Json) -> Option<Layer<'j>> {
        let class = json["class_name"].as_str()?;
        // Classes of users are registered as `package>Class`.
        let class = class.rsplit('>').next().unwrap_or(class);
        let config = Config(&json["config"]);
        let name = json["name"].as_str().or_else(|| config.get("name").as_str()).unwrap_or(class);
        Some(Layer { class, config, name, json, call: &Json::Null })
    }

    /// Whether it comes from Keras itself: a user's class may have the name of one of Keras's.
    pub fn is_own(&self) -> bool {
        let registered = self.json["registered_name"].as_str().unwrap_or_default();
        let module = self.json["module"].as_str();
        let of_keras =
            |module: &str| ["keras", "tf_keras", "tensorflow"].contains(&module.split('.').next().unwrap_or_default());
        // Keras registers its ops and the layers of its applications, too, but names their module.
        match module {
            Some(module) => of_keras(module) && !registered.contains('>'),
            None => registered.is_empty(),
        }
    }

    /// Whether it is an op on tensors, which Keras 3 lists among the layers.
    pub fn is_op(&self) -> bool {
        match self.json["module"].as_str() {
            Some(module) => module.starts_with("keras.src.ops") || module.starts_with("keras.ops"),
            // An `.h5` file does not name modules, but each layer says whether it is trained.
            None => self.config.get("trainable").is_null() && self.config.get("dtype").is_null(),
        }
    }

    /// A non-tensor argument of the call, by position or name.
    pub fn argument(&self, place: usize, name: &str) -> Option<&'j Json> {
        let named = self.call["kwargs"].get(name).or_else(|| self.call.get(name));
        self.call["args"].get(place).or(named)
    }

    /// Whether it is a model with layers of its own.
    pub fn is_network(&self) -> bool {
        self.config.get("layers").is_array() || self.class == "Sequential" && self.config.0.is_array()
    }

    /// Whether its weights are quantized.
    pub fn is_quantized(&self) -> bool {
        self.config.get("dtype")["class_name"] == "QuantizedDTypePolicy"
    }

    /// The type of its variables, if the config says it. In mixed precision, they have 32 bits.
    pub fn variable_type(&self) -> Option<DType> {
        let stated = self.config.get("dtype");
        let policy = &stated["config"];
        let name = stated.as_str().or_else(|| policy["name"].as_str()).or_else(|| policy["source_name"].as_str())?;
        let name = name.rsplit("from_").next().unwrap_or(name);
        if name.starts_with("mixed_") { Some(DType::FLOAT) } else { DType::named(name) }
    }

    /// The shape of its input as it was built.
    pub fn built_shape(&self) -> Option<Vec<i64>> {
        let build = &self.json["build_config"];
        dims(&build["input_shape"]).or_else(|| dims(&self.config.get("build_input_shape").clone()))
    }
}

/// An upper bound for sizes, so that the product of two does not overflow.
const LARGEST: i64 = 1 << 31;

pub fn integer(json: &Json) -> Option<i64> {
    let number = json.as_i64().or_else(|| json.as_f64().filter(|n| n.fract() == 0.0).map(|n| n as i64));
    number.map(|number| number.clamp(-LARGEST, LARGEST))
}

/// A shape: open sizes are -1.
pub fn dims(json: &Json) -> Option<Vec<i64>> {
    let all = json.as_array()?;
    all.iter().map(|size| if size.is_null() { Some(-1) } else { integer(size) }).collect()
}
