//! The loaded steps and their measurements.

use super::cells::{Cell, CellMut, Cells, Measure, Parts, Sum, Sums};
use super::devices::{DeviceId, DeviceKind, Devices};
use super::join::Renumber;
use super::nodes::NodeId;
use super::records::Records;
use super::step_times::StepTimes;
use std::collections::BTreeMap;

/// Which steps are kept individually. Sums over all steps are always kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeepSteps {
    /// None. Each step must arrive in one piece: if it comes back, it counts as another step.
    TotalsOnly,
    One(i64),
    /// Of each, how often and how long nodes ran. As with `TotalsOnly`, each must arrive in one piece.
    Times,
    #[default]
    Each,
}

/// In how many steps a node ran: on any device, and on its first device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepCount {
    pub any_device: u32,
    pub first_device: u32,
}

#[derive(Clone, Debug, Default)]
pub struct Runs {
    pub keep: KeepSteps,
    steps: BTreeMap<i64, Option<Cells>>,
    /// By step, if single executions are kept. Of other steps, only the parts that kept steps need.
    records: BTreeMap<i64, Records>,
    /// By step, with [`KeepSteps::Times`].
    times: BTreeMap<i64, StepTimes>,
    /// Those of the current run, and the row of its last record.
    times_of_run: StepTimes,
    last_row: usize,
    totals: Cells,
    /// Sums over all steps and everything outside of steps, if files have such.
    everything: Option<Cells>,
    seen: Vec<Seen>,
    /// The number of the current run, from 1.
    run: u32,
    most_often: u64,
    sizes: Sizes,
}

/// In how many steps a node ran, and the last run that was counted.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    steps: StepCount,
    last_any: u32,
    last_first: u32,
}

/// A bound on the size of numbers, and whether any is negative: enough to know that no sum wraps.
#[derive(Clone, Copy, Debug, Default)]
struct Sizes {
    numbers: u64,
    bits: u64,
    negative: bool,
}

impl Sizes {
    #[inline]
    fn note(&mut self, sums: &Sums) {
        self.note_numbers(sums.map(Sum::limited));
    }

    #[inline]
    fn note_numbers(&mut self, numbers: [i64; Measure::COUNT]) {
        let mut signs = 0;
        for n in numbers {
            signs |= n;
            self.bits |= n.unsigned_abs();
        }
        self.negative |= signs < 0;
        self.numbers += 1;
    }

    /// An upper bound on the absolute value of any partial sum.
    fn bound(self) -> u128 {
        let largest = u64::MAX.checked_shr(self.bits.leading_zeros()).unwrap_or(0);
        u128::from(largest) * u128::from(self.numbers)
    }

    fn add(&mut self, other: Sizes) {
        self.numbers += other.numbers;
        self.bits |= other.bits;
        self.negative |= other.negative;
    }
}

/// All steps of profiles, merged from all files.
#[derive(Debug, Default)]
pub struct ProfileRuns {
    /// The steps, with their sums if they are kept.
    pub steps: BTreeMap<i64, Option<Cells>>,
    pub totals: Cells,
    pub everything: Cells,
    /// In how many steps each node ran.
    pub seen: Vec<(NodeId, u32)>,
}

/// By node, the steps in which it ran.
#[derive(Clone, Debug, Default)]
pub struct NodeSteps {
    steps: Vec<i64>,
    /// Where the steps of each node end.
    ends: Vec<usize>,
}

impl NodeSteps {
    /// In ascending order.
    pub fn of(&self, node: NodeId) -> &[i64] {
        let end_of = |node: usize| self.ends.get(node).copied().unwrap_or(self.steps.len());
        let start = node.index().checked_sub(1).map_or(0, end_of);
        &self.steps[start..end_of(node.index())]
    }
}

