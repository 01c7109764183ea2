//! B-trees of the second version: the records of an index, in order.

use super::cursor::size_of_limit;
use super::{Cursor, Hdf5};
use crate::budget;
use crate::checkpoint::Damage;
use crate::hash::UntrustedSet;

#[derive(Debug)]
pub struct BTree<'f> {
    file: &'f Hdf5,
    kind: u8,
    record_size: usize,
    depth: usize,
    root: Option<u64>,
    root_records: u64,
    /// For each level, how many bytes hold the number of records below a child.
    sizes: Vec<usize>,
    leaf_count_size: usize,
}

/// A node: its address, its records, its level.
type Node = (u64, u64, usize);

/// Signature, version and type; a checksum ends a node.
const NODE_PREFIX: u64 = 6;
const CHECKSUM: u64 = 4;

impl<'f> BTree<'f> {
    pub fn open(file: &'f Hdf5, address: u64) -> Result<BTree<'f>, Damage> {
        let mut head = file.cursor_up_to(address, 40)?;
        head.signature(*b"BTHD")?;
        head.skip(1)?;
        let kind = head.u8()?;
        let node_size = u64::from(head.u32()?);
        let record_size = usize::from(head.u16()?);
        let depth = usize::from(head.u16()?);
        head.skip(2)?;
        let root = head.address()?;
        let root_records = u64::from(head.u16()?);
        let room = node_size.saturating_sub(NODE_PREFIX + CHECKSUM);
        if record_size == 0 || depth > 32 || room < record_size as u64 {
            return Err(head.fault("the sizes of an index make no sense; is the file damaged?".to_owned()));
        }
        let leaf_records = room / record_size as u64;
        let leaf_count_size = size_of_limit(leaf_records);
        // The maximum number of records below a node, by level.
        let (mut below, mut sizes) = (leaf_records, vec![0]);
        for level in 1..=depth {
            let pointer = usize::from(file.offset_size) + leaf_count_size + sizes[level - 1];
            let most = room.saturating_sub(pointer as u64) / (record_size + pointer) as u64;
            below = below.saturating_mul(most + 1).saturating_add(most);
            sizes.push(size_of_limit(below));
        }
        Ok(BTree { file, kind, record_size, depth, root, root_records, sizes, leaf_count_size })
    }

    /// Calls `take` with the type and the bytes of each record.
    pub fn each(&self, mut take: impl FnMut(u8, &[u8]) -> Result<(), Damage>) -> Result<(), Damage> {
        let mut waiting: Vec<Node> = self.root.map(|root| (root, self.root_records, self.depth)).into_iter().collect();
        let mut seen: UntrustedSet<u64> = UntrustedSet::default();
        while let Some(node) = waiting.pop() {
            let mut cursor = self.open_node(node)?;
            if !seen.insert(node.0) {
                return Err(cursor.fault("the nodes of an index form a loop; is the file damaged?".to_owned()));
            }
            for _ in 0..node.1 {
                budget::work(1);
                let start = cursor.at;
                cursor.skip(self.record_size)?;
                take(self.kind, &cursor.bytes[start..cursor.at])?;
            }
            if node.2 == 0 {
                continue;
            }
            for _ in 0..=node.1 {
                let child = cursor.defined("a part of an index")?;
                let records = cursor.number(self.leaf_count_size)?;
                cursor.skip(self.sizes[node.2 - 1])?;
                waiting.push((child, records, node.2 - 1));
            }
        }
        Ok(())
    }

    fn open_node(&self, (address, records, level): Node) -> Result<Cursor<'f>, Damage> {
        let pointer = match level {
            0 => 0,
            _ => usize::from(self.file.offset_size) + self.leaf_count_size + self.sizes[level - 1],
        };
        let pointers = if level == 0 { 0 } else { (records + 1) * pointer as u64 };
        let mut node = self.file.cursor(address, NODE_PREFIX + records * self.record_size as u64 + pointers)?;
        node.signature(if level == 0 { *b"BTLF" } else { *b"BTIN" })?;
        node.skip(2)?;
        Ok(node)
    }
}
