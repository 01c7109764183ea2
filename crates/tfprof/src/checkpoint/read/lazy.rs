//! Elements that stay in their file and are read in pieces, so that a tensor larger than the memory can be written out.

use super::byte_source::ByteSource;
use crate::budget;
use crate::model::dtype::{DType, Element};
use std::sync::{Mutex, PoisonError};

/// The bytes of a piece.
const PIECE: u64 = 256 << 10;

/// Elements of a fixed size, little-endian, one after the other in a file.
#[derive(Debug)]
pub struct Lazy {
    file: ByteSource,
    offset: u64,
    dtype: DType,
    pub count: u64,
    /// The piece that was read last: its number, and its bytes.
    piece: Mutex<(u64, Vec<u8>)>,
}

impl Lazy {
    pub fn new(file: ByteSource, offset: u64, dtype: DType, count: u64) -> Lazy {
        Lazy { file, offset, dtype, count, piece: Mutex::new((u64::MAX, Vec::new())) }
    }

    /// An element; opaque if the file cannot be read any more.
    pub fn get(&self, number: u64) -> Element<'static> {
        let size = self.dtype.size().unwrap_or(1) as u64;
        let each = (PIECE / size).max(1);
        let mut piece = self.piece.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = number / each;
        if piece.0 != wanted {
            let first = wanted * each;
            let bytes = each.min(self.count.saturating_sub(first)) * size;
            budget::work(bytes);
            piece.0 = u64::MAX;
            if self.file.read_to(self.offset + first * size, bytes, &mut piece.1).is_err() {
                return Element::Opaque;
            }
            piece.0 = wanted;
        }
        let at = ((number % each) * size) as usize;
        match piece.1.get(at..at + size as usize).map(|bytes| self.dtype.element(bytes)) {
            Some(Element::Float(x)) => Element::Float(x),
            Some(Element::Int(n)) => Element::Int(n),
            Some(Element::Uint(n)) => Element::Uint(n),
            Some(Element::Bool(on)) => Element::Bool(on),
            Some(Element::Complex(re, im)) => Element::Complex(re, im),
            Some(Element::Text(_) | Element::Opaque) | None => Element::Opaque,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_found_across_pieces() {
        let bytes: Vec<u8> = (0..200_000_i32).flat_map(i32::to_le_bytes).collect();
        let lazy = Lazy::new(ByteSource::memory("m", bytes), 8, DType::INT32, 199_998);
        for number in [0, 65_535, 65_536, 199_997, 3] {
            assert_eq!(lazy.get(number), Element::Int(number as i64 + 2), "{number}");
        }
        assert_eq!(lazy.get(199_998), Element::Opaque);
    }
}
