//! Sorted tables, the files of which checkpoints are made: blocks of keys and values, and an index of the blocks.
//!
//! Knows nothing of tensors. A block that is damaged costs no more than itself: a single flipped bit is found by the
//! checksum and put right, what follows other damage is picked up at the next restart point, and a table without its
//! index is read from the start, block by block, by the checksums alone.

use super::Damage;
use super::crc::{self, Flip};
use super::stored::Stored;
use std::ops::Range;

/// A table, opened: its index is in memory, its blocks are not.
#[derive(Debug)]
pub struct Table {
    pub file: Stored,
    blocks: Vec<BlockRef>,
    /// The index of blocks about the table itself.
    about: Option<Handle>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Handle {
    offset: u64,
    size: u64,
}

#[derive(Debug)]
struct BlockRef {
    /// No key of the block is greater.
    last_key: Vec<u8>,
    handle: Handle,
    /// The file ends within it, so it has neither an end nor a checksum.
    cut: bool,
}

/// A block in memory, unpacked.
#[derive(Debug)]
pub struct Block {
    pub bytes: Vec<u8>,
    /// Where the block begins in the file.
    offset: u64,
    packed: bool,
    /// Where the restart points are listed; entries end there.
    restarts: usize,
    /// The checksum was wrong, and no single bit explains it.
    pub doubtful: bool,
    /// What was found wrong, even if it could be put right.
    pub damage: Option<Damage>,
}

const FOOTER: u64 = 48;
/// Type and checksum, behind each block.
const TRAILER: u64 = 5;
const MAGIC: [u8; 8] = [0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb];
/// A table that has lost its index is searched for blocks up to this size.
const RECOVERED: u64 = 256 << 20;

impl Table {
    /// Whether a file ends as a table does.
    pub fn is_table(file: &Stored) -> bool {
        file.len() >= FOOTER && file.read(file.len() - 8, 8).is_ok_and(|magic| magic == MAGIC)
    }

    /// Reads the index of blocks. Damage that leaves something to read goes to `damage`.
    pub fn open(file: Stored, damage: &mut Vec<Damage>) -> Result<Table, Damage> {
        let lost = match Table::footer(&file).and_then(|footer| Table::index(&file, footer, damage)) {
            Ok((blocks, about)) => return Ok(Table { file, blocks, about: Some(about) }),
            Err(lost) => lost,
        };
        let blocks = Table::recover(&file);
        if blocks.is_empty() {
            return Err(lost);
        }
        let whole = blocks.iter().filter(|block| !block.cut).count();
        let what = format!("{}; without the index, {whole} blocks were found whole", lost.what);
        damage.push(Damage { what, ..lost });
        Ok(Table { file, blocks, about: None })
    }

    fn footer(file: &Stored) -> Result<[Handle; 2], Damage> {
        let Some(start) = file.len().checked_sub(FOOTER) else {
            return Err(file.damage(0, format!("a table has at least {FOOTER} bytes, this file has {}", file.len())));
        };
        let footer = file.read(start, FOOTER)?;
        if footer[40..] != MAGIC {
            let what = "this is not the end of a table; is the file truncated, or no checkpoint?";
            return Err(file.damage(start + 40, what.to_owned()));
        }
        let mut at = 0;
        let mut handle = || Some(Handle { offset: varint(&footer, &mut at)?, size: varint(&footer, &mut at)? });
        match (handle(), handle()) {
            (Some(about), Some(index)) => Ok([about, index]),
            _ => Err(file.damage(start, "the footer does not say where the index is".to_owned())),
        }
    }

    fn index(
        file: &Stored,
        [about, index]: [Handle; 2],
        damage: &mut Vec<Damage>,
    ) -> Result<(Vec<BlockRef>, Handle), Damage> {
        let block = read_block(file, index)?;
        if block.doubtful {
            return Err(block.damage.unwrap_or_else(|| file.damage(index.offset, "the index is damaged".to_owned())));
        }
        damage.extend(block.damage.clone());
        let mut blocks = Vec::new();
        let mut entries = block.entries();
        while let Some(entry) = entries.next_entry() {
            let value = entry.map_err(|(at, what)| file.damage(at, what))?;
            let mut at = value.start;
            let (offset, size) =
                (varint(&block.bytes[..value.end], &mut at), varint(&block.bytes[..value.end], &mut at));
            let (Some(offset), Some(size)) = (offset, size) else {
                return Err(file.damage(entries.offset(), "the index does not say where a block is".to_owned()));
            };
            blocks.push(BlockRef { last_key: entries.key().to_vec(), handle: Handle { offset, size }, cut: false });
        }
        Ok((blocks, about))
    }

