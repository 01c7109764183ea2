//! Merges nodes that several profiles have. Their definitions must agree, and the order of the files does not matter.

use crate::hash::UntrustedMap;
use crate::model::Model;
use crate::model::builder::Builder;
use crate::model::costs::NodeCosts;
use crate::model::devices::DeviceId;
use crate::model::names::NameId;
use crate::model::nodes::{Input, NO_INPUT, NodeId, ShapeId};
use crate::model::stacks::{Frame, StackId};
use tfprof_proto::node_def::Attribute;
use tfprof_proto::{canonical, schema};

/// The definition of a node in one file: everything but its executions.
#[derive(Default)]
pub(super) struct Definition<'f> {
    pub offset: u64,
    pub device: Option<DeviceId>,
    pub declared_device: NameId,
    pub dims: Vec<i64>,
    pub types: Vec<NameId>,
    pub float_ops: i64,
    /// Computed costs, and the step whose shapes they are for.
    pub costs: Option<(i64, NodeCosts)>,
    /// An id of the file's own stacks.
    pub stack: Option<StackId>,
    pub attributes: Vec<Attribute<'f>>,
    pub inputs: Vec<SavedInput>,
    /// By index.
    pub output_shapes: Vec<(i64, Vec<i64>)>,
}

/// An input of a node in a file.
pub(super) struct SavedInput {
    pub index: i64,
    /// The id of the source in the file.
    pub source: i64,
    /// The output of the source.
    pub output: u32,
}

/// The checks that wait for the end of the file, when all ids have names.
#[derive(Default)]
pub(super) struct Merge {
    inputs: Vec<Pending>,
    stacks: Vec<(NodeId, StackId)>,
    /// The step whose shapes the computed costs of the file are for.
    pub costs_step: Option<i64>,
}

struct Pending {
    node: NodeId,
    inputs: Vec<SavedInput>,
    output_shapes: Vec<ShapeId>,
    /// Until now, the node was known from its executions alone.
    is_new: bool,
}

impl Merge {
    /// Merges the definition of a node in this file into the model.
    pub fn add(&mut self, node: NodeId, op: NameId, definition: Definition<'_>, builder: &mut Builder) {
        definition.types.iter().filter(|ty| **ty != op).for_each(|ty| builder.add_type(node, *ty));
        let at = node.index();
        let model = &mut builder.model;
        if definition.declared_device != NameId::EMPTY {
            model.nodes.declared_device[at] = definition.declared_device;
        }
        // The canonical device must not depend on the order of the files, so the first by name counts.
        if let Some(device) = definition.device {
            let old = model.placement[at];
            let name = |device: DeviceId| model.names.get(model.devices.name(device));
            if !old.is_some() || name(device) < name(old) {
                model.placement[at] = device;
            }
        }
        if let Some(stack) = definition.stack {
            self.stacks.push((node, stack));
        }
        // As when runs are loaded, the shapes of the first step count.
        if let Some((step, costs)) = definition.costs {
            if model.costs.step.is_none_or(|known| step < known) {
                model.costs.set(node, costs);
            }
            self.costs_step = Some(step);
        }
        let float_ops = &mut model.nodes.float_ops[at];
        if *float_ops != 0 && definition.float_ops != 0 && *float_ops != definition.float_ops {
            let (old, new) = (*float_ops, definition.float_ops);
            return disagree(builder, node, &format!("it has {new} FLOPs here and {old} in the data loaded before"));
        }
        *float_ops = if *float_ops == 0 { definition.float_ops } else { *float_ops };
        // A node that is known from a run alone has only a name.
        let is_bare = op == model.nodes.name[at]
            && definition.inputs.is_empty()
            && definition.dims.is_empty()
            && definition.attributes.is_empty();
        if !is_bare {
            self.define(node, op, definition, builder);
        }
    }

