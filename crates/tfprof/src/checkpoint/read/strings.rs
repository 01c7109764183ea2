//! Elements without a fixed size: strings and variants, as bundles store them.

use super::lazy::Lazy;
use super::table::varint;
use super::{crc, layout};
use std::convert::Infallible;
use std::ops::Range;

/// The elements of a tensor or of a piece of one.
#[derive(Debug)]
pub enum Data {
    /// Elements of a fixed size, little-endian.
    Plain(Vec<u8>),
    Strings(Strings),
    /// Elements of a fixed size that are still in their file.
    Lazy(Lazy),
    /// The number of objects that mean nothing outside the program that saved them.
    Opaque(u64),
}

/// Concatenated strings, and where each ends.
#[derive(Debug, Default)]
pub struct Strings {
    pub bytes: Vec<u8>,
    pub ends: Vec<usize>,
}

impl Strings {
    pub fn push(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len());
    }

    pub fn get(&self, number: usize) -> Option<&[u8]> {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.bytes.get(start..*self.ends.get(number)?)
    }
}

/// Elements, and the masked checksum of their bytes.
#[derive(Debug)]
pub struct Checked {
    pub data: Data,
    pub checksum: u32,
}

/// An invalid encoding, at an offset within the tensor.
#[derive(Debug)]
pub struct Invalid {
    pub offset: usize,
    pub message: &'static str,
}

fn invalid(offset: usize, message: &'static str) -> Invalid {
    Invalid { offset, message }
}

/// Reads the strings of a bundle: all lengths, their checksum, all bytes.
pub fn read_strings(mut bytes: Vec<u8>, count: u64) -> Result<Checked, Invalid> {
    // Each length takes at least one byte.
    if count > bytes.len() as u64 {
        return Err(invalid(0, "there are more strings than bytes"));
    }
    let (mut at, mut crc, mut end) = (0, 0, 0_usize);
    let mut ends = Vec::with_capacity(count as usize);
    for _ in 0..count {
        let begin = at;
        let length = varint(&bytes, &mut at).ok_or(invalid(begin, "the length of a string is cut short"))?;
        crc = match u32::try_from(length) {
            Ok(short) => crc32c::crc32c_append(crc, &short.to_le_bytes()),
            Err(_) => crc32c::crc32c_append(crc, &length.to_le_bytes()),
        };
        let too_long = || invalid(begin, "the length of a string runs past the end");
        end = usize::try_from(length).ok().and_then(|length| end.checked_add(length)).ok_or_else(too_long)?;
        if end > bytes.len() {
            return Err(too_long());
        }
        ends.push(end);
    }
    let checksum = bytes.get(at..at + 4).ok_or(invalid(at, "the checksum of the lengths is cut short"))?;
    if crc::masked(crc).to_le_bytes() != checksum {
        return Err(invalid(at, "the checksum of the lengths of its strings is wrong"));
    }
    if bytes.len() - at - 4 != end {
        return Err(invalid(at, "the lengths of its strings do not add up"));
    }
    crc = crc32c::crc32c_append(crc, &bytes[at..]);
    bytes.drain(..at + 4);
    Ok(Checked { data: Data::Strings(Strings { bytes, ends }), checksum: crc::masked(crc) })
}

/// Reads the variants of a bundle, each with its length and a running checksum.
pub fn read_variants(bytes: &[u8], count: u64) -> Result<Checked, Invalid> {
    let (mut at, mut crc) = (0, 0);
    if count > bytes.len() as u64 {
        return Err(invalid(0, "there are more objects than bytes"));
    }
    for _ in 0..count {
        let begin = at;
        let length = varint(bytes, &mut at).ok_or(invalid(begin, "the length of an object is cut short"))?;
        crc = crc32c::crc32c_append(crc, &length.to_le_bytes());
        let end = usize::try_from(length).ok().and_then(|length| at.checked_add(length));
        let object = end
            .and_then(|end| bytes.get(at..end))
            .ok_or(invalid(begin, "the length of an object runs past the end"))?;
        crc = crc32c::crc32c_append(crc, object);
        at += object.len();
        let checksum = bytes.get(at..at + 4).ok_or(invalid(at, "the checksum of an object is cut short"))?;
        if crc::masked(crc).to_le_bytes() != checksum {
            return Err(invalid(begin, "the checksum of an object is wrong"));
        }
        crc = crc32c::crc32c_append(crc, checksum);
        at += 4;
    }
    Ok(Checked { data: Data::Opaque(count), checksum: crc::masked(crc) })
}

/// Joins the slices of a tensor, each with its ranges.
pub fn assemble_strings(shape: &[i64], total: u64, slices: &[(Data, Vec<Range<u64>>)]) -> Data {
    let mut texts: Vec<&[u8]> = vec![b""; total as usize];
    for (data, part) in slices {
        let Data::Strings(strings) = data else { return Data::Opaque(total) };
        let mut number = 0;
        let Ok(()) = layout::each_run::<Infallible>(shape, part, |start, count| {
            for text in &mut texts[start as usize..(start + count) as usize] {
                *text = strings.get(number).unwrap_or_default();
                number += 1;
            }
            Ok(())
        });
    }
    let mut all = Strings::default();
    texts.into_iter().for_each(|text| all.push(text));
    Data::Strings(all)
}
