//! Measurements: sums by (node, device), for one step or for all steps.
//!
//! Cells hold only sums, counts, minima and maxima, so merging is addition. Views decide which sums count.

use super::devices::DeviceId;
use super::nodes::NodeId;
use crate::hash::{TrustedMap, UntrustedMap};

/// A number that is summed over the records of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Records with a start time.
    Runs,
    Micros,
    RequestedBytes,
    /// The peaks of all executions, as the original adds them up; [`StepPeaks`] has the highest.
    PeakBytes,
    ResidualBytes,
    OutputBytes,
    /// Temporary memory that the requested and peak bytes contain twice.
    RepeatedTemp,
}

impl Measure {
    pub const COUNT: usize = 7;
    /// The first measure of memory; those after it are of memory, too.
    const MEMORY: usize = Measure::RequestedBytes as usize;
}

/// A sum that counts its overflows, so that it can be read wrapped (as the original) or saturated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    wrapped: i64,
    carry: i8,
}

impl Sum {
    pub fn new(number: i64) -> Sum {
        Sum { wrapped: number, carry: 0 }
    }

    #[inline]
    pub fn add(&mut self, number: i64) {
        let (sum, over) = self.wrapped.overflowing_add(number);
        self.wrapped = sum;
        if over {
            self.carry = self.carry.saturating_add(if number < 0 { -1 } else { 1 });
        }
    }

    #[inline]
    pub fn add_sum(&mut self, other: Sum) {
        self.add(other.wrapped);
        self.carry = self.carry.saturating_add(other.carry);
    }

    /// The sum without any limit.
    pub fn exact(self) -> i128 {
        i128::from(self.wrapped) + (i128::from(self.carry) << 64)
    }

    pub fn from_exact(sum: i128) -> Sum {
        let wrapped = sum as i64;
        let carry = (sum - i128::from(wrapped)) >> 64;
        Sum { wrapped, carry: carry.clamp(i8::MIN.into(), i8::MAX.into()) as i8 }
    }

    /// The sum as the original has it: wrapped.
    #[inline]
    pub fn wrapped(self) -> i64 {
        self.wrapped
    }

    /// The sum, saturated at the limit.
    #[inline]
    pub fn limited(self) -> i64 {
        match self.carry {
            0 => self.wrapped,
            1.. => i64::MAX,
            _ => i64::MIN,
        }
    }
}

pub type Sums = [Sum; Measure::COUNT];

/// The highest peak of each step, as far as answers need it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepPeaks {
    pub highest: i64,
    /// The step being read, and its highest peak so far.
    run: u32,
    current: i64,
    /// The sum over earlier steps.
    earlier: i64,
}

impl StepPeaks {
    pub fn new(peak: i64) -> StepPeaks {
        let peak = peak.max(0);
        StepPeaks { highest: peak, current: peak, ..StepPeaks::default() }
    }

    /// The peaks of steps that were summed before.
    pub fn of_steps(highest: i64, sum: i64) -> StepPeaks {
        StepPeaks { highest, earlier: sum, ..StepPeaks::default() }
    }

    /// The sum over all steps.
    #[inline]
    pub fn sum(self) -> i64 {
        self.earlier.saturating_add(self.current)
    }

    /// Starts a run of a step, unless it is the current one.
    #[inline]
    fn begin(&mut self, run: u32) {
        if self.run != run {
            *self = StepPeaks { run, current: 0, earlier: self.sum(), ..*self };
        }
    }

    /// Adds a peak of the same step.
    #[inline]
    fn record(&mut self, peak: i64) {
        self.current = self.current.max(peak);
        self.highest = self.highest.max(peak);
    }

    /// Adds other steps.
    fn add(&mut self, other: StepPeaks) {
        self.earlier = self.earlier.saturating_add(other.sum());
        self.highest = self.highest.max(other.highest);
    }
}

/// The sums of one node on one device.
#[derive(Clone, Debug)]
pub struct Cell {
    pub node: NodeId,
    pub device: DeviceId,
    sums: [i64; Measure::COUNT],
    carries: [i8; Measure::COUNT],
    pub peaks: StepPeaks,
    /// Earliest start and latest end, in microseconds; 0 if no record had a start.
    pub first_start: i64,
    pub last_end: i64,
}

