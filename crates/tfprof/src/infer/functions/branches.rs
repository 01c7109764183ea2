//! Conditionals of TensorFlow 1: `Switch` sends a tensor into one of two branches, `_SwitchN` of a lowered `Case` into one of
//! several, and `Merge` joins them.
//!
//! The policy is that of `If` and `Case`: the branch that is taken counts, if that is known, otherwise the costliest. Switches of
//! loops, whose predicate is a `LoopCond`, are no conditionals; [`frames`](super::frames) counts them.

use crate::hash::TrustedMap;
use crate::model::attr_value;
use crate::model::body::{Body, Tensor};
use std::collections::BTreeMap;

/// The branch of nodes outside all conditionals.
const OUTSIDE: u32 = 0;

/// Deeper branches count as part of their enclosing one.
const MAX_DEPTH: u32 = 64;

/// The branches of a body. Without conditionals, all fields are empty.
#[derive(Clone, Debug, Default)]
pub struct Branches {
    /// The innermost branch of each node.
    of: Vec<u32>,
    /// Parents precede their children; the first stands for [`OUTSIDE`].
    list: Vec<Branch>,
    /// For each `Merge`, the branches of its inputs.
    merges: BTreeMap<u32, Vec<u32>>,
}

#[derive(Clone, Copy, Debug)]
struct Branch {
    parent: u32,
    depth: u32,
    predicate: Tensor,
    /// The output of the `Switch`: 1 if the predicate holds; or that of the `_SwitchN`.
    side: u32,
    /// The last output; an index out of range means that one.
    last: u32,
}

impl Branch {
    /// Whether the branch is taken at a value of its predicate.
    fn is_taken(&self, value: i64) -> bool {
        u32::try_from(value).map_or(self.last, |value| value.min(self.last)) == self.side
    }
}

/// FLOPs, bytes and unknown nodes: the order of costs.
pub type Price = (i64, i64, i64);

/// The conditionals in a branch, by predicate: the branches that have nodes.
type Conditionals = Vec<((u32, Tensor), Vec<u32>)>;

impl Branches {
    /// Finds the branches of a body. Linear in its size.
    pub fn new(body: &Body) -> Branches {
        if !body.ops().0.any(|op| matches!(op, "Switch" | "RefSwitch" | "_SwitchN")) {
            return Branches::default();
        }
        let outside = Branch { parent: OUTSIDE, depth: 0, predicate: Tensor { node: 0, output: 0 }, side: 0, last: 0 };
        let mut finder = Finder {
            body,
            found: Branches { of: vec![OUTSIDE; body.len()], list: vec![outside], merges: BTreeMap::new() },
            ids: TrustedMap::default(),
        };
        order(body).into_iter().for_each(|node| finder.visit(node));
        if finder.found.list.len() == 1 { Branches::default() } else { finder.found }
    }

