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

/// A size as people write it: `1000`, `1.5GB`, `512 MiB`, `4g`.
pub fn parse_bytes(size: &str) -> Option<u64> {
    let size = size.trim();
    let digits = size.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(size.len());
    let (number, unit) = size.split_at(digits);
    let factor = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "t" | "tb" => 1e12,
        "kib" => 1024.0,
        "mib" => 1024.0 * 1024.0,
        "gib" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    number.parse::<f64>().ok().map(|number| (number * factor) as u64)
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
    fn sizes_are_read_as_people_write_them() {
        let check = |size, bytes| assert_eq!(parse_bytes(size), bytes, "{size}");
        check("1000", Some(1000));
        check("1.5GB", Some(1_500_000_000));
        check("2 MiB", Some(2 << 20));
        check("4g", Some(4_000_000_000));
        check("", None);
        check("MB", None);
        check("5 parsecs", None);
        check("-1", None);
    }

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