/// Sums that only traces have: records of other formats do not pay for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceSums {
    /// Time with that of the ops within it.
    pub inclusive: i64,
    /// Costs that are known.
    pub float_ops: i64,
    pub io_bytes: i64,
}

impl TraceSums {
    pub fn add(&mut self, more: TraceSums) {
        self.inclusive = self.inclusive.saturating_add(more.inclusive);
        self.float_ops = self.float_ops.saturating_add(more.float_ops);
        self.io_bytes = self.io_bytes.saturating_add(more.io_bytes);
    }
}

/// Cells by node. A node's cells are in the order in which its devices first appeared.
#[derive(Clone, Debug, Default)]
pub struct Cells {
    rows: Vec<Cell>,
    /// Parallel to the rows, so that a search does not load the rows themselves.
    links: Vec<Link>,
    /// By node, its first row.
    first: Vec<u32>,
    /// The same for nodes whose numbers are far above the count of rows: a step may have one node of a million.
    first_of_few: TrustedMap<NodeId, u32>,
    /// By row, the sums that only traces have. As long as the rows, or empty.
    of_traces: Vec<TraceSums>,
    /// Rows of nodes with many devices, beyond the first few.
    many: UntrustedMap<(NodeId, DeviceId), u32>,
}

/// Up to this many rows of a node are searched one by one.
const FEW_DEVICES: usize = 32;

#[derive(Clone, Copy, Debug)]
struct Link {
    device: DeviceId,
    /// The next row of the same node.
    next: u32,
}

const NONE: u32 = u32::MAX;

impl Cells {
    pub fn rows(&self) -> &[Cell] {
        &self.rows
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The nodes with cells, each once.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        let first = |(row, cell): &(usize, &Cell)| self.first_row(cell.node) as usize == *row;
        self.rows.iter().enumerate().filter(first).map(|(_, cell)| cell.node)
    }

    pub fn has(&self, node: NodeId) -> bool {
        self.first_row(node) != NONE
    }

    #[inline]
    fn first_row(&self, node: NodeId) -> u32 {
        match self.first.get(node.index()) {
            Some(row) if *row != NONE => *row,
            _ if self.first_of_few.is_empty() => NONE,
            _ => self.first_of_few.get(&node).copied().unwrap_or(NONE),
        }
    }

    fn set_first_row(&mut self, node: NodeId, row: u32) {
        let index = node.index();
        if index >= self.first.len() && index / 16 > self.rows.len() + 64 {
            self.first_of_few.insert(node, row);
            return;
        }
        if index >= self.first.len() {
            self.first.resize((index + 1).max(self.first.len() * 2), NONE);
        }
        self.first[index] = row;
    }

