//! HDF5 files, read in place: groups, attributes and datasets, in all versions of the format that libraries write.
//!
//! [`Hdf5::open`] reads the superblock, [`Hdf5::object`] the messages of an object (`header.rs`), [`Hdf5::links`] the
//! members of a group (`group.rs`, with `heap.rs` and `btree.rs`), [`Hdf5::attributes`] its attributes, and `dataset.rs`
//! where values are (`chunks.rs`, `filters.rs`).
//!
//! Every address is checked against the file, each read is charged as work, and nothing recurses: a file whose parts
//! point at each other ends with a sentence.

mod attribute;
mod btree;
mod chunks;
mod cursor;
mod dataset;
mod datatype;
mod filters;
mod group;
mod header;
mod heap;
#[cfg(test)]
mod tests;

use super::{ByteSource, Damage};
use crate::budget;
use crate::hash::UntrustedSet;
use cursor::Cursor;
pub use dataset::{Dataset, Layout};
pub use datatype::{Class, Datatype};
pub use group::Target;
pub use header::Object;

/// The first bytes of an HDF5 file, or of what follows its user block.
pub const SIGNATURE: &[u8; 8] = b"\x89HDF\r\n\x1a\n";

/// An open file.
#[derive(Debug)]
pub struct Hdf5 {
    pub source: ByteSource,
    /// Addresses count from here.
    base: u64,
    /// The bytes of an address, and of a length.
    offset_size: u8,
    length_size: u8,
    root: u64,
}

/// A dataset, and the names of the groups on the way to it.
#[derive(Debug)]
pub struct Found {
    /// `layers/dense/vars/0`.
    pub path: String,
    /// The address of its group.
    pub group: u64,
    pub object: Object,
    pub dataset: Result<Dataset, Damage>,
}

/// Bytes of the file for one unit of work.
const BYTES_PER_WORK: u64 = 16;
/// User blocks are at most this large.
const LAST_SIGNATURE: u64 = 1 << 30;

impl Hdf5 {
    pub fn open(source: ByteSource) -> Result<Hdf5, Damage> {
        let Some(base) = Hdf5::find(&source) else {
            return Err(source.damage(0, "this is no HDF5 file: its signature is missing".to_owned()));
        };
        let mut file = Hdf5 { source, base, offset_size: 8, length_size: 8, root: 0 };
        let mut start = file.cursor(0, 9.min(file.source.len() - base))?;
        start.skip(SIGNATURE.len())?;
        match start.u8()? {
            0 | 1 => file.read_old_superblock()?,
            2 | 3 => file.read_superblock()?,
            version => return Err(start.fault(format!("version {version} of HDF5's superblock is not known"))),
        }
        Ok(file)
    }

    /// Where the superblock is: at the start, or after a user block of 512, 1024, … bytes.
    pub fn find(source: &ByteSource) -> Option<u64> {
        let mut at = 0;
        while at < source.len() && at <= LAST_SIGNATURE {
            if source.len() - at >= 8 && source.read(at, 8).is_ok_and(|bytes| bytes == SIGNATURE) {
                return Some(at);
            }
            at = if at == 0 { 512 } else { at * 2 };
        }
        None
    }

    fn read_old_superblock(&mut self) -> Result<(), Damage> {
        let mut prefix = self.cursor(8, 16)?;
        let version = prefix.u8()?;
        prefix.skip(4)?;
        let (offset_size, length_size) = (prefix.u8()?, prefix.u8()?);
        self.set_sizes(offset_size, length_size)?;
        let start = if version == 0 { 24 } else { 28 };
        // Four addresses of the file, then the entry of the root group: the offset of its name, and its header. The first
        // address is the base, which is wrong if a user block was added later: the signature tells where it is.
        let mut rest = self.cursor(start, 6 * u64::from(offset_size))?;
        rest.skip(5 * usize::from(offset_size))?;
        self.root = rest.defined("the root group")?;
        Ok(())
    }

