//! Where bytes come from: a file, standard input, or memory; gzipped or plain.

use crate::error::Error;
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{self, Chain, Cursor, Read};
use std::path::Path;

/// Named bytes, of which the first are there to be looked at.
pub struct Source<'a> {
    /// The name for messages.
    pub name: String,
    pub input: Peeked<'a>,
}

impl std::fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The name of standard input in messages.
pub const STDIN: &str = "standard input";

/// How many bytes are looked at to tell formats apart.
const HEAD: u64 = 64 * 1024;

impl<'a> Source<'a> {
    /// A file, or standard input if the path is `-`.
    pub fn open(path: &Path) -> Result<Source<'static>, Error> {
        Source::open_watched(path, &|_| {})
    }

    /// The same, and `watch` is told now and then how many bytes were taken since it was told last.
    pub fn open_watched(path: &Path, watch: &'a dyn Fn(u64)) -> Result<Source<'a>, Error> {
        let name = path.display().to_string();
        let io_error = |action, source| Error::Io { file: name.clone(), action, source };
        if path.as_os_str() == "-" {
            return Source::watched(STDIN.to_owned(), io::stdin(), watch);
        }
        let file = File::open(path).map_err(|error| io_error("cannot open", error))?;
        if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            let error = io::Error::other("it is a directory, expected a file");
            return Err(io_error("cannot read", error));
        }
        Source::watched(name, file, watch)
    }

    /// Anything that can be read, with a `watch` as above.
    pub fn watched(name: String, input: impl Read + 'a, watch: &'a dyn Fn(u64)) -> Result<Source<'a>, Error> {
        Source::new(name, Box::new(Watched { input, watch }))
    }

    pub fn memory(name: &str, bytes: &'a [u8]) -> Result<Source<'a>, Error> {
        Source::new(name.to_owned(), Box::new(bytes))
    }

    pub fn new(name: String, input: Box<dyn Read + 'a>) -> Result<Source<'a>, Error> {
        let open = || -> io::Result<Peeked<'a>> {
            let mut peeked = peek(input, 2)?;
            if peeked.get_ref().0.get_ref().starts_with(&[0x1f, 0x8b]) {
                peeked = peek(Box::new(MultiGzDecoder::new(peeked)), HEAD)?;
            }
            Ok(peeked)
        };
        match open() {
            Ok(input) => Ok(Source { name, input }),
            Err(source) => Err(Error::Io { file: name, action: "cannot read", source }),
        }
    }

    /// The first bytes, decompressed.
    pub fn head(&mut self) -> io::Result<&[u8]> {
        let held = self.input.get_ref().0.get_ref().len() as u64;
        if held < HEAD {
            let empty: Box<dyn Read> = Box::new(io::empty());
            let input = std::mem::replace(&mut self.input, Cursor::new(Vec::new()).chain(empty));
            self.input = peek(Box::new(input), HEAD)?;
        }
        Ok(self.input.get_ref().0.get_ref())
    }
}

/// Tells of each piece that was read; pieces are large, so that it costs nothing.
struct Watched<'a, R> {
    input: R,
    watch: &'a dyn Fn(u64),
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.input.read(buffer)?;
        (self.watch)(length as u64);
        Ok(length)
    }
}

pub type Peeked<'a> = Chain<Cursor<Vec<u8>>, Box<dyn Read + 'a>>;

fn peek<'a>(mut input: Box<dyn Read + 'a>, length: u64) -> io::Result<Peeked<'a>> {
    let mut head = Vec::new();
    match (&mut input).take(length).read_to_end(&mut head) {
        // Damage in compressed data is reported by whoever gets to it, with what came before it.
        Err(error) if head.is_empty() || error.kind() == io::ErrorKind::Other => Err(error),
        _ => Ok(Cursor::new(head).chain(input)),
    }
}
