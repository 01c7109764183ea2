//! The order in which the nodes of a body are visited: sources before their readers, back edges of loops aside.

use crate::hash::TrustedMap;
use crate::model::body::{Body, NO_NODE, Tensor};

/// For each node, the nodes that read its outputs.
#[derive(Debug)]
pub struct Readers {
    readers: Vec<u32>,
    ends: Vec<u32>,
}

/// Tensors that are pushed to a stack, by the nodes that pop them, and predicates of conditionals, by their Merge: no edge
/// of the graph connects them.
pub type Pushes = TrustedMap<u32, Tensor>;

/// Finds the contents of stacks, assuming that all tensors pushed to one are alike. Handles pass through loop entries.
pub fn pushes(body: &Body) -> Pushes {
    const FAR: usize = 64;
    let (mut pushed, mut pops) = (TrustedMap::default(), Vec::new());
    for node in 0..body.len() as u32 {
        let (is_push, is_pop) = match body.op(node) {
            "StackPushV2" | "StackPush" => (true, false),
            "StackPopV2" | "StackPop" => (false, true),
            _ => continue,
        };
        let mut at = body.inputs(node).first().map_or(NO_NODE, |handle| handle.node);
        for _ in 0..FAR {
            let hands_on =
                (at as usize) < body.len() && matches!(body.op(at), "Enter" | "RefEnter" | "Identity" | "Switch");
            match (if hands_on { body.inputs(at) } else { &[] }).first() {
                Some(next) => at = next.node,
                None => break,
            }
        }
        if is_push {
            pushed.entry(at).or_insert(Tensor { node, output: 0 });
        } else if is_pop {
            pops.push((node, at));
        }
    }
    pops.into_iter().filter_map(|(pop, stack)| Some((pop, *pushed.get(&stack)?))).collect()
}

/// The nodes that must be visited before a node.
fn sources<'a>(body: &'a Body, pushes: &'a Pushes, node: u32) -> impl Iterator<Item = u32> + 'a {
    let data = body.inputs(node).iter().chain(pushes.get(&node));
    data.map(|input| input.node).filter(|source| (*source as usize) < body.len())
}

impl Readers {
    pub fn new(body: &Body, pushes: &Pushes) -> Self {
        let nodes = body.len();
        let sources = |node: u32| sources(body, pushes, node).map(|source| source as usize);
        let mut starts = vec![0_u32; nodes + 1];
        for node in 0..nodes as u32 {
            sources(node).for_each(|source| starts[source + 1] += 1);
        }
        for at in 0..nodes {
            starts[at + 1] += starts[at];
        }
        let mut ends = starts;
        let mut readers = vec![0; ends[nodes] as usize];
        for node in 0..nodes as u32 {
            for source in sources(node) {
                readers[ends[source] as usize] = node;
                ends[source] += 1;
            }
        }
        Readers { readers, ends }
    }

    pub fn of(&self, node: u32) -> &[u32] {
        let start = if node == 0 { 0 } else { self.ends[node as usize - 1] as usize };
        &self.readers[start..self.ends[node as usize] as usize]
    }
}

/// Nodes in data order, ignoring the back edges of loops. Nodes on other cycles, which TensorFlow does not make, come
/// last.
pub fn order(body: &Body, readers: &Readers, pushes: &Pushes) -> Vec<u32> {
    let nodes = body.len();
    let closes = |node: u32| matches!(body.op(node), "NextIteration" | "RefNextIteration");
    let mut open = vec![0_u32; nodes];
    for node in 0..nodes as u32 {
        open[node as usize] = sources(body, pushes, node).filter(|source| !closes(*source)).count() as u32;
    }
    let mut order: Vec<u32> = (0..nodes as u32).filter(|node| open[*node as usize] == 0).collect();
    let mut ordered = vec![false; nodes];
    let mut at = 0;
    while let Some(node) = order.get(at).copied() {
        at += 1;
        ordered[node as usize] = true;
        if closes(node) {
            continue;
        }
        for reader in readers.of(node) {
            open[*reader as usize] -= 1;
            if open[*reader as usize] == 0 {
                order.push(*reader);
            }
        }
    }
    order.extend((0..nodes as u32).filter(|node| !ordered[*node as usize]));
    order
}
