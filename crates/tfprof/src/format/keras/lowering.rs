//! [`Lowering`]: pushes the ops of a layer. It tracks the current scope, the layer's weights in the file, and the parameters
//! created so far: a layer that is called twice has its parameters once.

use super::config::Layer;
use super::weights::{Weight, Weights, snake_case};
use crate::budget;
use crate::hash::{UntrustedMap, UntrustedSet};
use crate::model::attr_value::{AttrValue, Elements};
use crate::model::body::Tensor;
use crate::model::dtype::DType;
use crate::model::lowered::Lowered;
use crate::model::shape::Shape;

/// A tensor, and its shape where the config determines it: open sizes are -1.
#[derive(Clone, Debug)]
pub struct Value {
    pub tensor: Tensor,
    pub dims: Option<Vec<i64>>,
    /// A tensor with the same batch size, if the op that makes this one is unknown.
    pub like: Option<Tensor>,
}

impl Value {
    pub fn new(tensor: Tensor, dims: Option<Vec<i64>>) -> Value {
        Value { tensor, dims, like: None }
    }

    pub fn rank(&self) -> Option<usize> {
        self.dims.as_ref().map(Vec::len)
    }

    /// The size of an axis, negative axes from the end; -1 if it is open.
    pub fn dim(&self, at: i64) -> i64 {
        let Some(dims) = &self.dims else { return -1 };
        let at = if at < 0 { at + dims.len() as i64 } else { at };
        usize::try_from(at).ok().and_then(|at| dims.get(at)).copied().unwrap_or(-1)
    }
}

pub type Values = Vec<Value>;

#[derive(Debug)]
pub struct Lowering {
    lowered: Lowered,
    pub weights: Weights,
    pub warnings: Vec<String>,
    /// Whether Keras 3 saved the model, whose layers run other ops than those of tf.keras.
    pub is_new: bool,
    /// The names of the enclosing layers, and the groups of their weights.
    names: Vec<String>,
    groups: Vec<String>,
    /// The depth of the layer that owns the weights; deeper names are its parts.
    layer: usize,
    /// The op name that views show.
    class: String,
    trainable: bool,
    /// The default type of variables; the file may override it.
    dtype: DType,
    /// Parameters by name, so that each is created once.
    parameters: UntrustedMap<String, Value>,
    /// The stored weights of the layer, and the number of parameters requested so far.
    stored: Vec<Weight>,
    asked: usize,
    /// The parameters that each layer has created, by scope, and those of earlier calls of this layer.
    made: UntrustedMap<String, Vec<(String, Value)>>,
    earlier: Vec<(String, Value)>,
    /// In archives, the first layer of each class and name.
    homes: UntrustedMap<String, LayerWeights>,
    /// The layers called so far, by scope, and whether this is a first call.
    called: UntrustedSet<String>,
    is_first: bool,
    /// The shapes of all parameters, and the number of those before this layer.
    shapes: Vec<Vec<i64>>,
    first_shape: usize,
}

/// The scope of a layer, and whether the file has weights for it.
#[derive(Debug)]
struct LayerWeights {
    scope: String,
    stored: bool,
}

/// The saved state of the enclosing layer.
#[derive(Debug)]
pub struct EnclosingLayer {
    class: String,
    trainable: bool,
    dtype: DType,
    stored: Vec<Weight>,
    asked: usize,
    earlier: Vec<(String, Value)>,
    is_first: bool,
    first_shape: usize,
    layer: usize,
    depth: (usize, usize),
}

impl Lowering {
    pub fn new(weights: Weights) -> Lowering {
        Lowering {
            lowered: Lowered::default(),
            weights,
            warnings: Vec::new(),
            is_new: false,
            names: Vec::new(),
            groups: Vec::new(),
            class: String::new(),
            trainable: true,
            dtype: DType::FLOAT,
            parameters: UntrustedMap::default(),
            stored: Vec::new(),
            asked: 0,
            layer: 0,
            made: UntrustedMap::default(),
            earlier: Vec::new(),
            homes: UntrustedMap::default(),
            called: UntrustedSet::default(),
            is_first: false,
            shapes: Vec::new(),
            first_shape: 0,
        }
    }

    pub fn finish(self) -> Lowered {
        self.lowered
    }

