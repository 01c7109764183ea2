//! Sorted string tables (`LevelDB`'s format), which checkpoints are made of: blocks of keys and values, and an index of
//! the blocks.
//!
//! Recovers from damage. The checksum locates a single flipped bit, which is corrected. After other damage, a block is
//! read on from the next restart point. A table without its index is read from the start, block by block: the checksums
//! tell where blocks end.

use super::byte_source::ByteSource;
use super::crc::{self, Flip};
use crate::checkpoint::Damage;
use std::ops::Range;

/// An open table: the index is in memory, the blocks are not.
#[derive(Debug)]
pub struct Table {
    pub file: ByteSource,
    blocks: Vec<BlockRef>,
    /// `LevelDB`'s index of blocks with metadata, which checkpoints leave empty. Lost if the table was recovered.
    metaindex: Option<Handle>,
}

/// Where a block is in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Handle {
    offset: u64,
    size: u64,
}

struct Footer {
    metaindex: Handle,
    index: Handle,
}

#[derive(Debug)]
struct BlockRef {
    /// An upper bound of the keys of the block.
    last_key: Vec<u8>,
    handle: Handle,
    /// The file ends within the block, before its checksum.
    truncated: bool,
}

/// A decompressed block.
#[derive(Debug)]
pub struct Block {
    pub bytes: Vec<u8>,
    /// The offset of the block in the file.
    offset: u64,
    compressed: bool,
    /// Where the list of restart points starts, which is where the entries end.
    restarts: usize,
    /// The checksum is wrong, and no single flipped bit explains it.
    pub unreliable: bool,
    /// Damage to the block, corrected or not.
    pub damage: Option<Damage>,
}

const FOOTER_SIZE: u64 = 48;
/// Compression type and checksum, after each block.
const TRAILER_SIZE: u64 = 5;
const MAGIC: [u8; 8] = [0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb];
/// The bytes to search for blocks in a table without an index.
const RECOVERY_LIMIT: u64 = 256 << 20;

impl Table {
    /// Whether a file ends like a table.
    pub fn is_table(file: &ByteSource) -> bool {
        file.len() >= FOOTER_SIZE && file.read(file.len() - 8, 8).is_ok_and(|magic| magic == MAGIC)
    }

    /// Reads the index of blocks. Recoverable damage goes to `damage`.
    pub fn open(file: ByteSource, damage: &mut Vec<Damage>) -> Result<Table, Damage> {
        let lost = match Table::footer(&file).and_then(|footer| Table::index(&file, &footer, damage)) {
            Ok((blocks, metaindex)) => return Ok(Table { file, blocks, metaindex: Some(metaindex) }),
            Err(lost) => lost,
        };
        let blocks = Table::recover(&file);
        if blocks.is_empty() {
            return Err(lost);
        }
        let whole = blocks.iter().filter(|block| !block.truncated).count();
        let what = format!("{}; without the index, {whole} blocks were found whole", lost.what);
        damage.push(Damage { what, ..lost });
        Ok(Table { file, blocks, metaindex: None })
    }

    fn footer(file: &ByteSource) -> Result<Footer, Damage> {
        if file.is_empty() {
            return Err(file.damage(0, "the file is empty; was it written completely?".to_owned()));
        }
        let Some(start) = file.len().checked_sub(FOOTER_SIZE) else {
            return Err(
                file.damage(0, format!("a table has at least {FOOTER_SIZE} bytes, this file has {}", file.len()))
            );
        };
        let footer = file.read(start, FOOTER_SIZE)?;
        if footer[40..] != MAGIC {
            let what = "this is not the end of a table; is the file truncated, or no checkpoint?";
            return Err(file.damage(start + 40, what.to_owned()));
        }
        let mut at = 0;
        let mut handle = || Some(Handle { offset: varint(&footer, &mut at)?, size: varint(&footer, &mut at)? });
        match (handle(), handle()) {
            (Some(metaindex), Some(index)) => Ok(Footer { metaindex, index }),
            _ => Err(file.damage(start, "the footer does not say where the index is".to_owned())),
        }
    }

    fn index(file: &ByteSource, footer: &Footer, damage: &mut Vec<Damage>) -> Result<(Vec<BlockRef>, Handle), Damage> {
        let block = read_block(file, footer.index)?;
        if block.unreliable {
            return Err(block
                .damage
                .unwrap_or_else(|| file.damage(footer.index.offset, "the index is damaged".to_owned())));
        }
        damage.extend(block.damage.clone());
        let mut blocks: Vec<BlockRef> = Vec::new();
        let mut entries = block.entries();
        // Blocks follow each other. If they overlapped, a small file could repeat its bytes any number of times.
        let mut end = 0;
        while let Some(entry) = entries.next_entry() {
            let value = entry.map_err(|error| file.damage(error.offset, error.message))?;
            let mut at = value.start;
            let (offset, size) =
                (varint(&block.bytes[..value.end], &mut at), varint(&block.bytes[..value.end], &mut at));
            let (Some(offset), Some(size)) = (offset, size) else {
                return Err(file.damage(entries.offset(), "the index does not say where a block is".to_owned()));
            };
            if offset < end {
                return Err(file.damage(entries.offset(), "the blocks in the index overlap".to_owned()));
            }
            end = offset.saturating_add(size);
            blocks.push(BlockRef {
                last_key: entries.key().to_vec(),
                handle: Handle { offset, size },
                truncated: false,
            });
        }
        Ok((blocks, footer.metaindex))
    }

