//! Random access to bytes: a file of a checkpoint, or memory in tests.

use crate::budget;
use crate::checkpoint::Damage;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Bytes read by offset. Every length is checked against the size of the source.
#[derive(Debug)]
pub struct ByteSource {
    /// The name in messages.
    pub name: String,
    /// Where it starts in its file.
    start: u64,
    length: u64,
    storage: Storage,
}

#[derive(Debug)]
enum Storage {
    File(Arc<Mutex<File>>),
    Memory(Arc<Vec<u8>>),
}

/// The bytes that a file takes on its disk, as far as they are known: holes weigh nothing. `beside` is a file without
/// holes; where it takes none either, the file system does not tell.
pub fn weight(path: &Path, beside: &Path) -> u64 {
    let metadata = |path: &Path| std::fs::metadata(path).ok();
    let length = metadata(path).map_or(0, |file| file.len());
    match (metadata(path).and_then(|file| on_disk(&file)), metadata(beside).and_then(|file| on_disk(&file))) {
        (Some(held), Some(1..)) => held.min(length),
        _ => length,
    }
}

#[cfg(unix)]
#[allow(clippy::unnecessary_wraps, reason = "other systems do not tell")]
fn on_disk(file: &std::fs::Metadata) -> Option<u64> {
    Some(std::os::unix::fs::MetadataExt::blocks(file).saturating_mul(512))
}

#[cfg(not(unix))]
fn on_disk(_: &std::fs::Metadata) -> Option<u64> {
    None
}

impl ByteSource {
    pub fn open(path: &Path) -> io::Result<ByteSource> {
        let metadata = std::fs::metadata(path)?;
        if !metadata.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        let file = File::open(path)?;
        Ok(ByteSource {
            name: path.display().to_string(),
            start: 0,
            length: metadata.len(),
            storage: Storage::File(Arc::new(Mutex::new(file))),
        })
    }

    pub fn memory(name: &str, bytes: Vec<u8>) -> ByteSource {
        let length = bytes.len() as u64;
        ByteSource { name: name.to_owned(), start: 0, length, storage: Storage::Memory(Arc::new(bytes)) }
    }

    /// A part as a source of its own. Offsets in messages stay those of the file.
    pub fn part(&self, offset: u64, length: u64) -> Result<ByteSource, Damage> {
        if offset.checked_add(length).is_none_or(|end| end > self.length) {
            return Err(self.too_short(offset, length));
        }
        let storage = match &self.storage {
            Storage::File(file) => Storage::File(Arc::clone(file)),
            Storage::Memory(bytes) => Storage::Memory(Arc::clone(bytes)),
        };
        Ok(ByteSource { name: self.name.clone(), start: self.start + offset, length, storage })
    }

    /// Where a byte is in the file.
    pub fn file_offset(&self, offset: u64) -> u64 {
        self.start.saturating_add(offset)
    }

    pub fn len(&self) -> u64 {
        self.length
    }

    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Reads a range into a new buffer.
    pub fn read(&self, offset: u64, length: u64) -> Result<Vec<u8>, Damage> {
        let mut bytes = Vec::new();
        self.read_to(offset, length, &mut bytes)?;
        Ok(bytes)
    }

    /// Reads a range into `bytes`, replacing its contents.
    pub fn read_to(&self, offset: u64, length: u64, bytes: &mut Vec<u8>) -> Result<(), Damage> {
        // An offset behind the end is refused, even to read 0 bytes.
        if offset > self.length || length > self.length - offset {
            return Err(self.too_short(offset, length));
        }
        budget::reserve(length.saturating_sub(bytes.capacity() as u64));
        // The file has this many bytes, so the allocation is bounded.
        bytes.resize(length as usize, 0);
        self.fill(offset, bytes).map_err(|error| self.damage(offset, format!("cannot read: {error}")))
    }

    fn too_short(&self, offset: u64, length: u64) -> Damage {
        let left = self.length.saturating_sub(offset);
        let what = format!("length {length} runs past the end of the file ({left} bytes left); is it truncated?");
        self.damage(offset, what)
    }

    fn fill(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        match &self.storage {
            Storage::Memory(all) => {
                let start = (self.start + offset) as usize;
                bytes.copy_from_slice(&all[start..start + bytes.len()]);
                Ok(())
            }
            Storage::File(file) => {
                let mut file = file.lock().map_err(|_| io::Error::other("another reader failed"))?;
                file.seek(SeekFrom::Start(self.start + offset))?;
                file.read_exact(bytes)
            }
        }
    }

    pub fn damage(&self, offset: u64, what: String) -> Damage {
        Damage { file: self.name.clone(), offset: Some(self.file_offset(offset)), tensor: None, what, absent: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_checked_against_the_file() {
        let source = ByteSource::memory("m", vec![1, 2, 3]);
        assert_eq!(source.read(1, 2).unwrap(), [2, 3]);
        assert_eq!(source.read(3, 0).unwrap(), [0; 0]);
        let damage = source.read(1, u64::MAX).unwrap_err();
        assert_eq!(damage.offset, Some(1));
        assert!(damage.what.contains("(2 bytes left)"), "{}", damage.what);
        assert!(source.read(9, 1).is_err());
        let part = source.part(1, 2).unwrap();
        assert_eq!(part.read(0, 2).unwrap(), [2, 3]);
        assert_eq!(part.read(2, 1).unwrap_err().offset, Some(3));
        assert!(source.part(2, 2).is_err() && source.part(u64::MAX, 2).is_err());
    }
}
