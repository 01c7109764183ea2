//! Base64 and SHA-256, for data and policies of pages.

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub fn base64(bytes: &[u8]) -> String {
    let mut out = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let at = |i: usize| u32::from(three.get(i).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        let letters = [18, 12, 6, 0].map(|shift| LETTERS[(bits >> shift & 63) as usize]);
        out.extend_from_slice(&letters[..=three.len()]);
        out.extend_from_slice(&b"=="[..3 - three.len()]);
    }
    String::from_utf8(out).unwrap_or_default()
}

/// The constants of SHA-256: the first 32 bits of the fractional parts of square roots (initial state) and cube roots
/// (rounds) of the first primes.
const START: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];
fn rounds() -> [u32; 64] {
    let mut rounds = [0; 64];
    let is_prime = |n: &u32| (2..*n).take_while(|d| d * d <= *n).all(|d| !n.is_multiple_of(d));
    for (round, prime) in rounds.iter_mut().zip((2_u32..).filter(is_prime)) {
        // The cube root in units of 2^-32, by bisection in whole numbers.
        let target = u128::from(prime) << 96;
        let (mut low, mut high) = (0_u128, 8 << 32);
        while low + 1 < high {
            let middle = u128::midpoint(low, high);
            if middle * middle * middle <= target {
                low = middle;
            } else {
                high = middle;
            }
        }
        *round = low as u32;
    }
    rounds
}

#[allow(clippy::many_single_char_names)] // The names of the standard.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    let rounds = rounds();
    let mut message = bytes.to_vec();
    message.push(0x80);
    // Zeros until eight bytes are left for the length.
    message.resize((message.len() + 8).next_multiple_of(64) - 8, 0);
    message.extend_from_slice(&(bytes.len() as u64 * 8).to_be_bytes());
    let mut state = START;
    for block in message.chunks_exact(64) {
        let mut words = [0_u32; 64];
        for (word, four) in words.iter_mut().zip(block.chunks_exact(4)) {
            *word = four.iter().fold(0, |word, byte| word << 8 | u32::from(*byte));
        }
        for i in 16..64 {
            let (a, b) = (words[i - 15], words[i - 2]);
            let a = a.rotate_right(7) ^ a.rotate_right(18) ^ (a >> 3);
            let b = b.rotate_right(17) ^ b.rotate_right(19) ^ (b >> 10);
            words[i] = words[i - 16].wrapping_add(a).wrapping_add(words[i - 7]).wrapping_add(b);
        }
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = state;
        for (round, word) in rounds.iter().zip(words) {
            let mix = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
            let choice = (e & f) ^ (!e & g);
            let first = h.wrapping_add(mix).wrapping_add(choice).wrapping_add(*round).wrapping_add(word);
            let mix = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
            let second = mix.wrapping_add((a & b) ^ (a & c) ^ (b & c));
            (h, g, f, e, d, c, b, a) = (g, f, e, d.wrapping_add(first), c, b, a, first.wrapping_add(second));
        }
        let sums = [a, b, c, d, e, f, g, h];
        state.iter_mut().zip(sums).for_each(|(word, more)| *word = word.wrapping_add(more));
    }
    let mut out = [0; 32];
    out.chunks_exact_mut(4).zip(state).for_each(|(four, word)| four.copy_from_slice(&word.to_be_bytes()));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        sha256(bytes).iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
    }

    #[test]
    fn hashes_are_those_of_the_standard() {
        assert_eq!(hex(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(hex(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        let two_blocks = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        assert_eq!(hex(two_blocks), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
        assert_eq!(hex(&vec![b'a'; 1_000_000]), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
        // Around the place where the length needs a block of its own.
        assert_eq!(hex(&[b'a'; 55]), "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
        assert_eq!(hex(&[b'a'; 56]), "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
    }

    #[test]
    fn base64_has_its_ends() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
        assert_eq!(base64(&[0xff, 0xef, 0xbe]), "/+++");
    }
}
