//! Nodes by what they read: the inputs of a node lie below it, each below the first node that reaches it.

use super::tree::Tree;
use crate::model::Model;
use crate::model::layers::NodeFilter;
use crate::model::nodes::NodeId;

/// With `cycles_too`, nodes that no root reaches become roots themselves, one after the other by name.
pub fn group(model: &Model, cycles_too: bool, filter: NodeFilter) -> Tree {
    // Hidden nodes count as visited.
    let visited = model.nodes.all().map(|node| !model.is_shown(node, filter)).collect();
    let mut walk = Walk { model, tree: Tree::new(), visited, open: Vec::new() };
    let mut read = vec![false; model.nodes.len()];
    for node in model.shown(filter) {
        for source in model.nodes.inputs(node).iter().filter_map(|input| model.node(input.source)) {
            read[source.index()] = true;
        }
    }
    let by_name = model.by_name(filter.layers);
    for node in by_name.iter().filter(|node| !read[node.index()]) {
        walk.from(*node);
    }
    if cycles_too {
        for node in by_name.iter() {
            walk.from(*node);
        }
    }
    walk.tree
}

struct Walk<'m> {
    model: &'m Model,
    tree: Tree,
    visited: Vec<bool>,
    /// The nodes around the current one: (node, its row, the input to look at next).
    open: Vec<(NodeId, usize, usize)>,
}

impl Walk<'_> {
    fn from(&mut self, root: NodeId) {
        self.visit(root, 0);
        while let Some((node, row, next)) = self.open.last_mut() {
            let (node, row) = (*node, *row);
            match self.model.nodes.inputs(node).get(*next) {
                None => drop(self.open.pop()),
                Some(input) => {
                    *next += 1;
                    if let Some(source) = self.model.node(input.source) {
                        self.visit(source, row);
                    }
                }
            }
        }
    }

    fn visit(&mut self, node: NodeId, parent: usize) {
        if !std::mem::replace(&mut self.visited[node.index()], true) {
            let name = self.model.nodes.name[node.index()];
            let row = self.tree.push(parent, name, self.model.names.get(name).len());
            self.tree.push_node(node);
            self.open.push((node, row, 0));
        }
    }
}
