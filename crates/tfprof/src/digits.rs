//! Decimal digits, written straight into a buffer: reports hold millions of numbers, and the standard formatter would
//! take most of their time.

/// Appends a whole number.
pub fn push(out: &mut Vec<u8>, n: i64) {
    if n < 0 {
        out.push(b'-');
    }
    push_unsigned(out, n.unsigned_abs());
}

pub fn push_unsigned(out: &mut Vec<u8>, n: u64) {
    let mut room = [0; ROOM];
    let length = put(n, &mut room);
    out.extend_from_slice(&room[..length]);
}

/// The largest number has 20 digits.
pub const ROOM: usize = 32;

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
pub fn put(n: u64, room: &mut [u8; ROOM]) -> usize {
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
pub fn push_hundredths(out: &mut Vec<u8>, x: f64) {
    // Larger numbers have no fraction bits, and would overflow below.
    const WHOLE: f64 = (1_u64 << f64::MANTISSA_DIGITS) as f64;
    if !x.is_finite() || x.abs() >= WHOLE {
        return out.extend_from_slice(format!("{x:.2}").as_bytes());
    }
    // The number is a 53-bit mantissa times a power of two below one.
    let exponent = ((x.to_bits() >> 52) & 0x7ff) as u32;
    let fraction = x.to_bits() & ((1 << 52) - 1);
    let mantissa = if exponent == 0 { fraction } else { fraction | 1 << 52 };
    let shift = 1075 - exponent.max(1);
    let hundredths = rounded_shift(mantissa * 100, shift);
    if x.is_sign_negative() {
        out.push(b'-');
    }
    push_unsigned(out, hundredths / 100);
    let rest = (hundredths % 100) as u8;
    out.extend_from_slice(&[b'.', b'0' + rest / 10, b'0' + rest % 10]);
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

    fn text(push: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        push(&mut out);
        String::from_utf8(out).unwrap()
    }

    fn hundredths(x: f64) -> String {
        text(|out| push_hundredths(out, x))
    }

    #[test]
    fn odd_numbers() {
        for n in [0, 1, -1, 9, 10, 99, 100, i64::MAX, i64::MIN] {
            assert_eq!(text(|out| push(out, n)), n.to_string());
        }
        let numbers = [0.0, -0.0, 0.005, 0.015, 1.125, 1.375, 0.995, 1e15, 9e15, 1e16, 1e300, 5e-324, 1e-310];
        for x in numbers.into_iter().chain([f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE]) {
            assert_eq!(hundredths(x), format!("{x:.2}"));
        }
    }

    proptest! {
        #[test]
        fn digits_are_those_of_the_standard_formatter(n: i64, bits: u64) {
            prop_assert_eq!(text(|out| push(out, n)), n.to_string());
            let x = f64::from_bits(bits);
            prop_assert_eq!(hundredths(x), format!("{x:.2}"));
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
