//! Loops of TensorFlow 1: frames of a graph, delimited by `Enter`, `Merge`, `Switch`, `NextIteration` and `Exit`.

use super::trips::{self, Affine, Facts, Numbers};
use crate::budget;
use crate::error::Warning;
use crate::hash::UntrustedMap;
use crate::infer::fact::Fact;
use crate::model::attr_value;
use crate::model::body::{Body, Tensor};
use std::cell::RefCell;
use std::collections::VecDeque;

/// The runs of each node.
#[derive(Clone, Debug, Default)]
pub struct Runs {
    /// `None` if there are no loops, so all nodes run once.
    pub runs: Option<Vec<i64>>,
    pub warnings: Vec<Warning>,
}

/// The limit of nested loops.
const MAX_DEPTH: u32 = 32;

/// The frame of nodes outside all loops.
const OUTSIDE: u32 = 0;

#[derive(Debug)]
struct Frame {
    name: String,
    parent: u32,
    depth: u32,
    trips: i64,
}

/// Counts the runs of each node at a size of the batch. `given` returns the user's trip count for a loop.
pub fn runs(body: &Body, facts: Facts<'_>, given: &dyn Fn(&str) -> Option<i64>) -> Runs {
    let is = |node: u32, names: [&str; 2]| names.contains(&body.op(node));
    if !body.ops().0.any(|op| op == "Enter" || op == "RefEnter") {
        return Runs::default();
    }
    let nodes = body.len() as u32;
    let (mut frames, frame_of) = frames(body);
    let mut in_condition = vec![false; nodes as usize];
    let mut warnings = Vec::new();
    let mut conditions: VecDeque<u32> =
        (0..nodes).filter(|node| is(*node, ["LoopCond", ""]) && frame_of[*node as usize] != OUTSIDE).collect();
    conditions.iter().for_each(|node| mark_condition(body, *node, &frame_of, &mut in_condition));
    // The loop of a gradient starts counting where the forward loop ended, so each known trip count may reveal others:
    // by frame, the conditions that wait for its trip count.
    let mut known = vec![None; frames.len()];
    let mut waiting: Vec<Vec<u32>> = vec![Vec::new(); frames.len()];
    while let Some(node) = conditions.pop_front() {
        budget::work(1);
        let frame = frame_of[node as usize] as usize;
        let needed = RefCell::new(Vec::new());
        let numbers = InFrame { body, facts, known: &known, frame_of: &frame_of, needed: &needed };
        let (name, short) = names_of(&frames[frame]);
        let trips = match given(name).or_else(|| given(short)) {
            Some(count) => Some(trips::Trips { count, exact: true }),
            None => body.inputs(node).first().and_then(|condition| trips::of_condition(&numbers, *condition)),
        };
        known[frame] = trips;
        if trips.is_some() {
            conditions.extend(waiting[frame].drain(..));
        } else {
            needed.into_inner().into_iter().for_each(|frame: u32| waiting[frame as usize].push(node));
        }
    }
    // A frame that was entered before its parent was known has no nodes.
    let mut has_nodes = vec![false; frames.len()];
    frame_of.iter().for_each(|frame| has_nodes[*frame as usize] = true);
    for (frame, trips) in known.into_iter().enumerate().skip(1).filter(|(frame, _)| has_nodes[*frame]) {
        warnings.extend(trips::warning(names_of(&frames[frame]).1, trips.as_ref()));
        frames[frame].trips = trips.map_or(1, |trips| trips.count);
    }
    // Each frame follows its parent.
    let mut times = vec![1_i64; frames.len()];
    for at in 1..frames.len() {
        times[at] = times[frames[at].parent as usize].saturating_mul(frames[at].trips);
    }
    let count = |node: u32| {
        let frame = frame_of[node as usize] as usize;
        let outer_runs = times[frames[frame].parent as usize];
        match () {
            () if frame == OUTSIDE as usize => 1,
            () if is(node, ["Enter", "RefEnter"]) => outer_runs,
            () if in_condition[node as usize]
                || is(node, ["Merge", "RefMerge"])
                || is(node, ["Switch", "RefSwitch"]) =>
            {
                outer_runs.saturating_mul(frames[frame].trips.saturating_add(1))
            }
            () => times[frame],
        }
    };
    Runs { runs: Some((0..nodes).map(count).collect()), warnings }
}

/// The names of a frame and its loop: `while/while_context` and `while`.
fn names_of(frame: &Frame) -> (&str, &str) {
    let name = frame.name.as_str();
    let short = name.strip_suffix("/while_context").or_else(|| name.rsplit_once('/').map(|(scope, _)| scope));
    (name, short.unwrap_or(name))
}

