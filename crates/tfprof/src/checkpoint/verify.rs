//! Every checksum and every length of a checkpoint, whether or not anything asks for the bytes behind it.

use super::catalog::Store;
use super::{Checkpoint, Damage};

/// What was looked at, and what is wrong.
#[derive(Debug)]
pub struct Verdict {
    pub tensors: usize,
    pub bytes: u64,
    pub damage: Vec<Damage>,
}

impl Checkpoint {
    /// Reads everything.
    pub fn verify(&self) -> Verdict {
        let mut damage = self.damage.clone();
        match &self.store {
            Store::Bundle { index, .. } => damage.extend(index.check_about()),
            Store::Tables(tables) => {
                for table in tables {
                    damage.extend(table.check_about());
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
            let found = if self.is_streamed(tensor) {
                self.stream(tensor, &mut |_| {}).and_then(|wrong| self.check_cover(tensor).map(|()| wrong))
            } else {
                self.values(tensor).map(|values| values.damage)
            };
            match found {
                Ok(wrong) => damage.extend(wrong),
                Err(lost) => damage.push(lost),
            }
        }
        // The same damage may have been met on several ways: the one that names a tensor tells more.
        damage.sort_by(|a, b| (&a.file, a.offset, a.tensor.is_none()).cmp(&(&b.file, b.offset, b.tensor.is_none())));
        damage
            .dedup_by(|b, a| a.file == b.file && a.offset == b.offset && (a.tensor == b.tensor || b.tensor.is_none()));
        Verdict { tensors: self.tensors.len(), bytes, damage }
    }
}
