//! Numbers as text: in human-readable units (`1.23m`, `4.50KB`, `67us`) and as digits.

use crate::metric::Unit;

/// Appends `n` in its unit. As the original: divided in double precision and rounded as C does.
#[inline]
pub fn push(out: &mut Vec<u8>, unit: Unit, n: i64) {
    let mut room = [0; NUMBER];
    let length = put(unit, n, &mut room);
    out.extend_from_slice(&room[..length]);
}

/// Appends two numbers and a slash between them.
#[inline]
pub fn push_pair(out: &mut Vec<u8>, unit: Unit, first: i64, second: i64) {
    let mut room = [0; NUMBER];
    let mut length = put(unit, first, &mut room);
    room[length] = b'/';
    out.extend_from_slice(&room[..=length]);
    if first != second {
        length = put(unit, second, &mut room);
    }
    out.extend_from_slice(&room[..length]);
}

/// The longest number with its unit, and the room that is written to beyond its end.
const NUMBER: usize = 64;

/// Writes a number in its unit and returns its length. Reports have millions of them.
#[inline]
pub fn put(unit: Unit, n: i64, room: &mut [u8; NUMBER]) -> usize {
    let (plain, steps) = steps(unit);
    let (length, suffix) = if n < SMALL {
        (put_int(n, room), plain)
    } else {
        let (divisor, suffix) = steps.iter().rev().find(|(least, _)| n >= *least).copied().unwrap_or((1, plain));
        match hundredths(n, divisor) {
            Some(hundredths) => (put_hundredths(hundredths, room), suffix),
            None => (put_real(n as f64 / divisor as f64, room), suffix),
        }
    };
    // A fixed size takes no call.
    if let Some(room) = room[length..].first_chunk_mut() {
        *room = suffix.text;
    }
    length + suffix.length
}

#[inline]
fn put_int(n: i64, room: &mut [u8; NUMBER]) -> usize {
    let sign = usize::from(n < 0);
    room[0] = b'-';
    match n.unsigned_abs() {
        digit @ 0..10 => {
            room[sign] = b'0' + digit as u8;
            sign + 1
        }
        n => sign + room[sign..].first_chunk_mut().map_or(0, |room| put_digits(n, room)),
    }
}

/// A number divided by one of a larger unit, in hundredths, without the division of floats; `None` if it lies in the middle
/// of two, where it depends on how the quotient is rounded, or has more digits than a float.
#[inline]
fn hundredths(n: i64, divisor: i64) -> Option<u64> {
    let n = u64::try_from(n).ok().filter(|n| *n < 1 << f64::MANTISSA_DIGITS)?;
    // Divisions by constants are multiplications.
    let (quotient, rest, part) = match divisor {
        KILO => (n / 10, n % 10, 10),
        MEGA => (n / 10_000, n % 10_000, 10_000),
        GIGA => (n / 10_000_000, n % 10_000_000, 10_000_000),
        _ => return None,
    };
    (2 * rest != part).then_some(quotient + u64::from(2 * rest > part))
}

#[inline]
fn put_hundredths(hundredths: u64, room: &mut [u8; NUMBER]) -> usize {
    let Some(digits) = room.first_chunk_mut() else { return 0 };
    let whole = put_digits(hundredths / 100, digits);
    let rest = (hundredths % 100) as u8;
    if let Some(fraction) = room[whole..].first_chunk_mut() {
        *fraction = [b'.', b'0' + rest / 10, b'0' + rest % 10];
    }
    whole + 3
}

/// Writes a number as [`push_hundredths`] does.
fn put_real(x: f64, room: &mut [u8; NUMBER]) -> usize {
    if let Some(hundredths) = scaled(x, 100).filter(|_| x >= 0.0) {
        return put_hundredths(hundredths, room);
    }
    let mut text = Vec::new();
    push_hundredths(&mut text, x);
    let length = text.len().min(NUMBER);
    room[..length].copy_from_slice(&text[..length]);
    length
}

/// The name of a unit behind a number.
#[derive(Clone, Copy)]
struct Suffix {
    text: [u8; 8],
    length: usize,
}

impl Suffix {
    const fn new(name: &str) -> Suffix {
        let name = name.as_bytes();
        let mut text = [0; 8];
        let mut i = 0;
        while i < name.len() {
            text[i] = name[i];
            i += 1;
        }
        Suffix { text, length: name.len() }
    }

    fn bytes(&self) -> &[u8] {
        &self.text[..self.length]
    }
}

