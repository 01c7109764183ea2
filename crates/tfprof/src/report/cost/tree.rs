//! The tree of scopes behind the layers of a cost: an op is placed under the names of the variables around it.

use super::Shared;
use super::layers::{Variable, VariableScope, first, last, scope};
use super::scopes::Scopes;
use super::siblings::Siblings;
use crate::hash::UntrustedMap;

/// Deeper scopes count as part of the one at this depth.
pub(super) const DEEPEST: u8 = 64;

/// The maximum number of readers listed for a shared variable.
const READERS: usize = 4;

/// Scopes under construction.
pub(super) struct Tree<'m> {
    pub scopes: Scopes,
    /// At most `DEEPEST`.
    pub depth: Vec<u8>,
    /// Whether a scope has variables of its own.
    owns: Vec<bool>,
    siblings: Siblings,
    /// Scopes of ops that have another name: steps by component, and by step the scope that they lead to.
    steps: UntrustedMap<(usize, &'m str), usize>,
    targets: Vec<Option<usize>>,
    pub prefix: &'m str,
    /// The last path that was placed, and its scopes.
    last: &'m str,
    trail: Vec<PathPart>,
}

/// A scope around an op, or the op.
struct PathPart {
    /// Where it ends in the path.
    end: usize,
    step: Option<usize>,
    row: Option<usize>,
}

pub(super) const ROOT: usize = 0;