impl Runs {
    /// The kept steps of each node. An index, as searching every step for every node would be slow.
    pub fn steps_of_nodes(&self) -> NodeSteps {
        let kept = || self.steps.iter().filter_map(|(step, cells)| Some((*step, cells.as_ref()?)));
        let nodes = kept().flat_map(|(_, cells)| cells.rows()).map(|cell| cell.node.index() + 1).max().unwrap_or(0);
        let mut ends = vec![0; nodes];
        kept().flat_map(|(_, cells)| cells.nodes()).for_each(|node| ends[node.index()] += 1);
        let mut end = 0;
        for slot in &mut ends {
            // Turn counts into start positions.
            end += std::mem::replace(slot, end);
        }
        let mut steps = vec![0; end];
        for (step, cells) in kept() {
            for node in cells.nodes() {
                let place = &mut ends[node.index()];
                steps[*place] = step;
                *place += 1;
            }
        }
        NodeSteps { steps, ends }
    }

    /// The loaded steps, in ascending order.
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

    /// Sums over all steps and everything outside of steps.
    pub fn everything(&self) -> &Cells {
        self.everything.as_ref().unwrap_or(&self.totals)
    }

    /// The sums of one step, if that step was kept.
    pub fn step(&self, step: i64) -> Option<&Cells> {
        self.steps.get(&step)?.as_ref()
    }

    /// How often and how long nodes ran in one step, by row of [`Runs::totals`], if that is all that was kept.
    pub fn times(&self, step: i64) -> Option<&StepTimes> {
        self.times.get(&step)
    }

    /// The executions of one step, if they were kept.
    pub fn records(&self, step: i64) -> Option<&Records> {
        self.records.get(&step)
    }

    /// The most memory that a node kept on accelerators from one execution to the next, over all steps. `add`: as the
    /// original, the executions of a step add up.
    pub fn accelerator_persistent(&self, node: NodeId, add: bool, counts: impl Fn(DeviceId) -> bool) -> i64 {
        let of_step = |records: &Records| {
            let memory = records.memory(node).iter().filter(|memory| counts(memory.device));
            let bytes = memory.map(|memory| memory.accelerator_persistent);
            if add { bytes.fold(0, i64::wrapping_add) } else { bytes.max().unwrap_or(0) }
        };
        self.records.values().map(of_step).max().unwrap_or(0).max(0)
    }

    pub fn steps_seen(&self, node: NodeId) -> StepCount {
        self.seen.get(node.index()).copied().unwrap_or_default().steps
    }

    pub fn has_negative_numbers(&self) -> bool {
        self.sizes.negative
    }

    /// The highest run count of any node on one device.
    pub fn most_often(&self) -> u64 {
        self.most_often
    }

    /// An upper bound on the absolute value of any partial sum of the cells.
    pub fn size_of_all(&self) -> u128 {
        self.sizes.bound()
    }

    /// Begins a run of a step; false if it is only summed, record by record, into [`Runs::cell`].
    pub fn begin_run(&mut self, step: i64) -> bool {
        self.run = self.run.wrapping_add(1);
        self.keeps(step)
    }

