//! Pieces of bytes that wait on the disk instead of in memory, in a file that no one else can name.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Pieces, read back in the order in which they were added.
#[derive(Debug)]
pub struct Spill {
    file: Mutex<File>,
    /// The length of each piece.
    lengths: Vec<usize>,
    end: u64,
    /// Where a file that is open cannot be removed, its path, to remove it at the end.
    named: Option<PathBuf>,
}

impl Spill {
    /// A new file in the directory for temporary files.
    pub fn create() -> io::Result<Spill> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("tfprof-{}-{number}.spill", std::process::id()));
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path)?;
        let named = fs::remove_file(&path).is_err().then_some(path);
        Ok(Spill { file: Mutex::new(file), lengths: Vec::new(), end: 0, named })
    }

    /// Adds a piece. After an error, the pieces before it can still be read.
    pub fn push(&mut self, piece: &[u8]) -> io::Result<()> {
        let file = self.file.get_mut().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(self.end))?;
        file.write_all(piece)?;
        self.end += piece.len() as u64;
        self.lengths.push(piece.len());
        Ok(())
    }

    /// Reads the pieces.
    pub fn each(&self, mut then: impl FnMut(&[u8])) -> io::Result<()> {
        let mut piece = Vec::new();
        let mut start = 0;
        for length in &self.lengths {
            piece.resize(*length, 0);
            {
                let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
                file.seek(SeekFrom::Start(start))?;
                file.read_exact(&mut piece)?;
            }
            start += *length as u64;
            then(&piece);
        }
        Ok(())
    }
}

impl Drop for Spill {
    fn drop(&mut self) {
        if let Some(path) = &self.named {
            // A file for temporary files may stay, if nothing can remove it.
            let _ = fs::remove_file(path);
        }
    }
}
