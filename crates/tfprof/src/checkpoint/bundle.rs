//! The format of today: an index, which is a table from names to types, shapes and places, beside its data files.

use super::catalog::{Listed, Shard, Store, Tensor, name_text};
use super::layout::{self, Extent, Piece, Spot};
use super::stored::Stored;
use super::table::{Block, Table};
use super::{Damage, locate, ordered};
use crate::error::Error;
use crate::hash::UntrustedMap;
use crate::model::dtype::DType;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use tfprof_proto::wire::{Fields, Value, WireError};

/// Lists the tensors of an index. `prefix` is what the names of the data files begin with.
pub fn list(index: Stored, prefix: &Path, damage: &mut Vec<Damage>) -> Result<Listed, Error> {
    let index = Table::open(index, damage)?;
    let mut read = Read { header: None, entries: Vec::new() };
    for number in index.blocks() {
        read.block(&index, number, damage);
    }
    let Read { header, mut entries } = read;
    // Keys of a sound table are sorted already.
    entries.sort_by(|a, b| a.key.cmp(&b.key));
    let file = &index.file.name;
    let header = header.unwrap_or_else(|| {
        let what = "the header is missing; the number of shards is guessed".to_owned();
        damage.push(Damage { file: file.clone(), offset: None, tensor: None, what });
        let shards = entries.iter().map(|entry| entry.shard.saturating_add(1)).max().unwrap_or(1);
        Header { shards: guess_shards(prefix).unwrap_or(shards), big_endian: false }
    });
    let shards = find_shards(prefix, header, &entries, damage);
    let mut listed = Listed {
        tensors: Vec::with_capacity(entries.len()),
        pieces: Vec::with_capacity(entries.len()),
        store: Store::Tables(Vec::new()),
    };
    let keys: UntrustedMap<&[u8], usize> = entries
        .iter()
        .enumerate()
        .filter(|(_, entry)| entry.key.first() == Some(&0))
        .map(|(i, e)| (&e.key[..], i))
        .collect();
    let mut is_piece = vec![false; entries.len()];
    for entry in entries.iter().filter(|entry| !entry.slices.is_empty()) {
        for slice in &entry.slices {
            if let Some(piece) = keys.get(&ordered::slice_key(&entry.key, slice)[..]) {
                is_piece[*piece] = true;
            }
        }
    }
    for (entry, _) in entries.iter().zip(&is_piece).filter(|(_, is_piece)| !**is_piece) {
        push(entry, &entries, &keys, &shards, &mut listed, damage, file);
    }
    listed.store = Store::Bundle { index, shards, big_endian: header.big_endian };
    Ok(listed)
}

#[derive(Clone, Copy, Debug)]
struct Header {
    shards: u32,
    big_endian: bool,
}

/// What the index says of one key.
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
    /// Where the entry is, in the index.
    place: u64,
}

struct Read {
    header: Option<Header>,
    entries: Vec<Entry>,
}

impl Read {
    fn block(&mut self, index: &Table, number: usize, damage: &mut Vec<Damage>) {
        let block = match index.block(number) {
            Ok(block) => block,
            Err(lost) => {
                let (from, to) = index.keys_of(number);
                let between = format!("after `{}`, up to `{}`", name_text(from), name_text(to));
                damage.push(Damage { what: format!("{}; the tensors {between} are lost", lost.what), ..lost });
                return;
            }
        };
        let wrong = block.damage.as_ref();
        let mut found = wrong.cloned();
        let mut entries = block.entries();
        while let Some(entry) = entries.next_entry() {
            let lost = match entry {
                Ok(value) => {
                    if let Some(at) = wrong.and_then(|wrong| wrong.offset)
                        && block.covers(&entries.span(), at)
                        && !block.doubtful
                        && !entries.key().is_empty()
                    {
                        found = found.map(|found| found.of(&name_text(entries.key())));
                    }
                    match self.entry(&block, entries.key(), value, entries.offset()) {
                        Ok(()) => continue,
                        Err((at, what)) => index.file.damage(at, what).of(&name_text(entries.key())),
                    }
                }
                Err((at, what)) => {
                    let damage = index.file.damage(at, what);
                    match self.entries.last() {
                        Some(last) => damage.of(&format!("{} (the one after it)", name_text(&last.key))),
                        None => damage,
                    }
                }
            };
            damage.push(lost);
        }
        damage.extend(found.map(|found| {
            if block.doubtful {
                Damage { what: format!("{}; what it lists may be wrong", found.what), ..found }
            } else {
                found
            }
        }));
    }

