//! Today's format, the bundle (V2): an index, which is a table from keys to types, shapes and locations, next to data files.

use super::byte_source::ByteSource;
use super::catalog::{Contents, Shard, Store, Tensor, name_text};
use super::layout::{self, Extent, FileRange, Piece, PieceLocation, slice_text};
use super::slice_key::slice_key;
use super::table::{Block, EntryError, Table};
use crate::budget;
use crate::checkpoint::{Damage, locate};
use crate::error::Error;
use crate::foreign;
use crate::hash::UntrustedMap;
use crate::model::dtype::DType;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use tfprof_proto::fields::{bundle_entry, bundle_header};
use tfprof_proto::wire::{Fields, Value, WireError};

/// Lists the tensors of an index. `prefix` is the common prefix of the data files.
pub fn list(index: ByteSource, prefix: &Path, damage: &mut Vec<Damage>) -> Result<Contents, Error> {
    let index = Table::open(index, damage)?;
    let mut reader = IndexReader { header: None, entries: Vec::new() };
    for number in index.blocks() {
        reader.read_block(&index, number, damage);
    }
    let IndexReader { header, mut entries } = reader;
    // The keys of an intact table are sorted already.
    entries.sort_by(|a, b| a.key.cmp(&b.key));
    let file = &index.file.name;
    let header = header.unwrap_or_else(|| {
        let what = "the header is missing; the number of shards is guessed".to_owned();
        damage.push(Damage { file: file.clone(), offset: None, tensor: None, what, absent: false });
        let shards = entries.iter().map(|entry| entry.shard.saturating_add(1)).max().unwrap_or(1);
        Header { shards: guess_shards(prefix).unwrap_or(shards), big_endian: false }
    });
    let shards = find_shards(prefix, header, &entries, damage);
    let slice_entries: UntrustedMap<&[u8], usize> = entries
        .iter()
        .enumerate()
        .filter(|(_, entry)| entry.key.first() == Some(&0))
        .map(|(i, e)| (&e.key[..], i))
        .collect();
    let mut is_slice = vec![false; entries.len()];
    for entry in entries.iter().filter(|entry| !entry.slices.is_empty()) {
        for slice in &entry.slices {
            if let Some(number) = slice_entries.get(&slice_key(&entry.key, slice)[..]) {
                is_slice[*number] = true;
            }
        }
    }
    let tensors = Vec::with_capacity(entries.len());
    let pieces = Vec::with_capacity(entries.len());
    let mut lister = Lister {
        file,
        entries: &entries,
        slice_entries,
        shards: &shards,
        big_endian: header.big_endian,
        tensors,
        pieces,
        damage,
    };
    for (entry, _) in entries.iter().zip(&is_slice).filter(|(_, is_slice)| !**is_slice) {
        lister.add(entry);
    }
    let Lister { tensors, pieces, .. } = lister;
    Ok(Contents { tensors, pieces, store: Store::Bundle { index, shards } })
}

#[derive(Clone, Copy, Debug)]
struct Header {
    shards: u32,
    big_endian: bool,
}

/// A `BundleEntryProto`, with its key.
#[derive(Debug)]
struct Entry {
    key: Vec<u8>,
    dtype: DType,
    shape: Option<Vec<i64>>,
    shard: u32,
    offset: u64,
    size: u64,
    checksum: u32,
    slices: Vec<Vec<Extent>>,
    /// The offset of the entry in the index.
    index_offset: u64,
}

struct IndexReader {
    header: Option<Header>,
    entries: Vec<Entry>,
}

impl IndexReader {
    fn read_block(&mut self, index: &Table, number: usize, damage: &mut Vec<Damage>) {
        let block = match index.block(number) {
            Ok(block) => block,
            Err(lost) => {
                let (from, to) = index.key_bounds(number);
                let between = format!("after `{}`, up to `{}`", name_text(from), name_text(to));
                damage.push(Damage { what: format!("{}; the tensors {between} are lost", lost.what), ..lost });
                return;
            }
        };
        let mut corrected = block.damage.clone();
        let damaged_byte = block.damage.as_ref().and_then(|damage| damage.offset).filter(|_| !block.unreliable);
        let mut entries = block.entries();
        while let Some(entry) = entries.next_entry() {
            let lost = match entry {
                Ok(value) => {
                    if let Some(at) = damaged_byte
                        && block.covers(&entries.span(), at)
                        && !entries.key().is_empty()
                    {
                        corrected = corrected.map(|damage| damage.of(&name_text(entries.key())));
                    }
                    match self.read_entry(&block, entries.key(), value, entries.offset()) {
                        Ok(()) => continue,
                        Err(error) => index.file.damage(error.offset, error.message).of(&name_text(entries.key())),
                    }
                }
                Err(error) => {
                    let damage = index.file.damage(error.offset, error.message);
                    match self.entries.last() {
                        Some(last) => damage.of(&format!("{} (the one after it)", name_text(&last.key))),
                        None => damage,
                    }
                }
            };
            damage.push(lost);
        }
        damage.extend(corrected.map(|corrected| {
            if block.unreliable {
                Damage { what: format!("{}; what it lists may be wrong", corrected.what), ..corrected }
            } else {
                corrected
            }
        }));
    }

