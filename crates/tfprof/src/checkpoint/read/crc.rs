//! Checksums as checkpoints store them, and the single flipped bit that explains a wrong one.

/// TensorFlow's mask of a CRC-32C, which makes a checksum safe to store in checksummed data.
pub fn masked(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(DELTA)
}

fn unmasked(masked: u32) -> u32 {
    masked.wrapping_sub(DELTA).rotate_left(15)
}

const DELTA: u32 = 0xa282_ead8;

/// A single flipped bit that explains a checksum mismatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flip {
    /// A bit of the data.
    Data { byte: u64, bit: u8 },
    /// A bit of the stored checksum: the data is intact.
    Checksum,
}

/// Finds the one bit whose flip makes `length` bytes with the checksum `found` match the `stored` one.
///
/// CRC is linear: the difference of two checksums depends only on the position of the flipped bit, and no two positions
/// within 256 MB share theirs. So this takes one step per bit and needs no data.
pub fn flipped_bit(length: u64, found: u32, stored: u32) -> Option<Flip> {
    let checksum = masked(found);
    if (checksum ^ stored).is_power_of_two() {
        return Some(Flip::Checksum);
    }
    let wanted = found ^ unmasked(stored);
    let mut difference = 1_u32;
    for step in 0..length.min(SEARCHED).checked_mul(8)? {
        difference = (difference >> 1) ^ (if difference & 1 == 1 { 0x82f6_3b78 } else { 0 });
        if difference == wanted {
            return Some(Flip::Data { byte: length - 1 - step / 8, bit: 7 - (step % 8) as u8 });
        }
    }
    None
}

/// Bytes searched, from the end.
const SEARCHED: u64 = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_as_tensorflow_does() {
        assert_eq!(masked(0), 0xa282_ead8);
        let crc = crc32c::crc32c(b"123456789");
        assert_eq!(crc, 0xe306_9283);
        assert_eq!(unmasked(masked(crc)), crc);
    }

    #[test]
    fn every_flipped_bit_is_found() {
        let data: Vec<u8> = (0..100_u8).map(|i| i.wrapping_mul(37)).collect();
        let stored = masked(crc32c::crc32c(&data));
        for byte in 0..data.len() {
            for bit in 0..8 {
                let mut damaged = data.clone();
                damaged[byte] ^= 1 << bit;
                let flip = flipped_bit(data.len() as u64, crc32c::crc32c(&damaged), stored);
                assert_eq!(flip, Some(Flip::Data { byte: byte as u64, bit }));
            }
        }
        assert_eq!(flipped_bit(100, crc32c::crc32c(&data), stored ^ 4), Some(Flip::Checksum));
        assert_eq!(flipped_bit(100, crc32c::crc32c(b"else"), stored), None);
    }
}
