//! Writes messages by appending fields to a buffer.
//!
//! Zero, empty and false values are left out, as proto3 does.

/// Appends `n` as a varint.
#[inline]
pub fn varint(out: &mut Vec<u8>, mut n: u64) {
    while n > 0x7f {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

/// The number of bytes that [`varint`] appends.
#[inline]
pub fn varint_len(n: u64) -> usize {
    (63 - (n | 1).leading_zeros() as usize) / 7 + 1
}

/// An integer field, left out if zero.
#[inline]
pub fn int(out: &mut Vec<u8>, field: u32, n: i64) {
    if n != 0 {
        key(out, field, 0);
        varint(out, n as u64);
    }
}

/// A string, bytes or message field, left out if empty.
pub fn bytes(out: &mut Vec<u8>, field: u32, value: &[u8]) {
    if !value.is_empty() {
        element(out, field, value);
    }
}

/// One element of a repeated string, bytes or message field: written even if empty.
pub fn element(out: &mut Vec<u8>, field: u32, value: &[u8]) {
    key(out, field, 2);
    varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

/// A repeated integer field in packed form, left out if empty.
pub fn packed(out: &mut Vec<u8>, field: u32, values: &[i64]) {
    if values.is_empty() {
        return;
    }
    key(out, field, 2);
    varint(out, values.iter().map(|n| varint_len(*n as u64) as u64).sum());
    for n in values {
        varint(out, *n as u64);
    }
}

/// A message field that `fill` writes: written even if empty.
pub fn message(out: &mut Vec<u8>, field: u32, fill: impl FnOnce(&mut Vec<u8>)) {
    key(out, field, 2);
    let start = out.len();
    fill(out);
    let length = out.len() - start;
    // The length precedes the content but is known only after it, so append it and rotate it into place.
    varint(out, length as u64);
    out[start..].rotate_right(varint_len(length as u64));
}

/// A field's number and wire type.
#[inline]
pub fn key(out: &mut Vec<u8>, field: u32, wire_type: u32) {
    varint(out, u64::from(field << 3 | wire_type));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_varints() {
        for n in [0, 1, 127, 128, 16383, 16384, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            let mut out = Vec::new();
            varint(&mut out, n);
            assert_eq!(out.len(), varint_len(n), "{n}");
        }
    }

    #[test]
    fn a_message_gets_its_length_in_front() {
        let mut out = Vec::new();
        message(&mut out, 2, |out| bytes(out, 1, b"hi"));
        assert_eq!(out, [0x12, 4, 0x0a, 2, b'h', b'i']);
    }
}
