//! Numbers and stats as profilers write them, read eight bytes at a time. What is written otherwise is left to others.

const LAST_BYTES: u64 = 0x8080_8080_8080_8080;

/// Eight bytes.
#[inline(always)]
pub fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// A number, if eight bytes or its end follow.
#[inline(always)]
pub fn varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let first = *bytes.get(*at)?;
    if first < 0x80 {
        *at += 1;
        return Some(u64::from(first));
    }
    let word = word(bytes, *at)?;
    // Most that are not of one byte are of two.
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

/// Whether a number fills a place.
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

/// The value of a stat as it is written.
#[derive(Clone, Copy)]
pub enum Raw {
    Uint(u64),
    Int(i64),
    Ref(i64),
    Double(f64),
    /// Where it begins, and how long it is.
    Text(usize, usize),
}

/// The field with a stat at a place, if it is written as profilers do and ends before `limit`: the id of its name, and
/// where its value begins and ends.
#[inline(always)]
pub fn stat_head(bytes: &[u8], at: usize, limit: usize) -> Option<(i64, usize, usize)> {
    let word = word(bytes, at)?;
    // Its tag, a length of one byte, the tag of the id.
    if word & 0xff_80ff != 0x08_0022 {
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
    (value < end && end <= limit).then_some((id as i64, value, end))
}

/// A value that fills a place.
#[inline(always)]
pub fn raw_value(bytes: &[u8], mut at: usize, end: usize) -> Option<Raw> {
    let tag = *bytes.get(at)?;
    at += 1;
    let value = match tag {
        0x18 => Raw::Uint(varint(bytes, &mut at)?),
        0x20 => Raw::Int(varint(bytes, &mut at)? as i64),
        0x38 => Raw::Ref(varint(bytes, &mut at)? as i64),
        0x11 => {
            let number = bytes.get(at..)?.first_chunk()?;
            at += 8;
            Raw::Double(f64::from_le_bytes(*number))
        }
        0x2a => {
            let length = usize::try_from(varint(bytes, &mut at)?).ok()?;
            let text = at;
            at = text.checked_add(length)?;
            Raw::Text(text, length)
        }
        _ => return None,
    };
    (at == end).then_some(value)
}

/// The stat at a place, written as profilers do: the id of its name, its value, and where it ends.
#[inline(always)]
pub fn raw_stat(bytes: &[u8], at: usize, limit: usize) -> Option<(i64, Raw, usize)> {
    let (id, value, end) = stat_head(bytes, at, limit)?;
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