    /// The cells of one node.
    #[inline]
    pub fn of(&self, node: NodeId) -> CellsOf<'_> {
        CellsOf { cells: self, next: self.first_row(node) }
    }

    /// The cell of a node on a device. Creates it if necessary.
    #[inline]
    pub fn at(&mut self, node: NodeId, device: DeviceId) -> &mut Cell {
        let row = self.row(node, device);
        &mut self.rows[row]
    }

    /// The row of a node on a device. Creates it if necessary.
    #[inline]
    pub fn row(&mut self, node: NodeId, device: DeviceId) -> usize {
        let mut last = NONE;
        let mut row = self.first_row(node);
        for _ in 0..FEW_DEVICES {
            let Some(link) = self.links.get(row as usize) else {
                return self.push(node, device, last);
            };
            if link.device == device {
                return row as usize;
            }
            (last, row) = (row, link.next);
        }
        self.row_of_many(node, device, last)
    }

    /// The row of a node with many devices. `last` is the last row that was searched.
    #[cold]
    fn row_of_many(&mut self, node: NodeId, device: DeviceId, last: u32) -> usize {
        if let Some(row) = self.many.get(&(node, device)) {
            return *row as usize;
        }
        let new = self.rows.len() as u32;
        self.many.insert((node, device), new);
        // The entry without a device holds the node's last row.
        let last = self.many.insert((node, DeviceId::NONE), new).unwrap_or(last);
        self.push(node, device, last)
    }

    #[inline]
    pub fn row_mut(&mut self, row: usize) -> &mut Cell {
        &mut self.rows[row]
    }

    /// Adds a row after another of the same node, or as its first.
    #[inline(never)]
    fn push(&mut self, node: NodeId, device: DeviceId, last: u32) -> usize {
        let row = self.rows.len();
        match self.links.get_mut(last as usize) {
            Some(link) => link.next = row as u32,
            None => self.set_first_row(node, row as u32),
        }
        self.links.push(Link { device, next: NONE });
        self.rows.push(Cell {
            node,
            device,
            sums: [0; Measure::COUNT],
            carries: [0; Measure::COUNT],
            peaks: StepPeaks::default(),
            first_start: 0,
            last_end: 0,
        });
        row
    }

    /// Adds all cells of `other`: by [`Cell::add_steps`], or [`Cell::add_part`] if both are parts of one step.
    pub fn merge(&mut self, other: &Cells, add: fn(&mut Cell, &Cell)) {
        for (row, cell) in other.rows.iter().enumerate() {
            add(self.at(cell.node, cell.device), cell);
            if let Some(sums) = other.of_traces.get(row) {
                self.add_of_trace(cell.node, cell.device, *sums);
            }
        }
    }

    /// Lowers the peaks of a part of a step to their excess over those of the earlier parts.
    pub fn peaks_beyond(&mut self, earlier: &Cells) {
        for cell in &mut self.rows {
            let before = earlier.of(cell.node).find(|before| before.device == cell.device);
            let before = before.map_or(0, |before| before.peaks.highest);
            cell.peaks.current = (cell.peaks.current - before).max(0);
        }
    }

    /// Adds sums of a trace to a cell.
    pub fn add_of_trace(&mut self, node: NodeId, device: DeviceId, sums: TraceSums) {
        let row = self.row(node, device);
        self.of_traces.resize(self.rows.len(), TraceSums::default());
        self.of_traces[row].add(sums);
    }

    /// The cells of one node with the sums of traces; inclusive time is self time if that is all that is known.
    pub fn with_trace_sums(&self, node: NodeId) -> impl Iterator<Item = (&Cell, TraceSums)> {
        let mut next = self.first_row(node);
        std::iter::from_fn(move || {
            let cell = self.rows.get(next as usize)?;
            let own = || TraceSums { inclusive: cell.sum(Measure::Micros).limited(), ..TraceSums::default() };
            let sums = self.of_traces.get(next as usize).copied().unwrap_or_else(own);
            next = self.links[next as usize].next;
            Some((cell, sums))
        })
    }
}

impl Cell {
    #[inline]
    pub fn sum(&self, measure: Measure) -> Sum {
        Sum { wrapped: self.sums[measure as usize], carry: self.carries[measure as usize] }
    }

    /// All sums, saturated at the limit.
    #[inline]
    pub fn limited(&self) -> [i64; Measure::COUNT] {
        if self.carries == [0; Measure::COUNT] { self.sums } else { self.sums().map(Sum::limited) }
    }

    pub fn sums(&self) -> Sums {
        std::array::from_fn(|i| Sum { wrapped: self.sums[i], carry: self.carries[i] })
    }

    /// Starts a run of a step, unless it is the current one.
    #[inline]
    pub fn begin(&mut self, run: u32) -> &mut Cell {
        self.peaks.begin(run);
        self
    }

    /// Adds one record and its peak memory.
    #[inline]
    pub fn record(&mut self, sums: &Sums, peak: i64, start: i64, end: i64) {
        self.peaks.record(peak);
        self.add_sums(sums, start, end);
    }

    /// The same for numbers that did not overflow.
    #[inline]
    pub fn record_numbers(&mut self, numbers: &[i64; Measure::COUNT], peak: i64, start: i64, end: i64) {
        self.peaks.record(peak);
        let (times, memory) = numbers.split_at(Measure::MEMORY);
        for (i, n) in times.iter().enumerate() {
            self.add_number(i, *n);
        }
        // Most questions are not about memory.
        if memory.iter().fold(0, |any, n| any | n) != 0 {
            for (i, n) in (Measure::MEMORY..).zip(memory) {
                self.add_number(i, *n);
            }
        }
        self.add_times(start, end);
    }

