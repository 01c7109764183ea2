//! Datasets: type, shape, where the values are, and the values themselves.

use super::chunks::Index;
use super::filters::Filter;
use super::header::kind;
use super::heap::GlobalHeap;
use super::{Class, Cursor, Datatype, Hdf5, Object};
use crate::budget;
use crate::checkpoint::Damage;
use crate::checkpoint::read::{Strings, elements};

#[derive(Debug)]
pub struct Dataset {
    pub datatype: Datatype,
    /// Its own dimensions, then those of its elements.
    pub shape: Vec<i64>,
    pub layout: Layout,
    pub(super) filters: Vec<Filter>,
    /// The value of elements that were never written; empty for zeros.
    pub(super) fill: Vec<u8>,
    /// Where it is described in the file.
    pub offset: u64,
}

/// Where values are.
#[derive(Debug)]
pub enum Layout {
    /// Among the messages of the dataset.
    Compact(Vec<u8>),
    /// In one piece of the file: its offset, unless nothing was written.
    Contiguous(Option<u64>),
    Chunked(Chunked),
    /// In a way that tfprof does not read.
    Unknown(&'static str),
}

/// Values in pieces of one shape.
#[derive(Debug)]
pub struct Chunked {
    pub(super) index: Index,
    /// The dimensions of a chunk, without those of its elements.
    pub(super) dims: Vec<u64>,
    pub(super) element_size: u64,
    /// All filters are applied to pieces at the edge as well.
    pub(super) filters_edges: bool,
}

impl Hdf5 {
    /// Reads the description of a dataset.
    pub fn dataset(&self, object: &Object) -> Result<Dataset, Damage> {
        let missing = |what: &str| self.source.damage(0, format!("a dataset has no {what}; is the file damaged?"));
        let mut space = self.message(object, kind::DATASPACE)?.ok_or_else(|| missing("shape"))?;
        let mut datatype = self.message(object, kind::DATATYPE)?.ok_or_else(|| missing("type"))?;
        let offset = datatype.offset;
        let mut shape = read_dataspace(&mut space)?;
        let datatype = Datatype::read(&mut datatype)?;
        shape.extend(&datatype.inner);
        if elements(&shape).is_none() {
            return Err(space.fault(format!("the shape {shape:?} is too large")));
        }
        let mut layout = self.message(object, kind::LAYOUT)?.ok_or_else(|| missing("layout"))?;
        let filters = match self.message(object, kind::FILTERS)? {
            Some(mut filters) => Filter::read_all(&mut filters)?,
            None => Vec::new(),
        };
        let layout = self.read_layout(&mut layout, !filters.is_empty())?;
        let fill = self.read_fill(object)?;
        Ok(Dataset { datatype, shape, layout, filters, fill, offset })
    }

    fn read_layout(&self, message: &mut Cursor<'_>, filtered: bool) -> Result<Layout, Damage> {
        match message.u8()? {
            1 | 2 => self.read_old_layout(message),
            3 => match message.u8()? {
                0 => {
                    let size = usize::from(message.u16()?);
                    Ok(Layout::Compact(message.take(size)?.to_vec()))
                }
                1 => Ok(Layout::Contiguous(self.absolute(message.address()?))),
                2 => {
                    let rank = usize::from(message.u8()?);
                    let index = message.address()?.map_or(Index::Empty, Index::Tree);
                    chunked(message, index, rank, 4)
                }
                _ => Ok(Layout::Unknown("its layout is not known")),
            },
            4 => match message.u8()? {
                0 => {
                    let size = usize::from(message.u16()?);
                    Ok(Layout::Compact(message.take(size)?.to_vec()))
                }
                1 => Ok(Layout::Contiguous(self.absolute(message.address()?))),
                2 => read_new_chunks(message, filtered),
                3 => Ok(Layout::Unknown("it is virtual: its values are in other files")),
                _ => Ok(Layout::Unknown("its layout is not known")),
            },
            _ => Ok(Layout::Unknown("its layout is newer than tfprof knows")),
        }
    }

    fn read_old_layout(&self, message: &mut Cursor<'_>) -> Result<Layout, Damage> {
        let (rank, class) = (usize::from(message.u8()?), message.u8()?);
        message.skip(5)?;
        match class {
            0 => {
                message.skip(4 * rank)?;
                let size = message.u32()? as usize;
                Ok(Layout::Compact(message.take(size)?.to_vec()))
            }
            1 => Ok(Layout::Contiguous(self.absolute(message.address()?))),
            2 => {
                let index = message.address()?.map_or(Index::Empty, Index::Tree);
                chunked(message, index, rank, 4)
            }
            _ => Ok(Layout::Unknown("its layout is not known")),
        }
    }

    /// An address as an offset of the source.
    fn absolute(&self, address: Option<u64>) -> Option<u64> {
        address.map(|address| self.base.saturating_add(address))
    }

    fn read_fill(&self, object: &Object) -> Result<Vec<u8>, Damage> {
        let (size, mut message) = if let Some(mut message) = self.message(object, kind::FILL_VALUE)? {
            let version = message.u8()?;
            let defined = if version == 3 {
                message.u8()? & 0x20 != 0
            } else {
                message.skip(2)?;
                message.u8()? != 0 || version == 1
            };
            (if defined && message.left() >= 4 { message.u32()? } else { 0 }, message)
        } else if let Some(mut message) = self.message(object, kind::OLD_FILL_VALUE)? {
            (message.u32()?, message)
        } else {
            return Ok(Vec::new());
        };
        // As in the library, a size of -1 means no value.
        if size == u32::MAX { Ok(Vec::new()) } else { Ok(message.take(size as usize)?.to_vec()) }
    }

