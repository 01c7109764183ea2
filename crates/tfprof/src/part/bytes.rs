//! The encoding of numbers and strings: varints only. Reading trusts no count before the bytes are there.

/// Why the bytes are not a valid partial: one sentence, without the file name.
pub type Fault = String;

/// The largest valid sum. Merging sums below it cannot overflow.
const MOST: u128 = 1 << 100;

pub fn put(out: &mut Vec<u8>, mut number: u128) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

pub fn put_len(out: &mut Vec<u8>, number: usize) {
    put(out, number as u128);
}

/// A signed number in zigzag form, so that small ones take few bytes.
pub fn put_signed(out: &mut Vec<u8>, number: i128) {
    put(out, ((number << 1) ^ (number >> 127)) as u128);
}

/// An optional number, shifted by one: 0 stands for unknown.
pub fn put_maybe(out: &mut Vec<u8>, number: Option<i64>) {
    match number {
        None => out.push(0),
        Some(number) => put(out, 1 + ((i128::from(number) << 1) ^ (i128::from(number) >> 127)) as u128),
    }
}

pub fn put_text(out: &mut Vec<u8>, text: &str) {
    put_len(out, text.len());
    out.extend_from_slice(text.as_bytes());
}

/// A cursor over bytes.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { bytes, at: 0 }
    }

    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Fails if unread bytes are left.
    pub fn end(&self) -> Result<(), Fault> {
        if self.left() == 0 { Ok(()) } else { Err(format!("{} bytes follow its end", self.left())) }
    }

    pub fn byte(&mut self) -> Result<u8, Fault> {
        let byte = *self.bytes.get(self.at).ok_or_else(cut)?;
        self.at += 1;
        Ok(byte)
    }

    pub fn bytes(&mut self, length: usize) -> Result<&'a [u8], Fault> {
        let end = self.at.checked_add(length).filter(|end| *end <= self.bytes.len()).ok_or_else(cut)?;
        let bytes = &self.bytes[self.at..end];
        self.at = end;
        Ok(bytes)
    }

    pub fn number(&mut self) -> Result<u128, Fault> {
        let mut number = 0_u128;
        for shift in (0..126).step_by(7) {
            let byte = self.byte()?;
            number |= u128::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                // One number has one spelling.
                let is_shortest = byte != 0 || shift == 0;
                return if is_shortest { Ok(number) } else { Err("a number is longer than it need be".to_owned()) };
            }
        }
        Err("a number is too long".to_owned())
    }

    /// A sum, within the limits of sums.
    pub fn sum(&mut self) -> Result<u128, Fault> {
        let number = self.number()?;
        if number < MOST { Ok(number) } else { Err(format!("{number} is too large for a sum")) }
    }

    pub fn signed(&mut self) -> Result<i128, Fault> {
        let number = self.sum()?;
        Ok((number >> 1) as i128 ^ -((number & 1) as i128))
    }

    pub fn int(&mut self) -> Result<i64, Fault> {
        let number = self.signed()?;
        i64::try_from(number).map_err(|_| format!("{number} does not fit 64 bits"))
    }

    pub fn maybe(&mut self) -> Result<Option<i64>, Fault> {
        let Some(number) = self.sum()?.checked_sub(1) else { return Ok(None) };
        let number = (number >> 1) as i128 ^ -((number & 1) as i128);
        i64::try_from(number).map(Some).map_err(|_| format!("{number} does not fit 64 bits"))
    }

    pub fn below(&mut self, limit: usize, what: &str) -> Result<u32, Fault> {
        let number = self.number()?;
        match u32::try_from(number) {
            Ok(number) if (number as usize) < limit => Ok(number),
            _ => Err(format!("{what} {number} does not exist: there are {limit}")),
        }
    }

    pub fn u64(&mut self) -> Result<u64, Fault> {
        let number = self.number()?;
        u64::try_from(number).map_err(|_| format!("{number} does not fit 64 bits"))
    }

    /// The number of entries that follow, each of at least `size` bytes.
    pub fn count(&mut self, size: usize, what: &str) -> Result<usize, Fault> {
        let number = self.number()?;
        let most = self.left() / size.max(1);
        match usize::try_from(number) {
            Ok(count) if count <= most => Ok(count),
            _ => Err(format!("it claims {number} {what}, and has {} bytes left", self.left())),
        }
    }

    pub fn text(&mut self) -> Result<&'a str, Fault> {
        let length = self.count(1, "bytes of a text")?;
        std::str::from_utf8(self.bytes(length)?).map_err(|_| "a text is not UTF-8".to_owned())
    }

    pub fn flag(&mut self) -> Result<bool, Fault> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(format!("{other} is neither yes nor no")),
        }
    }
}

