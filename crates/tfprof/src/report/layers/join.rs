//! Times of a run joined to the nodes of a model. Files may name a node apart: a trace has `functional_1/dense_1/MatMul`, and
//! the saved model `StatefulPartitionedCall/functional_1/dense_1/MatMul`. A measured op without a cost of its own belongs to
//! the node of the same type whose name ends like its own, if there is only one.

use crate::budget;
use crate::hash::{TrustedMap, TrustedSet, UntrustedMap};
use crate::metric::Metric;
use crate::model::Model;
use crate::model::nodes::NodeId;
use crate::view::values::{Row, Values, plus};

/// The joined times.
#[derive(Debug, Default)]
pub struct Joined {
    /// The numbers of nodes that got the time of others.
    pub rows: TrustedMap<NodeId, Row>,
    /// Nodes whose time went to another.
    pub moved: TrustedSet<NodeId>,
    /// The share of the time that belongs to nodes of known or unknown cost of the model.
    pub share: Option<f64>,
}

/// The parts of a name that calls of functions add.
const CALLS: [&str; 3] = ["StatefulPartitionedCall", "PartitionedCall", "jit"];

/// The figures that move with the time of an op.
const TIMES: [Metric; 6] = [
    Metric::Micros,
    Metric::AcceleratorMicros,
    Metric::CpuMicros,
    Metric::DeviceMicros,
    Metric::InclusiveMicros,
    Metric::Runs,
];

/// Joins the times of ops that the model does not define to nodes that it does.
pub fn times(model: &Model, values: &Values<'_>) -> Joined {
    let mut joined = Joined::default();
    let is_defined =
        |node: NodeId| model.costs.get(node).counted || model.op_facts.get(node).is_some_and(|f| f.knows_flops);
    let ran = |node: NodeId| model.runs.totals().of(node).next().is_some();
    let (mut defined, mut all) = (0_i64, 0_i64);
    let index = if model.costs.is_empty() { UntrustedMap::default() } else { by_end(model, &ran) };
    for node in model.ops().filter(|node| ran(*node)) {
        let row = values.row(node);
        let took = row[Metric::DeviceMicros as usize];
        all = all.saturating_add(took);
        if is_defined(node) {
            defined = defined.saturating_add(took);
            continue;
        }
        let Some(target) = find(model, &index, node) else { continue };
        defined = defined.saturating_add(took);
        let sum = joined.rows.entry(target).or_insert_with(|| values.row(target));
        for metric in TIMES {
            sum[metric as usize] = plus(sum[metric as usize], row[metric as usize], false);
        }
        values.add_limits(target, sum);
        joined.moved.insert(node);
    }
    joined.share = (all > 0).then(|| defined as f64 / all as f64);
    joined
}

/// Nodes of the model that did not run under their own names, by the last part of the name.
fn by_end<'m>(model: &'m Model, ran: &dyn Fn(NodeId) -> bool) -> UntrustedMap<(&'m str, &'m str), Vec<NodeId>> {
    let mut index: UntrustedMap<_, Vec<NodeId>> = UntrustedMap::default();
    for node in model.nodes.all().filter(|node| model.costs.get(*node).counted && !ran(*node)) {
        index.entry(end(model.name(node))).or_default().push(node);
    }
    index
}

/// The last two parts of a name.
fn end(name: &str) -> (&str, &str) {
    let mut parts = name.rsplit('/');
    let last = parts.next().unwrap_or_default();
    (parts.next().unwrap_or_default(), last)
}

/// The node that an op belongs to.
fn find(model: &Model, index: &UntrustedMap<(&str, &str), Vec<NodeId>>, op: NodeId) -> Option<NodeId> {
    let name = model.name(op);
    let candidates = index.get(&end(name))?;
    budget::work(candidates.len() as u64);
    let kind = model.nodes.op[op.index()];
    let same_kind = |node: &&NodeId| {
        let own = model.nodes.op[node.index()];
        own == kind || model.names.get(kind) == name
    };
    let mut best: Option<(usize, NodeId)> = None;
    let mut is_tie = false;
    for node in candidates.iter().filter(same_kind) {
        let equal = equal_ends(name, model.name(*node));
        match best {
            Some((most, _)) if equal < most => {}
            Some((most, _)) if equal == most => is_tie = true,
            _ => (best, is_tie) = (Some((equal, *node)), false),
        }
    }
    best.filter(|_| !is_tie).map(|(_, node)| node)
}

/// How many parts at the ends of two names are equal, calls of functions left out.
fn equal_ends(one: &str, other: &str) -> usize {
    let is_name = |part: &&str| !CALLS.iter().any(|call| part.starts_with(call));
    let pairs = one.rsplit('/').filter(is_name).zip(other.rsplit('/').filter(is_name));
    pairs.take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_from_their_ends_without_calls() {
        let saved = "StatefulPartitionedCall/functional_1/dense_1/MatMul";
        assert_eq!(equal_ends("functional_1/dense_1/MatMul", saved), 3);
        assert_eq!(equal_ends("functional_1/dense_2/MatMul", saved), 1);
        assert_eq!(end("a/b/c"), ("b", "c"));
        assert_eq!(end("c"), ("", "c"));
    }
}
