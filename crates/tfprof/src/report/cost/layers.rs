//! The scopes of a cost, with the ops and the variables of a layer in one place.
//!
//! Files name them apart: Keras calls the variables `dense/kernel_1` and the ops `Call/functional_1/dense_2/MatMul`. Which
//! op computes with which variable tells that `Call/functional_1/dense_2` is the layer `dense`; names decide only which of
//! the scopes around the op is the layer. Sums do not change.

use super::scopes::Scopes;
use super::tree::{DEEPEST, ROOT, Tree};
use super::{Figures, Shared};
use crate::hash::{TrustedMap, TrustedSet, UntrustedMap, UntrustedSet};
use crate::model::layers::NodeFilter;
use crate::model::nodes::NodeId;
use crate::model::{self, Model};
use crate::view::values::Values;
use std::collections::BTreeMap;

/// A shorter scope around everything stays in the names.
const LONG: usize = 16;

/// The scopes of a cost.
#[derive(Debug, Default)]
pub(in crate::report) struct Layers {
    pub scopes: Scopes,
    /// The scope around the layers, which their names leave out.
    pub prefix: String,
    /// A long scope around that one and all ops, which the names of other ops leave out; empty if there is none.
    pub around: String,
    pub shared: Vec<Shared>,
    /// The scope of each node that has a part in the sums, or that was asked for.
    pub places: Vec<(NodeId, u32)>,
}

/// Sums up the nodes of a model by scope. The first scope is the whole, `root`.
///
/// Nodes without a cost have a place if `also` wants them; without `also`, no places are kept.
pub(in crate::report) fn layers(
    model: &Model,
    values: &Values<'_>,
    root: &str,
    also: Option<&dyn Fn(NodeId) -> bool>,
) -> Layers {
    let figures = |node| {
        let row = values.row(node);
        Figures::from_fn(|metric| row[metric as usize])
    };
    let ops = NodeFilter { layers: model::layers::Layers::OPS, inside_functions: true };
    // Nodes are walked twice: the figures of a million nodes would take 48 MB.
    let is_wanted =
        |(node, own): &(NodeId, Figures)| *own != Figures::default() || also.is_some_and(|also| also(*node));
    let all = || model.shown(ops).map(|node| (node, figures(node))).filter(is_wanted);
    let (mut parameters, mut around, mut count) = (Vec::new(), None, 0);
    for (node, own) in all() {
        count += 1;
        if own.parameters > 0 {
            parameters.push(node);
        }
        if own.float_ops > 0 {
            let own = scope(model.name(node));
            around = Some(around.map_or(own, |around| common_of(around, own)));
        }
    }
    let variables = variables(model, &parameters);
    let around = around.unwrap_or_default();
    let homes = VariableScopes::find(&variables, around);
    let mut tree = Tree::new(root, homes.prefix(&variables, around));
    let around =
        if around.len() >= LONG && around != tree.prefix && contains(around, tree.prefix) { around } else { "" };
    if !around.is_empty() {
        tree.lead(around, ROOT);
    }
    for (of_ops, of_variables) in &homes.aliases {
        tree.alias(of_ops, of_variables);
    }
    for whole in &homes.whole {
        let row = tree.named(whole);
        tree.scopes.set_layer(row);
    }
    let homes_of: Vec<usize> =
        variables.iter().zip(&homes.of_variable).map(|(of, home)| tree.add_variable(of, *home)).collect();
    let of_variable: TrustedMap<NodeId, usize> =
        variables.iter().map(|of| of.node).zip(homes_of.iter().copied()).collect();
    tree.reserve(count);
    let mut places = Vec::with_capacity(if also.is_some() { count } else { 0 });
    for (node, own) in all() {
        let row = of_variable.get(&node).copied().unwrap_or_else(|| tree.place(model.name(node)));
        tree.scopes.add(row, &own);
        if also.is_some() {
            places.push((node, row as u32));
        }
    }
    let shared = variables.iter().zip(homes_of).filter_map(|(variable, row)| tree.shared(variable, row)).collect();
    Layers { prefix: tree.prefix.to_owned(), around: around.to_owned(), scopes: tree.finish(), shared, places }
}

