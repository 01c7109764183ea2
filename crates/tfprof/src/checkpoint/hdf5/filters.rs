//! Filters of chunks, undone: deflate, shuffle, checksums and LZF. Others are named.

use super::{Cursor, Hdf5};
use crate::budget;
use crate::checkpoint::Damage;
use flate2::read::ZlibDecoder;
use std::io::Read;

#[derive(Debug)]
pub struct Filter {
    id: u16,
    name: Vec<u8>,
    settings: Vec<u32>,
}

const DEFLATE: u16 = 1;
const SHUFFLE: u16 = 2;
const FLETCHER: u16 = 3;
const LZF: u16 = 32000;

impl Filter {
    /// Reads a filter pipeline message.
    pub fn read_all(message: &mut Cursor<'_>) -> Result<Vec<Filter>, Damage> {
        let (version, count) = (message.u8()?, message.u8()?);
        if version == 1 {
            message.skip(6)?;
        }
        let mut filters = Vec::new();
        for _ in 0..count {
            let id = message.u16()?;
            let named = version == 1 || id >= 256;
            let length = if named { usize::from(message.u16()?) } else { 0 };
            message.skip(2)?;
            let count = usize::from(message.u16()?);
            let length = if version == 1 { length.next_multiple_of(8) } else { length };
            let name = message.take(length)?.iter().copied().take_while(|byte| *byte != 0).collect();
            let settings = (0..count).map(|_| message.u32()).collect::<Result<_, _>>()?;
            if version == 1 && count % 2 == 1 {
                message.skip(4)?;
            }
            filters.push(Filter { id, name, settings });
        }
        Ok(filters)
    }
}

/// Undoes the filters of a chunk, last one first. `mask` has a bit for each filter that was left out.
pub fn undo(
    file: &Hdf5,
    filters: &[Filter],
    mask: u32,
    mut bytes: Vec<u8>,
    chunk_size: u64,
    offset: u64,
) -> Result<Vec<u8>, Damage> {
    let wrong = |what: String| file.source.damage(offset, what);
    // Checksums make a chunk longer than its elements.
    let most = chunk_size + 4 * filters.len() as u64;
    for (number, filter) in filters.iter().enumerate().rev() {
        if number < 32 && mask & 1 << number != 0 {
            continue;
        }
        bytes = match filter.id {
            DEFLATE => {
                inflate(&bytes, most).map_err(|error| wrong(format!("its compressed chunk is damaged: {error}")))?
            }
            SHUFFLE => unshuffle(&bytes, filter.settings.first().copied().unwrap_or(1) as usize),
            FLETCHER => checked(bytes).ok_or_else(|| wrong("the checksum of a chunk is wrong".to_owned()))?,
            LZF => unpack_lzf(&bytes, most).ok_or_else(|| wrong("its compressed chunk is damaged".to_owned()))?,
            other => {
                let name = String::from_utf8_lossy(&filter.name);
                let name = if name.is_empty() { String::new() } else { format!(" ({name})") };
                return Err(wrong(format!(
                    "its values are packed by filter {other}{name}, which tfprof does not read"
                )));
            }
        };
    }
    Ok(bytes)
}

fn inflate(bytes: &[u8], most: u64) -> std::io::Result<Vec<u8>> {
    let mut plain = Vec::new();
    budget::reserve(most.min(bytes.len() as u64 * 1032));
    ZlibDecoder::new(bytes).take(most + 1).read_to_end(&mut plain)?;
    if plain.len() as u64 > most {
        return Err(std::io::Error::other("it is longer than its chunk"));
    }
    Ok(plain)
}

/// Bytes of equal rank within elements stand together; puts them back.
fn unshuffle(bytes: &[u8], size: usize) -> Vec<u8> {
    // The size is only a claim. Without a whole element there is nothing to put back.
    if size < 2 || size > bytes.len() {
        return bytes.to_vec();
    }
    let count = bytes.len() / size;
    let mut plain = vec![0; bytes.len()];
    for rank in 0..size {
        for element in 0..count {
            plain[element * size + rank] = bytes[rank * count + element];
        }
    }
    plain[count * size..].copy_from_slice(&bytes[count * size..]);
    plain
}

/// Takes a Fletcher checksum off; `None` if it is wrong.
fn checked(mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    let at = bytes.len().checked_sub(4)?;
    let stored = u32::from_le_bytes(bytes[at..].try_into().ok()?);
    bytes.truncate(at);
    let (mut first, mut second) = (0_u64, 0_u64);
    for pair in bytes.chunks(2) {
        let word = u64::from(pair[0]) << 8 | u64::from(pair.get(1).copied().unwrap_or(0));
        first = (first + word) % 65535;
        second = (second + first) % 65535;
    }
    // A sum that is a multiple of 65535 is stored as 65535 unless all words are zero.
    let same = |found: u64, stored: u32| found == u64::from(stored) % 65535;
    (same(first, stored & 0xffff) && same(second, stored >> 16)).then_some(bytes)
}

/// LZF: runs of literals, and copies of what was written before.
fn unpack_lzf(bytes: &[u8], most: u64) -> Option<Vec<u8>> {
    let mut plain = Vec::new();
    let mut input = bytes.iter().copied();
    while let Some(control) = input.next() {
        let control = usize::from(control);
        if control < 32 {
            for _ in 0..=control {
                plain.push(input.next()?);
            }
        } else {
            let mut length = control >> 5;
            if length == 7 {
                length += usize::from(input.next()?);
            }
            let back = (control & 0x1f) << 8 | usize::from(input.next()?);
            let start = plain.len().checked_sub(back + 1)?;
            for at in start..start + length + 2 {
                plain.push(plain[at]);
            }
        }
        if plain.len() as u64 > most {
            return None;
        }
        budget::check();
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_elements_come_together() {
        assert_eq!(unshuffle(&[1, 3, 5, 2, 4, 6, 9], 2), [1, 2, 3, 4, 5, 6, 9]);
        assert_eq!(unshuffle(&[1, 2], 0), [1, 2]);
        // Ends at once, whatever the file claims.
        assert_eq!(unshuffle(&[1, 2], usize::MAX), [1, 2]);
    }

    #[test]
    fn lzf_copies_what_came_before() {
        // Three literals, then five bytes from three back.
        assert_eq!(unpack_lzf(&[2, b'a', b'b', b'c', 3 << 5, 2], 99).as_deref(), Some(&b"abcabcab"[..]));
        assert_eq!(unpack_lzf(&[1 << 5, 9], 99), None);
        assert_eq!(unpack_lzf(&[2, b'a', b'b', b'c', 3 << 5, 2], 4), None);
        assert_eq!(unpack_lzf(&[5, b'a'], 99), None);
    }

    #[test]
    fn checksums_are_checked() {
        let mut bytes = vec![0, 1, 0, 2];
        bytes.extend([3, 0, 4, 0]);
        assert_eq!(checked(bytes.clone()), Some(vec![0, 1, 0, 2]));
        bytes[1] = 2;
        assert_eq!(checked(bytes), None);
    }
}
