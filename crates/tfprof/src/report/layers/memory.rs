//! The memory that a model needs, from its shapes alone: parameters, gradients, optimizer state, activations, and the peak
//! of live memory if ops run one after the other, in the order of the graph.

use crate::metric::Metric;
use crate::model::Model;
use crate::model::dialects::DIALECTS;
use crate::model::dtype::DType;
use crate::model::nodes::NodeId;
use crate::model::type_names::{OPTIMIZER_SLOT, SAME_VARIABLE, TRAINABLE};
use crate::view::values::Values;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Bytes by what they are for; `None` is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Memory {
    pub parameters: i64,
    /// One number for each trained parameter; `None` if no file says which are trained.
    pub gradients: Option<i64>,
    /// Variables of the optimizer; `None` if the file has none, as that of a model for inference.
    pub optimizer: Option<i64>,
    /// All outputs of ops together: a forward pass that keeps everything for its gradients.
    pub activations: Option<i64>,
    /// The peak of live bytes in a serial schedule, besides variables.
    pub schedule_peak: Option<i64>,
    /// The graph computes gradients itself, so that the peak is that of a training step.
    pub has_gradients: bool,
    /// The ops whose outputs have an unknown size.
    pub unknown: i64,
}

impl Memory {
    pub(super) fn new(model: &Model, values: &Values<'_>) -> Memory {
        let mut memory = Memory::default();
        memory.add_variables(model, values);
        if model.costs.tensors.is_empty() {
            return memory;
        }
        let counted = |node: &NodeId| model.costs.get(*node).counted && model.costs.get(*node).runs > 0;
        let nodes: Vec<NodeId> = model.nodes.all().filter(counted).collect();
        let mut sum = 0_i64;
        for node in &nodes {
            let op = op_of(model, *node);
            memory.has_gradients |= op.ends_with("Grad") || op.contains("Backprop");
            if !makes_tensor(op) || is_parameter(model, *node) {
                continue;
            }
            match model.costs.outputs(*node).and_then(|outputs| outputs.bytes) {
                Some(bytes) => sum = sum.saturating_add(bytes),
                None => memory.unknown += 1,
            }
        }
        memory.activations = (memory.unknown == 0).then_some(sum);
        memory.schedule_peak = (memory.unknown == 0).then(|| Schedule::new(model, &nodes).peak());
        memory
    }

    fn add_variables(&mut self, model: &Model, values: &Values<'_>) {
        let find = |name: &str| model.names.find(name.as_bytes());
        let (trainable, slot, same) = (find(TRAINABLE), find(OPTIMIZER_SLOT), find(SAME_VARIABLE));
        let (mut trained, mut knows_trained) = (0_i64, model.knows_trainable);
        for node in model.nodes.all() {
            let types = model.type_sets.get(model.nodes.types[node.index()]);
            let has = |ty| Option::is_some(&ty) && types.iter().any(|own| Some(*own) == ty);
            let size = |dtype: DType| dtype.size().unwrap_or(4) as i64;
            let width = model.costs.dtypes.get(&node).map_or(4, |dtype| size(*dtype));
            if has(slot) && !has(same) {
                let dims = model.shapes.get(model.nodes.shape[node.index()]);
                let elements = dims.iter().fold(1_i64, |product, dim| product.saturating_mul((*dim).max(0)));
                let bytes = if dims.is_empty() { 0 } else { elements.saturating_mul(width) };
                self.optimizer = Some(self.optimizer.unwrap_or(0).saturating_add(bytes));
            }
            let elements = values.row(node)[Metric::Parameters as usize];
            if elements == 0 {
                continue;
            }
            self.parameters = self.parameters.saturating_add(elements.saturating_mul(width));
            if has(trainable) {
                knows_trained = true;
                trained = trained.saturating_add(elements.saturating_mul(width));
            }
        }
        self.gradients = knows_trained.then_some(trained);
    }
}

