//! The joined tree: the rows of the second side where they are, and the rows that only the first side has, below the
//! partner of the row around them.

use super::{JoinedRow, Status};
use crate::model::names::{NameId, Names};
use crate::model::nodes::NodeId;
use crate::model::stacks::FrameText;
use crate::options::{Comparing, ViewKind};
use crate::pairing::{self, How, Match, Row};
use crate::view::tree::Tree;
use crate::view::{View, VisibleRow};

pub struct JoinedTree {
    pub tree: Tree,
    /// By row of the tree.
    pub rows: Vec<JoinedRow>,
}

pub fn join(before: &View, after: &View, comparing: &Comparing) -> JoinedTree {
    let (old, new) = (rows(before), rows(after));
    let unique_names = matches!(after.kind, ViewKind::Scope | ViewKind::Graph);
    let pairs = pairing::pair(&old, &new, &How { renames: &comparing.renames, guess: true, unique_names });
    // Rows of the second side keep their numbers; removed rows follow.
    let mut list: Vec<JoinedRow> = Vec::with_capacity(new.len());
    let mut parents: Vec<u32> = Vec::with_capacity(new.len());
    for (i, partner) in pairs.after.iter().enumerate() {
        let (before, by) = partner.map_or((None, Match::Name), |(row, by)| (Some(row), by));
        list.push(JoinedRow { before, after: Some(i as u32), by, status: Status::Same });
        parents.push(new[i].parent as u32);
    }
    let mut place = vec![0_u32; old.len()];
    for (i, partner) in pairs.before.iter().enumerate() {
        place[i] = match partner {
            Some((row, _)) => *row,
            None => {
                parents.push(place[old[i].parent]);
                list.push(JoinedRow { before: Some(i as u32), after: None, by: Match::Name, status: Status::Same });
                list.len() as u32 - 1
            }
        };
    }
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
    let mut tree = Tree::with_names(Names::default());
    let longest = longest_names(before, after, list, parents);
    let mut ids: Vec<Option<NameId>> = vec![None; list.len()];
    let mut rows = Vec::with_capacity(list.len());
    let mut open: Vec<(u32, u32)> = if list.is_empty() { Vec::new() } else { vec![(0, 0)] };
    while let Some((i, around)) = open.pop() {
        let joined = list[i as usize];
        let mut at = 0;
        if i > 0 {
            let (view, row) = side(before, after, &joined);
            let whole = longest[i as usize] as usize;
            let id = *ids[whole].get_or_insert_with(|| tree.own_name(name(before, after, &list[whole])));
            at = tree.push(around as usize, id, view.name(row).len());
            // Numbers of nodes and frames are those of the second model.
            let known = joined.after.is_some();
            let nodes: &[NodeId] = if known { view.rows.tree.nodes(row.row) } else { &[] };
            nodes.iter().for_each(|node| tree.push_node(*node));
            if has_frames {
                match view.rows.tree.frame(row.row).filter(|_| known) {
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

/// For each row, a row whose name begins with its name: scopes are stored as beginnings of the longest name below them,
/// since deep ones would take a multiple of their file.
fn longest_names(before: &View, after: &View, list: &[JoinedRow], parents: &[u32]) -> Vec<u32> {
    let mut longest: Vec<u32> = (0..list.len() as u32).collect();
    // Parents come first.
    for (i, parent) in parents.iter().enumerate().skip(1).rev() {
        let around = *parent as usize;
        let is_own = longest[around] == *parent;
        if is_own && name(before, after, &list[i]).starts_with(name(before, after, &list[around])) {
            longest[around] = longest[i];
        }
    }
    longest
}

fn name<'v>(before: &'v View, after: &'v View, row: &JoinedRow) -> &'v str {
    let (view, row) = side(before, after, row);
    view.name(row)
}

/// The side that shows a row, the second if it can.
fn side<'v>(before: &'v View, after: &'v View, row: &JoinedRow) -> (&'v View, &'v VisibleRow) {
    match (row.after, row.before) {
        (Some(at), _) => (after, &after.rows()[at as usize]),
        (None, at) => (before, &before.rows()[at.unwrap_or(0) as usize]),
    }
}

/// The rows of a view, to be paired.
fn rows(view: &View) -> Vec<Row<'_>> {
    let rows = view.rows();
    let row = |row: &VisibleRow| {
        let (name, around) = (view.name(row), view.name(&rows[row.parent]));
        let inner = name.strip_prefix(around).and_then(|rest| rest.strip_prefix('/'));
        let label = inner.filter(|_| view.kind == ViewKind::Scope).unwrap_or(name);
        let node = view.node(row);
        Row {
            parent: row.parent,
            name,
            label,
            structure: node.map_or(0, |node| structure(view, node)),
            line: node.map_or(0, |node| line(view, node)),
        }
    };
    rows.iter().map(row).collect()
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
