//! Lists all nodes of a program as one flat graph. Nodes of a function appear under its call: `call/inner/MatMul`.

use super::calls::{Inferred, Program, Specialization, Target, Total};
use crate::infer::fact::Fact;
use crate::infer::inference::{Cost, Instance, NodeCost};
use crate::model::body::{Body, Tensor};
use crate::model::costs::UnknownReason;

/// The limit of listed nodes. Beyond it, a call is not expanded: its node has the cost of its callees.
pub const MAX_NODES: i64 = 500_000;

/// Calls with longer names are not expanded, since names grow with each level of calls.
const MAX_NAME_LENGTH: usize = 4096;

/// A node at one position of the program.
#[derive(Debug)]
pub struct Node<'a> {
    pub name: &'a str,
    pub body: &'a Body,
    pub id: u32,
    /// `None` for a node of the graph itself.
    pub function: Option<u32>,
    pub function_name: Option<&'a str>,
    /// Runs per run of the graph.
    pub runs: i64,
    /// The cost of one run. For a call that is not expanded, the cost of its callees.
    pub cost: Cost,
    /// The number of nodes of unknown cost, including itself and unlisted nodes of callees.
    pub unknown: i64,
    /// Why its own cost is unknown.
    pub why: Option<UnknownReason>,
    /// The number of callees' nodes that are not listed.
    pub unlisted: i64,
    pub outputs: &'a [Fact],
    instance: &'a Instance,
    /// Its data inputs: name and output of the source. Arguments are traced to the caller.
    pub inputs: &'a [(String, u32)],
    /// For an expanded call, the inner tensors that it returns.
    pub returned: &'a [(String, u32)],
}

impl Node<'_> {
    /// Explains where inference lost a missing shape.
    pub fn blame(&self) -> String {
        let culprit = self.instance.blame(self.body, self.id);
        let (name, op) = (self.body.name(culprit), self.body.op(culprit));
        match () {
            () if culprit == self.id => format!("the output shape of {op} cannot be inferred"),
            () if self.body.arg(culprit).is_some() => format!("the argument `{name}` has no known shape"),
            () => format!("the shape gets lost at `{name}` ({op})"),
        }
    }
}

/// A body being listed.
struct Visit<'a> {
    inferred: &'a Specialization,
    prefix: String,
    /// A prefix of inner names to strip, since it repeats the name of the call.
    repeated: String,
    runs: i64,
    args: Vec<(String, u32)>,
    next: u32,
    next_call: usize,
}

/// Calls `each` for all nodes of a program. A call precedes its callee's nodes.
pub fn expand(program: &Program, inferred: &Inferred, limit: i64, each: &mut dyn FnMut(&Node<'_>)) {
    let Some(graph) = inferred.instances.last() else { return };
    let mut listed = graph.instance.costs.len() as i64;
    let mut open = vec![Visit::new(graph, 1)];
    let (mut name, mut inputs) = (String::new(), Vec::new());
    while let Some(visit) = open.last_mut() {
        let body = program.body(visit.inferred.function);
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
        let runs = visit.runs.saturating_mul(visit.inferred.runs.as_ref().map_or(1, |runs| runs[node as usize]));
        let (mut cost, mut unknown, why) = match visit.inferred.instance.costs[node as usize] {
            NodeCost::Known(cost) => (cost, 0, None),
            NodeCost::Unknown(why, cost) => (cost, 1, Some(why)),
            NodeCost::Call => (Cost::default(), 0, None),
        };
        let mut targets = &[][..];
        if let Some(call) = visit.inferred.calls.get(visit.next_call).filter(|call| call.node == node) {
            visit.next_call += 1;
            targets = &call.targets;
            unknown = i64::from(targets.is_empty());
        }
        let mut total = Total::default();
        for target in targets {
            total.add(&inferred.instances[target.instance as usize].total, target.runs);
        }
        let too_many = listed.saturating_add(total.nodes) > limit || name.len() > MAX_NAME_LENGTH;
        let is_unlisted = !targets.is_empty() && too_many;
        if is_unlisted {
            (cost, unknown) = (total.cost, total.unknown);
        } else {
            listed += total.nodes;
        }
        let mut visits = Vec::new();
        let mut returned = Vec::new();
        if !is_unlisted {
            for target in targets {
                let callee = Visit::of_callee(inferred, target, &name, body.name(node), runs, &inputs);
                let body = program.body(callee.inferred.function);
                returned.extend(body.returns.iter().map(|tensor| callee.source(body, *tensor)));
                visits.push(callee);
            }
            returned.retain(|(source, _)| source.starts_with(&name));
        }
        each(&Node {
            name: &name,
            body,
            id: node,
            function: visit.inferred.function,
            function_name: visit.inferred.function.map(|function| program.library.get(function).name.as_str()),
            runs,
            cost,
            unknown: if runs > 0 { unknown } else { 0 },
            why: if unknown > 0 { why.or(Some(UnknownReason::NoFormula)) } else { None },
            unlisted: if is_unlisted { total.nodes } else { 0 },
            outputs: visit.inferred.instance.outputs(node),
            instance: &visit.inferred.instance,
            inputs: &inputs,
            returned: &returned,
        });
        open.extend(visits.into_iter().rev());
    }
}

impl<'a> Visit<'a> {
    fn new(inferred: &'a Specialization, runs: i64) -> Visit<'a> {
        let (prefix, repeated) = (String::new(), String::new());
        Visit { inferred, prefix, repeated, runs, args: Vec::new(), next: 0, next_call: 0 }
    }

    /// The body of a callee. `name` is the listed name of the call, `local` its name in the caller's body.
    fn of_callee(
        all: &'a Inferred,
        target: &Target,
        name: &str,
        local: &str,
        runs: i64,
        inputs: &[(String, u32)],
    ) -> Visit<'a> {
        let inferred = &all.instances[target.instance as usize];
        let mut visit = Visit::new(inferred, runs.saturating_mul(target.runs));
        visit.prefix = format!("{name}/");
        if !target.part.is_empty() {
            visit.prefix.push_str(&target.part);
            visit.prefix.push('/');
            visit.repeated = format!("{local}/");
        }
        visit.args = inputs.get(target.skipped as usize..).unwrap_or_default().to_vec();
        visit
    }

    fn name_of(&self, body: &Body, node: u32, out: &mut String) {
        let inner = body.name(node);
        out.clear();
        out.push_str(&self.prefix);
        out.push_str(inner.strip_prefix(&self.repeated).unwrap_or(inner));
    }

    /// The source of a tensor, by its listed name.
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
