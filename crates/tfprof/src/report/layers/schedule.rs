//! A schedule without parallel ops, from the graph alone: the order of layers, and the peak of live memory.

use crate::model::Model;
use crate::model::dialects::DIALECTS;
use crate::model::nodes::{NodeId, ShapeId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The op of a node as rules and formulas know it.
pub(super) fn op_of(model: &Model, node: NodeId) -> &str {
    let shown = model.names.get(model.nodes.op[node.index()]);
    let dialect = DIALECTS.iter().find(|dialect| Some(dialect.name) == model.dialect);
    dialect.map(|dialect| dialect.lowered(shown)).filter(|op| !op.is_empty()).unwrap_or(shown)
}

/// Whether a node of a model file is a parameter, which lies in the file and not in the memory of a step.
fn is_parameter(model: &Model, node: NodeId) -> bool {
    model.dialect.is_some() && model.costs.dtypes.contains_key(&node)
}

/// Whether the outputs of an op are new memory of the step: not variables, constants, or another look at an input.
fn makes_tensor(op: &str) -> bool {
    !HELD.contains(&op) && !FED.contains(&op) && !SAME_MEMORY.contains(&op)
}

/// Ops whose output is not made by a step.
const HELD: &[&str] = &["Const", "Constant", "Initializer", "VarHandleOp", "VariableV2", "Variable", "NoOp"];

/// Inputs of a model, in every dialect.
const FED: &[&str] = &["Placeholder", "PlaceholderWithDefault", "Input", "InputLayer"];

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

/// The nodes that run, the bytes of each tensor, and its readers.
#[derive(Default)]
pub(super) struct Schedule {
    pub nodes: Vec<NodeId>,
    /// Places of `nodes`: inputs before their readers, otherwise as in the graph; nodes of a loop, which have no such order, at the end.
    order: Vec<u32>,
    /// By node: the inputs that hold memory, by place.
    reads: Vec<Vec<u32>>,
    /// By node: the bytes that it makes; `None` if a size is unknown.
    pub made: Vec<Option<i64>>,
    /// By node: the owner of its output's buffer; itself if the buffer is new.
    holder: Vec<u32>,
    in_place: Vec<bool>,
}

impl Schedule {
    pub(super) fn new(model: &Model) -> Schedule {
        let counted = |node: &NodeId| model.costs.get(*node).counted && model.costs.get(*node).runs > 0;
        let nodes: Vec<NodeId> = model.nodes.all().filter(counted).collect();
        let mut place = vec![u32::MAX; model.nodes.len()];
        nodes.iter().enumerate().for_each(|(at, node)| place[node.index()] = at as u32);
        let mut schedule = Schedule::default();
        for (at, node) in nodes.iter().enumerate() {
            let op = op_of(model, *node);
            let inputs = model.nodes.inputs(*node).iter().filter_map(|input| model.node(input.source));
            let reads: Vec<u32> = inputs.map(|node| place[node.index()]).filter(|at| *at != u32::MAX).collect();
            let bytes = model.costs.outputs(*node).and_then(|outputs| outputs.bytes);
            let is_same = SAME_MEMORY.contains(&op);
            let holder = if is_same { reads.first().copied().unwrap_or(at as u32) } else { at as u32 };
            let is_new = makes_tensor(op) && !is_parameter(model, *node);
            schedule.made.push(if is_new { bytes } else { Some(0) });
            schedule.holder.push(holder);
            schedule.in_place.push(IN_PLACE.contains(&op));
            schedule.reads.push(reads);
        }
        // No rule says which outputs such an op has; it has some if another op reads them.
        for from in schedule.reads.iter().flatten().map(|from| *from as usize) {
            let outputs = model.costs.outputs(nodes[from]).unwrap_or_default();
            let is_unknown = outputs.shape == ShapeId::EMPTY && model.costs.get(nodes[from]).unknown > 0;
            if is_unknown && outputs.bytes == Some(0) {
                schedule.made[from] = None;
            }
        }
        schedule.nodes = nodes;
        schedule.order = order(&schedule.reads);
        schedule
    }

    /// When each node runs.
    pub(super) fn moments(&self, model: &Model) -> Moments {
        let mut follows_input = vec![false; self.nodes.len()];
        let mut moments = vec![None; model.nodes.len()];
        for (moment, at) in (0_u32..).zip(&self.order) {
            let at = *at as usize;
            let op = op_of(model, self.nodes[at]);
            let is_fed = self.reads[at].is_empty() && !HELD.contains(&op) && !is_parameter(model, self.nodes[at]);
            follows_input[at] = is_fed || self.reads[at].iter().any(|from| follows_input[*from as usize]);
            let (follows_input, made) = (follows_input[at], self.made[at]);
            moments[self.nodes[at].index()] = Some(Moment { at: moment, follows_input, made });
        }
        moments
    }

    /// The peak of live bytes.
    pub(super) fn peak(&self) -> i64 {
        // Resolve each owner; chains of views of one tensor are shortened in the order of the schedule.
        let mut holder = self.holder.clone();
        for at in &self.order {
            let next = holder[*at as usize];
            holder[*at as usize] = if next == *at { next } else { holder[next as usize] };
        }
        let mut uses = vec![0_u32; self.reads.len()];
        for reads in &self.reads {
            reads.iter().for_each(|from| uses[holder[*from as usize] as usize] += 1);
        }
        let (mut alive, mut peak) = (0_i64, 0_i64);
        let mut own = vec![0_i64; self.reads.len()];
        for at in &self.order {
            let at = *at as usize;
            let needed = if holder[at] as usize == at { self.made[at].unwrap_or(0) } else { 0 };
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

/// By node of the model; `None` if it does not run.
pub(super) type Moments = Vec<Option<Moment>>;

/// When a node runs.
#[derive(Clone, Copy)]
pub(super) struct Moment {
    pub at: u32,
    /// It works on an input of the model, not only on constants and variables.
    pub follows_input: bool,
    /// The bytes that it makes; `None` if a size is unknown.
    pub made: Option<i64>,
}

/// Inputs before their readers, otherwise by number; the members of cycles, which have no such order, at the end.
fn order(reads: &[Vec<u32>]) -> Vec<u32> {
    let count = reads.len();
    let mut missing: Vec<u32> = reads.iter().map(|reads| reads.len() as u32).collect();
    let mut readers: Vec<Vec<u32>> = vec![Vec::new(); count];
    for (at, reads) in reads.iter().enumerate() {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(nodes: &[(&[u32], i64, bool)]) -> Schedule {
        let reads: Vec<Vec<u32>> = nodes.iter().map(|(reads, ..)| reads.to_vec()).collect();
        Schedule {
            nodes: Vec::new(),
            order: order(&reads),
            reads,
            made: nodes.iter().map(|(_, bytes, _)| Some(*bytes)).collect(),
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
        assert_eq!(schedule(&[(&[1], 10, false), (&[0], 10, false)]).order, [0, 1]);
    }
}
