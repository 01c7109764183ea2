//! Infers facts and costs of all nodes of a body, in one pass for all sizes of the batch.
//!
//! Nodes are visited in data order. Loops iterate to a fixed point, a bounded number of times: a Merge at the loop's
//! entry keeps what holds in all iterations. Nothing recurses. [`Calls`] answers calls of functions, and may ask to be
//! asked again later. Equal ops on equal facts are evaluated once (`results.rs`).

use super::data_order::{Pushes, Readers, order, pushes};
use super::fact::{Fact, Integers, Point, Shape};
use super::flops::{self, Formula};
use super::functions::branches::Branches;
use super::overrides::Overrides;
use super::results::{Outcome, Results};
use super::shapes::{self, Op, Rule};
use crate::budget;
use crate::model::attr_value;
use crate::model::body::{Body, NO_NODE, Tensor};
use crate::model::costs::UnknownReason;
use crate::model::dtype::DType;
use crate::model::functions::CALL_OPS;
use crate::model::observed::NodeShapes;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// After so many visits a node counts as unknown, which bounds the work even if everything reads everything.
const MOST_VISITS: u8 = 32;

/// The result of a node that was not visited yet.
const NOT_VISITED: u32 = u32::MAX;

/// Facts and costs of a body for given arguments.
#[derive(Clone, Debug, Default)]
pub struct Instance {
    /// By node, the number of its result.
    result: Vec<u32>,
    results: Results,
    /// Whether an unknown leading dimension was replaced by the batch size.
    pub uses_batch: bool,
    pub branches: Branches,
}

/// The cost of one execution of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cost {
    pub float_ops: i64,
    /// Multiply-adds.
    pub macs: i64,
    /// Bytes read and written, as far as shapes are known.
    pub io_bytes: i64,
}

/// The cost of a node, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeCost {
    Known(Cost),
    /// FLOPs and multiply-adds are unknown. Bytes are known as far as shapes are.
    Unknown(UnknownReason, Cost),
    /// The node calls functions; its cost is that of their nodes.
    Call,
}

impl Cost {
    /// Adds so many runs of `other`.
    pub fn add(&mut self, other: &Cost, runs: i64) {
        let plus = |own: &mut i64, more: i64| *own = own.saturating_add(more.saturating_mul(runs));
        plus(&mut self.float_ops, other.float_ops);
        plus(&mut self.macs, other.macs);
        plus(&mut self.io_bytes, other.io_bytes);
    }
}

impl NodeCost {
    /// The part of the cost that is known.
    pub fn known(&self) -> Cost {
        match self {
            NodeCost::Known(cost) | NodeCost::Unknown(_, cost) => *cost,
            NodeCost::Call => Cost::default(),
        }
    }
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
    let mut inference = Inference::new(body, args, calls);
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
    inference.finish()
}

/// An inference in progress. It can stop at a call and resume once the callee is inferred.
#[derive(Debug)]
pub struct Inference {
    args: Vec<Fact>,
    result: Vec<u32>,
    results: Results,
    uses_batch: bool,
    /// Nodes in data order (sources before readers, except around loops), and the inverse.
    order: Vec<u32>,
    position: Vec<u32>,
    readers: Readers,
    pushes: Pushes,
    branches: Branches,
    /// By op.
    ops: Vec<KnownOp>,
    visits: Vec<u8>,
    /// The next first visit, and the positions to visit again.
    next: usize,
    again: BinaryHeap<Reverse<u32>>,
    waits: Vec<bool>,
}

/// The facts about an op type.
#[derive(Clone, Copy, Debug)]
struct KnownOp {
    rule: Option<Rule>,
    formula: Option<&'static Formula>,
    is_call: bool,
    is_merge: bool,
    /// Its outputs follow from its attributes and the facts of its inputs.
    is_pure: bool,
    is_program_input: bool,
}

impl KnownOp {
    fn new(op: &str, calls: &dyn Calls) -> KnownOp {
        let rule = shapes::rule(op);
        let is_call = calls.is_call(op);
        let is_program_input = shapes::is_program_input(op);
        let is_pure = (rule.is_some() || !is_call) && !is_program_input && !op.contains("Dequeue");
        let is_merge = matches!(op, "Merge" | "RefMerge");
        KnownOp { rule, formula: flops::find(op), is_call, is_merge, is_pure, is_program_input }
    }
}