/// The op of a node as rules and formulas know it.
fn op_of(model: &Model, node: NodeId) -> &str {
    let shown = model.names.get(model.nodes.op[node.index()]);
    let dialect = DIALECTS.iter().find(|dialect| Some(dialect.name) == model.dialect);
    dialect.map(|dialect| dialect.lowered(shown)).filter(|op| !op.is_empty()).unwrap_or(shown)
}

/// Whether a node of a model file is a parameter, which lies in the file and not in the memory of a step.
fn is_parameter(model: &Model, node: NodeId) -> bool {
    model.dialect.is_some() && model.costs.dtypes.contains_key(&node)
}

/// Whether the outputs of an op are new memory of the step: not variables, constants, or another look at an input.
pub fn makes_tensor(op: &str) -> bool {
    let held = ["Const", "Constant", "Initializer", "VarHandleOp", "VariableV2", "Variable", "Placeholder", "NoOp"];
    !held.contains(&op) && !SAME_MEMORY.contains(&op)
}

/// Ops whose output is the memory of their first input.
#[rustfmt::skip]
const SAME_MEMORY: &[&str] = &[
    "Identity", "IdentityN", "Reshape", "Squeeze", "ExpandDims", "ReadVariableOp", "StopGradient", "PreventGradient",
    "PartitionedCall", "StatefulPartitionedCall", "EnsureShape", "Bitcast", "Snapshot", "AssignVariableOp", "AssignAddVariableOp",
    "AssignSubVariableOp", "ResourceApplyGradientDescent", "ResourceApplyAdam", "ResourceApplyMomentum", "Assign", "AssignAdd",
    "ApplyGradientDescent", "ApplyAdam", "ApplyMomentum", "ResourceApplyAdamWithAmsgrad", "ResourceApplyKerasMomentum",
];

/// Ops that may reuse the buffer of an input that has no other reader.
#[rustfmt::skip]
const IN_PLACE: &[&str] = &[
    "Add", "AddV2", "BiasAdd", "Sub", "Mul", "RealDiv", "Relu", "Relu6", "Elu", "Sigmoid", "Tanh", "Exp", "Log", "Neg", "Square",
    "Sqrt", "Rsqrt", "Maximum", "Minimum", "ReluGrad", "Relu6Grad", "SigmoidGrad", "TanhGrad", "RsqrtGrad", "Softmax", "AddN", "Cast",
];

/// Nodes, the bytes of each tensor, and its readers.
struct Schedule {
    /// By node: the inputs that hold memory, by place.
    reads: Vec<Vec<u32>>,
    /// By node: the owner of its output's buffer; itself if the buffer is new.
    bytes: Vec<i64>,
    holder: Vec<u32>,
    in_place: Vec<bool>,
}

impl Schedule {
    fn new(model: &Model, nodes: &[NodeId]) -> Schedule {
        let mut place = vec![u32::MAX; model.nodes.len()];
        nodes.iter().enumerate().for_each(|(at, node)| place[node.index()] = at as u32);
        let mut schedule = Schedule { reads: Vec::new(), bytes: Vec::new(), holder: Vec::new(), in_place: Vec::new() };
        for (at, node) in nodes.iter().enumerate() {
            let op = op_of(model, *node);
            let inputs = model.nodes.inputs(*node).iter().filter_map(|input| model.node(input.source));
            let reads: Vec<u32> = inputs.map(|node| place[node.index()]).filter(|at| *at != u32::MAX).collect();
            let bytes = model.costs.outputs(*node).and_then(|outputs| outputs.bytes).unwrap_or(0);
            let is_same = SAME_MEMORY.contains(&op);
            let holder = if is_same { reads.first().copied().unwrap_or(at as u32) } else { at as u32 };
            let is_new = makes_tensor(op) && !is_parameter(model, *node);
            schedule.bytes.push(if is_new { bytes } else { 0 });
            schedule.holder.push(holder);
            schedule.in_place.push(IN_PLACE.contains(&op));
            schedule.reads.push(reads);
        }
        schedule
    }