    /// The predicate of each `Merge`.
    pub fn predicates(&self) -> impl Iterator<Item = (u32, Tensor)> + '_ {
        let innermost = |inputs: &Vec<u32>| inputs.iter().copied().filter(|branch| *branch != OUTSIDE).max();
        let merges = self.merges.iter().filter_map(move |(merge, inputs)| Some((*merge, innermost(inputs)?)));
        merges.map(|(merge, branch)| (merge, self.list[branch as usize].predicate))
    }

    /// Whether an input of a `Merge` can arrive. `value` returns the value of a predicate, if it is known.
    pub fn can_arrive(&self, merge: u32, input: usize, value: impl Fn(Tensor) -> Option<i64>) -> bool {
        let Some(mut at) = self.merges.get(&merge).and_then(|inputs| inputs.get(input)).copied() else { return true };
        while at != self.of[merge as usize] && at != OUTSIDE {
            let branch = self.list[at as usize];
            if value(branch.predicate).is_some_and(|value| !branch.is_taken(value)) {
                return false;
            }
            at = branch.parent;
        }
        true
    }

    /// Sets the runs of nodes to 0 that are in a branch not taken. `price` returns the cost of all runs of a node.
    pub fn choose(
        &self,
        price: impl Fn(u32) -> Price,
        value: impl Fn(Tensor) -> Option<i64>,
        runs: Option<Vec<i64>>,
    ) -> Option<Vec<i64>> {
        if self.list.is_empty() {
            return runs;
        }
        let mut prices = vec![Price::default(); self.list.len()];
        let add = |to: &mut Price, more: Price| {
            *to = (to.0.saturating_add(more.0), to.1.saturating_add(more.1), to.2.saturating_add(more.2));
        };
        for (node, branch) in self.of.iter().enumerate().filter(|(_, branch)| **branch != OUTSIDE) {
            add(&mut prices[*branch as usize], price(node as u32));
        }
        let mut taken = vec![false; self.list.len()];
        taken[OUTSIDE as usize] = true;
        // Inner conditionals are decided first, since the chosen branch is part of the price of the outer one.
        for ((parent, predicate), sides) in self.conditionals() {
            let branch = |at: u32| self.list[at as usize];
            // Of equals the first, as for `Case`; of two the branch for true, as for `If`.
            let rank = |at: u32| if branch(at).last == 1 { branch(at).side } else { branch(at).last - branch(at).side };
            let chosen = match value(predicate) {
                Some(value) => sides.iter().copied().find(|at| branch(*at).is_taken(value)),
                None => sides.iter().copied().max_by_key(|at| (prices[*at as usize], rank(*at))),
            };
            if let Some(chosen) = chosen {
                taken[chosen as usize] = true;
                let price = prices[chosen as usize];
                add(&mut prices[parent as usize], price);
            }
        }
        for at in 1..self.list.len() {
            taken[at] &= taken[self.list[at].parent as usize];
        }
        let mut runs = runs.unwrap_or_else(|| vec![1; self.of.len()]);
        for (runs, branch) in runs.iter_mut().zip(&self.of) {
            *runs = if taken[*branch as usize] { *runs } else { 0 };
        }
        Some(runs)
    }

    /// All conditionals, inner ones first.
    fn conditionals(&self) -> Conditionals {
        let mut places: TrustedMap<(u32, Tensor), usize> = TrustedMap::default();
        let mut all = Conditionals::new();
        for (at, branch) in self.list.iter().enumerate().skip(1) {
            let key = (branch.parent, branch.predicate);
            let place = *places.entry(key).or_insert_with(|| {
                all.push((key, Vec::new()));
                all.len() - 1
            });
            all[place].1.push(at as u32);
        }
        // A branch has a higher number than its parent.
        all.sort_by_key(|((parent, _), _)| std::cmp::Reverse(*parent));
        all
    }
}

struct Finder<'b> {
    body: &'b Body,
    found: Branches,
    ids: TrustedMap<(u32, Tensor, u32), u32>,
}

