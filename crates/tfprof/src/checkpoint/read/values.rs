//! Reads the values of a tensor, or of a part of it, and joins its slices.

use super::byte_source::ByteSource;
use super::catalog::{CachedBlock, Checkpoint, Shard, Store, Tensor};
use super::crc::{self, Flip};
use super::layout::{self, FileRange, Piece, PieceLocation, slice_text};
use super::lazy::Lazy;
use super::strings::{Checked, Data, Strings, assemble_strings, read_strings, read_variants};
use super::table::{Block, Table};
use super::v1;
use crate::budget;
use crate::checkpoint::Damage;
use crate::checkpoint::hdf5::{Dataset, Hdf5};
use crate::foreign;
use crate::model::dtype::{DType, Element};
use std::ops::Range;
use tfprof_proto::wire::{Fields, WireError};

/// Elements in row-major order.
#[derive(Debug)]
#[non_exhaustive]
pub struct Values {
    pub dtype: DType,
    pub shape: Vec<i64>,
    data: Data,
    /// Wrong checksums: the values may be wrong, too.
    pub damage: Vec<Damage>,
}

/// Elements of a piece or a tensor, with the damage to them.
struct Loaded {
    data: Data,
    damage: Vec<Damage>,
}

/// A tensor that is stored in one piece, with elements of a fixed size.
struct Contiguous<'c> {
    shard: &'c Shard,
    offset: u64,
    size: u64,
    big_endian: bool,
}

/// Tensors may share their bytes, but only so often: reading a byte takes this much work.
const WORK_PER_BYTE: u64 = 4;

/// Values of more bytes are written as they are read.
const LARGE: u64 = 64 << 20;

/// The buffer of a streamed tensor.
const CHUNK: u64 = 256 << 10;

impl Values {
    /// A tensor without elements.
    #[cfg(test)]
    pub(crate) fn empty(dtype: DType, shape: Vec<i64>) -> Values {
        Values { dtype, shape, data: Data::Plain(Vec::new()), damage: Vec::new() }
    }

    pub fn len(&self) -> usize {
        match &self.data {
            Data::Plain(bytes) => bytes.len() / self.dtype.size().unwrap_or(1),
            Data::Strings(strings) => strings.ends.len(),
            Data::Lazy(lazy) => lazy.count as usize,
            Data::Opaque(count) => *count as usize,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn get(&self, number: usize) -> Element<'_> {
        match &self.data {
            Data::Plain(bytes) => {
                let size = self.dtype.size().unwrap_or(1);
                self.dtype.element(&bytes[number * size..(number + 1) * size])
            }
            Data::Strings(strings) => Element::Text(strings.get(number).unwrap_or_default()),
            Data::Lazy(lazy) => lazy.get(number as u64),
            Data::Opaque(_) => Element::Opaque,
        }
    }

    /// An element of a string tensor.
    pub fn text(&self, number: usize) -> Option<&[u8]> {
        match &self.data {
            Data::Strings(strings) => strings.get(number),
            _ => None,
        }
    }

    /// The elements as little-endian bytes, if they have a fixed size.
    pub fn plain(&self) -> Option<&[u8]> {
        match &self.data {
            Data::Plain(bytes) => Some(bytes),
            _ => None,
        }
    }
}

impl Checkpoint {
    /// All values of a tensor.
    pub fn values(&self, tensor: &Tensor) -> Result<Values, Damage> {
        let pieces = self.pieces_of(tensor);
        let loaded = match pieces {
            [piece] if piece.slice.is_empty() => self.load_piece(tensor, piece),
            _ => self.assemble(tensor, pieces),
        };
        let Loaded { data, damage } = loaded.map_err(|d| d.of(&tensor.name))?;
        let damage = damage.into_iter().map(|d| d.of(&tensor.name)).collect();
        Ok(Values { dtype: tensor.dtype, shape: tensor.shape.clone(), data, damage })
    }

    /// The first values of a tensor: all of them if it is small or sliced, at most `count` otherwise.
    ///
    /// The shape of the result is that of the tensor.
    pub fn first_values(&self, tensor: &Tensor, count: u64) -> Result<Values, Damage> {
        let element = tensor.dtype.size().unwrap_or(0) as u64;
        match self.contiguous(tensor) {
            Some(Contiguous { size, .. }) if size > 4 * CHUNK && count.saturating_mul(element) < size => {
                let data = Data::Plain(self.element_range(tensor, 0, count)?);
                Ok(Values { dtype: tensor.dtype, shape: tensor.shape.clone(), data, damage: Vec::new() })
            }
            _ => self.values(tensor),
        }
    }