    fn entry(&mut self, block: &Block, key: &[u8], value: Range<usize>, place: u64) -> Result<(), (u64, String)> {
        let fields = Fields::new(&block.bytes[value.clone()], block.place(value.start));
        if key.is_empty() {
            self.header = Some(read_header(fields).map_err(|error| (error.offset, error.to_string()))?);
            return Ok(());
        }
        let entry = read_entry(fields, key, place).map_err(|error| (error.offset, error.to_string()))?;
        if block.doubtful && !(entry.dtype.is_known() && entry.shape.is_some() && entry.is_consistent()) {
            return Err((place, "its entry lies in a damaged block and makes no sense".to_owned()));
        }
        self.entries.push(entry);
        Ok(())
    }
}

impl Entry {
    /// Whether type, shape and length agree, as far as they have to.
    fn is_consistent(&self) -> bool {
        let Some(shape) = &self.shape else { return false };
        if !self.slices.is_empty() {
            return layout::elements(shape).is_some();
        }
        match (layout::elements(shape), self.dtype.size()) {
            (None, _) => false,
            (Some(_), Some(_)) => layout::byte_size(self.dtype, shape) == Some(self.size),
            // Each string takes a byte for its length at least.
            (Some(elements), None) => !self.dtype.is_known() || elements <= self.size,
        }
    }
}

/// `BundleHeaderProto`.
fn read_header(mut fields: Fields<'_>) -> Result<Header, WireError> {
    let mut header = Header { shards: 0, big_endian: false };
    while let Some(field) = fields.next_field()? {
        match (field.number, field.value) {
            (1, Value::Varint(n)) => header.shards = u32::try_from(n).unwrap_or(0),
            (2, Value::Varint(n)) => header.big_endian = n == 1,
            _ => {}
        }
    }
    Ok(header)
}

/// `BundleEntryProto`.
fn read_entry(mut fields: Fields<'_>, key: &[u8], place: u64) -> Result<Entry, WireError> {
    let mut entry = Entry {
        key: key.to_vec(),
        dtype: DType(0),
        shape: Some(Vec::new()),
        shard: 0,
        offset: 0,
        size: 0,
        checksum: 0,
        slices: Vec::new(),
        place,
    };
    while let Some(field) = fields.next_field()? {
        match (field.number, field.value) {
            (1, Value::Varint(n)) => entry.dtype = DType(n as i32),
            (2, Value::Bytes(shape)) => entry.shape = layout::read_shape(fields.nested(shape))?,
            (3, Value::Varint(n)) => entry.shard = u32::try_from(n).unwrap_or(u32::MAX),
            (4, Value::Varint(n)) => entry.offset = n,
            (5, Value::Varint(n)) => entry.size = n,
            (6, Value::Fixed32(n)) => entry.checksum = n,
            (7, Value::Bytes(slice)) => entry.slices.push(layout::read_slice(fields.nested(slice))?),
            _ => {}
        }
    }
    Ok(entry)
}

/// The number of shards, from the name of a data file.
fn guess_shards(prefix: &Path) -> Option<u32> {
    let name = prefix.file_name()?.to_str()?;
    let dir = prefix.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(dir).ok()?.flatten();
    entries
        .filter_map(|entry| locate::shard_of(entry.file_name().to_str()?.strip_prefix(name)?.strip_prefix(".data")?))
        .map(|(_, of)| of)
        .max()
}