impl<'m> Tree<'m> {
    pub(super) fn new(root: &str, prefix: &'m str) -> Tree<'m> {
        let scopes = Scopes::new(root, prefix);
        let (siblings, steps) = (Siblings::default(), UntrustedMap::default());
        let (depth, owns, targets) = (vec![0], vec![false], vec![None]);
        let mut tree = Tree { scopes, depth, owns, siblings, steps, targets, prefix, last: "", trail: Vec::new() };
        if !prefix.is_empty() {
            tree.lead(prefix, ROOT);
        }
        tree
    }

    /// Makes room for this many ops.
    pub(super) fn reserve(&mut self, ops: usize) {
        self.scopes.reserve(ops);
        self.siblings.reserve(ops);
        self.depth.reserve(ops);
        self.owns.reserve(ops);
    }

    /// Names a scope of ops after one of variables. The first name wins.
    pub(super) fn alias(&mut self, of_ops: &'m str, of_variables: &'m str) {
        let row = self.named(of_variables);
        self.lead(of_ops, row);
        self.scopes.set_path(row, of_ops);
    }

    pub(super) fn lead(&mut self, of_ops: &'m str, row: usize) {
        self.trail.clear();
        let mut step = 0;
        for part in of_ops.split('/').take(DEEPEST.into()) {
            let next = self.targets.len();
            step = *self.steps.entry((step, part)).or_insert(next);
            if step == next {
                self.targets.push(None);
            }
        }
        self.targets[step].get_or_insert(row);
    }

    /// The row of an op, or of a scope of ops. Most ops share scopes with the op before: only the rest is looked up.
    pub(super) fn place(&mut self, path: &'m str) -> usize {
        let same = path.bytes().zip(self.last.bytes()).take_while(|(a, b)| a == b).count();
        let is_around = |end: usize| end <= same && path[end..].bytes().next().is_none_or(|byte| byte == b'/');
        let known = self.trail.iter().take_while(|around| is_around(around.end)).count();
        self.trail.truncate(known);
        self.last = path;
        let mut step = self.trail.last().map_or(Some(0), |around| around.step);
        let mut start = self.trail.last().map_or(0, |around| around.end + 1);
        while start < path.len() {
            let part = first(&path[start..]);
            step = step.and_then(|step| self.steps.get(&(step, part)).copied());
            let row = step.and_then(|step| self.targets[step]);
            self.trail.push(PathPart { end: start + part.len(), step, row });
            start += part.len() + 1;
        }
        let rowless = self.trail.iter().rev().take_while(|around| around.row.is_none()).count();
        let mut at = self.trail.len() - rowless;
        let mut row = at.checked_sub(1).and_then(|at| self.trail[at].row).unwrap_or(ROOT);
        while let Some(around) = self.trail.get(at) {
            let start = if at == 0 { 0 } else { self.trail[at - 1].end + 1 };
            let end = around.end;
            row = self.child(row, &path[start..end], &path[..end]);
            self.trail[at].row = Some(row);
            at += 1;
        }
        row
    }

    /// The row of a variable, or of a scope of variables.
    pub(super) fn named(&mut self, path: &'m str) -> usize {
        let inner = if self.prefix.is_empty() { None } else { path.strip_prefix(self.prefix) };
        let below = inner.and_then(|inner| inner.strip_prefix('/')).unwrap_or(path);
        self.descend(ROOT, below, path)
    }

    /// Follows `below`, the end of `path`, from a row on.
    fn descend(&mut self, mut row: usize, below: &'m str, path: &'m str) -> usize {
        let mut rest = below;
        while !rest.is_empty() {
            let part = first(rest);
            rest = rest.get(part.len() + 1..).unwrap_or_default();
            row = self.child(row, part, &path[..path.len() - rest.len() - usize::from(!rest.is_empty())]);
        }
        row
    }

    /// The row of a part of a scope, whose whole path is `path`.
    fn child(&mut self, row: usize, part: &'m str, path: &'m str) -> usize {
        if self.depth[row] >= DEEPEST {
            return row;
        }
        if let Some(child) = self.siblings.find(&self.scopes, row, part) {
            return child;
        }
        let child = self.scopes.len();
        self.scopes.push_part(row, part, path);
        self.siblings.add(&self.scopes, child);
        self.depth.push(self.depth[row] + 1);
        self.owns.push(false);
        child
    }

    pub(super) fn add_variable(&mut self, variable: &Variable<'m>, home: VariableScope<'m>) -> usize {
        let (layer, row) = match home {
            VariableScope::Named(layer) => (self.named(layer), self.named(variable.name)),
            VariableScope::Ops(ops) => {
                let layer = self.place(ops);
                (layer, self.descend(layer, last(variable.name), variable.name))
            }
        };
        self.owns[layer] |= layer != ROOT;
        row
    }

    /// The other layers that read a variable.
    pub(super) fn shared(&mut self, variable: &Variable<'m>, row: usize) -> Option<Shared> {
        let mut scopes: Vec<&'m str> = variable.weighs.iter().map(|reader| scope(reader)).collect();
        scopes.dedup();
        if scopes.len() < 2 {
            return None;
        }
        let own = self.layer(self.scopes.parent(row));
        let mut readers = Vec::new();
        for scope in scopes {
            let reader = self.place(scope);
            let reader = self.layer(reader);
            if !self.is_within(reader, own) && !self.is_within(own, reader) && !readers.contains(&reader) {
                readers.push(reader);
                if readers.len() == READERS {
                    break;
                }
            }
        }
        let name = |row: usize| self.scopes.name(row).into_owned();
        (!readers.is_empty()).then(|| Shared { name: name(row), readers: readers.into_iter().map(name).collect() })
    }

    /// The nearest scope with variables; without any, the scope itself.
    fn layer(&self, row: usize) -> usize {
        let mut at = row;
        while at != ROOT {
            if self.owns[at] || self.scopes.is_layer(at) {
                return at;
            }
            at = self.scopes.parent(at);
        }
        row
    }

    fn is_within(&self, mut row: usize, around: usize) -> bool {
        while row > around {
            row = self.scopes.parent(row);
        }
        row == around
    }

    /// Sums up children before parents. A scope with variables is a layer, unless there are layers within it.
    pub(super) fn finish(mut self) -> Scopes {
        let mut has_layers = vec![false; self.scopes.len()];
        for row in (1..self.scopes.len()).rev() {
            if self.owns[row] && !has_layers[row] {
                self.scopes.set_layer(row);
            }
            let (parent, total) = (self.scopes.parent(row), *self.scopes.total(row));
            has_layers[parent] |= has_layers[row] || self.owns[row];
            self.scopes.add(parent, &total);
        }
        self.scopes
    }
}
