//! Which lines of the user's own code cost most: what installed packages do on behalf of a line counts as that line's.

use crate::metric::Metric;
use crate::view::{View, VisibleRow};
use std::collections::BTreeMap;

/// Lines of a code view with what they and the packages below them took.
pub fn costs(view: &View, metric: Metric) -> BTreeMap<String, i64> {
    let mut costs: BTreeMap<String, i64> = BTreeMap::new();
    // The lines around a row, each with the line of the user's that it counts for.
    let mut around: Vec<(usize, &VisibleRow)> = Vec::new();
    for row in view.rows().iter().skip(1) {
        around.retain(|(depth, _)| *depth < row.depth);
        let owner = match around.last() {
            Some((_, owner)) if is_of_a_package(view, row) => *owner,
            _ => row,
        };
        around.push((row.depth, owner));
        let cost = costs.entry(view.name(owner).to_owned()).or_default();
        *cost = cost.saturating_add(view.self_value(metric, row));
    }
    costs
}

fn is_of_a_package(view: &View, row: &VisibleRow) -> bool {
    let file = view.frame(row).map(|frame| view.model.names.get(frame.file)).unwrap_or_default();
    ["/site-packages/", "/dist-packages/", "/tensorflow/python/"].iter().any(|part| file.contains(part))
}