    /// Enters the scope of a layer. `group` is the path of its weights.
    pub fn enter(&mut self, layer: &Layer<'_>, group: String) -> EnclosingLayer {
        let outer = self.enter_part(layer.name, layer.class, group, layer.config.flag("trainable", true), true);
        self.dtype = layer.variable_type().unwrap_or(self.dtype);
        self.share(layer);
        outer
    }

    /// Enters a part of a layer: a cell, a direction, a wrapped layer. The weights are those of the whole layer.
    pub fn enter_inner(&mut self, layer: &Layer<'_>, group: &str) -> EnclosingLayer {
        let trainable = layer.config.flag("trainable", true);
        let outer = self.enter_part(layer.name, layer.class, group.to_owned(), trainable, false);
        self.dtype = layer.variable_type().unwrap_or(self.dtype);
        self.share(layer);
        outer
    }

    /// Reuses the parameters of the same layer in another model: a config lists a layer in each model that calls
    /// it, but an archive has its weights once. So of two entries with one class and name, only one has weights.
    fn share(&mut self, layer: &Layer<'_>) {
        if !self.weights.lists_objects_once() {
            return;
        }
        let (scope, stored) = (self.names[..self.layer].join("/"), !self.stored.is_empty());
        let home =
            self.homes.entry(format!("{}/{}", layer.class, layer.name)).or_insert(LayerWeights { scope, stored });
        if home.stored == stored || home.scope == self.names[..self.layer].join("/") {
            return;
        }
        home.stored = true;
        self.earlier = self.made.get(&home.scope).cloned().unwrap_or_default();
        budget::work(self.earlier.len() as u64);
    }

    /// The same by name.
    pub fn enter_part(
        &mut self,
        name: &str,
        class: &str,
        group: String,
        trainable: bool,
        reload: bool,
    ) -> EnclosingLayer {
        let depth = (self.names.len(), self.groups.len());
        // A layer's name may hold slashes, which are scopes as well.
        self.names.push(name.to_owned());
        self.groups.push(group);
        let within = self.trainable && trainable;
        let (stored, earlier, layer) = if reload {
            let made = self.made.get(&self.names.join("/")).cloned().unwrap_or_default();
            (self.weights.of_layer(&self.names, &self.groups), made, self.names.len())
        } else {
            (self.stored.clone(), self.earlier.clone(), self.layer)
        };
        budget::work(earlier.len() as u64);
        let is_first = if reload { self.called.insert(self.names.join("/")) } else { self.is_first };
        let first_shape = if reload { self.shapes.len() } else { self.first_shape };
        EnclosingLayer {
            is_first: std::mem::replace(&mut self.is_first, is_first),
            first_shape: std::mem::replace(&mut self.first_shape, first_shape),
            class: std::mem::replace(&mut self.class, class.to_owned()),
            trainable: std::mem::replace(&mut self.trainable, within),
            dtype: self.dtype,
            stored: std::mem::replace(&mut self.stored, stored),
            asked: if reload { std::mem::replace(&mut self.asked, 0) } else { self.asked },
            earlier: std::mem::replace(&mut self.earlier, earlier),
            layer: std::mem::replace(&mut self.layer, layer),
            depth,
        }
    }

    /// Leaves the scope. With `keep`, the count of requested parameters goes on across the parts of a layer.
    pub fn leave(&mut self, outer: EnclosingLayer, keep: bool) {
        self.names.truncate(outer.depth.0);
        self.groups.truncate(outer.depth.1);
        self.class = outer.class;
        self.trainable = outer.trainable;
        self.dtype = outer.dtype;
        self.stored = outer.stored;
        self.earlier = outer.earlier;
        (self.is_first, self.first_shape) = (outer.is_first, outer.first_shape);
        self.layer = outer.layer;
        if !keep {
            self.asked = outer.asked;
        }
    }

    fn scoped(&self, name: &str) -> String {
        let mut scoped = self.names.join("/");
        if !scoped.is_empty() && !name.is_empty() {
            scoped.push('/');
        }
        scoped + name
    }

