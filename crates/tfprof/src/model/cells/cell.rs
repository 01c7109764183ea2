//! The sums of one node on one device.
//!
//! Of three records one has memory, and most questions are not about it: memory is a row of its own, made when there is
//! some. That leaves 48 bytes for a cell, less than a line of the cache.

use super::Parts;
use super::sums::{Measure, StepPeaks, Sum, Sums};
use crate::model::devices::DeviceId;
use crate::model::nodes::NodeId;

/// The number of measures that every record has: runs and time.
const TIMES: usize = Measure::MEMORY;
const MEMORY: usize = Measure::COUNT - TIMES;

/// The sums of one node on one device.
#[derive(Clone, Copy, Debug)]
pub struct Cell<'c> {
    pub node: NodeId,
    pub device: DeviceId,
    /// Earliest start and latest end, in microseconds; 0 if no record had a start.
    pub first_start: i64,
    pub last_end: i64,
    times: Added<TIMES>,
    memory: Option<&'c Memory>,
}

/// Numbers that were added, and their overflows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Added<const N: usize> {
    sums: [i64; N],
    carries: [i8; N],
}

/// A cell as it is stored.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub node: NodeId,
    pub device: DeviceId,
    first_start: i64,
    last_end: i64,
    times: [i64; TIMES],
    carries: [i8; TIMES],
    /// The row of its memory, or [`NO_MEMORY`].
    memory: u32,
}

const NO_MEMORY: u32 = u32::MAX;

/// The memory of a cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Memory {
    added: Added<MEMORY>,
    pub peaks: StepPeaks,
}

/// A cell to add to.
#[derive(Debug)]
pub struct CellMut<'c> {
    row: &'c mut Row,
    memory: &'c mut Vec<Memory>,
    /// The run that records are of, if peaks are those of single steps; else 0.
    run: u32,
}

impl<const N: usize> Added<N> {
    const NOTHING: Added<N> = Added { sums: [0; N], carries: [0; N] };

    fn sum(&self, i: usize) -> Sum {
        Sum::of_parts(self.sums[i], self.carries[i])
    }

    #[inline(always)]
    fn add(&mut self, sums: &[Sum]) {
        for (i, more) in sums.iter().enumerate().take(N) {
            let mut sum = self.sum(i);
            sum.add_sum(*more);
            (self.sums[i], self.carries[i]) = sum.parts();
        }
    }

    #[inline(always)]
    fn add_numbers(&mut self, numbers: &[i64]) {
        for (i, n) in numbers.iter().enumerate().take(N) {
            let (sum, over) = self.sums[i].overflowing_add(*n);
            self.sums[i] = sum;
            if over {
                self.carry(i, *n);
            }
        }
    }

    #[cold]
    fn carry(&mut self, i: usize, n: i64) {
        self.carries[i] = self.carries[i].saturating_add(if n < 0 { -1 } else { 1 });
    }
}

impl Row {
    pub fn new(node: NodeId, device: DeviceId) -> Row {
        let (times, carries) = ([0; TIMES], [0; TIMES]);
        Row { node, device, first_start: 0, last_end: 0, times, carries, memory: NO_MEMORY }
    }

    #[inline]
    pub fn cell<'c>(&self, memory: &'c [Memory]) -> Cell<'c> {
        let Row { node, device, first_start, last_end, times, carries, memory: row } = *self;
        let times = Added { sums: times, carries };
        Cell { node, device, first_start, last_end, times, memory: memory.get(row as usize) }
    }

    pub fn memory_mut<'c>(&self, memory: &'c mut [Memory]) -> Option<&'c mut Memory> {
        memory.get_mut(self.memory as usize)
    }
}

