//! Attributes of nodes, each as the canonical bytes of its `AttrValue`.
//!
//! Stored only if [`Keep::attributes`](super::builder::Keep) asks for them: the weights of a frozen graph are attributes.

use super::names::{NameId, Names};
use super::nodes::NodeId;
use std::ops::Range;

#[derive(Clone, Debug, Default)]
pub struct Attributes {
    bytes: Vec<u8>,
    entries: Vec<(NameId, Range<usize>)>,
    /// By node, the range of its entries.
    of: Vec<Range<u32>>,
}

impl Attributes {
    /// The attributes of a node, in ascending order of their names.
    pub fn of(&self, node: NodeId) -> impl ExactSizeIterator<Item = (NameId, &[u8])> {
        let entries = self.of.get(node.index()).map_or(0..0, |range| range.start as usize..range.end as usize);
        self.entries[entries].iter().map(|(key, range)| (*key, &self.bytes[range.clone()]))
    }

    pub fn get(&self, node: NodeId, name: NameId) -> Option<&[u8]> {
        self.of(node).find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// Gives a node its attributes. `fill` appends the value of an entry to the bytes.
    pub fn set(
        &mut self,
        node: NodeId,
        mut keys: Vec<(NameId, usize)>,
        names: &Names,
        mut fill: impl FnMut(usize, &mut Vec<u8>),
    ) {
        if keys.is_empty() {
            return;
        }
        // Of two entries with one key the last wins.
        keys.sort_by(|a, b| names.get(a.0).cmp(names.get(b.0)).then(b.1.cmp(&a.1)));
        keys.dedup_by_key(|(key, _)| *key);
        let first = self.entries.len() as u32;
        for (key, place) in keys {
            let start = self.bytes.len();
            fill(place, &mut self.bytes);
            self.entries.push((key, start..self.bytes.len()));
        }
        if self.of.len() <= node.index() {
            self.of.resize(node.index() + 1, 0..0);
        }
        self.of[node.index()] = first..self.entries.len() as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_go_by_name_and_the_last_of_a_name_counts() {
        let (mut names, mut attributes) = (Names::default(), Attributes::default());
        let (b, a) = (names.intern("b"), names.intern("a"));
        let values = [&b"1"[..], b"2", b"3"];
        attributes.set(NodeId(4), vec![(b, 0), (a, 1), (b, 2)], &names, |i, out| out.extend(values[i]));
        assert_eq!(attributes.of(NodeId(4)).collect::<Vec<_>>(), [(a, &b"2"[..]), (b, b"3")]);
        assert_eq!((attributes.get(NodeId(4), b), attributes.of(NodeId(3)).len()), (Some(&b"3"[..]), 0));
    }
}
