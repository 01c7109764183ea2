//! The steps that were loaded and what they measured.

use super::cells::{Cell, Cells, Measure};
use super::devices::{DeviceId, DeviceKind, Devices};
use super::nodes::{NodeId, Nodes};
use super::records::Records;
use std::collections::BTreeMap;

/// Which steps can be asked for one by one. Sums over all steps are always there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeepSteps {
    /// None: every step must arrive in one piece, since a step that comes back is counted as another.
    TotalsOnly,
    One(i64),
    #[default]
    Each,
}

/// In how many steps a node was seen: in all records, and in those on the first device of the node only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepCount {
    pub any_device: u32,
    pub first_device: u32,
}

#[derive(Clone, Debug, Default)]
pub struct Runs {
    pub keep: KeepSteps,
    steps: BTreeMap<i64, Option<Cells>>,
    /// By step, if single executions are kept; of steps that are not kept, only what others look at.
    records: BTreeMap<i64, Records>,
    totals: Cells,
    seen: Vec<StepCount>,
    negative: bool,
    most_often: u64,
    size_of_all: u128,
}

impl Runs {
    /// The steps that were loaded, in ascending order.
    pub fn steps(&self) -> impl Iterator<Item = i64> + '_ {
        self.steps.keys().copied()
    }

    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    pub fn has(&self, step: i64) -> bool {
        self.steps.contains_key(&step)
    }

    /// Sums over all steps.
    pub fn totals(&self) -> &Cells {
        &self.totals
    }

    /// The sums of one step, if that step was kept.
    pub fn step(&self, step: i64) -> Option<&Cells> {
        self.steps.get(&step)?.as_ref()
    }

    /// The executions of one step, if they were kept.
    pub fn records(&self, step: i64) -> Option<&Records> {
        self.records.get(&step)
    }

    /// The most memory that a node kept on accelerators from one execution to the next, over all steps.
    pub fn accelerator_persistent(&self, node: NodeId, counts: impl Fn(DeviceId) -> bool) -> i64 {
        let of_step = |records: &Records| {
            let memory = records.memory(node).iter().filter(|memory| counts(memory.device));
            memory.fold(0_i64, |sum, memory| sum.wrapping_add(memory.accelerator_persistent))
        };
        self.records.values().map(of_step).max().unwrap_or(0).max(0)
    }

    pub fn steps_seen(&self, node: NodeId) -> StepCount {
        self.seen.get(node.index()).copied().unwrap_or_default()
    }

    pub fn has_negative_numbers(&self) -> bool {
        self.negative
    }

    /// How often a node ran on one device at the most.
    pub fn most_often(&self) -> u64 {
        self.most_often
    }

    /// No sum over any part of the cells is larger than this, whatever its sign.
    pub fn size_of_all(&self) -> u128 {
        self.size_of_all
    }

    /// Adds the executions that one file has of a step.
    pub fn fold_records(&mut self, step: i64, mut records: Records) {
        records.sort();
        if !self.keeps(step) {
            records.keep_persistent_only();
        }
        match self.records.get_mut(&step) {
            Some(before) => before.merge(&records),
            None => drop(self.records.insert(step, records)),
        }
    }

    fn keeps(&self, step: i64) -> bool {
        match self.keep {
            KeepSteps::TotalsOnly => false,
            KeepSteps::One(kept) => kept == step,
            KeepSteps::Each => true,
        }
    }

    /// Adds what one file says of a step.
    pub fn fold(&mut self, step: i64, cells: Cells, nodes: &Nodes, devices: &Devices) {
        let keep = self.keeps(step);
        let before = self.steps.entry(step).or_default();
        let counts = |cell: &Cell| {
            devices.kind(cell.device) != DeviceKind::Placement || nodes.placement[cell.node.index()] == cell.device
        };
        if self.seen.len() < nodes.len() {
            self.seen.resize(nodes.len(), StepCount::default());
        }
        let mut most_often = 0;
        for cell in cells.rows() {
            self.negative |= cell.is_negative();
            most_often = most_often.max(cell.sum(Measure::Runs).wrapped().unsigned_abs());
            self.size_of_all += u128::from(cell.largest());
            // The first cell of a node stands for all of them.
            if cells.of(cell.node).next().is_some_and(|first| first.device == cell.device) {
                let seen = &mut self.seen[cell.node.index()];
                let old = || before.iter().flat_map(|before| before.of(cell.node));
                seen.any_device += u32::from(old().next().is_none());
                seen.first_device += u32::from(!old().any(counts) && cells.of(cell.node).any(counts));
            }
        }
        self.most_often = self.most_often.saturating_add(most_often);
        if self.totals.is_empty() && !keep {
            self.totals = cells;
            return;
        }
        self.totals.merge(&cells);
        if keep {
            match before {
                Some(before) => before.merge(&cells),
                None => *before = Some(cells),
            }
        }
    }
}
