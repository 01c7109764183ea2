//! The cost of each node of a body, from the facts about its tensors.

use super::super::fact::Fact;
use super::super::inference::{Calls, Cost, Instance, NodeCost};
use super::{Dims, Formula, Io, Op, UnknownReason, find};
use crate::model::body::Body;
use crate::model::dtype::DType;

pub fn costs(body: &Body, instance: &Instance, calls: &dyn Calls) -> Vec<NodeCost> {
    let (ops, of) = body.ops();
    let formulas: Vec<(Option<&'static Formula>, bool)> = ops.map(|op| (find(op), calls.is_call(op))).collect();
    let mut facts = Vec::new();
    let cost = |node: u32| {
        let (formula, is_call) = formulas[of[node as usize] as usize];
        if is_call {
            return NodeCost::Call;
        }
        let Some(formula) = formula else { return NodeCost::Unknown(UnknownReason::NoFormula, Cost::default()) };
        facts.clear();
        facts.extend(body.inputs(node).iter().map(|input| instance.fact(*input).cloned().unwrap_or_default()));
        let outputs = instance.outputs(node);
        let mut inputs: Vec<Option<Dims<'_>>> = facts.iter().map(dims).collect();
        inputs.resize(inputs.len() + body.controls(node).len(), None);
        let op = Op {
            name: body.op(node),
            inputs: &inputs,
            output: outputs.first().and_then(dims),
            facts: &facts,
            attribute: &|name| body.attribute(node, name),
            as_original: false,
        };
        let io_bytes = bytes(formula.io, &facts, outputs);
        match formula.count(&op) {
            Ok(work) => NodeCost::Known(Cost { float_ops: work.float_ops, macs: work.macs, io_bytes }),
            Err(why) => NodeCost::Unknown(why, Cost { io_bytes, ..Cost::default() }),
        }
    };
    (0..body.len() as u32).map(cost).collect()
}

/// The shape of a tensor, or of the variable behind a handle.
fn dims(fact: &Fact) -> Option<Dims<'_>> {
    match &fact.held {
        Some(held) if fact.dtype == DType::RESOURCE => held.shape.dims(),
        _ => fact.shape.dims(),
    }
}

/// The bytes of a tensor or of the variable behind a handle; 0 if unknown.
fn size(fact: &Fact) -> i64 {
    let known = match &fact.held {
        Some(held) if fact.dtype == DType::RESOURCE => Fact::new(held.dtype, held.shape.clone()).bytes(),
        _ => fact.bytes(),
    };
    known.unwrap_or(0)
}

fn bytes(io: Io, inputs: &[Fact], outputs: &[Fact]) -> i64 {
    let sum = |facts: &[Fact]| facts.iter().fold(0_i64, |sum, fact| sum.saturating_add(size(fact)));
    match io {
        Io::None => 0,
        Io::All => sum(inputs).saturating_add(sum(outputs)),
        Io::Updates(state) => sum(inputs).saturating_add(sum(&inputs[..state.min(inputs.len())])),
        Io::Indexed => {
            // A gather moves its output; a scatter moves its largest input after the first.
            let scattered = inputs.iter().skip(1).map(size).max().unwrap_or(0);
            let indices = inputs.iter().skip(1).fold(0_i64, |sum, fact| sum.saturating_add(size(fact)));
            let gathered = sum(outputs);
            if outputs.is_empty() || gathered == inputs.first().map_or(0, size) {
                indices.saturating_add(scattered.saturating_mul(2))
            } else {
                indices.saturating_add(gathered.saturating_mul(2))
            }
        }
    }
}
