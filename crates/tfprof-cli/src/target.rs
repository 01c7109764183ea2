//! Writes files. A regular file is written to a temporary name and renamed, so that no reader sees half of it.

use crate::signals::{self, Stoppable};
use crate::terminal::Guard;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use tfprof::Error;
use tfprof::internal::budget::ChargedWriter;

type Fill<'a> = &'a mut dyn FnMut(&mut dyn Write) -> io::Result<()>;

/// Writes to a file. Refuses to overwrite any of `inputs`.
pub fn to_file(
    file: &str,
    inputs: &[PathBuf],
    mut fill: impl FnMut(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Error> {
    refuse_input(file, inputs)?;
    write(file, Durability::Synced, &mut fill)
}

/// Lets `fill` write a file by its path. Refuses to overwrite any of `inputs`.
pub fn to_path(file: &str, inputs: &[PathBuf], fill: impl FnOnce(&Path) -> io::Result<()>) -> Result<(), Error> {
    refuse_input(file, inputs)?;
    let write = || -> io::Result<()> {
        let target = resolve_links(Path::new(file))?;
        if target.is_dir() {
            return Err(io::Error::other("it is a directory"));
        }
        let name = target.file_name().ok_or_else(|| io::Error::other("it is not the name of a file"))?;
        let (temporary, _) = create_temporary(&target, name)?;
        fill(&temporary.path)?;
        fs::rename(&temporary.path, &target)?;
        temporary.keep();
        Ok(())
    };
    write().map_err(|source| Error::Io { file: file.to_owned(), action: "cannot write", source })
}

/// Adds to the end of a file, all of it or nothing. Refuses to change any of `inputs`.
pub fn append(file: &str, inputs: &[PathBuf], bytes: &[u8]) -> Result<(), Error> {
    refuse_input(file, inputs)?;
    let add = || -> io::Result<()> {
        let mut target = OpenOptions::new().append(true).create(true).open(file)?;
        let before = target.metadata()?;
        target.write_all(bytes).inspect_err(|_| {
            if before.is_file() {
                // The error that is reported came first.
                let _ = target.set_len(before.len());
            }
        })
    };
    match add() {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        added => added.map_err(|source| Error::Io { file: file.to_owned(), action: "cannot write", source }),
    }
}

fn refuse_input(file: &str, inputs: &[PathBuf]) -> Result<(), Error> {
    // A hard link to an input is fine: the rename replaces that name only.
    if let Ok(real) = Path::new(file).canonicalize()
        && real.is_file()
        && inputs.iter().any(|input| input.canonicalize().is_ok_and(|input| input == real))
    {
        let message = format!("{file} is one of the inputs and would be overwritten; name another file");
        return Err(Error::Question(message));
    }
    Ok(())
}

/// Writes one of many files without waiting for the disk: after a power failure, the last ones may be empty.
pub fn to_one_of_many(file: &str, mut fill: impl FnMut(&mut dyn Write) -> io::Result<()>) -> Result<(), Error> {
    write(file, Durability::Buffered, &mut fill)
}

/// Whether to wait until a file is on the disk, which takes milliseconds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Durability {
    Synced,
    Buffered,
}

fn write(file: &str, durability: Durability, fill: Fill<'_>) -> Result<(), Error> {
    let target = Path::new(file);
    let written = match fs::metadata(target) {
        Ok(metadata) if !metadata.is_file() && !metadata.is_dir() => write_through(target, fill),
        _ => replace(target, durability, fill),
    };
    written.map_err(|source| Error::Io { file: file.to_owned(), action: "cannot write", source })
}

/// Whether a name stands for standard output, a device or a pipe, which cannot take a suffix.
pub fn is_stream(file: &str) -> bool {
    file == "-" || fs::metadata(file).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

/// Writes directly to a device or pipe. A terminal by any name (`/dev/stdout`, `/dev/tty`) gets no control codes.
fn write_through(target: &Path, fill: Fill<'_>) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(target)?;
    let terminal = file.is_terminal();
    let mut file = BufWriter::new(file);
    let written = if terminal { fill(&mut Guard::new(&mut file)) } else { fill(&mut ChargedWriter(&mut file)) };
    match written.and_then(|()| file.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Creates or replaces a regular file.
fn replace(target: &Path, durability: Durability, fill: Fill<'_>) -> io::Result<()> {
    let target = resolve_links(target)?;
    if target.is_dir() {
        return Err(io::Error::other("it is a directory"));
    }
    let name = target.file_name().ok_or_else(|| io::Error::other("it is not the name of a file"))?;
    let (temporary, file) = create_temporary(&target, name)?;
    write_new(file, &temporary.path, &target, durability, fill)?;
    fs::rename(&temporary.path, &target)?;
    temporary.keep();
    Ok(())
}

/// An incomplete file, which is removed unless it is kept: after an error, when a limit is reached, or on a signal.
struct Temporary {
    path: PathBuf,
    kept: bool,
}

impl Temporary {
    /// Creates the file. Signals wait from before it is there.
    fn create(path: PathBuf) -> io::Result<(Temporary, File)> {
        signals::hold();
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => Ok((Temporary { path, kept: false }, file)),
            Err(error) => {
                signals::release(false);
                Err(error)
            }
        }
    }

    fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.kept {
            let _ = fs::remove_file(&self.path);
        }
        signals::release(false);
    }
}

/// Follows symbolic links, so that their target is replaced, or created if it does not exist.
fn resolve_links(target: &Path) -> io::Result<PathBuf> {
    if let Ok(real) = target.canonicalize() {
        return Ok(real);
    }
    let mut target = target.to_owned();
    for _ in 0..MAX_LINKS {
        let Ok(next) = fs::read_link(&target) else { return Ok(target) };
        target = target.parent().unwrap_or(Path::new("")).join(next);
    }
    Err(io::Error::other("it is a link that leads to itself"))
}

/// The bytes of a temporary file's name that repeat the target's; a character has up to four.
const LONGEST_NAME: usize = 200;

/// The limit of Linux.
const MAX_LINKS: usize = 40;

/// A new file next to the target. `create_new` refuses files and links that someone else planted there.
fn create_temporary(target: &Path, name: &OsStr) -> io::Result<(Temporary, File)> {
    // The name of a file has at most 255 bytes; ours is longer than the target's.
    let name: String = name.to_string_lossy().chars().take(LONGEST_NAME / 4).collect();
    let mut attempt = 0;
    loop {
        let temporary = format!(".{name}.{}-{attempt}.tmp", std::process::id());
        let temporary = target.with_file_name(temporary);
        match Temporary::create(temporary) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 100 => attempt += 1,
            created => return created,
        }
    }
}

fn write_new(file: File, temporary: &Path, target: &Path, durability: Durability, fill: Fill<'_>) -> io::Result<()> {
    if let Ok(metadata) = fs::metadata(target) {
        fs::set_permissions(temporary, metadata.permissions())?;
    }
    let mut file = BufWriter::with_capacity(256 * 1024, file);
    fill(&mut ChargedWriter(Stoppable(&mut file)))?;
    let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    if durability == Durability::Synced { file.sync_all() } else { Ok(()) }
}