    /// Blocks from the start of the file, as long as checksums tell where they end.
    fn recover(file: &Stored) -> Vec<BlockRef> {
        let Ok(bytes) = file.read(0, file.len().min(RECOVERED)) else { return Vec::new() };
        let mut blocks: Vec<BlockRef> = Vec::new();
        let mut start = 0;
        while let Some(size) = block_size(&bytes[start..]) {
            let handle = Handle { offset: start as u64, size: size as u64 };
            start += size + TRAILER as usize;
            let Ok(block) = read_block(file, handle) else { continue };
            let mut entries = block.entries();
            while let Some(Ok(_)) = entries.next_entry() {}
            let last_key = entries.key().to_vec();
            // The blocks of the index come last, and repeat keys that were there.
            if blocks.last().is_some_and(|last| last.last_key >= last_key) {
                return blocks;
            }
            blocks.push(BlockRef { last_key, handle, cut: false });
        }
        let left = bytes.len() - start;
        if left > 0 && start as u64 + left as u64 == file.len() {
            let handle = Handle { offset: start as u64, size: left as u64 };
            blocks.push(BlockRef { last_key: vec![0xff; 64], handle, cut: true });
        }
        blocks
    }

    pub fn blocks(&self) -> Range<usize> {
        0..self.blocks.len()
    }

    pub fn block(&self, number: usize) -> Result<Block, Damage> {
        let BlockRef { handle, cut, .. } = &self.blocks[number];
        if !cut {
            return read_block(&self.file, *handle);
        }
        let bytes = self.file.read(handle.offset, handle.size)?;
        let damage = Some(self.file.damage(self.file.len(), "the file ends within a block".to_owned()));
        let restarts = bytes.len();
        Ok(Block { bytes, offset: handle.offset, packed: false, restarts, doubtful: true, damage })
    }

    /// The keys between which those of a block lie.
    pub fn keys_of(&self, number: usize) -> (&[u8], &[u8]) {
        let before = number.checked_sub(1).map_or(&b""[..], |before| &self.blocks[before].last_key);
        (before, &self.blocks[number].last_key)
    }

    /// The block that has a key if any has.
    pub fn block_of(&self, key: &[u8]) -> Option<usize> {
        let number = self.blocks.partition_point(|block| &block.last_key[..] < key);
        (number < self.blocks.len()).then_some(number)
    }

    /// What is wrong with the block about the table itself, which nothing else reads.
    pub fn check_about(&self) -> Option<Damage> {
        match read_block(&self.file, self.about?) {
            Ok(block) => block.damage,
            Err(damage) => Some(damage),
        }
    }
}

/// The size of the block at the start of `bytes`, told by its checksum.
fn block_size(bytes: &[u8]) -> Option<usize> {
    let mut crc = 0;
    for end in 0..bytes.len().checked_sub(4)? {
        crc = crc32c::crc32c_append(crc, &bytes[end..=end]);
        // The type of a block is 0 or 1; no block is smaller than its list of restarts.
        if bytes[end] <= 1 && end >= 4 && crc::masked(crc).to_le_bytes() == bytes[end + 1..end + 5] {
            return Some(end);
        }
    }
    None
}

fn read_block(file: &Stored, handle: Handle) -> Result<Block, Damage> {
    let Handle { offset, size } = handle;
    let whole = size.checked_add(TRAILER).ok_or_else(|| file.damage(offset, format!("length {size} is impossible")))?;
    let mut bytes = file.read(offset, whole)?;
    let checksum = &bytes[size as usize + 1..];
    let stored = u32::from_le_bytes([checksum[0], checksum[1], checksum[2], checksum[3]]);
    bytes.truncate(size as usize + 1);
    let found = crc32c::crc32c(&bytes);
    let mut damage = None;
    let mut doubtful = false;
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
                doubtful = true;
                file.damage(offset, format!("the checksum of the block of {size} bytes is wrong"))
            }
        });
    }
    let packed = bytes.pop();
    let broken = |what: &str| damage.clone().unwrap_or_else(|| file.damage(offset, what.to_owned()));
    let (bytes, packed) = match packed {
        Some(0) => (bytes, false),
        Some(1) => (unpack(&bytes).ok_or_else(|| broken("the compressed block is damaged"))?, true),
        _ => return Err(broken("the block is compressed in a way that no checkpoint is")),
    };
    let restarts = restarts(&bytes).ok_or_else(|| broken("the block does not end in a list of restart points"))?;
    Ok(Block { bytes, offset, packed, restarts, doubtful, damage })
}

