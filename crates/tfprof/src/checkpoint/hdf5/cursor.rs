//! Numbers out of a piece of an HDF5 file. All are little-endian; each read is checked against the end of the piece.

use super::Hdf5;
use crate::checkpoint::Damage;

/// A place in a piece of the file.
#[derive(Debug)]
pub struct Cursor<'f> {
    file: &'f Hdf5,
    pub bytes: Vec<u8>,
    pub at: usize,
    /// Where the piece starts in the file.
    pub offset: u64,
}

impl<'f> Cursor<'f> {
    pub fn new(file: &'f Hdf5, bytes: Vec<u8>, offset: u64) -> Cursor<'f> {
        Cursor { file, bytes, at: 0, offset }
    }

    pub fn fault(&self, what: String) -> Damage {
        self.file.source.damage(self.offset + self.at as u64, what)
    }

    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub fn skip(&mut self, count: usize) -> Result<(), Damage> {
        self.take(count).map(|_| ())
    }

    pub fn take(&mut self, count: usize) -> Result<&[u8], Damage> {
        if count > self.left() {
            return Err(self.fault(format!("a part of {count} bytes ends after {}; is the file damaged?", self.left())));
        }
        let start = self.at;
        self.at += count;
        Ok(&self.bytes[start..self.at])
    }

    /// A number of up to eight bytes.
    pub fn number(&mut self, size: usize) -> Result<u64, Damage> {
        let bytes = self.take(size)?;
        let mut number = [0; 8];
        number[..size.min(8)].copy_from_slice(&bytes[..size.min(8)]);
        Ok(u64::from_le_bytes(number))
    }

    pub fn u8(&mut self) -> Result<u8, Damage> {
        Ok(self.number(1)? as u8)
    }

    pub fn u16(&mut self) -> Result<u16, Damage> {
        Ok(self.number(2)? as u16)
    }

    pub fn u32(&mut self) -> Result<u32, Damage> {
        Ok(self.number(4)? as u32)
    }

    pub fn u64(&mut self) -> Result<u64, Damage> {
        self.number(8)
    }

    pub fn length(&mut self) -> Result<u64, Damage> {
        self.number(usize::from(self.file.length_size))
    }

    /// A number of as many bytes as an address has.
    pub fn length_of_address(&mut self) -> Result<u64, Damage> {
        self.number(usize::from(self.file.offset_size))
    }

    /// An address; `None` if it is undefined, which is all ones.
    pub fn address(&mut self) -> Result<Option<u64>, Damage> {
        let size = self.file.offset_size;
        let address = self.number(usize::from(size))?;
        let undefined = u64::MAX >> (64 - 8 * u32::from(size));
        Ok((address != undefined).then_some(address))
    }

    /// An address that must be there.
    pub fn defined(&mut self, of: &str) -> Result<u64, Damage> {
        match self.address()? {
            Some(address) => Ok(address),
            None => Err(self.fault(format!("the address of {of} is missing"))),
        }
    }

    /// Four letters that start each kind of block.
    pub fn signature(&mut self, expect: [u8; 4]) -> Result<(), Damage> {
        let at = self.at;
        if self.take(4)? == expect.as_slice() {
            return Ok(());
        }
        self.at = at;
        let expect = String::from_utf8_lossy(&expect);
        Err(self.fault(format!("expected a block `{expect}` here; is the file damaged?")))
    }

    /// Bytes up to a zero, without it.
    pub fn text(&mut self) -> Result<Vec<u8>, Damage> {
        let rest = &self.bytes[self.at..];
        let Some(end) = rest.iter().position(|byte| *byte == 0) else {
            return Err(self.fault("a name has no end; is the file damaged?".to_owned()));
        };
        let text = rest[..end].to_vec();
        self.at += end + 1;
        Ok(text)
    }
}

/// The bytes that hold numbers up to `limit`.
pub fn size_of_limit(limit: u64) -> usize {
    (limit.max(1).ilog2() / 8 + 1) as usize
}
