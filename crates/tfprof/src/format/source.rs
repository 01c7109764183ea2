//! Where bytes come from: a file, standard input, or memory; gzipped or plain.

use crate::budget::{self, Limits};
use crate::error::{Error, Fix, LimitReached, Location};
use crate::foreign;
use crate::metric::Unit;
use crate::units;
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{self, Chain, Cursor, Read};
use std::path::{Path, PathBuf};

/// A named stream of bytes whose first bytes can be peeked at.
pub struct Source<'a> {
    /// The name for messages.
    pub name: String,
    /// The file, if it is one.
    pub(crate) path: Option<PathBuf>,
    #[doc(hidden)]
    pub input: Peeked<'a>,
    /// The stream is decompressed on the way.
    pub is_compressed: bool,
    pub(crate) limits: Limits,
}

impl std::fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source").field("name", &self.name).finish_non_exhaustive()
    }
}

/// No real profile compresses this well: the text of a graph shrinks up to 370 times, runs of zeros a thousand times.
const GROWTH: u64 = 500;
/// Up to this size, growth does not matter.
const HARMLESS: u64 = 128 << 20;
const MOST_UNPACKED: u64 = 64 << 30;

/// The name of standard input in messages.
pub const STDIN: &str = "standard input";

/// The number of bytes peeked at to recognize the format.
const HEAD: u64 = 64 * 1024;

impl<'a> Source<'a> {
    /// A file, or standard input if the path is `-`.
    pub fn open(path: &Path) -> Result<Source<'static>, Error> {
        Source::open_with(path, Limits::default(), &|_| {})
    }

    /// The same with limits; `on_read` is called with the number of bytes of each piece that is read.
    pub fn open_with(path: &Path, limits: Limits, on_read: &'a dyn Fn(u64)) -> Result<Source<'a>, Error> {
        let name = path.display().to_string();
        let io_error = |action, source| Error::Io { file: name.clone(), action, source };
        if path.as_os_str() == "-" {
            return Source::with(STDIN.to_owned(), io::stdin(), limits, on_read);
        }
        let file = File::open(path).map_err(|error| io_error("cannot open", error))?;
        if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            let error =
                io::Error::other("it is a directory, expected a file; without a flag, a directory is looked through");
            return Err(io_error("cannot read", error));
        }
        let source = Source::with(name, file, limits, on_read)?;
        Ok(Source { path: Some(path.to_owned()), ..source })
    }

    /// Any reader, with limits and `on_read` as above.
    pub fn with(
        name: String,
        input: impl Read + 'a,
        limits: Limits,
        on_read: &'a dyn Fn(u64),
    ) -> Result<Source<'a>, Error> {
        Source::limited(name, Box::new(Reported { input, on_read }), limits)?.refuse_foreign()
    }

    pub fn memory(name: &str, bytes: &'a [u8]) -> Result<Source<'a>, Error> {
        budget::add_input(bytes.len() as u64);
        Source::new(name.to_owned(), Box::new(bytes))
    }

    pub fn new(name: String, input: Box<dyn Read + 'a>) -> Result<Source<'a>, Error> {
        Source::limited(name, input, Limits::default())?.refuse_foreign()
    }

    fn limited(name: String, input: Box<dyn Read + 'a>, limits: Limits) -> Result<Source<'a>, Error> {
        let open = || -> io::Result<(Peeked<'a>, bool)> {
            let mut peeked = peek(input, HEAD)?;
            let is_compressed = peeked.get_ref().0.get_ref().starts_with(&[0x1f, 0x8b]);
            if is_compressed {
                let packed = MultiGzDecoder::new(Counted { input: peeked, count: 0 });
                peeked = peek(Box::new(Unpacked { packed, count: 0, most: limits.unpacked }), HEAD)?;
            }
            Ok((peeked, is_compressed))
        };
        match open() {
            Ok((input, is_compressed)) => Ok(Source { name, path: None, input, is_compressed, limits }),
            Err(source) => Err(Error::Io { file: name, action: "cannot read", source }),
        }
    }

    /// The first bytes, decompressed.
    pub fn head(&self) -> &[u8] {
        self.input.get_ref().0.get_ref()
    }

    /// Refuses a file that cannot be any of ours, and names it.
    fn refuse_foreign(self) -> Result<Source<'a>, Error> {
        match foreign::name(self.head(), named_file(&self.name)) {
            Some(message) => Err(Error::Input { location: Location { file: self.name, spot: None }, message }),
            None => Ok(self),
        }
    }
}

/// The file of that name in messages; empty for standard input.
pub(crate) fn named_file(name: &str) -> &str {
    if name == STDIN { "" } else { name }
}

/// Reports each piece that was read; pieces are large, so this costs nothing.
struct Reported<'a, R> {
    input: R,
    on_read: &'a dyn Fn(u64),
}

impl<R: Read> Read for Reported<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.input.read(buffer)?;
        (self.on_read)(length as u64);
        budget::add_input(length as u64);
        budget::check();
        Ok(length)
    }
}

struct Counted<R> {
    input: R,
    count: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.input.read(buffer)?;
        self.count += length as u64;
        Ok(length)
    }
}

/// The content of a compressed file, limited to a plausible size.
struct Unpacked<R> {
    packed: MultiGzDecoder<Counted<R>>,
    count: u64,
    most: Option<u64>,
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let at = self.count;
        let placed = |error: io::Error| io::Error::new(error.kind(), format!("{error}, after {at} unpacked bytes"));
        let length = self.packed.read(buffer).map_err(placed)?;
        let before = self.count.min(self.packed.get_ref().count.saturating_mul(budget::PACKED_GROWTH));
        self.count += length as u64;
        let after = self.count.min(self.packed.get_ref().count.saturating_mul(budget::PACKED_GROWTH));
        budget::add_input(after.saturating_sub(before));
        budget::check();
        let grown = self.packed.get_ref().count.saturating_mul(GROWTH);
        let most = self.most.unwrap_or(grown.clamp(HARMLESS, MOST_UNPACKED));
        if self.count <= most {
            return Ok(length);
        }
        let most = units::text(Unit::Bytes, most as i64);
        let message = format!("it unpacks to more than {most}");
        let fix = Fix::new("if that is right, allow more with", "max_unpacked");
        Err(io::Error::new(io::ErrorKind::FileTooLarge, LimitReached { message, fix }))
    }
}

pub type Peeked<'a> = Chain<Cursor<Vec<u8>>, Box<dyn Read + 'a>>;

fn peek<'a>(mut input: Box<dyn Read + 'a>, length: u64) -> io::Result<Peeked<'a>> {
    let mut head = Vec::new();
    match (&mut input).take(length).read_to_end(&mut head) {
        // Damaged compressed data is reported when it is reached; the bytes before it still count.
        Err(error) if head.is_empty() || error.kind() == io::ErrorKind::Other => Err(error),
        _ => Ok(Cursor::new(head).chain(input)),
    }
}
