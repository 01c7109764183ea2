//! Times of a run joined to the nodes of a model. Files may name a node apart: a trace has `functional_1/dense_1/MatMul`, and
//! the saved model `StatefulPartitionedCall/functional_1/dense_1/MatMul`. A measured op without a cost of its own belongs to
//! the node of the same type whose name ends like its own, if there is only one. TensorFlow also replaces ops before it runs
//! them: `_MklMatMul` is a `MatMul`, and `_FusedConv2D` stands for a `Conv2D` and the ops after it.

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
    /// Nodes that got the time of a fused op, which did the work of others beside them.
    pub fused: TrustedSet<NodeId>,
    /// The share of the time that belongs to nodes of known or unknown cost of the model.
    pub share: Option<f64>,
}

/// The parts of a name that calls of functions add.
const CALLS: [&str; 3] = ["StatefulPartitionedCall", "PartitionedCall", "jit"];

/// The figures that are joined with the time of an op.
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
    let index = if model.costs.is_empty() { UnexecutedNodes::default() } else { UnexecutedNodes::new(model, &ran) };
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
        if model.names.get(model.nodes.op[node.index()]).contains("Fused") {
            joined.fused.insert(target);
        }
    }
    joined.share = (all > 0).then(|| defined as f64 / all as f64);
    joined
}

/// Nodes of the model that did not run under their own names.
#[derive(Default)]
struct UnexecutedNodes<'m> {
    /// By the last two parts of the name.
    by_end: UntrustedMap<(&'m str, &'m str), Vec<NodeId>>,
    /// By scope and type; none if a scope has several.
    only_one: UntrustedMap<(&'m str, &'m str), Option<NodeId>>,
}

impl<'m> UnexecutedNodes<'m> {
    fn new(model: &'m Model, ran: &dyn Fn(NodeId) -> bool) -> Self {
        let mut index = UnexecutedNodes::default();
        for node in model.nodes.all().filter(|node| model.costs.get(*node).counted && !ran(*node)) {
            let name = model.name(node);
            index.by_end.entry(end(name)).or_default().push(node);
            let kind = model.names.get(model.nodes.op[node.index()]);
            index.only_one.entry((scope(name), kind)).and_modify(|only| *only = None).or_insert(Some(node));
        }
        index
    }

    /// The node that an op of the type `ran` stands for, if it has the name of `node`.
    ///
    /// A fused op is named after its last part, but most of its work is the first. That must be in the same scope, so that the
    /// scope has both the time and the FLOPs.
    fn replaced(&self, ran: &str, node: NodeId, name: &str, kind: &str) -> Option<NodeId> {
        let plain = ran.strip_prefix("_MklNative").or(ran.strip_prefix("_Mkl")).or(ran.strip_prefix('_'))?;
        match plain.strip_prefix("Fused") {
            Some(first) => self.only_one.get(&(scope(name), first)).copied().flatten(),
            None => (plain.strip_suffix("WithBias").unwrap_or(plain) == kind).then_some(node),
        }
    }
}

/// A name without its last part.
fn scope(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(scope, _)| scope)
}

/// The last two parts of a name.
fn end(name: &str) -> (&str, &str) {
    let mut parts = name.rsplit('/');
    let last = parts.next().unwrap_or_default();
    (parts.next().unwrap_or_default(), last)
}

/// The node that an op belongs to.
fn find(model: &Model, index: &UnexecutedNodes<'_>, op: NodeId) -> Option<NodeId> {
    let name = model.name(op);
    let candidates = index.by_end.get(&end(name))?;
    budget::work(candidates.len() as u64);
    let kind = model.nodes.op[op.index()];
    let target = |node: NodeId| {
        let (own, ran) = (model.nodes.op[node.index()], model.names.get(kind));
        let is_same = own == kind || ran == name;
        if is_same { Some(node) } else { index.replaced(ran, node, model.name(node), model.names.get(own)) }
    };
    let mut best: Option<(usize, NodeId)> = None;
    let mut is_tie = false;
    for (node, target) in candidates.iter().filter_map(|node| Some((node, target(*node)?))) {
        let equal = equal_ends(name, model.name(*node));
        match best {
            Some((most, _)) if equal < most => {}
            Some((most, _)) if equal == most => is_tie = true,
            _ => (best, is_tie) = (Some((equal, target)), false),
        }
    }
    best.filter(|_| !is_tie).map(|(_, node)| node)
}

/// The number of equal parts at the ends of two names, not counting function calls.
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

    #[test]
    fn ops_that_tensorflow_replaced_belong_to_their_nodes() {
        let (conv, bias) = (NodeId(1), NodeId(2));
        let mut index = UnexecutedNodes::default();
        index.only_one.insert(("net/c1", "Conv2D"), Some(conv));
        let replaced = |ran: &str, name: &str, kind: &str| index.replaced(ran, bias, name, kind);
        assert_eq!(replaced("_MklMatMul", "net/d/MatMul", "MatMul"), Some(bias));
        assert_eq!(replaced("_MklNativeConv2DBackpropFilterWithBias", "c1/Filter", "Conv2DBackpropFilter"), Some(bias));
        assert_eq!(replaced("_FusedConv2D", "net/c1/BiasAdd", "BiasAdd"), Some(conv));
        assert_eq!(replaced("_MklNativeFusedConv2D", "net/c1/BiasAdd", "BiasAdd"), Some(conv));
        // The convolution of this activation is in another scope, so its FLOPs would be missing here.
        assert_eq!(replaced("_FusedConv2D", "net/relu/Relu", "Relu"), None);
        assert_eq!(replaced("MatMul", "net/d/MatMul", "Conv2D"), None);
        assert_eq!(replaced("_MklMatMul", "net/d/BiasAdd", "BiasAdd"), None);
    }
}
