//! What a program runs as one flat list of nodes: those of functions lie under the call, `call/inner/MatMul`.

use super::calls::{Inferred, Opened, Program, Total};
use crate::infer::fact::Fact;
use crate::infer::inference::{Cost, Instance, NodeCost};
use crate::model::body::{Body, Tensor};
use crate::model::costs::UnknownReason;

/// The most nodes that are listed. What lies beyond is summed up in the node that calls it.
pub const MOST_NODES: i64 = 500_000;

/// The longest name of a call that is opened: names of deep calls grow with every level.
const LONGEST_NAME: usize = 4096;

/// A node at one place of the program.
#[derive(Debug)]
pub struct Node<'a> {
    pub name: &'a str,
    pub body: &'a Body,
    pub node: u32,
    /// None for a node of the graph itself.
    pub function: Option<u32>,
    pub function_name: Option<&'a str>,
    /// How often it runs for one run of the graph.
    pub runs: i64,
    /// What one run takes; for a call that is not opened any further, what all it calls take.
    pub cost: Cost,
    /// Nodes that it stands for whose cost is not known, itself included.
    pub unknown: i64,
    /// Why its own cost is not known.
    pub why: Option<UnknownReason>,
    /// How many nodes it calls that are not listed.
    pub closed: i64,
    pub outputs: &'a [Fact],
    instance: &'a Instance,
    /// Where its data comes from: the name of a node and which of its outputs; arguments are followed to the caller.
    pub inputs: &'a [(String, u32)],
    /// What it returns from inside, if it is a call that is opened.
    pub inside: &'a [(String, u32)],
}

impl Node<'_> {
    /// Where a shape that it lacks got lost, in words.
    pub fn blame(&self) -> String {
        let culprit = self.instance.blame(self.body, self.node);
        let (name, op) = (self.body.name(culprit), self.body.op(culprit));
        match () {
            () if culprit == self.node => format!("what {op} makes of its inputs is not known"),
            () if self.body.arg(culprit).is_some() => format!("the argument `{name}` has no known shape"),
            () => format!("the shape gets lost at `{name}` ({op})"),
        }
    }
}

/// A body on the way.
struct Visit<'a> {
    opened: &'a Opened,
    prefix: String,
    /// The part of inner names that only repeats that of the call.
    repeated: String,
    runs: i64,
    args: Vec<(String, u32)>,
    next: u32,
    next_call: usize,
}

/// Calls `each` for all nodes of a program; a call comes before what it calls.
pub fn expand(program: &Program, inferred: &Inferred, most: i64, each: &mut dyn FnMut(&Node<'_>)) {
    let Some(graph) = inferred.instances.last() else { return };
    let start =
        |opened, prefix, repeated, runs, args| Visit { opened, prefix, repeated, runs, args, next: 0, next_call: 0 };
    let mut listed = graph.instance.costs.len() as i64;
    let mut open = vec![start(graph, String::new(), String::new(), 1, Vec::new())];
    let (mut name, mut inputs) = (String::new(), Vec::new());
    while let Some(visit) = open.last_mut() {
        let body = program.body(visit.opened.function);
        let node = visit.next;
        if node as usize >= body.len() {
            open.pop();
            continue;
        }
        visit.next += 1;
        if body.arg(node).is_some() {
            continue;
        }
        visit.name_of(body, node, &mut name);
        inputs.clear();
        inputs.extend(body.inputs(node).iter().map(|tensor| visit.source(body, *tensor)));
        let runs = visit.runs.saturating_mul(visit.opened.runs.as_ref().map_or(1, |runs| runs[node as usize]));
        let (mut cost, mut unknown, why) = match visit.opened.instance.costs[node as usize] {
            NodeCost::Known(cost) => (cost, 0, None),
            NodeCost::Unknown(why, cost) => (cost, 1, Some(why)),
            NodeCost::Call => (Cost::default(), 0, None),
        };
        let mut targets = &[][..];
        if let Some(call) = visit.opened.calls.get(visit.next_call).filter(|call| call.node == node) {
            visit.next_call += 1;
            targets = &call.targets;
            unknown = i64::from(targets.is_empty());
        }
        let mut total = Total::default();
        for target in targets {
            total.add(&inferred.instances[target.instance as usize].total, target.runs);
        }
        let too_many = listed.saturating_add(total.nodes) > most || name.len() > LONGEST_NAME;
        let is_closed = !targets.is_empty() && too_many;
        if is_closed {
            (cost, unknown) = (total.cost, total.unknown);
        } else {
            listed += total.nodes;
        }
        let mut visits = Vec::new();
        let mut inside = Vec::new();
        if !is_closed {
            let local = body.name(node);
            for target in targets {
                let opened = &inferred.instances[target.instance as usize];
                let mut prefix = format!("{name}/");
                let mut repeated = String::new();
                if !target.part.is_empty() {
                    prefix.push_str(&target.part);
                    prefix.push('/');
                    repeated = format!("{local}/");
                }
                let args = inputs.get(target.skipped as usize..).unwrap_or_default().to_vec();
                let visit = start(opened, prefix, repeated, runs.saturating_mul(target.runs), args);
                let called = program.body(opened.function);
                inside.extend(called.returns.iter().map(|tensor| visit.source(called, *tensor)));
                visits.push(visit);
            }
            inside.retain(|(source, _)| source.starts_with(&name));
        }
        each(&Node {
            name: &name,
            body,
            node,
            function: visit.opened.function,
            function_name: visit.opened.function.map(|function| program.library.get(function).name.as_str()),
            runs,
            cost,
            unknown: if runs > 0 { unknown } else { 0 },
            why: if unknown > 0 { why.or(Some(UnknownReason::NoFormula)) } else { None },
            closed: if is_closed { total.nodes } else { 0 },
            outputs: visit.opened.instance.outputs(node),
            instance: &visit.opened.instance,
            inputs: &inputs,
            inside: &inside,
        });
        open.extend(visits.into_iter().rev());
    }
}

impl Visit<'_> {
    fn name_of(&self, body: &Body, node: u32, out: &mut String) {
        let inner = body.name(node);
        out.clear();
        out.push_str(&self.prefix);
        out.push_str(inner.strip_prefix(&self.repeated).unwrap_or(inner));
    }

    /// Where a tensor comes from, seen from outside.
    fn source(&self, body: &Body, tensor: Tensor) -> (String, u32) {
        if tensor.node as usize >= body.len() {
            return (String::new(), 0);
        }
        if let Some(arg) = body.arg(tensor.node) {
            return self.args.get(arg).cloned().unwrap_or_default();
        }
        let mut name = String::new();
        self.name_of(body, tensor.node, &mut name);
        (name, tensor.output)
    }
}
