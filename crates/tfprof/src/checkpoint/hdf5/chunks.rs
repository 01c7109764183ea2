//! Chunks: the indexes that find them, and their elements put together.

use super::btree::BTree;
use super::dataset::{Chunked, Dataset};
use super::{Cursor, Hdf5, filters};
use crate::budget;
use crate::checkpoint::Damage;
use crate::checkpoint::read::elements;
use crate::hash::UntrustedSet;

/// How chunks are found.
#[derive(Debug)]
pub enum Index {
    /// None was written.
    Empty,
    /// A B-tree of the first version.
    Tree(u64),
    /// There is one chunk; if it is filtered, its size and which filters were left out.
    Single {
        address: u64,
        stored: Option<(u64, u32)>,
    },
    /// All chunks follow each other.
    Implicit(u64),
    FixedArray {
        address: u64,
        filtered: bool,
    },
    ExtensibleArray {
        address: u64,
        filtered: bool,
    },
    NewTree {
        address: u64,
        filtered: bool,
    },
}

/// A stored chunk.
struct Chunk {
    /// Its first element in each dimension.
    start: Vec<u64>,
    address: u64,
    size: u64,
    /// A bit for each filter that was left out.
    mask: u32,
}

impl Hdf5 {
    /// The elements of a dataset in chunks, `size` bytes in all.
    pub(super) fn chunks(&self, dataset: &Dataset, chunked: &Chunked, size: u64) -> Result<Vec<u8>, Damage> {
        let rank = chunked.dims.len();
        let shape: Vec<u64> = dataset.shape.iter().take(rank).map(|dim| *dim as u64).collect();
        let wrong = |what: &str| self.source.damage(dataset.offset, what.to_owned());
        let count = dataset.shape.get(..rank).and_then(elements);
        if count.and_then(|count| count.checked_mul(chunked.element_size)) != Some(size) {
            return Err(wrong("the shape of its chunks does not fit its own; is the file damaged?"));
        }
        let chunk_size = chunked.dims.iter().fold(chunked.element_size, |product, dim| product.saturating_mul(*dim));
        let counts: Vec<u64> = shape.iter().zip(&chunked.dims).map(|(dim, chunk)| dim.div_ceil(*chunk)).collect();
        let mut all = dataset.filled(size);
        let walk = Walk { file: self, chunk_size, counts: &counts, dims: &chunked.dims, offset: dataset.offset };
        let mut bytes = Vec::new();
        walk.each(&chunked.index, &mut |chunk| {
            if chunk.start.iter().zip(&shape).any(|(start, dim)| start >= dim) {
                return Ok(());
            }
            budget::work(1 + chunk_size / super::BYTES_PER_WORK);
            budget::reserve(chunk_size);
            let offset = self.read_to(chunk.address, chunk.size, &mut bytes)?;
            let at_edge =
                chunk.start.iter().zip(&chunked.dims).zip(&shape).any(|((start, length), dim)| start + length > *dim);
            let plain = if at_edge && !chunked.filters_edges {
                std::mem::take(&mut bytes)
            } else {
                let bytes = std::mem::take(&mut bytes);
                filters::undo(self, &dataset.filters, chunk.mask, bytes, chunk_size, offset)?
            };
            if (plain.len() as u64) < chunk_size {
                return Err(self.source.damage(offset, format!("a chunk has {} of {chunk_size} bytes", plain.len())));
            }
            place(&plain, &chunk.start, chunked, &shape, &mut all);
            bytes = plain;
            Ok(())
        })?;
        Ok(all)
    }
}

/// Copies the elements of a chunk to their places, row by row. Elements past the edge are left out.
fn place(chunk: &[u8], start: &[u64], chunked: &Chunked, shape: &[u64], all: &mut [u8]) {
    let size = chunked.element_size;
    let Some((last, outer)) = start.split_last() else {
        all.copy_from_slice(&chunk[..all.len()]);
        return;
    };
    let rank = start.len();
    let extent = |dim: usize| chunked.dims[dim].min(shape[dim] - start[dim]);
    let row = extent(rank - 1) * size;
    let mut index = vec![0_u64; outer.len()];
    loop {
        let (mut from, mut to) = (0_u64, 0_u64);
        for dim in 0..outer.len() {
            from = from * chunked.dims[dim] + index[dim];
            to = to * shape[dim] + outer[dim] + index[dim];
        }
        let from = (from * chunked.dims[rank - 1] * size) as usize;
        let to = ((to * shape[rank - 1] + last) * size) as usize;
        all[to..to + row as usize].copy_from_slice(&chunk[from..from + row as usize]);
        let Some(dim) = (0..outer.len()).rev().find(|dim| index[*dim] + 1 < extent(*dim)) else { return };
        index[dim] += 1;
        index[dim + 1..].fill(0);
    }
}

