//! Scopes as interned paths: a parent and a name. Depth and length are bounded, so that deep nesting costs no more than
//! the file is large.

use crate::hash::TrustedMap;
use crate::model::names::{NameId, Names};

/// The empty path.
pub const ROOT: u32 = 0;

/// Deeper scopes are cut at this depth.
const DEEPEST: u32 = 96;
/// Ops in a longer scope go to the top.
const LONGEST: u32 = 3000;

#[derive(Debug)]
pub struct Paths {
    list: Vec<Path>,
    child_of: TrustedMap<(u32, NameId), u32>,
    joined: TrustedMap<(u32, u32), u32>,
}

#[derive(Clone, Copy, Debug)]
struct Path {
    outer: u32,
    name: NameId,
    depth: u32,
    length: u32,
}

impl Default for Paths {
    fn default() -> Paths {
        let root = Path { outer: ROOT, name: NameId::EMPTY, depth: 0, length: 0 };
        Paths { list: vec![root], child_of: TrustedMap::default(), joined: TrustedMap::default() }
    }
}

impl Paths {
    /// The path of a name within another.
    pub fn child(&mut self, outer: u32, name: NameId, names: &Names) -> u32 {
        let mut outer = outer;
        let around = self.list[outer as usize];
        if around.depth >= DEEPEST {
            outer = around.outer;
        }
        if around.length > LONGEST {
            outer = ROOT;
        }
        let next = self.list.len() as u32;
        let child = *self.child_of.entry((outer, name)).or_insert(next);
        if child == next {
            let around = self.list[outer as usize];
            let length = around.length + 1 + names.get(name).len() as u32;
            self.list.push(Path { outer, name, depth: around.depth + 1, length });
        }
        child
    }

    /// The path of a chain of names, itself a path, within another.
    pub fn join(&mut self, outer: u32, chain: u32, names: &Names) -> u32 {
        if chain == ROOT || outer == ROOT {
            return if chain == ROOT { outer } else { chain };
        }
        if let Some(joined) = self.joined.get(&(outer, chain)) {
            return *joined;
        }
        let mut parts = Vec::new();
        let mut at = chain;
        while at != ROOT {
            parts.push(self.list[at as usize].name);
            at = self.list[at as usize].outer;
        }
        let joined = parts.into_iter().rev().fold(outer, |path, name| self.child(path, name, names));
        self.joined.insert((outer, chain), joined);
        joined
    }

    pub fn name(&self, path: u32) -> NameId {
        self.list[path as usize].name
    }

    /// The whole path, with slashes.
    pub fn text(&self, path: u32, names: &Names) -> String {
        let mut parts = Vec::new();
        let mut at = path;
        while at != ROOT {
            parts.push(names.get(self.list[at as usize].name));
            at = self.list[at as usize].outer;
        }
        let mut text = String::with_capacity(self.list[path as usize].length as usize);
        for part in parts.into_iter().rev() {
            if !text.is_empty() {
                text.push('/');
            }
            text.push_str(part);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_join_and_deep_ones_stay_bounded() {
        let mut names = Names::default();
        let mut paths = Paths::default();
        let [a, b, c] = ["a", "b", "c"].map(|name| names.intern(name));
        let modules = paths.child(ROOT, a, &names);
        let ranges = paths.child(ROOT, b, &names);
        let ranges = paths.child(ranges, c, &names);
        let joined = paths.join(modules, ranges, &names);
        assert_eq!(paths.text(joined, &names), "a/b/c");
        assert_eq!(paths.join(modules, ranges, &names), joined);
        assert_eq!(paths.join(ROOT, ranges, &names), ranges);
        let mut deep = ROOT;
        for at in 0..10_000 {
            let name = names.intern(&format!("n{at}"));
            deep = paths.child(deep, name, &names);
        }
        assert!(paths.text(deep, &names).split('/').count() <= DEEPEST as usize);
        assert!(paths.text(deep, &names).ends_with("/n9999"));
    }
}