fn unpack(bytes: &[u8]) -> Option<Vec<u8>> {
    let length = snap::raw::decompress_len(bytes).ok()?;
    // Three bytes copy at most 64, so a greater claim is a lie.
    if length > bytes.len().saturating_mul(32) {
        return None;
    }
    let mut plain = vec![0; length];
    let written = snap::raw::Decoder::new().decompress(bytes, &mut plain).ok()?;
    (written == length).then_some(plain)
}

/// Where the list of restart points begins.
fn restarts(bytes: &[u8]) -> Option<usize> {
    let count = u32::from_le_bytes(*bytes.last_chunk()?) as usize;
    bytes.len().checked_sub(count.checked_add(1)?.checked_mul(4)?)
}

/// A number, and `at` moved behind it.
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
        Entries { block: self, at: 0, entry: 0, key: Vec::new() }
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

    /// Where a byte of the block lies in the file; in a packed block, where the block begins.
    pub fn place(&self, at: usize) -> u64 {
        self.offset + if self.packed { 0 } else { at as u64 }
    }

    /// Whether a place in the file is within a part of this block.
    pub fn covers(&self, part: &Range<usize>, place: u64) -> bool {
        self.packed || (self.place(part.start)..self.place(part.end)).contains(&place)
    }

    /// The restart point after a place within the block.
    fn next_restart(&self, at: usize) -> usize {
        let points = self.bytes[self.restarts..].chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]]));
        let points = points.take((self.bytes[self.restarts..].len() / 4).saturating_sub(1)).map(|point| point as usize);
        points.filter(|point| *point > at && *point < self.restarts).min().unwrap_or(self.restarts)
    }
}

/// The entries of a block. After an entry that makes no sense, goes on where one may begin anew.
#[derive(Debug)]
pub struct Entries<'b> {
    block: &'b Block,
    at: usize,
    entry: usize,
    key: Vec<u8>,
}

impl Entries<'_> {
    /// Where the value of the next entry is, or the place in the file and what is wrong there.
    pub fn next_entry(&mut self) -> Option<Result<Range<usize>, (u64, String)>> {
        if self.at >= self.block.restarts {
            return None;
        }
        self.entry = self.at;
        let value = self.entry();
        if value.is_none() {
            let place = self.offset();
            self.at = self.block.next_restart(self.entry);
            self.key.clear();
            return Some(Err((place, "an entry of the block has lengths that lie".to_owned())));
        }
        value.map(Ok)
    }

    fn entry(&mut self) -> Option<Range<usize>> {
        let bytes = &self.block.bytes[..self.block.restarts];
        let mut at = self.at;
        let mut length = || Some(usize::try_from(varint(bytes, &mut at)?).ok()).flatten();
        let (shared, own, value) = (length()?, length()?, length()?);
        let own = bytes.get(at..at.checked_add(own)?)?;
        let start = at + own.len();
        let end = start.checked_add(value).filter(|end| *end <= bytes.len())?;
        if shared > self.key.len() {
            return None;
        }
        self.key.truncate(shared);
        self.key.extend_from_slice(own);
        self.at = end;
        Some(start..end)
    }

    /// The key of the entry that was read last.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Where the entry that was read last begins, in the file.
    pub fn offset(&self) -> u64 {
        self.block.place(self.entry)
    }

    /// The bytes of the entry that was read last.
    pub fn span(&self) -> Range<usize> {
        self.entry..self.at
    }
}

#[cfg(test)]
#[path = "table_tests.rs"]
pub mod tests;
