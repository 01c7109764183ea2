//! Text on its way out: short pieces are put together without a call for each, and written in large ones.

use super::writer::string;
use crate::digits;
use std::io::{self, Write};

/// A piece of text that is put again and again.
#[derive(Debug)]
pub(super) struct Phrase {
    /// The text, if it is short.
    head: [u8; SHORT],
    length: usize,
    long: Box<[u8]>,
}

const SHORT: usize = 32;

impl Default for Phrase {
    fn default() -> Self {
        Phrase::new(b"")
    }
}

impl Phrase {
    pub fn new(text: &[u8]) -> Phrase {
        let mut head = [0; SHORT];
        match head.get_mut(..text.len()) {
            Some(head) => head.copy_from_slice(text),
            None => return Phrase { head, length: text.len(), long: text.into() },
        }
        Phrase { head, length: text.len(), long: Box::default() }
    }
}

pub(super) struct Page<'w> {
    out: &'w mut dyn Write,
    text: Vec<u8>,
    at: usize,
}

/// How much is held before it is written.
const PIECE: usize = 1 << 16;

impl<'w> Page<'w> {
    pub fn new(out: &'w mut dyn Write) -> Page<'w> {
        Page { out, text: vec![0; PIECE * 2], at: 0 }
    }

    /// Writes what is there if it is much.
    #[inline]
    pub fn end(&mut self) -> io::Result<()> {
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
            None => unreachable!("there is room"),
        }
    }

    #[inline(never)]
    fn grow(&mut self, more: usize) {
        self.text.resize((self.at + more).max(self.text.len() * 2), 0);
    }

    #[inline]
    pub fn phrase(&mut self, phrase: &Phrase) {
        if phrase.length <= SHORT {
            *self.room() = phrase.head;
            self.at += phrase.length;
        } else {
            self.put(&phrase.long);
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

    /// A string of JSON.
    pub fn text(&mut self, text: &[u8]) {
        let mut quoted = Vec::with_capacity(text.len() + 2);
        string(&mut quoted, text);
        self.put(&quoted);
    }

    #[inline]
    pub fn integer(&mut self, n: i64) {
        if n < 0 {
            self.fixed(b"-");
        }
        self.unsigned(n.unsigned_abs());
    }

    #[inline]
    pub fn unsigned(&mut self, n: u64) {
        let room: &mut [u8; digits::ROOM] = self.room();
        self.at += digits::put(n, room);
    }

    /// Picoseconds as microseconds, exactly.
    #[inline]
    pub fn micros(&mut self, picos: i64) {
        if picos < 0 {
            self.fixed(b"-");
        }
        let picos = picos.unsigned_abs();
        let room: &mut [u8; digits::ROOM] = self.room();
        let mut length = digits::put(picos / 1_000_000, room);
        let rest = (picos % 1_000_000) as usize;
        if rest > 0 {
            room[length] = b'.';
            let (nanos, picos) = (rest / 1000, rest % 1000);
            room[length + 1..length + 4].copy_from_slice(&digits::THREES[nanos]);
            length += 4;
            if picos > 0 {
                room[length..length + 3].copy_from_slice(&digits::THREES[picos]);
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

    fn written(put: impl FnOnce(&mut Page<'_>)) -> String {
        let mut out = Vec::new();
        let mut page = Page::new(&mut out);
        put(&mut page);
        page.flush().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn times_are_exact() {
        let check = |picos, expect: &str| assert_eq!(written(|page| page.micros(picos)), expect);
        check(0, "0");
        check(1, "0.000001");
        check(24_403_000, "24.403");
        check(24_400_000, "24.4");
        check(1_000_000_050_000, "1000000.05");
        check(-1_500_000, "-1.5");
        check(i64::MIN, "-9223372036854.775808");
    }

    #[test]
    fn numbers_have_no_zeros_before_them() {
        for n in [0, 7, 10, 99, 100, 999, 1000, 1001, 12_345, 999_999, 1_000_000, u64::MAX] {
            assert_eq!(written(|page| page.unsigned(n)), n.to_string());
        }
        assert_eq!(written(|page| page.integer(i64::MIN)), i64::MIN.to_string());
    }

    #[test]
    fn long_texts_fit() {
        let long = "x".repeat(PIECE * 5);
        let expect = format!("a{long}\"{long}\"b");
        let phrase = Phrase::new(long.as_bytes());
        let out = written(|page| {
            page.fixed(b"a");
            page.phrase(&phrase);
            page.text(long.as_bytes());
            page.phrase(&Phrase::new(b"b"));
        });
        assert_eq!(out, expect);
    }
}
