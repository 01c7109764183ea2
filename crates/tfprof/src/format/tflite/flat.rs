//! Reads `FlatBuffers` in place. Every offset and length is checked against the file; nothing recurses.

use crate::budget;
use crate::format::file_bytes::FileBytes;
use crate::hash::TrustedMap;
use crate::words::lossy;
use std::cell::RefCell;
use std::io;

/// Cached pages of the file, so that small reads close together are one system call.
const PAGE: u64 = 8 * 1024;
const MOST_PAGES: usize = 256;

/// Longer texts are cut.
const LONGEST_TEXT: u64 = 4096;

/// The reason to stop reading a file.
#[derive(Debug)]
pub enum FlatError {
    Io(io::Error),
    /// The offset, and what is wrong there.
    Damaged(u64, String),
}

pub type Flat<T> = Result<T, FlatError>;

/// A file of tables.
pub struct FlatFile<'f> {
    bytes: &'f FileBytes,
    pub length: u64,
    pages: RefCell<TrustedMap<u64, Box<[u8]>>>,
}

/// Lists may refer to one table many times, at four bytes each.
const WORK_PER_TABLE: u64 = 64;
/// Tables may share a list of numbers, each of which may be an input.
const WORK_PER_INT: u64 = 8;

/// A table: its position, and that of its vtable.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    at: u64,
    vtable: u64,
    /// The size of the vtable in bytes.
    size: u64,
}

/// A vector: the position of its first element, and their number.
#[derive(Clone, Copy, Debug, Default)]
pub struct Vector {
    pub at: u64,
    pub count: u64,
}

