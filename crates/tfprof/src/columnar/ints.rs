//! Integer encodings of Parquet: RLE/bit-packed hybrid, delta, and dictionaries of repeated values.

use super::thrift::{push_varint, zigzag};

/// The number of significant bits.
pub fn width_of(largest: u64) -> u32 {
    u64::BITS - largest.leading_zeros()
}

/// Bit-packs numbers of at most 32 bits, least significant bit first.
#[derive(Debug, Default)]
struct Packer {
    buffer: u64,
    filled: u32,
}

impl Packer {
    #[inline]
    fn push(&mut self, number: u64, width: u32, out: &mut Vec<u8>) {
        self.buffer |= number << self.filled;
        self.filled += width;
        if self.filled >= 32 {
            out.extend_from_slice(&(self.buffer as u32).to_le_bytes());
            self.buffer >>= 32;
            self.filled -= 32;
        }
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        while self.filled > 0 {
            out.push(self.buffer as u8);
            self.buffer >>= 8;
            self.filled = self.filled.saturating_sub(8);
        }
    }
}

/// The RLE/bit-packing hybrid, with groups of eight; `width` is at most 32.
pub fn push_hybrid(numbers: &[u32], width: u32, out: &mut Vec<u8>) {
    let mut packed_from = 0;
    let mut at = 0;
    while at < numbers.len() {
        let value = numbers[at];
        let run = numbers[at..].iter().take_while(|n| **n == value).count();
        // Packed groups have eight numbers: a run gives up numbers to complete the group before it.
        let lacking = (at - packed_from).next_multiple_of(8) - (at - packed_from);
        if run >= lacking + 8 {
            push_packed(&numbers[packed_from..at + lacking], width, out);
            push_varint(out, ((run - lacking) as u64) << 1);
            out.extend_from_slice(&value.to_le_bytes()[..width.div_ceil(8) as usize]);
            packed_from = at + run;
        }
        at += run;
    }
    push_packed(&numbers[packed_from..], width, out);
}

fn push_packed(numbers: &[u32], width: u32, out: &mut Vec<u8>) {
    if numbers.is_empty() {
        return;
    }
    let groups = numbers.len().div_ceil(8);
    push_varint(out, (groups as u64) << 1 | 1);
    let mut packer = Packer::default();
    numbers.iter().for_each(|n| packer.push(u64::from(*n), width, out));
    (numbers.len()..groups * 8).for_each(|_| packer.push(0, width, out));
    packer.finish(out);
}

const BLOCK: usize = 128;
const MINI_BLOCKS: usize = 4;
const MINI: usize = BLOCK / MINI_BLOCKS;

/// `DELTA_BINARY_PACKED`: bit-packed differences to the previous number, minus the smallest of their block.
pub fn push_deltas(numbers: &[i64], out: &mut Vec<u8>) {
    push_varint(out, BLOCK as u64);
    push_varint(out, MINI_BLOCKS as u64);
    push_varint(out, numbers.len() as u64);
    push_varint(out, zigzag(numbers.first().copied().unwrap_or(0)));
    let mut deltas = [0_i64; BLOCK];
    for at in (1..numbers.len()).step_by(BLOCK) {
        let count = BLOCK.min(numbers.len() - at);
        for (delta, pair) in deltas.iter_mut().zip(numbers[at - 1..at + count].windows(2)) {
            *delta = pair[1].wrapping_sub(pair[0]);
        }
        let least = deltas[..count].iter().copied().min().unwrap_or(0);
        push_varint(out, zigzag(least));
        deltas[..count].iter_mut().for_each(|delta| *delta = delta.wrapping_sub(least));
        deltas[count..].fill(0);
        let width = |mini: &[i64]| width_of(mini.iter().fold(0, |all, delta| all | *delta as u64));
        // Mini blocks without numbers have no bytes.
        let minis = || deltas.chunks(MINI).zip(0..).filter(|(_, mini)| mini * MINI < count).map(|(mini, _)| mini);
        let widths: [u8; MINI_BLOCKS] =
            std::array::from_fn(|mini| minis().nth(mini).map_or(0, |mini| width(mini) as u8));
        out.extend_from_slice(&widths);
        for (mini, width) in minis().zip(widths) {
            push_wide(mini, u32::from(width), out);
        }
    }
}

/// Bit-packs numbers of any width, as two halves if they exceed 32 bits.
fn push_wide(numbers: &[i64], width: u32, out: &mut Vec<u8>) {
    let mut packer = Packer::default();
    if width <= 32 {
        return numbers.iter().for_each(|n| packer.push(*n as u64, width, out));
    }
    for number in numbers {
        packer.push(*number as u64 & 0xffff_ffff, 32, out);
        packer.push(*number as u64 >> 32, width - 32, out);
    }
}

