//! The values of a tensor, or of a part of it, read by offset and put together from its slices.

use super::bundle::slice_text;
use super::catalog::{Shard, Store};
use super::crc::{self, Flip};
use super::layout::{self, Piece, Spot};
use super::stored::Stored;
use super::table::Block;
use super::texts::{Data, assemble_texts, read_texts, read_variants};
use super::v1::{self, Saved};
use super::{Checkpoint, Damage, Tensor};
use crate::model::dtype::{DType, Element};
use std::ops::Range;
use tfprof_proto::wire::Fields;

/// Elements in the order of rows.
#[derive(Debug)]
pub struct Values {
    pub dtype: DType,
    pub shape: Vec<i64>,
    data: Data,
    /// A checksum is wrong, so the values may be.
    pub damage: Vec<Damage>,
}

/// How much of a tensor is held at once while it is streamed.
const CHUNK: u64 = 256 << 10;

impl Values {
    pub fn len(&self) -> usize {
        match &self.data {
            Data::Plain(bytes) => bytes.len() / self.dtype.size().unwrap_or(1),
            Data::Texts(_, ends) => ends.len(),
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
            Data::Texts(..) => Element::Text(self.text(number).unwrap_or_default()),
            Data::Opaque(_) => Element::Opaque,
        }
    }

    /// A string of a tensor of strings.
    pub fn text(&self, number: usize) -> Option<&[u8]> {
        let Data::Texts(bytes, ends) = &self.data else { return None };
        let start = number.checked_sub(1).map_or(0, |before| ends[before]);
        bytes.get(start..*ends.get(number)?)
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
        let data = match pieces {
            [piece] if piece.slice.is_empty() => self.piece(tensor, piece).map_err(|d| d.of(&tensor.name))?,
            _ => self.assemble(tensor, pieces).map_err(|d| d.of(&tensor.name))?,
        };
        let (data, damage) = data;
        Ok(Values {
            dtype: tensor.dtype,
            shape: tensor.shape.clone(),
            data,
            damage: damage.into_iter().map(|d| d.of(&tensor.name)).collect(),
        })
    }

    /// The first values of a tensor: all of them if it is small or in slices, else no more than `count`.
    ///
    /// The shape of the answer is that of the tensor.
    pub fn first_values(&self, tensor: &Tensor, count: u64) -> Result<Values, Damage> {
        let size = tensor.dtype.size().unwrap_or(0) as u64;
        match self.plain_place(tensor) {
            Some((shard, offset, bytes)) if bytes > 4 * CHUNK && count.saturating_mul(size) < bytes => {
                let file = open_shard(shard).map_err(|d| d.of(&tensor.name))?;
                let mut bytes = file.read(offset, count * size).map_err(|d| d.of(&tensor.name))?;
                self.to_little_endian(tensor.dtype, &mut bytes);
                Ok(Values {
                    dtype: tensor.dtype,
                    shape: tensor.shape.clone(),
                    data: Data::Plain(bytes),
                    damage: Vec::new(),
                })
            }
            _ => self.values(tensor),
        }
    }

