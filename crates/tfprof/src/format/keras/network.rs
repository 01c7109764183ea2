//! Networks of layers: sequential models, functional models of Keras 2 and 3, and nested models. Each call of a
//! layer is lowered as soon as its inputs are available.

use super::config::{Layer, dims};
use super::layers;
use super::lowering::{Lowering, Value, Values, groups};
use super::weights::Weight;
use crate::budget;
use crate::hash::{UntrustedMap, UntrustedSet};
use crate::model::dtype::DType;
use serde_json::Value as Json;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Lowers a whole model.
pub fn lower_model(json: &Json, lowering: &mut Lowering) -> Result<(), String> {
    let model = Layer::of(json).ok_or("this is no config of a Keras model: its class is missing")?;
    if !model.is_network() {
        // A subclassed model: only its Python code knows what it computes.
        lower_opaque(&model, lowering);
        return Ok(());
    }
    lower_network(&model, lowering, None)?;
    Ok(())
}

fn lower_opaque(model: &Layer<'_>, lowering: &mut Lowering) {
    let all = lowering.weights.all().to_vec();
    let outer = lowering.enter_part(model.name, model.class, String::new(), true, false);
    let shape = model.built_shape();
    let input = shape.map(|shape| lowering.input("input", DType::FLOAT, Some(&shape)));
    for weight in all {
        let path = weight.path.replace("vars/", "").replace("layers/", "");
        lowering.stored_parameter(&Weight { path, ..weight }, true);
    }
    lowering.unknown(&input.into_iter().collect::<Vec<_>>(), None);
    lowering.leave(outer, false);
    lowering.warnings.push(format!(
        "the class `{}` is the model's own, and its layers are not in the file: parameters come from the weights, FLOPs are \
         unknown; export it in Python with `model.export(\"DIR\")`, then ask `tfprof cost DIR`",
        model.class
    ));
}

/// Lowers a model; its inputs are new unless another model calls it.
pub fn lower_network(model: &Layer<'_>, lowering: &mut Lowering, inputs: Option<&[Value]>) -> Result<Values, String> {
    let layers = match model.config.get("layers").as_array().or_else(|| model.config.0.as_array()) {
        Some(layers) => layers.iter().filter_map(Layer::of).collect::<Vec<_>>(),
        None => return Err(format!("the model `{}` has no layers", model.name)),
    };
    if model.class == "Sequential" || !layers.iter().any(|layer| layer.json["inbound_nodes"].is_array()) {
        return lower_sequence(model, &layers, lowering, inputs);
    }
    Network::new(&layers).lower(model, lowering, inputs)
}

fn lower_sequence(
    model: &Layer<'_>,
    layers: &[Layer<'_>],
    lowering: &mut Lowering,
    inputs: Option<&[Value]>,
) -> Result<Values, String> {
    let groups = groups(layers.iter().map(|layer| layer.class));
    let mut values: Option<Values> = inputs.map(<[Value]>::to_vec);
    for (layer, group) in layers.iter().zip(groups) {
        if layer.class == "InputLayer" {
            values.get_or_insert_with(|| vec![model_input(layer, lowering)]);
            continue;
        }
        let current = match values.take() {
            Some(values) => values,
            // Without an input layer, the first layer says its shape, or the model as it was built.
            None => {
                let stated = dims(layer.config.get("batch_input_shape")).or_else(|| layer.built_shape());
                let stated = stated.or_else(|| model.built_shape()).or_else(|| dims(&model.json["build_input_shape"]));
                let dtype = if layer.class == "Embedding" { DType::INT32 } else { DType::FLOAT };
                vec![lowering.input(&format!("{}_input", layer.name), dtype, stated.as_deref())]
            }
        };
        let shape = layer.built_shape();
        let current: Values = current.into_iter().map(|value| lowering.restored(value, shape.clone())).collect();
        values = Some(call(layer, group, lowering, &current)?);
    }
    Ok(values.unwrap_or_default())
}

fn model_input(layer: &Layer<'_>, lowering: &mut Lowering) -> Value {
    let shape = dims(layer.config.get("batch_shape")).or_else(|| dims(layer.config.get("batch_input_shape")));
    let dtype = layer.config.get("dtype").as_str().and_then(DType::named).unwrap_or(DType::FLOAT);
    lowering.input(layer.name, dtype, shape.as_deref())
}

/// Calls a layer once.
fn call(layer: &Layer<'_>, group: String, lowering: &mut Lowering, inputs: &[Value]) -> Result<Values, String> {
    let outer = lowering.enter(layer, group);
    let outcome = if layer.is_network() {
        lower_network(layer, lowering, Some(inputs))
    } else {
        let outputs = layers::lower(layer, lowering, inputs);
        if layer.is_quantized() {
            lowering.push_rest();
        }
        Ok(outputs)
    };
    lowering.leave(outer, false);
    outcome
}

/// A reference to an output: layer, call index, output index; and its shape, if it is stated.
#[derive(Clone, Debug)]
struct Reference {
    layer: String,
    call: usize,
    output: usize,
    dims: Option<Vec<i64>>,
}

/// A functional model.
struct Network<'j> {
    layers: &'j [Layer<'j>],
    /// The inputs of each call of a layer.
    calls: Vec<Vec<Vec<Reference>>>,
    /// The index that references use for the first call of a model, if it is not 0.
    first: UntrustedMap<&'j str, usize>,
    /// Whether the calls are those of Keras 3.
    modern: bool,
}

