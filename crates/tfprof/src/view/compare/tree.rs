//! The joined tree: the rows of the second side where they are, and the rows that only the first side has, below the
//! partner of the row around them.

use super::{JoinedRow, Status};
use crate::model::nodes::NodeId;
use crate::model::stacks::FrameText;
use crate::options::{Comparing, ViewKind};
use crate::pairing::{self, How, Likeness, Match, Row};
use crate::view::tree::Tree;
use crate::view::{View, VisibleRow};

pub struct JoinedTree {
    pub tree: Tree,
    /// By row of the tree.
    pub rows: Vec<JoinedRow>,
}

pub fn join(before: &View, after: &View, comparing: &Comparing) -> JoinedTree {
    if comparing.renames.is_empty() && have_same_rows(before, after) {
        return joined_one_by_one(before, after);
    }
    let (old, new) = (rows(before), rows(after));
    let unique_names = matches!(after.kind, ViewKind::Scope | ViewKind::Graph);
    let how = How { renames: &comparing.renames, unique_names };
    let pairs = pairing::pair(&old, &new, &how, |side, row| likeness([before, after][side], row));
    // Rows of the second side keep their numbers; removed rows follow.
    let mut list: Vec<JoinedRow> = Vec::with_capacity(new.len());
    let mut parents: Vec<u32> = Vec::with_capacity(new.len());
    for (i, partner) in pairs.after.iter().enumerate() {
        let (before, by) = partner.map_or((None, Match::Name), |(row, by)| (Some(row), by));
        let is_renamed = before.is_some_and(|row| old[row as usize].name != new[i].name);
        list.push(JoinedRow { before, after: Some(i as u32), by, is_renamed, status: Status::Same });
        parents.push(new[i].parent as u32);
    }
    let mut place = vec![0_u32; old.len()];
    for (i, partner) in pairs.before.iter().enumerate() {
        place[i] = match partner {
            Some((row, _)) => *row,
            None => {
                parents.push(place[old[i].parent]);
                list.push(JoinedRow {
                    before: Some(i as u32),
                    after: None,
                    by: Match::Name,
                    is_renamed: false,
                    status: Status::Same,
                });
                list.len() as u32 - 1
            }
        };
    }
    in_order(before, after, &list, &parents)
}

/// Whether both sides have the same names in the same places, as two runs of one program do.
fn have_same_rows(before: &View, after: &View) -> bool {
    let (old, new) = (before.rows(), after.rows());
    let alike = before.model.names.alike(&after.model.names);
    let same = |(a, b): (&VisibleRow, &VisibleRow)| {
        let trees = (&before.rows.tree, &after.rows.tree);
        a.parent == b.parent && trees.0.has_name_of((a.row, &before.model), trees.1, (b.row, &after.model), alike)
    };
    old.len() == new.len() && old.iter().zip(new).all(same)
}

/// Joins each row with the row at its place.
fn joined_one_by_one(before: &View, after: &View) -> JoinedTree {
    let row = |at: u32| JoinedRow {
        before: Some(at),
        after: Some(at),
        by: Match::Name,
        is_renamed: false,
        status: Status::Same,
    };
    let list: Vec<JoinedRow> = (0..after.rows().len() as u32).map(row).collect();
    let tree = &after.rows.tree;
    if tree.len() == list.len() && after.rows().iter().enumerate().all(|(at, visible)| visible.row == at) {
        return JoinedTree { tree: tree.clone(), rows: list };
    }
    let parents: Vec<u32> = after.rows().iter().map(|row| row.parent as u32).collect();
    in_order(before, after, &list, &parents)
}

/// Puts parents before their children.
fn in_order(before: &View, after: &View, list: &[JoinedRow], parents: &[u32]) -> JoinedTree {
    // The children of each row as a linked list, the last first: a stack turns that around.
    const NONE: u32 = u32::MAX;
    let (mut last, mut previous) = (vec![NONE; list.len()], vec![NONE; list.len()]);
    for (i, parent) in parents.iter().enumerate().skip(1) {
        previous[i] = std::mem::replace(&mut last[*parent as usize], i as u32);
    }
    let has_frames = after.kind == ViewKind::Code;
    let (old, new) = (&before.rows.tree, &after.rows.tree);
    let mut tree = Tree::with_names(new.own_names().clone());
    let mut rows = Vec::with_capacity(list.len());
    let mut open: Vec<(u32, u32)> = if list.is_empty() { Vec::new() } else { vec![(0, 0)] };
    while let Some((i, around)) = open.pop() {
        let joined = list[i as usize];
        let mut at = 0;
        if i > 0 {
            // Numbers of nodes and frames are those of the second model.
            let known = joined.after.map(|at| after.rows()[at as usize].row);
            at = match known {
                Some(row) => tree.push_as_in(new, row, around as usize),
                None => {
                    let row = before.rows()[joined.before.unwrap_or(0) as usize].row;
                    tree.push_from((old, &before.model), row, around as usize)
                }
            };
            let nodes: &[NodeId] = known.map_or(&[], |row| new.nodes(row));
            nodes.iter().for_each(|node| tree.push_node(*node));
            if has_frames {
                match known.and_then(|row| new.frame(row)) {
                    Some((frame, gradient)) => tree.push_frame(frame, gradient),
                    None => tree.push_no_frame(),
                }
            }
        }
        rows.push(joined);
        let mut child = last[i as usize];
        while child != NONE {
            open.push((child, at as u32));
            child = previous[child as usize];
        }
    }
    JoinedTree { tree, rows }
}

/// The rows of a view, to be paired.
fn rows(view: &View) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = Vec::with_capacity(view.rows().len());
    for row in view.rows() {
        let name = view.name(row);
        let around = rows.get(row.parent).map_or("", |around| around.name);
        let inner = name.strip_prefix(around).and_then(|rest| rest.strip_prefix('/'));
        let label = inner.filter(|_| view.kind == ViewKind::Scope).unwrap_or(name);
        rows.push(Row { parent: row.parent, name, label });
    }
    rows
}

/// Type, shapes and line of the node of a row.
fn likeness(view: &View, row: usize) -> Likeness {
    let node = view.node(&view.rows()[row]);
    node.map_or_else(Likeness::default, |node| Likeness { structure: structure(view, node), line: line(view, node) })
}

/// A digest of the type and the shape of a node.
fn structure(view: &View, node: NodeId) -> u64 {
    let nodes = &view.model.nodes;
    let op = view.model.names.get(nodes.op[node.index()]);
    let shapes = nodes.output_shapes(node).iter().map(|shape| view.model.shapes.get(*shape)).collect::<Vec<_>>();
    pairing::digest_of(&(op, view.model.shapes.get(nodes.shape[node.index()]), shapes))
}

/// A digest of the innermost line that made a node.
fn line(view: &View, node: NodeId) -> u64 {
    let stacks = &view.model.stacks;
    let Some((_, frame)) = stacks.last(view.model.nodes.stack[node.index()]) else { return 0 };
    let frame = stacks.frame(frame);
    let name = |text| view.model.names.get(frame.name(text));
    pairing::digest_of(&(name(FrameText::File), name(FrameText::Function), frame.lineno))
}
