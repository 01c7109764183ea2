//! The only tree type: rows in pre-order, each with its parent, its name and its nodes.

use crate::budget;
use crate::model::Model;
use crate::model::names::{NameId, Names};
use crate::model::nodes::NodeId;
use crate::model::stacks::FrameId;

/// The name of every root.
pub const ROOT: &str = "_TFProfRoot";

/// A tree over the nodes of a model. Row 0 is the root; a parent stands before its children.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    parents: Vec<u32>,
    labels: Vec<Label>,
    nodes: Vec<NodeId>,
    nodes_end: Vec<u32>,
    /// Names that the model does not have, such as those of code lines.
    own_names: Names,
    /// In code view, the line that each row stands for, and whether for its gradients.
    frames: Vec<Option<(FrameId, bool)>>,
}

/// A name, or the beginning of one: scopes are beginnings of node names.
#[derive(Clone, Copy, Debug)]
struct Label {
    /// A name of the model or, with [`OWN`] added, of the tree.
    name: u32,
    length: u32,
}

const OWN: u32 = 1 << 31;

impl Tree {
    /// A tree with nothing but a root.
    pub fn new() -> Self {
        let mut tree = Tree::default();
        tree.push(0, NameId::EMPTY, 0);
        tree
    }

    /// A tree that has names besides those of the model.
    pub fn with_names(names: Names) -> Self {
        Tree { own_names: names, ..Tree::new() }
    }

    /// Adds a row below `parent`, which must be the last row or one of its ancestors.
    pub fn push(&mut self, parent: usize, name: NameId, length: usize) -> usize {
        self.push_label(parent, Label { name: name.0, length: length as u32 })
    }

    /// The same with a name of the tree's own.
    pub fn push_own(&mut self, parent: usize, name: NameId, length: usize) -> usize {
        self.push_label(parent, Label { name: name.0 | OWN, length: length as u32 })
    }

    /// Adds a row with the name that it has in `other`, a tree of the same model whose names this one has.
    pub fn push_as_in(&mut self, other: &Tree, row: usize, parent: usize) -> usize {
        self.push_label(parent, other.labels[row])
    }

    /// Adds a row with the name that it has in a tree of another model.
    pub fn push_from(&mut self, (other, model): (&Tree, &Model), row: usize, parent: usize) -> usize {
        let Label { name, length } = other.labels[row];
        // The whole name, of which there is one for a scope and all that is in it.
        let name = self.own_names.intern(other.whole_name(name, model));
        self.push_own(parent, name, length as usize)
    }

    fn push_label(&mut self, parent: usize, label: Label) -> usize {
        budget::check();
        self.parents.push(parent as u32);
        self.labels.push(label);
        self.nodes_end.push(self.nodes.len() as u32);
        self.parents.len() - 1
    }

    /// The names that the model does not have.
    pub fn own_names(&self) -> &Names {
        &self.own_names
    }

    /// Adds a node to the row that was pushed last.
    pub fn push_node(&mut self, node: NodeId) {
        self.nodes.push(node);
        if let Some(end) = self.nodes_end.last_mut() {
            *end += 1;
        }
    }

    /// Says which line the row that was pushed last stands for.
    pub fn push_frame(&mut self, frame: FrameId, is_gradient: bool) {
        self.frames.push(Some((frame, is_gradient)));
    }

    /// Says that the model has no line for the row that was pushed last.
    pub fn push_no_frame(&mut self) {
        self.frames.push(None);
    }

    /// The number of rows, the root among them.
    pub fn len(&self) -> usize {
        self.parents.len()
    }

    pub fn is_empty(&self) -> bool {
        self.parents.len() <= 1
    }

    #[inline]
    pub fn parent(&self, row: usize) -> usize {
        self.parents[row] as usize
    }

    #[inline]
    pub fn name<'t>(&'t self, row: usize, model: &'t Model) -> &'t str {
        if row == 0 {
            return ROOT;
        }
        let Label { name, length } = self.labels[row];
        &self.whole_name(name, model)[..length as usize]
    }

    /// Whether a row has the name of a row of another tree. The first `alike` names of both models are the same, so that most
    /// names need not be read.
    pub fn has_name_of(&self, (row, model): (usize, &Model), other: &Tree, at: (usize, &Model), alike: usize) -> bool {
        let (own, of) = (self.labels[row], other.labels[at.0]);
        let is_known = own.name == of.name && (own.name as usize) < alike;
        own.length == of.length && (is_known || self.name(row, model) == other.name(at.0, at.1))
    }

    #[inline]
    fn whole_name<'t>(&'t self, name: u32, model: &'t Model) -> &'t str {
        if name & OWN == 0 { model.names.get(NameId(name)) } else { self.own_names.get(NameId(name & !OWN)) }
    }

    /// The nodes of a row, without those of rows below it.
    #[inline]
    pub fn nodes(&self, row: usize) -> &[NodeId] {
        let start = if row == 0 { 0 } else { self.nodes_end[row - 1] as usize };
        &self.nodes[start..self.nodes_end[row] as usize]
    }

    /// The nodes of all rows with the row of each, in the order of the nodes, of which the model has `nodes`.
    ///
    /// A node belongs to at most one row.
    pub fn rows_by_node(&self, nodes: usize) -> impl Iterator<Item = (NodeId, usize)> + use<> {
        const NONE: u32 = u32::MAX;
        let mut rows = vec![NONE; nodes];
        for row in 0..self.len() {
            for node in self.nodes(row) {
                debug_assert_eq!(rows[node.index()], NONE);
                rows[node.index()] = row as u32;
            }
        }
        let placed = rows.into_iter().enumerate().filter(|(_, row)| *row != NONE);
        placed.map(|(node, row)| (NodeId(node as u32), row as usize))
    }

    /// The line of code of a row, and whether the row stands for the gradients of the line's ops.
    pub fn frame(&self, row: usize) -> Option<(FrameId, bool)> {
        row.checked_sub(1).and_then(|row| self.frames.get(row).copied()).flatten()
    }
}
