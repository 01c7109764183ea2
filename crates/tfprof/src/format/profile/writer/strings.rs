//! The table of the strings in call stacks, and the number of each.

use crate::hash::TrustedMap;
use crate::model::Model;
use crate::model::names::NameId;
use crate::model::stacks::{Frame, FrameText, StringIds};
use crate::quirks::Quirks;
use std::collections::BTreeMap;

/// Strings keep their numbers of the first log; a string with another number in a later log gets a new one.
pub(super) struct Strings<'m> {
    model: &'m Model,
    /// A quirk of the original: a number means the string of the first log in all of them.
    logs_share_numbers: bool,
    first: BTreeMap<i64, NameId>,
    added: TrustedMap<NameId, i64>,
}

/// Logs of 2017 have no numbers; those that the reader assigns are all below this one.
const ASSIGNED: i64 = i64::MIN / 4;

impl<'m> Strings<'m> {
    pub fn new(model: &'m Model, quirks: Quirks) -> Self {
        let first =
            model.first_strings.iter().map(|(id, name)| (*id, *name)).filter(|(id, _)| *id > ASSIGNED).collect();
        let mut strings =
            Strings { model, logs_share_numbers: quirks.op_logs_share_strings, first, added: TrustedMap::default() };
        let texts = || model.stacks.frames().iter().flat_map(|frame| FrameText::ALL.map(|text| (frame, text)));
        let ids = texts().map(|(frame, text)| frame.string_id(text));
        let largest = ids.chain(strings.first.keys().copied()).max();
        let mut next = largest.unwrap_or(0).max(0).saturating_add(1);
        for (frame, text) in texts() {
            let name = frame.name(text);
            if !strings.keeps(frame.string_id(text), name) && !strings.added.contains_key(&name) {
                strings.added.insert(name, next);
                next = next.saturating_add(1);
            }
        }
        strings
    }

    /// The numbers to write for a frame.
    pub fn ids(&self, frame: &Frame) -> StringIds {
        let id = |text: FrameText| {
            let (id, name) = (frame.string_id(text), frame.name(text));
            if self.keeps(id, name) { id } else { self.added.get(&name).copied().unwrap_or(id) }
        };
        StringIds { file: id(FrameText::File), function: id(FrameText::Function), line: id(FrameText::Line) }
    }

    /// Whether a number still stands for the string that it stood for in its log.
    fn keeps(&self, id: i64, name: NameId) -> bool {
        if id <= ASSIGNED {
            return false;
        }
        match self.first.get(&id) {
            Some(first) => self.logs_share_numbers || *first == name,
            // The string was missing in its log, too.
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