    #[inline(always)]
    fn add_number(&mut self, i: usize, n: i64) {
        let (sum, over) = self.sums[i].overflowing_add(n);
        self.sums[i] = sum;
        if over {
            self.carry(i, n);
        }
    }

    #[cold]
    fn carry(&mut self, i: usize, n: i64) {
        self.carries[i] = self.carries[i].saturating_add(if n < 0 { -1 } else { 1 });
    }

    #[inline(always)]
    fn add_sums(&mut self, sums: &Sums, start: i64, end: i64) {
        self.add_measures(sums, 0..Measure::MEMORY);
        // Most questions are not about memory.
        let memory = &sums[Measure::MEMORY..];
        if memory.iter().fold(0, |any, sum| any | sum.wrapped | i64::from(sum.carry)) != 0 {
            self.add_measures(sums, Measure::MEMORY..Measure::COUNT);
        }
        self.add_times(start, end);
    }

    #[inline(always)]
    fn add_times(&mut self, start: i64, end: i64) {
        if start > 0 {
            self.first_start = if self.first_start == 0 { start } else { self.first_start.min(start) };
            self.last_end = self.last_end.max(end);
        }
    }

    #[inline(always)]
    fn add_measures(&mut self, sums: &Sums, measures: std::ops::Range<usize>) {
        for i in measures {
            let mut sum = Sum { wrapped: self.sums[i], carry: self.carries[i] };
            sum.add_sum(sums[i]);
            (self.sums[i], self.carries[i]) = (sum.wrapped, sum.carry);
        }
    }

    /// Adds a cell of other steps.
    pub fn add_steps(&mut self, other: &Cell) {
        self.peaks.add(other.peaks);
        if self.add_small(other) {
            self.add_times(other.first_start, other.last_end);
        } else {
            self.add_sums(&other.sums(), other.first_start, other.last_end);
        }
    }

    /// Adds sums that are far from the limit, as nearly all are; otherwise adds nothing and returns false.
    #[inline]
    fn add_small(&mut self, other: &Cell) -> bool {
        const LIMIT: u64 = 1 << 62;
        let size = |sums: &[i64; Measure::COUNT]| sums.iter().fold(0, |bits, n| bits | n.unsigned_abs());
        if other.carries != [0; Measure::COUNT] || (size(&self.sums) | size(&other.sums)) >= LIMIT {
            return false;
        }
        for (sum, more) in self.sums.iter_mut().zip(other.sums) {
            *sum += more;
        }
        true
    }

    /// Adds a cell of the same step.
    pub fn add_part(&mut self, other: &Cell) {
        self.record(&other.sums(), other.peaks.highest, other.first_start, other.last_end);
    }
}

/// Iterates over the cells of one node.
#[derive(Clone, Debug)]
pub struct CellsOf<'a> {
    cells: &'a Cells,
    next: u32,
}

impl<'a> Iterator for CellsOf<'a> {
    type Item = &'a Cell;

    #[inline]
    fn next(&mut self) -> Option<&'a Cell> {
        let cell = self.cells.rows.get(self.next as usize)?;
        self.next = self.cells.links[self.next as usize].next;
        Some(cell)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_a_node_keep_the_order_of_devices() {
        let mut cells = Cells::default();
        for (node, device, micros) in [(3, 1, 5), (0, 1, 7), (3, 0, 2), (3, 1, 4)] {
            cells.at(NodeId(node), DeviceId(device)).record(
                &[1, micros, 0, 0, 0, 0, 0].map(Sum::new),
                0,
                10,
                10 + micros,
            );
        }
        let of = |node| {
            cells
                .of(NodeId(node))
                .map(|c| (c.device.0, c.sum(Measure::Micros).wrapped(), c.last_end))
                .collect::<Vec<_>>()
        };
        assert_eq!(of(3), [(1, 9, 15), (0, 2, 12)]);
        assert_eq!(of(0), [(1, 7, 17)]);
        assert_eq!(of(9), []);
        let mut both = cells.clone();
        both.merge(&cells, Cell::add_steps);
        assert_eq!(both.of(NodeId(3)).next().map(|c| c.sum(Measure::Micros).wrapped()), Some(18));
    }

