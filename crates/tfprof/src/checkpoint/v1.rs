//! The first format: tables that hold a list of tensors under the empty key, and the values of each slice under a key
//! made of its name and bounds.

use super::catalog::{Listed, Store, Tensor, name_text};
use super::layout::{self, Extent, Piece, Spot};
use super::stored::Stored;
use super::table::Table;
use super::{Damage, ordered};
use crate::error::Error;
use crate::model::dtype::DType;
use std::collections::BTreeMap;
use tfprof_proto::wire::{self, Fields, Value, WireError};

/// Lists the tensors of some tables, each a shard. Only the first block of each is read.
pub fn list(files: Vec<Stored>, damage: &mut Vec<Damage>) -> Result<Listed, Error> {
    let mut tables = Vec::new();
    let mut found: BTreeMap<Vec<u8>, Found> = BTreeMap::new();
    let mut lost = Vec::new();
    for file in files {
        let table = match Table::open(file, damage) {
            Ok(table) => table,
            Err(damage) => {
                lost.push(damage);
                continue;
            }
        };
        match read_meta(&table, tables.len() as u32, &mut found, damage) {
            Ok(()) => tables.push(table),
            Err(damage) => lost.push(damage),
        }
    }
    if tables.is_empty() {
        let none = || Damage { file: String::new(), offset: None, tensor: None, what: "no tables".to_owned() };
        return Err(lost.into_iter().next().unwrap_or_else(none).into());
    }
    damage.extend(lost);
    let mut listed =
        Listed { tensors: Vec::with_capacity(found.len()), pieces: Vec::new(), store: Store::Tables(Vec::new()) };
    for (name, Found { dtype, shape, slices }) in found {
        let from = listed.pieces.len() as u32;
        for (file, slice) in slices {
            let key = ordered::slice_key(&name, &slice);
            if tables[file as usize].block_of(&key).is_none() {
                let what = "its values are not in the table; is the file truncated?".to_owned();
                let table = &tables[file as usize].file;
                damage.push(table.damage(table.len(), what).of(&name_text(&name)));
            }
            let whole = slice.iter().all(|extent| extent.start == 0 && extent.length.is_none());
            listed.pieces.push(Piece { file, spot: Spot::Key(key), slice: if whole { Vec::new() } else { slice } });
        }
        let pieces = from..listed.pieces.len() as u32;
        let bytes = layout::byte_size(dtype, &shape);
        listed.tensors.push(Tensor { name: name_text(&name), readable: None, dtype, shape, bytes, pieces });
    }
    listed.store = Store::Tables(tables);
    Ok(listed)
}

struct Found {
    dtype: DType,
    shape: Vec<i64>,
    /// Each with its table.
    slices: Vec<(u32, Vec<Extent>)>,
}

/// The list of tensors of one table.
fn read_meta(
    table: &Table,
    number: u32,
    found: &mut BTreeMap<Vec<u8>, Found>,
    damage: &mut Vec<Damage>,
) -> Result<(), Damage> {
    let file = &table.file;
    if table.blocks().is_empty() {
        return Err(file.damage(0, "the table is empty; it is no checkpoint".to_owned()));
    }
    let block = table.block(0)?;
    damage.extend(block.damage.clone());
    let missing =
        || file.damage(0, "the table has no list of tensors; it is no checkpoint of the first format".to_owned());
    let value = block.find(b"").ok_or_else(missing)?;
    let base = block.place(value.start);
    let mut fields = Fields::new(&block.bytes[value], base);
    let mut read = || -> Result<bool, WireError> {
        let mut any = false;
        while let Some(field) = fields.next_field()? {
            if let (1, Value::Bytes(meta)) = (field.number, field.value) {
                any = true;
                let mut meta = fields.nested(meta);
                while let Some(field) = meta.next_field()? {
                    if let (1, Value::Bytes(tensor)) = (field.number, field.value) {
                        read_tensor(meta.nested(tensor), number, found)?;
                    }
                }
            }
        }
        Ok(any)
    };
    match read() {
        Ok(true) => Ok(()),
        Ok(false) => Err(missing()),
        Err(error) => Err(file.damage(error.offset, error.to_string())),
    }
}