impl<'f> FlatFile<'f> {
    pub fn new(bytes: &'f FileBytes) -> FlatFile<'f> {
        FlatFile { bytes, length: bytes.whole().end, pages: RefCell::default() }
    }

    /// Reads exactly this many bytes.
    fn read(&self, at: u64, into: &mut [u8]) -> Flat<()> {
        let end = at.checked_add(into.len() as u64).filter(|end| *end <= self.length);
        if end.is_none() {
            return Err(FlatError::Damaged(at, format!("an offset leads outside of the file ({} bytes)", self.length)));
        }
        let mut done = 0;
        while done < into.len() {
            let here = at + done as u64;
            let (page, within) = (here / PAGE, (here % PAGE) as usize);
            let mut pages = self.pages.borrow_mut();
            if !pages.contains_key(&page) {
                if pages.len() >= MOST_PAGES {
                    pages.clear();
                }
                pages.insert(page, self.page(page)?);
            }
            let Some(part) = pages.get(&page).and_then(|bytes| bytes.get(within..)).filter(|part| !part.is_empty())
            else {
                return Err(FlatError::Damaged(here, "the file ends here".to_owned()));
            };
            let count = part.len().min(into.len() - done);
            into[done..done + count].copy_from_slice(&part[..count]);
            done += count;
        }
        Ok(())
    }

    fn page(&self, page: u64) -> Flat<Box<[u8]>> {
        let mut bytes = vec![0; PAGE as usize];
        let mut held = 0;
        while held < bytes.len() {
            match self.bytes.read_at(page * PAGE + held as u64, &mut bytes[held..]) {
                Ok(0) => break,
                Ok(n) => held += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(FlatError::Io(error)),
            }
        }
        bytes.truncate(held);
        Ok(bytes.into())
    }

    fn u16(&self, at: u64) -> Flat<u16> {
        let mut bytes = [0; 2];
        self.read(at, &mut bytes)?;
        Ok(u16::from_le_bytes(bytes))
    }

    fn u32(&self, at: u64) -> Flat<u32> {
        let mut bytes = [0; 4];
        self.read(at, &mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    /// The position that an offset at `at` leads to.
    fn follow(&self, at: u64) -> Flat<u64> {
        Ok(at + u64::from(self.u32(at)?))
    }

    pub fn root(&self) -> Flat<Table> {
        let at = self.follow(0)?;
        self.table(at)
    }

    fn table(&self, at: u64) -> Flat<Table> {
        budget::work(WORK_PER_TABLE);
        let back = i64::from(self.u32(at)? as i32);
        let vtable = i64::try_from(at).ok().and_then(|at| at.checked_sub(back)).and_then(|at| u64::try_from(at).ok());
        let Some(vtable) = vtable else {
            return Err(FlatError::Damaged(at, "a table lists its fields outside of the file".to_owned()));
        };
        Ok(Table { at, vtable, size: u64::from(self.u16(vtable)?) })
    }

    /// The position of a field; `None` if the table leaves it out.
    fn field(&self, table: Table, field: u64) -> Flat<Option<u64>> {
        let entry = 4 + 2 * field;
        if entry + 2 > table.size {
            return Ok(None);
        }
        let offset = self.u16(table.vtable + entry)?;
        Ok((offset != 0).then(|| table.at + u64::from(offset)))
    }

    pub fn byte(&self, table: Table, field: u64) -> Flat<u8> {
        let Some(at) = self.field(table, field)? else { return Ok(0) };
        let mut byte = [0];
        self.read(at, &mut byte)?;
        Ok(byte[0])
    }

    /// A 32-bit integer, or a default.
    pub fn int(&self, table: Table, field: u64, default: i32) -> Flat<i32> {
        match self.field(table, field)? {
            Some(at) => Ok(self.u32(at)? as i32),
            None => Ok(default),
        }
    }

    pub fn long(&self, table: Table, field: u64) -> Flat<u64> {
        let Some(at) = self.field(table, field)? else { return Ok(0) };
        let mut bytes = [0; 8];
        self.read(at, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    pub fn child(&self, table: Table, field: u64) -> Flat<Option<Table>> {
        let Some(at) = self.field(table, field)? else { return Ok(None) };
        let at = self.follow(at)?;
        self.table(at).map(Some)
    }

    /// A vector of elements of that size; all of it must be in the file.
    pub fn vector(&self, table: Table, field: u64, size: u64) -> Flat<Vector> {
        let Some(at) = self.field(table, field)? else { return Ok(Vector::default()) };
        let at = self.follow(at)?;
        let count = u64::from(self.u32(at)?);
        if count.saturating_mul(size) > self.length.saturating_sub(at + 4) {
            let what = format!("a list claims {count} elements, more than the file has room for");
            return Err(FlatError::Damaged(at, what));
        }
        Ok(Vector { at: at + 4, count })
    }

    /// The table at an element of a vector of offsets.
    pub fn element(&self, vector: Vector, index: u64) -> Flat<Option<Table>> {
        if index >= vector.count {
            return Ok(None);
        }
        let at = self.follow(vector.at + 4 * index)?;
        self.table(at).map(Some)
    }

    pub fn ints(&self, table: Table, field: u64) -> Flat<Vec<i64>> {
        let vector = self.vector(table, field, 4)?;
        budget::work(1 + WORK_PER_INT * vector.count);
        let mut bytes = vec![0; 4 * vector.count as usize];
        self.read(vector.at, &mut bytes)?;
        let int = |four: &[u8]| i64::from(i32::from_le_bytes([four[0], four[1], four[2], four[3]]));
        Ok(bytes.chunks_exact(4).map(int).collect())
    }

    pub fn text(&self, table: Table, field: u64) -> Flat<String> {
        let vector = self.vector(table, field, 1)?;
        self.bytes_of(vector, LONGEST_TEXT).map(|bytes| lossy(&bytes).into_owned())
    }

    /// The first bytes of a vector.
    pub fn bytes_of(&self, vector: Vector, most: u64) -> Flat<Vec<u8>> {
        let mut bytes = vec![0; vector.count.min(most) as usize];
        self.read(vector.at, &mut bytes)?;
        Ok(bytes)
    }
}