    /// Finds blocks from the start of the file, as long as checksums tell where they end.
    fn recover(file: &ByteSource) -> Vec<BlockRef> {
        let Ok(bytes) = file.read(0, file.len().min(RECOVERY_LIMIT)) else { return Vec::new() };
        let mut blocks: Vec<BlockRef> = Vec::new();
        let mut start = 0;
        while let Some(size) = block_size(&bytes[start..]) {
            let handle = Handle { offset: start as u64, size: size as u64 };
            start += size + TRAILER_SIZE as usize;
            let Ok(block) = read_block(file, handle) else { continue };
            let mut entries = block.entries();
            while let Some(Ok(_)) = entries.next_entry() {}
            let last_key = entries.key().to_vec();
            // The index comes last and repeats earlier keys.
            if blocks.last().is_some_and(|last| last.last_key >= last_key) {
                return blocks;
            }
            blocks.push(BlockRef { last_key, handle, truncated: false });
        }
        let left = bytes.len() - start;
        if left > 0 && start as u64 + left as u64 == file.len() {
            let handle = Handle { offset: start as u64, size: left as u64 };
            blocks.push(BlockRef { last_key: vec![0xff; 64], handle, truncated: true });
        }
        blocks
    }

    pub fn blocks(&self) -> Range<usize> {
        0..self.blocks.len()
    }

    pub fn block(&self, number: usize) -> Result<Block, Damage> {
        let BlockRef { handle, truncated, .. } = &self.blocks[number];
        if !truncated {
            return read_block(&self.file, *handle);
        }
        let bytes = self.file.read(handle.offset, handle.size)?;
        let damage = Some(self.file.damage(self.file.len(), "the file ends within a block".to_owned()));
        let restarts = bytes.len();
        Ok(Block { bytes, offset: handle.offset, compressed: false, restarts, unreliable: true, damage })
    }

    /// An exclusive lower and an inclusive upper bound of the keys of a block.
    pub fn key_bounds(&self, number: usize) -> (&[u8], &[u8]) {
        let before = number.checked_sub(1).map_or(&b""[..], |before| &self.blocks[before].last_key);
        (before, &self.blocks[number].last_key)
    }

    /// The only block that can hold a key.
    pub fn block_of(&self, key: &[u8]) -> Option<usize> {
        let number = self.blocks.partition_point(|block| &block.last_key[..] < key);
        (number < self.blocks.len()).then_some(number)
    }

    /// Damage to the metaindex, which nothing else reads.
    pub fn check_metaindex(&self) -> Option<Damage> {
        match read_block(&self.file, self.metaindex?) {
            Ok(block) => block.damage,
            Err(damage) => Some(damage),
        }
    }
}

/// The size of the block at the start of `bytes`, found by its checksum.
fn block_size(bytes: &[u8]) -> Option<usize> {
    let mut crc = 0;
    for end in 0..bytes.len().checked_sub(4)? {
        crc = crc32c::crc32c_append(crc, &bytes[end..=end]);
        // The compression type is 0 or 1, and no block is smaller than its list of restart points.
        if bytes[end] <= 1 && end >= 4 && crc::masked(crc).to_le_bytes() == bytes[end + 1..end + 5] {
            return Some(end);
        }
    }
    None
}

fn read_block(file: &ByteSource, handle: Handle) -> Result<Block, Damage> {
    let Handle { offset, size } = handle;
    let whole =
        size.checked_add(TRAILER_SIZE).ok_or_else(|| file.damage(offset, format!("length {size} is impossible")))?;
    let mut bytes = file.read(offset, whole)?;
    let checksum = &bytes[size as usize + 1..];
    let stored = u32::from_le_bytes([checksum[0], checksum[1], checksum[2], checksum[3]]);
    bytes.truncate(size as usize + 1);
    let found = crc32c::crc32c(&bytes);
    let mut damage = None;
    let mut unreliable = false;
    if crc::masked(found) != stored {
        damage = Some(match crc::flipped_bit(bytes.len() as u64, found, stored) {
            Some(Flip::Data { byte, bit }) => {
                bytes[byte as usize] ^= 1 << bit;
                file.damage(offset + byte, format!("bit {bit} is flipped, as the checksum tells; it was put right"))
            }
            Some(Flip::Checksum) => {
                file.damage(offset + size + 1, "the checksum of a block is itself damaged".to_owned())
            }
            None => {
                unreliable = true;
                file.damage(offset, format!("the checksum of the block of {size} bytes is wrong"))
            }
        });
    }
    let compression = bytes.pop();
    let broken = |what: &str| damage.clone().unwrap_or_else(|| file.damage(offset, what.to_owned()));
    let (bytes, compressed) = match compression {
        Some(0) => (bytes, false),
        Some(1) => (decompress(&bytes).ok_or_else(|| broken("the compressed block is damaged"))?, true),
        _ => return Err(broken("the block is compressed in a way that no checkpoint is")),
    };
    let restarts = restarts(&bytes).ok_or_else(|| broken("the block does not end in a list of restart points"))?;
    Ok(Block { bytes, offset, compressed, restarts, unreliable, damage })
}