/// The frames, and the frame of each node.
fn frames(body: &Body) -> (Vec<Frame>, Vec<u32>) {
    let nodes = body.len();
    let mut readers: Vec<Vec<u32>> = vec![Vec::new(); nodes];
    for node in 0..nodes as u32 {
        for source in body.inputs(node).iter().map(|input| input.node).chain(body.controls(node).iter().copied()) {
            if let Some(list) = readers.get_mut(source as usize) {
                list.push(node);
            }
        }
    }
    let mut frames = vec![Frame { name: String::new(), parent: OUTSIDE, depth: 0, trips: 1 }];
    let mut children = UntrustedMap::default();
    let mut frame_of = vec![OUTSIDE; nodes];
    let is_enter = |node: u32| matches!(body.op(node), "Enter" | "RefEnter");
    let mut waiting: VecDeque<u32> = (0..nodes as u32).filter(|node| is_enter(*node)).collect();
    // Bounds how often the frame of a node may change.
    let mut visits = vec![0_u32; nodes];
    while let Some(node) = waiting.pop_front() {
        visits[node as usize] += 1;
        if visits[node as usize] > MAX_DEPTH {
            continue;
        }
        let source = |tensor: &Tensor| frame_of.get(tensor.node as usize).copied().unwrap_or(OUTSIDE);
        let outer = match body.op(node) {
            "Exit" | "RefExit" => {
                body.inputs(node).first().map_or(OUTSIDE, |tensor| frames[source(tensor) as usize].parent)
            }
            "Enter" | "RefEnter" => body.inputs(node).first().map_or(OUTSIDE, source),
            _ => {
                let sources =
                    body.inputs(node).iter().map(|input| input.node).chain(body.controls(node).iter().copied());
                let enclosing = sources.filter_map(|source| frame_of.get(source as usize).copied());
                enclosing.max_by_key(|frame| frames[*frame as usize].depth).unwrap_or(OUTSIDE)
            }
        };
        let frame = if is_enter(node) && frames[outer as usize].depth < MAX_DEPTH {
            let name = body.attribute(node, "frame_name").and_then(attr_value::text).unwrap_or_default();
            *children.entry((outer, name)).or_insert_with(|| add_frame(&mut frames, outer, name))
        } else {
            outer
        };
        if frame_of[node as usize] != frame || visits[node as usize] == 1 {
            frame_of[node as usize] = frame;
            waiting.extend(&readers[node as usize]);
        }
    }
    (frames, frame_of)
}

/// Adds the frame `name` inside `parent`.
fn add_frame(frames: &mut Vec<Frame>, parent: u32, name: &[u8]) -> u32 {
    budget::check();
    let depth = frames[parent as usize].depth + 1;
    frames.push(Frame { name: String::from_utf8_lossy(name).into_owned(), parent, depth, trips: 1 });
    frames.len() as u32 - 1
}

/// Marks the nodes of a loop's condition: they run once more than the rest of the frame.
fn mark_condition(body: &Body, condition: u32, frame_of: &[u32], in_condition: &mut [bool]) {
    let frame = frame_of[condition as usize];
    let mut waiting = vec![condition];
    while let Some(node) = waiting.pop() {
        let inside = frame_of.get(node as usize) == Some(&frame);
        if inside
            && !matches!(body.op(node), "Merge" | "RefMerge")
            && !std::mem::replace(&mut in_condition[node as usize], true)
        {
            waiting.extend(body.inputs(node).iter().map(|input| input.node));
        }
    }
}

struct InFrame<'a> {
    body: &'a Body,
    facts: Facts<'a>,
    /// The trip count of each frame, if known.
    known: &'a [Option<trips::Trips>],
    frame_of: &'a [u32],
    /// Frames whose trip count was asked for and is not known yet.
    needed: &'a RefCell<Vec<u32>>,
}

impl InFrame<'_> {
    /// The start of a counter: a constant, or the end of another counter.
    fn start(&self, entered: Tensor) -> Option<i64> {
        let mut at = entered;
        for _ in 0..MAX_DEPTH {
            if let Some(number) = self.fact(at).and_then(Fact::integer) {
                return Some(number);
            }
            if at.node as usize >= self.body.len() {
                return None;
            }
            if matches!(self.body.op(at.node), "Exit" | "RefExit") {
                return self.end(*self.body.inputs(at.node).first()?);
            }
            at = self.passed(at.node)?;
        }
        None
    }

    /// The final value of a counter that leaves its loop as `tensor`.
    fn end(&self, tensor: Tensor) -> Option<i64> {
        let mut at = tensor;
        for _ in 0..MAX_DEPTH {
            if self.merge(at.node).is_some() {
                let frame = *self.frame_of.get(at.node as usize)?;
                let Some(trips) = self.known.get(frame as usize).copied()? else {
                    self.needed.borrow_mut().push(frame);
                    return None;
                };
                // The counter must start with a constant: chains of loops are not followed.
                let [entered, next] = self.merge(at.node)? else { return None };
                let base = self.fact(*entered)?.integer()?;
                let merge = Tensor { node: at.node, output: 0 };
                let step = trips::step(self.body, self.facts, &|node| self.passed(node), merge, *next)?;
                return Affine { base, step }.after(trips.count);
            }
            if at.node as usize >= self.body.len() {
                return None;
            }
            at = self.passed(at.node)?;
        }
        None
    }

    fn merge(&self, node: u32) -> Option<&[Tensor]> {
        let there = (node as usize) < self.body.len();
        (there && matches!(self.body.op(node), "Merge" | "RefMerge")).then(|| self.body.inputs(node))
    }
}

impl Numbers for InFrame<'_> {
    fn body(&self) -> &Body {
        self.body
    }

    fn fact(&self, tensor: Tensor) -> Option<&Fact> {
        self.facts.get(tensor)
    }

    fn counter(&self, tensor: Tensor) -> Option<Affine> {
        let [entered, next] = self.merge(tensor.node)? else { return None };
        let base = self.start(*entered)?;
        let merge = Tensor { node: tensor.node, output: 0 };
        let passed = |node: u32| self.passed(node);
        let step = trips::step(self.body, self.facts, &passed, merge, *next)?;
        Some(Affine { base, step })
    }

    fn passed(&self, node: u32) -> Option<Tensor> {
        const PASSES: &[&str] =
            &["Switch", "RefSwitch", "Enter", "RefEnter", "NextIteration", "RefNextIteration", "LoopCond"];
        let first = self.body.inputs(node).first().copied();
        first.filter(|_| PASSES.contains(&self.body.op(node))).or_else(|| trips::passed(self.body, node))
    }
}
