//! Exceeded limits as a table.

use super::{LimitTarget, Over};
use crate::units::grouped;

pub const HEAD: [&str; 6] = ["scope", "metric", "before", "found", "limit", "over by"];

/// The cells of a row. `has_before`: some limit is a growth, so there is a column for the number before.
pub fn cells(over: &Over, has_before: bool) -> Vec<String> {
    let what = match over.place {
        LimitTarget::Model => "the whole model".to_owned(),
        LimitTarget::Scope => over.scope.clone(),
        LimitTarget::Op => format!("op {}", over.scope),
        LimitTarget::Line => format!("line {}", over.scope),
    };
    let mut cells = vec![what, over.metric.info().key.to_owned()];
    if has_before {
        cells.push(over.before.map_or_else(|| "-".to_owned(), grouped));
    }
    cells.extend([over.found, over.most, over.found.saturating_sub(over.most)].map(grouped));
    cells
}

/// The titles of the columns.
pub fn head(has_before: bool) -> Vec<&'static str> {
    HEAD.into_iter().filter(|title| has_before || *title != "before").collect()
}
