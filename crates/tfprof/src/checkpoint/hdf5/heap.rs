//! Heaps: names of old groups (local), text of variable length (global), and the links and attributes of new groups
//! (fractal: blocks that double in size, found through tables of addresses).

use super::btree::BTree;
use super::cursor::size_of_limit;
use super::{Cursor, Hdf5};
use crate::checkpoint::Damage;
use crate::hash::UntrustedMap;

/// The names of an old group.
#[derive(Debug)]
pub struct LocalHeap {
    bytes: Vec<u8>,
}

impl LocalHeap {
    pub fn open(file: &Hdf5, address: u64) -> Result<LocalHeap, Damage> {
        let mut head = file.cursor_up_to(address, 40)?;
        head.signature(*b"HEAP")?;
        head.skip(4)?;
        let size = head.length()?;
        head.length()?;
        let data = head.defined("the names of a group")?;
        Ok(LocalHeap { bytes: file.cursor(data, size)?.bytes })
    }

    /// The name at an offset; `at` is where it was named.
    pub fn text(&self, at: &Cursor<'_>, offset: u64) -> Result<Vec<u8>, Damage> {
        let rest = usize::try_from(offset).ok().and_then(|offset| self.bytes.get(offset..));
        let name = rest.and_then(|rest| rest.split(|byte| *byte == 0).next());
        name.map(<[u8]>::to_vec)
            .ok_or_else(|| at.fault("a name lies outside of its heap; is the file damaged?".to_owned()))
    }
}

/// Collections of texts of variable length, each read once.
#[derive(Debug)]
pub struct GlobalHeap<'f> {
    file: &'f Hdf5,
    collections: UntrustedMap<u64, Collection>,
}

#[derive(Debug)]
struct Collection {
    bytes: Vec<u8>,
    /// Where objects are, by number.
    objects: UntrustedMap<u16, std::ops::Range<usize>>,
}

impl<'f> GlobalHeap<'f> {
    pub fn new(file: &'f Hdf5) -> GlobalHeap<'f> {
        GlobalHeap { file, collections: UntrustedMap::default() }
    }

    /// The text that an element of variable length refers to.
    pub fn text(&mut self, element: &mut Cursor<'_>) -> Result<&[u8], Damage> {
        let length = element.u32()? as usize;
        let address = element.address()?;
        let number = element.u32()?;
        let Some(address) = address.filter(|address| *address != 0 && length > 0) else { return Ok(&[]) };
        if !self.collections.contains_key(&address) {
            let collection = self.open(address)?;
            self.collections.insert(address, collection);
        }
        let collection = &self.collections[&address];
        let range = u16::try_from(number).ok().and_then(|number| collection.objects.get(&number));
        let text = range.and_then(|range| collection.bytes[range.clone()].get(..length));
        text.ok_or_else(|| element.fault(format!("the text {number} is not in the heap at {address}")))
    }

    fn open(&self, address: u64) -> Result<Collection, Damage> {
        let mut head = self.file.cursor_up_to(address, 16)?;
        head.signature(*b"GCOL")?;
        head.skip(4)?;
        let size = head.length()?;
        let mut all = self.file.cursor(address, size)?;
        all.skip(head.at)?;
        let mut objects = UntrustedMap::default();
        while all.left() >= 8 + usize::from(self.file.length_size) {
            let number = all.u16()?;
            all.skip(6)?;
            let size = usize::try_from(all.length()?).unwrap_or(usize::MAX);
            // Free space ends a collection.
            if number == 0 {
                break;
            }
            let start = all.at;
            all.skip(size)?;
            objects.insert(number, start..start + size);
            let padding = (8 - size % 8) % 8;
            all.skip(padding.min(all.left()))?;
        }
        Ok(Collection { bytes: all.bytes, objects })
    }
}

/// The links or attributes of a new group.
#[derive(Debug)]
pub struct FractalHeap<'f> {
    file: &'f Hdf5,
    id_length: usize,
    /// The bytes of an offset within the heap, and of a length.
    offset_size: usize,
    length_size: usize,
    has_filters: bool,
    width: u64,
    start_size: u64,
    max_direct: u64,
    root: Option<u64>,
    /// The rows of the root table; without any, the root is a block of data.
    root_rows: u64,
    huge: Option<u64>,
}

