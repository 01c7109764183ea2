//! The scopes of a cost: a row of numbers each, and their names in one text. A model may have a million of them.

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

#[derive(Clone, Debug)]
struct Row {
    start: usize,
    length: u32,
    parent: u32,
    path: Path,
    is_layer: bool,
    total: Figures,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Path {
    Name,
    Prefixed,
    Other(u32),
}

/// A scope of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Scope<'a> {
    pub name: &'a str,
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
            Path::Name => Cow::Borrowed(name),
            Path::Prefixed => Cow::Owned(format!("{}/{name}", self.prefix)),
            Path::Other(path) => Cow::Borrowed(self.paths[path as usize].as_str()),
        };
        Scope { name, path, parent: row.parent as usize, total: row.total, is_layer: row.is_layer }
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = Scope<'_>> {
        (0..self.len()).map(|at| self.get(at))
    }

    pub fn name(&self, at: usize) -> &str {
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

    /// Adds a scope with a name of its own.
    pub(in crate::report) fn push_named(&mut self, parent: usize, name: &str) -> usize {
        let start = self.names.len();
        self.names.push_str(name);
        self.push_row(parent, start)
    }

    /// Adds the scope `part` within another one; `path` is its name in the graph.
    pub(super) fn push_part(&mut self, parent: usize, part: &str, path: &str) -> usize {
        let start = self.names.len();
        if parent != 0 {
            let around = &self.rows[parent];
            self.names.extend_from_within(around.start..around.start + around.length as usize);
            self.names.push('/');
        }
        self.names.push_str(part);
        let row = self.push_row(parent, start);
        self.rows[row].path = self.path_of(row, path);
        row
    }

    /// Sets the name in the graph, unless there is one.
    pub(super) fn set_path(&mut self, row: usize, path: &str) {
        if self.rows[row].path == Path::Name {
            self.rows[row].path = self.path_of(row, path);
        }
    }

    fn path_of(&mut self, row: usize, path: &str) -> Path {
        let name = self.name(row);
        if name == path {
            return Path::Name;
        }
        let before = path.strip_suffix(name).and_then(|before| before.strip_suffix('/'));
        if before == Some(self.prefix.as_str()) {
            return Path::Prefixed;
        }
        self.paths.push(path.to_owned());
        Path::Other(self.paths.len() as u32 - 1)
    }

    fn push_row(&mut self, parent: usize, start: usize) -> usize {
        let length = (self.names.len() - start) as u32;
        let (path, is_layer, total) = (Path::Name, false, Figures::default());
        self.rows.push(Row { start, length, parent: parent as u32, path, is_layer, total });
        self.rows.len() - 1
    }
}

/// The children of each scope.
pub(super) struct Children {
    /// Where the list of a scope ends, one place behind its number.
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
        let paths: Vec<_> = scopes.iter().map(|scope| (scope.name.to_owned(), scope.path.into_owned())).collect();
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