impl Inference {
    /// Arguments beyond those given are unknown.
    pub fn new(body: &Body, args: &[Fact], calls: &dyn Calls) -> Self {
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
            result: vec![NOT_VISITED; body.len()],
            results: Results::default(),
            uses_batch: false,
            order,
            position,
            readers,
            pushes,
            branches,
            ops: body.ops().0.map(|op| KnownOp::new(op, calls)).collect(),
            visits: vec![0; body.len()],
            next: 0,
            again: BinaryHeap::new(),
            waits: vec![false; body.len()],
        }
    }

    /// Runs until all facts are found (true), or until a call must be answered later (false).
    pub fn run(&mut self, body: &Body, known: &Overrides, calls: &mut dyn Calls) -> bool {
        let mut is_arg = vec![NO_NODE; if body.args.is_empty() { 0 } else { body.len() }];
        for (at, node) in body.args.iter().enumerate() {
            if let Some(slot) = is_arg.get_mut(*node as usize) {
                *slot = at as u32;
            }
        }
        loop {
            let again = self.again.peek().map(|Reverse(at)| *at as usize);
            let first = again.is_none_or(|at| at >= self.next);
            let at = if first { self.next } else { again.unwrap_or_default() };
            let Some(node) = self.order.get(at).copied() else { return true };
            let arg = is_arg.get(node as usize).copied().filter(|arg| *arg != NO_NODE);
            let Some(result) = self.visit(body, node, arg, known, calls) else { return false };
            if first {
                self.next += 1;
            } else {
                self.again.pop();
            }
            self.waits[node as usize] = false;
            self.settle(body, node, result);
        }
    }

    /// The result of a node for the facts that are known now; `None` if a call must be answered later.
    fn visit(
        &mut self,
        body: &Body,
        node: u32,
        arg: Option<u32>,
        known: &Overrides,
        calls: &mut dyn Calls,
    ) -> Option<u32> {
        budget::work(1 + body.inputs(node).len() as u64 / 16);
        let op_id = body.ops().1[node as usize];
        let op = self.ops[op_id as usize];
        let observed = if known.observed.is_empty() { None } else { known.observed.get(body.name(node)) };
        let observed_key = observed.map_or(Some(u32::MAX), NodeShapes::key);
        let is_pure = op.is_pure && arg.is_none() && observed_key.is_some();
        let controls = body.controls(node).len() as u32;
        let head = [op_id, body.attributes_id(node), controls, observed_key.unwrap_or_default()];
        let result_of = |tensor: Tensor| self.result.get(tensor.node as usize).copied().unwrap_or(NO_NODE);
        self.results.start_key(head);
        // A Merge ignores inputs not yet visited, and those of a branch not taken.
        if op.is_merge {
            for (at, tensor) in body.inputs(node).iter().enumerate() {
                let results = &self.results;
                let value = |predicate: Tensor| results.fact(result_of(predicate), predicate.output)?.integer();
                let is_visited = (tensor.node as usize) >= body.len() || result_of(*tensor) != NOT_VISITED;
                if is_visited && self.branches.can_arrive(node, at, value) {
                    self.results.push_input(result_of(*tensor), tensor.output);
                }
            }
        } else {
            for tensor in body.inputs(node).iter().chain(self.pushes.get(&node)) {
                self.results.push_input(result_of(*tensor), tensor.output);
            }
        }
        if is_pure && let Some(result) = self.results.find() {
            return Some(result);
        }
        let inputs = self.results.inputs();
        let call = Op { body, node, inputs: &inputs };
        let step =
            Step { op, arg: arg.map(|arg| self.args.get(arg as usize).unwrap_or(&Fact::UNKNOWN)), known, observed };
        let answer = match step.arg {
            None if op.rule.is_none() && op.is_call => match calls.call(&call) {
                Answer::Outputs(outputs) => Some(outputs),
                Answer::Later => return None,
            },
            _ => None,
        };
        let is_symbolic = step.may_use_batch() || inputs.iter().chain(answer.iter().flatten()).any(Fact::is_symbolic);
        let (outcome, uses_batch) = step.outcome(&call, answer.as_deref(), is_symbolic);
        self.uses_batch |= uses_batch;
        Some(self.results.add(outcome, is_pure))
    }

    /// Ends the inference.
    pub fn finish(self) -> Instance {
        let Inference { result, mut results, uses_batch, branches, .. } = self;
        results.forget_keys();
        Instance { result, results, uses_batch, branches }
    }

    /// Stores the result of a node. If it changed, readers that were visited are visited again.
    fn settle(&mut self, body: &Body, node: u32, mut result: u32) {
        let visits = &mut self.visits[node as usize];
        *visits += 1;
        if *visits >= MOST_VISITS {
            let op = self.ops[body.ops().1[node as usize] as usize];
            let types: Vec<Fact> =
                self.results.outputs(result).iter().map(|output| Fact::of_type(output.dtype)).collect();
            let unknown = vec![Fact::default(); body.inputs(node).len()];
            let outcome = Outcome::new(op.cost(&Op { body, node, inputs: &unknown }, &types), types);
            result = self.results.add(outcome, false);
        }
        if std::mem::replace(&mut self.result[node as usize], result) == result {
            return;
        }
        for reader in self.readers.of(node) {
            let at = self.position[*reader as usize];
            let may_come_again = (at as usize) < self.next && self.visits[*reader as usize] < MOST_VISITS;
            if may_come_again && !std::mem::replace(&mut self.waits[*reader as usize], true) {
                self.again.push(Reverse(at));
            }
        }
    }
}

