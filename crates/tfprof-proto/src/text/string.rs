//! String literals: `"..."` and `'...'`, with C's escapes, neighbours joined.

use super::fault::{expected, quote};
use super::source::Source;
use crate::stream::StreamError;

/// Appends the content of the string at the next byte, a quote, and of the strings that follow it.
pub(super) fn read(source: &mut Source<'_>, out: &mut Vec<u8>) -> Result<(), StreamError> {
    while let Some(quote @ (b'"' | b'\'')) = source.peek()? {
        source.advance(1);
        read_one(source, quote, out)?;
    }
    Ok(())
}

/// Skips the strings that [`read`] would read. Escapes matter only because they may contain a quote.
pub(super) fn skip(source: &mut Source<'_>) -> Result<(), StreamError> {
    while let Some(quote @ (b'"' | b'\'')) = source.peek()? {
        source.advance(1);
        skip_one(source, quote)?;
    }
    Ok(())
}

#[inline]
fn read_one(source: &mut Source<'_>, quote: u8, out: &mut Vec<u8>) -> Result<(), StreamError> {
    loop {
        let rest = source.rest();
        let n = plain(quote, rest);
        out.extend_from_slice(&rest[..n]);
        let stop = rest.get(n).copied();
        source.advance(n);
        match stop {
            Some(b'\\') => read_escapes(source, out)?,
            Some(byte) if byte == quote => {
                source.advance(1);
                return Ok(());
            }
            None if source.more()? => {}
            _ => return Err(unfinished(source, quote)),
        }
    }
}

pub(super) fn skip_one(source: &mut Source<'_>, quote: u8) -> Result<(), StreamError> {
    loop {
        let rest = source.rest();
        let n = plain(quote, rest);
        let stop = rest.get(n).copied();
        source.advance(n);
        match stop {
            Some(b'\\') => {
                source.want(2)?;
                // A line break may follow, which the next iteration reports as an error.
                let length = if matches!(source.rest().get(1), None | Some(b'\n')) { 1 } else { 2 };
                source.advance(length);
            }
            Some(byte) if byte == quote => {
                source.advance(1);
                return Ok(());
            }
            None if source.more()? => {}
            _ => return Err(unfinished(source, quote)),
        }
    }
}

/// The number of bytes before the next quote, escape or line break.
#[inline]
fn plain(quote: u8, bytes: &[u8]) -> usize {
    // Most strings are short, and so are the runs between the escapes of a tensor. Calling the faster search pays only
    // for longer ones.
    let mut n = 0;
    while n < 32 {
        let Some(chunk) = bytes[n..].first_chunk() else { break };
        let chunk = u64::from_le_bytes(*chunk);
        let stops = equal(chunk, quote) | equal(chunk, b'\\') | equal(chunk, b'\n');
        if stops != 0 {
            return n + stops.trailing_zeros() as usize / 8;
        }
        n += 8;
    }
    let tail = &bytes[n..];
    n + memchr::memchr3(quote, b'\\', b'\n', tail).unwrap_or(tail.len())
}

/// The high bits of the bytes that equal `byte`, exact up to the first of them.
#[inline]
fn equal(chunk: u64, byte: u8) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    let zero = chunk ^ (ONES * u64::from(byte));
    zero.wrapping_sub(ONES) & !zero & ONES << 7
}

#[cold]
fn unfinished(source: &mut Source<'_>, quote: u8) -> StreamError {
    let found = if source.rest().is_empty() { "file" } else { "line" };
    let message = format!("expected `{}` to close the string, found the end of the {found}", quote as char);
    StreamError::Text { spot: source.spot(), message }
}

/// Appends the values of the escape at the next byte and of the escapes right after it.
fn read_escapes(source: &mut Source<'_>, out: &mut Vec<u8>) -> Result<(), StreamError> {
    loop {
        if source.rest().len() < LONGEST_ESCAPE {
            source.want(LONGEST_ESCAPE)?;
        }
        let rest = source.rest();
        if rest.first() != Some(&b'\\') {
            return Ok(());
        }
        let length = match *rest {
            [_, a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..] => {
                out.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                4
            }
            [_, letter, ..] if SIMPLE[usize::from(letter)] != 0 => {
                out.push(SIMPLE[usize::from(letter)]);
                2
            }
            _ => match escape(rest) {
                Some((Escaped::Byte(byte), length)) => {
                    out.push(byte);
                    length
                }
                Some((Escaped::Char(c), length)) => {
                    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                    length
                }
                None => return Err(bad_escape(source)),
            },
        };
        source.advance(length);
    }
}

/// A pair of surrogates, `\ud83d\ude00`.
const LONGEST_ESCAPE: usize = 12;

enum Escaped {
    Byte(u8),
    Char(char),
}

/// Reads a less common escape: its value and its length.
fn escape(bytes: &[u8]) -> Option<(Escaped, usize)> {
    let digits = |from: usize, most: usize, radix: u32| {
        let all = bytes.get(from..).unwrap_or_default().iter().take(most);
        all.map_while(|byte| char::from(*byte).to_digit(radix))
            .fold((0, 0), |(n, count), digit| (n * radix + digit, count + 1))
    };
    match *bytes.get(1)? {
        b'0'..=b'7' => {
            let (n, count) = digits(1, 3, 8);
            // As the original: `\777` keeps its low byte.
            Some((Escaped::Byte(n as u8), 1 + count))
        }
        b'x' | b'X' => {
            let (n, count) = digits(2, 2, 16);
            (count > 0).then_some((Escaped::Byte(n as u8), 2 + count))
        }
        b'U' => {
            let (n, count) = digits(2, 8, 16);
            (count == 8).then_some((Escaped::Char(char::from_u32(n)?), 10))
        }
        b'u' => {
            let (high, count) = digits(2, 4, 16);
            if count != 4 {
                return None;
            }
            if let Some(c) = char::from_u32(high) {
                return Some((Escaped::Char(c), 6));
            }
            let (low, count) = digits(8, 4, 16);
            if bytes.get(6..8)? != b"\\u" || count != 4 {
                return None;
            }
            let c = char::decode_utf16([high as u16, low as u16]).next()?.ok()?;
            Some((Escaped::Char(c), 12))
        }
        _ => None,
    }
}

#[cold]
fn bad_escape(source: &mut Source<'_>) -> StreamError {
    if source.rest().len() < 2 {
        source.advance(1);
        return expected(source, "an escape after `\\`");
    }
    let shown = source.rest().iter().take(2).copied().collect::<Vec<_>>();
    let message = match shown[1] {
        b'x' | b'X' => "expected a hex digit after `\\x`".to_owned(),
        b'u' | b'U' => format!("expected the digits of a character after {}", quote(&shown)),
        _ => format!("expected an escape such as `\\n`, found {}", quote(&shown)),
    };
    StreamError::Text { spot: source.spot(), message }
}

/// The escapes of one letter; zero for all others.
static SIMPLE: [u8; 256] = {
    let mut table = [0; 256];
    table[b'a' as usize] = 0x07;
    table[b'b' as usize] = 0x08;
    table[b'f' as usize] = 0x0c;
    table[b'n' as usize] = b'\n';
    table[b'r' as usize] = b'\r';
    table[b't' as usize] = b'\t';
    table[b'v' as usize] = 0x0b;
    table[b'\\' as usize] = b'\\';
    table[b'\'' as usize] = b'\'';
    table[b'"' as usize] = b'"';
    table[b'?' as usize] = b'?';
    table
};