impl<'j> Network<'j> {
    fn new(layers: &'j [Layer<'j>]) -> Network<'j> {
        let calls: Vec<Vec<Vec<Reference>>> = layers
            .iter()
            .map(|layer| layer.json["inbound_nodes"].as_array().into_iter().flatten().map(references).collect())
            .collect();
        let modern = layers.iter().any(|layer| layer.json["inbound_nodes"].get(0).is_some_and(Json::is_object));
        let mut network = Network { layers, calls, first: UntrustedMap::default(), modern };
        if !modern {
            network.first = network.first_calls(network.calls.iter().flatten().flatten());
        }
        network
    }

    /// The first call indices of models, among references of one kind. A model has a call of its own before those that
    /// are in the file, except for a sequence that was not built when it was called.
    fn first_calls<'r>(&self, references: impl Iterator<Item = &'r Reference>) -> UntrustedMap<&'j str, usize> {
        let zero: UntrustedSet<&str> =
            references.filter(|read| read.call == 0).map(|read| read.layer.as_str()).collect();
        let models = self.layers.iter().filter(|layer| layer.is_network() && !zero.contains(layer.name));
        models.filter(|layer| !(self.modern && layer.class == "Sequential")).map(|layer| (layer.name, 1)).collect()
    }

    /// The outputs of the model, by the numbers that calls have. Keras 3 counts calls of models from 0 where layers read them,
    /// but from 1 in this list.
    fn outputs(&self, model: &Layer<'_>) -> Vec<Reference> {
        let mut outputs = model_tensors(model.config.get("output_layers"));
        let first = if self.modern { self.first_calls(outputs.iter()) } else { UntrustedMap::default() };
        for output in &mut outputs {
            output.call -= first.get(output.layer.as_str()).copied().unwrap_or(0);
        }
        outputs
    }

    fn lower(&self, model: &Layer<'_>, lowering: &mut Lowering, inputs: Option<&[Value]>) -> Result<Values, String> {
        let mut done: UntrustedMap<(&str, usize), Values> = UntrustedMap::default();
        let given: Vec<Reference> = model_tensors(model.config.get("input_layers"));
        let mut places: UntrustedMap<&str, usize> = UntrustedMap::default();
        for (at, input) in given.iter().enumerate() {
            places.entry(input.layer.as_str()).or_insert(at);
        }
        for layer in self.layers.iter().filter(|layer| layer.class == "InputLayer") {
            let passed = inputs.and_then(|inputs| inputs.get(*places.get(layer.name)?)).cloned();
            let value = passed.unwrap_or_else(|| model_input(layer, lowering));
            done.insert((layer.name, 0), vec![value]);
        }
        let groups = groups(self.layers.iter().map(|layer| layer.class));
        let mut calls: Vec<(usize, usize)> = Vec::new();
        for (at, layer) in self.layers.iter().enumerate().filter(|(_, layer)| layer.class != "InputLayer") {
            calls.extend((0..self.calls[at].len()).map(|call| (at, call)));
            if self.calls[at].is_empty() {
                lowering.warnings.push(format!("the layer `{}` is never called", layer.name));
            }
        }
        let mut queue = Queue::new(self, &calls, &done);
        while let Some(Reverse(next)) = queue.ready.pop() {
            let (at, number) = calls[next];
            let references = &self.calls[at][number];
            budget::work(1 + references.len() as u64);
            let mut inputs: Values =
                references.iter().filter_map(|reference| resolve(reference, &done, lowering)).collect();
            let layer = Layer { call: &self.layers[at].json["inbound_nodes"][number], ..self.layers[at] };
            // A layer of several calls was built for the first one.
            if let ([input], [_]) = (inputs.as_mut_slice(), self.calls[at].as_slice()) {
                *input = lowering.restored(input.clone(), layer.built_shape());
            }
            let outputs = call(&layer, groups[at].clone(), lowering, &inputs)?;
            let key = (layer.name, self.first.get(layer.name).copied().unwrap_or(0) + number);
            // A call without outputs has no readers.
            if !outputs.is_empty() {
                queue.release(key);
            }
            done.insert(key, outputs);
        }
        if let Some((missing, waits)) = queue.blocked() {
            let name = self.layers[calls[waits].0].name;
            return Err(format!(
                "the layer `{name}` waits for `{missing}`, which is not in the config or waits for it; is the file damaged?"
            ));
        }
        Ok(self.outputs(model).iter().filter_map(|reference| resolve(reference, &done, lowering)).collect())
    }
}