    /// An input of the model.
    pub fn input(&mut self, name: &str, dtype: DType, dims: Option<&[i64]>) -> Value {
        let shape = dims.map_or(Shape::UNKNOWN, Shape::of);
        let name = self.lowered.unique(name);
        let tensor = self.lowered.graph.push_model_input(&name, "InputLayer", dtype, &shape);
        Value::new(tensor, dims.map(<[i64]>::to_vec))
    }

    /// Creates a parameter of the layer. Unknown sizes come from the file.
    pub fn parameter(&mut self, name: &str, dims: &[i64], trainable: bool) -> Value {
        budget::work(1);
        let name = self.scoped(name);
        let asked = self.asked;
        self.asked += 1;
        if let Some(known) = self.parameters.get(&name) {
            return known.clone();
        }
        if let Some(known) = self.made_earlier(&name, asked, dims) {
            self.parameters.insert(name, known.clone());
            return known;
        }
        if let Some(packed) = self.packed(asked, dims) {
            let stored = self.push_parameter(name.clone(), packed.shape.clone(), Some(packed.dtype), trainable);
            let value = self.moved(&stored, dims.to_vec());
            self.parameters.insert(name, value.clone());
            return value;
        }
        let stored = self.stored_for(&name, asked, dims);
        let dtype = stored.map(|weight| weight.dtype).filter(|dtype| dtype.is_float() || dtype.is_integer());
        let dims = stored.map_or(dims, |weight| &weight.shape).to_vec();
        self.push_parameter(name, dims, dtype, trainable)
    }

    /// A weight of small integers, which the file packs several to a byte.
    fn packed(&self, place: usize, dims: &[i64]) -> Option<Weight> {
        let weight = self.stored.get(place).filter(|weight| weight.dtype.is_integer())?;
        let is_other = weight.shape.len() == dims.len() && !fits(&weight.shape, dims) && !dims.contains(&-1);
        is_other.then(|| weight.clone())
    }

    /// A parameter with the shape stored in the file.
    pub fn stored_parameter(&mut self, weight: &Weight, trainable: bool) -> Value {
        self.parameter(&weight.path, &weight.shape, trainable)
    }

    fn push_parameter(&mut self, name: String, dims: Vec<i64>, dtype: Option<DType>, trainable: bool) -> Value {
        let dtype = dtype.unwrap_or(self.dtype);
        let unique = self.lowered.unique(&name);
        let trainable = Some(trainable && self.trainable && !dtype.is_integer());
        let class = self.class.clone();
        let tensor = self.lowered.graph.push_parameter(&unique, &class, dtype, &Shape::of(&dims), trainable);
        self.shapes.push(dims.clone());
        let value = Value::new(tensor, Some(dims));
        self.made.entry(self.names[..self.layer].join("/")).or_default().push((name.clone(), value.clone()));
        self.parameters.insert(name, value.clone());
        value
    }

    /// A parameter that an earlier call of the layer made under another name: a call whose work is unknown takes the names
    /// of the file.
    fn made_earlier(&self, name: &str, place: usize, dims: &[i64]) -> Option<Value> {
        let wanted = last(name);
        let fitting = |made: &&(String, Value)| made.1.dims.as_ref().is_some_and(|shape| fits(shape, dims));
        let named = self.earlier.iter().filter(fitting).find(|(path, _)| last(path) == wanted);
        let found = named.or(self.earlier.get(place).filter(fitting));
        found.map(|(_, value)| value.clone())
    }

    /// All parameters created by the layer, in this call or before: a stored weight is one of them if one has
    /// its shape, whatever its name.
    fn made_by_shape(&self) -> UntrustedMap<Vec<i64>, Vec<Tensor>> {
        let made = self.made.get(&self.names[..self.layer].join("/")).map_or(&[][..], Vec::as_slice);
        let mut by_shape: UntrustedMap<Vec<i64>, Vec<Tensor>> = UntrustedMap::default();
        for (_, value) in made.iter().rev() {
            budget::work(1);
            by_shape.entry(value.dims.clone().unwrap_or_default()).or_default().push(value.tensor);
        }
        by_shape
    }

    /// Finds a stored weight by name, or else by position, since Keras 3 numbers weights.
    fn stored_for(&self, name: &str, place: usize, dims: &[i64]) -> Option<&Weight> {
        let wanted = last(name);
        let named = self.stored.iter().find(|weight| last(&weight.path) == wanted && fits(&weight.shape, dims));
        named.or(self.stored.get(place).filter(|weight| fits(&weight.shape, dims)))
    }

