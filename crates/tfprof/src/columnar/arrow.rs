//! Arrow's stream format (IPC), written by hand, and the buffers of Arrow's arrays, which Python takes without a copy.
//!
//! Strings are not dictionary-encoded: some readers reject dictionaries that change between batches. A
//! batch is split where its strings add up, so that one long name in many rows stays in bounded memory.

use super::flatbuffer::{FieldValue, Flatbuffer, Offset};
use super::{Batch, BatchSink, Cells, Column, Field, Kind};
use std::io::{self, Write};
use std::ops::Range;

/// The buffers of an array, in Arrow's order: validity bitmap, string offsets, values.
#[derive(Debug, Default)]
pub struct ArrayBuffers {
    pub length: usize,
    pub nulls: usize,
    /// Empty if there are no nulls.
    pub validity: Vec<u8>,
    /// Only for strings: eight bytes each.
    pub offsets: Option<Vec<i64>>,
    pub values: Vec<u8>,
}

/// The maximum number of string bytes in one piece.
const PIECE_TEXT: usize = 8 << 20;

/// Splits the rows of a batch so that the strings of each piece stay small.
pub fn pieces(batch: &Batch) -> Vec<Range<usize>> {
    let texts: Vec<_> = batch
        .columns
        .iter()
        .filter_map(|column| if let Column::Texts(cells, texts) = column { Some((cells, texts)) } else { None })
        .collect();
    let mut pieces = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for row in 0..batch.rows() {
        bytes += texts.iter().filter_map(|(cells, all)| Some(all.get(cells.get(row)?).len())).sum::<usize>();
        if bytes > PIECE_TEXT {
            pieces.push(start..row + 1);
            (start, bytes) = (row + 1, 0);
        }
    }
    if start < batch.rows() {
        pieces.push(start..batch.rows());
    }
    pieces
}

/// The null count, and the validity bitmap if there are nulls.
pub fn validity(column: &Column, rows: Range<usize>) -> (usize, Vec<u8>) {
    let nulls = rows.clone().filter(|row| column.is_null(*row)).count();
    (nulls, if nulls == 0 { Vec::new() } else { bits(rows.map(|row| !column.is_null(row))) })
}

/// The buffers for a range of rows of a column.
pub fn buffers(column: &Column, rows: Range<usize>) -> ArrayBuffers {
    let length = rows.len();
    let (nulls, validity) = validity(column, rows.clone());
    let (mut offsets, mut values) = (None, Vec::new());
    match column {
        Column::Ints(cells) => values.extend(cells.values[rows].iter().flat_map(|n| n.to_le_bytes())),
        Column::Reals(cells) => values.extend(cells.values[rows].iter().flat_map(|x| x.to_le_bytes())),
        Column::Bools(cells) => values = bits(cells.values[rows].iter().copied()),
        Column::Texts(cells, texts) => {
            let mut ends = Vec::with_capacity(length + 1);
            ends.push(0);
            for text in text_numbers(cells, rows) {
                values.extend_from_slice(text.map_or("", |number| texts.get(number)).as_bytes());
                ends.push(values.len() as i64);
            }
            offsets = Some(ends);
        }
    }
    ArrayBuffers { length, nulls, validity, offsets, values }
}

fn text_numbers(cells: &Cells<u32>, rows: Range<usize>) -> impl Iterator<Item = Option<u32>> + '_ {
    rows.map(|row| cells.get(row))
}

fn bits(bits: impl Iterator<Item = bool>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (at, bit) in bits.enumerate() {
        if at % 8 == 0 {
            bytes.push(0);
        }
        if let Some(last) = bytes.last_mut() {
            *last |= u8::from(bit) << (at % 8);
        }
    }
    bytes
}

/// Numbers of the format.
const VERSION_5: FieldValue = FieldValue::I16(4);
const SCHEMA: u8 = 1;
const RECORD_BATCH: u8 = 3;
const TYPE_INT: u8 = 2;
const TYPE_FLOAT: u8 = 3;
const TYPE_BOOL: u8 = 6;
const TYPE_LARGE_UTF8: u8 = 20;
const DOUBLE: i16 = 2;

/// Writes an IPC stream. Call [`finish`](ArrowWriter::finish) after the last batch.
#[derive(Debug)]
pub struct ArrowWriter<W: Write> {
    out: W,
}

impl<W: Write> ArrowWriter<W> {
    pub fn new(out: W, fields: &[Field], metadata: &[(String, String)]) -> io::Result<ArrowWriter<W>> {
        let mut buffer = Flatbuffer::default();
        let fields: Vec<Offset> = fields.iter().map(|field| put_field(field, &mut buffer)).collect();
        let fields = buffer.refs(&fields);
        let metadata = put_metadata(metadata.iter().map(|(key, value)| (&**key, &**value)), &mut buffer);
        let schema = buffer.table(&[None, Some(FieldValue::Ref(fields)), Some(FieldValue::Ref(metadata))]);
        let message = message(buffer, SCHEMA, schema, 0);
        let mut writer = ArrowWriter { out };
        writer.message(&message)?;
        Ok(writer)
    }

    fn message(&mut self, message: &[u8]) -> io::Result<()> {
        let padded = message.len().next_multiple_of(8);
        self.out.write_all(&[0xff; 4])?;
        self.out.write_all(&(padded as u32).to_le_bytes())?;
        self.out.write_all(message)?;
        self.out.write_all(&[0; 8][..padded - message.len()])
    }