/// Smaller numbers are shown in the plain unit.
const SMALL: i64 = 1_000;

/// Appends a number that need not be whole, with two decimals.
pub fn push_real(out: &mut Vec<u8>, unit: Unit, x: f64) {
    let (plain, steps) = steps(unit);
    let x = if unit == Unit::Share { 100.0 * x } else { x };
    let (divisor, suffix) = steps.iter().rev().find(|(least, _)| x >= *least as f64).copied().unwrap_or((1, plain));
    push_hundredths(out, x / divisor as f64);
    out.extend_from_slice(suffix.bytes());
}

/// Larger units, each with the smallest number that is shown in it.
type Steps = &'static [(i64, Suffix)];

const KILO: i64 = 1_000;
const MEGA: i64 = 1_000_000;
const GIGA: i64 = 1_000_000_000;
const TERA: i64 = 1_000_000_000_000;
const PETA: i64 = 1_000_000_000_000_000;

static COUNTS: (Suffix, Steps) =
    (Suffix::new(""), &[(KILO, Suffix::new("k")), (MEGA, Suffix::new("m")), (GIGA, Suffix::new("b"))]);
static TIMES: (Suffix, Steps) = (Suffix::new("us"), &[(KILO, Suffix::new("ms")), (MEGA, Suffix::new("sec"))]);
static SIZES: (Suffix, Steps) = (Suffix::new("B"), &[(KILO, Suffix::new("KB")), (MEGA, Suffix::new("MB"))]);
static SHARES: (Suffix, Steps) = (Suffix::new("%"), &[]);
static BYTE_RATES: (Suffix, Steps) = (
    Suffix::new("B/s"),
    &[
        (KILO, Suffix::new("KB/s")),
        (MEGA, Suffix::new("MB/s")),
        (GIGA, Suffix::new("GB/s")),
        (TERA, Suffix::new("TB/s")),
    ],
);
static FLOP_RATES: (Suffix, Steps) = (
    Suffix::new("FLOP/s"),
    &[
        (KILO, Suffix::new("kFLOP/s")),
        (MEGA, Suffix::new("MFLOP/s")),
        (GIGA, Suffix::new("GFLOP/s")),
        (TERA, Suffix::new("TFLOP/s")),
        (PETA, Suffix::new("PFLOP/s")),
    ],
);

/// The unit of small numbers, and larger units.
#[inline]
fn steps(unit: Unit) -> (Suffix, Steps) {
    *match unit {
        Unit::Count => &COUNTS,
        Unit::Micros => &TIMES,
        Unit::Bytes => &SIZES,
        Unit::BytesPerSecond => &BYTE_RATES,
        Unit::Share => &SHARES,
        Unit::FlopsPerSecond => &FLOP_RATES,
    }
}

/// A number that may be finer than its unit: `n` parts, of which `parts` make one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount {
    pub n: i64,
    /// A power of ten.
    pub parts: i64,
}

impl Amount {
    /// The nearest whole number; halves go away from zero.
    pub fn rounded(self) -> i64 {
        match self.parts {
            1 => self.n,
            parts => {
                let half = if self.n < 0 { -parts / 2 } else { parts / 2 };
                self.n.saturating_add(half) / parts
            }
        }
    }

    pub fn push(self, out: &mut Vec<u8>, unit: Unit) {
        let whole = self.rounded();
        match (self.parts, unit) {
            // Round only once: convert to larger units from the parts.
            (2.., Unit::Micros) if whole >= 1000 => {
                let micros = self.n as f64 / self.parts as f64;
                let (shown, suffix) = if whole >= 1_000_000 { (micros / 1e6, "sec") } else { (micros / 1e3, "ms") };
                push_hundredths(out, shown);
                out.extend_from_slice(suffix.as_bytes());
            }
            _ => push(out, unit, whole),
        }
    }

    pub fn text(self, unit: Unit) -> String {
        let mut out = Vec::new();
        self.push(&mut out, unit);
        String::from_utf8(out).unwrap_or_default()
    }

    /// Appends the exact decimal number.
    pub fn push_exact(self, out: &mut Vec<u8>) {
        if self.parts == 1 {
            return push_int(out, self.n);
        }
        let (n, parts) = (self.n.unsigned_abs(), self.parts.unsigned_abs());
        if self.n < 0 {
            out.push(b'-');
        }
        push_unsigned(out, n / parts);
        let (mut rest, mut unit) = (n % parts, parts);
        if rest > 0 {
            out.push(b'.');
        }
        while rest > 0 {
            unit /= 10;
            out.push(b'0' + (rest / unit) as u8);
            rest %= unit;
        }
    }
}