/// A parameter of the model.
pub(super) struct Variable<'m> {
    node: NodeId,
    pub name: &'m str,
    /// The ops that compute with it.
    readers: Vec<&'m str>,
    /// Those that multiply by it or look it up: a decay of weights reads all variables, and shares none.
    pub weighs: Vec<&'m str>,
}

/// All parameters, with the ops of the forward pass that compute with them.
fn variables<'m>(model: &'m Model, parameters: &[NodeId]) -> Vec<Variable<'m>> {
    let variable = |node: &NodeId| Variable::new(*node, model.name(*node));
    let mut variables: Vec<Variable<'m>> = parameters.iter().map(variable).collect();
    let index: TrustedMap<NodeId, usize> = variables.iter().enumerate().map(|(at, of)| (of.node, at)).collect();
    for (variable, reader) in &model.costs.reads {
        let op = model.names.get(model.nodes.op[reader.index()]);
        let weighs = model.costs.get(*reader).macs > 0 || op.contains("Gather");
        let reader = model.name(*reader);
        let is_gradient = reader.split('/').any(|part| matches!(stem(part), "gradient_tape" | "gradients"));
        if let Some(at) = index.get(variable).filter(|_| !is_gradient) {
            variables[*at].readers.push(reader);
            variables[*at].weighs.extend(weighs.then_some(reader));
        }
    }
    variables
}

impl<'m> Variable<'m> {
    fn new(node: NodeId, name: &'m str) -> Variable<'m> {
        Variable { node, name, readers: Vec::new(), weighs: Vec::new() }
    }
}

/// The place of a variable.
#[derive(Clone, Copy, Debug)]
pub(super) enum VariableScope<'m> {
    /// Under its own name, as a parameter of this scope.
    Named(&'m str),
    /// With this op or scope of ops.
    Ops(&'m str),
}

/// A scope of ops and the scope of variables that is the same layer.
#[derive(Clone, Copy, Debug)]
struct Pair<'m> {
    ops: &'m str,
    variables: &'m str,
}

/// A variable that is read in a scope with namesakes of its own, the innermost first.
struct Read<'m> {
    variable: usize,
    scope: &'m str,
    pairs: Vec<Pair<'m>>,
}

impl<'m> Read<'m> {
    fn layer(&self) -> Pair<'m> {
        self.pairs[0]
    }
}

#[derive(Default)]
struct VariableScopes<'m> {
    /// By variable.
    of_variable: Vec<VariableScope<'m>>,
    /// Scopes of ops, and the scopes of variables that they are.
    aliases: Vec<(&'m str, &'m str)>,
    /// Scopes of variables that are layers, whatever is below: the cell of a recurrent layer is part of it.
    whole: Vec<&'m str>,
    /// The scopes around the outermost ones that have a name of variables.
    tops: Vec<&'m str>,
    /// Some variable has its ops beside it, as in TensorFlow 1.
    beside: bool,
}

