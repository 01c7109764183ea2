//! Stores the graph of a model file in the model and in the program for inference: that of a `SavedModel`, or one of
//! another dialect, which its reader lowered to ops that rules and formulas know.

use crate::hash::UntrustedMap;
use crate::model::attr_value::{Attr, AttrValue, Elements};
use crate::model::body::{Body, NO_NODE, Tensor};
use crate::model::builder::Builder;
use crate::model::dialects::Dialect;
use crate::model::dtype::DType;
use crate::model::lowered::Lowered;
use crate::model::names::NameId;
use crate::model::nodes::NodeId;
use crate::model::shape::Shape;
use tfprof_proto::node_def::Attribute;

/// Stores a graph of another dialect, with its functions, and what the file says of itself.
pub fn store(builder: &mut Builder, lowered: Lowered, dialect: &'static Dialect) {
    let Lowered { graph, functions, stated, .. } = lowered;
    builder.model.dialect = Some(dialect.name);
    builder.model.stated = stated;
    push_graph(builder, &graph, &UntrustedMap::default());
    builder.program.served = graph;
    builder.program.lowered = functions;
}

/// An input of a lowered op.
#[derive(Clone, Debug)]
pub enum Input {
    /// An input of the node, by its place.
    Of(usize),
    /// A list of integers that the dialect has as an attribute.
    Ints(Vec<i64>),
    /// A scalar.
    Int(i64),
    Floats(Vec<f32>),
    /// A scalar of a type, whose value is known if it is an integer.
    Scalar(DType, Option<i64>),
}

/// An attribute of a lowered op.
#[derive(Clone, Debug)]
pub enum Setting {
    Flag(bool),
    Int(i64),
    Ints(Vec<i64>),
    Text(String),
    Texts(Vec<&'static str>),
    Type(DType),
}

/// A lowered node: an op that rules and formulas know, its inputs and its attributes.
#[derive(Clone, Debug, Default)]
pub struct Made {
    /// Empty if rules and formulas know no such op.
    pub op: &'static str,
    pub inputs: Vec<Input>,
    pub settings: Vec<(&'static str, Setting)>,
}

impl Made {
    pub fn new(op: &'static str, inputs: Vec<Input>) -> Made {
        Made { op, inputs, settings: Vec::new() }
    }

    #[must_use]
    pub fn with(mut self, key: &'static str, setting: Setting) -> Made {
        self.settings.push((key, setting));
        self
    }

    #[must_use]
    pub fn flag(self, key: &'static str, flag: bool) -> Made {
        self.with(key, Setting::Flag(flag))
    }

    #[must_use]
    pub fn int(self, key: &'static str, n: i64) -> Made {
        self.with(key, Setting::Int(n))
    }
}

/// Adds a constant that no view shows.
pub fn push_hidden(body: &mut Body, input: &Input) -> Tensor {
    let vector = |count: usize| Shape::of(&[count as i64]);
    let mut push = |dtype, shape: &Shape, elements| body.push_constant("", "", dtype, shape, elements);
    match input {
        Input::Of(_) => Tensor { node: NO_NODE, output: 0 },
        Input::Ints(ints) => push(DType::INT64, &vector(ints.len()), Elements::Ints(ints)),
        Input::Int(n) => push(DType::INT64, &Shape::scalar(), Elements::Ints(&[*n])),
        Input::Floats(floats) => push(DType::FLOAT, &vector(floats.len()), Elements::Floats(floats)),
        Input::Scalar(dtype, Some(n)) => push(*dtype, &Shape::scalar(), Elements::Ints(&[*n])),
        Input::Scalar(dtype, None) => push(*dtype, &Shape::of_rank(0), Elements::Unread),
    }
}

/// Adds attributes to the last node.
pub fn push_settings(body: &mut Body, settings: &[(&'static str, Setting)]) {
    for (key, setting) in settings {
        let value = match setting {
            Setting::Flag(flag) => AttrValue::Flag(*flag),
            Setting::Int(n) => AttrValue::Int(*n),
            Setting::Ints(ints) => AttrValue::Ints(ints),
            Setting::Text(text) => AttrValue::Text(text),
            Setting::Texts(texts) => AttrValue::Texts(texts),
            Setting::Type(dtype) => AttrValue::Type(*dtype),
        };
        body.push_value(key, value);
    }
}

/// Adds the nodes of a body to the model.
pub(super) fn push_graph<'a>(
    builder: &mut Builder,
    graph: &'a Body,
    devices: &UntrustedMap<String, Vec<u8>>,
) -> Vec<Option<NodeId>> {
    let keep = builder.keep;
    let names: Vec<NameId> = (0..graph.len() as u32).map(|node| builder.model.names.intern(graph.name(node))).collect();
    let mut nodes = Vec::with_capacity(graph.len());
    for at in 0..graph.len() as u32 {
        if graph.is_hidden(at) {
            nodes.push(None);
            continue;
        }
        let op = builder.model.names.intern(graph.shown_op(at));
        let node = builder.add_node(names[at as usize], op);
        nodes.push(node);
        let Some(node) = node else { continue };
        if let Some(device) = devices.get(graph.name(at)) {
            let device = builder.device_name(device, 0);
            builder.model.nodes.declared_device[node.index()] = device;
        }
        builder.set_shape_attribute(node, graph.attribute(at, "shape").map(|shape| shape.0));
        if keep.inputs {
            let data = graph.inputs(at).iter().map(|input| (input.node, input.output));
            let data = data.filter(|(source, _)| !graph.is_hidden(*source));
            for (source, output) in data.chain(graph.controls(at).iter().map(|control| (*control, 0))) {
                if let Some(source) = names.get(source as usize) {
                    builder.model.nodes.push_input(crate::model::nodes::Input { source: *source, output });
                }
            }
        }
        if let (true, Some(output_shapes)) = (keep.output_shapes, graph.attribute(at, "_output_shapes")) {
            builder.add_output_shapes(output_shapes.0);
        }
        if keep.attributes {
            let attribute = |(key, value): (&'a str, Attr<'a>)| Attribute { key: key.as_bytes(), value: Some(value.0) };
            let attributes: Vec<_> = graph.attributes(at).map(attribute).collect();
            builder.set_attributes(node, &attributes, 0);
        }
    }
    nodes
}