    fn piece(&mut self, batch: &Batch, rows: &Range<usize>) -> io::Result<()> {
        let arrays: Vec<ArrayBuffers> = batch.columns.iter().map(|column| buffers(column, rows.clone())).collect();
        let (mut nodes, mut places, mut length) = (Vec::new(), Vec::new(), 0);
        let mut place = |size: usize| {
            places.push((length, size as i64));
            length += size.next_multiple_of(8) as i64;
        };
        for array in &arrays {
            nodes.push((array.length as i64, array.nulls as i64));
            place(array.validity.len());
            array.offsets.iter().for_each(|offsets| place(offsets.len() * 8));
            place(array.values.len());
        }
        let mut buffer = Flatbuffer::default();
        let places = buffer.pairs(&places);
        let nodes = buffer.pairs(&nodes);
        let count = Some(FieldValue::I64(rows.len() as i64));
        let record = buffer.table(&[count, Some(FieldValue::Ref(nodes)), Some(FieldValue::Ref(places))]);
        self.message(&message(buffer, RECORD_BATCH, record, length))?;
        for array in arrays {
            self.padded(&array.validity)?;
            if let Some(offsets) = array.offsets {
                let bytes: Vec<u8> = offsets.iter().flat_map(|end| end.to_le_bytes()).collect();
                self.padded(&bytes)?;
            }
            self.padded(&array.values)?;
        }
        Ok(())
    }

    fn padded(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.out.write_all(&[0; 8][..bytes.len().next_multiple_of(8) - bytes.len()])
    }

    /// Marks the end of the stream.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.write_all(&[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0])
    }
}

impl<W: Write> BatchSink for ArrowWriter<W> {
    fn batch(&mut self, batch: &Batch) -> io::Result<()> {
        pieces(batch).iter().try_for_each(|rows| self.piece(batch, rows))
    }
}

/// The metadata of a column, as pairs of strings.
pub fn field_metadata(field: &Field) -> Vec<(&str, &str)> {
    let pairs = [("unit", field.unit), ("about", &*field.about)];
    pairs.into_iter().filter(|(_, value)| !value.is_empty()).collect()
}

fn put_metadata<'t>(pairs: impl Iterator<Item = (&'t str, &'t str)>, buffer: &mut Flatbuffer) -> Offset {
    let mut tables = Vec::new();
    for (key, value) in pairs {
        let (key, value) = (buffer.text(key), buffer.text(value));
        tables.push(buffer.table(&[Some(FieldValue::Ref(key)), Some(FieldValue::Ref(value))]));
    }
    buffer.refs(&tables)
}

fn put_field(field: &Field, buffer: &mut Flatbuffer) -> Offset {
    let metadata = put_metadata(field_metadata(field).into_iter(), buffer);
    let (number, kind) = match field.kind {
        Kind::Int => (TYPE_INT, buffer.table(&[Some(FieldValue::I32(64)), Some(FieldValue::I8(1))])),
        Kind::Real => (TYPE_FLOAT, buffer.table(&[Some(FieldValue::I16(DOUBLE))])),
        Kind::Bool => (TYPE_BOOL, buffer.table(&[])),
        Kind::Text => (TYPE_LARGE_UTF8, buffer.table(&[])),
    };
    let children = buffer.refs(&[]);
    let name = buffer.text(&field.name);
    buffer.table(&[
        Some(FieldValue::Ref(name)),
        Some(FieldValue::I8(u8::from(field.nullable))),
        Some(FieldValue::I8(number)),
        Some(FieldValue::Ref(kind)),
        None,
        Some(FieldValue::Ref(children)),
        Some(FieldValue::Ref(metadata)),
    ])
}

fn message(mut buffer: Flatbuffer, kind: u8, header: Offset, body: i64) -> Vec<u8> {
    let root = buffer.table(&[
        Some(VERSION_5),
        Some(FieldValue::I8(kind)),
        Some(FieldValue::Ref(header)),
        Some(FieldValue::I64(body)),
    ]);
    buffer.finish(root)
}

#[cfg(test)]
mod tests {
    use super::super::tests::field;
    use super::*;

    #[test]
    fn long_texts_in_many_rows_are_split() {
        let fields = [field("t", Kind::Text)];
        let mut batch = Batch::new(&fields);
        let long = "x".repeat(1 << 20);
        for _ in 0..20 {
            batch.row().text(&*long);
        }
        assert_eq!(pieces(&batch), [0..9, 9..18, 18..20]);
        let some = buffers(&batch.columns[0], 18..20);
        assert_eq!((some.length, some.nulls, some.values.len()), (2, 0, 2 << 20));
    }

    #[test]
    fn missing_cells_are_bits() {
        let fields = [field("n", Kind::Int)];
        let mut batch = Batch::new(&fields);
        for n in [Some(5), None, Some(7)] {
            batch.row().int(n);
        }
        let array = buffers(&batch.columns[0], 0..3);
        assert_eq!((array.nulls, array.validity, array.values.len()), (1, vec![0b101], 24));
        let mut writer = ArrowWriter::new(Vec::new(), &fields, &[]).unwrap();
        batch.flush(&mut writer).unwrap();
        writer.finish().unwrap();
    }
}
