//! The sums of one node on one device.
//!
//! A record touches one row and, if it has memory, one row of memory. Fewer bytes are fewer pages, and a new page costs more
//! than reading the record that fills it. So a row has 32 bytes: memory, starts and ends, and overflows are beside it, where there
//! are any.

use super::Parts;
use super::sums::{Measure, StepPeaks, Sum, Sums};
use crate::hash::TrustedMap;
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
    /// Earliest start and latest end, in microseconds; 0 if no record had a start, or they are not kept.
    pub first_start: i64,
    pub last_end: i64,
    times: [i64; TIMES],
    memory: Option<&'c Memory>,
    row: u32,
    beside: &'c Beside,
}

/// A cell as it is stored.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub node: NodeId,
    pub device: DeviceId,
    /// The next row of the same node.
    pub next: u32,
    /// The row of its memory.
    memory: u32,
    times: [i64; TIMES],
}

/// No row.
pub(super) const NONE: u32 = u32::MAX;

/// The parts of rows that not all of them have.
#[derive(Clone, Debug, Default)]
pub(super) struct Beside {
    memory: Vec<Memory>,
    /// By row: earliest start and latest end. Shorter than the rows if the last ones have none.
    spans: Vec<[i64; 2]>,
    /// By row: how often sums overflowed.
    carries: TrustedMap<u32, [i8; Measure::COUNT]>,
}

/// The memory of a cell.
#[derive(Clone, Copy, Debug, Default)]
struct Memory {
    sums: [i64; MEMORY],
    peaks: StepPeaks,
}

/// A cell to add to.
#[derive(Debug)]
pub struct CellMut<'c> {
    row: &'c mut Row,
    at: u32,
    beside: &'c mut Beside,
    /// The run that records are of, if peaks are those of single steps; else 0.
    run: u32,
}

impl Row {
    pub fn new(node: NodeId, device: DeviceId) -> Row {
        Row { node, device, next: NONE, memory: NONE, times: [0; TIMES] }
    }

    #[inline]
    pub fn cell<'c>(&self, row: usize, beside: &'c Beside) -> Cell<'c> {
        let Row { node, device, times, .. } = *self;
        let [first_start, last_end] = beside.spans.get(row).copied().unwrap_or_default();
        let memory = beside.memory.get(self.memory as usize);
        Cell { node, device, first_start, last_end, times, memory, row: row as u32, beside }
    }
}

impl Beside {
    /// Lowers the peaks of a row to their excess over those of earlier parts of the step.
    pub fn peaks_beyond(&mut self, row: &Row, highest_before: i64) {
        if let Some(memory) = self.memory.get_mut(row.memory as usize) {
            memory.peaks.beyond(highest_before);
        }
    }

    #[inline]
    fn carry(&self, row: u32, measure: usize) -> i8 {
        if self.carries.is_empty() { 0 } else { self.carries.get(&row).map_or(0, |carries| carries[measure]) }
    }

    #[cold]
    fn add_carry(&mut self, row: u32, measure: usize, more: i8) {
        let carry = &mut self.carries.entry(row).or_default()[measure];
        *carry = carry.saturating_add(more);
    }
}

impl Cell<'_> {
    #[inline]
    pub fn sum(&self, measure: Measure) -> Sum {
        let measure = measure as usize;
        let n = match measure.checked_sub(TIMES) {
            None => self.times[measure],
            Some(of_memory) => self.memory.map_or(0, |memory| memory.sums[of_memory]),
        };
        Sum::of_parts(n, self.beside.carry(self.row, measure))
    }

    /// All sums, saturated at the limit.
    #[inline]
    pub fn limited(&self) -> [i64; Measure::COUNT] {
        self.sums().map(Sum::limited)
    }

    #[inline]
    pub fn sums(&self) -> Sums {
        Measure::ALL.map(|measure| self.sum(measure))
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
    pub(super) fn new(row: &'c mut Row, at: usize, beside: &'c mut Beside) -> CellMut<'c> {
        CellMut { row, at: at as u32, beside, run: 0 }
    }

    /// Starts a run of a step, unless it is the current one.
    #[inline]
    #[must_use]
    pub fn begin(self, run: u32) -> CellMut<'c> {
        if let Some(memory) = self.beside.memory.get_mut(self.row.memory as usize) {
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
        self.add_sums(0..TIMES, sums);
        if peak > 0 || sums[TIMES..].iter().any(|sum| *sum != Sum::default()) {
            self.memory().peaks.record(peak);
            self.add_sums(TIMES..Measure::COUNT, sums);
        }
        self.span(start, end);
    }

    /// The same for numbers that did not overflow.
    #[inline]
    pub fn record_numbers(&mut self, numbers: &[i64; Measure::COUNT], peak: i64, start: i64, end: i64) {
        self.add_numbers(0..TIMES, numbers);
        // Most questions are not about memory.
        if numbers[TIMES..].iter().fold(0, |any, n| any | n) != 0 {
            self.memory().peaks.record(peak);
            self.add_numbers(TIMES..Measure::COUNT, numbers);
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
        let sums = other.sums();
        if parts == Parts::OfOneStep {
            return self.record(&sums, other.peaks().highest, other.first_start, other.last_end);
        }
        self.add_sums(0..TIMES, &sums);
        if other.has_memory() {
            self.memory().peaks.add(other.peaks());
            self.add_sums(TIMES..Measure::COUNT, &sums);
        }
        self.span(other.first_start, other.last_end);
    }

    /// The sum of a measure, of memory only if there is any.
    #[inline(always)]
    fn number(&mut self, measure: usize) -> &mut i64 {
        match measure.checked_sub(TIMES) {
            None => &mut self.row.times[measure],
            Some(of_memory) => &mut self.beside.memory[self.row.memory as usize].sums[of_memory],
        }
    }

    #[inline(always)]
    fn add_numbers(&mut self, measures: std::ops::Range<usize>, numbers: &[i64; Measure::COUNT]) {
        for measure in measures {
            let n = numbers[measure];
            let sum = self.number(measure);
            let (more, over) = sum.overflowing_add(n);
            *sum = more;
            if over {
                self.beside.add_carry(self.at, measure, if n < 0 { -1 } else { 1 });
            }
        }
    }

    #[inline(always)]
    fn add_sums(&mut self, measures: std::ops::Range<usize>, sums: &Sums) {
        let numbers = sums.map(Sum::wrapped);
        self.add_numbers(measures.clone(), &numbers);
        for measure in measures {
            if let (_, carry @ (..=-1 | 1..)) = sums[measure].parts() {
                self.beside.add_carry(self.at, measure, carry);
            }
        }
    }

    #[inline]
    fn memory(&mut self) -> &mut Memory {
        let all = &mut self.beside.memory;
        if self.row.memory == NONE {
            self.row.memory = all.len() as u32;
            all.push(Memory { sums: [0; MEMORY], peaks: StepPeaks::of_run(self.run) });
        }
        &mut all[self.row.memory as usize]
    }

    #[inline(always)]
    fn span(&mut self, start: i64, end: i64) {
        if start > 0 {
            self.add_span(start, end);
        }
    }

    fn add_span(&mut self, start: i64, end: i64) {
        let spans = &mut self.beside.spans;
        if self.at as usize >= spans.len() {
            spans.resize(self.at as usize + 1, [0; 2]);
        }
        let [first, last] = &mut spans[self.at as usize];
        *first = if *first == 0 { start } else { (*first).min(start) };
        *last = (*last).max(end);
    }
}
