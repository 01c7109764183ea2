//! Safetensors: the length of a header, the header as JSON (names, types, shapes, offsets), then the bytes of all tensors.

use super::ByteSource;
use super::arrays::ArrayLister;
use super::catalog::Shard;
use super::layout::{self, FileRange, PieceLocation};
use crate::checkpoint::Damage;
use crate::model::dtype::DType;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use std::path::Path;
use std::{fmt, str};

/// The writer's library takes no larger header.
const MAX_HEADER: u64 = 100_000_000;

/// Whether a file starts like one of these: a length, then a JSON object.
pub fn recognizes(head: &[u8]) -> bool {
    let Some((length, rest)) = head.split_first_chunk::<8>() else { return false };
    let length = u64::from_le_bytes(*length);
    (2..=MAX_HEADER).contains(&length) && rest.starts_with(b"{") && (rest.starts_with(b"{\"") || length == 2)
}

/// An entry of the header.
#[derive(Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<i64>,
    data_offsets: [u64; 2],
}

/// Lists the tensors of one file.
pub fn list(source: &ByteSource, path: &Path, lister: &mut ArrayLister<'_>) -> Result<(), Damage> {
    let file = Shard { path: path.to_owned(), length: Some(source.len()) };
    let shard = lister.add_file(file);
    let length = source.read(0, 8.min(source.len()))?;
    let length = <[u8; 8]>::try_from(&length[..]).map(u64::from_le_bytes);
    let length = length.ok().filter(|length| *length <= MAX_HEADER);
    let length =
        length.ok_or_else(|| source.damage(0, "this is no safetensors file: its header is missing".to_owned()))?;
    let header = source.read(8, length)?;
    let start = 8 + length;
    let mut reader = serde_json::Deserializer::from_slice(&header);
    let mut add = |name: String, entry: Entry| add(source, start, shard, name, entry, lister);
    let read = reader.deserialize_map(Header(&mut add));
    read.map_err(|error| source.damage(8, format!("the header of this safetensors file is damaged: {error}")))
}

fn add(source: &ByteSource, start: u64, shard: u32, name: String, entry: Entry, lister: &mut ArrayLister<'_>) {
    let Entry { dtype, shape, data_offsets: [from, to] } = entry;
    let size = to.saturating_sub(from);
    let offset = start.saturating_add(from);
    let mut report = |what: String| lister.damage.push(source.damage(offset, what).of(&name));
    if to < from || start.saturating_add(to) > source.len() {
        let left = source.len().saturating_sub(offset);
        report(format!("{size} bytes run past the end of the file ({left} bytes left); is it truncated?"));
    }
    let known = type_of(&dtype);
    if known.is_none() {
        report(format!("its type `{dtype}` is not known; its values cannot be read"));
    } else if known.is_some_and(|known| layout::byte_size(known, &shape) != Some(size)) {
        report(format!("{size} bytes are no {dtype} of shape {shape:?}"));
    }
    let range = FileRange { offset, size, checksum: None, big_endian: false };
    lister.add(name, None, known.unwrap_or(DType::VARIANT), shape, Some(size), shard, PieceLocation::DataFile(range));
}

/// The types by their names in the header.
fn type_of(name: &str) -> Option<DType> {
    DType::named(match name {
        "F64" => "float64",
        "F32" => "float32",
        "F16" => "float16",
        "BF16" => "bfloat16",
        "F8_E4M3" => "float8_e4m3fn",
        "F8_E5M2" => "float8_e5m2",
        "F8_E4M3FNUZ" => "float8_e4m3fnuz",
        "F8_E5M2FNUZ" => "float8_e5m2fnuz",
        "C64" => "complex64",
        "I64" => "int64",
        "I32" => "int32",
        "I16" => "int16",
        "I8" => "int8",
        "U64" => "uint64",
        "U32" => "uint32",
        "U16" => "uint16",
        "U8" => "uint8",
        "BOOL" => "bool",
        _ => return None,
    })
}

/// Passes the entries of a header on, without a map of them.
struct Header<'a>(&'a mut dyn FnMut(String, Entry));

impl<'de> Visitor<'de> for Header<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of tensors")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        while let Some(name) = map.next_key::<String>()? {
            crate::budget::work(1);
            if name == "__metadata__" {
                map.next_value::<IgnoredAny>()?;
            } else {
                let entry = map.next_value()?;
                (self.0)(name, entry);
            }
        }
        Ok(())
    }
}

/// The files that an index of shards names: each once, in order.
pub fn index_files(bytes: &[u8]) -> Result<Vec<String>, String> {
    #[derive(Deserialize)]
    struct Index {
        weight_map: std::collections::BTreeMap<String, String>,
    }
    let index: Index = serde_json::from_slice(bytes).map_err(|error| format!("this index is damaged: {error}"))?;
    let mut files: Vec<String> = index.weight_map.into_values().collect();
    files.sort();
    files.dedup();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_tell() {
        let file = |header: &str| [&(header.len() as u64).to_le_bytes()[..], header.as_bytes()].concat();
        assert!(recognizes(&file("{}")));
        assert!(recognizes(&file(r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#)));
        assert!(!recognizes(&file("[1, 2]")));
        assert!(!recognizes(b"{\"a\": 1}"));
    }

    #[test]
    fn an_index_names_each_file_once() {
        let index = br#"{"metadata":{},"weight_map":{"a":"2.safetensors","b":"1.safetensors","c":"2.safetensors"}}"#;
        assert_eq!(index_files(index), Ok(vec!["1.safetensors".to_owned(), "2.safetensors".to_owned()]));
        assert!(index_files(b"{}").is_err());
    }
}
