//! Ids that connect events, such as a launch and its kernel. Equal keys are the same id.

use crate::hash::UntrustedMap;
use std::borrow::Cow;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    /// By bits: the same id may be written as a signed and as an unsigned number.
    Number(u64),
    Text(u32),
    Double(u64),
}

/// Texts that are used as keys, each with a number.
#[derive(Debug, Default)]
pub struct KeyTexts(UntrustedMap<String, u32>);

impl KeyTexts {
    pub fn key(&mut self, text: Cow<'_, str>) -> Key {
        let next = self.0.len() as u32;
        Key::Text(*self.0.entry(text.into_owned()).or_insert(next))
    }
}