    /// The same values as [`part`](Checkpoint::part), to be written in order: many of them are read in pieces meanwhile,
    /// without a look at their checksum.
    pub(in crate::checkpoint) fn part_in_pieces(&self, tensor: &Tensor, part: &[Range<u64>]) -> Result<Values, Damage> {
        let shape: Vec<i64> = part.iter().map(|range| range.end.saturating_sub(range.start) as i64).collect();
        let wanted = layout::byte_size(tensor.dtype, &shape).unwrap_or(0);
        // Only the first dimension may be cut, so that the part is in one piece.
        let whole_rows = tensor.shape.iter().zip(part).skip(1).all(|(dim, range)| *range == (0..*dim as u64));
        match (self.contiguous(tensor), part.first()) {
            (Some(Contiguous { shard, offset, big_endian: false, .. }), Some(first))
                if wanted > LARGE && whole_rows =>
            {
                let row = wanted / (first.end - first.start).max(1);
                let file = open_shard(shard).map_err(|d| d.of(&tensor.name))?;
                let count = layout::elements(&shape).unwrap_or(0);
                let data = Data::Lazy(Lazy::new(file, offset + first.start * row, tensor.dtype, count));
                Ok(Values { dtype: tensor.dtype, shape, data, damage: Vec::new() })
            }
            _ if tensor.shape.iter().zip(part).all(|(dim, range)| *range == (0..*dim as u64)) => self.values(tensor),
            _ => self.part(tensor, part),
        }
    }

    /// The values within a range of each dimension.
    pub fn part(&self, tensor: &Tensor, part: &[Range<u64>]) -> Result<Values, Damage> {
        let shape: Vec<i64> = part.iter().map(|range| range.end.saturating_sub(range.start) as i64).collect();
        let within = tensor.shape.len() == part.len()
            && tensor.shape.iter().zip(part).all(|(dim, range)| range.start <= range.end && range.end <= *dim as u64);
        if !within {
            return Err(self.damage_to(tensor, format!("{part:?} does not lie within the shape {:?}", tensor.shape)));
        }
        let wanted = layout::byte_size(tensor.dtype, &shape).unwrap_or(0);
        if let Some(contiguous) = self.contiguous(tensor)
            && wanted < contiguous.size / 2
        {
            let mut data = read_part(tensor, &contiguous, part).map_err(|d| d.of(&tensor.name))?;
            to_little_endian(contiguous.big_endian, tensor.dtype, &mut data);
            return Ok(Values { dtype: tensor.dtype, shape, data: Data::Plain(data), damage: Vec::new() });
        }
        let whole = self.values(tensor)?;
        let data = match &whole.data {
            Data::Plain(bytes) => {
                let size = tensor.dtype.size().unwrap_or(1);
                let mut picked = Vec::with_capacity(wanted as usize);
                layout::each_run(&tensor.shape, part, |start, count| {
                    picked.extend_from_slice(&bytes[start as usize * size..(start + count) as usize * size]);
                    Ok::<_, Damage>(())
                })?;
                Data::Plain(picked)
            }
            Data::Strings(strings) => {
                let mut picked = Strings::default();
                layout::each_run(&tensor.shape, part, |start, count| {
                    let numbers = start as usize..(start + count) as usize;
                    numbers.for_each(|number| picked.push(strings.get(number).unwrap_or_default()));
                    Ok::<_, Damage>(())
                })?;
                Data::Strings(picked)
            }
            Data::Opaque(_) | Data::Lazy(_) => Data::Opaque(layout::elements(&shape).unwrap_or(0)),
        };
        Ok(Values { dtype: tensor.dtype, shape, data, damage: whole.damage })
    }

