//! Random access to the bytes of a profile: a plane's names come after its events, so a file is read more than once.
//! A plain file is read through a sliding window; compressed and piped input is held in memory.

use crate::error::Error;
use crate::format::source::Source;
use std::fs::File;
use std::io::{self, Read};
use tfprof_proto::wire::{Fault, Field, Fields, Value};

/// The offsets of a message's content in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteRange {
    pub start: u64,
    pub end: u64,
}

/// A file that several threads can read at any offset.
#[derive(Debug)]
pub enum FileBytes {
    File(File, u64),
    Memory(Vec<u8>),
}

impl FileBytes {
    /// Reads all of a source. The second value says how its compressed data ended early, if it did.
    pub fn read_all(mut source: Source<'_>) -> Result<(FileBytes, Option<String>), Error> {
        let mut bytes = Vec::new();
        let cut = match source.input.read_to_end(&mut bytes) {
            Ok(_) => None,
            Err(error) => match error.kind() {
                io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
                    Some(format!("the compressed data is damaged or cut short ({error})"))
                }
                _ => return Err(Error::Io { file: source.name, action: "cannot read", source: error }),
            },
        };
        Ok((FileBytes::Memory(bytes), cut))
    }

    pub fn whole(&self) -> ByteRange {
        let end = match self {
            FileBytes::File(_, length) => *length,
            FileBytes::Memory(bytes) => bytes.len() as u64,
        };
        ByteRange { start: 0, end }
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            #[cfg(unix)]
            FileBytes::File(file, _) => std::os::unix::fs::FileExt::read_at(file, buffer, offset),
            #[cfg(windows)]
            FileBytes::File(file, _) => std::os::windows::fs::FileExt::seek_read(file, buffer, offset),
            FileBytes::Memory(bytes) => {
                let rest = bytes.get(offset as usize..).unwrap_or_default();
                let length = rest.len().min(buffer.len());
                buffer[..length].copy_from_slice(&rest[..length]);
                Ok(length)
            }
        }
    }

    /// The content of a message that is needed at once.
    pub fn content(&self, span: ByteRange) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        loop {
            let have = content.len();
            let left = usize::try_from(span.end - span.start).unwrap_or(usize::MAX) - have;
            // Grow only after filling: a claimed length may be wrong.
            content.resize(have + left.min(have.max(WINDOW)), 0);
            let got = self.read_at(span.start + have as u64, &mut content[have..])?;
            content.truncate(have + got);
            if got == 0 {
                return Ok(content);
            }
        }
    }
}

/// A part of a file in memory. The next reader that starts inside it reuses it.
#[derive(Debug, Default)]
pub struct Window {
    buffer: Vec<u8>,
    filled: usize,
    /// Its offset in the file.
    base: u64,
}

/// Reads the fields of one message through a window.
#[derive(Debug)]
pub struct FieldReader<'b> {
    bytes: &'b FileBytes,
    window: Window,
    /// The current position in the window.
    at: usize,
    end: u64,
    /// The offset of the next field; the bytes up to it are skipped.
    skip_to: u64,
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

const WINDOW: usize = 256 * 1024;
/// Enough for a tag and a number.
const HEAD: usize = 20;

impl<'b> FieldReader<'b> {
    /// Reads a message, through a window that may have been used before.
    pub fn new(bytes: &'b FileBytes, span: ByteRange, mut window: Window) -> FieldReader<'b> {
        let at = match span.start.checked_sub(window.base) {
            Some(at) if at <= window.filled as u64 => at as usize,
            _ => {
                (window.base, window.filled) = (span.start, 0);
                0
            }
        };
        FieldReader { bytes, window, at, end: span.end, skip_to: span.start }
    }

    pub fn into_window(self) -> Window {
        self.window
    }

    /// The offset of the next field.
    pub fn next_offset(&self) -> u64 {
        self.skip_to.max(self.offset()).min(self.end)
    }

    /// The rest of the window, and how much of it belongs to this message.
    #[inline]
    pub fn ready(&mut self) -> (&[u8], usize) {
        if self.skip_to > self.offset() {
            self.skip();
        }
        (&self.window.buffer[self.at..self.window.filled], self.held() - self.at)
    }

    /// Skips fields that the caller read from [`FieldReader::ready`].
    #[inline]
    pub fn take(&mut self, length: usize) {
        self.at += length;
        self.skip_to = self.offset();
    }

    /// The number and head of the next field. A message that runs past the end is returned truncated,
    /// and the next call fails.
    #[inline]
    pub fn next_field(&mut self) -> Result<Option<(u32, Head)>, FieldError> {
        if self.skip_to > self.offset() {
            self.skip();
        }
        if self.held() - self.at < HEAD {
            self.fill(HEAD)?;
        }
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
                self.at += size as usize;
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
            self.at = self.held();
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
                self.at += (used - offset) as usize;
                self.skip_to = end;
                Ok(Some((number, head)))
            }
            Ok(None) => Ok(None),
            Err(error) => match error.fault {
                // The content is longer than the head that was read; it is damage only if it runs past the end.
                Fault::Truncated { claimed, .. } if tag & 7 == 2 => {
                    let start = error.offset;
                    self.at += (start - offset) as usize;
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
        let length = (span.end - span.start) as usize;
        if self.held() - self.at < length {
            self.fill(length)?;
        }
        let rest = self.rest();
        Ok(&rest[..rest.len().min(length)])
    }

    #[inline]
    fn offset(&self) -> u64 {
        self.window.base + self.at as u64
    }

    /// The end of this message in the window, or the end of the window.
    #[inline]
    fn held(&self) -> usize {
        (self.window.filled as u64).min(self.end.saturating_sub(self.window.base)) as usize
    }

    #[inline]
    fn rest(&self) -> &[u8] {
        &self.window.buffer[self.at..self.held()]
    }

    #[inline]
    fn skip(&mut self) {
        let to = self.skip_to.min(self.end);
        let ahead = to.saturating_sub(self.offset());
        if ahead <= (self.window.filled - self.at) as u64 {
            self.at += ahead as usize;
        } else {
            (self.window.base, self.window.filled, self.at) = (to, 0, 0);
        }
    }

    /// Fills the window with `wanted` bytes, or with the rest of the message.
    #[inline(never)]
    fn fill(&mut self, wanted: usize) -> io::Result<()> {
        let window = &mut self.window;
        window.buffer.copy_within(self.at..window.filled, 0);
        window.base += self.at as u64;
        window.filled -= self.at;
        self.at = 0;
        while window.filled < wanted && window.base + (window.filled as u64) < self.end {
            if window.filled == window.buffer.len() {
                // Grow only after filling: a claimed length may be wrong.
                window.buffer.resize((window.buffer.len() * 2).max(WINDOW), 0);
            }
            let from = window.base + window.filled as u64;
            let got = self.bytes.read_at(from, &mut window.buffer[window.filled..])?;
            if got == 0 {
                // The file was truncated while we read it.
                self.end = from;
                break;
            }
            window.filled += got;
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
