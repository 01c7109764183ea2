//! The cells of tables, and tables as text.

use crate::checkpoint::Tensor;
use crate::metric::Unit;
use crate::render::html::Grid;
use crate::units;
use std::io::{self, Write};

/// Writes aligned columns, numbers to the right.
pub fn write_table(grid: &Grid, out: &mut dyn Write) -> io::Result<()> {
    let width = |column: usize| {
        let cells = grid.rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0).max(grid.head[column].len())
    };
    let widths: Vec<usize> = (0..grid.head.len()).map(width).collect();
    let mut line = |cells: &[&str]| -> io::Result<()> {
        let mut text = String::new();
        for (column, cell) in cells.iter().enumerate() {
            let width = widths[column];
            text += &if grid.is_number[column] { format!("{cell:>width$}  ") } else { format!("{cell:width$}  ") };
        }
        writeln!(out, "{}", text.trim_end())
    };
    line(&grid.head)?;
    grid.rows.iter().try_for_each(|row| line(&row.iter().map(String::as_str).collect::<Vec<_>>()))
}

pub fn shape(tensor: &Tensor) -> String {
    let dims: Vec<_> = tensor.shape.iter().map(i64::to_string).collect();
    if dims.is_empty() { "scalar".to_owned() } else { dims.join("x") }
}

pub fn bytes(bytes: u64) -> String {
    units::text(Unit::Bytes, i64::try_from(bytes).unwrap_or(i64::MAX))
}

/// Four decimals, or four digits with an exponent.
pub fn float(x: f64) -> String {
    let size = x.abs();
    if x == 0.0 || (1e-3..1e6).contains(&size) {
        let text = format!("{x:.4}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else if x.is_finite() {
        format!("{x:.3e}")
    } else if x.is_nan() {
        "nan".to_owned()
    } else {
        x.to_string()
    }
}

/// A bar chart, in eighths of a line.
pub fn histogram(counts: &[u64]) -> String {
    const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let column = |count: &u64| EIGHTHS[(u128::from(*count) * 8).div_ceil(u128::from(most)) as usize];
    counts.iter().map(column).collect()
}

pub fn plural(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_numbers() {
        let check = |x, expect| assert_eq!(float(x), expect);
        check(0.0, "0");
        check(1.5, "1.5");
        check(-0.012_345_6, "-0.0123");
        check(1.5e-9, "1.500e-9");
        check(123_456_789.0, "1.235e8");
        check(f64::NEG_INFINITY, "-inf");
    }

    #[test]
    fn every_count_is_visible() {
        assert_eq!(histogram(&[0, 1, 50, 100]), " ▁▄█");
        assert_eq!(histogram(&[0, 0]), "  ");
    }
}
