//! Thrift's compact protocol: the part that Parquet's footer and page headers need.

/// Writes one struct; nested ones are closed by [`Struct::end`] of their own.
#[derive(Debug, Default)]
pub struct Thrift {
    pub bytes: Vec<u8>,
    /// The last field of each open struct.
    fields: Vec<i16>,
}

const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

impl Thrift {
    /// Begins a struct that is the message itself, or an item of a list.
    pub fn begin(&mut self) {
        self.fields.push(0);
    }

    pub fn end(&mut self) {
        self.bytes.push(0);
        self.fields.pop();
    }

    fn field(&mut self, id: i16, kind: u8) {
        let last = self.fields.last().copied().unwrap_or(0);
        match id - last {
            delta @ 1..=15 => self.bytes.push((delta as u8) << 4 | kind),
            _ => {
                self.bytes.push(kind);
                self.varint(zigzag(i64::from(id)));
            }
        }
        if let Some(last) = self.fields.last_mut() {
            *last = id;
        }
    }

    pub fn i32(&mut self, id: i16, n: i32) {
        self.field(id, I32);
        self.varint(zigzag(i64::from(n)));
    }

    pub fn i64(&mut self, id: i16, n: i64) {
        self.field(id, I64);
        self.varint(zigzag(n));
    }

    pub fn binary(&mut self, id: i16, bytes: &[u8]) {
        self.field(id, BINARY);
        self.text(bytes);
    }

    fn text(&mut self, bytes: &[u8]) {
        self.varint(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    /// A field that is a struct.
    pub fn nested(&mut self, id: i16, fill: impl FnOnce(&mut Thrift)) {
        self.field(id, STRUCT);
        self.begin();
        fill(self);
        self.end();
    }

    /// A field that is a list of structs.
    pub fn structs<T>(&mut self, id: i16, items: &[T], mut fill: impl FnMut(&mut Thrift, &T)) {
        self.list(id, STRUCT, items.len());
        for item in items {
            self.begin();
            fill(self, item);
            self.end();
        }
    }

    pub fn i32_list(&mut self, id: i16, items: &[i32]) {
        self.list(id, I32, items.len());
        items.iter().for_each(|n| self.varint(zigzag(i64::from(*n))));
    }

    pub fn texts(&mut self, id: i16, items: &[&str]) {
        self.list(id, BINARY, items.len());
        items.iter().for_each(|text| self.text(text.as_bytes()));
    }

    fn list(&mut self, id: i16, kind: u8, length: usize) {
        self.field(id, LIST);
        if length < 15 {
            self.bytes.push((length as u8) << 4 | kind);
        } else {
            self.bytes.push(0xf0 | kind);
            self.varint(length as u64);
        }
    }

    fn varint(&mut self, n: u64) {
        push_varint(&mut self.bytes, n);
    }
}

pub fn zigzag(n: i64) -> u64 {
    ((n << 1) ^ (n >> 63)) as u64
}

pub fn push_varint(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_differences_and_numbers_zigzag() {
        let mut thrift = Thrift::default();
        thrift.begin();
        thrift.i32(1, -1);
        thrift.i64(3, 300);
        thrift.binary(20, b"ab");
        thrift.nested(21, |inner| inner.i32(1, 0));
        thrift.i32_list(22, &[0, 1]);
        thrift.end();
        let expected = [0x15, 1, 0x26, 0xd8, 4, 0x08, 40, 2, b'a', b'b', 0x1c, 0x15, 0, 0, 0x19, 0x25, 0, 2, 0];
        assert_eq!(thrift.bytes, expected);
    }
}