    /// Passes the elements of a tensor to `each`, as little-endian bytes in chunks of whole elements: in row-major order
    /// unless the tensor is stored in slices. Only for types of a fixed size.
    ///
    /// Returns wrong checksums, which are known at the end.
    pub fn stream(&self, tensor: &Tensor, each: &mut dyn FnMut(&[u8])) -> Result<Vec<Damage>, Damage> {
        let mut damage = Vec::new();
        for piece in self.pieces_of(tensor) {
            let found = match &piece.location {
                PieceLocation::DataFile(range) => {
                    self.check_length(tensor, piece).map_err(|d| d.of(&tensor.name))?;
                    self.stream_range(tensor, self.store.shard(piece.shard), *range, each)
                }
                _ => self.load_piece(tensor, piece).map(|Loaded { data, damage }| {
                    if let Data::Plain(bytes) = &data {
                        each(bytes);
                    }
                    damage
                }),
            };
            damage.extend(found.map_err(|d| d.of(&tensor.name))?.into_iter().map(|d| d.of(&tensor.name)));
        }
        Ok(damage)
    }

    fn stream_range(
        &self,
        tensor: &Tensor,
        shard: Option<&Shard>,
        range: FileRange,
        each: &mut dyn FnMut(&[u8]),
    ) -> Result<Vec<Damage>, Damage> {
        let FileRange { offset, size, big_endian, .. } = range;
        budget::work(size.saturating_mul(WORK_PER_BYTE));
        let shard = shard.ok_or_else(|| self.damage_to(tensor, "its shard is missing".to_owned()))?;
        let file = open_shard(shard).map_err(|d| d.at(offset))?;
        // Report a wrong length before passing on any bytes.
        if offset.checked_add(size).is_none_or(|end| end > file.len()) {
            file.read(offset, size)?;
        }
        let mut crc = 0;
        let mut at = 0;
        let mut bytes = Vec::new();
        while at < size {
            file.read_to(offset + at, CHUNK.min(size - at), &mut bytes)?;
            crc = crc32c::crc32c_append(crc, &bytes);
            to_little_endian(big_endian, tensor.dtype, &mut bytes);
            each(&bytes);
            at += bytes.len() as u64;
        }
        Ok(wrong_checksum(&file, range, crc).into_iter().collect())
    }

    /// Where a tensor is that is stored in one piece of a data file, with elements of a fixed size.
    fn contiguous(&self, tensor: &Tensor) -> Option<Contiguous<'_>> {
        let [piece] = self.pieces_of(tensor) else { return None };
        let PieceLocation::DataFile(range) = &piece.location else { return None };
        let FileRange { offset, size, big_endian, .. } = *range;
        let fits = piece.slice.is_empty() && layout::byte_size(tensor.dtype, &tensor.shape) == Some(size);
        let shard = self.store.shard(piece.shard)?;
        let exists = offset.checked_add(size).is_some_and(|end| shard.length.is_some_and(|length| end <= length));
        (fits && exists).then_some(Contiguous { shard, offset, size, big_endian })
    }

    /// The elements of one piece, in row-major order.
    fn load_piece(&self, tensor: &Tensor, piece: &Piece) -> Result<Loaded, Damage> {
        let count = self.check_length(tensor, piece)?;
        match (&self.store, &piece.location) {
            (_, PieceLocation::DataFile(range)) => {
                let shard = self.store.shard(piece.shard);
                let shard = shard.ok_or_else(|| self.damage_to(tensor, "its shard is missing".to_owned()))?;
                load_range(tensor, count, shard, *range)
            }
            (Store::Tables(tables), PieceLocation::TableKey(key)) => {
                let missing =
                    || self.damage_to(tensor, format!("its values {} are not in the table", slice_text(&piece.slice)));
                let table = &tables[piece.shard as usize];
                let number = table.block_of(key).ok_or_else(missing)?;
                self.with_block(piece.shard, number, |block| {
                    let value = block.find(key).ok_or_else(missing)?;
                    load_value(tensor, count, table, block, value)?.ok_or_else(missing)
                })
            }
            (Store::Arrays(arrays), PieceLocation::Dataset(number)) => {
                let dataset = arrays.hdf5.as_ref().zip(arrays.datasets.get(*number as usize));
                let (file, dataset) =
                    dataset.ok_or_else(|| self.damage_to(tensor, "its dataset is missing".to_owned()))?;
                load_dataset(tensor, count, file, dataset)
            }
            _ => Err(self.damage_to(tensor, "its values are not where they should be".to_owned())),
        }
    }