/// `SavedSliceMeta`.
fn read_tensor(mut fields: Fields<'_>, table: u32, found: &mut BTreeMap<Vec<u8>, Found>) -> Result<(), WireError> {
    let (mut name, mut dtype, mut shape, mut slices) = (&b""[..], DType(0), Vec::new(), Vec::new());
    while let Some(field) = fields.next_field()? {
        match (field.number, field.value) {
            (1, Value::Bytes(bytes)) => name = bytes,
            (2, Value::Bytes(bytes)) => shape = layout::read_shape(fields.nested(bytes))?.unwrap_or_default(),
            (3, Value::Varint(n)) => dtype = DType(n as i32),
            (4, Value::Bytes(bytes)) => slices.push((table, layout::read_slice(fields.nested(bytes))?)),
            _ => {}
        }
    }
    found.entry(name.to_vec()).or_insert_with(|| Found { dtype, shape, slices: Vec::new() }).slices.append(&mut slices);
    Ok(())
}

/// The values of a slice, from the value of its key.
#[derive(Debug)]
pub enum Saved {
    /// Elements one after the other, little-endian.
    Plain(Vec<u8>),
    /// Strings one after the other, and where each ends.
    Texts(Vec<u8>, Vec<usize>),
}

/// Reads a `SavedTensorSlices` with data. Lengths are whatever they are; the caller knows what they should be.
pub fn read_data(mut fields: Fields<'_>, dtype: DType) -> Result<Option<Saved>, WireError> {
    while let Some(field) = fields.next_field()? {
        if let (2, Value::Bytes(slice)) = (field.number, field.value) {
            let mut slice = fields.nested(slice);
            while let Some(field) = slice.next_field()? {
                if let (3, Value::Bytes(tensor)) = (field.number, field.value) {
                    return read_tensor_proto(slice.nested(tensor), dtype).map(Some);
                }
            }
        }
    }
    Ok(None)
}

/// `TensorProto`: the field that holds the values depends on the type, and many types share one.
fn read_tensor_proto(mut fields: Fields<'_>, dtype: DType) -> Result<Saved, WireError> {
    let size = dtype.size().unwrap_or(0);
    let mut plain = Vec::new();
    let (mut texts, mut ends) = (Vec::new(), Vec::new());
    while let Some(field) = fields.next_field()? {
        match (field.number, field.value) {
            // All of it as it was in memory, or fields of fixed width, or small floats.
            (4 | 5 | 6 | 9 | 12 | 18, Value::Bytes(bytes)) => plain.extend_from_slice(bytes),
            (5 | 9, Value::Fixed32(n)) => plain.extend_from_slice(&n.to_le_bytes()),
            (6 | 12, Value::Fixed64(n)) => plain.extend_from_slice(&n.to_le_bytes()),
            (8, Value::Bytes(text)) => {
                texts.extend_from_slice(text);
                ends.push(texts.len());
            }
            (7 | 10 | 11 | 13 | 16 | 17, value) => {
                let each = |n: i64| plain.extend_from_slice(&n.to_le_bytes()[..size.min(8)]);
                wire::each_int(value, each).map_err(|fault| WireError { offset: field.offset, fault })?;
            }
            _ => {}
        }
    }
    Ok(if dtype == DType::STRING { Saved::Texts(texts, ends) } else { Saved::Plain(plain) })
}

#[cfg(test)]
mod tests {
    use super::super::Checkpoint;
    use super::super::table::tests::table;
    use super::*;
    use proptest::prelude::*;
    use tfprof_proto::write;

