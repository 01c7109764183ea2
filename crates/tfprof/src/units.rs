//! Numbers as people read them: `1.23m`, `4.50KB`, `67us`.

use crate::metric::Unit;
use std::io::{self, Write};

/// Writes `n` in its unit. As the original: divided in double precision and rounded as C does.
pub fn write(out: &mut dyn Write, unit: Unit, n: i64) -> io::Result<()> {
    match unit {
        Unit::Count => scaled(out, n, "", &[(1_000, "k"), (1_000_000, "m"), (1_000_000_000, "b")]),
        Unit::Micros => scaled(out, n, "us", &[(1_000, "ms"), (1_000_000, "sec")]),
        Unit::Bytes => scaled(out, n, "B", &[(1_000, "KB"), (1_000_000, "MB")]),
    }
}

pub fn text(unit: Unit, n: i64) -> String {
    let mut out = Vec::new();
    // Writing to memory cannot fail.
    let _ = write(&mut out, unit, n);
    String::from_utf8(out).unwrap_or_default()
}

fn scaled(out: &mut dyn Write, n: i64, plain: &str, steps: &[(i64, &str)]) -> io::Result<()> {
    match steps.iter().rev().find(|(least, _)| n >= *least) {
        None => write!(out, "{n}{plain}"),
        Some((divisor, suffix)) => write!(out, "{:.2}{suffix}", n as f64 / *divisor as f64),
    }
}

/// Writes dimensions as `3x3x16`.
pub fn write_shape(out: &mut dyn Write, dims: &[i64]) -> io::Result<()> {
    for (i, dim) in dims.iter().enumerate() {
        if i > 0 {
            out.write_all(b"x")?;
        }
        write!(out, "{dim}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_times_and_memory() {
        let check = |n, expect: [&str; 3]| {
            assert_eq!([Unit::Count, Unit::Micros, Unit::Bytes].map(|unit| text(unit, n)), expect.map(str::to_owned));
        };
        check(0, ["0", "0us", "0B"]);
        check(-5, ["-5", "-5us", "-5B"]);
        check(999, ["999", "999us", "999B"]);
        check(1005, ["1.00k", "1.00ms", "1.00KB"]);
        check(1125, ["1.12k", "1.12ms", "1.12KB"]);
        check(1375, ["1.38k", "1.38ms", "1.38KB"]);
        check(999_995, ["1000.00k", "1000.00ms", "1000.00KB"]);
        check(1_234_567_890_123, ["1234.57b", "1234567.89sec", "1234567.89MB"]);
    }
}