/// The distinct numbers, sorted so that compression finds their common bytes, and each row's index into them. `None` if too
/// many differ.
pub fn dictionary(numbers: &[i64]) -> Option<(Vec<i64>, Vec<u32>)> {
    const SLOTS: usize = 1 << 17;
    const MOST: usize = SLOTS / 2;
    const EMPTY: u32 = u32::MAX;
    // Times that only grow do not repeat.
    let sample = &numbers[..numbers.len().min(1024)];
    if sample.len() > 16 && sample.windows(2).filter(|pair| pair[0] >= pair[1]).count() < sample.len() / 16 {
        return None;
    }
    let mut slots = vec![EMPTY; SLOTS];
    let (mut values, mut places): (Vec<i64>, Vec<u32>) = (Vec::new(), Vec::with_capacity(numbers.len()));
    for number in numbers {
        let mut slot = ((*number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 47) as usize;
        let mut probes = 0;
        let place = loop {
            let place = slots[slot];
            if place == EMPTY {
                if values.len() >= MOST {
                    return None;
                }
                slots[slot] = values.len() as u32;
                values.push(*number);
                break slots[slot];
            }
            if values[place as usize] == *number {
                break place;
            }
            slot = (slot + 1) % SLOTS;
            probes += 1;
            // Numbers that were chosen to collide are written without a dictionary.
            if probes > 64 {
                return None;
            }
        };
        places.push(place);
    }
    // Differences take a bit more than the range of the numbers.
    let (least, most) = values.iter().fold((i64::MAX, i64::MIN), |(least, most), n| (least.min(*n), most.max(*n)));
    let range = width_of(most.wrapping_sub(least) as u64) as usize + 1;
    let width = width_of(values.len().saturating_sub(1) as u64) as usize;
    // Half of the bits of a sorted number are those of its neighbour, which compression finds.
    if values.len() * 32 + places.len() * width >= places.len() * range {
        return None;
    }
    let mut order: Vec<u32> = (0..values.len() as u32).collect();
    order.sort_unstable_by_key(|place| values[*place as usize]);
    let mut rank = vec![0; order.len()];
    order.iter().zip(0..).for_each(|(place, at)| rank[*place as usize] = at);
    places.iter_mut().for_each(|place| *place = rank[*place as usize]);
    Some((order.iter().map(|place| values[*place as usize]).collect(), places))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut n = 0;
        for shift in (0..).step_by(7) {
            let (first, rest) = bytes.split_first().unwrap();
            *bytes = rest;
            n |= u64::from(first & 0x7f) << shift;
            if first & 0x80 == 0 {
                break;
            }
        }
        n
    }

    fn unzigzag(n: u64) -> i64 {
        (n >> 1) as i64 ^ -((n & 1) as i64)
    }

    /// The number of `width` bits at an index.
    fn bits(bytes: &[u8], at: usize, width: u32) -> u64 {
        let bit = |i: usize| u64::from(bytes[i / 8] >> (i % 8) & 1);
        (0..width as usize).fold(0, |n, i| n | bit(at * width as usize + i) << i)
    }

    fn read_hybrid(mut bytes: &[u8], width: u32, count: usize) -> Vec<u32> {
        let mut out = Vec::new();
        while out.len() < count {
            let head = varint(&mut bytes);
            if head & 1 == 0 {
                let size = width.div_ceil(8) as usize;
                let value = (0..size).fold(0, |n, i| n | u32::from(bytes[i]) << (8 * i));
                bytes = &bytes[size..];
                out.extend(std::iter::repeat_n(value, (head >> 1) as usize));
            } else {
                let groups = (head >> 1) as usize;
                out.extend((0..groups * 8).map(|i| bits(bytes, i, width) as u32));
                bytes = &bytes[groups * width as usize..];
            }
        }
        out.truncate(count);
        out
    }

    fn read_deltas(mut bytes: &[u8]) -> Vec<i64> {
        let (block, minis) = (varint(&mut bytes) as usize, varint(&mut bytes) as usize);
        let (count, first) = (varint(&mut bytes) as usize, unzigzag(varint(&mut bytes)));
        let mut out = if count > 0 { vec![first] } else { Vec::new() };
        while out.len() < count {
            let least = unzigzag(varint(&mut bytes));
            let (widths, rest) = bytes.split_at(minis);
            bytes = rest;
            for width in widths {
                if out.len() >= count {
                    break;
                }
                let size = block / minis * *width as usize / 8;
                for i in 0..block / minis {
                    let delta = bits(bytes, i, u32::from(*width)) as i64;
                    let last = *out.last().unwrap();
                    out.push(last.wrapping_add(least).wrapping_add(delta));
                }
                bytes = &bytes[size..];
            }
        }
        out.truncate(count);
        out
    }

    proptest! {
        #[test]
        fn hybrids_survive(runs in proptest::collection::vec((0..9_u32, 1..40_usize), 0..30)) {
            let numbers: Vec<u32> = runs.iter().flat_map(|(n, count)| std::iter::repeat_n(*n, *count)).collect();
            let mut out = Vec::new();
            push_hybrid(&numbers, 4, &mut out);
            prop_assert_eq!(read_hybrid(&out, 4, numbers.len()), numbers);
        }

        #[test]
        fn differences_survive(numbers in proptest::collection::vec(prop_oneof![any::<i64>(), 0..1000_i64], 0..400)) {
            let mut out = Vec::new();
            push_deltas(&numbers, &mut out);
            prop_assert_eq!(read_deltas(&out), numbers);
        }
    }

    #[test]
    fn repeated_numbers_have_a_dictionary() {
        let numbers: Vec<i64> = (0..10_000).map(|i| i % 7 * 1000).collect();
        let (values, places) = dictionary(&numbers).unwrap();
        assert_eq!(values, [0, 1000, 2000, 3000, 4000, 5000, 6000]);
        assert!(places.iter().zip(&numbers).all(|(place, n)| values[*place as usize] == *n));
        assert!(dictionary(&(0..10_000).collect::<Vec<_>>()).is_none());
    }
}
