//! Measurements: sums by (node, device), for one step or for all steps.
//!
//! Cells hold only sums, counts, minima and maxima, so merging is addition. Views decide which sums count.

mod cell;
mod sums;

pub use cell::{Cell, CellMut};
pub use sums::{Measure, StepPeaks, Sum, Sums};

use super::devices::DeviceId;
use super::nodes::NodeId;
use crate::hash::{TrustedMap, UntrustedMap};
use cell::{Beside, NONE, Row};

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
    rows: Vec<Row>,
    beside: Beside,
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

/// The relation of cells that are added to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parts {
    /// They are of other steps.
    OfOtherSteps,
    /// They are parts of the same step.
    OfOneStep,
}

impl Cells {
    /// All cells, by row.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = Cell<'_>> + Clone {
        self.rows.iter().enumerate().map(|(at, row)| row.cell(at, &self.beside))
    }

    pub fn get(&self, row: usize) -> Cell<'_> {
        self.rows[row].cell(row, &self.beside)
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The nodes with cells, each once.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        let first = |(row, cell): &(usize, &Row)| self.first_row(cell.node) as usize == *row;
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
    pub fn at(&mut self, node: NodeId, device: DeviceId) -> CellMut<'_> {
        let row = self.row(node, device);
        self.row_mut(row)
    }

    /// The row of a node on a device. Creates it if necessary.
    #[inline]
    pub fn row(&mut self, node: NodeId, device: DeviceId) -> usize {
        let mut last = NONE;
        let mut row = self.first_row(node);
        for _ in 0..FEW_DEVICES {
            let Some(of_node) = self.rows.get(row as usize) else {
                return self.push(node, device, last);
            };
            if of_node.device == device {
                return row as usize;
            }
            (last, row) = (row, of_node.next);
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
    pub fn row_mut(&mut self, row: usize) -> CellMut<'_> {
        CellMut::new(&mut self.rows[row], row, &mut self.beside)
    }

    /// Adds a row after another of the same node, or as its first.
    #[inline(never)]
    fn push(&mut self, node: NodeId, device: DeviceId, last: u32) -> usize {
        let row = self.rows.len();
        match self.rows.get_mut(last as usize) {
            Some(before) => before.next = row as u32,
            None => self.set_first_row(node, row as u32),
        }
        self.rows.push(Row::new(node, device));
        row
    }

    /// Adds all cells of `other`.
    pub fn merge(&mut self, other: &Cells, parts: Parts) {
        for (row, cell) in other.rows().enumerate() {
            self.at(cell.node, cell.device).add(cell, parts);
            if let Some(sums) = other.of_traces.get(row) {
                self.add_of_trace(cell.node, cell.device, *sums);
            }
        }
    }

    /// Lowers the peaks of a part of a step to their excess over those of the earlier parts.
    pub fn peaks_beyond(&mut self, earlier: &Cells) {
        for row in &self.rows {
            let before = earlier.of(row.node).find(|before| before.device == row.device);
            self.beside.peaks_beyond(row, before.map_or(0, |before| before.peaks().highest));
        }
    }

    /// Adds sums of a trace to a cell.
    pub fn add_of_trace(&mut self, node: NodeId, device: DeviceId, sums: TraceSums) {
        let row = self.row(node, device);
        self.of_traces.resize(self.rows.len(), TraceSums::default());
        self.of_traces[row].add(sums);
    }

    /// The cells of one node with the sums of traces; inclusive time is self time if that is all that is known.
    pub fn with_trace_sums(&self, node: NodeId) -> impl Iterator<Item = (Cell<'_>, TraceSums)> {
        let mut next = self.first_row(node);
        std::iter::from_fn(move || {
            let row = self.rows.get(next as usize)?;
            let cell = row.cell(next as usize, &self.beside);
            let own = || TraceSums { inclusive: cell.sum(Measure::Micros).limited(), ..TraceSums::default() };
            let sums = self.of_traces.get(next as usize).copied().unwrap_or_else(own);
            next = row.next;
            Some((cell, sums))
        })
    }
}

/// Iterates over the cells of one node.
#[derive(Clone, Debug)]
pub struct CellsOf<'a> {
    cells: &'a Cells,
    next: u32,
}

impl<'a> Iterator for CellsOf<'a> {
    type Item = Cell<'a>;

    #[inline]
    fn next(&mut self) -> Option<Cell<'a>> {
        let row = self.cells.rows.get(self.next as usize)?;
        let cell = row.cell(self.next as usize, &self.cells.beside);
        self.next = row.next;
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
        both.merge(&cells, Parts::OfOtherSteps);
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
        let of = |cells: &Cells| cells.of(NodeId(0)).next().map(|cell| (cell.peaks().sum(), cell.peaks().highest));
        let mut steps = step(&[10, 30, 20]);
        assert_eq!(of(&steps), Some((30, 30)));
        steps.merge(&step(&[5, 25]), Parts::OfOtherSteps);
        assert_eq!(of(&steps), Some((55, 30)));
        let mut parts = step(&[10, 30]);
        parts.merge(&step(&[40, 20]), Parts::OfOneStep);
        assert_eq!(of(&parts), Some((40, 40)));
        let mut more = step(&[40, 20]);
        more.peaks_beyond(&step(&[10, 30]));
        assert_eq!(more.of(NodeId(0)).next().map(|cell| cell.peaks().sum()), Some(10));
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