    /// The cell for a record of the current run, in a step that is only summed. `counts`: the device counts as the
    /// node's first.
    #[inline]
    pub fn cell(&mut self, node: NodeId, device: DeviceId, counts: bool) -> CellMut<'_> {
        if node.index() >= self.seen.len() {
            self.seen.resize((node.index() + 1).max(self.seen.len() * 2), Seen::default());
        }
        let seen = &mut self.seen[node.index()];
        if seen.last_any != self.run {
            seen.last_any = self.run;
            seen.steps.any_device += 1;
        }
        if counts && seen.last_first != self.run {
            seen.last_first = self.run;
            seen.steps.first_device += 1;
        }
        self.last_row = self.totals.row(node, device);
        if self.keep == KeepSteps::Times {
            self.times_of_run.see(self.last_row);
        }
        self.totals.row_mut(self.last_row).begin(self.run)
    }

    /// Like [`Runs::cell`], for a step that was already counted for this node.
    pub fn counted_cell(&mut self, node: NodeId, device: DeviceId) -> CellMut<'_> {
        self.totals.at(node, device)
    }

    /// Updates the bound after numbers were added to the last cell of [`Runs::cell`]; `ran` is its run count.
    #[inline]
    pub fn note(&mut self, sums: &Sums, ran: i64) {
        self.note_numbers(sums.map(Sum::limited), ran);
    }

    /// The same for numbers that did not overflow.
    #[inline]
    pub fn note_numbers(&mut self, numbers: [i64; Measure::COUNT], ran: i64) {
        if self.keep == KeepSteps::Times {
            self.times_of_run.add(self.last_row, numbers);
        }
        self.sizes.note_numbers(numbers);
        self.most_often = self.most_often.max(ran.unsigned_abs());
    }

    /// Ends a run of a step that was only summed.
    pub fn end_run(&mut self, step: i64) {
        self.steps.entry(step).or_default();
        if self.keep == KeepSteps::Times {
            let times = std::mem::take(&mut self.times_of_run);
            match self.times.get_mut(&step) {
                Some(before) => before.merge(&times, |row| row),
                None => drop(self.times.insert(step, times)),
            }
        }
    }

    /// Adds later steps, whose ids of nodes and devices differ.
    pub fn join(&mut self, later: Runs, numbers: &Renumber<'_>, placement: &[DeviceId]) {
        for (step, mut records) in later.records {
            records.renumber(numbers);
            self.fold_records(step, records);
        }
        if self.keep == KeepSteps::Each {
            // A step may be in both, so count again.
            for (step, cells) in later.steps {
                let cells = numbers.cells(cells.unwrap_or_default(), Parts::OfOneStep);
                self.fold(step, cells, placement, numbers.devices);
            }
            return;
        }
        self.sizes.add(later.sizes);
        self.most_often = self.most_often.saturating_add(later.most_often);
        for (step, cells) in later.steps {
            self.steps.insert(step, cells.map(|cells| numbers.cells(cells, Parts::OfOneStep)));
        }
        // The column may be longer than there are nodes.
        for (old, seen) in later.seen.into_iter().enumerate().filter(|(_, seen)| seen.steps.any_device > 0) {
            let node = numbers.node(NodeId(old as u32)).index();
            if node >= self.seen.len() {
                self.seen.resize(node + 1, Seen::default());
            }
            let steps = &mut self.seen[node].steps;
            steps.any_device += seen.steps.any_device;
            steps.first_device += seen.steps.first_device;
        }
        let mut row_of = |cell: Cell<'_>| {
            let node = numbers.node(cell.node);
            self.totals.row(node, numbers.device(node, cell.device))
        };
        if self.keep == KeepSteps::Times {
            let rows: Vec<usize> = later.totals.rows().map(&mut row_of).collect();
            for (step, times) in &later.times {
                self.times.entry(*step).or_default().merge(times, |row| rows[row]);
            }
        }
        self.totals.merge(&numbers.cells(later.totals, Parts::OfOtherSteps), Parts::OfOtherSteps);
    }

    /// The same without some of the steps. All of them must have been kept.
    #[must_use]
    pub fn without(&self, left_out: &[i64], placement: &[DeviceId], devices: &Devices) -> Runs {
        let keep = if self.times.is_empty() { KeepSteps::Each } else { KeepSteps::Times };
        let mut runs = Runs { keep, everything: self.everything.clone(), ..Runs::default() };
        let mut row_of = vec![0; if keep == KeepSteps::Times { self.totals.rows().len() } else { 0 }];
        for (step, times) in self.times.iter().filter(|(step, _)| !left_out.contains(step)) {
            runs.fold(*step, times.cells(&self.totals), placement, devices);
            for (row, _) in times.rows() {
                let Cell { node, device, .. } = self.totals.get(row);
                row_of[row] = runs.totals.row(node, device);
            }
            runs.times.entry(*step).or_default().merge(times, |row| row_of[row]);
        }
        let steps = self.steps.iter().filter(|(step, _)| keep == KeepSteps::Each && !left_out.contains(step));
        for (step, cells) in steps {
            runs.fold(*step, cells.clone().unwrap_or_default(), placement, devices);
        }
        let records = self.records.iter().filter(|(step, _)| !left_out.contains(step));
        runs.records = records.map(|(step, records)| (*step, records.clone())).collect();
        runs
    }

    /// Adds one file's executions of a step.
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

    /// Whether the step is kept individually.
    pub fn keeps(&self, step: i64) -> bool {
        match self.keep {
            KeepSteps::TotalsOnly | KeepSteps::Times => false,
            KeepSteps::One(kept) => kept == step,
            KeepSteps::Each => true,
        }
    }

    /// Adds all steps of profiles at once.
    pub fn set_profile(&mut self, profile: ProfileRuns, nodes: usize) {
        let ProfileRuns { mut steps, totals, everything, seen } = profile;
        for cell in everything.rows() {
            self.most_often = self.most_often.max(cell.sum(Measure::Runs).wrapped().unsigned_abs());
            self.sizes.note(&cell.sums());
        }
        self.seen = vec![Seen::default(); nodes];
        for (node, count) in seen {
            self.seen[node.index()].steps = StepCount { any_device: count, first_device: count };
        }
        self.steps.append(&mut steps);
        self.totals = totals;
        self.everything = Some(everything);
    }

    /// Sets the sums of a partial: of all steps, and of some single ones.
    pub fn set_sums(
        &mut self,
        steps: BTreeMap<i64, Option<Cells>>,
        totals: Cells,
        everything: Option<Cells>,
        seen: Vec<(NodeId, StepCount)>,
        nodes: usize,
    ) {
        for cell in everything.as_ref().unwrap_or(&totals).rows() {
            self.most_often = self.most_often.max(cell.sum(Measure::Runs).wrapped().unsigned_abs());
            self.sizes.note(&cell.sums());
        }
        self.seen = vec![Seen::default(); nodes];
        for (node, steps) in seen {
            self.seen[node.index()].steps = steps;
        }
        (self.steps, self.totals, self.everything) = (steps, totals, everything);
    }

    /// Adds one file's sums of a step.
    pub fn fold(&mut self, step: i64, cells: Cells, placement: &[DeviceId], devices: &Devices) {
        let keep = self.keeps(step);
        let before = self.steps.entry(step).or_default();
        let counts = |cell: Cell<'_>| {
            devices.kind(cell.device) != DeviceKind::Placement || placement[cell.node.index()] == cell.device
        };
        if self.seen.len() < placement.len() {
            self.seen.resize(placement.len(), Seen::default());
        }
        let mut most_often = 0;
        for cell in cells.rows() {
            self.sizes.note_numbers(cell.limited());
            most_often = most_often.max(cell.sum(Measure::Runs).wrapped().unsigned_abs());
        }
        for node in cells.nodes() {
            let seen = &mut self.seen[node.index()].steps;
            let (any, first) = match &*before {
                None => (false, false),
                Some(before) => (before.has(node), before.of(node).any(counts)),
            };
            seen.any_device += u32::from(!any);
            seen.first_device += u32::from(!first && cells.of(node).any(counts));
        }
        self.most_often = self.most_often.saturating_add(most_often);
        match before {
            Some(before) => {
                let mut more = cells.clone();
                more.peaks_beyond(before);
                self.totals.merge(&more, Parts::OfOtherSteps);
                before.merge(&cells, Parts::OfOneStep);
            }
            None => {
                if self.totals.is_empty() {
                    self.totals = cells.clone();
                } else {
                    self.totals.merge(&cells, Parts::OfOtherSteps);
                }
                *before = keep.then_some(cells);
            }
        }
    }
}