/// The exact decimal number.
impl std::fmt::Display for Amount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = Vec::new();
        self.push_exact(&mut out);
        f.write_str(&String::from_utf8_lossy(&out))
    }
}

pub fn text(unit: Unit, n: i64) -> String {
    let mut out = Vec::new();
    push(&mut out, unit, n);
    String::from_utf8(out).unwrap_or_default()
}

/// `1,234,567`.
pub fn grouped(n: i64) -> String {
    let digits = n.unsigned_abs().to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if n < 0 { format!("-{text}") } else { text }
}

/// Parses a size: `1000`, `1.5GB`, `512 MiB`, `4g`.
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

/// Appends dimensions as `3x3x16`.
pub fn push_shape(out: &mut Vec<u8>, dims: &[i64]) {
    for (i, dim) in dims.iter().enumerate() {
        if i > 0 {
            out.push(b'x');
        }
        push_int(out, *dim);
    }
}

// ---- digits, written straight into a buffer: reports hold millions of numbers, and the standard formatter would take
// most of their time

/// Appends a whole number.
#[inline]
pub fn push_int(out: &mut Vec<u8>, n: i64) {
    if n < 0 {
        out.push(b'-');
    }
    push_unsigned(out, n.unsigned_abs());
}

#[inline]
pub fn push_unsigned(out: &mut Vec<u8>, n: u64) {
    if n < 10 {
        return out.push(b'0' + n as u8);
    }
    let mut room = [0; DIGITS];
    let length = put_digits(n, &mut room);
    out.extend_from_slice(&room[..length]);
}

/// The largest number has 20 digits.
pub const DIGITS: usize = 32;

/// All numbers of three digits.
pub static THREES: [[u8; 3]; 1000] = {
    let mut all = [[0; 3]; 1000];
    let mut n = 0;
    while n < 1000 {
        all[n] = [b'0' + (n / 100) as u8, b'0' + (n / 10 % 10) as u8, b'0' + (n % 10) as u8];
        n += 1;
    }
    all
};

/// Writes a number and returns its length.
#[inline]
pub fn put_digits(n: u64, room: &mut [u8; DIGITS]) -> usize {
    // Three digits at a time, from the end; the first group has no leading zeros.
    let mut threes = [0_u16; 7];
    let mut count = 0;
    let mut left = n;
    while left >= 1000 {
        threes[count] = (left % 1000) as u16;
        left /= 1000;
        count += 1;
    }
    let first = &THREES[left as usize];
    let mut at = if left >= 100 {
        room[..3].copy_from_slice(first);
        3
    } else if left >= 10 {
        room[..2].copy_from_slice(&first[1..]);
        2
    } else {
        room[0] = first[2];
        1
    };
    for three in threes[..count].iter().rev() {
        room[at..at + 3].copy_from_slice(&THREES[usize::from(*three)]);
        at += 3;
    }
    at
}

/// Appends a number with two decimals, rounded from its exact value, halves to the even digit, as C does it.
fn push_hundredths(out: &mut Vec<u8>, x: f64) {
    let Some(hundredths) = scaled(x, 100) else { return out.extend_from_slice(format!("{x:.2}").as_bytes()) };
    if x.is_sign_negative() {
        out.push(b'-');
    }
    push_unsigned(out, hundredths / 100);
    let rest = (hundredths % 100) as u8;
    out.extend_from_slice(&[b'.', b'0' + rest / 10, b'0' + rest % 10]);
}

/// Appends a number with one decimal, rounded in the same way.
pub fn push_tenths(out: &mut Vec<u8>, x: f64) {
    let Some(tenths) = scaled(x, 10) else { return out.extend_from_slice(format!("{x:.1}").as_bytes()) };
    if x.is_sign_negative() {
        out.push(b'-');
    }
    push_unsigned(out, tenths / 10);
    out.extend_from_slice(&[b'.', b'0' + (tenths % 10) as u8]);
}

/// The size of a number in parts, at most 100 of them in one, rounded from its exact value; none of a number without a
/// fraction.
fn scaled(x: f64, parts: u64) -> Option<u64> {
    // Larger numbers have no fraction bits, and would overflow below.
    const WHOLE: f64 = (1_u64 << f64::MANTISSA_DIGITS) as f64;
    if !x.is_finite() || x.abs() >= WHOLE {
        return None;
    }
    // The number is a 53-bit mantissa times a power of two below one.
    let exponent = ((x.to_bits() >> 52) & 0x7ff) as u32;
    let fraction = x.to_bits() & ((1 << 52) - 1);
    let mantissa = if exponent == 0 { fraction } else { fraction | 1 << 52 };
    let shift = 1075 - exponent.max(1);
    Some(rounded_shift(mantissa * parts, shift))
}