/// One visit of a node.
struct Step<'a> {
    op: KnownOp,
    /// The argument that the node stands for.
    arg: Option<&'a Fact>,
    known: &'a Overrides,
    /// Shapes that a run recorded.
    observed: Option<NodeShapes<'a>>,
}

impl Step<'_> {
    fn is_input(&self) -> bool {
        self.arg.is_some() || self.op.is_program_input
    }

    fn may_use_batch(&self) -> bool {
        self.is_input() && (self.known.batch.is_some() || self.arg.is_some_and(Fact::is_symbolic))
    }

    /// Evaluates the node at each size of the batch, or once if none matters. Also returns whether one does.
    fn outcome(&self, op: &Op<'_>, answer: Option<&[Fact]>, is_symbolic: bool) -> (Outcome, bool) {
        if !is_symbolic {
            let (outputs, conflict, _) = self.outputs(op, answer.map(<[Fact]>::to_vec), Point::Asked);
            return (Outcome { conflict, ..Outcome::new(self.op.cost(op, &outputs), outputs) }, false);
        }
        let at = Point::ALL.map(|point| {
            let inputs: Vec<Fact> = op.inputs.iter().map(|input| input.plain(point)).collect();
            let op = Op { inputs: &inputs, ..*op };
            let answer = answer.map(|outputs| outputs.iter().map(|output| output.plain(point)).collect());
            let (outputs, conflict, uses_batch) = self.outputs(&op, answer, point);
            let cost = self.op.cost(&op, &outputs);
            (outputs, conflict, uses_batch, cost)
        });
        let index = |point: Point| match point {
            Point::Asked => 0,
            Point::Batch(index) => index + 1,
        };
        let count = at.iter().map(|(outputs, ..)| outputs.len()).max().unwrap_or(0);
        let output = |place: usize| Fact::at_each(|point| at[index(point)].0.get(place).cloned().unwrap_or_default());
        let outputs = (0..count).map(output).collect();
        let by_batch = std::array::from_fn(|index| at[index + 1].3.known());
        let [(_, conflict, uses_batch, cost), ..] = at;
        (Outcome { by_batch, conflict, ..Outcome::new(cost, outputs) }, uses_batch)
    }

    /// The outputs at one size of the batch: by the rule of the op, completed by shapes that the file, the user or runs
    /// state. Also returns contradictory statements, and whether the size of the batch was needed.
    fn outputs(
        &self,
        op: &Op<'_>,
        answer: Option<Vec<Fact>>,
        point: Point,
    ) -> (Vec<Fact>, Option<(Shape, Shape)>, bool) {
        let mut outputs = match (self.arg, answer, self.op.rule) {
            (Some(arg), ..) => vec![arg.plain(point)],
            (None, Some(answer), _) => answer,
            (None, None, Some(rule)) => rule(op),
            (None, None, None) => Vec::new(),
        };
        if self.arg.is_none() && !self.op.is_call {
            shapes::mark_data(op, self.op.rule.is_some(), &mut outputs);
        }
        let mut conflict = None;
        if let Some(stated) = op.body.attribute(op.node, "_output_shapes") {
            for (at, shape) in attr_value::shapes(stated).into_iter().enumerate() {
                at_least(&mut outputs, at);
                if conflict.is_none() && !outputs[at].shape.fits(&shape) {
                    conflict = Some((outputs[at].shape.clone(), shape.clone()));
                }
                set_shape(&mut outputs[at], |own| own.and(&shape));
            }
        }
        // Types that a dialect states, where no rule finds one.
        let types = op.body.attribute(op.node, "_output_types").map(attr_value::dtypes).unwrap_or_default();
        for (output, dtype) in outputs.iter_mut().zip(types).filter(|(output, _)| output.dtype == DType::UNKNOWN) {
            output.dtype = dtype;
        }
        for (at, shape) in self.observed.into_iter().flat_map(NodeShapes::known) {
            // The handle of a tensor array has two elements for TensorFlow's inference, and none when it runs.
            if outputs.get(at).is_some_and(|output| output.dtype == DType::RESOURCE) {
                continue;
            }
            at_least(&mut outputs, at);
            set_shape(&mut outputs[at], |own| shape.and(own));
        }
        let mut uses_batch = false;
        if self.is_input() {
            let name = op.body.name(op.node);
            for (at, output) in outputs.iter_mut().enumerate() {
                uses_batch |= self.known.complete_input(name, at, output, point);
            }
        }
        (outputs, conflict, uses_batch)
    }
}

