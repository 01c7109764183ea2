//! Nodes by the line of Python that made them: what a line calls lies below it.

use super::framework::Folding;
use super::tree::Tree;
use crate::hash::{TrustedMap, UntrustedMap};
use crate::model::Model;
use crate::model::layers::NodeFilter;
use crate::model::names::{NameId, Names};
use crate::model::nodes::NodeId;
use crate::model::stacks::{Frame, FrameId, FrameText, StackId};
use crate::quirks::Quirks;
use crate::words;
use memchr::memmem::Finder;
use std::collections::BTreeMap;

/// Marks lines that stand for the gradients of their ops.
const GRADIENT: &str = " (gradient)";

/// A tree of code lines.
#[derive(Debug)]
pub struct Grouped {
    pub tree: Tree,
    /// The number of gradient groups without a forward line.
    pub lost_gradients: usize,
    /// The number of frames that were folded.
    pub folded: usize,
}

/// `fold` leaves out the frames of frameworks; what they made counts toward the user's frame around them.
pub fn group(model: &Model, quirks: &Quirks, filter: NodeFilter, fold: bool) -> Grouped {
    let folding = fold.then(|| Folding::new(model, quirks)).filter(|folding| {
        // If no frame is the user's, there is nothing to fold them into.
        let is_users = |node: &NodeId| folding.has_user(model.nodes.stack[node.index()]);
        model.by_name(filter.layers).iter().any(|node| model.is_shown(*node, filter) && is_users(node))
    });
    let mut lines = Lines::new(model, quirks, folding);
    let mut gradients: BTreeMap<&str, Vec<NodeId>> = BTreeMap::new();
    let forward_name = ForwardName::new();
    for node in model.by_name(filter.layers).iter().filter(|node| model.is_shown(**node, filter)) {
        let stack = model.nodes.stack[node.index()];
        if stack.has_frames() {
            match forward_name.of(model.name(*node)) {
                None => lines.attach(*node, stack, false),
                Some(forward) => gradients.entry(forward).or_default().push(*node),
            }
        }
    }
    let mut lost_gradients = 0;
    for (forward, nodes) in gradients {
        let forward = model.names.find(forward.as_bytes()).and_then(|name| model.node(name));
        let stack = forward
            .filter(|node| forward_name.of(model.name(*node)).is_none())
            .map_or(StackId::NONE, |node| model.nodes.stack[node.index()]);
        if stack.has_frames() {
            nodes.iter().for_each(|node| lines.attach(*node, stack, true));
        } else if quirks.lone_gradients_are_lost {
            lost_gradients += 1;
        } else {
            nodes.iter().for_each(|node| lines.attach(*node, model.nodes.stack[node.index()], true));
        }
    }
    let folded = lines.folded();
    Grouped { tree: lines.into_tree(), lost_gradients, folded }
}

/// The forward node of a gradient node, by name: the text between `gradients/` and `_grad/`.
struct ForwardName {
    before: Finder<'static>,
    after: Finder<'static>,
}

impl ForwardName {
    fn new() -> Self {
        ForwardName { before: Finder::new("gradients/"), after: Finder::new("_grad/") }
    }

    fn of<'n>(&self, name: &'n str) -> Option<&'n str> {
        let start = self.before.find(name.as_bytes())? + self.before.needle().len();
        let end = self.after.find(name.as_bytes())?;
        match end.checked_sub(start) {
            Some(0) => None,
            Some(_) => Some(&name[start..end]),
            // As the original: an end before the start means the rest of the name.
            None => Some(&name[start..]),
        }
    }
}

/// Lines in the order of discovery; `finish` turns them into a tree in pre-order.
struct Lines<'m> {
    model: &'m Model,
    quirks: &'m Quirks,
    names: Names,
    rows: Vec<Line>,
    row_of: UntrustedMap<(u32, NameId), u32>,
    /// By call path, for plain lines and for those of gradients.
    row_of_stack: [Vec<u32>; 2],
    label_of_frame: TrustedMap<(FrameId, bool), NameId>,
    folding: Option<Folding>,
    /// By frame: whether it was folded.
    is_folded: Vec<bool>,
}

struct Line {
    parent: u32,
    label: NameId,
    frame: FrameId,
    gradient: bool,
    /// Some of its nodes are gradients. That depends on labels alone, and a function may be called like a mark.
    has_gradients: bool,
    nodes: Vec<NodeId>,
}

const NONE: u32 = u32::MAX;
/// The row of a path whose frames are all folded, and none of which is the user's.
const OUTSIDE: u32 = u32::MAX - 1;

impl<'m> Lines<'m> {
    fn new(model: &'m Model, quirks: &'m Quirks, folding: Option<Folding>) -> Self {
        let by_stack = vec![NONE; model.stacks.len()];
        Lines {
            model,
            quirks,
            names: Names::default(),
            rows: Vec::new(),
            row_of: UntrustedMap::default(),
            row_of_stack: [by_stack.clone(), by_stack],
            label_of_frame: TrustedMap::default(),
            is_folded: if folding.is_some() { vec![false; model.stacks.frames().len()] } else { Vec::new() },
            folding,
        }
    }

