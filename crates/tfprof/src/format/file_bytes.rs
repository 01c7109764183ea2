//! [`FileBytes`]: a file that is read at any offset, so that parts that nobody asks for are not read at all.

use crate::budget;
use crate::error::Error;
use crate::format::source::Source;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tfprof_proto::window::{ByteRange, Window};

/// A file that several threads can read at any offset.
#[derive(Debug)]
pub enum FileBytes {
    File(LazyFile),
    Memory(Vec<u8>),
}

impl FileBytes {
    /// Opens a file for random access; compressed and piped input is held in memory. The second value says how compressed
    /// data ended early, if it did.
    pub fn open(path: &Path, source: Source<'_>) -> Result<(FileBytes, Option<String>), Error> {
        if !path.is_file() || source.is_compressed {
            return FileBytes::read_all(source);
        }
        let io_error = |error| Error::Io { file: source.name.clone(), action: "cannot open", source: error };
        let length = std::fs::metadata(path).map_err(io_error)?.len();
        // Bytes that the source has read are counted already.
        budget::add_input(length.saturating_sub(source.head().len() as u64));
        let file = LazyFile { path: path.to_owned(), length, file: Mutex::default() };
        Ok((FileBytes::File(file), None))
    }

    /// Reads all of a source. The second value says how its compressed data ended early, if it did.
    fn read_all(mut source: Source<'_>) -> Result<(FileBytes, Option<String>), Error> {
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

    /// Closes the file until it is read again.
    pub fn close(&self) {
        if let FileBytes::File(file) = self {
            *file.lock() = None;
        }
    }

    pub fn whole(&self) -> ByteRange {
        let end = match self {
            FileBytes::File(file) => file.length,
            FileBytes::Memory(bytes) => bytes.len() as u64,
        };
        ByteRange { start: 0, end }
    }

    /// Reads some of the bytes at an offset; none past the end.
    pub fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            FileBytes::File(file) => file.read_at(offset, buffer),
            FileBytes::Memory(bytes) => {
                let rest = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)).unwrap_or_default();
                let length = rest.len().min(buffer.len());
                buffer[..length].copy_from_slice(&rest[..length]);
                Ok(length)
            }
        }
    }

    /// The bytes from an offset on.
    pub fn cursor(&self, at: u64) -> ByteCursor<'_> {
        ByteCursor { bytes: self, at }
    }

    /// A window over the file; its names come after their uses, so the file is read more than once.
    pub fn window(&self) -> ByteWindow<'_> {
        Window::new(self.cursor(0))
    }

    /// The content of a message that is needed at once.
    pub fn content(&self, span: ByteRange) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        self.cursor(span.start).take(span.end - span.start).read_to_end(&mut content)?;
        Ok(content)
    }
}

/// A file that is open only while it is read: a run may have thousands of hosts.
#[derive(Debug)]
pub struct LazyFile {
    path: PathBuf,
    length: u64,
    file: Mutex<Option<Arc<File>>>,
}

impl LazyFile {
    fn open(&self) -> io::Result<Arc<File>> {
        let mut file = self.lock();
        match &*file {
            Some(file) => Ok(Arc::clone(file)),
            None => Ok(Arc::clone(file.insert(Arc::new(File::open(&self.path)?)))),
        }
    }

    #[cfg(unix)]
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(&*self.open()?, buffer, offset)
    }

    #[cfg(windows)]
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(&*self.open()?, buffer, offset)
    }

    /// Other systems share one position between all readers, so a lock holds it from the seek to the read.
    #[cfg(not(any(unix, windows)))]
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let file = self.open()?;
        let _one_at_a_time = self.lock();
        (&*file).seek(SeekFrom::Start(offset))?;
        (&*file).read(buffer)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<File>>> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A position in a file.
#[derive(Debug)]
pub struct ByteCursor<'b> {
    bytes: &'b FileBytes,
    at: u64,
}

pub type ByteWindow<'b> = Window<ByteCursor<'b>>;

impl Read for ByteCursor<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.bytes.read_at(self.at, buffer)?;
        self.at += length as u64;
        Ok(length)
    }
}

impl Seek for ByteCursor<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let SeekFrom::Start(at) = to else { return Err(io::ErrorKind::Unsupported.into()) };
        self.at = at;
        Ok(at)
    }
}
