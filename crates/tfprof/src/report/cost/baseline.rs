//! The difference between two models by layer and scope.

use super::{Cost, Figures, Scopes};
use crate::options::Comparing;
use crate::pairing::{self, How, Likeness, Match, Row};
use serde::Serialize;
use std::borrow::Cow;

/// A scope of either model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    pub name: String,
    /// Its name before, if that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before_name: Option<String>,
    /// Both names were paired by structure: a guess.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub guess: bool,
    pub before: Figures,
    pub after: Figures,
}

impl Change {
    /// Its name, and the one before.
    pub fn label(&self) -> String {
        pairing::label(&self.name, self.before_name.as_deref(), self.guess)
    }
}

/// The whole model first, then the scopes that differ, without those whose difference is that of a single child.
pub fn changes(before: &Cost, after: &Cost, comparing: &Comparing) -> Vec<Change> {
    let joined = Joined::new(&before.scopes, &after.scopes, comparing);
    let mut differing_children = vec![Vec::new(); joined.rows.len()];
    for (at, row) in joined.rows.iter().enumerate().skip(1) {
        if row.differs() {
            differing_children[row.parent].push(at);
        }
    }
    let difference = |at: usize| joined.rows[at].after.minus(&joined.rows[at].before);
    let explained = |at: usize| matches!(differing_children[at][..], [only] if difference(only) == difference(at));
    let differs = |at: &usize| joined.rows[*at].differs() && !explained(*at);
    let mut changes: Vec<usize> = (1..joined.rows.len()).filter(differs).collect();
    let size = |at: usize| {
        let difference = difference(at);
        (difference.float_ops.unsigned_abs(), difference.parameters.unsigned_abs())
    };
    changes.sort_by(|a, b| size(*b).cmp(&size(*a)).then(a.cmp(b)));
    let root = (!joined.rows.is_empty()).then_some(0);
    root.into_iter().chain(changes).map(|at| joined.change(at)).collect()
}

/// The scopes of both models: those after, then those that are gone.
struct Joined<'c> {
    before: &'c Scopes,
    after: &'c Scopes,
    rows: Vec<JoinedScope>,
}

struct JoinedScope {
    old: Option<(usize, Match)>,
    new: Option<usize>,
    parent: usize,
    before: Figures,
    after: Figures,
}

impl JoinedScope {
    fn differs(&self) -> bool {
        self.before != self.after
    }
}

impl<'c> Joined<'c> {
    fn new(before: &'c Scopes, after: &'c Scopes, comparing: &Comparing) -> Joined<'c> {
        let how = How { renames: &comparing.renames, unique_names: true };
        let (old, new) = (names(before), names(after));
        let pairs = pairing::pair(&rows(before, &old), &rows(after, &new), &how, |_, _| Likeness::default());
        let mut list: Vec<JoinedScope> = Vec::with_capacity(after.len());
        for (at, partner) in pairs.after.iter().enumerate() {
            let old = partner.map(|(row, by)| (row as usize, by));
            let was = old.map_or_else(Figures::default, |(row, _)| *before.total(row));
            let parent = after.parent(at);
            list.push(JoinedScope { old, new: Some(at), parent, before: was, after: *after.total(at) });
        }
        let mut place = vec![0; before.len()];
        for (at, partner) in pairs.before.iter().enumerate() {
            place[at] = match partner {
                Some((row, _)) => *row as usize,
                None => {
                    let parent = place[before.parent(at)];
                    let old = Some((at, Match::Name));
                    let now = Figures::default();
                    list.push(JoinedScope { old, new: None, parent, before: *before.total(at), after: now });
                    list.len() - 1
                }
            };
        }
        Joined { before, after, rows: list }
    }

    fn change(&self, at: usize) -> Change {
        let row = &self.rows[at];
        let old = row.old.map(|(at, _)| self.before.name(at));
        let name = row.new.map_or_else(|| old.clone().unwrap_or_default(), |at| self.after.name(at));
        Change {
            before_name: old.filter(|old| at > 0 && *old != name).map(Cow::into_owned),
            name: name.into_owned(),
            guess: at > 0 && matches!(row.old, Some((_, Match::Guess))),
            before: row.before,
            after: row.after,
        }
    }
}

fn names(scopes: &Scopes) -> Vec<Cow<'_, str>> {
    (0..scopes.len()).map(|at| scopes.name(at)).collect()
}

/// The scopes as rows to pair.
fn rows<'n>(scopes: &Scopes, names: &'n [Cow<'_, str>]) -> Vec<Row<'n>> {
    let row = |at: usize| {
        let (name, parent) = (&*names[at], scopes.parent(at));
        let inner = name.strip_prefix(&*names[parent]).and_then(|rest| rest.strip_prefix('/'));
        Row { parent, name, label: inner.unwrap_or(name) }
    };
    (0..scopes.len()).map(row).collect()
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
        let changes = changes(&before, &after, &Comparing::default());
        let rows: Vec<_> = changes.iter().map(|c| (c.name.as_str(), c.before.float_ops, c.after.float_ops)).collect();
        assert_eq!(rows, [("root", 9, 16), ("c", 0, 5), ("a/x", 4, 6)]);
    }

    #[test]
    fn layers_of_other_numbers_are_the_same_layers() {
        let before = cost(&[("root", 0, 9), ("dense_3", 0, 4), ("head", 0, 5), ("head/out", 2, 5)]);
        let after = cost(&[("root", 0, 10), ("dense_7", 0, 5), ("tail", 0, 5), ("tail/out", 2, 5)]);
        let rename = pairing::Rename::parse("s/^head/tail/").unwrap();
        let comparing = Comparing { renames: vec![rename], ..Comparing::default() };
        let changes = changes(&before, &after, &comparing);
        let rows: Vec<_> = changes.iter().map(|c| (c.name.as_str(), c.before_name.as_deref(), c.guess)).collect();
        assert_eq!(rows, [("root", None, false), ("dense_7", Some("dense_3"), true)]);
        assert_eq!((changes[1].before.float_ops, changes[1].after.float_ops), (4, 5));
    }
}
