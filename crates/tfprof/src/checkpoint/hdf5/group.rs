//! The members of a group: in a symbol table, as messages, or in a heap with an index.

use super::btree::BTree;
use super::header::kind;
use super::heap::{FractalHeap, LocalHeap};
use super::{Cursor, Hdf5, Object};
use crate::budget;
use crate::checkpoint::Damage;
use crate::hash::UntrustedSet;

/// A member of a group.
#[derive(Debug, PartialEq, Eq)]
pub struct Link {
    pub name: Vec<u8>,
    pub target: Target,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Target {
    /// The address of an object.
    Object(u64),
    /// Another name, in this file or another one.
    Elsewhere,
}

/// Links of a group that is indexed by name are records of this type.
const LINK_NAMES: u8 = 5;

impl Hdf5 {
    /// The members of a group, by name.
    pub fn links(&self, group: &Object) -> Result<Vec<Link>, Damage> {
        let mut links = Vec::new();
        if Hdf5::is_old_group(group) {
            self.symbol_table(group, &mut links)?;
        }
        for mut message in self.messages(group, kind::LINK)? {
            links.push(read_link(&mut message)?);
        }
        if let Some(mut info) = self.message(group, kind::LINK_INFO)? {
            info.skip(1)?;
            let flags = info.u8()?;
            info.skip(if flags & 1 != 0 { 8 } else { 0 })?;
            if let (Some(heap), Some(index)) = (info.address()?, info.address()?) {
                self.dense_links(heap, index, &mut links)?;
            }
        }
        links.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(links)
    }

    fn symbol_table(&self, group: &Object, links: &mut Vec<Link>) -> Result<(), Damage> {
        let Some(mut table) = self.message(group, kind::SYMBOL_TABLE)? else { return Ok(()) };
        let (tree, heap) = (table.defined("an index of a group")?, table.defined("the names of a group")?);
        let heap = LocalHeap::open(self, heap)?;
        let mut waiting = vec![tree];
        let mut seen: UntrustedSet<u64> = UntrustedSet::default();
        while let Some(address) = waiting.pop() {
            let mut node = self.cursor_up_to(address, 24)?;
            if !seen.insert(address) {
                return Err(node.fault("the index of a group forms a loop; is the file damaged?".to_owned()));
            }
            if node.bytes.starts_with(b"SNOD") {
                self.symbols(address, &heap, links)?;
                continue;
            }
            node.signature(*b"TREE")?;
            if node.u8()? != 0 {
                return Err(node.fault("expected the index of a group here; is the file damaged?".to_owned()));
            }
            node.skip(1)?;
            let count = u64::from(node.u16()?);
            let (key, child) = (u64::from(self.length_size), u64::from(self.offset_size));
            let mut entries = self.cursor(address.saturating_add(8 + 2 * child), count * (key + child) + key)?;
            let first = waiting.len();
            for _ in 0..count {
                entries.skip(key as usize)?;
                waiting.push(entries.defined("a part of a group")?);
            }
            waiting[first..].reverse();
        }
        Ok(())
    }

    fn symbols(&self, address: u64, heap: &LocalHeap, links: &mut Vec<Link>) -> Result<(), Damage> {
        let mut head = self.cursor(address, 8)?;
        head.skip(6)?;
        let count = u64::from(head.u16()?);
        let size = 2 * u64::from(self.offset_size) + 24;
        let mut entries = self.cursor(address.saturating_add(8), count * size)?;
        for _ in 0..count {
            budget::work(1);
            let name = entries.length_of_address()?;
            let address = entries.address()?;
            let cached = entries.u32()?;
            entries.skip(20)?;
            let target = match address {
                Some(address) if cached != 2 => Target::Object(address),
                _ => Target::Elsewhere,
            };
            links.push(Link { name: heap.text(&entries, name)?, target });
        }
        Ok(())
    }

    fn dense_links(&self, heap: u64, index: u64, links: &mut Vec<Link>) -> Result<(), Damage> {
        let heap = FractalHeap::open(self, heap)?;
        let tree = BTree::open(self, index)?;
        tree.each(|kind, record| {
            let id = match kind {
                LINK_NAMES => record.get(4..),
                _ => None,
            };
            let id = id.ok_or_else(|| self.source.damage(index, format!("links of type {kind} are not known")))?;
            links.push(read_link(&mut heap.object(id)?)?);
            Ok(())
        })
    }
}

/// Reads a link message.
fn read_link(message: &mut Cursor<'_>) -> Result<Link, Damage> {
    budget::work(1);
    let (version, flags) = (message.u8()?, message.u8()?);
    if version != 1 {
        return Err(message.fault(format!("version {version} of a link is not known")));
    }
    let kind = if flags & 0x08 != 0 { message.u8()? } else { 0 };
    message.skip(if flags & 0x04 != 0 { 8 } else { 0 })?;
    message.skip(usize::from(flags & 0x10 != 0))?;
    let length = message.number(1 << (flags & 3))?;
    let name = message.take(usize::try_from(length).unwrap_or(usize::MAX))?.to_vec();
    let target = if kind == 0 { Target::Object(message.defined("a member of a group")?) } else { Target::Elsewhere };
    Ok(Link { name, target })
}
