//! Nodes by operation type, or by category: one row for each, by name. The pipeline makes a chain of them.

use super::tree::Tree;
use super::values::Values;
use crate::model::Model;
use crate::model::layers::NodeFilter;
use crate::model::names::{NameId, Names};
use crate::model::nodes::{Input, NodeId};
use crate::options::GroupBy;
use std::collections::BTreeMap;

/// Nodes of a graph by op type and the shapes of their inputs: `MatMul 8x4,4x5`.
pub fn group_by_shapes(values: &Values<'_>, filter: NodeFilter) -> Tree {
    let model = values.model;
    let mut rows: BTreeMap<String, Vec<NodeId>> = BTreeMap::new();
    for node in model.by_name(filter.layers).iter().copied().filter(|node| model.is_shown(*node, filter)) {
        let size = |size: &i64| if *size < 0 { "?".to_owned() } else { size.to_string() };
        let shape = |input: &Input| model.shapes.get(values.input_shape(*input));
        let shapes = model.nodes.inputs(node).iter().map(shape).filter(|dims| !dims.is_empty());
        let shapes: Vec<String> = shapes.map(|dims| dims.iter().map(size).collect::<Vec<_>>().join("x")).collect();
        let op = model.names.get(model.nodes.op[node.index()]);
        let row = if shapes.is_empty() { op.to_owned() } else { format!("{op} {}", shapes.join(",")) };
        rows.entry(row).or_default().push(node);
    }
    let mut names = Names::default();
    let labels: Vec<NameId> = rows.keys().map(|row| names.intern(row)).collect();
    let mut tree = Tree::with_names(names);
    for ((row, nodes), label) in rows.into_iter().zip(labels) {
        tree.push_own(0, label, row.len());
        nodes.into_iter().for_each(|node| tree.push_node(node));
    }
    tree
}

/// With `by_name`, the nodes of a row are in the order of their names, which sums do not need.
pub fn group(model: &Model, group_by: GroupBy, by_name: bool, filter: NodeFilter) -> Tree {
    let row_of = |node: NodeId| {
        let op = model.nodes.op[node.index()];
        let category = if group_by == GroupBy::Category { model.op_facts.get(node) } else { None };
        category.and_then(|facts| facts.categories.first().copied()).unwrap_or(op)
    };
    // Bags by op, filled by counting: how many nodes each op has, then where its bag begins.
    let mut counts = vec![0_u32; model.names.len()];
    for node in model.shown(filter) {
        counts[row_of(node).index()] += 1;
    }
    let mut ops: Vec<NameId> = (0..model.names.len() as u32).map(NameId).filter(|op| counts[op.index()] > 0).collect();
    ops.sort_unstable_by(|a, b| model.names.get(*a).cmp(model.names.get(*b)));
    let mut next = vec![0_u32; model.names.len()];
    let mut start = 0;
    for op in &ops {
        next[op.index()] = start;
        start += counts[op.index()];
    }
    let mut bags = vec![NodeId(0); start as usize];
    let mut put = |node: NodeId| {
        let next = &mut next[row_of(node).index()];
        bags[*next as usize] = node;
        *next += 1;
    };
    if by_name {
        model.by_name(filter.layers).iter().copied().filter(|node| model.is_shown(*node, filter)).for_each(&mut put);
    } else {
        model.shown(filter).for_each(&mut put);
    }
    let mut tree = Tree::new();
    let mut bags = bags.into_iter();
    for op in ops {
        tree.push(0, op, model.names.get(op).len());
        for node in bags.by_ref().take(counts[op.index()] as usize) {
            tree.push_node(node);
        }
    }
    tree
}
