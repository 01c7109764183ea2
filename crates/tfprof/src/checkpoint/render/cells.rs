//! The cells of tables.

use crate::checkpoint::Tensor;
use crate::metric::Unit;
use crate::units;

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