/// Calls in file order, each as soon as its inputs are ready.
struct Queue<'n> {
    ready: BinaryHeap<Reverse<usize>>,
    /// For each call, the number of missing inputs.
    missing: Vec<usize>,
    /// The calls that wait for a call of a layer.
    waiting: UntrustedMap<(&'n str, usize), Vec<usize>>,
}

impl<'n> Queue<'n> {
    fn new(network: &'n Network<'_>, calls: &[(usize, usize)], done: &UntrustedMap<(&str, usize), Values>) -> Self {
        let mut queue = Queue { ready: BinaryHeap::new(), missing: Vec::new(), waiting: UntrustedMap::default() };
        for (index, (at, number)) in calls.iter().enumerate() {
            let reads = network.calls[*at][*number].iter().map(|read| (read.layer.as_str(), read.call));
            let before = queue.missing.len();
            queue.missing.push(0);
            for key in reads.filter(|key| !done.contains_key(key)) {
                queue.missing[before] += 1;
                queue.waiting.entry(key).or_default().push(index);
            }
            if queue.missing[before] == 0 {
                queue.ready.push(Reverse(index));
            }
        }
        queue
    }

    /// Marks a call as done.
    fn release(&mut self, key: (&'n str, usize)) {
        for index in self.waiting.remove(&key).unwrap_or_default() {
            self.missing[index] -= 1;
            if self.missing[index] == 0 {
                self.ready.push(Reverse(index));
            }
        }
    }

    /// The first call that can never run, and a layer that blocks it.
    fn blocked(&self) -> Option<(&'n str, usize)> {
        let first = self.missing.iter().position(|missing| *missing > 0)?;
        let layers = self.waiting.iter().filter(|(_, calls)| calls.contains(&first)).map(|((layer, _), _)| *layer);
        Some((layers.min()?, first))
    }
}

/// The tensor of a reference, if its layer was called.
fn resolve(
    reference: &Reference,
    done: &UntrustedMap<(&str, usize), Values>,
    lowering: &mut Lowering,
) -> Option<Value> {
    let outputs = done.get(&(reference.layer.as_str(), reference.call))?;
    let value = outputs.get(reference.output).or(outputs.first())?.clone();
    Some(lowering.restored(value, reference.dims.clone()))
}

/// The tensors that a call reads, in order.
fn references(node: &Json) -> Vec<Reference> {
    let mut found = Vec::new();
    collect(node, &mut found);
    found
}

/// Collects references: objects of Keras 3, lists of name and numbers of Keras 2. JSON is at most 128 levels deep.
fn collect(json: &Json, found: &mut Vec<Reference>) {
    match json {
        Json::Object(object) if object.get("class_name").and_then(Json::as_str) == Some("__keras_tensor__") => {
            let config = &json["config"];
            let history = reference(&config["keras_history"]);
            found.extend(history.map(|history| Reference { dims: dims(&config["shape"]), ..history }));
        }
        Json::Object(object) => {
            for key in ["args", "kwargs"] {
                if let Some(part) = object.get(key) {
                    collect(part, found);
                }
            }
            if !object.contains_key("args") {
                object.values().for_each(|value| collect(value, found));
            }
        }
        Json::Array(list) => match reference(json) {
            Some(single) => {
                found.push(single);
                // Tensors among the further arguments of Keras 2.
                list.get(3).into_iter().for_each(|more| collect(more, found));
            }
            None => list.iter().for_each(|item| collect(item, found)),
        },
        _ => {}
    }
}

/// `[layer, call, output]`, and perhaps more.
fn reference(json: &Json) -> Option<Reference> {
    let list = json.as_array().filter(|list| (3..=4).contains(&list.len()))?;
    let number = |at: usize| usize::try_from(list[at].as_i64()?).ok();
    Some(Reference { layer: list[0].as_str()?.to_owned(), call: number(1)?, output: number(2)?, dims: None })
}

/// The inputs or outputs of a model: one reference, or lists of them.
fn model_tensors(json: &Json) -> Vec<Reference> {
    references(json)
}
