//! The scopes of a cost: a row of numbers each, and the last parts of their names in one text. A model may have a million
//! of them, so that whole names are put together only where they are shown.

use super::Figures;
use std::borrow::Cow;

/// All scopes of a model, parents before children; the first is the whole model.
#[derive(Clone, Debug, Default)]
pub struct Scopes {
    rows: Vec<Row>,
    names: String,
    /// The scope of the graph that names leave out.
    prefix: String,
    /// Paths that are neither the name nor the prefix and the name.
    paths: Vec<String>,
}

/// One line of the cache.
#[derive(Clone, Debug)]
struct Row {
    total: Figures,
    /// Where its part of the name starts in `names`.
    start: usize,
    length: u32,
    parent: u32,
    path: Path,
    is_layer: bool,
    /// Its part is the whole name.
    is_whole: bool,
}

/// The place of a path in `paths`, or one of two marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Path(u32);

impl Path {
    const NAME: Path = Path(u32::MAX);
    const PREFIXED: Path = Path(u32::MAX - 1);
}

/// A scope of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Scope<'a> {
    pub name: Cow<'a, str>,
    /// Its first name in the graph.
    pub path: Cow<'a, str>,
    pub parent: usize,
    pub total: Figures,
    /// A scope with variables and no layers within.
    pub is_layer: bool,
}

impl Scopes {
    /// The whole model alone. Names leave out the scope `prefix` of the graph.
    pub(super) fn new(root: &str, prefix: &str) -> Scopes {
        let mut scopes = Scopes { prefix: prefix.to_owned(), ..Scopes::default() };
        scopes.push_named(0, root);
        scopes
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn get(&self, at: usize) -> Scope<'_> {
        let row = &self.rows[at];
        let name = self.name(at);
        let path = match row.path {
            Path::NAME => name.clone(),
            Path::PREFIXED => Cow::Owned(format!("{}/{name}", self.prefix)),
            Path(other) => Cow::Borrowed(self.paths[other as usize].as_str()),
        };
        Scope { name, path, parent: row.parent as usize, total: row.total, is_layer: row.is_layer }
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = Scope<'_>> {
        (0..self.len()).map(|at| self.get(at))
    }

    pub fn name(&self, at: usize) -> Cow<'_, str> {
        let is_top = |at: usize| self.rows[at].is_whole || self.rows[at].parent == 0;
        if is_top(at) {
            return Cow::Borrowed(self.part(at));
        }
        let mut parts = vec![self.part(at)];
        let mut around = at;
        while !is_top(around) {
            around = self.parent(around);
            parts.push(self.part(around));
        }
        parts.reverse();
        Cow::Owned(parts.join("/"))
    }

    /// The last part of a name; all of it for a scope with a name of its own.
    pub(super) fn part(&self, at: usize) -> &str {
        let row = &self.rows[at];
        &self.names[row.start..row.start + row.length as usize]
    }

    pub fn parent(&self, at: usize) -> usize {
        self.rows[at].parent as usize
    }

    pub fn total(&self, at: usize) -> &Figures {
        &self.rows[at].total
    }

    pub fn is_layer(&self, at: usize) -> bool {
        self.rows[at].is_layer
    }

    pub(in crate::report) fn add(&mut self, at: usize, figures: &Figures) {
        let total = &mut self.rows[at].total;
        *total = total.plus(figures);
    }

    pub(super) fn set_layer(&mut self, at: usize) {
        self.rows[at].is_layer = true;
    }

    /// The children of all scopes, as lists.
    pub(super) fn children(&self) -> Children {
        let mut ends = vec![0_u32; self.len() + 1];
        for row in self.rows.iter().skip(1) {
            ends[row.parent as usize + 1] += 1;
        }
        for at in 1..ends.len() {
            ends[at] += ends[at - 1];
        }
        let mut rows = vec![0; self.len().saturating_sub(1)];
        let mut next = ends.clone();
        for (at, row) in self.rows.iter().enumerate().skip(1) {
            let place = &mut next[row.parent as usize];
            rows[*place as usize] = at as u32;
            *place += 1;
        }
        Children { ends, rows }
    }

    /// Makes room for this many more scopes.
    pub(super) fn reserve(&mut self, more: usize) {
        self.rows.reserve(more);
    }

    /// Adds a scope with a name of its own.
    pub(in crate::report) fn push_named(&mut self, parent: usize, name: &str) -> usize {
        let row = self.push_row(parent, name);
        self.rows[row].is_whole = true;
        row
    }

    /// Adds the scope `part` within another one; `path` is its name in the graph.
    pub(super) fn push_part(&mut self, parent: usize, part: &str, path: &str) -> usize {
        let row = self.push_row(parent, part);
        self.rows[row].path = self.path_of(row, path);
        row
    }

    /// Sets the name in the graph, unless there is one.
    pub(super) fn set_path(&mut self, row: usize, path: &str) {
        if self.rows[row].path == Path::NAME {
            self.rows[row].path = self.path_of(row, path);
        }
    }

    fn path_of(&mut self, row: usize, path: &str) -> Path {
        match self.before_name(row, path) {
            Some("") => return Path::NAME,
            Some(before) if before.strip_suffix('/') == Some(self.prefix.as_str()) => return Path::PREFIXED,
            _ => {}
        }
        self.paths.push(path.to_owned());
        Path(self.paths.len() as u32 - 1)
    }

    /// The part of a path before the name of a row; `None` if the path does not end with it.
    fn before_name<'p>(&self, mut row: usize, path: &'p str) -> Option<&'p str> {
        let mut before = path.strip_suffix(self.part(row))?;
        while !self.rows[row].is_whole && self.rows[row].parent != 0 {
            row = self.parent(row);
            before = before.strip_suffix('/')?.strip_suffix(self.part(row))?;
        }
        Some(before)
    }

    fn push_row(&mut self, parent: usize, part: &str) -> usize {
        let start = self.names.len();
        self.names.push_str(part);
        self.rows.push(Row {
            total: Figures::default(),
            start,
            length: part.len() as u32,
            parent: parent as u32,
            path: Path::NAME,
            is_layer: false,
            is_whole: false,
        });
        self.rows.len() - 1
    }
}

/// The children of each scope.
pub(super) struct Children {
    /// The end of the list of a scope, at the index after its number.
    ends: Vec<u32>,
    rows: Vec<u32>,
}

impl Children {
    pub fn of(&self, at: usize) -> &[u32] {
        &self.rows[self.ends[at] as usize..self.ends[at + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_has_its_name_and_its_path() {
        let mut scopes = Scopes::new("all", "call/model");
        let dense = scopes.push_part(0, "dense", "call/model/dense");
        let kernel = scopes.push_part(dense, "kernel", "dense/kernel");
        let other = scopes.push_part(dense, "MatMul", "call/model/dense_1/MatMul");
        let paths: Vec<_> = scopes.iter().map(|scope| (scope.name.into_owned(), scope.path.into_owned())).collect();
        let expect = [
            ("all", "all"),
            ("dense", "call/model/dense"),
            ("dense/kernel", "dense/kernel"),
            ("dense/MatMul", "call/model/dense_1/MatMul"),
        ];
        assert_eq!(paths, expect.map(|(name, path)| (name.to_owned(), path.to_owned())));
        let children = scopes.children();
        assert_eq!(children.of(0), [dense as u32]);
        assert_eq!(children.of(dense), [kernel as u32, other as u32]);
        assert!(children.of(other).is_empty());
    }
}
