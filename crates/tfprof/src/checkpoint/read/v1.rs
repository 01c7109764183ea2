//! The first format (V1): tables with a list of tensors under the empty key, and the values of each slice under a key of
//! name and bounds.

use super::byte_source::ByteSource;
use super::catalog::{Contents, Store, Tensor, name_text};
use super::layout::{self, Extent, Piece, PieceLocation};
use super::slice_key::slice_key;
use super::strings::{Data, Strings};
use super::table::Table;
use crate::checkpoint::Damage;
use crate::error::Error;
use crate::model::dtype::DType;
use std::collections::BTreeMap;
use tfprof_proto::fields::{saved_slice, saved_slice_meta, saved_tensor_slice_meta, saved_tensor_slices, tensor};
use tfprof_proto::wire::{self, Fields, Value, WireError};

/// Lists the tensors of tables, each a shard. Reads only the first block of each.
pub fn list(files: Vec<ByteSource>, damage: &mut Vec<Damage>) -> Result<Contents, Error> {
    let mut tables = Vec::new();
    let mut found: BTreeMap<Vec<u8>, ListedTensor> = BTreeMap::new();
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
        let none =
            || Damage { file: String::new(), offset: None, tensor: None, what: "no tables".to_owned(), absent: false };
        return Err(lost.into_iter().next().unwrap_or_else(none).into());
    }
    damage.extend(lost);
    let mut contents =
        Contents { tensors: Vec::with_capacity(found.len()), pieces: Vec::new(), store: Store::Tables(Vec::new()) };
    for (name, ListedTensor { dtype, shape, slices }) in found {
        let from = contents.pieces.len() as u32;
        for TableSlice { table: shard, slice } in slices {
            let key = slice_key(&name, &slice);
            if tables[shard as usize].block_of(&key).is_none() {
                let what = "its values are not in the table; is the file truncated?".to_owned();
                let table = &tables[shard as usize].file;
                damage.push(table.damage(table.len(), what).of(&name_text(&name)));
            }
            let whole = slice.iter().all(|extent| extent.start == 0 && extent.length.is_none());
            let slice = if whole { Vec::new() } else { slice };
            contents.pieces.push(Piece { shard, location: PieceLocation::TableKey(key), slice });
        }
        let pieces = from..contents.pieces.len() as u32;
        let bytes = layout::byte_size(dtype, &shape);
        contents.tensors.push(Tensor { name: name_text(&name), readable: None, dtype, shape, bytes, pieces });
    }
    contents.store = Store::Tables(tables);
    Ok(contents)
}

/// A tensor in the lists of all tables.
struct ListedTensor {
    dtype: DType,
    shape: Vec<i64>,
    slices: Vec<TableSlice>,
}

struct TableSlice {
    table: u32,
    slice: Vec<Extent>,
}

/// Reads the list of tensors of one table.
fn read_meta(
    table: &Table,
    number: u32,
    found: &mut BTreeMap<Vec<u8>, ListedTensor>,
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
    let base = block.file_offset(value.start);
    let mut fields = Fields::new(&block.bytes[value], base);
    let mut read = || -> Result<bool, WireError> {
        let mut any = false;
        while let Some(field) = fields.next_field()? {
            if let (saved_tensor_slices::META, Value::Bytes(meta)) = (field.number, field.value) {
                any = true;
                let mut meta = fields.nested(meta);
                while let Some(field) = meta.next_field()? {
                    if let (saved_tensor_slice_meta::TENSOR, Value::Bytes(tensor)) = (field.number, field.value) {
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

/// Reads a `SavedSliceMeta`.
fn read_tensor(
    mut fields: Fields<'_>,
    table: u32,
    found: &mut BTreeMap<Vec<u8>, ListedTensor>,
) -> Result<(), WireError> {
    let (mut name, mut dtype, mut shape, mut slices) = (&b""[..], DType(0), Vec::new(), Vec::new());
    while let Some(field) = fields.next_field()? {
        match (field.number, field.value) {
            (saved_slice_meta::NAME, Value::Bytes(bytes)) => name = bytes,
            (saved_slice_meta::SHAPE, Value::Bytes(bytes)) => {
                shape = layout::read_shape(fields.nested(bytes))?.unwrap_or_default();
            }
            (saved_slice_meta::TYPE, Value::Varint(n)) => dtype = DType(n as i32),
            (saved_slice_meta::SLICE, Value::Bytes(bytes)) => {
                slices.push(TableSlice { table, slice: layout::read_slice(fields.nested(bytes))? });
            }
            _ => {}
        }
    }
    let tensor = found.entry(name.to_vec()).or_insert_with(|| ListedTensor { dtype, shape, slices: Vec::new() });
    tensor.slices.append(&mut slices);
    Ok(())
}

/// Reads the values of a slice from a `SavedTensorSlices`. The caller checks their number.
pub fn read_data(mut fields: Fields<'_>, dtype: DType) -> Result<Option<Data>, WireError> {
    while let Some(field) = fields.next_field()? {
        if let (saved_tensor_slices::DATA, Value::Bytes(slice)) = (field.number, field.value) {
            let mut slice = fields.nested(slice);
            while let Some(field) = slice.next_field()? {
                if let (saved_slice::DATA, Value::Bytes(tensor)) = (field.number, field.value) {
                    return read_tensor_proto(slice.nested(tensor), dtype).map(Some);
                }
            }
        }
    }
    Ok(None)
}

/// Reads a `TensorProto`. The field with the values depends on the type, and many types share one.
fn read_tensor_proto(mut fields: Fields<'_>, dtype: DType) -> Result<Data, WireError> {
    let size = dtype.size().unwrap_or(0);
    let mut plain = Vec::new();
    let mut strings = Strings::default();
    while let Some(field) = fields.next_field()? {
        match (field.number, field.value) {
            // The bytes in memory, or packed numbers of a fixed width.
            (
                tensor::TENSOR_CONTENT
                | tensor::FLOAT_VAL
                | tensor::DOUBLE_VAL
                | tensor::SCOMPLEX_VAL
                | tensor::DCOMPLEX_VAL
                | tensor::FLOAT8_VAL,
                Value::Bytes(bytes),
            ) => plain.extend_from_slice(bytes),
            (tensor::FLOAT_VAL | tensor::SCOMPLEX_VAL, Value::Fixed32(n)) => plain.extend_from_slice(&n.to_le_bytes()),
            (tensor::DOUBLE_VAL | tensor::DCOMPLEX_VAL, Value::Fixed64(n)) => plain.extend_from_slice(&n.to_le_bytes()),
            (tensor::STRING_VAL, Value::Bytes(text)) => strings.push(text),
            (
                tensor::INT_VAL
                | tensor::INT64_VAL
                | tensor::BOOL_VAL
                | tensor::HALF_VAL
                | tensor::UINT32_VAL
                | tensor::UINT64_VAL,
                value,
            ) => {
                let each = |n: i64| plain.extend_from_slice(&n.to_le_bytes()[..size.min(8)]);
                wire::each_int(value, each).map_err(|fault| WireError { offset: field.offset, fault })?;
            }
            _ => {}
        }
    }
    Ok(if dtype == DType::STRING { Data::Strings(strings) } else { Data::Plain(plain) })
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::table;
    use super::*;
    use crate::checkpoint::Checkpoint;
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
            entries.push((slice_key(name.as_bytes(), slice), value));
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
        Checkpoint::tables(vec![ByteSource::memory("v1", bytes)])
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
