//! Object headers: the messages of a group or a dataset, through all continuation blocks.

use super::{Cursor, Hdf5};
use crate::budget;
use crate::checkpoint::Damage;
use crate::hash::UntrustedSet;

/// An object: a group, a dataset, or a named type.
#[derive(Debug, Default)]
pub struct Object {
    messages: Vec<Message>,
}

#[derive(Debug)]
struct Message {
    kind: u16,
    flags: u8,
    body: Vec<u8>,
    /// Where the body is in the file.
    offset: u64,
}

/// Kinds of messages.
pub mod kind {
    pub const DATASPACE: u16 = 0x01;
    pub const LINK_INFO: u16 = 0x02;
    pub const DATATYPE: u16 = 0x03;
    pub const OLD_FILL_VALUE: u16 = 0x04;
    pub const FILL_VALUE: u16 = 0x05;
    pub const LINK: u16 = 0x06;
    pub const LAYOUT: u16 = 0x08;
    pub const FILTERS: u16 = 0x0b;
    pub const ATTRIBUTE: u16 = 0x0c;
    pub const SYMBOL_TABLE: u16 = 0x11;
    pub const ATTRIBUTE_INFO: u16 = 0x15;
}

/// A message that names a block with more messages.
const CONTINUATION: u16 = 0x10;

/// A message takes at least four bytes, so reading each once stays far below what a file may take.
const WORK_PER_MESSAGE: u64 = 16;

/// The body is elsewhere, shared by several objects.
pub const SHARED: u8 = 2;

impl Object {
    pub fn is_dataset(&self) -> bool {
        self.messages.iter().any(|message| message.kind == kind::LAYOUT)
    }

    fn has(&self, kind: u16) -> bool {
        self.messages.iter().any(|message| message.kind == kind)
    }
}

impl Hdf5 {
    /// Reads the messages of the object at an address.
    pub fn object(&self, address: u64) -> Result<Object, Damage> {
        let mut prefix = self.cursor_up_to(address, 40)?;
        let mut reader = HeaderReader { file: self, object: Object::default(), waiting: Vec::new(), tracked: false };
        if prefix.bytes.starts_with(b"OHDR") {
            reader.read_new(&mut prefix, address)?;
        } else {
            reader.read_old(&mut prefix, address)?;
        }
        Ok(reader.object)
    }

    /// The messages of one kind, each at its start. Shared ones are fetched.
    pub(super) fn messages(&self, object: &Object, kind: u16) -> Result<Vec<Cursor<'_>>, Damage> {
        let own = object.messages.iter().filter(|message| message.kind == kind);
        own.map(|message| self.resolve(message)).collect()
    }

    /// The only message of a kind, if there is one.
    pub(super) fn message(&self, object: &Object, kind: u16) -> Result<Option<Cursor<'_>>, Damage> {
        let own = object.messages.iter().find(|message| message.kind == kind);
        own.map(|message| self.resolve(message)).transpose()
    }

    fn resolve(&self, message: &Message) -> Result<Cursor<'_>, Damage> {
        let cursor = Cursor::new(self, message.body.clone(), message.offset);
        if message.flags & SHARED == 0 { Ok(cursor) } else { self.shared(cursor, message.kind) }
    }

    /// Follows the reference to a message that another object has.
    pub(super) fn shared(&self, mut reference: Cursor<'_>, kind: u16) -> Result<Cursor<'_>, Damage> {
        let (version, how) = (reference.u8()?, reference.u8()?);
        if version == 1 {
            reference.skip(6)?;
        }
        if version == 3 && how == 1 {
            let what = "a message lies in a heap of shared messages, which tfprof does not read";
            return Err(reference.fault(what.to_owned()));
        }
        let address = reference.defined("a shared message")?;
        let owner = self.object(address)?;
        let found = owner.messages.into_iter().find(|message| message.kind == kind);
        match found {
            // No sane file has a chain of references.
            Some(message) if message.flags & SHARED == 0 => Ok(Cursor::new(self, message.body, message.offset)),
            _ => Err(reference.fault(format!("the object at {address} has no message that could be shared"))),
        }
    }

    pub(super) fn is_old_group(object: &Object) -> bool {
        object.has(kind::SYMBOL_TABLE)
    }
}