fn cut() -> Fault {
    "it ends early".to_owned()
}

/// A 128-bit hash that is the same on every machine and in every version. It is not cryptographic.
#[derive(Clone, Copy, Debug)]
pub struct Tag {
    lanes: [u64; 2],
    length: u64,
    rest: [u8; 8],
    filled: usize,
}

impl Default for Tag {
    fn default() -> Self {
        Tag { lanes: [0x9e37_79b9_7f4a_7c15, 0xc2b2_ae3d_27d4_eb4f], length: 0, rest: [0; 8], filled: 0 }
    }
}

impl Tag {
    pub fn add(&mut self, mut bytes: &[u8]) {
        self.length = self.length.wrapping_add(bytes.len() as u64);
        while self.filled > 0 && self.filled < 8 && !bytes.is_empty() {
            self.rest[self.filled] = bytes[0];
            self.filled += 1;
            bytes = &bytes[1..];
        }
        if self.filled == 8 {
            self.mix(u64::from_le_bytes(self.rest));
            self.filled = 0;
        }
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.mix(u64::from_le_bytes(*word)));
        if !rest.is_empty() {
            self.rest[..rest.len()].copy_from_slice(rest);
            self.filled = rest.len();
        }
    }

    #[inline]
    fn mix(&mut self, word: u64) {
        let fold = |lane: u64, factor: u64| {
            let product = u128::from(lane ^ word) * u128::from(factor);
            (product as u64) ^ (product >> 64) as u64
        };
        // The word itself stays in the sum: a product with 0 would forget what came before.
        let [a, b] = self.lanes;
        self.lanes = [
            fold(a, 0xff51_afd7_ed55_8ccd).wrapping_add(word).rotate_left(29),
            fold(b, 0xc4ce_b9fe_1a85_ec53).wrapping_add(a),
        ];
    }

    pub fn finish(mut self) -> u128 {
        self.rest[self.filled..].fill(0);
        self.mix(u64::from_le_bytes(self.rest));
        self.mix(self.length);
        self.mix(0x2545_f491_4f6c_dd1d);
        u128::from(self.lanes[0]) << 64 | u128::from(self.lanes[1])
    }

    pub fn of(bytes: &[u8]) -> u128 {
        let mut tag = Tag::default();
        tag.add(bytes);
        tag.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_and_have_one_spelling() {
        for number in [0, 1, -1, 63, 64, -65, i128::from(i64::MAX), i128::from(i64::MIN), 1 << 90, -(1 << 90)] {
            let mut bytes = Vec::new();
            put_signed(&mut bytes, number);
            assert_eq!(Cursor::new(&bytes).signed(), Ok(number));
        }
        for number in [None, Some(0), Some(-1), Some(i64::MIN), Some(i64::MAX)] {
            let mut bytes = Vec::new();
            put_maybe(&mut bytes, number);
            assert_eq!(Cursor::new(&bytes).maybe(), Ok(number));
        }
        assert!(Cursor::new(&[0x80, 0]).number().is_err());
        assert!(Cursor::new(&[0xff; 30]).number().is_err());
        assert!(Cursor::new(&[0x80]).number().is_err());
        assert!(Cursor::new(&[200, 1, 0]).count(1, "rows").is_err());
    }

    #[test]
    fn a_tag_does_not_depend_on_the_pieces() {
        let bytes: Vec<u8> = (0..100).map(|i: u8| i.wrapping_mul(37)).collect();
        for cut in 0..bytes.len() {
            let mut tag = Tag::default();
            tag.add(&bytes[..cut]);
            tag.add(&bytes[cut..]);
            assert_eq!(tag.finish(), Tag::of(&bytes), "{cut}");
        }
        let others = [&bytes[..99], &[], &[0], &[0, 0]].map(Tag::of);
        assert!((0..4).all(|i| (0..i).all(|j| others[i] != others[j])));
    }
}