/// A walk over the chunks of a dataset.
struct Walk<'w> {
    file: &'w Hdf5,
    chunk_size: u64,
    /// The number of chunks along each dimension.
    counts: &'w [u64],
    dims: &'w [u64],
    /// Where the dataset is described.
    offset: u64,
}

type Take<'t> = dyn FnMut(Chunk) -> Result<(), Damage> + 't;

impl Walk<'_> {
    fn each(&self, index: &Index, take: &mut Take<'_>) -> Result<(), Damage> {
        match *index {
            Index::Empty => Ok(()),
            Index::Tree(address) => self.tree(address, take),
            Index::Single { address, stored } => {
                let (size, mask) = stored.unwrap_or((self.chunk_size, 0));
                take(Chunk { start: vec![0; self.dims.len()], address, size, mask })
            }
            Index::Implicit(address) => {
                for number in 0..self.total()? {
                    let address = address.saturating_add(number.saturating_mul(self.chunk_size));
                    take(Chunk { start: self.start(number), address, size: self.chunk_size, mask: 0 })?;
                }
                Ok(())
            }
            Index::FixedArray { address, filtered } => self.fixed_array(address, filtered, take),
            Index::ExtensibleArray { address, filtered } => self.extensible_array(address, filtered, take),
            Index::NewTree { address, filtered } => self.new_tree(address, filtered, take),
        }
    }

    fn wrong(&self, what: &str) -> Damage {
        self.file.source.damage(self.offset, format!("{what}; is the file damaged?"))
    }

    fn total(&self) -> Result<u64, Damage> {
        let total = self.counts.iter().try_fold(1_u64, |product, count| product.checked_mul(*count));
        total.ok_or_else(|| self.wrong("it has too many chunks"))
    }

    /// The first element of a chunk by its number.
    fn start(&self, number: u64) -> Vec<u64> {
        let mut rest = number;
        let mut start = vec![0; self.dims.len()];
        for dim in (0..self.dims.len()).rev() {
            start[dim] = rest % self.counts[dim].max(1) * self.dims[dim];
            rest /= self.counts[dim].max(1);
        }
        start
    }

    fn tree(&self, root: u64, take: &mut Take<'_>) -> Result<(), Damage> {
        let rank = self.dims.len();
        let key = 8 + 8 * (rank as u64 + 1);
        let child_size = u64::from(self.file.offset_size);
        let mut waiting = vec![root];
        let mut seen: UntrustedSet<u64> = UntrustedSet::default();
        while let Some(address) = waiting.pop() {
            let mut node = self.file.cursor(address, 8)?;
            if !seen.insert(address) {
                return Err(node.fault("the index of its chunks forms a loop; is the file damaged?".to_owned()));
            }
            node.signature(*b"TREE")?;
            if node.u8()? != 1 {
                return Err(node.fault("expected the index of its chunks here; is the file damaged?".to_owned()));
            }
            let (level, count) = (node.u8()?, u64::from(node.u16()?));
            let mut entries =
                self.file.cursor(address.saturating_add(8 + 2 * child_size), count * (key + child_size))?;
            for _ in 0..count {
                let (size, mask) = (u64::from(entries.u32()?), entries.u32()?);
                let start = (0..rank).map(|_| entries.u64()).collect::<Result<Vec<_>, _>>()?;
                entries.skip(8)?;
                let child = entries.defined("a chunk")?;
                if level > 0 {
                    waiting.push(child);
                } else {
                    take(Chunk { start, address: child, size, mask })?;
                }
            }
        }
        Ok(())
    }

    fn new_tree(&self, address: u64, filtered: bool, take: &mut Take<'_>) -> Result<(), Damage> {
        let tree = BTree::open(self.file, address)?;
        tree.each(|_, record| {
            let mut record = Cursor::new(self.file, record.to_vec(), self.offset);
            let Some((address, size, mask)) = self.entry(&mut record, filtered)? else { return Ok(()) };
            let start = self.dims.iter().map(|dim| Ok(record.u64()?.saturating_mul(*dim)));
            take(Chunk { start: start.collect::<Result<_, Damage>>()?, address, size, mask })
        })
    }

    /// The address, size and left out filters of a chunk; `None` if it was not written.
    fn entry(&self, cursor: &mut Cursor<'_>, filtered: bool) -> Result<Option<(u64, u64, u32)>, Damage> {
        let address = cursor.address()?;
        let (size, mask) =
            if filtered { (cursor.number(self.size_of_size())?, cursor.u32()?) } else { (self.chunk_size, 0) };
        Ok(address.map(|address| (address, size, mask)))
    }

    /// The bytes of the size of a filtered chunk.
    fn size_of_size(&self) -> usize {
        (1 + (self.chunk_size.max(1).ilog2() as usize + 8) / 8).min(8)
    }

    fn entry_size(&self, filtered: bool) -> u64 {
        u64::from(self.file.offset_size) + if filtered { self.size_of_size() as u64 + 4 } else { 0 }
    }

    /// Takes `count` chunks in a row, of which the first has the number `first`.
    fn entries(&self, at: u64, first: u64, count: u64, filtered: bool, take: &mut Take<'_>) -> Result<(), Damage> {
        let total = self.total()?;
        let count = count.min(total.saturating_sub(first));
        let mut entries = self.file.cursor(at, count.saturating_mul(self.entry_size(filtered)))?;
        for number in first..first + count {
            if let Some((address, size, mask)) = self.entry(&mut entries, filtered)? {
                take(Chunk { start: self.start(number), address, size, mask })?;
            }
        }
        Ok(())
    }

    fn fixed_array(&self, address: u64, filtered: bool, take: &mut Take<'_>) -> Result<(), Damage> {
        let file = self.file;
        let mut head = file.cursor_up_to(address, 40)?;
        head.signature(*b"FAHD")?;
        head.skip(2)?;
        let entry_size = u64::from(head.u8()?);
        let page_bits = head.u8()?;
        let count = head.length()?;
        let Some(block) = head.address()? else { return Ok(()) };
        if entry_size != self.entry_size(filtered) || page_bits > 40 {
            return Err(head.fault("the index of its chunks makes no sense; is the file damaged?".to_owned()));
        }
        file.cursor(block, 4)?.signature(*b"FADB")?;
        let prefix = 6 + u64::from(file.offset_size);
        let page = 1_u64 << page_bits;
        if count <= page {
            return self.entries(block.saturating_add(prefix), 0, count, filtered, take);
        }
        let pages = count.div_ceil(page);
        let mut present = file.cursor(block.saturating_add(prefix), pages.div_ceil(8))?;
        let present = present.take(pages.div_ceil(8) as usize)?.to_vec();
        let first = block.saturating_add(prefix + pages.div_ceil(8) + 4);
        for number in 0..pages {
            // The highest bit comes first.
            if present[(number / 8) as usize] & 0x80 >> (number % 8) != 0 {
                let at = first.saturating_add(number.saturating_mul(page * entry_size + 4));
                self.entries(at, number * page, page.min(count - number * page), filtered, take)?;
            }
        }
        Ok(())
    }

    fn extensible_array(&self, address: u64, filtered: bool, take: &mut Take<'_>) -> Result<(), Damage> {
        let file = self.file;
        let mut head = file.cursor_up_to(address, 80)?;
        head.signature(*b"EAHD")?;
        head.skip(2)?;
        let entry_size = u64::from(head.u8()?);
        let max_bits = u32::from(head.u8()?);
        let in_index = u64::from(head.u8()?);
        let (min_entries, min_pointers) = (u64::from(head.u8()?), u64::from(head.u8()?));
        let page_bits = u32::from(head.u8()?);
        for _ in 0..6 {
            head.length()?;
        }
        let Some(index) = head.address()? else { return Ok(()) };
        let sane = entry_size == self.entry_size(filtered)
            && max_bits <= 64
            && page_bits <= 40
            && min_entries.is_power_of_two()
            && min_pointers.is_power_of_two()
            && min_entries.ilog2() <= max_bits;
        if !sane {
            return Err(head.fault("the index of its chunks makes no sense; is the file damaged?".to_owned()));
        }
        let array = Array { max_bits, min_entries, page: 1 << page_bits, filtered };
        file.cursor(index, 4)?.signature(*b"EAIB")?;
        let mut at = index.saturating_add(6 + u64::from(file.offset_size));
        self.entries(at, 0, in_index, filtered, take)?;
        at = at.saturating_add(in_index * entry_size);
        let (mut first, total) = (in_index, self.total()?);
        // The first blocks are named by the index itself, the others by blocks of blocks.
        let direct = 2 * u64::from(min_pointers.ilog2());
        let blocks = 1 + u64::from(max_bits - min_entries.ilog2());
        for level in 0..blocks {
            if first >= total {
                break;
            }
            let (count, entries) = array.level(level);
            if level < direct {
                for _ in 0..count {
                    let block = file.cursor(at, u64::from(file.offset_size))?.address()?;
                    at = at.saturating_add(u64::from(file.offset_size));
                    if let (Some(block), true) = (block, first < total) {
                        self.data_block(&array, block, first, entries, None, take)?;
                    }
                    first = first.saturating_add(entries);
                }
            } else {
                let block = file.cursor(at, u64::from(file.offset_size))?.address()?;
                at = at.saturating_add(u64::from(file.offset_size));
                if let Some(block) = block {
                    self.super_block(&array, block, first, (count, entries), take)?;
                }
                first = first.saturating_add(entries.saturating_mul(count));
            }
        }
        Ok(())
    }

    fn super_block(
        &self,
        array: &Array,
        address: u64,
        mut first: u64,
        (count, entries): (u64, u64),
        take: &mut Take<'_>,
    ) -> Result<(), Damage> {
        let file = self.file;
        file.cursor(address, 4)?.signature(*b"EASB")?;
        let pages = if entries > array.page { entries / array.page } else { 0 };
        let bitmap = pages.div_ceil(8);
        let mut at = address.saturating_add(6 + u64::from(file.offset_size) + array.offset_size());
        let present = file.cursor(at, bitmap.saturating_mul(count))?.bytes;
        at = at.saturating_add(present.len() as u64);
        for number in 0..count {
            if first >= self.total()? {
                break;
            }
            let block = file.cursor(at, u64::from(file.offset_size))?.address()?;
            at = at.saturating_add(u64::from(file.offset_size));
            let present = &present[(number * bitmap) as usize..((number + 1) * bitmap) as usize];
            if let Some(block) = block {
                self.data_block(array, block, first, entries, Some(present).filter(|_| pages > 0), take)?;
            }
            first = first.saturating_add(entries);
        }
        Ok(())
    }

    fn data_block(
        &self,
        array: &Array,
        address: u64,
        first: u64,
        entries: u64,
        present: Option<&[u8]>,
        take: &mut Take<'_>,
    ) -> Result<(), Damage> {
        let file = self.file;
        file.cursor(address, 4)?.signature(*b"EADB")?;
        let at = address.saturating_add(6 + u64::from(file.offset_size) + array.offset_size());
        if entries <= array.page {
            return self.entries(at, first, entries, array.filtered, take);
        }
        let page_size = array.page * self.entry_size(array.filtered) + 4;
        for number in 0..entries / array.page {
            let start = first.saturating_add(number * array.page);
            if start >= self.total()? {
                break;
            }
            let is_there = present.is_none_or(|bits| bits[(number / 8) as usize] & 0x80 >> (number % 8) != 0);
            if is_there {
                let at = at.saturating_add(4 + number.saturating_mul(page_size));
                self.entries(at, start, array.page, array.filtered, take)?;
            }
        }
        Ok(())
    }
}

/// The settings of an extensible array.
struct Array {
    max_bits: u32,
    min_entries: u64,
    /// Larger blocks are divided into pages of this many entries.
    page: u64,
    filtered: bool,
}

impl Array {
    /// The number of blocks of a level, and the entries of each.
    fn level(&self, level: u64) -> (u64, u64) {
        let power = |exponent: u64| 1_u64.checked_shl(exponent.min(63) as u32).unwrap_or(u64::MAX);
        (power(level / 2), power(level.div_ceil(2)).saturating_mul(self.min_entries))
    }

    fn offset_size(&self) -> u64 {
        u64::from(self.max_bits.div_ceil(8))
    }
}