/// The data files, of which one that is missing is told once.
fn find_shards(prefix: &Path, header: Header, entries: &[Entry], damage: &mut Vec<Damage>) -> BTreeMap<u32, Shard> {
    let mut first: BTreeMap<u32, (usize, &Entry)> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.slices.is_empty()) {
        first.entry(entry.shard).or_insert((0, entry)).0 += 1;
    }
    // Few have so many shards; a number that is a lie shall not cost time.
    let looked_for = header.shards.min(10_000);
    let numbers = (0..looked_for).chain(first.keys().copied().filter(|shard| *shard >= looked_for));
    let mut shards = BTreeMap::new();
    for number in numbers {
        let path = locate::with_suffix(prefix, &format!(".data-{number:05}-of-{:05}", header.shards));
        let metadata = std::fs::metadata(&path);
        let length = metadata.as_ref().ok().filter(|metadata| metadata.is_file()).map(std::fs::Metadata::len);
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
            damage.push(Damage { file: path.display().to_string(), offset, tensor: name, what });
        }
        shards.insert(number, Shard { path, length });
    }
    shards
}

/// Adds the tensor of an entry, with its pieces.
fn push(
    entry: &Entry,
    entries: &[Entry],
    keys: &UntrustedMap<&[u8], usize>,
    shards: &BTreeMap<u32, Shard>,
    listed: &mut Listed,
    damage: &mut Vec<Damage>,
    file: &str,
) {
    let name = name_text(&entry.key);
    let lie =
        |what: String| Damage { file: file.to_owned(), offset: Some(entry.place), tensor: Some(name.clone()), what };
    let from = listed.pieces.len() as u32;
    let mut bytes = 0_u64;
    if entry.slices.is_empty() {
        if !entry.is_consistent() {
            let (dtype, shape) = (entry.dtype.name(), entry.shape.as_deref().unwrap_or_default());
            damage.push(lie(format!("{} bytes are no {dtype} of shape {shape:?}", entry.size)));
        }
        bytes = entry.size;
        push_piece(entry, &[], &name, shards, listed, damage);
    }
    for slice in &entry.slices {
        let Some(piece) = keys.get(&ordered::slice_key(&entry.key, slice)[..]).map(|i| &entries[*i]) else {
            damage.push(lie(format!("its slice {} is not in the index", slice_text(slice))));
            continue;
        };
        let within = entry.shape.as_ref().and_then(|shape| layout::ranges(shape, slice));
        let Some(within) = within.filter(|_| piece.dtype == entry.dtype && piece.slices.is_empty()) else {
            damage.push(lie(format!("its slice {} does not lie within it", slice_text(slice))));
            continue;
        };
        let shape: Vec<i64> = within.iter().map(|range| (range.end - range.start) as i64).collect();
        if piece.shape.as_ref() != Some(&shape) || !piece.is_consistent() {
            damage.push(lie(format!("its slice {} has another shape or length than it says", slice_text(slice))));
            continue;
        }
        bytes = bytes.saturating_add(piece.size);
        push_piece(piece, slice, &name, shards, listed, damage);
    }
    let pieces = from..listed.pieces.len() as u32;
    let shape = entry.shape.clone().unwrap_or_default();
    listed.tensors.push(Tensor { name, readable: None, dtype: entry.dtype, shape, bytes: Some(bytes), pieces });
}

fn push_piece(
    entry: &Entry,
    slice: &[Extent],
    name: &str,
    shards: &BTreeMap<u32, Shard>,
    listed: &mut Listed,
    damage: &mut Vec<Damage>,
) {
    let Entry { shard, offset, size, checksum, .. } = *entry;
    if let Some(Shard { path, length: Some(length) }) = shards.get(&shard)
        && offset.checked_add(size).is_none_or(|end| end > *length)
    {
        let left = length.saturating_sub(offset);
        let what = format!("{size} bytes run past the end of the file ({left} bytes left); is it truncated?");
        let file = path.display().to_string();
        damage.push(Damage { file, offset: Some(offset), tensor: Some(name.to_owned()), what });
    }
    listed.pieces.push(Piece { file: shard, spot: Spot::At { offset, size, checksum }, slice: slice.to_vec() });
}

/// A slice as people write it.
pub fn slice_text(slice: &[Extent]) -> String {
    let range = |extent: &Extent| match extent.length {
        None => ":".to_owned(),
        Some(length) => format!("{}:{}", extent.start, extent.start.saturating_add(length)),
    };
    format!("[{}]", slice.iter().map(range).collect::<Vec<_>>().join(","))
}

#[cfg(test)]
#[path = "bundle_tests.rs"]
mod tests;
