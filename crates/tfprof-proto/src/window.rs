//! The sliding window through which every input is read, and the fields of a message of any size in it.

use crate::wire::{Fault, Field, Fields, Value};
use std::io::{self, Read, Seek, SeekFrom};

/// The size of a window; it grows only for a longer record.
pub(crate) const SIZE: usize = 256 * 1024;
/// Enough for a tag and a number.
pub(crate) const HEAD: u64 = 20;

/// A part of an input in memory: the bytes from the current offset on.
pub struct Window<I> {
    input: I,
    buffer: Vec<u8>,
    /// The current position in the buffer; the bytes before it are kept until the next read.
    at: usize,
    end: usize,
    /// The offset of the buffer in the input.
    base: u64,
    exhausted: bool,
}

impl<I: Read> Window<I> {
    pub fn new(input: I) -> Self {
        Window { input, buffer: Vec::new(), at: 0, end: 0, base: 0, exhausted: false }
    }

    /// The offset in the input of the first byte of the window.
    #[inline]
    pub fn offset(&self) -> u64 {
        self.base + self.at as u64
    }

    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[self.at..self.end]
    }

    /// The bytes between two offsets, which the window must still hold.
    pub(crate) fn between(&self, start: u64, end: u64) -> &[u8] {
        &self.buffer[(start - self.base) as usize..(end - self.base) as usize]
    }

    /// Reads until the window holds `wanted` bytes or the input ends, and returns the number of bytes that it holds.
    #[inline]
    pub fn fill(&mut self, wanted: u64) -> io::Result<u64> {
        let held = (self.end - self.at) as u64;
        if held >= wanted || self.exhausted { Ok(held) } else { self.refill(wanted) }
    }

    #[inline(never)]
    fn refill(&mut self, wanted: u64) -> io::Result<u64> {
        self.buffer.copy_within(self.at..self.end, 0);
        self.base += self.at as u64;
        self.end -= self.at;
        self.at = 0;
        while (self.end as u64) < wanted && !self.exhausted {
            if self.buffer.is_empty() {
                // Allocated as zeros, which new pages are already; `resize` would write them.
                self.buffer = vec![0; SIZE];
            } else if self.end == self.buffer.len() {
                // The buffer doubles only once it is full, so a huge length in a small file costs nothing.
                self.buffer.resize(self.buffer.len() * 2, 0);
            }
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.exhausted = true,
                Ok(n) => self.end += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.end as u64)
    }

    /// Advances by `n` bytes, which the window must hold.
    #[inline]
    pub fn advance(&mut self, n: usize) {
        self.at += n;
    }

    /// Advances by up to `n` bytes, held or not, and returns how many the input had.
    pub fn skip(&mut self, n: u64) -> io::Result<u64> {
        let mut left = n;
        loop {
            let held = self.fill(left.min(SIZE as u64))?.min(left);
            self.advance(held as usize);
            left -= held;
            if left == 0 || held == 0 {
                return Ok(n - left);
            }
        }
    }
}

impl<I: Read + Seek> Window<I> {
    /// Goes to an offset; nothing is read if the window holds it.
    #[inline]
    pub fn seek(&mut self, to: u64) -> io::Result<()> {
        match to.checked_sub(self.base) {
            Some(at) if at <= self.end as u64 => self.at = at as usize,
            _ => {
                self.input.seek(SeekFrom::Start(to))?;
                (self.base, self.at, self.end, self.exhausted) = (to, 0, 0, false);
            }
        }
        Ok(())
    }
}

impl<I> std::fmt::Debug for Window<I> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Window")
            .field("base", &self.base)
            .field("at", &self.at)
            .field("end", &self.end)
            .finish_non_exhaustive()
    }
}

/// The offsets of a message's content in the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteRange {
    pub start: u64,
    pub end: u64,
}

/// A field: numbers by value, messages by their range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    Varint(u64),
    Message(ByteRange),
    Other,
}

/// Why a message ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    pub offset: u64,
    pub what: String,
}

#[derive(Debug)]
pub enum FieldError {
    Io(io::Error),
    Damage(Damage),
}

impl From<io::Error> for FieldError {
    fn from(error: io::Error) -> Self {
        FieldError::Io(error)
    }
}

/// Reads the fields of one message through a window; readers of messages that lie close share a window.
#[derive(Debug)]
pub struct FieldReader<'w, I> {
    window: &'w mut Window<I>,
    end: u64,
    /// The offset of the next field; the bytes up to it are skipped.
    skip_to: u64,
}

impl<'w, I: Read + Seek> FieldReader<'w, I> {
    pub fn new(window: &'w mut Window<I>, span: ByteRange) -> io::Result<Self> {
        window.seek(span.start)?;
        Ok(FieldReader { window, end: span.end, skip_to: span.start })
    }

    /// The offset of the next field.
    pub fn next_offset(&self) -> u64 {
        self.skip_to.max(self.offset()).min(self.end)
    }

    /// The rest of the window, and how much of it belongs to this message.
    #[inline]
    pub fn ready(&mut self) -> io::Result<(&[u8], usize)> {
        if self.skip_to > self.offset() {
            self.skip()?;
        }
        Ok((self.window.bytes(), self.held()))
    }

