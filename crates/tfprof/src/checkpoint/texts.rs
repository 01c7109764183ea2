//! What has no fixed size: strings and objects, as bundles store them.

use super::table::varint;
use super::values::runs;
use super::{Damage, crc};
use std::ops::Range;

/// The elements of a tensor or of a piece of one.
#[derive(Debug)]
pub enum Data {
    /// Elements one after the other, little-endian.
    Plain(Vec<u8>),
    /// Strings one after the other, and where each ends.
    Texts(Vec<u8>, Vec<usize>),
    /// So many objects that mean nothing outside of the program that saved them.
    Opaque(u64),
}

/// Strings of a bundle: all lengths, a checksum of them, all bytes. Gives the masked checksum of everything.
pub fn read_texts(mut bytes: Vec<u8>, count: u64) -> Result<(Data, u32), (usize, &'static str)> {
    // Each length takes a byte at least.
    if count > bytes.len() as u64 {
        return Err((0, "there are more strings than bytes"));
    }
    let (mut at, mut crc, mut end) = (0, 0, 0_usize);
    let mut ends = Vec::with_capacity(count as usize);
    for _ in 0..count {
        let begin = at;
        let length = varint(&bytes, &mut at).ok_or((begin, "the length of a string is cut short"))?;
        crc = match u32::try_from(length) {
            Ok(short) => crc32c::crc32c_append(crc, &short.to_le_bytes()),
            Err(_) => crc32c::crc32c_append(crc, &length.to_le_bytes()),
        };
        let too_long = (begin, "the length of a string runs past the end");
        end = usize::try_from(length).ok().and_then(|length| end.checked_add(length)).ok_or(too_long)?;
        if end > bytes.len() {
            return Err(too_long);
        }
        ends.push(end);
    }
    let checksum = bytes.get(at..at + 4).ok_or((at, "the checksum of the lengths is cut short"))?;
    if crc::masked(crc).to_le_bytes() != checksum {
        return Err((at, "the checksum of the lengths of its strings is wrong"));
    }
    if bytes.len() - at - 4 != end {
        return Err((at, "the lengths of its strings do not add up"));
    }
    crc = crc32c::crc32c_append(crc, &bytes[at..]);
    bytes.drain(..at + 4);
    Ok((Data::Texts(bytes, ends), crc::masked(crc)))
}

/// Variants of a bundle: a length, as many bytes, and a checksum so far, for each. Gives the masked checksum of all.
pub fn read_variants(bytes: &[u8], count: u64) -> Result<(Data, u32), (usize, &'static str)> {
    let (mut at, mut crc) = (0, 0);
    if count > bytes.len() as u64 {
        return Err((0, "there are more objects than bytes"));
    }
    for _ in 0..count {
        let begin = at;
        let length = varint(bytes, &mut at).ok_or((begin, "the length of an object is cut short"))?;
        crc = crc32c::crc32c_append(crc, &length.to_le_bytes());
        let end = usize::try_from(length).ok().and_then(|length| at.checked_add(length));
        let object =
            end.and_then(|end| bytes.get(at..end)).ok_or((begin, "the length of an object runs past the end"))?;
        crc = crc32c::crc32c_append(crc, object);
        at += object.len();
        let checksum = bytes.get(at..at + 4).ok_or((at, "the checksum of an object is cut short"))?;
        if crc::masked(crc).to_le_bytes() != checksum {
            return Err((begin, "the checksum of an object is wrong"));
        }
        crc = crc32c::crc32c_append(crc, checksum);
        at += 4;
    }
    Ok((Data::Opaque(count), crc::masked(crc)))
}

pub fn assemble_texts(shape: &[i64], total: u64, pieces: &[(Data, Vec<Range<u64>>)]) -> Result<Data, Damage> {
    let mut texts: Vec<&[u8]> = vec![b""; total as usize];
    for (data, part) in pieces {
        let Data::Texts(bytes, ends) = data else { return Ok(Data::Opaque(total)) };
        let mut number = 0;
        runs(shape, part, |start, count| {
            for text in &mut texts[start as usize..(start + count) as usize] {
                let from = if number == 0 { 0 } else { ends[number - 1] };
                *text = &bytes[from..ends[number]];
                number += 1;
            }
            Ok(())
        })?;
    }
    let (mut all, mut ends) = (Vec::new(), Vec::new());
    for text in texts {
        all.extend_from_slice(text);
        ends.push(all.len());
    }
    Ok(Data::Texts(all, ends))
}
