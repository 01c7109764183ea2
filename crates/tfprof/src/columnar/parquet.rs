//! Parquet, written by hand: each batch is a row group, with dictionaries, statistics and Snappy. One batch is in memory.
//!
//! The crate `parquet` has 60 dependencies, even without its `arrow` feature; a writer needs a small part of the format.

use super::ints::{dictionary, push_deltas, push_hybrid, width_of};
use super::thrift::Thrift;
use super::{Batch, BatchSink, Cells, Column, Dictionary, Field, Kind};
use std::io::{self, Write};

const MAGIC: &[u8; 4] = b"PAR1";

/// Numbers of the format.
const PLAIN: i32 = 0;
const RLE: i32 = 3;
const DELTA_BINARY_PACKED: i32 = 5;
const RLE_DICTIONARY: i32 = 8;
const DATA_PAGE: i32 = 0;
const DICTIONARY_PAGE: i32 = 2;
const UNCOMPRESSED: i32 = 0;
const SNAPPY: i32 = 1;

/// Longer strings get no statistics.
const LONGEST_STATISTIC: usize = 256;

/// Writes a file. Call [`finish`](ParquetWriter::finish) after the last batch.
#[derive(Debug)]
pub struct ParquetWriter<'o, W: Write> {
    out: W,
    fields: &'o [Field],
    written: u64,
    groups: Vec<Group>,
    rows: u64,
    metadata: Vec<(String, String)>,
    page: Vec<u8>,
}

#[derive(Debug)]
struct Group {
    chunks: Vec<Chunk>,
    rows: u64,
    offset: u64,
}

/// The pages of one column in one row group.
#[derive(Debug)]
struct Chunk {
    encoding: i32,
    codec: i32,
    dictionary_offset: Option<u64>,
    data_offset: u64,
    unpacked: u64,
    packed: u64,
    values: u64,
    nulls: u64,
    /// The smallest and the largest value.
    range: Option<(Vec<u8>, Vec<u8>)>,
}

/// The values of a chunk, before compression.
#[derive(Default)]
struct Encoded {
    encoding: i32,
    /// The dictionary's values, and how many.
    dictionary: Option<(Vec<u8>, usize)>,
    data: Vec<u8>,
    range: Option<(Vec<u8>, Vec<u8>)>,
}

impl<'o, W: Write> ParquetWriter<'o, W> {
    pub fn new(mut out: W, fields: &'o [Field], metadata: Vec<(String, String)>) -> io::Result<Self> {
        out.write_all(MAGIC)?;
        let written = MAGIC.len() as u64;
        Ok(ParquetWriter { out, fields, written, groups: Vec::new(), rows: 0, metadata, page: Vec::new() })
    }

    /// Writes the footer.
    pub fn finish(mut self) -> io::Result<W> {
        let footer = self.footer();
        self.out.write_all(&footer)?;
        self.out.write_all(&(footer.len() as u32).to_le_bytes())?;
        self.out.write_all(MAGIC)?;
        Ok(self.out)
    }

    fn chunk(&mut self, field: &Field, column: &Column, rows: usize) -> io::Result<Chunk> {
        self.page.clear();
        if field.nullable {
            push_levels(column, rows, &mut self.page);
        }
        let mut encoded = encode(column);
        self.page.append(&mut encoded.data);
        let Encoded { encoding, dictionary, range, .. } = encoded;
        let data = std::mem::take(&mut self.page);
        let packed = [dictionary.as_ref().map_or(&[][..], |(bytes, _)| bytes), &data].map(compressed);
        let plain_size = data.len() + dictionary.as_ref().map_or(0, |(bytes, _)| bytes.len());
        let packs = packed.iter().map(Vec::len).sum::<usize>() < plain_size - plain_size / 16;
        let codec = if packs { SNAPPY } else { UNCOMPRESSED };
        let (start, mut unpacked) = (self.written, 0);
        let dictionary_offset = dictionary.as_ref().map(|_| start);
        if let Some((bytes, count)) = &dictionary {
            let page = if packs { &packed[0] } else { bytes };
            unpacked += self.page(DICTIONARY_PAGE, bytes.len(), page, |header| {
                header.nested(7, |header| {
                    header.i32(1, *count as i32);
                    header.i32(2, PLAIN);
                });
            })?;
        }
        let data_offset = self.written;
        unpacked += self.page(DATA_PAGE, data.len(), if packs { &packed[1] } else { &data }, |header| {
            header.nested(5, |header| {
                header.i32(1, rows as i32);
                header.i32(2, encoding);
                header.i32(3, RLE);
                header.i32(4, RLE);
            });
        })?;
        self.page = data;
        let (nulls, packed) = (column.nulls() as u64, self.written - start);
        let values = rows as u64;
        Ok(Chunk { encoding, codec, dictionary_offset, data_offset, unpacked, packed, values, nulls, range })
    }

