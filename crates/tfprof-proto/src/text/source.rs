//! Text through a sliding window: blanks and comments passed over, lines counted only for what is dropped.

use crate::stream::Spot;
use std::io::{self, Read};

/// The text from the current place on, as far as it was read.
pub(super) struct Source<'a> {
    input: &'a mut dyn Read,
    buffer: Vec<u8>,
    at: usize,
    end: usize,
    exhausted: bool,
    /// Where the buffer begins.
    base: Place,
    /// What stands open; the places of the first `located` were counted when their text was dropped.
    marks: Vec<Place>,
    located: usize,
}

/// A place in the file, with the lines that end before it and the offset at which its line begins.
#[derive(Clone, Copy)]
struct Place {
    offset: u64,
    line: u64,
    line_start: u64,
}

impl<'a> Source<'a> {
    const SIZE: usize = 128 * 1024;

    pub fn new(input: &'a mut dyn Read) -> Self {
        let base = Place { offset: 0, line: 0, line_start: 0 };
        Source { input, buffer: Vec::new(), at: 0, end: 0, exhausted: false, base, marks: Vec::new(), located: 0 }
    }

    /// The offset in the file of the next byte.
    #[inline]
    pub fn offset(&self) -> u64 {
        self.base.offset + self.at as u64
    }

    /// The bytes that the window holds from here on.
    #[inline]
    pub fn rest(&self) -> &[u8] {
        &self.buffer[self.at..self.end]
    }

    /// Moves on by `n` bytes that the window holds.
    #[inline]
    pub fn advance(&mut self, n: usize) {
        self.at += n;
    }

    /// The next byte that is neither blank nor part of a comment; `None` at the end of the file.
    ///
    /// The gap is mostly nothing or one space, and which of them depends on what was read before. So these are looked
    /// for in place, where the processor learns which to expect, and all else elsewhere.
    #[inline]
    pub fn peek(&mut self) -> io::Result<Option<u8>> {
        if let [first, second, ..] = self.buffer[self.at..self.end] {
            if !is(first, BLANK | COMMENT) {
                return Ok(Some(first));
            }
            if first == b' ' && !is(second, BLANK | COMMENT) {
                self.at += 1;
                return Ok(Some(second));
            }
        }
        self.peek_far()
    }

    #[inline(never)]
    fn peek_far(&mut self) -> io::Result<Option<u8>> {
        loop {
            self.at += blanks(self.rest());
            match self.rest().first().copied() {
                Some(b'#') => self.skip_comment()?,
                Some(byte) => return Ok(Some(byte)),
                None if self.more()? => {}
                None => return Ok(None),
            }
        }
    }

    /// Passes over `byte` if it comes next.
    #[inline]
    pub fn eat(&mut self, byte: u8) -> io::Result<bool> {
        let found = self.peek()? == Some(byte);
        self.at += usize::from(found);
        Ok(found)
    }

    fn skip_comment(&mut self) -> io::Result<()> {
        loop {
            if let Some(n) = memchr::memchr(b'\n', self.rest()) {
                self.at += n;
                return Ok(());
            }
            self.at = self.end;
            if !self.more()? {
                return Ok(());
            }
        }
    }

    /// The length of what comes next if its bytes from `n` on are of `class`; the window then holds all of it.
    #[inline]
    pub fn run(&mut self, mut n: usize, class: u8) -> io::Result<usize> {
        loop {
            match self.rest()[n..].iter().position(|byte| !is(*byte, class)) {
                Some(more) => return Ok(n + more),
                None => n = self.end - self.at,
            }
            if !self.more()? {
                return Ok(n);
            }
        }
    }

    /// Sees to it that the window holds `wanted` bytes, if the file has them.
    #[inline]
    pub fn want(&mut self, wanted: usize) -> io::Result<()> {
        while self.end - self.at < wanted {
            if !self.more()? {
                break;
            }
        }
        Ok(())
    }

    /// Reads on, keeping the bytes from here on; false if the file has no more.
    ///
    /// The window comes to hold twice what it held, so that a token which is scanned again from its beginning after
    /// each call costs linear time in the end.
    #[inline(never)]
    pub fn more(&mut self) -> io::Result<bool> {
        self.drop_text();
        let held = self.end;
        while self.end <= held * 2 && !self.exhausted {
            if self.end == self.buffer.len() {
                self.buffer.resize((self.buffer.len() * 2).max(Self::SIZE), 0);
            }
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.exhausted = true,
                Ok(n) => self.end += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.end > held)
    }

    /// Forgets the text before the current place, but not its lines.
    fn drop_text(&mut self) {
        let mut place = self.base;
        while let Some(mark) = self.marks.get(self.located) {
            let mark = self.locate(place, mark.offset);
            self.marks[self.located] = mark;
            self.located += 1;
            place = mark;
        }
        self.base = self.locate(place, self.offset());
        self.buffer.copy_within(self.at..self.end, 0);
        self.end -= self.at;
        self.at = 0;
    }

    /// The place at `offset`, not before `from`, both within the window.
    fn locate(&self, from: Place, offset: u64) -> Place {
        let start = (from.offset - self.base.offset) as usize;
        let text = &self.buffer[start..(offset - self.base.offset) as usize];
        let line_start = memchr::memrchr(b'\n', text).map(|n| from.offset + n as u64 + 1);
        Place {
            offset,
            line: from.line + memchr::memchr_iter(b'\n', text).count() as u64,
            line_start: line_start.unwrap_or(from.line_start),
        }
    }

    /// Remembers the current place as one where something was opened, until [`Self::unmark`].
    #[inline]
    pub fn mark(&mut self) {
        self.marks.push(Place { offset: self.offset(), line: 0, line_start: 0 });
    }

    /// Forgets the last mark.
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

/// How many blanks come first. Lines are indented, so blanks are a third of a file and spaces go by eight.
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

impl Place {
    fn spot(self) -> Spot {
        Spot::Line { line: self.line + 1, column: self.offset - self.line_start + 1 }
    }
}

/// Classes of bytes, to be combined.
pub(super) const BLANK: u8 = 1;
/// What a name may begin with.
pub(super) const LETTER: u8 = 2;
/// What a name may go on with.
pub(super) const WORD: u8 = 4;
/// What a number may consist of, signs apart.
pub(super) const NUMBER: u8 = 8;
/// What matters when a message is passed over: brackets, quotes, comments.
pub(super) const STRUCTURE: u8 = 16;
/// What a comment begins with.
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
