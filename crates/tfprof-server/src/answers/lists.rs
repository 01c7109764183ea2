//! The lists below a flame graph: rows of one name merged, op types, and single ops.

use super::steps::Parts;
use super::table::row_of;
use crate::params::Params;
use crate::reply::{Problem, Reply, object};
use crate::site::Site;
use crate::tree::{Tree, tells_directions};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tfprof::ViewKind;
use tfprof::internal::model::names::NameId;
use tfprof::internal::model::nodes::NodeId;

/// The maximum length of a list.
const MOST: usize = 200;

/// Rows merged into one item.
#[derive(Default)]
pub struct Item {
    pub n: u64,
    pub parts: Parts,
    counted_until: usize,
}

pub fn lists(site: &Site, params: &mut Params) -> Result<Reply, Problem> {
    let zoom = params.text("zoom");
    let tree = site.tree(&site.asked(params)?)?;
    let root = row_of(&tree, &zoom)?;
    let mut by_name: BTreeMap<String, Item> = BTreeMap::new();
    for id in tree.below(root).skip(1) {
        let item = by_name.entry(tree.short_name(id)).or_default();
        item.n += 1;
        // A row within another of its name is in that one's total.
        if id >= item.counted_until {
            item.parts.add(tree.direction(id), tree.parts(id));
            item.counted_until = tree.below(id).end;
        }
    }
    let mut single: Vec<usize> = tree.below(root).filter(|id| *id > 0 && tree.own_parts(*id) > 0).collect();
    single.sort_by_key(|id| std::cmp::Reverse(tree.own_parts(*id)));
    let shown = tree.fitting(&single[..MOST.min(single.len())]);
    let left = by_name.len().saturating_sub(MOST) + single.len() - shown.len();
    let frame = site.frame(&tree).leaving_out(left as u64, "smaller ones");
    Ok(frame.reply(object! {
        "columns": tree.columns(),
        "same_name": items(&tree, by_name, &|_| Value::Null),
        "op_types": op_types(&tree, root),
        "single": tree.rows_json(shown.iter().copied()),
    }))
}

/// Items by size.
fn items(tree: &Tree, items: BTreeMap<String, Item>, sel: &dyn Fn(&str) -> Value) -> Value {
    let mut sorted: Vec<(String, Item)> = items.into_iter().filter(|(_, item)| item.parts.sum() > 0).collect();
    sorted.sort_by_key(|(_, item)| std::cmp::Reverse(item.parts.sum()));
    let tells = tells_directions(&tree.view.model);
    let part = |n: i64| if tells { tree.whole(n) } else { 0.0 };
    let one = |(name, item): &(String, Item)| {
        let sum = item.parts.sum();
        json!({
            "name": name, "n": item.n, "value": tree.whole(sum),
            "share": tree.share_of(tree.asked.metric(), sum as f64),
            "forward": part(item.parts.forward), "gradient": part(item.parts.gradient),
            "sel": sel(name),
        })
    };
    sorted.iter().take(MOST).map(one).collect()
}

/// Self figures of all nodes below a row, by op type.
pub fn op_types(tree: &Tree, root: usize) -> Value {
    let model = &tree.view.model;
    let directions = tree.node_directions();
    let mut by_type: BTreeMap<NameId, Item> = BTreeMap::new();
    each_node(tree, root, &mut |node, parts| {
        let item = by_type.entry(model.nodes.op[node.index()]).or_default();
        item.n += 1;
        item.parts.add(directions[node.index()], parts);
    });
    let by_type = by_type.into_iter().map(|(op, item)| (model.names.get(op).to_owned(), item)).collect();
    items(tree, by_type, &|op| format!("op:{op}").into())
}

/// Calls `then` for each accounted node below a row, with its self figure in stored units.
pub fn each_node(tree: &Tree, root: usize, then: &mut dyn FnMut(NodeId, i64)) {
    let metric = tree.asked.metric();
    let values = tree.view.values();
    for id in tree.below(root) {
        let row = tree.row(id);
        match tree.view.kind {
            ViewKind::Scope | ViewKind::Graph => {
                if let Some(node) = tree.node(id).filter(|_| tree.view.is_accounted(row)) {
                    then(node, tree.own_parts(id));
                }
            }
            _ => tree.view.bag(row).for_each(|node| then(node, values.row(node)[metric as usize])),
        }
    }
}
