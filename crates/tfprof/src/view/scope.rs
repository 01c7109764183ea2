//! Nodes by name scope: `a/b` lies below `a`, whether or not there is a node `a`.

use super::tree::Tree;
use crate::model::Model;
use crate::model::layers::NodeFilter;
use crate::model::name_order::{self, NameOrder, common_length};
use crate::model::nodes::NodeId;

pub fn group(model: &Model, filter: NodeFilter) -> Tree {
    let mut nodes: Vec<NodeId> = model.shown(filter).collect();
    name_order::sort(&mut nodes, NameOrder::Scopes, |node| model.name(node));
    let mut tree = Tree::new();
    // The scopes around the node before, and itself: (row, length of its name).
    let mut open: Vec<(usize, usize)> = Vec::new();
    let mut before = "";
    for node in nodes {
        let id = model.nodes.name[node.index()];
        let name = model.names.get(id);
        let common = common_length(before.as_bytes(), name.as_bytes());
        while open.last().is_some_and(|(_, length)| *length > common || name.as_bytes().get(*length) != Some(&b'/')) {
            open.pop();
        }
        let from = open.last().map_or(0, |(_, length)| length + 1);
        for slash in memchr::memchr_iter(b'/', &name.as_bytes()[from.min(name.len())..]) {
            let parent = open.last().map_or(0, |(row, _)| *row);
            open.push((tree.push(parent, id, from + slash), from + slash));
        }
        let parent = open.last().map_or(0, |(row, _)| *row);
        open.push((tree.push(parent, id, name.len()), name.len()));
        tree.push_node(node);
        before = name;
    }
    tree
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::builder::{Builder, Keep};
    use crate::model::layers::Layers;

    fn rows(names: &[&str]) -> Vec<String> {
        let mut builder = Builder::new(Keep::EVERYTHING);
        for name in names {
            let name = builder.model.names.intern(name);
            builder.add_node(name, name);
        }
        let tree = group(&builder.model, NodeFilter { layers: Layers::OPS, inside_functions: true });
        (1..tree.len())
            .map(|row| {
                let parent = tree.name(tree.parent(row), &builder.model);
                format!(
                    "{}<{parent}{}",
                    tree.name(row, &builder.model),
                    if tree.nodes(row).is_empty() { "*" } else { "" }
                )
            })
            .collect()
    }

    #[test]
    fn scopes_come_before_their_children() {
        assert_eq!(
            rows(&["a-b", "a/b/c", "a/b", "a0/x"]),
            ["a<_TFProfRoot*", "a/b<a", "a/b/c<a/b", "a-b<_TFProfRoot", "a0<_TFProfRoot*", "a0/x<a0"]
        );
    }

    #[test]
    fn odd_slashes() {
        assert_eq!(
            rows(&["/abs", "lead//x", "tr/", "lead/y"]),
            [
                "<_TFProfRoot*",
                "/abs<",
                "lead<_TFProfRoot*",
                "lead/<lead*",
                "lead//x<lead/",
                "lead/y<lead",
                "tr<_TFProfRoot*",
                "tr/<tr"
            ]
        );
    }
}