    /// Writes a page and returns its size before compression, header included.
    fn page(&mut self, kind: i32, size: usize, bytes: &[u8], about: impl FnOnce(&mut Thrift)) -> io::Result<u64> {
        let number = |size: usize| i32::try_from(size).map_err(|_| io::Error::other("a page of more than 2 GB"));
        let mut header = Thrift::default();
        header.begin();
        header.i32(1, kind);
        header.i32(2, number(size)?);
        header.i32(3, number(bytes.len())?);
        about(&mut header);
        header.end();
        self.out.write_all(&header.bytes)?;
        self.out.write_all(bytes)?;
        self.written += (header.bytes.len() + bytes.len()) as u64;
        Ok((header.bytes.len() + size) as u64)
    }

    fn footer(&self) -> Vec<u8> {
        let mut footer = Thrift::default();
        footer.begin();
        footer.i32(1, 2);
        // The root, then the columns.
        let elements: Vec<Option<&Field>> = std::iter::once(None).chain(self.fields.iter().map(Some)).collect();
        footer.structs(2, &elements, |element, field| match field {
            None => {
                element.binary(4, b"schema");
                element.i32(5, self.fields.len() as i32);
            }
            Some(field) => {
                element.i32(1, physical(field.kind));
                element.i32(3, i32::from(field.nullable));
                element.binary(4, field.name.as_bytes());
                if field.kind == Kind::Text {
                    element.i32(6, 0);
                    element.nested(10, |logical| logical.nested(1, |_| {}));
                }
            }
        });
        footer.i64(3, self.rows as i64);
        footer.structs(4, &self.groups, |thrift, group| self.group(thrift, group));
        footer.structs(5, &self.metadata, |pair, (key, value)| {
            pair.binary(1, key.as_bytes());
            pair.binary(2, value.as_bytes());
        });
        footer.binary(6, concat!("tfprof version ", env!("CARGO_PKG_VERSION")).as_bytes());
        // The order of each column is that of its type, which makes the statistics mean something.
        footer.structs(7, self.fields, |order, _| order.nested(1, |_| {}));
        footer.end();
        footer.bytes
    }

    fn group(&self, thrift: &mut Thrift, group: &Group) {
        let chunks: Vec<(&Field, &Chunk)> = self.fields.iter().zip(&group.chunks).collect();
        thrift.structs(1, &chunks, |thrift, (field, chunk)| {
            thrift.i64(2, 0);
            thrift.nested(3, |meta| {
                meta.i32(1, physical(field.kind));
                let encodings = if chunk.dictionary_offset.is_some() {
                    vec![PLAIN, RLE, RLE_DICTIONARY]
                } else {
                    vec![RLE, chunk.encoding]
                };
                meta.i32_list(2, &encodings);
                meta.texts(3, &[&field.name]);
                meta.i32(4, chunk.codec);
                meta.i64(5, chunk.values as i64);
                meta.i64(6, chunk.unpacked as i64);
                meta.i64(7, chunk.packed as i64);
                meta.i64(9, chunk.data_offset as i64);
                if let Some(offset) = chunk.dictionary_offset {
                    meta.i64(11, offset as i64);
                }
                meta.nested(12, |statistics| {
                    statistics.i64(3, chunk.nulls as i64);
                    if let Some((least, most)) = &chunk.range {
                        statistics.binary(5, most);
                        statistics.binary(6, least);
                    }
                });
            });
        });
        let sum = |size: fn(&Chunk) -> u64| group.chunks.iter().map(size).sum::<u64>() as i64;
        thrift.i64(2, sum(|chunk| chunk.unpacked));
        thrift.i64(3, group.rows as i64);
        thrift.i64(5, group.offset as i64);
        thrift.i64(6, sum(|chunk| chunk.packed));
    }
}

impl<W: Write> BatchSink for ParquetWriter<'_, W> {
    fn batch(&mut self, batch: &Batch) -> io::Result<()> {
        let offset = self.written;
        let mut chunks = Vec::with_capacity(batch.columns.len());
        for (field, column) in self.fields.iter().zip(&batch.columns) {
            chunks.push(self.chunk(field, column, batch.rows())?);
        }
        let rows = batch.rows() as u64;
        self.groups.push(Group { chunks, rows, offset });
        self.rows += rows;
        Ok(())
    }
}

fn physical(kind: Kind) -> i32 {
    match kind {
        Kind::Bool => 0,
        Kind::Int => 2,
        Kind::Real => 5,
        Kind::Text => 6,
    }
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    if bytes.is_empty() {
        return Vec::new();
    }
    // Only pages beyond 4 GB fail, and those are refused by their headers.
    snap::raw::Encoder::new().compress_vec(bytes).unwrap_or_else(|_| bytes.to_vec())
}

