//! Finds the children of scopes by name. Most scopes have few, which were added one after the other: a list of them stays
//! in the cache, where one hash table for a million scopes would miss it with every lookup. Wide scopes use the table.

use super::scopes::Scopes;
use crate::hash::UntrustedState;
use crate::model::names::NameHash;
use hashbrown::HashTable;
use std::hash::BuildHasher;

/// A scope with more children than this is wide.
const NARROW: u32 = 16;

/// No row: the whole model is nobody's child.
const NONE: u32 = 0;

#[derive(Default)]
pub(super) struct Siblings {
    links: Vec<Links>,
    /// The children of wide scopes, with the hash of their parent and their part of the name.
    table: HashTable<(u32, u32)>,
    state: UntrustedState,
}

/// The place of a row in the lists of children, the newest child first.
#[derive(Clone, Copy, Default)]
struct Links {
    newest_child: u32,
    older_sibling: u32,
    children: u32,
    /// Differs for most different parts.
    mark: u32,
}

impl Siblings {
    /// Makes room for this many more rows.
    pub(super) fn reserve(&mut self, rows: usize) {
        self.links.reserve(rows);
    }

    /// The child of a row with this part of the name.
    pub(super) fn find(&self, scopes: &Scopes, row: usize, part: &str) -> Option<usize> {
        let links = self.links.get(row)?;
        if links.children > NARROW {
            let hash = self.hash(row, part);
            let is_it = |at: usize| scopes.parent(at) == row && scopes.part(at) == part;
            let found = self.table.find(hash.spread(), |(of, at)| *of == hash.0 && is_it(*at as usize));
            return found.map(|(_, child)| *child as usize);
        }
        let mark = mark(part);
        let mut child = links.newest_child;
        while child != NONE {
            let links = &self.links[child as usize];
            if links.mark == mark && scopes.part(child as usize) == part {
                return Some(child as usize);
            }
            child = links.older_sibling;
        }
        None
    }

    /// Adds the newest row of `scopes`, whose name is new.
    pub(super) fn add(&mut self, scopes: &Scopes, child: usize) {
        let parent = scopes.parent(child);
        self.links.resize(child + 1, Links::default());
        let links = &mut self.links[parent];
        links.children += 1;
        let (children, older_sibling) = (links.children, std::mem::replace(&mut links.newest_child, child as u32));
        self.links[child] = Links { older_sibling, mark: mark(scopes.part(child)), ..Links::default() };
        if children > NARROW + 1 {
            self.add_to_table(scopes, parent, child);
        } else if children > NARROW {
            let mut at = child as u32;
            while at != NONE {
                self.add_to_table(scopes, parent, at as usize);
                at = self.links[at as usize].older_sibling;
            }
        }
    }

    fn add_to_table(&mut self, scopes: &Scopes, parent: usize, child: usize) {
        let hash = self.hash(parent, scopes.part(child));
        self.table.insert_unique(hash.spread(), (hash.0, child as u32), |(of, _)| NameHash(*of).spread());
    }

    fn hash(&self, parent: usize, part: &str) -> NameHash {
        NameHash::folded(self.state.hash_one((parent, part)))
    }
}

/// The length and the last bytes of a name: siblings differ in their numbers.
fn mark(part: &str) -> u32 {
    let last = part.len().saturating_sub(4);
    part.as_bytes()[last..].iter().fold(part.len() as u32, |mark, byte| mark.rotate_left(8) ^ u32::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_are_found_in_narrow_and_wide_scopes() {
        let mut scopes = Scopes::new("all", "");
        let mut siblings = Siblings::default();
        let mut add = |scopes: &mut Scopes, siblings: &mut Siblings, parent, part: &str| {
            assert_eq!(siblings.find(scopes, parent, part), None, "{part}");
            let row = scopes.push_part(parent, part, part);
            siblings.add(scopes, row);
            row
        };
        let narrow = add(&mut scopes, &mut siblings, 0, "narrow");
        let wide = add(&mut scopes, &mut siblings, 0, "wide");
        let parts: Vec<String> = (0..100).map(|n| format!("op_{n}")).collect();
        for (at, part) in parts.iter().enumerate() {
            let row = add(&mut scopes, &mut siblings, wide, part);
            let of_narrow = (at < 10).then(|| add(&mut scopes, &mut siblings, narrow, part));
            assert_eq!(siblings.find(&scopes, wide, part), Some(row));
            assert_eq!(siblings.find(&scopes, narrow, part), of_narrow);
        }
        for part in &parts {
            let row = siblings.find(&scopes, wide, part).expect("it was added");
            assert_eq!((scopes.parent(row), scopes.part(row)), (wide, part.as_str()));
        }
        assert_eq!(siblings.find(&scopes, wide, "op_100"), None);
        assert_eq!(siblings.find(&scopes, 0, "wide"), Some(wide));
    }
}
