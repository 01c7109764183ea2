//! Rows in the order of a column, so that a statement that joins, groups or sorts does not search all of them.

use crate::columnar::{Batch, Column};
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::OnceLock;

/// A table with the orders of its columns, each found when it is first needed.
#[derive(Debug)]
pub struct Indexed {
    pub rows: Batch,
    orders: Vec<OnceLock<Order>>,
}

/// The rows by a column: missing cells first, then by value. Texts compare by bytes.
#[derive(Debug)]
struct Order {
    rows: Vec<u32>,
    /// For a column of texts: the rank of each text, by its number.
    ranks: Vec<u32>,
}

/// A value to look for.
#[derive(Clone, Copy, Debug)]
pub enum Wanted<'a> {
    Int(i64),
    Text(&'a str),
}

impl Indexed {
    pub fn new(rows: Batch) -> Indexed {
        let orders = rows.columns.iter().map(|_| OnceLock::new()).collect();
        Indexed { rows, orders }
    }

    /// Whether rows can be found by a column.
    pub fn can_find(&self, column: usize) -> bool {
        matches!(self.rows.columns.get(column), Some(Column::Ints(_) | Column::Texts(..) | Column::Bools(_)))
    }

    fn order(&self, column: usize) -> &Order {
        self.orders[column].get_or_init(|| {
            let cells = &self.rows.columns[column];
            let ranks = if let Column::Texts(_, texts) = cells { texts.ranks() } else { Vec::new() };
            let mut rows: Vec<u32> = (0..self.rows.rows() as u32).collect();
            rows.sort_by(|a, b| compare(cells, &ranks, *a as usize, *b as usize));
            Order { rows, ranks }
        })
    }

    /// The rows sorted by some columns, most significant first; `true` for descending.
    pub fn ordered(&self, by: &[(usize, bool)]) -> Vec<u32> {
        if let [(column, descending)] = by {
            let mut rows = self.order(*column).rows.clone();
            if *descending {
                rows.reverse();
            }
            return rows;
        }
        let mut rows: Vec<u32> = (0..self.rows.rows() as u32).collect();
        for (column, descending) in by.iter().rev() {
            let (cells, ranks) = (&self.rows.columns[*column], &self.order(*column).ranks);
            rows.sort_by(|a, b| {
                let order = compare(cells, ranks, *a as usize, *b as usize);
                if *descending { order.reverse() } else { order }
            });
        }
        rows
    }

    /// The rows by a column, and the range of those whose cell equals a value. `None` if the column has another type.
    pub fn find(&self, column: usize, wanted: Wanted<'_>) -> Option<(&[u32], Range<usize>)> {
        let cells = self.rows.columns.get(column)?;
        let number = match (cells, wanted) {
            (Column::Ints(_) | Column::Bools(_), Wanted::Int(n)) => n,
            (Column::Texts(_, texts), Wanted::Text(text)) => match texts.find(text) {
                Some(number) => i64::from(self.order(column).ranks[number as usize]),
                None => return Some((&[], 0..0)),
            },
            _ => return None,
        };
        let Order { rows, ranks } = self.order(column);
        let key = |row: &u32| key(cells, ranks, *row as usize);
        let start = rows.partition_point(|row| key(row).is_none_or(|key| key < number));
        let end = rows.partition_point(|row| key(row).is_none_or(|key| key <= number));
        Some((rows, start..end))
    }
}

/// The place of a cell in the order of its column; `None` if it is missing, or a real number.
#[inline]
fn key(cells: &Column, ranks: &[u32], row: usize) -> Option<i64> {
    match cells {
        Column::Ints(cells) => cells.get(row),
        Column::Bools(cells) => cells.get(row).map(i64::from),
        Column::Texts(cells, _) => cells.get(row).map(|number| i64::from(ranks[number as usize])),
        Column::Reals(_) => None,
    }
}

#[inline]
fn compare(cells: &Column, ranks: &[u32], a: usize, b: usize) -> Ordering {
    if let Column::Reals(cells) = cells {
        return match (cells.get(a), cells.get(b)) {
            (Some(a), Some(b)) => a.total_cmp(&b),
            (a, b) => a.is_some().cmp(&b.is_some()),
        };
    }
    key(cells, ranks, a).cmp(&key(cells, ranks, b))
}