    fn define(&mut self, node: NodeId, op: NameId, definition: Definition<'_>, builder: &mut Builder) {
        let at = node.index();
        let nodes = &builder.model.nodes;
        let is_new = nodes.op[at] == nodes.name[at]
            && op != nodes.op[at]
            && nodes.inputs(node).is_empty()
            && nodes.shape[at] == ShapeId::EMPTY;
        let shape = builder.shape(&definition.dims);
        if is_new {
            builder.model.nodes.op[at] = op;
            builder.model.nodes.shape[at] = shape;
        }
        let nodes = &builder.model.nodes;
        if nodes.op[at] != op {
            let name = |op: NameId| builder.model.names.get(op);
            let why = format!("its op is {} here, {} in what was loaded before", name(op), name(nodes.op[at]));
            return disagree(builder, node, &why);
        }
        if nodes.shape[at] != shape {
            return disagree(builder, node, "its shape is another here than in what was loaded before");
        }
        if let Some(attribute) = other_attribute(&builder.model, node, &definition) {
            let why = format!("its attribute `{attribute}` is another here than in what was loaded before");
            return disagree(builder, node, &why);
        }
        if builder.model.attributes.of(node).len() == 0 {
            builder.set_attributes(node, &definition.attributes, definition.offset);
        }
        let mut output_shapes = Vec::new();
        for (index, dims) in &definition.output_shapes {
            output_shapes.resize(*index as usize, ShapeId::EMPTY);
            output_shapes.push(builder.shape(dims));
        }
        self.inputs.push(Pending { node, inputs: definition.inputs, output_shapes, is_new });
    }

    /// `name_of` has the names of the file's nodes, `placed` the ids of its stacks in the model.
    pub fn finish(self, name_of: &UntrustedMap<i64, NameId>, placed: &[StackId], builder: &mut Builder) {
        let known = builder.model.costs.step;
        builder.model.costs.step = known.into_iter().chain(self.costs_step).min();
        for Pending { node, inputs, output_shapes, is_new } in self.inputs {
            let mut list = Vec::new();
            for SavedInput { index, source, output } in inputs {
                list.resize(index as usize, NO_INPUT);
                list.push(name_of.get(&source).map_or(NO_INPUT, |source| Input { source: *source, output }));
            }
            if is_new {
                builder.model.nodes.define_late(node, list, output_shapes);
            } else if !same_inputs(&builder.model, builder.model.nodes.inputs(node), &list) {
                disagree(builder, node, "its inputs are others here than in what was loaded before");
            }
        }
        for (node, stack) in self.stacks {
            let stack = placed.get(stack.0 as usize).copied().unwrap_or(StackId::NONE);
            let old = builder.model.nodes.stack[node.index()];
            if !old.has_frames() {
                builder.model.nodes.stack[node.index()] = if stack == StackId::NONE { old } else { stack };
            } else if stack.has_frames() && !same_stacks(&builder.model, old, stack) {
                disagree(builder, node, "it was made by other lines of code here than in what was loaded before");
            }
        }
    }
}

fn disagree(builder: &mut Builder, node: NodeId, why: &str) {
    let name = builder.model.name(node);
    let message = format!("the node `{name}` does not fit: {why}; only profiles of one model can be merged");
    builder.conflict.get_or_insert(message);
}

/// An attribute that differs, or that only one of the two has.
fn other_attribute(model: &Model, node: NodeId, definition: &Definition<'_>) -> Option<String> {
    let known = model.attributes.of(node);
    if known.len() == 0 || definition.attributes.is_empty() {
        return None;
    }
    let entries = definition.attributes.iter().map(|entry| (entry.key, entry.value.unwrap_or_default()));
    let mut new: UntrustedMap<&[u8], &[u8]> = entries.collect();
    let mut bytes = Vec::new();
    for (key, old) in known {
        let name = model.names.get(key);
        bytes.clear();
        let value = new.remove(name.as_bytes());
        canonical::encode(&schema::ATTR_VALUE, value.unwrap_or_default(), &mut bytes);
        if value.is_none() || bytes != old {
            return Some(name.to_owned());
        }
    }
    new.keys().min().map(|name| String::from_utf8_lossy(name).into_owned())
}

/// Compares inputs. Those without a source node are left out: saved profiles do not have them.
fn same_inputs(model: &Model, old: &[Input], new: &[Input]) -> bool {
    let get = |inputs: &[Input], i: usize| inputs.get(i).copied().filter(|input| model.node(input.source).is_some());
    (0..old.len().max(new.len())).all(|i| get(old, i) == get(new, i))
}

/// Compares call stacks by their frames; the ids of two files differ.
fn same_stacks(model: &Model, mut a: StackId, mut b: StackId) -> bool {
    let content = |frame: &Frame| (frame.file, frame.function, frame.line, frame.lineno, frame.function_start);
    loop {
        if a == b {
            return true;
        }
        match (model.stacks.last(a), model.stacks.last(b)) {
            (Some((outer_a, frame_a)), Some((outer_b, frame_b))) => {
                if content(model.stacks.frame(frame_a)) != content(model.stacks.frame(frame_b)) {
                    return false;
                }
                (a, b) = (outer_a, outer_b);
            }
            (None, None) => return true,
            _ => return false,
        }
    }
}