impl Finder<'_> {
    /// Finds the branch of a node whose sources were visited.
    fn visit(&mut self, node: u32) {
        let inputs: Vec<u32> = self.body.inputs(node).iter().map(|input| self.branch_of(*input)).collect();
        let controls = self.body.controls(node).iter();
        let of_controls = controls.filter_map(|source| self.found.of.get(*source as usize).copied());
        let deepest = |found: &Branches, all: &mut dyn Iterator<Item = u32>| {
            all.max_by_key(|branch| found.list[*branch as usize].depth).unwrap_or(OUTSIDE)
        };
        let by_control = deepest(&self.found, &mut of_controls.collect::<Vec<u32>>().into_iter());
        let mut by_data = deepest(&self.found, &mut inputs.iter().copied());
        if self.joins(node) {
            by_data = self.found.list[by_data as usize].parent;
            self.found.merges.insert(node, inputs);
        }
        self.found.of[node as usize] = deepest(&self.found, &mut [by_data, by_control].into_iter());
    }

    /// The branch in which a tensor exists.
    fn branch_of(&mut self, tensor: Tensor) -> u32 {
        let Some(of) = self.found.of.get(tensor.node as usize).copied() else { return OUTSIDE };
        let Some((predicate, last)) = self.predicate(tensor.node) else { return of };
        let depth = self.found.list[of as usize].depth + 1;
        // Within a branch, a switch on the same predicate leads nowhere else.
        let mut outer = of;
        while outer != OUTSIDE {
            let branch = self.found.list[outer as usize];
            if branch.predicate == predicate {
                return of;
            }
            outer = branch.parent;
        }
        if depth > MAX_DEPTH {
            return of;
        }
        let found = &mut self.found;
        *self.ids.entry((of, predicate, tensor.output.min(last))).or_insert_with(|| {
            found.list.push(Branch { parent: of, depth, predicate, side: tensor.output.min(last), last });
            found.list.len() as u32 - 1
        })
    }

    /// The predicate of a `Switch` that is not part of a loop, and its last output.
    fn predicate(&self, node: u32) -> Option<(Tensor, u32)> {
        let body = self.body;
        let last = match body.op(node) {
            "Switch" | "RefSwitch" => 1,
            "_SwitchN" => {
                let outputs = body.attribute(node, "num_outs").and_then(attr_value::int).unwrap_or(0);
                u32::try_from(outputs).unwrap_or(0).saturating_sub(1)
            }
            _ => return None,
        };
        let predicate = *body.inputs(node).get(1)?;
        let is_loop = body.op_of(predicate.node).is_none_or(|op| op == "LoopCond");
        (!is_loop).then_some((predicate, last))
    }

    /// Whether a node ends a conditional.
    fn joins(&self, node: u32) -> bool {
        let body = self.body;
        let of_loop = |input: &Tensor| {
            let op = body.op_of(input.node);
            op.is_none_or(|op| matches!(op, "Enter" | "RefEnter" | "NextIteration" | "RefNextIteration"))
        };
        matches!(body.op(node), "Merge" | "RefMerge") && !body.inputs(node).iter().any(of_loop)
    }
}

/// Nodes after the sources of their data and control inputs, ignoring the back edges of loops. Nodes on other cycles come
/// last.
fn order(body: &Body) -> Vec<u32> {
    let nodes = body.len();
    let closes = |node: u32| matches!(body.op(node), "NextIteration" | "RefNextIteration");
    let sources = |node: u32| {
        let all = body.inputs(node).iter().map(|input| input.node).chain(body.controls(node).iter().copied());
        all.filter(|source| (*source as usize) < nodes && !closes(*source))
    };
    let mut ends = vec![0_u32; nodes + 1];
    let mut open = vec![0_u32; nodes];
    for node in 0..nodes as u32 {
        sources(node).for_each(|source| ends[source as usize + 1] += 1);
        open[node as usize] = sources(node).count() as u32;
    }
    for at in 0..nodes {
        ends[at + 1] += ends[at];
    }
    let starts = ends.clone();
    let mut readers = vec![0; ends[nodes] as usize];
    for node in 0..nodes as u32 {
        for source in sources(node) {
            readers[ends[source as usize] as usize] = node;
            ends[source as usize] += 1;
        }
    }
    let mut order: Vec<u32> = (0..nodes as u32).filter(|node| open[*node as usize] == 0).collect();
    let mut ordered = vec![false; nodes];
    let mut at = 0;
    while let Some(node) = order.get(at).copied() {
        at += 1;
        ordered[node as usize] = true;
        for reader in &readers[starts[node as usize] as usize..ends[node as usize] as usize] {
            open[*reader as usize] -= 1;
            if open[*reader as usize] == 0 {
                order.push(*reader);
            }
        }
    }
    order.extend((0..nodes as u32).filter(|node| !ordered[*node as usize]));
    order
}
