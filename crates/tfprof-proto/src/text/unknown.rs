//! Warnings about names that are not in the schema: each once, and a limited number of them.

use super::fault::{expected, quote};
use super::source::{NUMBER, Source, WORD, is};
use crate::schema::{Field, Message};
use crate::stream::StreamError;

/// The names reported so far.
#[derive(Default)]
pub(super) struct Unknown {
    seen: Vec<(&'static str, Vec<u8>)>,
    full: bool,
}

impl Unknown {
    /// A limit, since a file of a newer version may have a new name in each of a million nodes.
    const MOST: usize = 20;

    /// A warning about a field, if one is due.
    pub fn field(&mut self, message: &'static Message, name: &[u8]) -> Option<String> {
        self.warning(message.name, name, || format!("unknown field {} in {}", quote(name), message.short_name()))
    }

    /// A warning about an enum's value, if one is due.
    pub fn value(&mut self, message: &'static Message, field: &'static Field, name: &[u8]) -> Option<String> {
        let place = || format!("`{}` of {}", field.name, message.short_name());
        self.warning(field.name, name, || format!("unknown value {} for {}", quote(name), place()))
    }

    fn warning(&mut self, place: &'static str, name: &[u8], text: impl Fn() -> String) -> Option<String> {
        if self.full || self.seen.iter().any(|(at, seen)| *at == place && seen == name) {
            return None;
        }
        if self.seen.len() == Self::MOST {
            self.full = true;
            return Some("more unknown names follow that are not listed".to_owned());
        }
        self.seen.push((place, name.to_vec()));
        Some(text())
    }
}

/// The name at the next byte, without consuming it: a word, a number, or the content of `[...]`.
pub(super) fn name(source: &mut Source<'_>) -> Result<Vec<u8>, StreamError> {
    if !source.rest().starts_with(b"[") {
        let length = source.run(0, WORD)?;
        return Ok(source.rest()[..length].to_vec());
    }
    let mut length = 1;
    loop {
        source.want(length + 1)?;
        match source.rest().get(length) {
            Some(b']') => return Ok(source.rest()[..=length].to_vec()),
            // Names, type URLs with slashes and percents, and blanks.
            Some(byte) if is(*byte, NUMBER) || matches!(byte, b'/' | b'-' | b'%' | b'+' | b'~' | b' ' | b'\t') => {
                length += 1;
            }
            _ => {
                source.advance(length);
                return Err(expected(source, "`]` after the name of an extension"));
            }
        }
    }
}

/// A name as errors show it.
pub(super) fn shown(name: &[u8]) -> String {
    quote(name).trim_matches('`').to_owned()
}