    /// The values within some ranges, one for each dimension.
    pub fn part(&self, tensor: &Tensor, part: &[Range<u64>]) -> Result<Values, Damage> {
        let shape: Vec<i64> = part.iter().map(|range| range.end.saturating_sub(range.start) as i64).collect();
        let within = tensor.shape.len() == part.len()
            && tensor.shape.iter().zip(part).all(|(dim, range)| range.start <= range.end && range.end <= *dim as u64);
        if !within {
            return Err(self.trouble(tensor, format!("{part:?} does not lie within the shape {:?}", tensor.shape)));
        }
        let wanted = layout::byte_size(tensor.dtype, &shape).unwrap_or(0);
        if let Some((shard, offset, bytes)) = self.plain_place(tensor)
            && wanted < bytes / 2
        {
            let mut data = read_part(tensor, shard, offset, part).map_err(|d| d.of(&tensor.name))?;
            self.to_little_endian(tensor.dtype, &mut data);
            return Ok(Values { dtype: tensor.dtype, shape, data: Data::Plain(data), damage: Vec::new() });
        }
        let whole = self.values(tensor)?;
        let data = match &whole.data {
            Data::Plain(bytes) => {
                let size = tensor.dtype.size().unwrap_or(1);
                let mut picked = Vec::with_capacity(wanted as usize);
                runs(&tensor.shape, part, |start, count| {
                    picked.extend_from_slice(&bytes[start as usize * size..(start + count) as usize * size]);
                    Ok(())
                })?;
                Data::Plain(picked)
            }
            Data::Texts(..) => {
                let (mut picked, mut ends) = (Vec::new(), Vec::new());
                runs(&tensor.shape, part, |start, count| {
                    for number in start..start + count {
                        picked.extend_from_slice(whole.text(number as usize).unwrap_or_default());
                        ends.push(picked.len());
                    }
                    Ok(())
                })?;
                Data::Texts(picked, ends)
            }
            Data::Opaque(_) => Data::Opaque(layout::elements(&shape).unwrap_or(0)),
        };
        Ok(Values { dtype: tensor.dtype, shape, data, damage: whole.damage })
    }

    /// Hands out the elements of a tensor, as little-endian bytes, in pieces of whole elements: in the order of rows
    /// unless the tensor is stored in slices. Only for types of a fixed size.
    ///
    /// What the checksums say is told at the end, when it is known.
    pub fn stream(&self, tensor: &Tensor, each: &mut dyn FnMut(&[u8])) -> Result<Vec<Damage>, Damage> {
        let mut damage = Vec::new();
        for piece in self.pieces_of(tensor) {
            let wrong = match (&self.store, &piece.spot) {
                (Store::Bundle { shards, .. }, Spot::At { offset, size, checksum }) => {
                    self.check_length(tensor, piece).map_err(|d| d.of(&tensor.name))?;
                    self.stream_at(tensor, shards.get(&piece.file), *offset, *size, *checksum, each)
                }
                _ => self.piece(tensor, piece).map(|(data, wrong)| {
                    if let Data::Plain(bytes) = &data {
                        each(bytes);
                    }
                    wrong
                }),
            };
            damage.extend(wrong.map_err(|d| d.of(&tensor.name))?.into_iter().map(|d| d.of(&tensor.name)));
        }
        Ok(damage)
    }

    fn stream_at(
        &self,
        tensor: &Tensor,
        shard: Option<&Shard>,
        offset: u64,
        size: u64,
        checksum: u32,
        each: &mut dyn FnMut(&[u8]),
    ) -> Result<Vec<Damage>, Damage> {
        let shard = shard.ok_or_else(|| self.trouble(tensor, "its shard is missing".to_owned()))?;
        let file = open_shard(shard).map_err(|d| d.at(offset))?;
        // A length that lies is told before anything is handed out.
        if offset.checked_add(size).is_none_or(|end| end > file.len()) {
            file.read(offset, size)?;
        }
        let mut crc = 0;
        let mut at = 0;
        let mut bytes = Vec::new();
        while at < size {
            file.read_to(offset + at, CHUNK.min(size - at), &mut bytes)?;
            crc = crc32c::crc32c_append(crc, &bytes);
            self.to_little_endian(tensor.dtype, &mut bytes);
            each(&bytes);
            at += bytes.len() as u64;
        }
        Ok(wrong_checksum(&file, offset, size, crc, checksum).into_iter().collect())
    }

    /// Where a tensor lies that is stored in one piece, in a data file, with elements of a fixed size.
    fn plain_place(&self, tensor: &Tensor) -> Option<(&Shard, u64, u64)> {
        let [piece @ Piece { spot: Spot::At { offset, size, .. }, .. }] = self.pieces_of(tensor) else { return None };
        let Store::Bundle { shards, .. } = &self.store else { return None };
        let fits = piece.slice.is_empty() && layout::byte_size(tensor.dtype, &tensor.shape) == Some(*size);
        let shard = shards.get(&piece.file)?;
        let there = offset.checked_add(*size).is_some_and(|end| shard.length.is_some_and(|length| end <= length));
        (fits && there).then_some((shard, *offset, *size))
    }

