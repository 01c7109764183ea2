//! The quick way through a message, for readers of millions of records.

use crate::wire::{decode_varint, short_varint};

/// The quick way through a message: it knows the fields that nearly all files have, and gives up with `None` at anything
/// else. Whoever uses it then reads the message with [`Fields`](crate::wire::Fields), which knows everything and reports
/// faults.
///
/// Tags are matched as one byte: field number and wire type, see [`number_tag`] and [`content_tag`].
#[derive(Clone, Copy, Debug)]
pub struct Quick<'a> {
    /// The bytes of the outermost message, so that a number at the end of a nested one is decoded as any other.
    bytes: &'a [u8],
    at: usize,
    end: usize,
}

/// The tag of a number in a field below 16.
pub const fn number_tag(field: u32) -> u8 {
    (field << 3) as u8
}

/// The tag of a text or a message in a field below 16.
pub const fn content_tag(field: u32) -> u8 {
    (field << 3 | 2) as u8
}

impl<'a> Quick<'a> {
    #[inline(always)]
    pub fn new(bytes: &'a [u8]) -> Self {
        Quick { bytes, at: 0, end: bytes.len() }
    }

    /// The first byte of the next tag, `None` at the end. Pass what you do not know to [`Quick::skip`].
    #[inline(always)]
    pub fn tag(&mut self) -> Option<u8> {
        if self.at >= self.end {
            return None;
        }
        let tag = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(tag)
    }

    /// Whether nothing is left.
    #[inline(always)]
    pub fn is_at_end(&self) -> bool {
        self.at >= self.end
    }

    #[inline(always)]
    fn advance(&mut self, n: u64) -> Option<()> {
        if n > (self.end - self.at) as u64 {
            return None;
        }
        self.at += n as usize;
        Some(())
    }

    #[inline(always)]
    pub fn number(&mut self) -> Option<u64> {
        let rest = self.bytes.get(self.at..)?;
        let (n, length) = match short_varint(rest) {
            Some(found) => found,
            None => decode_varint(rest).ok()?,
        };
        self.advance(length as u64)?;
        Some(n)
    }

    /// A nested message.
    #[inline(always)]
    pub fn message(&mut self) -> Option<Quick<'a>> {
        let length = self.number()?;
        let at = self.at;
        self.advance(length)?;
        Some(Quick { bytes: self.bytes, at, end: self.at })
    }

    #[inline(always)]
    pub fn text(&mut self) -> Option<&'a [u8]> {
        let Quick { bytes, at, end } = self.message()?;
        bytes.get(at..end)
    }

    /// Skips the field of a tag.
    #[inline(always)]
    pub fn skip(&mut self, tag: u8) -> Option<()> {
        if tag >= 0x80 {
            // Field 16 and above. A longer tag, or one that need not have two bytes, is unusual.
            if !matches!(self.tag()?, 1..=0x7f) {
                return None;
            }
        } else if tag < 8 {
            return None;
        }
        match tag & 7 {
            0 => self.number().map(drop),
            1 => self.advance(8),
            2 => self.message().map(drop),
            5 => self.advance(4),
            _ => None,
        }
    }
}

/// The text in the field `wanted`, of which the last one counts.
#[inline]
pub(crate) fn last_bytes<'a>(message: &'a [u8], wanted: u32, last: &mut Option<&'a [u8]>) -> Option<()> {
    if wanted > 15 {
        return None;
    }
    let mut fields = Quick::new(message);
    while let Some(tag) = fields.tag() {
        if tag == content_tag(wanted) {
            *last = Some(fields.text()?);
        } else {
            fields.skip(tag)?;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Fields, Value};
    use proptest::prelude::*;

    /// The number of a field, and its value: a number or bytes.
    type Seen<'b> = (u32, Option<u64>, Option<&'b [u8]>);

    /// The fields as the quick way has them, if it does not give up.
    fn quickly(bytes: &[u8]) -> Option<Vec<Seen<'_>>> {
        let mut quick = Quick::new(bytes);
        let mut seen = Vec::new();
        while let Some(tag) = quick.tag() {
            let number = u32::from(tag >> 3);
            let wire_type = tag & 7;
            match tag {
                8..=0x7f if wire_type == 0 => seen.push((number, Some(quick.number()?), None)),
                8..=0x7f if wire_type == 2 => seen.push((number, None, Some(quick.text()?))),
                _ => quick.skip(tag)?,
            }
        }
        Some(seen)
    }

    fn is_quick_right(bytes: &[u8]) -> bool {
        let Some(quick) = quickly(bytes) else { return true };
        let (mut reader, mut fields) = (Fields::new(bytes, 0), Vec::new());
        let is_whole = loop {
            match reader.next_field() {
                Ok(Some(field)) => fields.push(field),
                Ok(None) => break true,
                Err(_) => break false,
            }
        };
        let slow = fields.iter().filter(|field| field.number < 16).filter_map(|field| match field.value {
            Value::Varint(n) => Some((field.number, Some(n), None)),
            Value::Bytes(bytes) => Some((field.number, None, Some(bytes))),
            _ => None,
        });
        is_whole && slow.eq(quick)
    }

    #[test]
    fn the_quick_way_reads_usual_messages_and_gives_up_at_others() {
        // A number, a text, a field above 15, fixed ones, and a number of eight bytes that ends the message.
        let usual = [
            &[0x08, 0x96, 0x01, 0x12, 2, b'h', b'i', 0x82, 0x01, 1, 7, 0x1d, 1, 2, 3, 4][..],
            &[0x19, 1, 2, 3, 4, 5, 6, 7, 8, 0x20, 0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x08],
            &[0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
        ];
        for bytes in usual {
            assert!(quickly(bytes).is_some() && is_quick_right(bytes), "{bytes:?}");
        }
        // A group, a tag that is longer than it need be, field 0, a cut number, and a length past the end.
        for bytes in [&[0x0b, 0x0c][..], &[0x88, 0x00, 1], &[0x00, 1], &[0x08, 0x80], &[0x12, 3, b'x']] {
            assert!(quickly(bytes).is_none(), "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn the_quick_way_agrees_with_the_other(bytes in proptest::collection::vec(0..48_u8, 0..24), high in 0..24_usize) {
            let mut bytes = bytes;
            if let Some(byte) = bytes.get_mut(high) {
                *byte |= 0x80;
            }
            prop_assert!(is_quick_right(&bytes));
        }

        #[test]
        fn the_quick_way_agrees_about_any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            prop_assert!(is_quick_right(&bytes));
        }
    }
}
