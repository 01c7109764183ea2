//! A scanner of JSON in memory: positions instead of values, no recursion, no allocation.
//!
//! Every function takes the bytes and a position and returns the position after the value. [`Stop::End`] means that
//! the bytes ended first, so that the caller can read more and try again.

use memchr::{memchr, memchr3};

/// Why scanning ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The bytes end within a value.
    End,
    /// Not JSON, at this position.
    Bad(usize),
}

pub type Scanned<T> = Result<T, Stop>;

/// The position of the next non-blank byte.
#[inline]
pub fn blanks(bytes: &[u8], mut at: usize) -> Scanned<usize> {
    loop {
        match bytes.get(at) {
            Some(b' ' | b'\n' | b'\r' | b'\t') => at += 1,
            Some(_) => return Ok(at),
            None => return Err(Stop::End),
        }
    }
}

/// Skips blanks, then this byte.
#[inline]
pub fn expect(bytes: &[u8], at: usize, byte: u8) -> Scanned<usize> {
    let at = blanks(bytes, at)?;
    if bytes[at] == byte { Ok(at + 1) } else { Err(Stop::Bad(at)) }
}

/// A string that begins at a quote: its content, and the position after it.
#[inline]
pub fn string(bytes: &[u8], at: usize) -> Scanned<(&[u8], usize)> {
    let start = at + 1;
    let mut from = start;
    // Most strings are short, so try a few bytes before the vector search.
    for _ in 0..16 {
        match bytes.get(from) {
            Some(b'"') => return Ok((&bytes[start..from], from + 1)),
            Some(b'\\' | b'\n') => break,
            Some(_) => from += 1,
            None => return Err(Stop::End),
        }
    }
    loop {
        let Some(next) = bytes.get(from..).and_then(|rest| memchr3(b'"', b'\\', b'\n', rest)) else {
            return Err(Stop::End);
        };
        let next = from + next;
        match bytes[next] {
            b'"' => return Ok((&bytes[start..next], next + 1)),
            b'\\' => from = next + 2,
            // A line break is never part of a string: a quote is missing.
            _ => return Err(Stop::Bad(next)),
        }
    }
}

/// Skips a value of any kind.
#[inline]
pub fn value(bytes: &[u8], at: usize) -> Scanned<usize> {
    match bytes.get(at) {
        Some(b'"') => string(bytes, at).map(|(_, end)| end),
        Some(b'{' | b'[') => nested(bytes, at),
        Some(_) => scalar(bytes, at),
        None => Err(Stop::End),
    }
}

/// Skips a number or a word: `null`, `true`, and those of Python, such as `NaN`.
#[inline]
pub fn scalar(bytes: &[u8], at: usize) -> Scanned<usize> {
    let mut end = at;
    while let Some(byte) = bytes.get(end) {
        if !(byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'+' | b'_')) {
            return if end > at { Ok(end) } else { Err(Stop::Bad(at)) };
        }
        end += 1;
    }
    Err(Stop::End)
}

/// Skips an array or an object: brackets are counted, strings are skipped.
pub fn nested(bytes: &[u8], at: usize) -> Scanned<usize> {
    let (mut depth, mut at) = (0_usize, at);
    loop {
        match bytes.get(at) {
            Some(b'"') => {
                at = string(bytes, at)?.1;
                continue;
            }
            Some(b'{' | b'[') => depth += 1,
            Some(b'}' | b']') => {
                depth -= 1;
                if depth == 0 {
                    return Ok(at + 1);
                }
            }
            Some(_) => {}
            None => return Err(Stop::End),
        }
        at += 1;
    }
}

/// The fields of an object that begins at a brace: calls `field` with key, value and its kind; returns the position
/// after the object.
#[inline]
pub fn fields<'b>(
    bytes: &'b [u8],
    at: usize,
    mut field: impl FnMut(&'b [u8], usize) -> Scanned<usize>,
) -> Scanned<usize> {
    let mut at = blanks(bytes, at + 1)?;
    if bytes[at] == b'}' {
        return Ok(at + 1);
    }
    loop {
        if bytes[at] != b'"' {
            return Err(Stop::Bad(at));
        }
        let (key, end) = string(bytes, at)?;
        let colon = expect(bytes, end, b':')?;
        let start = blanks(bytes, colon)?;
        at = blanks(bytes, field(key, start)?)?;
        match bytes[at] {
            b',' => at = blanks(bytes, at + 1)?,
            b'}' => return Ok(at + 1),
            _ => return Err(Stop::Bad(at)),
        }
    }
}

