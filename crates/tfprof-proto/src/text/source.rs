//! A sliding window over text: skips blanks and comments, and counts lines only when it drops text.

use crate::stream::Spot;
use crate::window::Window;
use std::io::{self, Read};

/// The text from the current position on.
pub(super) struct Source<'a> {
    window: Window<&'a mut dyn Read>,
    /// The position up to which lines are counted; the window holds the text after it.
    base: Position,
    /// The positions of open brackets; the lines of the first `located` were counted when their text was dropped.
    marks: Vec<Position>,
    located: usize,
}

/// A position in the file, with the number of lines before it and the offset of the start of its line.
#[derive(Clone, Copy)]
struct Position {
    offset: u64,
    line: u64,
    line_start: u64,
}

impl<'a> Source<'a> {
    pub fn new(input: &'a mut dyn Read) -> Self {
        let base = Position { offset: 0, line: 0, line_start: 0 };
        Source { window: Window::new(input), base, marks: Vec::new(), located: 0 }
    }

    /// The offset in the file of the next byte.
    #[inline]
    pub fn offset(&self) -> u64 {
        self.window.offset()
    }

    /// The bytes that the window holds from here on.
    #[inline]
    pub fn rest(&self) -> &[u8] {
        self.window.bytes()
    }

    /// Advances by `n` bytes, which the window must hold.
    #[inline]
    pub fn advance(&mut self, n: usize) {
        self.window.advance(n);
    }

    /// The next byte that is neither blank nor part of a comment; `None` at the end of the file.
    ///
    /// Mostly there is no gap or one space, which depends on the previous token. These are tested inline, where the
    /// branch predictor learns them; everything else is out of line.
    #[inline]
    pub fn peek(&mut self) -> io::Result<Option<u8>> {
        if let [first, second, ..] = *self.rest() {
            if !is(first, BLANK | COMMENT) {
                return Ok(Some(first));
            }
            if first == b' ' && !is(second, BLANK | COMMENT) {
                self.advance(1);
                return Ok(Some(second));
            }
        }
        self.peek_far()
    }

    #[inline(never)]
    fn peek_far(&mut self) -> io::Result<Option<u8>> {
        loop {
            self.advance(blanks(self.rest()));
            match self.rest().first().copied() {
                Some(b'#') => self.skip_comment()?,
                Some(byte) => return Ok(Some(byte)),
                None if self.more()? => {}
                None => return Ok(None),
            }
        }
    }

    /// Skips `byte` if it comes next.
    #[inline]
    pub fn eat(&mut self, byte: u8) -> io::Result<bool> {
        let found = self.peek()? == Some(byte);
        self.advance(usize::from(found));
        Ok(found)
    }

    fn skip_comment(&mut self) -> io::Result<()> {
        loop {
            if let Some(n) = memchr::memchr(b'\n', self.rest()) {
                self.advance(n);
                return Ok(());
            }
            self.advance(self.rest().len());
            if !self.more()? {
                return Ok(());
            }
        }
    }

    /// The length of the next token whose bytes from `n` on are of `class`; the window then holds all of it.
    #[inline]
    pub fn run(&mut self, mut n: usize, class: u8) -> io::Result<usize> {
        loop {
            match self.rest()[n..].iter().position(|byte| !is(*byte, class)) {
                Some(more) => return Ok(n + more),
                None => n = self.rest().len(),
            }
            if !self.more()? {
                return Ok(n);
            }
        }
    }

    /// Reads until the window holds `wanted` bytes or the file ends.
    #[inline]
    pub fn want(&mut self, wanted: usize) -> io::Result<()> {
        while self.rest().len() < wanted {
            if !self.more()? {
                break;
            }
        }
        Ok(())
    }

    /// Reads more and keeps the bytes from the current position on; false at the end of the file.
    ///
    /// The window doubles, so that rescanning a long token from its start after each call takes linear time in total.
    #[inline(never)]
    pub fn more(&mut self) -> io::Result<bool> {
        self.count_lines();
        let held = self.rest().len() as u64;
        Ok(self.window.fill(held * 2 + 1)? > held)
    }

    /// Counts the lines before the current position, whose text the window may drop.
    fn count_lines(&mut self) {
        let mut place = self.base;
        while let Some(mark) = self.marks.get(self.located) {
            let mark = self.locate(place, mark.offset);
            self.marks[self.located] = mark;
            self.located += 1;
            place = mark;
        }
        self.base = self.locate(place, self.offset());
    }

    /// The position of `offset`, which is not before `from`; both are within the window.
    fn locate(&self, from: Position, offset: u64) -> Position {
        let text = self.window.between(from.offset, offset);
        let line_start = memchr::memrchr(b'\n', text).map(|n| from.offset + n as u64 + 1);
        Position {
            offset,
            line: from.line + memchr::memchr_iter(b'\n', text).count() as u64,
            line_start: line_start.unwrap_or(from.line_start),
        }
    }

    /// Marks the current position as the start of a message or list, until [`Self::unmark`].
    #[inline]
    pub fn mark(&mut self) {
        self.marks.push(Position { offset: self.offset(), line: 0, line_start: 0 });
    }

    /// Removes the last mark.
    #[inline]
    pub fn unmark(&mut self) {
        self.marks.pop();
        self.located = self.located.min(self.marks.len());
    }

    /// Line and column of the last mark.
    pub fn spot_of_mark(&self) -> Spot {
        match self.marks.last() {
            Some(mark) if self.located == self.marks.len() => mark.spot(),
            Some(mark) => self.spot_at(mark.offset),
            None => self.base.spot(),
        }
    }

    /// Line and column of an offset within the window.
    fn spot_at(&self, offset: u64) -> Spot {
        self.locate(self.base, offset).spot()
    }

    /// Line and column of the next byte.
    pub fn spot(&self) -> Spot {
        self.spot_at(self.offset())
    }
}

/// The number of leading blanks. Blanks are a third of an indented file, so spaces are tested eight at a time.
#[inline]
fn blanks(bytes: &[u8]) -> usize {
    let mut n = 0;
    while let Some(byte) = bytes.get(n)
        && is(*byte, BLANK)
    {
        n += 1;
        while let Some(chunk) = bytes[n..].first_chunk() {
            let spaces = (u64::from_le_bytes(*chunk) ^ u64::from_le_bytes([b' '; 8])).trailing_zeros() as usize / 8;
            n += spaces;
            if spaces < 8 {
                break;
            }
        }
    }
    n
}

impl Position {
    fn spot(self) -> Spot {
        Spot::Line { line: self.line + 1, column: self.offset - self.line_start + 1 }
    }
}

/// Classes of bytes, to be combined.
pub(super) const BLANK: u8 = 1;
/// Starts a name.
pub(super) const LETTER: u8 = 2;
/// Continues a name.
pub(super) const WORD: u8 = 4;
/// Part of a number, except signs.
pub(super) const NUMBER: u8 = 8;
/// Matters when skipping a message: brackets, quotes, comments.
pub(super) const STRUCTURE: u8 = 16;
/// Starts a comment.
const COMMENT: u8 = 32;

#[inline]
pub(super) fn is(byte: u8, class: u8) -> bool {
    CLASSES[usize::from(byte)] & class != 0
}

static CLASSES: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte as u8 {
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => BLANK,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => LETTER | WORD | NUMBER,
            b'0'..=b'9' => WORD | NUMBER,
            b'.' => NUMBER,
            b'{' | b'}' | b'<' | b'>' | b'[' | b']' | b'"' | b'\'' => STRUCTURE,
            b'#' => STRUCTURE | COMMENT,
            _ => 0,
        };
        byte += 1;
    }
    classes
}