impl Cell<'_> {
    #[inline]
    pub fn sum(&self, measure: Measure) -> Sum {
        match (measure as usize).checked_sub(TIMES) {
            None => self.times.sum(measure as usize),
            Some(of_memory) => self.memory.map_or(Sum::default(), |memory| memory.added.sum(of_memory)),
        }
    }

    /// All sums, saturated at the limit.
    #[inline]
    pub fn limited(&self) -> [i64; Measure::COUNT] {
        self.sums().map(Sum::limited)
    }

    pub fn sums(&self) -> Sums {
        let mut sums = Sums::default();
        let (times, memory) = sums.split_at_mut(TIMES);
        times.iter_mut().enumerate().for_each(|(i, sum)| *sum = self.times.sum(i));
        if let Some(of) = self.memory {
            memory.iter_mut().enumerate().for_each(|(i, sum)| *sum = of.added.sum(i));
        }
        sums
    }

    /// Whether it has any memory.
    #[inline]
    pub fn has_memory(&self) -> bool {
        self.memory.is_some()
    }

    #[inline]
    pub fn peaks(&self) -> StepPeaks {
        self.memory.map_or(StepPeaks::default(), |memory| memory.peaks)
    }
}

impl<'c> CellMut<'c> {
    #[inline]
    pub(super) fn new(row: &'c mut Row, memory: &'c mut Vec<Memory>) -> CellMut<'c> {
        CellMut { row, memory, run: 0 }
    }

    /// Starts a run of a step, unless it is the current one.
    #[inline]
    #[must_use]
    pub fn begin(self, run: u32) -> CellMut<'c> {
        if let Some(memory) = self.memory.get_mut(self.row.memory as usize) {
            memory.peaks.begin(run);
        }
        CellMut { run, ..self }
    }

    /// How often it ran.
    #[inline]
    pub fn runs(&self) -> i64 {
        self.row.times[Measure::Runs as usize]
    }

    /// Adds one record and its peak memory.
    #[inline]
    pub fn record(&mut self, sums: &Sums, peak: i64, start: i64, end: i64) {
        let (times, memory) = sums.split_at(TIMES);
        self.add_times(times);
        if peak > 0 || memory.iter().any(|sum| *sum != Sum::default()) {
            let of = self.memory();
            of.peaks.record(peak);
            of.added.add(memory);
        }
        self.span(start, end);
    }

    /// The same for numbers that did not overflow.
    #[inline]
    pub fn record_numbers(&mut self, numbers: &[i64; Measure::COUNT], peak: i64, start: i64, end: i64) {
        let (times, memory) = numbers.split_at(TIMES);
        let mut sums = Added { sums: self.row.times, carries: self.row.carries };
        sums.add_numbers(times);
        (self.row.times, self.row.carries) = (sums.sums, sums.carries);
        // Most questions are not about memory.
        if memory.iter().fold(0, |any, n| any | n) != 0 {
            let of = self.memory();
            of.peaks.record(peak);
            of.added.add_numbers(memory);
        }
        self.span(start, end);
    }

    /// Sets the peaks.
    pub fn set_peaks(&mut self, peaks: StepPeaks) {
        if peaks != StepPeaks::default() {
            self.memory().peaks = peaks;
        }
    }

    /// Adds a cell.
    pub fn add(&mut self, other: Cell<'_>, parts: Parts) {
        if parts == Parts::OfOneStep {
            return self.record(&other.sums(), other.peaks().highest, other.first_start, other.last_end);
        }
        if let Some(memory) = other.memory {
            let of = self.memory();
            of.peaks.add(memory.peaks);
            of.added.add(&other.sums()[TIMES..]);
        }
        self.add_times(&other.sums()[..TIMES]);
        self.span(other.first_start, other.last_end);
    }

    #[inline(always)]
    fn add_times(&mut self, more: &[Sum]) {
        let mut times = Added { sums: self.row.times, carries: self.row.carries };
        times.add(more);
        (self.row.times, self.row.carries) = (times.sums, times.carries);
    }

    #[inline]
    fn memory(&mut self) -> &mut Memory {
        if self.row.memory == NO_MEMORY {
            self.row.memory = self.memory.len() as u32;
            self.memory.push(Memory { added: Added::NOTHING, peaks: StepPeaks::of_run(self.run) });
        }
        &mut self.memory[self.row.memory as usize]
    }

    #[inline(always)]
    fn span(&mut self, start: i64, end: i64) {
        if start > 0 {
            let first = &mut self.row.first_start;
            *first = if *first == 0 { start } else { (*first).min(start) };
            self.row.last_end = self.row.last_end.max(end);
        }
    }
}