    /// The bytes of all elements, in row-major order and the file's order of bytes.
    pub fn bytes(&self, dataset: &Dataset) -> Result<Vec<u8>, Damage> {
        let size = dataset.bytes();
        let wrong = |what: String| self.source.damage(dataset.offset, what);
        let size = size.ok_or_else(|| wrong("its size is too large".to_owned()))?;
        budget::work(1 + size / super::BYTES_PER_WORK);
        match &dataset.layout {
            Layout::Compact(bytes) if bytes.len() as u64 >= size => Ok(bytes[..size as usize].to_vec()),
            Layout::Compact(bytes) => Err(wrong(format!("{} bytes are stored, its shape takes {size}", bytes.len()))),
            Layout::Contiguous(Some(offset)) => self.source.read(*offset, size),
            Layout::Contiguous(None) => Ok(dataset.filled(size)),
            Layout::Chunked(chunked) => self.chunks(dataset, chunked, size),
            Layout::Unknown(why) => Err(wrong((*why).to_owned())),
        }
    }

    /// The texts of a dataset of text.
    pub fn strings(&self, dataset: &Dataset) -> Result<Strings, Damage> {
        let bytes = self.bytes(dataset)?;
        let size = dataset.datatype.size as usize;
        let mut strings = Strings::default();
        let mut heap = GlobalHeap::new(self);
        let mut cursor = Cursor::new(self, bytes, dataset.offset);
        while cursor.left() > 0 && size > 0 {
            budget::work(1);
            match dataset.datatype.class {
                Class::Text { padding } => strings.push(padding.strip(cursor.take(size)?)),
                _ => strings.push(heap.text(&mut cursor)?),
            }
        }
        Ok(strings)
    }
}

impl Dataset {
    /// The size of all elements.
    pub fn bytes(&self) -> Option<u64> {
        elements(&self.shape)?.checked_mul(u64::from(self.datatype.size))
    }

    /// Bytes of elements that were never written.
    pub(super) fn filled(&self, size: u64) -> Vec<u8> {
        budget::reserve(size);
        if self.fill.is_empty() || self.fill.iter().all(|byte| *byte == 0) {
            return vec![0; size as usize];
        }
        let mut bytes = self.fill.repeat(size as usize / self.fill.len());
        bytes.resize(size as usize, 0);
        bytes
    }
}

/// Reads a dataspace message: the dimensions. A dataspace without any elements has the dimension 0.
pub fn read_dataspace(message: &mut Cursor<'_>) -> Result<Vec<i64>, Damage> {
    let (version, rank) = (message.u8()?, message.u8()?);
    message.u8()?;
    match version {
        1 => message.skip(5)?,
        2 => {
            if message.u8()? == 2 {
                return Ok(vec![0]);
            }
        }
        _ => return Err(message.fault(format!("version {version} of a shape is not known"))),
    }
    let mut shape = Vec::new();
    for _ in 0..rank {
        let dim = message.length()?;
        shape.push(i64::try_from(dim).map_err(|_| message.fault(format!("the dimension {dim} is too large")))?);
    }
    Ok(shape)
}

/// The dimensions of chunks; the last one is the size of an element.
fn chunked(message: &mut Cursor<'_>, index: Index, rank: usize, size: usize) -> Result<Layout, Damage> {
    let mut dims = Vec::new();
    for _ in 0..rank {
        dims.push(message.number(size)?);
    }
    let element_size = dims.pop().unwrap_or(0);
    let total = dims.iter().try_fold(element_size, |product, dim| product.checked_mul(*dim));
    if element_size == 0 || total.is_none_or(|total| total == 0) {
        return Err(message.fault("the shape of its chunks makes no sense; is the file damaged?".to_owned()));
    }
    Ok(Layout::Chunked(Chunked { index, dims, element_size, filters_edges: true }))
}

fn read_new_chunks(message: &mut Cursor<'_>, filtered: bool) -> Result<Layout, Damage> {
    let flags = message.u8()?;
    let (rank, size) = (usize::from(message.u8()?), usize::from(message.u8()?));
    if !(1..=8).contains(&size) {
        return Err(message.fault("the shape of its chunks makes no sense; is the file damaged?".to_owned()));
    }
    let mut layout = chunked(message, Index::Empty, rank, size)?;
    let kind = message.u8()?;
    let single = if kind == 1 && flags & 2 != 0 { Some((message.length()?, message.u32()?)) } else { None };
    // Settings of the index, which its own header repeats.
    message.skip(match kind {
        3 => 1,
        4 => 5,
        5 => 6,
        _ => 0,
    })?;
    let address = message.address()?;
    let Layout::Chunked(chunks) = &mut layout else { return Ok(layout) };
    chunks.filters_edges = flags & 1 == 0;
    chunks.index = match (kind, address) {
        (_, None) => Index::Empty,
        (1, Some(address)) => Index::Single { address, stored: single },
        (2, Some(address)) => Index::Implicit(address),
        (3, Some(address)) => Index::FixedArray { address, filtered },
        (4, Some(address)) => Index::ExtensibleArray { address, filtered },
        (5, Some(address)) => Index::NewTree { address, filtered },
        _ => return Ok(Layout::Unknown("the index of its chunks is not known")),
    };
    Ok(layout)
}
