//! Infers facts and costs of all nodes of a body.
//!
//! Nodes are visited in data order. Loops iterate to a fixed point, a bounded number of times: a Merge at the loop's
//! entry keeps what holds in all iterations. Nothing recurses. [`Calls`] answers calls of functions, and may ask to be
//! asked again later.

use super::fact::{Fact, Integers, Shape};
use super::flops;
use super::functions::branches::Branches;
use super::overrides::Overrides;
use super::shapes::{self, Op, Rule};
use crate::hash::TrustedMap;
use crate::model::attr_value;
use crate::model::body::{Body, NO_NODE, Tensor};
use crate::model::costs::UnknownReason;
use crate::model::functions::CALL_OPS;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// After so many visits a node counts as unknown, which bounds the work even if everything reads everything.
const MOST_VISITS: u8 = 32;

/// Facts up to this weight are free; all heavier ones share a budget. A graph of a few bytes per node must not take
/// kilobytes per node.
const SMALL: usize = 16;
const ALL_LARGE: usize = 1 << 22;

/// Facts and costs of a body for given arguments.
#[derive(Clone, Debug, Default)]
pub struct Instance {
    /// By node, then by output.
    facts: Vec<Vec<Fact>>,
    /// By node.
    pub costs: Vec<NodeCost>,
    /// Whether an unknown leading dimension was replaced by the batch size.
    pub uses_batch: bool,
    pub branches: Branches,
}

/// The cost of one execution of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    pub float_ops: i64,
    /// Multiply-adds.
    pub macs: i64,
    /// Bytes read and written, as far as shapes are known.
    pub io_bytes: i64,
}

/// The cost of a node, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeCost {
    Known(Cost),
    /// FLOPs and multiply-adds are unknown. Bytes are known as far as shapes are.
    Unknown(UnknownReason, Cost),
    /// The node calls functions; its cost is that of their nodes.
    Call,
}

/// Resolves calls of functions.
pub trait Calls {
    /// Whether an op calls a function: one of `CALL_OPS`, or the name of a function.
    fn is_call(&self, op: &str) -> bool {
        CALL_OPS.contains(&op)
    }

    /// The outputs of a call.
    fn call(&mut self, call: &Op<'_>) -> Answer;
}

/// The answer of [`Calls`].
#[derive(Clone, Debug)]
pub enum Answer {
    /// The outputs. Nothing is known about missing ones.
    Outputs(Vec<Fact>),
    /// The function must be inferred first. [`Inference::run`] returns, and asks again when it is called again.
    Later,
}

/// No functions are known.
#[derive(Clone, Copy, Debug)]
pub struct NoCalls;

impl Calls for NoCalls {
    fn call(&mut self, _: &Op<'_>) -> Answer {
        Answer::Outputs(Vec::new())
    }
}

/// Infers a body in one go. Calls that would be answered later count as unknown.
pub fn infer(body: &Body, args: &[Fact], known: &Overrides, calls: &mut dyn Calls) -> Instance {
    let mut inference = Inference::new(body, args);
    if !inference.run(body, known, calls) {
        struct Unanswered<'a>(&'a mut dyn Calls);
        impl Calls for Unanswered<'_> {
            fn is_call(&self, op: &str) -> bool {
                self.0.is_call(op)
            }
            fn call(&mut self, call: &Op<'_>) -> Answer {
                match self.0.call(call) {
                    Answer::Later => Answer::Outputs(Vec::new()),
                    answer @ Answer::Outputs(_) => answer,
                }
            }
        }
        inference.run(body, known, &mut Unanswered(calls));
    }
    inference.finish(body, calls)
}

/// An inference in progress. It can stop at a call and resume once the callee is inferred.
#[derive(Debug)]
pub struct Inference {
    args: Vec<Fact>,
    facts: Vec<Option<Vec<Fact>>>,
    uses_batch: bool,
    /// Nodes in data order (sources before readers, except around loops), and the inverse.
    order: Vec<u32>,
    position: Vec<u32>,
    readers: Readers,
    pushes: Pushes,
    branches: Branches,
    rules: Vec<Option<Rule>>,
    visits: Vec<u8>,
    /// The next first visit, and the positions to visit again.
    next: usize,
    again: BinaryHeap<Reverse<u32>>,
    waits: Vec<bool>,
    /// The rest of the budget [`ALL_LARGE`].
    large: usize,
}

