//! Small tensors of floats, from which some sizes are computed: `Range(0, Ceil(n / 2))`.
//!
//! A tracked element is the bits of an `f64`, rounded to the tensor's type. Those of −0 mean [`UNKNOWN`], so −0 is
//! stored as 0.

use super::fact::{Fact, UNKNOWN};
use crate::model::dtype::DType;

/// Longer values are not tracked: they are weights.
pub const LONGEST: usize = 16;

/// Whether values of this type are tracked as floats.
pub fn is_float(dtype: DType) -> bool {
    matches!(dtype, DType::FLOAT | DType::DOUBLE)
}

/// A number as an element of this type. NaN is unknown.
pub fn element(dtype: DType, number: f64) -> i64 {
    let rounded = if dtype == DType::FLOAT { f64::from(number as f32) } else { number };
    if rounded.is_nan() { UNKNOWN } else { (rounded + 0.0).to_bits().cast_signed() }
}

/// The number of a known element.
pub fn number(element: i64) -> f64 {
    f64::from_bits(element.cast_unsigned())
}

/// The number of a scalar.
pub fn scalar(fact: &Fact) -> Option<f64> {
    match fact.elements()? {
        [element] if *element != UNKNOWN && is_float(fact.dtype) => Some(number(*element)),
        _ => None,
    }
}

/// Converts an element from one type to another, as `Cast` does.
pub fn cast(element: i64, from: DType, to: DType) -> i64 {
    /// Whole numbers up to here are exact.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match (is_float(from), is_float(to)) {
        _ if element == UNKNOWN => UNKNOWN,
        (true, true) => self::element(to, number(element)),
        (false, true) if to == DType::FLOAT => self::element(to, f64::from(element as f32)),
        (false, true) => self::element(to, element as f64),
        (true, false) if to == DType::BOOL => i64::from(number(element) != 0.0),
        (true, false) if number(element).abs() < EXACT => number(element).trunc() as i64,
        (true, false) => UNKNOWN,
        (false, false) if to == DType::BOOL => i64::from(element != 0),
        (false, false) => element,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_to_their_type() {
        let check = |dtype, n: f64, expect: f64| assert_eq!(number(element(dtype, n)).to_bits(), expect.to_bits());
        check(DType::FLOAT, 0.1, f64::from(0.1_f32));
        check(DType::DOUBLE, 0.1, 0.1);
        check(DType::DOUBLE, -0.0, 0.0);
        assert_eq!(element(DType::FLOAT, f64::NAN), UNKNOWN);
        let whole = |n: f64, to| cast(element(DType::FLOAT, n), DType::FLOAT, to);
        assert_eq!((whole(-2.7, DType::INT32), whole(0.5, DType::BOOL), whole(1e30, DType::INT64)), (-2, 1, UNKNOWN));
        assert_eq!(cast(7, DType::INT32, DType::FLOAT), element(DType::FLOAT, 7.0));
    }
}
