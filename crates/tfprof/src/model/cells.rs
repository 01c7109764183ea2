//! What was measured: sums by (node, device), for one step or for all of them.
//!
//! Only sums, counts, minima and maxima are kept, so merging is addition. Which of the sums count is the business
//! of a view, not of this file.

use super::devices::DeviceId;
use super::nodes::NodeId;

/// A number that adds up over the records of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Records with a start time.
    Runs,
    Micros,
    RequestedBytes,
    PeakBytes,
    ResidualBytes,
    OutputBytes,
}

impl Measure {
    pub const COUNT: usize = 6;
}

pub type Sums = [i64; Measure::COUNT];

/// The sums of one node on one device.
#[derive(Clone, Debug)]
pub struct Cell {
    pub node: NodeId,
    pub device: DeviceId,
    pub sums: Sums,
    /// Earliest start and latest end, in microseconds; 0 if no record had a start.
    pub first_start: i64,
    pub last_end: i64,
    next: u32,
}

/// Cells, found by node. A node's cells are in the order in which its devices were met.
#[derive(Clone, Debug, Default)]
pub struct Cells {
    rows: Vec<Cell>,
    first: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl Cells {
    pub fn rows(&self) -> &[Cell] {
        &self.rows
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn has(&self, node: NodeId) -> bool {
        self.first.get(node.index()).is_some_and(|row| *row != NONE)
    }

    /// The cells of one node.
    #[inline]
    pub fn of(&self, node: NodeId) -> CellsOf<'_> {
        CellsOf { rows: &self.rows, next: self.first.get(node.index()).copied().unwrap_or(NONE) }
    }

    /// The cell of a node on a device, made if it is not there.
    #[inline]
    pub fn at(&mut self, node: NodeId, device: DeviceId) -> &mut Cell {
        if node.index() >= self.first.len() {
            self.first.resize((node.index() + 1).max(self.first.len() * 2), NONE);
        }
        let mut last = NONE;
        let mut row = self.first[node.index()];
        while row != NONE && self.rows[row as usize].device != device {
            last = row;
            row = self.rows[row as usize].next;
        }
        if row == NONE {
            row = self.rows.len() as u32;
            match last {
                NONE => self.first[node.index()] = row,
                last => self.rows[last as usize].next = row,
            }
            let cell = Cell { node, device, sums: [0; Measure::COUNT], first_start: 0, last_end: 0, next: NONE };
            self.rows.push(cell);
        }
        &mut self.rows[row as usize]
    }

    /// Adds all cells of `other`.
    pub fn merge(&mut self, other: &Cells) {
        for cell in &other.rows {
            self.at(cell.node, cell.device).add(cell);
        }
    }
}

impl Cell {
    /// Adds one record. Sums saturate rather than wrap.
    #[inline]
    pub fn record(&mut self, sums: &Sums, start: i64, end: i64) {
        for (sum, value) in self.sums.iter_mut().zip(sums) {
            *sum = sum.saturating_add(*value);
        }
        if start > 0 {
            self.first_start = if self.first_start == 0 { start } else { self.first_start.min(start) };
            self.last_end = self.last_end.max(end);
        }
    }

    fn add(&mut self, other: &Cell) {
        self.record(&other.sums, other.first_start, other.last_end);
    }
}

/// Iterates over the cells of one node.
#[derive(Clone, Debug)]
pub struct CellsOf<'a> {
    rows: &'a [Cell],
    next: u32,
}

impl<'a> Iterator for CellsOf<'a> {
    type Item = &'a Cell;

    #[inline]
    fn next(&mut self) -> Option<&'a Cell> {
        let cell = self.rows.get(self.next as usize)?;
        self.next = cell.next;
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
            cells.at(NodeId(node), DeviceId(device)).record(&[1, micros, 0, 0, 0, 0], 10, 10 + micros);
        }
        let of = |node| cells.of(NodeId(node)).map(|c| (c.device.0, c.sums[1], c.last_end)).collect::<Vec<_>>();
        assert_eq!(of(3), [(1, 9, 15), (0, 2, 12)]);
        assert_eq!(of(0), [(1, 7, 17)]);
        assert_eq!(of(9), []);
        let mut both = cells.clone();
        both.merge(&cells);
        assert_eq!(both.of(NodeId(3)).next().map(|c| c.sums[1]), Some(18));
    }
}