    /// The elements of one piece, in the order of its rows.
    fn piece(&self, tensor: &Tensor, piece: &Piece) -> Result<(Data, Vec<Damage>), Damage> {
        let count = self.check_length(tensor, piece)?;
        match (&self.store, &piece.spot) {
            (Store::Bundle { shards, big_endian, .. }, Spot::At { offset, size, checksum }) => {
                let shard = shards.get(&piece.file);
                let shard = shard.ok_or_else(|| self.trouble(tensor, "its shard is missing".to_owned()))?;
                let file = open_shard(shard).map_err(|d| d.at(*offset))?;
                let mut bytes = file.read(*offset, *size)?;
                if tensor.dtype.size().is_some() {
                    let wrong = wrong_checksum(&file, *offset, *size, crc32c::crc32c(&bytes), *checksum);
                    self.to_little_endian(tensor.dtype, &mut bytes);
                    return Ok((Data::Plain(bytes), wrong.into_iter().collect()));
                }
                let read =
                    if tensor.dtype == DType::STRING { read_texts(bytes, count) } else { read_variants(&bytes, count) };
                let (data, found) = read.map_err(|(at, what)| file.damage(offset + at as u64, what.to_owned()))?;
                let wrong = (found != *checksum && !big_endian)
                    .then(|| file.damage(*offset, format!("the checksum of its {size} bytes is wrong")));
                Ok((data, wrong.into_iter().collect()))
            }
            (Store::Tables(tables), Spot::Key(key)) => {
                let table = &tables[piece.file as usize];
                let lost =
                    || self.trouble(tensor, format!("its values {} are not in the table", slice_text(&piece.slice)));
                let number = table.block_of(key).ok_or_else(lost)?;
                self.with_block(piece.file, number, |block| {
                    let value = block.find(key).ok_or_else(lost)?;
                    let fields = Fields::new(&block.bytes[value.clone()], block.place(value.start));
                    let wire =
                        |error: tfprof_proto::wire::WireError| table.file.damage(error.offset, error.to_string());
                    let saved = v1::read_data(fields, tensor.dtype).map_err(wire)?.ok_or_else(lost)?;
                    let (data, found) = match saved {
                        Saved::Plain(bytes) => {
                            let found = bytes.len() as u64 / tensor.dtype.size().unwrap_or(1) as u64;
                            (Data::Plain(bytes), found)
                        }
                        Saved::Texts(bytes, ends) => {
                            let found = ends.len() as u64;
                            (Data::Texts(bytes, ends), found)
                        }
                    };
                    if tensor.dtype.size().is_none() && tensor.dtype != DType::STRING {
                        return Ok((Data::Opaque(count), Vec::new()));
                    }
                    if found != count {
                        let what = format!("{found} values are stored, the shape says {count}");
                        return Err(table.file.damage(block.place(value.start), what));
                    }
                    let wrong = block.damage.clone().filter(|d| d.offset.is_none_or(|at| block.covers(&value, at)));
                    Ok((data, wrong.into_iter().collect()))
                })
            }
            _ => Err(self.trouble(tensor, "its values are not where they should be".to_owned())),
        }
    }

    /// Calls `use_it` with a block of a table, which is often the block that was used last.
    fn with_block<T>(
        &self,
        table: u32,
        number: usize,
        use_it: impl FnOnce(&Block) -> Result<T, Damage>,
    ) -> Result<T, Damage> {
        let Store::Tables(tables) = &self.store else {
            return Err(Damage { file: self.name.clone(), offset: None, tensor: None, what: "no table".to_owned() });
        };
        let taken = self.last_block.lock().ok().and_then(|mut last| last.take());
        let block = match taken {
            Some((of, n, block)) if of == table && n == number => block,
            _ => tables[table as usize].block(number)?,
        };
        let answer = use_it(&block);
        if let Ok(mut last) = self.last_block.lock() {
            *last = Some((table, number, block));
        }
        answer
    }

