//! [`Results`]: the results of ops, each stored once.
//!
//! A model repeats its layers, so most nodes apply the same op with the same attributes to the same facts as an earlier
//! one. Such a node is looked up instead of evaluated, and takes four bytes.

use super::fact::{BATCHES, Fact, Shape};
use super::inference::{Cost, NodeCost};
use crate::hash::UntrustedState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

/// Facts up to this weight are free; all heavier ones share a budget. A graph of a few bytes per node must not take
/// kilobytes per node.
const SMALL: usize = 16;
const ALL_LARGE: usize = 1 << 22;

/// Outputs and cost of a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Outcome {
    pub outputs: Vec<Fact>,
    pub cost: NodeCost,
    /// The known part of the cost at each of [`BATCHES`].
    pub by_batch: [Cost; BATCHES.len()],
    /// The inferred shape and the one that the file states, if they contradict each other.
    pub conflict: Option<(Shape, Shape)>,
}

impl Outcome {
    /// One that does not depend on the size of the batch.
    pub fn new(cost: NodeCost, outputs: Vec<Fact>) -> Outcome {
        Outcome { outputs, by_batch: [cost.known(); BATCHES.len()], cost, conflict: None }
    }
}

/// Distinct outcomes, and the keys by which they are found again: op, attributes, observed shapes and inputs.
#[derive(Clone, Debug)]
pub struct Results {
    outcomes: Vec<Outcome>,
    by_outcome: HashTable<u32>,
    /// The numbers of all keys, one key after the other, and where each ends.
    numbers: Vec<u32>,
    ends: Vec<u32>,
    /// By key, its result.
    of_key: Vec<u32>,
    by_key: HashTable<u32>,
    /// The key that is looked up.
    key: Vec<u32>,
    state: UntrustedState,
    /// The rest of the budget [`ALL_LARGE`].
    large: usize,
}

impl Default for Results {
    fn default() -> Self {
        Results {
            outcomes: Vec::new(),
            by_outcome: HashTable::new(),
            numbers: Vec::new(),
            ends: Vec::new(),
            of_key: Vec::new(),
            by_key: HashTable::new(),
            key: Vec::new(),
            state: UntrustedState::default(),
            large: ALL_LARGE,
        }
    }
}

/// The numbers of a key before those of its inputs.
const HEAD: usize = 4;

impl Results {
    pub fn get(&self, result: u32) -> Option<&Outcome> {
        self.outcomes.get(result as usize)
    }

    pub fn outputs(&self, result: u32) -> &[Fact] {
        self.get(result).map_or(&[], |outcome| &outcome.outputs)
    }

    pub fn any(&self, is_it: impl Fn(&Outcome) -> bool) -> bool {
        self.outcomes.iter().any(is_it)
    }

    pub fn fact(&self, result: u32, output: u32) -> Option<&Fact> {
        self.outputs(result).get(output as usize)
    }

    /// Starts a new key.
    pub fn start_key(&mut self, head: [u32; HEAD]) {
        self.key.clear();
        self.key.extend(head);
    }

    /// Adds an input to the key: an output of a result.
    pub fn push_input(&mut self, result: u32, output: u32) {
        self.key.extend([result, output]);
    }

    /// The facts of the inputs of the current key. Inputs without a result are unknown.
    pub fn inputs(&self) -> Vec<Fact> {
        let input = |pair: &[u32]| self.fact(pair[0], pair[1]).cloned().unwrap_or_default();
        self.key[HEAD..].chunks_exact(2).map(input).collect()
    }

    /// The result of the current key, if it is known.
    pub fn find(&self) -> Option<u32> {
        let hash = self.state.hash_one(&self.key[..]);
        let key = self.by_key.find(hash, |key| self.numbers_of(*key) == self.key)?;
        Some(self.of_key[*key as usize])
    }

    /// Adds an outcome, and finds it again by the current key if it is `pure`.
    pub fn add(&mut self, outcome: Outcome, pure: bool) -> u32 {
        let hash = self.state.hash_one(&outcome);
        let known = self.by_outcome.find(hash, |at| self.outcomes[*at as usize] == outcome).copied();
        let result = known.unwrap_or_else(|| self.insert(outcome));
        if pure {
            let hash = self.state.hash_one(&self.key[..]);
            let key = self.of_key.len() as u32;
            self.numbers.extend_from_slice(&self.key);
            self.ends.push(self.numbers.len() as u32);
            self.of_key.push(result);
            let Results { numbers, ends, state, .. } = self;
            self.by_key.insert_unique(hash, key, |key| state.hash_one(numbers_of(numbers, ends, *key)));
        }
        result
    }

    fn insert(&mut self, mut outcome: Outcome) -> u32 {
        let outputs = &mut outcome.outputs;
        if outputs.len() > SMALL {
            let more = outputs.len() - SMALL;
            outputs.truncate(SMALL + more.min(self.large));
            self.large = self.large.saturating_sub(more);
        }
        for output in outputs.iter_mut().filter(|output| output.weight() > SMALL) {
            match self.large.checked_sub(output.weight()) {
                Some(left) => self.large = left,
                None => *output = Fact::of_type(output.dtype),
            }
        }
        let at = self.outcomes.len() as u32;
        let hash = self.state.hash_one(&outcome);
        self.outcomes.push(outcome);
        let Results { outcomes, state, .. } = self;
        self.by_outcome.insert_unique(hash, at, |at| state.hash_one(&outcomes[*at as usize]));
        at
    }

    /// Drops the data that only inference needs.
    pub fn forget_keys(&mut self) {
        *self = Results { outcomes: std::mem::take(&mut self.outcomes), ..Results::default() };
    }

    fn numbers_of(&self, key: u32) -> &[u32] {
        numbers_of(&self.numbers, &self.ends, key)
    }
}

fn numbers_of<'a>(numbers: &'a [u32], ends: &[u32], key: u32) -> &'a [u32] {
    let start = if key == 0 { 0 } else { ends[key as usize - 1] as usize };
    &numbers[start..ends[key as usize] as usize]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::dtype::DType;

    #[test]
    fn equal_outcomes_share_a_result_and_keys_find_it() {
        let mut results = Results::default();
        let outcome = |size: i64| {
            Outcome::new(NodeCost::Known(Cost::default()), vec![Fact::new(DType::FLOAT, Shape::of(&[size]))])
        };
        results.start_key([1, 2, 0]);
        assert_eq!(results.find(), None);
        let first = results.add(outcome(5), true);
        results.start_key([1, 3, 0]);
        results.push_input(first, 0);
        assert_eq!((results.find(), results.inputs()), (None, outcome(5).outputs));
        assert_eq!(results.add(outcome(5), true), first);
        results.start_key([1, 2, 0]);
        assert_eq!(results.find(), Some(first));
        assert_ne!(results.add(outcome(6), false), first);
        assert_eq!(results.find(), Some(first));
    }
}