    fn read_entry(&mut self, block: &Block, key: &[u8], value: Range<usize>, offset: u64) -> Result<(), EntryError> {
        let wire = |error: WireError| EntryError { offset: error.offset, message: error.to_string() };
        let fields = Fields::new(&block.bytes[value.clone()], block.file_offset(value.start));
        budget::reserve(key.len() as u64);
        if key.is_empty() {
            self.header = Some(read_header(fields).map_err(wire)?);
            return Ok(());
        }
        let entry = read_entry(fields, key, offset).map_err(wire)?;
        if block.unreliable && !(entry.dtype.is_known() && entry.shape.is_some() && entry.is_consistent()) {
            let message = "its entry lies in a damaged block and makes no sense".to_owned();
            return Err(EntryError { offset, message });
        }
        self.entries.push(entry);
        Ok(())
    }
}

impl Entry {
    /// Whether type, shape and length agree.
    fn is_consistent(&self) -> bool {
        let Some(shape) = &self.shape else { return false };
        if !self.slices.is_empty() {
            return layout::elements(shape).is_some();
        }
        match (layout::elements(shape), self.dtype.size()) {
            (None, _) => false,
            (Some(_), Some(_)) => layout::byte_size(self.dtype, shape) == Some(self.size),
            // Each string takes at least one byte, for its length.
            (Some(elements), None) => !self.dtype.is_known() || elements <= self.size,
        }
    }
}

/// Reads a `BundleHeaderProto`.
fn read_header(mut fields: Fields<'_>) -> Result<Header, WireError> {
    let mut header = Header { shards: 0, big_endian: false };
    while let Some(field) = fields.next_field()? {
        match (field.number, field.value) {
            (bundle_header::NUM_SHARDS, Value::Varint(n)) => header.shards = u32::try_from(n).unwrap_or(0),
            (bundle_header::ENDIANNESS, Value::Varint(n)) => header.big_endian = n == 1,
            _ => {}
        }
    }
    Ok(header)
}

/// Reads a `BundleEntryProto`.
fn read_entry(mut fields: Fields<'_>, key: &[u8], index_offset: u64) -> Result<Entry, WireError> {
    let mut entry = Entry {
        key: key.to_vec(),
        dtype: DType(0),
        shape: Some(Vec::new()),
        shard: 0,
        offset: 0,
        size: 0,
        checksum: 0,
        slices: Vec::new(),
        index_offset,
    };
    while let Some(field) = fields.next_field()? {
        match (field.number, field.value) {
            (bundle_entry::DTYPE, Value::Varint(n)) => entry.dtype = DType(n as i32),
            (bundle_entry::SHAPE, Value::Bytes(shape)) => entry.shape = layout::read_shape(fields.nested(shape))?,
            (bundle_entry::SHARD_ID, Value::Varint(n)) => entry.shard = u32::try_from(n).unwrap_or(u32::MAX),
            (bundle_entry::OFFSET, Value::Varint(n)) => entry.offset = n,
            (bundle_entry::SIZE, Value::Varint(n)) => entry.size = n,
            (bundle_entry::CRC32C, Value::Fixed32(n)) => entry.checksum = n,
            (bundle_entry::SLICES, Value::Bytes(slice)) => {
                entry.slices.push(layout::read_slice(fields.nested(slice))?);
            }
            _ => {}
        }
    }
    Ok(entry)
}

/// Guesses the number of shards from the name of a data file.
fn guess_shards(prefix: &Path) -> Option<u32> {
    let name = prefix.file_name()?.to_str()?;
    let dir = prefix.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(dir).ok()?.flatten();
    entries
        .filter_map(|entry| locate::shard_of(entry.file_name().to_str()?.strip_prefix(name)?.strip_prefix(".data")?))
        .map(|number| number.count)
        .max()
}