/// The items of an array that begins at a bracket; calls `item` with the position of each.
pub fn items(bytes: &[u8], at: usize, mut item: impl FnMut(usize) -> Scanned<usize>) -> Scanned<usize> {
    let mut at = blanks(bytes, at + 1)?;
    if bytes[at] == b']' {
        return Ok(at + 1);
    }
    loop {
        at = blanks(bytes, item(at)?)?;
        match bytes[at] {
            b',' => at = blanks(bytes, at + 1)?,
            b']' => return Ok(at + 1),
            _ => return Err(Stop::Bad(at)),
        }
    }
}

/// The text of a scalar or string value without its quotes.
pub fn text(value: &[u8]) -> &[u8] {
    match value {
        [b'"', inner @ .., b'"'] => inner,
        _ => value,
    }
}

/// Decodes the escapes of a string's content. Bytes that are no UTF-8 are escaped.
pub fn unescape(content: &[u8]) -> String {
    if memchr(b'\\', content).is_none() {
        return crate::model::names::escape_invalid(content);
    }
    let mut out: Vec<u8> = Vec::with_capacity(content.len());
    let mut rest = content;
    while let Some(at) = memchr(b'\\', rest) {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        let Some((escape, after)) = rest.split_first() else { break };
        rest = after;
        match escape {
            b'n' => out.push(b'\n'),
            b't' => out.push(b'\t'),
            b'r' => out.push(b'\r'),
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'u' => {
                let (letter, length) = unicode(rest);
                let mut buffer = [0; 4];
                out.extend_from_slice(letter.encode_utf8(&mut buffer).as_bytes());
                rest = &rest[length..];
            }
            other => out.push(*other),
        }
    }
    out.extend_from_slice(rest);
    crate::model::names::escape_invalid(&out)
}

/// The character of the `XXXX` in `\uXXXX`, which may need a second escape, and the number of bytes read.
fn unicode(rest: &[u8]) -> (char, usize) {
    let code = |digits: Option<&[u8]>| -> Option<u32> {
        let digits = std::str::from_utf8(digits?).ok()?;
        u32::from_str_radix(digits, 16).ok()
    };
    let Some(first) = code(rest.get(..4)) else { return (char::REPLACEMENT_CHARACTER, 0) };
    if (0xd800..0xdc00).contains(&first)
        && rest.get(4..6) == Some(b"\\u")
        && let Some(second @ 0xdc00..0xe000) = code(rest.get(6..10))
    {
        let both = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        return (char::from_u32(both).unwrap_or(char::REPLACEMENT_CHARACTER), 10);
    }
    (char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), 4)
}

/// Microseconds to nanoseconds, exact; finer digits are rounded. `None` if it is not a number.
#[inline]
pub fn nanos(text: &[u8]) -> Option<i64> {
    decimal(text, 3)
}

/// An integer; `None` if it is not one, or does not fit.
#[inline]
pub fn integer(text: &[u8]) -> Option<i64> {
    decimal(text, 0)
}

/// A number without sign, by its bits: negative numbers wrap.
pub fn bits(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    text.parse().ok().or_else(|| text.parse::<i64>().ok().map(|n| n as u64))
}

/// A decimal number times a power of ten.
#[inline]
fn decimal(text: &[u8], places: i32) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let mut number: i64 = 0;
    let mut left = places;
    let mut behind = false;
    let mut any = false;
    for (at, byte) in digits.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                any = true;
                if behind && left <= 0 {
                    // Rounded: only the first digit that is left out matters.
                    let up = i64::from(*byte >= b'5');
                    if digits[at..].iter().any(|byte| !byte.is_ascii_digit()) {
                        return by_exponent(text, places);
                    }
                    number = number.checked_add(up)?;
                    return Some(if negative { -number } else { number });
                }
                number = number.checked_mul(10)?.checked_add(i64::from(byte - b'0'))?;
                left -= i32::from(behind);
            }
            b'.' if !behind => behind = true,
            b'e' | b'E' => return by_exponent(text, places),
            _ => return None,
        }
    }
    while left > 0 {
        number = number.checked_mul(10)?;
        left -= 1;
    }
    any.then_some(if negative { -number } else { number })
}

