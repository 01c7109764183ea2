//! Interned strings: a [`NameId`] is four bytes and compares as a number.

use crate::budget;
use crate::hash::UntrustedState;
pub use crate::words::escape_invalid;
use hashbrown::HashTable;
use std::hash::{BuildHasher, Hasher};
use std::sync::LazyLock;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameId(pub(crate) u32);

/// All strings of a model, each stored once in one buffer.
#[derive(Clone, Debug)]
pub struct Names {
    text: String,
    ends: Vec<usize>,
    table: HashTable<Entry>,
    recent: Recent<Entry>,
    /// The hash of the newest string.
    newest: NameHash,
}

/// The hash rejects most unequal strings without reading the text, and lets the table grow without it.
#[derive(Clone, Copy, Debug)]
struct Entry {
    hash: NameHash,
    id: NameId,
}

/// The hash of a string: 32 bits. Nodes store it, and models of several threads compare it, so one random seed serves
/// the whole process: the author of a file cannot choose names that collide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameHash(pub(crate) u32);

impl NameId {
    /// The empty string.
    pub const EMPTY: NameId = NameId(0);

    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Default for Names {
    fn default() -> Self {
        let (table, recent, newest) = (HashTable::new(), Recent::default(), NameHash::of(b""));
        let mut names = Names { text: String::new(), ends: Vec::new(), table, recent, newest };
        names.intern("");
        names
    }
}

impl Names {
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Never true: the empty string is always interned.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    #[inline]
    pub fn get(&self, id: NameId) -> &str {
        let index = id.index();
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.text[start..self.ends[index]]
    }

    /// How many ids, from the first one on, mean the same strings in both: files that name the same things in the same order.
    pub fn alike(&self, other: &Names) -> usize {
        let ends = self.ends.iter().zip(&other.ends).take_while(|(a, b)| a == b).count();
        let length = ends.checked_sub(1).map_or(0, |last| self.ends[last]);
        let (a, b) = (&self.text.as_bytes()[..length], &other.text.as_bytes()[..length]);
        let same = if a == b { length } else { a.iter().zip(b).take_while(|(a, b)| a == b).count() };
        self.ends[..ends].partition_point(|end| *end <= same)
    }

    /// The hash of a string; of the newest one, without computing it.
    #[inline]
    pub fn hash(&self, id: NameId) -> NameHash {
        if id.index() + 1 == self.ends.len() { self.newest } else { NameHash::of(self.get(id).as_bytes()) }
    }

    /// The id of a string, if it is interned.
    #[inline]
    pub fn find(&self, name: &[u8]) -> Option<NameId> {
        self.find_hashed(name, NameHash::of(name))
    }

    /// Like [`find`](Self::find), if the hash is known.
    #[inline]
    pub fn find_hashed(&self, name: &[u8], hash: NameHash) -> Option<NameId> {
        let is_it = |entry: &Entry| entry.hash == hash && self.get(entry.id).as_bytes() == name;
        let recent = self.recent.get(hash).filter(|entry| is_it(entry));
        recent.or_else(|| self.table.find(hash.spread(), is_it)).map(|entry| entry.id)
    }

    pub fn intern(&mut self, name: &str) -> NameId {
        let hash = NameHash::of(name.as_bytes());
        match self.find_hashed(name.as_bytes(), hash) {
            Some(id) => id,
            None => self.insert(name, hash),
        }
    }

    /// Interns bytes that should be UTF-8. If they are not, the bad bytes are written as `\xNN` and the second
    /// value is true.
    #[inline]
    pub fn intern_bytes(&mut self, name: &[u8]) -> (NameId, bool) {
        let hash = NameHash::of(name);
        if let Some(id) = self.find_hashed(name, hash) {
            return (id, false);
        }
        match std::str::from_utf8(name) {
            Ok(name) => (self.insert(name, hash), false),
            Err(_) => (self.intern(&escape_invalid(name)), true),
        }
    }

