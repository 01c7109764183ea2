//! A live TensorFlow graph: adds the output shapes that only the live graph knows to its serialized `GraphDef`.

use crate::hash::UntrustedMap;
use tfprof_proto::fields::attr_value::{self, list_value};
use tfprof_proto::fields::map_entry;
use tfprof_proto::fields::tensor_shape::{self, dim};
use tfprof_proto::fields::{graph_def, node_def};
use tfprof_proto::wire::{Fields, Value};
use tfprof_proto::write;

const OUTPUT_SHAPES: &[u8] = b"_output_shapes";

/// The shape of an output: its dimensions, each `None` if unknown, and whether even the rank is unknown.
pub type LiveShape = (Vec<Option<i64>>, bool);

/// Adds the attribute `_output_shapes` to the nodes of a `GraphDef`, as TensorFlow's `as_graph_def(add_shapes=True)`
/// does. `shapes[i]` are the shapes of the outputs of the node `names[i]`.
///
/// `None` if the graph has functions (whose nodes have shapes, too), has shapes already, or is damaged.
pub fn with_output_shapes(graph: &[u8], names: &[String], shapes: &[Vec<LiveShape>]) -> Option<Vec<u8>> {
    if names.len() != shapes.len() || memchr::memmem::find(graph, OUTPUT_SHAPES).is_some() {
        return None;
    }
    let mut index_of: Option<UntrustedMap<&[u8], usize>> = None;
    let mut out = Vec::with_capacity(graph.len() + 40 * names.len());
    let mut fields = Fields::new(graph, 0);
    let mut next = 0;
    loop {
        let start = fields.offset() as usize;
        let Some(field) = fields.next_field().ok()? else { return Some(out) };
        match (field.number, field.value) {
            (graph_def::NODE, Value::Bytes(node)) => {
                let name = name_of(node)?;
                // Nodes come in the order of their creation, unless the graph has changed since.
                let index = if names.get(next).is_some_and(|next| next.as_bytes() == name) {
                    next
                } else {
                    let index_of = index_of.get_or_insert_with(|| {
                        names.iter().enumerate().map(|(index, name)| (name.as_bytes(), index)).collect()
                    });
                    *index_of.get(name)?
                };
                next = index + 1;
                write::message(&mut out, graph_def::NODE, |out| {
                    out.extend_from_slice(node);
                    if !shapes[index].is_empty() {
                        write::message(out, node_def::ATTR, |out| write_shapes(out, &shapes[index]));
                    }
                });
            }
            // Every graph has a function library, mostly an empty one.
            (graph_def::LIBRARY, Value::Bytes(library)) if !library.is_empty() => return None,
            _ => out.extend_from_slice(&graph[start..fields.offset() as usize]),
        }
    }
}

fn name_of(node: &[u8]) -> Option<&[u8]> {
    let mut fields = Fields::new(node, 0);
    while let Some(field) = fields.next_field().ok()? {
        if let (node_def::NAME, Value::Bytes(name)) = (field.number, field.value) {
            return Some(name);
        }
    }
    None
}

/// Writes the entry `_output_shapes` of a node's attributes.
fn write_shapes(out: &mut Vec<u8>, shapes: &[LiveShape]) {
    write::bytes(out, map_entry::KEY, OUTPUT_SHAPES);
    write::message(out, map_entry::VALUE, |value| {
        write::message(value, attr_value::LIST, |list| {
            for (dims, unknown_rank) in shapes {
                write::message(list, list_value::SHAPE, |shape| {
                    if *unknown_rank {
                        return write::int(shape, tensor_shape::UNKNOWN_RANK, 1);
                    }
                    for size in dims {
                        write::message(shape, tensor_shape::DIM, |out| write::int(out, dim::SIZE, size.unwrap_or(-1)));
                    }
                });
            }
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str) -> Vec<u8> {
        let mut out = Vec::new();
        write::message(&mut out, 1, |node| write::bytes(node, 1, name.as_bytes()));
        out
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn shapes_follow_their_names() {
        let graph = [node("a"), node("b"), node("c"), vec![0x22, 2, 0x08, 0x1b]].concat();
        let shapes = [vec![], vec![(vec![Some(2), None, Some(0)], false), (vec![], true)], vec![(vec![], false)]];
        let found = with_output_shapes(&graph, &names(&["c", "a", "b"]), &shapes).unwrap_or_default();
        let text = String::from_utf8_lossy(&found);
        assert_eq!(text.matches("_output_shapes").count(), 2);
        assert!(found.ends_with(&[0x22, 2, 0x08, 0x1b]));
        // Two shapes: 2 × unknown × 0, and one of unknown rank.
        let list =
            [0x3a, 19, 0x12, 2, 0x08, 2, 0x12, 11, 0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 0x12, 0];
        assert!(memchr::memmem::find(&found, &[&list[..], &[0x3a, 2, 0x18, 1]].concat()).is_some());
        assert_eq!(with_output_shapes(&graph, &names(&["a", "b", "x"]), &shapes), None, "an unknown node");
        assert_eq!(with_output_shapes(&found, &names(&["c", "a", "b"]), &shapes), None, "shapes are there already");
    }

    #[test]
    fn functions_and_damage_are_left_to_others() {
        let graph = [node("a"), vec![0x12, 2, 0x0a, 0]].concat();
        let shapes = [vec![]];
        assert_eq!(with_output_shapes(&graph, &names(&["a"]), &shapes), None);
        assert_eq!(with_output_shapes(&graph[..graph.len() - 6], &names(&["a"]), &shapes), None);
        let empty = [node("a"), vec![0x12, 0]].concat();
        assert_eq!(with_output_shapes(&empty, &names(&["a"]), &shapes), Some(empty.clone()));
    }
}