    /// Inputs before their readers, otherwise as in the graph; nodes of a loop, which have no such order, at the end.
    fn order(&self) -> Vec<u32> {
        let count = self.reads.len();
        let mut missing: Vec<u32> = self.reads.iter().map(|reads| reads.len() as u32).collect();
        let mut readers: Vec<Vec<u32>> = vec![Vec::new(); count];
        for (at, reads) in self.reads.iter().enumerate() {
            reads.iter().for_each(|from| readers[*from as usize].push(at as u32));
        }
        let is_ready = |at: &u32| missing[*at as usize] == 0;
        let mut ready: BinaryHeap<Reverse<u32>> = (0..count as u32).filter(is_ready).map(Reverse).collect();
        let mut order = Vec::with_capacity(count);
        while let Some(Reverse(at)) = ready.pop() {
            order.push(at);
            for reader in &readers[at as usize] {
                missing[*reader as usize] -= 1;
                if missing[*reader as usize] == 0 {
                    ready.push(Reverse(*reader));
                }
            }
        }
        let is_left = |at: &u32| missing[*at as usize] > 0;
        order.extend((0..count as u32).filter(is_left));
        order
    }

    /// The peak of live bytes.
    fn peak(&self) -> i64 {
        let order = self.order();
        // Resolve each owner; chains of views of one tensor are shortened in the order of the schedule.
        let mut holder = self.holder.clone();
        for at in &order {
            let next = holder[*at as usize];
            holder[*at as usize] = if next == *at { next } else { holder[next as usize] };
        }
        let mut uses = vec![0_u32; self.reads.len()];
        for reads in &self.reads {
            reads.iter().for_each(|from| uses[holder[*from as usize] as usize] += 1);
        }
        let (mut alive, mut peak) = (0_i64, 0_i64);
        let mut own = vec![0_i64; self.reads.len()];
        for at in &order {
            let at = *at as usize;
            let needed = if holder[at] as usize == at { self.bytes[at] } else { 0 };
            let last = |from: &&u32| uses[holder[**from as usize] as usize] == 1;
            let over = self.in_place[at]
                .then(|| self.reads[at].iter().filter(last).map(|from| holder[*from as usize] as usize));
            let reused = over.into_iter().flatten().find(|from| needed > 0 && own[*from] == needed);
            if let Some(from) = reused {
                own[from] = 0;
            } else {
                alive = alive.saturating_add(needed);
            }
            own[at] = needed;
            peak = peak.max(alive);
            for from in &self.reads[at] {
                let from = holder[*from as usize] as usize;
                uses[from] -= 1;
                if uses[from] == 0 {
                    alive = alive.saturating_sub(std::mem::take(&mut own[from]));
                }
            }
        }
        peak
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(nodes: &[(&[u32], i64, bool)]) -> Schedule {
        Schedule {
            reads: nodes.iter().map(|(reads, ..)| reads.to_vec()).collect(),
            bytes: nodes.iter().map(|(_, bytes, _)| *bytes).collect(),
            holder: (0..nodes.len() as u32).collect(),
            in_place: nodes.iter().map(|(.., in_place)| *in_place).collect(),
        }
    }

    #[test]
    fn memory_lives_until_its_last_reader() {
        // A chain holds two at a time; a tensor that is read at the end stays.
        assert_eq!(schedule(&[(&[], 10, false), (&[0], 20, false), (&[1], 30, false), (&[2], 5, false)]).peak(), 50);
        assert_eq!(schedule(&[(&[], 10, false), (&[0], 20, false), (&[1], 30, false), (&[0, 2], 5, false)]).peak(), 60);
    }

    #[test]
    fn an_op_writes_over_an_input_that_nobody_else_needs() {
        assert_eq!(schedule(&[(&[], 10, false), (&[0], 10, true), (&[1], 10, true)]).peak(), 10);
        // The first is read again, so that it stays.
        assert_eq!(schedule(&[(&[], 10, false), (&[0], 10, true), (&[0, 1], 10, true)]).peak(), 20);
    }

    #[test]
    fn a_loop_has_no_order_but_an_end() {
        assert_eq!(schedule(&[(&[1], 10, false), (&[0], 10, false)]).order(), [0, 1]);
    }
}