impl KnownOp {
    fn cost(&self, op: &Op<'_>, outputs: &[Fact]) -> NodeCost {
        match self.formula {
            _ if self.is_call => NodeCost::Call,
            Some(formula) => flops::cost(formula, op, outputs),
            None => NodeCost::Unknown(UnknownReason::NoFormula, Cost::default()),
        }
    }
}

impl Instance {
    pub fn len(&self) -> usize {
        self.result.len()
    }

    pub fn is_empty(&self) -> bool {
        self.result.is_empty()
    }

    /// The facts of a node's outputs. Nothing is known about missing ones.
    pub fn outputs(&self, node: u32) -> &[Fact] {
        self.outcome(node).map_or(&[], |outcome| &outcome.outputs)
    }

    pub fn fact(&self, tensor: Tensor) -> Option<&Fact> {
        self.outputs(tensor.node).get(tensor.output as usize)
    }

    /// The cost of a node; unknown if there is no such node.
    pub fn cost(&self, node: u32) -> NodeCost {
        let unknown = NodeCost::Unknown(UnknownReason::NoFormula, Cost::default());
        self.outcome(node).map_or(unknown, |outcome| outcome.cost)
    }

    /// The known part of a node's cost at a size of the batch.
    pub fn cost_at(&self, node: u32, point: Point) -> Cost {
        match (self.outcome(node), point) {
            (Some(outcome), Point::Batch(index)) => outcome.by_batch[index],
            (Some(outcome), Point::Asked) => outcome.cost.known(),
            (None, _) => Cost::default(),
        }
    }

    /// The inferred and the stated shape of a node, if they contradict each other.
    pub fn conflict(&self, node: u32) -> Option<&(Shape, Shape)> {
        self.outcome(node)?.conflict.as_ref()
    }

    pub fn has_conflicts(&self) -> bool {
        self.results.any(|outcome| outcome.conflict.is_some())
    }

    /// Whether a fact depends on the size of the batch.
    pub fn is_symbolic(&self) -> bool {
        self.results.any(|outcome| outcome.outputs.iter().any(Fact::is_symbolic))
    }

    fn outcome(&self, node: u32) -> Option<&Outcome> {
        self.result.get(node as usize).and_then(|result| self.results.get(*result))
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
    fact.shape_is_data &= !shape.is_known();
    fact.shape = shape;
}