    fn read_superblock(&mut self) -> Result<(), Damage> {
        let mut prefix = self.cursor(9, 3)?;
        let (offset_size, length_size) = (prefix.u8()?, prefix.u8()?);
        self.set_sizes(offset_size, length_size)?;
        let mut rest = self.cursor(12, 4 * u64::from(offset_size))?;
        rest.skip(3 * usize::from(offset_size))?;
        self.root = rest.defined("the root group")?;
        Ok(())
    }

    fn set_sizes(&mut self, offset_size: u8, length_size: u8) -> Result<(), Damage> {
        let known = |size: u8| matches!(size, 2 | 4 | 8);
        if !known(offset_size) || !known(length_size) {
            let what = format!("addresses of {offset_size} bytes and lengths of {length_size} are not known");
            return Err(self.source.damage(self.base, what));
        }
        (self.offset_size, self.length_size) = (offset_size, length_size);
        Ok(())
    }

    /// The root group.
    pub fn root(&self) -> Result<Object, Damage> {
        self.object(self.root)
    }

    /// The object that a path of names leads to.
    #[cfg(test)]
    pub fn at(&self, path: &str) -> Result<Option<Object>, Damage> {
        let mut object = self.root()?;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            let links = self.links(&object)?;
            let target = links.into_iter().find(|link| link.name == name.as_bytes()).map(|link| link.target);
            let Some(Target::Object(address)) = target else { return Ok(None) };
            object = self.object(address)?;
        }
        Ok(Some(object))
    }

    /// All datasets, and damage to groups on the way. A group that is linked twice is entered once.
    pub fn datasets(&self, damage: &mut Vec<Damage>) -> Result<Vec<Found>, Damage> {
        let mut found = Vec::new();
        let mut entered: UntrustedSet<u64> = UntrustedSet::default();
        let mut waiting = vec![(String::new(), self.root, self.root)];
        while let Some((path, group, address)) = waiting.pop() {
            let object = match self.object(address) {
                Ok(object) => object,
                Err(lost) if path.is_empty() => return Err(lost),
                Err(lost) => {
                    damage.push(lost.of(&path));
                    continue;
                }
            };
            if object.is_dataset() {
                let dataset = self.dataset(&object);
                found.push(Found { path, group, object, dataset });
                continue;
            }
            if !entered.insert(address) {
                continue;
            }
            let mut links = match self.links(&object) {
                Ok(links) => links,
                Err(lost) => {
                    damage.push(if path.is_empty() { lost } else { lost.of(&path) });
                    continue;
                }
            };
            links.reverse();
            for link in links {
                let Target::Object(member) = link.target else { continue };
                budget::work(1 + path.len() as u64 / BYTES_PER_WORK);
                let name = super::read::name_text(&link.name);
                let path = if path.is_empty() { name } else { format!("{path}/{name}") };
                waiting.push((path, address, member));
            }
        }
        Ok(found)
    }

    /// The bytes at an address.
    fn cursor(&self, address: u64, length: u64) -> Result<Cursor<'_>, Damage> {
        let mut bytes = Vec::new();
        let offset = self.read_to(address, length, &mut bytes)?;
        Ok(Cursor::new(self, bytes, offset))
    }

    /// Reads the bytes at an address; returns their offset in the file.
    fn read_to(&self, address: u64, length: u64, bytes: &mut Vec<u8>) -> Result<u64, Damage> {
        budget::work(1 + length / BYTES_PER_WORK);
        let offset = self.base.checked_add(address).ok_or_else(|| {
            self.source.damage(self.base, format!("the address {address} lies outside of the file; is it truncated?"))
        })?;
        self.source.read_to(offset, length, bytes)?;
        Ok(offset)
    }

    /// The bytes from an address that fit: at most `most`.
    fn cursor_up_to(&self, address: u64, most: u64) -> Result<Cursor<'_>, Damage> {
        let offset = self.base.saturating_add(address);
        self.cursor(address, most.min(self.source.len().saturating_sub(offset)).max(1))
    }
}