fn decompress(bytes: &[u8]) -> Option<Vec<u8>> {
    let length = snap::raw::decompress_len(bytes).ok()?;
    // Snappy expands three bytes to 64 at most.
    if length > bytes.len().saturating_mul(32) {
        return None;
    }
    let mut plain = vec![0; length];
    let written = snap::raw::Decoder::new().decompress(bytes, &mut plain).ok()?;
    (written == length).then_some(plain)
}

/// Where the list of restart points starts.
fn restarts(bytes: &[u8]) -> Option<usize> {
    let count = u32::from_le_bytes(*bytes.last_chunk()?) as usize;
    bytes.len().checked_sub(count.checked_add(1)?.checked_mul(4)?)
}

/// Reads a varint and advances `at` past it.
pub fn varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut n = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        n |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(n);
        }
    }
    None
}

impl Block {
    pub fn entries(&self) -> Entries<'_> {
        Entries { block: self, at: 0, entry: 0, key: Vec::new(), restarts: None }
    }

    /// The value of a key.
    pub fn find(&self, key: &[u8]) -> Option<Range<usize>> {
        let mut entries = self.entries();
        while let Some(entry) = entries.next_entry() {
            if let Ok(value) = entry
                && entries.key() == key
            {
                return Some(value);
            }
        }
        None
    }

    /// The file offset of a byte of the block; of the whole block if it is compressed.
    pub fn file_offset(&self, at: usize) -> u64 {
        self.offset + if self.compressed { 0 } else { at as u64 }
    }

    /// Whether a file offset may lie within a part of this block.
    pub fn covers(&self, part: &Range<usize>, offset: u64) -> bool {
        self.compressed || (self.file_offset(part.start)..self.file_offset(part.end)).contains(&offset)
    }

    /// The restart points, in order.
    fn restart_points(&self) -> Vec<usize> {
        let list = &self.bytes[self.restarts..];
        let points = list.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]]) as usize);
        let mut points: Vec<usize> = points.take((list.len() / 4).saturating_sub(1)).collect();
        points.sort_unstable();
        points
    }
}

/// An entry with impossible lengths.
#[derive(Debug)]
pub struct EntryError {
    /// In the file.
    pub offset: u64,
    pub message: String,
}

/// Iterates over the entries of a block. After an invalid entry, continues at the next restart point.
#[derive(Debug)]
pub struct Entries<'b> {
    block: &'b Block,
    at: usize,
    entry: usize,
    key: Vec<u8>,
    /// The restart points, once an entry was invalid.
    restarts: Option<Vec<usize>>,
}

impl Entries<'_> {
    /// The range of the next entry's value within the block.
    pub fn next_entry(&mut self) -> Option<Result<Range<usize>, EntryError>> {
        if self.at >= self.block.restarts {
            return None;
        }
        self.entry = self.at;
        let value = self.entry();
        if value.is_none() {
            let error =
                EntryError { offset: self.offset(), message: "an entry of the block has lengths that lie".to_owned() };
            let points = self.restarts.get_or_insert_with(|| self.block.restart_points());
            let next = points.get(points.partition_point(|point| *point <= self.entry)).copied();
            self.at = next.map_or(self.block.restarts, |next| next.min(self.block.restarts));
            self.key.clear();
            return Some(Err(error));
        }
        value.map(Ok)
    }

    fn entry(&mut self) -> Option<Range<usize>> {
        let bytes = &self.block.bytes[..self.block.restarts];
        let mut at = self.at;
        let mut length = || Some(usize::try_from(varint(bytes, &mut at)?).ok()).flatten();
        let (shared, suffix, value) = (length()?, length()?, length()?);
        let suffix = bytes.get(at..at.checked_add(suffix)?)?;
        let start = at + suffix.len();
        let end = start.checked_add(value).filter(|end| *end <= bytes.len())?;
        if shared > self.key.len() {
            return None;
        }
        self.key.truncate(shared);
        self.key.extend_from_slice(suffix);
        self.at = end;
        Some(start..end)
    }

    /// The key of the current entry.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// The file offset of the current entry.
    pub fn offset(&self) -> u64 {
        self.block.file_offset(self.entry)
    }

    /// The range of the current entry within the block.
    pub fn span(&self) -> Range<usize> {
        self.entry..self.at
    }
}

#[cfg(test)]
#[path = "table_tests.rs"]
pub mod tests;