struct HeaderReader<'f> {
    file: &'f Hdf5,
    object: Object,
    /// Continuation blocks: address and length.
    waiting: Vec<(u64, u64)>,
    /// Each message of a new header may have a number.
    tracked: bool,
}

impl HeaderReader<'_> {
    fn read_old(&mut self, prefix: &mut Cursor<'_>, address: u64) -> Result<(), Damage> {
        let version = prefix.u8()?;
        if version != 1 {
            prefix.at = 0;
            return Err(prefix.fault("expected an object of HDF5 here; is the file damaged?".to_owned()));
        }
        prefix.skip(7)?;
        let size = u64::from(prefix.u32()?);
        self.waiting.push((address.saturating_add(16), size));
        self.read_blocks(HeaderReader::read_old_messages)
    }

    fn read_new(&mut self, prefix: &mut Cursor<'_>, address: u64) -> Result<(), Damage> {
        prefix.signature(*b"OHDR")?;
        let (version, flags) = (prefix.u8()?, prefix.u8()?);
        if version != 2 {
            return Err(prefix.fault(format!("version {version} of an object is not known")));
        }
        self.tracked = flags & 0x04 != 0;
        prefix.skip(if flags & 0x20 != 0 { 16 } else { 0 } + if flags & 0x10 != 0 { 4 } else { 0 })?;
        let size = prefix.number(1 << (flags & 3))?;
        let mut first = self.file.cursor(address.saturating_add(prefix.at as u64), size)?;
        self.read_new_messages(&mut first)?;
        self.read_blocks(|reader, block| {
            block.signature(*b"OCHK")?;
            // A checksum ends the block.
            let end = block.bytes.len().saturating_sub(4).max(block.at);
            block.bytes.truncate(end);
            reader.read_new_messages(block)
        })
    }

    /// Reads all continuation blocks, each once.
    fn read_blocks(
        &mut self,
        mut read: impl FnMut(&mut Self, &mut Cursor<'_>) -> Result<(), Damage>,
    ) -> Result<(), Damage> {
        let mut seen: UntrustedSet<u64> = UntrustedSet::default();
        while let Some((address, length)) = self.waiting.pop() {
            let mut block = self.file.cursor(address, length)?;
            if !seen.insert(address) {
                return Err(block.fault("the blocks of an object form a loop; is the file damaged?".to_owned()));
            }
            read(self, &mut block)?;
        }
        Ok(())
    }

    fn read_old_messages(&mut self, block: &mut Cursor<'_>) -> Result<(), Damage> {
        while block.left() >= 8 {
            let (kind, size) = (block.u16()?, block.u16()?);
            let flags = block.u8()?;
            block.skip(3)?;
            self.take(block, kind, flags, usize::from(size))?;
        }
        Ok(())
    }

    fn read_new_messages(&mut self, block: &mut Cursor<'_>) -> Result<(), Damage> {
        let prefix = if self.tracked { 6 } else { 4 };
        while block.left() >= prefix {
            let (kind, size, flags) = (u16::from(block.u8()?), block.u16()?, block.u8()?);
            block.skip(prefix - 4)?;
            self.take(block, kind, flags, usize::from(size))?;
        }
        Ok(())
    }

    fn take(&mut self, block: &mut Cursor<'_>, kind: u16, flags: u8, size: usize) -> Result<(), Damage> {
        // Objects may share a block, and messages an object, so a message may be read often.
        budget::work(WORK_PER_MESSAGE);
        let offset = block.offset + block.at as u64;
        let body = block.take(size)?.to_vec();
        if kind == CONTINUATION {
            let mut body = Cursor::new(self.file, body, offset);
            let (address, length) = (body.defined("a continuation")?, body.length()?);
            self.waiting.push((address, length));
        } else if kind != 0 {
            self.object.messages.push(Message { kind, flags, body, offset });
        }
        Ok(())
    }
}