/// Finds the data files, and reports each missing one once.
fn find_shards(prefix: &Path, header: Header, entries: &[Entry], damage: &mut Vec<Damage>) -> BTreeMap<u32, Shard> {
    let mut first: BTreeMap<u32, (usize, &Entry)> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.slices.is_empty()) {
        first.entry(entry.shard).or_insert((0, entry)).0 += 1;
    }
    // A damaged header must not cost time: shards hold tensors, and few checkpoints have this many of them.
    let looked_for = header.shards.min(u32::try_from(2 * entries.len()).unwrap_or(u32::MAX).clamp(100, 10_000));
    let numbers = (0..looked_for).chain(first.keys().copied().filter(|shard| *shard >= looked_for));
    let (mut shards, mut missing) = (BTreeMap::new(), Vec::new());
    for number in numbers {
        let path = locate::with_suffix(prefix, &format!(".data-{number:05}-of-{:05}", header.shards));
        let metadata = std::fs::metadata(&path);
        let length = metadata.as_ref().ok().filter(|metadata| metadata.is_file() && foreign::pointer(&path).is_none());
        let length = length.map(std::fs::Metadata::len);
        if length.is_none() {
            let (count, name) = first.get(&number).map_or((0, None), |(n, entry)| (*n, Some(name_text(&entry.key))));
            let lies = if count == 1 { "1 tensor lies".to_owned() } else { format!("{count} tensors lie") };
            let what = match (&metadata, &name) {
                (_, Some(_)) if number >= header.shards => {
                    format!("there is no shard {number} of {}, but {lies} there", header.shards)
                }
                (Err(error), Some(_)) if error.kind() != std::io::ErrorKind::NotFound => {
                    format!("cannot read this shard: {error}; {lies} in it")
                }
                (_, Some(_)) => format!("this shard is missing; {lies} in it, this one first"),
                (_, None) => "this shard is missing".to_owned(),
            };
            let offset = first.get(&number).map(|(_, entry)| entry.offset);
            missing.push(Damage { file: path.display().to_string(), offset, tensor: name, what, absent: false });
        }
        shards.insert(number, Shard { path, length });
    }
    // An index alone is not damaged: it lists everything but the values.
    let is_there =
        |shard: &Shard| std::fs::symlink_metadata(&shard.path).is_ok() && foreign::pointer(&shard.path).is_none();
    match missing.first() {
        Some(first) if header.shards as usize == shards.len() && !shards.values().any(is_there) => {
            let what = "the data files are missing; names, types and shapes come from the index".to_owned();
            damage.push(Damage { file: first.file.clone(), offset: None, tensor: None, what, absent: true });
        }
        _ => damage.append(&mut missing),
    }
    shards
}

/// Turns entries into tensors with their pieces.
struct Lister<'e> {
    /// The index.
    file: &'e str,
    entries: &'e [Entry],
    /// The entries of slices, by key.
    slice_entries: UntrustedMap<&'e [u8], usize>,
    shards: &'e BTreeMap<u32, Shard>,
    big_endian: bool,
    tensors: Vec<Tensor>,
    pieces: Vec<Piece>,
    damage: &'e mut Vec<Damage>,
}

impl<'e> Lister<'e> {
    fn add(&mut self, entry: &Entry) {
        budget::check();
        let name = name_text(&entry.key);
        let first = self.pieces.len() as u32;
        let mut bytes = 0_u64;
        if entry.slices.is_empty() {
            if !entry.is_consistent() {
                let (dtype, shape) = (entry.dtype.name(), entry.shape.as_deref().unwrap_or_default());
                self.report(entry, &name, format!("{} bytes are no {dtype} of shape {shape:?}", entry.size));
            }
            bytes = entry.size;
            self.add_piece(entry, &[], &name);
        }
        for slice in &entry.slices {
            match self.slice_entry(entry, slice) {
                Ok(piece) => {
                    bytes = bytes.saturating_add(piece.size);
                    self.add_piece(piece, slice, &name);
                }
                Err(wrong) => self.report(entry, &name, format!("its slice {} {wrong}", slice_text(slice))),
            }
        }
        let pieces = first..self.pieces.len() as u32;
        let shape = entry.shape.clone().unwrap_or_default();
        self.tensors.push(Tensor { name, readable: None, dtype: entry.dtype, shape, bytes: Some(bytes), pieces });
    }

    /// The entry of a slice, if it fits its tensor.
    fn slice_entry(&self, entry: &Entry, slice: &[Extent]) -> Result<&'e Entry, &'static str> {
        let number = self.slice_entries.get(&slice_key(&entry.key, slice)[..]);
        let piece = number.map(|number| &self.entries[*number]).ok_or("is not in the index")?;
        let ranges = entry.shape.as_ref().and_then(|shape| layout::ranges(shape, slice));
        let ranges = ranges.filter(|_| piece.dtype == entry.dtype && piece.slices.is_empty());
        let ranges = ranges.ok_or("does not lie within it")?;
        let shape: Vec<i64> = ranges.iter().map(|range| (range.end - range.start) as i64).collect();
        if piece.shape.as_ref() != Some(&shape) || !piece.is_consistent() {
            return Err("has another shape or length than it says");
        }
        Ok(piece)
    }

    fn add_piece(&mut self, entry: &Entry, slice: &[Extent], name: &str) {
        let Entry { shard, offset, size, checksum, .. } = *entry;
        if let Some(Shard { path, length: Some(length) }) = self.shards.get(&shard)
            && offset.checked_add(size).is_none_or(|end| end > *length)
        {
            let left = length.saturating_sub(offset);
            let what = format!("{size} bytes run past the end of the file ({left} bytes left); is it truncated?");
            let file = path.display().to_string();
            self.damage.push(Damage { file, offset: Some(offset), tensor: Some(name.to_owned()), what, absent: false });
        }
        let location =
            PieceLocation::DataFile(FileRange { offset, size, checksum: Some(checksum), big_endian: self.big_endian });
        self.pieces.push(Piece { shard, location, slice: slice.to_vec() });
    }

    fn report(&mut self, entry: &Entry, name: &str, what: String) {
        let (file, offset, tensor) = (self.file.to_owned(), Some(entry.index_offset), Some(name.to_owned()));
        self.damage.push(Damage { file, offset, tensor, what, absent: false });
    }
}

#[cfg(test)]
#[path = "bundle_tests.rs"]
mod tests;
