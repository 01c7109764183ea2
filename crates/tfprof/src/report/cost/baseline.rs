//! The difference between two models by layer and scope.

use super::{Cost, Figures};
use crate::hash::UntrustedMap;
use serde::Serialize;

/// A scope of either model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    pub name: String,
    pub before: Figures,
    pub after: Figures,
}

/// The whole model first, then the scopes that differ, without those whose difference is that of a single child.
pub fn changes(before: &Cost, after: &Cost) -> Vec<Change> {
    let mut index: UntrustedMap<&str, usize> = UntrustedMap::default();
    // Scopes of both, parents before children: (change, parent).
    let mut all: Vec<(Change, usize)> = Vec::new();
    for (side, cost) in [before, after].into_iter().enumerate() {
        for scope in cost.scopes.iter() {
            let parent = index.get(cost.scopes.name(scope.parent)).copied().unwrap_or(0);
            let at = *index.entry(scope.name).or_insert(all.len());
            if at == all.len() {
                let nothing = Figures::default();
                all.push((Change { name: scope.name.to_owned(), before: nothing, after: nothing }, parent));
            }
            let change = &mut all[at].0;
            *(if side == 0 { &mut change.before } else { &mut change.after }) = scope.total;
        }
    }
    let differs = |change: &Change| change.before != change.after;
    let mut differing_children = vec![Vec::new(); all.len()];
    for (at, (change, parent)) in all.iter().enumerate().skip(1) {
        if differs(change) {
            differing_children[*parent].push(at);
        }
    }
    let difference = |at: usize| all[at].0.after.minus(&all[at].0.before);
    let explained = |at: usize| matches!(differing_children[at][..], [only] if difference(only) == difference(at));
    let mut changes: Vec<usize> = (1..all.len()).filter(|at| differs(&all[*at].0) && !explained(*at)).collect();
    let size = |at: usize| {
        let difference = difference(at);
        (difference.float_ops.unsigned_abs(), difference.parameters.unsigned_abs())
    };
    changes.sort_by(|a, b| size(*b).cmp(&size(*a)).then(a.cmp(b)));
    let root = (!all.is_empty()).then_some(0);
    root.into_iter().chain(changes).map(|at| all[at].0.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::cost::Scopes;

    fn cost(rows: &[(&str, usize, i64)]) -> Cost {
        let mut scopes = Scopes::default();
        for (name, parent, float_ops) in rows {
            let at = scopes.push_named(*parent, name);
            scopes.add(at, &Figures { float_ops: *float_ops, ..Figures::default() });
        }
        Cost { scopes, ..Cost::default() }
    }

    #[test]
    fn scopes_that_only_repeat_one_within_them_are_left_out() {
        let before = cost(&[("root", 0, 9), ("a", 0, 4), ("a/x", 1, 4), ("b", 0, 5)]);
        let after = cost(&[("root", 0, 16), ("a", 0, 6), ("a/x", 1, 6), ("b", 0, 5), ("c", 0, 5)]);
        let changes = changes(&before, &after);
        let rows: Vec<_> = changes.iter().map(|c| (c.name.as_str(), c.before.float_ops, c.after.float_ops)).collect();
        assert_eq!(rows, [("root", 9, 16), ("c", 0, 5), ("a/x", 4, 6)]);
    }
}