    /// Creates parameters for the layer's stored weights that nothing requested: the scale factors of quantized
    /// weights.
    pub fn push_rest(&mut self) {
        // Later calls share the weights, and so does the same layer in another model.
        if !self.is_first || !self.earlier.is_empty() {
            return;
        }
        let mut made: UntrustedMap<&[i64], usize> = UntrustedMap::default();
        for shape in &self.shapes[self.first_shape..] {
            budget::work(1);
            *made.entry(shape.as_slice()).or_default() += 1;
        }
        let mut is_rest = |weight: &&Weight| match made.get_mut(weight.shape.as_slice()) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            _ => true,
        };
        let rest: Vec<Weight> = self.stored.iter().filter(|weight| is_rest(weight)).cloned().collect();
        for weight in rest {
            self.stored_parameter(&weight, false);
        }
    }

    /// A constant of integers.
    pub fn constant(&mut self, numbers: &[i64]) -> Tensor {
        let name = self.scoped("Const");
        let name = self.lowered.unique(&name);
        let shape = Shape::of(&[numbers.len() as i64]);
        self.lowered.graph.push_constant(&name, "Const", DType::INT32, &shape, Elements::Ints(numbers))
    }

    /// A constant number.
    pub fn scalar(&mut self, number: i64) -> Tensor {
        let name = self.scoped("Const");
        let name = self.lowered.unique(&name);
        self.lowered.graph.push_constant(&name, "Const", DType::INT32, &Shape::scalar(), Elements::Ints(&[number]))
    }

    /// An op of the layer.
    pub fn op(&mut self, op: &str, inputs: &[Tensor], attributes: &[(&str, AttrValue<'_>)]) -> Tensor {
        budget::work(1);
        let name = self.scoped(if op.is_empty() { "call" } else { op });
        let name = self.lowered.unique(&name);
        let class = self.class.clone();
        let body = &mut self.lowered.graph;
        let node = body.push_lowered(&name, op, &class);
        attributes.iter().for_each(|(key, value)| body.push_value(key, *value));
        inputs.iter().for_each(|input| body.push_input(*input));
        Tensor { node, output: 0 }
    }

    /// A unary op that keeps its shape.
    pub fn map(&mut self, op: &str, input: &Value) -> Value {
        let tensor = self.op(op, &[input.tensor], &[]);
        Value { tensor, dims: input.dims.clone(), like: input.like }
    }

    /// A binary op whose first input has the larger shape.
    pub fn zip(&mut self, op: &str, a: &Value, b: &Value) -> Value {
        let dims = match (&a.dims, &b.dims) {
            (Some(a), Some(b)) => Some(broadcast(a, b)),
            _ => None,
        };
        // A tensor of unknown shape still has the batch of its inputs.
        let like = a.like.or(b.like).filter(|_| dims.is_none());
        Value { tensor: self.op(op, &[a.tensor, b.tensor], &[]), dims, like }
    }

    /// The same elements in another shape; one size may be -1.
    pub fn reshape(&mut self, input: &Value, sizes: &[i64], dims: Option<Vec<i64>>) -> Value {
        let sizes = self.constant(sizes);
        Value::new(self.op("Reshape", &[input.tensor, sizes], &[]), dims)
    }

    /// A reduction over axes.
    pub fn reduce(&mut self, op: &str, input: &Value, axes: &[i64], keep: bool) -> Value {
        let numbers = self.constant(axes);
        let tensor = self.op(op, &[input.tensor, numbers], &[("keep_dims", AttrValue::Flag(keep))]);
        let dims = input.dims.as_ref().map(|dims| {
            let rank = dims.len() as i64;
            let is_reduced = |at: usize| axes.iter().any(|axis| (axis + rank) % rank.max(1) == at as i64);
            let kept = dims.iter().enumerate().filter(|(at, _)| keep || !is_reduced(*at));
            kept.map(|(at, dim)| if is_reduced(at) { 1 } else { *dim }).collect()
        });
        Value::new(tensor, dims)
    }

    /// One dimension of a tensor, as a scalar.
    fn size_of(&mut self, tensor: Tensor, axis: i64) -> Tensor {
        let shape = self.op("Shape", &[tensor], &[]);
        let (from, to, step) = (self.constant(&[axis]), self.constant(&[axis + 1]), self.constant(&[1]));
        self.op("StridedSlice", &[shape, from, to, step], &[("shrink_axis_mask", AttrValue::Int(1))])
    }

    /// Sizes as a tensor; an open one is that of `like` at the same place.
    pub fn sizes(&mut self, dims: &[i64], like: Tensor) -> Tensor {
        let sizes: Vec<Tensor> = (0_i64..)
            .zip(dims)
            .map(|(axis, dim)| if *dim < 0 { self.size_of(like, axis) } else { self.scalar(*dim) })
            .collect();
        self.op("Pack", &sizes, &[("N", AttrValue::Int(sizes.len() as i64)), ("axis", AttrValue::Int(0))])
    }

    /// A tensor of a stated shape, for data movement without a rule.
    pub fn moved(&mut self, input: &Value, dims: Vec<i64>) -> Value {
        let sizes = self.sizes(&dims, input.tensor);
        Value::new(self.op("BroadcastTo", &[input.tensor, sizes], &[]), Some(dims))
    }

    /// Flattens all dimensions but the first, of a tensor with open sizes.
    pub fn batch_and_rest(&mut self, input: &Value) -> Value {
        let batch = self.sizes(&[-1], input.tensor);
        let (rest, axis) = (self.constant(&[-1]), self.scalar(0));
        let sizes = self.op("ConcatV2", &[batch, rest, axis], &[("N", AttrValue::Int(2))]);
        Value::new(self.op("Reshape", &[input.tensor, sizes], &[]), Some(vec![input.dim(0), -1]))
    }

    /// A layer of unknown cost: its parameters come from the file.
    pub fn unknown(&mut self, inputs: &[Value], dims: Option<Vec<i64>>) -> Values {
        let stored = self.stored.clone();
        let mut tensors: Vec<Tensor> = inputs.iter().map(|value| value.tensor).collect();
        let mut made = self.made_by_shape();
        for weight in &stored {
            let known = made.get_mut(&weight.shape).and_then(Vec::pop);
            tensors.push(known.unwrap_or_else(|| self.stored_parameter(weight, true).tensor));
        }
        let tensor = self.op("", &tensors, &[]);
        let like = inputs.first().map(|value| value.like.unwrap_or(value.tensor));
        vec![self.restored(Value { tensor, dims: None, like }, dims)]
    }

    /// Gives an unknown tensor the shape that the file states for it.
    pub fn restored(&mut self, value: Value, dims: Option<Vec<i64>>) -> Value {
        match (value.like, dims) {
            (Some(like), Some(dims)) if value.dims.is_none() => {
                let sizes = self.sizes(&dims, like);
                let tensor = self.op("BroadcastTo", &[value.tensor, sizes], &[]);
                Value::new(tensor, Some(dims))
            }
            _ => value,
        }
    }
}

/// Whether a shape is that of a weight, of which open sizes are -1.
fn fits(shape: &[i64], dims: &[i64]) -> bool {
    shape.len() == dims.len() && shape.iter().zip(dims).all(|(stored, dim)| *dim < 0 || stored == dim)
}

/// The last name of a path, as Keras calls a weight.
fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default().trim_end_matches(":0")
}

/// The broadcast shape of two shapes.
pub fn broadcast(a: &[i64], b: &[i64]) -> Vec<i64> {
    let rank = a.len().max(b.len());
    let at = |dims: &[i64], axis: usize| (axis + dims.len()).checked_sub(rank).map_or(1, |axis| dims[axis]);
    (0..rank).map(|axis| if at(a, axis) == 1 { at(b, axis) } else { at(a, axis) }).collect()
}

/// The group names that Keras 3 gives a list of layers: the class, numbered from the second on.
pub fn groups<'j>(layers: impl Iterator<Item = &'j str>) -> Vec<String> {
    let mut used: UntrustedMap<String, u32> = UntrustedMap::default();
    let group = |class: &str| {
        let snake = snake_case(class);
        let count = used.entry(snake.clone()).or_insert(0);
        *count += 1;
        if *count == 1 { snake } else { format!("{snake}_{}", *count - 1) }
    };
    layers.map(group).collect()
}