impl<'m> VariableScopes<'m> {
    /// `around` is the scope around all ops.
    fn find(variables: &[Variable<'m>], around: &str) -> VariableScopes<'m> {
        let mut groups: BTreeMap<&'m str, Vec<usize>> = BTreeMap::new();
        for (at, variable) in variables.iter().enumerate() {
            groups.entry(scope(variable.name)).or_default().push(at);
        }
        let homes = variables.iter().map(|variable| VariableScope::Named(scope(variable.name))).collect();
        let mut homes = VariableScopes { of_variable: homes, ..VariableScopes::default() };
        for (of, group) in groups {
            let (mut reads, mut unmatched) = (Vec::new(), Vec::new());
            for at in group {
                let readers = &variables[at].readers;
                if !of.is_empty() && readers.iter().any(|reader| contains(of, reader)) {
                    homes.beside = true;
                    continue;
                }
                let before = reads.len();
                let mut scopes: Vec<&'m str> = readers.iter().map(|reader| scope(reader)).collect();
                scopes.dedup();
                for scope in scopes {
                    let pairs = pairs(of, scope);
                    reads.extend((!pairs.is_empty()).then_some(Read { variable: at, scope, pairs }));
                }
                if reads.len() == before && !readers.is_empty() {
                    unmatched.push(at);
                }
            }
            homes.add_unmatched(variables, of, &unmatched, around);
            homes.add_matched(variables, &reads, around);
        }
        homes
    }

    /// Variables of one scope that has namesakes among the scopes of the ops.
    fn add_matched(&mut self, variables: &[Variable<'m>], reads: &[Read<'m>], around: &str) {
        let Some(first) = reads.first() else { return };
        let is_model = is_model(variables, reads, around);
        // A layer may be called several times, under other names. Two layers have no variable in common.
        let of_first = |read: &&Read<'_>| read.layer().ops == first.layer().ops;
        let own: TrustedSet<usize> = reads.iter().filter(of_first).map(|read| read.variable).collect();
        let calls: UntrustedSet<&str> =
            reads.iter().filter(|read| own.contains(&read.variable)).map(|read| read.layer().ops).collect();
        for read in reads {
            let is_named = !is_model && calls.contains(read.layer().ops);
            if is_named {
                self.of_variable[read.variable] = VariableScope::Named(read.layer().variables);
                self.add_loops(&read.pairs);
            } else {
                let place = if is_model { read.scope } else { read.layer().ops };
                self.of_variable[read.variable] = VariableScope::Ops(match self.of_variable[read.variable] {
                    VariableScope::Ops(other) => common([other, place].into_iter()).unwrap_or_default(),
                    VariableScope::Named(_) => place,
                });
            }
            // The second of two layers with one name keeps the name of its ops.
            let known = if is_named || is_model { &read.pairs[..] } else { &read.pairs[1..] };
            self.aliases.extend(known.iter().map(|pair| (pair.ops, pair.variables)));
            if let Some(outermost) = known.last().filter(|pair| scope(pair.variables).is_empty()) {
                self.tops.push(scope(outermost.ops));
            }
        }
    }

    /// A layer that calls another one in a loop is one layer with it.
    fn add_loops(&mut self, pairs: &[Pair<'m>]) {
        for (inner, outer) in pairs.iter().zip(pairs.iter().skip(1)) {
            if inner.ops[outer.ops.len()..].split('/').any(|part| stem(part) == "while") {
                self.whole.push(outer.variables);
            }
        }
    }

    /// Variables whose scope has no namesake among those of the ops: they are where they are read.
    fn add_unmatched(&mut self, variables: &[Variable<'m>], of: &str, group: &[usize], around: &str) {
        let readers = group.iter().flat_map(|at| &variables[*at].readers);
        let together = common(readers.map(|reader| scope(reader))).unwrap_or_default();
        let is_layer = !of.is_empty() && !contains(together, around);
        for at in group {
            let readers = &variables[*at].readers;
            let is_one = readers.iter().all(|reader| *reader == readers[0]);
            self.of_variable[*at] = VariableScope::Ops(match () {
                () if is_layer => together,
                () if is_one => readers[0],
                () => common(readers.iter().map(|reader| scope(reader))).unwrap_or_default(),
            });
        }
    }

    /// The scope around all layers, for names to leave out.
    fn prefix(&self, variables: &[Variable<'m>], around: &'m str) -> &'m str {
        if let Some(top) = common(self.tops.iter().copied()).filter(|_| !self.beside) {
            return top;
        }
        let named = variables.iter().zip(&self.of_variable).filter(|(_, home)| matches!(home, VariableScope::Named(_)));
        let named = named.map(|(variable, _)| scope(variable.name));
        let all = common(named.chain([around])).unwrap_or_default();
        if all.len() >= LONG { all } else { "" }
    }
}

/// Whether the namesake of the variables' scope is a model rather than a layer: it holds everything, or its parts have
/// variables of the same name (`sub/kernel`, `sub/kernel_1`).
fn is_model(variables: &[Variable<'_>], reads: &[Read<'_>], around: &str) -> bool {
    let mut places: UntrustedMap<(&str, &str), (usize, &str)> = UntrustedMap::default();
    reads.iter().any(|read| {
        let layer = read.layer().ops;
        let name = stem(last(variables[read.variable].name));
        let (other, place) = *places.entry((layer, name)).or_insert((read.variable, read.scope));
        let is_elsewhere = other != read.variable && place != read.scope;
        is_elsewhere || (layer != read.scope && contains(layer, around))
    })
}

/// The scopes around ops that have the names of scopes around a variable, the innermost first.
fn pairs<'m>(variables: &'m str, ops: &'m str) -> Vec<Pair<'m>> {
    let (mut of, mut left) = (variables, ops);
    let mut pairs = Vec::new();
    for _ in 0..DEEPEST {
        if of.is_empty() || left.is_empty() {
            break;
        }
        if let Some(namesake) = namesake(left, last(of)) {
            pairs.push(Pair { ops: namesake, variables: of });
            left = scope(namesake);
        } else if !pairs.is_empty() {
            break;
        }
        of = scope(of);
    }
    pairs
}

/// The innermost scope with a name: the same name, perhaps with a number appended, or else the same up to numbers.
fn namesake<'m>(ops: &'m str, name: &str) -> Option<&'m str> {
    let around = || {
        std::iter::successors(Some(ops), |ops| Some(scope(ops))).take(DEEPEST.into()).take_while(|ops| !ops.is_empty())
    };
    let is_numbered = |part: &str| part.strip_prefix(name).is_some_and(|rest| stem(rest).is_empty());
    around().find(|ops| is_numbered(last(ops))).or_else(|| around().find(|ops| stem(last(ops)) == stem(name)))
}

/// A name without the numbers that make it unique.
fn stem(name: &str) -> &str {
    let mut stem = name;
    while let Some((before, number)) = stem.rsplit_once('_') {
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            break;
        }
        stem = before;
    }
    stem
}

pub(super) fn scope(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(scope, _)| scope)
}

