//! Fast decoding of varints and stats, eight bytes at a time. It handles the encoding that profilers write; `None` means
//! that the general decoder must take over.

use super::stats::Slice;
use tfprof_proto::fields::{xevent, xstat};

const LAST_BYTES: u64 = 0x8080_8080_8080_8080;

pub const VARINT: u32 = 0;
const FIXED64: u32 = 1;
pub const LENGTH: u32 = 2;

/// The one-byte tag of a field.
pub const fn tag(field: u32, wire_type: u32) -> u8 {
    (field << 3 | wire_type) as u8
}

/// Eight bytes as one word.
#[inline(always)]
pub fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Decodes a varint that has one byte, or eight bytes after its start.
#[inline(always)]
pub fn varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let first = *bytes.get(*at)?;
    if first < 0x80 {
        *at += 1;
        return Some(u64::from(first));
    }
    let word = word(bytes, *at)?;
    // Most of the longer ones have two bytes.
    if word & 0x8000 == 0 {
        *at += 2;
        return Some(word & 0x7f | word >> 1 & 0x3f80);
    }
    let last = !word & LAST_BYTES;
    if last == 0 {
        return long_varint(bytes, at);
    }
    let bits = last.trailing_zeros() + 1;
    *at += bits as usize / 8;
    // Seven bits of each byte, put together by twos, fours and eights.
    let n = word & (u64::MAX >> (64 - bits)) & !LAST_BYTES;
    let n = n & 0x007f_007f_007f_007f | (n & 0x7f00_7f00_7f00_7f00) >> 1;
    let n = n & 0x0000_3fff_0000_3fff | (n & 0x3fff_0000_3fff_0000) >> 2;
    Some(n & 0x0fff_ffff | (n & 0x0fff_ffff_0000_0000) >> 4)
}

#[inline(never)]
fn long_varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut n = 0;
    for i in 0..10 {
        let byte = *bytes.get(*at)?;
        *at += 1;
        n |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            return Some(n);
        }
    }
    None
}

/// Whether a varint fills the bytes between two offsets.
#[inline(always)]
pub fn is_varint(bytes: &[u8], at: usize, end: usize) -> bool {
    let length = end.wrapping_sub(at);
    let Some(word) = word(bytes, at) else { return false };
    let last = !word & LAST_BYTES;
    match length {
        1..=8 => last & u64::MAX >> (64 - 8 * length) == 1 << (8 * length - 1),
        9 => last == 0 && bytes[end - 1] < 0x80,
        10 => last == 0 && bytes[end - 2] >= 0x80 && bytes[end - 1] < 0x80,
        _ => false,
    }
}

/// The value of a stat as it is encoded.
#[derive(Clone, Copy)]
pub enum RawValue {
    Uint(u64),
    Int(i64),
    Ref(i64),
    Double(f64),
    Text(Slice),
}

/// A stat: the id of its name, and the offsets of its value and its end.
#[derive(Clone, Copy)]
pub struct StatHead {
    pub id: i64,
    pub value: usize,
    pub end: usize,
}

/// The tag of a stat and that of its id, with a length of one byte between them.
const STAT_HEAD: u64 = tag(xevent::STATS, LENGTH) as u64 | (tag(xstat::METADATA_ID, VARINT) as u64) << 16;

/// The stat at an offset, if it ends before `limit`.
#[inline(always)]
pub fn stat_head(bytes: &[u8], at: usize, limit: usize) -> Option<StatHead> {
    let word = word(bytes, at)?;
    if word & 0xff_80ff != STAT_HEAD {
        return None;
    }
    let end = at + 2 + (word >> 8 & 0x7f) as usize;
    let (id, value) = if word & 0x80 << 24 == 0 {
        (word >> 24 & 0x7f, at + 4)
    } else if word & 0x80 << 32 == 0 {
        (word >> 24 & 0x7f | (word >> 32 & 0x7f) << 7, at + 5)
    } else {
        let mut value = at + 3;
        (varint(bytes, &mut value)?, value)
    };
    (value < end && end <= limit).then_some(StatHead { id: id as i64, value, end })
}

/// Decodes a value that fills the bytes between two offsets.
#[inline(always)]
pub fn raw_value(bytes: &[u8], mut at: usize, end: usize) -> Option<RawValue> {
    const UINT64: u8 = tag(xstat::UINT64_VALUE, VARINT);
    const INT64: u8 = tag(xstat::INT64_VALUE, VARINT);
    const REF: u8 = tag(xstat::REF_VALUE, VARINT);
    const DOUBLE: u8 = tag(xstat::DOUBLE_VALUE, FIXED64);
    const STR: u8 = tag(xstat::STR_VALUE, LENGTH);
    let first = *bytes.get(at)?;
    at += 1;
    let value = match first {
        UINT64 => RawValue::Uint(varint(bytes, &mut at)?),
        INT64 => RawValue::Int(varint(bytes, &mut at)? as i64),
        REF => RawValue::Ref(varint(bytes, &mut at)? as i64),
        DOUBLE => {
            let number = bytes.get(at..)?.first_chunk()?;
            at += 8;
            RawValue::Double(f64::from_le_bytes(*number))
        }
        STR => {
            let length = usize::try_from(varint(bytes, &mut at)?).ok()?;
            let text = at;
            at = text.checked_add(length)?;
            RawValue::Text(Slice { start: text as u32, length: length as u32 })
        }
        _ => return None,
    };
    (at == end).then_some(value)
}

/// The stat at an offset: the id of its name, its value, and the offset of its end.
#[inline(always)]
pub fn raw_stat(bytes: &[u8], at: usize, limit: usize) -> Option<(i64, RawValue, usize)> {
    let StatHead { id, value, end } = stat_head(bytes, at, limit)?;
    Some((id, raw_value(bytes, value, end)?, end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_of_all_lengths_are_read(n: u64, length in 0..64_u32) {
            let n = n >> length;
            let mut bytes = Vec::new();
            tfprof_proto::write::varint(&mut bytes, n);
            let end = bytes.len();
            bytes.extend_from_slice(&[0xff; 8]);
            let mut at = 0;
            prop_assert_eq!(varint(&bytes, &mut at), Some(n));
            prop_assert_eq!(at, end);
            prop_assert!(is_varint(&bytes, 0, end));
            prop_assert!(!is_varint(&bytes, 0, end + 1));
        }
    }
}
