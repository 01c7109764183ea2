//! The rows of a partial: nodes, their sums by device, and the sums of sampled steps. Merging adds measurements and joins
//! definitions, so that neither order nor grouping matters.

use super::histogram::Histogram;
use super::steps::StepSet;
use crate::budget;
use crate::hash::UntrustedMap;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The number of sums: the measures of cells, then the sums that only traces have, then the peaks of all steps.
pub const SUMS: usize = 11;
pub const INCLUSIVE: usize = 7;
pub const FLOAT_OPS: usize = 8;
pub const IO_BYTES: usize = 9;
pub const STEP_PEAKS: usize = 10;
/// The index of self time.
pub const TIME: usize = 1;

/// Sums of a row, and the extremes, which are compared instead of added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    pub added: [i128; SUMS],
    pub highest_peak: i64,
    /// The first start and the last end, if any record had a start.
    pub span: Option<(i64, i64)>,
}

impl Sums {
    pub fn add(&mut self, more: &Sums) {
        for (sum, more) in self.added.iter_mut().zip(more.added) {
            *sum = sum.saturating_add(more);
        }
        self.highest_peak = self.highest_peak.max(more.highest_peak);
        self.span = match (self.span, more.span) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (one, other) => one.or(other),
        };
    }
}

/// One node on one device, over all hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// The sums inside steps, and those of everything.
    pub totals: Sums,
    pub everything: Sums,
    /// The distribution of self time per step and host.
    pub times: Histogram,
    pub squares: u128,
    pub least: i64,
    pub most: i64,
    /// The sums of the sampled steps; boxed like cells.
    pub by_step: BTreeMap<i64, Box<Sums>>,
}

impl Cell {
    /// Adds the self time of one step of one host to the histogram.
    pub fn count(&mut self, time: i64) {
        let first = self.times.count() == 0;
        self.least = if first { time } else { self.least.min(time) };
        self.most = if first { time } else { self.most.max(time) };
        self.add_squares(u128::from(time.unsigned_abs()).pow(2));
        self.times.add(time);
    }

    fn add_squares(&mut self, more: u128) {
        self.squares = self.squares.saturating_add(more).min(MOST_SQUARES);
    }

    fn add(&mut self, more: &Cell) {
        self.totals.add(&more.totals);
        self.everything.add(&more.everything);
        match (self.times.count(), more.times.count()) {
            (_, 0) => {}
            (0, _) => (self.least, self.most) = (more.least, more.most),
            _ => (self.least, self.most) = (self.least.min(more.least), self.most.max(more.most)),
        }
        self.add_squares(more.squares);
        self.times.merge(&more.times);
        for (step, sums) in &more.by_step {
            self.by_step.entry(*step).or_default().add(sums);
        }
    }
}

/// The largest number that a partial may contain.
const MOST_SQUARES: u128 = (1 << 126) - 1;

/// A line of a call stack: file, function, text of the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    pub texts: [u32; 3],
    pub line: i32,
    pub function_start: i32,
}

/// A call stack: unknown, without frames, or a path.
pub const NO_STACK: u32 = 0;
pub const EMPTY_STACK: u32 = 1;

/// Equal keys are the same node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    pub layer: u8,
    pub name: u32,
    pub op: u32,
    /// Part of the key only for layers that have one node per stack.
    pub stack: u32,
}

/// The computed cost of one run of a node. If two differ, the larger one wins as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cost {
    pub float_ops: i64,
    pub macs: i64,
    pub io_bytes: i64,
    pub runs: i64,
    pub unknown: i64,
    pub unlisted: i64,
    /// Why the cost is unknown; 0 means that it is known.
    pub why: u8,
    pub counted: bool,
}

/// A node, its facts and its sums.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Types besides the op, categories, and compiled programs.
    pub words: [BTreeSet<u32>; 3],
    pub shape: Vec<i64>,
    /// The names of the nodes that it reads, each with the number of the output; an empty name was left out by the file.
    pub inputs: Vec<(u32, u32)>,
    pub stack: u32,
    pub float_ops: i64,
    /// Inside a function; false wins if parts disagree.
    pub inner: bool,
    pub declared_device: u32,
    pub placement: u32,
    /// The data type, if it is a variable.
    pub dtype: u32,
    pub cost: Option<Cost>,
    /// Runs in traces with known FLOPs, with missing FLOPs, and with known bytes.
    pub flags: u8,
    /// The precision plus one; 0 if it is unknown.
    pub precision: u8,
    /// The steps in which it ran: on any device, on its first one.
    pub steps: [u32; 2],
    /// Sums by device, boxed: most rows have one device, and a node of the tree allocates eleven entries at once.
    pub cells: BTreeMap<u32, Box<Cell>>,
}