pub(super) fn last(name: &str) -> &str {
    name.rsplit_once('/').map_or(name, |(_, last)| last)
}

pub(super) fn first(path: &str) -> &str {
    path.split_once('/').map_or(path, |(first, _)| first)
}

/// Whether a path is `scope` or inside of it.
fn contains(scope: &str, path: &str) -> bool {
    scope.is_empty() || path.strip_prefix(scope).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The innermost scope around all of some scopes.
fn common<'m>(mut scopes: impl Iterator<Item = &'m str>) -> Option<&'m str> {
    let first = scopes.next()?;
    Some(scopes.fold(first, common_of))
}

/// The innermost scope around two scopes.
fn common_of<'m>(mut one: &'m str, other: &str) -> &'m str {
    while !contains(one, other) {
        one = scope(one);
    }
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The scopes with figures, for variables of 10 elements with their readers, and ops of 1 FLOP.
    fn check(variables: &[(&str, &[&str])], ops: &[&str], expect: &[(&str, i64, i64)]) -> Vec<Shared> {
        let variables: Vec<Variable<'_>> = variables
            .iter()
            .map(|(name, readers)| Variable {
                node: NodeId(0),
                name,
                readers: readers.to_vec(),
                weighs: readers.to_vec(),
            })
            .collect();
        let around = common(ops.iter().map(|op| scope(op))).unwrap_or_default();
        let homes = VariableScopes::find(&variables, around);
        let mut tree = Tree::new("", homes.prefix(&variables, around));
        homes.aliases.iter().for_each(|(of_ops, of_variables)| tree.alias(of_ops, of_variables));
        let mut shared = Vec::new();
        for (variable, home) in variables.iter().zip(&homes.of_variable) {
            let row = tree.add_variable(variable, *home);
            tree.scopes.add(row, &Figures { parameters: 10, ..Figures::default() });
            shared.extend(tree.shared(variable, row));
        }
        for op in ops {
            let row = tree.place(op);
            tree.scopes.add(row, &Figures { float_ops: 1, ..Figures::default() });
        }
        let scopes = tree.finish();
        let layers = scopes.iter().filter(|scope| scope.is_layer);
        let found: Vec<_> =
            layers.map(|scope| (scope.name.into_owned(), scope.total.parameters, scope.total.float_ops)).collect();
        let expect: Vec<_> = expect.iter().map(|(name, own, flops)| ((*name).to_owned(), *own, *flops)).collect();
        assert_eq!(found, expect);
        shared
    }

    #[test]
    fn the_reader_of_a_variable_is_its_layer_whatever_its_number() {
        // Keras enters each scope twice: `dense_2` runs the layer `dense`.
        let [two, one] = ["call/m_1/dense_2/MatMul", "call/m_1/dense_1_1/MatMul"];
        let variables: &[(&str, &[&str])] = &[("dense/kernel_1", &[two]), ("dense_1/kernel_1", &[one])];
        check(variables, &[two, one, "call/m_1/relu/Relu"], &[("dense", 10, 1), ("dense_1", 10, 1)]);
    }

    #[test]
    fn a_layer_that_is_called_twice_is_one() {
        let calls = ["call/m/shared_1/MatMul", "call/m/shared_3/MatMul"];
        let shared = check(&[("shared/kernel", &calls)], &calls, &[("shared", 10, 2)]);
        assert_eq!(shared, []);
    }

    #[test]
    fn two_layers_of_one_name_stay_two() {
        let [a, b] = ["call/m/a/fc/MatMul", "call/m/b/fc_1/MatMul"];
        let variables: &[(&str, &[&str])] = &[("fc/kernel", &[a]), ("fc/kernel_1", &[b])];
        check(variables, &[a, b], &[("fc", 10, 1), ("call/m/b/fc_1", 10, 1)]);
    }

    #[test]
    fn a_variable_of_a_model_belongs_to_the_layer_that_reads_it() {
        let [a, b] = ["call/sub_1/dense_1/MatMul", "call/sub_1/dense_2/MatMul"];
        let variables: &[(&str, &[&str])] = &[("sub/kernel_1", &[a]), ("sub/kernel_2", &[b])];
        check(variables, &[a, b, "call/sub_1/add"], &[("sub/dense_1", 10, 1), ("sub/dense_2", 10, 1)]);
    }

    #[test]
    fn variables_beside_their_ops_stay_there() {
        let [a, b] = ["net/conv1/Conv2D", "net/conv1_1/Conv2D"];
        let variables: &[(&str, &[&str])] = &[("net/conv1/weights", &[a, b])];
        let shared = check(variables, &[a, b], &[("net/conv1", 10, 1)]);
        assert_eq!(shared[0].readers, ["net/conv1_1"]);
    }

    #[test]
    fn a_variable_without_a_scope_is_with_its_only_reader() {
        check(&[("w", &["call/MatMul"])], &["call/MatMul", "call/Relu"], &[("call/MatMul", 10, 1)]);
    }

    #[test]
    fn a_shared_variable_names_its_other_readers() {
        let [own, other] = ["call/m/embedding_1/GatherV2", "call/m/tied/MatMul"];
        let shared = check(&[("embedding/embeddings", &[own, other])], &[own, other], &[("embedding", 10, 1)]);
        assert_eq!(shared, [Shared { name: "embedding/embeddings".to_owned(), readers: vec!["tied".to_owned()] }]);
    }

    #[test]
    fn a_path_of_a_thousand_scopes_is_cut() {
        let deep = vec!["a"; 1000].join("/");
        let mut tree = Tree::new("", "");
        let row = tree.place(&deep);
        assert_eq!((tree.scopes.len(), tree.depth[row]), (usize::from(DEEPEST) + 1, DEEPEST));
    }
}
