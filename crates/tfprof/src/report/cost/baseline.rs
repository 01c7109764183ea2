//! How two models differ, scope by scope.

use super::{Cost, Figures};
use crate::hash::UntrustedMap;

/// A scope of either model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub name: String,
    pub before: Figures,
    pub after: Figures,
}

/// The whole first, then the scopes that differ. A scope whose difference is that of a single one within it is left out.
pub fn changes(before: &Cost, after: &Cost) -> Vec<Change> {
    let mut places: UntrustedMap<&str, usize> = UntrustedMap::default();
    // Scopes of both, parents before children: (change, parent).
    let mut all: Vec<(Change, usize)> = Vec::new();
    for (side, cost) in [before, after].into_iter().enumerate() {
        for scope in &cost.scopes {
            let parent = places.get(cost.scopes[scope.parent].name.as_str()).copied().unwrap_or(0);
            let place = *places.entry(&scope.name).or_insert(all.len());
            if place == all.len() {
                let nothing = Figures::default();
                all.push((Change { name: scope.name.clone(), before: nothing, after: nothing }, parent));
            }
            let change = &mut all[place].0;
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
    let difference = |at: usize| {
        let change: &Change = &all[at].0;
        std::array::from_fn::<i64, { super::COLUMNS.len() }, _>(|i| change.after[i].saturating_sub(change.before[i]))
    };
    let explained = |at: usize| matches!(differing_children[at][..], [only] if difference(only) == difference(at));
    let mut changes: Vec<usize> = (1..all.len()).filter(|at| differs(&all[*at].0) && !explained(*at)).collect();
    let size = |at: usize| difference(at).map(i64::unsigned_abs);
    changes.sort_by(|a, b| (size(*b)[1], size(*b)[0]).cmp(&(size(*a)[1], size(*a)[0])).then(a.cmp(b)));
    let root = (!all.is_empty()).then_some(0);
    root.into_iter().chain(changes).map(|at| all[at].0.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::cost::Scope;

    fn cost(scopes: &[(&str, usize, i64)]) -> Cost {
        let scope = |(name, parent, flops): &(&str, usize, i64)| Scope {
            name: (*name).to_owned(),
            parent: *parent,
            own: Figures::default(),
            total: [0, *flops, 0, 0, 0],
        };
        Cost { scopes: scopes.iter().map(scope).collect(), ..Cost::default() }
    }

    #[test]
    fn scopes_that_only_repeat_one_within_them_are_left_out() {
        let before = cost(&[("root", 0, 9), ("a", 0, 4), ("a/x", 1, 4), ("b", 0, 5)]);
        let after = cost(&[("root", 0, 16), ("a", 0, 6), ("a/x", 1, 6), ("b", 0, 5), ("c", 0, 5)]);
        let changes = changes(&before, &after);
        let rows: Vec<_> = changes.iter().map(|c| (c.name.as_str(), c.before[1], c.after[1])).collect();
        assert_eq!(rows, [("root", 9, 16), ("c", 0, 5), ("a/x", 4, 6)]);
    }
}