impl<'f> FractalHeap<'f> {
    pub fn open(file: &'f Hdf5, address: u64) -> Result<FractalHeap<'f>, Damage> {
        let mut head = file.cursor_up_to(address, 200)?;
        head.signature(*b"FRHP")?;
        head.skip(1)?;
        let id_length = usize::from(head.u16()?);
        let has_filters = head.u16()? != 0;
        head.u8()?;
        let max_managed = u64::from(head.u32()?);
        head.length()?;
        let huge = head.address()?;
        head.length()?;
        head.address()?;
        for _ in 0..8 {
            head.length()?;
        }
        let width = u64::from(head.u16()?);
        let (start_size, max_direct) = (head.length()?, head.length()?);
        let max_bits = head.u16()?;
        head.u16()?;
        let root = head.address()?;
        let root_rows = u64::from(head.u16()?);
        if width == 0
            || !start_size.is_power_of_two()
            || !max_direct.is_power_of_two()
            || max_bits > 64
            || max_bits == 0
        {
            return Err(head.fault("the sizes of a heap make no sense; is the file damaged?".to_owned()));
        }
        Ok(FractalHeap {
            file,
            id_length,
            offset_size: usize::from(max_bits).div_ceil(8),
            length_size: (max_direct.ilog2() as usize).div_ceil(8).min(size_of_limit(max_managed)),
            has_filters,
            width,
            start_size,
            max_direct,
            root,
            root_rows,
            huge,
        })
    }

    /// The object of an id.
    pub fn object(&self, id: &[u8]) -> Result<Cursor<'f>, Damage> {
        let mut id = Cursor::new(self.file, id.to_vec(), 0);
        let head = id.u8()?;
        match head >> 4 & 3 {
            0 => {
                let (offset, length) = (id.number(self.offset_size)?, id.number(self.length_size)?);
                self.managed(offset, length)
            }
            1 => self.huge(&mut id),
            2 => {
                let length = if self.id_length > 17 {
                    usize::from(head & 0x0f) << 8 | usize::from(id.u8()?)
                } else {
                    usize::from(head & 0x0f)
                };
                let bytes = id.take(length + 1)?.to_vec();
                Ok(Cursor::new(self.file, bytes, 0))
            }
            _ => Err(id.fault("an object of a heap has an unknown kind".to_owned())),
        }
    }

    fn managed(&self, offset: u64, length: u64) -> Result<Cursor<'f>, Damage> {
        let wrong = |what: &str| self.file.source.damage(0, format!("{what}; is the file damaged?"));
        if self.has_filters {
            return Err(wrong("a heap is compressed, which tfprof does not read"));
        }
        let mut block = self.root.ok_or_else(|| wrong("a heap has no blocks"))?;
        let (mut rows, mut within) = (self.root_rows, offset);
        // Each table covers fewer bytes than the one above, so this ends.
        for _ in 0..64 {
            if rows == 0 {
                return self
                    .file
                    .cursor(block.checked_add(within).ok_or_else(|| wrong("an address is too large"))?, length);
            }
            let (row, column, start, size) =
                self.place(within).ok_or_else(|| wrong("an object lies outside of its heap"))?;
            if row >= rows {
                return Err(wrong("an object lies outside of its heap"));
            }
            let entry = (row * self.width + column).saturating_mul(u64::from(self.file.offset_size));
            let head = 5 + u64::from(self.file.offset_size) + self.offset_size as u64;
            let mut table = self.file.cursor(block, 4)?;
            table.signature(*b"FHIB")?;
            let at = block.saturating_add(head).saturating_add(entry);
            block = self.file.cursor(at, u64::from(self.file.offset_size))?.defined("a block of a heap")?;
            within -= start;
            rows = if size <= self.max_direct {
                0
            } else {
                u64::from(size.ilog2()) + 1
                    - u64::from(self.start_size.saturating_mul(self.width).ilog2()).min(u64::from(size.ilog2()))
            };
        }
        Err(wrong("the tables of a heap form a loop"))
    }

    /// The row and column of the block that holds an offset, where it starts, and its size.
    fn place(&self, offset: u64) -> Option<(u64, u64, u64, u64)> {
        let (mut start, mut size, mut row) = (0_u64, self.start_size, 0_u64);
        loop {
            let end = start.checked_add(size.checked_mul(self.width)?)?;
            if offset < end {
                let column = (offset - start) / size;
                return Some((row, column, start + column * size, size));
            }
            start = end;
            row += 1;
            // The first two rows have blocks of the same size.
            if row > 1 {
                size = size.checked_mul(2)?;
            }
        }
    }

    /// An object of its own, outside of all blocks. Its address is in the id, or in a tree by number.
    fn huge(&self, id: &mut Cursor<'f>) -> Result<Cursor<'f>, Damage> {
        let (offset_size, length_size) = (usize::from(self.file.offset_size), usize::from(self.file.length_size));
        if self.has_filters {
            return Err(id.fault("a heap is compressed, which tfprof does not read".to_owned()));
        }
        if self.id_length > offset_size + length_size {
            let (address, length) = (id.defined("a large object")?, id.length()?);
            return self.file.cursor(address, length);
        }
        let number = id.number(self.id_length.saturating_sub(1).min(8))?;
        let missing = || self.file.source.damage(0, format!("the large object {number} is not in its heap"));
        let tree = BTree::open(self.file, self.huge.ok_or_else(missing)?)?;
        let mut found = None;
        tree.each(|_, record| {
            let mut record = Cursor::new(self.file, record.to_vec(), 0);
            let (address, length) = (record.defined("a large object")?, record.length()?);
            if record.length()? == number {
                found = Some((address, length));
            }
            Ok(())
        })?;
        let (address, length) = found.ok_or_else(missing)?;
        self.file.cursor(address, length)
    }
}
