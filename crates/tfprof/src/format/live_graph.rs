//! A graph in TensorFlow's memory: its bytes, and the shapes that only the live one knows, become one message.

use rustc_hash::FxHashMap;
use tfprof_proto::wire::{Fields, Value};
use tfprof_proto::write;

const KEY: &[u8] = b"_output_shapes";

/// The dimensions of an output, as far as they are known, and whether not even their number is.
pub type LiveShape = (Vec<Option<i64>>, bool);

/// A `GraphDef` whose nodes have the attribute `_output_shapes`, as TensorFlow's `as_graph_def(add_shapes=True)` has
/// them. `shapes` are those of the node of the same place in `names`.
///
/// None if that is not all there is to do: the graph has functions, whose nodes have shapes as well, it has shapes
/// already, or it is damaged.
pub fn with_output_shapes(graph: &[u8], names: &[String], shapes: &[Vec<LiveShape>]) -> Option<Vec<u8>> {
    if names.len() != shapes.len() || memchr::memmem::find(graph, KEY).is_some() {
        return None;
    }
    let mut places: Option<FxHashMap<&[u8], usize>> = None;
    let mut out = Vec::with_capacity(graph.len() + 40 * names.len());
    let mut fields = Fields::new(graph, 0);
    let mut next = 0;
    loop {
        let start = fields.offset() as usize;
        let Some(field) = fields.next_field().ok()? else { return Some(out) };
        match (field.number, field.value) {
            (1, Value::Bytes(node)) => {
                let name = name_of(node)?;
                // Nodes come in the order in which they were made, unless the graph was changed since.
                let place = if names.get(next).is_some_and(|next| next.as_bytes() == name) {
                    next
                } else {
                    let places = places.get_or_insert_with(|| {
                        names.iter().enumerate().map(|(place, name)| (name.as_bytes(), place)).collect()
                    });
                    *places.get(name)?
                };
                next = place + 1;
                write::message(&mut out, 1, |out| {
                    out.extend_from_slice(node);
                    if !shapes[place].is_empty() {
                        write::message(out, 5, |out| attribute(out, &shapes[place]));
                    }
                });
            }
            // A library of functions is there always, and mostly empty.
            (2, Value::Bytes(library)) if !library.is_empty() => return None,
            _ => out.extend_from_slice(&graph[start..fields.offset() as usize]),
        }
    }
}

fn name_of(node: &[u8]) -> Option<&[u8]> {
    let mut fields = Fields::new(node, 0);
    while let Some(field) = fields.next_field().ok()? {
        if let (1, Value::Bytes(name)) = (field.number, field.value) {
            return Some(name);
        }
    }
    None
}

/// An entry of a node's attributes.
fn attribute(out: &mut Vec<u8>, shapes: &[LiveShape]) {
    write::bytes(out, 1, KEY);
    write::message(out, 2, |value| {
        write::message(value, 1, |list| {
            for (dims, unknown) in shapes {
                write::message(list, 7, |shape| {
                    if *unknown {
                        write::int(shape, 3, 1);
                    } else {
                        dims.iter()
                            .for_each(|size| write::message(shape, 2, |dim| write::int(dim, 1, size.unwrap_or(-1))));
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
        // Two shapes: 2 × unknown × 0, and one of which nothing is known.
        let list =
            [0x3a, 19, 0x12, 2, 0x08, 2, 0x12, 11, 0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 0x12, 0];
        assert!(memchr::memmem::find(&found, &[&list[..], &[0x3a, 2, 0x18, 1]].concat()).is_some());
        assert_eq!(with_output_shapes(&graph, &names(&["a", "b", "x"]), &shapes), None, "a node that nobody knows");
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
