//! The numbers of the strings in code traces.

use crate::model::Model;
use crate::model::names::NameId;
use crate::model::stacks::Frame;
use crate::quirks::Quirks;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Numbers stay what they were in the first log; a string that another log numbered differently gets a new one.
pub(super) struct Strings<'m> {
    model: &'m Model,
    shared: bool,
    first: BTreeMap<i64, NameId>,
    added: FxHashMap<NameId, i64>,
}

/// Logs of 2017 have no numbers; the reader made some up, all of them below this.
const MADE_UP: i64 = i64::MIN / 4;

impl<'m> Strings<'m> {
    pub fn new(model: &'m Model, quirks: Quirks) -> Self {
        let first = model.first_strings.iter().map(|(id, name)| (*id, *name)).filter(|(id, _)| *id > MADE_UP).collect();
        let mut strings = Strings { model, shared: quirks.op_logs_share_strings, first, added: FxHashMap::default() };
        let frames = || model.stacks.frames().iter();
        let largest = frames().flat_map(|frame| frame.string_ids).chain(strings.first.keys().copied()).max();
        let mut next = largest.unwrap_or(0).max(0).saturating_add(1);
        for (id, name) in frames().flat_map(|frame| frame.string_ids.into_iter().zip(names(frame))) {
            if !strings.keeps(id, name) && !strings.added.contains_key(&name) {
                strings.added.insert(name, next);
                next = next.saturating_add(1);
            }
        }
        strings
    }

    /// The numbers of file, function and line.
    pub fn of(&self, frame: &Frame) -> [i64; 3] {
        let names = names(frame);
        std::array::from_fn(|i| {
            let id = frame.string_ids[i];
            if self.keeps(id, names[i]) { id } else { self.added.get(&names[i]).copied().unwrap_or(id) }
        })
    }

    /// Whether a number still means the string that it meant in its log.
    fn keeps(&self, id: i64, name: NameId) -> bool {
        if id <= MADE_UP {
            return false;
        }
        match self.first.get(&id) {
            Some(first) => self.shared || *first == name,
            // Its log did not have it either.
            None => name == NameId::EMPTY || self.model.names.get(name) == "unknown",
        }
    }

    /// All strings by number.
    pub fn all(&self) -> impl Iterator<Item = (i64, &'m str)> {
        let mut added: Vec<_> = self.added.iter().map(|(name, id)| (*id, *name)).collect();
        added.sort_unstable();
        let model = self.model;
        let all = self.first.iter().map(|(id, name)| (*id, *name)).chain(added);
        all.map(move |(id, name)| (id, model.names.get(name)))
    }
}

fn names(frame: &Frame) -> [NameId; 3] {
    [frame.file, frame.function, frame.line]
}