/// Numbers such as `1.5e6`, which are rare: exact up to the last place, then rounded.
#[cold]
fn by_exponent(text: &[u8], places: i32) -> Option<i64> {
    let at = text.iter().position(|byte| matches!(byte, b'e' | b'E'))?;
    let (mantissa, exponent) = (&text[..at], std::str::from_utf8(&text[at + 1..]).ok()?);
    let exponent: i32 = exponent.strip_prefix('+').unwrap_or(exponent).parse().ok()?;
    let (negative, mantissa) = match mantissa {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let point = mantissa.iter().position(|byte| *byte == b'.').unwrap_or(mantissa.len());
    let is_number = mantissa.iter().enumerate().all(|(at, byte)| byte.is_ascii_digit() || at == point);
    let digits = mantissa.iter().filter(|byte| byte.is_ascii_digit());
    if !is_number || digits.clone().next().is_none() {
        return None;
    }
    // The number of digits before the last place; zeros may follow.
    let wanted = i32::try_from(point).ok()?.checked_add(exponent)?.checked_add(places)?;
    let mut number: i64 = 0;
    let mut taken = 0;
    for digit in digits.map(|byte| i64::from(byte - b'0')) {
        if taken >= wanted {
            number = number.checked_add(i64::from(taken == wanted && digit >= 5))?;
            break;
        }
        number = number.checked_mul(10)?.checked_add(digit)?;
        taken += 1;
    }
    while taken < wanted && number != 0 {
        number = number.checked_mul(10)?;
        taken += 1;
    }
    Some(if negative { -number } else { number })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        let check = |text: &str, ns| assert_eq!(nanos(text.as_bytes()), ns, "{text}");
        check("1711234567890123.457", Some(1_711_234_567_890_123_457));
        check("0.1", Some(100));
        check("12", Some(12_000));
        check("-0.5", Some(-500));
        check("1.0005", Some(1001));
        check("1.00049", Some(1000));
        check("1.5e3", Some(1_500_000));
        check("1.2345e2", Some(123_450));
        check("1.711234567890123457e+15", Some(1_711_234_567_890_123_457));
        check("-2.5E-3", Some(-3));
        check("1e-300", Some(0));
        check("0e999", Some(0));
        check("1e300", None);
        check("1e", None);
        check(".e3", None);
        check("1.2.3e4", None);
        check("1e99999999999", None);
        check("", None);
        check("-", None);
        check("x", None);
        check("99999999999999999999", None);
        check("NaN", None);
        assert_eq!(bits(b"10159970886766084423"), Some(10_159_970_886_766_084_423));
        assert_eq!(bits(b"-1"), Some(u64::MAX));
    }

    #[test]
    fn values_are_skipped_whole() {
        let check = |text: &str, end| assert_eq!(value(text.as_bytes(), 0), end, "{text}");
        check(r#""a\"b" "#, Ok(6));
        check(r#"{"a":[1,{"b":"]"}]},"#, Ok(19));
        check("12.5,", Ok(4));
        check("NaN}", Ok(3));
        check(r#""open"#, Err(Stop::End));
        check("\"broken\nline\"", Err(Stop::Bad(7)));
        check("[[[[", Err(Stop::End));
        check(r#""0123456789abcdefgh\\" "#, Ok(22));
        check(r#""0123456789abcdefgh\"#, Err(Stop::End));
    }

    #[test]
    fn escapes_are_decoded() {
        let check = |text: &str, plain: &str| assert_eq!(unescape(text.as_bytes()), plain);
        check("plain", "plain");
        check(r#"a\"b\\c\/d\n"#, "a\"b\\c/d\n");
        check(r"\u00e9\ud83d\ude00", "é😀");
        check(r"\ud83dx", "\u{fffd}x");
        check(r"\u12", "\u{fffd}12");
        check("end\\", "end");
    }
}