    /// Calls `read` with a block of a table, which is often the block of the previous call.
    fn with_block<T>(
        &self,
        table: u32,
        number: usize,
        read: impl FnOnce(&Block) -> Result<T, Damage>,
    ) -> Result<T, Damage> {
        let Store::Tables(tables) = &self.store else {
            return Err(Damage {
                file: self.name.clone(),
                offset: None,
                tensor: None,
                what: "no table".to_owned(),
                absent: false,
            });
        };
        let cached = self.last_block.lock().ok().and_then(|mut last| last.take());
        let block = match cached {
            Some(cached) if cached.table == table && cached.number == number => cached.block,
            _ => tables[table as usize].block(number)?,
        };
        let answer = read(&block);
        if let Ok(mut last) = self.last_block.lock() {
            *last = Some(CachedBlock { table, number, block });
        }
        answer
    }

    /// Whether [`Checkpoint::stream`] can read a tensor in chunks.
    pub(in crate::checkpoint) fn is_streamed(&self, tensor: &Tensor) -> bool {
        let in_file = |piece: &Piece| matches!(piece.location, PieceLocation::DataFile(_));
        self.pieces_of(tensor).iter().all(in_file) && tensor.dtype.size().is_some()
    }

    /// Checks that the slices of a tensor are complete.
    pub(in crate::checkpoint) fn check_coverage(&self, tensor: &Tensor) -> Result<(), Damage> {
        let mut have = 0_u64;
        for piece in self.pieces_of(tensor) {
            have = have.saturating_add(self.check_length(tensor, piece)?);
        }
        let total = tensor.elements().unwrap_or(0);
        if have == total {
            Ok(())
        } else {
            Err(self.damage_to(tensor, format!("its slices hold {have} of {total} values")))
        }
    }

    /// A range of the elements of a tensor without slices, as little-endian bytes.
    pub(in crate::checkpoint) fn element_range(
        &self,
        tensor: &Tensor,
        from: u64,
        count: u64,
    ) -> Result<Vec<u8>, Damage> {
        let size = tensor.dtype.size().unwrap_or(1) as u64;
        if let Some(Contiguous { shard, offset, big_endian, .. }) = self.contiguous(tensor) {
            let file = open_shard(shard).map_err(|d| d.of(&tensor.name))?;
            let mut bytes = file.read(offset + from * size, count * size).map_err(|d| d.of(&tensor.name))?;
            to_little_endian(big_endian, tensor.dtype, &mut bytes);
            return Ok(bytes);
        }
        let values = self.values(tensor)?;
        let bytes = values.plain().unwrap_or_default();
        Ok(bytes[(from * size) as usize..((from + count) * size) as usize].to_vec())
    }

    /// The number of elements of a piece, checked against its type, shape and length.
    fn check_length(&self, tensor: &Tensor, piece: &Piece) -> Result<u64, Damage> {
        let wrong = |what: String| Err(self.damage_to(tensor, what));
        if !tensor.dtype.is_known() {
            return wrong(format!("its type {} is not known", tensor.dtype.0));
        }
        let Some(part) = layout::ranges(&tensor.shape, &piece.slice) else {
            return wrong(format!("its shape {:?} makes no sense", tensor.shape));
        };
        let shape: Vec<i64> = part.iter().map(|range| (range.end - range.start) as i64).collect();
        let Some(count) = layout::elements(&shape) else { return wrong(format!("its shape {shape:?} is too large")) };
        if let PieceLocation::DataFile(FileRange { size, .. }) = piece.location
            && tensor.dtype.size().is_some_and(|each| count.checked_mul(each as u64) != Some(size))
        {
            return wrong(format!("{size} bytes are no {} of shape {shape:?}", tensor.dtype.name()));
        }
        Ok(count)
    }

