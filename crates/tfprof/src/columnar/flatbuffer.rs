//! A minimal `FlatBuffers` builder for Arrow's messages: the buffer grows toward the front.

/// A buffer that grows toward the front. Offsets count from the end, so prepending does not change them.
#[derive(Debug, Default)]
pub struct Flatbuffer {
    /// Reversed: the last byte of the buffer comes first.
    reversed: Vec<u8>,
}

/// An object's distance from the end of the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offset(u32);

/// The value of a field of a table.
#[derive(Clone, Copy, Debug)]
pub enum FieldValue {
    I8(u8),
    I16(i16),
    I32(i32),
    I64(i64),
    Ref(Offset),
}

impl FieldValue {
    fn size(self) -> usize {
        match self {
            FieldValue::I8(_) => 1,
            FieldValue::I16(_) => 2,
            FieldValue::I32(_) | FieldValue::Ref(_) => 4,
            FieldValue::I64(_) => 8,
        }
    }
}

impl Flatbuffer {
    fn here(&self) -> Offset {
        Offset(self.reversed.len() as u32)
    }

    /// Prepends bytes.
    fn put(&mut self, bytes: &[u8]) {
        self.reversed.extend(bytes.iter().rev());
    }

    /// Pads with zeros so that, after `more` further bytes, the distance from the end is a multiple of `to`.
    fn align(&mut self, more: usize, to: usize) {
        while !(self.reversed.len() + more).is_multiple_of(to) {
            self.reversed.push(0);
        }
    }

    fn put_ref(&mut self, to: Offset) {
        self.align(4, 4);
        let distance = self.here().0 + 4 - to.0;
        self.put(&distance.to_le_bytes());
    }

    pub fn text(&mut self, text: &str) -> Offset {
        self.align(text.len() + 1 + 4, 4);
        self.put(&[0]);
        self.put(text.as_bytes());
        self.put(&(text.len() as u32).to_le_bytes());
        self.here()
    }

    /// A vector of references.
    pub fn refs(&mut self, items: &[Offset]) -> Offset {
        self.align(0, 4);
        items.iter().rev().for_each(|item| self.put_ref(*item));
        self.put(&(items.len() as u32).to_le_bytes());
        self.here()
    }

    /// A vector of structs of two numbers.
    pub fn pairs(&mut self, items: &[(i64, i64)]) -> Offset {
        self.align(0, 8);
        for (first, second) in items.iter().rev() {
            self.put(&second.to_le_bytes());
            self.put(&first.to_le_bytes());
        }
        self.put(&(items.len() as u32).to_le_bytes());
        self.here()
    }

    /// A table: its fields by number, `None` for absent ones.
    pub fn table(&mut self, fields: &[Option<FieldValue>]) -> Offset {
        let end = self.here().0;
        let mut places = vec![0_u32; fields.len()];
        for (at, field) in fields.iter().enumerate().rev() {
            let Some(slot) = field else { continue };
            self.align(slot.size(), slot.size());
            match *slot {
                FieldValue::I8(n) => self.put(&[n]),
                FieldValue::I16(n) => self.put(&n.to_le_bytes()),
                FieldValue::I32(n) => self.put(&n.to_le_bytes()),
                FieldValue::I64(n) => self.put(&n.to_le_bytes()),
                FieldValue::Ref(to) => self.put_ref(to),
            }
            places[at] = self.here().0;
        }
        // A table begins with the distance to its vtable, which precedes it.
        self.align(4, 4);
        let table = self.here().0 + 4;
        let list = 4 + 2 * fields.len();
        let padding = (table as usize + list).next_multiple_of(2) - (table as usize + list);
        self.put(&((list + padding) as i32).to_le_bytes());
        (0..padding).for_each(|_| self.put(&[0]));
        for place in places.iter().rev() {
            let offset = if *place == 0 { 0 } else { (table - place) as u16 };
            self.put(&offset.to_le_bytes());
        }
        self.put(&((table - end) as u16).to_le_bytes());
        self.put(&(list as u16).to_le_bytes());
        Offset(table)
    }

    /// The finished buffer, whose root is a table.
    pub fn finish(mut self, root: Offset) -> Vec<u8> {
        self.align(4, 8);
        self.put_ref(root);
        self.reversed.reverse();
        self.reversed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn u32_at(bytes: &[u8], at: usize) -> usize {
        u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
    }

    #[test]
    fn fields_are_found_through_the_list_of_places() {
        let mut buffer = Flatbuffer::default();
        let name = buffer.text("name");
        let root =
            buffer.table(&[Some(FieldValue::I16(7)), None, Some(FieldValue::Ref(name)), Some(FieldValue::I64(-1))]);
        let bytes = buffer.finish(root);
        let table = u32_at(&bytes, 0);
        let list = table - u32_at(&bytes, table);
        let place = |field: usize| u16::from_le_bytes(bytes[list + 4 + 2 * field..][..2].try_into().unwrap()) as usize;
        assert_eq!(bytes[table + place(0)], 7);
        assert_eq!(place(1), 0);
        let text = table + place(2) + u32_at(&bytes, table + place(2));
        assert_eq!((u32_at(&bytes, text), &bytes[text + 4..text + 9]), (4, &b"name\0"[..]));
        assert_eq!(bytes[table + place(3)..][..8], (-1_i64).to_le_bytes());
        assert_eq!((table + place(3)) % 8, 0);
    }
}