impl Inference {
    /// Arguments beyond those given are unknown.
    pub fn new(body: &Body, args: &[Fact]) -> Self {
        let branches = Branches::new(body);
        let mut pushes = pushes(body);
        // A predicate is no input of a Merge, but decides which of its inputs counts.
        pushes.extend(branches.predicates());
        let readers = Readers::new(body, &pushes);
        let order = order(body, &readers, &pushes);
        let mut position = vec![0; body.len()];
        order.iter().enumerate().for_each(|(at, node)| position[*node as usize] = at as u32);
        Inference {
            args: args.to_vec(),
            facts: vec![None; body.len()],
            uses_batch: false,
            order,
            position,
            readers,
            pushes,
            branches,
            rules: body.ops().0.map(shapes::rule).collect(),
            visits: vec![0; body.len()],
            next: 0,
            again: BinaryHeap::new(),
            waits: vec![false; body.len()],
            large: ALL_LARGE,
        }
    }

    /// Runs until all facts are found (true), or until a call must be answered later (false).
    pub fn run(&mut self, body: &Body, known: &Overrides, calls: &mut dyn Calls) -> bool {
        let is_call: Vec<bool> = body.ops().0.map(|op| calls.is_call(op)).collect();
        let mut is_arg = vec![NO_NODE; body.len()];
        for (at, node) in body.args.iter().enumerate() {
            if let Some(slot) = is_arg.get_mut(*node as usize) {
                *slot = at as u32;
            }
        }
        let mut inputs = Vec::new();
        loop {
            let again = self.again.peek().map(|Reverse(at)| *at as usize);
            let first = again.is_none_or(|at| at >= self.next);
            let at = if first { self.next } else { again.unwrap_or_default() };
            let Some(node) = self.order.get(at).copied() else { return true };
            inputs.clear();
            // A Merge ignores inputs not yet visited, and those of a branch not taken.
            if matches!(body.op(node), "Merge" | "RefMerge") {
                let value = |predicate| self.input(predicate).integer();
                let arrives = |(at, tensor): &(usize, &Tensor)| {
                    self.facts.get(tensor.node as usize).is_none_or(Option::is_some)
                        && self.branches.can_arrive(node, *at, value)
                };
                let arriving = body.inputs(node).iter().enumerate().filter(arrives);
                inputs.extend(arriving.map(|(_, tensor)| self.input(*tensor)));
            } else {
                inputs.extend(body.inputs(node).iter().map(|tensor| self.input(*tensor)));
                inputs.extend(self.pushes.get(&node).map(|push| self.input(*push)));
            }
            let op = Op { body, node, inputs: &inputs };
            let op_id = body.ops().1[node as usize] as usize;
            let mut outputs = if is_arg[node as usize] != NO_NODE {
                vec![self.args.get(is_arg[node as usize] as usize).cloned().unwrap_or_default()]
            } else if let Some(rule) = self.rules[op_id] {
                rule(&op)
            } else if is_call[op_id] {
                match calls.call(&op) {
                    Answer::Outputs(outputs) => outputs,
                    Answer::Later => return false,
                }
            } else {
                Vec::new()
            };
            if first {
                self.next += 1;
            } else {
                self.again.pop();
            }
            self.waits[node as usize] = false;
            self.complete(&op, is_arg[node as usize] != NO_NODE, known, &mut outputs);
            self.settle(node, outputs);
        }
    }

    /// Computes the costs.
    pub fn finish(self, body: &Body, calls: &dyn Calls) -> Instance {
        let facts: Vec<Vec<Fact>> = self.facts.into_iter().map(Option::unwrap_or_default).collect();
        let mut instance = Instance { facts, costs: Vec::new(), uses_batch: self.uses_batch, branches: self.branches };
        instance.costs = flops::costs(body, &instance, calls);
        instance
    }

    /// The fact of an input. A source that was not visited yet is on a cycle and unknown.
    fn input(&self, tensor: Tensor) -> Fact {
        let outputs = self.facts.get(tensor.node as usize).and_then(Option::as_ref);
        outputs.and_then(|outputs| outputs.get(tensor.output as usize)).cloned().unwrap_or_default()
    }