/// Rows, and the tables that they index: strings, frames, stacks, step sets. Entry 0 of each is empty.
#[derive(Clone, Debug)]
pub struct Rows {
    pub texts: Vec<Arc<str>>,
    text_ids: UntrustedMap<Arc<str>, u32>,
    pub frames: Vec<Frame>,
    frame_ids: UntrustedMap<Frame, u32>,
    /// The parent stack and the innermost frame. The first two are [`NO_STACK`] and [`EMPTY_STACK`].
    pub stacks: Vec<(u32, u32)>,
    stack_ids: UntrustedMap<(u32, u32), u32>,
    pub step_sets: Vec<StepSet>,
    step_set_ids: UntrustedMap<StepSet, u32>,
    /// Kinds of devices.
    pub devices: BTreeMap<u32, u8>,
    pub keys: Vec<Key>,
    pub rows: Vec<Row>,
    key_ids: UntrustedMap<Key, u32>,
    /// The sampled steps, whose sums are kept.
    pub sampled: BTreeSet<i64>,
}

impl Default for Rows {
    fn default() -> Self {
        let mut rows = Rows {
            texts: Vec::new(),
            text_ids: UntrustedMap::default(),
            frames: Vec::new(),
            frame_ids: UntrustedMap::default(),
            stacks: vec![(0, 0); 2],
            stack_ids: UntrustedMap::default(),
            step_sets: Vec::new(),
            step_set_ids: UntrustedMap::default(),
            devices: BTreeMap::new(),
            keys: Vec::new(),
            rows: Vec::new(),
            key_ids: UntrustedMap::default(),
            sampled: BTreeSet::new(),
        };
        rows.text("");
        rows.step_set(StepSet::default());
        rows
    }
}

impl Rows {
    pub fn text(&mut self, text: &str) -> u32 {
        if let Some(id) = self.text_ids.get(text) {
            return *id;
        }
        let id = self.texts.len() as u32;
        let text: Arc<str> = text.into();
        self.texts.push(Arc::clone(&text));
        self.text_ids.insert(text, id);
        budget::check();
        id
    }

    pub fn get(&self, text: u32) -> &str {
        &self.texts[text as usize]
    }

    pub fn frame(&mut self, frame: Frame) -> u32 {
        *self.frame_ids.entry(frame).or_insert_with(|| {
            self.frames.push(frame);
            self.frames.len() as u32 - 1
        })
    }

    /// The stack with one more frame.
    pub fn stack(&mut self, outer: u32, frame: u32) -> u32 {
        *self.stack_ids.entry((outer, frame)).or_insert_with(|| {
            self.stacks.push((outer, frame));
            self.stacks.len() as u32 - 1
        })
    }

    pub fn step_set(&mut self, set: StepSet) -> u32 {
        if let Some(id) = self.step_set_ids.get(&set) {
            return *id;
        }
        let id = self.step_sets.len() as u32;
        self.step_sets.push(set.clone());
        self.step_set_ids.insert(set, id);
        id
    }

    pub fn row(&mut self, key: Key) -> &mut Row {
        let next = self.rows.len() as u32;
        let at = *self.key_ids.entry(key).or_insert(next);
        if at == next {
            self.keys.push(key);
            self.rows.push(Row::default());
        }
        &mut self.rows[at as usize]
    }

