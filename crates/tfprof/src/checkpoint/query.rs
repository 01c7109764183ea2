//! Questions to checkpoints: list the tensors with statistics, compare two checkpoints, select values, verify everything.

mod comparison;
mod filter;
mod listing;
mod selection;
mod stats;
mod verify;

pub use comparison::{ChangeKind, Comparison, ComparisonRow};
pub use listing::{Listing, ListingRow, Summary};
pub use selection::{SelectedValues, select_values};
pub use stats::{Change, Stats};
pub use verify::Verdict;
