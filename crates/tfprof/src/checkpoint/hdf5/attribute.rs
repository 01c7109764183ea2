//! Attributes of groups and datasets: names with values, as messages or in a heap.

use super::btree::BTree;
use super::dataset::read_dataspace;
use super::header::{SHARED, kind};
use super::heap::{FractalHeap, GlobalHeap};
use super::{Class, Cursor, Datatype, Hdf5, Object};
use crate::budget;
use crate::checkpoint::Damage;

/// An attribute. Its value is read when it is asked for.
#[derive(Debug)]
pub struct Attribute {
    pub name: Vec<u8>,
    pub datatype: Datatype,
    pub shape: Vec<i64>,
    value: Vec<u8>,
    offset: u64,
}

/// Attributes of an object that are indexed by name are records of this type: an id, then flags and numbers.
const ATTRIBUTE_NAMES: u8 = 8;
const ATTRIBUTE_ID: usize = 8;

impl Hdf5 {
    /// The attributes of an object, by name.
    pub fn attributes(&self, object: &Object) -> Result<Vec<Attribute>, Damage> {
        let mut attributes = Vec::new();
        for mut message in self.messages(object, kind::ATTRIBUTE)? {
            attributes.push(self.read_attribute(&mut message)?);
        }
        if let Some(mut info) = self.message(object, kind::ATTRIBUTE_INFO)? {
            info.skip(1)?;
            let flags = info.u8()?;
            info.skip(if flags & 1 != 0 { 2 } else { 0 })?;
            if let (Some(heap), Some(index)) = (info.address()?, info.address()?) {
                let heap = FractalHeap::open(self, heap)?;
                BTree::open(self, index)?.each(|kind, record| {
                    let id = record.get(..ATTRIBUTE_ID).filter(|_| kind == ATTRIBUTE_NAMES);
                    let unknown = || self.source.damage(index, format!("attributes of type {kind} are not known"));
                    attributes.push(self.read_attribute(&mut heap.object(id.ok_or_else(unknown)?)?)?);
                    Ok(())
                })?;
            }
        }
        attributes.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(attributes)
    }

    fn read_attribute(&self, message: &mut Cursor<'_>) -> Result<Attribute, Damage> {
        budget::work(1);
        let (version, flags) = (message.u8()?, message.u8()?);
        if !(1..=3).contains(&version) {
            return Err(message.fault(format!("version {version} of an attribute is not known")));
        }
        let sizes = [message.u16()?, message.u16()?, message.u16()?].map(usize::from);
        message.skip(usize::from(version == 3))?;
        // The parts of old attributes are padded to eight bytes.
        let mut part = |size: usize| {
            let offset = message.offset + message.at as u64;
            let bytes = message.take(if version == 1 { size.next_multiple_of(8) } else { size })?;
            Ok(Cursor::new(self, bytes.to_vec(), offset))
        };
        let mut name = part(sizes[0])?.bytes;
        let (mut datatype, mut dataspace) = (part(sizes[1])?, part(sizes[2])?);
        name.truncate(name.iter().position(|byte| *byte == 0).unwrap_or(name.len()));
        let is_shared = |flag: u8| version > 1 && flags & flag != 0;
        if is_shared(1) {
            datatype = self.shared(datatype, kind::DATATYPE)?;
        }
        if is_shared(SHARED) {
            dataspace = self.shared(dataspace, kind::DATASPACE)?;
        }
        let offset = message.offset + message.at as u64;
        Ok(Attribute {
            name,
            datatype: Datatype::read(&mut datatype)?,
            shape: read_dataspace(&mut dataspace)?,
            value: message.bytes.split_off(message.at.min(message.bytes.len())),
            offset,
        })
    }

    /// The texts of an attribute of text; nothing for another one.
    pub fn texts(&self, attribute: &Attribute) -> Result<Vec<Vec<u8>>, Damage> {
        let count = super::super::read::elements(&attribute.shape).unwrap_or(0);
        let size = u64::from(attribute.datatype.size);
        let mut value = Cursor::new(self, attribute.value.clone(), attribute.offset);
        if size == 0 || count.saturating_mul(size) > attribute.value.len() as u64 {
            return Err(value.fault("the value of an attribute is cut short; is the file damaged?".to_owned()));
        }
        let mut heap = GlobalHeap::new(self);
        let mut texts = Vec::new();
        for _ in 0..count {
            budget::work(1);
            match attribute.datatype.class {
                Class::Text { padding } => texts.push(padding.strip(value.take(size as usize)?).to_vec()),
                Class::VariableText => texts.push(heap.text(&mut value)?.to_vec()),
                _ => return Ok(Vec::new()),
            }
        }
        Ok(texts)
    }

    /// The texts of the attribute of this name. Keras cuts long lists into `NAME0`, `NAME1`, …
    pub fn text_list(&self, object: &Object, name: &str) -> Result<Option<Vec<Vec<u8>>>, Damage> {
        let attributes = self.attributes(object)?;
        let find = |name: &str| {
            let at = attributes.binary_search_by(|attribute| attribute.name.as_slice().cmp(name.as_bytes()));
            at.ok().map(|at| &attributes[at])
        };
        if let Some(whole) = find(name) {
            return self.texts(whole).map(Some);
        }
        let mut texts: Option<Vec<Vec<u8>>> = None;
        for number in 0..attributes.len() {
            let Some(part) = find(&format!("{name}{number}")) else { break };
            texts.get_or_insert_default().append(&mut self.texts(part)?);
        }
        Ok(texts)
    }

    /// The text of the attribute of this name.
    pub fn text(&self, object: &Object, name: &str) -> Result<Option<Vec<u8>>, Damage> {
        let texts = self.text_list(object, name)?;
        Ok(texts.and_then(|texts| texts.into_iter().next()))
    }
}