    /// Whether the bytes of a tensor can be handed out as they come.
    pub(super) fn is_streamed(&self, tensor: &Tensor) -> bool {
        matches!(self.store, Store::Bundle { .. }) && tensor.dtype.size().is_some()
    }

    /// Whether the slices of a tensor are all of it.
    pub(super) fn check_cover(&self, tensor: &Tensor) -> Result<(), Damage> {
        let mut have = 0_u64;
        for piece in self.pieces_of(tensor) {
            have = have.saturating_add(self.check_length(tensor, piece)?);
        }
        let total = tensor.elements().unwrap_or(0);
        if have == total {
            Ok(())
        } else {
            Err(self.trouble(tensor, format!("its slices hold {have} of {total} values")))
        }
    }

    /// Some elements of a tensor that is stored in one piece, as little-endian bytes.
    pub(super) fn elements_at(&self, tensor: &Tensor, from: u64, count: u64) -> Result<Vec<u8>, Damage> {
        let size = tensor.dtype.size().unwrap_or(1) as u64;
        if let Some((shard, offset, _)) = self.plain_place(tensor) {
            let file = open_shard(shard).map_err(|d| d.of(&tensor.name))?;
            let mut bytes = file.read(offset + from * size, count * size).map_err(|d| d.of(&tensor.name))?;
            self.to_little_endian(tensor.dtype, &mut bytes);
            return Ok(bytes);
        }
        let values = self.values(tensor)?;
        let bytes = values.plain().unwrap_or_default();
        Ok(bytes[(from * size) as usize..((from + count) * size) as usize].to_vec())
    }

    /// How many elements a piece has, if that agrees with its length.
    fn check_length(&self, tensor: &Tensor, piece: &Piece) -> Result<u64, Damage> {
        let lie = |what: String| Err(self.trouble(tensor, what));
        if !tensor.dtype.is_known() {
            return lie(format!("its type {} is not known", tensor.dtype.0));
        }
        let Some(part) = layout::ranges(&tensor.shape, &piece.slice) else {
            return lie(format!("its shape {:?} makes no sense", tensor.shape));
        };
        let shape: Vec<i64> = part.iter().map(|range| (range.end - range.start) as i64).collect();
        let Some(count) = layout::elements(&shape) else { return lie(format!("its shape {shape:?} is too large")) };
        if let Spot::At { size, .. } = piece.spot
            && tensor.dtype.size().is_some_and(|each| count.checked_mul(each as u64) != Some(size))
        {
            return lie(format!("{size} bytes are no {} of shape {shape:?}", tensor.dtype.name()));
        }
        Ok(count)
    }

    /// Puts a tensor together that is stored in slices.
    fn assemble(&self, tensor: &Tensor, pieces: &[Piece]) -> Result<(Data, Vec<Damage>), Damage> {
        let Some(total) = tensor.elements() else {
            return Err(self.trouble(tensor, format!("its shape {:?} makes no sense", tensor.shape)));
        };
        self.check_cover(tensor)?;
        // Slices that share bytes could claim any size; honest ones fit into their files together.
        let claimed = total.saturating_mul(tensor.dtype.size().unwrap_or(1) as u64);
        if claimed > self.room(tensor) {
            return Err(self.trouble(tensor, format!("its slices claim {claimed} bytes, more than its files have")));
        }
        // Each slice is read before room is made for it, so no shape is believed that no bytes stand behind.
        let (mut read, mut damage) = (Vec::new(), Vec::new());
        for piece in pieces {
            let (data, wrong) = self.piece(tensor, piece)?;
            read.push((data, layout::ranges(&tensor.shape, &piece.slice).unwrap_or_default()));
            damage.extend(wrong);
        }
        let Some(size) = tensor.dtype.size() else {
            return Ok((assemble_texts(&tensor.shape, total, &read)?, damage));
        };
        let mut all = vec![0; total as usize * size];
        for (data, part) in &read {
            let Data::Plain(bytes) = data else { continue };
            let mut at = 0;
            runs(&tensor.shape, part, |start, count| {
                let (start, length) = (start as usize * size, count as usize * size);
                all[start..start + length].copy_from_slice(&bytes[at..at + length]);
                at += length;
                Ok(())
            })?;
        }
        Ok((Data::Plain(all), damage))
    }

