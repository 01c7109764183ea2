//! Verifies a checkpoint: every checksum and every length.

use crate::checkpoint::read::Store;
use crate::checkpoint::{Checkpoint, Damage};

/// How much was checked, and the damage found.
#[derive(Debug)]
pub struct Verdict {
    pub tensors: usize,
    pub bytes: u64,
    pub damage: Vec<Damage>,
}

impl Checkpoint {
    /// Reads and checks everything.
    pub fn verify(&self) -> Verdict {
        let mut damage = self.damage.clone();
        match &self.store {
            Store::Bundle { index, .. } => damage.extend(index.check_metaindex()),
            Store::Tables(tables) => {
                for table in tables {
                    damage.extend(table.check_metaindex());
                    for number in table.blocks() {
                        match table.block(number) {
                            Ok(block) => damage.extend(block.damage),
                            Err(lost) => damage.push(lost),
                        }
                    }
                }
            }
        }
        let mut bytes = 0_u64;
        for tensor in &self.tensors {
            bytes = bytes.saturating_add(tensor.bytes.unwrap_or(0));
            let result = if self.is_streamed(tensor) {
                self.stream(tensor, &mut |_| {}).and_then(|found| self.check_coverage(tensor).map(|()| found))
            } else {
                self.values(tensor).map(|values| values.damage)
            };
            match result {
                Ok(found) => damage.extend(found),
                Err(lost) => damage.push(lost),
            }
        }
        // The same damage may have been found twice. Keep the report that names a tensor.
        damage.sort_by(|a, b| (&a.file, a.offset, a.tensor.is_none()).cmp(&(&b.file, b.offset, b.tensor.is_none())));
        damage
            .dedup_by(|b, a| a.file == b.file && a.offset == b.offset && (a.tensor == b.tensor || b.tensor.is_none()));
        Verdict { tensors: self.tensors.len(), bytes, damage }
    }
}