/// `n` divided by two to the power of `shift`, halves to the even number.
fn rounded_shift(n: u64, shift: u32) -> u64 {
    if shift == 0 {
        return n;
    }
    // The mantissa times a hundred has 60 bits.
    if shift > 61 {
        return 0;
    }
    let (whole, rest, half) = (n >> shift, n & ((1 << shift) - 1), 1 << (shift - 1));
    whole + u64::from(rest > half || (rest == half && whole & 1 == 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
    fn amounts_are_exact_in_programs_and_rounded_once_for_people() {
        let check = |n: i64, exact: &str, text: &str| {
            let amount = Amount { n, parts: 1_000_000 };
            assert_eq!((amount.to_string().as_str(), amount.text(Unit::Micros).as_str()), (exact, text));
        };
        check(0, "0", "0us");
        check(24_403_001, "24.403001", "24us");
        check(1_500_000, "1.5", "2us");
        check(999_499_999, "999.499999", "999us");
        check(1_234_999_999, "1234.999999", "1.23ms");
        check(-1_500_000, "-1.5", "-2us");
        check(i64::MAX, "9223372036854.775807", "9223372.04sec");
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

    fn pushed(push: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        push(&mut out);
        String::from_utf8(out).unwrap()
    }

    fn hundredths(x: f64) -> String {
        pushed(|out| push_hundredths(out, x))
    }

    #[test]
    fn odd_numbers() {
        for n in [0, 1, -1, 9, 10, 99, 100, i64::MAX, i64::MIN] {
            assert_eq!(pushed(|out| push_int(out, n)), n.to_string());
        }
        let numbers = [0.0, -0.0, 0.005, 0.015, 1.125, 1.375, 0.995, 1e15, 9e15, 1e16, 1e300, 5e-324, 1e-310];
        for x in numbers.into_iter().chain([f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE]) {
            assert_eq!(hundredths(x), format!("{x:.2}"));
        }
    }

    proptest! {
        #[test]
        fn larger_units_are_rounded_as_their_quotients(n in 1000..i64::MAX, shift in 0..54_u32, more in -1..2_i64, half in 1..10_i64) {
            let near_half = [10, 10_000, 10_000_000].map(|part| part * (n >> shift >> 24) + part / 2 + more * half / 2);
            for n in near_half.into_iter().chain([n >> shift]).filter(|n| *n >= 1000) {
                for unit in [Unit::Count, Unit::Micros, Unit::Bytes] {
                    let (plain, steps) = steps(unit);
                    let found = steps.iter().rev().find(|(least, _)| n >= *least).copied();
                    let (divisor, suffix) = found.unwrap_or((1, plain));
                    let mut expect = pushed(|out| push_hundredths(out, n as f64 / divisor as f64)).into_bytes();
                    expect.extend_from_slice(suffix.bytes());
                    prop_assert_eq!(text(unit, n).into_bytes(), expect);
                }
            }
        }

        #[test]
        fn digits_are_those_of_the_standard_formatter(n: i64, bits: u64) {
            prop_assert_eq!(pushed(|out| push_int(out, n)), n.to_string());
            let x = f64::from_bits(bits);
            prop_assert_eq!(hundredths(x), format!("{x:.2}"));
        }

        #[test]
        fn tenths_are_those_of_the_standard_formatter(x in -1e17..1e17_f64, by in 1..1_000_000_000_i64) {
            for x in [x, x / by as f64, (x / by as f64).round() / 20.0] {
                prop_assert_eq!(pushed(|out| push_tenths(out, x)), format!("{x:.1}"));
            }
        }

        #[test]
        fn hundredths_are_those_of_the_standard_formatter(n in 0..1_i64 << 62, by in 1..1_000_000_000_i64) {
            let x = n as f64 / by as f64;
            prop_assert_eq!(hundredths(x), format!("{x:.2}"));
        }

        #[test]
        fn halves_go_to_the_even_digit(eighths: u32) {
            let x = f64::from(eighths) / 8.0;
            prop_assert_eq!(hundredths(x), format!("{x:.2}"));
        }
    }
}