    /// Completes outputs by shapes that the file, the user or runs state.
    fn complete(&mut self, op: &Op<'_>, is_arg: bool, known: &Overrides, outputs: &mut Vec<Fact>) {
        if let Some(stated) = op.body.attribute(op.node, "_output_shapes") {
            for (at, shape) in attr_value::shapes(stated).into_iter().enumerate() {
                at_least(outputs, at);
                set_shape(&mut outputs[at], |own| own.and(&shape));
            }
        }
        if !known.observed.is_empty()
            && let Some(observed) = known.observed.get(op.body.name(op.node))
        {
            for (at, shape) in observed.iter().enumerate().filter(|(_, shape)| shape.dims().is_some()) {
                at_least(outputs, at);
                set_shape(&mut outputs[at], |own| shape.and(own));
            }
        }
        if is_arg || shapes::is_program_input(op.body.op(op.node)) {
            let name = op.body.name(op.node);
            for output in outputs.iter_mut() {
                self.uses_batch |= known.complete_input(name, output);
            }
        }
    }

    /// Stores the outputs of a node. If they changed, readers that were visited are visited again.
    fn settle(&mut self, node: u32, mut outputs: Vec<Fact>) {
        let visits = &mut self.visits[node as usize];
        *visits += 1;
        let slot = &mut self.facts[node as usize];
        if *visits >= MOST_VISITS {
            outputs.iter_mut().for_each(|output| *output = Fact { dtype: output.dtype, ..Fact::default() });
        }
        if slot.as_ref() == Some(&outputs) {
            return;
        }
        if outputs.len() > SMALL {
            let more = outputs.len() - SMALL;
            outputs.truncate(SMALL + more.min(self.large));
            self.large = self.large.saturating_sub(more);
        }
        for output in outputs.iter_mut().filter(|output| output.weight() > SMALL) {
            match self.large.checked_sub(output.weight()) {
                Some(left) => self.large = left,
                None => *output = Fact { dtype: output.dtype, ..Fact::default() },
            }
        }
        *slot = Some(outputs);
        for reader in self.readers.of(node) {
            let at = self.position[*reader as usize];
            let may_come_again = (at as usize) < self.next && self.visits[*reader as usize] < MOST_VISITS;
            if may_come_again && !std::mem::replace(&mut self.waits[*reader as usize], true) {
                self.again.push(Reverse(at));
            }
        }
    }
}

impl Instance {
    /// The facts of a node's outputs. Nothing is known about missing ones.
    pub fn outputs(&self, node: u32) -> &[Fact] {
        self.facts.get(node as usize).map_or(&[], Vec::as_slice)
    }

    pub fn fact(&self, tensor: Tensor) -> Option<&Fact> {
        self.outputs(tensor.node).get(tensor.output as usize)
    }

    /// The facts of the returned tensors.
    pub fn returns(&self, body: &Body) -> Vec<Fact> {
        body.returns.iter().map(|tensor| self.fact(*tensor).cloned().unwrap_or_default()).collect()
    }

    /// The node where a missing shape got lost: the first one upstream whose inputs are all known, or the node itself.
    /// Follows one path, up to a bounded length.
    pub fn blame(&self, body: &Body, node: u32) -> u32 {
        const FAR: usize = 4096;
        let unknown = |tensor: &Tensor| self.fact(*tensor).is_none_or(|fact| !fact.shape.is_known());
        let mut at = node;
        for _ in 0..FAR {
            let Some(next) = body.inputs(at).iter().find(|input| unknown(input)) else { return at };
            if next.node == NO_NODE || next.node as usize >= body.len() || next.node == node {
                return at;
            }
            at = next.node;
        }
        at
    }
}

fn at_least(outputs: &mut Vec<Fact>, at: usize) {
    if outputs.len() <= at {
        outputs.resize_with(at + 1, Fact::default);
    }
}

