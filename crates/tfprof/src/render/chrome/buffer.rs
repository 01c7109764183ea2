//! An output buffer for millions of short pieces: numbers and repeated fragments are stored without a call for each.

use crate::{json, units};
use std::io::{self, Write};

/// Text that is written again and again.
#[derive(Debug)]
pub struct Fragment {
    /// The text if it is short: copying a fixed size takes no call.
    short: [u8; SHORT],
    length: usize,
    long: Box<[u8]>,
}

const SHORT: usize = 96;
/// Most fragments are no longer than this; fewer bytes are copied for them.
const SHORTEST: usize = 32;

impl Default for Fragment {
    fn default() -> Self {
        Fragment::new(b"")
    }
}

impl Fragment {
    pub fn new(text: &[u8]) -> Fragment {
        let mut short = [0; SHORT];
        match short.get_mut(..text.len()) {
            Some(short) => short.copy_from_slice(text),
            None => return Fragment { short, length: text.len(), long: text.into() },
        }
        Fragment { short, length: text.len(), long: Box::default() }
    }
}

pub struct Buffer<'w> {
    out: &'w mut dyn Write,
    text: Vec<u8>,
    at: usize,
}

impl std::fmt::Debug for Buffer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Buffer").field("held", &self.at).finish_non_exhaustive()
    }
}

/// Text is written out in pieces of about this size.
const PIECE: usize = 1 << 16;

impl<'w> Buffer<'w> {
    pub fn new(out: &'w mut dyn Write) -> Buffer<'w> {
        Buffer { out, text: vec![0; PIECE * 2], at: 0 }
    }

    #[inline]
    pub fn flush_if_full(&mut self) -> io::Result<()> {
        if self.at >= PIECE { self.flush() } else { Ok(()) }
    }

    pub fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.text[..self.at])?;
        self.at = 0;
        Ok(())
    }

    #[inline]
    fn room<const N: usize>(&mut self) -> &mut [u8; N] {
        if self.text.len() - self.at < N {
            self.grow(N);
        }
        match self.text[self.at..].first_chunk_mut() {
            Some(room) => room,
            None => unreachable!("grown above"),
        }
    }

    #[inline(never)]
    fn grow(&mut self, more: usize) {
        self.text.resize((self.at + more).max(self.text.len() * 2), 0);
    }

    #[inline]
    pub fn fragment(&mut self, fragment: &Fragment) {
        if let (true, Some(text)) = (fragment.length <= SHORTEST, fragment.short.first_chunk::<SHORTEST>()) {
            *self.room() = *text;
            self.at += fragment.length;
        } else if fragment.length <= SHORT {
            *self.room() = fragment.short;
            self.at += fragment.length;
        } else {
            self.put(&fragment.long);
        }
    }

    #[inline]
    pub fn fixed<const N: usize>(&mut self, text: &[u8; N]) {
        *self.room() = *text;
        self.at += N;
    }

    pub fn put(&mut self, text: &[u8]) {
        if self.text.len() - self.at < text.len() {
            self.grow(text.len());
        }
        self.text[self.at..self.at + text.len()].copy_from_slice(text);
        self.at += text.len();
    }

    /// A JSON string in ASCII.
    pub fn string(&mut self, text: &[u8]) {
        self.fixed(b"\"");
        self.unquoted(text);
        self.fixed(b"\"");
    }

    /// A JSON string in ASCII whose quotes are part of the fragments around it.
    pub fn unquoted(&mut self, text: &[u8]) {
        if json::is_plain(text) {
            return self.put(text);
        }
        let mut quoted = Vec::with_capacity(text.len() + 8);
        json::push_ascii(text, &mut quoted);
        self.put(&quoted[1..quoted.len() - 1]);
    }

    #[inline]
    pub fn integer(&mut self, n: i64) {
        if n < 0 {
            self.fixed(b"-");
        }
        self.unsigned(n.unsigned_abs());
    }

    /// A number that hardly ever needs more than 64 bits.
    #[inline]
    pub fn wide_integer(&mut self, n: i128) {
        match i64::try_from(n) {
            Ok(n) => self.integer(n),
            Err(_) => self.put(n.to_string().as_bytes()),
        }
    }

    #[inline]
    pub fn unsigned(&mut self, n: u64) {
        let room: &mut [u8; units::DIGITS] = self.room();
        self.at += units::put_digits(n, room);
    }

    /// Picoseconds as microseconds, exactly.
    #[inline]
    pub fn micros(&mut self, picos: i64) {
        if picos < 0 {
            self.fixed(b"-");
        }
        let picos = picos.unsigned_abs();
        let room: &mut [u8; units::DIGITS] = self.room();
        let mut length = units::put_digits(picos / 1_000_000, room);
        let rest = (picos % 1_000_000) as usize;
        if rest > 0 {
            room[length] = b'.';
            let (nanos, picos) = (rest / 1000, rest % 1000);
            room[length + 1..length + 4].copy_from_slice(&units::THREES[nanos]);
            length += 4;
            if picos > 0 {
                room[length..length + 3].copy_from_slice(&units::THREES[picos]);
                length += 3;
            }
            while room[length - 1] == b'0' {
                length -= 1;
            }
        }
        self.at += length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(put: impl FnOnce(&mut Buffer<'_>)) -> String {
        let mut out = Vec::new();
        let mut buffer = Buffer::new(&mut out);
        put(&mut buffer);
        buffer.flush().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn times_are_exact() {
        let check = |picos, expect: &str| assert_eq!(written(|buffer| buffer.micros(picos)), expect);
        check(0, "0");
        check(1, "0.000001");
        check(24_403_000, "24.403");
        check(24_400_000, "24.4");
        check(1_000_000_050_000, "1000000.05");
        check(-1_500_000, "-1.5");
        check(i64::MIN, "-9223372036854.775808");
    }

    #[test]
    fn numbers_have_no_leading_zeros() {
        for n in [0, 7, 10, 99, 100, 999, 1000, 1001, 12_345, 999_999, 1_000_000, u64::MAX] {
            assert_eq!(written(|buffer| buffer.unsigned(n)), n.to_string());
        }
        assert_eq!(written(|buffer| buffer.integer(i64::MIN)), i64::MIN.to_string());
    }

    #[test]
    fn long_texts_fit() {
        let long = "x".repeat(PIECE * 5);
        let expect = format!("a{long}\"{long}\"b");
        let fragment = Fragment::new(long.as_bytes());
        let out = written(|buffer| {
            buffer.fixed(b"a");
            buffer.fragment(&fragment);
            buffer.string(long.as_bytes());
            buffer.fragment(&Fragment::new(b"b"));
        });
        assert_eq!(out, expect);
    }
}
