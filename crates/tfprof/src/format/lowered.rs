//! Stores the graph of a model file in the model and in the program for inference: that of a `SavedModel`, or one of
//! another dialect, which its reader lowered to ops that rules and formulas know.

use crate::hash::UntrustedMap;
use crate::model::attr_value::Attr;
use crate::model::body::Body;
use crate::model::builder::Builder;
use crate::model::lowered::Lowered;
use crate::model::names::NameId;
use crate::model::nodes::NodeId;
use tfprof_proto::node_def::Attribute;

/// Stores a graph of another dialect, with its functions.
pub fn store(builder: &mut Builder, lowered: Lowered) {
    let Lowered { graph, functions, .. } = lowered;
    push_graph(builder, &graph, &UntrustedMap::default());
    builder.program.served = graph;
    builder.program.lowered = functions;
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