    fn insert(&mut self, name: &str, hash: NameHash) -> NameId {
        budget::check();
        // Four billion names do not fit into memory.
        let id = NameId(self.ends.len() as u32);
        self.text.push_str(name);
        self.ends.push(self.text.len());
        let entry = Entry { hash, id };
        self.table.insert_unique(hash.spread(), entry, |entry| entry.hash.spread());
        self.recent.put(hash, entry, self.table.len());
        self.newest = hash;
        id
    }
}

impl NameHash {
    #[inline]
    pub fn of(name: &[u8]) -> NameHash {
        static SEED: LazyLock<UntrustedState> = LazyLock::new(UntrustedState::default);
        let mut hasher = SEED.build_hasher();
        hasher.write(name);
        NameHash::folded(hasher.finish())
    }

    /// Both halves count: a hasher of a 32-bit machine may leave the upper one empty.
    #[inline]
    pub fn folded(hash: u64) -> NameHash {
        NameHash((hash ^ hash >> 32) as u32)
    }

    /// The hash table uses the lowest and the highest bits.
    #[inline]
    pub fn spread(self) -> u64 {
        u64::from(self.0).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

/// The latest entries of a large hash table, by hash. Most names in a graph are those of nodes nearby: looking here
/// first avoids the cache misses of the table. Tables that fit into a cache do without.
#[derive(Clone, Debug)]
pub struct Recent<T> {
    slots: Vec<Option<T>>,
}

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Recent { slots: Vec::new() }
    }
}

impl<T: Clone> Recent<T> {
    const SLOTS: usize = 4096;

    /// An entry that may have this hash.
    #[inline]
    pub fn get(&self, hash: NameHash) -> Option<&T> {
        self.slots.get(hash.0 as usize % Self::SLOTS)?.as_ref()
    }

    /// Remembers the newest of the `len` entries of a table.
    #[inline]
    pub fn put(&mut self, hash: NameHash, entry: T, len: usize) {
        if let Some(slot) = self.slots.get_mut(hash.0 as usize % Self::SLOTS) {
            *slot = Some(entry);
        } else if len > 4 * Self::SLOTS {
            self.slots = vec![None; Self::SLOTS];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_strings_share_an_id() {
        let mut names = Names::default();
        let ids: Vec<_> = (0..10_000).map(|i| names.intern(&format!("scope_{}/op_{i}", i / 10))).collect();
        for (i, id) in ids.iter().enumerate() {
            assert_eq!(names.get(*id), format!("scope_{}/op_{i}", i / 10));
            assert_eq!(names.find(format!("scope_{}/op_{i}", i / 10).as_bytes()), Some(*id));
            assert_eq!(names.hash(*id), NameHash::of(names.get(*id).as_bytes()));
        }
        assert_eq!((names.intern(""), names.len()), (NameId::EMPTY, 10_001));
    }

    #[test]
    fn names_are_alike_up_to_the_first_that_differs() {
        let of = |list: &[&str]| {
            let mut names = Names::default();
            for name in list {
                names.intern(name);
            }
            names
        };
        let check = |a: &[&str], b: &[&str], expect: usize| {
            // The empty string is always the first.
            assert_eq!((of(a).alike(&of(b)), of(b).alike(&of(a))), (expect + 1, expect + 1), "{a:?} {b:?}");
        };
        check(&[], &[], 0);
        check(&["a", "b"], &["a", "b"], 2);
        check(&["a", "b"], &["a", "b", "c"], 2);
        check(&["a", "bc", "d"], &["a", "bx", "d"], 1);
        check(&["ab", "c"], &["a", "bc"], 0);
        check(&["x", "é"], &["x", "è"], 1);
    }

    #[test]
    fn bytes_that_are_not_utf8_are_escaped() {
        let mut names = Names::default();
        let (id, escaped) = names.intern_bytes(b"a\xff/\xc3\xa9\xc3");
        assert_eq!((names.get(id), escaped), ("a\\xff/é\\xc3", true));
    }
}