    /// Joins the slices of a tensor.
    fn assemble(&self, tensor: &Tensor, pieces: &[Piece]) -> Result<Loaded, Damage> {
        let Some(total) = tensor.elements() else {
            return Err(self.damage_to(tensor, format!("its shape {:?} makes no sense", tensor.shape)));
        };
        self.check_coverage(tensor)?;
        // Overlapping slices could claim any size. Valid ones fit into their files together.
        let claimed = total.saturating_mul(tensor.dtype.size().unwrap_or(1) as u64);
        if claimed > self.max_bytes(tensor) {
            return Err(self.damage_to(tensor, format!("its slices claim {claimed} bytes, more than its files have")));
        }
        // Read all slices before allocating the result: no shape is trusted without the bytes.
        let (mut slices, mut damage) = (Vec::new(), Vec::new());
        for piece in pieces {
            let loaded = self.load_piece(tensor, piece)?;
            slices.push((loaded.data, layout::ranges(&tensor.shape, &piece.slice).unwrap_or_default()));
            damage.extend(loaded.damage);
        }
        let Some(size) = tensor.dtype.size() else {
            return Ok(Loaded { data: assemble_strings(&tensor.shape, total, &slices), damage });
        };
        let mut all = vec![0; total as usize * size];
        for (data, part) in &slices {
            let Data::Plain(bytes) = data else { continue };
            let mut at = 0;
            layout::each_run(&tensor.shape, part, |start, count| {
                let (start, length) = (start as usize * size, count as usize * size);
                all[start..start + length].copy_from_slice(&bytes[at..at + length]);
                at += length;
                Ok::<_, Damage>(())
            })?;
        }
        Ok(Loaded { data: Data::Plain(all), damage })
    }

    /// An upper bound of the bytes of a tensor, from the sizes of its files.
    fn max_bytes(&self, tensor: &Tensor) -> u64 {
        let length = |shard: u32| match &self.store {
            Store::Bundle { .. } | Store::Arrays(_) => {
                self.store.shard(shard).and_then(|shard| shard.length).unwrap_or(0)
            }
            // Blocks may be compressed, and small numbers take fewer bytes in a message than in memory.
            Store::Tables(tables) => tables.get(shard as usize).map_or(0, |table| table.file.len().saturating_mul(256)),
        };
        self.shards(tensor).into_iter().fold(0, |sum, shard| sum.saturating_add(length(shard)))
    }

    fn damage_to(&self, tensor: &Tensor, what: String) -> Damage {
        let first = self.pieces_of(tensor).first();
        let offset = first.and_then(|piece| match piece.location {
            PieceLocation::DataFile(FileRange { offset, .. }) => Some(offset),
            PieceLocation::TableKey(_) | PieceLocation::Dataset(_) => None,
        });
        let file = first.map_or_else(|| self.name.clone(), |piece| self.file_name(piece.shard));
        Damage { file, offset, tensor: Some(tensor.name.clone()), what, absent: false }
    }
}

/// Reads the value of a slice's key in a table; `None` if it has no data.
fn load_value(
    tensor: &Tensor,
    count: u64,
    table: &Table,
    block: &Block,
    value: Range<usize>,
) -> Result<Option<Loaded>, Damage> {
    let wire = |error: WireError| table.file.damage(error.offset, error.to_string());
    let fields = Fields::new(&block.bytes[value.clone()], block.file_offset(value.start));
    let Some(data) = v1::read_data(fields, tensor.dtype).map_err(wire)? else { return Ok(None) };
    if tensor.dtype.size().is_none() && tensor.dtype != DType::STRING {
        return Ok(Some(Loaded { data: Data::Opaque(count), damage: Vec::new() }));
    }
    let found = match &data {
        Data::Plain(bytes) => bytes.len() as u64 / tensor.dtype.size().unwrap_or(1) as u64,
        Data::Strings(strings) => strings.ends.len() as u64,
        Data::Lazy(lazy) => lazy.count,
        Data::Opaque(count) => *count,
    };
    if found != count {
        let what = format!("{found} values are stored, the shape says {count}");
        return Err(table.file.damage(block.file_offset(value.start), what));
    }
    let wrong = block.damage.clone().filter(|d| d.offset.is_none_or(|at| block.covers(&value, at)));
    Ok(Some(Loaded { data, damage: wrong.into_iter().collect() }))
}

