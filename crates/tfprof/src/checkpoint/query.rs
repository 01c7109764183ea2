//! Questions to checkpoints: list the tensors with statistics, compare two checkpoints, select values, verify everything.

mod comparison;
mod listing;
mod selection;
mod stats;

use crate::checkpoint::read::Store;
use crate::checkpoint::{Checkpoint, Damage, Tensor};
use crate::error::Error;
use crate::metric::Metric;
use crate::options::Options;
use crate::view::filter::Patterns;
pub use comparison::{ChangeKind, Comparison, ComparisonRow};
pub use listing::{Listing, ListingRow, Summary};
pub use selection::{SelectedValues, select_values};
pub use stats::{Change, Stats};

/// Selects tensors by name and size.
struct Filter {
    show: Patterns,
    hide: Patterns,
    min_parameters: i64,
    min_bytes: i64,
}

impl Filter {
    pub fn new(options: &Options) -> Result<Filter, Error> {
        Ok(Filter {
            show: Patterns::new("show_name_regexes", &options.show_name_regexes)?,
            hide: Patterns::new("hide_name_regexes", &options.hide_name_regexes)?,
            min_parameters: options.min[Metric::Parameters as usize],
            min_bytes: options.min[Metric::RequestedBytes as usize],
        })
    }

    /// A pattern may match the key or the name of the variable.
    pub fn shows(&self, tensor: &Tensor) -> bool {
        let named = |patterns: &Patterns| {
            patterns.matches(&tensor.name) || tensor.readable.as_ref().is_some_and(|name| patterns.matches(name))
        };
        named(&self.show)
            && !named(&self.hide)
            && tensor.parameters() >= self.min_parameters
            && tensor.bytes.unwrap_or(0) as i64 >= self.min_bytes
    }
}

/// The number of bytes and tensors checked, and the damage found.
#[derive(Debug)]
pub struct Verdict {
    pub tensors: usize,
    pub bytes: u64,
    pub damage: Vec<Damage>,
}

impl Checkpoint {
    /// Reads and checks everything.
    pub fn verify(&self) -> Verdict {
        // Data that is not there is missed by each tensor.
        let mut damage: Vec<Damage> = self.damage.iter().filter(|damage| !damage.absent).cloned().collect();
        match &self.store {
            Store::Bundle { index, .. } => damage.extend(index.check_metaindex()),
            // Their readers check all there is.
            Store::Arrays(_) => {}
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
