//! The one decoder of `NodeDef`, for everything that reads graphs and bodies of functions.

use crate::fields::{graph_def, node_def};
use crate::wire::{Fields, Value, each_field, map_entry};

/// The fields of a `NodeDef`, as slices of its bytes.
#[derive(Debug, Default)]
pub struct NodeDef<'a> {
    pub name: &'a [u8],
    pub op: &'a [u8],
    pub device: &'a [u8],
    /// As spelled: `name`, `name:1` or `^name`.
    pub inputs: Vec<&'a [u8]>,
    pub attributes: Vec<Attribute<'a>>,
    /// `ExperimentalDebugInfo`: the node's names before the graph was rewritten.
    pub original_names: Option<&'a [u8]>,
    bytes: &'a [u8],
    offset: u64,
}

/// An attribute of a node. A missing value means the same as an empty `AttrValue`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute<'a> {
    pub key: &'a [u8],
    /// The bytes of the `AttrValue`.
    pub value: Option<&'a [u8]>,
}

impl<'a> NodeDef<'a> {
    /// Where a part of the node stands in the file.
    pub fn offset_of(&self, part: &[u8]) -> u64 {
        let start = (part.as_ptr() as usize).wrapping_sub(self.bytes.as_ptr() as usize);
        self.offset + if start <= self.bytes.len() { start as u64 } else { 0 }
    }

    /// Where the node begins in the file.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    fn read(&mut self, bytes: &'a [u8], offset: u64) {
        (self.bytes, self.offset) = (bytes, offset);
        each_field(Fields::new(bytes, offset), |_, number, value| {
            let Value::Bytes(value) = value else { return };
            match number {
                node_def::NAME => self.name = value,
                node_def::OP => self.op = value,
                node_def::INPUT => self.inputs.push(value),
                node_def::DEVICE => self.device = value,
                node_def::ATTR => {
                    let (key, value) = map_entry(value);
                    self.attributes.push(Attribute { key, value });
                }
                node_def::EXPERIMENTAL_DEBUG_INFO => self.original_names = Some(value),
                _ => {}
            }
        });
    }
}

/// Decodes one node after the other into the same buffers.
#[derive(Debug, Default)]
pub struct NodeDecoder {
    inputs: Vec<&'static [u8]>,
    attributes: Vec<Attribute<'static>>,
}

impl NodeDecoder {
    /// Decodes a `NodeDef` that stands at `offset` of the file. Damage ends it early, see [`crate::wire`].
    pub fn decode<R>(&mut self, bytes: &[u8], offset: u64, visit: impl FnOnce(&NodeDef<'_>) -> R) -> R {
        let (inputs, attributes) = (std::mem::take(&mut self.inputs), std::mem::take(&mut self.attributes));
        let mut node =
            NodeDef { name: b"", op: b"", device: b"", inputs, attributes, original_names: None, bytes, offset };
        node.read(bytes, offset);
        let result = visit(&node);
        self.inputs = emptied(node.inputs);
        self.attributes = emptied(node.attributes);
        result
    }
}

/// The same allocation for other lifetimes: `collect` maps a vector in place.
fn emptied<From, To>(mut vector: Vec<From>) -> Vec<To> {
    vector.clear();
    vector.into_iter().map(|_| unreachable!("the vector is empty")).collect()
}

/// Decodes the nodes of a `GraphDef` in memory. The second argument of `visit` is the node's bytes.
pub fn each_node<'a>(graph: &'a [u8], mut visit: impl FnMut(&NodeDef<'a>, &'a [u8])) {
    let mut node = NodeDef::default();
    each_field(Fields::new(graph, 0), |all, number, value| {
        if let (graph_def::NODE, Value::Bytes(bytes)) = (number, value) {
            let offset = all.nested(bytes).offset();
            let (mut inputs, mut attributes) = (std::mem::take(&mut node.inputs), std::mem::take(&mut node.attributes));
            inputs.clear();
            attributes.clear();
            node = NodeDef { inputs, attributes, ..NodeDef::default() };
            node.read(bytes, offset);
            visit(&node, bytes);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write as pb;

    fn node(name: &str, inputs: &[&str], attributes: &[(&str, &[u8])]) -> Vec<u8> {
        let mut out = Vec::new();
        pb::bytes(&mut out, node_def::NAME, name.as_bytes());
        inputs.iter().for_each(|input| pb::element(&mut out, node_def::INPUT, input.as_bytes()));
        for (key, value) in attributes {
            pb::message(&mut out, node_def::ATTR, |out| {
                pb::element(out, 1, key.as_bytes());
                pb::element(out, 2, value);
            });
        }
        out
    }

    #[test]
    fn buffers_are_reused_and_keep_nothing() {
        let mut decoder = NodeDecoder::default();
        let first = node("first", &["a", "^b"], &[("T", b"1")]);
        let (buffer, offset) = decoder.decode(&first, 100, |node| {
            assert_eq!((node.name, &node.inputs[..]), (&b"first"[..], &[&b"a"[..], b"^b"][..]));
            assert_eq!(node.attributes, [Attribute { key: b"T", value: Some(b"1") }]);
            (node.inputs.as_ptr() as usize, node.offset_of(node.inputs[0]))
        });
        assert_eq!(offset, 100 + 9);
        let second = node("second", &["c"], &[]);
        decoder.decode(&second, 0, |node| {
            assert_eq!(node.inputs.as_ptr() as usize, buffer);
            assert_eq!((&node.inputs[..], node.attributes.len()), (&[&b"c"[..]][..], 0));
        });
    }

    #[test]
    fn nodes_of_a_graph() {
        let mut graph = Vec::new();
        pb::element(&mut graph, graph_def::NODE, &node("a", &["b"], &[]));
        pb::element(&mut graph, graph_def::NODE, &node("b", &[], &[]));
        let mut names = Vec::new();
        each_node(&graph, |node, bytes| names.push((node.name, node.inputs.len(), bytes.len())));
        assert_eq!(names, [(&b"a"[..], 1, 6), (&b"b"[..], 0, 3)]);
    }
}