    #[test]
    fn peaks_are_the_highest_of_each_step() {
        let step = |peaks: &[i64]| {
            let mut cells = Cells::default();
            for peak in peaks {
                cells.at(NodeId(0), DeviceId(0)).record(&Sums::default(), *peak, 1, 2);
            }
            cells
        };
        let of = |cells: &Cells| cells.of(NodeId(0)).next().map(|cell| (cell.peaks.sum(), cell.peaks.highest));
        let mut steps = step(&[10, 30, 20]);
        assert_eq!(of(&steps), Some((30, 30)));
        steps.merge(&step(&[5, 25]), Cell::add_steps);
        assert_eq!(of(&steps), Some((55, 30)));
        let mut parts = step(&[10, 30]);
        parts.merge(&step(&[40, 20]), Cell::add_part);
        assert_eq!(of(&parts), Some((40, 40)));
        let mut more = step(&[40, 20]);
        more.peaks_beyond(&step(&[10, 30]));
        assert_eq!(more.of(NodeId(0)).next().map(|cell| cell.peaks.sum()), Some(10));
        let mut totals = Cells::default();
        for (run, peak) in [(1, 10), (1, 30), (2, 5), (3, 7)] {
            totals.at(NodeId(0), DeviceId(0)).begin(run).record(&Sums::default(), peak, 1, 2);
        }
        assert_eq!(of(&totals), Some((42, 30)));
    }

    #[test]
    fn sums_can_be_read_both_ways_past_the_limit() {
        let mut sum = Sum::new(i64::MAX);
        sum.add(5);
        assert_eq!((sum.wrapped(), sum.limited()), (i64::MIN + 4, i64::MAX));
        sum.add(-10);
        assert_eq!((sum.wrapped(), sum.limited()), (i64::MAX - 5, i64::MAX - 5));
    }

    #[test]
    fn many_devices_of_a_node_stay_in_order() {
        let mut cells = Cells::default();
        let (few, many) = (NodeId(0), NodeId(1));
        for device in [7, 3] {
            cells.at(few, DeviceId(device));
        }
        for round in 1..=3 {
            for device in (0..1000).rev() {
                cells.at(many, DeviceId(device)).record(&[Sum::new(1); Measure::COUNT], 0, 0, 0);
                let sums = TraceSums { inclusive: i64::from(device), float_ops: 1, io_bytes: 2 };
                cells.add_of_trace(many, DeviceId(device), sums);
            }
            let found: Vec<_> = cells.of(many).map(|cell| (cell.device.0, cell.sum(Measure::Runs).limited())).collect();
            assert_eq!(found, (0..1000).rev().map(|device| (device, round)).collect::<Vec<_>>());
        }
        assert_eq!(cells.of(few).map(|cell| cell.device.0).collect::<Vec<_>>(), [7, 3]);
        let expected = |device: DeviceId| TraceSums { inclusive: 3 * i64::from(device.0), float_ops: 3, io_bytes: 6 };
        assert!(cells.with_trace_sums(many).all(|(cell, sums)| sums == expected(cell.device)));
    }

    #[test]
    fn few_nodes_of_many_take_little_room() {
        let mut cells = Cells::default();
        let nodes: Vec<_> = (0..2000).map(|i| NodeId(if i % 2 == 0 { 1_000_000_000 - i } else { i * 7 })).collect();
        for round in 1..=2 {
            for node in &nodes {
                cells.at(*node, DeviceId(0)).record(&[Sum::new(1); Measure::COUNT], 0, 0, 0);
            }
            assert!(nodes.iter().all(|node| cells.of(*node).map(|cell| cell.sum(Measure::Runs).limited()).eq([round])));
        }
        assert!(!cells.has(NodeId(2)) && !cells.has(NodeId(999_999_999)) && cells.first.len() < 100_000);
        // Numbers that were sparse become dense.
        for node in 0..100_000 {
            cells.at(NodeId(node), DeviceId(1));
        }
        assert!(nodes.iter().all(|node| cells.of(*node).next().is_some_and(|cell| cell.device == DeviceId(0))));
    }
}