/// Changes a shape, and drops a value that does not fit it.
fn set_shape(fact: &mut Fact, change: impl FnOnce(&Shape) -> Shape) {
    let shape = change(&fact.shape);
    let fits = |value: &Integers| shape.elements() == Some(value.len() as i64);
    fact.value = fact.value.take().filter(fits);
    fact.shape = shape;
}

/// For each node, the nodes that read its outputs.
#[derive(Debug)]
struct Readers {
    readers: Vec<u32>,
    ends: Vec<u32>,
}

/// Tensors that are pushed to a stack, by the nodes that pop them, and predicates of conditionals, by their Merge: no edge
/// of the graph connects them.
type Pushes = TrustedMap<u32, Tensor>;

/// Finds the contents of stacks, assuming that all tensors pushed to one are alike. Handles pass through loop entries.
fn pushes(body: &Body) -> Pushes {
    const FAR: usize = 64;
    let (mut pushed, mut pops) = (TrustedMap::default(), Vec::new());
    for node in 0..body.len() as u32 {
        let (is_push, is_pop) = match body.op(node) {
            "StackPushV2" | "StackPush" => (true, false),
            "StackPopV2" | "StackPop" => (false, true),
            _ => continue,
        };
        let mut at = body.inputs(node).first().map_or(NO_NODE, |handle| handle.node);
        for _ in 0..FAR {
            let hands_on =
                (at as usize) < body.len() && matches!(body.op(at), "Enter" | "RefEnter" | "Identity" | "Switch");
            match (if hands_on { body.inputs(at) } else { &[] }).first() {
                Some(next) => at = next.node,
                None => break,
            }
        }
        if is_push {
            pushed.entry(at).or_insert(Tensor { node, output: 0 });
        } else if is_pop {
            pops.push((node, at));
        }
    }
    pops.into_iter().filter_map(|(pop, stack)| Some((pop, *pushed.get(&stack)?))).collect()
}

/// The nodes that must be visited before a node.
fn sources<'a>(body: &'a Body, pushes: &'a Pushes, node: u32) -> impl Iterator<Item = u32> + 'a {
    let data = body.inputs(node).iter().chain(pushes.get(&node));
    data.map(|input| input.node).filter(|source| (*source as usize) < body.len())
}

impl Readers {
    fn new(body: &Body, pushes: &Pushes) -> Self {
        let nodes = body.len();
        let sources = |node: u32| sources(body, pushes, node).map(|source| source as usize);
        let mut starts = vec![0_u32; nodes + 1];
        for node in 0..nodes as u32 {
            sources(node).for_each(|source| starts[source + 1] += 1);
        }
        for at in 0..nodes {
            starts[at + 1] += starts[at];
        }
        let mut ends = starts;
        let mut readers = vec![0; ends[nodes] as usize];
        for node in 0..nodes as u32 {
            for source in sources(node) {
                readers[ends[source] as usize] = node;
                ends[source] += 1;
            }
        }
        Readers { readers, ends }
    }

    fn of(&self, node: u32) -> &[u32] {
        let start = if node == 0 { 0 } else { self.ends[node as usize - 1] as usize };
        &self.readers[start..self.ends[node as usize] as usize]
    }
}

/// Nodes in data order, ignoring the back edges of loops. Nodes on other cycles, which TensorFlow does not make, come
/// last.
fn order(body: &Body, readers: &Readers, pushes: &Pushes) -> Vec<u32> {
    let nodes = body.len();
    let closes = |node: u32| matches!(body.op(node), "NextIteration" | "RefNextIteration");
    let mut open = vec![0_u32; nodes];
    for node in 0..nodes as u32 {
        open[node as usize] = sources(body, pushes, node).filter(|source| !closes(*source)).count() as u32;
    }
    let mut order: Vec<u32> = (0..nodes as u32).filter(|node| open[*node as usize] == 0).collect();
    let mut ordered = vec![false; nodes];
    let mut at = 0;
    while let Some(node) = order.get(at).copied() {
        at += 1;
        ordered[node as usize] = true;
        if closes(node) {
            continue;
        }
        for reader in readers.of(node) {
            open[*reader as usize] -= 1;
            if open[*reader as usize] == 0 {
                order.push(*reader);
            }
        }
    }
    order.extend((0..nodes as u32).filter(|node| !ordered[*node as usize]));
    order
}