    /// Adds other rows. `sampled` is the sample of the steps of both.
    pub fn merge(&mut self, other: &Rows, sampled: BTreeSet<i64>) {
        let text: Vec<u32> = other.texts.iter().map(|text| self.text(text)).collect();
        let frame = |frame: &Frame| Frame { texts: frame.texts.map(|id| text[id as usize]), ..*frame };
        let frames: Vec<u32> = other.frames.iter().map(|one| self.frame(frame(one))).collect();
        let mut stack = vec![NO_STACK, EMPTY_STACK];
        for (outer, innermost) in &other.stacks[2..] {
            stack.push(self.stack(stack[*outer as usize], frames[*innermost as usize]));
        }
        let sets: Vec<u32> = other.step_sets.iter().map(|set| self.step_set(set.clone())).collect();
        for (device, kind) in &other.devices {
            let mine = self.devices.entry(text[*device as usize]).or_insert(*kind);
            *mine = (*mine).min(*kind);
        }
        let mut unions: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        for (key, row) in other.keys.iter().zip(&other.rows) {
            let key = Key {
                name: text[key.name as usize],
                op: text[key.op as usize],
                stack: stack[key.stack as usize],
                ..*key
            };
            let at = {
                self.row(key);
                self.key_ids[&key] as usize
            };
            for (mine, more) in self.rows[at].words.iter_mut().zip(&row.words) {
                mine.extend(more.iter().map(|word| text[*word as usize]));
            }
            let mut steps = self.rows[at].steps;
            for (mine, more) in steps.iter_mut().zip(row.steps) {
                *mine = self.union(*mine, sets[more as usize], &mut unions);
            }
            self.rows[at].steps = steps;
            let larger = |mine: u32, more: u32, rows: &Rows| {
                let more = text[more as usize];
                if rows.get(more) > rows.get(mine) { more } else { mine }
            };
            let Row { declared_device, placement, dtype, .. } = self.rows[at];
            let named = [
                larger(declared_device, row.declared_device, self),
                larger(placement, row.placement, self),
                larger(dtype, row.dtype, self),
            ];
            let stack = self.larger_stack(self.rows[at].stack, stack[row.stack as usize]);
            let inputs: Vec<(u32, u32)> =
                row.inputs.iter().map(|(source, output)| (text[*source as usize], *output)).collect();
            budget::check();
            if self.reads(&inputs) > self.reads(&self.rows[at].inputs) {
                self.rows[at].inputs = inputs;
            }
            let mine = &mut self.rows[at];
            [mine.declared_device, mine.placement, mine.dtype] = named;
            mine.stack = stack;
            mine.join(row);
            for (device, cell) in &row.cells {
                mine.cells.entry(text[*device as usize]).or_default().add(cell);
            }
        }
        self.sampled.extend(&other.sampled);
        self.keep_only(sampled);
    }

    /// Drops the sums of steps that are no longer sampled.
    fn keep_only(&mut self, sampled: BTreeSet<i64>) {
        if !self.sampled.is_subset(&sampled) {
            let cells = self.rows.iter_mut().flat_map(|row| row.cells.values_mut());
            cells.for_each(|cell| cell.by_step.retain(|step, _| sampled.contains(step)));
        }
        self.sampled = sampled;
    }

    fn union(&mut self, one: u32, other: u32, known: &mut BTreeMap<(u32, u32), u32>) -> u32 {
        if one == other || other == 0 {
            return one;
        }
        if one == 0 {
            return other;
        }
        if let Some(set) = known.get(&(one, other)) {
            return *set;
        }
        let union = self.step_sets[one as usize].union(&self.step_sets[other as usize]);
        let set = self.step_set(union);
        known.insert((one, other), set);
        set
    }

    /// The alphabetically later of two stacks, so that the choice does not depend on reading order.
    fn larger_stack(&self, one: u32, other: u32) -> u32 {
        if one == other || other == NO_STACK {
            return one;
        }
        let is_larger = one == NO_STACK || self.spelled(other) > self.spelled(one);
        if is_larger { other } else { one }
    }

    /// Inputs by their texts, which do not depend on the order of reading.
    fn reads(&self, inputs: &[(u32, u32)]) -> Vec<(&str, u32)> {
        budget::work(inputs.len() as u64);
        inputs.iter().map(|(source, output)| (self.get(*source), *output)).collect()
    }

    fn spelled(&self, mut stack: u32) -> Vec<([&str; 3], i32, i32)> {
        let mut frames = Vec::new();
        while stack > EMPTY_STACK {
            budget::work(1);
            let (outer, frame) = self.stacks[stack as usize];
            let Frame { texts, line, function_start } = self.frames[frame as usize];
            frames.push((texts.map(|text| self.get(text)), line, function_start));
            stack = outer;
        }
        frames
    }
}

impl Row {
    /// Joins what is defined; names are joined by the caller, who knows them.
    fn join(&mut self, other: &Row) {
        let is_new = self.is_new();
        if other.shape > self.shape {
            self.shape.clone_from(&other.shape);
        }
        self.float_ops = self.float_ops.max(other.float_ops);
        self.inner = other.inner && (is_new || self.inner);
        self.cost = self.cost.max(other.cost);
        self.flags |= other.flags | SEEN;
        self.precision = self.precision.max(other.precision);
    }

    fn is_new(&self) -> bool {
        self.flags & SEEN == 0
    }
}

pub const KNOWS_FLOPS: u8 = 1;
pub const MISSES_FLOPS: u8 = 2;
pub const KNOWS_BYTES: u8 = 4;
/// Whether the row holds anything.
pub const SEEN: u8 = 8;