    /// Skips fields that the caller read from [`FieldReader::ready`].
    #[inline]
    pub fn take(&mut self, length: usize) {
        self.window.advance(length);
        self.skip_to = self.offset();
    }

    /// The number and head of the next field. A message that runs past the end is returned truncated,
    /// and the next call fails.
    #[inline]
    pub fn next_field(&mut self) -> Result<Option<(u32, Head)>, FieldError> {
        if self.skip_to > self.offset() {
            self.skip()?;
        }
        self.fill(HEAD)?;
        let head = self.rest();
        // Nearly all fields are messages below 16 KB.
        if let &[tag @ 8..=0x7f, low, high, ..] = head
            && tag & 7 == 2
        {
            let (length, size) = match (low < 0x80, high < 0x80) {
                (true, _) => (u64::from(low), 2),
                (_, true) => (u64::from(low & 0x7f) | u64::from(high) << 7, 3),
                _ => return self.next_general(),
            };
            let start = self.offset() + size;
            if start + length <= self.end {
                self.window.advance(size as usize);
                self.skip_to = start + length;
                return Ok(Some((u32::from(tag >> 3), Head::Message(ByteRange { start, end: start + length }))));
            }
        }
        self.next_general()
    }

    fn next_general(&mut self) -> Result<Option<(u32, Head)>, FieldError> {
        let offset = self.offset();
        if offset >= self.end {
            return if self.skip_to > self.end {
                let (claimed, left) = (self.skip_to - offset, 0);
                self.skip_to = self.end;
                Err(damage(offset, &Fault::Truncated { claimed, left }))
            } else {
                Ok(None)
            };
        }
        let head = self.rest();
        let mut fields = Fields::new(head, offset);
        if head.first().is_some_and(|tag| tag & 7 == 3) {
            let fault = Fault::BadTag { tag: u64::from(head[0]) };
            self.skip_to = self.end;
            self.window.advance(self.held());
            return Err(damage(offset, &fault));
        }
        let tag = tag_of(head);
        match fields.next_field() {
            Ok(Some(Field { number, value, .. })) => {
                let end = fields.offset();
                let (head, used) = match value {
                    Value::Varint(n) => (Head::Varint(n), end),
                    // Its content is in the window: stay at its start.
                    Value::Bytes(bytes) => {
                        let start = end - bytes.len() as u64;
                        (Head::Message(ByteRange { start, end }), start)
                    }
                    _ => (Head::Other, end),
                };
                self.window.advance((used - offset) as usize);
                self.skip_to = end;
                Ok(Some((number, head)))
            }
            Ok(None) => Ok(None),
            Err(error) => match error.fault {
                // The content is longer than the head that was read; it is damage only if it runs past the end.
                Fault::Truncated { claimed, .. } if tag & 7 == 2 => {
                    let start = error.offset;
                    self.window.advance((start - offset) as usize);
                    self.skip_to = start.saturating_add(claimed);
                    let end = self.skip_to.min(self.end);
                    if self.skip_to > self.end {
                        // The next call reports it.
                        self.skip_to = self.end.saturating_add(1);
                    }
                    Ok(Some(((tag >> 3) as u32, Head::Message(ByteRange { start, end }))))
                }
                fault => {
                    self.skip_to = self.end;
                    Err(damage(error.offset, &fault))
                }
            },
        }
    }

    /// The content of the message that was returned last.
    #[inline]
    pub fn content(&mut self, span: ByteRange) -> io::Result<&[u8]> {
        let length = span.end - span.start;
        self.fill(length)?;
        let rest = self.rest();
        Ok(&rest[..rest.len().min(length as usize)])
    }

    #[inline]
    fn offset(&self) -> u64 {
        self.window.offset()
    }

    /// The number of bytes of this message in the window.
    #[inline]
    fn held(&self) -> usize {
        (self.window.bytes().len() as u64).min(self.end.saturating_sub(self.offset())) as usize
    }

    #[inline]
    fn rest(&self) -> &[u8] {
        &self.window.bytes()[..self.held()]
    }

    #[inline]
    fn skip(&mut self) -> io::Result<()> {
        self.window.seek(self.skip_to.min(self.end).max(self.offset()))
    }

    /// Fills the window with `wanted` bytes, or with the rest of the message.
    #[inline]
    fn fill(&mut self, wanted: u64) -> io::Result<()> {
        let wanted = wanted.min(self.end.saturating_sub(self.offset()));
        if self.window.fill(wanted)? < wanted {
            // The file was truncated while we read it.
            self.end = self.offset() + self.window.bytes().len() as u64;
        }
        Ok(())
    }
}

/// The tag of a field.
fn tag_of(head: &[u8]) -> u64 {
    let bytes = head.iter().take(10).enumerate();
    let mut tag = 0;
    for (i, byte) in bytes {
        tag |= u64::from(byte & 0x7f) << (7 * i as u32).min(63);
        if *byte < 0x80 {
            break;
        }
    }
    tag
}

fn damage(offset: u64, fault: &Fault) -> FieldError {
    FieldError::Damage(Damage { offset, what: fault.to_string() })
}
