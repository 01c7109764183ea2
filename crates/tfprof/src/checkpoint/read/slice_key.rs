//! Keys of slices: a tensor's name and the bounds of a slice, encoded so that keys sort like the values.

use super::layout::Extent;

/// The key under which a slice of a tensor is stored.
pub fn slice_key(name: &[u8], slice: &[Extent]) -> Vec<u8> {
    let mut key = Vec::with_capacity(name.len() + 8 + slice.len() * 4);
    unsigned(&mut key, 0);
    string(&mut key, name);
    unsigned(&mut key, slice.len() as u64);
    for extent in slice {
        signed(&mut key, extent.start);
        signed(&mut key, extent.length.unwrap_or(-1));
    }
    key
}

/// The number of bytes, then the number itself, big-endian.
fn unsigned(out: &mut Vec<u8>, n: u64) {
    let zeros = n.leading_zeros() as usize / 8;
    out.push((8 - zeros) as u8);
    out.extend_from_slice(&n.to_be_bytes()[zeros..]);
}

/// Bytes with 0 and 255 escaped, and a terminator that sorts before any continuation.
fn string(out: &mut Vec<u8>, text: &[u8]) {
    for byte in text {
        match byte {
            0 => out.extend_from_slice(&[0, 0xff]),
            0xff => out.extend_from_slice(&[0xff, 0]),
            byte => out.push(*byte),
        }
    }
    out.extend_from_slice(&[0, 1]);
}

/// The sign, the length in unary, and the number, in as few bytes as possible.
fn signed(out: &mut Vec<u8>, n: i64) {
    let size = if n < 0 { !n } else { n };
    let length = (64 - size.leading_zeros() as usize) / 7 + 1;
    let fill = if n < 0 { 0xff } else { 0 };
    let mut bytes = [fill; 10];
    bytes[2..].copy_from_slice(&n.to_be_bytes());
    let bytes = &mut bytes[10 - length..];
    let ones = (0xffff_u32 << (16 - length)) as u16;
    bytes[0] ^= (ones >> 8) as u8;
    if length > 1 {
        bytes[1] ^= ones as u8;
    }
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(n: i64) -> Vec<u8> {
        let mut out = Vec::new();
        signed(&mut out, n);
        out
    }

    #[test]
    fn numbers_as_tensorflow_writes_them() {
        let check = |n, expect: &[u8]| assert_eq!(encoded(n), expect, "{n}");
        check(0, &[0x80]);
        check(-1, &[0x7f]);
        check(63, &[0xbf]);
        check(64, &[0xc0, 0x40]);
        check(-65, &[0x3f, 0xbf]);
        check(8192, &[0xe0, 0x20, 0x00]);
        check(i64::MAX, &[0xff, 0xc0, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
    }

    #[test]
    fn key_of_a_whole_matrix() {
        let whole = Extent { start: 0, length: None };
        assert_eq!(slice_key(b"w", &[whole, whole]), b"\x00w\x00\x01\x01\x02\x80\x7f\x80\x7f");
    }

    proptest! {
        #[test]
        fn keys_sort_like_numbers(a in any::<i64>(), b in any::<i64>(), shift in 0_u32..64) {
            let (a, b) = (a >> shift, b >> shift);
            prop_assert_eq!(a.cmp(&b), encoded(a).cmp(&encoded(b)));
        }
    }
}
