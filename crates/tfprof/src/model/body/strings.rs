//! Lists and sets of strings in few allocations.

use crate::hash::UntrustedMap;

/// Strings one after the other in one allocation.
#[derive(Clone, Debug, Default)]
pub(super) struct StringList {
    text: String,
    ends: Vec<usize>,
}

impl StringList {
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.ends.push(self.text.len());
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn get(&self, at: usize) -> &str {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.text[start..self.ends[at]]
    }
}

/// Distinct strings, numbered in the order of their first use.
#[derive(Clone, Debug, Default)]
pub(super) struct StringSet {
    pub list: StringList,
    pub ids: UntrustedMap<Box<str>, u32>,
}

impl StringSet {
    pub fn id(&mut self, text: &str) -> u32 {
        if let Some(id) = self.ids.get(text) {
            return *id;
        }
        let id = self.list.len() as u32;
        self.list.push(text);
        self.ids.insert(text.into(), id);
        id
    }
}