    fn attach(&mut self, node: NodeId, stack: StackId, gradient: bool) {
        // Up to a path that has a row already, then down again, making rows.
        let mut missing = Vec::new();
        let mut at = stack;
        let mut row = NONE;
        while let Some((outer, frame)) = self.model.stacks.last(at) {
            row = self.row_of_stack[usize::from(gradient)][at.0 as usize];
            if row != NONE {
                break;
            }
            missing.push((at, frame));
            at = outer;
        }
        for (path, frame) in missing.into_iter().rev() {
            if self.folding.as_ref().is_some_and(|folding| folding.folds(path)) {
                self.is_folded[frame.0 as usize] = true;
                row = if row == NONE { OUTSIDE } else { row };
            } else {
                row = self.line(if row == OUTSIDE { NONE } else { row }, frame, gradient);
            }
            self.row_of_stack[usize::from(gradient)][path.0 as usize] = row;
        }
        if row == OUTSIDE {
            let outermost = self.folding.as_ref().map_or(stack, |folding| folding.outermost(stack));
            row = self.model.stacks.last(outermost).map_or(row, |(_, frame)| self.line(NONE, frame, gradient));
        }
        let line = &mut self.rows[row as usize];
        line.has_gradients |= gradient;
        line.nodes.push(node);
    }

    /// The line below `parent` that shows a frame; lines with the same label are one.
    fn line(&mut self, parent: u32, frame: FrameId, gradient: bool) -> u32 {
        let label = if let Some(label) = self.label_of_frame.get(&(frame, gradient)) {
            *label
        } else {
            let mark = if gradient { GRADIENT } else { "" };
            let label = label(self.model, self.quirks, self.model.stacks.frame(frame)) + mark;
            let label = self.names.intern(&label);
            self.label_of_frame.insert((frame, gradient), label);
            label
        };
        // Traces tell lines apart by their whole paths, op logs by the label.
        let key = if self.model.is_trace { (parent, NameId(frame.0)) } else { (parent, label) };
        *self.row_of.entry(key).or_insert_with(|| {
            self.rows.push(Line { parent, label, frame, gradient, has_gradients: false, nodes: Vec::new() });
            self.rows.len() as u32 - 1
        })
    }

    /// The number of frames folded, wherever they are.
    fn folded(&mut self) -> usize {
        self.rows
            .iter()
            .filter(|_| self.folding.is_some())
            .for_each(|line| self.is_folded[line.frame.0 as usize] = false);
        self.is_folded.iter().filter(|folded| **folded).count()
    }

    /// Rows in pre-order, siblings in the order in which they were made.
    fn into_tree(mut self) -> Tree {
        // Gradients were attached by the names of what they are gradients of.
        for line in self.rows.iter_mut().filter(|line| line.has_gradients) {
            line.nodes.sort_by(|a, b| self.model.name(*a).cmp(self.model.name(*b)));
        }
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); self.rows.len() + 1];
        for (row, line) in self.rows.iter().enumerate() {
            let parent = if line.parent == NONE { 0 } else { line.parent as usize + 1 };
            children[parent].push(row as u32);
        }
        let lengths: Vec<_> = self.rows.iter().map(|line| self.names.get(line.label).len()).collect();
        let mut tree = Tree::with_names(self.names);
        let mut open: Vec<(u32, usize)> = children[0].iter().rev().map(|row| (*row, 0)).collect();
        while let Some((row, parent)) = open.pop() {
            let line = &self.rows[row as usize];
            let at = tree.push_own(parent, line.label, lengths[row as usize]);
            line.nodes.iter().for_each(|node| tree.push_node(*node));
            tree.push_frame(line.frame, line.gradient);
            open.extend(children[row as usize + 1].iter().rev().map(|child| (*child, at)));
        }
        tree
    }
}

/// `file:line:function`, the directory left out and a long function cut.
fn label(model: &Model, quirks: &Quirks, frame: &Frame) -> String {
    let string = |text| string(model, quirks, frame, text);
    let (file, function) = (string(FrameText::File), string(FrameText::Function));
    let file = words::cut(file.rsplit('/').next().unwrap_or_default());
    if frame.lineno < 0 && model.is_trace {
        return format!("{file}:{}", cut(function));
    }
    format!("{file}:{}:{}", frame.lineno, cut(function))
}

/// A string of a frame. As the original, with quirks: logs share their numbers, so the first log's string counts.
pub fn string<'m>(model: &'m Model, quirks: &Quirks, frame: &Frame, text: FrameText) -> &'m str {
    let shared = if quirks.op_logs_share_strings { model.first_strings.get(&frame.string_id(text)) } else { None };
    model.names.get(shared.copied().unwrap_or_else(|| frame.name(text)))
}

/// Cuts a text of 20 bytes or more to 17 and three dots.
// Differs from the original: never in the middle of a character.
pub fn cut(text: &str) -> String {
    if text.len() < 20 {
        return text.to_owned();
    }
    let end = (0..=17).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}...", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_gradients() {
        let forward_name = |name| ForwardName::new().of(name);
        assert_eq!(forward_name("gradients/a/b_grad/mul"), Some("a/b"));
        assert_eq!(forward_name("tower/gradients/a_grad/b_grad/x"), Some("a"));
        assert_eq!(forward_name("gradients/_grad/x"), None);
        assert_eq!(forward_name("a_grad/gradients/b"), Some("b"));
        assert_eq!(forward_name("gradients/a"), None);
        assert_eq!(forward_name("a"), None);
    }

    #[test]
    fn long_functions_are_cut_between_characters() {
        assert_eq!(cut("nineteen_chars_fn__"), "nineteen_chars_fn__");
        assert_eq!(cut("exactly_twenty_chars"), "exactly_twenty_ch...");
        assert_eq!(cut("exactly_twenty_cé_long"), "exactly_twenty_c...");
    }
}
