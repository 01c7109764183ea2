//! Facts of traces about ops, besides their times: categories, compiled programs, kernels, and which costs are known.

use super::names::NameId;
use super::nodes::NodeId;
use crate::budget;
use crate::hardware::Precision;
use crate::hash::TrustedMap;
use crate::model::TimeUnit;
use crate::units::Amount;
use std::fmt;

/// The facts of all ops that a trace has.
#[derive(Clone, Debug, Default)]
pub struct OpFacts {
    of_node: TrustedMap<NodeId, Facts>,
}

/// The facts of one op. If several programs or devices have it, of all of them.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    pub categories: Vec<NameId>,
    pub programs: Vec<NameId>,
    pub kernels: Vec<Kernel>,
    /// Its FLOPs are known for some run, and unknown for some.
    pub knows_flops: bool,
    pub misses_flops: bool,
    /// Its bytes are known for some run.
    pub knows_bytes: bool,
    /// The precision of its inputs, if the trace tells.
    pub precision: Option<Precision>,
}

/// A kernel as it was launched, with its sums over the whole trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kernel {
    pub name: String,
    pub launch: Launch,
    pub runs: i64,
    /// Picoseconds.
    pub time: i64,
}

/// The attributes of a launch, as far as they were recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Launch {
    /// For each thread.
    pub registers: Option<u64>,
    /// For each block, static and dynamic.
    pub shared_bytes: Option<u64>,
    pub grid: Option<[u64; 3]>,
    pub block: Option<[u64; 3]>,
    /// In percent of the warps that fit.
    pub occupancy: Option<f64>,
}

impl OpFacts {
    pub fn get(&self, node: NodeId) -> Option<&Facts> {
        // Graphs have none, and do not pay for a lookup.
        if self.of_node.is_empty() { None } else { self.of_node.get(&node) }
    }

    pub fn at(&mut self, node: NodeId) -> &mut Facts {
        self.of_node.entry(node).or_default()
    }
}

impl Facts {
    pub fn add_category(&mut self, category: NameId) {
        add(&mut self.categories, category);
    }

    pub fn add_program(&mut self, program: NameId) {
        add(&mut self.programs, program);
    }
}

/// Few ops have more than one.
fn add(names: &mut Vec<NameId>, name: NameId) {
    budget::work(names.len() as u64 / 4);
    if name != NameId::EMPTY && !names.contains(&name) {
        names.push(name);
    }
}

/// `NAME registers:38 shared:0 grid:160,1,1 block:1024,1,1 occupancy:50 runs:194 micros:7908.309`
impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Launch { registers, shared_bytes, grid, block, occupancy } = self.launch;
        f.write_str(&self.name)?;
        for (word, number) in [("registers", registers), ("shared", shared_bytes)] {
            if let Some(number) = number {
                write!(f, " {word}:{number}")?;
            }
        }
        for (word, sizes) in [("grid", grid), ("block", block)] {
            if let Some([x, y, z]) = sizes {
                write!(f, " {word}:{x},{y},{z}")?;
            }
        }
        if let Some(occupancy) = occupancy {
            write!(f, " occupancy:{occupancy}")?;
        }
        write!(f, " runs:{} micros:{}", self.runs, Amount { n: self.time, parts: TimeUnit::Picos.per_micro() })
    }
}