/// The definition levels of an optional column: which cells are present.
fn push_levels(column: &Column, rows: usize, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    if column.nulls() == 0 {
        push_hybrid_run(1, rows, out);
    } else {
        let levels: Vec<u32> = (0..rows).map(|row| u32::from(!column.is_null(row))).collect();
        push_hybrid(&levels, 1, out);
    }
    let length = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

/// One run of equal bits.
fn push_hybrid_run(value: u8, count: usize, out: &mut Vec<u8>) {
    super::thrift::push_varint(out, (count as u64) << 1);
    out.push(value);
}

fn encode(column: &Column) -> Encoded {
    match column {
        Column::Ints(cells) => encode_ints(&cells.present()),
        Column::Reals(cells) => {
            let data = cells.present().iter().flat_map(|x| x.to_le_bytes()).collect();
            Encoded { encoding: PLAIN, data, ..Encoded::default() }
        }
        Column::Bools(cells) => {
            let eight = |bits: &[bool]| bits.iter().zip(0..).fold(0, |byte, (bit, at)| byte | u8::from(*bit) << at);
            Encoded { encoding: PLAIN, data: cells.present().chunks(8).map(eight).collect(), ..Encoded::default() }
        }
        Column::Texts(cells, texts) => encode_texts(cells, texts),
    }
}

fn encode_ints(numbers: &[i64]) -> Encoded {
    let range = |numbers: &[i64]| {
        let (least, most) = (numbers.iter().min()?, numbers.iter().max()?);
        Some((least.to_le_bytes().to_vec(), most.to_le_bytes().to_vec()))
    };
    if let Some((values, places)) = dictionary(numbers) {
        let bytes = values.iter().flat_map(|n| n.to_le_bytes()).collect();
        let data = indices(&places, values.len());
        return Encoded {
            encoding: RLE_DICTIONARY,
            dictionary: Some((bytes, values.len())),
            data,
            range: range(&values),
        };
    }
    let mut data = Vec::with_capacity(numbers.len() * 4);
    push_deltas(numbers, &mut data);
    Encoded { encoding: DELTA_BINARY_PACKED, dictionary: None, data, range: range(numbers) }
}

fn encode_texts(cells: &Cells<u32>, texts: &Dictionary) -> Encoded {
    let mut bytes = Vec::new();
    let all = || (0..texts.len() as u32).map(|at| texts.get(at));
    for text in all() {
        bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
        bytes.extend_from_slice(text.as_bytes());
    }
    let short = |text: &&str| text.len() <= LONGEST_STATISTIC;
    let ends = all().min().filter(short).zip(all().max().filter(short));
    let range = ends.map(|(least, most)| (least.as_bytes().to_vec(), most.as_bytes().to_vec()));
    let data = indices(&cells.present(), texts.len());
    Encoded { encoding: RLE_DICTIONARY, dictionary: Some((bytes, texts.len())), data, range }
}

/// Dictionary indices: their bit width, then the RLE/bit-packed runs.
fn indices(places: &[u32], values: usize) -> Vec<u8> {
    let width = width_of(values.saturating_sub(1) as u64).max(1);
    let mut data = vec![width as u8];
    push_hybrid(places, width, &mut data);
    data
}

#[cfg(test)]
mod tests {
    use super::super::tests::field;
    use super::*;

    #[test]
    fn a_file_begins_and_ends_with_its_mark() {
        let fields = [field("n", Kind::Int), field("t", Kind::Text), field("x", Kind::Real), field("b", Kind::Bool)];
        let mut writer = ParquetWriter::new(Vec::new(), &fields, Vec::new()).unwrap();
        let mut batch = Batch::new(&fields);
        batch.row().int(1).text("evil\0\u{1f}\"").real(0.5).bool(true);
        batch.row().int(None).text(None).real(None).bool(None);
        batch.flush(&mut writer).unwrap();
        let bytes = writer.finish().unwrap();
        assert!(bytes.starts_with(MAGIC) && bytes.ends_with(MAGIC));
        let length = u32::from_le_bytes(bytes[bytes.len() - 8..][..4].try_into().unwrap()) as usize;
        let footer = &bytes[bytes.len() - 8 - length..];
        assert!(footer.windows(6).any(|part| part == b"schema"));
    }

    #[test]
    fn an_empty_table_is_a_file_too() {
        let fields = [field("n", Kind::Int)];
        let bytes = ParquetWriter::new(Vec::new(), &fields, Vec::new()).unwrap().finish().unwrap();
        assert!(bytes.starts_with(MAGIC) && bytes.ends_with(MAGIC));
    }
}
