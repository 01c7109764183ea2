//! [`ObservedShapes`]: shapes of outputs as runs recorded them. A run repeats few shapes for many nodes, so that each shape
//! is decoded and stored once, and a node takes a name and a number.

use super::attr_value;
use super::names::{NameId, Names};
use super::shape::Shape;
use crate::hash::{TrustedMap, UntrustedMap};

/// By the names of nodes; unknown where no run recorded one. If several runs recorded a shape, the first one wins.
#[derive(Clone, Debug, Default)]
pub struct ObservedShapes {
    names: Names,
    /// By name, the shape of the first output.
    first: Vec<Option<ShapeNumber>>,
    /// By name, the shapes of the other outputs. Few ops have any.
    others: TrustedMap<NameId, Vec<ShapeNumber>>,
    /// Distinct messages, and their shapes. The first shape is unknown.
    shapes: Vec<Shape>,
    numbers: UntrustedMap<Box<[u8]>, ShapeNumber>,
}

/// Equal numbers mean equal shapes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct ShapeNumber(u32);

impl ShapeNumber {
    const UNKNOWN: ShapeNumber = ShapeNumber(0);
}

/// The shapes of one node.
#[derive(Clone, Copy, Debug)]
pub struct NodeShapes<'s> {
    all: &'s ObservedShapes,
    first: ShapeNumber,
    others: &'s [ShapeNumber],
}

impl ObservedShapes {
    pub fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    pub fn get(&self, name: &str) -> Option<NodeShapes<'_>> {
        let name = self.names.find(name.as_bytes())?;
        let first = (*self.first.get(name.index())?)?;
        let others = if self.others.is_empty() { None } else { self.others.get(&name) };
        Some(NodeShapes { all: self, first, others: others.map_or(&[], Vec::as_slice) })
    }

    /// Adds the shape of an output: a `TensorShapeProto`.
    pub fn add(&mut self, name: &str, output: usize, shape: &[u8]) {
        let number = self.number(shape);
        let name = self.names.intern(name);
        self.set(name, output, number);
    }

    /// Adds the shapes that were observed in later runs.
    pub fn merge(&mut self, later: &ObservedShapes) {
        let mut here = vec![ShapeNumber::UNKNOWN; later.shapes.len()];
        let mut messages: Vec<_> = later.numbers.iter().collect();
        messages.sort_unstable();
        for (message, number) in messages {
            if let Some(number_here) = here.get_mut(number.0 as usize) {
                *number_here = self.number(message);
            }
        }
        let here = |number: ShapeNumber| here.get(number.0 as usize).copied().unwrap_or_default();
        for (at, first) in later.first.iter().enumerate() {
            let (Some(first), of_later) = (first, NameId(at as u32)) else { continue };
            let name = self.names.intern(later.names.get(of_later));
            self.set(name, 0, here(*first));
            for (at, other) in later.others.get(&of_later).into_iter().flatten().enumerate() {
                self.set(name, at + 1, here(*other));
            }
        }
    }

    fn number(&mut self, message: &[u8]) -> ShapeNumber {
        if let Some(number) = self.numbers.get(message) {
            return *number;
        }
        if self.shapes.is_empty() {
            self.shapes.push(Shape::UNKNOWN);
        }
        let shape = attr_value::shape_of(message);
        let number = if shape == Shape::UNKNOWN { ShapeNumber::UNKNOWN } else { ShapeNumber(self.shapes.len() as u32) };
        if number != ShapeNumber::UNKNOWN {
            self.shapes.push(shape);
        }
        self.numbers.insert(message.into(), number);
        number
    }

    fn set(&mut self, name: NameId, output: usize, number: ShapeNumber) {
        if self.first.len() <= name.index() {
            self.first.resize(name.index() + 1, None);
        }
        let mut slot = self.first[name.index()].get_or_insert_default();
        if let Some(other) = output.checked_sub(1) {
            let others = self.others.entry(name).or_default();
            if others.len() <= other {
                others.resize(output, ShapeNumber::UNKNOWN);
            }
            slot = &mut others[other];
        }
        if *slot == ShapeNumber::UNKNOWN {
            *slot = number;
        }
    }
}

impl<'s> NodeShapes<'s> {
    /// The outputs with known shapes.
    pub fn known(self) -> impl Iterator<Item = (usize, &'s Shape)> {
        let numbers = std::iter::once(self.first).chain(self.others.iter().copied()).enumerate();
        let known = numbers.filter(|(_, number)| *number != ShapeNumber::UNKNOWN);
        known.map(move |(output, number)| (output, &self.all.shapes[number.0 as usize]))
    }

    /// A number that is the same for nodes with the same shapes; `None` for a node of several outputs.
    pub fn key(self) -> Option<u32> {
        self.others.is_empty().then_some(self.first.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &[u8] = b"\x12\x02\x08\x02";
    const THREE: &[u8] = b"\x12\x02\x08\x03";
    const UNKNOWN_RANK: &[u8] = b"\x18\x01";

    fn known(observed: &ObservedShapes, name: &str) -> Vec<(usize, String)> {
        observed.get(name).into_iter().flat_map(NodeShapes::known).map(|(at, shape)| (at, shape.to_string())).collect()
    }

    #[test]
    fn the_first_known_shape_of_an_output_wins() {
        let mut observed = ObservedShapes::default();
        assert!(observed.is_empty());
        observed.add("a", 0, UNKNOWN_RANK);
        observed.add("a", 0, TWO);
        observed.add("a", 0, THREE);
        observed.add("b", 2, THREE);
        observed.add("c", 0, TWO);
        let mut later = ObservedShapes::default();
        later.add("b", 2, TWO);
        later.add("b", 1, TWO);
        later.add("d", 0, THREE);
        later.add("e", 0, UNKNOWN_RANK);
        observed.merge(&later);
        assert_eq!(known(&observed, "a"), [(0, "2".to_owned())]);
        assert_eq!(known(&observed, "b"), [(1, "2".to_owned()), (2, "3".to_owned())]);
        assert_eq!(known(&observed, "d"), [(0, "3".to_owned())]);
        assert!(observed.get("e").is_some() && known(&observed, "e").is_empty() && observed.get("f").is_none());
        let key = |name| observed.get(name).and_then(NodeShapes::key);
        assert_eq!((key("a"), key("b")), (key("c"), None));
        assert_ne!(key("a"), key("d"));
    }
}