    /// No more bytes than this can be behind a tensor.
    fn room(&self, tensor: &Tensor) -> u64 {
        let length = |shard: u32| match &self.store {
            Store::Bundle { shards, .. } => shards.get(&shard).and_then(|shard| shard.length).unwrap_or(0),
            // Blocks may be packed, and small numbers take less room in a message than in memory.
            Store::Tables(tables) => tables.get(shard as usize).map_or(0, |table| table.file.len().saturating_mul(256)),
        };
        self.shards(tensor).into_iter().fold(0, |sum, shard| sum.saturating_add(length(shard)))
    }

    fn to_little_endian(&self, dtype: DType, bytes: &mut [u8]) {
        if let Store::Bundle { big_endian: true, .. } = &self.store {
            bytes.chunks_exact_mut(dtype.number_size()).for_each(<[u8]>::reverse);
        }
    }

    fn trouble(&self, tensor: &Tensor, what: String) -> Damage {
        let first = self.pieces_of(tensor).first();
        let offset = first.and_then(|piece| match piece.spot {
            Spot::At { offset, .. } => Some(offset),
            Spot::Key(_) => None,
        });
        let file = first.map_or_else(|| self.name.clone(), |piece| self.file_name(piece.file));
        Damage { file, offset, tensor: Some(tensor.name.clone()), what }
    }
}

pub(super) fn runs(
    shape: &[i64],
    part: &[Range<u64>],
    each: impl FnMut(u64, u64) -> Result<(), Damage>,
) -> Result<(), Damage> {
    layout::each_run(shape, part, each)
}

fn open_shard(shard: &Shard) -> Result<Stored, Damage> {
    Stored::open(&shard.path).map_err(|error| {
        let missing = error.kind() == std::io::ErrorKind::NotFound;
        let what = if missing { "this shard is missing".to_owned() } else { format!("cannot open: {error}") };
        Damage { file: shard.path.display().to_string(), offset: None, tensor: None, what }
    })
}

fn read_part(tensor: &Tensor, shard: &Shard, offset: u64, part: &[Range<u64>]) -> Result<Vec<u8>, Damage> {
    let file = open_shard(shard)?;
    let size = tensor.dtype.size().unwrap_or(1) as u64;
    let end = layout::byte_size(tensor.dtype, &tensor.shape).unwrap_or(0);
    let mut picked = Vec::new();
    // Runs are short where a part has few columns, so they are taken from a window.
    let (mut from, mut window) = (0, Vec::new());
    runs(&tensor.shape, part, |start, count| {
        let (mut at, mut left) = (start * size, count * size);
        while left > 0 {
            if at < from || at >= from + window.len() as u64 {
                from = at;
                file.read_to(offset + at, (CHUNK / 4).max(left.min(CHUNK)).min(end - at), &mut window)?;
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

fn wrong_checksum(file: &Stored, offset: u64, size: u64, crc: u32, stored: u32) -> Option<Damage> {
    if crc::masked(crc) == stored {
        return None;
    }
    Some(match crc::flipped_bit(size, crc, stored) {
        Some(Flip::Data { byte, bit }) => {
            file.damage(offset + byte, format!("bit {bit} is flipped, as the checksum of its {size} bytes tells"))
        }
        _ => file.damage(offset, format!("the checksum of its {size} bytes is wrong")),
    })
}
