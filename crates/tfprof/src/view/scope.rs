//! Nodes by name scope: `a/b` lies below `a`, whether or not there is a node `a`.

use super::tree::Tree;
use crate::model::Model;
use crate::model::nodes::NodeId;
use std::cmp::Ordering;

/// With `inner`, nodes of functions are there, too.
pub fn group(model: &Model, inner: bool) -> Tree {
    let mut nodes: Vec<NodeId> = model.shown(inner).collect();
    nodes.sort_unstable_by(|a, b| scope_order(model.name(*a).as_bytes(), model.name(*b).as_bytes()));
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

/// The order in which each name comes right before all names within its scope: as bytes, but for the slash, which
/// comes before all others.
fn scope_order(a: &[u8], b: &[u8]) -> Ordering {
    let common = common_length(a, b);
    match (a.get(common), b.get(common)) {
        (None, None) => Ordering::Equal,
        (None, _) | (Some(b'/'), Some(_)) => Ordering::Less,
        (_, None) | (Some(_), Some(b'/')) => Ordering::Greater,
        (Some(a), Some(b)) => a.cmp(b),
    }
}

/// How many bytes two names have in common at their start.
fn common_length(a: &[u8], b: &[u8]) -> usize {
    // Eight bytes at a time: sorting compares long names that begin alike.
    let chunks = a.chunks_exact(8).zip(b.chunks_exact(8)).take_while(|(a, b)| a == b).count() * 8;
    chunks + a[chunks..].iter().zip(&b[chunks..]).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::builder::{Builder, Keep};

    fn rows(names: &[&str]) -> Vec<String> {
        let mut builder = Builder::new(Keep::EVERYTHING);
        for name in names {
            let name = builder.model.names.intern(name);
            builder.add_node(name, name);
        }
        let tree = group(&builder.model, true);
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
    fn scopes_come_before_what_lies_in_them() {
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