    /// A table with a matrix of floats, its columns in two slices, and a scalar of type int64.
    fn sample(pack: bool) -> Vec<u8> {
        let columns = |start, length| [Extent { start: 0, length: None }, Extent { start, length: Some(length) }];
        let slices: [(&str, Vec<Extent>, Vec<u8>); 3] = [
            ("m", columns(0, 1).to_vec(), floats(&[0.0, 3.0])),
            ("m", columns(1, 2).to_vec(), floats(&[1.0, 2.0, 4.0, 5.0])),
            ("n", Vec::new(), vec![0x52, 1, 7]),
        ];
        let mut meta = Vec::new();
        write::message(&mut meta, 1, |out| {
            for (name, dtype, shape) in [("m", 1, &[2, 3][..]), ("n", 9, &[][..])] {
                write::message(out, 1, |out| {
                    write::bytes(out, 1, name.as_bytes());
                    write::message(out, 2, |out| {
                        shape.iter().for_each(|dim| write::message(out, 2, |out| write::int(out, 1, *dim)));
                    });
                    write::int(out, 3, dtype);
                    for (_, slice, _) in slices.iter().filter(|(of, ..)| *of == name) {
                        write::message(out, 4, |out| push_slice(out, slice));
                    }
                });
            }
        });
        let mut entries = vec![(Vec::new(), meta)];
        for (name, slice, tensor) in &slices {
            let mut value = Vec::new();
            write::message(&mut value, 2, |out| {
                write::bytes(out, 1, name.as_bytes());
                write::message(out, 2, |out| push_slice(out, slice));
                write::element(out, 3, tensor);
            });
            entries.push((ordered::slice_key(name.as_bytes(), slice), value));
        }
        entries.sort();
        table(&entries, 2, pack)
    }

    fn floats(numbers: &[f32]) -> Vec<u8> {
        let mut tensor = Vec::new();
        write::bytes(&mut tensor, 5, &numbers.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>());
        tensor
    }

    fn push_slice(out: &mut Vec<u8>, slice: &[Extent]) {
        for extent in slice {
            write::message(out, 1, |out| {
                write::int(out, 1, extent.start);
                write::int(out, 2, extent.length.unwrap_or(0));
            });
        }
    }

    fn open(bytes: Vec<u8>) -> Result<Checkpoint, Error> {
        Checkpoint::tables(vec![Stored::memory("v1", bytes)])
    }

    #[test]
    fn slices_are_put_together() {
        for pack in [false, true] {
            let checkpoint = open(sample(pack)).unwrap();
            let [m, n] = &checkpoint.tensors[..] else { panic!("{:?}", checkpoint.tensors) };
            assert_eq!((m.shape.as_slice(), m.bytes, n.bytes), (&[2, 3][..], Some(24), Some(8)));
            let numbers: Vec<u8> = (0..6_u8).flat_map(|i| f32::from(i).to_le_bytes()).collect();
            assert_eq!(checkpoint.values(m).unwrap().plain(), Some(&numbers[..]));
            assert_eq!(checkpoint.values(n).unwrap().plain(), Some(&7_i64.to_le_bytes()[..]));
            assert!(checkpoint.verify().damage.is_empty());
        }
    }

    #[test]
    fn any_flipped_bit_is_found() {
        let bytes = sample(true);
        for at in 0..bytes.len() - 48 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 2;
            let checkpoint = open(damaged).unwrap();
            assert_eq!(checkpoint.tensors.len(), 2);
            assert!(!checkpoint.verify().damage.is_empty(), "byte {at}");
        }
    }

    proptest! {
        #[test]
        fn damaged_files_end_without_a_panic(
            flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
            cut in any::<prop::sample::Index>(),
            pack in any::<bool>(),
        ) {
            let mut bytes = sample(pack);
            for (at, byte) in flips {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            if cut.index(2) == 0 {
                bytes.truncate(cut.index(bytes.len()));
            }
            if let Ok(checkpoint) = open(bytes) {
                checkpoint.verify();
            }
        }
    }
}