/// Reads a range of a data file.
fn load_range(tensor: &Tensor, count: u64, shard: &Shard, range: FileRange) -> Result<Loaded, Damage> {
    let FileRange { offset, size, checksum, big_endian } = range;
    budget::work(size.saturating_mul(WORK_PER_BYTE));
    let file = open_shard(shard).map_err(|d| d.at(offset))?;
    let mut bytes = file.read(offset, size)?;
    if tensor.dtype.size().is_some() {
        let wrong = wrong_checksum(&file, range, crc32c::crc32c(&bytes));
        to_little_endian(big_endian, tensor.dtype, &mut bytes);
        return Ok(Loaded { data: Data::Plain(bytes), damage: wrong.into_iter().collect() });
    }
    // Files of arrays have no objects: such a type is one that tfprof does not know.
    let Some(checksum) = checksum else { return Ok(Loaded { data: Data::Opaque(count), damage: Vec::new() }) };
    let read = if tensor.dtype == DType::STRING { read_strings(bytes, count) } else { read_variants(&bytes, count) };
    let Checked { data, checksum: found } =
        read.map_err(|invalid| file.damage(offset + invalid.offset as u64, invalid.message.to_owned()))?;
    let wrong = (found != checksum && !big_endian)
        .then(|| file.damage(offset, format!("the checksum of its {size} bytes is wrong")));
    Ok(Loaded { data, damage: wrong.into_iter().collect() })
}

/// Reads a dataset that does not lie in its file as it is.
fn load_dataset(tensor: &Tensor, count: u64, file: &Hdf5, dataset: &Dataset) -> Result<Loaded, Damage> {
    let data = if tensor.dtype == DType::STRING {
        Data::Strings(file.strings(dataset)?)
    } else if tensor.dtype.size().is_some() {
        let mut bytes = file.bytes(dataset)?;
        to_little_endian(dataset.datatype.big_endian, tensor.dtype, &mut bytes);
        Data::Plain(bytes)
    } else {
        Data::Opaque(count)
    };
    Ok(Loaded { data, damage: Vec::new() })
}

fn to_little_endian(big_endian: bool, dtype: DType, bytes: &mut [u8]) {
    if big_endian {
        bytes.chunks_exact_mut(dtype.number_size()).for_each(<[u8]>::reverse);
    }
}

fn open_shard(shard: &Shard) -> Result<ByteSource, Damage> {
    let damage =
        |what| Damage { file: shard.path.display().to_string(), offset: None, tensor: None, what, absent: false };
    if let Some(message) = foreign::pointer(&shard.path) {
        return Err(damage(message));
    }
    ByteSource::open(&shard.path).map_err(|error| {
        let missing = error.kind() == std::io::ErrorKind::NotFound;
        damage(if missing { "this shard is missing".to_owned() } else { format!("cannot open: {error}") })
    })
}

fn read_part(tensor: &Tensor, contiguous: &Contiguous<'_>, part: &[Range<u64>]) -> Result<Vec<u8>, Damage> {
    let file = open_shard(contiguous.shard)?;
    let size = tensor.dtype.size().unwrap_or(1) as u64;
    let end = layout::byte_size(tensor.dtype, &tensor.shape).unwrap_or(0);
    let mut picked = Vec::new();
    // Runs are short if a part has few columns, so they are taken from a window.
    let (mut from, mut window) = (0, Vec::new());
    layout::each_run(&tensor.shape, part, |start, count| {
        let (mut at, mut left) = (start * size, count * size);
        while left > 0 {
            if at < from || at >= from + window.len() as u64 {
                from = at;
                let length = (CHUNK / 4).max(left.min(CHUNK)).min(end - at);
                file.read_to(contiguous.offset + at, length, &mut window)?;
            }
            let piece = left.min(from + window.len() as u64 - at);
            let begin = (at - from) as usize;
            picked.extend_from_slice(&window[begin..begin + piece as usize]);
            at += piece;
            left -= piece;
        }
        Ok(())
    })?;
    Ok(picked)
}

fn wrong_checksum(file: &ByteSource, range: FileRange, crc: u32) -> Option<Damage> {
    let FileRange { offset, size, checksum, .. } = range;
    let checksum = checksum.filter(|checksum| crc::masked(crc) != *checksum)?;
    Some(match crc::flipped_bit(size, crc, checksum) {
        Some(Flip::Data { byte, bit }) => {
            file.damage(offset + byte, format!("bit {bit} is flipped, as the checksum of its {size} bytes tells"))
        }
        _ => file.damage(offset, format!("the checksum of its {size} bytes is wrong")),
    })
}
